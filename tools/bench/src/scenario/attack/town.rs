//! The honest players: houses of five who ping, talk in a chat room that keeps what is said, and send each other match
//! data; [`errands`] of others over HTTP; and [`records`] of what was acknowledged, which are looked up in the end.

use std::cell::{Cell, RefCell};
use std::collections::{HashSet, VecDeque};
use std::rc::Rc;
use std::time::{Duration, Instant};

use muster_wire::realtime::envelope::Message;
use muster_wire::realtime::{Envelope, MatchCreate, MatchDataSend, MatchJoin, match_join};
use tokio::sync::OnceCell;

use super::notes::{Begun, Notes};
use super::{errands, house_name, records};
use crate::load::Fault;
use crate::load::envelopes::{self, CID_LEN};
use crate::load::frames::Opcode;
use crate::load::incoming::{self, Incoming, PlayerMessage, Way};
use crate::load::socket::{Sent, SocketWriter};
use crate::load::stamp::{Origin, Stamp};
use crate::pacing::{Arrivals, run_arrivals};
use crate::plan::{Event, Window};
use crate::scenario::Connections;
use crate::scenario::inbox::Inbox;
use crate::scenario::sockets::{self, ArrivingPlayer, Player};
use crate::scenario::talk::{channel_join, channel_message_send, player_number};
use crate::worker::{Worker, say};

/// Players of a house, unless the command line gives a number.
const HOUSE_LEN: usize = 5;
/// Pings, chat messages and match data of each player in a second.
const PINGS_EACH: f64 = 1.0;
const CHAT_EACH: f64 = 0.05;
const MATCH_DATA_EACH: f64 = 0.5;
/// Longest run.
const RUN_MAX: Duration = Duration::from_secs(86_400);

pub async fn run(worker: Rc<Worker>) -> anyhow::Result<Connections> {
    let town = Rc::new(Town::new(worker.clone()));
    let enter = {
        let town = town.clone();
        async move |player, arrival| town.enter(player, arrival).await
    };
    let live = {
        let town = town.clone();
        move |_, (player, neighbour)| town.clone().listen(player, neighbour)
    };
    let connections = sockets::let_players_come(&worker, enter, live).await?;
    let errands = errands::prepare(&town).await?;
    say(&Event::Ready)?;
    let window = worker.wait_for_go().await;
    worker.begin_measuring();
    let pacers = [
        town.pace(window, PINGS_EACH, |town, neighbour, at| town.ping(neighbour, at)),
        town.pace(window, CHAT_EACH, |town, neighbour, at| town.chat(neighbour, at)),
        town.pace(window, MATCH_DATA_EACH, |town, neighbour, at| town.send_data(neighbour, at)),
    ];
    let mut part = worker.part.clone();
    let running = errands.start();
    // An error means that the coordinator is gone.
    let _ = part.wait_for(|part| part.is_over).await;
    pacers.iter().for_each(tokio::task::JoinHandle::abort);
    let keepers = running.finish().await?;
    worker.drain_messages(|| town.overtaken()).await;
    worker.end_measuring();
    records::check(&town, keepers).await?;
    say(&Event::Measured)?;
    Ok(connections)
}

/// All honest players.
pub struct Town {
    pub worker: Rc<Worker>,
    pub notes: Notes,
    houses: Vec<Rc<House>>,
    neighbours: RefCell<Vec<Rc<Neighbour>>>,
    frame: RefCell<Vec<u8>>,
}

/// Players who talk to each other.
struct House {
    name: String,
    /// Id of the match, which the first player makes.
    match_id: OnceCell<String>,
    users: RefCell<HashSet<String>>,
    open_len: Cell<u64>,
}

