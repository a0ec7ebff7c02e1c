//! Durable matches, which outlive the process and the machine that run them.
//!
//! The id of a durable match names a shared partition instead of a place: when the partition's owner dies, the next
//! owner goes on with the match. The plane knows a match by its [`Outline`]. The outline follows from the calls of the
//! match's handler and their returns alone, so a replay of the calls makes the same outline again.

use std::collections::VecDeque;
use std::ops::RangeFrom;
use std::sync::Arc;

use muster_domain::Timestamp;
use muster_domain::ids::SessionId;

use super::call::{Act, Broadcast, Call, Callback, Left, Outcome, Return};
use super::owner::MatchId;
use super::running::checked;
use super::timers::Timers;
use crate::stream::Presence;

/// A player whom the handler has let in and whose leave the handler has not heard of yet.
#[derive(Clone, Debug, PartialEq)]
pub struct Seated {
    /// The player.
    pub presence: Arc<Presence>,
    /// Whether the handler has heard of the join.
    pub has_joined: bool,
    /// Whether the handler has kicked the player.
    pub is_kicked: bool,
}

/// Limit on the bytes of broadcasts that a replay keeps, to be sent again. Above the limit the oldest broadcasts are
/// dropped.
const REPLAYED_BROADCASTS_BYTES_MAX: usize = 4 << 20;

/// Broadcasts of a match, collected during a replay of its calls. The latest broadcasts may not have left before the
/// crash, so all are sent again; sessions drop those that they have had.
#[derive(Debug, Default)]
pub struct ReplayedBroadcasts {
    broadcasts: VecDeque<Broadcast>,
    bytes: usize,
}

impl ReplayedBroadcasts {
    /// Adds the broadcasts of a call that was replayed. `outline` is the outline of the match after the call.
    pub fn returned(&mut self, callback: &Callback, outline: &Outline) {
        if let Callback::Leave(left) = callback {
            // A player who has left and comes back must not get broadcasts from before the leave.
            let gone: Vec<SessionId> = left.iter().map(|left| left.presence.session_id).collect();
            for broadcast in &mut self.broadcasts {
                broadcast.to.iter_mut().for_each(|to| to.retain(|session| !gone.contains(session)));
            }
        }
        self.add(outline);
    }

    /// Adds the broadcasts that `outline` has of the latest call.
    pub fn add(&mut self, outline: &Outline) {
        let here = || outline.players.iter().map(|seated| seated.presence.session_id).collect();
        for broadcast in &outline.sent {
            // Players who join later must not get the broadcast.
            let to = Some(broadcast.to.clone().unwrap_or_else(here));
            self.bytes += broadcast.data.len();
            self.broadcasts.push_back(Broadcast { to, ..broadcast.clone() });
        }
        while self.bytes > REPLAYED_BROADCASTS_BYTES_MAX
            && let Some(first) = self.broadcasts.pop_front()
        {
            self.bytes -= first.data.len();
        }
    }

    /// The outline of the match after the replay, with all broadcasts that are to be sent again.
    pub fn into_outline(self, outline: Outline) -> Outline {
        Outline { sent: self.broadcasts.into(), ..outline }
    }
}

/// All that the plane knows of a match that follows from the calls of its handler and their returns alone. The
/// handler's state, which only the engine knows, is no part of the outline.
#[derive(Clone, Debug, PartialEq)]
pub struct Outline {
    /// The match.
    pub id: MatchId,
    /// Name of the handler.
    pub handler: Arc<str>,
    /// Moment of the request to create the match.
    pub created_at: Timestamp,
    /// Loops per second; 0 before the match has begun.
    pub tick_rate: u32,
    /// Number of loops that have returned so far.
    pub tick: u64,
    /// Label by which listings find the match.
    pub label: Arc<str>,
    /// Players, in the order in which the handler let them in. A player stays here until the handler has heard of the
    /// leave.
    pub players: Vec<Seated>,
    /// Timers that the handler has set.
    pub timers: Timers,
    /// Broadcasts of the latest calls of a durable match, in order. An owner that goes on with the match sends them
    /// again, since they may not have left; sessions drop those that they have had.
    pub sent: Vec<Broadcast>,
    /// Number of all broadcasts that a durable match has sent, including those of `sent`.
    pub sent_count: u64,
}

