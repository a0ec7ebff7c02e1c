//! The world of a cluster: everything that may happen in it, one step at a time.

use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use fastrand::Rng;
use muster_domain::ids::Uuid;
use muster_live::matches::MatchesConfig;
use muster_live::matchmaker::MatchmakerConfig;
use muster_live::place::Epoch;
use muster_live::plane::{Down, Effect, Effects, Message, Recover, Reply};
use muster_live::rooms::{RoomsConfig, Templates};
use muster_live::stream::mode;
use muster_live::{Encoding, Millis, Place, Plane, PlaneConfig, SessionRef, StreamKey};

use super::act::SESSIONS_MAX;
use super::cluster::Cluster;
use super::faults::{Fault, Faults};
use super::history::History;
use super::matches::{Matches, OpenMatchRequest};
use super::moves::Move;
use super::parties::{OpenPartyRequest, PartyTie};
use super::recovery::Recovery;
use super::rooms::{OpenRoomRequest, Rooms, template};
use super::tallies::TallyWorld;
use super::tickets::{OpenTicketRequest, Tickets};
use crate::frames::{Encoder, StreamId, Version};
use crate::model::{Messages, Order, Tie};
use crate::scenario::{Who, pick};
use crate::trace::Trace;
use crate::violation::{Check, Checked, Outcome, Violation, ensure};

/// Time between passes of the matchmaker. It is longer than anything else takes, so that passes happen only when an act
/// moves the clock that far.
pub(super) const PASS_INTERVAL_MS: Millis = 600_000;

/// The number of steps within which a world must come to rest when sessions do nothing more.
const REST_STEPS_MAX: u64 = 200_000;

/// A session and its socket.
pub(super) struct Client {
    pub at: SessionRef,
    pub encoding: Encoding,
    pub is_open: bool,
    pub ties: BTreeMap<StreamId, Tie>,
}

/// A request that waits for its answer.
#[derive(Clone, Debug)]
pub(super) enum OpenRequest {
    Join { who: Who, stream: StreamId, version: Version, epoch: u32, listens: bool },
    Listen { who: Who, stream: StreamId, epoch: u32 },
    Party(OpenPartyRequest),
    Rooms(OpenRoomRequest),
    Ticket(OpenTicketRequest),
    Match(OpenMatchRequest),
    Claim { who: Who, to: SessionRef },
    Rebind { who: Who, stream: StreamKey },
    RebindTickets { who: Who },
    Tally { who: Who, subject: Uuid, crashes: usize },
    Chat { who: Who },
}

impl OpenRequest {
    /// The session that waits for the answer before it does anything else.
    pub(super) fn who(&self, tickets: &Tickets) -> Option<Who> {
        match self {
            Self::Join { who, .. } | Self::Listen { who, .. } | Self::Tally { who, .. } | Self::Chat { who } => {
                Some(*who)
            }
            Self::Party(asked) => Some(asked.who),
            Self::Rooms(asked) => asked.who(),
            Self::Ticket(asked) => Some(tickets.asker(asked)),
            Self::Match(asked) => Some(asked.who()),
            Self::Claim { .. } | Self::Rebind { .. } | Self::RebindTickets { .. } => None,
        }
    }
}

/// One thing that may happen next.
#[derive(Clone, Copy, Debug)]
enum NextEvent {
    Deliver(Place, Place),
    Tell(Place),
    Slice(Place),
    Close(Who),
    /// The session at this position of `rooms.entering` joins its room.
    Enter(usize),
    LeaveHome(Who),
    /// The step at this position of `tickets.steps` is taken.
    Ticket(usize),
    /// The answer at this position of `claim_answers` is handled.
    Settle(usize),
    /// The place at this position of `recovery.asked` gets recovery data.
    Recover(usize),
    /// The place at this position of `history.asked` gets what was kept.
    Recall(usize),
    /// The task at this position of `matches.tasks` is done.
    Engine(usize),
}

