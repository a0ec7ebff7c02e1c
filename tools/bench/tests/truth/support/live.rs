//! The places of the stub where players meet: chat rooms, relayed matches, the server's own rooms; and a metrics page.

use std::collections::HashMap;
use std::io::Write;
use std::net::{Shutdown, TcpStream};
use std::sync::{Arc, Mutex};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use muster_wire::api::{ChannelMessage, Rpc};
use muster_wire::envelope::{self, Format};
use muster_wire::realtime::envelope::Message;
use muster_wire::realtime::{
    Channel, ChannelMessageAck, ChannelPresenceEvent, Envelope, Error, Match, MatchData, MatchDataSend, Pong, Stream,
    StreamData, UserPresence, match_join,
};
use serde_json::{Value, json};

use super::Manner;
use super::matching::Pool;

/// Mode of the streams on which the stub's rooms push.
const ROOM_MODE: i32 = 201;
const ROOM_LEN: usize = 3;

#[derive(Clone)]
pub struct Session {
    pub user: String,
    format: Format,
    line: Arc<Mutex<Line>>,
}

struct Line {
    stream: TcpStream,
    /// A delivery that is held back, by its sender.
    held: Option<(String, Vec<u8>)>,
}

impl Session {
    pub fn write(&self, bytes: &[u8]) -> std::io::Result<()> {
        self.line.lock().unwrap().stream.write_all(bytes)
    }

    pub fn send(&self, envelope: &Envelope) -> std::io::Result<()> {
        self.write(&self.frame(envelope))
    }

    fn frame(&self, envelope: &Envelope) -> Vec<u8> {
        let payload = envelope::encode(envelope, self.format);
        let mut frame = vec![if self.format == Format::Json { 0x81 } else { 0x82 }];
        match payload.len() {
            len @ 0..=125 => frame.push(len as u8),
            len => {
                frame.push(126);
                frame.extend_from_slice(&(len as u16).to_be_bytes());
            }
        }
        frame.extend_from_slice(&payload);
        frame
    }

    fn presence(&self) -> UserPresence {
        UserPresence { user_id: self.user.clone(), session_id: format!("s-{}", self.user), ..UserPresence::default() }
    }
}

pub struct Live {
    manner: Manner,
    /// Sessions by the id of their channel, match or room.
    places: Mutex<HashMap<String, Vec<Session>>>,
    sessions: Mutex<i64>,
    deliveries: Mutex<u64>,
    names: Mutex<u64>,
    pool: Mutex<Pool>,
}

impl Live {
    pub fn new(manner: Manner) -> Self {
        Self {
            manner,
            places: Mutex::default(),
            sessions: Mutex::default(),
            deliveries: Mutex::default(),
            names: Mutex::default(),
            pool: Mutex::new(Pool::new(manner)),
        }
    }

