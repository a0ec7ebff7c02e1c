//! Callers of functions: players over sockets, players over HTTP, and servers.

use serde_json::json;

use super::{Calls, NO_ROOM_ID, NOT_IN_ROOM, id_of, over_http, server, told};
use crate::connected::{Connected, exchange};
use crate::world::World;

const FOR_PLAYERS: &str = "This function acts for a player: call it with a player's session.";
const NEEDS_SOCKET: &str = "This function needs a socket: call it over yours.";

#[test]
fn functions_that_do_not_exist_are_named() {
    let world = World::new();
    let (ann, bob) = (Connected::new(&world, "ann-device"), over_http(&world, "bob-device"));
    let callers: [&dyn Calls; 3] = [&ann, &bob, &server(&world)];
    for caller in callers {
        for name in
            ["rooms.crate", "rooms.", "rooms", "", "lobby.find", "matchmaker.", "matchmaker.find", "rooms.find "]
        {
            let message = format!("There is no function \"muster.{name}\".");
            assert_eq!(caller.call_text(name, "nonsense"), Err((5, message)));
        }
    }
    let (reply, _) = exchange(&world, &ann.session, r#"{"cid":"1","rpc":{"id":"muster.rooms.crate","payload":"{}"}}"#);
    let error = json!({ "code": 6, "message": "There is no function \"muster.rooms.crate\"." });
    assert_eq!(reply, Some(json!({ "cid": "1", "error": error })));
}

#[test]
fn ids_may_be_written_in_any_case() {
    let world = World::new();
    let ann = Connected::new(&world, "ann-device");
    let reply = ann.ask("rpc", json!({ "id": "Muster.Rooms.FIND" }));
    assert_eq!(reply, json!({ "rpc": { "id": "Muster.Rooms.FIND", "payload": r#"{"rooms":[]}"# } }));
    let (status, body) = world.call("GET", "/v2/rpc/MUSTER.rooms.Find", &ann.player.bearer(), "");
    assert_eq!((status, body), (200, json!({ "payload": r#"{"rooms":[]}"# })));
}

#[test]
fn without_a_cid_only_refusals_are_answered() {
    let world = World::new();
    let ann = Connected::new(&world, "ann-device");
    let room = id_of(&ann.ok("rooms.create", json!({})));
    told(&ann);
    let send = |room| {
        let payload = json!({ "room": room, "data": "quiet" }).to_string();
        exchange(&world, &ann.session, &json!({ "rpc": { "id": "muster.rooms.send", "payload": payload } }).to_string())
    };
    assert_eq!(send(room), (None, None));
    assert_eq!(told(&ann), [json!({ "type": "message", "data": "quiet" })]);
    let (reply, close) = send(json!(NO_ROOM_ID));
    assert_eq!((reply.unwrap()["error"]["context"]["code"].as_str(), close), (Some("5"), None));
}

#[test]
fn over_http_payload_and_result_may_be_bodies() {
    let world = World::new();
    let ann = world.device("ann-device");
    let call =
        |query: &str, body: &str| world.call("POST", &format!("/v2/rpc/muster.rooms.find{query}"), &ann.bearer(), body);
    assert_eq!(call("?unwrap", r#"{"limit":1}"#), (200, json!({ "rooms": [] })));
    assert_eq!(call("?unwrap=true", ""), (200, json!({ "rooms": [] })));
    assert_eq!(call("", r#""{\"limit\":1}""#), (200, json!({ "payload": r#"{"rooms":[]}"# })));
    let (status, error) = call("?unwrap", r#"{"limit":0}"#);
    let message = "A page has 1 to 100 rooms.";
    assert_eq!((status, &error["code"], error["message"].as_str()), (400, &json!(3), Some(message)), "{error}");
    let (status, error) = call("", r#"{"limit":1}"#);
    assert_eq!((status, &error["code"]), (400, &json!(3)), "{error}");
    let damaged = world.send("POST", "/v2/rpc/muster.rooms.find?unwrap", Some(&ann.bearer()), b"{\"path\":\"\xff\"}");
    assert_eq!(
        (damaged.status, String::from_utf8_lossy(&damaged.body).contains("The body is not UTF-8.")),
        (400, true)
    );
}

#[test]
fn what_needs_a_socket_says_so_over_http() {
    let world = World::new();
    let ann = over_http(&world, "ann-device");
    let callers: [&dyn Calls; 2] = [&ann, &server(&world)];
    for caller in callers {
        caller.refused("rooms.join", json!({ "room": NO_ROOM_ID }), 9, NEEDS_SOCKET);
        caller.refused("lobby.subscribe", json!({}), 9, NEEDS_SOCKET);
        caller.refused("lobby.unsubscribe", json!({ "lobby": "x" }), 9, NEEDS_SOCKET);
    }
    ann.refused("matchmaker.add", json!({ "min_count": 2, "max_count": 2 }), 9, NEEDS_SOCKET);
    ann.refused("matchmaker.remove", json!({ "ticket": "x" }), 9, NEEDS_SOCKET);
    ann.refused("matchmaker.explain", json!({ "ticket": "x" }), 9, NEEDS_SOCKET);
}

#[test]
fn a_server_is_no_player() {
    let world = World::new();
    let ann = Connected::new(&world, "ann-device");
    let room = id_of(&ann.ok("rooms.create", json!({})));
    let server = server(&world);
    for (name, payload) in [
        ("rooms.create", json!({})),
        ("rooms.place", json!({})),
        ("rooms.quick_join", json!({})),
        ("rooms.leave", json!({ "room": room })),
        ("rooms.set", json!({ "room": room })),
        ("rooms.set_player", json!({ "room": room })),
        ("rooms.send", json!({ "room": room, "data": "" })),
        ("rooms.send_to", json!({ "room": room, "users": [ann.id()], "data": "" })),
        ("rooms.kick", json!({ "room": room, "user": ann.id() })),
        ("rooms.update", json!({ "room": room, "open": false })),
        ("rooms.spectate", json!({ "room": room, "spectator": true })),
    ] {
        server.refused(name, payload, 7, FOR_PLAYERS);
    }
    let seen = server.ok("rooms.get", json!({ "room": room }));
    assert_eq!((id_of(&seen), seen.get("members"), seen.get("seat")), (room.clone(), None, None));
    assert_eq!(server.ok("rooms.find", json!({}))["rooms"][0]["id"], room);
    assert_eq!(world.app.live.stats().rooms.rooms, 1);
}

#[test]
fn a_player_acts_over_http_for_the_session_that_is_in_the_room() {
    let world = World::new();
    let (ann, bob) = (Connected::new(&world, "ann-device"), Connected::new(&world, "bob-device"));
    let (ann_http, eve_http) = (over_http(&world, "ann-device"), over_http(&world, "eve-device"));
    let room = id_of(&ann.ok("rooms.create", json!({ "spectators_max": 1 })));
    bob.ok("rooms.join", json!({ "room": room }));
    told(&ann);
    told(&bob);
    assert_eq!(ann_http.ok("rooms.send", json!({ "room": room, "data": "hi" })), json!({}));
    assert_eq!(ann_http.ok("rooms.send_to", json!({ "room": room, "users": [bob.id()], "data": "psst" })), json!({}));
    assert_eq!(ann_http.ok("rooms.set", json!({ "room": room, "set": { "a": 1 } })), json!({ "version": 1 }));
    assert_eq!(ann_http.ok("rooms.set_player", json!({ "room": room, "set": { "b": 2 } })), json!({ "version": 1 }));
    assert_eq!(ann_http.ok("rooms.spectate", json!({ "room": room, "spectator": true })), json!({}));
    let expect = [
        json!({ "type": "message", "data": "hi" }),
        json!({ "type": "private", "data": "psst" }),
        json!({ "type": "variables", "version": 1, "unset": [], "set": { "a": 1 } }),
        json!({ "type": "player_variables", "version": 1, "unset": [], "set": { "b": 2 } }),
        json!({ "type": "seat", "seat": null }),
        json!({ "type": "owner", "owner": bob.id() }),
    ];
    assert_eq!(told(&bob), expect);
    let state = ann_http.ok("rooms.get", json!({ "room": room }));
    assert_eq!((&state["seat"], &state["members_total"]), (&json!(null), &json!(2)));
    assert_eq!(ann_http.ok("rooms.leave", json!({ "room": room })), json!({}));
    assert_eq!(told(&ann).last(), Some(&json!({ "type": "out", "reason": "left" })));
    for (name, payload) in [
        ("rooms.leave", json!({ "room": room })),
        ("rooms.send", json!({ "room": room, "data": "" })),
        ("rooms.set", json!({ "room": room })),
        ("rooms.set_player", json!({ "room": room })),
        ("rooms.spectate", json!({ "room": room, "spectator": false })),
    ] {
        eve_http.refused(name, payload.clone(), 9, NOT_IN_ROOM);
        ann_http.refused(name, payload, 9, NOT_IN_ROOM);
    }
}

#[test]
fn over_http_a_seat_is_held_and_taken_over_the_socket() {
    let world = World::new();
    let http = over_http(&world, "ann-device");
    let made = http.ok("rooms.create", json!({ "password": "sesame", "capacity": 1 }));
    let room = id_of(&made);
    assert_eq!((&made["seat"], &made["held_ms"], made.get("members")), (&json!(1), &json!(10_000), None));
    assert_eq!((&made["room"]["free"], &made["room"]["players"]), (&json!(0), &json!(0)));
    let ann = Connected::new(&world, "ann-device");
    let joined = ann.ok("rooms.join", json!({ "room": room }));
    assert_eq!((&joined["seat"], &joined["members_total"]), (&json!(1), &json!(1)));

    let placed = http.ok("rooms.place", json!({}));
    let found = http.ok("rooms.quick_join", json!({}));
    assert_eq!((&placed["seat"], &placed["held_ms"]), (&json!(1), &json!(10_000)));
    assert_eq!((id_of(&found), &found["seat"]), (id_of(&placed), &json!(1)), "the seat that is held already");
    // A seat that its player does not take is free again after a while.
    world.advance_live(10_000);
    ann.refused("rooms.get", json!({ "room": id_of(&placed) }), 5, super::NO_ROOM);
}
