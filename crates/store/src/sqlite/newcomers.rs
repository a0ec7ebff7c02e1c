//! Whether sign-ins are mostly by new players just now, as on the day of a launch. Looking for them by a reader first is
//! then wasted: they all go on to the writer, which looks again anyway.

use std::sync::atomic::{AtomicU32, Ordering};

/// How many of the last 32 sign-ins must have made an account for newcomers to prevail.
const NEWCOMERS_MIN: u32 = 30;

/// The last 32 sign-ins, the latest in the lowest bit, a one for each that made an account.
#[derive(Default)]
pub(super) struct Newcomers {
    recent: AtomicU32,
}

impl Newcomers {
    /// Notes one more sign-in. Two at the same moment may count as one: it is a guess, not a record.
    pub(super) fn note(&self, created: bool) {
        let recent = self.recent.load(Ordering::Relaxed);
        self.recent.store(recent << 1 | u32::from(created), Ordering::Relaxed);
    }

    /// See the module. A wrong guess costs a known player the wait for one sync.
    pub(super) fn prevail(&self) -> bool {
        self.recent.load(Ordering::Relaxed).count_ones() >= NEWCOMERS_MIN
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changes_its_mind_with_the_crowd() {
        let newcomers = Newcomers::default();
        assert!(!newcomers.prevail());
        (0..NEWCOMERS_MIN).for_each(|_| newcomers.note(true));
        assert!(newcomers.prevail());
        (0..3).for_each(|_| newcomers.note(false));
        assert!(!newcomers.prevail());
    }
}
