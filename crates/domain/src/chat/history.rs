//! Reading a channel's history page by page, either way, and polling it for what is new.

use super::check_access;
use crate::channel::Channel;
use crate::error::{Error, Result};
use crate::ids::UserId;
use crate::limits::{MESSAGE_PAGE_DEFAULT, MESSAGE_PAGE_MAX, cut_page, page_limit};
use crate::ports::chat::{Message, MessagePosition, MessageQuery};
use crate::ports::store::Store;

/// Request for a page of a history.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryRequest {
    /// The channel.
    pub channel: Channel,
    /// 1 to 100; 1 when absent.
    pub limit: Option<i32>,
    /// Oldest first; else newest first.
    pub forward: bool,
    /// Where the page lies; without one at the start.
    pub place: Option<HistoryPlace>,
}

/// Where a page lies: what a cursor holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct HistoryPlace {
    /// The message beside the page.
    pub position: MessagePosition,
    /// Whether the listing has the oldest message first.
    pub forward: bool,
    /// Whether the page follows that message; else it leads up to it.
    pub follows: bool,
}

/// A page.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryPage {
    /// In the order asked for.
    pub messages: Vec<Message>,
    /// The next page, if there is one, or may be one after a page backwards.
    pub next: Option<HistoryPlace>,
    /// The page before, if there may be one.
    pub previous: Option<HistoryPlace>,
    /// Place behind which everything newer than this page lies, whenever it is asked for; for a forward listing.
    pub newer: Option<HistoryPlace>,
}

/// A page of what was said in a channel.
///
/// Errors: `InvalidArgument` for a limit out of 1 to 100, for a place of a listing in the other direction, and for a
/// channel that the caller may not read.
pub async fn list(store: &dyn Store, caller: UserId, request: HistoryRequest) -> Result<HistoryPage> {
    check_access(store, caller, &request.channel).await?;
    list_for_server(store, request).await
}

/// The same for game code, which may read any channel.
///
/// Errors: `InvalidArgument` for a limit out of 1 to 100, and for a place of a listing in the other direction.
pub async fn list_for_server(store: &dyn Store, request: HistoryRequest) -> Result<HistoryPage> {
    let limit = page_limit(request.limit, MESSAGE_PAGE_DEFAULT, MESSAGE_PAGE_MAX)?;
    let HistoryRequest { channel, forward, place, .. } = request;
    if place.is_some_and(|place| place.forward != forward) {
        return Err(Error::invalid("The cursor is of a listing in the other direction."));
    }
    let follows = place.is_none_or(|place| place.follows);
    let behind = place.map(|place| place.position);
    let query = MessageQuery { channel, backwards: forward != follows, behind, limit };
    let (mut messages, more) = store.list_messages(&query).await?;
    let more = cut_page(&mut messages, |message| message.content.len()) || more;
    Ok(page(messages, more, forward, place))
}

/// The page that a walk found, with the places around it. `more`: the walk could have gone on.
fn page(mut messages: Vec<Message>, more: bool, forward: bool, place: Option<HistoryPlace>) -> HistoryPage {
    let follows = place.is_none_or(|place| place.follows);
    if !follows {
        messages.reverse();
    }
    let beside = |message: Option<&Message>, follows| {
        let position = |message: &Message| MessagePosition { create_time: message.create_time, id: message.id };
        message.map(|message| HistoryPlace { position: position(message), forward, follows })
    };
    let (first, last) = (messages.first(), messages.last());
    // Where the walk came from there was a message, which lies behind it now.
    let (is_next, is_previous) = if follows { (more, place.is_some()) } else { (true, more) };
    let newest = if forward { last } else { first };
    let newer = beside(newest, true).or(place).map(|place| HistoryPlace { forward: true, follows: true, ..place });
    let next = beside(last, true).filter(|_| is_next);
    let previous = beside(first, false).filter(|_| is_previous);
    HistoryPage { messages, next, previous, newer }
}

#[cfg(test)]
mod tests {
    use uuid::Uuid;

    use super::*;
    use crate::ids::MessageId;
    use crate::ports::chat::MessageCode;
    use crate::time::Timestamp;

    fn message(number: u128) -> Message {
        Message {
            id: MessageId(Uuid::from_u128(number)),
            channel: Channel::Room("lobby".into()),
            code: MessageCode::CHAT,
            sender_id: UserId::SYSTEM,
            username: String::new(),
            content: "{}".into(),
            create_time: Timestamp::EPOCH,
            update_time: Timestamp::EPOCH,
            persistent: true,
        }
    }

    fn place(number: u128, forward: bool, follows: bool) -> HistoryPlace {
        let id = MessageId(Uuid::from_u128(number));
        HistoryPlace { position: MessagePosition { create_time: Timestamp::EPOCH, id }, forward, follows }
    }

    /// Checks messages, next, previous and newer, by number.
    fn check(
        (walked, more, forward, place): (&[u128], bool, bool, Option<HistoryPlace>),
        expect: (&[u128], Option<u128>, Option<u128>, Option<u128>),
    ) {
        let page = page(walked.iter().copied().map(message).collect(), more, forward, place);
        let number = |place: Option<HistoryPlace>| place.map(|place| place.position.id.0.as_u128());
        let numbers: Vec<u128> = page.messages.iter().map(|message| message.id.0.as_u128()).collect();
        let found = (numbers.as_slice(), number(page.next), number(page.previous), number(page.newer));
        assert_eq!(found, expect, "{walked:?} {more} {forward} {place:?}");
        let directions = |place: HistoryPlace| (place.forward, place.follows);
        assert_eq!(page.next.map(directions), page.next.map(|_| (forward, true)));
        assert_eq!(page.previous.map(directions), page.previous.map(|_| (forward, false)));
        assert_eq!(page.newer.map(directions), page.newer.map(|_| (true, true)));
    }

    #[test]
    fn pages_know_their_neighbours() {
        // Oldest first: the start, on from 3, back from 7 (the walk comes in from 6).
        check((&[1, 2, 3], true, true, None), (&[1, 2, 3], Some(3), None, Some(3)));
        check((&[1, 2, 3], false, true, None), (&[1, 2, 3], None, None, Some(3)));
        check((&[4, 5, 6], true, true, Some(place(3, true, true))), (&[4, 5, 6], Some(6), Some(4), Some(6)));
        check((&[6, 5, 4], true, true, Some(place(7, true, false))), (&[4, 5, 6], Some(6), Some(4), Some(6)));
        check((&[6, 5, 4], false, true, Some(place(7, true, false))), (&[4, 5, 6], Some(6), None, Some(6)));
        // Newest first.
        check((&[9, 8, 7], true, false, None), (&[9, 8, 7], Some(7), None, Some(9)));
        check((&[6, 5], false, false, Some(place(7, false, true))), (&[6, 5], None, Some(6), Some(6)));
        check((&[8, 9], false, false, Some(place(7, false, false))), (&[9, 8], Some(8), None, Some(9)));
    }

    #[test]
    fn an_empty_page_keeps_its_place_for_later() {
        check((&[], false, true, None), (&[], None, None, None));
        check((&[], false, true, Some(place(3, true, true))), (&[], None, None, Some(3)));
        check((&[], false, false, Some(place(3, false, false))), (&[], None, None, Some(3)));
    }
}
