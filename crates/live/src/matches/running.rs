//! One running match: its players, the calls that are queued for its handler, and its ticks.

mod admission;
mod carry;
mod players;
mod queue;
mod resume;
mod returned;

use std::collections::VecDeque;
use std::sync::Arc;

use indexmap::IndexMap;
use muster_domain::{Error, ErrorKind, Result};

use self::admission::PendingAttempt;
use self::players::Player;
use self::queue::{QueuedCall, SignalCaller};
use self::returned::CallUnderWay;
use super::call::{Call, Callback, Input};
use super::durable::Outline;
use super::effect::{MatchEffect, MatchEnd};
use super::message::{Attempt, Chain};
use super::owner::{Creation, MatchId, MatchesConfig};
use super::{LABEL_BYTES_MAX, TICK_RATES};
use crate::plane::RequestRef;
use crate::session::Millis;
use crate::stream::SessionRef;

/// A match that this place runs.
#[derive(Debug)]
pub(super) struct RunningMatch {
    /// The match without its handler's state. It follows from the calls of the handler and their returns alone.
    pub(super) outline: Outline,
    /// Number of the match's stay at this place; see [`super::CallRef::stay`].
    pub(super) stay: u64,
    /// Players who are on the match's stream.
    players: IndexMap<SessionRef, Player, foldhash::fast::RandomState>,
    /// Calls that wait for their turn, in the order in which they are made.
    queue: VecDeque<QueuedCall>,
    /// Number of join attempts in the queue.
    attempts: usize,
    /// Number of signals in the queue.
    signals: usize,
    /// Messages of players since the last tick.
    inputs: Vec<Input>,
    /// The call whose return is awaited.
    under_way: Option<CallUnderWay>,
    /// Whether the handler was asked about an attempt since the last tick. If so, a due tick goes before the next
    /// attempt.
    has_asked: bool,
    /// Whether the match rests: no call begins, except the join that follows an accepted attempt.
    rests: bool,
    /// Moment from which ticks are counted.
    began_at: Millis,
    /// Number of the next tick. Ticks are counted from `began_at`, including those that were left out.
    ticks_due: u64,
    /// Moment at which the latest tick was due.
    tick_due_at: Millis,
    /// Number of ticks that were left out since the latest return of a loop, because calls took too long.
    skipped: u64,
    /// Number of ticks in a row at which the match had no player.
    empty_ticks: u64,
    /// Moment at which the match ends at the latest; set when the server stops.
    ends_at: Option<Millis>,
    /// Moment of the earliest entry that the shard's timer wheel has of this match.
    pub(super) timer: Option<Millis>,
}

impl RunningMatch {
    /// Makes a match and calls the first callback of its handler.
    pub(super) fn new(
        id: MatchId,
        stay: u64,
        creation: Creation,
        reply_to: Option<RequestRef>,
        out: &mut Vec<MatchEffect>,
    ) -> Self {
        let Creation { handler, params, created_at, chain, .. } = creation;
        let mut running = Self::idle(Outline::new(id, handler, created_at), stay);
        running.under_way = Some(CallUnderWay::Init(reply_to));
        out.push(running.call(Callback::Init { params, created_at }, chain));
        running
    }

    /// A match without players, and without calls that are queued or under way.
    fn idle(outline: Outline, stay: u64) -> Self {
        Self {
            outline,
            stay,
            players: IndexMap::default(),
            queue: VecDeque::new(),
            attempts: 0,
            signals: 0,
            inputs: Vec::new(),
            under_way: None,
            has_asked: false,
            rests: false,
            began_at: 0,
            ticks_due: 0,
            tick_due_at: 0,
            skipped: 0,
            empty_ticks: 0,
            ends_at: None,
            timer: None,
        }
    }

    /// Whether the first callback has let the match begin.
    pub(super) fn has_begun(&self) -> bool {
        self.outline.tick_rate > 0
    }

