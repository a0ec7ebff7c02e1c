//! Friends over HTTP: requests and answers, pages, limits of notifications, and direct channels that a block closes.

use muster_domain::chat::{RequestCounters, RequestLimits};
use serde_json::{Value, json};

use crate::connected::Connected;
use crate::world::{Player, Setup, World};

const LIMITS: RequestLimits = RequestLimits { burst: 3, refill_sec: 60, repeat_sec: 600 };

fn ask(world: &World, player: &Player, other: &Player) {
    assert_eq!(world.ok("POST", &format!("/v2/friend?ids={}", other.id()), &player.bearer(), ""), json!({}));
}

fn remove(world: &World, player: &Player, other: &Player) {
    assert_eq!(world.ok("DELETE", &format!("/v2/friend?ids={}", other.id()), &player.bearer(), ""), json!({}));
}

fn list(world: &World, player: &Player, query: &str) -> Value {
    world.ok("GET", &format!("/v2/friend?{query}"), &player.bearer(), "")
}

/// The friends on a page: ids and states.
fn shown(page: &Value) -> Vec<(String, i64)> {
    let friends = page["friends"].as_array().cloned().unwrap_or_default();
    let one = |friend: &Value| (friend["user"]["id"].as_str().unwrap().to_owned(), friend["state"].as_i64().unwrap());
    friends.iter().map(one).collect()
}

/// Codes of the notifications that wait for a player.
fn waiting(world: &World, player: &Player) -> Vec<i64> {
    let listed = world.ok("GET", "/v2/notification?limit=100", &player.bearer(), "");
    let found = listed["notifications"].as_array().cloned().unwrap_or_default();
    found.iter().map(|each| each["code"].as_i64().unwrap()).collect()
}

fn unsent(world: &World) -> (u64, u64) {
    let RequestCounters { unsent_limited, unsent_pending, .. } = world.app.friend_notices.counters();
    (unsent_limited, unsent_pending)
}

#[test]
fn pages_lead_through_all_friends_and_cursors_belong_to_their_listing() {
    let world = World::new();
    let ann = world.device("ann-device");
    let others: Vec<Player> = (0..5).map(|number| world.device(&format!("device-number-{number}"))).collect();
    others.iter().for_each(|other| ask(&world, &ann, other));
    others[3..].iter().for_each(|other| ask(&world, other, &ann));
    let expect: Vec<(String, i64)> = [(3, 0), (4, 0), (0, 1), (1, 1), (2, 1)].map(|(n, s)| (others[n].id(), s)).into();
    assert_eq!(shown(&list(&world, &ann, "")), expect);
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = list(&world, &ann, &format!("limit=2&cursor={cursor}"));
        seen.extend(shown(&page));
        let Some(next) = page["cursor"].as_str() else { break };
        next.clone_into(&mut cursor);
    }
    assert_eq!(seen, expect);
    assert_eq!(shown(&list(&world, &ann, "state=1")), expect[2..]);
    let foreign = "The cursor is not valid for this listing. Start again without one.";
    for (who, query) in [(&ann, "state=1&"), (&others[0], "")] {
        let target = format!("/v2/friend?{query}cursor={cursor}");
        world.refused(("GET", &target, &who.bearer(), ""), (400, 3, foreign));
    }
    let target = format!("/v2/friend/friends?cursor={cursor}");
    world.refused(("GET", &target, &ann.bearer(), ""), (400, 3, foreign));
}

#[test]
fn friends_of_several_friends_are_listed_on_and_on() {
    let world = World::new();
    let ann = world.device("ann-device");
    let mut near: Vec<Player> = (0..3).map(|number| world.device(&format!("device-near-{number}"))).collect();
    near.sort_by_key(Player::id);
    let far = world.device("device-far-away");
    let befriend = |one: &Player, two: &Player| {
        ask(&world, one, two);
        ask(&world, two, one);
    };
    near.iter().for_each(|friend| befriend(&ann, friend));
    near.iter().for_each(|friend| befriend(friend, &far));
    let (mut seen, mut cursor) = (Vec::new(), String::new());
    loop {
        let target = format!("/v2/friend/friends?limit=1&cursor={cursor}");
        let page = world.ok("GET", &target, &ann.bearer(), "");
        let found = page["friends_of_friends"].as_array().cloned().unwrap_or_default();
        seen.extend(found.iter().map(|each| each["referrer"].as_str().unwrap().to_owned()));
        assert!(found.iter().all(|each| each["user"]["id"] == far.id()));
        let Some(next) = page["cursor"].as_str() else { break };
        next.clone_into(&mut cursor);
    }
    assert_eq!(seen, near.iter().map(Player::id).collect::<Vec<_>>(), "the next page goes on behind the first friend");
}

