//! Durable matches in a cluster: sessions join them, send to them and leave, and the matches go on as their players saw
//! them when nodes die.
//!
//! Handlers and logs are modelled. A call of a handler is first written to the partition's log, if the log accepts the
//! place that writes, and the effects follow some time later. A stalled process may still try to write. The next owner
//! takes the log over and replays it, and must get the same results.

use std::collections::{BTreeMap, BTreeSet};

use bytes::Bytes;
use muster_domain::Timestamp;
use muster_domain::ids::{SessionId, Uuid};
use muster_live::matches::{
    Act, Broadcast, Call, CallRef, Callback, Chain, Creation, MatchAnswer, MatchAsk, MatchId, Outcome, Outline,
    ReplayedBroadcasts, Return,
};
use muster_live::place::{Epoch, Partition};
use muster_live::plane::{self, HandlerOrder, JoinRefusal, Reply};
use muster_live::{Place, StreamKey};

use super::world::{OpenRequest, World};
use crate::frames::{MatchWord, match_number_of, who as who_is};
use crate::scenario::Who;
use crate::violation::{Check, Checked, Violation, ensure};

/// The largest number of matches of a run.
const MATCHES_MAX: usize = 3;

/// A request to a match that waits for its answer.
#[derive(Clone, Copy, Debug)]
pub(super) enum OpenMatchRequest {
    /// To make the match.
    Make(Who),
    /// To join a match; `generation` is that of the session's tie when it asked.
    Join { who: Who, match_number: u32, generation: u32 },
}

impl OpenMatchRequest {
    pub(super) fn who(self) -> Who {
        match self {
            Self::Make(who) | Self::Join { who, .. } => who,
        }
    }
}

/// The relation of a session to a match, as the session knows it.
#[derive(Clone, Debug, Default)]
pub(super) struct MatchTie {
    /// Whether the session has asked to join, and not left since.
    may_hear: bool,
    is_in: bool,
    /// Number of times that the session left or was put out.
    generation: u32,
    sent: u32,
    /// Number of the session's first message that must arrive.
    from: u32,
    /// The tick after the last one that the session heard.
    next_tick: u32,
    /// Whether the session has heard a tick since it joined. From then on it must hear every tick.
    hears_all: bool,
}

impl MatchTie {
    pub(super) fn go(&mut self) {
        (self.may_hear, self.is_in, self.hears_all) = (false, false, false);
        self.generation += 1;
    }
}

/// The state of a match's handler, which follows from its calls alone.
#[derive(Clone, Debug)]
struct HandlerModel {
    outline: Outline,
    digest: u32,
    here: BTreeSet<SessionId>,
    heard: BTreeMap<Who, u32>,
}

/// The log of a partition.
#[derive(Debug, Default)]
struct Log {
    /// The epoch of the owner that may write to the log.
    epoch: Epoch,
    entries: Vec<(Call, Return)>,
}

/// The engine that runs the handlers of a partition's matches at a place.
#[derive(Debug)]
struct Engine {
    epoch: Epoch,
    models: BTreeMap<MatchId, HandlerModel>,
}

/// A step that an engine is about to take.
#[derive(Debug)]
enum EngineTask {
    /// A call is written to the log and run.
    Keep(Place, Box<Call>),
    Return(Place, CallRef, Return),
    TakeOver(Place, Partition, Epoch),
    Release(Place, Partition),
}

impl EngineTask {
    fn of(&self) -> (Place, Partition) {
        match self {
            Self::Keep(place, call) => (*place, call.id.partition()),
            Self::Return(place, call, _) => (*place, call.id.partition()),
            Self::TakeOver(place, partition, _) | Self::Release(place, partition) => (*place, *partition),
        }
    }
}

