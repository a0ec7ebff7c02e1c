//! A durable match that goes on: from what its log says, with those who are still there.

use std::sync::Arc;

use super::super::call::{LeaveReason, Left};
use super::super::durable::Outline;
use super::super::effect::{Answer, Effect};
use super::super::owner::Creation;
use super::{Game, Player, UnderWay, Waiting};
use crate::party::Member;
use crate::plane::{Map, RequestRef};
use crate::session::Millis;
use crate::stream::Presence;

impl Game {
    /// Goes on with a match, and with those of its players who are `inside` by their places: the others have gone. Who is
    /// inside and not among its players is taken out. What its latest call sent is sent again. The next tick is due one period
    /// from now.
    pub(in super::super) fn resume(
        now: Millis,
        (outline, life): (Outline, u64),
        inside: Vec<Member>,
        out: &mut Vec<Effect>,
    ) -> Self {
        let id = outline.id;
        let mut game = Self::of(outline, life);
        (game.began_at, game.ticks_due) = (now, 1);
        // By their public ids: a session may go on at another place.
        let mut inside: Map<_, Member> =
            inside.into_iter().map(|member| (member.presence.session_id, member)).collect();
        let mut left = Vec::new();
        for seated in &mut game.outline.players {
            let standing = inside.remove(&seated.presence.session_id);
            if let Some(Member { presence: Presence { session, .. }, .. }) = standing {
                seated.presence = Arc::new(Presence { session, ..Presence::clone(&seated.presence) });
            }
            let presence = seated.presence.clone();
            if !seated.has_joined {
                game.waiting.push_back(Waiting::Join(presence.clone()));
            }
            match standing {
                Some(Member { listener, .. }) if !seated.is_kicked => {
                    game.players.insert(presence.session, Player { presence, listener });
                }
                standing => {
                    let reason = if seated.is_kicked { LeaveReason::Kicked } else { LeaveReason::Disconnected };
                    left.push(Waiting::Leave(Left { presence, reason }));
                    out.extend(standing.map(|member| Effect::Expel(id, member.listener)));
                }
            }
        }
        game.waiting.extend(left);
        let mut strangers: Vec<Member> = inside.into_values().collect();
        // In an order that another run has too.
        strangers.sort_unstable_by_key(Member::session);
        out.extend(strangers.into_iter().map(|member| Effect::Expel(id, member.listener)));
        for (broadcast, number) in game.outline.sent.iter().zip(game.outline.sent_numbers()) {
            game.broadcast(broadcast.clone(), Some(number), out);
        }
        game.advance(now, out);
        game
    }

    /// Whether it was made by this very call: one whose answer did not come to be known before its match, of another place, had to
    /// make it again.
    pub(in super::super) fn is_made_by(&self, creation: &Creation) -> bool {
        let Outline { handler, created_at, .. } = &self.outline;
        *handler == creation.handler && *created_at == creation.created_at
    }

    /// Whoever makes it again is told what became of it.
    pub(in super::super) fn answer_creation(&mut self, reply_to: Option<RequestRef>, out: &mut Vec<Effect>) {
        match &mut self.under_way {
            Some(UnderWay::Init(waiting)) => *waiting = reply_to,
            _ => out.extend(reply_to.map(|to| Effect::Reply(to, Ok(Answer::Created)))),
        }
    }

    /// No further call begins. Answers whether none is under way.
    pub(in super::super) fn rest(&mut self) -> bool {
        self.rests = true;
        self.under_way.is_none()
    }
}
