//! Streams: what sessions join to hear of each other, and who is on them.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use muster_domain::Timestamp;
use muster_domain::ids::{SessionId, UserId, Uuid};

use crate::close::CloseReason;
use crate::matches;
use crate::matches::MatchId;
use crate::party;
use crate::place::{Hash, Partition, Place};
use crate::registry::SessionKey;
use crate::rooms;

/// The modes of streams that the protocol knows; game code and extensions use others.
pub mod mode {
    /// A user's notifications; the subject is the user.
    pub const NOTIFICATIONS: u8 = 0;
    /// A user's status; the subject is the user.
    pub const STATUS: u8 = 1;
    /// A chat room; the label is its name.
    pub const CHANNEL: u8 = 2;
    /// A group's chat; the subject is the group.
    pub const GROUP: u8 = 3;
    /// A direct chat; subject and subcontext are the two users, sorted.
    pub const DIRECT: u8 = 4;
    /// A match whose players talk to each other; the subject is its id.
    pub const MATCH_RELAYED: u8 = 5;
    /// A match of game code; the subject is its id.
    pub const MATCH_AUTHORITATIVE: u8 = 6;
    /// A party; the subject is its id.
    pub const PARTY: u8 = 7;
    /// A room; the subject is its id.
    pub const ROOM: u8 = 201;
    /// A view of the lobby; the label is what it shows, see [`crate::rooms::ViewKey::label`].
    pub const LOBBY: u8 = 202;
}

/// A stream's name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StreamKey {
    /// What kind of stream it is, see [`mode`].
    pub mode: u8,
    /// What it is about; nil if nothing.
    pub subject: Uuid,
    /// A second id; nil if none.
    pub subcontext: Uuid,
    /// `None` stands for the empty label: most streams have none.
    label: Option<Arc<str>>,
}

impl StreamKey {
    /// A stream of a mode about a subject.
    pub fn about(mode: u8, subject: Uuid) -> Self {
        Self { mode, subject, subcontext: Uuid::nil(), label: None }
    }

    /// A stream with all its parts.
    pub fn new(mode: u8, subject: Uuid, subcontext: Uuid, label: &str) -> Self {
        Self { mode, subject, subcontext, label: (!label.is_empty()).then(|| Arc::from(label)) }
    }

    /// The notifications of a user.
    pub fn notifications(user: UserId) -> Self {
        Self::about(mode::NOTIFICATIONS, user.0)
    }

    /// The status of a user.
    pub fn status(user: UserId) -> Self {
        Self::about(mode::STATUS, user.0)
    }

    /// The label; empty if there is none.
    pub fn label(&self) -> &str {
        self.label.as_deref().unwrap_or_default()
    }

    /// Its partition. Streams about the same subject have the same, whatever their mode: a party and its stream, a
    /// user's notifications and status. All views of the lobby lie where the directory is. Ids of matches of game code
    /// say what theirs is.
    pub fn partition(&self) -> Partition {
        if let Some(id) = MatchId::of_stream(self) {
            return id.partition();
        }
        let mut hash = Hash::default();
        if self.mode != mode::LOBBY {
            hash.write(self.subject.as_bytes());
            hash.write(self.subcontext.as_bytes());
            hash.write(self.label().as_bytes());
        }
        hash.partition()
    }
}

/// A session from anywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionRef {
    /// Where its socket is.
    pub place: Place,
    /// Its key there.
    pub key: SessionKey,
}

impl SessionRef {
    /// No session: for somebody who is known and need not be connected.
    pub const NOBODY: Self = Self { place: Place::NONE, key: SessionKey::NONE };
}

/// How a session's frames are encoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// Text frames.
    Json,
    /// Binary frames.
    Protobuf,
}

impl Encoding {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Json, Self::Protobuf];
}

/// That a session is on a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presence {
    /// Which session.
    pub session: SessionRef,
    /// Its public id.
    pub session_id: SessionId,
    /// Whose it is.
    pub user_id: UserId,
    /// The user's name when the session opened.
    pub username: Arc<str>,
    /// Neither in events nor in snapshots.
    pub hidden: bool,
    /// Whether what it sends is to be kept.
    pub persistence: bool,
    /// A free text, of status streams.
    pub status: Option<Arc<str>>,
    /// See [`crate::SessionInfo::sole_since`].
    pub sole_since: Option<Timestamp>,
}

/// Who came to a stream and who went. An update is both: the old presence goes and the new one comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PresenceEvent<'a> {
    /// Where.
    pub stream: &'a StreamKey,
    /// Who came.
    pub joins: &'a [Presence],
    /// Who went.
    pub leaves: &'a [Presence],
}

/// Something to be sent, opaque to the plane. It is encoded once per format, however many receive it.
pub trait Payload: fmt::Debug + Send + Sync {
    /// Appends its bytes.
    fn write(&self, encoding: Encoding, out: &mut Vec<u8>);
}

/// A payload on its way through shards.
pub type SharedPayload = Arc<dyn Payload>;

/// Makes frames that stand ready for sockets. The plane asks once per broadcast and encoding.
pub trait Encode {
    /// A payload's frame.
    fn frame(&self, payload: &dyn Payload, encoding: Encoding) -> Bytes;

    /// What members of a party, or those who want to be, are told.
    fn party_event(&self, party: &StreamKey, event: party::Event) -> SharedPayload;

    /// What those in a room are told.
    fn room_event(&self, room: &StreamKey, event: rooms::Event) -> SharedPayload;

    /// What those who watch a view of the lobby are told.
    fn lobby_event(&self, view: &StreamKey, delta: rooms::LobbyDelta) -> SharedPayload;

    /// What a match of game code tells its players.
    fn match_data(&self, stream: &StreamKey, data: matches::Broadcast) -> SharedPayload;

    /// What a player of a match of game code is told who is taken out of it.
    fn match_left(&self, stream: &StreamKey, presence: Presence) -> SharedPayload;

    /// What a presence in a room shows of its seat; none for spectators.
    fn seat_status(&self, seat: Option<u32>) -> Arc<str>;

    /// What a session is sent before it closes, if that is to be said.
    fn farewell(&self, _reason: CloseReason) -> Option<SharedPayload> {
        None
    }

    /// Whether those who hear a stream are told who comes and goes.
    fn tells_presences(&self, _stream: &StreamKey) -> bool {
        true
    }

    /// An event's frame; `None` if this kind of stream tells its members nothing.
    fn presence_event(&self, event: &PresenceEvent<'_>, encoding: Encoding) -> Option<Bytes>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_about_one_subject_have_one_partition_and_others_spread() {
        let id = |n: u128| Uuid::from_u128(n << 64 | 0x4000_8000 << 32);
        let mut counts = [0; 4];
        let mut count = |partition: Partition| counts[partition.row() % 4] += 1;
        for n in 0..4_000 {
            let partition = StreamKey::about(mode::PARTY, id(n)).partition();
            assert_eq!(partition, StreamKey::about(mode::MATCH_RELAYED, id(n)).partition());
            count(partition);
            count(StreamKey::new(mode::CHANNEL, Uuid::nil(), Uuid::nil(), &format!("room-{n}")).partition());
        }
        assert!(counts.iter().all(|count| (1_800..2_200).contains(count)), "{counts:?}");
    }
}
