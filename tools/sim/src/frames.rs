//! Frames as the simulation makes them: short, and each different from every other, so that checkers can tell who
//! received what and how often it was encoded.

pub mod tales;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use muster_domain::ids::Uuid;
use muster_live::matches;
use muster_live::party;
use muster_live::rooms;
use muster_live::stream::{Payload, PresenceEvent, SharedPayload, mode};
use muster_live::{Encode, Encoding, Presence, StreamKey};

use crate::scenario::{PARTIES_FROM, Who};
use tales::{Tale, Tales};

/// A stream's number in a world.
pub type StreamId = u16;
/// The number of one appearance of a session on a stream: every join has its own, kept in the presence's status.
pub type Version = u32;

/// Something published or pushed, by its number.
#[derive(Debug)]
pub struct Say {
    kind: u8,
    stream: StreamId,
    id: u32,
    /// How often it was encoded in each encoding.
    written: [AtomicU32; 2],
}

impl Say {
    /// A message on a stream.
    pub fn message(stream: StreamId, id: u32) -> Self {
        Self { kind: b'm', stream, id, written: Default::default() }
    }

    /// Something for one session.
    pub fn push(id: u32) -> Self {
        Self { kind: b'p', stream: 0, id, written: Default::default() }
    }

    /// Something of a room or the lobby.
    pub fn tale(id: u32) -> Self {
        Self { kind: b'r', stream: 0, id, written: Default::default() }
    }

    /// How often it was encoded.
    pub fn written(&self, encoding: Encoding) -> u32 {
        self.written[encoding as usize].load(Ordering::Relaxed)
    }

    /// How often it was encoded at most, in one encoding.
    pub fn written_max(&self) -> u32 {
        self.written.iter().map(|count| count.load(Ordering::Relaxed)).max().unwrap_or_default()
    }
}

impl Payload for Say {
    fn write(&self, encoding: Encoding, out: &mut Vec<u8>) {
        self.written[encoding as usize].fetch_add(1, Ordering::Relaxed);
        out.extend([encoding as u8, self.kind]);
        out.extend(self.stream.to_le_bytes());
        out.extend(self.id.to_le_bytes());
    }
}

/// What a frame says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// A message on a stream.
    Message(StreamId, u32),
    /// Who came and who went.
    Event { stream: StreamId, joins: Vec<Version>, leaves: Vec<Version> },
    /// Something for one session.
    Push(u32),
    /// What members of a party, or those who want to be, are told.
    Party(StreamId, PartyWord),
    /// Something of a room or the lobby, by its number in [`Tales`].
    Tale(u32),
    /// What a player of a durable match is told, by the match's number.
    Match(u32, GameWord),
}

/// What a player of a durable match is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum GameWord {
    /// What came of a tick.
    State { tick: u32, digest: u32 },
    /// It is out.
    Left,
}

#[derive(Debug)]
struct GameFrame(u32, GameWord);

impl Payload for GameFrame {
    fn write(&self, encoding: Encoding, out: &mut Vec<u8>) {
        out.extend([encoding as u8, b'g', 0, 0]);
        out.extend(self.0.to_le_bytes());
        if let GameWord::State { tick, digest } = self.1 {
            out.extend([tick, digest].into_iter().flat_map(u32::to_le_bytes));
        }
    }
}

/// The number of a durable match, which its id says.
pub fn game_of(id: Uuid) -> u32 {
    // The lower half of the upper half.
    (id.as_u128() >> 64) as u32
}

/// What is told about a party.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartyWord {
    /// The receiver is in, with these.
    Admitted(Vec<Who>),
    /// The party ended, or the receiver was put out.
    Closed,
    /// A member says something, by its number.
    Said(u32),
    /// Who leads, who asks.
    Other,
}

#[derive(Debug)]
struct PartyFrame(StreamId, PartyWord);

