//! Streams, which sessions join to hear of each other: their names, the presences on them, and the payloads that are
//! sent to them. Knows nothing of rooms, parties and matches.

use std::fmt;
use std::sync::Arc;

use muster_domain::Timestamp;
use muster_domain::ids::{SessionId, UserId, Uuid};

use crate::place::{Partition, PartitionHasher, Place};
use crate::registry::SessionKey;

/// The modes of streams that the protocol knows; game code and extensions use others.
pub mod mode {
    /// A user's notifications; the subject is the user.
    pub const NOTIFICATIONS: u8 = 0;
    /// A user's status; the subject is the user.
    pub const STATUS: u8 = 1;
    /// A chat room; the label is the name of the chat room.
    pub const CHANNEL: u8 = 2;
    /// A group's chat; the subject is the group.
    pub const GROUP: u8 = 3;
    /// A direct chat; subject and subcontext are the two users, sorted.
    pub const DIRECT: u8 = 4;
    /// A relayed match, whose players talk to each other without game code; the subject is the match's id.
    pub const MATCH_RELAYED: u8 = 5;
    /// A match of game code; the subject is the match's id.
    pub const MATCH_AUTHORITATIVE: u8 = 6;
    /// A party; the subject is the party's id.
    pub const PARTY: u8 = 7;
    /// A room; the subject is the room's id.
    pub const ROOM: u8 = 201;
    /// A view of the lobby; the label holds the path and filter of the rooms that it shows, and the budget of its
    /// pushes.
    pub const LOBBY: u8 = 202;
}

/// A stream's name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct StreamKey {
    /// The kind of stream, see [`mode`].
    pub mode: u8,
    /// The id of the thing that the stream is about; nil if there is none.
    pub subject: Uuid,
    /// A second id; nil if there is none.
    pub subcontext: Uuid,
    /// `None` stands for the empty label, which most streams have.
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

    /// The partition that owns the stream. Streams about the same subject have the same partition, whatever their mode,
    /// so that a party and its stream, or a user's notifications and status, have one owner. All views of the lobby
    /// belong to the directory's partition. The id of a match of game code names the match's partition.
    pub fn partition(&self) -> Partition {
        if self.mode == mode::MATCH_AUTHORITATIVE {
            // The last four bytes of the id.
            return Partition::of_id(self.subject.as_u128() as u32);
        }
        let mut hash = PartitionHasher::default();
        if self.mode != mode::LOBBY {
            hash.write(self.subject.as_bytes());
            hash.write(self.subcontext.as_bytes());
            hash.write(self.label().as_bytes());
        }
        hash.partition()
    }
}

/// A session on any shard of any node.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionRef {
    /// The place that holds the session's socket.
    pub place: Place,
    /// The session's key at that place.
    pub key: SessionKey,
}

impl SessionRef {
    /// The value that means no session, for a user who may not be connected.
    pub const NOBODY: Self = Self { place: Place::NONE, key: SessionKey::NONE };
}

/// The encoding of a session's frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Encoding {
    /// Text frames.
    Json,
    /// Binary frames.
    Protobuf,
}

impl Encoding {
    /// All encodings.
    pub const ALL: [Self; 2] = [Self::Json, Self::Protobuf];
}

/// A session's membership of a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Presence {
    /// The session that is on the stream.
    pub session: SessionRef,
    /// The session's public id.
    pub session_id: SessionId,
    /// The session's user.
    pub user_id: UserId,
    /// The user's name when the session opened.
    pub username: Arc<str>,
    /// Whether the presence is left out of events and snapshots.
    pub hidden: bool,
    /// Whether messages that the session sends to the stream are stored.
    pub persistence: bool,
    /// A text that is shown with the presence, such as the user's status, or the seat in a room.
    pub status: Option<Arc<str>>,
    /// The time at which the session opened, if the session is to be its user's only one; see
    /// [`crate::SessionInfo::only_session_since`].
    pub only_session_since: Option<Timestamp>,
}

/// Joins and leaves of one stream. A changed presence is in both: the old one leaves and the new one joins.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PresenceEvent<'a> {
    /// The stream.
    pub stream: &'a StreamKey,
    /// Presences that joined.
    pub joins: &'a [Presence],
    /// Presences that left.
    pub leaves: &'a [Presence],
}

/// A message for sessions, opaque to the plane. It is encoded once per encoding, however many sessions receive it.
pub trait Payload: fmt::Debug + Send + Sync {
    /// Appends the payload's bytes in this encoding.
    fn write(&self, encoding: Encoding, out: &mut Vec<u8>);
}

/// A payload shared between shards.
pub type SharedPayload = Arc<dyn Payload>;

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
