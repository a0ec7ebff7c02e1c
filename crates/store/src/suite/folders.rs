//! Data files: locks, backups, old schemas, files of other programs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use muster_domain::ports::accounts::AccountStore as _;
use muster_domain::ports::storage::{Authority, Expected, StorageStore as _};

use super::fixture::{Folder, NOW, device, new_account, runtime};
use super::storage::{id, write};
use crate::metrics::StoreMetrics;
use crate::sqlite::backup::{Backup, Manifest, Restored, check_not_interrupted, restore, verify};
use crate::{OpenError, SqliteOptions, SqliteStore};

/// A data file of schema 1, kept so that every later program proves that it can open it. It has one player `veteran`
/// with the device `device-of-veteran` and one storage object.
const SAMPLE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/testdata/schema-1.db");

fn open(path: &Path) -> Result<SqliteStore, OpenError> {
    SqliteStore::open(path, &SqliteOptions::default(), Arc::new(StoreMetrics::default()))
}

fn sign_in(store: &SqliteStore, name: &str) -> bool {
    runtime().block_on(store.login(&device(name), Some(&new_account(name)))).unwrap().unwrap().created
}

fn refused(outcome: Result<impl Sized, OpenError>, saying: &str) {
    let said = outcome.err().map(|error| error.0).unwrap_or_default();
    assert!(said.contains(saying), "{said:?} does not say {saying:?}");
}

