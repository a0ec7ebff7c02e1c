//! Logs and databases that were restored, each to another moment, and what becomes of the match.

use muster_domain::ids::Uuid;
use muster_domain::ports::keyed_writes::END_TICK;
use muster_wire::match_log as wire;
use muster_wire::match_log::record::What as RecordKind;

use super::*;
use crate::durable::record::id_bytes;
use crate::durable::recorded_call::WRITES_PER_FUNCTION;

const ID: MatchId = MatchId(Uuid::from_u128(7));

/// The moment of a call.
fn moment(call: u64) -> i64 {
    1_000 + 10 * call as i64
}

/// The write of the function with this number in a call.
fn write(call: u64, function: u32) -> LatestWrite {
    let at = Timestamp(moment(call));
    LatestWrite { tick: call as i64, ordinal: function * WRITES_PER_FUNCTION, at }
}

fn end() -> LatestWrite {
    LatestWrite { tick: END_TICK, ordinal: 0, at: Timestamp(moment(100)) }
}

fn record(what: RecordKind) -> wire::Record {
    wire::Record { match_id: id_bytes(ID.0), what: Some(what) }
}

fn origin() -> Option<wire::Origin> {
    let handler = "table".to_owned();
    Some(wire::Origin { handler, seed: vec![1; 32].into(), created_at: moment(0), ..Default::default() })
}

fn begun() -> wire::Record {
    let latest_write = LoggedWrite::None.to_wire();
    record(RecordKind::Begun(wire::Begun { origin: origin(), latest_write, ..Default::default() }))
}

fn snapshot(calls: u64, latest_write: LoggedWrite) -> wire::Record {
    let latest_write = latest_write.to_wire();
    record(RecordKind::Snapshot(wire::Snapshot { origin: origin(), calls, latest_write, ..Default::default() }))
}

fn called(call: u64) -> wire::Record {
    let callback = Some(wire::called::Callback::Signal("go".to_owned()));
    record(RecordKind::Called(wire::Called { call, now: moment(call), callback, ..Default::default() }))
}

/// The answer to the function with this number in a call, which has paid if `paid`.
fn answered(call: u64, ordinal: u32, paid: bool) -> wire::Record {
    let latest_write = paid.then(|| LoggedWrite::Some(write(call, ordinal)).to_wire()).flatten();
    let answer = Some(wire::answered::Answer::Value(crate::value::Value::Nil.encode().into()));
    let function = "wallet_update".to_owned();
    record(RecordKind::Answered(wire::Answered { call, ordinal, function, latest_write, answer }))
}

fn ended(latest_write: LoggedWrite) -> wire::Record {
    let (why, latest_write) = ("its handler ended it".to_owned(), latest_write.to_wire());
    record(RecordKind::Ended(wire::Ended { why, latest_write }))
}

/// A match that reads in call 1, pays in its first callback, in call 2 and twice in call 4.
fn played() -> Vec<wire::Record> {
    vec![
        begun(),
        answered(0, 0, true),
        called(1),
        answered(1, 0, false),
        called(2),
        answered(2, 0, true),
        called(3),
        called(4),
        answered(4, 0, true),
        answered(4, 1, true),
        called(5),
    ]
}

fn told(fate: Option<&Fate>) -> String {
    let last = |history: &History| {
        let calls = history.calls.as_ref().unwrap();
        let latest = calls.calls.last().map_or("the start".to_owned(), |(called, answers)| {
            format!("call {} with {} answers", called.call, answers.len())
        });
        assert!(calls.in_database != LoggedWrite::Untold, "the match knows what the database has");
        latest
    };
    match fate {
        Some(Fate::GoesOn(history)) => format!("goes on from {}", last(history)),
        Some(Fate::GoesBack(history)) => {
            assert!(history.calls.as_ref().unwrap().is_set_back);
            format!("goes back to {}", last(history))
        }
        Some(Fate::NeverBegan) => "never began".to_owned(),
        Some(Fate::Stays(_, why)) => format!("stays: {why}"),
        None => "is not there".to_owned(),
    }
}

fn compared(records: &[wire::Record], latest: Option<LatestWrite>) -> Compared {
    let found: Vec<Bytes> = records.iter().map(|record| record.to_bytes().into()).collect();
    let database = latest.map(|latest| (ID, latest)).into_iter().collect();
    compare(&found, history::read(found.iter().cloned()), &database, Timestamp(0))
}

#[track_caller]
fn check(records: &[wire::Record], latest: Option<LatestWrite>, expect: &str) {
    let compared = compared(records, latest);
    let told = told(compared.fates.get(&ID));
    assert!(told.contains(expect), "{told}");
    assert!(compared.ended.is_empty() && compared.ended_later.is_empty());
}

#[test]
fn a_log_and_a_database_of_one_moment_go_on() {
    check(&played(), Some(write(4, 1)), "goes on from call 5 with 0 answers");
    let first = [begun()];
    check(&first, None, "goes on from the start");
    // The process ended between a payment and the record of its answer.
    check(&first, Some(write(0, 0)), "goes on from the start");
    check(&played()[..9], Some(write(4, 1)), "goes on from call 4 with 1 answers");
    check(&played()[..8], Some(write(4, 1)), "goes on from call 4 with 0 answers");
    check(&played(), Some(write(5, 0)), "goes on from call 5");
    // The answer to a payment was lost, and the match went on.
    let unanswered = [begun(), called(1), answered(1, 0, false), called(2)];
    check(&unanswered, Some(write(1, 0)), "goes on from call 2");
    let later = [snapshot(9, LoggedWrite::Some(write(4, 1))), called(10)];
    check(&later, Some(write(4, 1)), "goes on from call 10");
    check(&later, Some(write(8, 0)), "goes on from call 10");
}