impl Payload for PartyFrame {
    fn write(&self, encoding: Encoding, out: &mut Vec<u8>) {
        let (kind, rest): (u32, Vec<u32>) = match &self.1 {
            PartyWord::Admitted(members) => (0, members.iter().map(|who| *who as u32).collect()),
            PartyWord::Closed => (1, Vec::new()),
            PartyWord::Said(id) => (2, vec![*id]),
            PartyWord::Other => (3, Vec::new()),
        };
        out.extend([encoding as u8, b'y']);
        out.extend(self.0.to_le_bytes());
        out.extend(kind.to_le_bytes());
        rest.into_iter().for_each(|number| out.extend(number.to_le_bytes()));
    }
}

/// The port by which planes make frames.
pub struct Encoder {
    streams: BTreeMap<StreamKey, StreamId>,
    /// How often each event was encoded, by its frame.
    events: RefCell<BTreeMap<Bytes, u32>>,
    /// What was told of rooms and the lobby.
    pub tales: Tales,
    /// A planted bug: everything is encoded twice.
    pub is_wasteful: Cell<bool>,
    /// Put behind every frame, if there is any.
    pub mark: Cell<Option<u32>>,
}

impl Encoder {
    /// For these streams, numbered in their order, and those of parties.
    pub fn new(streams: &[StreamKey], parties: &[StreamKey]) -> Self {
        let numbered = streams.iter().cloned().zip(0..);
        let streams = numbered.chain(parties.iter().cloned().zip(PARTIES_FROM..)).collect();
        Self {
            streams,
            events: RefCell::default(),
            tales: Tales::default(),
            is_wasteful: Cell::new(false),
            mark: Cell::new(None),
        }
    }

    /// An event that was encoded more than once in the same encoding.
    pub fn event_encoded_again(&self) -> Option<Said> {
        let events = self.events.borrow();
        let (frame, _) = events.iter().find(|(_, count)| **count > 1)?;
        decode(frame).map(|(_, said)| said)
    }

    fn marked(&self, mut frame: Vec<u8>) -> Bytes {
        frame.extend(self.mark.get().into_iter().flat_map(u32::to_le_bytes));
        frame.into()
    }

    fn event(&self, event: &PresenceEvent<'_>, encoding: Encoding) -> Bytes {
        if event.stream.mode == mode::ROOM {
            return self.marked(self.tales.came_and_went(event, encoding));
        }
        let mut out = vec![encoding as u8, b'e'];
        let stream = self.streams.get(event.stream).copied().unwrap_or(StreamId::MAX);
        out.extend(stream.to_le_bytes());
        out.extend((event.joins.len() as u32).to_le_bytes());
        for presence in event.joins.iter().chain(event.leaves) {
            let number = if stream < PARTIES_FROM { version_of(presence) } else { who(presence) as u32 };
            out.extend(number.to_le_bytes());
        }
        let frame = self.marked(out);
        if stream >= PARTIES_FROM {
            // Members come and go and come again: the same event may be another one.
            return frame;
        }
        *self.events.borrow_mut().entry(frame.clone()).or_default() += 1;
        frame
    }
}

impl Encode for Encoder {
    fn frame(&self, payload: &dyn Payload, encoding: Encoding) -> Bytes {
        let mut out = Vec::new();
        payload.write(encoding, &mut out);
        if self.is_wasteful.get() {
            out.clear();
            payload.write(encoding, &mut out);
        }
        self.marked(out)
    }

    fn match_data(&self, stream: &StreamKey, data: matches::Broadcast) -> SharedPayload {
        let numbers: Vec<u32> = data.data.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
        let [tick, digest] = numbers.try_into().unwrap_or_default();
        Arc::new(GameFrame(game_of(stream.subject), GameWord::State { tick, digest }))
    }

    fn match_left(&self, stream: &StreamKey, _: Presence) -> SharedPayload {
        Arc::new(GameFrame(game_of(stream.subject), GameWord::Left))
    }

