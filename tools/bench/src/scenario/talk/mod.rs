//! `chat`, `relay`, `match` and `hop`: groups of players who talk; one process knows all members of a group.
//!
//! Every message carries a stamp, and every receiver checks it; an operation is one delivery. Closed loop (chat): each
//! player sends its next message once all of its group have received the one before and the server has acknowledged it.
//! Open loop: messages leave by the clock, by the players in turn.

mod enter;
mod kinds;

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Instant;

use muster_wire::realtime::envelope::Message;
use muster_wire::realtime::{ChannelJoin, ChannelMessageSend, Envelope, channel_join};
use tokio::sync::OnceCell;

use self::kinds::ECHO;
use super::hop::{self, Pair};
use super::inbox::Inbox;
use super::sockets::{self, ArrivingPlayer, Player};
use super::{Connections, names};
use crate::load::frames::Opcode;
use crate::load::incoming::{self, Incoming, PlayerMessage, Way};
use crate::load::socket::{Sent, SocketWriter};
use crate::load::stamp::{Origin, Stamp};
use crate::load::{Fault, envelopes};
use crate::pacing::{Arrivals, run_arrivals};
use crate::plan::{Event, Scenario};
use crate::worker::{Worker, say};

/// Players of a group, unless the command line gives a number.
const GROUP_LEN: usize = 5;
/// Players per process. Process number times this, plus the player's number, is unique in the whole run.
pub const PLAYERS_PER_PROCESS: usize = 1 << 20;

pub async fn run(worker: Rc<Worker>) -> anyhow::Result<Connections> {
    let talk = Rc::new(Talk::new(worker.clone()));
    let enter = {
        let talk = talk.clone();
        async move |player, arrival| talk.enter(player, arrival).await
    };
    let live = {
        let talk = talk.clone();
        move |_, (player, talker)| talk.clone().listen(player, talker)
    };
    let connections = sockets::let_players_come(&worker, enter, live).await?;
    say(&Event::Ready)?;
    let window = worker.wait_for_go().await;
    match worker.plan.rate {
        None => {
            let talkers = talk.talkers.borrow().clone();
            talkers.iter().flatten().for_each(|talker| talk.say(talker, Instant::now()));
            worker.measure_window(window).await?;
        }
        Some(rate) => {
            let arrivals = Arrivals::new(window.begin, rate, worker.plan.spread, worker.plan.seed);
            let talking = run_arrivals(arrivals, window.measure_to, |intended| talk.say_in_turn(intended));
            let (measured, talked) = tokio::join!(worker.measure_window(window), talking);
            measured.and(talked)?;
        }
    }
    worker.drain_messages(|| talk.overtaken()).await;
    Ok(connections)
}

/// All groups of a worker.
struct Talk {
    worker: Rc<Worker>,
    way: Way,
    /// Whether only some pairs talk at a time.
    is_hop: bool,
    /// Whether game code runs the matches: it puts players into them, and passes on their messages.
    is_game: bool,
    groups: RefCell<Vec<Rc<Group>>>,
    /// Groups that game code has put players into, by the ids of their matches.
    found: RefCell<HashMap<String, Rc<Group>>>,
    /// Players by index; those who never arrived are missing.
    talkers: RefCell<Vec<Option<Rc<Talker>>>>,
    next: Cell<usize>,
    frame: RefCell<Vec<u8>>,
}

struct Group {
    name: String,
    /// Id of the match, which the first member makes and the others enter.
    match_id: OnceCell<String>,
    members_len: Cell<u64>,
}

impl Group {
    fn new(name: String) -> Self {
        Self { name, match_id: OnceCell::new(), members_len: Cell::default() }
    }
}

struct Talker {
    writer: Rc<SocketWriter>,
    group: Rc<Group>,
    /// Number of the player, unique in the whole run.
    number: u32,
    user: String,
    /// Id of the channel or match.
    room: String,
    said: Cell<u32>,
    acknowledged: Cell<u32>,
    /// Closed loop: deliveries and acknowledgements of the message under way that are still to come.
    awaited: Cell<u64>,
    is_open: Cell<bool>,
    inbox: RefCell<Inbox>,
}

impl Talk {
    fn new(worker: Rc<Worker>) -> Self {
        let way = if worker.plan.scenario == Scenario::Chat { Way::Chat } else { Way::Match };
        let connections = worker.plan.connections;
        let talkers = RefCell::new(vec![None; connections]);
        let lanes = worker.endpoints.lanes();
        let (is_hop, is_game) = (worker.plan.scenario == Scenario::Hop, worker.plan.scenario == Scenario::Match);
        let group_len = if is_hop { 2 } else { worker.plan.talk.room_size.unwrap_or(GROUP_LEN) };
        // Names that no other process and no earlier run has used.
        let name = |number| format!("bench-{:016x}-{number}", worker.plan.seed);
        let group = |number| Rc::new(Group::new(name(number)));
        let groups_per_lane = connections.div_ceil(lanes).div_ceil(group_len);
        let groups = RefCell::new((0..groups_per_lane * lanes).map(group).collect());
        Self {
            worker,
            way,
            is_hop,
            is_game,
            groups,
            found: RefCell::default(),
            talkers,
            next: Cell::default(),
            frame: RefCell::default(),
        }
    }

