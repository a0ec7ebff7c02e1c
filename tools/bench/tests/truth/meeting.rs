//! Tests with players who talk in groups, on servers that lose, double, swap, alter and misplace messages.

use crate::support::Manner::*;
use crate::support::{Manner, ToolOutput, bench, patience};

fn run(manner: Manner, scenario: &str) -> ToolOutput {
    let patience = patience(manner, 1.5);
    bench(manner, &format!("{scenario} -c 6 --room-size 3 --duration 0.4 --warmup 0 --patience {patience}"))
}

#[test]
fn honest_servers_deliver_everything() {
    for scenario in [
        "chat",
        "chat --format protobuf",
        "chat --message-bytes 200",
        "chat --rate 200",
        "relay --each 50 --arrivals fixed",
        "relay --each 50 --arrivals fixed --format protobuf",
        "match --each 50 --arrivals fixed",
        "match --each 50 --arrivals fixed --format protobuf",
    ] {
        let said = run(Honest, scenario);
        assert_eq!(said.number("errors"), 0.0, "{scenario}: {}", said.first_line);
        let (ok, messages_in) = (said.number("ok"), said.number("messages_in_per_s"));
        assert!(ok > 0.0 && messages_in > 0.0, "{scenario}: {}", said.figures);
        if scenario.starts_with("relay") {
            // Each of the six sends twenty messages to the two others; one may be due at the window's end.
            assert!((238.0..=240.0).contains(&ok), "{scenario}: {}", said.figures);
        } else if scenario.starts_with("match") {
            // Ten of the twenty come back to their sender, the others go to all three.
            assert!((237.0..=240.0).contains(&ok), "{scenario}: {}", said.figures);
        } else {
            assert_eq!(ok % 3.0, 0.0, "whoever speaks is heard by all three: {scenario}: {}", said.figures);
        }
    }
}

#[test]
fn part_filled_rooms_are_rooms_too() {
    let said = bench(Honest, "chat -c 7 --room-size 3 --duration 0.3 --warmup 0");
    assert_eq!(said.number("errors"), 0.0, "{}", said.first_line);
}

#[test]
fn what_goes_wrong_on_the_way_is_named() {
    let scenarios = ["chat --rate 300", "relay --rate 300", "match --rate 300", "chat --rate 300 --format protobuf"];
    for (manner, reason) in [
        (DoublesEvery(10), "message delivered twice"),
        (AltersEvery(10), "wrong answer: content, or not by this sender in this room"),
        (MisattributesEvery(10), "wrong answer: content, or not by this sender in this room"),
        (MisroutesEvery(10), "wrong answer: a message for another room"),
        (SwapsEvery(10), "message out of order"),
        (LosesEvery(10), "message lost"),
    ] {
        for scenario in scenarios {
            let said = run(manner, scenario);
            assert!(said.errors(reason) >= 3, "{manner:?}, {scenario}: {}", said.first_line);
            assert_eq!(said.exit_code, Some(1));
        }
    }
}

#[test]
fn a_lost_message_is_counted_once() {
    // Of 120 deliveries each tenth is lost. Those overtaken by a later one of the same sender count as lost, the last
    // ones of each sender as unanswered.
    let said = run(LosesEvery(10), "relay --rate 150 --arrivals fixed");
    let (lost, unanswered) = (said.errors("message lost"), said.errors("no answer in time"));
    assert_eq!(lost + unanswered, said.number("errors") as u64, "{}", said.first_line);
    let total = said.number("ok") as u64 + lost + unanswered;
    assert_eq!((lost + unanswered), total / 10, "{}", said.first_line);
}

#[test]
fn a_missing_acknowledgement_is_an_error() {
    let said = run(NeverAcknowledges, "chat");
    assert_eq!(said.only_errors("no answer in time"), 6, "each player has one message under way");
}

#[test]
fn a_lost_message_stops_a_closed_loop_and_is_an_error() {
    let said = run(LosesEvery(50), "chat");
    assert!(said.errors("no answer in time") > 0, "{}", said.first_line);
}

#[test]
fn closed_sockets_are_errors() {
    let said = run(ClosesAfter(20), "chat");
    assert!(said.number("errors") > 0.0, "{}", said.first_line);
    assert_eq!(said.exit_code, Some(1));
}

#[test]
fn refused_players_are_errors() {
    for scenario in ["chat", "relay"] {
        let said = run(RefusesJoins, scenario);
        assert!(said.first_line.contains("6 ERRORS"), "{}", said.first_line);
        assert!(said.first_line.contains("realtime error 3"), "{}", said.first_line);
    }
}
