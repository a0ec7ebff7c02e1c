//! Settings that owners change, members whom they throw out, and variables of rooms and players.

use serde_json::{Value, json};

use super::{Calls, NO_ROOM, NO_ROOM_ID, NOT_IN_ROOM, id_of, told};
use crate::connected::Connected;
use crate::world::World;

const NOT_OWNER: &str = "Only the room's owner may do this.";

/// A room's owner, another player in the room, a stranger who is not in it, and the room's id.
fn in_room(world: &World, creation: Value) -> (Connected<'_>, Connected<'_>, Connected<'_>, Value) {
    let [ann, bob, eve] = ["ann-device", "bob-device", "eve-device"].map(|device| Connected::new(world, device));
    let room = id_of(&ann.ok("rooms.create", creation));
    bob.ok("rooms.join", json!({ "room": room }));
    told(&ann);
    told(&bob);
    (ann, bob, eve, room)
}

/// Adds the room's id to a payload.
fn of(room: &Value, mut payload: Value) -> Value {
    payload["room"] = room.clone();
    payload
}

#[test]
fn the_owner_changes_what_is_given() {
    let world = World::new();
    let (ann, bob, _, room) = in_room(&world, json!({ "name": "old", "properties": { "a": 1, "b": 2 } }));
    let change = json!({
        "name": "new", "open": false, "password": "sesame", "capacity": 3, "spectators_max": 4,
        "set_properties": { "c": [3] }, "unset_properties": ["a", "nothing"],
    });
    assert_eq!(ann.ok("rooms.update", of(&room, change)), json!({}));
    let updated = &told(&bob)[0];
    assert_eq!(updated["type"], "updated");
    let shown = |room: &Value| {
        ["name", "open", "locked", "capacity", "spectators_max", "properties"].map(|member| room[member].clone())
    };
    let expect = [json!("new"), json!(false), json!(true), json!(3), json!(4), json!({ "b": 2, "c": [3] })];
    assert_eq!(shown(&updated["room"]), expect);
    assert_eq!(shown(&bob.ok("rooms.get", of(&room, json!({})))["room"]), expect);
    assert!(!updated.to_string().contains("sesame"));
    // Null and an empty text remove the password. Without the member the password stays.
    for (password, locked) in
        [(json!({}), true), (json!({ "password": null }), false), (json!({ "password": "" }), false)]
    {
        ann.ok("rooms.update", of(&room, json!({ "password": "sesame" })));
        ann.ok("rooms.update", of(&room, password));
        assert_eq!(bob.ok("rooms.get", of(&room, json!({})))["room"]["locked"], locked);
    }
}

#[test]
fn what_an_owner_cannot_change() {
    let world = World::new();
    let (ann, bob, eve, room) = in_room(&world, json!({ "spectators_max": 1 }));
    eve.ok("rooms.join", of(&room, json!({ "spectator": true })));
    let named: Value = (0..33).map(|number| (number.to_string(), json!(0))).collect();
    for (payload, code, message) in [
        (json!({ "name": "n".repeat(129) }), 3, "A room's name has at most 128 bytes."),
        (json!({ "password": "p".repeat(129) }), 3, "A room's password has 1 to 128 bytes."),
        (json!({ "capacity": 0 }), 3, "A room has 1 to 10000 seats."),
        (json!({ "capacity": 10_001 }), 3, "A room has 1 to 10000 seats."),
        (json!({ "capacity": 1 }), 3, "Seats beyond that number are taken: they must be left first."),
        (json!({ "spectators_max": 100_001 }), 3, "A room takes at most 100000 spectators."),
        (json!({ "spectators_max": 0 }), 3, "1 spectators are in the room."),
        (json!({ "set_properties": named }), 8, "There may be at most 32 values."),
        (json!({ "set_properties": { "": 0 } }), 3, "A name has 1 to 64 bytes."),
        (json!({ "set_properties": { "a": "x".repeat(2_047) } }), 3, "A value has at most 2048 bytes of JSON."),
    ] {
        let mut payload = payload;
        payload["open"] = json!(false);
        ann.refused("rooms.update", of(&room, payload), code, message);
    }
    assert_eq!(told(&bob), Vec::<Value>::new());
    assert_eq!(bob.ok("rooms.get", of(&room, json!({})))["room"]["open"], true, "all of it or nothing");
    bob.refused("rooms.update", of(&room, json!({})), 7, NOT_OWNER);
    Connected::new(&world, "dora-device").refused("rooms.update", of(&room, json!({})), 9, NOT_IN_ROOM);
    ann.refused("rooms.update", json!({ "room": NO_ROOM_ID }), 5, NO_ROOM);

    let placed = id_of(&ann.ok("rooms.place", json!({})));
    let desk = "Players are placed in this room: close it with \"open\": false, \
                but it keeps its size and takes no password.";
    ann.refused("rooms.update", of(&placed, json!({ "capacity": 9 })), 3, desk);
    ann.refused("rooms.update", of(&placed, json!({ "password": "p" })), 3, desk);
    assert_eq!(ann.ok("rooms.update", of(&placed, json!({ "open": false }))), json!({}));
}

