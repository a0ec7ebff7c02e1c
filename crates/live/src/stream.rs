//! Streams: what sessions join to hear of each other, and who is on them.

use std::fmt;
use std::sync::Arc;

use bytes::Bytes;
use muster_domain::ids::{SessionId, UserId, Uuid};

use crate::party;
use crate::registry::SessionKey;
use crate::rooms;

/// A shard's number, from 0.
pub type ShardIndex = u16;

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

    /// The shard that owns it. Streams about the same subject have the same owner, whatever their mode: a party and
    /// its stream, a user's notifications and status. All views of the lobby are owned where the directory is.
    pub fn owner(&self, shards: ShardIndex) -> ShardIndex {
        let mut hash = Fnv::default();
        if self.mode == mode::LOBBY {
            return hash.shard(shards);
        }
        hash.write(self.subject.as_bytes());
        hash.write(self.subcontext.as_bytes());
        hash.write(self.label().as_bytes());
        hash.shard(shards)
    }
}

/// The owner of what a name alone identifies: a template, a pool.
pub fn owner_of_name(name: &str, shards: ShardIndex) -> ShardIndex {
    let mut hash = Fnv::default();
    hash.write(name.as_bytes());
    hash.shard(shards)
}

/// FNV-1a: the same on every shard and in every build.
struct Fnv(u64);

impl Default for Fnv {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fnv {
    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = (self.0 ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
        }
    }

    /// The low bits of FNV are weak, so the high ones are folded in.
    fn shard(&self, shards: ShardIndex) -> ShardIndex {
        let folded = self.0 ^ (self.0 >> 32);
        (folded % u64::from(shards.max(1))) as ShardIndex
    }
}

/// A session from anywhere: its shard, and its place there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SessionRef {
    /// The shard of its socket.
    pub shard: ShardIndex,
    /// Its place there.
    pub key: SessionKey,
}

impl SessionRef {
    /// No session: for somebody who is known and need not be connected.
    pub const NOBODY: Self = Self { shard: ShardIndex::MAX, key: SessionKey::NONE };
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

    /// What a presence in a room shows of its seat; none for spectators.
    fn seat_status(&self, seat: Option<u32>) -> Arc<str>;

    /// An event's frame; `None` if this kind of stream tells its members nothing.
    fn presence_event(&self, event: &PresenceEvent<'_>, encoding: Encoding) -> Option<Bytes>;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn streams_about_one_subject_have_one_owner_and_others_spread() {
        let id = |n: u128| Uuid::from_u128(n << 64 | 0x4000_8000 << 32);
        let mut counts = [0; 4];
        for n in 0..4_000 {
            let owner = StreamKey::about(mode::PARTY, id(n)).owner(4);
            assert_eq!(owner, StreamKey::about(mode::MATCH_RELAYED, id(n)).owner(4));
            counts[usize::from(owner)] += 1;
        }
        for n in 0..4_000 {
            counts[usize::from(
                StreamKey::new(mode::CHANNEL, Uuid::nil(), Uuid::nil(), &format!("room-{n}")).owner(4),
            )] += 1;
        }
        assert!(counts.iter().all(|count| (1_800..2_200).contains(count)), "{counts:?}");
    }
}
