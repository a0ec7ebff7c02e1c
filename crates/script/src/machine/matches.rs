//! The acts that callbacks of a match ask for, and the pace that its ticks must keep.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use muster_live::matches::{
    Act, LeaveReason, Outcome, Return, TIMER_DATA_BYTES_MAX, TIMER_MS_MAX, TIMER_NAME_BYTES_MAX, TIMERS_MAX, Timers,
};

use super::limits::Limits;

/// Error of Luau when the memory of a machine is used up.
pub(crate) const NO_MEMORY: &str = "not enough memory";

/// Error of QuickJS when the memory of a machine is used up.
pub(crate) const OUT_OF_MEMORY: &str = "out of memory";

/// End of the sentence that a match fails with when it holds too many bytes.
const HOLDS_TOO_MUCH: &str = "of memory: that is more than it may (script.match_bytes)";

/// Limit on the bytes that one callback sends to all players together.
pub const SENT_BYTES_MAX: usize = 16 << 20;

/// Limit on the acts of one callback, since each takes memory of the host even if it sends nothing.
pub const ACTS_MAX: usize = 100_000;

/// Limit on the presences that game code names in one call of a dispatcher's function.
pub const PRESENCES_MAX: usize = 10_000;

/// Bytes that each presence in the list of a broadcast counts as, in the sum of the bytes that a callback sends.
const PRESENCE_BYTES: usize = 16;

/// Number of ticks in a row over their time that ends a match.
const OVERRUNS_MAX: u32 = 3;

/// Collects the acts of the callback that runs.
pub(crate) struct Sink {
    /// `None` while no callback runs.
    collected: RefCell<Option<Collected>>,
    /// Limit on the broadcasts that a callback defers to its end.
    deferred_max: usize,
}

/// The error of a callback with too many acts.
pub(crate) fn too_many_acts() -> String {
    format!("one callback sends, kicks, labels and sets timers more than {ACTS_MAX} times")
}

/// The acts of one callback so far.
#[derive(Default)]
struct Collected {
    acts: Vec<Act>,
    deferred: usize,
    bytes: usize,
    /// Names of the timers that the match will have; `None` if its handler has no function for timers.
    timers: Option<BTreeSet<Arc<str>>>,
}

impl Sink {
    pub(crate) fn new(deferred_max: usize) -> Self {
        Self { collected: RefCell::default(), deferred_max }
    }

    /// A callback begins.
    pub(crate) fn open(&self) {
        self.collected.replace(Some(Collected::default()));
    }

    /// Lets the callback set timers, since the match's handler has a function for them. `timers` are those of the match
    /// before the callback; the one named `fired` counts no more, unless the callback sets it again.
    pub(crate) fn allow_timers(&self, timers: &Timers, fired: Option<&str>) {
        if let Some(collected) = self.collected.borrow_mut().as_mut() {
            let left = timers.all().iter().filter(|timer| fired != Some(&*timer.name));
            collected.timers = Some(left.map(|timer| timer.name.clone()).collect());
        }
    }

    /// The callback has returned. Answers its acts.
    pub(crate) fn close(&self) -> Vec<Act> {
        self.collected.take().unwrap_or_default().acts
    }

    /// Adds an act.
    ///
    /// # Errors
    /// A sentence that says why not: no callback runs, or the act is over a limit.
    pub(crate) fn add(&self, act: Act) -> Result<(), String> {
        let mut collected = self.collected.borrow_mut();
        let collected = collected.as_mut().ok_or("no callback of the match is running")?;
        if collected.acts.len() >= ACTS_MAX {
            return Err(too_many_acts());
        }
        let presences = match &act {
            Act::Broadcast(sent) | Act::Defer(sent) => sent.to.as_ref().map_or(0, Vec::len),
            Act::Kick(sessions) => sessions.len(),
            _ => 0,
        };
        if presences > PRESENCES_MAX {
            return Err(too_many_presences("the dispatcher"));
        }
        if let Act::Broadcast(sent) | Act::Defer(sent) = &act {
            collected.bytes += sent.data.len() + PRESENCE_BYTES * presences;
            if collected.bytes > SENT_BYTES_MAX {
                return Err(format!("one callback sends more than {SENT_BYTES_MAX} bytes"));
            }
        }
        if let Act::Defer(_) = act {
            if collected.deferred >= self.deferred_max {
                let most = self.deferred_max;
                return Err(format!(
                    "more than {most} broadcasts wait for the end of the callback (match.deferred_queue_size)"
                ));
            }
            collected.deferred += 1;
        }
        collected.check_timer(&act)?;
        collected.acts.push(act);
        Ok(())
    }
}

