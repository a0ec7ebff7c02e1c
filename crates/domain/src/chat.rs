//! Chat: who may enter a channel, what may be said there, and who may change or remove it.
//!
//! A message is stored and answered here; telling the others in the channel is the caller's, with the very message
//! that these functions answer.

mod history;
mod requests;

pub use history::{HistoryPage, HistoryPlace, HistoryRequest, list, list_for_server};
pub(crate) use requests::Senders;
pub use requests::{DirectRequests, RequestCounters, RequestLimits};

use crate::channel;
pub use crate::channel::{Channel, ChannelKind, ChannelParts};
use crate::error::{Error, Result};
use crate::ids::{MessageId, UserId, new_time_ordered, parse_hyphenated, parse_user_id};
use crate::json;
use crate::limits::MESSAGE_CONTENT_BYTES_MAX;
use crate::ports::chat::{Message, MessageChange, MessageCode, MessageRef, MessageUpdate};
use crate::ports::clock::{Clock, Entropy};
use crate::ports::storage::Authority;
use crate::ports::store::{Store, StoreError};
use crate::time::{DAY_SEC, Timestamp};

/// Finds the channel that `caller` wants to join, and whether that is allowed.
///
/// Errors: `InvalidArgument` for a room name out of its rules, for a user who does not exist or has blocked the caller,
/// and for a group that the caller is no member of.
pub async fn check_join(store: &dyn Store, caller: UserId, kind: ChannelKind, target: &str) -> Result<Channel> {
    match kind {
        ChannelKind::Room => Channel::room(target),
        ChannelKind::Direct => {
            let other = parse_user_id(target)?;
            let channel = Channel::direct(caller, other)?;
            if !store.may_address(caller, other).await? {
                // One sentence for both reasons: who blocks somebody need not be found out.
                return Err(Error::invalid("There is no user of this ID."));
            }
            Ok(channel)
        }
        ChannelKind::Group => {
            let channel = Channel::group(target)?;
            check_access(store, caller, &channel).await?;
            Ok(channel)
        }
    }
}

/// The channel that game code names, on behalf of a user or of nobody. Nobody may have any room and any group's
/// channel.
///
/// Errors: as [`check_join`]; `InvalidArgument` for a conversation of nobody.
pub async fn find(store: &dyn Store, on_behalf: Option<UserId>, kind: ChannelKind, target: &str) -> Result<Channel> {
    match (on_behalf, kind) {
        (Some(user_id), kind) => check_join(store, user_id, kind, target).await,
        (None, ChannelKind::Room) => Channel::room(target),
        (None, ChannelKind::Group) => Channel::group(target),
        (None, ChannelKind::Direct) => Err(Error::invalid("A direct channel needs two users; this is one.")),
    }
}

/// Whether `caller` may read what is said in a channel.
///
/// Errors: `InvalidArgument` unless one of the two of a direct channel, or a member of the group.
pub async fn check_access(store: &dyn Store, caller: UserId, channel: &Channel) -> Result<()> {
    match *channel {
        Channel::Room(_) => Ok(()),
        Channel::Direct(one, two) if caller == one || caller == two => Ok(()),
        Channel::Direct(..) => Err(channel::malformed()),
        Channel::Group(group_id) if store.is_group_member(group_id, caller).await? => Ok(()),
        Channel::Group(_) => Err(Error::invalid("There is no group of this ID that you are a member of.")),
    }
}

/// Somebody who speaks, with what speaking needs. Whether they are in the channel is the caller's to know.
#[derive(Clone, Copy)]
pub struct Speaker<'a> {
    /// The database.
    pub store: &'a dyn Store,
    /// The time.
    pub clock: &'a dyn Clock,
    /// For ids.
    pub entropy: &'a dyn Entropy,
    /// Who speaks; the system user for the server.
    pub user_id: UserId,
    /// The speaker's present name.
    pub username: &'a str,
    /// Whether a client or the server speaks: only what clients say is held to the quotas.
    pub authority: Authority,
}