#[test]
fn the_owner_throws_out_and_keeps_out() {
    let world = World::new();
    let (ann, bob, eve, room) = in_room(&world, json!({}));
    let kick = |user: String, bar_sec: u64| of(&room, json!({ "user": user, "bar_sec": bar_sec }));
    bob.refused("rooms.kick", kick(ann.id(), 0), 7, NOT_OWNER);
    eve.refused("rooms.kick", kick(ann.id(), 0), 7, NOT_OWNER);
    ann.refused("rooms.kick", kick(ann.id(), 0), 3, "Leave the room instead of throwing yourself out.");
    ann.refused("rooms.kick", kick(eve.id(), 0), 5, "That user is not in this room.");
    for bar_sec in [86_401, u64::MAX] {
        ann.refused("rooms.kick", kick(bob.id(), bar_sec), 3, "A user is kept out for at most 86400 seconds.");
    }
    ann.refused("rooms.kick", json!({ "room": NO_ROOM_ID, "user": bob.id() }), 5, NO_ROOM);

    assert_eq!(ann.ok("rooms.kick", kick(bob.id(), 0)), json!({}));
    assert_eq!(told(&bob), [json!({ "type": "out", "reason": "kicked" })]);
    bob.refused("rooms.send", of(&room, json!({ "data": "hm" })), 9, NOT_IN_ROOM);
    bob.ok("rooms.join", of(&room, json!({})));
    ann.ok("rooms.kick", kick(bob.id(), 86_400));
    let kept_out = "You were thrown out of this room and may come back in 86400 seconds.";
    bob.refused("rooms.join", of(&room, json!({})), 7, kept_out);
    bob.refused("rooms.join", of(&room, json!({ "spectator": true })), 7, kept_out);
    world.advance_live(86_399_001);
    bob.refused(
        "rooms.join",
        of(&room, json!({})),
        7,
        "You were thrown out of this room and may come back in 1 seconds.",
    );
    world.advance_live(999);
    bob.ok("rooms.join", of(&room, json!({})));
}

#[test]
fn variables_of_a_room_have_a_version_and_an_author() {
    let world = World::new();
    let (ann, bob, eve, room) = in_room(&world, json!({ "spectators_max": 1, "variables": { "map": "x" } }));
    let set = |payload: Value| of(&room, payload);
    assert_eq!(
        bob.ok("rooms.set", set(json!({ "set": { "round": 1, "map": "x" }, "version": 1 }))),
        json!({ "version": 2 })
    );
    let told_all = [json!({ "type": "variables", "version": 2, "unset": [], "set": { "round": 1 } })];
    assert_eq!((told(&ann), told(&bob)), (told_all.to_vec(), told_all.to_vec()), "nothing of what was so already");
    assert_eq!(bob.ok("rooms.set", set(json!({ "set": { "round": 1 } }))), json!({ "version": 2 }));
    assert_eq!(bob.ok("rooms.set", set(json!({}))), json!({ "version": 2 }));
    let stale = "The variables are at version 2, not 1: read them again.";
    ann.refused("rooms.set", set(json!({ "set": { "round": 2 }, "version": 1 })), 9, stale);
    assert_eq!(told(&bob), Vec::<Value>::new());

    bob.ok("rooms.set", set(json!({ "set": { "mine": 1 }, "private": true })));
    let dora = Connected::new(&world, "dora-device");
    dora.ok("rooms.join", of(&room, json!({})));
    for payload in [json!({ "set": { "mine": 2 } }), json!({ "unset": ["mine"] })] {
        dora.refused("rooms.set", set(payload), 7, "\"mine\" is private to whoever set it.");
    }
    assert_eq!(ann.ok("rooms.set", set(json!({ "unset": ["mine"] }))), json!({ "version": 4 }), "but to the owner");

    eve.refused("rooms.set", set(json!({})), 9, NOT_IN_ROOM);
    eve.ok("rooms.join", of(&room, json!({ "spectator": true })));
    eve.refused("rooms.set", set(json!({})), 7, "Spectators change no variables of the room.");
    ann.refused("rooms.set", json!({ "room": NO_ROOM_ID }), 5, NO_ROOM);
    let many: Value = (0..65).map(|number| (number.to_string(), json!(0))).collect();
    ann.refused("rooms.set", set(json!({ "set": many })), 8, "There may be at most 64 values.");
    ann.refused(
        "rooms.set",
        set(json!({ "set": { "a": "x".repeat(2_047) } })),
        3,
        "A value has at most 2048 bytes of JSON.",
    );
    ann.refused("rooms.set", set(json!({ "set": { "n".repeat(65): 1 } })), 3, "A name has 1 to 64 bytes.");
    let full: Value = (0..9).map(|number| (number.to_string(), json!("x".repeat(2_000)))).collect();
    ann.refused("rooms.set", set(json!({ "set": full })), 8, "Names and values may have at most 16384 bytes together.");
}

