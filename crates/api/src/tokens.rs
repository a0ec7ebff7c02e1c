//! Session tokens that a shard has checked before. A player asks many times with one token, whose signature stays the
//! same. Whether a token has expired, or is void, is checked each time.

use std::cell::RefCell;
use std::collections::HashMap;

use foldhash::fast::RandomState;
use muster_domain::Timestamp;
use muster_domain::sessions::Claims;
use muster_wire::token::TokenError;

use crate::keys::Keys;

/// Limit of the tokens that a shard remembers. When it is reached, the shard forgets all of them.
pub const TOKENS_KEPT_MAX: usize = 4_096;

/// Limit of the bytes of a remembered token. Only tokens with long session variables exceed it.
pub const TOKEN_KEPT_BYTES_MAX: usize = 1_024;

/// The session tokens that a shard has checked before.
#[derive(Default)]
pub struct CheckedTokens {
    /// Claims by the text of their token. All of the tokens were signed by this server's key.
    known: RefCell<HashMap<Box<str>, Claims, RandomState>>,
}

impl CheckedTokens {
    /// Reads a session token that has not expired. Whether it is void is not looked at.
    ///
    /// # Errors
    /// The same as of [`Keys::read_session`].
    pub fn read(&self, keys: &Keys, token: &str, now: Timestamp) -> Result<Claims, TokenError> {
        if let Some(claims) = self.known.borrow().get(token) {
            let is_over = now.seconds() >= claims.expires_at_sec;
            return if is_over { Err(TokenError::Expired) } else { Ok(claims.clone()) };
        }
        let claims = keys.read_session(token, now)?;
        if token.len() <= TOKEN_KEPT_BYTES_MAX {
            let mut known = self.known.borrow_mut();
            if known.len() >= TOKENS_KEPT_MAX {
                known.clear();
            }
            known.insert(token.into(), claims.clone());
        }
        Ok(claims)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use muster_domain::UserId;
    use muster_domain::ids::Uuid;
    use muster_domain::sessions::Issued;

    use super::*;
    use crate::keys::KeyTexts;

    fn keys(session: &str) -> Keys {
        Keys::new(KeyTexts { server_key: "", http_key: "", session, refresh: "other" }).unwrap()
    }

    fn token(keys: &Keys, number: u128, expires_at_sec: i64) -> String {
        let claims = Claims {
            token_id: Uuid::from_u128(7).to_string().parse().unwrap(),
            user_id: UserId(Uuid::from_u128(number)),
            username: "ann".to_owned(),
            vars: BTreeMap::new(),
            issued_at_sec: 1,
            expires_at_sec,
        };
        keys.sign(Issued { claims, refresh_expires_at_sec: 1_000 }, false).token
    }

    #[test]
    fn a_token_that_was_read_before_is_read_alike_and_expires() {
        let (keys, checked) = (keys("key"), CheckedTokens::default());
        let token = token(&keys, 1, 100);
        let at = |seconds: i64| Timestamp(seconds * 1_000_000);
        let first = checked.read(&keys, &token, at(10)).unwrap();
        assert_eq!(first, keys.read_session(&token, at(10)).unwrap());
        assert_eq!(checked.read(&keys, &token, at(99)).unwrap(), first);
        assert_eq!(checked.read(&keys, &token, at(100)), Err(TokenError::Expired));
        let mut changed = token.clone();
        changed.pop();
        assert!(checked.read(&keys, &changed, at(10)).is_err());
    }

    #[test]
    fn tokens_of_others_are_refused_and_not_remembered() {
        let (ours, checked) = (keys("key"), CheckedTokens::default());
        let foreign = token(&keys("another"), 1, 100);
        for _ in 0..2 {
            assert_eq!(checked.read(&ours, &foreign, Timestamp(0)), Err(TokenError::BadSignature));
        }
        assert!(checked.known.borrow().is_empty());
    }

    #[test]
    fn no_more_are_remembered_than_may_be() {
        let (keys, checked) = (keys("key"), CheckedTokens::default());
        for number in 1..=TOKENS_KEPT_MAX as u128 + 1 {
            checked.read(&keys, &token(&keys, number, 100), Timestamp(0)).unwrap();
        }
        assert_eq!(checked.known.borrow().len(), 1);
    }
}
