//! Channels to which functions send messages, and the histories of these.

use muster_domain::ids::Uuid;
use muster_live::StreamKey;
use muster_live::plane::JoinOptions;
use muster_live::stream::mode;
use serde_json::{Value, json};

use crate::scene::{NONE, scene};
use crate::world::block_on;

fn contents(list: &Value) -> Vec<&str> {
    list.as_array().map(|list| list.iter().map(|each| each["content"].as_str().unwrap()).collect()).unwrap_or_default()
}

#[test]
fn channels_are_named_as_players_find_them() {
    block_on(async {
        let scene = scene().await;
        let (ann, bob) = (scene.ann.to_string(), scene.bob.to_string());
        let group = "7c9e6679-7425-40de-944b-e07fc1f90ae7";
        for (arguments, expect) in [
            (json!(["", "lobby", 1]), "2...lobby".to_owned()),
            (json!([bob, ann, 2]), format!("4.{ann}.{bob}.")),
            (json!(["", group, 3]), format!("3.{group}..")),
        ] {
            assert_eq!(scene.run("channel_id_build", arguments).await.0, json!(expect));
        }
        for (arguments, told) in [
            (json!([NONE, "lobby", 1]), "sender_id must be given"),
            (json!(["", ann, 2]), "A direct channel needs two users"),
            (json!([ann, ann, 2]), "A direct channel needs two users"),
            (json!([ann, "7c9e6679-7425-40de-944b-e07fc1f90ae8", 2]), "There is no user of this ID."),
            (json!([ann, group, 3]), "There is no group of this ID"),
            (json!(["", "", 1]), "1 to 64 bytes"),
            (json!(["", "lobby", 4]), "The type of a channel"),
        ] {
            let refused = scene.refused("channel_id_build", arguments.clone()).await;
            assert!(refused.contains(told), "{arguments}: {refused}");
        }
    });
}

#[test]
fn what_the_server_says_is_heard_and_stands_in_the_history() {
    block_on(async {
        let scene = scene().await;
        let (ann, connected) = (scene.ann.to_string(), &scene.connected);
        let session = connected.open(&scene.ann, "ann", 11);
        let lobby = StreamKey::new(mode::CHANNEL, Uuid::nil(), Uuid::nil(), "lobby");
        connected.live.join(session, lobby, JoinOptions::default()).await.unwrap();
        connected.sent(session);

        let (said, _) = scene.run("channel_message_send", json!(["2...lobby", { "n": 1 }, "", "", true])).await;
        assert_eq!(
            (&said["channelId"], &said["code"], &said["persistent"]),
            (&json!("2...lobby"), &json!(0), &json!(true))
        );
        let by_ann = json!(["2...lobby", { "n": 2 }, ann, "ann", true]);
        let (kept, _) = scene.run("channel_message_send", by_ann).await;
        assert_eq!(kept["username"], "ann");
        let (passing, _) = scene.run("channel_message_send", json!(["2...lobby", { "n": 3 }])).await;
        assert_eq!(passing["persistent"], false, "in Lua a message is kept only if that is asked for");
        let update = json!(["2...lobby", kept["messageId"], { "n": 4 }, ann, "Ann", true]);
        assert_eq!(scene.run("channel_message_update", update).await.0["code"], 1);
        scene.run("channel_message_remove", json!(["2...lobby", said["messageId"], "", "", true])).await;

        let sent = connected.sent(session);
        let heard: Vec<_> = sent.iter().map(|frame| &frame["channel_message"]).collect();
        let content = |index: usize| heard[index]["content"].as_str().unwrap();
        assert_eq!([0, 1, 2, 3, 4].map(content), [r#"{"n":1}"#, r#"{"n":2}"#, r#"{"n":3}"#, r#"{"n":4}"#, "{}"]);
        assert_eq!(heard[0]["sender_id"], "00000000-0000-0000-0000-000000000000");
        assert_eq!((heard[3]["code"].as_i64(), heard[4]["code"].as_i64()), (Some(1), Some(2)));

        let [list, next, previous, ..] = scene.all("channel_messages_list", json!(["2...lobby"])).await;
        assert_eq!((contents(&list), next, previous), (vec![r#"{"n":4}"#], Value::Null, Value::Null));
        assert_eq!((&list[0]["senderId"], &list[0]["roomName"]), (&json!(ann), &json!("lobby")));
        assert_eq!((&list[0]["groupId"], &list[0]["userIdOne"]), (&json!(""), &json!("")));
        let foreign = json!(["2...lobby", kept["messageId"], { "n": 5 }]);
        assert!(scene.refused("channel_message_update", foreign).await.contains("no message of yours"));
        let nobody = json!(["2...lobby", {}, "7c9e6679-7425-40de-944b-e07fc1f90ae8", "", true]);
        assert!(scene.refused("channel_message_send", nobody).await.contains("does not exist"));
        assert!(scene.refused("channel_message_send", json!(["lobby", {}])).await.contains("channel ID is not valid"));
    });
}

#[test]
fn histories_are_read_page_by_page_both_ways_and_whoever_s_they_are() {
    block_on(async {
        let scene = scene().await;
        let channel = scene.run("channel_id_build", json!([scene.ann, scene.bob, 2])).await.0;
        for n in 1..=3 {
            scene.run("channel_message_send", json!([channel, { "n": n }, "", "", true])).await;
        }
        let [page, next, ..] = scene.all("channel_messages_list", json!([channel, 2])).await;
        assert_eq!(contents(&page), [r#"{"n":1}"#, r#"{"n":2}"#]);
        let [page, end, previous, ..] = scene.all("channel_messages_list", json!([channel, 2, true, next])).await;
        assert_eq!((contents(&page), end), (vec![r#"{"n":3}"#], Value::Null));
        let [page, ..] = scene.all("channel_messages_list", json!([channel, 2, true, previous])).await;
        assert_eq!(contents(&page), [r#"{"n":1}"#, r#"{"n":2}"#]);
        scene.run("channel_message_send", json!([channel, { "n": 4 }, "", "", true])).await;
        let [page, ..] = scene.all("channel_messages_list", json!([channel, 1, false])).await;
        assert_eq!(contents(&page), [r#"{"n":4}"#]);
        assert!(scene.refused("channel_messages_list", json!([channel, 101])).await.contains("between 1 and 100"));
    });
}
