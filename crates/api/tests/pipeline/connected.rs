//! Players with a socket.

use std::rc::Rc;

use muster_api::game::Client;
use muster_api::{MessageOutcome, SocketSession};
use muster_live::CloseReason;
use muster_wire::envelope::Format;
use serde_json::{Value, json};

use crate::world::{Player, World};

/// Registers a session for a player.
pub fn register(world: &World, player: &Player, format: Format) -> Rc<SocketSession> {
    let claims = muster_api::authorise::session_token(&world.app, &player.token, world.app.clock.now()).unwrap();
    let client = Client { address: world.address.get(), port: Some(7), lang: Some("en".to_owned()) };
    SocketSession::register(world.app.clone(), format, claims, client)
}

/// Sends a text. Answers the reply, and the reason if the socket closes.
pub fn exchange(world: &World, session: &Rc<SocketSession>, text: &str) -> (Option<Value>, Option<CloseReason>) {
    let mut reply = Vec::new();
    let close = match session.message(text.as_bytes(), &mut reply) {
        MessageOutcome::Done => None,
        MessageOutcome::Close(reason) => Some(reason),
        MessageOutcome::Malformed(_) => Some(CloseReason::InvalidPayload),
        MessageOutcome::Later(operation) => {
            let finished = world.run(operation);
            reply = finished.reply;
            finished.then
        }
    };
    let reply = (!reply.is_empty()).then(|| serde_json::from_slice(&reply).unwrap());
    (reply, close)
}

/// A player with an open socket of JSON frames.
pub struct Connected<'w> {
    world: &'w World,
    pub session: Rc<SocketSession>,
    pub player: Player,
}

impl<'w> Connected<'w> {
    pub fn new(world: &'w World, device: &str) -> Self {
        let player = world.device(device);
        let session = register(world, &player, Format::Json);
        session.begin(false);
        Self { world, session, player }
    }

    pub fn id(&self) -> String {
        self.player.id()
    }

    /// Sends a message that gets a reply. Answers the reply without its `cid`.
    #[track_caller]
    pub fn ask(&self, variant: &str, message: Value) -> Value {
        let (reply, close) = exchange(self.world, &self.session, &json!({ "cid": "1", variant: message }).to_string());
        let mut reply = reply.unwrap();
        assert_eq!((reply["cid"].as_str(), close), (Some("1"), None));
        reply.as_object_mut().unwrap().remove("cid");
        reply
    }

    /// The messages that were pushed since the last call.
    pub fn pushed(&self) -> Vec<Value> {
        let mut sent = self.world.rim.sent.borrow_mut();
        let mine = sent.extract_if(.., |(key, _)| *key == self.session.key());
        mine.map(|(_, message)| message).collect()
    }
}
