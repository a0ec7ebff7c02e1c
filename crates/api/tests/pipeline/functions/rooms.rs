//! Players who enter rooms, stay and leave: the answers, the messages to others, and the refusals.

use std::sync::Arc;

use muster_domain::ids::Uuid;
use muster_live::PlaneConfig;
use muster_live::rooms::limits::LOBBY_VIEWS_PER_SESSION_MAX;
use muster_live::rooms::{RoomsConfig, Template, Templates};
use serde_json::{Value, json};

use super::{Calls, NO_ROOM, NO_ROOM_ID, NOT_IN_ROOM, id_of, over_http, told};
use crate::connected::Connected;
use crate::world::{Setup, World};

const FULL: &str = "The room is full.";

/// A world with a template of two seats, and one of three to five.
fn world() -> World {
    let duel = Template { sizes: (2, 2), ..Template::new("duel") };
    let table = Template { sizes: (3, 5), owned: false, spectators_max: 2, ..Template::new("table") };
    let rooms =
        RoomsConfig { templates: Templates::new([duel, table]), rooms_per_creator_max: 3, ..RoomsConfig::default() };
    World::with(Setup { plane: PlaneConfig { rooms: Arc::new(rooms), ..PlaneConfig::default() }, ..Setup::default() })
}

fn players(world: &World) -> [Connected<'_>; 3] {
    ["ann-device", "bob-device", "eve-device"].map(|device| Connected::new(world, device))
}

#[test]
fn a_room_as_its_maker_and_others_see_it() {
    let world = world();
    let [ann, bob, eve] = players(&world);
    let made = ann.ok(
        "rooms.create",
        json!({
            "template": "duel", "name": "Köln", "path": "a/b", "spectators_max": 1, "password": "sesame",
            "properties": { "stake": 5 }, "variables": { "round": [1, { "x": null }] },
        }),
    );
    let room = id_of(&made);
    let mut shown = json!({
        "id": room, "name": "Köln", "template": "duel", "path": "a/b", "capacity": 2, "players": 1, "free": 1,
        "spectators": 0, "spectators_max": 1, "locked": true, "open": true, "owner": ann.id(),
        "properties": { "stake": 5 }, "variables": { "round": [1, { "x": null }] }, "version": 1,
    });
    let member = |player: &Connected<'_>, seat: Value| {
        json!({
            "user_id": player.id(), "username": player.session.claims().username,
            "session_id": player.session.session_id().to_string(), "seat": seat, "variables": {},
        })
    };
    let expect = json!({ "room": shown, "seat": 1, "members": [member(&ann, json!(1))], "members_total": 1 });
    assert_eq!(made, expect);
    assert_eq!(ann.ok("rooms.join", json!({ "room": room })), expect, "who is there already changes nothing");
    assert_eq!(ann.ok("rooms.get", json!({ "room": room })), expect);
    assert_eq!(bob.ok("rooms.get", json!({ "room": room })), json!({ "room": shown }));

    let joined = bob.ok("rooms.join", json!({ "room": room, "password": "sesame" }));
    let watching = eve.ok("rooms.join", json!({ "room": room, "password": "sesame", "spectator": true }));
    (shown["players"], shown["free"]) = (json!(2), json!(0));
    let members = json!([member(&ann, json!(1)), member(&bob, json!(2))]);
    assert_eq!(joined, json!({ "room": shown, "seat": 2, "members": members, "members_total": 2 }));
    shown["spectators"] = json!(1);
    let members = json!([member(&ann, json!(1)), member(&bob, json!(2)), member(&eve, json!(null))]);
    assert_eq!(watching, json!({ "room": shown, "seat": null, "members": members, "members_total": 3 }));
}

