//! Quotas: what one account may make the database hold.

use futures_util::future::join_all;
use muster_domain::chat::Channel;
use muster_domain::limits::{COUNT_AGE_SEC, DEVICES_MAX, REFUSING_COUNT_AGE_SEC};
use muster_domain::ports::accounts::Identifier;
use muster_domain::ports::chat::{Message, MessageChange, MessageCode, MessageRef, MessageUpdate};
use muster_domain::ports::storage::{Authority, Expected, ObjectAck, ObjectDelete, ObjectWrite};
use muster_domain::ports::store::{Rejection, StoreError};
use muster_domain::quotas::Quota;
use muster_domain::time::{DAY_SEC, Timestamp};
use muster_domain::{MessageId, UserId};
use uuid::Uuid;

use super::Fixture;
use super::deletion::revocation;
use super::fixture::{NOW, quotas};
use super::storage::{id, write};

type Outcome<T> = Result<T, StoreError>;

const TOO_MANY: StoreError = StoreError::Exceeded(Quota::Objects);
const TOO_LARGE: StoreError = StoreError::Exceeded(Quota::ObjectBytes);
/// A moment at which a count of [`NOW`] is too old to refuse by.
const LATER: Timestamp = Timestamp(NOW.0 + (REFUSING_COUNT_AGE_SEC + 1) * 1_000_000);
/// A moment at which it is too old for anything.
const TOMORROW: Timestamp = Timestamp(NOW.0 + (COUNT_AGE_SEC + 1) * 1_000_000);

async fn put(fixture: &Fixture, owner: UserId, write: ObjectWrite, now: Timestamp) -> Outcome<Vec<ObjectAck>> {
    fixture.store().write_objects(Authority::Client(owner), &[write], now).await
}

async fn remove(fixture: &Fixture, owner: UserId, key: &str) -> Outcome<()> {
    let delete = ObjectDelete { id: id(key, owner), version: String::new() };
    fixture.store().delete_objects(Authority::Client(owner), &[delete]).await
}

fn small(key: usize, owner: UserId) -> ObjectWrite {
    write(&format!("key {key:03}"), owner, 1, Expected::Any)
}

