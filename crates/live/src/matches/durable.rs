//! Durable matches: those that outlive the process, and the machine, that runs them.
//!
//! Their ids name no place but a partition, which has another owner when its owner dies. What a match is to the plane is
//! its [`Outline`], which follows from the calls of its handler and what came of them: whoever replays these has it.

use std::collections::VecDeque;
use std::ops::RangeFrom;
use std::sync::Arc;

use muster_domain::Timestamp;
use muster_domain::ids::SessionId;

use super::call::{Act, Broadcast, Call, Callback, Left, Outcome, Return};
use super::game::checked;
use super::owner::MatchId;
use super::timers::Timers;
use crate::stream::Presence;

/// Somebody in a match.
#[derive(Clone, Debug, PartialEq)]
pub struct Seated {
    /// Who.
    pub presence: Arc<Presence>,
    /// Whether the handler was told that they came.
    pub has_joined: bool,
    /// Whether the handler has put them out, and was not told yet that they went.
    pub is_kicked: bool,
}

/// Most bytes of what a match that is made again has said to be sent again.
const AGAIN_BYTES_MAX: usize = 4 << 20;

/// What a match said whose calls are made again: of the latest of it nobody knows whether it left.
#[derive(Debug, Default)]
pub struct Said {
    broadcasts: VecDeque<Broadcast>,
    bytes: usize,
}

impl Said {
    /// A call was made again, behind which the match is this.
    pub fn returned(&mut self, callback: &Callback, outline: &Outline) {
        if let Callback::Leave(left) = callback {
            // Whoever comes back hears nothing of before.
            let gone: Vec<SessionId> = left.iter().map(|left| left.presence.session_id).collect();
            for broadcast in &mut self.broadcasts {
                broadcast.to.iter_mut().for_each(|to| to.retain(|session| !gone.contains(session)));
            }
        }
        self.add(outline);
    }

    /// A match that was kept goes on as this.
    pub fn add(&mut self, outline: &Outline) {
        let here = || outline.players.iter().map(|seated| seated.presence.session_id).collect();
        for broadcast in &outline.sent {
            // Whoever comes later is not meant.
            let to = Some(broadcast.to.clone().unwrap_or_else(here));
            self.bytes += broadcast.data.len();
            self.broadcasts.push_back(Broadcast { to, ..broadcast.clone() });
        }
        while self.bytes > AGAIN_BYTES_MAX
            && let Some(first) = self.broadcasts.pop_front()
        {
            self.bytes -= first.data.len();
        }
    }

    /// The match as it goes on: all of this is sent again.
    pub fn into_outline(self, outline: Outline) -> Outline {
        Outline { sent: self.broadcasts.into(), ..outline }
    }
}

/// What there is to a match besides its handler's state.
#[derive(Clone, Debug, PartialEq)]
pub struct Outline {
    /// Which.
    pub id: MatchId,
    /// Whose callbacks are called.
    pub handler: Arc<str>,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// Loops a second; 0 before it has begun.
    pub tick_rate: u32,
    /// The loops that there were so far.
    pub tick: u64,
    /// By what it is found.
    pub label: Arc<str>,
    /// Who is in it for the handler, in the order in which they were let in: until it is told that they went.
    pub players: Vec<Seated>,
    /// When the handler wants to be called again.
    pub timers: Timers,
    /// What the latest calls of a durable match sent, in order. Whoever goes on with the match sends it again: whether it left nobody
    /// knows, and sessions that had it do not get it twice.
    pub sent: Vec<Broadcast>,
    /// How many broadcasts a durable match has sent in all, with these.
    pub sent_count: u64,
}

impl Outline {
    /// Of a match whose first callback is about to be called.
    pub fn new(id: MatchId, handler: Arc<str>, created_at: Timestamp) -> Self {
        let (label, players, timers, sent) = Default::default();
        Self { id, handler, created_at, tick_rate: 0, tick: 0, label, players, timers, sent, sent_count: 0 }
    }

    /// Of a match whose first callback this is; `None` if it is another callback.
    pub fn of_first(call: &Call) -> Option<Self> {
        let Callback::Init { created_at, .. } = &call.callback else { return None };
        Some(Self::new(call.id, call.handler.clone(), *created_at))
    }

