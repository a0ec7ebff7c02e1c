//! The clock and randomness of JavaScript in recorded matches: within a callback the clock stands, and numbers follow from
//! the match's secret seed and the number of the call.

use rquickjs::{Ctx, Function, Result};

use crate::host::Current;

/// What is replaced, over functions that answer of the match.
const REPLACING: &str = include_str!("fated.js");

/// Replaces the functions in a machine.
pub(super) fn replace(ctx: &Ctx<'_>, current: &Current) -> Result<()> {
    let its = current.clone();
    // Outside of callbacks nothing runs but what every machine runs alike.
    let now = Function::new(ctx.clone(), move || {
        its.recorded_call().map_or(0.0, |call| call.now().0.div_euclid(1_000) as f64)
    })?;
    let its = current.clone();
    let fraction = Function::new(ctx.clone(), move || its.recorded_call().map_or(0.0, |call| call.chance.fraction()))?;
    let install: Function<'_> = ctx.eval(REPLACING)?;
    install.call((now, fraction))
}
