//! Tests that every match log passes, and tests of a cluster's logs when lines break and servers are killed.

use std::any::Any;
use std::rc::Rc;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use muster_domain::ids::Uuid;
use muster_live::matches::{LogError, LogFuture, MatchId, MatchLog, RECORD_BYTES_MAX, RecordNumber};
use muster_live::place::{Epoch, Partition};
use muster_testenv::{Nats as Server, NatsSettings};

use super::ground::{
    FilesGround, Ground, HubGround, Joined, Line, NatsGround, NoLine, block_on, seal, until_up, within,
};
use crate::match_log::subjects::{SubjectLogs, SubjectStats, Subjects};
use crate::nats::{Nats, NatsOptions};
use crate::seal::{Seal, SealUse};

/// A ground for match logs.
pub(crate) trait LogGround {
    /// Access to the logs for another place.
    async fn place(&self) -> Place {
        self.place_with(&seal()).await
    }

    /// The same with a key of its own.
    async fn place_with(&self, seal: &Seal) -> Place;
}

/// A place, and its connection to the logs.
pub(crate) struct Place {
    log: Rc<dyn MatchLog>,
    line: Box<dyn Line>,
    /// Notes that an operator wants a match forgotten.
    forget: Box<dyn Fn(MatchId) -> LogFuture<()>>,
    /// Counters of logs in messages.
    stats: Box<dyn Fn() -> SubjectStats>,
    /// The node is kept because its line ends with it.
    _node: Box<dyn Any>,
}

impl LogGround for FilesGround {
    async fn place_with(&self, _: &Seal) -> Place {
        let (log, stats) = (Rc::new(self.0.handle()), Box::new(SubjectStats::default));
        let forget = Box::new(|_| -> LogFuture<()> { Box::pin(async { Ok(()) }) });
        Place { log, line: Box::new(NoLine), forget, stats, _node: Box::new(()) }
    }
}

impl LogGround for HubGround {
    async fn place_with(&self, seal: &Seal) -> Place {
        let Joined { node, line } = self.join().await;
        Place::of(node.inner().match_logs(seal), line, Box::new(node))
    }
}

impl LogGround for NatsGround {
    async fn place_with(&self, seal: &Seal) -> Place {
        let (line, options) = self.line();
        let node = Nats::connect(&options).await.expect("a connection");
        let logs = node.match_logs(&options, seal).await.expect("a stream");
        Place::of(logs, Box::new(line), Box::new(node))
    }
}

fn partition(number: u16) -> Partition {
    Partition::new(number).expect("a partition")
}

impl Place {
    fn of<S: Subjects>(logs: SubjectLogs<S>, line: Box<dyn Line>, node: Box<dyn Any>) -> Self {
        let log = Rc::new(logs.handle());
        let operator = logs.clone();
        let forget = Box::new(move |id| -> LogFuture<()> {
            let operator = operator.clone();
            Box::pin(async move { operator.want_forgotten(id).await })
        });
        Self { log, line, forget, stats: Box::new(move || logs.stats()), _node: node }
    }

    async fn take(&self, number: u16, epoch: u64) -> Result<Vec<Bytes>, LogError> {
        within("a take-over", self.log.take_over(partition(number), Epoch(epoch))).await
    }

    fn append(&self, number: u16, record: &[u8]) -> Result<RecordNumber, LogError> {
        self.log.append(partition(number), record)
    }

    async fn synced(&self, number: u16) -> Result<(), LogError> {
        within("a sync", self.log.synced(partition(number), Duration::ZERO)).await
    }

    /// Appends a record, and waits until it is kept.
    async fn keep(&self, number: u16, record: &[u8]) {
        self.append(number, record).expect("room");
        self.synced(number).await.expect("kept");
    }
}

