//! Hooks before and after operations and messages. Rust code takes the place of game code.

use std::cell::RefCell;
use std::rc::Rc;

use muster_api::game::{Failure, Invocation};
use muster_api::hooks::{HookFuture, HookSubject, Hooks, Payload};
use muster_api::{MessageOutcome, SocketSession};
use muster_wire::Code;
use muster_wire::envelope::Format;
use muster_wire::json::WriteOptions;
use serde_json::{Value, json};

use crate::connected::{exchange, register};
use crate::world::{Player, SERVER_KEY, Setup, World};

/// The answer of a hook before an operation or message.
type Answer = Result<Option<&'static str>, Failure>;

/// Hooks of one subject. The hook before it gives a fixed answer, the hook after it fails, and both record what they
/// see.
struct Recorded {
    hooked: &'static str,
    before: Answer,
    seen: RefCell<Vec<String>>,
    invocations: RefCell<Vec<Invocation>>,
}

impl Recorded {
    fn see(&self, what: &str, invocation: Invocation, messages: &[Option<&dyn Payload>]) {
        assert_eq!(invocation.mode.name(), what);
        self.invocations.borrow_mut().push(invocation);
        let text = |message: &Option<&dyn Payload>| match message {
            Some(message) => String::from_utf8(message.json(WriteOptions::default())).unwrap(),
            None => "nothing".to_owned(),
        };
        let texts: Vec<_> = messages.iter().map(text).collect();
        self.seen.borrow_mut().push(format!("{what} {}", texts.join(" ")));
    }
}

impl Hooks for Recorded {
    fn has_before(&self, subject: HookSubject) -> bool {
        subject.name() == self.hooked
    }

    fn has_after(&self, subject: HookSubject) -> bool {
        subject.name() == self.hooked
    }

    fn before<'a>(
        &'a self,
        _subject: HookSubject,
        invocation: Invocation,
        input: Option<&'a dyn Payload>,
    ) -> HookFuture<'a, Option<Vec<u8>>> {
        self.see("before", invocation, &[input]);
        let answer = self.before.clone().map(|text| text.map(|text| text.as_bytes().to_vec()));
        Box::pin(std::future::ready(answer))
    }

    fn after<'a>(
        &'a self,
        _subject: HookSubject,
        invocation: Invocation,
        output: Option<&'a dyn Payload>,
        input: Option<&'a dyn Payload>,
    ) -> HookFuture<'a, ()> {
        self.see("after", invocation, &[output, input]);
        Box::pin(std::future::ready(Err(Failure::new(Code::Aborted, "what comes after changes nothing"))))
    }
}

fn world(hooked: &'static str, before: Answer) -> (World, Rc<Recorded>) {
    let hooks = Rc::new(Recorded { hooked, before, seen: RefCell::default(), invocations: RefCell::default() });
    (World::with(Setup { hooks: hooks.clone(), ..Setup::default() }), hooks)
}