/// The durable matches of a run, with their logs and engines.
#[derive(Default)]
pub(super) struct Matches {
    /// The streams of matches by number. Some of these matches may never have begun.
    streams: Vec<StreamKey>,
    logs: BTreeMap<Partition, Log>,
    engines: BTreeMap<(Place, Partition), Engine>,
    tasks: Vec<EngineTask>,
    ties: BTreeMap<(u32, Who), MatchTie>,
    /// The digest of each tick of each match.
    ticks: BTreeMap<(u32, u32), u32>,
    kicked: BTreeSet<(u32, Who)>,
    /// Whether calls of `match_loop` are held back, so that the world can come to rest.
    holds_loops: bool,
}

impl Matches {
    /// Positions of the tasks that may be done now.
    pub(super) fn ready(&self) -> impl Iterator<Item = usize> {
        let is_ready = |task: &EngineTask| match task {
            EngineTask::Keep(_, call) => {
                let waits = self.holds_loops && matches!(call.callback, Callback::Loop(_));
                !waits && self.engines.contains_key(&task.of())
            }
            EngineTask::Return(..) | EngineTask::TakeOver(..) | EngineTask::Release(..) => true,
        };
        self.tasks.iter().enumerate().filter(move |(_, task)| is_ready(task)).map(|(number, _)| number)
    }

    /// Whether a place waits for a log.
    pub(super) fn is_taking_over(&self) -> bool {
        self.tasks.iter().any(|task| matches!(task, EngineTask::TakeOver(..)))
    }

    pub(super) fn hold_loops(&mut self, holds: bool) {
        self.holds_loops = holds;
    }

    pub(super) fn forget(&mut self, who: Who) {
        self.ties.iter_mut().filter(|((_, other), _)| *other == who).for_each(|(_, tie)| tie.go());
    }

    fn live(&self) -> BTreeSet<MatchId> {
        self.logs.values().flat_map(|log| &log.entries).map(|(call, _)| call.id).collect()
    }
}

impl HandlerModel {
    fn of_first(call: &Call) -> Checked<Self> {
        let outline = Outline::of_first(call).ok_or_else(|| wrong(format!("the first of all is {call:?}")))?;
        Ok(Self { outline, digest: 1, here: BTreeSet::new(), heard: BTreeMap::new() })
    }

    /// Runs one call of the handler.
    fn run(&mut self, call: &Call) -> Checked<Return> {
        let is_right = call.tick == self.outline.tick && call.label == self.outline.label;
        ensure(Check::Matches, is_right, || format!("{:?} is called as {call:?}", self.outline))?;
        let (outcome, acts) = match &call.callback {
            Callback::Init { .. } => (Outcome::Begun { tick_rate: 1, label: "{}".into() }, Vec::new()),
            Callback::JoinAttempt { presence, .. } => {
                let is_let_in = !(who_is(presence) as u64 + self.outline.tick).is_multiple_of(7);
                (Outcome::Decided(if is_let_in { Ok(()) } else { Err("no".into()) }), Vec::new())
            }
            Callback::Join(came) => {
                for presence in came {
                    self.mix(who_is(presence) as u32);
                    let is_new = self.here.insert(presence.session_id);
                    ensure(Check::Matches, is_new, || format!("{presence:?} came twice to {}", call.id))?;
                }
                (Outcome::GoesOn, Vec::new())
            }
            Callback::Leave(left) => {
                for left in left {
                    self.mix(!(who_is(&left.presence) as u32));
                    let was_here = self.here.remove(&left.presence.session_id);
                    ensure(Check::Matches, was_here, || format!("{left:?} was not in {}", call.id))?;
                }
                (Outcome::GoesOn, Vec::new())
            }
            Callback::Loop(inputs) => {
                let mut acts = Vec::new();
                for input in inputs {
                    let (who, number) = (who_is(&input.sender), number_of(&input.data));
                    let last = self.heard.insert(who, number);
                    ensure(Check::Matches, last.is_none_or(|last| last < number), || {
                        format!("{} hears {number} of {who} behind {last:?}", call.id)
                    })?;
                    self.mix(who as u32);
                    self.mix(number);
                    if (number + who as u32).is_multiple_of(11) {
                        acts.push(Act::Kick(vec![input.sender.session_id]));
                    }
                }
                acts.push(Act::Broadcast(self.state(call)));
                (Outcome::GoesOn, acts)
            }
            Callback::Signal(_) | Callback::Timer { .. } | Callback::Terminate { .. } => {
                (Outcome::Failed("unasked".into()), Vec::new())
            }
        };
        let returned = Return { outcome, acts };
        let goes_on = self.outline.returned(&call.callback, &returned);
        ensure(Check::Matches, goes_on, || format!("{call:?} ends with {returned:?}"))?;
        Ok(returned)
    }

