//! All matches of game code that a shard owns.

mod durable;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use muster_domain::ids::Uuid;
use muster_domain::{Error, ErrorKind, Result, Timestamp};

use super::call::{CallRef, LeaveReason, Return};
use super::effect::{Answer, Effect, MatchEnd};
use super::game::{Game, ended};
use super::listing::{Directory, ListQuery, Listed};
use super::message::{Attempt, CHAIN_MAX, Chain, MatchAsk};
use crate::place::{Partition, Place};
use crate::plane::{Map, RequestRef};
use crate::session::Millis;
use crate::stream::SessionRef;
use crate::wheel::{Lateness, Wheel};

/// A match's id. It says of which partition the match is: one that stays at the place where it was made, as code that runs
/// cannot be moved, or, of a durable match, one that has another owner when its owner goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MatchId(pub Uuid);

impl MatchId {
    /// An id for a match at a place, from a random one.
    pub fn at(place: Place, random: Uuid) -> Self {
        Self::of_partition(Partition::anchored(place), random)
    }

    /// An id for a match of a partition, from a random one: of a durable match, if the partition is shared out.
    pub fn of_partition(partition: Partition, random: Uuid) -> Self {
        let (low, number) = (u128::from(u32::MAX), u128::from(partition.id_number()));
        Self(Uuid::from_u128(random.as_u128() & !low | number))
    }

    /// Of which partition it is.
    pub fn partition(self) -> Partition {
        // The low half of what the low half is.
        Partition::of_id(self.0.as_u128() as u32)
    }

    /// Whether it outlives the place that runs it.
    pub fn is_durable(self) -> bool {
        self.partition().anchor().is_none()
    }
}

impl fmt::Display for MatchId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, formatter)
    }
}

/// How matches are kept on this server.
#[derive(Clone, Debug)]
pub struct MatchesConfig {
    /// `match.input_queue_size`: messages of players that wait for a tick.
    pub inputs_max: usize,
    /// `match.join_attempt_queue_size`: players who wait to be let in.
    pub join_attempts_max: usize,
    /// `match.signal_queue_size`: signals that wait.
    pub signals_max: usize,
    /// How long who asks a match something waits for its handler.
    pub patience_ms: Millis,
    /// `match.max_empty_sec`: a match that has had nobody for so long ends; 0: never.
    pub empty_sec_max: u32,
}

impl Default for MatchesConfig {
    fn default() -> Self {
        Self { inputs_max: 128, join_attempts_max: 128, signals_max: 10, patience_ms: 10_000, empty_sec_max: 0 }
    }
}

/// What a match is made with.
#[derive(Clone, Debug)]
pub struct Creation {
    /// Whose callbacks are called.
    pub handler: Arc<str>,
    /// What its first callback is given.
    pub params: Bytes,
    /// When it was asked for.
    pub created_at: Timestamp,
    /// On whose behalf.
    pub chain: Chain,
    /// Whether it is to outlive the place that runs it: its id says so then, see [`crate::plane::Plane::match_id`].
    pub is_durable: bool,
}

/// What matches did and how many there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MatchStats {
    /// Matches now.
    pub matches: usize,
    /// Matches begun so far.
    pub begun: u64,
    /// Those among them that failed.
    pub failed: u64,
    /// Messages of players that were dropped, since too many waited for a tick.
    pub inputs_dropped: u64,
    /// Durable ones among those that there are now.
    pub durable: usize,
    /// Durable matches that went on here after their place had died, or the process.
    pub resumed: u64,
    /// Durable matches with players that ended since their log had nothing of them, or could not be read.
    pub lost: u64,
    /// Ticks that never came, since the one before them took too long.
    pub ticks_skipped: u64,
    /// How long after they were due ticks were done.
    pub lateness: Lateness,
}

/// See the module.
pub struct Matches {
    config: MatchesConfig,
    games: Map<MatchId, Game>,
    /// The durable ones among them, in an order that another run has too.
    durable: BTreeMap<Partition, BTreeSet<MatchId>>,
    directory: Directory,
    /// Lives of matches that there were here.
    lives: u64,
    wheel: Wheel<MatchId>,
    due: Vec<MatchId>,
    stats: MatchStats,
    /// Durable matches are not made any more.
    is_stopping: bool,
}

impl Matches {
    /// No matches yet.
    pub fn new(config: MatchesConfig) -> Self {
        Self {
            config,
            games: Map::default(),
            durable: BTreeMap::new(),
            directory: Directory::default(),
            lives: 0,
            wheel: Wheel::default(),
            due: Vec::new(),
            stats: MatchStats::default(),
            is_stopping: false,
        }
    }

