//! Notifications that functions send, list, change and delete.

use serde_json::{Value, json};

use crate::scene::scene;
use crate::world::block_on;

/// The sender of what the server sends, as sockets are told.
const SERVER: &str = "00000000-0000-0000-0000-000000000000";

fn subjects(list: &Value) -> Vec<&str> {
    list.as_array().map(|list| list.iter().map(|each| each["subject"].as_str().unwrap()).collect()).unwrap_or_default()
}

#[test]
fn one_reaches_the_receiver_s_sockets_and_waits_if_it_is_persistent() {
    block_on(async {
        let scene = scene().await;
        let (ann, bob) = (scene.ann.to_string(), scene.bob.to_string());
        let (at_ann, at_bob) =
            (scene.connected.open(&scene.ann, "ann", 11), scene.connected.open(&scene.bob, "bob", 12));
        scene.run("notification_send", json!([ann, "passing", { "n": 1 }, 7])).await;
        scene.run("notification_send", json!([ann, "kept", { "n": 2 }, -1_500, bob, true])).await;
        let sent = scene.connected.sent(at_ann);
        let told: Vec<&Value> = sent.iter().map(|frame| &frame["notifications"]["notifications"][0]).collect();
        assert_eq!((told[0]["subject"].as_str(), told[0]["code"].as_i64()), (Some("passing"), Some(7)));
        assert_eq!((told[0]["content"].as_str(), told[0]["sender_id"].as_str()), (Some(r#"{"n":1}"#), Some(SERVER)));
        assert_eq!((told[1]["sender_id"].as_str(), told[1]["persistent"].as_bool()), (Some(&*bob), Some(true)));
        assert_eq!(scene.connected.sent(at_bob), [] as [Value; 0]);

        let (list, cursor) = scene.run("notifications_list", json!([ann])).await;
        assert_eq!((subjects(&list), cursor), (vec!["kept"], Value::Null));
        let kept = &list[0];
        assert_eq!((&kept["content"], &kept["code"]), (&json!(r#"{"n":2}"#), &json!(-1_500)));
        assert_eq!((&kept["senderId"], &kept["user_id"]), (&json!(bob), &Value::Null));
        assert_eq!((&kept["persistent"], &kept["id"]), (&json!(true), &told[1]["id"]));
    });
}

#[test]
fn what_is_sent_is_checked() {
    block_on(async {
        let scene = scene().await;
        let ann = scene.ann.to_string();
        for (arguments, told) in [
            (json!([ann, "s", {}, 0]), "The code of a notification must be 1 to 32,767: others are the server's."),
            (json!([ann, "s", {}, -8]), "The code of a notification must be 1 to 32,767: others are the server's."),
            (json!([ann, "", {}, 1]), "The subject of a notification must be 1 to 255 characters long"),
            (json!(["ann", "s", {}, 1]), "The user ID is not a valid UUID."),
            (json!([ann, "s", {}, 1, "x"]), "The user ID is not a valid UUID."),
            (json!([ann, "s", 5, 1]), "bad argument #3 to notification_send (table expected, got number)"),
        ] {
            let refused = scene.refused("notification_send", arguments.clone()).await;
            assert!(refused.contains(told), "{arguments}: {refused}");
        }
        let batch = json!([[{ "user_id": ann, "subject": "s", "content": {}, "code": -1_500 }]]);
        assert!(scene.refused("notifications_send", batch).await.contains("The code of a notification"));
    });
}

#[test]
fn many_are_listed_page_by_page_changed_and_deleted() {
    block_on(async {
        let scene = scene().await;
        let (ann, bob) = (scene.ann.to_string(), scene.bob.to_string());
        let one = |user: &str, subject: &str| json!({ "user_id": user, "subject": subject, "content": {}, "code": 1, "persistent": true });
        let batch = json!([[one(&ann, "a"), one(&ann, "b"), one(&ann, "c"), one(&bob, "d")]]);
        scene.run("notifications_send", batch).await;
        let (page, cursor) = scene.run("notifications_list", json!([ann, 2])).await;
        assert_eq!(subjects(&page), ["a", "b"]);
        let (rest, end) = scene.run("notifications_list", json!([ann, 2, cursor])).await;
        assert_eq!((subjects(&rest), end), (vec!["c"], Value::Null));
        assert!(scene.refused("notifications_list", json!([ann, 1_001])).await.contains("between 1 and 1000"));
        assert!(scene.refused("notifications_list", json!([bob, 2, cursor])).await.contains("cursor"));

        let (a, c) = (page[0]["id"].clone(), rest[0]["id"].clone());
        let (of_bob, _) = scene.run("notifications_list", json!([bob])).await;
        let d = of_bob[0]["id"].clone();
        let (found, _) = scene.run("notifications_get_id", json!([[c, a, d]])).await;
        assert_eq!(subjects(&found), ["c", "a", "d"]);
        let (found, _) = scene.run("notifications_get_id", json!([[c, a, d], ann])).await;
        assert_eq!(subjects(&found), ["c", "a"]);

        let update = json!([[{ "id": a, "subject": "A", "content": { "new": true } }, { "id": c, "sender": bob }]]);
        scene.run("notifications_update", update).await;
        let (found, _) = scene.run("notifications_get_id", json!([[a, c]])).await;
        assert_eq!((&found[0]["subject"], &found[0]["content"]), (&json!("A"), &json!({ "new": true })));
        assert_eq!((&found[1]["subject"], &found[1]["sender_id"]), (&json!("c"), &json!(bob)));

        scene.run("notifications_delete", json!([[{ "user_id": bob, "notification_id": a }]])).await;
        scene.run("notifications_delete_id", json!([[d], ann])).await;
        let (found, _) = scene.run("notifications_get_id", json!([[a, d]])).await;
        assert_eq!(subjects(&found), ["A", "d"], "notifications of other users are not deleted");
        scene.run("notifications_delete", json!([[{ "user_id": ann, "notification_id": a }]])).await;
        scene.run("notifications_delete_id", json!([ann, [c]])).await;
        scene.run("notifications_delete_id", json!([[d]])).await;
        let (found, _) = scene.run("notifications_get_id", json!([[a, c, d]])).await;
        assert_eq!(subjects(&found), Vec::<&str>::new());
    });
}

#[test]
fn everybody_is_reached_and_those_who_are_away_find_what_is_persistent() {
    block_on(async {
        let scene = scene().await;
        let at_ann = [scene.connected.open(&scene.ann, "ann", 11), scene.connected.open(&scene.ann, "ann", 12)];
        // The shard sends the notification to all sockets in slices, between its other work.
        let send = scene.run("notification_send_all", json!(["hello", {}, 1]));
        let slices = async {
            loop {
                scene.connected.live.step(|plane, now, out| plane.run_slice(now, out));
                tokio::task::yield_now().await;
            }
        };
        tokio::select! { _ = send => {}, () = slices => {} }
        for session in at_ann {
            assert_eq!(scene.connected.sent(session).len(), 1);
        }
        scene.run("notification_send_all", json!(["everybody", { "gift": 1 }, 2, true])).await;
        for user in [&scene.ann, &scene.bob] {
            loop {
                let (list, _) = scene.run("notifications_list", json!([user])).await;
                if subjects(&list) == ["everybody"] {
                    break;
                }
                tokio::task::yield_now().await;
            }
        }
        assert_eq!(scene.connected.sent(at_ann[0]).len(), 1);
    });
}
