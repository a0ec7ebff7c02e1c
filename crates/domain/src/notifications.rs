//! Notifications: what may be sent, what waits for its receiver, and reading and deleting it.
//!
//! Sending stores what is persistent and answers all of it: pushing it to the receivers' sockets is the caller's.

use serde_json::json;

use crate::error::{Error, ErrorKind, Result};
use crate::ids::{NotificationId, UserId, new_time_ordered, parse_hyphenated};
use crate::json::require_object;
use crate::limits::{
    NOTIFICATION_CONTENT_BYTES_MAX, NOTIFICATION_PAGE_DEFAULT, NOTIFICATION_PAGE_MAX, NOTIFICATION_SERVER_PAGE_DEFAULT,
    NOTIFICATION_SERVER_PAGE_MAX, NOTIFICATION_SUBJECT_CHARS_MAX, NOTIFICATIONS_SENT_MAX, cut_page, page_limit,
};
use crate::ports::clock::{Clock, Entropy};
use crate::ports::notifications::{Notification, NotificationPosition, NotificationUpdate};
use crate::ports::store::Store;
use crate::time::Timestamp;

/// Codes of the server's own notifications. Codes from 0 down are the server's; a game's begin with 1.
pub mod codes {
    /// Somebody opened a direct channel with the receiver, who was not in it.
    pub const DIRECT_MESSAGE_REQUEST: i16 = -1;
    /// Somebody wants to be the receiver's friend.
    pub const FRIEND_REQUEST: i16 = -2;
    /// Somebody became the receiver's friend, as the receiver had asked.
    pub const FRIEND_ACCEPTED: i16 = -3;
    /// The receiver was added to a group, or let in.
    pub const GROUP_ADDED: i16 = -4;
    /// Somebody wants to join a group of which the receiver is an admin.
    pub const GROUP_JOIN_REQUEST: i16 = -5;
    /// A friend from elsewhere plays this game now.
    pub const FRIEND_JOINED_GAME: i16 = -6;
    /// The socket closes because the user opened another.
    pub const SINGLE_SOCKET: i16 = -7;
    /// The socket closes because the user was banned.
    pub const BANNED: i16 = -8;
    /// Somebody is the receiver's friend no more.
    pub const FRIEND_REMOVED: i16 = -9;
    /// Codes that are not the server's and below zero nevertheless, for notifications that game code sends one by one.
    pub const SINGLE: std::ops::RangeInclusive<i16> = -2_000..=-1_000;
    /// A ticket of the receiver's in the matchmaker went with the server that kept it. Ours, and far from the others.
    pub const TICKET_LOST: i16 = -1_001;
}

/// A notification to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewNotification {
    /// The receiver.
    pub user_id: UserId,
    /// 1 to 255 characters.
    pub subject: String,
    /// A JSON object.
    pub content: String,
    /// The subject as a number, see [`codes`].
    pub code: i16,
    /// The sender; the system user for the server.
    pub sender_id: UserId,
    /// Whether it waits until the receiver deletes it; else only those hear of it who are there now.
    pub persistent: bool,
}

/// The notification for somebody with whom `sender_id` opened a direct channel and who is not there. How often it is
/// sent,
/// [`crate::chat::DirectRequests`] says.
pub fn direct_message_request(sender_id: UserId, username: &str, receiver: UserId) -> NewNotification {
    NewNotification {
        user_id: receiver,
        subject: format!("{username} would like to chat"),
        content: json!({ "username": username }).to_string(),
        code: codes::DIRECT_MESSAGE_REQUEST,
        sender_id,
        persistent: true,
    }
}

/// Sends notifications, all or none: stores the persistent ones, and answers what is to be pushed, in the order given.
///
/// Errors: `InvalidArgument` for more than a thousand, for a subject or content out of its rules, and for a receiver of
/// a
/// persistent one who does not exist.
pub async fn send(
    store: &dyn Store,
    clock: &dyn Clock,
    entropy: &dyn Entropy,
    notifications: Vec<NewNotification>,
) -> Result<Vec<Notification>> {
    if notifications.len() > NOTIFICATIONS_SENT_MAX {
        return Err(Error::invalid("At most 1,000 notifications can be sent at once."));
    }
    notifications.iter().try_for_each(check)?;
    let now = clock.now();
    // The ids are those of following microseconds, so that what is sent together is listed in this order.
    let moments = (now.0..).map(Timestamp);
    let made = notifications.into_iter().zip(moments).map(|(new, moment)| Notification {
        id: NotificationId(new_time_ordered(moment, entropy)),
        user_id: new.user_id,
        subject: new.subject,
        content: new.content,
        code: new.code,
        sender_id: new.sender_id,
        create_time: now,
        persistent: new.persistent,
    });
    let made: Vec<Notification> = made.collect();
    let kept: Vec<Notification> = made.iter().filter(|each| each.persistent).cloned().collect();
    if !kept.is_empty() {
        store.save_notifications(&kept).await?;
    }
    Ok(made)
}