    /// The group of a player. Players of one server fill one group after the other.
    fn group(&self, index: usize) -> Rc<Group> {
        if self.is_hop {
            let (number, _) = self.pair_of(index);
            return self.groups.borrow()[number].clone();
        }
        let lanes = self.worker.endpoints.lanes();
        let group_len = self.worker.plan.talk.room_size.unwrap_or(GROUP_LEN);
        let number = index / lanes / group_len * lanes + self.worker.endpoints.lane(index);
        self.groups.borrow()[number].clone()
    }

    fn pair_of(&self, index: usize) -> (usize, Pair) {
        hop::pair_of(index, self.worker.plan.addresses.len())
    }

    /// Whether a player may talk now.
    fn may_talk(&self, index: usize, intended: Instant) -> bool {
        let window = self.worker.window().filter(|_| self.is_hop);
        window.is_none_or(|window| Pair::in_turn(&window, intended) == self.pair_of(index).1)
    }

    /// Counts a delivery by the nodes of its two ends.
    fn note_hop(&self, talker: &Talker, intended: Instant) {
        if self.is_hop && self.worker.window().is_some_and(|window| window.covers(intended)) {
            let (_, pair) = self.pair_of(talker.number as usize % PLAYERS_PER_PROCESS);
            self.worker.tally.borrow_mut().record_other(pair.name(), intended.elapsed());
        }
    }

    async fn enter(&self, mut player: Player, arrival: ArrivingPlayer) -> Result<(Player, Rc<Talker>), Fault> {
        let (group, room) = if self.is_game {
            let (group, room) = self.find_match(&mut player).await?;
            self.worker.tally.borrow_mut().record_other(names::ARRIVAL, arrival.intended.elapsed());
            (group, room)
        } else {
            let group = self.group(arrival.index);
            let room = match self.way {
                Way::Match => self.enter_match(&mut player, &group).await?,
                _ => self.enter_channel(&mut player, &group).await?,
            };
            (group, room)
        };
        group.members_len.set(group.members_len.get() + 1);
        let talker = Rc::new(Talker {
            writer: player.writer.clone(),
            group,
            number: player_number(&self.worker, arrival.index),
            user: player.user.to_string(),
            room,
            said: Cell::default(),
            acknowledged: Cell::default(),
            awaited: Cell::default(),
            is_open: Cell::new(true),
            inbox: RefCell::default(),
        });
        self.talkers.borrow_mut()[arrival.index] = Some(talker.clone());
        Ok((player, talker))
    }

    /// Receives the messages for one player, until its socket ends.
    async fn listen(self: Rc<Self>, mut player: Player, talker: Rc<Talker>) {
        let fault = loop {
            let hear = |opcode, payload: &[u8]| self.hear(&talker, opcode, payload);
            if let Err(fault) = player.reader.receive(&player.writer, hear).await {
                break fault;
            }
        };
        talker.is_open.set(false);
        // Later messages need not reach it.
        talker.group.members_len.set(talker.group.members_len.get() - 1);
        self.worker.fail(&fault);
    }

    fn hear(&self, talker: &Rc<Talker>, opcode: Opcode, payload: &[u8]) {
        let outcome = match incoming::read(self.worker.plan.format, opcode, payload) {
            Ok(Incoming::Said(said)) => self.take_said(talker, &said),
            Ok(Incoming::RoomEvent) => Ok(()),
            Ok(Incoming::ChatAck { cid }) => self.take_acknowledgement(talker, cid),
            Ok(Incoming::Other(envelope)) => match envelope.message {
                Some(Message::Error(error)) => Err(Fault::Refused(error.code)),
                // Presence events, which all groups get as they fill.
                _ => Ok(()),
            },
            Err(fault) => Err(fault),
        };
        if let Err(fault) = outcome {
            self.worker.fail(&fault);
        }
    }