/// A player on a socket.
pub struct Neighbour {
    writer: Rc<SocketWriter>,
    house: Rc<House>,
    pub number: u32,
    user: String,
    /// Id of the chat room.
    pub channel: String,
    match_id: String,
    pings: RefCell<VecDeque<([u8; CID_LEN], Begun)>>,
    pings_len: Cell<u32>,
    /// Chat messages without acknowledgement: their number, and the deliveries that they cause.
    unacknowledged: RefCell<VecDeque<(u32, u64, Begun)>>,
    chats_len: Cell<u32>,
    /// Numbers of acknowledged chat messages, with the part in which they were sent.
    pub acknowledged: RefCell<Vec<(u32, String)>>,
    data_len: Cell<u32>,
    heard: RefCell<Inbox>,
    got: RefCell<Inbox>,
    is_open: Cell<bool>,
}

impl Town {
    fn new(worker: Rc<Worker>) -> Self {
        let houses = worker.plan.connections.div_ceil(house_len(&worker));
        let house = |number| {
            Rc::new(House {
                name: house_name(&worker, number),
                match_id: OnceCell::new(),
                users: RefCell::default(),
                open_len: Cell::default(),
            })
        };
        Self {
            notes: Notes::new(worker.clone()),
            houses: (0..houses).map(house).collect(),
            worker: worker.clone(),
            neighbours: RefCell::default(),
            frame: RefCell::default(),
        }
    }

    async fn enter(&self, mut player: Player, arrival: ArrivingPlayer) -> Result<(Player, Rc<Neighbour>), Fault> {
        let house = self.houses[arrival.index / house_len(&self.worker)].clone();
        let join = channel_join(&house.name, true);
        let channel = match sockets::ask(&self.worker, &mut player, join, |_, _| {}).await? {
            Some(Message::Channel(channel)) if channel.room_name == house.name => channel.id,
            _ => return Err(Fault::Wrong("not the channel asked for")),
        };
        let match_id = self.enter_match(&mut player, &house).await?;
        house.users.borrow_mut().insert(player.user.to_string());
        house.open_len.set(house.open_len.get() + 1);
        let neighbour = Rc::new(Neighbour {
            writer: player.writer.clone(),
            house,
            number: player_number(&self.worker, arrival.index),
            user: player.user.to_string(),
            channel,
            match_id,
            pings: RefCell::default(),
            pings_len: Cell::default(),
            unacknowledged: RefCell::default(),
            chats_len: Cell::default(),
            acknowledged: RefCell::default(),
            data_len: Cell::default(),
            heard: RefCell::default(),
            got: RefCell::default(),
            is_open: Cell::new(true),
        });
        self.neighbours.borrow_mut().push(neighbour.clone());
        Ok((player, neighbour))
    }

    async fn enter_match(&self, player: &mut Player, house: &House) -> Result<String, Fault> {
        let mut is_maker = false;
        let make = async {
            is_maker = true;
            match sockets::ask(&self.worker, player, Message::MatchCreate(MatchCreate::default()), |_, _| {}).await? {
                Some(Message::Match(made)) => Ok(made.match_id),
                _ => Err(Fault::Wrong("not a match")),
            }
        };
        let match_id = house.match_id.get_or_try_init(|| make).await?.clone();
        if !is_maker {
            let id = Some(match_join::Id::MatchId(match_id.clone()));
            let join = Message::MatchJoin(MatchJoin { id, ..MatchJoin::default() });
            sockets::ask(&self.worker, player, join, |_, _| {}).await?;
        }
        Ok(match_id)
    }

    /// Lets the players do something in turn, by the clock.
    fn pace(
        self: &Rc<Self>,
        window: Window,
        each: f64,
        act: impl Fn(&Self, &Rc<Neighbour>, Instant) + 'static,
    ) -> tokio::task::JoinHandle<std::io::Result<()>> {
        let plan = &self.worker.plan;
        let rate = each * plan.connections as f64;
        let seed = self.worker.random.borrow_mut().u64(..);
        let arrivals = Arrivals::new(window.begin, rate, plan.spread, seed);
        let town = self.clone();
        let turn = Cell::new(0);
        tokio::task::spawn_local(async move {
            run_arrivals(arrivals, window.begin + RUN_MAX, |intended| {
                let neighbours = town.neighbours.borrow();
                let in_turn = (0..neighbours.len()).map(|step| (turn.get() + step) % neighbours.len());
                let open = in_turn.into_iter().find(|index| neighbours[*index].is_open.get());
                open.inspect(|index| {
                    turn.set(index + 1);
                    act(&town, &neighbours[*index], intended);
                })
                .is_some()
            })
            .await
        })
    }