pub(crate) async fn whoever_takes_over_finds_the_records(ground: impl LogGround) {
    let (owner, successor) = (ground.place().await, ground.place().await);
    assert_eq!(owner.take(7, 1).await, Ok(vec![]));
    assert_eq!(owner.take(8, 1).await, Ok(vec![]));
    assert_eq!(owner.append(7, b"one"), Ok(RecordNumber(0)));
    assert_eq!(owner.append(7, b""), Ok(RecordNumber(1)));
    owner.keep(8, b"other").await;
    assert_eq!(owner.append(7, b"three"), Ok(RecordNumber(2)));
    owner.synced(7).await.expect("kept");
    owner.synced(7).await.expect("nothing waits");
    assert_eq!(successor.take(7, 2).await, Ok(vec!["one".into(), "".into(), "three".into()]));
    assert_eq!(successor.append(7, b"four"), Ok(RecordNumber(0)));
    successor.synced(7).await.expect("kept");
    let third = ground.place().await;
    assert_eq!(third.take(7, 3).await, Ok(vec!["one".into(), "".into(), "three".into(), "four".into()]));
    assert_eq!(third.take(8, 2).await, Ok(vec!["other".into()]));
    assert_eq!(third.take(9, 2).await, Ok(vec![]));
}

pub(crate) async fn what_a_stranger_writes_is_no_record(ground: impl LogGround) {
    let owner = ground.place().await;
    owner.take(7, 1).await.expect("taken over");
    owner.keep(7, b"one").await;
    owner.keep(7, b"two").await;
    for seal in [Seal::new(&[8; 32], SealUse::Require), Seal::new(&[9; 32], SealUse::Off)] {
        let stranger = ground.place_with(&seal).await;
        stranger.take(7, 9).await.expect("nothing hinders it");
        stranger.keep(7, b"forged").await;
        let id = MatchId(Uuid::from_u128(7));
        within("a note", (stranger.forget)(id)).await.expect("noted");
    }
    let successor = ground.place().await;
    assert_eq!(successor.take(7, 2).await, Ok(vec!["one".into(), "two".into()]));
    assert_eq!(within("the notes", successor.log.unwanted()).await, Ok([].into()));
    successor.keep(7, b"three").await;
    assert_eq!(ground.place().await.take(7, 3).await, Ok(vec!["one".into(), "two".into(), "three".into()]));
}

pub(crate) async fn those_nobody_wrote_to_are_known(ground: impl LogGround) {
    let place = ground.place().await;
    let known = async || within("an answer", place.log.partitions()).await.expect("known");
    assert!(known().await.is_empty());
    for number in [3, 700] {
        place.take(number, 1).await.expect("taken");
        place.keep(number, b"record").await;
    }
    assert_eq!(known().await, [3, 700].map(partition).into());
}

pub(crate) async fn a_former_owner_is_shut_out(ground: impl LogGround) {
    let (former, owner) = (ground.place().await, ground.place().await);
    assert_eq!(former.append(3, b"early"), Err(LogError::Lost), "not taken over");
    assert_eq!(former.synced(3).await, Err(LogError::Lost));
    former.take(3, 1).await.expect("taken over");
    former.keep(3, b"one").await;
    owner.take(3, 2).await.expect("taken over");
    // The former owner may not know yet that it lost the log, but no record that it appends now is kept.
    if former.append(3, b"late").is_ok() {
        assert_eq!(former.synced(3).await, Err(LogError::Lost));
    }
    assert_eq!(former.append(3, b"later"), Err(LogError::Lost));
    assert_eq!(former.synced(3).await, Err(LogError::Lost));
    former.log.trim(partition(3), RecordNumber(1));
    owner.keep(3, b"two").await;
    let third = ground.place().await;
    assert_eq!(third.take(3, 3).await, Ok(vec!["one".into(), "two".into()]));
}

pub(crate) async fn only_a_later_epoch_takes_a_log_over(ground: impl LogGround) {
    let (owner, other) = (ground.place().await, ground.place().await);
    owner.take(3, 5).await.expect("taken over");
    owner.keep(3, b"one").await;
    assert_eq!(other.take(3, 4).await, Err(LogError::Lost));
    assert_eq!(other.take(3, 5).await, Err(LogError::Lost));
    owner.keep(3, b"two").await;
    assert_eq!(owner.take(3, 5).await, Ok(vec!["one".into(), "two".into()]), "by itself, again");
    assert_eq!(owner.append(3, b"three"), Ok(RecordNumber(0)));
    owner.synced(3).await.expect("kept");
    assert_eq!(other.take(3, 6).await, Ok(vec!["one".into(), "two".into(), "three".into()]));
    let anchored = Partition::anchored(muster_live::place::Place::new(1, 1));
    let refused = within("a refusal", other.log.take_over(anchored, Epoch(9))).await;
    assert!(matches!(refused, Err(LogError::Failed(_))), "{refused:?}");
}

