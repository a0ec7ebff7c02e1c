//! Rules about chat messages that both databases share: the place where a listing begins, and numbers in columns.

use muster_domain::MessageId;
use muster_domain::ports::chat::{MessagePosition, MessageQuery};
use muster_domain::ports::store::StoreError;
use muster_domain::time::Timestamp;
use uuid::Uuid;

/// The state of an edge between two users when the first has blocked the second.
pub(crate) const FRIEND_STATE_BLOCKED: i16 = 3;

/// The highest state of a group's edge that makes a member: 0 is superadmin, 1 is admin, 2 is member.
pub(crate) const GROUP_STATE_MEMBER: i16 = 2;

/// The positions before and behind all messages. The latest time is the last second of the year 9999, which both
/// databases can hold as text.
const OLDEST: MessagePosition = MessagePosition { create_time: Timestamp::EPOCH, id: MessageId(Uuid::nil()) };
const NEWEST: MessagePosition =
    MessagePosition { create_time: Timestamp(253_402_300_799_000_000), id: MessageId(Uuid::max()) };

/// The position behind which the listing of `query` begins.
pub(crate) fn start(query: &MessageQuery) -> MessagePosition {
    query.behind.unwrap_or(if query.backwards { NEWEST } else { OLDEST })
}

/// The refusal of a row whose user does not exist; `what` names the user's part in the row, such as "sender".
pub(crate) fn missing_user(what: &str) -> StoreError {
    StoreError::Invalid(format!("The {what} does not exist."))
}
