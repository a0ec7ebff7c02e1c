//! A guess whether most sign-ins at present are of new players, as on the day of a launch. A reader then searches for
//! accounts in vain, so those sign-ins go straight to the writer, which searches again anyway.

use std::sync::atomic::{AtomicU32, Ordering};

/// Number of the last 32 sign-ins that must have created an account for newcomers to prevail.
const NEWCOMERS_MIN: u32 = 30;

/// The last 32 sign-ins, one bit each, the latest in the lowest bit. A bit is set if the sign-in created an account.
#[derive(Default)]
pub(super) struct Newcomers {
    recent: AtomicU32,
}

impl Newcomers {
    /// Notes one more sign-in. Two sign-ins at the same moment may count as one, because this is only a guess.
    pub(super) fn note(&self, created: bool) {
        let recent = self.recent.load(Ordering::Relaxed);
        self.recent.store(recent << 1 | u32::from(created), Ordering::Relaxed);
    }

    /// Whether most recent sign-ins are of new players. A wrong guess costs a known player the wait for one sync.
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