    /// A callback has returned. Answers whether the match goes on.
    pub fn returned(&mut self, callback: &Callback, returned: &Return) -> bool {
        let tick = self.tick;
        self.note_sent(&returned.acts);
        match (callback, &returned.outcome) {
            (Callback::Init { .. }, Outcome::Begun { tick_rate, label }) => {
                if checked(*tick_rate, label).is_err() {
                    return false;
                }
                self.begun(*tick_rate, label.clone());
            }
            (Callback::JoinAttempt { presence, .. }, Outcome::Decided(Ok(()))) => self.seat(presence.clone()),
            (Callback::Join(came), Outcome::Goes) => self.joined(came),
            (Callback::Leave(left), Outcome::Goes) => self.left(left),
            (Callback::Timer { name, .. }, Outcome::Goes) => self.timers.remove(name),
            (Callback::Loop(_), Outcome::Goes) => self.tick += 1,
            (Callback::JoinAttempt { .. }, Outcome::Decided(Err(_)))
            | (Callback::Terminate { .. }, Outcome::Goes)
            | (Callback::Signal(_), Outcome::Signalled(_) | Outcome::Refused(_)) => {}
            _ => return false,
        }
        self.note_acts(&returned.acts, tick);
        true
    }

    /// Takes in what a callback of this tick wants done, but for broadcasts. Answers whether the label is another.
    pub(super) fn note_acts(&mut self, acts: &[Act], tick: u64) -> bool {
        let before = self.label.clone();
        for act in acts {
            match act {
                Act::Broadcast(_) | Act::Defer(_) => {}
                Act::Kick(sessions) => sessions.iter().for_each(|session| self.kick(*session)),
                Act::Label(label) => self.label = label.clone(),
                Act::SetTimer { name, after_ms, data } => {
                    self.timers.set(name.clone(), (tick, self.tick_rate), *after_ms, data.clone());
                }
                Act::CancelTimer(name) => self.timers.remove(name),
            }
        }
        self.label != before
    }

    /// Takes in the broadcasts of a callback. Answers their numbers, in order.
    pub(super) fn note_sent(&mut self, acts: &[Act]) -> RangeFrom<u64> {
        if !self.id.is_durable() {
            return 0..;
        }
        let at_once =
            acts.iter().filter_map(|act| if let Act::Broadcast(broadcast) = act { Some(broadcast) } else { None });
        let behind = acts.iter().filter_map(|act| if let Act::Defer(broadcast) = act { Some(broadcast) } else { None });
        self.sent = at_once.chain(behind).cloned().collect();
        self.sent_count += self.sent.len() as u64;
        self.sent_numbers()
    }

    /// The numbers of what was sent, in order.
    pub(super) fn sent_numbers(&self) -> RangeFrom<u64> {
        self.sent_count - self.sent.len() as u64 + 1..
    }

    pub(super) fn begun(&mut self, tick_rate: u32, label: Arc<str>) {
        (self.tick_rate, self.label) = (tick_rate, label);
    }

    pub(super) fn seat(&mut self, presence: Arc<Presence>) {
        self.players.push(Seated { presence, has_joined: false, is_kicked: false });
    }

    pub(super) fn joined(&mut self, came: &[Arc<Presence>]) {
        for came in came {
            if let Some(seated) = self.seated_mut(came.session_id) {
                seated.has_joined = true;
            }
        }
    }

    pub(super) fn left(&mut self, left: &[Left]) {
        for Left { presence: left, .. } in left {
            let position = self.players.iter().position(|seated| seated.presence.session_id == left.session_id);
            position.map(|position| self.players.remove(position));
        }
    }

    pub(super) fn kick(&mut self, session: SessionId) {
        if let Some(seated) = self.seated_mut(session) {
            seated.is_kicked = true;
        }
    }

    pub(super) fn seated_mut(&mut self, session: SessionId) -> Option<&mut Seated> {
        self.players.iter_mut().find(|seated| seated.presence.session_id == session)
    }
}