#[test]
fn an_older_database_sets_matches_back_to_before_the_payments_that_it_lacks() {
    check(&played(), Some(write(4, 0)), "goes back to call 4 with 1 answers");
    check(&played(), Some(write(2, 0)), "goes back to call 3 with 0 answers");
    check(&played(), Some(write(0, 0)), "goes back to call 1 with 1 answers");
    check(&played(), None, "never began");
    let mut later = played();
    later.extend([snapshot(5, LoggedWrite::Some(write(4, 1))), called(6)]);
    check(&later, Some(write(4, 1)), "goes on from call 6");
    check(&later, Some(write(2, 0)), "goes back to call 3");
    // The records from before the snapshot were trimmed.
    check(&later[11..], Some(write(2, 0)), "stays: its log has payments that the database does not have");
    check(&later[11..], None, "stays: its log has payments");
    // A former owner has written all records once more.
    let carried = wire::Carried { records: later[..11].to_vec(), ..Default::default() };
    check(&[record(RecordKind::Carried(carried))], Some(write(2, 0)), "goes back to call 3");
}

#[test]
fn an_older_log_keeps_a_match_from_going_on() {
    check(
        &played()[..7],
        Some(write(4, 0)),
        "stays: the database has payments of the match that its log does not have",
    );
    check(&[snapshot(3, LoggedWrite::Some(write(2, 0)))], Some(write(4, 0)), "stays: the database has payments");
    check(&played(), Some(end()), "stays: the match has ended according to the database");
    // Both went on after one of them was restored.
    let other = LatestWrite { at: Timestamp(5), ..write(2, 0) };
    check(&played(), Some(other), "stays: the log of the match and the database have different payments");
    let same = LatestWrite { at: Timestamp(5), ..write(4, 1) };
    check(&[snapshot(5, LoggedWrite::Some(write(4, 1)))], Some(same), "stays: the log of the match and");
}

#[test]
fn logs_of_earlier_releases_go_on_and_learn_what_the_database_has() {
    let untold = [snapshot(3, LoggedWrite::Untold), called(4)];
    for latest in [None, Some(write(2, 0)), Some(write(4, 0))] {
        check(&untold, latest, "goes on from call 4");
    }
    check(&untold, Some(write(5, 0)), "stays: the database has payments");
}

#[test]
fn matches_that_have_ended_stay_so_unless_the_database_is_older() {
    let mut over = played();
    over.push(ended(LoggedWrite::Some(write(4, 1))));
    for (latest, is_open) in [(write(4, 1), true), (end(), false)] {
        let compared = compared(&over, Some(latest));
        assert_eq!((compared.fates.len(), compared.ended), (0, if is_open { vec![ID] } else { vec![] }));
        assert!(compared.ended_later.is_empty());
    }
    check(&over, Some(write(2, 0)), "goes back to call 3");
    let trimmed = compared(&over[10..], Some(write(2, 0)));
    assert_eq!((trimmed.fates.len(), trimmed.ended_later), (0, vec![ID]));
    // An operator has ended it, who did not know of its payments.
    over.pop();
    over.push(ended(LoggedWrite::Untold));
    assert_eq!(compared(&over, Some(write(2, 0))).ended, [ID]);
}

#[test]
fn a_match_whose_end_may_be_forgotten_is_not_set_back() {
    let found: Vec<Bytes> = played().iter().map(|record| record.to_bytes().into()).collect();
    let later = Timestamp(moment(50));
    let compared = compare(&found, history::read(found.iter().cloned()), &LatestWrites::new(), later);
    assert!(told(compared.fates.get(&ID)).contains("stays: its latest payment is so old"));
}

#[test]
fn a_backup_holds_matches_as_of_the_moment_of_its_database() {
    let mut records = played();
    records.extend([snapshot(5, LoggedWrite::Some(write(4, 1))), called(6), ended(LoggedWrite::Some(write(4, 1)))]);
    let found = || records.iter().map(|record| Bytes::from(record.to_bytes()));
    let at = |latest: Option<LatestWrite>| {
        let database: LatestWrites = latest.map(|latest| (ID, latest)).into_iter().collect();
        let backed_up = crate::durable::backup::as_of(found(), &database).unwrap();
        let contents = history::read(backed_up.records.iter().cloned());
        let calls = contents.histories.into_values().map(|history| history.calls.unwrap().calls.len());
        (backed_up.matches, calls.collect::<Vec<_>>(), contents.ended.len())
    };
    assert_eq!(at(None), (0, vec![], 0), "the match had not begun");
    assert_eq!(at(Some(write(2, 0))), (1, vec![3], 0));
    assert_eq!(at(Some(write(4, 1))), (0, vec![], 1), "the match had ended, which the database does not know yet");
    assert_eq!(at(Some(end())), (0, vec![], 0));
}