pub(crate) async fn what_is_not_needed_goes(ground: impl LogGround) {
    let (former, owner) = (ground.place().await, ground.place().await);
    former.take(3, 1).await.expect("taken over");
    for record in 0..4_u8 {
        former.keep(3, &[record]).await;
    }
    assert_eq!(owner.take(3, 2).await.expect("taken over").len(), 4);
    owner.keep(3, b"snapshot").await;
    owner.log.trim(partition(3), RecordNumber(0));
    // The trim is written with the next record.
    owner.keep(3, b"next").await;
    let third = ground.place().await;
    assert_eq!(third.take(3, 3).await, Ok(vec!["snapshot".into(), "next".into()]));
    third.keep(3, b"more").await;
    third.log.trim(partition(3), RecordNumber(u64::MAX));
    third.keep(3, b"last").await;
    third.keep(3, b"very last").await;
    let fourth = ground.place().await;
    assert_eq!(fourth.take(3, 4).await, Ok(vec!["last".into(), "very last".into()]));
    assert_eq!(fourth.append(3, b"next"), Ok(RecordNumber(0)));
}

pub(crate) async fn records_have_a_largest_size(ground: impl LogGround) {
    let (owner, successor) = (ground.place().await, ground.place().await);
    owner.take(3, 1).await.expect("taken over");
    let refused = owner.append(3, &vec![1; RECORD_BYTES_MAX + 1]);
    assert!(matches!(refused, Err(LogError::Refused(_))), "{refused:?}");
    let records: Vec<Bytes> = [10, RECORD_BYTES_MAX, 20, 3_000_000].map(|bytes| vec![bytes as u8; bytes].into()).into();
    for record in &records {
        owner.append(3, record).expect("room");
    }
    owner.synced(3).await.expect("kept");
    assert_eq!(successor.take(3, 2).await.expect("taken over"), records);
}

pub(crate) async fn many_wait_at_once(ground: impl LogGround) {
    let (owner, successor) = (ground.place().await, ground.place().await);
    for number in 0..20 {
        owner.take(number, 1).await.expect("taken over");
    }
    for round in 0..10_u8 {
        let waits = (0..20).flat_map(|number| (0..5).map(move |_| number));
        let waits = waits.map(|number| {
            owner.append(number, &[round]).expect("room");
            owner.log.synced(partition(number), Duration::ZERO)
        });
        let outcomes = within("all syncs", join_all(waits.collect::<Vec<_>>())).await;
        assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    }
    let expect: Vec<Bytes> = (0..50_u8).map(|at| vec![at / 5].into()).collect();
    for number in 0..20 {
        assert_eq!(successor.take(number, 2).await.expect("taken over"), expect);
    }
}

pub(crate) async fn thousands_of_records_are_read(ground: impl LogGround) {
    let (owner, successor) = (ground.place().await, ground.place().await);
    owner.take(3, 1).await.expect("taken over");
    let records: Vec<Bytes> = (0..3_000_u32).map(|number| number.to_le_bytes().repeat(50).into()).collect();
    for some in records.chunks(3) {
        for record in some {
            owner.append(3, record).expect("room");
        }
        owner.synced(3).await.expect("kept");
    }
    assert!(successor.take(3, 2).await.expect("taken over") == records);
}

pub(crate) async fn what_is_released_is_anothers(ground: impl LogGround) {
    let (former, owner) = (ground.place().await, ground.place().await);
    former.take(3, 1).await.expect("taken over");
    former.keep(3, b"one").await;
    former.log.release(partition(3));
    assert_eq!(former.append(3, b"late"), Err(LogError::Lost));
    assert_eq!(former.synced(3).await, Err(LogError::Lost));
    assert_eq!(owner.take(3, 2).await, Ok(vec!["one".into()]));
}

