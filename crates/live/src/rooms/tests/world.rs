//! Shards that own rooms, with a queue for each pair of shards. Order holds within a queue only; a seed decides which
//! queue delivers next.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use muster_domain::ids::{SessionId, Uuid};
use muster_domain::{Result, UserId};

use super::super::{
    Caller, DirectoryAction, Entry, LobbyDelta, MessageToRoomOwner, Placement, Request, RoomAction, RoomAnswer,
    RoomAudience, RoomEffect, RoomEvent, RoomId, RoomOwner, Rooms, RoomsConfig,
};
pub(super) use crate::nasty::Random;
use crate::place::{Routes, ShardIndex};
use crate::plane::{Listener, RequestRef};
use crate::registry::SessionKey;
use crate::session::Millis;
use crate::stream::{Encoding, SessionRef};

/// A message from one shard to another.
#[derive(Debug)]
pub(super) enum Sent {
    Up(MessageToRoomOwner),
    /// A session closed, so it leaves a room's stream.
    Gone(RoomId, u32),
    Reply(u64, Result<RoomAnswer>),
}

/// An event, its room and its receivers.
pub(super) type Told = (RoomId, Vec<u32>, RoomEvent);

pub(super) struct World {
    pub shards: Vec<Rooms>,
    queues: BTreeMap<(usize, usize), VecDeque<Sent>>,
    pub random: Random,
    pub now: Millis,
    /// The players on each room's stream.
    pub streams: BTreeMap<RoomId, BTreeSet<u32>>,
    pub told: Vec<Told>,
    pub lobby: Vec<LobbyDelta>,
    pub replies: BTreeMap<u64, Result<RoomAnswer>>,
    requests: u64,
}

impl World {
    pub(super) fn new(shards: usize, seed: u64, config: RoomsConfig) -> Self {
        let config = Arc::new(config);
        Self {
            shards: (0..shards).map(|_| Rooms::new(config.clone())).collect(),
            queues: BTreeMap::new(),
            random: Random(seed),
            now: 0,
            streams: BTreeMap::new(),
            told: Vec::new(),
            lobby: Vec::new(),
            replies: BTreeMap::new(),
            requests: 0,
        }
    }

    fn owner(&self, owner: &RoomOwner) -> usize {
        usize::from(Routes::alone(self.shards.len() as ShardIndex).owner(owner.partition()).shard())
    }

    /// The shard that holds a player's socket.
    fn home(&self, player: u32) -> usize {
        player as usize % self.shards.len()
    }

    fn session(&self, player: u32) -> SessionRef {
        SessionRef { place: crate::Place::from(self.home(player) as ShardIndex), key: SessionKey::of_test(player) }
    }

    /// The caller of a player. Players whose numbers differ by a multiple of 100,000 are sessions of one user.
    pub(super) fn caller(&self, player: u32) -> Caller {
        let session_id = SessionId(Uuid::from_u128(u128::from(player) + 1));
        Caller { session: Some((self.session(player), session_id)), ..caller_of(player) }
    }

    pub(super) fn fresh_room(&mut self) -> RoomId {
        RoomId(Uuid::from_u128(u128::from(self.random.next()) << 64 | u128::from(self.random.next())))
    }

    /// Queues a request of a player and returns the request's number.
    pub(super) fn send(
        &mut self,
        player: u32,
        to: impl FnOnce(Caller, Option<RequestRef>) -> MessageToRoomOwner,
    ) -> u64 {
        self.requests += 1;
        let home = self.home(player);
        let reply_to = RequestRef { place: crate::Place::from(home as ShardIndex), id: self.requests };
        let up = to(self.caller(player), Some(reply_to));
        let owner = self.owner(&up.owner());
        self.queue(home, owner, Sent::Up(up));
        self.requests
    }

    pub(super) fn send_place(&mut self, player: u32, template: &str, size: Option<u32>) -> u64 {
        let (fresh, random) = (self.fresh_room(), self.random.next() as u32);
        let what = Placement { template: Arc::from(template), size, fresh, random, tried: Vec::new() };
        self.send(player, |caller, reply_to| MessageToRoomOwner::Placement(Request { caller, reply_to, what }))
    }

    pub(super) fn send_room(&mut self, player: u32, room: RoomId, what: RoomAction) -> u64 {
        self.send(player, |caller, reply_to| MessageToRoomOwner::Room(room, Request { caller, reply_to, what }))
    }

    /// Closes a player's socket: its shard tells the owner of a room that the player joined or was joining.
    pub(super) fn send_gone(&mut self, player: u32, room: RoomId) {
        let owner = self.owner(&RoomOwner::Room(room));
        self.queue(self.home(player), owner, Sent::Gone(room, player));
    }

    pub(super) fn send_join(&mut self, player: u32, room: RoomId, entry: Entry) -> u64 {
        let listener = Listener { session: self.session(player), encoding: Encoding::Json, serial: 1 };
        self.send_room(player, room, RoomAction::Join(entry, listener))
    }

    fn queue(&mut self, from: usize, to: usize, sent: Sent) {
        self.queues.entry((from, to)).or_default().push_back(sent);
    }

