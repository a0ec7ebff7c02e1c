//! Limits on the notifications that ask a user for a direct conversation.

use muster_domain::chat::{RequestCounters, RequestLimits};
use serde_json::{Value, json};

use crate::connected::Connected;
use crate::world::{Player, Setup, World};

const LIMITS: RequestLimits = RequestLimits { burst: 3, refill_sec: 60, repeat_sec: 600 };

fn world(direct_requests: RequestLimits) -> World {
    World::with(Setup { direct_requests, ..Setup::default() })
}

/// Joins the channel with another player and leaves it again.
fn visit(player: &Connected<'_>, other: &Player) {
    let joined = player.ask("channel_join", json!({ "type": 2, "target": other.id() }));
    let channel = joined["channel"]["id"].as_str().unwrap_or_else(|| panic!("{joined}"));
    player.ask("channel_leave", json!({ "channel_id": channel }));
}

/// The notifications that wait for a player.
fn waiting(world: &World, player: &Player) -> Vec<Value> {
    let listed = world.ok("GET", "/v2/notification?limit=100", &player.bearer(), "");
    listed["notifications"].as_array().cloned().unwrap_or_default()
}

/// The notifications that a player's session was sent since the last call.
fn told(player: &Connected<'_>) -> Vec<Value> {
    let mut pushed = player.pushed();
    pushed.retain(|message| message.get("notifications").is_some());
    pushed
}

fn unsent(world: &World) -> (u64, u64) {
    let RequestCounters { unsent_limited, unsent_pending, .. } = world.app.direct_requests.counters();
    (unsent_limited, unsent_pending)
}

#[test]
fn one_who_asks_many_is_stopped_and_may_join_all_the_same() {
    let world = world(LIMITS);
    let mallory = Connected::new(&world, "mallory-device");
    let others: Vec<Player> = (0..6).map(|number| world.device(&format!("device-number-{number}"))).collect();
    let asked = || others.iter().map(|other| waiting(&world, other).len()).collect::<Vec<_>>();
    others.iter().for_each(|other| visit(&mallory, other));
    assert_eq!((asked(), unsent(&world)), (vec![1, 1, 1, 0, 0, 0], (3, 0)));
    // Another session of the same user does not help: the limit is the user's.
    visit(&Connected::new(&world, "mallory-device"), &others[3]);
    assert_eq!((asked(), unsent(&world)), (vec![1, 1, 1, 0, 0, 0], (4, 0)));
    world.advance_sec(59);
    // A new session is needed, because tokens of these tests live for one minute.
    let mallory = Connected::new(&world, "mallory-device");
    visit(&mallory, &others[3]);
    assert_eq!(unsent(&world), (5, 0));
    world.advance_sec(1);
    others[3..].iter().for_each(|other| visit(&mallory, other));
    let others: Vec<Player> = (0..6).map(|number| world.device(&format!("device-number-{number}"))).collect();
    let asked: Vec<usize> = others.iter().map(|other| waiting(&world, other).len()).collect();
    assert_eq!((asked, unsent(&world)), (vec![1, 1, 1, 1, 0, 0], (7, 0)));
    // The limits of other users are not affected.
    visit(&Connected::new(&world, "bob-device"), &others[5]);
    assert_eq!(waiting(&world, &others[5]).len(), 1);
}

#[test]
fn one_is_asked_once_until_the_request_is_deleted_or_old() {
    let world = world(LIMITS);
    let ann = Connected::new(&world, "ann-device");
    let bob = Connected::new(&world, "bob-device");
    (0..9).for_each(|_| visit(&ann, &bob.player));
    assert_eq!((waiting(&world, &bob.player).len(), unsent(&world)), (1, (0, 8)));
    let pushed = told(&bob);
    assert_eq!(pushed.len(), 1, "{pushed:?}");
    let notification = &pushed[0]["notifications"]["notifications"][0];
    assert_eq!((&notification["code"], &notification["sender_id"]), (&json!(-1), &json!(ann.id())));

    let id = notification["id"].as_str().unwrap();
    world.ok("DELETE", &format!("/v2/notification?ids={id}"), &bob.player.bearer(), "");
    (0..2).for_each(|_| visit(&ann, &bob.player));
    assert_eq!((waiting(&world, &bob.player).len(), told(&bob).len()), (1, 1));
    // Requests in the opposite direction count separately.
    visit(&bob, &ann.player);
    assert_eq!(waiting(&world, &ann.player).len(), 1);

    world.advance_sec(599);
    visit(&Connected::new(&world, "ann-device"), &bob.player);
    assert_eq!(told(&bob), Vec::<Value>::new());
    world.advance_sec(1);
    visit(&Connected::new(&world, "ann-device"), &bob.player);
    assert_eq!(told(&bob).len(), 1);
    assert_eq!(unsent(&world), (0, 10), "what was not sent counts for nobody's limit");
}

#[test]
fn without_a_pause_each_join_asks() {
    let world = world(RequestLimits { repeat_sec: 0, ..LIMITS });
    let ann = Connected::new(&world, "ann-device");
    let bob = world.device("bob-device");
    (0..5).for_each(|_| visit(&ann, &bob));
    assert_eq!((waiting(&world, &bob).len(), unsent(&world)), (3, (2, 0)));
}
