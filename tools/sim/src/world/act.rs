//! The actions of players, sockets and threads in a world, and the notes that the model takes of them.

use std::collections::BTreeSet;
use std::sync::Arc;

use muster_domain::Timestamp;
use muster_domain::ids::{SessionId, TokenId, UserId, Uuid};
use muster_live::plane::{self, JoinOptions, Publish, RequestRef, Up};
use muster_live::registry::SessionInfo;
use muster_live::{Delivery, Encoding, ShardIndex, StreamKey};

use super::{Appearance, Client, OpenRequest, Push, World};
use crate::frames::{Say, StreamId, Version};
use crate::model::{Audience, Op, Receiver};
use crate::scenario::{Action, To, When, Who};
use crate::violation::{Check, Checked, ensure};

/// The public id of a session.
pub(super) fn session_id(who: Who) -> SessionId {
    SessionId(Uuid::from_u128(1 + who as u128))
}

/// The user of a session. Every eighth session has the same user as the session before it.
pub(super) fn user_id(who: Who) -> UserId {
    UserId(Uuid::from_u128(1_000_000 + (who - usize::from(who % 8 == 7)) as u128))
}

impl World {
    /// Carries out an action, unless it is impossible: the session is not open, its shard is paused, or congestion
    /// keeps its socket from being read.
    pub(super) fn act(&mut self, action: &Action) -> Checked {
        match *action {
            Action::Open { who, shard, encoding } if !self.is_paused(shard) => self.open(who, shard, encoding),
            Action::Open { .. } => {}
            Action::Close { who } => {
                if self
                    .clients
                    .get(&who)
                    .is_some_and(|client| client.is_open && !self.is_paused(client.at.place.shard()))
                {
                    self.close(who)?;
                }
            }
            Action::Read { who, reads } => self.read(who, reads),
            Action::Pause { shard, ms } => self.paused_until[usize::from(shard)] = self.now + ms,
            Action::Advance { ms } => self.advance(ms)?,
            Action::Rest => self.rest()?,
            Action::Push { shard, who } => self.push(shard, who)?,
            Action::List { shard, stream, with_hidden, skip, limit } if !self.is_paused(shard) => {
                self.list(shard, stream, with_hidden, skip, limit)?;
            }
            Action::Count { shard } if !self.is_paused(shard) => self.count(shard)?,
            Action::List { .. } | Action::Count { .. } => {}
            Action::Join { who, .. }
            | Action::Leave { who, .. }
            | Action::Vanish { who, .. }
            | Action::Listen { who, .. }
            | Action::Unlisten { who, .. }
            | Action::Party { who, .. }
            | Action::Room { who, .. }
            | Action::Search { who, .. }
            | Action::Withdraw { who }
            | Action::Publish { who, .. } => {
                if self.may_act(who) {
                    self.play(who, action)?;
                }
            }
        }
        Ok(())
    }

    pub(super) fn may_act(&self, who: Who) -> bool {
        self.clients.get(&who).is_some_and(|client| {
            let shard = client.at.place.shard();
            client.is_open && !self.is_paused(shard) && !self.planes[usize::from(shard)].is_congested()
        })
    }

    /// Carries out an action that a player's client asks for.
    fn play(&mut self, who: Who, action: &Action) -> Checked {
        self.control += 1;
        match action {
            // A session that may be in only one match or party cannot hear one without being in it.
            Action::Vanish { stream, .. } | Action::Listen { stream, .. } | Action::Unlisten { stream, .. }
                if self.is_single(*stream) =>
            {
                Ok(())
            }
            Action::Join { stream, hidden, persistence, listens, when, .. } => {
                let appearance = Appearance { who, stream: *stream, hidden: *hidden, persistence: *persistence };
                self.join(appearance, *listens || self.is_single(*stream), *when)
            }
            Action::Leave { stream, .. } => {
                let was_there = self.hoped(who, *stream).present.is_some();
                self.note(who, *stream, Op::Leave);
                let (key, shard, stream) = self.place(who, *stream);
                let left = self.step(shard, |plane, now, out| plane.leave(now, key, stream, out))?;
                ensure(Check::Answers, left == was_there, || format!("session {who} left: {left}, not {was_there}"))
            }
            Action::Vanish { stream, .. } => {
                let hears = self.hoped(who, *stream).hears;
                self.note(who, *stream, Op::Vanish { hears });
                let (key, shard, stream) = self.place(who, *stream);
                self.step(shard, |plane, now, out| plane.vanish(now, key, stream, out)).map(drop)
            }
            Action::Unlisten { stream, .. } => {
                self.note(who, *stream, Op::Unlisten);
                let (key, shard, stream) = self.place(who, *stream);
                self.step(shard, |plane, now, out| plane.unlisten(now, key, stream, out))
            }
            Action::Listen { stream, .. } => self.listen(who, *stream),
            Action::Search { players, .. } => self.add_ticket(who, *players),
            Action::Withdraw { .. } => self.remove_ticket(who),
            Action::Party { party, act, .. } => self.act_in_party(who, *party, *act),
            Action::Room { act, .. } => self.act_in_room(who, *act),
            Action::Publish { stream, to, times, .. } => {
                let mut sent = 0;
                while sent < *times && self.may_act(who) {
                    self.publish(who, *stream, to)?;
                    sent += 1;
                }
                Ok(())
            }
            _ => Ok(()),
        }
    }