#[test]
fn a_room_of_nothing_but_defaults() {
    let world = world();
    let [ann, ..] = players(&world);
    let made = ann.call_text("rooms.create", "").unwrap();
    let room = &made["room"];
    assert!(room.get("template").is_none());
    for (member, expect) in [
        ("name", json!("")),
        ("path", json!("")),
        ("capacity", json!(8)),
        ("spectators_max", json!(0)),
        ("locked", json!(false)),
        ("properties", json!({})),
        ("variables", json!({})),
        ("version", json!(0)),
    ] {
        assert_eq!(room[member], expect, "{member}");
    }
    assert_eq!(ann.ok("rooms.leave", json!({ "room": id_of(&made) })), json!({}));
    ann.refused("rooms.get", json!({ "room": id_of(&made) }), 5, NO_ROOM);
}

#[test]
fn what_no_room_can_be_made_of() {
    let world = world();
    let [ann, ..] = players(&world);
    let named = |count: usize| -> Value { (0..count).map(|number| (number.to_string(), json!(0))).collect() };
    let filled =
        |count: usize| -> Value { (0..count).map(|number| (number.to_string(), json!("x".repeat(2_000)))).collect() };
    let path_rule = "A path is made of letters, digits, '-', '_' and '.', with '/' between its segments.";
    for (payload, code, message) in [
        (json!({ "template": "dual" }), 5, "There is no room template named \"dual\" in the setting rooms.templates."),
        (json!({ "template": "duel", "capacity": 3 }), 3, "Rooms of \"duel\" have 2 to 2 players."),
        (json!({ "name": "n".repeat(129) }), 3, "A room's name has at most 128 bytes."),
        (json!({ "path": "p".repeat(129) }), 3, "A path has at most 128 bytes."),
        (json!({ "path": "a/b/c/d/e/f/g/h/i" }), 3, "A path has at most 8 segments."),
        (json!({ "path": "/a" }), 3, path_rule),
        (json!({ "path": "a b" }), 3, path_rule),
        (json!({ "capacity": 0 }), 3, "A room has 1 to 10000 seats."),
        (json!({ "capacity": 10_001 }), 3, "A room has 1 to 10000 seats."),
        (json!({ "spectators_max": 100_001 }), 3, "A room takes at most 100000 spectators."),
        (json!({ "password": "p".repeat(129) }), 3, "A room's password has 1 to 128 bytes."),
        (json!({ "empty_sec": 3_601 }), 3, "An empty room is kept at most 3600 seconds."),
        (json!({ "empty_sec": u64::MAX }), 3, "\"empty_sec\" is too long."),
        (
            json!({ "life_sec": 0 }),
            3,
            "A room lives for at least a second: leave \"life_sec\" out to keep it for good.",
        ),
        (json!({ "life_sec": u64::MAX }), 3, "\"life_sec\" is too long."),
        (json!({ "properties": named(33) }), 8, "There may be at most 32 values."),
        (json!({ "variables": named(65) }), 8, "There may be at most 64 values."),
        (json!({ "properties": filled(9) }), 8, "Names and values may have at most 16384 bytes together."),
        (json!({ "variables": filled(9) }), 8, "Names and values may have at most 16384 bytes together."),
        (json!({ "properties": { "a": "x".repeat(2_047) } }), 3, "A value has at most 2048 bytes of JSON."),
        (json!({ "variables": { "": 1 } }), 3, "A name has 1 to 64 bytes."),
        (json!({ "properties": { "n".repeat(65): 1 } }), 3, "A name has 1 to 64 bytes."),
    ] {
        ann.refused("rooms.create", payload, code, message);
    }
    assert_eq!(world.app.live.stats().rooms.rooms, 0);
    let edge = json!({
        "name": "n".repeat(128), "path": "a/b/c/d/e/f/g/h", "capacity": 10_000, "spectators_max": 100_000,
        "password": "p".repeat(128), "empty_sec": 3_600, "properties": named(32), "variables": named(64),
    });
    ann.ok("rooms.create", edge);
    (0..2).for_each(|_| drop(ann.ok("rooms.create", json!({ "life_sec": 1, "properties": filled(8) }))));
    let message = "You have made 3 rooms that are still open, and may have no more.";
    ann.refused("rooms.create", json!({}), 8, message);
    over_http(&world, "ann-device").refused("rooms.create", json!({ "reserve": true }), 8, message);
    world.advance_live(1_000);
    assert_eq!(
        told(&ann),
        [json!({ "type": "closed", "reason": "expired" }), json!({ "type": "closed", "reason": "expired" })]
    );
    ann.ok("rooms.create", json!({}));
}

