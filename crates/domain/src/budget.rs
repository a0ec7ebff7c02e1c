//! Budgets of the messages of one session, by kind, so that nobody floods the others.
//!
//! A budget comes back with time, and a message may put it into debt. While it is in debt the session is slowed; when
//! that has lasted for a while, its messages of that kind are refused; and whoever goes on all the same climbs the
//! ladder that the operator has set up. Pure state: the clock is passed in.

use crate::ladder::{Ladders, Rung};
use crate::time::Timestamp;

/// Number of budgets of a session.
pub const BUDGETS: usize = Spending::ALL.len();

/// The bytes for which a message costs one unit; it costs one at least.
pub const UNIT_BYTES: usize = 256;

/// The longest time for which a session is slowed before its messages are refused, in milliseconds; as long as its
/// budget has not come back whole.
pub const SLOWED_MS_MAX: u32 = 3_000;

/// Time for which a session is not read after a refused message, in milliseconds.
pub const REFUSED_HOLD_MS: u32 = 20;

/// Number of refused messages for each rung of the ladder.
pub const REFUSALS_PER_RUNG: u32 = 100;

/// The budget that a message is paid from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spending {
    /// Messages to chat channels, their changes and removals.
    Chat,
    /// Data to players of a match.
    MatchData,
    /// Data to members of a party.
    PartyData,
    /// Calls of functions.
    Functions,
    /// Everything else that is asked for: joining, leaving, following, statuses, parties, tickets.
    Requests,
    /// Pings and pongs.
    Pings,
    /// Bytes to all receivers together, of the first four; their messages are paid from both budgets.
    FanOut,
}

impl Spending {
    /// All budgets, by number.
    pub const ALL: [Self; 7] =
        [Self::Chat, Self::MatchData, Self::PartyData, Self::Functions, Self::Requests, Self::Pings, Self::FanOut];

    /// The name in metrics and in the configuration.
    pub fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::MatchData => "match_data",
            Self::PartyData => "party_data",
            Self::Functions => "functions",
            Self::Requests => "requests",
            Self::Pings => "pings",
            Self::FanOut => "fan_out",
        }
    }

    /// Whether others receive what is paid for.
    fn fans_out(self) -> bool {
        matches!(self, Self::Chat | Self::MatchData | Self::PartyData | Self::Functions)
    }
}

/// The budgets of every session.
#[derive(Clone, Debug)]
pub struct BudgetConfig {
    /// Nanoseconds in which one unit comes back, by [`Spending`]; 0 for no limit.
    ns_per_unit: [i64; BUDGETS],
    burst_ns: i64,
    ladders: Ladders,
}

impl BudgetConfig {
    /// Budgets of this many units a second (of [`Spending::FanOut`], bytes; 0 for no limit), which hold as much as
    /// comes back in `burst_sec`.
    pub fn new(per_sec: [u32; BUDGETS], burst_sec: u32, ladders: Ladders) -> Self {
        let ns = |per_sec: u32| if per_sec == 0 { 0 } else { (NS_PER_SEC / i64::from(per_sec)).max(1) };
        Self { ns_per_unit: per_sec.map(ns), burst_ns: i64::from(burst_sec.max(1)) * NS_PER_SEC, ladders }
    }
}

impl Default for BudgetConfig {
    fn default() -> Self {
        Self::new([50, 300, 100, 100, 50, 500, 4 << 20], 3, Ladders::default())
    }
}

const NS_PER_SEC: i64 = 1_000_000_000;
const NS_PER_MS: i64 = 1_000_000;

/// A message that is not handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct OverBudget {
    /// The time until the next message may come, in milliseconds; at least 1.
    pub retry_after_ms: u32,
    /// The rung that the session has climbed by this message.
    pub rung: Option<Rung>,
}

/// The budgets of one session.
#[derive(Debug)]
pub struct Budgets {
    /// The rest of each budget, as the time in which that much comes back; negative for a debt.
    left_ns: [i64; BUDGETS],
    refilled_at: Timestamp,
    /// The course of the present floods by kind; made for the first.
    floods: Option<Box<[Flood; BUDGETS]>>,
}

/// The course of a flood; it is over when the budget has come back whole.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Flood {
    slowed_ms: u32,
    refusals: u32,
    rungs: u32,
}

impl Budgets {
    /// Whole budgets.
    pub fn new(config: &BudgetConfig, now: Timestamp) -> Self {
        Self { left_ns: [config.burst_ns; BUDGETS], refilled_at: now, floods: None }
    }

