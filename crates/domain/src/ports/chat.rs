//! Messages of chat channels, and what a store knows of who may be spoken to.

use super::PortFuture;
use super::storage::Authority;
use crate::channel::Channel;
use crate::ids::{GroupId, MessageId, UserId};
use crate::time::Timestamp;

/// The kind of a message, as the protocol numbers it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MessageCode(pub i16);

impl MessageCode {
    /// Something said.
    pub const CHAT: Self = Self(0);
    /// A change of something said.
    pub const UPDATE: Self = Self(1);
    /// The removal of something said.
    pub const REMOVE: Self = Self(2);
    /// Somebody joined the group.
    pub const GROUP_JOIN: Self = Self(3);
    /// Somebody was added to the group.
    pub const GROUP_ADD: Self = Self(4);
    /// Somebody left the group.
    pub const GROUP_LEAVE: Self = Self(5);
    /// Somebody was kicked out of the group.
    pub const GROUP_KICK: Self = Self(6);
    /// Somebody was promoted in the group.
    pub const GROUP_PROMOTED: Self = Self(7);
    /// Somebody was banned from the group.
    pub const GROUP_BANNED: Self = Self(8);
    /// Somebody was demoted in the group.
    pub const GROUP_DEMOTED: Self = Self(9);
}

/// A message of a channel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Chosen by the rules. Ids of ours are in the order of their making; those that the original made are random.
    pub id: MessageId,
    /// Where it was said.
    pub channel: Channel,
    /// Kind of the message. Stored messages keep the code they were made with.
    pub code: MessageCode,
    /// Who said it; the system user for the server.
    pub sender_id: UserId,
    /// The sender's name when it was said or last changed.
    pub username: String,
    /// A JSON object as text.
    pub content: String,
    /// When it was said, in whole seconds.
    pub create_time: Timestamp,
    /// When it last changed, in whole seconds.
    pub update_time: Timestamp,
    /// Whether it stands in the channel's history.
    pub persistent: bool,
}

/// A stored message as its author names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageRef {
    /// Id of the message.
    pub id: MessageId,
    /// Where it was said.
    pub channel: Channel,
    /// Who said it.
    pub sender_id: UserId,
}

/// New content of a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageUpdate {
    /// The author's present name.
    pub username: String,
    /// A JSON object as text.
    pub content: String,
    /// When, in whole seconds.
    pub update_time: Timestamp,
}

/// Outcome of an attempt to change or remove a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MessageChange {
    /// Done.
    Done {
        /// When the message was said.
        create_time: Timestamp,
    },
    /// Nothing is stored under this id.
    Missing,
    /// The message is of somebody else, or of another channel.
    Foreign,
}

/// A place in a channel's history, whose order is that of time, then id.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MessagePosition {
    /// When the message there was said.
    pub create_time: Timestamp,
    /// Its id.
    pub id: MessageId,
}

/// A walk through a channel's history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MessageQuery {
    /// The channel of the history.
    pub channel: Channel,
    /// Towards older messages; else towards newer ones.
    pub backwards: bool,
    /// The walk starts behind this place; without one at the end that it leads away from.
    pub behind: Option<MessagePosition>,
    /// 1 to 100 for clients.
    pub limit: u32,
}

/// Persistence of chat.
pub trait ChatStore {
    /// Adds a message to its channel's history. What a client sends counts towards the sender's quota of the day.
    ///
    /// Errors: `Invalid` when the sender does not exist; `Exceeded`.
    fn append_message<'a>(&'a self, authority: Authority, message: &'a Message) -> PortFuture<'a, ()>;

    /// Changes a message. What a client changes counts as if it were sent.
    ///
    /// Errors: `Exceeded`.
    fn update_message<'a>(
        &'a self,
        authority: Authority,
        message: &'a MessageRef,
        update: &'a MessageUpdate,
    ) -> PortFuture<'a, MessageChange>;

    /// Removes a message.
    fn remove_message<'a>(&'a self, message: &'a MessageRef) -> PortFuture<'a, MessageChange>;

    /// A page in the order of the walk, and whether more follow.
    fn list_messages<'a>(&'a self, query: &'a MessageQuery) -> PortFuture<'a, (Vec<Message>, bool)>;

    /// Whether the account `to` exists and has not blocked `from`.
    fn may_address(&self, from: UserId, to: UserId) -> PortFuture<'_, bool>;

    /// Whether a user is a member of a group, whatever the rank. Those who asked to join are not, nor are the banned.
    fn is_group_member(&self, group_id: GroupId, user_id: UserId) -> PortFuture<'_, bool>;
}