    fn mix(&mut self, number: u32) {
        self.digest = (self.digest ^ number).wrapping_mul(0x0100_0193).rotate_left(5);
    }

    fn state(&self, call: &Call) -> Broadcast {
        let numbers = [call.tick as u32, self.digest];
        let data: Vec<u8> = numbers.into_iter().flat_map(u32::to_le_bytes).collect();
        Broadcast { op_code: 1, data: data.into(), to: None, sender: None, reliable: true }
    }
}

fn number_of(data: &[u8]) -> u32 {
    data.first_chunk().map_or(u32::MAX, |bytes| u32::from_le_bytes(*bytes))
}

fn wrong(detail: String) -> Violation {
    Violation { check: Check::Matches, detail }
}

impl World {
    pub(super) fn act_in_match(&mut self, who: Who) -> Checked {
        let at = self.clients[&who].at;
        let made = self.matches.streams.len();
        if made == 0 || made < MATCHES_MAX && self.rng.u8(0..12) == 0 {
            let random = Uuid::from_u128((made as u128) << 64);
            let id = self.cluster.planes[&at.place].match_id(random, true);
            let stream = id.stream(self.cluster.planes[&at.place].node());
            self.trace.line(|| format!("session {who} has match {made} made, of {:?}", id.partition()));
            self.matches.streams.push(stream.clone());
            let Some(request) = self.ask(at.place, OpenRequest::Match(OpenMatchRequest::Make(who))) else {
                return Ok(());
            };
            let (params, chain) = (Bytes::new(), Chain::default());
            let creation =
                Creation { handler: "game".into(), params, created_at: Timestamp(1), chain, is_durable: true };
            let ask = MatchAsk::Create(creation);
            return self.step(at.place, |plane, now, out| plane.ask_match(now, stream, ask, Some(request), out));
        }
        let number = self.rng.usize(0..made);
        let (match_number, stream) = (number as u32, self.matches.streams[number].clone());
        let act = self.rng.u8(0..10);
        self.trace.line(|| format!("session {who}, match {match_number}: {act}"));
        let tie = self.matches.ties.entry((match_number, who)).or_default();
        let joins = |asked: &OpenRequest| match asked {
            OpenRequest::Match(OpenMatchRequest::Join { who: other, .. }) => *other == who,
            _ => false,
        };
        // A client that waits for the answer to a join does nothing else.
        if self.asked.values().any(joins) {
            return Ok(());
        }
        if act == 0 {
            tie.go();
            return self.step(at.place, |plane, now, out| plane.leave(now, at.key, stream, out)).map(drop);
        }
        if !tie.may_hear || act == 1 {
            tie.may_hear = true;
            let asked = OpenMatchRequest::Join { who, match_number, generation: tie.generation };
            let Some(request) = self.ask(at.place, OpenRequest::Match(asked)) else { return Ok(()) };
            return self.step(at.place, |plane, now, out| {
                plane.come_to_match(now, at.key, stream, Default::default(), request, out);
            });
        }
        tie.sent += 1;
        let data = Bytes::copy_from_slice(&tie.sent.to_le_bytes());
        let ask = MatchAsk::Input { session: at, op_code: 1, data, reliable: true, received_at: Timestamp(1) };
        self.step(at.place, |plane, now, out| plane.ask_match(now, stream, ask, None, out))
    }

