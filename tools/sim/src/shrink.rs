//! The search for a shorter scenario that fails the same check as a given one.

use std::rc::Rc;

use crate::faults::Fault;
use crate::scenario::Scenario;
use crate::violation::Check;
use crate::world;

/// The shortest scenario found that still violates the check. Groups of acts are left out, first half of the acts, then
/// ever smaller groups.
pub fn shrink(scenario: &Scenario, check: Check, fault: Option<Fault>) -> Scenario {
    let mut best = scenario.clone();
    let fails = |scenario: Scenario| {
        let scenario = Rc::new(scenario);
        let outcome = world::run(&scenario, fault, false);
        outcome.violation.is_some_and(|violation| violation.check == check).then(|| Rc::unwrap_or_clone(scenario))
    };
    let mut piece = best.acts.len().div_ceil(2);
    while piece > 0 {
        let before = best.acts.len();
        let mut at = 0;
        while at < best.acts.len() {
            let mut shorter = best.clone();
            shorter.acts.drain(at..(at + piece).min(best.acts.len()));
            match fails(shorter) {
                Some(shorter) => best = shorter,
                None => at += piece,
            }
        }
        // Single acts are tried repeatedly while that helps: without one act, another may become unnecessary.
        if piece > 1 || best.acts.len() == before {
            piece /= 2;
        }
    }
    best
}
