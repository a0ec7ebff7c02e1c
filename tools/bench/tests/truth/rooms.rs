//! Tests with rooms that fill, soak and empty, on servers that misbehave.

use crate::support::Manner::*;
use crate::support::{Manner, ToolOutput, bench, bench_all, patience};

/// Nine players who come within a tenth of a second, talk every tenth of a second, and stay for half a second.
fn rooms(manner: Manner, scenario: &str) -> ToolOutput {
    let arguments = "-c 9 --connect-rate 90 --each 10 --duration 0.5 --warmup 1 --leave-rate 90";
    bench(manner, &format!("{scenario} {arguments} --patience {}", patience(manner, 1.0)))
}

#[test]
fn rooms_are_filled_by_the_server_or_by_the_generator() {
    for scenario in
        ["rooms", "rooms --format protobuf", "rooms --via chat", "rooms --via chat --room-size 3 --persistent"]
    {
        let said = rooms(Honest, scenario);
        assert_eq!(said.number("errors"), 0.0, "{scenario}: {}", said.first_line);
        // Nine players send five messages each, to three or more players including themselves.
        assert!(said.number("ok") >= 9.0 * 4.0 * 2.0, "{scenario}: {}", said.figures);
        assert_eq!((said.number("arrival_count"), &said.figures["loop"]), (9.0, &"open".into()));
        if !scenario.ends_with("chat") {
            assert_eq!(said.number("rooms"), 3.0, "{scenario}: {}", said.figures);
        }
    }
}

#[test]
fn several_processes_meet_in_the_rooms_of_the_server() {
    let said = rooms(Honest, "rooms -p 3");
    assert_eq!((said.number("errors"), said.number("processes")), (0.0, 3.0), "{}", said.first_line);
    let lossy = rooms(LosesEvery(20), "rooms -p 3");
    assert!(lossy.errors("message lost") > 2, "{}", lossy.first_line);
}

#[test]
fn servers_that_know_nothing_of_each_other_are_measured_together() {
    let times = "--connect-rate 120 --duration 0.5 --warmup 1 --leave-rate 120";
    for scenario in ["rooms --via chat", "rooms", "chat --room-size 3", "relay"] {
        // One process that uses both servers, and one process for each server.
        for processes in [1, 2] {
            let each = if scenario.starts_with("chat") { "" } else { "--each 10" };
            let arguments = format!("{scenario} -c 12 -p {processes} {each} {times}");
            let said = bench_all(&[Honest, Honest], &arguments);
            assert_eq!(said.number("errors"), 0.0, "{arguments}: {}", said.first_line);
            assert!(said.number("ok") > 30.0, "{arguments}: {}", said.figures);
        }
    }
    let one_bad = bench_all(&[Honest, LosesEvery(10)], &format!("rooms -c 12 -p 2 --each 10 {times} --patience 1"));
    assert!(one_bad.errors("message lost") > 2, "{}", one_bad.first_line);
}

#[test]
fn rooms_that_go_wrong_are_named() {
    for (manner, reason) in [
        (DoublesEvery(10), "message delivered twice"),
        (AltersEvery(10), "wrong answer: content, or not by this sender in this room"),
        (MisattributesEvery(10), "wrong answer: content, or not by this sender in this room"),
        (MisroutesEvery(10), "wrong answer: a message for another room"),
        (SwapsEvery(10), "message out of order"),
        (LosesEvery(10), "message lost"),
    ] {
        for scenario in ["rooms", "rooms --via chat"] {
            let said = rooms(manner, scenario);
            assert!(said.errors(reason) >= 3, "{manner:?}, {scenario}: {}", said.first_line);
        }
    }
    let overfull = rooms(Overfills, "rooms");
    assert!(overfull.errors("arrival: wrong answer: more players than seats") > 0, "{}", overfull.first_line);
    let dropped = rooms(ClosesAfter(50), "rooms");
    assert!(dropped.first_line.contains("dropped: "), "{}", dropped.first_line);
    assert!(dropped.number("drops") > 0.0);
    rooms(NeverAcknowledges, "rooms --via chat").only_errors("no answer in time");
}

/// All messages of the last beats are held back: nothing overtakes them, and they must be noticed all the same.
#[test]
fn silence_at_the_end_is_noticed() {
    let said = rooms(FallsSilentAfter(100), "rooms");
    assert!(said.only_errors("message lost") > 20, "{}", said.first_line);
}

/// A soak of three seconds with two replaced players, two who stop reading and two who vanish.
fn churn(manner: Manner) -> ToolOutput {
    let arguments = "-c 40 --connect-rate 400 --each 10 --replaced 100 --stopped 5 --half-open 5 --metrics STUB";
    let times = "--duration 3 --warmup 1 --leave-rate 200 --patience 1";
    bench(manner, &format!("churn {arguments} {times} --pid {}", std::process::id()))
}

#[test]
fn churn_replaces_players_and_keeps_count() {
    let said = churn(Honest);
    assert_eq!(said.number("errors"), 0.0, "{}", said.first_line);
    assert!((said.number("stopped_readers"), said.number("half_open")) == (2.0, 2.0), "{}", said.figures);
    let replaced = said.number("replaced");
    assert!((1.0..=3.0).contains(&replaced), "40 players a minute: {}", said.figures);
    assert_eq!(said.number("arrival_count"), 40.0 + replaced);
    assert!(said.figures.get("rss_growth_last_half_percent").is_some(), "{}", said.figures);
}

#[test]
fn what_players_leave_behind_is_an_error() {
    let said = churn(LeaksGauge);
    assert!(said.first_line.contains("gauge stub_sessions{shard=\"0\"} is "), "{}", said.first_line);
    assert_eq!(said.exit_code, Some(1));
}