/// Whether game code may send a notification of this code: of the codes that are not positive, the server's own are
/// below
/// zero, and games that send one by one may use those of [`codes::SINGLE`].
///
/// Errors: `InvalidArgument`.
pub fn check_code(code: i32, is_single: bool) -> Result<i16> {
    match i16::try_from(code) {
        Ok(code) if code > 0 || (is_single && codes::SINGLE.contains(&code)) => Ok(code),
        _ => Err(Error::invalid("The code of a notification must be 1 to 32,767: others are the server's.")),
    }
}

/// Writes one notification for every user there is, page by page, and answers each page for pushing to those who are
/// there.
/// An error ends it; receivers of earlier pages keep theirs.
pub async fn send_to_all(
    store: &dyn Store,
    clock: &dyn Clock,
    entropy: &dyn Entropy,
    template: NewNotification,
    mut push: impl AsyncFnMut(Vec<Notification>),
) -> Result<()> {
    let mut behind = UserId::SYSTEM;
    loop {
        let users = store.user_ids(behind, NOTIFICATIONS_SENT_MAX as u32).await?;
        let Some(last) = users.last().copied() else { return Ok(()) };
        let to = |user_id: &UserId| NewNotification { user_id: *user_id, ..template.clone() };
        let page: Vec<NewNotification> = users.iter().map(to).collect();
        match send(store, clock, entropy, page.clone()).await {
            Ok(sent) => push(sent).await,
            // Somebody of the page was deleted meanwhile: one by one it concerns nobody else.
            Err(error) if error.kind == ErrorKind::InvalidArgument => {
                for one in page {
                    if let Ok(sent) = send(store, clock, entropy, vec![one]).await {
                        push(sent).await;
                    }
                }
            }
            Err(error) => return Err(error),
        }
        behind = last;
    }
}

/// Checks a notification as [`send`] does.
///
/// Errors: `InvalidArgument` for a subject or content out of its rules.
pub fn check(notification: &NewNotification) -> Result<()> {
    check_subject(&notification.subject)?;
    check_content(&notification.content)
}

fn check_subject(subject: &str) -> Result<()> {
    let is_long =
        subject.len() > NOTIFICATION_SUBJECT_CHARS_MAX && subject.chars().count() > NOTIFICATION_SUBJECT_CHARS_MAX;
    if subject.is_empty() || is_long || subject.contains('\0') {
        return Err(Error::invalid(
            "The subject of a notification must be 1 to 255 characters long, without null characters.",
        ));
    }
    Ok(())
}

fn check_content(content: &str) -> Result<()> {
    if content.len() > NOTIFICATION_CONTENT_BYTES_MAX {
        return Err(Error::invalid("The content of a notification must be at most 262,144 bytes long."));
    }
    require_object("content", content)
}

/// Notifications that wait for a player, oldest first, and the place to ask from the next time.
///
/// Errors: `InvalidArgument` for a limit out of 1 to 100.
pub async fn list(
    store: &dyn Store,
    user_id: UserId,
    limit: Option<i32>,
    behind: Option<NotificationPosition>,
) -> Result<(Vec<Notification>, NotificationPosition)> {
    let limit = page_limit(limit, NOTIFICATION_PAGE_DEFAULT, NOTIFICATION_PAGE_MAX)?;
    let behind = behind.unwrap_or(NotificationPosition::START);
    let mut notifications = store.list_notifications(user_id, behind, limit).await?;
    cut_page(&mut notifications, |notification| notification.content.len());
    let position = |last: &Notification| NotificationPosition { create_time: last.create_time, id: last.id };
    let next = notifications.last().map_or(behind, position);
    Ok((notifications, next))
}

