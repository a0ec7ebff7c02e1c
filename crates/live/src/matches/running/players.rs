//! The players of a match, as their sessions come, move, send and go.

use std::sync::Arc;

use super::super::call::{Input, LeaveReason, Left};
use super::super::effect::{Entered, MatchAnswer, MatchEffect};
use super::super::message::{Attempt, PlayerMessage};
use super::super::owner::MatchesConfig;
use super::{CallUnderWay, QueuedCall, RunningMatch, busy_error, refuse};
use crate::plane::Listener;
use crate::session::Millis;
use crate::stream::{Presence, SessionRef};

/// A player on the match's stream.
#[derive(Debug)]
pub(super) struct Player {
    pub(super) presence: Arc<Presence>,
    pub(super) listener: Listener,
}

impl RunningMatch {
    /// Queues the join attempt of a player. A player who is in the match already is answered at once.
    pub(in super::super) fn attempt(
        &mut self,
        now: Millis,
        attempt: Attempt,
        config: &MatchesConfig,
        out: &mut Vec<MatchEffect>,
    ) {
        let session = attempt.member.session();
        let has_asked = self.has_asked_to_join(session);
        if let Some(player) = self.players.get_mut(&session) {
            player.listener = attempt.member.listener;
            return self.answer_entered(&attempt, false, out);
        }
        if has_asked || self.attempts >= config.join_attempts_max {
            return refuse(attempt, busy_error(), out);
        }
        self.attempts += 1;
        self.queue.push_back(QueuedCall::Attempt(Box::new(attempt), now + config.answer_wait_max_ms));
        self.advance(now, out);
    }

    /// Whether an attempt of the session is queued or under way.
    fn has_asked_to_join(&self, session: SessionRef) -> bool {
        self.attempting().any(|attempting| attempting == session)
    }

    /// Sessions of the players.
    pub(in super::super) fn player_sessions(&self) -> impl Iterator<Item = SessionRef> {
        self.players.keys().copied()
    }

    /// Sessions that wait for answers to their join attempts.
    pub(in super::super) fn attempting(&self) -> impl Iterator<Item = SessionRef> {
        let queued = self.queue.iter().filter_map(|queued| match queued {
            QueuedCall::Attempt(attempt, _) => Some(attempt.member.session()),
            _ => None,
        });
        self.attempt_under_way().into_iter().chain(queued)
    }

    /// Answers the attempt of a player who is in the match.
    pub(super) fn answer_entered(&self, attempt: &Attempt, is_new: bool, out: &mut Vec<MatchEffect>) {
        let Some(to) = attempt.reply_to else { return };
        let session = attempt.member.session();
        let (id, label) = (self.outline.id, self.outline.label.clone());
        let entered = Entered { id, label, is_new, presences: Arc::default(), total: 0, session };
        out.push(MatchEffect::Reply(to, Ok(MatchAnswer::Entered(Box::new(entered)))));
    }

    /// Takes in that a session goes on at another place. Answers whether the session is in the match or wants to join
    /// it.
    pub(in super::super) fn rebind(&mut self, from: SessionRef, to: SessionRef) -> bool {
        let move_attempt = |attempt: &mut Attempt| {
            let is_its = attempt.member.session() == from;
            if is_its {
                (attempt.member.presence.session, attempt.member.listener.session) = (to, to);
            }
            is_its
        };
        let mut is_known = false;
        if let Some(pending) = self.under_way.as_mut().and_then(CallUnderWay::pending_attempt_mut)
            && pending.awaited_until.is_some()
            && move_attempt(&mut pending.attempt)
        {
            is_known = true;
            let presence = pending.attempt.member.presence.clone();
            if let Some(seated) = self.outline.seated_mut(presence.session_id) {
                seated.presence = Arc::new(presence);
            }
        }
        for queued in &mut self.queue {
            if let QueuedCall::Attempt(attempt, _) = queued {
                is_known |= move_attempt(attempt);
            }
        }
        if let Some((index, _, mut player)) = self.players.shift_remove_full(&from) {
            player.presence = Arc::new(Presence { session: to, ..Presence::clone(&player.presence) });
            player.listener.session = to;
            if let Some(seated) = self.outline.seated_mut(player.presence.session_id) {
                seated.presence = player.presence.clone();
            }
            self.players.shift_insert(index, to, player);
            is_known = true;
        }
        is_known
    }

    /// Takes in that a session has left the match's stream, or has gone before it came there.
    pub(in super::super) fn gone(
        &mut self,
        now: Millis,
        session: SessionRef,
        reason: LeaveReason,
        out: &mut Vec<MatchEffect>,
    ) {
        if let Some(pending) = self.under_way.as_mut().and_then(CallUnderWay::pending_attempt_mut)
            && pending.attempt.member.session() == session
        {
            pending.awaited_until = None;
        }
        let is_its = |queued: &QueuedCall| match queued {
            QueuedCall::Attempt(attempt, _) => attempt.member.session() == session,
            _ => false,
        };
        if let Some(position) = self.queue.iter().position(is_its) {
            self.queue.remove(position);
            self.attempts -= 1;
        }
        self.remove(session, reason);
        self.advance(now, out);
    }

    /// Removes a player, and queues the leave for the handler.
    pub(super) fn remove(&mut self, session: SessionRef, reason: LeaveReason) -> Option<Player> {
        let player = self.players.shift_remove(&session)?;
        self.enqueue_leave(Left { presence: player.presence.clone(), reason });
        Some(player)
    }

    /// Takes in the message of a player. Answers `false` if the message was dropped because too many messages wait for
    /// a tick. A message of a session that is not in the match is ignored, and the answer is `true`.
    pub(in super::super) fn input(
        &mut self,
        session: SessionRef,
        message: PlayerMessage,
        config: &MatchesConfig,
    ) -> bool {
        let Some(player) = self.players.get(&session) else { return true };
        if self.inputs.len() >= config.inputs_max {
            return false;
        }
        let PlayerMessage { op_code, data, reliable, received_at } = message;
        self.inputs.push(Input { sender: player.presence.clone(), op_code, data, reliable, received_at });
        true
    }
}
