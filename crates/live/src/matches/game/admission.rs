//! Letting players in: the handler is asked about one attempt at a time, and hears of the join before the next attempt.

use std::ops::RangeFrom;
use std::sync::Arc;

use super::super::call::{Act, Callback, LeaveReason, Left};
use super::super::effect::Effect;
use super::super::message::Attempt;
use super::{Game, Player, UnderWay, Waiting, ended, refuse};
use crate::session::Millis;
use crate::stream::{Presence, SessionRef};

/// An attempt that the handler is asked about.
#[derive(Debug)]
pub(super) struct Asking {
    pub(super) attempt: Attempt,
    /// Until when the answer is waited for; `None` if the session has gone, or was told that it takes too long.
    pub(super) until: Option<Millis>,
}

impl Asking {
    /// The match has ended before there was an answer.
    pub(super) fn give_up(self, out: &mut Vec<Effect>) {
        if self.until.is_some() {
            refuse(self.attempt, ended(), out);
        }
    }
}

/// An accepted attempt of a durable match whose join is under way. The attempt's record in the log is synced together with that
/// of the join, so nothing of the attempt leaves before the join has returned.
#[derive(Debug)]
pub(super) struct Admission {
    pub(super) asking: Asking,
    /// What the attempt's callback wants done.
    acts: Vec<Act>,
    /// Numbers of the broadcasts among them.
    numbers: RangeFrom<u64>,
    /// The label before the attempt, if its callback has set another.
    former_label: Option<Arc<str>>,
}

impl Game {
    /// The handler has accepted an attempt: the join is the next call, whatever else waits. Answers whether the match is found by
    /// another label now.
    pub(super) fn accept(
        &mut self,
        asking: Asking,
        acts: Vec<Act>,
        numbers: RangeFrom<u64>,
        out: &mut Vec<Effect>,
    ) -> bool {
        let presence = Arc::new(asking.attempt.member.presence.clone());
        self.outline.seat(presence.clone());
        let label = self.outline.label.clone();
        let is_relabelled = self.outline.note_acts(&acts, self.outline.tick);
        let admission = Admission { asking, acts, numbers, former_label: is_relabelled.then_some(label) };
        if self.outline.id.is_durable() {
            self.begin_join(vec![presence], Some(Box::new(admission)), out);
            return false;
        }
        self.admit(admission, out);
        self.begin_join(vec![presence], None, out);
        is_relabelled
    }

    /// Does what follows from an accepted attempt. Answers whether its callback has changed the label.
    pub(super) fn admit(&mut self, admission: Admission, out: &mut Vec<Effect>) -> bool {
        let Admission { asking: Asking { attempt, until }, acts, numbers, former_label } = admission;
        let presence = Arc::new(attempt.member.presence.clone());
        if until.is_some() {
            let player = Player { presence: presence.clone(), listener: attempt.member.listener };
            self.players.insert(presence.session, player);
            out.push(Effect::Enter(self.outline.id, attempt.member.clone()));
            self.entered(&attempt, true, out);
        } else {
            // The handler may have kept a seat: it hears that they came, and went.
            self.enqueue_leave(Left { presence, reason: LeaveReason::Disconnected });
        }
        self.carry_out(acts, numbers, out);
        former_label.is_some()
    }

    pub(super) fn begin_join(
        &mut self,
        came: Vec<Arc<Presence>>,
        admission: Option<Box<Admission>>,
        out: &mut Vec<Effect>,
    ) {
        self.begin(UnderWay::Join { came: came.clone(), admission }, Callback::Join(came), out);
    }

    /// A join waits before all attempts and signals.
    pub(super) fn enqueue_join(&mut self, presence: Arc<Presence>) {
        self.waiting.insert(self.joins_and_leaves_first(), Waiting::Join(presence));
    }

    /// A leave waits for its turn; that of a player of whose join the handler has not heard follows the join at once.
    pub(super) fn enqueue_leave(&mut self, left: Left) {
        let seated = self.outline.seated_mut(left.presence.session_id);
        let has_joined = seated.is_none_or(|seated| seated.has_joined);
        let position = if has_joined { self.waiting.len() } else { self.joins_and_leaves_first() };
        self.waiting.insert(position, Waiting::Leave(left));
    }

    /// How many joins and leaves are at the head of what waits.
    fn joins_and_leaves_first(&self) -> usize {
        let waiting = self.waiting.iter();
        waiting.take_while(|waiting| matches!(waiting, Waiting::Join(_) | Waiting::Leave(_))).count()
    }

    /// Whether a tick that is due goes before what waits: an attempt, when another was decided since the last tick. So a
    /// flood of attempts does not hold up ticks.
    pub(super) fn is_tick_first(&self, now: Millis) -> bool {
        let is_attempt_next = matches!(self.waiting.front(), Some(Waiting::Attempt(..)));
        is_attempt_next && self.has_asked && self.has_begun() && now >= self.tick_due()
    }

    /// The label by which the match is found: one that an attempt has set counts when its join has returned.
    pub(in super::super) fn listed_label(&self) -> &Arc<str> {
        match &self.under_way {
            Some(UnderWay::Join { admission: Some(admission), .. }) => {
                admission.former_label.as_ref().unwrap_or(&self.outline.label)
            }
            _ => &self.outline.label,
        }
    }

    /// The session about whose attempt the handler is asked, and which still waits.
    pub(super) fn attempt_under_way(&self) -> Option<SessionRef> {
        let asking = self.under_way.as_ref()?.asking()?;
        asking.until.map(|_| asking.attempt.member.session())
    }
}
