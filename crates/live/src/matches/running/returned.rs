//! The call of a match that is under way, and the effects of its return.

use std::collections::BTreeSet;
use std::ops::RangeFrom;
use std::sync::Arc;

use muster_domain::ids::SessionId;
use muster_domain::{Error, ErrorKind};

use super::super::call::{Act, Broadcast, LeaveReason, Left, Outcome, Return};
use super::super::effect::{MatchAnswer, MatchEffect, MatchEnd, MatchEvent};
use super::admission::{Admission, PendingAttempt};
use super::{QueuedCall, RunningMatch, SignalCaller, checked, ended_error, refuse};
use crate::plane::RequestRef;
use crate::session::Millis;
use crate::stream::Presence;

/// The call whose return is awaited.
#[derive(Debug)]
pub(super) enum CallUnderWay {
    /// The first callback, with the request to create the match if its answer is awaited.
    Init(Option<RequestRef>),
    Attempt(Box<PendingAttempt>),
    Signal(SignalCaller),
    Join {
        came: Vec<Arc<Presence>>,
        /// Set if the match is durable and the join follows an accepted attempt.
        admission: Option<Box<Admission>>,
    },
    Leave(Vec<Left>),
    /// The timer of this name.
    Timer(Arc<str>),
    Loop,
    Terminate,
}

impl CallUnderWay {
    /// The attempt of a player who has not entered the match yet.
    pub(super) fn pending_attempt(&self) -> Option<&PendingAttempt> {
        match self {
            Self::Attempt(pending) => Some(pending),
            Self::Join { admission, .. } => admission.as_ref().map(|admission| &admission.pending),
            _ => None,
        }
    }

    pub(super) fn pending_attempt_mut(&mut self) -> Option<&mut PendingAttempt> {
        match self {
            Self::Attempt(pending) => Some(pending),
            Self::Join { admission, .. } => admission.as_mut().map(|admission| &mut admission.pending),
            _ => None,
        }
    }

    /// Answers the requests that wait for the call, because the match ends and the call brings no answer. The request
    /// to create a match comes from game code, so its answer says why there is no match.
    fn give_up(self, why: &str, out: &mut Vec<MatchEffect>) {
        match self {
            Self::Init(Some(to)) => {
                let why = Error::new(ErrorKind::FailedPrecondition, format!("The match could not be made: {why}"));
                out.push(MatchEffect::Reply(to, Err(why)));
            }
            Self::Signal(mut caller) => caller.answer(Err(ended_error()), out),
            Self::Attempt(pending) => pending.give_up(out),
            Self::Join { admission, .. } => {
                if let Some(admission) = admission {
                    admission.pending.give_up(out);
                }
            }
            Self::Init(None) | Self::Leave(_) | Self::Timer(_) | Self::Loop | Self::Terminate => {}
        }
    }
}

/// Report of a match to [`super::super::Matches`] after the return of a call.
#[derive(Debug, Default)]
pub(in super::super) struct AfterReturn {
    /// Reason for which the match ends, if it does.
    pub(in super::super) end: Option<MatchEnd>,
    /// Whether listings find the match by another label now.
    pub(in super::super) is_relabelled: bool,
    /// Set if the call was a loop.
    pub(in super::super) tick: Option<ReturnedTick>,
}

/// A tick whose loop has returned.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct ReturnedTick {
    /// Time from the moment at which the tick was due to the return of its loop.
    pub(in super::super) late_ms: Millis,
    /// Number of ticks that were left out before this one.
    pub(in super::super) skipped: u64,
}

impl RunningMatch {
    /// Takes in the return of the call that is under way.
    pub(in super::super) fn returned(
        &mut self,
        now: Millis,
        returned: Return,
        out: &mut Vec<MatchEffect>,
    ) -> AfterReturn {
        let Some(under_way) = self.under_way.take() else { return AfterReturn::default() };
        let Return { outcome, acts } = returned;
        let mut after = AfterReturn::default();
        if matches!(under_way, CallUnderWay::Loop) {
            let late_ms = now.saturating_sub(self.tick_due_at);
            after.tick = Some(ReturnedTick { late_ms, skipped: std::mem::take(&mut self.skipped) });
        }
        let tick = self.outline.tick;
        let numbers = self.outline.note_sent(&acts);
        let under_way = match (under_way, &outcome) {
            (CallUnderWay::Attempt(pending), Outcome::Decided(Ok(()))) => {
                after.is_relabelled = self.accept(*pending, acts, numbers, out);
                return after;
            }
            // The player enters even if the join ends the match, and then sees the match end.
            (CallUnderWay::Join { came, admission: Some(admission) }, Outcome::GoesOn | Outcome::Over) => {
                after.is_relabelled = self.admit(*admission, out);
                CallUnderWay::Join { came, admission: None }
            }
            (under_way, _) => under_way,
        };
        after.end = self.settle(now, under_way, outcome, out).err();
        if matches!(after.end, None | Some(MatchEnd::Over)) {
            // The acts of a callback that ends the match are carried out; the acts of a callback that has failed are
            // not.
            after.is_relabelled |= self.outline.note_acts(&acts, tick);
            self.carry_out(acts, numbers, out);
        }
        if after.end.is_none() {
            self.advance(now, out);
        }
        after
    }

