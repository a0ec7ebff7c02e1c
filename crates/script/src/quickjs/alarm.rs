//! The alarm of a machine. QuickJS looks at the time when a counter in its context has come down from some thousand
//! steps to zero, and one step may take long, such as the division of a number of a million digits. At the end of a
//! slice the alarm sets the counter to zero, so that QuickJS looks at the time after the step.
//!
//! QuickJS has no function for the counter. Its place is found by its value, which some steps change by their number.

#![expect(unsafe_code, reason = "QuickJS has no function for its counter of steps")]

use std::ptr::null_mut;
use std::sync::atomic::{AtomicI32, AtomicPtr, Ordering};

use rquickjs::{Ctx, qjs};

use crate::process::clock::SliceAlarm;

/// A script of so many steps: one or two for each turn of the loop, and some more to begin and end.
const SCRIPT: &str = "for (let turn = 0; turn < 1000; turn += 1);";
const STEPS: std::ops::Range<i32> = 1_000..2_100;

/// Attempts to find the counter. One fails if the counter comes down to zero and begins anew within it.
const ATTEMPTS: usize = 3;

/// The alarm of a machine, once it knows the counter.
#[derive(Default)]
pub(super) struct StepAlarm {
    counter: AtomicPtr<AtomicI32>,
}

impl StepAlarm {
    /// Finds the counter of a context. Answers whether it was found: otherwise the alarm does nothing.
    pub(super) fn connect(&self, ctx: &Ctx<'_>) -> bool {
        let found = (0..ATTEMPTS).find_map(|_| find(ctx)).unwrap_or(null_mut());
        self.counter.store(found, Ordering::Release);
        !found.is_null()
    }
}

impl SliceAlarm for StepAlarm {
    fn ring(&self) {
        let counter = self.counter.load(Ordering::Acquire);
        // SAFETY: the clock rings only while the thread is in a turn of the machine, which keeps the context. QuickJS
        // may write the counter at the same time, and the ring is lost then: the clock rings again.
        if let Some(counter) = unsafe { counter.as_ref() } {
            counter.store(0, Ordering::Relaxed);
        }
    }

    // QuickJS itself sets the counter anew when it has looked at the time.
    fn silence(&self) {}
}

/// The place of the counter: the only number in the context that falls by the steps of a script, twice.
fn find(ctx: &Ctx<'_>) -> Option<*mut AtomicI32> {
    let raw = ctx.as_raw().as_ptr();
    let context = raw.cast::<i32>();
    // SAFETY: QuickJS made the context as a block of its own.
    let bytes = unsafe { qjs::js_malloc_usable_size(raw, raw.cast()) };
    let numbers = usize::try_from(bytes).ok()? / size_of::<i32>();
    // SAFETY: the block has so many numbers, and all of them were written when the context was made.
    let look = || (0..numbers).map(|at| unsafe { context.add(at).read_volatile() }).collect::<Vec<_>>();
    let before = look();
    ctx.eval::<(), _>(SCRIPT).ok()?;
    let between = look();
    ctx.eval::<(), _>(SCRIPT).ok()?;
    let after = look();
    let is_counter = |at: &usize| {
        let fallen = before[*at].wrapping_sub(between[*at]);
        STEPS.contains(&fallen) && between[*at].wrapping_sub(after[*at]) == fallen
    };
    let mut found = (0..numbers).filter(is_counter);
    let at = found.next().filter(|_| found.next().is_none())?;
    // SAFETY: the place lies within the block.
    Some(unsafe { context.add(at) }.cast())
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;
    use std::rc::Rc;

    use rquickjs::{Context, Runtime};

    use super::*;

    #[test]
    fn a_rung_alarm_is_heard_after_the_step() {
        let runtime = Runtime::new().unwrap();
        let context = Context::full(&runtime).unwrap();
        let alarm = StepAlarm::default();
        // Without a counter, nothing happens.
        alarm.ring();
        assert!(context.with(|ctx| alarm.connect(&ctx)));
        let looks = Rc::new(Cell::new(0));
        let counted = looks.clone();
        runtime.set_interrupt_handler(Some(Box::new(move || {
            counted.set(counted.get() + 1);
            false
        })));
        let steps = || context.with(|ctx| ctx.eval::<(), _>("for (let step = 0; step < 10; step += 1);").unwrap());
        steps();
        assert_eq!(looks.get(), 0);
        for rung in 1..=3 {
            alarm.ring();
            steps();
            assert_eq!(looks.get(), rung);
        }
    }
}
