//! Tickets that widen, tickets of servers, and the reasons why tickets wait.

use serde_json::{Value, json};

use super::{Calls, NO_ROOM_ID, over_http, server};
use crate::connected::Connected;
use crate::world::World;

const NO_TICKET: &str = "There is no such ticket: it may have been matched.";

fn two() -> Value {
    json!({ "min_count": 2, "max_count": 2 })
}

/// The payload of a ticket for two players, with further members.
fn with(more: Value) -> Value {
    let mut payload = two();
    payload.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
    payload
}

/// The match that a player was told of: the ticket and the number of users.
fn matched(player: &Connected<'_>) -> Option<(Value, usize)> {
    let pushed = player.pushed();
    let matched = pushed.iter().find_map(|message| message.get("matchmaker_matched"))?;
    Some((matched["ticket"].clone(), matched["users"].as_array().unwrap().len()))
}

#[test]
fn players_bring_tickets_take_them_back_and_are_matched() {
    let world = World::new();
    let (ann, bob) = (Connected::new(&world, "ann-device"), Connected::new(&world, "bob-device"));
    let first = ann.ok("matchmaker.add", two());
    assert_eq!(first.as_object().unwrap().len(), 1);
    assert_eq!(ann.ok("matchmaker.remove", json!({ "ticket": first["ticket"] })), json!({}));
    ann.refused("matchmaker.remove", json!({ "ticket": first["ticket"] }), 5, NO_TICKET);
    let ticket = ann.ok("matchmaker.add", with(json!({
        "query": "+properties.rank:>=9 +properties.mode:duel", "string_properties": { "mode": "duel" }, "count_multiple": 2,
        "numeric_properties": { "rank": 1.5 }, "widening": [{ "field": "properties.rank", "step": 10, "limit": 20 }],
    })));
    let other = bob.ok("matchmaker.add", with(json!({
        "query": "+properties.mode:duel", "string_properties": { "mode": "duel" }, "numeric_properties": { "rank": 5 },
    })));
    bob.refused("matchmaker.remove", ticket.clone(), 5, NO_TICKET);
    world.advance_live(15_000);
    assert_eq!(matched(&ann), None);
    (0..3).for_each(|_| world.advance_live(15_000));
    assert_eq!(matched(&ann), Some((ticket["ticket"].clone(), 2)));
    assert_eq!(matched(&bob), Some((other["ticket"].clone(), 2)));
    ann.refused("matchmaker.explain", ticket, 5, NO_TICKET);
}

