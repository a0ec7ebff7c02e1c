//! Concurrent requests: a thing that must happen once happens once, and no request fails because of the others.

use futures_util::future::join_all;
use muster_domain::ports::accounts::{Identifier, Unlink};
use muster_domain::ports::storage::{Authority, Expected};
use muster_domain::ports::store::{Conflict, Rejection, StoreError};

use super::Fixture;
use super::fixture::{NOW, custom, device, new_account};
use super::storage::{version, write};

const RACERS: u32 = 32;

pub(super) async fn one_of_many_first_logins_creates(fixture: &Fixture) {
    for (identifier, same_name) in [(device("ann"), false), (custom("bob"), false), (device("eve"), true)] {
        let logins = join_all((0..RACERS).map(async |racer| {
            let name = if same_name { "eve".to_owned() } else { format!("{identifier:?} {racer}") };
            fixture.store().login(&identifier, Some(&new_account(&name))).await.unwrap().unwrap()
        }))
        .await;
        assert_eq!(logins.iter().filter(|login| login.created).count(), 1);
        assert!(logins.iter().all(|login| login.user_id == logins[0].user_id));
    }
    let users = fixture.rows().await.into_iter().filter(|(table, _)| table == "users").count();
    assert_eq!(users, 4, "three players and the system user");
}

pub(super) async fn one_of_many_versioned_writes_wins(fixture: &Fixture) {
    let (store, ann) = (fixture.store(), fixture.sign_up("ann").await);
    store.write_objects(Authority::Server, &[write("a", ann, 0, Expected::Any)], NOW).await.unwrap();
    let outcomes = join_all((1..=RACERS).map(async |racer| {
        let objects = [write("a", ann, racer, Expected::Version(version(0)))];
        store.write_objects(Authority::Client(ann), &objects, NOW).await
    }))
    .await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    let rejected = Err(StoreError::Rejected(Rejection::Version));
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == rejected).count() as u32, RACERS - 1, "{outcomes:?}");
}

pub(super) async fn one_of_many_new_objects_wins(fixture: &Fixture) {
    let (store, ann) = (fixture.store(), fixture.sign_up("ann").await);
    let outcomes = join_all((0..RACERS).map(async |racer| {
        store.write_objects(Authority::Client(ann), &[write("a", ann, racer, Expected::Absent)], NOW).await
    }))
    .await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1, "{outcomes:?}");
    let last_wins = join_all((0..RACERS).map(async |racer| {
        store.write_objects(Authority::Client(ann), &[write("b", ann, racer % 3, Expected::Any)], NOW).await
    }))
    .await;
    assert!(last_wins.iter().all(Result::is_ok), "{last_wins:?}");
}

pub(super) async fn the_last_identifier_survives_concurrent_unlinks(fixture: &Fixture) {
    let (store, ann) = (fixture.store(), fixture.sign_up("ann").await);
    store.link(ann, &custom("ann"), NOW).await.unwrap();
    store.link_email(ann, "ann@example.com", b"hash", NOW).await.unwrap();
    let mut identifiers = vec![
        Unlink::Custom("custom-of-ann".into()),
        Unlink::Email("ann@example.com".into()),
        Unlink::Device("device-of-ann".into()),
    ];
    for number in 0..8 {
        let extra = format!("extra device {number}");
        store.link(ann, &Identifier::Device(extra.clone()), NOW).await.unwrap();
        identifiers.push(Unlink::Device(extra));
    }
    let outcomes = join_all(identifiers.iter().map(|identifier| store.unlink(ann, identifier, NOW))).await;
    let refused = outcomes.iter().filter(|outcome| **outcome == Err(StoreError::Rejected(Rejection::LastIdentifier)));
    assert_eq!(refused.count(), 1, "{outcomes:?}");
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), identifiers.len() - 1, "{outcomes:?}");
}

pub(super) async fn batches_in_opposite_orders_all_succeed(fixture: &Fixture) {
    let (store, ann) = (fixture.store(), fixture.sign_up("ann").await);
    let outcomes = join_all((0..RACERS).map(async |racer| {
        let mut keys = ["a", "b", "c", "d"];
        if racer % 2 == 0 {
            keys.reverse();
        }
        let objects = keys.map(|key| write(key, ann, racer, Expected::Any));
        store.write_objects(Authority::Server, &objects, NOW).await
    }))
    .await;
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    let ids = ["a", "b", "c", "d"].map(|key| super::storage::id(key, ann));
    let found = store.read_objects(Authority::Server, &ids).await.unwrap();
    assert!(found.iter().all(|object| object.version == found[0].version), "one batch was last in all four");
}

pub(super) async fn one_of_many_takes_a_name(fixture: &Fixture) {
    let outcomes = join_all((0..RACERS).map(async |racer| {
        let account = new_account("wanted");
        fixture.store().login(&device(&format!("racer {racer}")), Some(&account)).await
    }))
    .await;
    assert_eq!(outcomes.iter().filter(|outcome| outcome.is_ok()).count(), 1);
    let taken = Err(StoreError::Conflict(Conflict::Username));
    assert_eq!(outcomes.iter().filter(|outcome| **outcome == taken).count() as u32, RACERS - 1, "{outcomes:?}");
    let rows = fixture.rows().await;
    assert_eq!(rows.iter().filter(|(table, _)| table == "user_device").count(), 1, "losers leave nothing");
}