#[test]
fn variables_of_players_are_their_own() {
    let world = World::new();
    let (ann, bob, eve, room) = in_room(&world, json!({}));
    let set = |payload: Value| of(&room, payload);
    assert_eq!(
        bob.ok("rooms.set_player", set(json!({ "set": { "cards": [7] }, "private": true }))),
        json!({ "version": 1 })
    );
    assert_eq!(
        bob.ok("rooms.set_player", set(json!({ "set": { "ready": true }, "version": 1 }))),
        json!({ "version": 2 })
    );
    let own = json!({ "type": "player_variables", "version": 1, "unset": [], "set": { "cards": [7] } });
    let shared = json!({ "type": "player_variables", "version": 2, "unset": [], "set": { "ready": true } });
    assert_eq!((told(&bob), told(&ann)), (vec![own, shared.clone()], vec![shared]));
    let shown =
        |viewer: &Connected<'_>| viewer.ok("rooms.get", of(&room, json!({})))["members"][1]["variables"].clone();
    assert_eq!((shown(&bob), shown(&ann)), (json!({ "cards": [7], "ready": true }), json!({ "ready": true })));

    bob.refused(
        "rooms.set_player",
        set(json!({ "version": 1 })),
        9,
        "The variables are at version 2, not 1: read them again.",
    );
    eve.refused("rooms.set_player", set(json!({})), 9, NOT_IN_ROOM);
    eve.refused("rooms.set_player", json!({ "room": NO_ROOM_ID }), 5, NO_ROOM);
    let many: Value = (0..17).map(|number| (number.to_string(), json!(0))).collect();
    bob.refused("rooms.set_player", set(json!({ "set": many })), 8, "There may be at most 16 values.");
    let full: Value = (0..3).map(|number| (number.to_string(), json!("x".repeat(2_000)))).collect();
    bob.refused(
        "rooms.set_player",
        set(json!({ "set": full })),
        8,
        "Names and values may have at most 4096 bytes together.",
    );
    bob.refused("rooms.set_player", set(json!({ "set": { "": 1 } })), 3, "A name has 1 to 64 bytes.");
    assert_eq!(shown(&ann), json!({ "ready": true }));
}

#[test]
fn values_come_back_as_they_were_written() {
    let world = World::new();
    let (ann, bob, _, room) = in_room(&world, json!({}));
    let deep = format!("{}1{}", "[".repeat(1_000), "]".repeat(1_000));
    for value in
        ["12345678901234567890123", "1.0", "1e400", "null", r#"{"b":1,"a":{"":[]}}"#, r#""\u00e4\ud83d\ude00""#, &deep]
    {
        let text = format!("{{\"room\":{room},\"set\":{{\"v\":{value}}}}}");
        ann.call_text("rooms.set", &text).unwrap();
        world.advance_live(100);
        let pushed = bob.pushed();
        let data = pushed.last().unwrap()["stream_data"]["data"].as_str().unwrap();
        assert!(data.ends_with(&format!("\"set\":{{\"v\":{value}}}}}")), "{data}");
        // The listing has the value in the same spelling.
        let listed = ann.ask("rpc", json!({ "id": "muster.rooms.find" }))["rpc"]["payload"].clone();
        assert!(listed.as_str().unwrap().contains(&format!("\"variables\":{{\"v\":{value}}}")), "{listed}");
    }
    for wrong in ["", "nul", "01", "\"\u{1}\"", "{a:1}", "[1,]"] {
        let text = format!("{{\"room\":{room},\"set\":{{\"v\":{wrong}}}}}");
        let (code, message) = ann.call_text("rooms.set", &text).unwrap_err();
        assert!(code == 3 && message.starts_with("The payload does not fit: "), "{wrong}: {code} {message}");
    }
}
