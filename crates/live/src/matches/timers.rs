//! Timers of a match: at which ticks its handler wants to be called again. Plain data, so that they go wherever the match
//! goes, and last as long as it does.

use std::sync::Arc;

/// Most timers that a match has at a time.
pub const TIMERS_MAX: usize = 256;
/// Most bytes of a timer's name.
pub const TIMER_NAME_BYTES_MAX: usize = 128;
/// Most bytes of what a timer carries.
pub const TIMER_DATA_BYTES_MAX: usize = 4_096;
/// The longest time after which one fires: 30 days, in milliseconds.
pub const TIMER_MS_MAX: u64 = 30 * 24 * 60 * 60 * 1_000;

/// A timer of a match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timer {
    /// A match has one of a name.
    pub name: Arc<str>,
    /// It fires before the loop of this tick.
    pub due_tick: u64,
    /// What the handler is given back.
    pub data: Arc<str>,
}

/// The timers of a match, in the order in which they fire. Clones share what they hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timers(Arc<Vec<Timer>>);

impl Timers {
    /// These, in any order; of those due at the same tick the first fires first.
    pub fn of(timers: impl IntoIterator<Item = Timer>) -> Self {
        let mut timers: Vec<Timer> = timers.into_iter().collect();
        timers.sort_by_key(|timer| timer.due_tick);
        Self(Arc::new(timers))
    }

    /// All of them, in their order.
    pub fn all(&self) -> &[Timer] {
        &self.0
    }

    /// Whether there is one of this name.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|timer| &*timer.name == name)
    }

    /// The first that is due at this tick or before.
    pub(super) fn due(&self, tick: u64) -> Option<&Timer> {
        self.0.first().filter(|timer| timer.due_tick <= tick)
    }

    /// Sets one, in place of another of its name. `tick` is that of the callback which does; it fires after so many milliseconds at
    /// the earliest, and not at that tick.
    pub(super) fn set(&mut self, name: Arc<str>, (tick, tick_rate): (u64, u32), after_ms: u64, data: Arc<str>) {
        self.remove(&name);
        let ticks = (after_ms.min(TIMER_MS_MAX) * u64::from(tick_rate)).div_ceil(1_000).max(1);
        let due_tick = tick + ticks;
        let timers = Arc::make_mut(&mut self.0);
        let place = timers.partition_point(|timer| timer.due_tick <= due_tick);
        timers.insert(place, Timer { name, due_tick, data });
    }

    /// Removes the one of this name, if there is one.
    pub(super) fn remove(&mut self, name: &str) {
        if let Some(place) = self.0.iter().position(|timer| &*timer.name == name) {
            Arc::make_mut(&mut self.0).remove(place);
        }
    }
}
