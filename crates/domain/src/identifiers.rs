//! Rules of identifiers, names and passwords: lengths and characters, checked in the order in which
//! the original checks them. No look-ups.

use crate::error::{Error, ErrorKind, Result};
use crate::limits::{
    CUSTOM_ID_BYTES_MAX, CUSTOM_ID_BYTES_MIN, DEVICE_ID_BYTES_MAX, DEVICE_ID_BYTES_MIN, EMAIL_BYTES_MAX,
    EMAIL_BYTES_MIN, PASSWORD_BYTES_MAX, PASSWORD_BYTES_MIN, USERNAME_BYTES_MAX,
};
use crate::ports::store::{Conflict, StoreError};

/// Checks a device id.
pub fn check_device_id(id: &str) -> Result<()> {
    if id.is_empty() {
        return Err(Error::invalid("A device ID is required."));
    }
    if has_space_or_control(id) {
        return Err(Error::invalid("The device ID must not contain spaces or control characters."));
    }
    if !(DEVICE_ID_BYTES_MIN..=DEVICE_ID_BYTES_MAX).contains(&id.len()) {
        return Err(Error::invalid("The device ID must be 10 to 128 bytes long."));
    }
    Ok(())
}

/// Checks a custom id.
pub fn check_custom_id(id: &str) -> Result<()> {
    if id.is_empty() {
        return Err(Error::invalid("A custom ID is required."));
    }
    if has_space_or_control(id) {
        return Err(Error::invalid("The custom ID must not contain spaces or control characters."));
    }
    if !(CUSTOM_ID_BYTES_MIN..=CUSTOM_ID_BYTES_MAX).contains(&id.len()) {
        return Err(Error::invalid("The custom ID must be 6 to 128 bytes long."));
    }
    Ok(())
}

/// Checks an e-mail address: characters, then the shape `x@y.z`, then the length.
pub fn check_email(email: &str) -> Result<()> {
    if has_space_or_control(email) {
        return Err(Error::invalid("The e-mail address must not contain spaces or control characters."));
    }
    if !has_email_shape(email) {
        return Err(Error::invalid("The e-mail address does not look like name@host.domain."));
    }
    if !(EMAIL_BYTES_MIN..=EMAIL_BYTES_MAX).contains(&email.len()) {
        return Err(Error::invalid("The e-mail address must be 10 to 255 bytes long."));
    }
    Ok(())
}

/// The form in which an e-mail address is stored and looked for: each letter in lower case by itself, as the original
/// does it. The standard library's rule for whole texts differs in two letters, by which a player would be locked out.
pub fn lower_email(email: &str) -> String {
    let lower = |letter: char| match letter {
        // The only letter whose lower case has two characters: the second is a mark.
        'İ' => 'i',
        letter => letter.to_lowercase().next().unwrap_or(letter),
    };
    email.chars().map(lower).collect()
}

/// Checks a password as it is presented to sign in.
pub fn check_presented_password(password: &str) -> Result<()> {
    if password.is_empty() {
        return Err(Error::invalid("A password is required."));
    }
    if password.len() < PASSWORD_BYTES_MIN {
        return Err(Error::invalid("The password must be at least 8 bytes long."));
    }
    Ok(())
}

/// Checks a password about to be stored.
pub fn check_new_password(password: &str) -> Result<()> {
    check_presented_password(password)?;
    if password.len() > PASSWORD_BYTES_MAX {
        return Err(Error::invalid("The password must be at most 72 bytes long."));
    }
    Ok(())
}

/// Checks a user name that someone chose. Plain spaces are allowed. The two characters `[]` in a row are
/// refused like control characters: the original does so too, and an account with such a name could not sign in
/// by it after going back.
pub fn check_username(username: &str) -> Result<()> {
    if username.chars().any(|character| character.is_ascii_control()) || username.contains("[]") {
        return Err(Error::invalid("The username must not contain control characters, tabs, line breaks or \"[]\"."));
    }
    if username.is_empty() || username.len() > USERNAME_BYTES_MAX {
        return Err(Error::invalid("The username must be 1 to 128 bytes long."));
    }
    Ok(())
}

fn has_space_or_control(text: &str) -> bool {
    text.bytes().any(|byte| byte.is_ascii_control() || byte == b' ')
}

/// Something, an at sign, something, a dot, something. The first at sign that follows something leaves the most
/// room for the rest.
fn has_email_shape(email: &str) -> bool {
    let Some((at, _)) = email.char_indices().skip(1).find(|&(_, character)| character == '@') else { return false };
    let host = &email[at + 1..];
    host.char_indices().skip(1).any(|(dot, character)| character == '.' && dot + 1 < host.len())
}