    pub fn connect(&self, stream: &TcpStream, head: &str) -> Session {
        let (_, token) = head.split_once("token=").unwrap();
        let user = token.split('.').nth(1).and_then(|claims| {
            let claims: Value = serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).ok()?).ok()?;
            Some(claims["uid"].as_str()?.to_owned())
        });
        *self.sessions.lock().unwrap() += 1;
        let format = if head.contains("format=protobuf") { Format::Protobuf } else { Format::Json };
        let line = Line { stream: stream.try_clone().unwrap(), held: None };
        Session { user: user.unwrap_or_default(), format, line: Arc::new(Mutex::new(line)) }
    }

    pub fn disconnect(&self, session: &Session) {
        // Other threads hold clones of the stream.
        let _ = session.line.lock().unwrap().stream.shutdown(Shutdown::Both);
        *self.sessions.lock().unwrap() -= 1;
        for members in self.places.lock().unwrap().values_mut() {
            members.retain(|member| member.user != session.user);
        }
        self.pool.lock().unwrap().forget(&session.user);
    }

    pub fn metrics_page(&self) -> String {
        let leak = i64::from(self.manner == Manner::LeaksGauge);
        let sessions = *self.sessions.lock().unwrap() + leak * self.names.lock().unwrap().cast_signed();
        let uptime = self.deliveries.lock().unwrap();
        format!(
            "# TYPE stub_sessions gauge\nstub_sessions{{shard=\"0\"}} {sessions}\n\
             # TYPE stub_process_cpu_seconds gauge\nstub_process_cpu_seconds {uptime}\n\
             # TYPE stub_messages counter\nstub_messages_total 7\n"
        )
    }

    /// Answers one envelope, and makes the deliveries that it causes.
    pub fn take(&self, session: &Session, payload: &[u8]) -> std::io::Result<()> {
        let Envelope { cid, message } = envelope::decode(payload, session.format).unwrap();
        let reply = |message| session.send(&Envelope::reply(&cid, message));
        match message.unwrap() {
            Message::ChannelJoin(_) | Message::MatchCreate(_) | Message::MatchJoin(_) | Message::Rpc(_)
                if self.manner == Manner::RefusesJoins =>
            {
                reply(Message::Error(Error { code: 3, ..Error::default() }))
            }
            Message::ChannelJoin(join) => {
                let id = format!("2...{}", join.target);
                let joins = vec![session.presence()];
                let joined = ChannelPresenceEvent { channel_id: id.clone(), joins, ..ChannelPresenceEvent::default() };
                let is_hidden =
                    matches!(self.manner, Manner::HidesJoinsEvery(every) if self.new_name().is_multiple_of(every));
                for member in self.join(&id, session).iter().filter(|_| !is_hidden) {
                    member.send(&Envelope::push(Message::ChannelPresenceEvent(joined.clone())))?;
                }
                reply(Message::Channel(Channel { id, room_name: join.target, ..Channel::default() }))
            }
            Message::ChannelMessageSend(send) => {
                if self.manner != Manner::NeverAcknowledges {
                    reply(Message::ChannelMessageAck(ChannelMessageAck::default()))?;
                }
                self.deliver(&send.channel_id, session, |room, user| {
                    Message::ChannelMessage(ChannelMessage {
                        channel_id: room,
                        sender_id: user,
                        content: send.content.clone(),
                        ..ChannelMessage::default()
                    })
                })
            }
            Message::MatchCreate(_) => {
                let match_id = format!("match-{}.", self.new_name());
                self.join(&match_id, session);
                reply(Message::Match(Match { match_id, ..Match::default() }))
            }
            Message::MatchJoin(join) => {
                let Some(match_join::Id::MatchId(match_id)) = join.id else { panic!("no match id") };
                if self.join(&match_id, session).len() >= seats_of(&match_id) {
                    self.places.lock().unwrap().get_mut(&match_id).unwrap().pop();
                    return reply(Message::Error(Error { code: 5, ..Error::default() }));
                }
                reply(Message::Match(Match { match_id, ..Match::default() }))
            }
            Message::MatchDataSend(send) if send.match_id.starts_with("game-") && send.op_code == 1 => {
                self.deliver_to(&send.match_id, session, |member| member.user == session.user, match_data(&send))
            }
            Message::MatchDataSend(send) => self.deliver(&send.match_id, session, match_data(&send)),
            Message::MatchmakerAdd(add) => {
                let ticket = format!("ticket-{}", self.new_name());
                reply(Message::MatchmakerTicket(muster_wire::realtime::MatchmakerTicket { ticket: ticket.clone() }))?;
                self.pool.lock().unwrap().add(ticket, session.clone(), session.presence(), add)
            }
            Message::MatchmakerRemove(remove) => {
                self.pool.lock().unwrap().remove(&remove.ticket);
                session.send(&Envelope::acknowledgement(cid))
            }
            Message::Ping(_) => reply(Message::Pong(Pong {})),
            Message::Rpc(rpc) => self.take_rpc(session, &cid, &rpc),
            other => panic!("{other:?}"),
        }
    }

    fn take_rpc(&self, session: &Session, cid: &str, rpc: &Rpc) -> std::io::Result<()> {
        let payload: Value = serde_json::from_str(&rpc.payload).unwrap();
        let answer = match rpc.id.as_str() {
            "muster.rooms.place" => {
                let (id, seat) = self.place(session);
                json!({ "room": { "id": id, "capacity": ROOM_LEN }, "seat": seat })
            }
            "muster.rooms.send" => {
                let data = format!(r#"{{"type":"message","data":{}}}"#, payload["data"]);
                self.tell_seats(payload["room"].as_str().unwrap())?;
                self.deliver(payload["room"].as_str().unwrap(), session, |room, user| {
                    let stream = Some(Stream { mode: ROOM_MODE, subject: room, ..Stream::default() });
                    let sender = Some(UserPresence { user_id: user, ..UserPresence::default() });
                    Message::StreamData(StreamData { stream, sender, data: data.clone(), reliable: true })
                })?;
                json!({})
            }
            "bench_find_match" => json!({ "match_id": self.find_match(payload["seats"].as_u64().unwrap()) }),
            "bench_lua" | "bench_js" if self.manner == Manner::LiesAboutCid => json!({ "number": 0 }),
            "bench_lua" | "bench_js" => payload,
            other => panic!("{other}"),
        };
        let answer = Rpc { id: rpc.id.clone(), payload: answer.to_string(), ..Rpc::default() };
        session.send(&Envelope::reply(cid, Message::Rpc(answer)))
    }

    /// Sends another event of the room, as real rooms do.
    fn tell_seats(&self, room: &str) -> std::io::Result<()> {
        let stream = Some(Stream { mode: ROOM_MODE, subject: room.to_owned(), ..Stream::default() });
        let data = r#"{"type":"owner","owner":null}"#.to_owned();
        let event = Envelope::push(Message::StreamData(StreamData { stream, data, ..StreamData::default() }));
        for member in self.places.lock().unwrap().get(room).into_iter().flatten() {
            // A player may have gone, which is no fault of the stub.
            let _ = member.send(&event);
        }
        Ok(())
    }

    /// The first room with a free seat, or a new one.
    fn place(&self, session: &Session) -> (String, usize) {
        let limit = if self.manner == Manner::Overfills { ROOM_LEN + 1 } else { ROOM_LEN };
        let mut places = self.places.lock().unwrap();
        let free = places.iter_mut().find(|(id, members)| id.starts_with("room-") && members.len() < limit);
        if let Some((id, members)) = free {
            members.push(session.clone());
            return (id.clone(), members.len() - 1);
        }
        let id = format!("room-{}", self.new_name());
        places.insert(id.clone(), vec![session.clone()]);
        (id, 0)
    }

    /// The first match of game code with a free seat, or a new one.
    fn find_match(&self, seats: u64) -> String {
        let mut places = self.places.lock().unwrap();
        let has_seat =
            |(id, members): &(&String, &Vec<Session>)| id.starts_with("game-") && (members.len() as u64) < seats;
        let found = places.iter().find(has_seat).map(|(id, _)| id.clone());
        found.unwrap_or_else(|| {
            let id = format!("game-{}-{seats}.", self.new_name());
            places.insert(id.clone(), Vec::new());
            id
        })
    }

    /// Adds a session to a place. Answers those who were there before.
    fn join(&self, id: &str, session: &Session) -> Vec<Session> {
        let mut places = self.places.lock().unwrap();
        let members = places.entry(id.to_owned()).or_default();
        let before = members.clone();
        members.push(session.clone());
        before
    }

    fn new_name(&self) -> u64 {
        let mut names = self.names.lock().unwrap();
        *names += 1;
        *names
    }

    /// Delivers to everybody in a place, in the same order for all; in matches not to the sender.
    fn deliver(&self, place: &str, sender: &Session, said: impl Fn(String, String) -> Message) -> std::io::Result<()> {
        let hears = |member: &Session| !place.starts_with("match-") || member.user != sender.user;
        self.deliver_to(place, sender, hears, said)
    }

    fn deliver_to(
        &self,
        place: &str,
        sender: &Session,
        hears: impl Fn(&Session) -> bool,
        said: impl Fn(String, String) -> Message,
    ) -> std::io::Result<()> {
        let places = self.places.lock().unwrap();
        for member in places.get(place).into_iter().flatten().filter(|member| hears(member)) {
            let number = {
                let mut deliveries = self.deliveries.lock().unwrap();
                *deliveries += 1;
                *deliveries
            };
            let bad = |every: u64| number.is_multiple_of(every);
            let room = match self.manner {
                Manner::MisroutesEvery(every) if bad(every) => format!("{place}x"),
                _ => place.to_owned(),
            };
            let user = match self.manner {
                Manner::MisattributesEvery(every) if bad(every) => "somebody-else".to_owned(),
                _ => sender.user.clone(),
            };
            let mut message = said(room, user);
            if matches!(self.manner, Manner::AltersEvery(every) if bad(every)) {
                alter(&mut message);
            }
            let frame = member.frame(&Envelope::push(message));
            let mut line = member.line.lock().unwrap();
            match self.manner {
                Manner::LosesEvery(every) if bad(every) => continue,
                Manner::FallsSilentAfter(count) if number > count => continue,
                Manner::SwapsEvery(every) if bad(every) && line.held.is_none() => {
                    line.held = Some((sender.user.clone(), frame));
                    continue;
                }
                Manner::ClosesAfter(count) if number > count => drop(line.stream.shutdown(Shutdown::Both)),
                _ => {}
            }
            // A player may have gone, which is no fault of the stub.
            let _ = line.stream.write_all(&frame);
            if matches!(self.manner, Manner::DoublesEvery(every) if bad(every)) {
                let _ = line.stream.write_all(&frame);
            }
            if let Some((_, held)) = line.held.take_if(|(user, _)| *user == sender.user) {
                let _ = line.stream.write_all(&held);
            }
        }
        Ok(())
    }
}

