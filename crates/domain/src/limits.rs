//! The limits of the durable rules, each with its name.
//!
//! Lengths of identifiers count bytes, as the original checks them; lengths of free text count characters, as
//! the columns they end in do.

use crate::error::{Error, Result};

/// How many entries a page has: what was asked for, or `default`.
///
/// Errors: `InvalidArgument` out of 1 to `max`.
pub fn page_limit(asked: Option<i32>, default: i32, max: i32) -> Result<u32> {
    let limit = asked.unwrap_or(default);
    if (1..=max).contains(&limit) {
        Ok(limit.unsigned_abs())
    } else {
        Err(Error::invalid(format!("The limit must be between 1 and {max}.")))
    }
}

/// Fewest bytes of a device id.
pub const DEVICE_ID_BYTES_MIN: usize = 10;
/// Most bytes of a device id.
pub const DEVICE_ID_BYTES_MAX: usize = 128;
/// Fewest bytes of a custom id.
pub const CUSTOM_ID_BYTES_MIN: usize = 6;
/// Most bytes of a custom id.
pub const CUSTOM_ID_BYTES_MAX: usize = 128;
/// Fewest bytes of an e-mail address.
pub const EMAIL_BYTES_MIN: usize = 10;
/// Most bytes of an e-mail address.
pub const EMAIL_BYTES_MAX: usize = 255;
/// Fewest bytes of a password.
pub const PASSWORD_BYTES_MIN: usize = 8;
/// Most bytes of a password being set: bcrypt takes no more, and an adopted database holds bcrypt. A longer one
/// may still be presented, since older hashes were made of its first 72 bytes.
pub const PASSWORD_BYTES_MAX: usize = 72;
/// Most bytes of a user name.
pub const USERNAME_BYTES_MAX: usize = 128;
/// Letters of a user name made up by the server.
pub const RANDOM_USERNAME_LETTERS: usize = 10;
/// Most devices that are linked to one account.
pub const DEVICES_MAX: u32 = 1_000;
/// How often another random name is tried when one is taken; among 52^10 names twice in a row is a fault
/// elsewhere.
pub const RANDOM_USERNAME_TRIES: u32 = 5;

/// Most characters of a display name.
pub const DISPLAY_NAME_CHARS_MAX: usize = 255;
/// Most characters of a location.
pub const LOCATION_CHARS_MAX: usize = 255;
/// Most characters of a time zone.
pub const TIMEZONE_CHARS_MAX: usize = 255;
/// Most characters of an avatar's address.
pub const AVATAR_URL_CHARS_MAX: usize = 512;
/// Most characters of a language tag.
pub const LANG_TAG_CHARS_MAX: usize = 18;

/// Most users that game code draws at random at once.
pub const RANDOM_USERS_MAX: i32 = 1_000;
/// From how many places among all ids they are drawn.
pub const RANDOM_USERS_PLACES: u32 = 10;

/// Most bytes that session variables may take inside a token, written as JSON. Tokens travel in a header and in the
/// address of a socket: with larger ones no request would fit the head that the server reads.
pub const SESSION_VARS_BYTES_MAX: usize = 4_096;

/// Most bytes of a storage collection's name.
pub const COLLECTION_BYTES_MAX: usize = 128;
/// Most bytes of a storage object's key.
pub const KEY_BYTES_MAX: usize = 128;
/// Most objects on a page of a listing.
pub const STORAGE_PAGE_MAX: i32 = 100;
/// Objects on a page when the caller names no number.
pub const STORAGE_PAGE_DEFAULT: i32 = 1;
/// How deep arrays and objects may nest in a stored JSON document: below what either database refuses to parse.
pub const JSON_DEPTH_MAX: usize = 500;
/// Most bytes of one number in a stored JSON document. With [`JSON_EXPONENT_MAX`] below the 16,383 digits behind the
/// point that PostgreSQL holds.
pub const JSON_NUMBER_BYTES_MAX: usize = 6_000;
/// The largest exponent of a number in a stored JSON document, either way; a double's is 308.
pub const JSON_EXPONENT_MAX: usize = 10_000;
/// Exponents up to this, either way, are not added up.
pub const JSON_EXPONENT_FREE: usize = 64;
/// Most that the larger exponents of a stored JSON document may add up to: the zeros that they are read back as.
pub const JSON_EXPONENT_SUM_MAX: usize = 262_144;

/// Most storage objects of one account, unless the configuration says otherwise.
pub const USER_OBJECTS: u64 = 100_000;
/// Most bytes of the values of one account's objects together, unless the configuration says otherwise.
pub const USER_OBJECT_BYTES: u64 = 256 * 1024 * 1024;
/// Most chat messages of one account that are kept in a day, unless the configuration says otherwise.
pub const USER_MESSAGES_PER_DAY: u64 = 20_000;
/// Most bytes of their contents together, unless the configuration says otherwise.
pub const USER_MESSAGE_BYTES_PER_DAY: u64 = 16 * 1024 * 1024;
/// How old the count of an account's objects may be when a write is refused by it. Game code and others change objects
/// without counting them.
pub const REFUSING_COUNT_AGE_SEC: i64 = 600;
/// How old the count may be when a write is let through by it.
pub const COUNT_AGE_SEC: i64 = 86_400;

/// Revoked sign-ins remembered one by one for one user. The next logout revokes all of the user's tokens up to
/// then instead, so that signing in and out forever costs no more memory than this.
pub const REVOKED_TOKENS_PER_USER_MAX: usize = 1024;
/// Added to the life of a revocation, for clocks that disagree between servers.
pub const REVOCATION_MARGIN_SEC: i64 = 3600;
/// Revocations that one statement stores at start, for bans that others made.
pub const REVOCATIONS_AT_ONCE_MAX: usize = 10_000;
/// How far back the revocation feed is read again, for rows that became visible late.
pub const REVOCATION_OVERLAP_SEC: i64 = 10;

