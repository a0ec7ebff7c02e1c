//! Handover of a durable match between living owners: the former owner takes the match out, and the next owner puts it
//! in.

use super::super::carried::{CarriedMatch, CarriedWaiting};
use super::super::effect::MatchEffect;
use super::super::message::Attempt;
use super::{Player, QueuedCall, RunningMatch, SignalCaller};
use crate::session::Millis;

impl RunningMatch {
    /// The match as plain data. It must be at rest, with no call under way.
    pub(in super::super) fn carried(self, now: Millis) -> CarriedMatch {
        let due_ms = self.due_at(self.ticks_due).saturating_sub(now);
        let Self { outline, players, queue, inputs, empty_ticks, .. } = self;
        let waiting = queue.into_iter().filter_map(|queued| match queued {
            QueuedCall::Attempt(attempt, until) => {
                let Attempt { member, joiner, reply_to, .. } = *attempt;
                let left_ms = until.saturating_sub(now);
                Some(CarriedWaiting::Attempt { member: Box::new(member), joiner, reply_to, left_ms })
            }
            QueuedCall::Join(presence) => Some(CarriedWaiting::Join(presence)),
            QueuedCall::Leave(left) => Some(CarriedWaiting::Leave(left)),
            QueuedCall::Signal { data, chain, caller: SignalCaller { reply_to, until } } => {
                Some(CarriedWaiting::Signal { data, chain, reply_to, left_ms: until.saturating_sub(now) })
            }
            // Handlers of durable matches are not told that the server stops.
            QueuedCall::Terminate { .. } => None,
        });
        let listeners = players.into_values().map(|player| player.listener).collect();
        CarriedMatch { outline, listeners, waiting: waiting.collect(), inputs, due_ms, empty_ticks }
    }

    /// Makes a match that another owner has taken out. The match rests until [`Self::wake`]. Owners of earlier builds
    /// queued joins behind attempts; here joins come first.
    pub(in super::super) fn carry_in(now: Millis, carried: CarriedMatch, stay: u64) -> Self {
        let CarriedMatch { outline, listeners, waiting, inputs, due_ms, empty_ticks } = carried;
        let id = outline.id;
        let mut running = Self::idle(outline, stay);
        running.rests = true;
        running.began_at = now + due_ms;
        running.inputs = inputs;
        running.empty_ticks = empty_ticks;
        for listener in listeners {
            let seated = running.outline.players.iter().find(|seated| seated.presence.session == listener.session);
            if let Some(presence) = seated.map(|seated| seated.presence.clone()) {
                running.players.insert(listener.session, Player { presence, listener });
            }
        }
        for carried in waiting {
            match carried {
                CarriedWaiting::Attempt { member, joiner, reply_to, left_ms } => {
                    running.attempts += 1;
                    let attempt = Attempt { id, member: *member, joiner, reply_to };
                    running.queue.push_back(QueuedCall::Attempt(Box::new(attempt), now + left_ms));
                }
                CarriedWaiting::Join(presence) => running.enqueue_join(presence),
                CarriedWaiting::Leave(left) => running.enqueue_leave(left),
                CarriedWaiting::Signal { data, chain, reply_to, left_ms } => {
                    running.signals += 1;
                    let caller = SignalCaller { reply_to, until: now + left_ms };
                    running.queue.push_back(QueuedCall::Signal { data, chain, caller });
                }
            }
        }
        running
    }

    /// Goes on with a match that was put in.
    pub(in super::super) fn wake(&mut self, now: Millis, out: &mut Vec<MatchEffect>) {
        self.rests = false;
        self.advance(now, out);
    }
}