    fn open(&mut self, who: Who, shard: ShardIndex, encoding: Encoding) {
        let info = SessionInfo {
            session_id: session_id(who),
            user_id: user_id(who),
            token_id: TokenId::issued(Timestamp::from_seconds(1), [0; 8]),
            issued_at_sec: 1,
            only_session_since: Some(Timestamp(who as i64)),
        };
        let key = self.planes[usize::from(shard)].open(info, who.to_string().into(), encoding);
        let at = muster_live::SessionRef { place: shard.into(), key };
        self.by_ref.insert(at, who);
        let client = Client { at, encoding, is_open: true, reads: true, backlog: 0, ties: Default::default() };
        self.clients.insert(who, client);
    }

    pub(super) fn close(&mut self, who: Who) -> Checked {
        let Some(client) = self.clients.get_mut(&who).filter(|client| client.is_open) else { return Ok(()) };
        client.is_open = false;
        client.ties.values_mut().for_each(|tie| tie.note(Op::Leave));
        // The additional message withdraws the session's tickets.
        self.control += client.ties.len() + self.scenario.parties.len() + 1;
        self.control += 40 * self.rooms.ties_of(who);
        let (at, name) = (client.at, who);
        self.leave_parties(who);
        self.rooms.left_all(who);
        self.trace.step(|| format!("  session {name} closes"), &[name as u64]);
        self.step(at.place.shard(), |plane, now, out| plane.close(now, at.key, out))
    }

    fn read(&mut self, who: Who, reads: bool) {
        let Some(client) = self.clients.get_mut(&who) else { return };
        client.reads = reads;
        client.backlog = 0;
    }

    fn place(&self, who: Who, stream: StreamId) -> (muster_live::SessionKey, ShardIndex, StreamKey) {
        let at = self.clients[&who].at;
        (at.key, at.place.shard(), self.scenario.streams[usize::from(stream)].clone())
    }

    pub(super) fn note(&mut self, who: Who, stream: StreamId, op: Op) {
        if let Some(client) = self.clients.get_mut(&who) {
            client.ties.entry(stream).or_default().note(op);
        }
    }

    /// The relation of a session to a stream, as the session's shard believes it to be.
    fn hoped(&self, who: Who, stream: StreamId) -> crate::model::State {
        let tie = self.clients.get(&who).and_then(|client| client.ties.get(&stream));
        tie.map(crate::model::Tie::hoped).unwrap_or_default()
    }

    pub(super) fn ask(&mut self, shard: ShardIndex, asked: OpenRequest) -> RequestRef {
        self.control += 1;
        let request = self.planes[usize::from(shard)].request();
        self.asked.insert((shard, request.id), asked);
        request
    }

    /// Whether the stream would be one too many for a session.
    fn is_full(&self, who: Who, stream: StreamId) -> bool {
        let ties = &self.clients[&who].ties;
        let counts = |tie: &crate::model::Tie| {
            let state = tie.hoped();
            state.present.is_some() || state.hears
        };
        let is_known = ties.get(&stream).is_some_and(counts);
        !is_known && ties.values().filter(|tie| counts(tie)).count() >= self.scenario.config.session_streams_max
    }

    fn join(&mut self, appearance: Appearance, listens: bool, when: When) -> Checked {
        let Appearance { who, stream, hidden, persistence } = appearance;
        let is_full = self.is_full(who, stream);
        self.appearances.push(appearance);
        let version = self.appearances.len() as Version;
        self.note(who, stream, Op::Join { version, when, listens, answer: None });
        let condition = when.condition();
        let status = Some(Arc::from(version.to_string()));
        let options = JoinOptions { hidden, persistence, status, listens, condition };
        let (key, shard, name) = self.place(who, stream);
        let epoch = self.clients[&who].ties[&stream].epoch;
        let request = self.ask(shard, OpenRequest::Join { who, stream, version, epoch, listens });
        self.step(shard, |plane, now, out| plane.join(now, key, name, options, Some(request), out))?;
        self.check_full(who, is_full, request)
    }

    /// Checks that a refusal for too many streams came at once.
    fn check_full(&self, who: Who, is_full: bool, request: RequestRef) -> Checked {
        let is_open = self.asked.contains_key(&(request.place.shard(), request.id));
        ensure(Check::Limits, !is_full || !is_open, || format!("session {who} is on too many streams"))
    }

    fn listen(&mut self, who: Who, stream: StreamId) -> Checked {
        let is_full = self.is_full(who, stream);
        let (key, shard, name) = self.place(who, stream);
        let request = self.planes[usize::from(shard)].request();
        self.note(who, stream, Op::Listen { request: request.id, answer: None });
        let epoch = self.clients[&who].ties[&stream].epoch;
        self.asked.insert((shard, request.id), OpenRequest::Listen { who, stream, epoch });
        self.step(shard, |plane, now, out| plane.listen(now, key, name, Some(request), out))?;
        self.check_full(who, is_full, request)
    }

