//! All matches of game code that one shard owns.

mod durable;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use muster_domain::ids::Uuid;
use muster_domain::{Error, ErrorKind, Result, Timestamp};

use super::call::{CallRef, LeaveReason, Return};
use super::effect::{MatchAnswer, MatchEffect, MatchEnd};
use super::listing::{Finding, ListQuery, Listed, MatchIndex};
use super::message::{Attempt, CHAIN_MAX, Chain, MatchAsk, MatchesAnswer, PlayerMessage};
use super::running::{RunningMatch, ended_error};
use crate::listings::{ListingStats, Listings};
use crate::place::{Partition, Place};
use crate::plane::{Map, RequestRef};
use crate::session::Millis;
use crate::stream::SessionRef;
use crate::wheel::{Lateness, Wheel};

/// Id of a match, which contains the number of the match's partition. The partition of a durable match goes to another
/// owner when its owner goes. The partition of any other match is anchored: the match ends with its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct MatchId(pub Uuid);

impl MatchId {
    /// Makes an id for a match at a place from a random id.
    pub fn at(place: Place, random: Uuid) -> Self {
        Self::of_partition(Partition::anchored(place), random)
    }

    /// Makes an id for a match of a partition from a random id. The match is durable if the partition is shared, and
    /// not durable if the partition is anchored to a place.
    pub fn of_partition(partition: Partition, random: Uuid) -> Self {
        let (low, number) = (u128::from(u32::MAX), u128::from(partition.id_number()));
        Self(Uuid::from_u128(random.as_u128() & !low | number))
    }

    /// Partition of the match.
    pub fn partition(self) -> Partition {
        // The partition's number is in the lowest 32 bits.
        Partition::of_id(self.0.as_u128() as u32)
    }

    /// Whether the match is durable: it outlives the place that runs it.
    pub fn is_durable(self) -> bool {
        self.partition().anchor().is_none()
    }
}

impl fmt::Display for MatchId {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, formatter)
    }
}

/// Settings for the matches of this server.
#[derive(Clone, Debug)]
pub struct MatchesConfig {
    /// `match.input_queue_size`: limit on the messages of players that wait for a tick of a match.
    pub inputs_max: usize,
    /// `match.join_attempt_queue_size`: limit on the join attempts that are queued for a match.
    pub join_attempts_max: usize,
    /// `match.signal_queue_size`: limit on the signals that are queued for a match.
    pub signals_max: usize,
    /// Limit on the time that a join attempt or signal waits for the handler's answer, in milliseconds.
    pub answer_wait_max_ms: Millis,
    /// `match.max_empty_sec`: seconds without players after which a match ends; 0 for never.
    pub empty_sec_max: u32,
}

impl Default for MatchesConfig {
    fn default() -> Self {
        Self { inputs_max: 128, join_attempts_max: 128, signals_max: 10, answer_wait_max_ms: 10_000, empty_sec_max: 0 }
    }
}

/// A request to create a match.
#[derive(Clone, Debug)]
pub struct Creation {
    /// Name of the handler.
    pub handler: Arc<str>,
    /// Parameters for the first callback, as an encoded value.
    pub params: Bytes,
    /// Moment of the request to create the match.
    pub created_at: Timestamp,
    /// Matches whose callbacks wait for the answer.
    pub chain: Chain,
    /// Whether the match is to be durable. The match's id must name a partition that fits, see
    /// [`crate::plane::Plane::match_id`].
    pub is_durable: bool,
}

/// Counts of the matches of a shard.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MatchStats {
    /// Number of matches now.
    pub matches: usize,
    /// Number of matches that have begun so far.
    pub begun: u64,
    /// Number of matches that have failed so far.
    pub failed: u64,
    /// Number of messages of players that were dropped so far because too many messages waited for a tick.
    pub inputs_dropped: u64,
    /// Number of durable matches now.
    pub durable: usize,
    /// Number of durable matches that were resumed here from their logs so far, after a crash or a restart.
    pub resumed: u64,
    /// Number of durable matches that did not go on so far, because their logs had nothing of them or could not be
    /// read.
    pub lost: u64,
    /// Number of ticks that were left out so far because an earlier call took too long.
    pub ticks_skipped: u64,
    /// Histogram of the times from the moments at which ticks were due to the returns of their loops.
    pub lateness: Lateness,
}

