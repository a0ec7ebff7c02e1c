//! Widths of the text columns, checked here for both databases so that both refuse the same values in the same words.

use muster_domain::ports::accounts::{AccountUpdate, Identifier, Unlink};
use muster_domain::ports::chat::Message;
use muster_domain::ports::multi_update::MultiUpdate;
use muster_domain::ports::notifications::{Notification, NotificationUpdate};
use muster_domain::ports::storage::{ObjectId, ObjectWrite};
use muster_domain::ports::store::StoreError;

/// Names, identifiers, collections and keys, in characters.
pub(crate) const NAME_LEN_MAX: usize = 128;
/// Display name, location, time zone, e-mail address and subject, in characters.
pub(crate) const TEXT_LEN_MAX: usize = 255;
/// Addresses of pictures, in characters.
pub(crate) const URL_LEN_MAX: usize = 512;
/// Language tags, in characters.
pub(crate) const LANG_TAG_LEN_MAX: usize = 18;
/// Object versions, in characters.
pub(crate) const VERSION_LEN_MAX: usize = 32;
/// Password hashes, in bytes; the column takes less than 32,000.
pub(crate) const PASSWORD_HASH_LEN_MAX: usize = 31_999;

/// The mode of a group's chat stream, whose subject is the group.
pub(crate) const STREAM_MODE_GROUP: i16 = 3;

/// Refuses a text wider than its column, or with a NUL in it, which PostgreSQL cannot hold.
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

/// See [`text`].
pub(crate) fn username(value: &str) -> Result<(), StoreError> {
    text("username", value, NAME_LEN_MAX)
}

/// See [`text`].
pub(crate) fn identifier(value: &Identifier) -> Result<(), StoreError> {
    match value {
        Identifier::Device(id) => text("device id", id, NAME_LEN_MAX),
        Identifier::Custom(id) => text("custom id", id, NAME_LEN_MAX),
    }
}

/// A value that fits no column is linked to nobody, so it needs no sentence of its own; but a NUL does.
pub(crate) fn unlink(value: &Unlink) -> Result<(), StoreError> {
    match value {
        Unlink::Device(id) => text("device id", id, usize::MAX),
        Unlink::Custom(id) => text("custom id", id, usize::MAX),
        Unlink::Email(email) => text("e-mail address", email, usize::MAX),
    }
}

/// The stored form of an e-mail address: lower case, and within its column.
pub(crate) fn email(value: &str) -> Result<String, StoreError> {
    let lower = value.to_lowercase();
    text("e-mail address", &lower, TEXT_LEN_MAX)?;
    Ok(lower)
}

/// See [`PASSWORD_HASH_LEN_MAX`].
pub(crate) fn password_hash(value: &[u8]) -> Result<(), StoreError> {
    if value.len() > PASSWORD_HASH_LEN_MAX {
        return Err(StoreError::Invalid("The password hash is too long.".to_owned()));
    }
    Ok(())
}

/// All fields of an update.
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

/// Everything that is changed together.
pub(crate) fn multi_update(update: &MultiUpdate) -> Result<(), StoreError> {
    update.accounts.iter().try_for_each(|(_, update)| account_update(update))?;
    update.writes.iter().try_for_each(object)
}

/// The name of an object to be written.
pub(crate) fn object_id(id: &ObjectId) -> Result<(), StoreError> {
    text("collection", &id.collection, NAME_LEN_MAX)?;
    text("key", &id.key, NAME_LEN_MAX)
}

/// An object to be written.
pub(crate) fn object(write: &ObjectWrite) -> Result<(), StoreError> {
    object_id(&write.id)?;
    text("version", &write.version, VERSION_LEN_MAX)
}

/// A message to be stored.
pub(crate) fn message(message: &Message) -> Result<(), StoreError> {
    text("channel's name", message.channel.parts().label, NAME_LEN_MAX)?;
    username(&message.username)
}

/// A notification to be stored.
pub(crate) fn notification(notification: &Notification) -> Result<(), StoreError> {
    text("subject", &notification.subject, TEXT_LEN_MAX)
}

/// A change of a notification.
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
