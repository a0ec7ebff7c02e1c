//! Streams that functions have sessions join, and messages that functions send there.

use muster_domain::ids::Uuid;
use serde_json::{Value, json};

use crate::scene::{NONE, Scene, scene};
use crate::world::block_on;

/// The public id of the session of this number.
fn id(number: u128) -> Value {
    json!(Uuid::from_u128(number).to_string())
}

fn table() -> Value {
    json!({ "mode": 100, "label": "table" })
}

async fn names(scene: &Scene, arguments: Value) -> Vec<String> {
    let (list, _) = scene.run("stream_user_list", arguments).await;
    let name = |presence: &Value| presence["username"].as_str().unwrap().to_owned();
    let mut names: Vec<String> = list.as_array().map(|list| list.iter().map(name).collect()).unwrap_or_default();
    names.sort();
    names
}

#[test]
fn sessions_come_to_a_stream_are_seen_and_go() {
    block_on(async {
        let scene = scene().await;
        let (ann, bob) = (scene.ann.clone(), scene.bob.clone());
        let (at_ann, at_bob) = (scene.connected.open(&ann, "ann", 11), scene.connected.open(&bob, "bob", 12));
        assert_eq!(scene.run("stream_user_join", json!([ann, id(11), table()])).await.0, true);
        assert_eq!(scene.run("stream_user_join", json!([ann, id(11), table()])).await.0, false, "again");
        scene.run("stream_user_join", json!([bob, id(12), table(), true, false, "ghost"])).await;
        assert_eq!(scene.run("stream_count", json!([table()])).await.0, 2);
        assert_eq!(names(&scene, json!([table()])).await, ["ann", "bob"]);
        assert_eq!(names(&scene, json!([table(), false])).await, ["ann"]);
        assert_eq!(names(&scene, json!([table(), true, false])).await, ["bob"]);
        let (ghost, _) = scene.run("stream_user_get", json!([bob, id(12), table()])).await;
        let expect = json!({ "username": "bob", "hidden": true, "persistence": false, "status": "ghost" });
        assert_eq!(ghost, expect);
        let elsewhere = json!({ "mode": 100, "label": "elsewhere" });
        assert_eq!(scene.run("stream_user_get", json!([bob, id(12), elsewhere])).await.0, Value::Null);

        scene.connected.sent(at_ann);
        scene.run("stream_user_update", json!([bob, id(12), table(), false, true, "here"])).await;
        let sent = scene.connected.sent(at_ann);
        assert_eq!(sent[0]["stream_presence_event"]["joins"][0]["persistence"], true, "{sent:?}");
        assert_eq!(scene.run("stream_user_get", json!([bob, id(12), table()])).await.0["status"], "here");
        scene.run("stream_user_kick", json!([{ "user_id": bob, "session_id": id(12) }, table()])).await;
        let sent = scene.connected.sent(at_ann);
        assert_eq!(sent[0]["stream_presence_event"]["leaves"][0]["user_id"], json!(bob));
        assert_eq!(names(&scene, json!([table()])).await, ["ann"]);
        scene.connected.sent(at_bob);
        scene.run("stream_send", json!([table(), "to those who are there"])).await;
        assert_eq!(scene.connected.sent(at_bob), [] as [Value; 0]);
        scene.run("stream_user_leave", json!([ann, id(11), table()])).await;
        assert_eq!(scene.run("stream_count", json!([table()])).await.0, 0);
    });
}

