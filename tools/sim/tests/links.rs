//! Links keep their promises in fixed seeds, and every check finds the bugs that are planted for it.

use muster_sim::links::{Check, Fault, Violation, run};

/// Number of seeds that every test run covers.
const SEEDS: u64 = 300;

#[test]
fn nothing_is_wrong_in_fixed_seeds() {
    for seed in 0..SEEDS {
        let outcome = run(seed, None, false);
        assert_eq!(outcome.violation, None, "replay: cargo run -p muster-sim -- links --seed {seed}");
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
        Fault::LoseBatch | Fault::DoubleBatch | Fault::SwapBatches | Fault::CutBatch => &[Check::Order, Check::Rest],
        Fault::LateBatch => &[Check::Stray],
        Fault::Renumber => &[Check::Order, Check::Limits],
        Fault::InventAcknowledgement => &[Check::Limits, Check::Rest, Check::Order],
        Fault::LoseForever | Fault::StopTime => &[Check::Rest],
        Fault::MuteCongestion => &[Check::Congestion],
        Fault::Babble => &[Check::Idle],
    }
}

#[test]
fn each_planted_bug_is_found_for_what_it_is_and_every_check_finds_one() {
    let mut found = Vec::new();
    for fault in Fault::ALL {
        let shown = (0..SEEDS).find_map(|seed| Some((seed, run(seed, Some(fault), false).violation?)));
        let (seed, Violation { check, detail }) = shown.unwrap_or_else(|| panic!("{fault:?} was not found"));
        assert!(shows_as(fault).contains(&check), "{fault:?} showed in seed {seed} as {check:?}: {detail}");
        found.push(check);
        // A fault may violate different checks in different seeds.
        for other in shows_as(fault) {
            let shows =
                |seed| run(seed, Some(fault), false).violation.is_some_and(|other_one| other_one.check == *other);
            if !found.contains(other) && (0..SEEDS).any(shows) {
                found.push(*other);
            }
        }
    }
    for check in Check::ALL {
        assert!(found.contains(&check), "no planted bug violates {check:?}");
    }
}