#[test]
fn opens_a_file_of_an_older_program() {
    let folder = Folder::new();
    let path = folder.0.join("muster.db");
    std::fs::copy(SAMPLE, &path).unwrap();
    let store = open(&path).unwrap();
    assert!(!sign_in(&store, "veteran") && sign_in(&store, "rookie"));
    runtime().block_on(async {
        let veteran = store.login(&device("veteran"), None).await.unwrap().unwrap().user_id;
        let found = store.read_objects(Authority::Server, &[id("a", veteran)]).await.unwrap();
        assert_eq!(found[0].value, r#"{"n": 1}"#);
        store.write_objects(Authority::Server, &[write("a", veteran, 2, Expected::Any)], NOW).await.unwrap();
    });
}

#[test]
fn refuses_files_in_use_of_others_and_of_newer_programs() {
    let folder = Folder::new();
    let path = folder.0.join("muster.db");
    let store = open(&path).unwrap();
    refused(open(&path), "in use by another process");
    drop(store);
    let newer = "UPDATE muster_migration SET version = 99 WHERE version = (SELECT max(version) FROM muster_migration)";
    rusqlite::Connection::open(&path).unwrap().execute(newer, []).unwrap();
    refused(open(&path), "schema 99");
    let other = folder.0.join("other.db");
    rusqlite::Connection::open(&other).unwrap().execute_batch("CREATE TABLE notes (text TEXT)").unwrap();
    refused(open(&other), "another program");
    std::fs::write(folder.0.join("text.db"), "not a database at all, but a text of some length").unwrap();
    refused(open(&folder.0.join("text.db")), "text.db");
}

#[cfg(unix)]
#[test]
fn shows_its_files_to_nobody_else() {
    use std::os::unix::fs::PermissionsExt as _;
    let (folder, store, saved) = backed_up();
    sign_in(&store, "eve");
    for file in ["muster.db", "muster.db-wal", "muster.db.lock"] {
        let mode = std::fs::metadata(folder.0.join("data").join(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{file} has mode {mode:o}");
    }
    assert_eq!(std::fs::metadata(saved).unwrap().permissions().mode() & 0o077, 0);
}

#[test]
fn closes_after_answering_what_is_queued() {
    let folder = Folder::new();
    let path = folder.0.join("muster.db");
    let store = open(&path).unwrap();
    let clone = store.clone();
    drop(store);
    assert!(sign_in(&clone, "ann"));
    drop(clone);
    assert!(!sign_in(&open(&path).unwrap(), "ann"));
}

#[test]
fn once_closed_the_file_alone_is_the_database() {
    let folder = Folder::new();
    let path = folder.0.join("muster.db");
    // Many readers and many rounds make it likely that threads close their connections at the same time.
    let options = SqliteOptions { readers: 8, ..SqliteOptions::default() };
    for index in 0..50 {
        let store = SqliteStore::open(&path, &options, Arc::default()).unwrap();
        assert!(sign_in(&store, &format!("player {index}")));
        drop(store);
        assert!(!folder.0.join("muster.db-wal").exists(), "after opening it {index} times before");
    }
}

fn backup(path: &Path, also: &[PathBuf], destination: &Path) -> Result<Manifest, OpenError> {
    let mut backup = Backup::begin(path, destination, 0)?;
    backup.copy_database(|| Ok(()))?;
    also.iter().try_for_each(|file| backup.copy_file(file))?;
    let logs = backup.folder().join("logs");
    std::fs::create_dir(&logs).unwrap();
    std::fs::write(logs.join("one"), "a log").unwrap();
    backup.finish()
}

fn put_back(backup: &Path, path: &Path, force: bool) -> Result<Restored, OpenError> {
    restore(backup, path, path.parent().unwrap(), &["logs"], force)
}

fn names_in(folder: &Path) -> Vec<String> {
    let mut names: Vec<String> =
        std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// A store with one player, a key file and a log beside it, and a backup of all.
fn backed_up() -> (Folder, SqliteStore, PathBuf) {
    let folder = Folder::new();
    let path = folder.0.join("data").join("muster.db");
    let store = open(&path).unwrap();
    sign_in(&store, "ann");
    let keys = folder.0.join("data").join("keys.yml");
    std::fs::write(&keys, "session: secret").unwrap();
    let saved = folder.0.join("saved");
    let manifest = backup(&path, &[keys], &saved).unwrap();
    assert_eq!((manifest.rows["users"], manifest.rows["user_device"], manifest.files.len()), (2, 1, 3));
    sign_in(&store, "bob");
    (folder, store, saved)
}

#[test]
fn restores_what_was_backed_up_while_running() {
    let (folder, store, saved) = backed_up();
    let path = folder.0.join("data").join("muster.db");
    refused(backup(&path, &[], &saved), "exists already");
    refused(put_back(&saved, &path, true), "in use");
    drop(store);
    refused(put_back(&saved, &path, false), "--force");
    put_back(&saved, &path, true).unwrap();
    let elsewhere = folder.0.join("new").join("muster.db");
    put_back(&saved, &elsewhere, false).unwrap();
    for path in [path, elsewhere] {
        let store = open(&path).unwrap();
        assert!(!sign_in(&store, "ann") && sign_in(&store, "bob"), "Bob came after the backup");
        assert_eq!(std::fs::read_to_string(path.with_file_name("keys.yml")).unwrap(), "session: secret");
    }
}

#[test]
fn backs_up_tables_of_game_code_whatever_their_names() {
    let (folder, store, _) = backed_up();
    drop(store);
    let path = folder.0.join("data").join("muster.db");
    let game = rusqlite::Connection::open(&path).unwrap();
    game.execute_batch("CREATE TABLE \"a \"\"b\"\" 'c'\" (n); INSERT INTO \"a \"\"b\"\" 'c'\" VALUES (1)").unwrap();
    drop(game);
    let manifest = backup(&path, &[], &folder.0.join("again")).unwrap();
    assert_eq!(manifest.rows["a \"b\" 'c'"], 1);
}

#[test]
fn refuses_damaged_backups() {
    let (folder, _store, saved) = backed_up();
    let database = saved.join("muster.db");
    let whole = std::fs::read(&database).unwrap();
    for index in [100, whole.len() / 2, whole.len() - 1] {
        let mut damaged = whole.clone();
        damaged[index] ^= 1;
        std::fs::write(&database, damaged).unwrap();
        refused(verify(&saved), "not the file that was saved");
        refused(put_back(&saved, &folder.0.join("new").join("muster.db"), false), "not the file that was saved");
    }
    assert!(!folder.0.join("new").exists(), "nothing was touched");
    std::fs::remove_file(saved.join("manifest.json")).unwrap();
    refused(verify(&saved), "manifest.json");
}

#[test]
fn what_a_restore_puts_aside_no_other_one_overwrites() {
    let (folder, store, saved) = backed_up();
    let data = folder.0.join("data");
    let path = data.join("muster.db");
    drop(store);
    std::fs::create_dir(data.join("logs")).unwrap();
    std::fs::write(data.join("logs").join("two"), "of the first").unwrap();
    let first = put_back(&saved, &path, true).unwrap();
    assert_eq!(first.aside, [data.join("before-restore")]);
    assert_eq!(names_in(&data.join("logs")), ["one"]);
    let second = put_back(&saved, &path, true).unwrap();
    assert_eq!(second.aside, [data.join("before-restore-2")]);
    assert_eq!(std::fs::read_to_string(first.aside[0].join("logs").join("two")).unwrap(), "of the first");
    assert_eq!(names_in(&first.aside[0]), ["keys.yml", "logs", "muster.db"]);
    let places = ["before-restore", "before-restore-2", "keys.yml", "logs", "muster.db", "muster.db.lock"];
    assert_eq!(names_in(&data), places);
    // Moved back by hand, the first database is as it was.
    for name in ["keys.yml", "logs", "muster.db"] {
        let removed = if name == "logs" { std::fs::remove_dir_all } else { std::fs::remove_file };
        removed(data.join(name)).unwrap();
        std::fs::rename(first.aside[0].join(name), data.join(name)).unwrap();
    }
    assert!(!sign_in(&open(&path).unwrap(), "bob"));
}

#[test]
fn a_backup_or_restore_that_fails_leaves_nothing_and_changes_nothing() {
    let (folder, store, saved) = backed_up();
    let data = folder.0.join("data");
    let path = data.join("muster.db");
    let mut failing = Backup::begin(&path, &folder.0.join("failed"), 0).unwrap();
    refused(failing.copy_database(|| Err(OpenError::new("no log"))), "no log");
    drop(failing);
    refused(Backup::begin(&path, &folder.0.join("failed"), u64::MAX / 2), "MiB are needed");
    assert_eq!(names_in(&folder.0), ["data", "saved"]);
    drop(store);
    // Nothing can be put aside where a file has the name of the folder with copies.
    let before = names_in(&data);
    std::fs::write(data.join("restoring.unfinished"), "in the way").unwrap();
    refused(put_back(&saved, &path, true), "cannot write");
    std::fs::remove_file(data.join("restoring.unfinished")).unwrap();
    assert_eq!(names_in(&data), before);
    assert!(!sign_in(&open(&path).unwrap(), "bob"), "the old database is in its place");
}

#[test]
fn an_interrupted_restore_is_told_and_can_be_made_again() {
    let (folder, store, saved) = backed_up();
    let data = folder.0.join("data");
    let path = data.join("muster.db");
    drop(store);
    assert_eq!(check_not_interrupted(&path, &data), Ok(()));
    // The power failed after the old files were moved.
    std::fs::create_dir_all(data.join("restoring")).unwrap();
    std::fs::create_dir(data.join("before-restore")).unwrap();
    std::fs::rename(&path, data.join("before-restore").join("muster.db")).unwrap();
    refused(check_not_interrupted(&path, &data), "a restore was interrupted");
    put_back(&saved, &path, true).unwrap();
    assert_eq!(check_not_interrupted(&path, &data), Ok(()));
    assert!(sign_in(&open(&path).unwrap(), "bob"), "Bob came after the backup");
}