    fn party_event(&self, party: &StreamKey, event: party::Event) -> SharedPayload {
        let stream = self.streams.get(party).copied().unwrap_or(StreamId::MAX);
        let word = match event {
            party::Event::Admitted(snapshot) => PartyWord::Admitted(snapshot.members.iter().map(who).collect()),
            party::Event::Closed => PartyWord::Closed,
            party::Event::Data { data, .. } => {
                PartyWord::Said(data.first_chunk().map_or(u32::MAX, |id| u32::from_le_bytes(*id)))
            }
            _ => PartyWord::Other,
        };
        Arc::new(PartyFrame(stream, word))
    }

    fn room_event(&self, room: &StreamKey, event: rooms::Event) -> SharedPayload {
        self.tales.add(room, Tale::Event(event))
    }

    fn lobby_event(&self, view: &StreamKey, delta: rooms::LobbyDelta) -> SharedPayload {
        self.tales.add(view, Tale::Lobby(delta))
    }

    fn seat_status(&self, seat: Option<u32>) -> Arc<str> {
        seat.map(|seat| seat.to_string()).unwrap_or_default().into()
    }

    fn presence_event(&self, event: &PresenceEvent<'_>, encoding: Encoding) -> Option<Bytes> {
        if event.stream.mode == mode::MATCH_AUTHORITATIVE {
            // Who is in a match is what its owner and places say.
            return None;
        }
        if self.is_wasteful.get() {
            self.event(event, encoding);
        }
        Some(self.event(event, encoding))
    }
}

/// The appearance that a presence shows; 0 is none.
pub fn version_of(presence: &Presence) -> Version {
    presence.status.as_deref().and_then(|status| status.parse().ok()).unwrap_or_default()
}

/// Whose presence it is: the name says so.
pub fn who(presence: &Presence) -> Who {
    presence.username.parse().unwrap_or(Who::MAX)
}

/// What a frame says, and in which encoding.
pub fn decode(frame: &[u8]) -> Option<(Encoding, Said)> {
    let (&[encoding, kind], rest) = frame.split_first_chunk()?;
    let (stream, rest) = rest.split_first_chunk()?;
    let (number, rest) = rest.split_first_chunk()?;
    let (stream, number) = (StreamId::from_le_bytes(*stream), u32::from_le_bytes(*number));
    let said = match kind {
        b'm' => Said::Message(stream, number),
        b'p' => Said::Push(number),
        b'r' => Said::Tale(number),
        b'g' => {
            let numbers: Vec<u32> = rest.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
            let state = <[u32; 2]>::try_from(numbers).ok();
            Said::Match(number, state.map_or(GameWord::Left, |[tick, digest]| GameWord::State { tick, digest }))
        }
        b'y' => {
            let numbers: Vec<u32> = rest.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
            let word = match number {
                0 => PartyWord::Admitted(numbers.iter().map(|who| *who as Who).collect()),
                1 => PartyWord::Closed,
                2 => PartyWord::Said(*numbers.first()?),
                _ => PartyWord::Other,
            };
            Said::Party(stream, word)
        }
        b'e' => {
            let versions = rest.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes));
            let mut joins: Vec<Version> = versions.collect();
            let leaves = joins.split_off((number as usize).min(joins.len()));
            Said::Event { stream, joins, leaves }
        }
        _ => return None,
    };
    Encoding::ALL.into_iter().find(|known| *known as u8 == encoding).map(|encoding| (encoding, said))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_says_what_it_was_given() {
        let mut frame = Vec::new();
        let say = Say::message(3, 70_000);
        say.write(Encoding::Protobuf, &mut frame);
        assert_eq!(decode(&frame), Some((Encoding::Protobuf, Said::Message(3, 70_000))));
        assert_eq!(say.written_max(), 1);
        assert_eq!(decode(&frame[..5]), None);
    }
}
