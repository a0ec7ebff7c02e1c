//! Notifications: pages, batches, deletion.

use muster_domain::notifications::codes;
use muster_domain::ports::notifications::{Notification, NotificationPosition, NotificationUpdate};
use muster_domain::ports::store::StoreError;
use muster_domain::{NotificationId, Timestamp, UserId};
use uuid::Uuid;

use super::Fixture;
use super::fixture::Cell::{Id, Number, Time};
use super::fixture::NOW;
use crate::{postgres, sqlite};

pub(super) fn notification(number: u128, user_id: UserId, sender_id: UserId) -> Notification {
    Notification {
        id: NotificationId(Uuid::from_u128(number)),
        user_id,
        subject: format!("subject {number}"),
        content: format!(r#"{{"n": {number}}}"#),
        code: codes::DIRECT_MESSAGE_REQUEST,
        sender_id,
        create_time: Timestamp(NOW.0 + number as i64 / 2),
        persistent: true,
    }
}

async fn list(fixture: &Fixture, user_id: UserId) -> Vec<Notification> {
    fixture.store().list_notifications(user_id, NotificationPosition::START, 1_000).await.unwrap()
}

pub(super) async fn keeps_what_is_sent_until_it_is_deleted(fixture: &Fixture) {
    let (store, ann, bob) = (fixture.store(), fixture.sign_up("ann").await, fixture.sign_up("bob").await);
    let mut sent: Vec<Notification> = (0..9).map(|number| notification(number, ann, bob)).collect();
    sent.push(notification(9, ann, UserId::SYSTEM));
    let to_bob = notification(100, bob, ann);
    let batch: Vec<Notification> = sent.iter().rev().chain([&to_bob]).cloned().collect();
    store.save_notifications(&batch).await.unwrap();

    assert_eq!(list(fixture, ann).await, sent);
    assert_eq!(list(fixture, bob).await, [to_bob]);
    let mut behind = NotificationPosition::START;
    for page in sent.chunks(3) {
        let found = store.list_notifications(ann, behind, 3).await.unwrap();
        assert_eq!(found, page);
        behind = page.last().map(|last| NotificationPosition { create_time: last.create_time, id: last.id }).unwrap();
    }
    assert_eq!(store.list_notifications(ann, behind, 3).await.unwrap(), []);

    let ids: Vec<NotificationId> = sent[1..].iter().map(|each| each.id).collect();
    store.delete_notifications(Some(ann), &ids).await.unwrap();
    assert_eq!(list(fixture, ann).await, sent[..1]);
}

pub(super) async fn stores_all_notifications_or_none(fixture: &Fixture) {
    let (store, ann) = (fixture.store(), fixture.sign_up("ann").await);
    let nobody = UserId(Uuid::from_u128(404));
    let batch = [notification(1, ann, ann), notification(2, nobody, ann), notification(3, ann, nobody)];
    let outcome = store.save_notifications(&batch).await;
    assert!(matches!(outcome, Err(StoreError::Invalid(_))), "{outcome:?}");
    assert_eq!(list(fixture, ann).await, []);
    // The senders of notifications need not exist any more.
    store.save_notifications(&batch[2..]).await.unwrap();
    assert_eq!(list(fixture, ann).await, batch[2..]);
    let wide = Notification { subject: "x".repeat(256), ..batch[0].clone() };
    assert!(matches!(store.save_notifications(&[wide]).await, Err(StoreError::Invalid(_))));
    store.save_notifications(&[]).await.unwrap();
}

pub(super) async fn deletes_the_receiver_s_own_only(fixture: &Fixture) {
    let (store, ann, bob) = (fixture.store(), fixture.sign_up("ann").await, fixture.sign_up("bob").await);
    let sent = [notification(1, ann, bob), notification(2, ann, bob)];
    store.save_notifications(&sent).await.unwrap();
    store.delete_notifications(Some(bob), &[sent[0].id, sent[1].id]).await.unwrap();
    assert_eq!(list(fixture, ann).await, sent);
    store
        .delete_notifications(Some(ann), &[sent[0].id, NotificationId(Uuid::from_u128(404)), sent[0].id])
        .await
        .unwrap();
    assert_eq!(list(fixture, ann).await, sent[1..]);
    store.delete_notifications(Some(ann), &[]).await.unwrap();
}

pub(super) async fn reads_changes_and_deletes_whosever(fixture: &Fixture) {
    let (store, ann, bob) = (fixture.store(), fixture.sign_up("ann").await, fixture.sign_up("bob").await);
    let mut sent = [notification(1, ann, bob), notification(2, ann, bob), notification(3, bob, ann)];
    store.save_notifications(&sent).await.unwrap();
    let ids = [sent[2].id, sent[0].id, sent[0].id, NotificationId(Uuid::from_u128(404))];
    let get = async |user_id| {
        let mut found = store.notifications(user_id, &ids).await.unwrap();
        found.sort_by_key(|each| each.id);
        found
    };
    assert_eq!(get(None).await, [sent[0].clone(), sent[2].clone()]);
    assert_eq!(get(Some(bob)).await, sent[2..]);

    let nothing = |id| NotificationUpdate { id, subject: None, content: None, sender_id: None };
    let update = [
        NotificationUpdate { subject: Some("changed".into()), ..nothing(sent[0].id) },
        NotificationUpdate {
            content: Some(r#"{"new": 1}"#.into()),
            sender_id: Some(UserId::SYSTEM),
            ..nothing(sent[2].id)
        },
        NotificationUpdate { subject: Some("changed again".into()), ..nothing(sent[0].id) },
        NotificationUpdate { subject: Some("of none".into()), ..nothing(NotificationId(Uuid::from_u128(404))) },
    ];
    store.update_notifications(&update).await.unwrap();
    sent[0].subject = "changed again".into();
    (sent[2].content, sent[2].sender_id) = (r#"{"new": 1}"#.into(), UserId::SYSTEM);
    assert_eq!(get(None).await, [sent[0].clone(), sent[2].clone()]);
    let wide = [nothing(sent[0].id), NotificationUpdate { subject: Some("x".repeat(256)), ..nothing(sent[0].id) }];
    assert!(matches!(store.update_notifications(&wide).await, Err(StoreError::Invalid(_))));
    store.update_notifications(&[]).await.unwrap();

    store.delete_notifications(None, &[sent[2].id, sent[1].id]).await.unwrap();
    assert_eq!(list(fixture, ann).await, sent[..1]);
    assert_eq!(list(fixture, bob).await, []);
    let of_anybody = sqlite::notifications::GET.replace("?2", "NULL");
    let one_of_many = postgres::notifications::GET.replace("ANY ($1)", "ANY (ARRAY[$1]::uuid[])").replace("$2", "NULL");
    let plan = fixture.plan(&of_anybody, &one_of_many, &[Id(Uuid::from_u128(1))]).await;
    assert!(plan.contains("USING INDEX sqlite_autoindex") || plan.contains("notification_id_key"), "{plan}");
}

pub(super) async fn knows_who_was_notified_lately(fixture: &Fixture) {
    let (store, ann, bob) = (fixture.store(), fixture.sign_up("ann").await, fixture.sign_up("bob").await);
    let sent = notification(2, ann, bob);
    store.save_notifications(&[sent.clone(), notification(8, ann, UserId::SYSTEM)]).await.unwrap();
    let (request, before) = (codes::DIRECT_MESSAGE_REQUEST, Timestamp(sent.create_time.0 - 1));
    let check = async |user_id, sender_id, code, since, expect| {
        assert_eq!(store.is_notified(user_id, sender_id, code, since).await.unwrap(), expect, "{since:?}");
    };
    check(ann, bob, request, before, true).await;
    check(ann, bob, request, sent.create_time, false).await;
    check(ann, bob, codes::FRIEND_REQUEST, before, false).await;
    check(ann, ann, request, before, false).await;
    check(bob, ann, request, before, false).await;
    store.delete_notifications(Some(ann), &[sent.id]).await.unwrap();
    check(ann, bob, request, before, false).await;
    let values = [Id(Uuid::nil()), Time(NOW.0), Id(Uuid::from_u128(1)), Number(-1)];
    let plan = fixture.plan(sqlite::notifications::IS_NOTIFIED, postgres::notifications::IS_NOTIFIED, &values).await;
    assert!(plan.contains("PRIMARY KEY") || plan.contains("using notification_pkey"), "{plan}");
}

pub(super) async fn finds_notifications_along_an_index(fixture: &Fixture) {
    let values = [Id(Uuid::nil()), Time(NOW.0), Id(Uuid::from_u128(1)), Number(100)];
    let plan = fixture.plan(sqlite::notifications::LIST, postgres::notifications::LIST, &values).await;
    assert!(plan.contains("PRIMARY KEY") || plan.contains("using notification_pkey"), "{plan}");
    assert!(plan.contains("(create_time,id)") || plan.contains("ROW(create_time, id)"), "{plan}");
    assert!(!plan.contains("TEMP B-TREE") && !plan.contains("Sort") && !plan.contains("Filter"), "{plan}");
}
