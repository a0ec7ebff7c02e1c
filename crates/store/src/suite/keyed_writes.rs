//! Keyed writes happen once, however often they are requested, and always get the same answer.

use futures_util::future::{join, join_all, join3};
use muster_domain::UserId;
use muster_domain::ports::accounts::AccountUpdate;
use muster_domain::ports::job_epochs::JobEpoch;
use muster_domain::ports::keyed_writes::{END_TICK, LatestWrite, WriteKey, WriteStamp};
use muster_domain::ports::multi_update::MultiUpdate;
use muster_domain::ports::storage::{Authority, Expected};
use muster_domain::ports::store::{Conflict, Rejection, StoreError};
use muster_domain::time::Timestamp;
use muster_testenv::Postgres;
use uuid::Uuid;

use super::Fixture;
use super::fixture::{NOW, client, query, runtime, servers};
use super::storage::{version, write};
use super::wallet::{amounts, held, ledger, pay, wallets};
use crate::{PostgresOptions, PostgresStore, postgres};

const MATCH: Uuid = Uuid::from_u128(77);

fn stamp(tick: i64, ordinal: u32) -> WriteStamp {
    WriteStamp { now: NOW, key: Some(WriteKey { match_id: MATCH, tick, ordinal, after: None }) }
}

/// The stamp of the same call when it is replayed later.
fn again(first: WriteStamp) -> WriteStamp {
    WriteStamp { now: NOW.plus_seconds(60), ..first }
}

fn grant(user_id: UserId, number: u32) -> MultiUpdate {
    let writes = vec![write("a", user_id, number, Expected::Any)];
    MultiUpdate { writes, wallets: vec![pay(user_id, "gold", 5, u128::from(number))], ..MultiUpdate::default() }
}

pub(super) async fn happen_once_however_often_they_are_asked_for(fixture: &Fixture) {
    let (store, ann) = (fixture.store(), fixture.sign_up("ann").await);
    let first = store.multi_update(&grant(ann, 1), stamp(1, 0)).await.unwrap();
    let others = [(stamp(1, 1), 2), (stamp(2, 0), 3)];
    for (stamp, number) in others {
        store.multi_update(&grant(ann, number), stamp).await.unwrap();
    }
    let repeated = store.multi_update(&grant(ann, 1), again(stamp(1, 0))).await.unwrap();
    assert_eq!(repeated, first);
    assert_eq!(repeated.wallets[0].as_ref().unwrap().updated, amounts(&[("gold", 5)]), "as it was then");
    assert_eq!((repeated.acks[0].version.clone(), repeated.acks[0].update_time), (version(1), NOW));
    assert_eq!(held(fixture, ann).await, amounts(&[("gold", 15)]));
    assert_eq!(ledger(fixture, ann).await.len(), 3);
    let found = store.read_objects(Authority::Server, &[super::storage::id("a", ann)]).await.unwrap();
    assert_eq!(found[0].version, version(3), "not written again");
    // Without a key an equal request is another write.
    store.multi_update(&wallets(vec![pay(ann, "gold", 5, 0)]), WriteStamp::at(NOW)).await.unwrap();
    assert_eq!(held(fixture, ann).await, amounts(&[("gold", 20)]));
    // A player who was unknown at the first call is unknown in the answer to the second.
    let stranger = wallets(vec![pay(UserId(Uuid::from_u128(404)), "gold", 5, 9)]);
    for stamp in [stamp(3, 0), again(stamp(3, 0))] {
        assert_eq!(store.multi_update(&stranger, stamp).await.unwrap().wallets, [None]);
    }
}

pub(super) async fn keep_refusals_too(fixture: &Fixture) {
    let (store, ann) = (fixture.store(), fixture.sign_up("ann").await);
    fixture.sign_up("bob").await;
    let username = Some("bob".to_owned());
    let renamed = (ann, AccountUpdate { username, ..AccountUpdate::default() });
    let object = |expected| MultiUpdate { writes: vec![write("a", ann, 1, expected)], ..grant(ann, 0) };
    let refused = [
        MultiUpdate { accounts: vec![renamed], ..grant(ann, 1) },
        object(Expected::Version(version(9))),
        MultiUpdate { wallets: vec![pay(ann, "gold", 5, 2), pay(ann, "gold", -6, 3)], ..grant(ann, 1) },
        object(Expected::Any),
    ];
    let mut outcomes = Vec::new();
    for (tick, update) in (0..).zip(&refused[..3]) {
        outcomes.push(store.multi_update(update, stamp(tick, 0)).await);
    }
    assert_eq!(outcomes[0], Err(StoreError::Conflict(Conflict::Username)));
    assert_eq!(outcomes[1], Err(StoreError::Rejected(Rejection::Version)));
    assert!(matches!(&outcomes[2], Err(StoreError::Balance(unfit)) if (unfit.user_id, unfit.current) == (ann, 5)));
    assert_eq!((held(fixture, ann).await, ledger(fixture, ann).await), (amounts(&[]), vec![]), "undone");
    // By now each of these writes would be allowed, and still the refusal is answered.
    fixture.execute("UPDATE users SET username = 'zoe' WHERE username = 'bob'").await;
    store.multi_update(&wallets(vec![pay(ann, "gold", 100, 0)]), WriteStamp::at(NOW)).await.unwrap();
    for (tick, update) in (0..).zip(&refused[..3]) {
        assert_eq!(store.multi_update(update, again(stamp(tick, 0))).await, outcomes[tick as usize]);
    }
    assert_eq!(held(fixture, ann).await, amounts(&[("gold", 100)]));
}