impl Speaker<'_> {
    /// Says something. With `persistent` it stands in the channel's history when this answers.
    ///
    /// Errors: `InvalidArgument` for content that is no JSON object or too long; `ResourceExhausted` for a client's
    /// message beyond the quotas of the day.
    pub async fn send(&self, channel: Channel, content: String, persistent: bool) -> Result<Message> {
        check_content(&content)?;
        let now = self.clock.now();
        // The time of a message is a whole second, as the original's cursors need it: within one, its id tells what was
        // said first. One author's next message waits for this one, so no two have the same moment.
        let id = MessageId(new_time_ordered(now, self.entropy));
        let named = MessageRef { id, channel, sender_id: self.user_id };
        let message = self.message(MessageCode::CHAT, named, content, now, persistent);
        if persistent {
            let kept = self.store.append_message(self.authority, &message).await;
            kept.map_err(|error| until_tomorrow(error, now))?;
        }
        Ok(message)
    }

    /// Changes something that this speaker said in `channel`. What stands in the history is changed there; what does
    /// not
    /// can be changed, for those who heard it, by speakers who are not `persistent` themselves.
    ///
    /// Errors: `InvalidArgument` for content that is no JSON object or too long, and for a message that is not there,
    /// not
    /// the speaker's or not of this channel.
    pub async fn update(&self, channel: Channel, id: &str, content: String, persistent: bool) -> Result<Message> {
        let named = self.named(channel, id)?;
        check_content(&content)?;
        let now = self.clock.now();
        let update = MessageUpdate {
            username: self.username.to_owned(),
            content: content.clone(),
            update_time: whole_second(now),
        };
        let change = self.store.update_message(self.authority, &named, &update).await;
        let change = change.map_err(|error| until_tomorrow(error, now))?;
        heard(self.message(MessageCode::UPDATE, named, content, now, persistent), change)
    }

    /// Removes something that this speaker said in `channel`, as [`Speaker::update`] changes it.
    ///
    /// Errors: `InvalidArgument` for a message that is not there, not the speaker's or not of this channel.
    pub async fn remove(&self, channel: Channel, id: &str, persistent: bool) -> Result<Message> {
        let named = self.named(channel, id)?;
        let now = self.clock.now();
        let change = self.store.remove_message(&named).await?;
        heard(self.message(MessageCode::REMOVE, named, "{}".to_owned(), now, persistent), change)
    }

    fn named(&self, channel: Channel, id: &str) -> Result<MessageRef> {
        let id = parse_hyphenated(id).ok_or_else(|| Error::invalid("The message ID is not a valid UUID."))?;
        Ok(MessageRef { id: MessageId(id), channel, sender_id: self.user_id })
    }

    fn message(
        &self,
        code: MessageCode,
        named: MessageRef,
        content: String,
        now: Timestamp,
        persistent: bool,
    ) -> Message {
        let time = whole_second(now);
        Message {
            id: named.id,
            channel: named.channel,
            code,
            sender_id: named.sender_id,
            username: self.username.to_owned(),
            content,
            create_time: time,
            update_time: time,
            persistent,
        }
    }
}

/// The message by which the channel hears of a change, or a refusal when there was nothing to change.
fn heard(message: Message, change: MessageChange) -> Result<Message> {
    match change {
        MessageChange::Done { create_time } => Ok(Message { create_time, persistent: true, ..message }),
        MessageChange::Missing if !message.persistent => Ok(message),
        MessageChange::Missing | MessageChange::Foreign => {
            Err(Error::invalid("The history of this channel has no message of yours with this ID."))
        }
    }
}

/// The refusal, with the seconds until the quotas begin anew if it is by one of them.
fn until_tomorrow(error: StoreError, now: Timestamp) -> Error {
    let is_quota = matches!(error, StoreError::Exceeded(_));
    let left_sec = DAY_SEC - now.seconds().rem_euclid(DAY_SEC);
    let error = Error::from(error);
    if is_quota { error.retry_after(u32::try_from(left_sec).unwrap_or(u32::MAX)) } else { error }
}

fn whole_second(now: Timestamp) -> Timestamp {
    Timestamp::from_seconds(now.seconds())
}

fn check_content(content: &str) -> Result<()> {
    if content.len() > MESSAGE_CONTENT_BYTES_MAX {
        return Err(Error::invalid("The content of a message must be at most 262,144 bytes long."));
    }
    json::require_object("content", content)
}

#[cfg(test)]
mod tests;