#[test]
fn an_empty_room_is_kept_for_as_long_as_it_was_said() {
    let world = world();
    let [ann, bob, _] = players(&world);
    let room = id_of(&ann.ok("rooms.create", json!({ "empty_sec": 5 })));
    ann.ok("rooms.leave", json!({ "room": room }));
    world.advance_live(4_999);
    let joined = bob.ok("rooms.join", json!({ "room": room }));
    assert_eq!((&joined["seat"], &joined["room"]["owner"]), (&json!(1), &json!(bob.id())));
    bob.ok("rooms.leave", json!({ "room": room }));
    world.advance_live(5_000);
    ann.refused("rooms.join", json!({ "room": room }), 5, NO_ROOM);
}

#[test]
fn who_does_not_come_in() {
    let world = world();
    let [ann, bob, eve] = players(&world);
    ann.refused("rooms.join", json!({ "room": NO_ROOM_ID }), 5, NO_ROOM);
    let room = id_of(&ann.ok("rooms.create", json!({ "capacity": 2, "spectators_max": 1, "password": "sesame" })));
    bob.refused("rooms.join", json!({ "room": room }), 7, "The room is locked: give its password.");
    bob.refused("rooms.join", json!({ "room": room, "password": "" }), 7, "The room is locked: give its password.");
    let long = json!({ "room": room, "password": "p".repeat(129) });
    bob.refused("rooms.join", long, 3, "A room's password has 1 to 128 bytes.");
    for _ in 0..5 {
        bob.refused("rooms.join", json!({ "room": room, "password": "open" }), 7, "That is not the room's password.");
    }
    let right = json!({ "room": room, "password": "sesame" });
    let wait = "Too many wrong passwords for this room. Please wait 30 seconds.";
    bob.refused("rooms.join", right.clone(), 8, wait);
    eve.ok("rooms.join", right.clone());
    world.advance_live(30_000);
    bob.refused("rooms.join", right, 8, FULL);
    let watch = json!({ "room": room, "password": "sesame", "spectator": true });
    bob.ok("rooms.join", watch.clone());
    let carl = Connected::new(&world, "carl-device");
    carl.refused("rooms.join", watch, 8, "The room takes 1 spectators, and has them.");
    ann.ok("rooms.update", json!({ "room": room, "open": false, "password": null, "capacity": 3 }));
    carl.refused("rooms.join", json!({ "room": room }), 9, "The room takes no more players.");
}

#[test]
fn another_session_of_a_user_takes_the_place_of_the_first() {
    let world = world();
    let [ann, bob, _] = players(&world);
    let room = id_of(&ann.ok("rooms.create", json!({})));
    bob.ok("rooms.join", json!({ "room": room }));
    let tablet = Connected::new(&world, "bob-device");
    let joined = tablet.ok("rooms.join", json!({ "room": room }));
    assert_eq!((&joined["seat"], &joined["members_total"]), (&json!(2), &json!(2)));
    assert_eq!(told(&bob), [json!({ "type": "out", "reason": "replaced" })]);
    bob.refused("rooms.send", json!({ "room": room, "data": "" }), 9, NOT_IN_ROOM);
    bob.refused("rooms.leave", json!({ "room": room }), 9, "You are not in this room.");
    tablet.ok("rooms.send", json!({ "room": room, "data": "" }));
}

