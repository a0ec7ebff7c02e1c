//! Tallies: a kind of owned things that this simulation adds to planes. The plane knows tallies only by the trait of
//! owned things, and yet they survive the change of their owners.
//!
//! A tally holds a count and the sessions that came to it. It goes on when no session is there.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use muster_cluster::codec::{Decoder, Encoder};
use muster_domain::ids::Uuid;
use muster_live::matches::{LeaveReason, MatchesAsk};
use muster_live::party::{Member, PartyAsk};
use muster_live::plane::{
    AddedAsk, Answer, Ask, Carried, Kind, Listener, Message, Owned, Owning, RecoveryKey, Reply, RequestRef, Up,
};
use muster_live::{Millis, Partition, Place, Presence, SessionRef, StreamKey};

use super::act::SESSIONS_MAX;
use super::world::{OpenRequest, World};
use crate::frames::TALLY;
use crate::scenario::Who;
use crate::violation::{Check, Checked, Violation, ensure};

/// Number of tallies of a run.
const TALLIES: u128 = 3;

/// One tally.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    count: u64,
    members: BTreeSet<SessionRef>,
}

/// The tallies of one place, shared with the checks.
pub(super) type Shown = Rc<RefCell<BTreeMap<Uuid, Tally>>>;

/// The kind of things, as one plane owns it.
#[derive(Default)]
pub(super) struct Tallies {
    pub shown: Shown,
    /// A planted bug: tallies that are handed over stay here as well.
    pub keeps_handed_over: bool,
}

fn stream_of(subject: Uuid) -> StreamKey {
    StreamKey::about(TALLY, subject)
}

fn count_bytes(count: u64) -> Bytes {
    Bytes::copy_from_slice(&count.to_be_bytes())
}