    /// Takes in the answer of a callback. The error is the reason for which the match ends.
    fn settle(
        &mut self,
        now: Millis,
        under_way: CallUnderWay,
        outcome: Outcome,
        out: &mut Vec<MatchEffect>,
    ) -> Result<(), MatchEnd> {
        match (under_way, outcome) {
            (CallUnderWay::Init(reply_to), Outcome::Begun { tick_rate, label }) => {
                return self.begin_ticks(now, tick_rate, label, reply_to, out);
            }
            (CallUnderWay::Attempt(pending), Outcome::Decided(Err(reason))) => pending.refuse(&reason, out),
            (CallUnderWay::Signal(mut caller), Outcome::Signalled(data)) => {
                caller.answer(Ok(MatchAnswer::Signalled(data)), out);
            }
            (CallUnderWay::Signal(mut caller), Outcome::Refused(why)) => {
                caller.answer(Err(Error::new(ErrorKind::FailedPrecondition, why.to_string())), out);
            }
            (CallUnderWay::Timer(name), Outcome::GoesOn) => self.outline.timers.remove(&name),
            (CallUnderWay::Loop, Outcome::GoesOn) => self.outline.tick += 1,
            (CallUnderWay::Join { came, .. }, Outcome::GoesOn) => self.outline.note_joins(&came),
            (CallUnderWay::Leave(left), Outcome::GoesOn) => self.outline.note_leaves(&left),
            (CallUnderWay::Terminate, Outcome::GoesOn) => {}
            (under_way, Outcome::Over) => {
                under_way.give_up("match_init returned no state", out);
                return Err(MatchEnd::Over);
            }
            (under_way, Outcome::Failed(why)) => {
                under_way.give_up(&why, out);
                return Err(MatchEnd::Failed(why));
            }
            (under_way, _) => {
                let why = "the answer does not fit the callback";
                under_way.give_up(why, out);
                return Err(MatchEnd::Failed(why.into()));
            }
        }
        Ok(())
    }

    /// Takes in the answer of the first callback: the match begins, and its ticks are counted from now.
    fn begin_ticks(
        &mut self,
        now: Millis,
        tick_rate: u32,
        label: Arc<str>,
        reply_to: Option<RequestRef>,
        out: &mut Vec<MatchEffect>,
    ) -> Result<(), MatchEnd> {
        match checked(tick_rate, &label) {
            Ok(()) => {
                self.outline.begin(tick_rate, label);
                (self.began_at, self.ticks_due) = (now, 1);
                out.extend(reply_to.map(|to| MatchEffect::Reply(to, Ok(MatchAnswer::Created))));
                Ok(())
            }
            Err(why) => {
                let failed = MatchEnd::Failed(why.message.as_ref().into());
                out.extend(reply_to.map(|to| MatchEffect::Reply(to, Err(why))));
                Err(failed)
            }
        }
    }

    /// Carries out the broadcasts and kicks of a callback. `numbers` are the numbers of the broadcasts, in order.
    pub(super) fn carry_out(&mut self, acts: Vec<Act>, mut numbers: RangeFrom<u64>, out: &mut Vec<MatchEffect>) {
        let mut deferred = Vec::new();
        for act in acts {
            match act {
                Act::Broadcast(broadcast) => self.broadcast(broadcast, numbers.next(), out),
                Act::Defer(broadcast) => deferred.push(broadcast),
                Act::Kick(sessions) => sessions.iter().for_each(|session| self.kick(*session, out)),
                Act::Label(_) | Act::SetTimer { .. } | Act::CancelTimer(_) => {}
            }
        }
        deferred.into_iter().for_each(|broadcast| self.broadcast(broadcast, numbers.next(), out));
    }

    pub(super) fn broadcast(&self, broadcast: Broadcast, number: Option<u64>, out: &mut Vec<MatchEffect>) {
        let to = broadcast.to.as_ref().map(|sessions| self.present(sessions));
        if !to.as_ref().is_some_and(Vec::is_empty) && !self.players.is_empty() {
            let id = self.outline.id;
            let number = number.filter(|_| id.is_durable());
            out.push(MatchEffect::Tell { id, to, event: MatchEvent::Data(broadcast), number });
        }
    }

    /// The sessions among `sessions` that are in the match.
    fn present(&self, sessions: &[SessionId]) -> Vec<SessionId> {
        const FEW: usize = 8;
        let mut players = self.players.values().map(|player| player.presence.session_id);
        let sessions = sessions.iter().copied();
        if sessions.len() <= FEW {
            return sessions.filter(|session| players.clone().any(|player| player == *session)).collect();
        }
        // A set is made because both lists may be long: game code makes one of them, and the other has all players.
        let players: BTreeSet<_> = players.by_ref().collect();
        sessions.filter(|session| players.contains(session)).collect()
    }

    fn kick(&mut self, session: SessionId, out: &mut Vec<MatchEffect>) {
        let found = self.players.iter().find(|(_, player)| player.presence.session_id == session);
        if let Some(player) = found.map(|(session, _)| *session).and_then(|it| self.remove(it, LeaveReason::Kicked)) {
            out.push(MatchEffect::Expel(self.outline.id, player.listener));
        }
    }

    /// Ends the match: answers all waiting requests, and expels all players.
    pub(in super::super) fn close(mut self, out: &mut Vec<MatchEffect>) {
        if let Some(under_way) = self.under_way.take() {
            under_way.give_up("the server stops", out);
        }
        for queued in self.queue.drain(..) {
            match queued {
                QueuedCall::Attempt(attempt, _) => refuse(*attempt, ended_error(), out),
                QueuedCall::Signal { mut caller, .. } => caller.answer(Err(ended_error()), out),
                QueuedCall::Join(_) | QueuedCall::Leave(_) | QueuedCall::Terminate { .. } => {}
            }
        }
        let (id, players) = (self.outline.id, self.players.into_values());
        out.extend(players.map(|player| MatchEffect::Expel(id, player.listener)));
    }
}
