//! Storage objects: versions, permissions, batches, pages.

use muster_domain::UserId;
use muster_domain::ports::storage::{
    Authority, Expected, ObjectDelete, ObjectId, ObjectPosition, ObjectQuery, ObjectWrite, ReadPermission,
    WritePermission,
};
use muster_domain::ports::store::{Rejection, StoreError};
use muster_domain::time::Timestamp;
use uuid::Uuid;

use super::Fixture;
use super::fixture::NOW;

const LATER: Timestamp = Timestamp(NOW.0 + 1_000_000);
const SERVER: Authority = Authority::Server;
const REJECTED_VERSION: StoreError = StoreError::Rejected(Rejection::Version);
const REJECTED_PERMISSION: StoreError = StoreError::Rejected(Rejection::Permission);

pub(super) fn id(key: &str, owner: UserId) -> ObjectId {
    ObjectId { collection: "saves".into(), key: key.into(), user_id: owner }
}

/// A write whose value contains `number`, from which its version follows.
pub(super) fn write(key: &str, owner: UserId, number: u32, expected: Expected) -> ObjectWrite {
    ObjectWrite {
        id: id(key, owner),
        value: format!(r#"{{"n": {number}}}"#),
        version: version(number),
        expected,
        read: ReadPermission::Owner,
        write: WritePermission::Owner,
    }
}

pub(super) fn version(number: u32) -> String {
    format!("{number:032x}")
}

fn delete(key: &str, owner: UserId, version: String) -> ObjectDelete {
    ObjectDelete { id: id(key, owner), version }
}

pub(super) async fn applies_the_version_rules(fixture: &Fixture) {
    let (store, ann) = (fixture.store(), fixture.sign_up("ann").await);
    for authority in [Authority::Client(ann), SERVER] {
        let key = format!("{authority:?}").chars().take(6).collect::<String>();
        let put = async |number, expected, now| {
            let acks = store.write_objects(authority, &[write(&key, ann, number, expected)], now).await?;
            Ok((acks[0].version.clone(), acks[0].create_time, acks[0].update_time))
        };
        assert_eq!(put(1, Expected::Version(version(1)), NOW).await, Err(REJECTED_VERSION));
        assert_eq!(put(1, Expected::Absent, NOW).await, Ok((version(1), NOW, NOW)));
        assert_eq!(put(2, Expected::Absent, NOW).await, Err(REJECTED_VERSION));
        assert_eq!(put(2, Expected::Version(version(9)), LATER).await, Err(REJECTED_VERSION));
        assert_eq!(put(2, Expected::Version(version(1)), LATER).await, Ok((version(2), NOW, LATER)));
        assert_eq!(put(3, Expected::Any, LATER).await, Ok((version(3), NOW, LATER)));
        let found = store.read_objects(authority, &[id(&key, ann), id("none", ann), id(&key, ann)]).await.unwrap();
        assert_eq!(found.len(), 1);
        assert_eq!((found[0].value.as_str(), found[0].version.clone()), (r#"{"n": 3}"#, version(3)));
        assert_eq!((found[0].create_time, found[0].update_time), (NOW, LATER));
    }
}

pub(super) async fn leaves_identical_writes_alone(fixture: &Fixture) {
    let (store, ann) = (fixture.store(), fixture.sign_up("ann").await);
    let put = async |write: ObjectWrite, now| store.write_objects(SERVER, &[write], now).await.unwrap()[0].update_time;
    let same = write("a", ann, 1, Expected::Any);
    assert_eq!(put(same.clone(), NOW).await, NOW);
    assert_eq!(put(same.clone(), LATER).await, NOW);
    assert_eq!(put(ObjectWrite { read: ReadPermission::Public, ..same.clone() }, LATER).await, LATER);
    let conditional = ObjectWrite { expected: Expected::Version(version(1)), ..same };
    assert_eq!(put(conditional, Timestamp(LATER.0 + 1)).await, Timestamp(LATER.0 + 1));
}

pub(super) async fn applies_the_permission_matrix(fixture: &Fixture) {
    let (store, ann, bob) = (fixture.store(), fixture.sign_up("ann").await, fixture.sign_up("bob").await);
    let reads = [ReadPermission::None, ReadPermission::Owner, ReadPermission::Public];
    for (number, (read, permission)) in reads
        .into_iter()
        .flat_map(|read| [WritePermission::None, WritePermission::Owner].map(|w| (read, w)))
        .enumerate()
    {
        let key = format!("key {number}");
        let object = ObjectWrite { read, write: permission, ..write(&key, ann, 1, Expected::Any) };
        store.write_objects(SERVER, std::slice::from_ref(&object), NOW).await.unwrap();
        for (authority, may_read, may_write) in [
            (SERVER, true, true),
            (Authority::Client(ann), read != ReadPermission::None, permission == WritePermission::Owner),
            (Authority::Client(bob), read == ReadPermission::Public, false),
        ] {
            let found = store.read_objects(authority, &[id(&key, ann)]).await.unwrap();
            assert_eq!(!found.is_empty(), may_read, "{authority:?} reads {read:?}");
            let query =
                ObjectQuery { collection: "saves".into(), owner: Some(ann), authority, limit: 100, after: None };
            let (listed, _) = store.list_objects(&query).await.unwrap();
            assert_eq!(listed.iter().any(|object| object.id.key == key), may_read, "{authority:?} lists {read:?}");
            let changed = ObjectWrite { version: version(2), expected: Expected::Any, ..object.clone() };
            let outcome = store.write_objects(authority, &[changed], NOW).await;
            assert_eq!(outcome.is_ok(), may_write, "{authority:?} writes {permission:?}: {outcome:?}");
            let outcome = store.delete_objects(authority, &[delete(&key, ann, String::new())]).await;
            assert_eq!(outcome.is_ok(), may_write, "{authority:?} deletes {permission:?}: {outcome:?}");
            store.write_objects(SERVER, std::slice::from_ref(&object), NOW).await.unwrap();
        }
    }
    let query = |authority| ObjectQuery { collection: "saves".into(), owner: None, authority, limit: 100, after: None };
    assert_eq!(store.list_objects(&query(Authority::Client(ann))).await.unwrap().0.len(), 2, "the public ones");
    assert_eq!(store.list_objects(&query(SERVER)).await.unwrap().0.len(), 6);
}

pub(super) async fn writes_batches_wholly_or_not_at_all(fixture: &Fixture) {
    let (store, ann) = (fixture.store(), fixture.sign_up("ann").await);
    let batch = [
        write("z", ann, 1, Expected::Any),
        write("a", ann, 2, Expected::Absent),
        write("m", ann, 3, Expected::Version(version(7))),
    ];
    assert_eq!(store.write_objects(SERVER, &batch, NOW).await, Err(REJECTED_VERSION));
    let ids = [id("z", ann), id("a", ann), id("m", ann)];
    assert!(store.read_objects(SERVER, &ids).await.unwrap().is_empty());
    let acks = store.write_objects(SERVER, &batch[..2], NOW).await.unwrap();
    assert_eq!(acks.iter().map(|ack| ack.id.key.as_str()).collect::<Vec<_>>(), ["z", "a"], "in the request's order");
    let deletes = [delete("z", ann, String::new()), delete("a", ann, version(9))];
    assert_eq!(store.delete_objects(SERVER, &deletes).await, Err(REJECTED_VERSION));
    assert_eq!(store.read_objects(SERVER, &ids).await.unwrap().len(), 2);
    assert_eq!(store.write_objects(SERVER, &[], NOW).await.unwrap(), []);
}

pub(super) async fn applies_two_writes_of_one_object_in_order(fixture: &Fixture) {
    let (store, ann) = (fixture.store(), fixture.sign_up("ann").await);
    let batch = [write("a", ann, 1, Expected::Absent), write("a", ann, 2, Expected::Version(version(1)))];
    store.write_objects(Authority::Client(ann), &batch, NOW).await.unwrap();
    assert_eq!(store.read_objects(SERVER, &[id("a", ann)]).await.unwrap()[0].version, version(2));
}

pub(super) async fn refuses_owners_that_do_not_exist(fixture: &Fixture) {
    let (store, nobody) = (fixture.store(), UserId(Uuid::from_u128(404)));
    let outcome = store.write_objects(SERVER, &[write("a", nobody, 1, Expected::Any)], NOW).await;
    assert!(matches!(outcome, Err(StoreError::Invalid(_))), "{outcome:?}");
    store.write_objects(SERVER, &[write("a", UserId::SYSTEM, 1, Expected::Any)], NOW).await.unwrap();
}

pub(super) async fn lists_every_object_once_over_pages(fixture: &Fixture) {
    let (store, ann, bob) = (fixture.store(), fixture.sign_up("ann").await, fixture.sign_up("bob").await);
    let reads = [ReadPermission::None, ReadPermission::Owner, ReadPermission::Public];
    let objects: Vec<ObjectWrite> = (0..1_100)
        .map(|number| ObjectWrite {
            // Some keys are used by both owners. Digits, case and accents are included because collations differ in
            // their order.
            read: reads[number as usize % 3],
            ..write(
                &format!("{} é {}", number / 2 % 7, number / 2),
                [ann, bob][number as usize % 2],
                number,
                Expected::Any,
            )
        })
        .collect();
    store.write_objects(SERVER, &objects, NOW).await.unwrap();
    for (authority, owner, expect) in [
        (SERVER, None, 1_100),
        (SERVER, Some(ann), 550),
        (Authority::Client(ann), Some(ann), 366),
        (Authority::Client(ann), None, 366),
        (Authority::Client(ann), Some(bob), 183),
    ] {
        let mut query = ObjectQuery { collection: "saves".into(), owner, authority, limit: 37, after: None };
        let mut seen = Vec::new();
        loop {
            let (page, more) = store.list_objects(&query).await.unwrap();
            assert!(page.len() == 37 || !more, "a full page while more follow");
            query.after = page.last().map(|object| ObjectPosition {
                read: object.read,
                key: object.id.key.clone(),
                user_id: object.id.user_id,
            });
            seen.extend(page.into_iter().map(|object| (object.read, object.id)));
            if !more {
                break;
            }
        }
        assert!(seen.is_sorted_by_key(|(read, _)| *read));
        let count = seen.len();
        seen.sort();
        seen.dedup();
        assert_eq!((seen.len(), count), (expect, expect), "{authority:?} {owner:?}");
    }
}

pub(super) async fn deletes_as_permitted(fixture: &Fixture) {
    let (store, ann, bob) = (fixture.store(), fixture.sign_up("ann").await, fixture.sign_up("bob").await);
    let remove = async |authority, delete| store.delete_objects(authority, &[delete]).await;
    store.write_objects(SERVER, &[write("a", ann, 1, Expected::Any)], NOW).await.unwrap();
    assert_eq!(remove(Authority::Client(bob), delete("a", ann, String::new())).await, Err(REJECTED_PERMISSION));
    assert_eq!(remove(Authority::Client(ann), delete("a", ann, version(2))).await, Err(REJECTED_VERSION));
    assert_eq!(remove(Authority::Client(ann), delete("a", ann, version(1))).await, Ok(()));
    assert_eq!(remove(Authority::Client(ann), delete("a", ann, String::new())).await, Err(REJECTED_VERSION));
    assert_eq!(remove(SERVER, delete("a", ann, String::new())).await, Ok(()));
    assert_eq!(remove(SERVER, delete("a", ann, version(1))).await, Err(REJECTED_VERSION));
}

pub(super) async fn holds_a_million_characters(fixture: &Fixture) {
    let (store, ann) = (fixture.store(), fixture.sign_up("ann").await);
    let value = format!(r#"{{"text": "{}"}}"#, "x".repeat(1_000_000));
    let large = ObjectWrite { value: value.clone(), ..write("large", ann, 1, Expected::Any) };
    store.write_objects(Authority::Client(ann), std::slice::from_ref(&large), NOW).await.unwrap();
    assert_eq!(store.read_objects(Authority::Client(ann), &[id("large", ann)]).await.unwrap()[0].value, value);
    let mut wide = large;
    wide.id.key = "k".repeat(129);
    assert!(matches!(store.write_objects(SERVER, &[wide], NOW).await, Err(StoreError::Invalid(_))));
}