    /// Number of players on the match's stream.
    pub(super) fn size(&self) -> usize {
        self.players.len()
    }

    /// Moment at which a tick, the end of the match, or the refusal of a caller is due next. No tick is due while the
    /// match rests or a call is under way, since that call has to return first.
    pub(super) fn next_due(&self) -> Option<Millis> {
        let may_tick = self.has_begun() && self.under_way.is_none() && !self.rests;
        let tick = may_tick.then(|| self.tick_due());
        tick.into_iter().chain(self.ends_at).chain(self.answer_due()).min()
    }

    /// Moment at which the next tick of a match that has begun is due.
    fn tick_due(&self) -> Millis {
        self.due_at(self.ticks_due)
    }

    /// Moment at which a tick of a match that has begun is due, by the tick's number.
    fn due_at(&self, tick: u64) -> Millis {
        self.began_at + (tick * 1_000).div_ceil(u64::from(self.outline.tick_rate.max(1)))
    }

    /// Tells the handler that the server stops. Durable matches do not end with the server, so their handlers are not
    /// told.
    pub(super) fn terminate(&mut self, now: Millis, grace_sec: u32, out: &mut Vec<MatchEffect>) {
        if self.ends_at.is_none() && !self.outline.id.is_durable() {
            self.ends_at = Some(now + Millis::from(grace_sec) * 1_000);
            self.queue.push_back(QueuedCall::Terminate { grace_sec });
            self.advance(now, out);
        }
    }

    /// Takes the step that is due. Answers the reason for which the match ends, or `None` if the match goes on.
    pub(super) fn turn(&mut self, now: Millis, config: &MatchesConfig, out: &mut Vec<MatchEffect>) -> Option<MatchEnd> {
        if self.ends_at.is_some_and(|at| now >= at) {
            return Some(MatchEnd::Terminated);
        }
        let empty_most = u64::from(config.empty_sec_max) * u64::from(self.outline.tick_rate);
        if empty_most > 0 && self.empty_ticks >= empty_most && self.under_way.is_none() && self.queue.is_empty() {
            return Some(MatchEnd::Empty);
        }
        self.refuse_late(now, out);
        self.advance(now, out);
        None
    }

    /// Begins the next call, if none is under way: the first call of the queue, or else a timer or loop that is due. A
    /// due tick may go before the queue, see [`Self::is_tick_first`].
    fn advance(&mut self, now: Millis, out: &mut Vec<MatchEffect>) {
        while self.under_way.is_none() && !self.rests && !self.is_tick_first(now) {
            let Some(queued) = self.queue.pop_front() else { break };
            self.begin_queued(now, queued, out);
        }
        let may_tick = self.under_way.is_none() && !self.rests && self.has_begun();
        if may_tick
            && now >= self.tick_due()
            && let Some(timer) = self.outline.timers.due(self.outline.tick)
        {
            // The tick stays due: its loop comes after its timers.
            let (name, data) = (timer.name.clone(), timer.data.clone());
            return self.begin(CallUnderWay::Timer(name.clone()), Callback::Timer { name, data }, out);
        }
        if may_tick && self.take_due_tick(now) {
            self.has_asked = false;
            self.empty_ticks = if self.players.is_empty() { self.empty_ticks + 1 } else { 0 };
            let inputs = std::mem::take(&mut self.inputs);
            self.begin(CallUnderWay::Loop, Callback::Loop(inputs), out);
        }
    }

