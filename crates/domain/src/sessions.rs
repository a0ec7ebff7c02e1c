//! Sessions as data: issuing, refreshing, ending. Signing and reading tokens is the wire's.
//!
//! Times in claims are whole seconds, as clients read them; what decides whether a token was issued before a
//! logout is the exact moment inside its id.

pub use crate::claims::{Claims, Vars, check_vars};
use crate::error::{Error, ErrorKind, Result};
use crate::ids::{Subject, TokenId, UserId};
use crate::limits::{REVOCATION_MARGIN_SEC, REVOKED_TOKENS_PER_USER_MAX};
use crate::ports::clock::{Clock, Entropy};
use crate::ports::revocations::{Revocation, RevocationReason, RevokedTokens};
use crate::ports::store::Store;
use crate::refusals::{admit, no_such_account};
use crate::revocations::Revocations;
use crate::time::Timestamp;

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
        let login = admit(store.login_by_id(refresh.user_id).await?.ok_or_else(no_such_account)?)?;
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

    /// Voids the user's tokens older than the one just issued, if sessions are single, and closes the sockets that they
    /// opened.
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

    /// When the oldest token that can be live now was issued.
    pub(crate) fn oldest_live(&self, now: Timestamp) -> Timestamp {
        let life_sec = self.revocation_end(now).seconds().saturating_sub(now.seconds());
        now.plus_seconds(life_sec.saturating_neg())
    }

    /// When the last token that can exist now has expired.
    fn revocation_end(&self, now: Timestamp) -> Timestamp {
        now.plus_seconds(self.token_life_sec.max(self.refresh_life_sec).saturating_add(REVOCATION_MARGIN_SEC))
    }
}