/// An object whose value has so many bytes.
fn sized(key: &str, owner: UserId, bytes: usize) -> ObjectWrite {
    let value = format!(r#"{{"a": "{}"}}"#, "x".repeat(bytes - 9));
    let version = muster_domain::storage::version_of(&value);
    ObjectWrite { value, version, ..write(key, owner, 1, Expected::Any) }
}

/// Makes an account's number of objects as large as it may be, all by the account itself.
async fn fill(fixture: &Fixture, owner: UserId) {
    let writes: Vec<ObjectWrite> = (0..quotas().objects as usize).map(|key| small(key, owner)).collect();
    fixture.store().write_objects(Authority::Client(owner), &writes, NOW).await.unwrap();
}

pub(super) async fn as_many_objects_as_may_be_and_no_more(fixture: &Fixture) {
    let (ann, bob) = (fixture.sign_up("ann").await, fixture.sign_up("bob").await);
    fill(fixture, ann).await;
    assert_eq!(put(fixture, ann, small(900, ann), NOW).await, Err(TOO_MANY));
    let versioned = write("key 901", ann, 1, Expected::Absent);
    assert_eq!(put(fixture, ann, versioned, NOW).await, Err(TOO_MANY));
    assert_eq!(fixture.metric("quota_objects_refused"), 2);

    // Whoever is full may change what there is; others are not full.
    put(fixture, ann, write("key 000", ann, 2, Expected::Any), NOW).await.unwrap();
    put(fixture, bob, small(900, bob), NOW).await.unwrap();

    // All or nothing: of three there is room for two.
    remove(fixture, ann, "key 000").await.unwrap();
    remove(fixture, ann, "key 001").await.unwrap();
    let three = [small(0, ann), small(1, ann), small(2_000, ann)];
    assert_eq!(fixture.store().write_objects(Authority::Client(ann), &three, NOW).await, Err(TOO_MANY));
    fixture.store().write_objects(Authority::Client(ann), &three[..2], NOW).await.unwrap();
    assert_eq!(put(fixture, ann, small(900, ann), NOW).await, Err(TOO_MANY));
}

pub(super) async fn as_many_bytes_as_may_be_and_no_more(fixture: &Fixture) {
    let ann = fixture.sign_up("ann").await;
    let half = quotas().object_bytes as usize / 2;
    put(fixture, ann, sized("a", ann, half), NOW).await.unwrap();
    assert_eq!(put(fixture, ann, sized("b", ann, half + 1), NOW).await, Err(TOO_LARGE));
    put(fixture, ann, sized("b", ann, half), NOW).await.unwrap();
    assert_eq!(put(fixture, ann, small(1, ann), NOW).await, Err(TOO_LARGE));
    assert_eq!(put(fixture, ann, sized("a", ann, half + 1), NOW).await, Err(TOO_LARGE));
    put(fixture, ann, sized("a", ann, half - 9), NOW).await.unwrap();
    put(fixture, ann, write("c", ann, 1, Expected::Any), NOW).await.unwrap();
    remove(fixture, ann, "b").await.unwrap();
    put(fixture, ann, sized("d", ann, half), NOW).await.unwrap();
}

pub(super) async fn objects_that_were_there_before_count(fixture: &Fixture) {
    let ann = fixture.sign_up("ann").await;
    let writes: Vec<ObjectWrite> = (0..quotas().objects as usize + 5).map(|key| small(key, ann)).collect();
    fixture.store().write_objects(Authority::Server, &writes, NOW).await.unwrap();
    assert_eq!(put(fixture, ann, small(900, ann), NOW).await, Err(TOO_MANY));
    // Whoever has more than may be can change and delete it, and write again once there is less.
    put(fixture, ann, write("key 000", ann, 2, Expected::Any), NOW).await.unwrap();
    for key in 0..6 {
        assert_eq!(put(fixture, ann, small(900, ann), NOW).await, Err(TOO_MANY));
        remove(fixture, ann, &format!("key {key:03}")).await.unwrap();
    }
    put(fixture, ann, small(900, ann), NOW).await.unwrap();
    assert_eq!(fixture.metric("quota_counts"), 1, "refusals by a count that is new enough count nothing");
}

pub(super) async fn objects_of_others_count_later(fixture: &Fixture) {
    let (store, ann) = (fixture.store(), fixture.sign_up("ann").await);
    fill(fixture, ann).await;
    // Game code deletes an object: the player finds out when the count is made anew.
    let delete = ObjectDelete { id: id("key 000", ann), version: String::new() };
    store.delete_objects(Authority::Server, &[delete]).await.unwrap();
    assert_eq!(put(fixture, ann, small(900, ann), NOW).await, Err(TOO_MANY));
    put(fixture, ann, small(900, ann), LATER).await.unwrap();
    assert_eq!(put(fixture, ann, small(901, ann), LATER).await, Err(TOO_MANY));
    // Objects that game code gives and the player deletes make room for nothing more than until the next day.
    for key in 0..5 {
        store.write_objects(Authority::Server, &[small(910 + key, ann)], LATER).await.unwrap();
        remove(fixture, ann, &format!("key {:03}", 910 + key)).await.unwrap();
    }
    put(fixture, ann, small(902, ann), LATER).await.unwrap();
    let next = Timestamp(LATER.0 + TOMORROW.0 - NOW.0);
    assert_eq!(put(fixture, ann, small(903, ann), next).await, Err(TOO_MANY));
}

pub(super) async fn concurrent_writes_never_go_beyond(fixture: &Fixture) {
    let (store, ann) = (fixture.store(), fixture.sign_up("ann").await);
    let max = quotas().objects as usize;
    let outcomes = join_all((0..max + 20).map(|key| put(fixture, ann, small(key, ann), NOW))).await;
    let refused = outcomes.iter().filter(|outcome| **outcome == Err(TOO_MANY)).count();
    assert_eq!((refused, outcomes.iter().filter(|outcome| outcome.is_ok()).count()), (20, max), "{outcomes:?}");

    // Single writes, batches and deletions of the same objects wait for each other and never in a circle.
    let outcomes = join_all((0..24).map(async |racer: usize| {
        let keys = if racer.is_multiple_of(2) { [0, 1, 2] } else { [2, 1, 0] };
        let changed = |key| write(&format!("key {key:03}"), ann, racer as u32, Expected::Any);
        match racer % 3 {
            0 => store.write_objects(Authority::Client(ann), &keys.map(changed), NOW).await.map(|_| ()),
            1 => put(fixture, ann, changed(0), NOW).await.map(|_| ()),
            _ => remove(fixture, ann, "key 001").await,
        }
    }))
    .await;
    let fine = |outcome: &Outcome<()>| matches!(outcome, Ok(()) | Err(StoreError::Rejected(Rejection::Version)));
    assert!(outcomes.iter().all(fine), "{outcomes:?}");
    assert_counted(fixture, ann).await;
}

pub(super) async fn the_count_is_the_sum_after_many_changes(fixture: &Fixture) {
    let ann = fixture.sign_up("ann").await;
    for step in 0..120_usize {
        let key = format!("key {}", step * 7 % 11);
        match step % 5 {
            0 => drop(remove(fixture, ann, &key).await),
            1 => drop(put(fixture, ann, write(&key, ann, 1, Expected::Absent), NOW).await),
            // Spaces and exponents are not stored on PostgreSQL as they were sent.
            2 => {
                let value = format!(r#"{{ "n" :   1e{} }}"#, step);
                let version = muster_domain::storage::version_of(&value);
                let write = ObjectWrite { value, version, ..write(&key, ann, 1, Expected::Any) };
                put(fixture, ann, write, NOW).await.unwrap();
            }
            _ => drop(put(fixture, ann, sized(&key, ann, 20 + step), NOW).await.unwrap()),
        }
    }
    assert_counted(fixture, ann).await;
}

/// The count of an account is that of its rows.
async fn assert_counted(fixture: &Fixture, user: UserId) {
    let (held, counted) = fixture.objects_and_count(user).await;
    assert_eq!(counted, held);
}

fn message(number: u128, sender: UserId, content: &str, at: Timestamp) -> Message {
    let create_time = Timestamp::from_seconds(at.seconds());
    Message {
        id: MessageId(Uuid::from_u128(number)),
        channel: Channel::room("lobby").unwrap(),
        code: MessageCode::CHAT,
        sender_id: sender,
        username: "ann".into(),
        content: content.into(),
        create_time,
        update_time: create_time,
        persistent: true,
    }
}

pub(super) async fn messages_of_a_day_have_an_end(fixture: &Fixture) {
    let (store, ann, bob) = (fixture.store(), fixture.sign_up("ann").await, fixture.sign_up("bob").await);
    let max = quotas().messages as u128;
    let say = async |number, sender: UserId, at| {
        store.append_message(Authority::Client(sender), &message(number, sender, "{}", at)).await
    };
    let outcomes = join_all((0..max + 7).map(|number| say(number, ann, NOW))).await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count() as u128, max);
    let refused = Err(StoreError::Exceeded(Quota::Messages));
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == refused).count(), 7, "{outcomes:?}");
    assert_eq!(fixture.metric("quota_messages_refused"), 7);
    say(500, bob, NOW).await.unwrap();

    // A change counts, a removal gives nothing back, and a clock that is behind by a day finds the same day.
    let number = outcomes.iter().position(Result::is_ok).unwrap() as u128;
    let said = message(number, ann, "{}", NOW);
    let named = MessageRef { id: said.id, channel: said.channel, sender_id: ann };
    let update = MessageUpdate { username: "ann".into(), content: "{}".into(), update_time: said.update_time };
    let changed = store.update_message(Authority::Client(ann), &named, &update).await;
    assert_eq!(changed, Err(StoreError::Exceeded(Quota::Messages)));
    assert!(matches!(store.remove_message(&named).await, Ok(MessageChange::Done { .. })));
    assert_eq!(say(501, ann, NOW).await, refused);
    let day = |number: i64| Timestamp(NOW.0 + number * DAY_SEC * 1_000_000);
    assert_eq!(say(501, ann, day(-1)).await, refused);

    say(501, ann, day(1)).await.unwrap();
    // A clock that was wrong by a year does not count for a year.
    say(502, ann, day(365)).await.unwrap();
    say(503, ann, day(2)).await.unwrap();
}