fn count_of(bytes: &[u8]) -> u64 {
    bytes.first_chunk().map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

impl Tallies {
    fn change<R>(&mut self, stream: &StreamKey, change: impl FnOnce(&mut Tally) -> R) -> R {
        change(self.shown.borrow_mut().entry(stream.subject).or_default())
    }
}

impl Owned for Tallies {
    fn kind(&self) -> Kind {
        Kind::Added(TALLY)
    }

    fn mode(&self) -> Option<u8> {
        Some(TALLY)
    }

    fn ask_added(&mut self, owning: &mut Owning<'_>, request: Option<RequestRef>, ask: AddedAsk) {
        let (stream, comer, ask) = ask.into_parts();
        let count = self.change(&stream, |tally| {
            tally.count += u64::from(!ask.is_empty());
            tally.members.extend(comer.as_ref().map(Member::session));
            tally.count
        });
        owning.note_change(RecoveryKey::Added(TALLY, stream.subject));
        if let Some(member) = comer {
            owning.let_in(&stream, member);
        }
        owning.answer(request, count_bytes(count));
    }

    fn left(
        &mut self,
        _owning: &mut Owning<'_>,
        stream: &StreamKey,
        session: SessionRef,
        _presence: Option<Arc<Presence>>,
        _reason: LeaveReason,
    ) {
        self.change(stream, |tally| tally.members.remove(&session));
    }

    fn rebind(
        &mut self,
        _owning: &mut Owning<'_>,
        stream: &StreamKey,
        from: SessionRef,
        to: SessionRef,
        _presence: Option<&Presence>,
    ) -> bool {
        self.change(stream, |tally| {
            if tally.members.remove(&from) {
                tally.members.insert(to);
            }
        });
        false
    }

    fn forget(&mut self, _owning: &mut Owning<'_>, changed: &BTreeSet<Partition>) {
        self.shown.borrow_mut().retain(|subject, _| !changed.contains(&stream_of(*subject).partition()));
    }

    fn resume(
        &mut self,
        _owning: &mut Owning<'_>,
        _partition: Partition,
        kept: Vec<Carried>,
        _is_inhabited: &dyn Fn(&StreamKey) -> bool,
    ) -> Vec<StreamKey> {
        let mut streams = Vec::new();
        for part in kept {
            let Carried::Added(stream, part) = part else { continue };
            self.change(&stream, |tally| tally.count = count_of(&part));
            streams.push(stream);
        }
        streams
    }

    fn meet(&mut self, owning: &mut Owning<'_>, stream: &StreamKey, inside: Vec<Member>, waiting: Vec<Listener>) {
        owning.show_anew(stream);
        self.change(stream, |tally| tally.members = inside.iter().map(Member::session).collect());
        waiting.into_iter().for_each(|listener| owning.turn_away(stream, listener));
    }

    fn partitions(&self) -> BTreeSet<Partition> {
        self.shown.borrow().keys().map(|subject| stream_of(*subject).partition()).collect()
    }

    fn members(&self, _node: &str) -> Option<Vec<(StreamKey, SessionRef)>> {
        let tallies = self.shown.borrow();
        let members =
            tallies.iter().flat_map(|(subject, tally)| tally.members.iter().map(move |member| (subject, *member)));
        Some(members.map(|(subject, member)| (stream_of(*subject), member)).collect())
    }

    fn carry_out(&mut self, _now: Millis, is_one: &dyn Fn(Partition) -> bool) -> Vec<Carried> {
        let mut parts = Vec::new();
        let mut tallies = self.shown.borrow_mut();
        let kept = if self.keeps_handed_over { tallies.clone() } else { BTreeMap::new() };
        for (subject, tally) in tallies.extract_if(.., |subject, _| is_one(stream_of(*subject).partition())) {
            let members = tally.members.iter();
            let members = members.flat_map(|at| [u64::from(at.place.number()), at.key.number()]);
            let numbers = [tally.count].into_iter().chain(members);
            let bytes: Vec<u8> = numbers.flat_map(u64::to_be_bytes).collect();
            parts.push(Carried::Added(stream_of(subject), bytes.into()));
        }
        tallies.extend(kept);
        parts
    }

    fn carry_in(&mut self, _owning: &mut Owning<'_>, part: Carried) {
        let Carried::Added(stream, bytes) = part else { return };
        let numbers: Vec<u64> = bytes.chunks(8).map(count_of).collect();
        let member = |pair: &[u64]| SessionRef {
            place: Place::from_number(pair[0] as u32),
            key: muster_live::SessionKey::from_number(pair[1]),
        };
        let members = numbers[1..].chunks(2).map(member).collect();
        self.change(&stream, |tally| *tally = Tally { count: numbers[0], members });
    }

    fn recovery_data(&self, _now: Millis, key: RecoveryKey) -> Vec<Carried> {
        let RecoveryKey::Added(TALLY, subject) = key else { return Vec::new() };
        let tallies = self.shown.borrow();
        let kept = tallies.get(&subject).map(|tally| Carried::Added(stream_of(subject), count_bytes(tally.count)));
        kept.into_iter().collect()
    }
}

/// The answers that sessions got from tallies.
#[derive(Default)]
pub(super) struct TallyWorld {
    /// Whether this run has tallies.
    pub has_some: bool,
    /// The source of randomness for tallies alone, so that runs without tallies stay as they are.
    pub rng: fastrand::Rng,
    /// The largest count that was answered, and the number of nodes that had died when it was asked for.
    answered: BTreeMap<Uuid, (u64, usize)>,
    /// Number of questions that were sent to raise the count.
    sent: BTreeMap<Uuid, u64>,
}

impl TallyWorld {
    /// Runs of every fourth seed have tallies.
    pub(super) fn of_seed(seed: u64) -> Self {
        let rng = fastrand::Rng::with_seed(seed ^ 0x7A11);
        Self { has_some: seed % 4 == 1, rng, ..Self::default() }
    }
}

impl World {
    /// Lets a session come to a tally, leave it, or count.
    pub(super) fn act_with_tally(&mut self, who: Who) -> Checked {
        let rng = &mut self.tallies.rng;
        let (subject, act) = (Uuid::from_u128(rng.u128(0..TALLIES) << 64 | 0x7A11), rng.u8(0..6));
        let (at, stream) = (self.clients[&who].at, stream_of(subject));
        self.trace.line(|| format!("session {who}, tally {subject}: {act}"));
        let is_on = self.cluster.planes[&at.place].is_on(at.key, &stream);
        let crashes = self.cluster.crashes;
        match act {
            0 => self.step(at.place, |plane, now, out| plane.leave(now, at.key, stream, out)).map(drop),
            1 | 2 if !is_on => {
                let Some(request) = self.ask(at.place, OpenRequest::Tally { who, subject, crashes }) else {
                    return Ok(());
                };
                self.step(at.place, |plane, now, out| {
                    plane.come_to_added(now, at.key, stream, Bytes::new(), request, out);
                })
            }
            _ => {
                let request = self.ask(at.place, OpenRequest::Tally { who, subject, crashes });
                *self.tallies.sent.entry(subject).or_default() += 1;
                let ask = Ask::Added(AddedAsk::new(stream, Bytes::from_static(b"+")));
                self.step(at.place, |plane, now, out| plane.ask_thing(now, ask, request, out))
            }
        }
    }

    pub(super) fn tally_answered(&mut self, subject: Uuid, crashes: usize, reply: &Reply) -> Checked {
        match reply {
            Reply::Answer(Answer::Added(count)) => {
                let count = count_of(count);
                let answered = self.tallies.answered.entry(subject).or_default();
                if answered.1 < crashes || count > answered.0 {
                    *answered = (count, crashes);
                }
                Ok(())
            }
            Reply::Joined(Err(_)) => Ok(()),
            reply => Err(Violation { check: Check::Answers, detail: format!("{reply:?} answers a tally") }),
        }
    }

    /// Compares tallies with the sessions on their streams, and their counts with the answers.
    pub(super) fn check_tallies(&self) -> Checked {
        for subject in (0..TALLIES).map(|number| Uuid::from_u128(number << 64 | 0x7A11)) {
            let stream = stream_of(subject);
            let owner = self.cluster.owner(&stream);
            let sessions = self.clients.iter().take(SESSIONS_MAX).filter(|(_, client)| client.is_open);
            let on: BTreeSet<SessionRef> = sessions
                .map(|(_, client)| client.at)
                .filter(|at| self.cluster.planes[&at.place].is_on(at.key, &stream))
                .collect();
            for (place, tallies) in
                self.cluster.tallies.iter().filter(|(place, _)| self.cluster.planes.contains_key(*place))
            {
                let tallies = tallies.borrow();
                let tally = tallies.get(&subject);
                ensure(Check::Presences, *place == owner || tally.is_none(), || {
                    format!("{place:?} is no owner of tally {subject}")
                })?;
                let members = tally.map(|tally| tally.members.clone()).unwrap_or_default();
                ensure(Check::Presences, *place != owner || members == on, || {
                    format!("tally {subject} has {members:?}, on its stream are {on:?}")
                })?;
                let count = tally.map_or(0, |tally| tally.count);
                let sent = self.tallies.sent.get(&subject).copied().unwrap_or_default();
                ensure(Check::Recovery, count <= sent, || format!("tally {subject} counts {count} of {sent}"))?;
                let (answered, crashes) = self.tallies.answered.get(&subject).copied().unwrap_or((0, 0));
                let is_safe = *place != owner || crashes < self.cluster.crashes;
                ensure(Check::Recovery, is_safe || count >= answered, || {
                    format!("tally {subject} counts {count}, and had answered {answered}")
                })?;
            }
        }
        Ok(())
    }
}

/// A message as another node reads it after its way over a link. Messages with payloads or orders stay as they are,
/// because the simulation must find its own payloads in them.
pub(super) fn crossed(from: Place, to: Place, message: Message) -> Message {
    let is_plain = match &message {
        Message::Up(up) | Message::Dated(_, up) => {
            let is_request =
                |ask: &Ask| matches!(ask, Ask::Party(PartyAsk::One { .. }) | Ask::Match(MatchesAsk::One { .. }));
            match up {
                Up::Publish(_) | Up::All { .. } | Up::Order { .. } => false,
                Up::Ask { ask, .. } => !is_request(ask),
                _ => true,
            }
        }
        Message::Down(_) | Message::Credit(..) => false,
    };
    if !is_plain || from.node() == to.node() {
        return message;
    }
    let mut encoder = Encoder::new(from.node());
    encoder.push(from.shard(), to.shard(), &message);
    let bytes = Bytes::copy_from_slice(encoder.take().content());
    let decoder = Decoder::new(to.node(), Arc::default());
    let mut read = decoder.decode(from.node(), bytes).into_iter().flatten();
    match read.next().map(|incoming| incoming.content) {
        Some(Ok(message)) => message,
        unread => panic!("{message:?} was read as {unread:?}"),
    }
}
