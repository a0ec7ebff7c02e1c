//! Tests with matchmakers that match incompatible tickets, or none.

use crate::support::Manner::*;
use crate::support::{Manner, ToolOutput, bench};

fn matchmake(manner: Manner, scenario: &str) -> ToolOutput {
    // The tool waits for standing tickets in any case, with an honest server too.
    let patience = if manner == Honest { 3.0 } else { 0.6 };
    bench(manner, &format!("matchmake -c 40 --rate 200 --duration 0.5 --warmup 0 --patience {patience} {scenario}"))
}

#[test]
fn tickets_find_each_other() {
    for scenario in ["", "--format protobuf", "--standing 20", "--duels 100", "-p 2"] {
        let said = matchmake(Honest, scenario);
        assert_eq!(said.number("errors"), 0.0, "{scenario}: {}", said.first_line);
        let (ok, unmatched) = (said.number("ok"), said.number("unmatched"));
        assert!(ok > 40.0 && unmatched < 20.0, "{scenario}: {}", said.figures);
        assert!(said.number("ticket_count") >= ok, "{}", said.figures);
        assert!(said.number("p50_ms") > 0.0);
    }
}

#[test]
fn matchmakers_that_go_wrong_are_named() {
    for (manner, reason) in [
        (MatchesAnybody, "wrong answer: a match that a member did not ask for"),
        (MatchesTwice, "wrong answer: a match for a ticket that does not wait"),
        (NeverMatches, "tickets that fit each other were left waiting"),
        (TellsOneOnly, "a member was not told of its match"),
    ] {
        let said = matchmake(manner, "");
        assert!(said.errors(reason) >= 3, "{manner:?}: {}", said.first_line);
        assert_eq!(said.exit_code, Some(1));
    }
    let standing = matchmake(MatchesAnybody, "--standing 20");
    assert!(standing.errors("wrong answer: a standing ticket was matched") > 0, "{}", standing.first_line);
    assert!(matchmake(NeverMatches, "").errors("no player was free for a ticket") > 0);
}
