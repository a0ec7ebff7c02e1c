//! Sessions and users that send more than they may: they are slowed, then refused, and others are not.

use muster_domain::budget::{BUDGETS, BudgetConfig, REFUSED_HOLD_MS, SLOWED_MS_MAX, Spending};
use muster_domain::ladder::{Ladder, Ladders};
use muster_domain::rates::Rate;
use muster_live::CloseReason;
use serde_json::{Value, json};

use crate::connected::{Connected, exchange};
use crate::world::{Setup, World};

/// One budget: 10 units a second, 20 at once.
fn world(what: Spending, ladder: &[&str]) -> World {
    let mut per_sec = [0; BUDGETS];
    per_sec[what as usize] = 10;
    let ladder: Vec<Ladder> = ladder.iter().map(|text| text.parse().unwrap()).collect();
    World::with(Setup { budgets: BudgetConfig::new(per_sec, 2, Ladders::new(&ladder)), ..Setup::default() })
}

/// Sends a message as soon as the socket is read again. Answers the error, and the reason if the socket closes.
fn send(world: &World, who: &Connected<'_>, message: &Value) -> (Option<Value>, Option<CloseReason>) {
    let (reply, close) = exchange(world, &who.session, &message.to_string());
    world.advance_micros(i64::from(who.session.take_hold_ms()) * 1_000);
    (reply.and_then(|reply| reply.get("error").cloned()), close)
}

fn refused(world: &World, what: Spending) -> u64 {
    world.app.metrics.limited(what).refused.load(std::sync::atomic::Ordering::Relaxed)
}

#[test]
fn a_flood_of_chat_is_slowed_then_refused_and_the_receiver_gets_what_the_rate_allows() {
    let world = world(Spending::Chat, &[]);
    let [ann, bob] = ["device-of-ann-1", "device-of-bob-1"].map(|device| Connected::new(&world, device));
    let join = json!({ "target": "lobby", "type": 1, "persistence": false });
    let channel = ann.ask("channel_join", join.clone())["channel"]["id"].clone();
    bob.ask("channel_join", join);
    ann.pushed();
    bob.pushed();
    let start = world.app.clock.now();
    let say = json!({ "cid": "7", "channel_message_send": { "channel_id": channel, "content": "{}" } });
    let error = (0..1_000).find_map(|_| send(&world, &ann, &say).0).unwrap();
    assert_eq!((&error["code"], &error["context"]["code"]), (&json!(8), &json!("8")));
    assert!(error["context"]["retry_after_ms"].as_str().unwrap().parse::<u32>().unwrap() > 0, "{error}");
    let slowed_ms = (world.app.clock.now().0 - start.0) / 1_000 - i64::from(REFUSED_HOLD_MS);
    assert_eq!(slowed_ms, i64::from(SLOWED_MS_MAX));
    let heard = bob.pushed().len();
    assert!((45..=55).contains(&heard), "{heard}");
    assert_eq!(refused(&world, Spending::Chat), 1);
    // Neither other messages nor other sessions pay for it.
    assert!(ann.ask("ping", json!({})).get("pong").is_some());
    let answer = bob.ask("channel_message_send", json!({ "channel_id": channel, "content": "{}" }));
    assert!(answer.get("channel_message_ack").is_some(), "{answer}");
    // It may go on when it has waited.
    world.advance_sec(1);
    assert_eq!(send(&world, &ann, &say), (None, None));
}

#[test]
fn bytes_to_all_who_hear_are_paid_for() {
    let world = World::with(Setup {
        budgets: BudgetConfig::new([0, 0, 0, 0, 0, 0, 1_000], 1, Ladders::default()),
        ..Setup::default()
    });
    let players: Vec<_> = (0..5).map(|number| Connected::new(&world, &format!("number-of-{number}"))).collect();
    let match_id = players[0].ask("match_create", json!({}))["match"]["match_id"].clone();
    for player in &players[1..] {
        player.ask("match_join", json!({ "match_id": match_id }));
    }
    // 100 bytes to five, and to one.
    let data = "A".repeat(136);
    let to_all = json!({ "match_data_send": { "match_id": match_id, "op_code": 1, "data": data } });
    assert_eq!(send(&world, &players[0], &to_all), (None, None));
    exchange(&world, &players[0].session, &to_all.to_string());
    assert_ne!(players[0].session.take_hold_ms(), 0, "1,020 bytes are more than there were");
    let other = &players[1];
    let target = json!([{ "user_id": players[2].id(), "session_id": players[2].session.session_id().to_string() }]);
    let to_one =
        json!({ "match_data_send": { "match_id": match_id, "op_code": 1, "data": data, "presences": target } });
    for _ in 0..5 {
        exchange(&world, &other.session, &to_one.to_string());
        assert_eq!(other.session.take_hold_ms(), 0);
    }
}

#[test]
fn who_floods_on_is_muted_and_then_closed_and_kept_out_as_the_ladder_says() {
    let world = world(Spending::Requests, &["any=warn", "requests=mute:30,refuse:60"]);
    let ann = Connected::new(&world, "device-of-ann-1");
    let ask = json!({ "cid": "1", "status_unfollow": { "user_ids": [] } });
    let flood = || loop {
        let (error, close) = send(&world, &ann, &ask);
        if let Some(error) = error
            && refused(&world, Spending::Requests).is_multiple_of(100)
        {
            return (error["context"]["retry_after_ms"].clone(), close);
        }
    };
    assert_eq!(flood(), (json!("30001"), None));
    let (_, close) = flood();
    assert_eq!(close, Some(CloseReason::Flooding));
    let user_id = ann.id().parse().unwrap();
    let now = world.app.clock.now();
    assert_eq!(world.app.barred.refused_sec(user_id, now), Some(60));
    assert_eq!(world.app.barred.refused_sec(user_id, now.plus_seconds(60)), None);
}

#[test]
fn requests_of_a_user_that_change_something_are_limited_over_http() {
    let world = World::with(Setup { requests: Rate { per_sec: 1, burst: 3 }, ..Setup::default() });
    let (ann, bob) = (world.device("device-of-ann-1"), world.device("device-of-bob-1"));
    let write = |bearer: &str| world.call("PUT", "/v2/account", bearer, r#"{"location":"here"}"#).0;
    assert_eq!([(); 4].map(|()| write(&ann.bearer())), [200, 200, 200, 429]);
    let told = "Too many requests of this player. Please try again in 1 seconds.";
    world.refused(("PUT", "/v2/account", &ann.bearer(), "{}"), (429, 8, told));
    let (status, _) = world.call("POST", "/v2/rpc/muster.lobby.list", &ann.bearer(), "\"{}\"");
    assert_eq!(status, 429);
    // Reading goes on, and so do others.
    assert_eq!((world.status_of(&ann), write(&bob.bearer())), (200, 200));
    world.advance_sec(1);
    assert_eq!([(); 2].map(|()| write(&ann.bearer())), [200, 429]);
    // A body of many bytes costs more.
    world.advance_sec(10);
    let long = format!(r#"{{"location":"{}"}}"#, " ".repeat(40_000));
    world.call("PUT", "/v2/account", &ann.bearer(), &long);
    assert_eq!(write(&ann.bearer()), 429);
    let limited = world.app.metrics.requests_limited.load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!(limited, 5);
}