/// The matches of game code that one shard owns.
pub struct Matches {
    config: MatchesConfig,
    running: Map<MatchId, RunningMatch>,
    /// Ids of the durable matches by partition, in an order that is the same in every run of a simulation.
    durable: BTreeMap<Partition, BTreeSet<MatchId>>,
    index: MatchIndex,
    listings: Listings<Finding>,
    /// Number of stays of matches at this place so far; see [`CallRef::stay`].
    stays: u64,
    wheel: Wheel<MatchId>,
    /// Buffer for the matches that are due in one step.
    due: Vec<MatchId>,
    stats: MatchStats,
    /// Whether the server stops, so that no durable match is made any more.
    is_stopping: bool,
}

impl Matches {
    /// Makes an owner without matches.
    pub fn new(config: MatchesConfig) -> Self {
        Self {
            config,
            running: Map::default(),
            durable: BTreeMap::new(),
            index: MatchIndex::default(),
            listings: Listings::default(),
            stays: 0,
            wheel: Wheel::default(),
            due: Vec::new(),
            stats: MatchStats::default(),
            is_stopping: false,
        }
    }

    /// Counts so far, and the numbers of matches now.
    pub fn stats(&self) -> MatchStats {
        let (matches, durable) = (self.running.len(), self.durable.values().map(BTreeSet::len).sum());
        MatchStats { matches, durable, ..self.stats.clone() }
    }

    /// Takes in a request to the owner of a match.
    pub fn receive(
        &mut self,
        now: Millis,
        id: MatchId,
        ask: MatchAsk,
        reply_to: Option<RequestRef>,
        out: &mut Vec<MatchEffect>,
    ) {
        match ask {
            MatchAsk::Create(creation) => self.create(id, creation, reply_to, out),
            MatchAsk::Join { member, joiner } => {
                self.attempt(now, Attempt { id, member: *member, joiner, reply_to }, out);
            }
            MatchAsk::Input { session, op_code, data, reliable, received_at } => {
                self.input(id, session, PlayerMessage { op_code, data, reliable, received_at });
            }
            MatchAsk::Signal { data, chain } => self.signal(now, id, data, chain, reply_to, out),
            MatchAsk::Get => out.extend(reply_to.map(|to| MatchEffect::Reply(to, self.get(id)))),
        }
    }

    /// Creates a match. The answer of the first callback decides whether the match begins.
    pub(super) fn create(
        &mut self,
        id: MatchId,
        creation: Creation,
        reply_to: Option<RequestRef>,
        out: &mut Vec<MatchEffect>,
    ) {
        if let Some(running) = self.running.get_mut(&id) {
            if running.is_made_by(&creation) {
                return running.answer_creation(reply_to, out);
            }
            let why = Error::new(ErrorKind::AlreadyExists, "There is a match of this ID already.");
            out.extend(reply_to.map(|to| MatchEffect::Reply(to, Err(why))));
            return;
        }
        if self.is_stopping && id.is_durable() {
            let why = Error::new(ErrorKind::Unavailable, "The server stops: it makes no more matches.");
            out.extend(reply_to.map(|to| MatchEffect::Reply(to, Err(why))));
            return;
        }
        if let Some(why) = chain_too_long_error(&creation.chain) {
            out.extend(reply_to.map(|to| MatchEffect::Reply(to, Err(why))));
            return;
        }
        let stay = self.next_stay();
        let running = RunningMatch::new(id, stay, creation, reply_to, out);
        self.insert(id, running);
    }

    fn next_stay(&mut self) -> u64 {
        self.stays += 1;
        self.stays
    }

