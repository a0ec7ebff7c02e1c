//! Fixed seeds have no violation, and their runs do not change from one to the next.

use std::rc::Rc;

use muster_sim::scenario::generate;
use muster_sim::world::run;

#[test]
fn nothing_is_wrong_in_fixed_seeds() {
    for seed in 0..50 {
        let outcome = run(&Rc::new(generate(seed)), None, false);
        assert_eq!(outcome.violation, None, "replay: cargo run -p muster-sim -- --seed {seed}");
    }
}

#[test]
fn the_same_seed_gives_the_same_run_and_another_another() {
    let outcomes = [1, 2, 1].map(|seed| run(&Rc::new(generate(seed)), None, false));
    assert_eq!(outcomes[0], outcomes[2]);
    assert_ne!(outcomes[0].hash, outcomes[1].hash);
}