#[test]
fn players_are_placed_in_one_room_after_the_other() {
    let world = world();
    let [ann, bob, eve] = players(&world);
    let first = ann.ok("rooms.place", json!({ "template": "duel" }));
    assert_eq!((&first["room"]["template"], &first["seat"]), (&json!("duel"), &json!(1)));
    let second = bob.ok("rooms.place", json!({ "template": "duel", "size": 2 }));
    assert_eq!((id_of(&second), &second["seat"], &second["members_total"]), (id_of(&first), &json!(2), &json!(2)));
    let third = eve.ok("rooms.place", json!({ "template": "duel" }));
    assert_ne!(id_of(&third), id_of(&first));
    let held = eve.ok("rooms.place", json!({ "template": "table", "size": 4, "reserve": true }));
    assert_eq!(
        (&held["room"]["capacity"], &held["room"]["owner"], &held["held_ms"]),
        (&json!(4), &json!(null), &json!(10_000))
    );
    assert_eq!((held.get("members"), &held["seat"]), (None, &json!(1)));
    ann.refused(
        "rooms.place",
        json!({ "template": "dual" }),
        5,
        "There is no room template named \"dual\" in the setting rooms.templates.",
    );
    ann.refused("rooms.place", json!({ "template": "table", "size": 6 }), 3, "Rooms of \"table\" have 3 to 5 players.");
    ann.refused("rooms.place", json!({ "size": 2 }), 3, "Rooms of \"default\" have 8 to 8 players.");
    assert_eq!(ann.ok("rooms.place", json!({}))["room"]["template"], "default");
}

#[test]
fn a_quick_join_takes_the_first_room_that_fits() {
    let world = world();
    let [ann, bob, eve] = players(&world);
    bob.refused("rooms.quick_join", json!({}), 5, "No open room fits.");
    let locked = json!({ "path": "a", "password": "p", "properties": { "level": 9 } });
    ann.ok("rooms.create", locked);
    let open = id_of(&ann.ok("rooms.create", json!({ "path": "a/b", "capacity": 2, "properties": { "level": 5 } })));
    world.advance_live(100);
    bob.refused("rooms.quick_join", json!({ "path": "b" }), 5, "No open room fits.");
    bob.refused("rooms.quick_join", json!({ "filter": "+properties.level:>=6" }), 5, "No open room fits.");
    let found = bob.ok("rooms.quick_join", json!({ "path": "a", "filter": "+properties.level:>=5" }));
    assert_eq!((id_of(&found), &found["seat"], &found["members_total"]), (open.clone(), &json!(2), &json!(2)));
    world.advance_live(100);
    eve.refused("rooms.quick_join", json!({}), 5, "No open room fits.");
    eve.refused(
        "rooms.quick_join",
        json!({ "path": "a//b" }),
        3,
        "A path is made of letters, digits, '-', '_' and '.', with '/' between its segments.",
    );
    eve.refused("rooms.quick_join", json!({ "filter": "x".repeat(1_025) }), 3, "A filter has at most 1024 bytes.");
    let (code, message) = eve.call("rooms.quick_join", json!({ "filter": "+a:>" })).unwrap_err();
    assert!(code == 3 && message.starts_with("Invalid query at character 5: "), "{code} {message}");
}

#[test]
fn what_members_say_to_each_other() {
    let world = world();
    let [ann, bob, eve] = players(&world);
    let room = id_of(&ann.ok("rooms.create", json!({})));
    bob.ok("rooms.join", json!({ "room": room }));
    let say = |data: &str| json!({ "room": room, "data": data });
    assert_eq!(ann.ok("rooms.send", say("\u{1} „all“ \n")), json!({}));
    let message = json!({ "type": "message", "data": "\u{1} „all“ \n" });
    assert_eq!((told(&ann), told(&bob)), (vec![message.clone()], vec![message]));
    ann.ok("rooms.send", say(&"x".repeat(4_096)));
    ann.refused("rooms.send", say(&"x".repeat(4_097)), 3, "A message has at most 4096 bytes.");
    eve.refused("rooms.send", say("hm"), 9, NOT_IN_ROOM);
    eve.refused("rooms.send", json!({ "room": NO_ROOM_ID, "data": "hm" }), 5, NO_ROOM);
    told(&ann);
    told(&bob);

    let whisper = |users: Value| json!({ "room": room, "users": users, "data": "psst" });
    assert_eq!(ann.ok("rooms.send_to", whisper(json!([bob.id(), bob.id()]))), json!({}));
    assert_eq!((told(&ann), told(&bob)), (vec![], vec![json!({ "type": "private", "data": "psst" })]));
    ann.refused("rooms.send_to", whisper(json!([])), 3, "A private message is for 1 to 100 users.");
    ann.refused("rooms.send_to", whisper(json!(vec![bob.id(); 101])), 3, "A private message is for 1 to 100 users.");
    let stranger = format!("User {} is not in this room.", eve.id());
    ann.refused("rooms.send_to", whisper(json!([bob.id(), eve.id()])), 5, &stranger);
    eve.refused("rooms.send_to", whisper(json!([bob.id()])), 9, NOT_IN_ROOM);
    let long = json!({ "room": room, "users": [bob.id()], "data": "x".repeat(4_097) });
    ann.refused("rooms.send_to", long, 3, "A message has at most 4096 bytes.");
    assert_eq!(told(&bob), Vec::<Value>::new(), "all or nobody");
}