pub(super) async fn know_another_request_under_their_key(fixture: &Fixture) {
    let (store, ann) = (fixture.store(), fixture.sign_up("ann").await);
    store.multi_update(&grant(ann, 1), stamp(1, 0)).await.unwrap();
    let other = wallets(vec![pay(ann, "gold", 6, 0)]);
    assert_eq!(store.multi_update(&other, stamp(1, 0)).await, Err(StoreError::Diverged));
    assert_eq!(held(fixture, ann).await, amounts(&[("gold", 5)]));
    assert!(store.multi_update(&other, stamp(1, 1)).await.is_ok(), "the database goes on");
}

/// Two writes, of which one is refused, are requested 32 times each at the same time.
pub(super) async fn happen_once_of_many_at_the_same_time(fixture: &Fixture) {
    let (store, ann) = (fixture.store(), fixture.sign_up("ann").await);
    let (granted, refused) = (grant(ann, 1), wallets(vec![pay(ann, "gems", -1, 0)]));
    let grants = join_all((0..32).map(|_| store.multi_update(&granted, stamp(1, 0))));
    let refusals = join_all((0..32).map(|_| store.multi_update(&refused, stamp(1, 1))));
    let (grants, refusals) = join(grants, refusals).await;
    assert!(grants[0].is_ok() && grants.iter().all(|each| *each == grants[0]), "{grants:?}");
    assert!(matches!(refusals[0], Err(StoreError::Balance(_))), "{refusals:?}");
    assert!(refusals.iter().all(|each| *each == refusals[0]), "{refusals:?}");
    assert_eq!(held(fixture, ann).await, amounts(&[("gold", 5)]));
    assert_eq!(ledger(fixture, ann).await.len(), 1);
}

pub(super) async fn are_forgotten_when_no_longer_needed(fixture: &Fixture) {
    let (store, ann) = (fixture.store(), fixture.sign_up("ann").await);
    let pay = |number: u32| wallets(vec![pay(ann, "gold", 1, u128::from(number))]);
    for tick in 0..6 {
        store.multi_update(&pay(1 + tick as u32), stamp(tick, 0)).await.unwrap();
    }
    let other = WriteKey { match_id: Uuid::from_u128(78), tick: 0, ordinal: 0, after: None };
    let late = WriteStamp { now: NOW.plus_seconds(60), key: Some(other) };
    store.multi_update(&pay(7), late).await.unwrap();
    assert_eq!(store.forget_keyed_writes(MATCH, 3).await, Ok(4));
    assert_eq!(store.forget_keyed_writes(MATCH, 3).await, Ok(0));
    store.multi_update(&pay(5), again(stamp(4, 0))).await.unwrap();
    assert_eq!(held(fixture, ann).await, amounts(&[("gold", 7)]), "later ticks are known");
    let prune = async |before: Timestamp, epoch| {
        store.prune_keyed_writes(before, Some(JobEpoch { job: "prune_effects", epoch })).await
    };
    assert_eq!(prune(NOW, 5).await, Ok(0));
    assert_eq!(prune(NOW.plus_seconds(1), 4).await, Err(StoreError::Rejected(Rejection::Superseded)));
    assert_eq!(prune(NOW.plus_seconds(1), 5).await, Ok(1), "the latest of each match stays");
    store.multi_update(&pay(7), late).await.unwrap();
    assert_eq!(held(fixture, ann).await, amounts(&[("gold", 7)]), "the later one is known");
    assert_eq!(store.prune_keyed_writes(NOW.plus_seconds(61), None).await, Ok(0));
    assert_eq!(store.forget_keyed_writes(MATCH, 9).await, Ok(0));
    let latest = LatestWrite { tick: 5, ordinal: 0, at: NOW };
    let of_other = LatestWrite { tick: 0, ordinal: 0, at: late.now };
    let [strange, unknown] = [Uuid::from_u128(78), Uuid::from_u128(79)];
    let asked = Some(vec![unknown, MATCH]);
    assert_eq!(store.latest_keyed_writes(asked.clone()).await, Ok(vec![(MATCH, latest)]));
    let mut all = store.latest_keyed_writes(None).await.unwrap();
    all.sort_by_key(|(id, _)| *id);
    assert_eq!(all, [(MATCH, latest), (strange, of_other)]);
    // Of a match that has ended, the end is kept for as long.
    let ended_at = NOW.plus_seconds(90);
    for (id, at) in [(MATCH, ended_at), (MATCH, NOW.plus_seconds(99)), (unknown, ended_at)] {
        store.end_keyed_writes(id, at).await.unwrap();
    }
    let end = LatestWrite { tick: END_TICK, ordinal: 0, at: ended_at };
    assert!(end.is_end() && !latest.is_end());
    assert_eq!(store.latest_keyed_writes(asked.clone()).await, Ok(vec![(MATCH, end)]));
    assert_eq!(store.prune_keyed_writes(NOW.plus_seconds(90), None).await, Ok(0));
    assert_eq!(store.prune_keyed_writes(NOW.plus_seconds(91), None).await, Ok(1));
    assert_eq!(store.latest_keyed_writes(asked).await, Ok(Vec::new()));
}

