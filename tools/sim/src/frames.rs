//! Frames of the simulation. The frames are short and all different, so that checkers can tell which session received
//! which frame, and how often a payload was encoded.

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

/// The mode of the streams of tallies. Tallies are a kind of owned things that the takeover simulation adds to planes.
pub const TALLY: u8 = 240;

/// The label of the chat whose messages are kept. Nobody is told who comes to it and leaves.
pub const KEPT: &str = "kept";

/// Number of a stream in a world.
pub type StreamId = u16;
/// Number of one appearance of a session on a stream. Every join has its own number, which the status of its presence
/// shows.
pub type Version = u32;

/// A message that was published or pushed, by its number.
#[derive(Debug)]
pub struct Say {
    kind: u8,
    stream: StreamId,
    id: u32,
    /// Number of times that the message was encoded, by encoding.
    written: [AtomicU32; 2],
}

impl Say {
    /// A message on a stream.
    pub fn message(stream: StreamId, id: u32) -> Self {
        Self { kind: b'm', stream, id, written: Default::default() }
    }

    /// A push to one session.
    pub fn push(id: u32) -> Self {
        Self { kind: b'p', stream: 0, id, written: Default::default() }
    }

    /// A message about a room or the lobby.
    pub fn tale(id: u32) -> Self {
        Self { kind: b'r', stream: 0, id, written: Default::default() }
    }

    /// A message of a chat that the database keeps.
    pub fn kept(id: u32) -> Self {
        Self { kind: b'k', stream: 0, id, written: Default::default() }
    }

    /// Number of times that the message was encoded in one encoding.
    pub fn written(&self, encoding: Encoding) -> u32 {
        self.written[encoding as usize].load(Ordering::Relaxed)
    }

    /// The largest number of times that the message was encoded in any one encoding.
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

/// The contents of a frame.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Said {
    /// A message on a stream, by its number.
    Message(StreamId, u32),
    /// Joins and leaves on a stream.
    Event { stream: StreamId, joins: Vec<Version>, leaves: Vec<Version> },
    /// A push to one session, by its number.
    Push(u32),
    /// A message about a party.
    Party(StreamId, PartyWord),
    /// A message about a room or the lobby, by its number in [`Tales`].
    Tale(u32),
    /// A message of a durable match to a player, by the match's number.
    Match(u32, MatchWord),
    /// A message of a chat that the database keeps, by its number.
    Kept(u32),
}

/// A message of a durable match to a player.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MatchWord {
    /// The state after a tick.
    State { tick: u32, digest: u32 },
    /// The player was taken out of the match.
    Left,
}

#[derive(Debug)]
struct MatchFrame(u32, MatchWord);

impl Payload for MatchFrame {
    fn write(&self, encoding: Encoding, out: &mut Vec<u8>) {
        out.extend([encoding as u8, b'g', 0, 0]);
        out.extend(self.0.to_le_bytes());
        if let MatchWord::State { tick, digest } = self.1 {
            out.extend([tick, digest].into_iter().flat_map(u32::to_le_bytes));
        }
    }
}

/// The number of a durable match, which is part of the match's id.
pub fn match_number_of(id: Uuid) -> u32 {
    // The number is in the lower half of the id's upper half.
    (id.as_u128() >> 64) as u32
}

/// A message about a party.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PartyWord {
    /// The receiver was let in; these are the members.
    Admitted(Vec<Who>),
    /// The party ended, or the receiver was removed.
    Closed,
    /// A member sent data, by its number.
    Said(u32),
    /// Any other message.
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

/// The encoder that planes use.
pub struct Encoder {
    streams: BTreeMap<StreamKey, StreamId>,
    /// Number of times that each event was encoded, by its frame.
    events: RefCell<BTreeMap<Bytes, u32>>,
    /// The messages about rooms and the lobby so far.
    pub tales: Tales,
    /// Whether every payload is encoded twice, which is a planted bug.
    pub is_wasteful: Cell<bool>,
    /// The number that is appended to every frame; `None` if frames end without one.
    pub mark: Cell<Option<u32>>,
}

impl Encoder {
    /// An encoder for these streams, numbered in order, and for the streams of parties.
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

    /// An event that was encoded more than once in the same encoding, if there is one.
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
            // Members leave and come back, so two different events may have equal frames.
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
        Arc::new(MatchFrame(match_number_of(stream.subject), MatchWord::State { tick, digest }))
    }

    fn match_left(&self, stream: &StreamKey, _: Presence) -> SharedPayload {
        Arc::new(MatchFrame(match_number_of(stream.subject), MatchWord::Left))
    }

    fn party_event(&self, party: &StreamKey, event: party::PartyEvent) -> SharedPayload {
        let stream = self.streams.get(party).copied().unwrap_or(StreamId::MAX);
        let word = match event {
            party::PartyEvent::Admitted(snapshot) => PartyWord::Admitted(snapshot.members.iter().map(who).collect()),
            party::PartyEvent::Closed => PartyWord::Closed,
            party::PartyEvent::Data { data, .. } => {
                PartyWord::Said(data.first_chunk().map_or(u32::MAX, |id| u32::from_le_bytes(*id)))
            }
            _ => PartyWord::Other,
        };
        Arc::new(PartyFrame(stream, word))
    }

    fn room_event(&self, room: &StreamKey, event: rooms::RoomEvent) -> SharedPayload {
        self.tales.add(room, Tale::Event(event))
    }

    fn lobby_event(&self, view: &StreamKey, delta: rooms::LobbyDelta) -> SharedPayload {
        self.tales.add(view, Tale::Lobby(delta))
    }

    fn seat_status(&self, seat: Option<u32>) -> Arc<str> {
        seat.map(|seat| seat.to_string()).unwrap_or_default().into()
    }

    fn presence_event(&self, event: &PresenceEvent<'_>, encoding: Encoding) -> Option<Bytes> {
        if matches!(event.stream.mode, mode::MATCH_AUTHORITATIVE | TALLY) {
            // The members of a match are known to owners and places alone, so sessions get no events of them.
            return None;
        }
        if event.stream.label() == KEPT {
            return None;
        }
        if self.is_wasteful.get() {
            self.event(event, encoding);
        }
        Some(self.event(event, encoding))
    }
}

/// The appearance that the status of a presence shows; 0 if it shows none.
pub fn version_of(presence: &Presence) -> Version {
    presence.status.as_deref().and_then(|status| status.parse().ok()).unwrap_or_default()
}

/// The session of a presence, whose username is the session's number.
pub fn who(presence: &Presence) -> Who {
    presence.username.parse().unwrap_or(Who::MAX)
}

/// The encoding and contents of a frame; `None` if the bytes are no frame.
pub fn decode(frame: &[u8]) -> Option<(Encoding, Said)> {
    let (&[encoding, kind], rest) = frame.split_first_chunk()?;
    let (stream, rest) = rest.split_first_chunk()?;
    let (number, rest) = rest.split_first_chunk()?;
    let (stream, number) = (StreamId::from_le_bytes(*stream), u32::from_le_bytes(*number));
    let said = match kind {
        b'm' => Said::Message(stream, number),
        b'p' => Said::Push(number),
        b'r' => Said::Tale(number),
        b'k' => Said::Kept(number),
        b'g' => {
            let numbers: Vec<u32> = rest.as_chunks().0.iter().map(|bytes| u32::from_le_bytes(*bytes)).collect();
            let state = <[u32; 2]>::try_from(numbers).ok();
            Said::Match(number, state.map_or(MatchWord::Left, |[tick, digest]| MatchWord::State { tick, digest }))
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