#[test]
fn what_is_sent_reaches_all_or_those_who_are_named() {
    block_on(async {
        let scene = scene().await;
        let (at_ann, at_bob) =
            (scene.connected.open(&scene.ann, "ann", 11), scene.connected.open(&scene.bob, "bob", 12));
        scene.run("stream_user_join", json!([scene.ann, id(11), table()])).await;
        scene.run("stream_user_join", json!([scene.bob, id(12), table()])).await;
        let look = || [at_ann, at_bob].map(|session| scene.connected.sent(session));
        look();
        scene.run("stream_send", json!([table(), "all"])).await;
        for sent in look() {
            let expect = json!({ "stream": { "mode": 100, "label": "table" }, "data": "all", "reliable": true });
            assert_eq!(sent, [json!({ "stream_data": expect })]);
        }
        let bob = json!([{ "user_id": scene.bob, "session_id": id(12) }]);
        scene.run("stream_send", json!([table(), "bob", bob, false])).await;
        let [ann, bob] = look();
        assert_eq!((ann.len(), bob[0]["stream_data"]["data"].as_str()), (0, Some("bob")));

        let envelope = json!({ "match_data": { "match_id": "m", "op_code": 7, "data": "aGk=" } });
        scene.run("stream_send_raw", json!([table(), envelope])).await;
        let [ann, _] = look();
        assert_eq!((&ann[0]["match_data"]["op_code"], &ann[0]["match_data"]["data"]), (&json!("7"), &json!("aGk=")));
        for envelope in [json!({ "no_such_thing": {} }), json!({ "cid": "1" })] {
            assert!(scene.refused("stream_send_raw", json!([table(), envelope])).await.contains("envelope"));
        }
        scene.run("stream_close", json!([table()])).await;
        assert_eq!(scene.run("stream_count", json!([table()])).await.0, 0);
        look();
        scene.run("stream_send", json!([table(), "nobody"])).await;
        assert_eq!(look().map(|sent| sent.len()), [0, 0]);
    });
}

#[test]
fn what_does_not_fit_is_refused() {
    block_on(async {
        let scene = scene().await;
        scene.connected.open(&scene.ann, "ann", 11);
        let join = |stream: Value| json!([scene.ann, id(11), stream]);
        for (arguments, told) in [
            (join(json!({ "mode": 256 })), "The mode of a stream must be 0 to 255."),
            (join(json!({ "mode": 1, "subject": "ann" })), "The subject of a stream must be a UUID"),
            (join(json!({ "mode": 201 })), "rooms and the lobby"),
            (join(json!({ "mode": 1, "label": "x".repeat(1_025) })), "1024 bytes"),
            (json!([scene.ann, id(11), table(), false, true, "x".repeat(8_193)]), "8192 bytes"),
            (json!([scene.bob, id(11), table()]), "There is no session of this user with this ID"),
            (json!([scene.ann, id(404), table()]), "There is no session of this user with this ID"),
            (json!([scene.ann, "session", table()]), "The session ID is not a valid UUID."),
        ] {
            let refused = scene.refused("stream_user_join", arguments.clone()).await;
            assert!(refused.contains(told), "{arguments}: {refused}");
        }
        scene.run("stream_user_leave", json!([scene.ann, id(404), table()])).await;
        assert_eq!(scene.run("stream_user_get", json!([scene.bob, id(11), table()])).await.0, Value::Null);
    });
}

#[test]
fn sessions_follow_users_and_may_be_silenced() {
    block_on(async {
        let scene = scene().await;
        let at_ann = scene.connected.open(&scene.ann, "ann", 11);
        scene.connected.open(&scene.bob, "bob", 12);
        let status = json!({ "mode": 1, "subject": scene.bob });
        scene.run("status_follow", json!([id(11), [scene.bob, scene.ann]])).await;
        scene.connected.sent(at_ann);
        scene.run("stream_user_join", json!([scene.bob, id(12), status, false, true, "hello"])).await;
        let sent = scene.connected.sent(at_ann);
        assert_eq!(sent[0]["status_presence_event"]["joins"][0]["status"], "hello", "{sent:?}");
        scene.run("status_unfollow", json!([id(11), [scene.bob]])).await;
        scene.run("stream_user_leave", json!([scene.bob, id(12), status])).await;
        assert_eq!(scene.connected.sent(at_ann), [] as [Value; 0]);
        scene.run("status_follow", json!([id(404), [scene.bob]])).await;

        // A session that takes no notifications is found nevertheless.
        let notifications = json!({ "mode": 0, "subject": scene.ann });
        scene.run("stream_user_leave", json!([scene.ann, id(11), notifications])).await;
        scene.run("notification_send", json!([scene.ann, "unheard", {}, 1])).await;
        assert_eq!(scene.connected.sent(at_ann), [] as [Value; 0]);
        scene.run("stream_user_join", json!([scene.ann, id(11), notifications, true])).await;
        scene.run("notification_send", json!([scene.ann, "heard", {}, 1, NONE, false])).await;
        assert_eq!(scene.connected.sent(at_ann).len(), 1);
    });
}
