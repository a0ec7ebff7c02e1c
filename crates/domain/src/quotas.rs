//! Quotas: how much one account may make the database hold, so that nobody fills the disk with a free one.
//!
//! They hold for what players write themselves. Game code is trusted: its writes are never refused. What it stores for
//! a player counts once the player writes.

use crate::error::{Error, ErrorKind};
use crate::limits::{
    DEVICES_MAX, USER_FRIENDS, USER_MESSAGE_BYTES_PER_DAY, USER_MESSAGES_PER_DAY, USER_OBJECT_BYTES, USER_OBJECTS,
};

/// The quotas of each account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quotas {
    /// Most storage objects.
    pub objects: i64,
    /// Most bytes of their values together.
    pub object_bytes: i64,
    /// Most chat messages that are kept, and changes of such, in a day of UTC.
    pub messages: i64,
    /// Most bytes of their contents together.
    pub message_bytes: i64,
    /// Most friends, requests and blocks together, and most requests by others.
    pub friends: i64,
}

impl Default for Quotas {
    fn default() -> Self {
        Self::new([USER_OBJECTS, USER_OBJECT_BYTES, USER_MESSAGES_PER_DAY, USER_MESSAGE_BYTES_PER_DAY, USER_FRIENDS])
    }
}

impl Quotas {
    /// The quotas of these numbers, in the order of the fields; 0 is no quota.
    pub fn new(numbers: [u64; 5]) -> Self {
        let most = |number| if number == 0 { i64::MAX } else { i64::try_from(number).unwrap_or(i64::MAX) };
        let [objects, object_bytes, messages, message_bytes, friends] = numbers.map(most);
        Self { objects, object_bytes, messages, message_bytes, friends }
    }
}

/// The quota that a write would exceed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Quota {
    /// Storage objects.
    Objects,
    /// Bytes of storage objects.
    ObjectBytes,
    /// Messages of the day.
    Messages,
    /// Bytes of the day's messages.
    MessageBytes,
    /// Linked devices.
    Devices,
    /// Friends, requests and blocks.
    Friends,
    /// Requests that wait for another user.
    FriendRequests,
}

impl From<Quota> for Error {
    fn from(quota: Quota) -> Self {
        let message = match quota {
            Quota::Objects => "You have as many storage objects as you may have. Please delete some.".to_owned(),
            Quota::ObjectBytes => {
                "Your storage objects are as large together as they may be. Please delete some, or make them smaller."
                    .to_owned()
            }
            Quota::Messages => "You have sent as many messages as you may in a day. Please go on tomorrow.".to_owned(),
            Quota::MessageBytes => {
                "Your messages of today are as long together as they may be. Please go on tomorrow.".to_owned()
            }
            Quota::Friends => {
                "You have as many friends, requests and blocked users as you may have. Please remove some.".to_owned()
            }
            Quota::FriendRequests => {
                "One of these users has as many requests of others as can wait. Please try again later.".to_owned()
            }
            Quota::Devices => format!("At most {DEVICES_MAX} devices can be linked. Please unlink one."),
        };
        Self::new(ErrorKind::ResourceExhausted, message)
    }
}
