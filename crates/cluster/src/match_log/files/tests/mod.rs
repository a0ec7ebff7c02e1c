//! Tests of the log in files: synced records survive crashes, and damaged files and failing disks are noticed.

mod disk;

use std::collections::BTreeMap;
use std::sync::Arc;

use super::state::EAGER_BYTES;
use super::*;
use disk::{Disk, Faults};

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(future)
}

fn partition(number: u16) -> Partition {
    Partition::new(number).expect("a partition")
}

fn open(disk: &Disk, segment_bytes: u64) -> Result<FileLogs, OpenError> {
    FileLogs::open_on(Box::new(disk.clone()), FileOptions { segment_bytes, ..FileOptions::default() })
}

async fn take(log: &FileLog, number: u16) -> Vec<Bytes> {
    log.take_over(partition(number), Epoch(0)).await.expect("taken over")
}

/// Appends a record and waits until it is synced.
async fn keep(log: &FileLog, number: u16, record: &[u8]) -> Result<RecordNumber, LogError> {
    let at = log.append(partition(number), record)?;
    log.synced(partition(number), Duration::ZERO).await?;
    Ok(at)
}

/// Expected content of one partition after a crash.
#[derive(Default)]
struct Model {
    /// All records that were appended, by their numbers over all runs.
    appended: Vec<Vec<u8>>,
    /// Number of records that are certainly kept.
    kept: usize,
    /// Records before this number may be missing.
    floor: usize,
    /// Number of this run's first record.
    base: usize,
}

/// One run of a server: takes over all partitions, checks their records, then appends, trims and waits until the power
/// fails.
fn run(disk: &Disk, chance: &mut fastrand::Rng, models: &mut BTreeMap<u16, Model>, dead_at: Option<u64>) {
    let faults = Faults { dead_at, ..Faults::default() };
    disk.set(faults);
    let Ok(logs) = open(disk, 1_500) else {
        assert!(dead_at.is_some(), "a sound disk is read");
        return;
    };
    let log = logs.handle();
    block_on(async {
        for (number, model) in &mut *models {
            let Ok(records) = log.take_over(partition(*number), Epoch(0)).await else { return };
            // The records found must be a prefix of those appended, at least up to the last one that was promised.
            let end = (model.kept..=model.appended.len()).find(|end| {
                let start = end.checked_sub(records.len()).filter(|start| *start <= model.floor);
                start.is_some_and(|start| model.appended[start..*end].iter().eq(records.iter()))
            });
            let Some(end) = end else {
                panic!("{number}: {} records, kept {}, floor {}", records.len(), model.kept, model.floor);
            };
            model.appended.truncate(end);
            (model.kept, model.base, model.floor) = (end, end, end - records.len());
        }
        for _ in 0..chance.usize(1..40) {
            let mut waits = Vec::new();
            for _ in 0..chance.usize(1..6) {
                let number = chance.u16(..models.len() as u16);
                let model = models.get_mut(&number).expect("it is there");
                let length = if chance.u8(..20) == 0 { 2_000 } else { chance.usize(..120) };
                let record: Vec<u8> = (0..length).map(|_| chance.u8(..)).collect();
                let Ok(at) = log.append(partition(number), &record) else { return };
                assert_eq!(at.0 as usize, model.appended.len() - model.base);
                model.appended.push(record);
                if chance.u8(..4) == 0 {
                    // An engine does the same: it appends a snapshot, and then trims the records before the snapshot.
                    let before = chance.usize(model.base..=model.appended.len());
                    model.floor = model.floor.max(before);
                    log.trim(partition(number), RecordNumber((before - model.base) as u64));
                }
                if chance.bool() {
                    waits.push((number, model.appended.len(), log.synced(partition(number), Duration::ZERO)));
                }
            }
            for (number, until, wait) in waits {
                if wait.await.is_err() {
                    return;
                }
                let model = models.get_mut(&number).expect("it is there");
                model.kept = model.kept.max(until);
            }
        }
    });
}

#[test]
fn what_was_said_to_be_kept_survives_the_loss_of_power() {
    for seed in 0..400 {
        let mut chance = fastrand::Rng::with_seed(seed);
        let mut disk = Disk::default();
        let mut models: BTreeMap<u16, Model> = (0..4).map(|number| (number, Model::default())).collect();
        for _ in 0..6 {
            let dead_at = (chance.u8(..5) != 0).then(|| chance.u64(1..120));
            println!("seed {seed}, dead at {dead_at:?}");
            run(&disk, &mut chance, &mut models, dead_at);
            disk = disk.after_crash(&mut chance);
        }
        run(&disk, &mut chance, &mut models, None);
    }
}