/// A cluster with its sessions and clock, and the model of both.
pub(super) struct World {
    pub cluster: Cluster,
    pub now: Millis,
    pub rng: Rng,
    pub streams: Vec<StreamKey>,
    pub parties: Vec<StreamKey>,
    pub encoder: Rc<Encoder>,
    pub clients: BTreeMap<Who, Client>,
    pub by_ref: BTreeMap<SessionRef, Who>,
    /// Requests without an answer.
    pub asked: BTreeMap<(Place, u64), OpenRequest>,
    /// The session and stream of each appearance, by the appearance's number, which begins at 1.
    pub appearances: Vec<(Who, StreamId)>,
    pub periods: u64,
    pub messages: Messages,
    /// The epoch since which no message of a stream was lost, as of the last message that a session heard, by stream
    /// and session.
    pub heard_of: BTreeMap<(StreamId, Who), Option<Epoch>>,
    /// Orders by stream and by the epoch since which no message of the stream was lost.
    pub orders: BTreeMap<(StreamId, Option<Epoch>), Order>,
    pub party_ties: BTreeMap<(StreamId, Who), PartyTie>,
    pub rooms: Rooms,
    pub tickets: Tickets,
    pub moves: BTreeMap<Who, Move>,
    /// Answers to claims that the rim has yet to handle.
    pub claim_answers: Vec<(Who, SessionRef, Reply)>,
    pub recovery: Recovery,
    pub matches: Matches,
    pub tallies: TallyWorld,
    pub history: History,
    pub closing: Vec<Who>,
    pub is_merged: bool,
    /// Whether acts on parties and rooms, and moves of the clock, are frequent. Faults of recovery show only if several
    /// acts meet one party or room, which must have recovery data both before and after a crash.
    pub is_kept_often: bool,
    /// Whether nodes may die.
    pub has_crashes: bool,
    /// Whether the step that runs delivers the differences between a new owner's roster and the former one. Only one
    /// place hears them.
    pub is_difference: bool,
    pub steps: u64,
    pub trace: Trace,
}

/// Runs a seed to its end or to the first violation.
pub fn run(seed: u64, fault: Option<Fault>, prints: bool) -> Outcome {
    let mut world = World::new(seed, fault, prints);
    let violation = world.run().err();
    if let Some(violation) = &violation {
        world.trace.line(|| format!("VIOLATION {violation}"));
    }
    Outcome { hash: world.trace.hash(), steps: world.steps, violation }
}

fn config(rng: &mut Rng) -> PlaneConfig {
    PlaneConfig {
        merge_above: pick(rng, &[0, 2, 1_000, 1_000]),
        merge_ms: pick(rng, &[1, 20]),
        slice_deliveries: pick(rng, &[1, 2, 2_048]),
        up_credits: pick(rng, &[1, 3, 64]),
        down_credits: pick(rng, &[1, 4, 64]),
        rooms: Arc::new(RoomsConfig {
            templates: Templates::new([template()]),
            reservation_ms: 60,
            ..RoomsConfig::default()
        }),
        matchmaker: MatchmakerConfig { interval_ms: PASS_INTERVAL_MS, ..MatchmakerConfig::default() },
        recover: Recover { parties: rng.u8(0..4) > 0, rooms: true, tickets: true, matches: true },
        matches: MatchesConfig { inputs_max: 1_000, ..MatchesConfig::default() },
        recalls: true,
        ..PlaneConfig::default()
    }
}

impl World {
    fn new(seed: u64, fault: Option<Fault>, prints: bool) -> Self {
        let mut rng = Rng::with_seed(seed);
        let stream = |number: u128, rng: &mut Rng| {
            let subject = Uuid::from_u128((u128::from(rng.u64(..)) << 64) | number);
            let mode = pick(rng, &[mode::NOTIFICATIONS, mode::STATUS, mode::MATCH_RELAYED, mode::CHANNEL]);
            StreamKey::about(mode, subject)
        };
        let streams: Vec<StreamKey> = (0..rng.u128(1..=4)).map(|number| stream(number, &mut rng)).collect();
        let party = |number: u128| StreamKey::about(mode::PARTY, Uuid::from_u128(u128::from(seed) << 64 | number));
        let parties: Vec<StreamKey> = (0..2).map(party).collect();
        let encoder = Rc::new(Encoder::new(&streams, &parties));
        let mut config = config(&mut rng);
        config.checks_itself &= fault.is_none();
        let tallies = TallyWorld::of_seed(seed);
        let has_crashes = fault.is_some() || rng.u8(0..3) > 0;
        let is_merged = config.merge_above < SESSIONS_MAX;
        let cluster = Cluster::new(rng.u16(1..=2), config, encoder.clone(), Faults::new(fault, seed), tallies.has_some);
        Self {
            cluster,
            now: 1_000,
            rng,
            orders: BTreeMap::new(),
            streams,
            parties,
            encoder,
            clients: BTreeMap::new(),
            by_ref: BTreeMap::new(),
            asked: BTreeMap::new(),
            appearances: Vec::new(),
            periods: 0,
            messages: Messages::default(),
            heard_of: BTreeMap::new(),
            party_ties: BTreeMap::new(),
            rooms: Rooms::default(),
            tickets: Tickets::default(),
            moves: BTreeMap::new(),
            claim_answers: Vec::new(),
            recovery: Recovery::default(),
            matches: Matches::default(),
            tallies,
            history: History::of_seed(seed, fault),
            closing: Vec::new(),
            is_merged,
            is_kept_often: seed % 8 == 7,
            has_crashes,
            is_difference: false,
            steps: 0,
            trace: Trace::new(prints),
        }
    }