#[test]
fn metadata_is_an_object_of_a_bounded_size() {
    let world = World::new();
    let (ann, bob) = (world.device("ann-device"), world.device("bob-device"));
    for wrong in ["x", "[]", "5"] {
        let target = format!("/v2/friend?ids={}&metadata={wrong}", bob.id());
        world.refused(("POST", &target, &ann.bearer(), ""), (400, 3, "The metadata must be a JSON object."));
    }
    let target = format!("/v2/friend?ids={}&metadata=%7B%22a%22%3A1%7D", bob.id());
    world.ok("POST", &target, &ann.bearer(), "");
    assert_eq!(list(&world, &ann, "")["friends"][0]["metadata"], r#"{"a":1}"#);
}

#[test]
fn asking_and_withdrawing_in_a_loop_floods_nobody() {
    let world = World::with(Setup { friend_notices: LIMITS, ..Setup::default() });
    let (mallory, victim) = (world.device("mallory-device"), world.device("victim-device"));
    for _ in 0..20 {
        ask(&world, &mallory, &victim);
        remove(&world, &mallory, &victim);
    }
    assert_eq!(waiting(&world, &victim), [-2, -9], "one of each, as long as they wait");
    assert_eq!(unsent(&world), (0, 38));
    ask(&world, &mallory, &victim);
    assert_eq!(shown(&list(&world, &victim, "")), [(mallory.id(), 2)], "the request itself is made");
    // Whoever asks many is stopped, and the requests are made all the same.
    let others: Vec<Player> = (0..4).map(|number| world.device(&format!("device-number-{number}"))).collect();
    others.iter().for_each(|other| ask(&world, &mallory, other));
    let told: Vec<usize> = others.iter().map(|other| waiting(&world, other).len()).collect();
    assert_eq!((told, unsent(&world).0), (vec![1, 0, 0, 0], 3));
    assert_eq!(shown(&list(&world, &others[3], "")), [(mallory.id(), 2)]);
    // Other users have limits of their own.
    ask(&world, &victim, &others[1]);
    assert_eq!(waiting(&world, &others[1]), [-2]);
}

#[test]
fn a_block_closes_the_direct_channel() {
    let world = World::new();
    let (ann, bob) = (Connected::new(&world, "ann-device"), Connected::new(&world, "bob-device"));
    let joined = ann.ask("channel_join", json!({ "type": 2, "target": bob.id() }));
    bob.ask("channel_join", json!({ "type": 2, "target": ann.id() }));
    let channel = joined["channel"]["id"].as_str().unwrap().to_owned();
    let say = |who: &Connected<'_>| who.ask("channel_message_send", json!({ "channel_id": channel, "content": "{}" }));
    assert!(say(&bob).get("channel_message_ack").is_some());
    let heard = |who: &Connected<'_>| {
        let leaves = |message: &Value| message["channel_presence_event"].get("leaves").is_some();
        who.pushed().iter().filter(|message| leaves(message)).count()
    };
    assert_eq!(heard(&ann) + heard(&bob), 0);
    world.ok("POST", &format!("/v2/friend/block?ids={}", bob.id()), &ann.player.bearer(), "");
    assert_eq!(heard(&ann) + heard(&bob), 1, "one of both hears the other leave");
    for who in [&ann, &bob] {
        assert_eq!(say(who)["error"]["code"], 3, "nobody is in the channel any more");
    }
    let refused = bob.ask("channel_join", json!({ "type": 2, "target": ann.id() }));
    assert_eq!(refused["error"]["code"], 3);
    let joined = ann.ask("channel_join", json!({ "type": 2, "target": bob.id() }));
    assert!(joined.get("channel").is_some(), "the one who blocks may");
}

#[test]
fn too_many_users_are_refused() {
    let world = World::new();
    let (ann, bob) = (world.device("ann-device"), world.device("bob-device"));
    let ids = format!("ids={}&", bob.id()).repeat(1_001);
    let target = format!("/v2/friend?{ids}");
    let told = "At most 1000 users can be named at once.";
    world.refused(("POST", &target, &ann.bearer(), ""), (400, 3, told));
}