    /// Receives everything for one player, until its socket ends.
    async fn listen(self: Rc<Self>, mut player: Player, neighbour: Rc<Neighbour>) {
        let fault = loop {
            let hear = |opcode, payload: &[u8]| {
                if let Err(fault) = self.hear(&neighbour, opcode, payload) {
                    self.notes.fail(&fault);
                }
            };
            if let Err(fault) = player.reader.receive(&player.writer, hear).await {
                break fault;
            }
        };
        neighbour.is_open.set(false);
        neighbour.house.open_len.set(neighbour.house.open_len.get() - 1);
        self.notes.close(&fault);
    }

    fn hear(&self, neighbour: &Neighbour, opcode: Opcode, payload: &[u8]) -> Result<(), Fault> {
        match incoming::read(self.worker.plan.format, opcode, payload)? {
            Incoming::Said(said) => self.take_said(neighbour, &said),
            Incoming::ChatAck { cid } => self.take_acknowledgement(neighbour, cid),
            Incoming::RoomEvent => Ok(()),
            Incoming::Other(envelope) => match envelope.message {
                Some(Message::Pong(_)) => self.take_pong(neighbour, envelope.cid.as_bytes()),
                Some(Message::Error(error)) => {
                    self.end_refused(neighbour, envelope.cid.as_bytes());
                    Err(Fault::Refused(error.code))
                }
                // Presences.
                _ => Ok(()),
            },
        }
    }

    /// Ends the ping or the chat message with this cid, and the deliveries that it would have caused.
    fn end_refused(&self, neighbour: &Neighbour, cid: &[u8]) {
        let is_asked = |ping: &mut ([u8; CID_LEN], Begun)| ping.0 == *cid;
        if neighbour.pings.borrow_mut().pop_front_if(is_asked).is_some() {
            return self.worker.end_operation();
        }
        let is_said = |said: &mut (u32, u64, Begun)| said.0.to_string().as_bytes() == cid;
        if let Some((_, hearers, _)) = neighbour.unacknowledged.borrow_mut().pop_front_if(is_said) {
            self.worker.end_operations(hearers + 1);
        }
    }

    fn take_said(&self, neighbour: &Neighbour, said: &PlayerMessage<'_>) -> Result<(), Fault> {
        let origin = said.origin();
        let is_of_house = std::str::from_utf8(origin.user).is_ok_and(|user| self.is_neighbour(neighbour, user));
        if !is_of_house {
            // An attacker in the room.
            return Ok(());
        }
        let (room, inbox) = match said.way {
            Way::Chat => (&neighbour.channel, &neighbour.heard),
            _ => (&neighbour.match_id, &neighbour.got),
        };
        if origin.room != room.as_bytes() {
            return Err(Fault::Wrong("a message for another room"));
        }
        let stamp = Stamp::read(&said.message, origin)?;
        let outcome = inbox.borrow_mut().take(&stamp, |_| 1);
        if matches!(outcome, Ok(()) | Err(Fault::MessageOutOfOrder)) {
            self.notes.deliver(self.worker.clock.moment(stamp.time_us));
        }
        outcome
    }

    fn is_neighbour(&self, neighbour: &Neighbour, user: &str) -> bool {
        neighbour.house.users.borrow().contains(user)
    }

    fn take_acknowledgement(&self, neighbour: &Neighbour, cid: &[u8]) -> Result<(), Fault> {
        let Some((number, _, begun)) = neighbour.unacknowledged.borrow_mut().pop_front() else {
            return Err(Fault::Wrong("an answer to nothing"));
        };
        if cid != number.to_string().as_bytes() {
            return Err(Fault::Wrong("cid of another request"));
        }
        self.worker.end_operation();
        self.notes.write(&begun.part.name);
        neighbour.acknowledged.borrow_mut().push((number, begun.part.name));
        Ok(())
    }