#[test]
fn a_trim_is_kept_whole_or_not_at_all() {
    let disk = Disk::default();
    block_on(async {
        let logs = open(&disk, 1_000).expect("opened");
        let log = logs.handle();
        assert!(take(&log, 7).await.is_empty());
        assert!(take(&log, 8).await.is_empty());
        keep(&log, 8, b"held").await.expect("kept");
        for number in 0..10_u8 {
            keep(&log, 7, &[number; 300]).await.expect("kept");
        }
        log.trim(partition(7), RecordNumber(8));
        keep(&log, 7, b"end").await.expect("kept");
        assert!(logs.stats().segments > 3, "the first one is needed");
        drop((log, logs));
        let logs = open(&disk, 1_000).expect("opened");
        assert_eq!(logs.partitions(), [partition(7), partition(8)]);
        let log = logs.handle();
        assert_eq!(take(&log, 7).await, [&[8; 300][..], &[9; 300], b"end"]);
        assert_eq!(take(&log, 8).await, [&b"held"[..]]);

        log.trim(partition(8), RecordNumber(0));
        log.trim(partition(7), RecordNumber(0));
        keep(&log, 7, b"new").await.expect("kept");
        assert_eq!(logs.stats().segments, 1, "nothing but the last is needed");
        assert_eq!(logs.partitions(), [partition(7)]);
    });
}

#[test]
fn damage_before_the_end_is_told() {
    let damage = |spoil: &dyn Fn(&Disk), expect: &str| {
        let disk = Disk::default();
        block_on(async {
            let logs = open(&disk, 1_000).expect("opened");
            let log = logs.handle();
            take(&log, 1).await;
            for number in 0..8_u8 {
                keep(&log, 1, &[number; 300]).await.expect("kept");
            }
        });
        assert_eq!(disk.numbers(), [0, 1, 2, 3]);
        spoil(&disk);
        let told = open(&disk, 1_000).map(|_| ()).expect_err("it is damaged").to_string();
        assert!(told.contains(expect), "{told}");
    };
    damage(&|disk| disk.spoil(1, |bytes| bytes[100] ^= 1), "disk/1 from byte");
    damage(&|disk| disk.spoil(1, |bytes| bytes.truncate(100)), "disk/1 from byte");
    damage(&|disk| disk.spoil(0, |bytes| bytes[3] ^= 1), "disk/0 from byte 0");
    damage(&|disk| disk.spoil(0, Vec::clear), "disk/0 from byte 0");
    // Damage in the last segment is noticed too: frames that follow the damaged one prove that it had been synced.
    damage(&|disk| disk.spoil(3, |bytes| bytes[100] ^= 1), "disk/3 from byte");
    damage(&|disk| disk.spoil(3, |bytes| bytes[3] ^= 1), "disk/3 from byte 0");
    damage(&|disk| disk.delete(2), "lacks disk/2");
}

#[test]
fn a_full_disk_fails_and_serves_again_when_it_has_room() {
    let disk = Disk::default();
    let logs = open(&disk, 1_000).expect("opened");
    let (one, two) = (logs.handle(), logs.handle());
    block_on(async {
        take(&one, 1).await;
        take(&two, 2).await;
        keep(&one, 1, b"kept").await.expect("kept");
        disk.set(Faults { bytes_max: Some(disk.bytes(0) + 10), ..Faults::default() });
        let told = keep(&one, 1, &[1; 200]).await.expect_err("it is full");
        assert!(told.to_string().contains("disk: "), "{told}");
        assert!(matches!(one.append(partition(1), b"more"), Err(LogError::Failed(_))));
        assert!(
            matches!(two.synced(partition(2), Duration::ZERO).await, Err(LogError::Failed(_))),
            "all that share it"
        );
        assert!(matches!(one.take_over(partition(1), Epoch(0)).await, Err(LogError::Failed(_))), "still full");
        assert_eq!(logs.stats().failures, 1);

        disk.set(Faults::default());
        assert!(matches!(one.append(partition(1), b"more"), Err(LogError::Failed(_))), "it lacks what was lost");
        assert_eq!(take(&one, 1).await, [&b"kept"[..]]);
        assert_eq!(keep(&one, 1, b"again").await, Ok(RecordNumber(0)));
        assert!(matches!(two.append(partition(2), b"more"), Err(LogError::Failed(_))), "not taken over again");
        assert!(take(&two, 2).await.is_empty());
        keep(&two, 2, b"two").await.expect("kept");
    });
    drop((one, two, logs));
    let logs = open(&disk, 1_000).expect("opened");
    let log = logs.handle();
    assert_eq!(block_on(take(&log, 1)), [&b"kept"[..], b"again"]);
    assert_eq!(block_on(take(&log, 2)), [&b"two"[..]]);
}

#[test]
fn what_a_failed_sync_was_for_is_not_kept() {
    let disk = Disk::default();
    let logs = open(&disk, 10_000).expect("opened");
    let log = logs.handle();
    block_on(async {
        take(&log, 1).await;
        keep(&log, 1, b"kept").await.expect("kept");
        disk.set(Faults { has_no_sync: true, ..Faults::default() });
        keep(&log, 1, b"lost").await.expect_err("not synced");
        disk.set(Faults::default());
        assert_eq!(take(&log, 1).await, [&b"kept"[..]], "it would be there by chance alone");
        keep(&log, 1, b"next").await.expect("kept");
    });
    let mut chance = fastrand::Rng::with_seed(1);
    for _ in 0..20 {
        let logs = open(&disk.after_crash(&mut chance), 10_000).expect("opened");
        assert_eq!(block_on(take(&logs.handle(), 1)), [&b"kept"[..], b"next"]);
    }
}