    /// Whether the asker of a request has closed, so that nobody waits for the answer.
    pub(super) fn is_given_up(&self, asked: &OpenRequest) -> bool {
        matches!(asked, OpenRequest::Match(OpenMatchRequest::Join { who, .. }) if !self.clients[who].is_open)
    }

    pub(super) fn match_answered(&mut self, asked: OpenMatchRequest, reply: &Reply) -> Checked {
        match (asked, reply) {
            (
                OpenMatchRequest::Join { who, match_number, generation },
                Reply::Answer(plane::Answer::Match(Ok(MatchAnswer::Entered(_)))),
            ) => {
                let tie = self.matches.ties.entry((match_number, who)).or_default();
                if tie.generation == generation && !tie.is_in {
                    (tie.is_in, tie.from) = (true, tie.sent + 1);
                }
                Ok(())
            }
            (_, Reply::Answer(plane::Answer::Match(Ok(MatchAnswer::Created) | Err(_))))
            | (_, Reply::Joined(Err(JoinRefusal::Closed | JoinRefusal::Unavailable))) => Ok(()),
            (asked, reply) => Err(Violation { check: Check::Answers, detail: format!("{reply:?} answers {asked:?}") }),
        }
    }

    pub(super) fn hear_of_match(&mut self, who: Who, match_number: u32, word: &MatchWord) -> Checked {
        let known = self.matches.ties.entry((match_number, who)).or_default();
        match word {
            MatchWord::Left => {
                let may_go = self.matches.kicked.contains(&(match_number, who));
                ensure(Check::Matches, may_go, || {
                    format!("session {who} is put out of match {match_number} for nothing")
                })?;
                known.go();
            }
            MatchWord::State { tick, digest } => {
                let (tick, digest) = (*tick, *digest);
                ensure(Check::Stray, known.may_hear, || format!("session {who} is not in match {match_number}"))?;
                ensure(Check::Matches, known.next_tick < tick + 1, || {
                    format!(
                        "session {who} hears tick {tick} of match {match_number}, and {} was the next one",
                        known.next_tick
                    )
                })?;
                ensure(Check::Matches, !known.hears_all || tick == known.next_tick, || {
                    format!(
                        "session {who} hears tick {tick} of match {match_number}, and {} was the next one",
                        known.next_tick
                    )
                })?;
                (known.next_tick, known.hears_all) = (tick + 1, true);
                let kept = self.matches.ticks.get(&(match_number, tick)).copied();
                ensure(Check::Matches, kept == Some(digest), || {
                    format!("session {who} sees tick {tick} of match {match_number} as {digest}, and it was {kept:?}")
                })?;
            }
        }
        Ok(())
    }

    /// Handles an order that a plane gives to the engine of its place.
    pub(super) fn order(&mut self, place: Place, order: HandlerOrder) -> Checked {
        self.trace.line(|| format!("  {place:?} orders {order:?}"));
        match order {
            HandlerOrder::Call(call) => {
                let of = (place, call.id.partition());
                let has_log = self.matches.engines.contains_key(&of)
                    || self
                        .matches
                        .tasks
                        .iter()
                        .any(|task| matches!(task, EngineTask::TakeOver(..)) && task.of() == of);
                ensure(Check::Matches, has_log, || format!("{place:?} calls {call:?}, and has no log for that"))?;
                self.matches.tasks.push(EngineTask::Keep(place, call));
            }
            HandlerOrder::Drop(id) => return Err(wrong(format!("{place:?} ends match {id}"))),
            HandlerOrder::TakeOver(partitions) => {
                let tasks =
                    partitions.into_iter().map(|(partition, epoch)| EngineTask::TakeOver(place, partition, epoch));
                self.matches.tasks.extend(tasks);
            }
            HandlerOrder::Release(partition) => self.matches.tasks.push(EngineTask::Release(place, partition)),
            HandlerOrder::Forget(partition) => {
                self.matches.tasks.retain(|task| task.of() != (place, partition));
                self.matches.engines.remove(&(place, partition));
            }
        }
        Ok(())
    }

