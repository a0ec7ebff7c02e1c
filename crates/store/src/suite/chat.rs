//! Chat: histories, authors, and rules about whom a user may address.

use muster_domain::chat::Channel;
use muster_domain::ports::chat::{
    Message, MessageChange, MessageCode, MessagePosition, MessageQuery, MessageRef, MessageUpdate,
};
use muster_domain::ports::storage::Authority;
use muster_domain::ports::store::StoreError;
use muster_domain::{GroupId, MessageId, Timestamp, UserId};
use uuid::Uuid;

use super::Fixture;
use super::fixture::Cell::{Id, Number, Text, Time};
use super::fixture::NOW;
use crate::{postgres, sqlite};

const SECOND: Timestamp = Timestamp(NOW.0 / 1_000_000 * 1_000_000);

pub(super) fn message(number: u128, channel: &Channel, sender_id: UserId) -> Message {
    Message {
        id: MessageId(Uuid::from_u128(number)),
        channel: channel.clone(),
        code: MessageCode::CHAT,
        sender_id,
        username: "ann".into(),
        content: format!(r#"{{"n": {number}}}"#),
        create_time: SECOND,
        update_time: SECOND,
        persistent: true,
    }
}

fn room(name: &str) -> Channel {
    Channel::room(name).unwrap()
}

fn reference(message: &Message) -> MessageRef {
    MessageRef { id: message.id, channel: message.channel.clone(), sender_id: message.sender_id }
}

fn query(channel: &Channel) -> MessageQuery {
    MessageQuery { channel: channel.clone(), backwards: false, behind: None, limit: 100 }
}

async fn history(fixture: &Fixture, channel: &Channel) -> Vec<Message> {
    fixture.store().list_messages(&query(channel)).await.unwrap().0
}

pub(super) async fn keeps_what_is_said_in_its_channel(fixture: &Fixture) {
    let (store, ann, bob) = (fixture.store(), fixture.sign_up("ann").await, fixture.sign_up("bob").await);
    let direct = Channel::direct(bob, ann).unwrap();
    let group = Channel::Group(GroupId(ann.0));
    let channels = [room("lobby"), room("Lobby"), room("lobby "), group, direct];
    for (number, channel) in (1..).zip(&channels) {
        store.append_message(Authority::Server, &message(number, channel, ann)).await.unwrap();
    }
    for (number, channel) in (1..).zip(&channels) {
        assert_eq!(history(fixture, channel).await, [message(number, channel, ann)]);
    }
    assert_eq!(history(fixture, &room("elsewhere")).await, []);
    let system = Message { username: String::new(), ..message(9, &room("server"), UserId::SYSTEM) };
    store.append_message(Authority::Server, &system).await.unwrap();
    assert_eq!(history(fixture, &room("server")).await, [system]);
}

pub(super) async fn lists_either_way_in_the_order_of_saying(fixture: &Fixture) {
    let (store, ann) = (fixture.store(), fixture.sign_up("ann").await);
    let lobby = room("lobby");
    // Messages are written from the last to the first, three in each second.
    for number in (1..=25_u128).rev() {
        let create_time = SECOND.plus_seconds(number as i64 / 3);
        let written = Message { create_time, ..message(number, &lobby, ann) };
        store.append_message(Authority::Server, &written).await.unwrap();
        store
            .append_message(
                Authority::Server,
                &Message { channel: room("noise"), ..message(100 + number, &lobby, ann) },
            )
            .await
            .unwrap();
    }
    for backwards in [false, true] {
        let mut seen = Vec::new();
        let mut query = MessageQuery { backwards, limit: 4, ..query(&lobby) };
        loop {
            let (page, more) = store.list_messages(&query).await.unwrap();
            assert_eq!((page.len(), more), if seen.len() < 24 { (4, true) } else { (1, false) });
            query.behind = page.last().map(|last| MessagePosition { create_time: last.create_time, id: last.id });
            seen.extend(page.iter().map(|message| message.id.0.as_u128()));
            if !more {
                break;
            }
        }
        if backwards {
            seen.reverse();
        }
        assert_eq!(seen, (1..=25).collect::<Vec<_>>(), "{backwards}");
        assert_eq!(store.list_messages(&query).await.unwrap(), (Vec::new(), false), "behind the last");
    }
}

pub(super) async fn changes_and_removes_the_author_s_own_only(fixture: &Fixture) {
    let (store, ann, bob) = (fixture.store(), fixture.sign_up("ann").await, fixture.sign_up("bob").await);
    let said = message(1, &room("lobby"), ann);
    store.append_message(Authority::Server, &said).await.unwrap();
    let later = SECOND.plus_seconds(60);
    let update =
        MessageUpdate { username: "renamed".into(), content: r#"{"changed": true}"#.into(), update_time: later };

    let foreign =
        [MessageRef { sender_id: bob, ..reference(&said) }, MessageRef { channel: room("other"), ..reference(&said) }];
    for wrong in &foreign {
        assert_eq!(store.update_message(Authority::Server, wrong, &update).await, Ok(MessageChange::Foreign));
        assert_eq!(store.remove_message(wrong).await, Ok(MessageChange::Foreign));
    }
    let missing = reference(&message(2, &room("lobby"), ann));
    assert_eq!(store.update_message(Authority::Server, &missing, &update).await, Ok(MessageChange::Missing));
    assert_eq!(store.remove_message(&missing).await, Ok(MessageChange::Missing));
    assert_eq!(history(fixture, &said.channel).await, std::slice::from_ref(&said));

    let done = MessageChange::Done { create_time: SECOND };
    assert_eq!(store.update_message(Authority::Server, &reference(&said), &update).await, Ok(done));
    let MessageUpdate { username, content, update_time } = update;
    let changed = Message { username, content, update_time, ..said.clone() };
    assert_eq!(history(fixture, &said.channel).await, [changed]);
    assert_eq!(store.remove_message(&reference(&said)).await, Ok(done));
    assert_eq!(store.remove_message(&reference(&said)).await, Ok(MessageChange::Missing));
    assert_eq!(history(fixture, &said.channel).await, []);
}

pub(super) async fn refuses_senders_that_do_not_exist(fixture: &Fixture) {
    let (store, lobby) = (fixture.store(), room("lobby"));
    let outcome = store.append_message(Authority::Server, &message(1, &lobby, UserId(Uuid::from_u128(404)))).await;
    assert!(matches!(outcome, Err(StoreError::Invalid(_))), "{outcome:?}");
    assert_eq!(history(fixture, &lobby).await, []);
}

pub(super) async fn knows_who_may_be_spoken_to(fixture: &Fixture) {
    let (store, ann, bob) = (fixture.store(), fixture.sign_up("ann").await, fixture.sign_up("bob").await);
    let edge = async |table, (source, destination): (Uuid, Uuid), state: i64| {
        let cells = [
            ("source_id", Id(source)),
            ("position", Number(state)),
            ("update_time", Time(NOW.0)),
            ("destination_id", Id(destination)),
            ("state", Number(state)),
        ];
        fixture.insert(table, &cells).await;
    };
    assert_eq!(store.may_address(ann, bob).await, Ok(true), "strangers");
    assert_eq!(store.may_address(ann, UserId(Uuid::from_u128(404))).await, Ok(false), "nobody");
    edge("user_edge", (bob.0, ann.0), 3).await;
    assert_eq!(store.may_address(ann, bob).await, Ok(false), "blocked");
    assert_eq!(store.may_address(bob, ann).await, Ok(true), "who blocks may speak");
    let cid = fixture.sign_up("cid").await;
    edge("user_edge", (cid.0, ann.0), 0).await;
    assert_eq!(store.may_address(ann, cid).await, Ok(true), "friends");

    let group = GroupId(Uuid::from_u128(7));
    for state in 0..=4 {
        let user = fixture.sign_up(&format!("member {state}")).await;
        edge("group_edge", (group.0, user.0), state).await;
        assert_eq!(store.is_group_member(group, user).await, Ok(state <= 2), "{state}");
        assert_eq!(store.is_group_member(GroupId(user.0), UserId(group.0)).await, Ok(false));
    }
    assert_eq!(store.is_group_member(group, ann).await, Ok(false));
}

pub(super) async fn finds_messages_along_an_index(fixture: &Fixture) {
    let values =
        [Number(2), Id(Uuid::nil()), Id(Uuid::nil()), Text("lobby"), Time(NOW.0), Id(Uuid::from_u128(1)), Number(101)];
    for (sqlite, postgres) in [
        (sqlite::chat::LIST_FORWARDS, postgres::chat::LIST_FORWARDS),
        (sqlite::chat::LIST_BACKWARDS, postgres::chat::LIST_BACKWARDS),
    ] {
        let plan = fixture.plan(sqlite, postgres, &values).await;
        assert!(plan.contains("PRIMARY KEY") || plan.contains("using message_pkey"), "{plan}");
        // The page's start is found in the index, not by reading all messages before it.
        assert!(plan.contains("(create_time,id)") || plan.contains("ROW(create_time, id)"), "{plan}");
        assert!(!plan.contains("TEMP B-TREE") && !plan.contains("Sort") && !plan.contains("Filter"), "{plan}");
    }
}
