//! A durable match that goes on at another owner while both live: taken out, and put in.

use super::super::carried::{CarriedMatch, CarriedWaiting};
use super::super::effect::Effect;
use super::super::message::Attempt;
use super::{Asker, Game, Player, Waiting};
use crate::session::Millis;
use crate::stream::SessionRef;

impl Game {
    /// All that there is to it. It rests, and no call is under way.
    pub(in super::super) fn carried(self, now: Millis) -> CarriedMatch {
        let due_ms = self.due_at(self.ticks_due).saturating_sub(now);
        let Self { outline, players, waiting, inputs, empty_ticks, .. } = self;
        let waiting = waiting.into_iter().filter_map(|waiting| match waiting {
            Waiting::Attempt(attempt, until) => {
                let Attempt { member, metadata, reply_to, .. } = *attempt;
                let left_ms = until.saturating_sub(now);
                Some(CarriedWaiting::Attempt { member: Box::new(member), metadata, reply_to, left_ms })
            }
            Waiting::Join(presence) => Some(CarriedWaiting::Join(presence)),
            Waiting::Leave(left) => Some(CarriedWaiting::Leave(left)),
            Waiting::Signal { data, chain, asker: Asker { reply_to, until } } => {
                Some(CarriedWaiting::Signal { data, chain, reply_to, left_ms: until.saturating_sub(now) })
            }
            // A durable match is not told that the server stops.
            Waiting::Terminate { .. } => None,
        });
        let listeners = players.into_values().map(|player| player.listener).collect();
        CarriedMatch { outline, listeners, waiting: waiting.collect(), inputs, due_ms, empty_ticks }
    }

    /// What another owner has carried out. It rests until it is woken.
    pub(in super::super) fn carry_in(now: Millis, carried: CarriedMatch, life: u64) -> Self {
        let CarriedMatch { outline, listeners, waiting, inputs, due_ms, empty_ticks } = carried;
        let id = outline.id;
        let mut game = Self::of(outline, life);
        (game.rests, game.began_at, game.inputs, game.empty_ticks) = (true, now + due_ms, inputs, empty_ticks);
        for listener in listeners {
            let seated = game.outline.players.iter().find(|seated| seated.presence.session == listener.session);
            if let Some(presence) = seated.map(|seated| seated.presence.clone()) {
                game.players.insert(listener.session, Player { presence, listener });
            }
        }
        for waiting in waiting {
            match waiting {
                CarriedWaiting::Attempt { member, metadata, reply_to, left_ms } => {
                    game.attempts += 1;
                    let attempt = Attempt { id, member: *member, metadata, reply_to };
                    game.waiting.push_back(Waiting::Attempt(Box::new(attempt), now + left_ms));
                }
                CarriedWaiting::Join(presence) => game.enqueue_join(presence),
                CarriedWaiting::Leave(left) => game.enqueue_leave(left),
                CarriedWaiting::Signal { data, chain, reply_to, left_ms } => {
                    game.signals += 1;
                    let asker = Asker { reply_to, until: now + left_ms };
                    game.waiting.push_back(Waiting::Signal { data, chain, asker });
                }
            }
        }
        game
    }

    /// Calls of a match that was carried in may begin.
    pub(in super::super) fn wake(&mut self, now: Millis, out: &mut Vec<Effect>) {
        self.rests = false;
        self.advance(now, out);
    }

    /// Who waits to be let in.
    pub(in super::super) fn attempting(&self) -> impl Iterator<Item = SessionRef> {
        let waiting = self.waiting.iter().filter_map(|waiting| match waiting {
            Waiting::Attempt(attempt, _) => Some(attempt.member.session()),
            _ => None,
        });
        self.attempt_under_way().into_iter().chain(waiting)
    }
}
