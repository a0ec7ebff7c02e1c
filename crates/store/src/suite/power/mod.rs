//! Power cuts and full disks on SQLite, simulated by a file system layer that knows which bytes have been synced.

mod disk;

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use futures_util::future::join_all;
use muster_domain::ports::accounts::AccountStore as _;
use muster_domain::ports::store::StoreError;

use self::disk::Disk;
use super::fixture::{Folder, device, new_account, runtime};
use crate::metrics::StoreMetrics;
use crate::{SqliteOptions, SqliteStore};

const WRITERS: u32 = 64;

fn options(disk: &Disk) -> SqliteOptions {
    // A short log, so that checkpoints happen during the test.
    SqliteOptions { vfs: Some(disk.name().to_owned()), log_pages_max: 200, ..SqliteOptions::default() }
}

/// The usernames of all players in a database. The database must be intact, and every player must have a device.
fn players(path: &Path) -> BTreeSet<String> {
    let connection = rusqlite::Connection::open(path).unwrap();
    let sound: String = connection.pragma_query_value(None, "integrity_check", |row| row.get(0)).unwrap();
    assert_eq!(sound, "ok");
    let count = |sql: &str| connection.query_row(sql, [], |row| row.get::<_, i64>(0)).unwrap();
    assert_eq!(count("SELECT count(*) FROM users") - 1, count("SELECT count(*) FROM user_device"));
    let mut players = connection.prepare("SELECT username FROM users WHERE username <> ''").unwrap();
    players.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap).collect()
}

/// Signs up 64 players at a time until `enough` is true, and calls `after` with each answer.
async fn sign_up(
    store: &SqliteStore,
    prefix: &str,
    enough: impl Fn() -> bool,
    after: impl Fn(String, Result<(), StoreError>),
) {
    let (next, enough, after) = (Cell::new(0), &enough, &after);
    join_all((0..WRITERS).map(|_| async {
        while !enough() {
            let name = format!("{prefix} {}", next.replace(next.get() + 1));
            let outcome = store.login(&device(&name), Some(&new_account(&name))).await;
            after(name, outcome.map(|login| assert!(login.unwrap().created)));
        }
    }))
    .await;
}

#[test]
fn a_power_cut_loses_nothing_acknowledged() {
    const CUTS: usize = 24;
    const ACKNOWLEDGED_BETWEEN_CUTS: usize = 97;
    let (folder, disk) = (Folder::new(), Disk::new());
    let metrics = Arc::new(StoreMetrics::default());
    let path = folder.0.join("muster.db");
    let store = SqliteStore::open(&path, &options(&disk), Arc::clone(&metrics)).unwrap();
    let (acknowledged, cuts) = (RefCell::new(BTreeSet::new()), RefCell::new(Vec::new()));
    runtime().block_on(sign_up(
        &store,
        "player",
        || cuts.borrow().len() >= CUTS,
        |name, outcome| {
            outcome.unwrap();
            acknowledged.borrow_mut().insert(name);
            if acknowledged.borrow().len() % ACKNOWLEDGED_BETWEEN_CUTS == 0 {
                // Everyone acknowledged by now must be in the image of this moment.
                cuts.borrow_mut().push((acknowledged.borrow().clone(), disk.after_power_cut()));
            }
        },
    ));
    for (number, (acknowledged, image)) in cuts.into_inner().into_iter().enumerate() {
        let cut = folder.0.join(format!("cut-{number}"));
        image.write_to(&folder.0, &cut);
        let left = players(&cut.join("muster.db"));
        let lost: Vec<_> = acknowledged.difference(&left).collect();
        assert!(lost.is_empty(), "cut {number} lost {lost:?}");
    }
    let (jobs, batches) = (metrics.write_jobs.load(Ordering::Relaxed), metrics.write_batches.load(Ordering::Relaxed));
    assert!(batches * 4 < jobs, "{batches} syncs for {jobs} acknowledgements");
    assert!(metrics.checkpoints.load(Ordering::Relaxed) > 0, "the log started over under way");
}

#[test]
fn a_full_disk_refuses_and_recovers() {
    let (folder, disk) = (Folder::new(), Disk::new());
    let path = folder.0.join("muster.db");
    let store = SqliteStore::open(&path, &options(&disk), Arc::default()).unwrap();
    let (stored, refused, answered) = (RefCell::new(BTreeSet::new()), Cell::new(0), Cell::new(0));
    for fault in [disk::Fault::Full, disk::Fault::SyncFails] {
        answered.set(0);
        runtime().block_on(sign_up(
            &store,
            &format!("{fault:?}"),
            || answered.get() >= 2_000,
            |name, outcome| {
                answered.set(answered.get() + 1);
                // The fault comes and goes.
                disk.fail(if answered.get() % 500 < 250 { fault } else { disk::Fault::None });
                match outcome {
                    Ok(()) => drop(stored.borrow_mut().insert(name)),
                    Err(StoreError::Unavailable(_)) => refused.set(refused.get() + 1),
                    Err(error) => panic!("{error}"),
                }
            },
        ));
        disk.fail(disk::Fault::None);
    }
    assert!(refused.get() > 0 && stored.borrow().len() > 500, "{} refused", refused.get());
    drop(store);
    let left = players(&path);
    let lost: Vec<_> = stored.borrow().difference(&left).cloned().collect();
    assert!(lost.is_empty(), "{lost:?}");
}