/// The refusal of a write, which names the identifier that is taken if one is.
pub(crate) fn name_taken(error: StoreError) -> Error {
    let taken = |what: &'static str| Error::new(ErrorKind::AlreadyExists, what);
    match error {
        StoreError::Conflict(Conflict::Username) => taken("The username is already in use."),
        StoreError::Conflict(Conflict::Email) => taken("The e-mail address is already in use."),
        StoreError::Conflict(Conflict::Device) => taken("The device ID is already in use."),
        StoreError::Conflict(Conflict::Custom) => taken("The custom ID is already in use."),
        other => other.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(result: Result<()>, expect: Option<&str>) {
        assert_eq!(result.err().map(|error| error.message.into_owned()).as_deref(), expect);
    }

    #[test]
    fn device_ids() {
        const CHARACTERS: Option<&str> = Some("The device ID must not contain spaces or control characters.");
        const LENGTH: Option<&str> = Some("The device ID must be 10 to 128 bytes long.");
        check(check_device_id("0123456789"), None);
        check(check_device_id(&"x".repeat(128)), None);
        check(check_device_id(""), Some("A device ID is required."));
        check(check_device_id("012345678"), LENGTH);
        check(check_device_id(&"x".repeat(129)), LENGTH);
        // Characters are looked at before the length.
        check(check_device_id("a b"), CHARACTERS);
        for bad in ["01234 56789", "0123456789\t", "0123456789\n", "0123456789\u{0}", "0123456789\u{7f}"] {
            check(check_device_id(bad), CHARACTERS);
        }
        // Bytes count, not characters: five times two are ten.
        check(check_device_id("ééééé"), None);
    }

    #[test]
    fn custom_ids() {
        check(check_custom_id("012345"), None);
        check(check_custom_id(""), Some("A custom ID is required."));
        check(check_custom_id("01234"), Some("The custom ID must be 6 to 128 bytes long."));
        check(check_custom_id(&"x".repeat(129)), Some("The custom ID must be 6 to 128 bytes long."));
        check(check_custom_id("0123 45"), Some("The custom ID must not contain spaces or control characters."));
    }

    #[test]
    fn email_addresses() {
        const SHAPE: Option<&str> = Some("The e-mail address does not look like name@host.domain.");
        const LENGTH: Option<&str> = Some("The e-mail address must be 10 to 255 bytes long.");
        for good in ["a@bcdefgh.c", "Name@Example.com", "a.b@c.d.example", "a@b@example.com", "first@example.com."] {
            check(check_email(good), None);
        }
        for bad in ["exampleexample", "name@example", "@example.com", "name@.com", "name.example@com", "name@example."]
        {
            check(check_email(bad), SHAPE);
        }
        check(check_email("a@b.c"), LENGTH);
        check(check_email(&format!("{}@example.com", "x".repeat(250))), LENGTH);
        check(
            check_email("na me@example.com"),
            Some("The e-mail address must not contain spaces or control characters."),
        );
    }

    #[test]
    fn addresses_are_lowered_letter_by_letter() {
        assert_eq!(lower_email("Ada.L@Example.COM"), "ada.l@example.com");
        assert_eq!(lower_email("ΟΔΟΣ@İzmir.example"), "οδοσ@izmir.example");
        assert_eq!(lower_email("ς@ẞ.example"), "ς@ß.example");
    }

    #[test]
    fn passwords() {
        check(check_presented_password("12345678"), None);
        check(check_presented_password(""), Some("A password is required."));
        check(check_presented_password("1234567"), Some("The password must be at least 8 bytes long."));
        check(check_presented_password(&"x".repeat(500)), None);
        check(check_new_password(&"x".repeat(72)), None);
        check(check_new_password(&"x".repeat(73)), Some("The password must be at most 72 bytes long."));
    }

    #[test]
    fn usernames() {
        const CHARACTERS: Option<&str> =
            Some("The username must not contain control characters, tabs, line breaks or \"[]\".");
        const LENGTH: Option<&str> = Some("The username must be 1 to 128 bytes long.");
        for good in ["a", "with plain spaces", "[a]", "][", "Ünïcödé", &"x".repeat(128)] {
            check(check_username(good), None);
        }
        for bad in ["a\tb", "a\nb", "a\r", "\u{0}", "\u{7f}", "[]", "guild[]", "\u{b}"] {
            check(check_username(bad), CHARACTERS);
        }
        check(check_username(""), LENGTH);
        check(check_username(&"x".repeat(129)), LENGTH);
    }
}