pub(crate) async fn a_lost_answer_doubles_nothing(ground: impl LogGround) {
    let (owner, successor) = (ground.place().await, ground.place().await);
    owner.take(3, 1).await.expect("taken over");
    owner.keep(3, b"one").await;
    owner.line.lose_answer();
    owner.keep(3, b"two").await;
    owner.keep(3, b"three").await;
    assert!((owner.stats)().retries > 0, "an answer was lost");
    successor.line.lose_answer();
    assert_eq!(successor.take(3, 2).await, Ok(vec!["one".into(), "two".into(), "three".into()]));
    successor.keep(3, b"four").await;
    assert_eq!((successor.stats)().gaps, 0);
}

pub(crate) async fn what_waits_is_kept_when_the_connection_is_back(ground: impl LogGround) {
    let (owner, successor) = (ground.place().await, ground.place().await);
    owner.take(3, 1).await.expect("taken over");
    owner.keep(3, b"one").await;
    owner.line.cut();
    owner.append(3, b"two").expect("room");
    let wait = owner.log.synced(partition(3), Duration::ZERO);
    owner.append(3, b"three").expect("room");
    owner.line.mend();
    within("the first", wait).await.expect("kept");
    owner.synced(3).await.expect("kept");
    assert_eq!(successor.take(3, 2).await, Ok(vec!["one".into(), "two".into(), "three".into()]));
}

pub(crate) async fn an_owner_cut_off_finds_its_log_lost(ground: impl LogGround) {
    let (former, owner) = (ground.place().await, ground.place().await);
    former.take(3, 1).await.expect("taken over");
    former.keep(3, b"one").await;
    former.line.cut();
    former.append(3, b"never").expect("room");
    let wait = former.log.synced(partition(3), Duration::ZERO);
    assert_eq!(owner.take(3, 2).await, Ok(vec!["one".into()]));
    owner.keep(3, b"two").await;
    former.line.mend();
    assert_eq!(within("the truth", wait).await, Err(LogError::Lost));
    assert_eq!((former.append(3, b"late"), (former.stats)().lost), (Err(LogError::Lost), 1));
    owner.keep(3, b"three").await;
    let third = ground.place().await;
    assert_eq!(third.take(3, 3).await, Ok(vec!["one".into(), "two".into(), "three".into()]));
}

#[test]
fn who_is_cut_off_for_long_is_told_and_takes_it_over_again() {
    super::ground::in_process(async |ground: HubGround| {
        let owner = ground.place().await;
        owner.take(3, 1).await.expect("taken over");
        owner.keep(3, b"one").await;
        owner.line.cut();
        owner.append(3, b"two").expect("room");
        let told = owner.synced(3).await.expect_err("nobody answers");
        assert!(matches!(&told, LogError::Failed(reason) if reason.contains("cut off")), "{told}");
        assert_eq!(owner.append(3, b"three"), Err(told), "until it is taken over again");
        assert!(matches!(owner.take(3, 1).await, Err(LogError::Failed(_))));
        assert_eq!(((owner.stats)().failures, (owner.stats)().waiting_bytes), (2, 0));
        owner.line.mend();
        assert_eq!(owner.take(3, 1).await, Ok(vec!["one".into()]));
        owner.keep(3, b"again").await;
        assert_eq!(owner.take(3, 1).await, Ok(vec!["one".into(), "again".into()]));
    });
}

async fn pass_a_second() {
    let nothing = tokio::time::timeout(Duration::from_secs(1), std::future::pending::<()>()).await;
    nothing.expect_err("nothing happens");
}

