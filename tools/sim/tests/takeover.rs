//! Fixed seeds with nodes that die and join have no violation, and every planted bug is found.

use muster_sim::takeover::{Fault, run};
use muster_sim::violation::Check;

/// Number of seeds that every test run covers.
const SEEDS: u64 = 150;

/// Most seeds that are tried until a fault shows.
const FAULT_SEEDS: u64 = 1_500;

#[test]
fn nothing_is_wrong_in_fixed_seeds() {
    for seed in 0..SEEDS {
        let outcome = run(seed, None, false);
        assert_eq!(outcome.violation, None, "replay: cargo run -p muster-sim -- takeover --seed {seed}");
    }
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_another() {
    let outcomes = [1, 2, 1].map(|seed| run(seed, None, false));
    assert_eq!(outcomes[0], outcomes[2]);
    assert_ne!(outcomes[0].hash, outcomes[1].hash);
}

/// The checks that a fault may violate.
fn shows_as(fault: Fault) -> &'static [Check] {
    match fault {
        Fault::LoseStanding => &[Check::Presences, Check::Conclusions, Check::Lost, Check::Answers],
        Fault::DoubleStanding => &[Check::Leaks, Check::Presences],
        Fault::LoseFence => &[Check::Rest, Check::Answers],
        Fault::LoseRoster | Fault::CutRoster => &[Check::Conclusions, Check::Mirror],
        Fault::KeepClosed => &[Check::Conclusions, Check::Presences, Check::Mirror],
        Fault::LoseFilling => &[Check::Filling],
        Fault::KeepListed => &[Check::Lobby],
        Fault::LoseTicket => &[Check::Tickets],
        Fault::KeepTicket => &[Check::Tickets, Check::Twice],
        Fault::OtherLeader | Fault::LoseKept | Fault::OldVariables => &[Check::Recovery],
        Fault::KeepHandedOver => &[Check::Owners],
        Fault::LoseHistory => &[Check::Lost],
        Fault::HearAgain => &[Check::Twice],
        Fault::LoseSaid | Fault::HearTwice => &[Check::Matches],
        Fault::LoseEntry | Fault::TakeLate | Fault::LoseSeat | Fault::LoseInputs => {
            &[Check::Matches, Check::Presences, Check::Stray]
        }
    }
}

#[test]
fn each_planted_bug_is_found_for_what_it_is() {
    for fault in Fault::ALL {
        let shown = (0..FAULT_SEEDS).find_map(|seed| Some((seed, run(seed, Some(fault), false).violation?)));
        let (seed, violation) = shown.unwrap_or_else(|| panic!("{fault:?} was not found in {FAULT_SEEDS} seeds"));
        assert!(shows_as(fault).contains(&violation.check), "{fault:?} showed in seed {seed} as {violation}");
    }
}