    /// Delivers one message of a queue that the seed picks. Returns `None` if no message waits, and the number of the
    /// request if the message is the answer to one.
    pub(super) fn deliver(&mut self) -> Option<Option<u64>> {
        let busy: Vec<(usize, usize)> =
            self.queues.iter().filter(|(_, queue)| !queue.is_empty()).map(|(pair, _)| *pair).collect();
        if busy.is_empty() {
            return None;
        }
        let pair = busy[self.random.below(busy.len())];
        let sent = self.queues.get_mut(&pair)?.pop_front()?;
        let mut effects = Vec::new();
        let rooms = &mut self.shards[pair.1];
        match sent {
            Sent::Up(up) => rooms.receive(self.now, up, &mut effects),
            Sent::Gone(room, player) => {
                // As in the plane, only a player who is on a stream can leave it.
                if self.streams.get_mut(&room).is_some_and(|stream| stream.remove(&player)) {
                    let session = SessionRef {
                        place: crate::Place::from((player as usize % self.shards.len()) as ShardIndex),
                        key: SessionKey::of_test(player),
                    };
                    let user = caller_of(player).user_id;
                    self.shards[pair.1].session_gone(self.now, room, user, session, &mut effects);
                }
            }
            Sent::Reply(request, answer) => {
                self.replies.insert(request, answer);
                return Some(Some(request));
            }
        }
        self.apply(pair.1, effects);
        Some(None)
    }

    fn apply(&mut self, shard: usize, effects: Vec<RoomEffect>) {
        for effect in effects {
            match effect {
                RoomEffect::Reply(to, answer) => {
                    self.queue(shard, usize::from(to.place.shard()), Sent::Reply(to.id, answer))
                }
                RoomEffect::Track { room, listener, .. } => {
                    self.streams.entry(room).or_default().insert(listener.session.key.test_number());
                }
                RoomEffect::Untrack { room, listener, .. } => {
                    let stream = self.streams.get_mut(&room).expect("the stream of the room");
                    assert!(stream.remove(&listener.session.key.test_number()), "the session was on the stream");
                }
                RoomEffect::Tell { room, to, event } => {
                    let there = self.streams.get(&room).cloned().unwrap_or_default();
                    let players = |sessions: &[SessionRef]| sessions.iter().map(|s| s.key.test_number()).collect();
                    let to = match &to {
                        RoomAudience::All => there.into_iter().collect(),
                        RoomAudience::Only(sessions) => players(sessions),
                    };
                    self.told.push((room, to, event));
                }
                RoomEffect::Lobby { delta, .. } => self.lobby.push(delta),
                RoomEffect::Send(owner, message) => {
                    let to = self.owner(&owner);
                    self.queue(shard, to, Sent::Up(MessageToRoomOwner::FromOwner(owner, message)));
                }
            }
        }
    }

    /// Delivers all messages, and lets long work end.
    pub(super) fn settle(&mut self) {
        loop {
            while self.deliver().is_some() {}
            let Some(busy) = self.shards.iter().position(Rooms::is_busy) else { return };
            self.run_slice(busy);
        }
    }

    /// Runs one slice of a shard.
    pub(super) fn run_slice(&mut self, shard: usize) {
        let mut effects = Vec::new();
        self.shards[shard].run_slice(self.now, &mut effects);
        self.apply(shard, effects);
    }

    /// Moves the clock to each moment at which work is due, and delivers the messages that follow.
    pub(super) fn wait(&mut self, until: Millis) {
        loop {
            let due = self.shards.iter().filter_map(Rooms::next_due).min().filter(|due| *due <= until);
            self.now = due.unwrap_or(until).max(self.now);
            if due.is_none() {
                return;
            }
            for shard in 0..self.shards.len() {
                let mut effects = Vec::new();
                self.shards[shard].turn(self.now, &mut effects);
                self.apply(shard, effects);
            }
            self.settle();
        }
    }

    /// Sends a request, delivers all messages, and returns the answer.
    pub(super) fn ask(&mut self, player: u32, room: RoomId, what: RoomAction) -> Result<RoomAnswer> {
        let request = self.send_room(player, room, what);
        self.answer(request)
    }

    pub(super) fn place(&mut self, player: u32, template: &str, size: Option<u32>) -> Result<RoomAnswer> {
        let request = self.send_place(player, template, size);
        self.answer(request)
    }

    pub(super) fn look_up(&mut self, player: u32, what: DirectoryAction) -> Result<RoomAnswer> {
        let request =
            self.send(player, |caller, reply_to| MessageToRoomOwner::Directory(Request { caller, reply_to, what }));
        self.answer(request)
    }

    pub(super) fn join(&mut self, player: u32, room: RoomId) -> Result<RoomAnswer> {
        self.join_by(player, room, Entry::default())
    }

    pub(super) fn join_by(&mut self, player: u32, room: RoomId, entry: Entry) -> Result<RoomAnswer> {
        let request = self.send_join(player, room, entry);
        self.answer(request)
    }

    fn answer(&mut self, request: u64) -> Result<RoomAnswer> {
        self.settle();
        self.replies.remove(&request).expect("an answer")
    }

    /// Events since the last call, with their receivers.
    pub(super) fn take_told(&mut self) -> Vec<(Vec<u32>, RoomEvent)> {
        std::mem::take(&mut self.told).into_iter().map(|(_, to, event)| (to, event)).collect()
    }

    /// Number of taken seats, and of all seats, of every room.
    pub(super) fn occupancies(&self) -> BTreeMap<RoomId, (u32, u32)> {
        let rooms = self.shards.iter().flat_map(Rooms::rooms);
        rooms.map(|room| (room.id, room.occupancy())).collect()
    }
}

/// The user of a player. Players whose numbers differ by a multiple of 100,000 are sessions of one user.
pub(super) fn user(player: u32) -> UserId {
    UserId(Uuid::from_u128(u128::from(player % 100_000) + 1))
}

fn caller_of(player: u32) -> Caller {
    Caller { user_id: user(player), username: Arc::from(format!("player-{player}")), session: None }
}