#[test]
fn too_much_that_waits_is_refused() {
    let disk = Disk::default();
    let options = FileOptions { waiting_bytes_max: 1_000, ..FileOptions::default() };
    let logs = FileLogs::open_on(Box::new(disk), options).expect("opened");
    let log = logs.handle();
    block_on(async {
        take(&log, 1).await;
        // No caller waits, so nothing is written.
        log.append(partition(1), &[0; 800]).expect("room");
        let told = log.append(partition(1), &[0; 800]).expect_err("no room");
        assert!(told.to_string().contains("disk"), "{told}");
        assert_eq!(logs.stats().refused, 1);
        log.synced(partition(1), Duration::ZERO).await.expect("kept");
        assert_eq!(log.append(partition(1), &[0; 800]), Ok(RecordNumber(1)));
    });
}

#[test]
fn many_waits_share_a_sync_across_threads() {
    let folder = tempfile::tempdir().expect("a folder");
    let logs = FileLogs::open(folder.path(), FileOptions::default()).expect("opened");
    let start = Arc::new(std::sync::Barrier::new(4));
    let shards = (0..4_u16).map(|shard| {
        let (logs, start) = (logs.clone(), start.clone());
        std::thread::spawn(move || {
            block_on(async {
                let log = logs.handle();
                for number in 0..50 {
                    take(&log, shard * 50 + number).await;
                }
                start.wait();
                let waits = (0..50).map(|number| {
                    log.append(partition(shard * 50 + number), b"record").expect("room");
                    log.synced(partition(shard * 50 + number), Duration::ZERO)
                });
                for outcome in futures_util::future::join_all(waits).await {
                    outcome.expect("kept");
                }
            });
        })
    });
    for shard in shards.collect::<Vec<_>>() {
        shard.join().expect("no panic");
    }
    let stats = logs.stats();
    assert_eq!(stats.records, 200);
    assert!(stats.syncs < 60, "{stats:?}");
    drop(logs);
    let logs = FileLogs::open(folder.path(), FileOptions::default()).expect("opened");
    assert_eq!(logs.partitions().len(), 200);
}

#[test]
fn who_has_time_shares_a_sync_with_who_comes_next() {
    const HOUR: Duration = Duration::from_secs(3_600);
    let logs = FileLogs::open_on(Box::new(Disk::default()), FileOptions::default()).expect("opened");
    let log = logs.handle();
    block_on(async {
        take(&log, 1).await;
        take(&log, 2).await;
        log.append(partition(1), b"has time").expect("room");
        let mut waits = std::pin::pin!(log.synced(partition(1), HOUR));
        assert!(futures_util::poll!(waits.as_mut()).is_pending());
        keep(&log, 2, b"has none").await.expect("kept");
        waits.await.expect("kept");
        assert_eq!(logs.stats().syncs, 1);
        log.append(partition(1), b"has time").expect("room");
        let mut waits = std::pin::pin!(log.synced(partition(1), HOUR));
        assert!(futures_util::poll!(waits.as_mut()).is_pending());
        // A take-over is answered at once, and the records that waited have been written by then.
        take(&log, 3).await;
        waits.await.expect("kept");
        assert_eq!(logs.stats().syncs, 2);
        log.append(partition(2), &vec![0; EAGER_BYTES]).expect("room");
        log.synced(partition(2), HOUR).await.expect("so much does not wait");
        log.append(partition(1), b"has a little time").expect("room");
        log.synced(partition(1), Duration::from_micros(100)).await.expect("kept");
    });
}

#[test]
fn one_process_has_the_folder() {
    let folder = tempfile::tempdir().expect("a folder");
    let logs = FileLogs::open(folder.path(), FileOptions::default()).expect("opened");
    let told = FileLogs::open(folder.path(), FileOptions::default()).map(|_| ()).expect_err("in use");
    assert!(matches!(told, OpenError::InUse(_)), "{told}");
    let log = logs.handle();
    drop(logs);
    let told = FileLogs::open(folder.path(), FileOptions::default()).map(|_| ()).expect_err("a handle has it");
    assert!(matches!(told, OpenError::InUse(_)), "{told}");
    drop(log);
    std::fs::write(folder.path().join("notes.log"), b"an operator's").expect("written");
    FileLogs::open(folder.path(), FileOptions::default()).expect("opened");
}

#[test]
fn what_waits_is_written_when_the_log_closes() {
    let disk = Disk::default();
    let logs = open(&disk, 1_000).expect("opened");
    let log = logs.handle();
    block_on(take(&log, 1));
    log.append(partition(1), b"record").expect("room");
    drop((log, logs));
    assert_eq!(block_on(take(&open(&disk, 1_000).expect("opened").handle(), 1)), [&b"record"[..]]);
}
