//! Clock and randomness of JavaScript that give a recorded match the same answers in every replay. The clock stands
//! still within a callback, and random numbers follow from the match's secret seed and the number of the call.

use rquickjs::{Ctx, Function, Result};

use crate::host::Current;

/// Source of a function that replaces the builtins. Its arguments are functions that read the match's clock and random
/// numbers.
const BUILTINS: &str = include_str!("deterministic.js");

/// Replaces the builtins in a machine.
pub(super) fn replace(ctx: &Ctx<'_>, current: &Current) -> Result<()> {
    let its = current.clone();
    // Outside of callbacks only code runs that does the same in every machine, so constants suffice.
    let now = Function::new(ctx.clone(), move || {
        its.recorded_call().map_or(0.0, |call| call.now().0.div_euclid(1_000) as f64)
    })?;
    let its = current.clone();
    let fraction = Function::new(ctx.clone(), move || its.recorded_call().map_or(0.0, |call| call.chance.fraction()))?;
    let install: Function<'_> = ctx.eval(BUILTINS)?;
    install.call((now, fraction))
}

#[cfg(test)]
mod tests {
    use rquickjs::{Context, Runtime};

    use super::*;

    #[test]
    fn nothing_tells_the_time_or_chances_but_the_match() {
        let runtime = Runtime::new().unwrap();
        let context = Context::full(&runtime).unwrap();
        let told = context.with(|ctx| {
            let now = Function::new(ctx.clone(), || 1_000.0).unwrap();
            let fraction = Function::new(ctx.clone(), || 0.5).unwrap();
            ctx.eval::<Function<'_>, _>(BUILTINS).unwrap().call::<_, ()>((now, fraction)).unwrap();
            let script = "[
                Date.now(), +new Date(), +new (class extends Date {})(),
                +Reflect.construct(new Date(0).constructor, []),
                Date() === new Date(1000).toString(), performance.now(), performance.timeOrigin, Math.random(),
                typeof WeakRef, typeof FinalizationRegistry, Object.keys(performance).join(),
            ].join(' ')";
            ctx.eval::<String, _>(script).unwrap()
        });
        assert_eq!(told, "1000 1000 1000 1000 true 1000 0 0.5 undefined undefined now,timeOrigin");
    }
}
