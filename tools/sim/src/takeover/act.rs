//! Actions of sessions and nodes, and the notes that the model takes of them.

use std::collections::BTreeMap;
use std::sync::Arc;

use muster_domain::Timestamp;
use muster_domain::ids::{SessionId, TokenId, UserId, Uuid};
use muster_live::plane::{self, JoinOptions, Publish, RequestRef};
use muster_live::registry::SessionInfo;
use muster_live::{Delivery, Encoding, Place, SessionRef, StreamKey};

use super::world::{Client, OpenRequest, PASS_INTERVAL_MS, World};
use crate::frames::{StreamId, Version};
use crate::model::{Audience, Op, Receiver};
use crate::scenario::{When, Who, pick};
use crate::violation::Checked;

/// The first number of the acts in which time passes.
const TIME_PASSES: u8 = 16;
/// The first number of the acts about rooms.
const ROOM_ACT: u8 = 73;
/// The first number of the acts about parties.
const PARTY_ACT: u8 = 93;

/// The largest number of living nodes at a time.
const NODES_MAX: usize = 4;

/// The largest number of sessions of a run.
pub(super) const SESSIONS_MAX: Who = 40;

/// The public id of a session.
pub(super) fn session_id(who: Who) -> SessionId {
    SessionId(Uuid::from_u128(1 + who as u128))
}

pub(super) fn user_id(who: Who) -> UserId {
    UserId(Uuid::from_u128(1_000_000 + who as u128))
}

/// The identity of a session.
pub(super) fn info(who: Who) -> SessionInfo {
    SessionInfo {
        session_id: session_id(who),
        user_id: user_id(who),
        token_id: TokenId::issued(Timestamp::from_seconds(1), [0; 8]),
        issued_at_sec: 1,
        only_session_since: Some(Timestamp(who as i64)),
    }
}

impl World {
    pub(super) fn act(&mut self) -> Checked {
        let who = self.rng.usize(0..self.clients.len().max(1));
        let stream = self.rng.usize(0..self.streams.len()) as StreamId;
        let mut act = self.rng.u8(0..115);
        // While a place waits for recovery data or a log, no long time passes, as these arrive soon.
        let nobody_waits =
            self.recovery.asked.is_empty() && self.history.asked.is_empty() && !self.matches.is_taking_over();
        if self.is_kept_often && nobody_waits && act >= 25 {
            act = pick(&mut self.rng, &[act, act, PARTY_ACT, ROOM_ACT, TIME_PASSES]);
        }
        if self.tallies.has_some && self.tallies.rng.u8(0..6) == 0 && self.may_act(who) {
            return self.act_with_tally(who);
        }
        if self.history.has_some && self.history.rng.u8(0..4) == 0 && self.may_act(who) {
            return self.act_in_chat(who);
        }
        match act {
            _ if self.clients.len() < 3 => self.open(),
            0..=7 => self.open(),
            8..=10 => self.close(who),
            11..=13 => self.lose_or_add_node(),
            14 => self.rest(),
            15 => {
                self.trace.line(|| "owners give to others".to_owned());
                self.cluster.move_some(&mut self.rng);
                Ok(())
            }
            TIME_PASSES..=18 => {
                let longest = if nobody_waits { PASS_INTERVAL_MS } else { 300 };
                let ms = pick(&mut self.rng, &[1, 20, 300, 300, longest]);
                self.advance(ms)
            }
            _ if !self.may_act(who) => Ok(()),
            19..=24 => self.begin_move(who),
            25..=44 => self.join(who, stream),
            45..=52 => self.go(who, stream),
            53..=60 => self.listen(who, stream),
            61..=72 => self.publish(who, stream),
            ROOM_ACT..=84 => self.act_in_rooms(who),
            85..=92 => self.act_with_tickets(who),
            PARTY_ACT..=99 => self.act_in_party(who),
            _ => self.act_in_match(who),
        }
    }