/// The same for game code, of larger pages; the place is that of the next page, if there is one.
///
/// Errors: `InvalidArgument` for a limit out of 1 to 1,000.
pub async fn list_for_server(
    store: &dyn Store,
    user_id: UserId,
    limit: Option<i32>,
    behind: Option<NotificationPosition>,
) -> Result<(Vec<Notification>, Option<NotificationPosition>)> {
    let limit = page_limit(limit, NOTIFICATION_SERVER_PAGE_DEFAULT, NOTIFICATION_SERVER_PAGE_MAX)?;
    let behind = behind.unwrap_or(NotificationPosition::START);
    // One more tells whether there is another page.
    let mut notifications = store.list_notifications(user_id, behind, limit + 1).await?;
    let more = notifications.len() > limit as usize;
    notifications.truncate(limit as usize);
    let next = notifications.last().filter(|_| more).map(|last| {
        let (create_time, id) = (last.create_time, last.id);
        NotificationPosition { create_time, id }
    });
    Ok((notifications, next))
}

/// Deletes those of the notifications that are the player's, or anybody's without one.
///
/// Errors: `InvalidArgument` for an id that is no UUID.
pub async fn delete(store: &dyn Store, user_id: Option<UserId>, ids: &[String]) -> Result<()> {
    let ids = parse_ids(ids)?;
    if ids.is_empty() {
        return Ok(());
    }
    Ok(store.delete_notifications(user_id, &ids).await?)
}

/// Those of these notifications that wait, the player's or anybody's; in the order asked for.
///
/// Errors: `InvalidArgument` for an id that is no UUID, and for more than a thousand.
pub async fn get(store: &dyn Store, user_id: Option<UserId>, ids: &[String]) -> Result<Vec<Notification>> {
    let ids = parse_ids(ids)?;
    if ids.len() > NOTIFICATIONS_SENT_MAX {
        return Err(Error::invalid("At most 1,000 notifications can be read at once."));
    }
    let mut found = store.notifications(user_id, &ids).await?;
    let place = |notification: &Notification| ids.iter().position(|id| *id == notification.id);
    found.sort_by_cached_key(place);
    Ok(found)
}

/// Changes notifications that wait, all or none.
///
/// Errors: `InvalidArgument` for more than a thousand, and for a subject or content out of its rules.
pub async fn update(store: &dyn Store, updates: &[NotificationUpdate]) -> Result<()> {
    if updates.len() > NOTIFICATIONS_SENT_MAX {
        return Err(Error::invalid("At most 1,000 notifications can be changed at once."));
    }
    for update in updates {
        update.subject.as_deref().map_or(Ok(()), check_subject)?;
        update.content.as_deref().map_or(Ok(()), check_content)?;
    }
    Ok(store.update_notifications(updates).await?)
}

/// Reads the id of a notification.
///
/// Errors: `InvalidArgument` when it is no UUID.
pub fn parse_id(id: &str) -> Result<NotificationId> {
    let id = parse_hyphenated(id).ok_or_else(|| Error::invalid("A notification ID is not a valid UUID."))?;
    Ok(NotificationId(id))
}

fn parse_ids(ids: &[String]) -> Result<Vec<NotificationId>> {
    ids.iter().map(|id| parse_id(id)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(change: impl FnOnce(&mut NewNotification), expect: bool) {
        let mut new = direct_message_request(UserId::SYSTEM, "Zoë \"\\", UserId::SYSTEM);
        change(&mut new);
        assert_eq!(super::check(&new).is_ok(), expect, "{:.40} {:.40}", new.subject, new.content);
    }

    #[test]
    fn games_may_not_use_the_server_s_codes() {
        for (code, single, several) in [
            (1, true, true),
            (32_767, true, true),
            (0, false, false),
            (-1, false, false),
            (-999, false, false),
            (-1_000, true, false),
            (-2_000, true, false),
            (-2_001, false, false),
            (32_768, false, false),
        ] {
            assert_eq!((check_code(code, true).is_ok(), check_code(code, false).is_ok()), (single, several), "{code}");
        }
    }

    #[test]
    fn subject_and_content_have_their_rules() {
        check(|_| {}, true);
        check(|new| new.subject = "ä".repeat(255), true);
        check(|new| new.subject = "ä".repeat(256), false);
        check(|new| new.subject = String::new(), false);
        check(|new| new.subject = "a\0".into(), false);
        check(|new| new.content = "[]".into(), false);
        check(|new| new.content = format!(r#"{{"a":"{}"}}"#, "x".repeat(NOTIFICATION_CONTENT_BYTES_MAX)), false);
    }
}
