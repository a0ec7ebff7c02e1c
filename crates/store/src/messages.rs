//! What both databases know of chat messages and of who may be spoken to: where a walk through a history begins, numbers
//! of the columns.

use muster_domain::MessageId;
use muster_domain::ports::chat::{MessagePosition, MessageQuery};
use muster_domain::ports::store::StoreError;
use muster_domain::time::Timestamp;
use uuid::Uuid;

/// The state of an edge from a user to one whom the user has blocked.
pub(crate) const FRIEND_STATE_BLOCKED: i16 = 3;

/// The last of the states that make a member: superadmin, admin, member.
pub(crate) const GROUP_STATE_MEMBER: i16 = 2;

/// Before all messages, and behind them: the last second that both databases can hold as text, in the year 9999.
const OLDEST: MessagePosition = MessagePosition { create_time: Timestamp::EPOCH, id: MessageId(Uuid::nil()) };
const NEWEST: MessagePosition =
    MessagePosition { create_time: Timestamp(253_402_300_799_000_000), id: MessageId(Uuid::max()) };

/// Behind which place the walk of `query` begins.
pub(crate) fn start(query: &MessageQuery) -> MessagePosition {
    query.behind.unwrap_or(if query.backwards { NEWEST } else { OLDEST })
}

/// The refusal for a row whose user does not exist.
pub(crate) fn missing_user(what: &str) -> StoreError {
    StoreError::Invalid(format!("The {what} does not exist."))
}