    /// Takes one step of an engine.
    pub(super) fn go_on_in_engine(&mut self, number: usize) -> Checked {
        let task = self.matches.tasks.remove(number);
        let lives = self.cluster.planes.contains_key(&task.of().0);
        self.trace.step(|| format!("  engine: {task:?}"), &[number as u64]);
        match task {
            // A call is written even if its node is dead: a stalled process that others take for dead may still write.
            EngineTask::Keep(place, call) => self.keep_call(place, &call),
            _ if !lives => Ok(()),
            EngineTask::Return(place, call, returned) => {
                self.step(place, |plane, now, out| plane.match_returned(now, call, returned, out))
            }
            EngineTask::TakeOver(place, partition, epoch) => self.take_log_over(place, partition, epoch),
            EngineTask::Release(place, partition) => {
                self.matches.engines.remove(&(place, partition));
                self.step(place, |plane, now, out| plane.matches_released(now, partition, out))
            }
        }
    }

    fn keep_call(&mut self, place: Place, call: &Call) -> Checked {
        let partition = call.id.partition();
        let Some(engine) = self.matches.engines.get_mut(&(place, partition)) else { return Ok(()) };
        let log = self.matches.logs.entry(partition).or_default();
        if log.epoch != engine.epoch && !self.cluster.faults.admits() {
            self.trace.line(|| format!("  the log of {partition:?} takes nothing of {place:?} any more"));
            return Ok(());
        }
        if matches!(call.callback, Callback::Init { .. }) {
            engine.models.insert(call.id, HandlerModel::of_first(call)?);
        }
        let Some(model) = engine.models.get_mut(&call.id) else {
            return Err(wrong(format!("{place:?} calls a match that it has not: {call:?}")));
        };
        let returned = model.run(call)?;
        if let Callback::Loop(inputs) = &call.callback {
            let key = (match_number_of(call.id.0), call.tick as u32);
            let before = self.matches.ticks.insert(key, model.digest);
            ensure(Check::Matches, before.is_none(), || format!("tick {} of match {} comes again", key.1, key.0))?;
            for input in inputs.iter().filter(|_| returned.acts.len() > 1) {
                let who = who_is(&input.sender);
                if (number_of(&input.data) + who as u32).is_multiple_of(11) {
                    self.matches.kicked.insert((key.0, who));
                }
            }
        }
        if !self.cluster.faults.forgets(call) {
            log.entries.push((call.clone(), returned.clone()));
        }
        self.matches.tasks.push(EngineTask::Return(place, call.reference(), returned));
        Ok(())
    }

    /// Gives the log to a new owner, which shuts out its former writer and replays all calls.
    fn take_log_over(&mut self, place: Place, partition: Partition, epoch: Epoch) -> Checked {
        let log = self.matches.logs.entry(partition).or_default();
        if log.epoch > epoch {
            return Ok(());
        }
        log.epoch = epoch;
        let mut models: BTreeMap<MatchId, HandlerModel> = BTreeMap::new();
        let mut said: BTreeMap<MatchId, ReplayedBroadcasts> = BTreeMap::new();
        for (call, returned) in &log.entries {
            if matches!(call.callback, Callback::Init { .. }) {
                models.insert(call.id, HandlerModel::of_first(call)?);
            }
            let Some(model) = models.get_mut(&call.id) else {
                return Err(wrong(format!("the log begins with {call:?}")));
            };
            let again = model.run(call)?;
            ensure(Check::Matches, again == *returned, || format!("{call:?} was {returned:?}, and is {again:?}"))?;
            said.entry(call.id).or_default().returned(&call.callback, &model.outline);
        }
        let goes_on = |(id, said): (MatchId, ReplayedBroadcasts)| said.into_outline(models[&id].outline.clone());
        let mut outlines: Vec<Outline> = said.into_iter().map(goes_on).collect();
        self.cluster.faults.unseat(&mut outlines);
        self.matches.engines.insert((place, partition), Engine { epoch, models });
        self.step(place, |plane, now, out| plane.matches_taken_over(now, partition, epoch, outlines, out))
    }

