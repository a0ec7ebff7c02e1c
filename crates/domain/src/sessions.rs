//! Sessions as data: issuing, refreshing, ending. Signing and reading tokens is the wire's.
//!
//! Times in claims are whole seconds, as clients read them; what decides whether a token was issued before a
//! logout is the exact moment inside its id.

use std::collections::BTreeMap;

use uuid::Variant;

use crate::auth::{admit, not_found};
use crate::error::{Error, ErrorKind, Result};
use crate::ids::{Subject, TokenId, UserId, time_ordered};
use crate::limits::{REVOCATION_MARGIN_SEC, REVOKED_TOKENS_PER_USER_MAX, SESSION_VARS_BYTES_MAX};
use crate::ports::clock::{Clock, Entropy};
use crate::ports::revocations::{Revocation, RevocationReason, RevokedTokens};
use crate::ports::store::Store;
use crate::revocations::Revocations;
use crate::time::Timestamp;

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

/// How sessions live.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SessionRules {
    /// Life of a session token.
    pub token_life_sec: i64,
    /// Life of a refresh token.
    pub refresh_life_sec: i64,
    /// Whether signing in voids the user's older tokens.
    pub single_session: bool,
}

/// What a token says.
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

/// A sign-in to be signed twice: as session token and as refresh token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Issued {
    /// The claims of the session token.
    pub claims: Claims,
    /// When the refresh token ends, in seconds; all else is the same.
    pub refresh_expires_at_sec: i64,
}

impl SessionRules {
    /// Starts a session. `moment` comes from [`Revocations::moment`], taken before the account was looked up,
    /// so that a ban in between voids the new token.
    pub fn issue(
        &self,
        entropy: &dyn Entropy,
        moment: Timestamp,
        now: Timestamp,
        who: (UserId, String),
        vars: Vars,
    ) -> Issued {
        let mut bytes = [0; 8];
        entropy.fill(&mut bytes);
        let (user_id, username) = who;
        self.pair(TokenId::issued(moment, bytes), user_id, username, vars, now.seconds(), now)
    }

    /// Continues a session: same sign-in, its name read again, its variables replaced if `vars` has any.
    ///
    /// Errors: `Unauthenticated` when revoked, `NotFound` for a missing user, `PermissionDenied` for a banned one.
    pub async fn refresh(
        &self,
        store: &dyn Store,
        revocations: &Revocations,
        refresh: Claims,
        vars: Vars,
        now: Timestamp,
    ) -> Result<Issued> {
        if revocations.is_revoked(&refresh) {
            return Err(Error::new(ErrorKind::Unauthenticated, "The refresh token is invalid or has expired."));
        }
        let login = admit(store.login_by_id(refresh.user_id).await?.ok_or_else(not_found)?)?;
        let vars = if vars.is_empty() { refresh.vars } else { vars };
        Ok(self.pair(refresh.token_id, login.user_id, login.username, vars, refresh.issued_at_sec, now))
    }

    fn pair(
        &self,
        token_id: TokenId,
        user_id: UserId,
        username: String,
        vars: Vars,
        issued_at_sec: i64,
        now: Timestamp,
    ) -> Issued {
        let now_sec = now.seconds();
        let expires_at_sec = now_sec.saturating_add(self.token_life_sec);
        Issued {
            claims: Claims { token_id, user_id, username, vars, issued_at_sec, expires_at_sec },
            refresh_expires_at_sec: now_sec.saturating_add(self.refresh_life_sec),
        }
    }

    /// Voids the user's tokens older than the one just issued, if sessions are single. Open sockets stay.
    pub async fn keep_single(
        &self,
        store: &dyn Store,
        revocations: &Revocations,
        clock: &dyn Clock,
        issued: &Issued,
        moment: Timestamp,
    ) -> Result<()> {
        if !self.single_session {
            return Ok(());
        }
        let row = Revocation {
            subject: Subject::from(issued.claims.user_id),
            tokens: RevokedTokens::AllBut(Some(issued.claims.token_id)),
            revoked_at: moment,
            expires_at: self.revocation_end(clock.now()),
            reason: RevocationReason::NewerSignIn,
        };
        revocations.revoke(store, clock, &[row]).await
    }

