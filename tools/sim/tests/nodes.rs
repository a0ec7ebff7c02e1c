//! Memberships keep their promises in fixed seeds, and every check finds the bugs that are planted for it.

use muster_sim::nodes::{Check, Fault, Violation, failover, run};

/// Number of seeds that every test run covers.
const SEEDS: u64 = 40;
/// Most seeds that are tried until a fault shows.
const FAULT_SEEDS: u64 = 300;

#[test]
fn nothing_is_wrong_in_fixed_seeds() {
    for seed in 0..SEEDS {
        let outcome = run(seed, None, false);
        assert_eq!(outcome.violation, None, "replay: cargo run -p muster-sim -- nodes --seed {seed}");
    }
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_another() {
    let outcomes = [1, 2, 1].map(|seed| run(seed, None, false));
    assert_eq!(outcomes[0], outcomes[2]);
    assert_ne!(outcomes[0].hash, outcomes[1].hash);
}

#[test]
fn what_a_crashed_node_owned_has_owners_soon_and_what_a_halted_one_owned_after_its_lease() {
    for seed in 0..8 {
        let crashed = failover(seed, 4, 1, true).expect("owners");
        assert!(crashed <= 1_500, "{crashed} ms after a crash in seed {seed}");
        let halted = failover(seed, 4, 1, false).expect("owners");
        assert!((4_000..=8_000).contains(&halted), "{halted} ms after one stopped in seed {seed}");
        // Several crashes at once may look like trouble of the bus.
        let several = failover(seed, 4, 2, true).expect("owners");
        assert!(several <= 5_000, "{several} ms after two crashed in seed {seed}");
    }
}

/// The checks that a fault may violate.
fn shows_as(fault: Fault) -> &'static [Check] {
    match fault {
        Fault::IgnoreExpected => &[Check::Owner, Check::Epochs, Check::Numbers, Check::HandOver, Check::Belief],
        Fault::StealPartition => &[Check::Owner],
        Fault::LowerEpochs => &[Check::Epochs],
        Fault::ReuseNumber => &[Check::Numbers],
        Fault::MoveAll => &[Check::Moves],
        Fault::SkipHandOver => &[Check::HandOver],
        Fault::ExpireEarly | Fault::HideLoss | Fault::SlowClock => &[Check::Belief, Check::Steadfast],
        Fault::FalseNobody => &[Check::Belief, Check::Steadfast, Check::Rest],
        Fault::DeafWatch | Fault::KeepPartitions => &[Check::Rest],
        Fault::HideShards => &[Check::Balance],
        Fault::HideJobs => &[Check::Jobs],
    }
}

#[test]
fn each_planted_bug_is_found_for_what_it_is_and_every_check_finds_one() {
    let mut found = Vec::new();
    for fault in Fault::ALL {
        let shown = (0..FAULT_SEEDS).find_map(|seed| Some((seed, run(seed, Some(fault), false).violation?)));
        let (seed, Violation { check, detail }) = shown.unwrap_or_else(|| panic!("{fault:?} was not found"));
        assert!(shows_as(fault).contains(&check), "{fault:?} showed in seed {seed} as {check:?}: {detail}");
        found.push(check);
    }
    for check in Check::ALL {
        assert!(found.contains(&check), "no planted bug violates {check:?}");
    }
}