    fn may_act(&self, who: Who) -> bool {
        !self.moves.contains_key(&who)
            && self
                .clients
                .get(&who)
                .is_some_and(|client| client.is_open && !self.cluster.planes[&client.at.place].is_congested())
    }

    fn lose_or_add_node(&mut self) -> Checked {
        let nodes: Vec<_> = self.cluster.nodes().collect();
        if nodes.len() == 1 || nodes.len() < NODES_MAX && self.rng.bool() {
            let shards = self.rng.u16(1..=2);
            self.trace.line(|| "a node joins".to_owned());
            self.cluster.join(&mut self.rng, shards);
            return Ok(());
        }
        if !self.has_crashes {
            return Ok(());
        }
        let node = nodes[self.rng.usize(0..nodes.len())];
        // A place of another node must know a view, so that it can tell the next owners of its sessions.
        if !self.cluster.awake().iter().any(|place| place.node() != node) {
            return Ok(());
        }
        self.trace.line(|| format!("node {node} dies"));
        self.cluster.crash(&mut self.rng, node);
        self.messages.excuse();
        self.moves_without(node);
        let lost: Vec<Who> = self
            .clients
            .iter()
            .filter(|(_, client)| client.is_open && client.at.place.node() == node)
            .map(|(who, _)| *who)
            .collect();
        for who in lost {
            self.forget(who);
        }
        self.asked.retain(|(place, _), _| place.node() != node);
        self.closing.retain(|who| self.clients[who].is_open);
        Ok(())
    }

    fn open(&mut self) -> Checked {
        let places = self.cluster.awake();
        let who = self.clients.len();
        if who == SESSIONS_MAX || places.is_empty() {
            return Ok(());
        }
        let place = places[self.rng.usize(0..places.len())];
        let encoding = pick(&mut self.rng, &Encoding::ALL);
        let key = self.step(place, |plane, _, _| plane.open(info(who), who.to_string().into(), encoding))?;
        let at = SessionRef { place, key };
        self.trace.line(|| format!("session {who} opens at {at:?}"));
        self.by_ref.insert(at, who);
        self.clients.insert(who, Client { at, encoding, is_open: true, ties: BTreeMap::new() });
        Ok(())
    }

    /// Notes that a session is gone. Owners are not told here.
    pub(super) fn forget(&mut self, who: Who) {
        let Some(client) = self.clients.get_mut(&who) else { return };
        client.is_open = false;
        client.ties.values_mut().for_each(|tie| tie.note(Op::Leave));
        self.rooms.forget(who);
        self.matches.forget(who);
        self.history.excuse(who);
        let parties = self.party_ties.iter().filter(|((_, other), tie)| *other == who && tie.may_hear());
        self.tickets.note_change(parties.map(|((party, _), _)| *party));
        self.party_ties.iter_mut().filter(|((_, other), _)| *other == who).for_each(|(_, tie)| tie.go());
    }

    pub(super) fn close(&mut self, who: Who) -> Checked {
        let Some(at) = self.clients.get(&who).filter(|client| client.is_open).map(|client| client.at) else {
            return Ok(());
        };
        if self.will_end(who) {
            return Ok(());
        }
        self.trace.step(|| format!("session {who} closes"), &[who as u64]);
        self.forget(who);
        self.step(at.place, |plane, now, out| plane.close(now, at.key, out))
    }

    pub(super) fn ask(&mut self, place: Place, asked: OpenRequest) -> Option<RequestRef> {
        let request = self.cluster.planes.get_mut(&place)?.request();
        self.asked.insert((place, request.id), asked);
        Some(request)
    }

    fn place_of(&self, who: Who, stream: StreamId) -> (SessionRef, StreamKey) {
        (self.clients[&who].at, self.streams[usize::from(stream)].clone())
    }

    fn note(&mut self, who: Who, stream: StreamId, op: Op) -> u32 {
        self.trace.line(|| format!("session {who}, stream {stream}: {op:?}"));
        let Some(client) = self.clients.get_mut(&who) else { return 0 };
        let tie = client.ties.entry(stream).or_default();
        tie.note(op);
        tie.epoch
    }