impl Outline {
    /// The outline of a match whose first callback has not been called yet.
    pub fn new(id: MatchId, handler: Arc<str>, created_at: Timestamp) -> Self {
        Self {
            id,
            handler,
            created_at,
            tick_rate: 0,
            tick: 0,
            label: Arc::default(),
            players: Vec::new(),
            timers: Timers::default(),
            sent: Vec::new(),
            sent_count: 0,
        }
    }

    /// The outline of a new match if `call` is its first call, else `None`.
    pub fn of_first(call: &Call) -> Option<Self> {
        let Callback::Init { created_at, .. } = &call.callback else { return None };
        Some(Self::new(call.id, call.handler.clone(), *created_at))
    }

    /// Takes in the return of a callback. Answers whether the match goes on.
    pub fn returned(&mut self, callback: &Callback, returned: &Return) -> bool {
        let tick = self.tick;
        self.note_sent(&returned.acts);
        match (callback, &returned.outcome) {
            (Callback::Init { .. }, Outcome::Begun { tick_rate, label }) => {
                if checked(*tick_rate, label).is_err() {
                    return false;
                }
                self.begin(*tick_rate, label.clone());
            }
            (Callback::JoinAttempt { presence, .. }, Outcome::Decided(Ok(()))) => self.seat(presence.clone()),
            (Callback::Join(came), Outcome::GoesOn) => self.note_joins(came),
            (Callback::Leave(left), Outcome::GoesOn) => self.note_leaves(left),
            (Callback::Timer { name, .. }, Outcome::GoesOn) => self.timers.remove(name),
            (Callback::Loop(_), Outcome::GoesOn) => self.tick += 1,
            (Callback::JoinAttempt { .. }, Outcome::Decided(Err(_)))
            | (Callback::Terminate { .. }, Outcome::GoesOn)
            | (Callback::Signal(_), Outcome::Signalled(_) | Outcome::Refused(_)) => {}
            _ => return false,
        }
        self.note_acts(&returned.acts, tick);
        true
    }

    /// Takes in the kicks, label and timers that a callback asks for. `tick` is the tick of the callback. Answers
    /// whether the label has changed.
    pub(super) fn note_acts(&mut self, acts: &[Act], tick: u64) -> bool {
        let before = self.label.clone();
        for act in acts {
            match act {
                Act::Broadcast(_) | Act::Defer(_) => {}
                Act::Kick(sessions) => sessions.iter().for_each(|session| self.kick(*session)),
                Act::Label(label) => self.label = label.clone(),
                Act::SetTimer { name, after_ms, data } => {
                    self.timers.set(name.clone(), tick, self.tick_rate, *after_ms, data.clone());
                }
                Act::CancelTimer(name) => self.timers.remove(name),
            }
        }
        self.label != before
    }

    /// Takes in the broadcasts of a callback. Answers their numbers, in order. Only broadcasts of durable matches have
    /// numbers that mean something.
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

    /// Numbers of the broadcasts in `sent`, in order.
    pub(super) fn sent_numbers(&self) -> RangeFrom<u64> {
        self.sent_count - self.sent.len() as u64 + 1..
    }

    pub(super) fn begin(&mut self, tick_rate: u32, label: Arc<str>) {
        (self.tick_rate, self.label) = (tick_rate, label);
    }

    pub(super) fn seat(&mut self, presence: Arc<Presence>) {
        self.players.push(Seated { presence, has_joined: false, is_kicked: false });
    }

    pub(super) fn note_joins(&mut self, came: &[Arc<Presence>]) {
        for came in came {
            if let Some(seated) = self.seated_mut(came.session_id) {
                seated.has_joined = true;
            }
        }
    }

    pub(super) fn note_leaves(&mut self, left: &[Left]) {
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
