//! Admission of players: the handler is asked about one join attempt at a time, and hears of the join before the next
//! attempt.

use std::ops::RangeFrom;
use std::sync::Arc;

use muster_domain::{Error, ErrorKind};

use super::super::call::{Act, Callback, LeaveReason, Left};
use super::super::effect::MatchEffect;
use super::super::message::Attempt;
use super::{CallUnderWay, Player, RunningMatch, refuse};
use crate::session::Millis;
use crate::stream::{Presence, SessionRef};

/// A join attempt from the call of its callback until the player enters or is refused.
#[derive(Debug)]
pub(super) struct PendingAttempt {
    pub(super) attempt: Attempt,
    /// Moment until which the answer is awaited; `None` if the session has gone, or was refused after too long a wait.
    pub(super) awaited_until: Option<Millis>,
}

impl PendingAttempt {
    /// Refuses the attempt for the handler's reason, unless nobody awaits the answer.
    pub(super) fn refuse(self, reason: &str, out: &mut Vec<MatchEffect>) {
        if self.awaited_until.is_some() {
            let told = if reason.is_empty() { "The match does not let you in." } else { reason };
            refuse(self.attempt, Error::new(ErrorKind::PermissionDenied, told.to_owned()), out);
        }
    }

    /// Refuses the attempt because the match has ended, unless nobody awaits the answer.
    pub(super) fn give_up(self, out: &mut Vec<MatchEffect>) {
        if self.awaited_until.is_some() {
            let why = Error::new(ErrorKind::PermissionDenied, "The match has ended before it could let you in.");
            refuse(self.attempt, why, out);
        }
    }
}

/// An accepted attempt of a durable match whose join is under way. The attempt's record in the log is synced together
/// with the record of the join, so no effect of the attempt leaves before the join has returned.
#[derive(Debug)]
pub(super) struct Admission {
    pub(super) pending: PendingAttempt,
    /// Acts of the attempt's callback.
    acts: Vec<Act>,
    /// Numbers of the broadcasts among the acts.
    numbers: RangeFrom<u64>,
    /// The label before the attempt, if the attempt's callback has set another.
    former_label: Option<Arc<str>>,
}

impl RunningMatch {
    /// Takes in that the handler has accepted an attempt. The join is the next call, before all calls in the queue.
    /// Answers whether listings find the match by another label now.
    pub(super) fn accept(
        &mut self,
        pending: PendingAttempt,
        acts: Vec<Act>,
        numbers: RangeFrom<u64>,
        out: &mut Vec<MatchEffect>,
    ) -> bool {
        let presence = Arc::new(pending.attempt.member.presence.clone());
        self.outline.seat(presence.clone());
        let label = self.outline.label.clone();
        let is_relabelled = self.outline.note_acts(&acts, self.outline.tick);
        let admission = Admission { pending, acts, numbers, former_label: is_relabelled.then_some(label) };
        if self.outline.id.is_durable() {
            self.begin_join(vec![presence], Some(Box::new(admission)), out);
            return false;
        }
        self.admit(admission, out);
        self.begin_join(vec![presence], None, out);
        is_relabelled
    }

    /// Carries out an accepted attempt: the player enters, and the acts of the attempt's callback are carried out.
    /// Answers whether the callback has set another label.
    pub(super) fn admit(&mut self, admission: Admission, out: &mut Vec<MatchEffect>) -> bool {
        let Admission { pending: PendingAttempt { attempt, awaited_until }, acts, numbers, former_label } = admission;
        let presence = Arc::new(attempt.member.presence.clone());
        if awaited_until.is_some() {
            let player = Player { presence: presence.clone(), listener: attempt.member.listener };
            self.players.insert(presence.session, player);
            out.push(MatchEffect::Enter(self.outline.id, attempt.member.clone()));
            self.answer_entered(&attempt, true, out);
        } else {
            // The handler may have reserved a seat, so it hears of the join and of the leave.
            self.enqueue_leave(Left { presence, reason: LeaveReason::Disconnected });
        }
        self.carry_out(acts, numbers, out);
        former_label.is_some()
    }

    pub(super) fn begin_join(
        &mut self,
        came: Vec<Arc<Presence>>,
        admission: Option<Box<Admission>>,
        out: &mut Vec<MatchEffect>,
    ) {
        self.begin(CallUnderWay::Join { came: came.clone(), admission }, Callback::Join(came), out);
    }

    /// The label by which listings find the match. In a durable match a label that an attempt has set counts only when
    /// the join of that attempt has returned.
    pub(in super::super) fn listed_label(&self) -> &Arc<str> {
        match &self.under_way {
            Some(CallUnderWay::Join { admission: Some(admission), .. }) => {
                admission.former_label.as_ref().unwrap_or(&self.outline.label)
            }
            _ => &self.outline.label,
        }
    }

    /// The session that awaits the answer to the attempt under way.
    pub(super) fn attempt_under_way(&self) -> Option<SessionRef> {
        let pending = self.under_way.as_ref()?.pending_attempt()?;
        pending.awaited_until.map(|_| pending.attempt.member.session())
    }
}