    fn join(&mut self, who: Who, stream: StreamId) -> Checked {
        let when = pick(&mut self.rng, &[When::Always, When::Always, When::Occupied, When::Replacing]);
        let listens = self.rng.u8(0..10) < 8;
        self.appearances.push((who, stream));
        let version = self.appearances.len() as Version;
        let epoch = self.note(who, stream, Op::Join { version, when, listens, answer: None });
        let condition = when.condition();
        let status = Some(Arc::from(version.to_string()));
        let options = JoinOptions { status, listens, condition, ..JoinOptions::default() };
        let (at, key) = self.place_of(who, stream);
        let request = self.ask(at.place, OpenRequest::Join { who, stream, version, epoch, listens });
        self.step(at.place, |plane, now, out| plane.join(now, at.key, key, options, request, out))
    }

    fn listen(&mut self, who: Who, stream: StreamId) -> Checked {
        let (at, key) = self.place_of(who, stream);
        let epoch = self.clients[&who].ties.get(&stream).map(|tie| tie.epoch).unwrap_or_default();
        let Some(request) = self.ask(at.place, OpenRequest::Listen { who, stream, epoch }) else { return Ok(()) };
        self.note(who, stream, Op::Listen { request: request.id, answer: None });
        self.step(at.place, |plane, now, out| plane.listen(now, at.key, key, Some(request), out))
    }

    /// Lets a session leave a stream, or stop hearing it, or both.
    fn go(&mut self, who: Who, stream: StreamId) -> Checked {
        let (at, key) = self.place_of(who, stream);
        match self.rng.u8(0..4) {
            0 => {
                self.note(who, stream, Op::Unlisten);
                self.step(at.place, |plane, now, out| plane.unlisten(now, at.key, key, out))
            }
            1 => {
                let hoped = self.clients[&who].ties.get(&stream).map(|tie| tie.hoped()).unwrap_or_default();
                // A session that is not on the stream cannot leave it.
                if hoped.present.is_some() {
                    self.note(who, stream, Op::Vanish { hears: hoped.hears });
                }
                self.step(at.place, |plane, now, out| plane.vanish(now, at.key, key, out)).map(drop)
            }
            _ => {
                self.note(who, stream, Op::Leave);
                self.step(at.place, |plane, now, out| plane.leave(now, at.key, key, out)).map(drop)
            }
        }
    }

    fn publish(&mut self, who: Who, stream: StreamId) -> Checked {
        let (at, key) = self.place_of(who, stream);
        let is_there = match self.clients[&who].ties.get(&stream) {
            Some(tie) => tie.certain().map(|state| state.present.is_some()),
            None => Some(false),
        };
        // A place that does not know the last view may send to a former owner, so nobody is certain to receive the
        // message.
        let is_certain = is_there == Some(true) && self.cluster.is_up_to_date(at.place);
        let due = if is_certain { self.due(stream) } else { Vec::new() };
        let meant = if is_there == Some(false) { Audience::Nobody } else { Audience::All };
        let payload = self.messages.add(stream, meant, due);
        self.trace.line(|| format!("session {who} says {} on stream {stream}", self.messages.next_id() - 1));
        let (audience, delivery) = (plane::Audience::All, Delivery::Reliable);
        let publish = Publish { stream: key, payload, audience, delivery, sender: Some(at) };
        self.step(at.place, |plane, now, out| plane.publish(now, publish, out))
    }

    /// The sessions that hear a stream, and must receive messages that are sent now.
    fn due(&self, stream: StreamId) -> Vec<Receiver> {
        let hearing = self.clients.iter().filter_map(|(who, client)| {
            let tie = client.ties.get(&stream)?;
            Some(Receiver { who: *who, period: tie.period.as_ref()?.id, changes: tie.changes })
        });
        hearing.collect()
    }
}