#[test]
fn a_spectator_sits_down_and_a_player_stands_up() {
    let world = world();
    let [ann, bob, eve] = players(&world);
    let room = id_of(&ann.ok("rooms.create", json!({ "capacity": 1, "spectators_max": 1 })));
    bob.ok("rooms.join", json!({ "room": room, "spectator": true }));
    let seat = |spectator: bool| json!({ "room": room, "spectator": spectator });
    bob.refused("rooms.spectate", seat(false), 8, FULL);
    ann.refused("rooms.spectate", seat(true), 8, "The room takes 1 spectators, and has them.");
    eve.refused("rooms.spectate", seat(true), 9, NOT_IN_ROOM);
    eve.refused("rooms.spectate", json!({ "room": NO_ROOM_ID, "spectator": true }), 5, NO_ROOM);
    told(&ann);
    told(&bob);
    assert_eq!((bob.ok("rooms.spectate", seat(true)), ann.ok("rooms.spectate", seat(false))), (json!({}), json!({})));
    assert_eq!(told(&bob), Vec::<Value>::new(), "it is so already");
    ann.ok("rooms.update", json!({ "room": room, "capacity": 2, "spectators_max": 2 }));
    told(&bob);
    bob.ok("rooms.spectate", seat(false));
    ann.ok("rooms.spectate", seat(true));
    let expect = [
        json!({ "type": "seat", "seat": 2 }),
        json!({ "type": "seat", "seat": null }),
        json!({ "type": "owner", "owner": bob.id() }),
    ];
    assert_eq!(told(&bob), expect);
}

#[test]
fn a_session_may_be_in_so_many_rooms() {
    let plane = PlaneConfig { session_streams_max: 3, ..PlaneConfig::default() };
    let world = World::with(Setup { plane, ..Setup::default() });
    let [ann, ..] = players(&world);
    // The streams of the session's notifications and status are two of the three.
    ann.ok("rooms.create", json!({}));
    let message = "The session is in as many rooms, channels, matches and parties as it may: leave some first.";
    ann.refused("rooms.create", json!({}), 8, message);
    ann.refused("lobby.subscribe", json!({}), 8, message);
    let room: Uuid =
        id_of(&over_http(&world, "bob-device").ok("rooms.create", json!({}))).as_str().unwrap().parse().unwrap();
    ann.refused("rooms.join", json!({ "room": room }), 8, message);
}

#[test]
fn a_session_watches_the_lobby_in_so_many_ways() {
    let world = World::with(Setup::default());
    let [ann, bob, ..] = players(&world);
    let view = |number: usize| json!({ "path": format!("p{number}") });
    let names: Vec<Value> = (0..LOBBY_VIEWS_PER_SESSION_MAX)
        .map(|number| ann.ok("lobby.subscribe", view(number))["lobby"].clone())
        .collect();
    ann.ok("lobby.subscribe", view(0));
    let message = "A session watches the lobby in at most 8 ways: end one first.";
    ann.refused("lobby.subscribe", view(100), 8, message);
    assert_eq!(world.app.live.stats().rooms.views_refused, 1);
    bob.ok("lobby.subscribe", view(100));
    ann.ok("lobby.unsubscribe", json!({ "lobby": names[3] }));
    ann.ok("lobby.subscribe", view(100));
}
