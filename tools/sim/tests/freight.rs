//! Messages between nodes arrive in fixed seeds, and every check finds the bugs that are planted for it.

use muster_sim::freight::{Check, Fault, run};

/// Number of seeds that every test run covers.
const SEEDS: u64 = 400;

#[test]
fn nothing_is_wrong_in_fixed_seeds() {
    for seed in 0..SEEDS {
        let outcome = run(seed, None, false);
        assert_eq!(outcome.violation, None, "replay: cargo run -p muster-sim -- freight --seed {seed}");
    }
    assert!((0..SEEDS).any(|seed| run(seed, None, false).steps > 100));
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
        Fault::LoseEarly => &[Check::Lost, Check::Order, Check::Answers],
        Fault::SwapEarly | Fault::SwapRun | Fault::DoubleRun => &[Check::Order],
        Fault::KeepFormer => &[Check::Stray, Check::Order],
        Fault::OtherLane => &[Check::Stray, Check::Order, Check::Lost],
        Fault::KeepUnread => &[Check::Answers],
    }
}

#[test]
fn each_planted_bug_is_found_for_what_it_is_and_every_check_finds_one() {
    let mut found = Vec::new();
    for fault in Fault::ALL {
        let shown = (0..SEEDS).filter_map(|seed| Some((seed, run(seed, Some(fault), false).violation?)));
        let shown: Vec<_> = shown.collect();
        assert!(!shown.is_empty(), "{fault:?} was not found");
        for (seed, violation) in shown {
            assert!(shows_as(fault).contains(&violation.check), "{fault:?} showed in seed {seed} as {violation}");
            found.push(violation.check);
        }
    }
    for check in Check::ALL {
        assert!(found.contains(&check), "no planted bug violates {check:?}");
    }
}