pub(super) async fn messages_of_a_day_have_an_end_in_bytes(fixture: &Fixture) {
    let (store, ann) = (fixture.store(), fixture.sign_up("ann").await);
    let content = |bytes: usize| format!(r#"{{"a":"{}"}}"#, "x".repeat(bytes - 8));
    let say = async |number, bytes| {
        store.append_message(Authority::Client(ann), &message(number, ann, &content(bytes), NOW)).await
    };
    let refused = Err(StoreError::Exceeded(Quota::MessageBytes));
    say(1, 900).await.unwrap();
    assert_eq!(say(2, 1_101).await, refused);
    say(2, 100).await.unwrap();
    let said = message(2, ann, "{}", NOW);
    let named = MessageRef { id: said.id, channel: said.channel, sender_id: ann };
    let update = |bytes| MessageUpdate {
        username: "ann".into(),
        content: content(bytes),
        update_time: Timestamp::from_seconds(NOW.seconds()),
    };
    let change = async |bytes| store.update_message(Authority::Client(ann), &named, &update(bytes)).await;
    assert_eq!(change(1_001).await, Err(StoreError::Exceeded(Quota::MessageBytes)));
    assert!(matches!(change(1_000).await, Ok(MessageChange::Done { .. })));
    assert_eq!(say(3, 10).await, refused);
    // Changes of nothing cost nothing.
    let missing = MessageRef { id: MessageId(Uuid::from_u128(404)), ..named.clone() };
    assert_eq!(store.update_message(Authority::Client(ann), &missing, &update(10)).await, Ok(MessageChange::Missing));
}

pub(super) async fn devices_have_an_end(fixture: &Fixture) {
    let (store, ann) = (fixture.store(), fixture.sign_up("ann").await);
    let device = |number: u32| Identifier::Device(format!("device {number:05}"));
    // One there is already.
    for number in 1..DEVICES_MAX {
        assert_eq!(store.link(ann, &device(number), NOW).await, Ok(true));
    }
    let refused = Err(StoreError::Exceeded(Quota::Devices));
    assert_eq!(store.link(ann, &device(DEVICES_MAX), NOW).await, refused);
    assert_eq!(fixture.metric("quota_devices_refused"), 1);
    assert_eq!(store.link(ann, &device(7), NOW).await, Ok(true), "it is linked already");
    store.unlink(ann, &muster_domain::ports::accounts::Unlink::Device("device 00007".into()), NOW).await.unwrap();
    assert_eq!(store.link(ann, &device(DEVICES_MAX), NOW).await, Ok(true));
}

pub(super) async fn the_server_is_not_held_to_them(fixture: &Fixture) {
    let (store, ann) = (fixture.store(), fixture.sign_up("ann").await);
    fill(fixture, ann).await;
    store.write_objects(Authority::Server, &[small(900, ann)], NOW).await.unwrap();
    let writes: Vec<ObjectWrite> = (0..100).map(|key| small(1_000 + key, UserId::SYSTEM)).collect();
    store.write_objects(Authority::Server, &writes, NOW).await.unwrap();
    for number in 0..quotas().messages as u128 + 5 {
        store.append_message(Authority::Server, &message(number, ann, "{}", NOW)).await.unwrap();
    }
    store.append_message(Authority::Client(ann), &message(900, ann, "{}", NOW)).await.unwrap();
}

pub(super) async fn unknown_accounts_leave_no_count(fixture: &Fixture) {
    let (store, ann) = (fixture.store(), fixture.sign_up("ann").await);
    put(fixture, ann, small(1, ann), NOW).await.unwrap();
    store.append_message(Authority::Client(ann), &message(1, ann, "{}", NOW)).await.unwrap();
    let counts = async || fixture.rows().await.iter().filter(|(table, _)| table.ends_with("_usage")).count();
    assert_eq!(counts().await, 2);
    assert!(store.delete_account(ann, false, &revocation(ann), NOW).await.unwrap());
    assert!(matches!(put(fixture, ann, small(1, ann), NOW).await, Err(StoreError::Invalid(_))));
    assert!(store.append_message(Authority::Client(ann), &message(2, ann, "{}", NOW)).await.is_err());
    assert_eq!(counts().await, 0);
}
