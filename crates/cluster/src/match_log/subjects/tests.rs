//! Tests of logs in messages, from random seeds: owners change, connections break, and answers are lost.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use super::*;
use crate::hub::{Faults, Hub, HubLogs, Member};

/// The records of one owner.
#[derive(Debug, Default)]
struct Owner {
    appended: u64,
    /// Number of the owner's records that are certainly kept.
    kept: u64,
}

/// A place, with an owner's log or none.
struct Place {
    member: Arc<Member>,
    logs: HubLogs,
    log: Rc<SubjectLog<crate::seal::SealedSubjects<crate::hub::HubSubjects>>>,
    epoch: u64,
}

impl Place {
    fn new(hub: &Hub) -> Self {
        let member = Arc::new(hub.join());
        let logs = member.match_logs(&crate::suite::ground::seal());
        Self { log: Rc::new(logs.handle()), member, logs, epoch: 0 }
    }
}

/// Lets milliseconds of the paused clock pass, with everything that happens in them.
async fn pass(duration_ms: u64) {
    let nothing = tokio::time::timeout(Duration::from_millis(duration_ms), std::future::pending::<()>()).await;
    nothing.expect_err("nothing happens");
}

fn partition() -> Partition {
    Partition::new(5).expect("a partition")
}

/// A record that names its owner's epoch and its number.
fn record(epoch: u64, number: u64, padding: usize) -> Vec<u8> {
    let mut record = [epoch.to_le_bytes(), number.to_le_bytes()].concat();
    record.resize(record.len() + padding, 9);
    record
}

/// Checks a log's content: it must hold the first records of each owner, at least up to the last one that was kept.
/// Only records before the floor may be missing.
fn check(records: &[Bytes], owners: &BTreeMap<u64, Owner>, floor: (u64, u64)) {
    let number = |record: &Bytes, at: usize| u64::from_le_bytes(record[at..at + 8].try_into().expect("eight"));
    let found: Vec<(u64, u64)> = records.iter().map(|record| (number(record, 0), number(record, 8))).collect();
    let mut next = found.iter().peekable();
    let mut has_begun = false;
    for (epoch, owner) in owners {
        let mut at = None;
        while let Some((_, number)) = next.next_if(|(of, _)| of == epoch) {
            let expect = at.unwrap_or(if has_begun { 0 } else { *number });
            assert!(*number == expect && *number < owner.appended, "{epoch}/{number} in {found:?}, {owners:?}");
            if !has_begun {
                assert!(*number == 0 || (*epoch, *number) <= floor, "{floor:?} is missing in {found:?}, {owners:?}");
            }
            has_begun = true;
            at = Some(number + 1);
        }
        let is_needed = owner.kept > 0 && (*epoch, owner.kept - 1) >= floor;
        assert!(!is_needed || at.is_some_and(|at| at >= owner.kept), "{epoch} in {found:?}, {owners:?}, {floor:?}");
    }
    assert!(next.peek().is_none(), "{next:?} is out of order in {found:?}");
}

async fn live(seed: u64) {
    let (hub, mut chance) = (Hub::new(seed), fastrand::Rng::with_seed(seed));
    hub.set_faults(Faults { loss: 0.0, delay_max: Duration::from_millis(chance.u64(0..100)) });
    let mut places: Vec<Place> = (0..3).map(|_| Place::new(&hub)).collect();
    let (mut owners, mut floor) = (BTreeMap::<u64, Owner>::new(), (0, 0));
    for epoch in 1..12_u64 {
        let next = chance.usize(..places.len());
        if chance.u8(..4) == 0 {
            places[next] = Place::new(&hub);
        }
        places[next].member.mend();
        let taken = places[next].log.take_over(partition(), Epoch(epoch)).await.expect("nobody is in the way");
        check(&taken, &owners, floor);
        places[next].epoch = epoch;
        owners.insert(epoch, Owner::default());
        let mut before = RecordNumber(0);
        for _ in 0..chance.usize(1..12) {
            // The true owner, or a former one that does not know yet that it lost the log.
            let is_owner = chance.u8(..3) > 0;
            let place = &places[if is_owner { next } else { chance.usize(..places.len()) }];
            match chance.u8(..8) {
                0 => place.member.cut(),
                1 => hub.lose_answers(chance.u32(0..3)),
                _ => {}
            }
            let Some(owner) = owners.get_mut(&place.epoch) else { continue };
            for _ in 0..chance.usize(1..5) {
                let padding = if chance.u8(..30) == 0 { 1_500_000 } else { chance.usize(..200) };
                if let Ok(number) = place.log.append(partition(), &record(place.epoch, owner.appended, padding)) {
                    assert_eq!(number.0, owner.appended);
                    owner.appended += 1;
                }
            }
            if place.epoch == epoch && owner.appended > 0 && chance.u8(..4) == 0 {
                before = before.max(RecordNumber(chance.u64(..=owner.appended)));
                place.log.trim(partition(), before);
                floor = floor.max((epoch, before.0));
            }
            let (wait, until) = (place.log.synced(partition(), Duration::ZERO), owner.appended);
            let mending = place.member.clone();
            match chance.u8(..3) {
                // A waiting caller gets its answer even if the connection breaks meanwhile.
                0 => {
                    let outcome = tokio::select! {
                        biased;
                        outcome = wait => outcome,
                        outcome = async {
                            pass(chance.u64(..300)).await;
                            mending.mend();
                            std::future::pending().await
                        } => outcome,
                    };
                    if outcome.is_ok() {
                        owner.kept = owner.kept.max(until);
                    }
                }
                1 => {
                    mending.mend();
                    if wait.await.is_ok() {
                        owner.kept = owner.kept.max(until);
                    }
                }
                _ => drop(wait),
            }
            if chance.u8(..5) == 0 {
                pass(1_000 * chance.u64(..20)).await;
            }
        }
    }
    let last = Place::new(&hub);
    check(&last.log.take_over(partition(), Epoch(99)).await.expect("taken over"), &owners, floor);
    assert!(places.iter().all(|place| place.logs.stats().gaps == 0));
}

#[test]
fn what_was_said_to_be_kept_outlives_its_owners() {
    for seed in 0..300 {
        println!("seed {seed}");
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime.enable_time().start_paused(true).build().expect("a runtime").block_on(live(seed));
    }
}

#[test]
fn an_operator_reads_a_log_and_has_a_match_forgotten_without_disturbing_the_owner() {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build().expect("a runtime");
    runtime.block_on(read_and_forget());
}

async fn read_and_forget() {
    let hub = Hub::new(1);
    let (owner, operator) = (Place::new(&hub), Place::new(&hub));
    owner.log.take_over(partition(), Epoch(1)).await.expect("taken over");
    owner.log.append(partition(), b"one").expect("room");
    owner.log.synced(partition(), Duration::ZERO).await.expect("kept");

    assert_eq!(operator.logs.partitions().await, Ok(BTreeSet::from([partition()])));
    assert_eq!(operator.logs.read(partition()).await, Ok(vec![Bytes::from_static(b"one")]));
    let id = MatchId(Uuid::from_u128(7));
    operator.logs.want_forgotten(id).await.expect("noted");
    operator.logs.want_forgotten(id).await.expect("noted again");
    assert_eq!(owner.log.unwanted().await, Ok(BTreeSet::from([id])));

    owner.log.append(partition(), b"two").expect("room");
    owner.log.synced(partition(), Duration::ZERO).await.expect("the log is still the owner's");
    owner.log.forgotten(id);
    pass(1_000).await;
    assert_eq!(owner.log.unwanted().await, Ok(BTreeSet::new()));
}