pub(super) async fn are_refused_when_an_earlier_one_is_missing(fixture: &Fixture) {
    let (store, ann) = (fixture.store(), fixture.sign_up("ann").await);
    let after = |tick: i64, ordinal, after| {
        let key = WriteKey { match_id: MATCH, tick, ordinal, after };
        WriteStamp { now: NOW, key: Some(key) }
    };
    store.multi_update(&grant(ann, 1), after(1, 0, None)).await.unwrap();
    store.multi_update(&grant(ann, 2), after(1, 64, Some((1, 0)))).await.unwrap();
    store.multi_update(&grant(ann, 3), after(3, 0, Some((1, 64)))).await.unwrap();
    let (lost, next) = (after(7, 0, Some((6, 0))), after(7, 0, Some((3, 0))));
    assert_eq!(store.multi_update(&grant(ann, 4), lost).await, Err(StoreError::Restored));
    assert_eq!(held(fixture, ann).await, amounts(&[("gold", 15)]));
    // The match does not know of its latest write, whose answer was lost.
    store.multi_update(&grant(ann, 4), after(7, 0, Some((2, 0)))).await.unwrap();
    assert_eq!(store.forget_keyed_writes(MATCH, 7).await, Ok(3));
    assert!(store.multi_update(&grant(ann, 4), next).await.is_ok(), "a write that is known is answered");
    assert_eq!(held(fixture, ann).await, amounts(&[("gold", 20)]));
    store.multi_update(&grant(ann, 5), after(8, 0, Some((5, 0)))).await.unwrap();
}

/// A former owner of the match has begun a write, and its transaction is still open when the new owner requests the
/// same write. The new owner's request waits. Once the open transaction has ended, by its own end or by its
/// connection's, the write has happened once. SQLite never has two open transactions, so this test is for PostgreSQL
/// only.
#[test]
fn a_key_that_an_open_transaction_has_is_waited_for() {
    const WAITING: &str = "SELECT count(*) FROM pg_stat_activity \
        WHERE datname = current_database() AND wait_event_type = 'Lock'";
    let database = Postgres::shared().unwrap().create_database().unwrap();
    runtime().block_on(async {
        postgres::migrate(&servers(database.url())).await.unwrap();
        let options = PostgresOptions { connections_max: 4, ..PostgresOptions::default() };
        let store = PostgresStore::open(&servers(database.url()), &options, Default::default()).await.unwrap();
        let (holder, watcher) = (client(database.url()).await, client(database.url()).await);
        let fixture = Fixture::on(store, client(database.url()).await, None);
        let ann = fixture.sign_up("ann").await;
        let process = query(&holder, "SELECT pg_backend_pid()").await.join("");
        for (tick, killed) in (0..).zip([false, true, false]) {
            // One of the two calls has taken the key and waits for the player's row. The other waits for the key.
            holder.batch_execute("BEGIN; SELECT 1 FROM users WHERE username = 'ann' FOR UPDATE").await.unwrap();
            let granted = grant(ann, 1 + tick as u32);
            let call = || fixture.store().multi_update(&granted, stamp(tick, 0));
            let release = async {
                while query(&watcher, WAITING).await.join("") != "2" {}
                if killed {
                    let sql = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity \
                               WHERE datname = current_database() AND wait_event_type = 'Lock'";
                    // Only the call that has the key is ended. The other call takes the key next and then waits for the
                    // player's row too, so `LIMIT 1` keeps it alive.
                    query(&watcher, &format!("{sql} AND {process} = ANY(pg_blocking_pids(pid)) LIMIT 1")).await;
                }
                holder.batch_execute("ROLLBACK").await.unwrap();
            };
            let (one, other, ()) = join3(call(), call(), release).await;
            let done: Vec<_> = [one, other].into_iter().filter_map(Result::ok).collect();
            assert_eq!(done.len(), if killed { 1 } else { 2 });
            assert_eq!(done.first(), done.last());
            assert_eq!(call().await.as_ref(), Ok(&done[0]));
            assert_eq!(held(&fixture, ann).await, amounts(&[("gold", 5 * (tick + 1))]));
        }
    });
}
