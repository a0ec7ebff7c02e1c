//! Payloads that do not fit: every function, and each of its members in turn.

use serde_json::{Value, json};

use super::{Calls, NO_ROOM_ID, over_http, server};
use crate::connected::Connected;
use crate::world::World;

/// Every function, with a payload that fits.
fn all() -> Vec<(&'static str, Value)> {
    let user = NO_ROOM_ID;
    let room = NO_ROOM_ID;
    vec![
        (
            "rooms.create",
            json!({
                "template": "default", "name": "n", "path": "p", "capacity": 8, "spectators_max": 1, "password": "p",
                "hidden": true, "empty_sec": 1, "life_sec": 1, "recover": true, "properties": {}, "variables": {},
                "reserve": true,
            }),
        ),
        ("rooms.join", json!({ "room": room, "password": "p", "spectator": true })),
        ("rooms.place", json!({ "template": "default", "size": 8, "reserve": true })),
        ("rooms.quick_join", json!({ "path": "p", "filter": "*", "reserve": true })),
        ("rooms.leave", json!({ "room": room })),
        ("rooms.find", json!({ "path": "p", "filter": "*", "limit": 1, "cursor": "c" })),
        ("rooms.get", json!({ "room": room })),
        ("rooms.set", json!({ "room": room, "set": {}, "unset": ["a"], "private": true, "version": 1 })),
        ("rooms.set_player", json!({ "room": room, "set": {}, "unset": ["a"], "private": true, "version": 1 })),
        ("rooms.send", json!({ "room": room, "data": "d" })),
        ("rooms.send_to", json!({ "room": room, "users": [user], "data": "d" })),
        ("rooms.kick", json!({ "room": room, "user": user, "bar_sec": 1 })),
        (
            "rooms.update",
            json!({
                "room": room, "name": "n", "open": true, "password": "p", "capacity": 1, "spectators_max": 1,
                "set_properties": {}, "unset_properties": ["a"],
            }),
        ),
        ("rooms.spectate", json!({ "room": room, "spectator": true })),
        ("lobby.subscribe", json!({ "path": "p", "filter": "*", "interval_ms": 250, "rooms_max": 1 })),
        ("lobby.unsubscribe", json!({ "lobby": "l" })),
        (
            "matchmaker.add",
            json!({
                "min_count": 2, "max_count": 2, "count_multiple": 1, "query": "*", "string_properties": {},
                "numeric_properties": {}, "widening": [], "owner": "o", "users": [user],
            }),
        ),
        ("matchmaker.remove", json!({ "ticket": "t", "owner": "o" })),
        ("matchmaker.explain", json!({ "ticket": "t" })),
    ]
}

/// Checks that a payload is refused as the caller's fault, and that the sentence names the part that does not fit.
#[track_caller]
fn check(caller: &dyn Calls, name: &str, payload: &str, what: &str) {
    let (code, message) = caller.call_text(name, payload).unwrap_err();
    let fits = message.starts_with("The payload ") && message.contains(what);
    assert!(code == 3 && fits, "muster.{name} {payload}: {code} {message}, not {what}");
}

/// Runs a check for every kind of caller.
fn with_callers(check: impl Fn(&dyn Calls)) {
    let world = World::new();
    check(&Connected::new(&world, "0123456789"));
    check(&over_http(&world, "0123456789"));
    check(&server(&world));
}

#[test]
fn what_is_no_object_is_refused_with_the_place() {
    with_callers(|caller| {
        for (name, payload) in all() {
            let text = payload.to_string();
            check(caller, name, &text[..text.len() - 1], "EOF while parsing an object at line 1");
            check(caller, name, &format!("{text} x"), "trailing characters at line 1");
            check(caller, name, "{\"\u{1}\":1}", "control character");
            check(caller, name, "{'room':1}", "key must be a string");
            for text in ["[]", "null", "1", "\"text\"", "true", "nonsense", &json!([NO_ROOM_ID, "a", "b"]).to_string()]
            {
                check(caller, name, text, "is not a JSON object");
            }
        }
    });
}