    /// Whether a message may be handled. The clock is read only if what is left does not say so.
    ///
    /// # Errors
    /// When the budget is in debt and the session was slowed for as long as may be; then the message costs nothing.
    #[inline]
    pub fn check(
        &mut self,
        what: Spending,
        config: &BudgetConfig,
        clock: impl FnOnce() -> Timestamp,
    ) -> Result<(), OverBudget> {
        if self.debt_ns(what) < 0 { Ok(()) } else { self.check_anew(what, config, clock()) }
    }

    /// Pays units of a budget, which may be in debt for them afterwards.
    #[inline]
    pub fn spend(&mut self, what: Spending, units: usize, config: &BudgetConfig) {
        let units = i64::try_from(units).unwrap_or(i64::MAX);
        let left_ns = &mut self.left_ns[what as usize];
        *left_ns = left_ns.saturating_sub(units.saturating_mul(config.ns_per_unit[what as usize]));
    }

    /// The time for which the session is to be slowed after a message, in milliseconds; 0 while nothing is owed.
    #[inline]
    pub fn slow_ms(&mut self, what: Spending, config: &BudgetConfig, clock: impl FnOnce() -> Timestamp) -> u32 {
        if self.debt_ns(what) < 0 { 0 } else { self.slow_anew(what, config, clock()) }
    }

    /// The debt of the budgets of a kind; negative while something is left of each.
    #[inline]
    fn debt_ns(&self, what: Spending) -> i64 {
        let of_kind = self.left_ns[what as usize];
        let left = if what.fans_out() { of_kind.min(self.left_ns[Spending::FanOut as usize]) } else { of_kind };
        left.saturating_neg()
    }

    #[cold]
    fn check_anew(&mut self, what: Spending, config: &BudgetConfig, now: Timestamp) -> Result<(), OverBudget> {
        self.refill(config, now);
        if self.debt_ns(what) < 0 {
            return Ok(());
        }
        let flood = self.flood(what);
        // The session is slowed behind this message.
        if flood.slowed_ms < SLOWED_MS_MAX {
            return Ok(());
        }
        flood.refusals += 1;
        let mut rung = None;
        if flood.refusals.is_multiple_of(REFUSALS_PER_RUNG) {
            rung = config.ladders.rung(what, flood.rungs);
            flood.rungs += 1;
        }
        if let Some(Rung::Mute { sec }) = rung {
            let left_ns = &mut self.left_ns[what as usize];
            *left_ns = (*left_ns).min(-i64::from(sec) * NS_PER_SEC);
        }
        Err(OverBudget { retry_after_ms: self.debt_ms(what), rung })
    }

    #[cold]
    fn slow_anew(&mut self, what: Spending, config: &BudgetConfig, now: Timestamp) -> u32 {
        self.refill(config, now);
        if self.debt_ns(what) < 0 {
            return 0;
        }
        let debt_ms = self.debt_ms(what);
        let flood = self.flood(what);
        let hold_ms = debt_ms.min(SLOWED_MS_MAX - flood.slowed_ms);
        flood.slowed_ms += hold_ms;
        hold_ms
    }

    fn refill(&mut self, config: &BudgetConfig, now: Timestamp) {
        // A clock that was set back gives nothing, and takes nothing.
        let passed_us = now.0.saturating_sub(self.refilled_at.0).max(0);
        self.refilled_at = now;
        for left_ns in &mut self.left_ns {
            *left_ns = left_ns.saturating_add(passed_us.saturating_mul(1_000)).min(config.burst_ns);
        }
        if let Some(floods) = &mut self.floods {
            let is_whole = |what: Spending| self.left_ns[what as usize] == config.burst_ns;
            let is_over = |what: &Spending| is_whole(*what) && (!what.fans_out() || is_whole(Spending::FanOut));
            Spending::ALL.into_iter().filter(is_over).for_each(|what| floods[what as usize] = Flood::default());
        }
    }

    fn flood(&mut self, what: Spending) -> &mut Flood {
        &mut self.floods.get_or_insert_default()[what as usize]
    }

    fn debt_ms(&self, what: Spending) -> u32 {
        u32::try_from(self.debt_ns(what) / NS_PER_MS + 1).unwrap_or(u32::MAX)
    }
}

#[cfg(test)]
mod tests;
