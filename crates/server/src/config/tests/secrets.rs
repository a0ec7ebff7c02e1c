//! Tests of secrets: they are never shown, and the published ones are refused under `serve`.

use super::{
    super::{ServerMode, check::check, from_pairs},
    Case,
};
use crate::keys::GENERATED;

/// A case that sets every secret key to a value that must not turn up anywhere.
fn secretive() -> Case {
    super::super::keys::all()
        .filter(|key| key.secret())
        .fold(Case::new(), |case, key| case.flag(key.name, &format!("{}=HIDDEN", key.name)))
}

#[test]
fn no_output_shows_a_secret() {
    let case =
        secretive().flag("database.address", "u:HIDDEN@db/game?password=HIDDEN").flag("runtime.env", "TOKEN=HIDDEN");
    let flags = from_pairs(case.flags.iter().map(|(name, text)| (name.as_str(), text.as_str()))).expect("known keys");
    let report = check(ServerMode::Serve, &flags, []);
    assert!(report.loaded.is_some(), "{}", report.text);
    let debug = format!("{:?} {:?} {flags:?}", case.loaded(), report);
    assert!(
        !report.text.contains("HIDDEN") && !debug.contains("=HIDDEN") && !debug.contains("HIDDEN@"),
        "{}",
        report.text
    );
    assert!(report.text.contains("session.encryption_key = (secret)  [command line]"), "{}", report.text);
    assert!(report.text.contains("database.address = u:(secret)@db/game?password=(secret)"), "{}", report.text);
}

#[test]
fn no_fault_shows_a_secret() {
    let case = Case::new().flag("session.encryption_key", "HIDDEN\0").flag("database.address", "u:HIDDEN%@db");
    assert!(!case.faults().contains("HIDDEN"), "{}", case.faults());
    let login = Case::new().flag("cluster.nats", "nats://user:HIDDEN@nats-1:4222").faults();
    let expected = "command line: `cluster.nats` cannot be `nats://(secret)@nats-1:4222`: expected nats://host:port";
    assert!(login.starts_with(expected), "{login}");
    let equal =
        Case::new().flag("session.encryption_key", "HIDDEN 1").flag("session.refresh_encryption_key", "HIDDEN 1");
    assert!(equal.faults().contains("are equal") && !equal.faults().contains("HIDDEN"), "{}", equal.faults());
}

#[test]
fn serve_refuses_keys_that_can_be_guessed_and_warns_of_short_ones() {
    for key in ["session.encryption_key", "session.refresh_encryption_key", "runtime.http_key"] {
        let faults = Case::new().flag(key, "7 bytes").faults();
        let expected = format!("command line: `{key}` is refused: it has 7 bytes and can be guessed");
        assert!(faults.starts_with(&expected), "{faults}");
        Case::new().dev().flag(key, "x").loaded();
        let told = |text: &str| Case::new().flag(key, text).loaded().notices.len();
        assert_eq!([told("eight by"), told("sixteen bytes!!!")], [1, 0], "{key}");
    }
    Case::new().flag("socket.server_key", "x").loaded();
}

#[test]
fn serve_refuses_published_keys_and_dev_uses_them() {
    for generated in &GENERATED {
        let faults = Case::new().flag(generated.name, generated.well_known).faults();
        let expected = format!("command line: `{}` is refused: this value is published", generated.name);
        assert!(faults.starts_with(&expected), "{faults}");
        let swapped = Case::new().flag(generated.name, "defaultkey").faults();
        assert!(swapped.starts_with(&expected), "{swapped}");
        Case::new().dev().flag(generated.name, generated.well_known).loaded();
    }
    let case = Case::new().dev();
    let config = case.loaded().config;
    assert_eq!(config.socket.server_key.expose(), "defaultkey");
    assert_eq!(config.session.refresh_encryption_key.expose(), "defaultrefreshencryptionkey");
    assert!(!case.folder.path().join("data").exists(), "dev generates nothing");
}

#[test]
fn empty_secrets_are_refused() {
    let faults = Case::new().flag("socket.server_key", "").faults();
    assert_eq!(
        faults,
        "command line: `socket.server_key` is refused: it may not be empty; leave it out to have one generated"
    );
}

#[test]
fn check_changes_nothing() {
    let case = Case::new();
    let flags = from_pairs(case.flags.iter().map(|(name, text)| (name.as_str(), text.as_str()))).expect("known keys");
    let report = check(ServerMode::Serve, &flags, []);
    assert!(report.loaded.is_some());
    assert!(report.text.contains("socket.server_key = (generated at first start)  [default]"), "{}", report.text);
    assert!(report.text.contains("socket.port = 7350  [default]"), "{}", report.text);
    assert!(!case.folder.path().join("data").exists());
}

#[test]
fn check_tells_what_is_not_honoured_and_what_is_wrong() {
    let report = |pairs: &[(&str, &str)]| {
        let flags = from_pairs(pairs.iter().copied()).expect("known keys");
        check(ServerMode::Dev, &flags, [])
    };
    let told = report(&[("leaderboard.callback_queue_size", "5"), ("satori.url", "x")]);
    assert!(told.loaded.is_some());
    let not_yet =
        "leaderboard.callback_queue_size [command line]: set but not honoured yet: leaderboards and tournaments\n";
    assert!(told.text.contains(not_yet), "{}", told.text);
    assert!(told.text.contains("satori.url [command line]: set but without meaning here: "), "{}", told.text);
    let wrong = report(&[("socket.port", "x"), ("live.shards", "x")]);
    assert!(wrong.loaded.is_none());
    assert!(wrong.text.starts_with("error: command line: `live.shards`"), "{}", wrong.text);
    assert!(wrong.text.ends_with("\n2 errors in the configuration\n"), "{}", wrong.text);
}