    /// Begins a call from the queue, or refuses it if its caller has waited too long.
    fn begin_queued(&mut self, now: Millis, queued: QueuedCall, out: &mut Vec<MatchEffect>) {
        match queued {
            QueuedCall::Attempt(attempt, until) => {
                self.attempts -= 1;
                if now >= until {
                    return refuse(*attempt, busy_error(), out);
                }
                self.has_asked = true;
                let presence = Arc::new(attempt.member.presence.clone());
                let joiner = attempt.joiner.clone();
                let pending = Box::new(PendingAttempt { attempt: *attempt, awaited_until: Some(until) });
                self.begin(CallUnderWay::Attempt(pending), Callback::JoinAttempt { presence, joiner }, out);
            }
            QueuedCall::Signal { data, chain, mut caller } => {
                self.signals -= 1;
                if now >= caller.until {
                    return caller.answer(Err(busy_error()), out);
                }
                self.under_way = Some(CallUnderWay::Signal(caller));
                out.push(self.call(Callback::Signal(data), chain));
            }
            QueuedCall::Join(first) => {
                let joins = self.batch(first, |next| match next {
                    QueuedCall::Join(next) => Ok(next),
                    other => Err(other),
                });
                self.begin_join(joins, None, out);
            }
            QueuedCall::Leave(first) => {
                let leaves = self.batch(first, |next| match next {
                    QueuedCall::Leave(next) => Ok(next),
                    other => Err(other),
                });
                self.begin(CallUnderWay::Leave(leaves.clone()), Callback::Leave(leaves), out);
            }
            QueuedCall::Terminate { grace_sec } => {
                self.begin(CallUnderWay::Terminate, Callback::Terminate { grace_sec }, out);
            }
        }
    }

    /// Answers whether a tick is due, and counts that tick as called. Of the ticks that were missed while a call was
    /// under way, one is called and the others are left out.
    fn take_due_tick(&mut self, now: Millis) -> bool {
        let due_by_now = now.saturating_sub(self.began_at) * u64::from(self.outline.tick_rate) / 1_000;
        let is_due = now >= self.began_at && due_by_now >= self.ticks_due;
        if is_due {
            self.tick_due_at = self.due_at(self.ticks_due);
            self.skipped += due_by_now - self.ticks_due;
            self.ticks_due = due_by_now + 1;
        }
        is_due
    }

    /// Begins a call for which no other match waits.
    fn begin(&mut self, under_way: CallUnderWay, callback: Callback, out: &mut Vec<MatchEffect>) {
        self.under_way = Some(under_way);
        out.push(self.call(callback, Chain::default()));
    }

    fn call(&self, callback: Callback, chain: Chain) -> MatchEffect {
        let Outline { id, ref handler, tick, tick_rate, ref label, .. } = self.outline;
        let (handler, label, timers) = (handler.clone(), label.clone(), self.outline.timers.clone());
        MatchEffect::Call(Box::new(Call {
            id,
            stay: self.stay,
            handler,
            tick,
            tick_rate,
            label,
            chain,
            timers,
            callback,
        }))
    }
}

fn refuse(attempt: Attempt, why: Error, out: &mut Vec<MatchEffect>) {
    out.push(MatchEffect::Refuse(attempt.id, attempt.member.listener));
    out.extend(attempt.reply_to.map(|to| MatchEffect::Reply(to, Err(why))));
}

/// Checks the tick rate and label with which a match is to begin.
///
/// # Errors
/// `InvalidArgument` for a tick rate outside of [`TICK_RATES`] or a label above [`LABEL_BYTES_MAX`].
pub(super) fn checked(tick_rate: u32, label: &str) -> Result<()> {
    if !TICK_RATES.contains(&tick_rate) {
        let (least, most) = (TICK_RATES.start(), TICK_RATES.end());
        return Err(Error::invalid(format!("A tick rate is {least} to {most} a second, not {tick_rate}.")));
    }
    if label.len() > LABEL_BYTES_MAX {
        return Err(Error::invalid(format!("A label has {LABEL_BYTES_MAX} bytes at most, not {}.", label.len())));
    }
    Ok(())
}

fn busy_error() -> Error {
    Error::new(ErrorKind::ResourceExhausted, "The match has too much to do. Please try again.")
}

/// The error for a match that does not exist, or does not exist any more.
pub(crate) fn ended_error() -> Error {
    Error::new(ErrorKind::NotFound, "There is no match of this ID: it may have ended.")
}
