//! Attacks over sockets: one message after the other, as fast as the server takes them.

use std::cell::RefCell;
use std::convert::Infallible;
use std::rc::Rc;
use std::time::Duration;

use muster_wire::api::Rpc;
use muster_wire::realtime::envelope::Message;
use serde_json::{Value, json};

use super::house_name;
use super::raid::{Attack, Raid};
use crate::load::frames::{self, Opcode};
use crate::load::incoming::{self, Incoming};
use crate::load::{Fault, Format};
use crate::options::Kind;
use crate::scenario::sockets::{self, Player};
use crate::scenario::talk::channel_join;

/// Messages that are handed to the socket together.
const BATCH_LEN: u32 = 8;
/// A filter that costs as much as a filter may.
pub const COSTLY_FILTER: &str = "-properties.p0:/(?:.*){80}b/ -properties.p1:/(?:.|a|aa|aaa){15}b/";
/// Longest message that a server of the protocol takes.
const FRAME_BYTES_MAX: usize = 4_096;
/// Bytes of the kernel's buffer of a slow reader, and the pause between two reads.
const SLOW_BUFFER_BYTES: usize = 4_096;
const SLOW_PAUSE: Duration = Duration::from_millis(500);
/// Rooms that each attacker makes to search in.
const ROOMS_EACH: usize = 5;

/// An attacker with a socket.
struct Flooder {
    raid: Rc<Raid>,
    index: usize,
    /// Id of the chat room that it floods.
    channel: String,
    /// Id of the room that it changes.
    room: String,
    /// Id of the party that it has made last.
    party: RefCell<String>,
}

pub async fn attack(raid: Rc<Raid>, index: usize) -> Attack {
    let (channel, room) = (String::new(), String::new());
    let mut flooder = Flooder { raid, index, channel, room, party: RefCell::default() };
    let mut player = flooder.arrive().await?;
    if flooder.only_reads() {
        player.reader.shrink_receive_buffer(SLOW_BUFFER_BYTES).map_err(|error| Fault::Lost(error.kind()))?;
    } else {
        flooder.take_first_step(&mut player).await?;
    }
    flooder.raid.begin().await;
    loop {
        let Err(fault) = flooder.go_on(&mut player).await;
        flooder.raid.cut_off(&fault).await;
        player = loop {
            match flooder.arrive().await {
                Ok(player) => break player,
                Err(fault) => flooder.raid.cut_off(&fault).await,
            }
        };
    }
}

impl Flooder {
    /// Whether the attacker sends nothing and reads slowly.
    fn only_reads(&self) -> bool {
        self.raid.kind == Kind::SlowReaders && self.index > 0
    }

    /// Opens a socket with a new account, and enters the place of the attack.
    async fn arrive(&mut self) -> Result<Player, Fault> {
        let worker = &self.raid.worker;
        let mut player = sockets::arrive(worker, self.index).await?;
        let town = worker.plan.town;
        let channel = match self.raid.kind {
            Kind::Chat | Kind::SlowReaders | Kind::Frames => Some((house_name(worker, 0), true)),
            Kind::History => Some((format!("attic-{town:016x}-{}", self.index), true)),
            _ => None,
        };
        if let Some((name, is_persistent)) = channel {
            match sockets::ask(worker, &mut player, channel_join(&name, is_persistent), |_, _| {}).await? {
                Some(Message::Channel(channel)) => self.channel = channel.id,
                _ => return Err(Fault::Wrong("not a channel")),
            }
        }
        if matches!(self.raid.kind, Kind::Filters | Kind::Lobby) {
            for _ in 0..ROOMS_EACH {
                self.room = self.make_room(&mut player).await?;
            }
        }
        Ok(player)
    }

    /// Makes a room whose properties are as long as they may be.
    async fn make_room(&self, player: &mut Player) -> Result<String, Fault> {
        let long = "a".repeat(1_000);
        let asked = json!({ "path": "attack", "empty_sec": 600, "properties": { "p0": long, "p1": long } });
        let call = Rpc { id: "muster.rooms.create".to_owned(), payload: asked.to_string(), http_key: String::new() };
        let Some(Message::Rpc(answer)) = sockets::ask(&self.raid.worker, player, Message::Rpc(call), |_, _| {}).await?
        else {
            return Err(Fault::Wrong("not a room"));
        };
        let made: Value = serde_json::from_str(&answer.payload).map_err(|_| Fault::Wrong("not a room"))?;
        made["room"]["id"].as_str().map(str::to_owned).ok_or(Fault::Wrong("not a room"))
    }

    /// Sends the first message and waits until it is carried out.
    async fn take_first_step(&self, player: &mut Player) -> Result<(), Fault> {
        let mut outcome = None;
        player.writer.send(&self.frame(1)).await?;
        while outcome.is_none() {
            let hear = |opcode, payload: &[u8]| outcome = outcome.take().or_else(|| self.judge(opcode, payload));
            player.reader.receive(&player.writer, hear).await?;
        }
        outcome.unwrap_or(Err(Answered::Otherwise)).map_err(|_| Fault::Wrong("a refusal of the first message"))
    }