impl Collected {
    /// Checks that an act may set its timer, and notes timers that are set or cancelled.
    ///
    /// # Errors
    /// A sentence that says why the timer cannot be set.
    fn check_timer(&mut self, act: &Act) -> Result<(), String> {
        match act {
            Act::SetTimer { name, after_ms, data } => {
                let Some(timers) = &mut self.timers else {
                    return Err("the match has no function for timers: match_timer, matchTimer or MatchTimer".into());
                };
                if name.is_empty() || name.len() > TIMER_NAME_BYTES_MAX {
                    return Err(format!("a timer's name has 1 to {TIMER_NAME_BYTES_MAX} bytes"));
                }
                if data.len() > TIMER_DATA_BYTES_MAX {
                    return Err(format!("a timer carries at most {TIMER_DATA_BYTES_MAX} bytes"));
                }
                if *after_ms > TIMER_MS_MAX {
                    return Err(format!("a timer fires after at most {TIMER_MS_MAX} ms"));
                }
                timers.insert(name.clone());
                if timers.len() > TIMERS_MAX {
                    timers.remove(name);
                    return Err(format!("a match has at most {TIMERS_MAX} timers"));
                }
            }
            Act::CancelTimer(name) => {
                self.timers.as_mut().map(|timers| timers.remove(name));
            }
            Act::Broadcast(_) | Act::Defer(_) | Act::Kick(_) | Act::Label(_) => {}
        }
        Ok(())
    }
}

/// Number of the reason of a presence that joined, which the original never sets.
pub(crate) const JOINED: u8 = 0;

/// Number of the reason for which a player left, as in the original.
pub(crate) fn reason_number(reason: LeaveReason) -> u8 {
    match reason {
        LeaveReason::Left | LeaveReason::Kicked => 3,
        LeaveReason::Disconnected => 4,
    }
}

/// Error for a list of more than [`PRESENCES_MAX`] presences.
pub(crate) fn too_many_presences(of: &str) -> String {
    format!("{of}: a list has at most {PRESENCES_MAX} presences")
}

/// Whether a match keeps up with its ticks.
#[derive(Default)]
pub(crate) struct Pace {
    /// Ticks in a row that took more than their time.
    overruns: Cell<u32>,
}

impl Pace {
    /// Counts a tick that took `spent` of CPU time. Answers whether that is more than a tick should take.
    ///
    /// # Errors
    /// A sentence that says so, when too many ticks in a row took too long.
    pub(crate) fn looped(&self, spent: Duration, limits: &Limits) -> (bool, Result<(), Arc<str>>) {
        let is_late = spent > limits.tick_time;
        self.overruns.set(if is_late { self.overruns.get() + 1 } else { 0 });
        if self.overruns.get() < OVERRUNS_MAX {
            return (is_late, Ok(()));
        }
        let most = limits.tick_time.as_millis();
        (is_late, Err(format!("{OVERRUNS_MAX} ticks in a row took more than {most} ms of CPU time").into()))
    }
}

/// Error of a match that is ended because it holds `bytes` bytes.
pub(crate) fn holds_too_much(bytes: usize) -> Arc<str> {
    format!("the match holds {bytes} bytes {HOLDS_TOO_MUCH}").into()
}

/// Whether an error says that there was no memory. Languages raise such an error as a text of their own, and nothing
/// but the text tells it from others.
pub(crate) fn is_want_of_memory(told: &str) -> bool {
    told.ends_with(NO_MEMORY) || told.ends_with(OUT_OF_MEMORY) || told.ends_with(HOLDS_TOO_MUCH)
}

/// The return of a callback that failed.
pub(crate) fn failed(why: Arc<str>) -> Return {
    Return { outcome: Outcome::Failed(why), acts: Vec::new() }
}