    /// Counts and gauges.
    pub fn stats(&self) -> MatchStats {
        let (matches, durable) = (self.games.len(), self.durable.values().map(BTreeSet::len).sum());
        MatchStats { matches, durable, ..self.stats.clone() }
    }

    /// Takes in what the owner of a match is asked.
    pub fn receive(
        &mut self,
        now: Millis,
        id: MatchId,
        ask: MatchAsk,
        reply_to: Option<RequestRef>,
        out: &mut Vec<Effect>,
    ) {
        match ask {
            MatchAsk::Create(creation) => self.create(id, creation, reply_to, out),
            MatchAsk::Join { member, metadata } => {
                self.attempt(now, Attempt { id, member: *member, metadata, reply_to }, out);
            }
            MatchAsk::Input { session, op_code, data, reliable, received_at } => {
                self.input(id, session, (op_code, data, reliable), received_at);
            }
            MatchAsk::Signal { data, chain } => self.signal(now, id, (data, chain), reply_to, out),
            MatchAsk::Get => out.extend(reply_to.map(|to| Effect::Reply(to, self.get(id)))),
        }
    }

    /// Makes a match: its handler's first callback decides whether there will be one.
    pub(super) fn create(
        &mut self,
        id: MatchId,
        creation: Creation,
        reply_to: Option<RequestRef>,
        out: &mut Vec<Effect>,
    ) {
        if let Some(game) = self.games.get_mut(&id) {
            if game.is_made_by(&creation) {
                return game.answer_creation(reply_to, out);
            }
            let why = Error::new(ErrorKind::AlreadyExists, "There is a match of this ID already.");
            out.extend(reply_to.map(|to| Effect::Reply(to, Err(why))));
            return;
        }
        if self.is_stopping && id.is_durable() {
            let why = Error::new(ErrorKind::Unavailable, "The server stops: it makes no more matches.");
            out.extend(reply_to.map(|to| Effect::Reply(to, Err(why))));
            return;
        }
        if let Some(why) = too_long(&creation.chain) {
            out.extend(reply_to.map(|to| Effect::Reply(to, Err(why))));
            return;
        }
        let life = self.next_life();
        let game = Game::new((id, life), creation, reply_to, out);
        self.insert(id, game);
    }

    fn next_life(&mut self) -> u64 {
        self.lives += 1;
        self.lives
    }

    fn insert(&mut self, id: MatchId, game: Game) {
        self.games.insert(id, game);
        if id.is_durable() {
            self.durable.entry(id.partition()).or_default().insert(id);
        }
    }

    /// Somebody wants to come in.
    pub(super) fn attempt(&mut self, now: Millis, attempt: Attempt, out: &mut Vec<Effect>) {
        match self.games.get_mut(&attempt.id).filter(|game| game.has_begun()) {
            Some(game) => game.attempt(now, attempt, &self.config, out),
            None => {
                out.push(Effect::Refuse(attempt.id, attempt.member.listener));
                out.extend(attempt.reply_to.map(|to| Effect::Reply(to, Err(ended()))));
            }
        }
    }

    /// A session went from a match's stream, or did before it came.
    pub fn gone(&mut self, now: Millis, id: MatchId, session: SessionRef, reason: LeaveReason, out: &mut Vec<Effect>) {
        if let Some(game) = self.games.get_mut(&id) {
            game.gone(now, session, reason, out);
        }
    }

    /// A session goes on elsewhere. Answers whether it is in the match, or waits to be.
    pub fn rebind(&mut self, id: MatchId, from: SessionRef, to: SessionRef) -> bool {
        self.games.get_mut(&id).is_some_and(|game| game.rebind(from, to))
    }

    /// A session sends something. Who is not in the match says nothing.
    pub(super) fn input(
        &mut self,
        id: MatchId,
        session: SessionRef,
        message: (i64, Bytes, bool),
        received_at: Timestamp,
    ) {
        if let Some(game) = self.games.get_mut(&id)
            && !game.input(session, message, received_at, &self.config)
        {
            self.stats.inputs_dropped += 1;
        }
    }

    /// Other game code says something to a match's handler.
    pub(super) fn signal(
        &mut self,
        now: Millis,
        id: MatchId,
        (data, chain): (Arc<str>, Chain),
        reply_to: Option<RequestRef>,
        out: &mut Vec<Effect>,
    ) {
        let game = self.games.get_mut(&id);
        let refused = if chain.contains(&id) {
            Some(would_wait_for_itself())
        } else if game.as_ref().is_none_or(|game| !game.has_begun()) {
            Some(ended())
        } else {
            too_long(&chain)
        };
        match (refused, game) {
            (None, Some(game)) => game.signal(now, (data, chain), reply_to, &self.config, out),
            (why, _) => out.extend(reply_to.map(|to| Effect::Reply(to, Err(why.unwrap_or_else(ended))))),
        }
        self.set_timer(id);
    }