    fn publish(&mut self, who: Who, stream: StreamId, to: &To) -> Checked {
        let at = self.clients[&who].at;
        let (meant, audience) = self.audience(who, to);
        let due = if self.certainly_there(who, stream) == Some(true) { self.due(stream, &meant) } else { Vec::new() };
        let meant = if self.certainly_there(who, stream) == Some(false) { Audience::Nobody } else { meant };
        let payload = self.messages.add(stream, meant, due);
        let delivery = match self.rng.u8(0..6) {
            0 => Delivery::Droppable,
            1 => Delivery::Latest(1),
            _ => Delivery::Reliable,
        };
        let stream = self.scenario.streams[usize::from(stream)].clone();
        let publish = Publish { stream, payload, audience, delivery, sender: Some(at) };
        self.step(at.place.shard(), |plane, now, out| plane.publish(now, publish, out))
    }

    fn certainly_there(&self, who: Who, stream: StreamId) -> Option<bool> {
        let Some(tie) = self.clients[&who].ties.get(&stream) else { return Some(false) };
        tie.certain().map(|state| state.present.is_some())
    }

    fn audience(&self, who: Who, to: &To) -> (Audience, plane::Audience) {
        match to {
            To::All => (Audience::All, plane::Audience::All),
            To::AllBut(but) => {
                let but = if self.clients.contains_key(but) { *but } else { who };
                (Audience::AllBut(but), plane::Audience::AllBut(self.clients[&but].at))
            }
            To::Only(whom) => {
                let meant = whom.iter().copied().filter(|who| self.clients.contains_key(who));
                (
                    Audience::Only(meant.collect::<BTreeSet<_>>()),
                    plane::Audience::Only(whom.iter().map(|who| session_id(*who)).collect()),
                )
            }
        }
    }

    /// Sessions that certainly hear the stream and are in the audience when its owner handles a message that is sent
    /// now.
    fn due(&self, stream: StreamId, audience: &Audience) -> Vec<Receiver> {
        let hearing = self.clients.iter().filter_map(|(who, client)| {
            let tie = client.ties.get(&stream)?;
            let period = tie.period.as_ref()?;
            Some((*who, tie, Receiver { who: *who, period: period.id, changes: tie.changes }))
        });
        match audience {
            Audience::All => hearing.map(|(_, _, receiver)| receiver).collect(),
            Audience::AllBut(but) => hearing.filter(|(who, ..)| who != but).map(|(_, _, receiver)| receiver).collect(),
            Audience::Nobody => Vec::new(),
            Audience::Only(whom) => {
                let there = hearing.filter(|(who, tie, _)| whom.contains(who) && tie.is_there_already());
                there.map(|(_, _, receiver)| receiver).collect()
            }
        }
    }

    fn push(&mut self, shard: ShardIndex, who: Who) -> Checked {
        let Some(client) = self.clients.get(&who) else { return Ok(()) };
        if self.is_paused(shard) || self.planes[usize::from(shard)].is_congested() {
            return Ok(());
        }
        let at = client.at;
        let say = Arc::new(Say::push(self.pushes.len() as u32));
        self.pushes.push(Push { say: say.clone(), to: Some(who), is_received: false });
        self.step(shard, |plane, _, out| plane.push(at, say, out))
    }

    pub(super) fn list(
        &mut self,
        shard: ShardIndex,
        stream: StreamId,
        with_hidden: bool,
        skip: usize,
        limit: usize,
    ) -> Checked {
        let request = self.ask(shard, OpenRequest::List { stream, with_hidden, limit });
        let key = self.scenario.streams[usize::from(stream)].clone();
        let up = Up::List { request, stream: key.clone(), with_hidden, skip, limit };
        self.step(shard, |plane, now, out| plane.ask(now, &key, up, out))
    }

    pub(super) fn count(&mut self, shard: ShardIndex) -> Checked {
        for owner in 0..self.scenario.shards {
            let streams = self.owned_by(owner).map(|(_, key)| key.clone()).collect();
            let request = self.ask(shard, OpenRequest::Count);
            self.step(shard, |plane, now, out| {
                plane.ask_place(now, owner.into(), Up::Count { request, streams }, out)
            })?;
            let request = self.ask(shard, OpenRequest::Matches);
            let matches = Up::Matches { request, limit: usize::MAX, sizes: (0, usize::MAX) };
            self.step(shard, |plane, now, out| plane.ask_place(now, owner.into(), matches, out))?;
        }
        Ok(())
    }

    /// The streams that a shard owns.
    pub(super) fn owned_by(&self, owner: ShardIndex) -> impl Iterator<Item = (StreamId, &StreamKey)> {
        let streams = (0..).zip(&self.scenario.streams);
        streams.filter(move |(_, key)| self.owning_shard(key) == owner)
    }
}
