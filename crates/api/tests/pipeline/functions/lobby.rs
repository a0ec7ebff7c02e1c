//! Finding rooms page by page, and watching the lobby.

use muster_live::rooms::limits::{LOBBY_VIEWS_MAX, LOBBY_VIEWS_PER_SESSION_MAX};
use serde_json::{Value, json};

use super::{Calls, id_of, over_http, server, told};
use crate::connected::Connected;
use crate::world::World;

const PATH_RULE: &str = "A path is made of letters, digits, '-', '_' and '.', with '/' between its segments.";

fn ids(page: &Value) -> Vec<Value> {
    page["rooms"].as_array().unwrap().iter().map(|room| room["id"].clone()).collect()
}

/// Makes `count` rooms at a path, each by another player.
fn rooms_at<'w>(world: &'w World, path: &str, count: usize) -> Vec<(Connected<'w>, Value)> {
    let make = |number| {
        let maker = Connected::new(world, &format!("maker-of-{path}-{number}"));
        let made = maker.ok("rooms.create", json!({ "path": path, "properties": { "number": number } }));
        let id = id_of(&made);
        (maker, id)
    };
    let made = (0..count).map(make).collect();
    world.advance_live(100);
    made
}

#[test]
fn rooms_are_found_by_path_and_filter_page_by_page() {
    let world = World::new();
    let made = rooms_at(&world, "games/duel", 5);
    rooms_at(&world, "other", 1);
    let all: Vec<Value> = made.iter().map(|(_, id)| id.clone()).collect();
    let ann = Connected::new(&world, "ann-device");
    let (http, server) = (over_http(&world, "ann-device"), server(&world));
    let callers: [&dyn Calls; 3] = [&ann, &http, &server];
    for caller in callers {
        let first = caller.ok("rooms.find", json!({ "path": "games", "limit": 2 }));
        assert_eq!(ids(&first), all[..2]);
        assert_eq!((first.get("lobby"), first.get("revision"), first["rooms"][0].get("version")), (None, None, None));
        let second = caller.ok("rooms.find", json!({ "path": "games", "limit": 2, "cursor": first["cursor"] }));
        assert_eq!(ids(&second), all[2..4]);
        let third = caller.ok("rooms.find", json!({ "path": "games", "limit": 2, "cursor": second["cursor"] }));
        assert_eq!((ids(&third), third.get("cursor")), (all[4..].to_vec(), None));
        assert_eq!(ids(&caller.ok("rooms.find", json!({ "filter": "+properties.number:>=3" }))), all[3..]);
        assert_eq!(caller.ok("rooms.find", json!({ "path": "games/due" })), json!({ "rooms": [] }));
        assert_eq!(ids(&caller.ok("rooms.find", json!({}))).len(), 6);

        for (payload, message) in [
            (json!({ "limit": 0 }), "A page has 1 to 100 rooms."),
            (json!({ "limit": 101 }), "A page has 1 to 100 rooms."),
            (json!({ "path": "a//b" }), PATH_RULE),
            (json!({ "path": "p".repeat(129) }), "A path has at most 128 bytes."),
            (json!({ "filter": "x".repeat(1_025) }), "A filter has at most 1024 bytes."),
            (json!({ "cursor": "" }), "The cursor is not one of this search."),
            (json!({ "cursor": "nonsense" }), "The cursor is not one of this search."),
            (json!({ "cursor": first["cursor"] }), "The cursor is not one of this search."),
            (
                json!({ "path": "games", "filter": "*", "cursor": first["cursor"] }),
                "The cursor is not one of this search.",
            ),
        ] {
            caller.refused("rooms.find", payload, 3, message);
        }
        let (code, message) = caller.call("rooms.find", json!({ "filter": "+a:>" })).unwrap_err();
        assert!(code == 3 && message.starts_with("Invalid query at character 5: "), "{code} {message}");
    }
}

#[test]
fn hidden_rooms_are_in_no_listing() {
    let world = World::new();
    let ann = Connected::new(&world, "ann-device");
    let hidden = id_of(&ann.ok("rooms.create", json!({ "hidden": true })));
    world.advance_live(100);
    assert_eq!(ann.ok("rooms.find", json!({})), json!({ "rooms": [] }));
    assert_eq!(id_of(&ann.ok("rooms.get", json!({ "room": hidden }))), hidden);
}