/// The values of one answer to a read of storage objects, in bytes: as much as a full page of a listing can hold.
pub const STORAGE_READ_BYTES_MAX: usize = 32 * 1024 * 1024;

/// Most bytes of values or contents on a page of a listing; a page ends behind the entry that reaches it, and goes on
/// at its cursor.
pub const PAGE_BYTES_MAX: usize = 4 * 1024 * 1024;

/// Objects read from the database at a time.
pub const STORAGE_READ_PART_LEN: usize = 100;

/// Most bytes of the name of a chat room.
pub const ROOM_NAME_BYTES_MAX: usize = 64;
/// Most bytes of a chat message's content. Sockets allow less unless told otherwise, and a page of the history is a
/// hundred of them.
pub const MESSAGE_CONTENT_BYTES_MAX: usize = 262_144;
/// Most messages on a page of a channel's history.
pub const MESSAGE_PAGE_MAX: i32 = 100;
/// Messages on a page when the caller names no number.
pub const MESSAGE_PAGE_DEFAULT: i32 = 1;

/// Most users whose requests for direct conversations are counted at a time; who has sent the fewest is forgotten
/// first.
pub const DIRECT_REQUEST_SENDERS_MAX: usize = 65_536;

/// Most characters of a notification's subject.
pub const NOTIFICATION_SUBJECT_CHARS_MAX: usize = 255;
/// Most bytes of a notification's content.
pub const NOTIFICATION_CONTENT_BYTES_MAX: usize = 262_144;
/// Most notifications sent at once.
pub const NOTIFICATIONS_SENT_MAX: usize = 1_000;
/// Most notifications on a page.
pub const NOTIFICATION_PAGE_MAX: i32 = 100;
/// Notifications on a page when the caller names no number.
pub const NOTIFICATION_PAGE_DEFAULT: i32 = 1;
/// Most notifications on a page that game code asks for.
pub const NOTIFICATION_SERVER_PAGE_MAX: i32 = 1_000;
/// Notifications on a page when game code names no number.
pub const NOTIFICATION_SERVER_PAGE_DEFAULT: i32 = 100;

/// Most friends, requests and blocks of one account together, unless the configuration says otherwise; and as many
/// requests by others.
pub const USER_FRIENDS: u64 = 10_000;
/// Most users that one request names to befriend, remove or block.
pub const FRIENDS_CHANGED_MAX: usize = 1_000;
/// Most bytes of the metadata of a friend.
pub const FRIEND_METADATA_BYTES_MAX: usize = 16_384;
/// Most friends on a page, and friends of friends on a page of game code.
pub const FRIEND_PAGE_MAX: i32 = 1_000;
/// Friends on a page when a client names no number.
pub const FRIEND_PAGE_DEFAULT: i32 = 1_000;
/// Friends and friends of friends on a page when game code names no number.
pub const FRIEND_SERVER_PAGE_DEFAULT: i32 = 100;
/// Most friends of friends on a page of a client.
pub const FRIENDS_OF_FRIENDS_PAGE_MAX: i32 = 100;
/// Friends of friends on a page when a client names no number.
pub const FRIENDS_OF_FRIENDS_PAGE_DEFAULT: i32 = 10;

/// Most bytes of the name of a wallet's entry.
pub const WALLET_NAME_BYTES_MAX: usize = 128;
/// Most entries of a wallet. One that has more already keeps them, and gets no others.
pub const WALLET_NAMES_MAX: usize = 1_000;
/// Most bytes of the metadata of a ledger's item.
pub const LEDGER_METADATA_BYTES_MAX: usize = 262_144;
/// Most items on a page of a ledger, and how many when the caller names no number.
pub const LEDGER_PAGE_MAX: i32 = 100;
/// Most accounts, objects and wallets that are changed together.
pub const MULTI_UPDATE_LEN_MAX: usize = 10_000;
/// How long the outcome of a write is kept under its key when nobody says earlier that it may go: longer than
/// a match that cannot go on is kept, which may be replayed when it can.
pub const KEYED_WRITE_LIFE_SEC: i64 = 14 * 86_400;

/// Ends a page behind the entry that reaches [`PAGE_BYTES_MAX`]. Answers whether entries were left out.
pub(crate) fn cut_page<Entry>(entries: &mut Vec<Entry>, bytes: impl Fn(&Entry) -> usize) -> bool {
    let mut sum = 0;
    let reaches = |entry: &Entry| {
        sum += bytes(entry);
        sum >= PAGE_BYTES_MAX
    };
    let Some(last) = entries.iter().position(reaches).filter(|last| last + 1 < entries.len()) else { return false };
    entries.truncate(last + 1);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_end_behind_the_entry_that_reaches_the_limit() {
        let check = |bytes: &[usize], kept: usize| {
            let mut entries = bytes.to_vec();
            assert_eq!(cut_page(&mut entries, |bytes| *bytes), kept < bytes.len(), "{bytes:?}");
            assert_eq!(entries.len(), kept, "{bytes:?}");
        };
        check(&[], 0);
        check(&[1, 2, 3], 3);
        check(&[PAGE_BYTES_MAX], 1);
        check(&[2 * PAGE_BYTES_MAX, 1], 1);
        check(&[PAGE_BYTES_MAX - 1, 1, 1], 2);
        check(&[PAGE_BYTES_MAX - 1, 1], 2);
    }
}