    fn insert(&mut self, id: MatchId, running: RunningMatch) {
        self.running.insert(id, running);
        if id.is_durable() {
            self.durable.entry(id.partition()).or_default().insert(id);
        }
    }

    /// Takes in the join attempt of a player.
    pub(super) fn attempt(&mut self, now: Millis, attempt: Attempt, out: &mut Vec<MatchEffect>) {
        match self.running.get_mut(&attempt.id).filter(|running| running.has_begun()) {
            Some(running) => running.attempt(now, attempt, &self.config, out),
            None => {
                out.push(MatchEffect::Refuse(attempt.id, attempt.member.listener));
                out.extend(attempt.reply_to.map(|to| MatchEffect::Reply(to, Err(ended_error()))));
            }
        }
    }

    /// Takes in that a session has left a match's stream, or has gone before it came there.
    pub fn gone(
        &mut self,
        now: Millis,
        id: MatchId,
        session: SessionRef,
        reason: LeaveReason,
        out: &mut Vec<MatchEffect>,
    ) {
        if let Some(running) = self.running.get_mut(&id) {
            running.gone(now, session, reason, out);
        }
    }

    /// Takes in that a session goes on at another place. Answers whether the session is in the match or wants to join
    /// it.
    pub fn rebind(&mut self, id: MatchId, from: SessionRef, to: SessionRef) -> bool {
        self.running.get_mut(&id).is_some_and(|running| running.rebind(from, to))
    }

    /// Takes in the message of a player. Messages of sessions that are not in the match are dropped.
    pub(super) fn input(&mut self, id: MatchId, session: SessionRef, message: PlayerMessage) {
        if let Some(running) = self.running.get_mut(&id)
            && !running.input(session, message, &self.config)
        {
            self.stats.inputs_dropped += 1;
        }
    }

    /// Takes in a signal of other game code.
    pub(super) fn signal(
        &mut self,
        now: Millis,
        id: MatchId,
        data: Arc<str>,
        chain: Chain,
        reply_to: Option<RequestRef>,
        out: &mut Vec<MatchEffect>,
    ) {
        let running = self.running.get_mut(&id);
        let refused = if chain.contains(&id) {
            Some(would_wait_for_itself())
        } else if running.as_ref().is_none_or(|running| !running.has_begun()) {
            Some(ended_error())
        } else {
            chain_too_long_error(&chain)
        };
        match (refused, running) {
            (None, Some(running)) => running.signal(now, data, chain, reply_to, &self.config, out),
            (why, _) => out.extend(reply_to.map(|to| MatchEffect::Reply(to, Err(why.unwrap_or_else(ended_error))))),
        }
        self.set_timer(id);
    }

    /// Tells all matches except the durable ones that the server stops. Durable matches come to rest instead (see
    /// [`Self::rest`]), and go on at another place or when the server starts again.
    pub fn terminate(&mut self, now: Millis, grace_sec: u32, out: &mut Vec<MatchEffect>) {
        let mut ids: Vec<MatchId> = self.running.keys().copied().filter(|id| !id.is_durable()).collect();
        ids.sort_unstable();
        for id in ids {
            if let Some(running) = self.running.get_mut(&id) {
                running.terminate(now, grace_sec, out);
            }
            self.set_timer(id);
        }
    }

    /// Takes in the return of a call. Returns of calls from an earlier stay of the match at this place are dropped.
    pub fn returned(&mut self, now: Millis, call: CallRef, returned: Return, out: &mut Vec<MatchEffect>) {
        let CallRef { id, stay } = call;
        let Some(running) = self.running.get_mut(&id).filter(|running| running.stay == stay) else { return };
        let had_begun = running.has_begun();
        let after = running.returned(now, returned, out);
        if let Some(tick) = after.tick {
            self.stats.lateness.record(tick.late_ms);
            self.stats.ticks_skipped += tick.skipped;
        }
        if let Some(end) = after.end {
            return self.end(id, end, out);
        }
        let begins = running.has_begun() && !had_begun;
        if begins || after.is_relabelled {
            self.index.put(&running.outline);
        }
        if begins {
            self.stats.begun += 1;
        }
        self.set_timer(id);
    }