const REQUEST: (&str, &str, &str, &str) =
    ("POST", "/v2/account/authenticate/device?a=1&http_key=secret", SERVER_KEY, r#"{"id":"0123456789"}"#);

#[test]
fn a_hook_sees_and_changes_the_request() {
    let changed = r#"{"account":{"id":"9876543210","vars":{}},"username":"changed"}"#;
    let (world, hooks) = world("AuthenticateDevice", Ok(Some(changed)));
    let session = world.ok(REQUEST.0, REQUEST.1, REQUEST.2, REQUEST.3);
    assert_eq!(Player::from(&session).claims()["usn"], "changed");
    let [before, after] = &hooks.seen.borrow()[..] else { panic!("two hooks ran") };
    assert_eq!(before, r#"before {"account":{"id":"0123456789"}}"#);
    let output =
        format!(r#"{{"created":true,"token":{},"refresh_token":{}}}"#, session["token"], session["refresh_token"]);
    assert_eq!(*after, format!(r#"after {output} {{"account":{{"id":"9876543210"}},"username":"changed"}}"#));
}

#[test]
fn hooks_are_told_who_asks_and_from_where() {
    let (world, hooks) = world("AuthenticateDevice", Ok(Some(r#"{"account":{"id":"0123456789","vars":{"a":"b"}}}"#)));
    let session = world.ok(REQUEST.0, REQUEST.1, REQUEST.2, REQUEST.3);
    let [before, after] = &hooks.invocations.borrow()[..] else { panic!("two hooks ran") };
    assert_eq!(before.user, None, "nobody has signed in yet");
    let user = after.user.as_ref().unwrap();
    assert_eq!(user.user_id.to_string(), Player::from(&session).id());
    assert_eq!(user.vars["a"], "b");
    assert_eq!(before.trace_id, after.trace_id, "one per request");
    for invocation in [before, after] {
        assert_eq!(invocation.client.address, world.address.get());
        assert_eq!(invocation.client.port, Some(7));
        assert_eq!(invocation.query, [("a".to_owned(), vec!["1".to_owned()])], "and no key");
        assert_eq!(invocation.headers, [("X-Device".to_owned(), vec!["a".to_owned(), "b".to_owned()])]);
    }
}

#[test]
fn a_hook_switches_an_operation_off() {
    let (world, hooks) = world("AuthenticateDevice", Ok(None));
    world.refused(REQUEST, (404, 5, "AuthenticateDevice is switched off."));
    assert_eq!(hooks.seen.borrow().len(), 1, "nothing ran after it");
}

#[test]
fn a_hooks_refusal_is_the_answer_with_any_code() {
    for (code, status) in [(Code::ResourceExhausted, 429), (Code::Aborted, 409), (Code::Internal, 500)] {
        let (world, _) = world("AuthenticateDevice", Err(Failure::new(code, "come back tomorrow")));
        world.refused(REQUEST, (status, code.number().into(), "come back tomorrow"));
    }
}

#[test]
fn what_a_hook_answers_is_read_strictly() {
    const UNFIT: &str = "The game's hook answered with something that is no such message.";
    for answer in ["nonsense", r#"{"account":{"id":7}}"#, r#"{"account":{"id":"0123456789"},"user_name":"a"}"#] {
        let (world, _) = world("AuthenticateDevice", Ok(Some(answer)));
        world.refused(REQUEST, (500, 13, UNFIT));
    }
}

#[test]
fn operations_without_a_message_go_on_whatever_a_hook_answers() {
    let (world, hooks) = world("DeleteAccount", Ok(None));
    let player = world.device("0123456789");
    world.ok("DELETE", "/v2/account", &player.bearer(), "");
    assert_eq!(*hooks.seen.borrow(), ["before nothing", "after nothing nothing"]);
    assert_eq!(hooks.invocations.borrow()[1].user.as_ref().unwrap().user_id.to_string(), player.id());
}

const JOIN: &str = r#"{"cid":"1","channel_join":{"target":"hall","type":1}}"#;

fn joined(before: Answer) -> (Option<Value>, Rc<Recorded>) {
    let (world, hooks) = world("ChannelJoin", before);
    let session = register(&world, &world.device("0123456789"), Format::Json);
    let (reply, close) = exchange(&world, &session, JOIN);
    assert_eq!(close, None);
    // Whatever the hook did, the socket goes on, and messages without hooks are answered at once.
    let mut pong = Vec::new();
    assert!(matches!(session.message(br#"{"ping":{}}"#, &mut pong), MessageOutcome::Done));
    assert_eq!(pong, br#"{"pong":{}}"#);
    (reply, hooks)
}

fn error(code: u8, message: &str) -> Option<Value> {
    Some(json!({ "cid": "1", "error": { "code": code, "message": message } }))
}

#[test]
fn a_hook_changes_a_message_but_not_whose_answer_it_is() {
    let changed = r#"{"cid":"other","channel_join":{"target":"changed","type":1}}"#;
    let (reply, hooks) = joined(Ok(Some(changed)));
    let reply = reply.unwrap();
    assert_eq!((&reply["cid"], &reply["channel"]["id"]), (&json!("1"), &json!("2...changed")));
    assert_eq!(hooks.seen.borrow()[0], format!("before {JOIN}"));
    let invocation = &hooks.invocations.borrow()[0];
    assert!(invocation.session_id.is_some() && invocation.user.is_some());
    assert_eq!(invocation.client.lang.as_deref(), Some("en"));
}

#[test]
fn a_hook_drops_a_message_and_the_socket_stays() {
    assert_eq!(joined(Ok(None)).0, error(1, "ChannelJoin is switched off."));
}

#[test]
fn a_hook_refuses_a_message_and_the_socket_stays() {
    let refusal = Err(Failure::new(Code::PermissionDenied, "not you"));
    let (reply, hooks) = joined(refusal);
    assert_eq!(reply, error(7, "not you"));
    assert_eq!(hooks.seen.borrow().len(), 1, "nothing ran after it");
}

#[test]
fn a_hook_that_answers_another_message_is_the_servers_fault() {
    for answer in [r#"{"ping":{}}"#, "{}", r#"{"channel_join":{"targets":"hall"}}"#] {
        let told = "The game's hook answered with something that is no such message.";
        assert_eq!(joined(Ok(Some(answer))).0, error(7, told), "{answer}");
    }
}

/// The reply, the number of hooks that had run when it was given, and the records of all hooks.
fn in_order(world: &World, session: &Rc<SocketSession>, hooks: &Recorded, text: &str) -> (Value, usize, Vec<String>) {
    let MessageOutcome::Later(operation) = session.message(text.as_bytes(), &mut Vec::new()) else {
        panic!("hooks wait")
    };
    let finished = world.run(operation);
    let reply = serde_json::from_slice(&finished.reply).unwrap();
    let by_then = hooks.seen.borrow().len();
    if let Some(rest) = finished.rest {
        world.run(rest);
    }
    (reply, by_then, hooks.seen.borrow().clone())
}

#[test]
fn what_comes_after_a_message_comes_after_its_reply_and_only_if_all_went_well() {
    let (world, hooks) = world("ChannelJoin", Ok(Some(JOIN)));
    let session = register(&world, &world.device("0123456789"), Format::Json);
    let (reply, by_then, seen) = in_order(&world, &session, &hooks, JOIN);
    assert_eq!(by_then, 1);
    assert_eq!(seen.len(), 2);
    let (output, input) = seen[1].strip_prefix("after ").unwrap().split_once("} {").unwrap();
    assert_eq!(serde_json::from_str::<Value>(&format!("{output}}}")).unwrap(), reply);
    assert_eq!(format!("{{{input}"), JOIN);
}

#[test]
fn nothing_comes_after_a_message_that_was_refused() {
    let (world, hooks) = world("ChannelJoin", Ok(Some(r#"{"channel_join":{"type":9}}"#)));
    let session = register(&world, &world.device("0123456789"), Format::Json);
    let (reply, _, seen) = in_order(&world, &session, &hooks, JOIN);
    assert_eq!(reply["error"]["code"], 3);
    assert_eq!(seen.len(), 1);
}