#[test]
fn what_is_not_needed_is_purged_in_time() {
    super::ground::in_process(async |ground: HubGround| {
        let (owner, successor) = (ground.place().await, ground.place().await);
        owner.take(3, 1).await.expect("taken over");
        for _ in 0..10 {
            owner.keep(3, &[7; 20_000]).await;
        }
        owner.log.trim(partition(3), RecordNumber(9));
        // Nothing is appended any more, so only time triggers the purge. The paused clock goes on while everybody
        // waits.
        while (owner.stats)().purges == 0 {
            pass_a_second().await;
        }
        assert_eq!((owner.stats)().publishes, 11, "one told what is not needed");
        assert_eq!(successor.take(3, 2).await.expect("taken over").len(), 1);
        assert_eq!((successor.stats)().gaps, 0);
        successor.log.trim(partition(3), RecordNumber(0));
        while (successor.stats)().purges == 0 {
            pass_a_second().await;
        }
        let third = ground.place().await;
        assert_eq!(third.take(3, 3).await, Ok(vec![]));
        third.keep(3, b"new").await;
        assert_eq!(successor.take(3, 4).await, Ok(vec!["new".into()]));
        assert_eq!((successor.stats)().gaps, 0);
    });
}

#[test]
fn a_killed_server_keeps_what_it_acknowledged() {
    let server = Server::start(NatsSettings::default()).expect("a server");
    block_on(async {
        let options = NatsOptions { urls: vec![server.url().to_owned()], ..NatsOptions::default() };
        let node = within("a connection", Nats::connect(&options)).await.expect("a connection");
        let logs = node.match_logs(&options, &seal()).await.expect("a stream");
        let log = logs.handle();
        within("a take-over", log.take_over(partition(3), Epoch(1))).await.expect("taken over");
        let mut kept = 0_u32;
        for round in 0..3 {
            for _ in 0..50 {
                log.append(partition(3), &kept.to_le_bytes()).expect("room");
                kept += 1;
                within("a sync", log.synced(partition(3), Duration::ZERO)).await.expect("kept");
            }
            log.append(partition(3), &kept.to_le_bytes()).expect("room");
            kept += 1;
            let wait = log.synced(partition(3), Duration::ZERO);
            if round % 2 == 0 {
                server.kill().expect("killed");
                server.start_again().expect("started");
            } else {
                server.pause().expect("halted");
                until_up(&node, false).await;
                server.resume().expect("resumed");
            }
            // Whether or not the record was written before, it is there exactly once.
            within("a sync", wait).await.expect("kept");
        }
        let other = node.match_logs(&options, &seal()).await.expect("a stream").handle();
        let records = within("a take-over", other.take_over(partition(3), Epoch(2))).await.expect("taken over");
        assert!(records.iter().map(|record| u32::from_le_bytes(record[..].try_into().expect("four"))).eq(0..kept));
    });
}

#[test]
fn unwanted_matches_are_noted_in_nats_beside_the_logs() {
    let server = Server::start(NatsSettings::default()).expect("a server");
    block_on(async {
        let options = NatsOptions { urls: vec![server.url().to_owned()], ..NatsOptions::default() };
        let node = within("a connection", Nats::connect(&options)).await.expect("a connection");
        let logs = node.match_logs(&options, &seal()).await.expect("a stream");
        let log = logs.handle();
        within("a take-over", log.take_over(partition(3), Epoch(1))).await.expect("taken over");
        for record in [b"one", b"two"] {
            log.append(partition(3), record).expect("room");
            within("a sync", log.synced(partition(3), Duration::ZERO)).await.expect("kept");
        }
        let (kept, gone) = (MatchId(Uuid::from_u128(7)), MatchId(Uuid::from_u128(8)));
        let operator = within("another connection", Nats::connect(&options)).await.expect("a connection");
        let operator = operator.match_logs(&options, &seal()).await.expect("the same stream");
        let found: Vec<Bytes> = vec!["one".into(), "two".into()];
        assert_eq!(within("a read", operator.read(partition(3))).await, Ok(found));
        for id in [kept, gone] {
            within("a note", operator.want_forgotten(id)).await.expect("noted");
        }
        assert_eq!(within("the notes", log.unwanted()).await, Ok([kept, gone].into()));
        assert_eq!(within("the logs", operator.partitions()).await, Ok([partition(3)].into()), "notes are no logs");
        log.forgotten(gone);
        while within("the notes", log.unwanted()).await != Ok([kept].into()) {
            tokio::task::yield_now().await;
        }
        log.append(partition(3), b"three").expect("room");
        within("a sync", log.synced(partition(3), Duration::ZERO)).await.expect("the log is still its owner's");
    });
}
