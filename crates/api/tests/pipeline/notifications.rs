//! Notifications as players list and delete them.

use muster_domain::UserId;
use muster_domain::notifications::{NewNotification, direct_message_request, send};
use muster_domain::ports::notifications::Notification;
use serde_json::{Value, json};

use crate::world::{Player, World};

fn to(player: &Player, number: usize) -> NewNotification {
    NewNotification {
        user_id: player.id().parse().unwrap(),
        subject: format!("subject {number}"),
        content: "{}".into(),
        code: 1,
        sender_id: UserId::SYSTEM,
        persistent: true,
    }
}

fn sent(world: &World, notifications: Vec<NewNotification>) -> Vec<Notification> {
    world.run(send(&*world.store, &*world.clock, &*world.entropy, notifications)).unwrap()
}

fn list(world: &World, player: &Player, query: &str) -> Value {
    world.ok("GET", &format!("/v2/notification?{query}"), &player.bearer(), "")
}

fn subjects(page: &Value) -> Vec<&str> {
    let notifications = page["notifications"].as_array().map_or(&[][..], Vec::as_slice);
    notifications.iter().map(|each| each["subject"].as_str().unwrap()).collect()
}

#[test]
fn what_is_sent_waits_for_its_receiver() {
    let world = World::new();
    let (ann, bob) = (world.device("0123456789"), world.device("9876543210"));
    let receiver = ann.id().parse().unwrap();
    let request = direct_message_request(bob.id().parse().unwrap(), "bob \"b\"", receiver);
    let transient = NewNotification { persistent: false, ..to(&ann, 7) };
    let pushed = sent(&world, vec![request, transient, to(&ann, 8)]);
    assert_eq!(pushed.iter().map(|each| each.persistent).collect::<Vec<_>>(), [true, false, true]);

    let found = list(&world, &ann, "limit=100");
    let expect = json!({
        "id": pushed[0].id.to_string(), "subject": "bob \"b\" would like to chat",
        "content": r#"{"username":"bob \"b\""}"#, "code": -1, "sender_id": bob.id(),
        "create_time": "2023-11-14T22:13:20Z", "persistent": true,
    });
    assert_eq!(found["notifications"][0], expect);
    assert_eq!(subjects(&found), ["bob \"b\" would like to chat", "subject 8"]);
    assert_eq!(found["notifications"][1].get("sender_id"), None, "the server");
    assert_eq!(subjects(&list(&world, &bob, "limit=100")), [""; 0]);
}

#[test]
fn a_cursor_is_kept_and_asks_for_what_came_since() {
    let world = World::new();
    let (ann, bob) = (world.device("0123456789"), world.device("9876543210"));
    let mut cursor = String::new();
    let mut next = |limit: u32| {
        let page = list(&world, &ann, &format!("limit={limit}&cacheable_cursor={cursor}"));
        page["cacheable_cursor"].as_str().unwrap().clone_into(&mut cursor);
        subjects(&page).iter().map(|subject| subject["subject ".len()..].parse().unwrap()).collect::<Vec<usize>>()
    };
    assert_eq!(next(1), [0; 0], "there is a cursor all the same");
    sent(&world, (0..5).map(|number| to(&ann, number)).collect());
    assert_eq!(next(2), [0, 1]);
    assert_eq!(next(100), [2, 3, 4]);
    assert_eq!(next(100), [0; 0]);
    world.advance_micros(1);
    sent(&world, vec![to(&ann, 5)]);
    assert_eq!(next(100), [5]);
    assert_eq!(subjects(&list(&world, &ann, "")), ["subject 0"], "one, the oldest");

    let foreign = "The cursor is not valid for this listing. Start again without one.";
    let target = format!("/v2/notification?cacheable_cursor={cursor}");
    world.refused(("GET", &target, &bob.bearer(), ""), (400, 3, foreign));
    for limit in ["0", "101"] {
        let target = format!("/v2/notification?limit={limit}");
        world.refused(("GET", &target, &ann.bearer(), ""), (400, 3, "The limit must be between 1 and 100."));
    }
}

#[test]
fn receivers_delete_their_own() {
    let world = World::new();
    let (ann, bob) = (world.device("0123456789"), world.device("9876543210"));
    let ids: Vec<String> =
        sent(&world, (0..3).map(|number| to(&ann, number)).collect()).iter().map(|each| each.id.to_string()).collect();
    let target = format!("/v2/notification?ids={}&ids={}", ids[0], ids[2]);
    assert_eq!(world.ok("DELETE", &target, &bob.bearer(), ""), json!({}));
    assert_eq!(subjects(&list(&world, &ann, "limit=9")).len(), 3);
    assert_eq!(world.ok("DELETE", &target, &ann.bearer(), ""), json!({}));
    assert_eq!(subjects(&list(&world, &ann, "limit=9")), ["subject 1"]);
    assert_eq!(world.ok("DELETE", "/v2/notification", &ann.bearer(), ""), json!({}));
    let refused = (400, 3, "A notification ID is not a valid UUID.");
    world.refused(("DELETE", "/v2/notification?ids=x", &ann.bearer(), ""), refused);
    assert_eq!(subjects(&list(&world, &ann, "limit=9")).len(), 1);
}
