//! Built-in functions: their answers and refusals, over sockets, over HTTP, and to servers.

mod callers;
mod lobby;
mod matchmaker;
mod payloads;
mod rooms;
mod settings;

use serde_json::{Value, json};

use crate::connected::Connected;
use crate::world::{Player, World};

/// The result of a function, or the code and the sentence of its refusal.
pub type Called = Result<Value, (u64, String)>;

/// A caller of built-in functions. `name` is the part of a function's id behind `muster.`.
pub trait Calls {
    fn call_text(&self, name: &str, payload: &str) -> Called;

    fn call(&self, name: &str, payload: Value) -> Called {
        self.call_text(name, &payload.to_string())
    }

    #[track_caller]
    fn ok(&self, name: &str, payload: Value) -> Value {
        self.call(name, payload).unwrap_or_else(|refusal| panic!("{name}: {refusal:?}"))
    }

    #[track_caller]
    fn refused(&self, name: &str, payload: Value, code: u64, message: &str) {
        let expect = Err((code, message.to_owned()));
        assert_eq!(self.call(name, payload.clone()), expect, "{name} {payload}");
    }
}

impl Calls for Connected<'_> {
    fn call_text(&self, name: &str, payload: &str) -> Called {
        let id = format!("muster.{name}");
        let reply = self.ask("rpc", json!({ "id": id, "payload": payload }));
        if let Some(rpc) = reply.get("rpc") {
            assert_eq!(rpc["id"], id);
            return Ok(serde_json::from_str(rpc["payload"].as_str().unwrap()).unwrap());
        }
        let error = &reply["error"];
        // On sockets an unknown function has a code of its own, and its error has no context.
        let code = match error["code"].as_u64() {
            Some(6) => 5,
            _ => error["context"]["code"].as_str().unwrap_or_else(|| panic!("{reply}")).parse().unwrap(),
        };
        Err((code, error["message"].as_str().unwrap().to_owned()))
    }
}

/// A caller over HTTP: a player, or without one a server with the HTTP key.
pub struct OverHttp<'w> {
    pub world: &'w World,
    pub player: Option<Player>,
}

impl Calls for OverHttp<'_> {
    fn call_text(&self, name: &str, payload: &str) -> Called {
        let (key, bearer) = match &self.player {
            Some(player) => ("", player.bearer()),
            None => ("?http_key=http-key", String::new()),
        };
        let target = format!("/v2/rpc/muster.{name}{key}");
        let (status, body) = self.world.call("POST", &target, &bearer, &json!(payload).to_string());
        if status == 200 {
            return Ok(serde_json::from_str(body["payload"].as_str().unwrap()).unwrap());
        }
        Err((body["code"].as_u64().unwrap(), body["message"].as_str().unwrap().to_owned()))
    }
}

pub fn server(world: &World) -> OverHttp<'_> {
    OverHttp { world, player: None }
}

pub fn over_http<'w>(world: &'w World, device: &str) -> OverHttp<'w> {
    OverHttp { world, player: Some(world.device(device)) }
}

/// The id of the room in an answer.
pub fn id_of(answer: &Value) -> Value {
    assert!(answer["room"]["id"].is_string(), "{answer}");
    answer["room"]["id"].clone()
}

/// The messages of rooms and lobbies that a player was sent since the last call, without their streams.
pub fn told(player: &Connected<'_>) -> Vec<Value> {
    let pushed = player.pushed().into_iter();
    let data = pushed.filter_map(|message| Some(message.get("stream_data")?["data"].as_str()?.to_owned()));
    data.map(|data| serde_json::from_str(&data).unwrap()).collect()
}

/// An id that no room has.
pub const NO_ROOM_ID: &str = "00000000-0000-4000-8000-000000000000";
pub const NO_ROOM: &str = "There is no such room; it may have closed.";
pub const NOT_IN_ROOM: &str = "You are not in this room: join it first.";
