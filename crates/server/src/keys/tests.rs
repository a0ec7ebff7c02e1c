//! Tests of the file of generated keys.

use std::{collections::BTreeSet, fs, os::unix::fs::PermissionsExt as _, path::Path, thread};

use tempfile::TempDir;

use super::{FILE_NAME, GENERATED};
use crate::config::{KeyFile, Loaded, Problems, ServerMode, Source, from_pairs, load};

fn start(folder: &Path, pairs: &[(&str, &str)]) -> Result<Loaded, Problems> {
    let data_dir = folder.join("data").display().to_string();
    let pairs = pairs.iter().copied().chain([("data_dir", data_dir.as_str())]);
    load(ServerMode::Serve, KeyFile::Create, &from_pairs(pairs)?, [])
}

fn folder() -> TempDir {
    tempfile::tempdir().expect("a temporary folder")
}

fn secrets(loaded: &Loaded) -> Vec<String> {
    GENERATED.iter().map(|one| loaded.settings.text(one.name).to_owned()).collect()
}

#[test]
fn generated_once_and_kept() {
    let folder = folder();
    let first = start(folder.path(), &[]).expect("starts");
    assert!(first.keys_created);
    let secrets_of_first = secrets(&first);
    let different: BTreeSet<&String> = secrets_of_first.iter().collect();
    assert_eq!(different.len(), GENERATED.len());
    assert!(secrets_of_first.iter().all(|secret| secret.len() >= 20), "twenty characters of six bits each");
    let second = start(folder.path(), &[]).expect("starts again");
    assert!(!second.keys_created);
    assert_eq!(secrets(&second), secrets_of_first);
    assert_ne!(secrets(&start(self::folder().path(), &[]).expect("starts")), secrets_of_first);
}

#[test]
fn only_the_owner_reads_the_file() {
    let folder = folder();
    start(folder.path(), &[]).expect("starts");
    let data = folder.path().join("data");
    let mode = |path: &Path| fs::metadata(path).expect("is there").permissions().mode() & 0o777;
    assert_eq!(mode(&data.join(FILE_NAME)), 0o600);
    assert_eq!(mode(&data), 0o700);
    let names: Vec<_> =
        fs::read_dir(&data).expect("is there").map(|entry| entry.expect("an entry").file_name()).collect();
    assert_eq!(names, [FILE_NAME], "no temporary file is left");
    fs::set_permissions(data.join(FILE_NAME), fs::Permissions::from_mode(0o644)).expect("may be changed");
    let told = start(folder.path(), &[]).expect("starts").notices;
    assert!(told.iter().any(|notice| notice.text.starts_with("others on this machine may read the keys")));
}

#[test]
fn what_is_configured_counts_instead() {
    let folder = folder();
    let ours = [("socket.server_key", "a key of our own")];
    let with = start(folder.path(), &ours).expect("starts");
    assert_eq!(with.config.socket.server_key.expose(), "a key of our own");
    let source = |loaded: &Loaded| loaded.settings.get("socket.server_key").map(|setting| setting.source().clone());
    assert_eq!(source(&with), Some(Source::Flag));
    let without = start(folder.path(), &[]).expect("starts");
    assert_eq!(source(&without), Some(Source::KeysFile(folder.path().join("data").join(FILE_NAME))));
    assert_ne!(without.config.socket.server_key.expose(), "a key of our own");
}

#[test]
fn no_file_when_every_key_is_configured() {
    let folder = folder();
    let values: Vec<String> = GENERATED.iter().map(|one| format!("our own {}", one.name)).collect();
    let pairs: Vec<(&str, &str)> =
        GENERATED.iter().map(|one| one.name).zip(values.iter().map(String::as_str)).collect();
    start(folder.path(), &pairs).expect("starts");
    assert!(!folder.path().join("data").exists());
}

#[test]
fn an_older_file_is_completed_and_its_keys_kept() {
    let folder = folder();
    let data = folder.path().join("data");
    fs::create_dir(&data).expect("a folder");
    fs::write(data.join(FILE_NAME), "socket.server_key: kept\n").expect("a file");
    let loaded = start(folder.path(), &[]).expect("starts");
    assert_eq!(loaded.config.socket.server_key.expose(), "kept");
    assert!(!loaded.config.session.encryption_key.is_empty());
    assert!(!loaded.keys_created);
    assert_eq!(secrets(&start(folder.path(), &[]).expect("starts")), secrets(&loaded));
}

#[test]
fn a_damaged_file_stops_the_start() {
    let fault = |text: &str| {
        let folder = folder();
        let data = folder.path().join("data");
        fs::create_dir(&data).expect("a folder");
        fs::write(data.join(FILE_NAME), text).expect("a file");
        let faults = start(folder.path(), &[]).expect_err("must not start").to_string();
        assert_eq!(fs::read_to_string(data.join(FILE_NAME)).expect("is there"), text, "nobody's keys are overwritten");
        assert!(faults.contains("is damaged") && faults.contains("restore it"), "{faults}");
        faults
    };
    fault("socket.server_key: [");
    fault("socket.server_key: ''\n");
    assert!(!fault("socket.server_key: defaultkey\n").contains("defaultkey"));
    assert!(fault("socket.port: 1\n").contains("`socket.port` is not generated"));
}

#[test]
fn a_configuration_that_cannot_start_generates_nothing() {
    let folder = folder();
    start(folder.path(), &[("socket.port", "x")]).expect_err("must not start");
    assert!(!folder.path().join("data").exists());
}

#[test]
fn processes_that_start_at_once_agree() {
    let folder = folder();
    let all: Vec<Vec<String>> = thread::scope(|scope| {
        let starts: Vec<_> =
            (0..8).map(|_| scope.spawn(|| secrets(&start(folder.path(), &[]).expect("starts")))).collect();
        starts.into_iter().map(|start| start.join().expect("does not panic")).collect()
    });
    assert!(all.iter().all(|secrets| *secrets == all[0]));
}

#[test]
fn a_folder_that_cannot_be_written_is_told() {
    let folder = folder();
    fs::write(folder.path().join("data"), "a file where the folder should be").expect("a file");
    let faults = start(folder.path(), &[]).expect_err("must not start").to_string();
    assert!(faults.contains("data/keys.yml") && faults.contains("choose another `data_dir`"), "{faults}");
}

#[test]
fn new_keys_beside_a_database_are_told() {
    let folder = folder();
    let data = folder.path().join("data");
    let told = |loaded: &Loaded| loaded.notices.iter().any(|notice| notice.text.contains("new keys were generated"));
    assert!(!told(&start(folder.path(), &[]).expect("starts")), "there is no database yet");
    fs::write(data.join("muster.db"), "").expect("may be written");
    assert!(!told(&start(folder.path(), &[]).expect("starts")), "the keys are there");
    fs::remove_file(data.join(FILE_NAME)).expect("may be removed");
    let loaded = start(folder.path(), &[]).expect("starts");
    assert!(told(&loaded) && loaded.keys_created);
}