    fn run(&mut self) -> Checked {
        self.settle()?;
        for _ in 0..self.rng.usize(60..300) {
            self.act()?;
            for _ in 0..pick(&mut self.rng, &[0, 1, 3, 12]) {
                self.happen()?;
            }
        }
        self.end()
    }

    /// Runs one step of a place's plane, carries out its effects and checks them.
    pub(super) fn step<R>(
        &mut self,
        place: Place,
        step: impl FnOnce(&mut Plane, Millis, &mut Effects) -> R,
    ) -> Checked<R> {
        self.steps += 1;
        self.encoder.tales.now.set(self.now);
        let mut out = Effects::default();
        let mark = (self.cluster.view_of(place) as u32) << 1 | u32::from(self.is_difference);
        self.encoder.mark.set(Some(mark));
        let Some(plane) = self.cluster.planes.get_mut(&place) else {
            return Err(Violation { check: Check::Stray, detail: format!("there is no place {place:?}") });
        };
        let result = step(plane, self.now, &mut out);
        // Some effects lead to further steps, which run after all others.
        let mut afterwards = Vec::new();
        for effect in out {
            match effect {
                Effect::Matched(_) | Effect::EndTicket(_) | Effect::Depart(..) | Effect::Handler(_) => {
                    afterwards.push(effect);
                }
                effect => self.carry_out(place, effect)?,
            }
        }
        for effect in afterwards {
            match effect {
                Effect::Matched(found) => self.tell_matched(place, &found)?,
                Effect::EndTicket(ended) => self.tell_lost(place, ended)?,
                Effect::Depart(request, claim) => self.claimed(place, request, claim)?,
                Effect::Handler(order) => self.order(place, order)?,
                _ => {}
            }
        }
        Ok(result)
    }

    fn carry_out(&mut self, place: Place, effect: Effect) -> Checked {
        match effect {
            Effect::Reply(request, reply) => self.answer(place, request, reply)?,
            Effect::Deliver(key, frame, _) => self.deliver(SessionRef { place, key }, &frame)?,
            Effect::Close(key, reason) => {
                self.trace.line(|| format!("  {place:?} closes a session: {reason:?}"));
                self.closing.extend(self.by_ref.get(&SessionRef { place, key }));
            }
            Effect::HandedOver(partitions) => {
                self.trace.line(|| format!("  {place:?} has handed over {}", partitions.len()));
                self.cluster.handed_over(place, &partitions);
            }
            Effect::Keep(things) => {
                for recoverable in things {
                    self.trace.line(|| format!("  {place:?} has kept {:?}", recoverable.key));
                    self.keep(recoverable)?;
                }
            }
            Effect::Recover(partitions) => {
                self.recovery.asked.extend(partitions.into_iter().map(|(partition, epoch)| (place, partition, epoch)));
            }
            Effect::Recall(recall) => self.history.asked.push((place, *recall)),
            Effect::Send(to, message) => {
                self.trace.step(|| format!("  {place:?} -> {to:?} {}", name(&message)), &[to.node().into()]);
                self.cluster.send(place, to, *message);
            }
            _ => {}
        }
        Ok(())
    }

