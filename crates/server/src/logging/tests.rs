//! Tests of the logs: content of lines, outputs, and an output that takes no more lines.

use std::{
    fs, io,
    os::unix::fs::PermissionsExt as _,
    sync::{Arc, Mutex, mpsc},
};

use super::*;
use crate::config::{KeyFile, ServerMode, from_pairs, load};

/// Standard output for a test.
#[derive(Clone, Default)]
struct Captured(Arc<Mutex<Vec<u8>>>);

impl io::Write for Captured {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().expect("not poisoned").extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

fn logger(pairs: &[(&str, &str)]) -> Logger {
    let flags = from_pairs(pairs.iter().copied()).expect("known keys");
    load(ServerMode::Dev, KeyFile::Ignore, &flags, []).expect("loads").config.logger
}

/// Logs two lines and answers what standard output got.
fn written(pairs: &[(&str, &str)], terminal: bool) -> String {
    let captured = Captured::default();
    let (subscriber, guard) = subscriber(&logger(pairs), Box::new(captured.clone()), terminal).expect("is set up");
    tracing::subscriber::with_default(subscriber, || {
        tracing::debug!(session = 7, "frame received");
        tracing::info!(session = 7, reason = "idle", "socket closed");
        tracing::debug!(target: "a_library", "details");
    });
    drop(guard);
    String::from_utf8(captured.0.lock().expect("not poisoned").clone()).expect("UTF-8")
}

#[test]
fn json_for_machines() {
    for pairs in [&[] as &[(&str, &str)], &[("logger.format", "json")], &[("logger.format", "stackdriver")]] {
        let text = written(pairs, false);
        let line: serde_json::Value = serde_json::from_str(&text).expect("one JSON object");
        assert_eq!(line["message"], "socket closed");
        assert_eq!(line["level"], "INFO");
        assert_eq!(line["session"], 7);
        assert_eq!(line["reason"], "idle");
        assert!(line["timestamp"].as_str().is_some_and(|time| time.ends_with('Z')), "{text}");
    }
}

#[test]
fn plain_text_for_people() {
    let text = written(&[("logger.format", "human")], false);
    assert!(text.contains("INFO") && text.contains("socket closed session=7 reason=\"idle\""), "{text}");
    assert!(!text.contains('\u{1b}'), "no colours but on a terminal");
    assert!(written(&[], true).contains("socket closed"));
    assert!(serde_json::from_str::<serde_json::Value>(&written(&[], true)).is_err());
}

#[test]
fn levels() {
    assert_eq!(written(&[("logger.level", "DEBUG")], false).lines().count(), 2, "our own details, no library's");
    assert_eq!(written(&[("logger.level", "warn")], false), "");
    assert_eq!(written(&[("logger.stdout", "false")], false), "");
}

#[test]
fn the_file_is_appended_to() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("muster.log");
    fs::write(&path, "before\n").expect("a file");
    let path_text = path.display().to_string();
    assert!(!written(&[("logger.file", &path_text)], true).is_empty());
    let text = fs::read_to_string(&path).expect("is there");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 2, "{text}");
    assert_eq!(lines[0], "before");
    assert!(lines[1].starts_with('{'), "{text}");
}

#[test]
fn a_file_that_was_moved_away_is_opened_anew() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let [path, moved] = ["muster.log", "muster.log.1"].map(|name| folder.path().join(name));
    let settings = logger(&[("logger.file", &path.display().to_string()), ("logger.stdout", "false")]);
    let (subscriber, guard) = subscriber(&settings, Box::new(io::sink()), false).expect("is set up");
    tracing::subscriber::with_default(subscriber, || tracing::info!("before"));
    fs::rename(&path, &moved).expect("the file is there");
    guard.reopen();
    drop(guard);
    assert!(fs::read_to_string(&moved).expect("is there").contains("before"));
    assert_eq!(fs::read_to_string(&path).expect("a new file is there"), "");
    let mode = fs::metadata(&path).expect("is there").permissions().mode();
    assert_eq!(mode & 0o007, 0, "strangers on the machine do not read it: {mode:o}");
}

#[test]
fn a_file_that_cannot_be_opened_is_told() {
    let error = subscriber(&logger(&[("logger.file", "/nowhere/muster.log")]), Box::new(io::sink()), false).err();
    let text = error.map(|error| error.to_string()).unwrap_or_default();
    assert!(text.starts_with("cannot append to the log file /nowhere/muster.log (`logger.file`): "), "{text}");
}

/// An output that takes nothing until it is told to.
struct Stuck {
    go: mpsc::Receiver<()>,
    to: Captured,
}

impl io::Write for Stuck {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        // The receive ends when the test drops the sender.
        let _ = self.go.recv();
        self.to.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn a_stuck_output_costs_lines_and_no_time() {
    let (let_go, go) = mpsc::sync_channel(1);
    let captured = Captured::default();
    let stuck = Stuck { go, to: captured.clone() };
    let (subscriber, guard) = subscriber(&logger(&[]), Box::new(stuck), false).expect("is set up");
    let long = "x".repeat(64 << 10);
    tracing::subscriber::with_default(subscriber, || (0..200).for_each(|_| tracing::info!(long, "line")));
    let lost = guard.lost_lines().load(std::sync::atomic::Ordering::Relaxed);
    assert!(lost > 0 && lost < 200, "{lost}");
    drop(let_go);
    drop(guard);
    let text = String::from_utf8(captured.0.lock().expect("not poisoned").clone()).expect("UTF-8");
    let told = format!("{{\"level\":\"WARN\",\"message\":\"log lines dropped\",\"count\":{lost}}}");
    assert!(text.lines().any(|line| line == told), "the log says that {lost} lines are missing");
    assert_eq!(text.lines().count() as u64, 200 - lost + 1);
}