    /// The server stops. Durable matches rest instead.
    pub fn terminate(&mut self, now: Millis, grace_sec: u32, out: &mut Vec<Effect>) {
        // Durable ones go on when it starts again, or elsewhere.
        let mut ids: Vec<MatchId> = self.games.keys().copied().filter(|id| !id.is_durable()).collect();
        ids.sort_unstable();
        for id in ids {
            if let Some(game) = self.games.get_mut(&id) {
                game.terminate(now, grace_sec, out);
            }
            self.set_timer(id);
        }
    }

    /// A callback has returned. One of an earlier life of its match at this place has nothing to say.
    pub fn returned(&mut self, now: Millis, call: CallRef, returned: Return, out: &mut Vec<Effect>) {
        let CallRef { id, life } = call;
        let Some(game) = self.games.get_mut(&id).filter(|game| game.life == life) else { return };
        let had_begun = game.has_begun();
        let turned = game.returned(now, returned, out);
        if let Some((late_ms, skipped)) = turned.ticked {
            self.stats.lateness.record(late_ms);
            self.stats.ticks_skipped += skipped;
        }
        if let Some(end) = turned.end {
            return self.end(id, end, out);
        }
        let begins = game.has_begun() && !had_begun;
        if begins || turned.is_relabelled {
            self.directory.put(&game.outline);
        }
        if begins {
            self.stats.begun += 1;
        }
        self.set_timer(id);
    }

    fn remove(&mut self, id: MatchId) -> Option<Game> {
        let game = self.games.remove(&id)?;
        self.directory.remove(id);
        if let Some(durable) = self.durable.get_mut(&id.partition()) {
            durable.remove(&id);
            if durable.is_empty() {
                self.durable.remove(&id.partition());
            }
        }
        Some(game)
    }

    /// When something is due next.
    pub fn next_due(&self) -> Option<Millis> {
        self.wheel.next_due()
    }

    /// Runs what is due.
    pub fn turn(&mut self, now: Millis, out: &mut Vec<Effect>) {
        let mut due = std::mem::take(&mut self.due);
        self.wheel.take_due(now, &mut due);
        for id in due.drain(..) {
            let Some(game) = self.games.get_mut(&id) else { continue };
            if game.timer.take_if(|at| *at <= now).is_none() {
                // Another was set for something sooner.
                continue;
            }
            if game.next_due().is_none_or(|at| at > now) {
                self.set_timer(id);
                continue;
            }
            if let Some(end) = game.turn(now, &self.config, out) {
                self.end(id, end, out);
            } else {
                self.set_timer(id);
            }
        }
        self.due = due;
    }

    fn set_timer(&mut self, id: MatchId) {
        let Some(game) = self.games.get_mut(&id) else { return };
        if let Some(at) = game.next_due().filter(|at| game.timer.is_none_or(|set| *at < set)) {
            game.timer = Some(at);
            self.wheel.set(at, id);
        }
    }

    /// Matches that fit, in order.
    pub fn list(&self, asked: &ListQuery) -> Vec<Listed> {
        self.directory.list(asked, |id| self.games.get(&id))
    }

    /// A match, if there is one.
    pub(super) fn get(&self, id: MatchId) -> Result<Answer> {
        let game = self.games.get(&id).filter(|game| game.has_begun()).ok_or_else(ended)?;
        Ok(Answer::Listed(vec![Listed::of(game, 1.0)]))
    }

    fn end(&mut self, id: MatchId, end: MatchEnd, out: &mut Vec<Effect>) {
        if let Some(game) = self.remove(id) {
            game.close(out);
            if end != MatchEnd::Lost {
                out.push(Effect::Drop(id));
            }
        }
        match end {
            MatchEnd::Failed(_) => self.stats.failed += 1,
            MatchEnd::Lost => self.stats.lost += 1,
            MatchEnd::Over | MatchEnd::Empty | MatchEnd::Terminated => {}
        }
    }
}

fn would_wait_for_itself() -> Error {
    let why = "The match waits for this signal's answer itself: it would wait for ever.";
    Error::new(ErrorKind::FailedPrecondition, why)
}

fn too_long(chain: &Chain) -> Option<Error> {
    let why = || format!("More than {CHAIN_MAX} matches wait for one another.");
    (chain.len() > CHAIN_MAX).then(|| Error::new(ErrorKind::ResourceExhausted, why()))
}