    fn remove(&mut self, id: MatchId) -> Option<RunningMatch> {
        let running = self.running.remove(&id)?;
        self.index.remove(id);
        if let Some(durable) = self.durable.get_mut(&id.partition()) {
            durable.remove(&id);
            if durable.is_empty() {
                self.durable.remove(&id.partition());
            }
        }
        Some(running)
    }

    /// Moment at which [`Self::turn`] is due next: for a tick or the end of a match, or to refuse a caller who has
    /// waited too long.
    pub fn next_due(&self) -> Option<Millis> {
        self.wheel.next_due()
    }

    /// Takes the steps that are due in all matches.
    pub fn turn(&mut self, now: Millis, out: &mut Vec<MatchEffect>) {
        let mut due = std::mem::take(&mut self.due);
        self.wheel.take_due(now, &mut due);
        for id in due.drain(..) {
            let Some(running) = self.running.get_mut(&id) else { continue };
            if running.timer.take_if(|at| *at <= now).is_none() {
                // An earlier entry of the wheel has replaced this one and has come due before.
                continue;
            }
            if running.next_due().is_none_or(|at| at > now) {
                self.set_timer(id);
                continue;
            }
            if let Some(end) = running.turn(now, &self.config, out) {
                self.end(id, end, out);
            } else {
                self.set_timer(id);
            }
        }
        self.due = due;
    }

    fn set_timer(&mut self, id: MatchId) {
        let Some(running) = self.running.get_mut(&id) else { return };
        if let Some(at) = running.next_due().filter(|at| running.timer.is_none_or(|set| *at < set)) {
            running.timer = Some(at);
            self.wheel.set(at, id);
        }
    }

    /// Begins a listing of the matches that fit a request, in order. `None` if the answer comes from a later slice.
    pub fn begin_listing(&mut self, request: Option<RequestRef>, asked: ListQuery) -> Option<MatchesAnswer> {
        let listed = self.listings.begin(request, Finding::new(asked), (&self.index, &self.running))?;
        Some(listed.map(MatchAnswer::Listed))
    }

    /// Goes on with listings, one slice. Returns the answers of those that are over.
    pub fn run_slice(&mut self) -> Vec<(Option<RequestRef>, MatchesAnswer)> {
        let answers = self.listings.run_slice((&self.index, &self.running)).into_iter();
        answers.map(|(request, listed)| (request, Ok(MatchAnswer::Listed(listed)))).collect()
    }

    /// Whether listings need a slice.
    pub(crate) fn is_listing(&self) -> bool {
        self.listings.is_busy()
    }

    /// Counts of listings.
    pub(crate) fn listing_stats(&self) -> ListingStats {
        self.listings.stats()
    }

    /// The entry of a match in a listing.
    pub(super) fn get(&self, id: MatchId) -> Result<MatchAnswer> {
        let running = self.running.get(&id).filter(|running| running.has_begun()).ok_or_else(ended_error)?;
        Ok(MatchAnswer::Listed(vec![Listed::of(running, 1.0)]))
    }

    fn end(&mut self, id: MatchId, end: MatchEnd, out: &mut Vec<MatchEffect>) {
        if let Some(running) = self.remove(id) {
            if let MatchEnd::Failed(why) = &end {
                out.push(MatchEffect::TellFailure(id, why.clone()));
            }
            running.close(out);
            if end != MatchEnd::Lost {
                out.push(MatchEffect::DropState(id));
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

fn chain_too_long_error(chain: &Chain) -> Option<Error> {
    let why = || format!("More than {CHAIN_MAX} matches wait for one another.");
    (chain.len() > CHAIN_MAX).then(|| Error::new(ErrorKind::ResourceExhausted, why()))
}