    /// Lets one of the possible things happen. Returns false if there is none.
    pub(super) fn happen(&mut self) -> Checked<bool> {
        let mut next: Vec<NextEvent> =
            self.cluster.deliverable().map(|(from, to)| NextEvent::Deliver(from, to)).collect();
        next.extend(self.cluster.behind().map(NextEvent::Tell));
        let busy = self.cluster.planes.iter().filter(|(_, plane)| plane.is_busy());
        next.extend(busy.map(|(place, _)| NextEvent::Slice(*place)));
        next.extend(self.closing.iter().map(|who| NextEvent::Close(*who)));
        let entering = self.rooms.entering.iter().enumerate();
        next.extend(
            entering.filter(|(_, (who, _))| !self.moves.contains_key(who)).map(|(number, _)| NextEvent::Enter(number)),
        );
        next.extend(self.bound().map(NextEvent::LeaveHome));
        next.extend((0..self.tickets.steps.len()).map(NextEvent::Ticket));
        next.extend((0..self.claim_answers.len()).map(NextEvent::Settle));
        next.extend((0..self.recovery.asked.len()).map(NextEvent::Recover));
        next.extend((0..self.history.asked.len()).map(NextEvent::Recall));
        next.extend(self.matches.ready().map(NextEvent::Engine));
        if next.is_empty() {
            return Ok(false);
        }
        match next[self.rng.usize(0..next.len())] {
            NextEvent::Deliver(from, to) => self.arrive(from, to)?,
            NextEvent::Tell(place) => self.tell(place)?,
            NextEvent::Slice(place) => {
                self.step(place, |plane, now, out| plane.run_slice(now, out))?;
            }
            NextEvent::Close(who) => {
                self.closing.retain(|other| *other != who);
                self.close(who)?;
            }
            NextEvent::Enter(number) => {
                let (who, room) = self.rooms.entering.swap_remove(number);
                self.enter(who, room)?;
            }
            NextEvent::LeaveHome(who) => self.leave_home(who)?,
            NextEvent::Ticket(number) => self.step_with_ticket(number)?,
            NextEvent::Settle(number) => {
                let (who, to, reply) = self.claim_answers.remove(number);
                self.claim_answered(who, to, reply)?;
            }
            NextEvent::Recover(number) => self.recover(number)?,
            NextEvent::Recall(number) => self.read_history(number)?,
            NextEvent::Engine(number) => self.go_on_in_engine(number)?,
        }
        Ok(true)
    }

    fn arrive(&mut self, from: Place, to: Place) -> Checked {
        let Some(message) = self.cluster.take(from, to) else { return Ok(()) };
        self.trace.step(|| format!("  {to:?} takes {} of {from:?}", name(&message)), &[to.node().into()]);
        self.is_difference = matches!(&message, Message::Down(Down::Roster { is_anew: true, .. }));
        self.step(to, |plane, now, out| plane.receive(now, from, message, out))?;
        self.is_difference = false;
        Ok(())
    }

    /// Tells a place of a later view.
    fn tell(&mut self, place: Place) -> Checked {
        let Some(view) = self.cluster.next_view(&mut self.rng, place) else { return Ok(()) };
        self.trace.step(|| format!("  {place:?} is told of {:?}", view.places()), &[place.node().into()]);
        self.step(place, |plane, now, out| plane.reroute(now, view, out))
    }

    /// Moves the clock and runs timers.
    pub(super) fn advance(&mut self, ms: Millis) -> Checked {
        self.now += ms;
        self.history.pass(ms);
        for place in self.cluster.planes.keys().copied().collect::<Vec<_>>() {
            self.step(place, |plane, now, out| plane.turn(now, out))?;
        }
        Ok(())
    }

    /// Lets all messages arrive and all timers run. Loops of matches never end, so they are held back, and each runs
    /// only three more times, in which its match hears all messages.
    pub(super) fn settle(&mut self) -> Checked {
        self.matches.hold_loops(true);
        self.settle_but_loops()?;
        for _ in 0..3 {
            self.flush_loops()?;
            self.settle_but_loops()?;
        }
        self.matches.hold_loops(false);
        Ok(())
    }

    fn settle_but_loops(&mut self) -> Checked {
        let deadline = self.steps + REST_STEPS_MAX;
        loop {
            while self.happen()? {
                ensure(Check::Rest, self.steps < deadline, || "it goes on without end".to_owned())?;
            }
            let due = self.cluster.planes.values().filter_map(Plane::next_due).min();
            // Passes of the matchmaker go on while tickets wait, so their timers do not count.
            let Some(due) = due.filter(|due| *due < self.now + PASS_INTERVAL_MS / 2) else { return Ok(()) };
            ensure(Check::Rest, self.steps < deadline, || "timers set timers without end".to_owned())?;
            self.advance(due.saturating_sub(self.now).max(1))?;
        }
    }
}

pub(super) fn name(message: &Message) -> String {
    format!("{message:?}").chars().take(200).collect()
}
