//! Channels and the ids that clients know them by: `mode.subject.subcontext.label`, parts that a kind has no use for
//! being empty.

use std::fmt;

use uuid::Uuid;

use crate::error::{Error, Result};
use crate::ids::{GroupId, UserId, parse_hyphenated};
use crate::limits::ROOM_NAME_BYTES_MAX;

/// The kinds of channels that a client may ask to join.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelKind {
    /// A room, by its name.
    Room,
    /// A conversation of two, by the other user's id.
    Direct,
    /// A group's channel, by the group's id.
    Group,
}

/// A chat channel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Channel {
    /// A room that anyone may enter; rooms exist by being named.
    Room(String),
    /// The channel of a group.
    Group(GroupId),
    /// A conversation of two, the smaller id first.
    Direct(UserId, UserId),
}

/// The four parts of a channel as streams and the database have them; the nil id stands for an empty one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ChannelParts<'a> {
    /// 2 for rooms, 3 for groups, 4 for conversations of two.
    pub mode: u8,
    /// The group, or the first of two users.
    pub subject: Uuid,
    /// The second of two users.
    pub subcontext: Uuid,
    /// The room's name.
    pub label: &'a str,
}

const MODE_ROOM: u8 = 2;
const MODE_GROUP: u8 = 3;
const MODE_DIRECT: u8 = 4;

impl Channel {
    /// The room of this name: 1 to 64 bytes without control characters.
    ///
    /// Errors: `InvalidArgument`.
    pub fn room(name: &str) -> Result<Self> {
        if name.is_empty() || name.len() > ROOM_NAME_BYTES_MAX {
            return Err(Error::invalid("The name of a room must be 1 to 64 bytes long."));
        }
        if name.bytes().any(|byte| byte.is_ascii_control()) {
            return Err(Error::invalid("The name of a room must not contain control characters."));
        }
        Ok(Self::Room(name.to_owned()))
    }

    /// The channel of the group of this id.
    ///
    /// Errors: `InvalidArgument` when it is no id.
    pub fn group(id: &str) -> Result<Self> {
        let id = parse_hyphenated(id).ok_or_else(|| Error::invalid("The group ID is not a valid UUID."))?;
        Ok(Self::Group(GroupId(id)))
    }

    /// The conversation of two users, in whichever order.
    ///
    /// Errors: `InvalidArgument` unless they are two, and players.
    pub fn direct(one: UserId, other: UserId) -> Result<Self> {
        if one == other {
            return Err(Error::invalid("A direct channel needs two users; this is one."));
        }
        if one == UserId::SYSTEM || other == UserId::SYSTEM {
            return Err(Error::invalid("A direct channel cannot be opened with the system user."));
        }
        Ok(Self::Direct(one.min(other), one.max(other)))
    }

    /// Reads the id of a channel. Letters of UUIDs in it may be capitals, as in the original.
    ///
    /// Errors: `InvalidArgument` for any other that [`Channel`]'s `Display` does not write.
    pub fn parse(id: &str) -> Result<Self> {
        let mut parts = id.splitn(4, '.');
        let mut part = || parts.next().ok_or_else(malformed);
        let (mode, subject, subcontext, label) = (part()?, part()?, part()?, part()?);
        let user = |text| parse_hyphenated(text).map(UserId).ok_or_else(malformed);
        match (mode, subject, subcontext, label) {
            ("2", "", "", name) => Self::room(name).map_err(|_| malformed()),
            ("3", group_id, "", "") => Self::group(group_id).map_err(|_| malformed()),
            ("4", one, two, "") => match Self::direct(user(one)?, user(two)?) {
                // The other order names no channel: nothing is ever said there.
                Ok(channel @ Self::Direct(first, _)) if first == user(one)? => Ok(channel),
                _ => Err(malformed()),
            },
            _ => Err(malformed()),
        }
    }

    /// The parts of the channel's stream.
    pub fn parts(&self) -> ChannelParts<'_> {
        let parts = |mode, subject, subcontext, label| ChannelParts { mode, subject, subcontext, label };
        match self {
            Self::Room(name) => parts(MODE_ROOM, Uuid::nil(), Uuid::nil(), name),
            Self::Group(GroupId(group_id)) => parts(MODE_GROUP, *group_id, Uuid::nil(), ""),
            Self::Direct(UserId(one), UserId(two)) => parts(MODE_DIRECT, *one, *two, ""),
        }
    }

    /// The other user of a conversation of two, as `user_id` has it.
    pub fn partner(&self, user_id: UserId) -> Option<UserId> {
        match *self {
            Self::Direct(one, two) if one == user_id => Some(two),
            Self::Direct(one, two) if two == user_id => Some(one),
            _ => None,
        }
    }
}

impl fmt::Display for Channel {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Room(name) => write!(formatter, "{MODE_ROOM}...{name}"),
            Self::Group(group_id) => write!(formatter, "{MODE_GROUP}.{group_id}.."),
            Self::Direct(one, two) => write!(formatter, "{MODE_DIRECT}.{one}.{two}."),
        }
    }
}

pub(crate) fn malformed() -> Error {
    Error::invalid("The channel ID is not valid.")
}