    /// Ends sessions of `caller`: those of the tokens given, or with neither all up to now. Answers when this
    /// process refuses them.
    ///
    /// Errors: `InvalidArgument` for a token of somebody else.
    pub async fn logout(
        &self,
        store: &dyn Store,
        revocations: &Revocations,
        clock: &dyn Clock,
        caller: UserId,
        tokens: &[Claims],
    ) -> Result<()> {
        if tokens.iter().any(|token| token.user_id != caller) {
            return Err(Error::invalid("The token belongs to another user."));
        }
        let (subject, reason) = (Subject::from(caller), RevocationReason::SignedOut);
        if tokens.is_empty() || revocations.tokens_of(&subject) >= REVOKED_TOKENS_PER_USER_MAX {
            let row = self.all_up_to_now(revocations, clock, caller, reason);
            return revocations.revoke(store, clock, &[row]).await;
        }
        let mut rows: Vec<Revocation> = Vec::with_capacity(tokens.len());
        let revoked_at = revocations.moment(clock.now());
        for token in tokens {
            let expires_at = self.revocation_end(clock.now()).max(Timestamp::from_seconds(token.expires_at_sec));
            let tokens = RevokedTokens::Token(token.token_id);
            match rows.iter_mut().find(|row| row.tokens == tokens) {
                Some(row) => row.expires_at = row.expires_at.max(expires_at),
                None => rows.push(Revocation { subject, tokens, revoked_at, expires_at, reason }),
            }
        }
        revocations.revoke(store, clock, &rows).await
    }

    /// The revocation of all tokens of a user up to now.
    pub(crate) fn all_up_to_now(
        &self,
        revocations: &Revocations,
        clock: &dyn Clock,
        user_id: UserId,
        reason: RevocationReason,
    ) -> Revocation {
        let now = clock.now();
        Revocation {
            subject: Subject::from(user_id),
            tokens: RevokedTokens::AllBut(None),
            revoked_at: revocations.moment(now),
            expires_at: self.revocation_end(now),
            reason,
        }
    }

    /// When the last token that can exist now has expired.
    fn revocation_end(&self, now: Timestamp) -> Timestamp {
        now.plus_seconds(self.token_life_sec.max(self.refresh_life_sec).saturating_add(REVOCATION_MARGIN_SEC))
    }
}

impl TokenId {
    /// An id that holds the moment of its issue to the microsecond.
    pub fn issued(moment: Timestamp, random: [u8; 8]) -> Self {
        Self(time_ordered(moment, random))
    }

    /// The moment of issue, if the id holds one. Ids of the original, random ones, do not.
    pub fn moment(self) -> Option<Timestamp> {
        if self.0.get_version_num() != 7 || self.0.get_variant() != Variant::RFC4122 {
            return None;
        }
        let (high, _) = self.0.as_u64_pair();
        let micros = (high & 0x0fff) * 1000 / 4096;
        // 48 bits of milliseconds times a thousand fit easily.
        Some(Timestamp(((high >> 16) * 1000 + micros) as i64))
    }
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

    #[test]
    fn a_token_id_holds_its_microsecond() {
        for moment in [0, 1, 999, 1000, 1_700_000_000_123_456, 1_700_000_000_123_457, 1_700_000_000_999_999] {
            let id = TokenId::issued(Timestamp(moment), [0xff; 8]);
            assert_eq!(id.moment(), Some(Timestamp(moment)));
            assert_eq!((id.0.get_version_num(), id.0.get_variant()), (7, Variant::RFC4122));
        }
        let id = TokenId::issued(Timestamp::from_seconds(1_700_000_000), [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(id.to_string(), "018bcfe5-6800-7000-8040-80c101418 1c2".replace(' ', ""));
    }

    #[test]
    fn every_microsecond_of_a_millisecond_survives() {
        for micro in 0..1000 {
            let moment = Timestamp(1_700_000_000_000_000 + micro);
            assert_eq!(TokenId::issued(moment, [0; 8]).moment(), Some(moment));
        }
    }

    #[test]
    fn ids_of_other_versions_hold_no_moment() {
        for id in ["7c9e6679-7425-40de-944b-e07fc1f90ae7", "00000000-0000-0000-0000-000000000000"] {
            assert_eq!(id.parse::<TokenId>().unwrap().moment(), None);
        }
    }
}