    /// Attacks over one socket until it ends.
    async fn go_on(&self, player: &mut Player) -> Result<Infallible, Fault> {
        let Player { reader, writer, .. } = player;
        let sending = async {
            let mut number = 1;
            loop {
                if self.only_reads() {
                    std::future::pending::<()>().await;
                }
                let mut batch = Vec::new();
                for _ in 0..BATCH_LEN {
                    number += 1;
                    batch.extend_from_slice(&self.frame(number));
                }
                writer.send(&batch).await?;
                tokio::task::yield_now().await;
            }
        };
        let reading = async {
            loop {
                let hear = |opcode, payload: &[u8]| match self.judge(opcode, payload) {
                    Some(Ok(())) => self.raid.done(1),
                    Some(Err(Answered::Error(code))) => self.raid.refused(format!("error {code}")),
                    Some(Err(Answered::Otherwise)) | None => {}
                };
                reader.receive(writer, hear).await?;
                if self.only_reads() {
                    self.raid.done(1);
                    tokio::time::sleep(SLOW_PAUSE).await;
                }
            }
        };
        tokio::select! {
            ended = sending => ended,
            ended = reading => ended,
        }
    }

    fn frame(&self, number: u32) -> Vec<u8> {
        let mut message = self.message(number);
        message["cid"] = number.to_string().into();
        let mut frame = Vec::new();
        frames::write_client_frame(Opcode::Text, message.to_string().as_bytes(), &mut frame);
        frame
    }

    /// The `number`th message.
    fn message(&self, number: u32) -> Value {
        let call = |id: &str, payload: Value| json!({ "rpc": { "id": id, "payload": payload.to_string() } });
        match self.raid.kind {
            Kind::Chat | Kind::SlowReaders => self.say(200),
            Kind::History => self.say(1_500),
            Kind::Frames => {
                let others = self.say(0).to_string().len() + r#","cid":"1000000""#.len();
                self.say(FRAME_BYTES_MAX - others)
            }
            Kind::Requests => match number % 3 {
                0 => json!({ "channel_join": { "target": format!("alley-{number}"), "type": 1 } }),
                1 => json!({ "status_update": { "status": "a".repeat(1_000) } }),
                _ => json!({ "match_create": {} }),
            },
            Kind::Functions => call("muster.rooms.find", json!({ "limit": 1 })),
            Kind::Tickets => {
                let properties = (0..20).map(|place| (format!("p{place}"), "a".repeat(100).into()));
                json!({ "matchmaker_add": {
                    "min_count": 2, "max_count": 8, "query": COSTLY_FILTER,
                    "string_properties": properties.collect::<serde_json::Map<String, Value>>(),
                } })
            }
            Kind::Parties => {
                let party_id = self.party.borrow();
                match number % 3 {
                    1 => json!({ "party_create": { "open": true, "max_size": 256 } }),
                    2 => json!({ "party_update": { "party_id": *party_id, "label": "{\"a\":1}", "open": true } }),
                    _ => json!({ "party_leave": { "party_id": *party_id } }),
                }
            }
            Kind::Lobby if number.is_multiple_of(2) => {
                call("muster.rooms.set", json!({ "room": self.room, "set": { "round": number } }))
            }
            Kind::Lobby => {
                let filter = format!("{COSTLY_FILTER} -properties.p0:x{}-{number}", self.index);
                call("muster.lobby.subscribe", json!({ "filter": filter, "rooms_max": 50 }))
            }
            Kind::Filters => call("muster.rooms.find", json!({ "filter": COSTLY_FILTER, "limit": 100 })),
            _ => json!({ "ping": {} }),
        }
    }

    fn say(&self, len: usize) -> Value {
        let content = json!({ "m": "a".repeat(len) }).to_string();
        json!({ "channel_message_send": { "channel_id": self.channel, "content": content } })
    }

    /// Whether a message answers one of ours, and how.
    fn judge(&self, opcode: Opcode, payload: &[u8]) -> Option<Result<(), Answered>> {
        match incoming::read(Format::Json, opcode, payload) {
            Ok(Incoming::ChatAck { .. }) => Some(Ok(())),
            Ok(Incoming::Other(envelope)) if !envelope.cid.is_empty() => match envelope.message {
                Some(Message::Error(error)) => {
                    let code = error.context.get("code").and_then(|code| code.parse().ok());
                    Some(Err(Answered::Error(code.unwrap_or(error.code))))
                }
                Some(Message::Party(party)) => {
                    self.party.replace(party.party_id);
                    Some(Ok(()))
                }
                _ => Some(Ok(())),
            },
            Ok(_) => None,
            Err(_) => Some(Err(Answered::Otherwise)),
        }
    }
}

/// An answer that does not say that a message was carried out.
enum Answered {
    /// An error with this code.
    Error(i32),
    Otherwise,
}
