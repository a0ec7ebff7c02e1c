//! Work of queries, counted so that no query holds a shard. A count depends on the query and the documents alone:
//! nothing here reads a clock.

/// Number of steps that make one unit of [`Work`]. A step is a state of a regular expression against a byte, a letter
/// of a wildcard against a letter, or a value that is compared.
const STEPS_PER_UNIT: u32 = 12;

/// Most work of one check of one document, about 0.2 ms. A document whose check needs more does not match.
pub const CHECK_UNITS_MAX: u32 = 4_000;
/// Most work of looking up a query's terms in an index, about 0.1 ms. Terms beyond it are asked of the documents.
pub const LOOKUP_UNITS_MAX: u32 = 2_000;
/// Most work that queries may cause in one step of a shard, about 2 ms. Slices are shorter by what a step may
/// overspend.
pub const STEP_UNITS_MAX: u32 = 40_000;

/// Work of one step, counted against a limit in units of about 50 nanoseconds on one core. The last part of a step may
/// exceed the limit.
#[derive(Clone, Debug)]
pub struct Work {
    limit: u64,
    spent: u64,
    checks_limited: u64,
}

impl Work {
    /// No work yet, with a limit in units.
    pub fn new(limit: u32) -> Self {
        Self { limit: limit.into(), spent: 0, checks_limited: 0 }
    }

    /// No work yet, without a limit.
    pub fn endless() -> Self {
        Self { limit: u64::MAX, spent: 0, checks_limited: 0 }
    }

    /// Counts units.
    pub fn spend(&mut self, units: u32) {
        self.spent += u64::from(units);
    }

    /// Whether the limit is reached.
    pub fn is_spent(&self) -> bool {
        self.spent >= self.limit
    }

    /// Units up to the limit.
    pub fn left(&self) -> u32 {
        u32::try_from(self.limit.saturating_sub(self.spent)).unwrap_or(u32::MAX)
    }

    /// Units so far.
    pub fn spent(&self) -> u64 {
        self.spent
    }

    /// Adds the work of a part of the step, which had a limit of its own.
    pub fn add(&mut self, part: &Self) {
        self.spent += part.spent;
        self.checks_limited += part.checks_limited;
    }

    /// Adds the work of a check.
    pub(super) fn add_check(&mut self, check: &Check) {
        self.spend(check.steps.div_ceil(STEPS_PER_UNIT));
        self.checks_limited += u64::from(check.is_limited);
    }
}

/// Totals of the work of queries.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct WorkTotals {
    /// Units of work.
    pub units: u64,
    /// Units of the step with the most work.
    pub step_units_max: u64,
    /// Checks that met [`CHECK_UNITS_MAX`].
    pub checks_limited: u64,
}

impl WorkTotals {
    /// Counts the work of one step.
    pub fn count(&mut self, step: &Work) {
        self.units += step.spent;
        self.step_units_max = self.step_units_max.max(step.spent);
        self.checks_limited += step.checks_limited;
    }

    /// Adds the totals of others.
    pub fn merge(&mut self, other: Self) {
        self.units += other.units;
        self.step_units_max = self.step_units_max.max(other.step_units_max);
        self.checks_limited += other.checks_limited;
    }
}

/// Steps of one check of one document.
#[derive(Debug)]
pub(super) struct Check {
    steps: u32,
    max: u32,
    /// Whether steps were refused since [`Self::take_refusal`].
    is_refused: bool,
    is_limited: bool,
}

impl Check {
    pub fn new() -> Self {
        Self { steps: 0, max: CHECK_UNITS_MAX * STEPS_PER_UNIT, is_refused: false, is_limited: false }
    }

    /// A check that may not do more than is left, and whether that is less than every check may do.
    pub fn within(work: &Work) -> (Self, bool) {
        let is_less = work.left() < CHECK_UNITS_MAX;
        let max = work.left().min(CHECK_UNITS_MAX) * STEPS_PER_UNIT;
        (Self { max, ..Self::new() }, is_less)
    }

    /// Counts steps before they are done. Answers whether the check may do them.
    pub fn affords(&mut self, steps: usize) -> bool {
        let after = u32::try_from(steps).ok().and_then(|steps| self.steps.checked_add(steps));
        match after.filter(|after| *after <= self.max) {
            Some(after) => self.steps = after,
            None => (self.is_refused, self.is_limited) = (true, true),
        }
        after.is_some_and(|after| after <= self.max)
    }

    /// Whether steps were refused since the last call of [`Self::take_refusal`].
    pub fn is_refused(&self) -> bool {
        self.is_refused
    }

    /// Whether steps were refused since the last call.
    pub fn take_refusal(&mut self) -> bool {
        std::mem::take(&mut self.is_refused)
    }
}
