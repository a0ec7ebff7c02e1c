//! The answers to messages of a socket, in both formats.

use muster_api::{MessageOutcome, SocketSession};
use muster_live::CloseReason;
use muster_wire::envelope::{self, Format};
use muster_wire::realtime::envelope::Message;
use muster_wire::realtime::{Envelope, Ping};
use muster_wire::realtime_variants::{Direction, VARIANTS};
use serde_json::{Value, json};
use std::rc::Rc;
use std::sync::atomic::Ordering;

use crate::connected::{exchange, register};
use crate::world::World;

struct Socket {
    world: World,
    session: Rc<SocketSession>,
}

fn socket(format: Format) -> Socket {
    let world = World::new();
    let player = world.device("0123456789");
    let session = register(&world, &player, format);
    Socket { world, session }
}

impl Socket {
    /// Sends a text. Answers the reply, and the reason if the socket closes.
    fn send(&mut self, text: &str) -> (Option<Value>, Option<CloseReason>) {
        exchange(&self.world, &self.session, text)
    }
}

#[test]
fn pings_are_answered_and_pongs_are_not() {
    let mut socket = socket(Format::Json);
    assert_eq!(socket.send(r#"{"cid":"7","ping":{}}"#), (Some(json!({ "cid": "7", "pong": {} })), None));
    assert_eq!(socket.send(r#"{"ping":{}}"#), (Some(json!({ "pong": {} })), None));
    assert_eq!(socket.send(r#"{"cid":"8","pong":{}}"#), (None, None));
    let totals = &socket.world.app.metrics.messages()[30];
    let [count, errors] = [&totals.count, &totals.errors].map(|total| total.load(Ordering::Relaxed));
    assert_eq!((count, errors), (2, 0));
}

#[test]
fn the_binary_format_says_the_same() {
    let socket = socket(Format::Protobuf);
    let ping = envelope::encode(&Envelope::reply("7", Message::Ping(Ping {})), Format::Protobuf);
    let mut reply = b"before".to_vec();
    assert!(matches!(socket.session.message(&ping, &mut reply), MessageOutcome::Done));
    let pong = envelope::decode(reply.strip_prefix(b"before").unwrap(), Format::Protobuf).unwrap();
    assert!(matches!(pong, Envelope { cid, message: Some(Message::Pong(_)) } if cid == "7"));
    let mut reply = Vec::new();
    let outcome = socket.session.message(&[0xff], &mut reply);
    assert!(matches!(outcome, MessageOutcome::Malformed(_)) && reply.is_empty());
}

#[test]
fn every_variant_has_an_answer() {
    for variant in &VARIANTS {
        let mut socket = socket(Format::Json);
        let (reply, close) = socket.send(&json!({ "cid": "1", variant.name: {} }).to_string());
        let error = |code: i32, message: String| {
            // Zero is the default, and defaults are omitted.
            let error =
                if code == 0 { json!({ "message": message }) } else { json!({ "code": code, "message": message }) };
            Some(json!({ "cid": "1", "error": error }))
        };
        let name = variant.name;
        let expect = match (name, variant.direction) {
            ("ping", _) => (Some(json!({ "cid": "1", "pong": {} })), None),
            ("pong", _) => (None, None),
            ("rpc", _) => (error(3, "The id of a function is required.".into()), None),
            // The error does not repeat the `cid`, because clients do not wait for an answer to this message.
            ("match_data_send", _) => {
                (Some(json!({ "error": { "code": 3, "message": "The match ID is not valid." } })), None)
            }
            ("party_matchmaker_add" | "party_matchmaker_remove", _) => {
                (error(3, "There is no such party; it may have ended.".into()), None)
            }
            ("matchmaker_add", _) => (error(3, "min_count is 0: a match has at least 2 players.".into()), None),
            ("matchmaker_remove", _) => (error(3, "There is no such ticket: it may have been matched.".into()), None),
            ("match_leave", _) => (error(3, "The match ID is not valid.".into()), None),
            ("match_join", _) => (error(3, "A match ID or a match token is required.".into()), None),
            ("match_create", _) => {
                let id = reply.as_ref().and_then(|reply| reply["match"]["match_id"].as_str()).unwrap_or_default();
                assert!(id.len() == 37 && id.ends_with('.'), "{reply:?}");
                (reply.clone(), None)
            }
            ("status_follow", _) => (Some(json!({ "cid": "1", "status": {} })), None),
            ("status_unfollow" | "status_update", _) => (Some(json!({ "cid": "1" })), None),
            ("channel_join", _) => (error(3, "The name of a room must be 1 to 64 bytes long.".into()), None),
            (_, Direction::Client) if name.starts_with("channel_") => {
                (error(3, "The channel ID is not valid.".into()), None)
            }
            ("party_create", _) => {
                let id = reply.as_ref().and_then(|reply| reply["party"]["party_id"].as_str()).unwrap_or_default();
                assert!(id.len() == 43 && id.ends_with(".muster"), "{reply:?}");
                (reply.clone(), None)
            }
            ("party_promote" | "party_accept" | "party_remove", _) => {
                (error(3, "The presence needs a valid user_id and session_id, and a username.".into()), None)
            }
            (_, Direction::Client | Direction::Both) if name.starts_with("party_") && !name.contains("matchmaker") => {
                (error(3, "There is no such party; it may have ended.".into()), None)
            }
            (_, Direction::Server) => {
                (error(1, format!("{name} is not accepted from clients.")), Some(CloseReason::UnexpectedMessage))
            }
            _ => panic!("{name} is for clients, and has no answer here"),
        };
        assert_eq!((reply, close), expect, "{name}");
    }
}

#[test]
fn without_game_code_its_functions_are_unknown() {
    let mut socket = socket(Format::Json);
    let expect = json!({ "cid": "1", "error": { "code": 6, "message": "The game has no function of this id." } });
    assert_eq!(socket.send(r#"{"cid":"1","rpc":{"id":"echo"}}"#), (Some(expect), None));
}

#[test]
fn what_is_no_envelope_closes_the_socket() {
    let mut socket = socket(Format::Json);
    let missing = json!({ "cid": "1", "error": { "code": 2, "message": "The envelope holds no message." } });
    assert_eq!(socket.send(r#"{"cid":"1"}"#), (Some(missing), Some(CloseReason::UnexpectedMessage)));
    for malformed in [
        "",
        "ping",
        "{",
        "[]",
        r#"{"ping":{}} x"#,
        r#"{"ping":{"x":1}}"#,
        r#"{"nothing":{}}"#,
        r#"{"cid":1,"ping":{}}"#,
    ] {
        assert_eq!(socket.send(malformed), (None, Some(CloseReason::InvalidPayload)), "{malformed}");
    }
    assert_eq!(socket.world.app.metrics.malformed_messages.load(Ordering::Relaxed), 9);
}

#[test]
fn what_is_no_envelope_is_told_where_it_is_wrong() {
    let socket = socket(Format::Json);
    for (malformed, told) in [
        (
            r#"{"match_join":{"match_id":5}}"#,
            r#"invalid JSON at byte 26, field "match_join.match_id": expected a string"#,
        ),
        (r#"{"match_joim":{}}"#, r#"at byte 14, field "match_joim": unknown field"#),
        (r#"{"status_follow":{"user_ids":["a",7]}}"#, r#"field "status_follow.user_ids": expected a string"#),
        ("{", "invalid JSON at byte 1: expected a comma or the end of the object"),
    ] {
        let outcome = socket.session.message(malformed.as_bytes(), &mut Vec::new());
        let MessageOutcome::Malformed(why) = outcome else { panic!("{malformed}") };
        assert!(why.contains(told), "{why}");
    }
}

#[test]
fn who_is_banned_is_told_before_the_sockets_close() {
    use muster_domain::Subject;
    use muster_domain::ids::UserId;
    use muster_domain::ports::revocations::{Revocation, RevocationReason, RevokedTokens};
    let ann = socket(Format::Json);
    let claims = ann.session.claims().clone();
    let [second, bystander] =
        ["0123456789", "9876543210"].map(|device| register(&ann.world, &ann.world.device(device), Format::Json));
    let end = |reason| {
        let revocation = Revocation {
            subject: Subject::from(claims.user_id),
            tokens: RevokedTokens::AllBut(None),
            revoked_at: ann.world.app.revocations.moment(ann.world.app.clock.now()),
            expires_at: ann.world.app.clock.now().plus_seconds(60),
            reason,
        };
        muster_api::realtime::revoke(&ann.world.app, &revocation);
        (ann.world.rim.sent.take(), ann.world.rim.closed.take())
    };
    let both = |reason| vec![(ann.session.key(), reason), (second.key(), reason)];
    assert_eq!(end(RevocationReason::NewerSignIn), (vec![], vec![]));
    assert_eq!(end(RevocationReason::SignedOut), (vec![], both(CloseReason::TokenRevoked)));
    let (told, closed) = end(RevocationReason::Banned);
    assert_eq!(closed, both(CloseReason::Banned));
    assert_eq!(told.iter().map(|(key, _)| *key).collect::<Vec<_>>(), [ann.session.key(), second.key()]);
    for (_, message) in &told {
        let notification = &message["notifications"]["notifications"][0];
        let id = notification["id"].as_str().unwrap();
        let expect = json!({
            "id": id, "subject": "banned", "content": "{}", "code": -8, "create_time": "2023-11-14T22:13:20Z",
        });
        assert!(id.parse::<UserId>().is_ok());
        assert_eq!(message, &json!({ "notifications": { "notifications": [expect] } }));
    }
    assert_eq!(bystander.claims().user_id, ann.world.device("9876543210").id().parse().unwrap());
}

#[test]
fn what_is_said_reaches_the_other_session_too() {
    let mut ann = socket(Format::Json);
    let bob = register(&ann.world, &ann.world.device("9876543210"), Format::Json);
    let join = r#"{"cid":"1","channel_join":{"type":1,"target":"hall"}}"#;
    exchange(&ann.world, &bob, join);
    ann.send(join);
    ann.world.rim.sent.borrow_mut().clear();
    let (reply, _) = ann.send(r#"{"cid":"2","channel_message_send":{"channel_id":"2...hall","content":"{}"}}"#);
    let told = ann.world.rim.sent.borrow().clone();
    assert_eq!(told.len(), 2);
    assert!(told.iter().any(|(key, _)| *key == bob.key()));
    let id = &reply.unwrap()["channel_message_ack"]["message_id"];
    assert!(told.iter().all(|(_, message)| message["channel_message"]["message_id"] == *id), "{told:?}");
    bob.close();
    ann.session.close();
    assert_eq!(ann.world.app.live.stats().presences, 0);
}