    fn take_pong(&self, neighbour: &Neighbour, cid: &[u8]) -> Result<(), Fault> {
        let Some((asked, begun)) = neighbour.pings.borrow_mut().pop_front() else {
            return Err(Fault::Wrong("an answer to nothing"));
        };
        self.notes.end_ping(&begun);
        if asked == *cid { Ok(()) } else { Err(Fault::Wrong("cid of another request")) }
    }

    fn ping(&self, neighbour: &Rc<Neighbour>, intended: Instant) {
        neighbour.pings_len.set(neighbour.pings_len.get() + 1);
        let cid = envelopes::cid(neighbour.pings_len.get());
        neighbour.pings.borrow_mut().push_back((cid, self.notes.begin(intended)));
        self.send(neighbour, |format, frame| envelopes::write_ping(format, cid, frame));
    }

    fn chat(&self, neighbour: &Rc<Neighbour>, intended: Instant) {
        let number = next(&neighbour.chats_len);
        let message = self.stamped(neighbour, &neighbour.channel, number, intended);
        let hearers = neighbour.house.open_len.get();
        let begun = self.notes.begin(intended);
        self.worker.expect_answers(hearers);
        neighbour.unacknowledged.borrow_mut().push_back((number, hearers, begun));
        let envelope = Envelope::reply(number.to_string(), channel_message_send(&neighbour.channel, &message));
        self.send(neighbour, |format, frame| envelopes::write_envelope(format, &envelope, frame));
    }

    fn send_data(&self, neighbour: &Rc<Neighbour>, intended: Instant) {
        let number = next(&neighbour.data_len);
        let data = self.stamped(neighbour, &neighbour.match_id, number, intended).into();
        self.worker.expect_answers(neighbour.house.open_len.get().saturating_sub(1));
        self.worker.note_message_in();
        let match_id = neighbour.match_id.clone();
        let data = MatchDataSend { match_id, op_code: 1, data, reliable: true, ..MatchDataSend::default() };
        let envelope = Envelope::push(Message::MatchDataSend(data));
        self.send(neighbour, |format, frame| envelopes::write_envelope(format, &envelope, frame));
    }

    fn stamped(&self, neighbour: &Neighbour, room: &str, number: u32, intended: Instant) -> Vec<u8> {
        let time_us = self.worker.clock.time_us(intended);
        let stamp = Stamp { sender: neighbour.number, number, is_last: false, time_us };
        let mut message = Vec::new();
        let origin = Origin { room: room.as_bytes(), user: neighbour.user.as_bytes() };
        stamp.write(origin, self.worker.plan.talk.message_bytes, &mut message);
        message
    }

    fn send(&self, neighbour: &Rc<Neighbour>, write: impl FnOnce(crate::load::Format, &mut Vec<u8>)) {
        let mut frame = self.frame.borrow_mut();
        frame.clear();
        write(self.worker.plan.format, &mut frame);
        match neighbour.writer.send_now(&frame) {
            Ok(Sent::Whole) => {}
            Ok(Sent::Queued) => sockets::flush_later(neighbour.writer.clone()),
            // The reader sees the same end and reports it.
            Err(_) => neighbour.is_open.set(false),
        }
    }

    fn overtaken(&self) -> u64 {
        let of = |neighbour: &Rc<Neighbour>| neighbour.heard.borrow().overtaken() + neighbour.got.borrow().overtaken();
        self.neighbours.borrow().iter().map(of).sum()
    }

    /// The players of each house, for whoever checks what was said there.
    pub fn by_house(&self) -> Vec<Vec<Rc<Neighbour>>> {
        let neighbours = self.neighbours.borrow();
        let of = |house: &Rc<House>| {
            let lives_in = |neighbour: &&Rc<Neighbour>| Rc::ptr_eq(&neighbour.house, house);
            neighbours.iter().filter(lives_in).cloned().collect()
        };
        self.houses.iter().map(of).collect()
    }
}

fn house_len(worker: &Worker) -> usize {
    worker.plan.talk.room_size.unwrap_or(HOUSE_LEN)
}

fn next(number: &Cell<u32>) -> u32 {
    number.set(number.get() + 1);
    number.get()
}
