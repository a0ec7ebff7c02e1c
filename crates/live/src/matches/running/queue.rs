//! The calls that are queued for the handler of a match, and how long their callers wait.

use std::sync::Arc;

use muster_domain::Result;

use super::super::call::Left;
use super::super::effect::{MatchAnswer, MatchEffect};
use super::super::message::{Attempt, Chain};
use super::super::owner::MatchesConfig;
use super::{CallUnderWay, RunningMatch, busy_error, refuse};
use crate::plane::RequestRef;
use crate::session::Millis;
use crate::stream::Presence;

/// A call that waits for its turn.
#[derive(Debug)]
pub(super) enum QueuedCall {
    /// A join attempt, and the moment until which its answer is awaited.
    Attempt(Box<Attempt>, Millis),
    Join(Arc<Presence>),
    Leave(Left),
    Signal {
        data: Arc<str>,
        /// Matches whose callbacks wait for the answer.
        chain: Chain,
        caller: SignalCaller,
    },
    Terminate {
        grace_sec: u32,
    },
}

/// The caller of a signal.
#[derive(Debug)]
pub(super) struct SignalCaller {
    /// Request that waits for the answer; `None` once it has been answered.
    pub(super) reply_to: Option<RequestRef>,
    /// Moment until which the answer is awaited.
    pub(super) until: Millis,
}

impl SignalCaller {
    pub(super) fn answer(&mut self, answer: Result<MatchAnswer>, out: &mut Vec<MatchEffect>) {
        out.extend(self.reply_to.take().map(|to| MatchEffect::Reply(to, answer)));
    }

    /// Moment at which the caller is refused, unless it has been answered.
    fn refused_at(&self) -> Option<Millis> {
        self.reply_to.map(|_| self.until)
    }
}

impl RunningMatch {
    /// Queues a signal of other game code.
    pub(in super::super) fn signal(
        &mut self,
        now: Millis,
        data: Arc<str>,
        chain: Chain,
        reply_to: Option<RequestRef>,
        config: &MatchesConfig,
        out: &mut Vec<MatchEffect>,
    ) {
        if self.signals >= config.signals_max {
            out.extend(reply_to.map(|to| MatchEffect::Reply(to, Err(busy_error()))));
            return;
        }
        self.signals += 1;
        let caller = SignalCaller { reply_to, until: now + config.answer_wait_max_ms };
        self.queue.push_back(QueuedCall::Signal { data, chain, caller });
        self.advance(now, out);
    }

    /// Queues a join before all attempts and signals.
    pub(super) fn enqueue_join(&mut self, presence: Arc<Presence>) {
        self.queue.insert(self.joins_and_leaves_at_head(), QueuedCall::Join(presence));
    }

    /// Queues a leave. If the handler has not heard of the player's join, the leave follows the join, before all
    /// attempts and signals.
    pub(super) fn enqueue_leave(&mut self, left: Left) {
        let seated = self.outline.seated_mut(left.presence.session_id);
        let has_joined = seated.is_none_or(|seated| seated.has_joined);
        let position = if has_joined { self.queue.len() } else { self.joins_and_leaves_at_head() };
        self.queue.insert(position, QueuedCall::Leave(left));
    }

    /// Number of joins and leaves at the head of the queue.
    fn joins_and_leaves_at_head(&self) -> usize {
        self.queue.iter().take_while(|queued| matches!(queued, QueuedCall::Join(_) | QueuedCall::Leave(_))).count()
    }

    /// Takes from the head of the queue all calls that share one callback with `first`. `of` answers the content of
    /// such a call, or gives back any other call unchanged.
    pub(super) fn batch<T>(&mut self, first: T, of: fn(QueuedCall) -> std::result::Result<T, QueuedCall>) -> Vec<T> {
        let mut batch = vec![first];
        while let Some(next) = self.queue.pop_front() {
            match of(next) {
                Ok(next) => batch.push(next),
                Err(other) => {
                    self.queue.push_front(other);
                    break;
                }
            }
        }
        batch
    }

    /// Whether a due tick goes before the head of the queue. The tick does so if the head is an attempt and the handler
    /// was asked about another attempt since the last tick, so that a flood of attempts does not hold up ticks.
    pub(super) fn is_tick_first(&self, now: Millis) -> bool {
        let is_attempt_next = matches!(self.queue.front(), Some(QueuedCall::Attempt(..)));
        is_attempt_next && self.has_asked && self.has_begun() && now >= self.tick_due()
    }

    /// Moment at which the first caller of an attempt or signal has waited too long.
    pub(super) fn answer_due(&self) -> Option<Millis> {
        let under_way = match &self.under_way {
            Some(CallUnderWay::Signal(caller)) => caller.refused_at(),
            Some(under_way) => under_way.pending_attempt().and_then(|pending| pending.awaited_until),
            None => None,
        };
        let of_signal = |queued: &QueuedCall| match queued {
            QueuedCall::Signal { caller, .. } => caller.refused_at(),
            _ => None,
        };
        let of_attempt = |queued: &QueuedCall| match queued {
            QueuedCall::Attempt(_, until) => Some(*until),
            _ => None,
        };
        // Callers wait equally long, so the first of each kind is the first to be refused.
        let signal = if self.signals > 0 { self.queue.iter().find_map(of_signal) } else { None };
        let attempt = if self.attempts > 0 { self.queue.iter().find_map(of_attempt) } else { None };
        under_way.into_iter().chain(signal).chain(attempt).min()
    }

    /// Refuses callers of attempts and signals who have waited too long: callbacks may take long, and matches may wait
    /// for one another.
    pub(super) fn refuse_late(&mut self, now: Millis, out: &mut Vec<MatchEffect>) {
        match &mut self.under_way {
            Some(CallUnderWay::Signal(caller)) if now >= caller.until => caller.answer(Err(busy_error()), out),
            Some(under_way) => {
                if let Some(pending) = under_way.pending_attempt_mut()
                    && pending.awaited_until.take_if(|until| now >= *until).is_some()
                {
                    refuse(pending.attempt.clone(), busy_error(), out);
                }
            }
            None => {}
        }
        let is_late = |queued: &QueuedCall| matches!(queued, QueuedCall::Attempt(_, until) if now >= *until);
        while self.attempts > 0
            && let Some(position) = self.queue.iter().position(is_late)
        {
            self.attempts -= 1;
            if let Some(QueuedCall::Attempt(attempt, _)) = self.queue.remove(position) {
                refuse(*attempt, busy_error(), out);
            }
        }
        for queued in &mut self.queue {
            if let QueuedCall::Signal { caller, .. } = queued
                && now >= caller.until
            {
                caller.answer(Err(busy_error()), out);
            }
        }
    }
}