#[test]
fn what_is_no_ticket() {
    let world = World::new();
    let ann = Connected::new(&world, "ann-device");
    let server = server(&world);
    let many: Value = (0..129).map(|number| (number.to_string(), json!("x"))).collect();
    let widen =
        |field: &str, step: f64, limit: f64| json!({ "widening": [{ "field": field, "step": step, "limit": limit }] });
    let widen_text = |step: &str, limit: &str| {
        format!("The field \"r\" widens by {step} up to {limit}: the step must be more than 0, the limit not less.")
    };
    let nine = json!({ "widening": vec![json!({ "field": "r", "step": 1, "limit": 1 }); 9] });
    let divides = "count_multiple is 3: it must divide both min_count (2) and max_count (2) without a remainder.";
    for (payload, message) in [
        (json!({}), "min_count is 0: a match has at least 2 players.".to_owned()),
        (json!({ "min_count": -1, "max_count": -1 }), "min_count is -1: it must not be negative.".to_owned()),
        (json!({ "min_count": 1, "max_count": 2 }), "min_count is 1: a match has at least 2 players.".to_owned()),
        (
            json!({ "min_count": 3, "max_count": 2 }),
            "max_count is 2 and min_count 3: max_count must not be less.".to_owned(),
        ),
        (with(json!({ "count_multiple": 3 })), divides.to_owned()),
        (with(json!({ "count_multiple": 0 })), divides.replacen('3', "0", 1)),
        (with(json!({ "count_multiple": -1 })), "count_multiple is -1: it must not be negative.".to_owned()),
        (with(json!({ "string_properties": many })), "A ticket has at most 128 properties: leave some out.".to_owned()),
        (
            with(json!({ "string_properties": { "a": "1" }, "numeric_properties": { "a": 1 } })),
            "The property \"a\" is both a text and a number: give one of them another name.".to_owned(),
        ),
        (with(nine), "A ticket widens at most 8 fields: leave some out.".to_owned()),
        (with(widen("r", 0.0, 1.0)), widen_text("0", "1")),
        (with(widen("r", -1.0, 1.0)), widen_text("-1", "1")),
        (with(widen("r", 2.0, 1.0)), widen_text("2", "1")),
    ] {
        ann.refused("matchmaker.add", payload.clone(), 3, &message);
        let mut payload = payload;
        (payload["owner"], payload["users"]) = (json!("lobby"), json!([ann.id()]));
        server.refused("matchmaker.add", payload, 3, &message);
    }
    let (code, message) = ann.call("matchmaker.add", with(json!({ "query": "+a:>" }))).unwrap_err();
    assert!(code == 3 && message.starts_with("Invalid query at character 5: "), "{code} {message}");
    for (widening, what) in [
        (json!([{ "field": "r", "step": 1 }]), "missing field `limit`"),
        (json!([{ "field": "r", "step": "1", "limit": 1 }]), "invalid type: string"),
        (json!([{ "field": "r", "step": 1, "limit": 1, "x": 1 }]), "unknown field `x`"),
    ] {
        let (code, message) = ann.call("matchmaker.add", with(json!({ "widening": widening }))).unwrap_err();
        assert!(code == 3 && message.starts_with("The payload does not fit: ") && message.contains(what), "{message}");
    }
    for (properties, what) in [
        (json!({ "string_properties": { "a": 1 } }), "invalid type: integer `1`"),
        (json!({ "numeric_properties": { "a": "1" } }), "invalid type: string"),
        (json!({ "numeric_properties": { "a": null } }), "invalid type: null"),
    ] {
        let (code, message) = ann.call("matchmaker.add", with(properties)).unwrap_err();
        assert!(code == 3 && message.contains(what), "{message}");
    }
    assert_eq!(world.app.live.stats().tickets, 0);
}

#[test]
fn a_player_has_so_many_tickets() {
    let world = World::new();
    let ann = Connected::new(&world, "ann-device");
    let tickets: Vec<Value> = (0..3).map(|_| ann.ok("matchmaker.add", two())).collect();
    let message = "There are 3 tickets already, which is the most: remove one, or wait for a match.";
    ann.refused("matchmaker.add", two(), 8, message);
    ann.ok("matchmaker.remove", tickets[1].clone());
    ann.ok("matchmaker.add", two());
    let for_servers = "owner and users are for servers: leave them out.";
    ann.refused("matchmaker.add", with(json!({ "owner": "lobby" })), 3, for_servers);
    over_http(&world, "ann-device").refused("matchmaker.add", with(json!({ "users": [ann.id()] })), 3, for_servers);
    ann.refused(
        "matchmaker.remove",
        json!({ "ticket": tickets[0]["ticket"], "owner": "lobby" }),
        3,
        "owner is for servers: leave it out.",
    );
    ann.session.close();
    assert_eq!(world.app.live.stats().tickets, 0);
}

