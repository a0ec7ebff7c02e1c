//! Widths of the text columns, checked here for both databases so that both refuse the same values in the same words.

use muster_domain::ports::accounts::{AccountUpdate, Identifier, Unlink};
use muster_domain::ports::chat::Message;
use muster_domain::ports::multi_update::MultiUpdate;
use muster_domain::ports::notifications::{Notification, NotificationUpdate};
use muster_domain::ports::storage::{ObjectId, ObjectWrite};
use muster_domain::ports::store::StoreError;

/// Longest name, identifier, collection and key, in characters.
pub(crate) const NAME_LEN_MAX: usize = 128;
/// Longest display name, location, time zone, e-mail address and subject, in characters.
pub(crate) const TEXT_LEN_MAX: usize = 255;
/// Longest address of a picture, in characters.
pub(crate) const URL_LEN_MAX: usize = 512;
/// Longest language tag, in characters.
pub(crate) const LANG_TAG_LEN_MAX: usize = 18;
/// Longest object version, in characters.
pub(crate) const VERSION_LEN_MAX: usize = 32;
/// Longest password hash, in bytes: the column takes less than 32,000.
pub(crate) const PASSWORD_HASH_LEN_MAX: usize = 31_999;

/// The mode of a group's chat stream, whose subject is the group.
pub(crate) const STREAM_MODE_GROUP: i16 = 3;

/// Refuses a text that is wider than its column, or that contains a NUL, which PostgreSQL cannot hold.
pub(crate) fn text(name: &str, value: &str, len_max: usize) -> Result<(), StoreError> {
    // A text has at most as many characters as bytes, so the count is seldom needed.
    if value.len() > len_max && value.chars().count() > len_max {
        return Err(StoreError::Invalid(format!("The {name} must not be longer than {len_max} characters.")));
    }
    if value.as_bytes().contains(&0) {
        return Err(StoreError::Invalid(format!("The {name} must not contain a NUL character.")));
    }
    Ok(())
}

/// Checks a username as [`text`] does.
pub(crate) fn username(value: &str) -> Result<(), StoreError> {
    text("username", value, NAME_LEN_MAX)
}

/// Checks an identifier as [`text`] does.
pub(crate) fn identifier(value: &Identifier) -> Result<(), StoreError> {
    match value {
        Identifier::Device(id) => text("device id", id, NAME_LEN_MAX),
        Identifier::Custom(id) => text("custom id", id, NAME_LEN_MAX),
    }
}

/// Refuses identifiers that contain a NUL. Identifiers that are too long pass: no account has one, so unlinking finds
/// none.
pub(crate) fn unlink(value: &Unlink) -> Result<(), StoreError> {
    match value {
        Unlink::Device(id) => text("device id", id, usize::MAX),
        Unlink::Custom(id) => text("custom id", id, usize::MAX),
        Unlink::Email(email) => text("e-mail address", email, usize::MAX),
    }
}

/// Checks an e-mail address, and answers its stored form: in lower case.
pub(crate) fn email(value: &str) -> Result<String, StoreError> {
    let lower = value.to_lowercase();
    text("e-mail address", &lower, TEXT_LEN_MAX)?;
    Ok(lower)
}

/// Refuses a hash longer than [`PASSWORD_HASH_LEN_MAX`].
pub(crate) fn password_hash(value: &[u8]) -> Result<(), StoreError> {
    if value.len() > PASSWORD_HASH_LEN_MAX {
        return Err(StoreError::Invalid("The password hash is too long.".to_owned()));
    }
    Ok(())
}

/// Checks all texts of an account's update.
pub(crate) fn account_update(update: &AccountUpdate) -> Result<(), StoreError> {
    let fields = [
        ("username", &update.username, NAME_LEN_MAX),
        ("display name", &update.display_name, TEXT_LEN_MAX),
        ("avatar URL", &update.avatar_url, URL_LEN_MAX),
        ("language tag", &update.lang_tag, LANG_TAG_LEN_MAX),
        ("location", &update.location, TEXT_LEN_MAX),
        ("time zone", &update.timezone, TEXT_LEN_MAX),
    ];
    fields
        .iter()
        .try_for_each(|(name, value, len_max)| value.as_deref().map_or(Ok(()), |value| text(name, value, *len_max)))
}

/// Checks all accounts and objects of a combined change.
pub(crate) fn multi_update(update: &MultiUpdate) -> Result<(), StoreError> {
    update.accounts.iter().try_for_each(|(_, update)| account_update(update))?;
    update.writes.iter().try_for_each(object)
}

/// Checks the collection and the key of an object.
pub(crate) fn object_id(id: &ObjectId) -> Result<(), StoreError> {
    text("collection", &id.collection, NAME_LEN_MAX)?;
    text("key", &id.key, NAME_LEN_MAX)
}

/// Checks the name and the version of an object to be written.
pub(crate) fn object(write: &ObjectWrite) -> Result<(), StoreError> {
    object_id(&write.id)?;
    text("version", &write.version, VERSION_LEN_MAX)
}

/// Checks the channel's name and the sender's username of a message.
pub(crate) fn message(message: &Message) -> Result<(), StoreError> {
    text("channel's name", message.channel.parts().label, NAME_LEN_MAX)?;
    username(&message.username)
}

/// Checks the subject of a notification.
pub(crate) fn notification(notification: &Notification) -> Result<(), StoreError> {
    text("subject", &notification.subject, TEXT_LEN_MAX)
}

/// Checks the new subject of a notification, if there is one.
pub(crate) fn notification_update(update: &NotificationUpdate) -> Result<(), StoreError> {
    update.subject.as_deref().map_or(Ok(()), |subject| text("subject", subject, TEXT_LEN_MAX))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_characters_and_refuses_nul() {
        let check = |value: &str, expect: bool| assert_eq!(text("name", value, 3).is_ok(), expect, "{value:?}");
        check("", true);
        check("äöü", true);
        check("äöüx", false);
        check("a\0", false);
    }
}
