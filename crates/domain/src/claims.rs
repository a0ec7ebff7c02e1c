//! Claims of tokens: who signed in, when, and with which variables.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::ids::{TokenId, UserId};
use crate::limits::SESSION_VARS_BYTES_MAX;

/// Variables that a client gave its session.
pub type Vars = BTreeMap<String, String>;

/// Refuses variables that would make a token too long to be sent. To be asked before anything is done for a sign-in.
///
/// Errors: `InvalidArgument`.
pub fn check_vars(vars: &Vars) -> Result<()> {
    // Quotes, colon and comma.
    const PUNCTUATION: usize = 6;
    let bytes: usize = vars.iter().map(|(name, value)| escaped_len(name) + escaped_len(value) + PUNCTUATION).sum();
    if bytes > SESSION_VARS_BYTES_MAX {
        return Err(Error::invalid(format!(
            "The session variables must not take more than {SESSION_VARS_BYTES_MAX} bytes."
        )));
    }
    Ok(())
}

/// The length of a text as JSON, without its quotes.
fn escaped_len(text: &str) -> usize {
    let byte_len = |byte| match byte {
        b'"' | b'\\' => 2,
        0..=0x1f => "\\u0000".len(),
        _ => 1,
    };
    text.bytes().map(byte_len).sum()
}

/// Contents of a token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claims {
    /// The sign-in.
    pub token_id: TokenId,
    /// Who.
    pub user_id: UserId,
    /// Name at the time of issue.
    pub username: String,
    /// Session variables.
    pub vars: Vars,
    /// When the sign-in happened, in seconds.
    pub issued_at_sec: i64,
    /// When the token ends, in seconds.
    pub expires_at_sec: i64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_are_bounded_by_what_they_take_in_a_token() {
        let vars = |value: String| Vars::from([("k".to_owned(), value)]);
        let rest = SESSION_VARS_BYTES_MAX - 7;
        assert!(check_vars(&Vars::new()).is_ok());
        assert!(check_vars(&vars("v".repeat(rest))).is_ok());
        assert!(check_vars(&vars("v".repeat(rest + 1))).is_err());
        assert!(check_vars(&vars("\"".repeat(rest / 2 + 1))).is_err());
        assert!(check_vars(&vars("\0".repeat(rest / 6 + 1))).is_err());
        assert!(check_vars(&(0..SESSION_VARS_BYTES_MAX).map(|n| (n.to_string(), String::new())).collect()).is_err());
    }
}
