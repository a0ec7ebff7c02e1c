//! Friends as functions make, end, list and annotate them.

use serde_json::{Value, json};

use crate::scene::{NONE, Scene, scene};
use crate::world::block_on;

async fn states(scene: &Scene, user: &str) -> Vec<(String, i64)> {
    let (list, _) = scene.run("friends_list", json!([user])).await;
    let one =
        |friend: &Value| (friend["user"]["user_id"].as_str().unwrap().to_owned(), friend["state"].as_i64().unwrap());
    list.as_array().map(|list| list.iter().map(one).collect()).unwrap_or_default()
}

#[test]
fn friendships_begin_and_end_and_are_told_to_the_others() {
    block_on(async {
        let scene = scene().await;
        let (ann, bob) = (scene.ann.to_string(), scene.bob.to_string());
        let at_bob = scene.connected.open(&scene.bob, "bob", 12);
        scene.run("friends_add", json!([ann, "ann", [bob], NONE, { "met": "here" }])).await;
        let told = &scene.connected.sent(at_bob)[0]["notifications"]["notifications"][0];
        assert_eq!((&told["code"], &told["sender_id"], &told["persistent"]), (&json!(-2), &json!(ann), &json!(true)));
        assert_eq!(told["content"], r#"{"username":"ann"}"#);
        assert_eq!(states(&scene, &ann).await, [(bob.clone(), 1)]);
        assert_eq!(states(&scene, &bob).await, [(ann.clone(), 2)]);

        scene.run("friends_add", json!([bob, "bob", NONE, ["ann"]])).await;
        let (list, _) = scene.run("friends_list", json!([ann, 10, 0])).await;
        let friend = &list[0];
        assert_eq!((&friend["metadata"], &friend["user"]["edge_count"]), (&json!({ "met": "here" }), &json!(0)));
        assert_eq!((&friend["user"]["username"], &friend["user"]["online"]), (&json!("bob"), &json!(false)));
        scene.run("friend_metadata_update", json!([ann, bob, { "note": [1, 2] }])).await;
        let (status, _) = scene.run("users_get_friend_status", json!([ann, [bob, ann]])).await;
        assert_eq!((status.as_array().unwrap().len(), &status[0]["metadata"]), (1, &json!({ "note": [1, 2] })));

        scene.run("friends_block", json!([ann, "ann", [bob]])).await;
        assert_eq!((states(&scene, &ann).await, states(&scene, &bob).await), (vec![(bob.clone(), 3)], vec![]));
        scene.run("friends_delete", json!([ann, "ann", NONE, ["bob"]])).await;
        assert_eq!(states(&scene, &ann).await, []);
    });
}

#[test]
fn who_is_nobody_or_oneself_is_refused() {
    block_on(async {
        let scene = scene().await;
        let (ann, bob) = (scene.ann.to_string(), scene.bob.to_string());
        for name in ["friends_add", "friends_delete", "friends_block"] {
            let own = scene.refused(name, json!([ann, "ann", [ann]])).await;
            assert!(own.contains("Name other users"), "{name}: {own}");
            let unknown = scene.refused(name, json!([ann, "ann", NONE, ["nobody"]])).await;
            assert!(unknown.contains("There is no user of these names."), "{name}: {unknown}");
            scene.refused(name, json!([ann, "", [bob]])).await;
            scene.refused(name, json!([ann, "ann", ["x"]])).await;
            // Nobody is named: nothing happens.
            scene.run(name, json!([ann, "ann"])).await;
        }
        assert!(scene.refused("friends_list", json!([ann, 1_001])).await.contains("between 1 and 1000"));
        assert!(scene.refused("friends_list", json!([ann, 10, 4])).await.contains("between 0 and 3"));
        assert!(scene.refused("friends_list", json!([ann, 10, NONE, "x"])).await.contains("cursor"));
        assert!(scene.refused("friend_metadata_update", json!([ann, bob, 5])).await.contains("table expected"));
    });
}

#[test]
fn friends_of_friends_come_page_by_page() {
    block_on(async {
        let scene = scene().await;
        let (ann, bob) = (scene.ann.to_string(), scene.bob.to_string());
        let mut far = Vec::new();
        for number in 3..6 {
            far.push(crate::world::player(&scene.store, number, &format!("far {number}")).await.to_string());
        }
        let befriend = async |one: &str, two: &str| {
            scene.run("friends_add", json!([one, "one", [two]])).await;
            scene.run("friends_add", json!([two, "two", [one]])).await;
        };
        befriend(&ann, &bob).await;
        for friend in &far {
            befriend(&bob, friend).await;
        }
        let (page, cursor) = scene.run("friends_of_friends_list", json!([ann, 2])).await;
        let (rest, end) = scene.run("friends_of_friends_list", json!([ann, 2, cursor])).await;
        let ids: Vec<&Value> = [&page, &rest]
            .iter()
            .flat_map(|page| page.as_array().unwrap())
            .map(|each| {
                assert_eq!(each["referrer"], json!(bob));
                &each["user"]["user_id"]
            })
            .collect();
        assert_eq!((ids, end), (far.iter().map(|id| json!(id)).collect::<Vec<_>>().iter().collect(), Value::Null));
        let (page, cursor) = scene.run("friends_list", json!([bob, 3])).await;
        let (rest, end) = scene.run("friends_list", json!([bob, 3, NONE, cursor])).await;
        assert_eq!((page.as_array().unwrap().len(), rest.as_array().unwrap().len(), end), (3, 1, Value::Null));
    });
}
