//! Messages between shards about live things.
//!
//! A message up goes from a session's shard to an owner, a message down from an owner to a session's shard. A message
//! down causes no message that costs credit, so the way down always empties, and no cycle of shards can wait.
//!
//! Messages are data. The parts of the plane import these files, and these files import none of the parts.

mod asks;
mod down;
mod moves;
mod orders;
mod parts;
mod up;

use bytes::Bytes;

pub use asks::{AddedAsk, AddedWhat, Answer, Ask};
pub(crate) use asks::{Answered, Asked, FollowUp};
pub use down::{Down, JoinRefusal, Joined, LocalAudience, Reply};
pub use moves::{Belongings, Claim, ClaimRefusal, Departed, Moved, Rebind};
pub use orders::{Errand, Order, Whom};
pub(crate) use parts::Part;
pub use parts::{Carried, CarriedNews, CarriedPresence, CarriedStream, Kind, Recover, Recoverable, RecoveryKey, Told};
pub use up::{Audience, Condition, Join, Publish, Up};

use super::kinds::kinds;
use crate::place::{Epoch, Place};
use crate::stream::{Encoding, Presence, SessionRef, StreamKey};

/// A question, by its number at the place that asks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RequestRef {
    /// The place that asks.
    pub place: Place,
    /// The number of the question at that place.
    pub id: u64,
}

/// A message of one shard to another.
#[derive(Debug)]
pub enum Message {
    /// A message to an owner.
    Up(Up),
    /// A message to an owner in a cluster, with the epoch since which it owns the partition, as the sender believes.
    Dated(Epoch, Up),
    /// A message from an owner.
    Down(Down),
    /// Credits of a lane: its receiver has worked off that many messages, and as many more may be sent.
    Credit(LaneKind, u32),
}

/// The two lanes between each pair of shards.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneKind {
    /// Towards owners.
    Up,
    /// From owners.
    Down,
}

/// A session's relation to a stream, as its place knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Standing {
    /// The stream.
    pub stream: StreamKey,
    /// The session's presence, if the session is on the stream.
    pub presence: Option<Presence>,
    /// The session's listener, if the session hears the stream.
    pub listener: Option<Listener>,
    /// Whether the session hears by its join.
    pub by_join: bool,
    /// The number of the latest message of the stream that the session had, see [`Delivery::Once`].
    pub latest: u64,
}

/// A session that hears a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Listener {
    /// The session that hears.
    pub session: SessionRef,
    /// The encoding.
    pub encoding: Encoding,
    /// Serial number of the session's join or listen, by which a late answer to an earlier one is recognised.
    pub serial: u32,
}

/// One message in the encodings that somebody needs.
#[derive(Clone, Debug, Default)]
pub struct Frames {
    /// For sockets of text frames.
    pub json: Option<Bytes>,
    /// For sockets of binary frames.
    pub protobuf: Option<Bytes>,
}

impl Frames {
    /// The frame of an encoding.
    pub fn get(&self, encoding: Encoding) -> Option<&Bytes> {
        match encoding {
            Encoding::Json => self.json.as_ref(),
            Encoding::Protobuf => self.protobuf.as_ref(),
        }
    }

    /// Sets the frame of an encoding.
    pub fn set(&mut self, encoding: Encoding, frame: Bytes) {
        match encoding {
            Encoding::Json => self.json = Some(frame),
            Encoding::Protobuf => self.protobuf = Some(frame),
        }
    }
}
