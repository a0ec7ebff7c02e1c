//! Functions of game code, called by transports. Rust code takes the place of game code.

use std::cell::RefCell;
use std::rc::Rc;

use muster_api::game::{ExecutionMode, Failure, FarewellFuture, FunctionFuture, GameFunctions, Invocation, Occasion};
use muster_live::CloseReason;
use muster_wire::api::Event;
use muster_wire::code::Code;
use muster_wire::envelope::Format;
use serde_json::json;

use crate::connected::{exchange, register};
use crate::world::{Setup, World};

/// Functions of four names: `echo` answers the payload, `seen` answers the invocation, `nothing` answers nothing, and
/// `refuse` fails.
#[derive(Default)]
struct Played {
    /// The occasions, callers and events that the game was told of.
    heard: RefCell<Vec<(Occasion, Invocation, Event)>>,
}

impl GameFunctions for Played {
    fn has(&self, id: &str) -> bool {
        ["echo", "seen", "nothing", "refuse"].contains(&id)
    }

    fn call<'a>(&'a self, id: &'a str, invocation: Invocation) -> FunctionFuture<'a> {
        let result = match id {
            "echo" => Ok(Some(invocation.payload)),
            "seen" => {
                let user = invocation.user.map(|claims| claims.username);
                Ok(Some(json!([user, invocation.session_id.is_some(), invocation.query]).to_string()))
            }
            "nothing" => Ok(None),
            _ => Err(Failure::new(Code::FailedPrecondition, "no chips")),
        };
        Box::pin(std::future::ready(result))
    }

    fn hears_of(&self, _occasion: Occasion) -> bool {
        true
    }

    fn tell(&self, occasion: Occasion, invocation: Invocation, event: Event) {
        self.heard.borrow_mut().push((occasion, invocation, event));
    }

    fn farewell(&self, _grace_sec: u64) -> FarewellFuture<'_> {
        Box::pin(std::future::ready(Ok(())))
    }
}

fn world() -> World {
    World::with(Setup { game: Rc::new(Played::default()), ..Setup::default() })
}

fn check(method: &str, target: &str, body: &str, expect: (u16, &str)) {
    let world = world();
    let bearer = world.device("0123456789").bearer();
    let response = world.send(method, target, Some(&bearer), body.as_bytes());
    assert_eq!((response.status, String::from_utf8(response.body).unwrap().as_str()), expect, "{method} {target}");
}

#[test]
fn http_calls_functions_in_each_way() {
    check("POST", "/v2/rpc/Echo", r#""a \"text\"""#, (200, r#"{"payload":"a \"text\""}"#));
    check("POST", "/v2/rpc/echo?unwrap", "no JSON", (200, "no JSON"));
    check("GET", "/v2/rpc/echo", "", (200, r#"{"payload":""}"#));
    check("POST", "/v2/rpc/nothing", "", (200, r#"{"payload":""}"#));
    check("POST", "/v2/rpc/nothing?unwrap", "", (200, ""));
    check("POST", "/v2/rpc/refuse", "", (400, r#"{"error":{},"code":9,"message":"no chips"}"#));
    let body =
        r#"{"error":"The game has no function of this id.","code":5,"message":"The game has no function of this id."}"#;
    check("POST", "/v2/rpc/other", "", (404, body));
}

#[test]
fn functions_see_who_asks_and_what_for_but_no_key() {
    let world = world();
    let target = "/v2/rpc/seen?unwrap&a=1&b=%C3%BC&a=2&http_key=http-key";
    let response = world.send("POST", target, None, b"");
    let expect = json!([null, false, [["unwrap", [""]], ["a", ["1", "2"]], ["b", ["ü"]]]]);
    assert_eq!(serde_json::from_slice::<serde_json::Value>(&response.body).unwrap(), expect);
}

#[test]
fn sockets_call_functions_and_stay_open() {
    let world = world();
    let player = world.device("0123456789");
    let session = register(&world, &player, Format::Json);
    for (rpc, answer) in [
        (json!({ "id": "Echo", "payload": "hi" }), json!({ "rpc": { "id": "Echo", "payload": "hi" } })),
        (json!({ "id": "nothing" }), json!({ "rpc": { "id": "nothing" } })),
        (json!({ "id": "refuse" }), json!({ "error": { "code": 7, "message": "no chips" } })),
    ] {
        let mut expect = answer;
        expect["cid"] = json!("1");
        let (reply, close) = exchange(&world, &session, &json!({ "cid": "1", "rpc": rpc }).to_string());
        assert_eq!((reply, close), (Some(expect), None), "{rpc}");
    }
    let (reply, _) = exchange(&world, &session, r#"{"rpc":{"id":"echo","payload":"silent"}}"#);
    assert_eq!(reply, None);
}

fn told(event: &Event) -> (&str, Vec<(&str, &str)>) {
    let properties = event.properties.iter().map(|(name, value)| (name.as_str(), value.as_str()));
    (event.name.as_str(), properties.collect())
}

#[test]
fn game_code_hears_of_what_clients_report_and_of_sessions() {
    let played = Rc::new(Played::default());
    let world = World::with(Setup { game: played.clone(), ..Setup::default() });
    let player = world.device("0123456789");
    let send = |body: &str| {
        let response = world.send("POST", "/v2/event", Some(&player.bearer()), body.as_bytes());
        (response.status, String::from_utf8(response.body).unwrap())
    };
    assert_eq!(send(r#"{"name":"won","properties":{"level":"7"}}"#), (200, "{}".to_owned()));
    let (occasion, invocation, event) = played.heard.borrow_mut().pop().unwrap();
    assert_eq!(
        (occasion, invocation.mode, told(&event)),
        (Occasion::Reported, ExecutionMode::Event, ("won", vec![("level", "7")]))
    );
    assert!(invocation.user.is_some() && event.timestamp.is_some(), "{invocation:?} {event:?}");
    let properties: serde_json::Map<_, _> = (0..200).map(|number| (number.to_string(), json!("x"))).collect();
    let unfit = [json!({}), json!({ "name": "x".repeat(300) }), json!({ "name": "x", "properties": properties })];
    assert_eq!(unfit.map(|body| send(&body.to_string()).0), [400; 3]);
    assert!(played.heard.borrow().is_empty());

    let session = register(&world, &player, Format::Json);
    session.tell_of_start();
    session.tell_of_end(CloseReason::ClientClosed);
    let heard = played.heard.take();
    let said: Vec<_> = heard.iter().map(|(occasion, _, event)| (*occasion, told(event))).collect();
    let ended = ("session_end", vec![("reason", "client_closed")]);
    assert_eq!(said, [(Occasion::SessionStart, ("session_start", vec![])), (Occasion::SessionEnd, ended)]);
    let id = Some(session.session_id().to_string());
    assert!(
        heard.iter().all(|(_, invocation, _)| invocation.session_id == id && invocation.mode == ExecutionMode::Event)
    );
}