    fn take_said(&self, talker: &Talker, said: &PlayerMessage<'_>) -> Result<(), Fault> {
        if said.way != self.way || said.origin().room != talker.room.as_bytes() {
            return Err(Fault::Wrong("a message for another room"));
        }
        let stamp = Stamp::read(&said.message, said.origin())?;
        if said.message.len() != self.worker.plan.talk.message_bytes {
            return Err(Fault::Wrong("length of a message"));
        }
        if self.way == Way::Match && (said.code != self.op_code(&stamp) || !self.is_for(talker, &stamp)) {
            return Err(Fault::Wrong("op code, or an echo"));
        }
        let outcome = talker.inbox.borrow_mut().take(&stamp, |_| 1);
        match outcome {
            Ok(()) => {
                let intended = self.worker.clock.moment(stamp.time_us);
                self.worker.note_message_out(intended);
                self.note_hop(talker, intended);
            }
            Err(Fault::MessageOutOfOrder) => {}
            // A faulty delivery ends no expected one.
            Err(fault) => return Err(fault),
        }
        self.end_one(stamp.sender);
        outcome
    }

    fn take_acknowledgement(&self, talker: &Talker, cid: &[u8]) -> Result<(), Fault> {
        let number = talker.acknowledged.get() + 1;
        if cid != number.to_string().as_bytes() || number > talker.said.get() {
            return Err(Fault::Wrong("cid of another request"));
        }
        talker.acknowledged.set(number);
        self.end_one(talker.number);
        Ok(())
    }

    /// Notes that one of the answers to the message of `sender` has come. After the last one the next message leaves.
    fn end_one(&self, sender: u32) {
        self.worker.end_operation();
        if self.worker.plan.rate.is_some() {
            return;
        }
        let index = (sender & !ECHO) as usize % PLAYERS_PER_PROCESS;
        let Some(talker) = self.talkers.borrow().get(index).cloned().flatten() else { return };
        talker.awaited.set(talker.awaited.get().saturating_sub(1));
        let now = Instant::now();
        if talker.awaited.get() == 0 && self.worker.window().is_some_and(|window| now < window.measure_to) {
            self.say(&talker, now);
        }
    }

    /// Lets the next player talk. Answers false if no player is left.
    fn say_in_turn(&self, intended: Instant) -> bool {
        let talker = {
            let talkers = self.talkers.borrow();
            let from = self.next.get();
            let in_turn = (from..from + talkers.len()).map(|turn| turn % talkers.len());
            let open = |index: &usize| talkers[*index].as_ref().is_some_and(|talker| talker.is_open.get());
            let mut able = in_turn.filter(|index| self.may_talk(*index, intended));
            let Some(index) = able.find(open) else { return false };
            self.next.set(index + 1);
            talkers[index].clone()
        };
        talker.inspect(|talker| self.say(talker, intended)).is_some()
    }

    fn say(&self, talker: &Talker, intended: Instant) {
        if !talker.is_open.get() {
            return;
        }
        let number = talker.said.get() + 1;
        talker.said.set(number);
        let time_us = self.worker.clock.time_us(intended);
        let (sender, number_of_kind) = self.stamped(talker, number);
        let stamp = Stamp { sender, number: number_of_kind, is_last: false, time_us };
        let mut message = Vec::new();
        let origin = Origin { room: talker.room.as_bytes(), user: talker.user.as_bytes() };
        stamp.write(origin, self.worker.plan.talk.message_bytes, &mut message);
        let members = talker.group.members_len.get();
        let (envelope, answers) = match self.way {
            Way::Match => (self.match_data_send(talker, &stamp, message), self.hearers(&stamp, members)),
            _ => (Envelope::reply(number.to_string(), channel_message_send(&talker.room, &message)), members + 1),
        };
        talker.awaited.set(answers);
        self.worker.expect_answers(answers);
        self.worker.note_message_in();
        let mut frame = self.frame.borrow_mut();
        frame.clear();
        envelopes::write_envelope(self.worker.plan.format, &envelope, &mut frame);
        match talker.writer.send_now(&frame) {
            Ok(Sent::Whole) => {}
            Ok(Sent::Queued) => sockets::flush_later(talker.writer.clone()),
            // The reader sees the same end and reports it; the message under way gets no answer.
            Err(_) => talker.is_open.set(false),
        }
    }

    fn overtaken(&self) -> u64 {
        self.talkers.borrow().iter().flatten().map(|talker| talker.inbox.borrow().overtaken()).sum()
    }
}

/// Numbers players of all processes of a run.
pub fn player_number(worker: &Worker, index: usize) -> u32 {
    u32::try_from(worker.plan.worker * PLAYERS_PER_PROCESS + index).unwrap_or(u32::MAX)
}

/// The request to enter a chat room.
pub fn channel_join(name: &str, persistent: bool) -> Message {
    Message::ChannelJoin(ChannelJoin {
        target: name.to_owned(),
        r#type: channel_join::Type::Room as i32,
        persistence: Some(persistent),
        hidden: None,
    })
}

/// The request to say something in a channel.
pub fn channel_message_send(channel_id: &str, message: &[u8]) -> Message {
    let content = incoming::chat_content(message);
    Message::ChannelMessageSend(ChannelMessageSend { channel_id: channel_id.to_owned(), content })
}
