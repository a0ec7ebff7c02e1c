//! Timers of a match: calls of a callback that the handler wants at later ticks, by name. Timers are plain data, so
//! that a durable match takes them along to its next owner and through crashes.

use std::sync::Arc;

/// Limit on the timers that a match has at a time.
pub const TIMERS_MAX: usize = 256;
/// Limit on the bytes of a timer's name.
pub const TIMER_NAME_BYTES_MAX: usize = 128;
/// Limit on the bytes of a timer's data.
pub const TIMER_DATA_BYTES_MAX: usize = 4_096;
/// Limit on the time until a timer fires: 30 days, in milliseconds.
pub const TIMER_MS_MAX: u64 = 30 * 24 * 60 * 60 * 1_000;

/// A timer of a match.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Timer {
    /// Name of the timer. A match has one timer of a name.
    pub name: Arc<str>,
    /// Tick before whose loop the timer fires.
    pub due_tick: u64,
    /// Data that the timer's callback is given.
    pub data: Arc<str>,
}

/// The timers of a match, in the order in which they fire. Clones share one list until one of them changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Timers(Arc<Vec<Timer>>);

impl Timers {
    /// Timers from a list in any order. Of those due at the same tick the first in the list fires first.
    pub fn of(timers: impl IntoIterator<Item = Timer>) -> Self {
        let mut timers: Vec<Timer> = timers.into_iter().collect();
        timers.sort_by_key(|timer| timer.due_tick);
        Self(Arc::new(timers))
    }

    /// All timers, in the order in which they fire.
    pub fn all(&self) -> &[Timer] {
        &self.0
    }

    /// Whether there is a timer of this name.
    pub fn has(&self, name: &str) -> bool {
        self.0.iter().any(|timer| &*timer.name == name)
    }

    /// The first timer that is due at this tick or before.
    pub(super) fn due(&self, tick: u64) -> Option<&Timer> {
        self.0.first().filter(|timer| timer.due_tick <= tick)
    }

    /// Sets a timer, in place of an earlier one of the same name. `tick` is the tick of the callback that sets the
    /// timer. The timer fires `after_ms` milliseconds after that tick, rounded up to whole ticks, and at least one tick
    /// later.
    pub(super) fn set(&mut self, name: Arc<str>, tick: u64, tick_rate: u32, after_ms: u64, data: Arc<str>) {
        self.remove(&name);
        let ticks = (after_ms.min(TIMER_MS_MAX) * u64::from(tick_rate)).div_ceil(1_000).max(1);
        let due_tick = tick + ticks;
        let timers = Arc::make_mut(&mut self.0);
        let place = timers.partition_point(|timer| timer.due_tick <= due_tick);
        timers.insert(place, Timer { name, due_tick, data });
    }

    /// Removes the timer of this name, if there is one.
    pub(super) fn remove(&mut self, name: &str) {
        if let Some(place) = self.0.iter().position(|timer| &*timer.name == name) {
            Arc::make_mut(&mut self.0).remove(place);
        }
    }
}