#[test]
fn servers_bring_tickets_for_their_users() {
    let world = World::new();
    let (server, ann, bob) = (server(&world), Connected::new(&world, "ann-device"), world.device("bob-device"));
    let add = |more: Value| with(more);
    let users = [ann.id(), bob.id()];
    let owner_required = "owner is required: a name of yours, by which you take tickets back.";
    for (payload, code, message) in [
        (add(json!({ "users": users })), 3, owner_required),
        (add(json!({ "owner": "", "users": users })), 3, owner_required),
        (add(json!({ "owner": "lobby" })), 3, "users must name 1 to 100 players."),
        (add(json!({ "owner": "lobby", "users": [] })), 3, "users must name 1 to 100 players."),
        (add(json!({ "owner": "lobby", "users": vec![ann.id(); 101] })), 3, "users must name 1 to 100 players."),
        (add(json!({ "owner": "lobby", "users": ["ann"] })), 3, "The user ID is not a valid UUID."),
        (
            add(json!({ "owner": "lobby", "users": [ann.id(), NO_ROOM_ID] })),
            5,
            &format!("There is no user {NO_ROOM_ID}."),
        ),
        (
            add(json!({ "owner": "lobby", "users": [ann.id(), ann.id()] })),
            3,
            "A member stands twice on the ticket: name everybody once.",
        ),
    ] {
        server.refused("matchmaker.add", payload, code, message);
    }
    let ticket =
        server.ok("matchmaker.add", json!({ "min_count": 2, "max_count": 4, "owner": "lobby", "users": users }));
    let take_back = |owner: Value| json!({ "ticket": ticket["ticket"], "owner": owner });
    server.refused("matchmaker.remove", json!({ "ticket": ticket["ticket"] }), 3, owner_required);
    server.refused("matchmaker.remove", take_back(json!("other")), 5, NO_TICKET);
    ann.refused("matchmaker.remove", json!({ "ticket": ticket["ticket"] }), 5, NO_TICKET);
    ann.refused("matchmaker.explain", json!({ "ticket": ticket["ticket"] }), 5, NO_TICKET);
    assert_eq!(server.ok("matchmaker.remove", take_back(json!("lobby"))), json!({}));
    server.refused("matchmaker.explain", json!({ "ticket": ticket["ticket"] }), 5, NO_TICKET);

    // The limit of tickets for one player does not apply to servers.
    for _ in 0..5 {
        server.ok("matchmaker.add", with(json!({ "owner": "lobby", "users": [bob.id()], "query": "+properties.x:1" })));
    }
    let one = server.ok("matchmaker.add", with(json!({ "owner": "lobby", "users": [ann.id()] })));
    let eve = Connected::new(&world, "eve-device");
    let other = eve.ok("matchmaker.add", two());
    world.advance_live(15_000);
    assert_eq!(matched(&ann), Some((one["ticket"].clone(), 2)));
    assert_eq!(matched(&eve), Some((other["ticket"].clone(), 2)));
}

#[test]
fn why_a_ticket_waits() {
    let world = World::new();
    let (ann, bob) = (Connected::new(&world, "ann-device"), Connected::new(&world, "bob-device"));
    let wanted = with(json!({ "query": "+properties.rank:>=9", "numeric_properties": { "rank": 1 } }));
    let ticket = ann.ok("matchmaker.add", wanted.clone());
    let alone = json!({
        "ticket": ticket["ticket"], "is_searching": true, "players": 1, "players_needed": 2, "players_found": 0,
        "examined": 0, "closest": [],
    });
    assert_eq!(ann.ok("matchmaker.explain", ticket.clone()), alone);
    let other = bob.ok("matchmaker.add", wanted);
    let explained = ann.ok("matchmaker.explain", ticket.clone());
    assert_eq!((&explained["examined"], &explained["closest"][0]["ticket"]), (&json!(1), &other["ticket"]));
    let obstacle = &explained["closest"][0]["obstacles"][0];
    assert_eq!((&obstacle["kind"], &obstacle["term"]), (&json!("term"), &json!("+properties.rank:>=9")));
    assert!(obstacle["text"].is_string() && obstacle["of"].is_string(), "{obstacle}");
    assert_eq!(server(&world).ok("matchmaker.explain", ticket.clone()), explained);

    bob.refused("matchmaker.explain", ticket, 5, NO_TICKET);
    ann.refused("matchmaker.explain", json!({ "ticket": "" }), 5, NO_TICKET);
}

#[test]
fn members_of_a_party_may_ask_about_its_tickets() {
    let world = World::new();
    let (ann, bob) = (Connected::new(&world, "ann-device"), Connected::new(&world, "bob-device"));
    let party = ann.ask("party_create", json!({ "open": true, "max_size": 2 }))["party"]["party_id"].clone();
    bob.ask("party_join", json!({ "party_id": party }));
    let added = json!({ "party_id": party, "min_count": 4, "max_count": 4, "query": "*" });
    let ticket = ann.ask("party_matchmaker_add", added)["party_matchmaker_ticket"]["ticket"].clone();
    for member in [&ann, &bob] {
        let explained = member.ok("matchmaker.explain", json!({ "ticket": ticket }));
        assert_eq!((&explained["players"], &explained["players_needed"]), (&json!(2), &json!(4)));
    }
    let eve = Connected::new(&world, "eve-device");
    eve.refused("matchmaker.explain", json!({ "ticket": ticket }), 5, NO_TICKET);
    bob.refused("matchmaker.remove", json!({ "ticket": ticket }), 5, NO_TICKET);
}