/// Number of players that a match takes, which the id of a match of game code tells.
fn seats_of(match_id: &str) -> usize {
    let game = match_id.strip_prefix("game-").and_then(|rest| rest.trim_end_matches('.').split_once('-'));
    game.map_or(usize::MAX, |(_, seats)| seats.parse().unwrap())
}

/// Makes the delivery of a match message, by its sender and place.
fn match_data(send: &MatchDataSend) -> impl Fn(String, String) -> Message {
    let (op_code, data) = (send.op_code, send.data.clone());
    move |match_id, user_id| {
        let presence = Some(UserPresence { user_id, ..UserPresence::default() });
        Message::MatchData(MatchData { match_id, presence, op_code, data: data.clone(), reliable: true })
    }
}

/// Changes the tenth of the stamp's digits to another digit.
fn alter(message: &mut Message) {
    let change = |digit: u8| if digit == b'0' { b'1' } else { b'0' };
    match message {
        Message::ChannelMessage(said) => {
            let mut content = std::mem::take(&mut said.content).into_bytes();
            content[16] = change(content[16]);
            said.content = String::from_utf8(content).unwrap();
        }
        Message::MatchData(said) => {
            let mut data = said.data.to_vec();
            data[10] = change(data[10]);
            said.data = data.into();
        }
        Message::StreamData(said) => {
            let mut data = std::mem::take(&mut said.data).into_bytes();
            let at = data.len() - 10;
            data[at] = change(data[at]);
            said.data = String::from_utf8(data).unwrap();
        }
        other => panic!("{other:?}"),
    }
}
