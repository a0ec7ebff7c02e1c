//! Resumption of a durable match from its log, with those of its players who are still there.

use std::sync::Arc;

use super::super::call::{LeaveReason, Left};
use super::super::durable::Outline;
use super::super::effect::{MatchAnswer, MatchEffect};
use super::super::owner::Creation;
use super::{CallUnderWay, Player, QueuedCall, RunningMatch};
use crate::party::Member;
use crate::plane::{Map, RequestRef};
use crate::session::Millis;
use crate::stream::Presence;

impl RunningMatch {
    /// Goes on with a match. `inside` are the sessions on the match's stream. Players who are not among them have left.
    /// Sessions among them that are not players, or that were kicked, are expelled. The broadcasts of the latest calls
    /// are sent again. The next tick is due one period from now.
    pub(in super::super) fn resume(
        now: Millis,
        outline: Outline,
        stay: u64,
        inside: Vec<Member>,
        out: &mut Vec<MatchEffect>,
    ) -> Self {
        let id = outline.id;
        let mut running = Self::idle(outline, stay);
        (running.began_at, running.ticks_due) = (now, 1);
        // Players are found by their public session ids, since sessions may have moved to other places.
        let mut inside: Map<_, Member> =
            inside.into_iter().map(|member| (member.presence.session_id, member)).collect();
        let mut leaves = Vec::new();
        for seated in &mut running.outline.players {
            let member = inside.remove(&seated.presence.session_id);
            if let Some(Member { presence: Presence { session, .. }, .. }) = member {
                seated.presence = Arc::new(Presence { session, ..Presence::clone(&seated.presence) });
            }
            let presence = seated.presence.clone();
            if !seated.has_joined {
                running.queue.push_back(QueuedCall::Join(presence.clone()));
            }
            match member {
                Some(Member { listener, .. }) if !seated.is_kicked => {
                    running.players.insert(presence.session, Player { presence, listener });
                }
                member => {
                    let reason = if seated.is_kicked { LeaveReason::Kicked } else { LeaveReason::Disconnected };
                    leaves.push(QueuedCall::Leave(Left { presence, reason }));
                    out.extend(member.map(|member| MatchEffect::Expel(id, member.listener)));
                }
            }
        }
        running.queue.extend(leaves);
        let mut strangers: Vec<Member> = inside.into_values().collect();
        // The order must be the same in every run of a simulation.
        strangers.sort_unstable_by_key(Member::session);
        out.extend(strangers.into_iter().map(|member| MatchEffect::Expel(id, member.listener)));
        for (broadcast, number) in running.outline.sent.iter().zip(running.outline.sent_numbers()) {
            running.broadcast(broadcast.clone(), Some(number), out);
        }
        running.advance(now, out);
        running
    }

    /// Whether this request is the one that created the match. The same request comes again if its sender, a match at
    /// another place, died before the answer came and was resumed.
    pub(in super::super) fn is_made_by(&self, creation: &Creation) -> bool {
        let Outline { handler, created_at, .. } = &self.outline;
        *handler == creation.handler && *created_at == creation.created_at
    }

    /// Answers a request that has created the match and comes a second time.
    pub(in super::super) fn answer_creation(&mut self, reply_to: Option<RequestRef>, out: &mut Vec<MatchEffect>) {
        match &mut self.under_way {
            Some(CallUnderWay::Init(waiting)) => *waiting = reply_to,
            _ => out.extend(reply_to.map(|to| MatchEffect::Reply(to, Ok(MatchAnswer::Created)))),
        }
    }

    /// Lets the match come to rest. Answers whether no call is under way.
    pub(in super::super) fn rest(&mut self) -> bool {
        self.rests = true;
        self.under_way.is_none()
    }
}