#[test]
fn members_that_a_function_does_not_have_are_refused_by_name() {
    with_callers(|caller| {
        for (name, payload) in all() {
            let mut with_more = payload.clone();
            with_more["rom"] = json!(1);
            check(caller, name, &with_more.to_string(), "unknown field `rom`, expected ");
            let text = payload.to_string();
            let (first, _) = payload.as_object().unwrap().iter().next().unwrap();
            let twice = format!("{{\"{first}\":{},{}", payload[first], &text[1..]);
            check(caller, name, &twice, &format!("duplicate field `{first}`"));
        }
    });
}

#[test]
fn members_of_another_type_are_refused() {
    with_callers(|caller| {
        for (name, payload) in all() {
            for member in payload.as_object().unwrap().keys() {
                let wrong = match &payload[member] {
                    Value::String(_) => json!(1),
                    Value::Number(_) => json!("1"),
                    Value::Bool(_) => json!(1),
                    Value::Array(_) => json!({}),
                    _ => json!("a"),
                };
                let mut payload = payload.clone();
                payload[member] = wrong;
                check(caller, name, &payload.to_string(), "invalid type: ");
            }
        }
    });
}

#[test]
fn what_a_function_cannot_do_without_is_named() {
    let required = [
        ("rooms.join", &["room"][..]),
        ("rooms.leave", &["room"]),
        ("rooms.get", &["room"]),
        ("rooms.set", &["room"]),
        ("rooms.set_player", &["room"]),
        ("rooms.send", &["room", "data"]),
        ("rooms.send_to", &["room", "users", "data"]),
        ("rooms.kick", &["room", "user"]),
        ("rooms.update", &["room"]),
        ("rooms.spectate", &["room", "spectator"]),
        ("lobby.unsubscribe", &["lobby"]),
        ("matchmaker.remove", &["ticket"]),
        ("matchmaker.explain", &["ticket"]),
    ];
    with_callers(|caller| {
        for (name, members) in required {
            for member in members {
                let mut payload = all().into_iter().find(|(other, _)| *other == name).unwrap().1;
                payload.as_object_mut().unwrap().remove(*member);
                check(caller, name, &payload.to_string(), &format!("missing field `{member}`"));
            }
            // An empty payload is an empty object.
            for empty in ["", " \n", "{}"] {
                check(caller, name, empty, &format!("missing field `{}`", members[0]));
            }
        }
    });
}

#[test]
fn ids_are_uuids() {
    with_callers(|caller| {
        for (name, payload) in all() {
            for (member, what) in
                [("room", "a room is named by its id, a UUID"), ("user", "a user is named by its id, a UUID")]
            {
                if payload.get(member).is_none() {
                    continue;
                }
                for id in ["", "x", "00000000-0000-4000-8000-00000000000", "00000000-0000-4000-8000-00000000000g"] {
                    let mut payload = payload.clone();
                    payload[member] = json!(id);
                    check(caller, name, &payload.to_string(), what);
                }
            }
        }
        let users = json!({ "room": NO_ROOM_ID, "users": [NO_ROOM_ID, "bob"], "data": "" });
        check(caller, "rooms.send_to", &users.to_string(), "a user is named by its id, a UUID");
    });
}

#[test]
fn numbers_are_whole_and_not_negative() {
    with_callers(|caller| {
        for (name, payload) in all() {
            let numbers = payload.as_object().unwrap().iter().filter(|(_, value)| value.is_number());
            for (member, _) in numbers {
                let of = |wrong: &str| {
                    payload
                        .to_string()
                        .replace(&format!("\"{member}\":{}", payload[member]), &format!("\"{member}\":{wrong}"))
                };
                check(caller, name, &of("1.5"), "invalid type: floating point `1.5`");
                check(caller, name, &of("1e3"), "invalid type: floating point `1000.0`");
                check(caller, name, &of("1e999"), "number out of range");
                if !name.starts_with("matchmaker") {
                    check(caller, name, &of("-1"), "invalid value: integer `-1`");
                }
                let huge = "123456789012345678901234567890";
                check(caller, name, &of(huge), "invalid type: floating point");
            }
        }
    });
}