    /// Runs the calls of `match_loop` that were held back, each once.
    pub(super) fn flush_loops(&mut self) -> Checked {
        let is_loop =
            |task: &EngineTask| matches!(task, EngineTask::Keep(_, call) if matches!(call.callback, Callback::Loop(_)));
        let held: Vec<EngineTask> = self.matches.tasks.extract_if(.., |task| is_loop(task)).collect();
        for task in held {
            if let EngineTask::Keep(place, call) = task {
                self.keep_call(place, &call)?;
            }
        }
        Ok(())
    }

    /// At rest, checks that each match has one owner, that the handler, the places and the sessions agree on its
    /// players, and that all messages have arrived unless a node died.
    pub(super) fn check_matches(&self) -> Checked {
        let live = self.matches.live();
        let durable: usize = self.cluster.planes.values().map(|plane| plane.stats().matches.durable).sum();
        ensure(Check::Matches, durable == live.len(), || format!("{durable} matches, and {} in logs", live.len()))?;
        for (match_number, stream) in (0..).zip(&self.matches.streams) {
            let (owner, id) = (self.cluster.owner(stream), MatchId(stream.subject));
            let engine = self.matches.engines.get(&(owner, id.partition()));
            let model = engine.and_then(|engine| engine.models.get(&id));
            ensure(Check::Matches, model.is_some() == live.contains(&id), || {
                format!("{owner:?} has no match {match_number}")
            })?;
            let presences = self.cluster.planes[&owner].owned_presences(stream);
            let members: BTreeMap<Who, SessionId> = presences.map(|it| (who_is(it), it.session_id)).collect();
            let here = model.map(|model| model.here.clone()).unwrap_or_default();
            ensure(Check::Presences, members.values().copied().collect::<BTreeSet<_>>() == here, || {
                format!("in match {match_number} are {members:?}, and for its handler {here:?}")
            })?;
            let open = self.clients.iter().filter(|(_, client)| client.is_open);
            let hears = open.filter(|(_, client)| self.cluster.planes[&client.at.place].hears(client.at.key, stream));
            let hearing: BTreeSet<Who> = hears.map(|(who, _)| *who).collect();
            ensure(Check::Presences, hearing == members.keys().copied().collect(), || {
                format!("in match {match_number} are {members:?}, and by their places {hearing:?}")
            })?;
            for ((_, who), tie) in self.matches.ties.range((match_number, 0)..=(match_number, Who::MAX)) {
                ensure(Check::Matches, !tie.is_in || members.contains_key(who), || {
                    format!("session {who} was in match {match_number}, and has seen nothing of its going")
                })?;
                let tick = model.map(|model| model.outline.tick).unwrap_or_default();
                ensure(Check::Matches, !tie.hears_all || u64::from(tie.next_tick) == tick, || {
                    format!(
                        "session {who} has heard {} ticks of match {match_number}, which is at {tick}",
                        tie.next_tick
                    )
                })?;
                let heard = model.and_then(|model| model.heard.get(who)).copied().unwrap_or_default();
                let is_certain = tie.is_in && self.cluster.crashes == 0;
                ensure(Check::Matches, !is_certain || tie.sent < tie.from || heard == tie.sent, || {
                    format!("session {who} sent {} to match {match_number}, which heard {heard}", tie.sent)
                })?;
            }
        }
        Ok(())
    }
}