#[test]
fn who_watches_is_told_of_changes_until_it_has_enough() {
    let world = World::new();
    let made = rooms_at(&world, "games", 2);
    let ann = Connected::new(&world, "ann-device");
    let first = ann.ok("lobby.subscribe", json!({ "path": "games", "filter": "+open:T" }));
    assert_eq!(ids(&first), made.iter().map(|(_, id)| id.clone()).collect::<Vec<_>>());
    assert_eq!((&first["revision"], first.get("cursor")), (&json!(0), None));
    assert_eq!(told(&ann), Vec::<Value>::new());

    let (maker, room) = &made[0];
    maker.ok("rooms.update", json!({ "room": room, "name": "new" }));
    made[1].0.ok("rooms.update", json!({ "room": made[1].1, "open": false }));
    world.advance_live(250);
    let pushed = told(&ann);
    assert_eq!(pushed.len(), 1, "{pushed:?}");
    let delta = &pushed[0];
    assert_eq!((&delta["type"], &delta["rooms"][0]["name"]), (&json!("lobby"), &json!("new")));
    assert_eq!((ids(delta), &delta["gone"]), (vec![room.clone()], &json!([made[1].1])));
    assert!(delta["revision"].as_u64() > Some(0));

    assert_eq!(ann.ok("lobby.unsubscribe", json!({ "lobby": first["lobby"] })), json!({}));
    assert_eq!(ann.ok("lobby.unsubscribe", json!({ "lobby": first["lobby"] })), json!({}), "so it is already");
    maker.ok("rooms.update", json!({ "room": room, "name": "newer" }));
    world.advance_live(250);
    assert_eq!(told(&ann), Vec::<Value>::new());
}

#[test]
fn a_first_page_that_does_not_hold_all_has_a_cursor_of_the_search() {
    let world = World::new();
    let makers: Vec<Connected<'_>> =
        (0..3).map(|number| Connected::new(&world, &format!("maker-number-{number}"))).collect();
    makers.iter().for_each(|maker| (0..10).for_each(|_| drop(maker.ok("rooms.create", json!({})))));
    world.advance_live(100);
    let ann = Connected::new(&world, "ann-device");
    let first = ann.ok("lobby.subscribe", json!({}));
    let listed = ids(&first).len();
    let rest = first
        .get("cursor")
        .map_or(0, |cursor| ids(&ann.ok("rooms.find", json!({ "limit": 100, "cursor": cursor }))).len());
    assert_eq!(listed + rest, 30);
}

#[test]
fn how_nobody_can_watch() {
    let world = World::new();
    let ann = Connected::new(&world, "ann-device");
    let interval = "A lobby is told every 250 to 60000 milliseconds.";
    let rooms = "A lobby is told of 1 to 50 rooms at a time.";
    for (payload, message) in [
        (json!({ "interval_ms": 249 }), interval),
        (json!({ "interval_ms": 60_001 }), interval),
        (json!({ "rooms_max": 0 }), rooms),
        (json!({ "rooms_max": 51 }), rooms),
        (json!({ "path": "a//b" }), PATH_RULE),
        (json!({ "filter": "x".repeat(1_025) }), "A filter has at most 1024 bytes."),
    ] {
        ann.refused("lobby.subscribe", payload, 3, message);
    }
    let (code, message) = ann.call("lobby.subscribe", json!({ "filter": "+a:>" })).unwrap_err();
    assert!(code == 3 && message.starts_with("Invalid query at character 5: "), "{code} {message}");
    let unnamed = "A lobby is named as the answer to \"muster.lobby.subscribe\" named it.";
    for lobby in ["", "nonsense", "{}"] {
        ann.refused("lobby.unsubscribe", json!({ "lobby": lobby }), 3, unnamed);
    }
    assert_eq!(world.app.live.stats().rooms.views, 0, "what was refused is not watched");
}

#[test]
fn there_are_so_many_views_and_no_more() {
    let world = World::new();
    let view = |number: usize| json!({ "interval_ms": 250 + number });
    let watchers: Vec<_> = (0..LOBBY_VIEWS_MAX / LOBBY_VIEWS_PER_SESSION_MAX)
        .map(|number| Connected::new(&world, &format!("watcher-number-{number}")))
        .collect();
    for number in 0..LOBBY_VIEWS_MAX {
        watchers[number / LOBBY_VIEWS_PER_SESSION_MAX].ok("lobby.subscribe", view(number));
    }
    let bob = Connected::new(&world, "bob-device");
    let message = "The lobby is watched in too many different ways: use a filter that others use, or none.";
    bob.refused("lobby.subscribe", view(LOBBY_VIEWS_MAX), 8, message);
    // A view that has watchers already can be watched by others.
    bob.ok("lobby.subscribe", view(0));
    watchers.iter().for_each(|watcher| watcher.session.close());
    assert_eq!(world.app.live.stats().rooms.views, 1);
}
