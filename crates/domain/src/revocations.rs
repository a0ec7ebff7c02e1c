//! The process's copy of which tokens are void, shared by all shards.
//!
//! Fed by the store's feed alone, never by the code path that wrote, so that every server of a database comes to
//! the same answer. Memory: about 100 bytes for each user with a live revocation, and 32 for each sign-in
//! revoked on its own, of which one user has at most [`crate::limits::REVOKED_TOKENS_PER_USER_MAX`] and a few;
//! entries go when the tokens they concern have expired.
//!
//! Locks: `feed` before `state`, neither held across an await. Reading takes `state` shared, and not even that
//! while nothing is revoked.
#![allow(clippy::disallowed_types, reason = "many shards read on every request; writing is rare and short")]

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::{Mutex, PoisonError, RwLock};

use crate::claims::Claims;
use crate::error::{Error, ErrorKind, Result};
use crate::ids::{Subject, TokenId};
use crate::limits::REVOCATION_OVERLAP_SEC;
use crate::ports::clock::Clock;
use crate::ports::revocations::{Revocation, RevocationReason, RevocationRow, RevocationStore, RevokedTokens};
use crate::time::Timestamp;

const SECONDS_PER_DAY: i64 = 86_400;

/// Told of each revocation once, when this process has applied it: to close open sockets.
pub type Observer = Box<dyn Fn(&Revocation) + Send + Sync>;

/// The tokens that are void. See the module.
pub struct Revocations {
    state: RwLock<HashMap<Subject, Entry>>,
    feed: Mutex<Feed>,
    any: AtomicBool,
    last_moment: AtomicI64,
    observer: Observer,
}

/// The revocations of one user.
#[derive(Debug, Default)]
struct Entry {
    /// All tokens up to a moment, but those of one sign-in.
    up_to: Option<UpTo>,
    /// Sign-ins revoked one by one.
    tokens: Vec<RevokedToken>,
}

/// A sign-in revoked on its own.
#[derive(Clone, Copy, Debug)]
struct RevokedToken {
    id: TokenId,
    reason: RevocationReason,
    expires_at: Timestamp,
}

#[derive(Clone, Copy, Debug)]
struct UpTo {
    moment: Timestamp,
    except: Option<TokenId>,
    reason: RevocationReason,
    expires_at: Timestamp,
}

/// Where reading the feed stands.
#[derive(Debug, Default)]
struct Feed {
    last_sequence: i64,
    /// Rows recent enough to be read again.
    seen: HashMap<i64, Timestamp>,
}

impl Revocations {
    /// Nothing is void until the feed is read: call [`Self::refresh`] before serving anyone.
    pub fn new(observer: Observer) -> Self {
        Self {
            state: RwLock::default(),
            feed: Mutex::default(),
            any: AtomicBool::new(false),
            last_moment: AtomicI64::new(i64::MIN),
            observer,
        }
    }

    /// A moment for a sign-in or a revocation: the present, or just after the last one given or seen. No two are
    /// equal in this process, so that «before» and «after» are exact even if the clock stands or goes back.
    pub fn moment(&self, now: Timestamp) -> Timestamp {
        let next = |last: i64| now.0.max(last.saturating_add(1));
        let last = self.last_moment.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |last| Some(next(last)));
        Timestamp(next(last.unwrap_or_else(|last| last)))
    }

    /// Whether a token with these claims is void.
    pub fn is_revoked(&self, claims: &Claims) -> bool {
        self.reason_of(claims).is_some()
    }

    /// Why a token with these claims is void, if it is.
    pub fn reason_of(&self, claims: &Claims) -> Option<RevocationReason> {
        if !self.any.load(Ordering::Acquire) {
            return None;
        }
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        state.get(&Subject::from(claims.user_id))?.reason_of(claims.token_id, claims.issued_at_sec)
    }

    /// Whether every token of a user that was issued up to a moment is void.
    pub fn voids_all_up_to(&self, subject: &Subject, moment: Timestamp) -> bool {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let up_to = state.get(subject).and_then(|entry| entry.up_to);
        up_to.is_some_and(|up_to| up_to.moment >= moment && up_to.except.is_none())
    }

    /// How many sign-ins of a user are revoked one by one.
    pub fn tokens_of(&self, subject: &Subject) -> usize {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        state.get(subject).map_or(0, |entry| entry.tokens.len())
    }

    /// How many users have live revocations, for metrics.
    pub fn len(&self) -> usize {
        self.state.read().unwrap_or_else(PoisonError::into_inner).len()
    }

    /// Whether nothing is void.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Stores revocations and answers once this process has applied them.
    pub async fn revoke(&self, store: &dyn RevocationStore, clock: &dyn Clock, rows: &[Revocation]) -> Result<()> {
        if rows.is_empty() {
            return Ok(());
        }
        store.revoke(rows).await?;
        self.catch_up(store, clock, rows).await
    }

    /// Reads the feed until it has shown these rows, which the store has acknowledged.
    async fn catch_up(&self, store: &dyn RevocationStore, clock: &dyn Clock, rows: &[Revocation]) -> Result<()> {
        let hold = || rows.iter().all(|row| self.holds(row));
        // Only what is new: when every sign-in revokes, reading seconds' worth each time would cost more than
        // signing in.
        if !hold() {
            self.read_feed(store, clock, clock.now().plus_seconds(SECONDS_PER_DAY)).await?;
        }
        // A row may have a lower place than one that was read before it became visible.
        if !hold() {
            self.refresh(store, clock).await?;
        }
        if hold() {
            return Ok(());
        }
        Err(Error::new(ErrorKind::Unavailable, "The database did not show the change yet. Please try again."))
    }

    /// Reads what is new in the feed, applies it and tells the observer; answers how many rows were new. To be
    /// called once before serving and then about every second, for what other servers revoke.
    pub async fn refresh(&self, store: &dyn RevocationStore, clock: &dyn Clock) -> Result<usize> {
        let since = clock.now().plus_seconds(-REVOCATION_OVERLAP_SEC);
        let fresh = self.read_feed(store, clock, since).await?;
        self.feed.lock().unwrap_or_else(PoisonError::into_inner).seen.retain(|_, revoked_at| *revoked_at > since);
        Ok(fresh)
    }

    /// Applies the rows that are new by their place, or revoked after `since`; answers how many were new.
    async fn read_feed(&self, store: &dyn RevocationStore, clock: &dyn Clock, since: Timestamp) -> Result<usize> {
        let sequence = self.feed.lock().unwrap_or_else(PoisonError::into_inner).last_sequence;
        let rows = store.revocations_after(sequence, since).await?;
        let now = clock.now();
        Ok(rows.iter().filter(|row| self.apply(row, now)).count())
    }

    /// Applies a row of the feed; answers whether it was new. Applying one twice changes nothing.
    fn apply(&self, row: &RevocationRow, now: Timestamp) -> bool {
        let revocation = &row.revocation;
        let mut feed = self.feed.lock().unwrap_or_else(PoisonError::into_inner);
        if revocation.expires_at > now {
            self.last_moment.fetch_max(revocation.revoked_at.0, Ordering::Relaxed);
            let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
            state.entry(revocation.subject).or_default().apply(revocation);
            self.any.store(true, Ordering::Release);
        }
        feed.last_sequence = feed.last_sequence.max(row.sequence);
        let is_new = feed.seen.insert(row.sequence, revocation.revoked_at).is_none();
        drop(feed);
        if is_new {
            (self.observer)(revocation);
        }
        is_new
    }

    /// Forgets what has expired.
    pub fn prune(&self, clock: &dyn Clock) {
        let now = clock.now();
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        state.retain(|_, entry| entry.prune(now));
        self.any.store(!state.is_empty(), Ordering::Release);
    }

    fn holds(&self, row: &Revocation) -> bool {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        let Some(entry) = state.get(&row.subject) else { return false };
        match row.tokens {
            RevokedTokens::Token(token_id) => entry.reason_of(token_id, i64::MAX).is_some(),
            RevokedTokens::AllBut(_) => entry.up_to.is_some_and(|up_to| up_to.moment >= row.revoked_at),
        }
    }
}

impl Entry {
    fn reason_of(&self, token_id: TokenId, issued_at_sec: i64) -> Option<RevocationReason> {
        let covers = |up_to: &UpTo| up_to.except != Some(token_id) && issued(token_id, issued_at_sec) <= up_to.moment;
        let by_moment = self.up_to.filter(covers).map(|up_to| up_to.reason);
        by_moment.or_else(|| self.tokens.iter().find(|token| token.id == token_id).map(|token| token.reason))
    }

    fn apply(&mut self, revocation: &Revocation) {
        let Revocation { reason, expires_at, .. } = *revocation;
        match revocation.tokens {
            RevokedTokens::Token(id) => match self.tokens.iter_mut().find(|token| token.id == id) {
                Some(token) => token.expires_at = token.expires_at.max(expires_at),
                None => self.tokens.push(RevokedToken { id, reason, expires_at }),
            },
            RevokedTokens::AllBut(except) => {
                let new = UpTo { moment: revocation.revoked_at, except, reason, expires_at };
                self.up_to = Some(self.up_to.map_or(new, |old| old.and(new)));
            }
        }
        // A token that the moment covers need not be listed.
        if let Some(up_to) = self.up_to {
            let covered = |token_id: TokenId| {
                up_to.except != Some(token_id) && token_id.moment().is_some_and(|issued| issued <= up_to.moment)
            };
            self.tokens.retain(|token| !covered(token.id));
        }
    }

    /// Drops what has expired; answers whether anything is left.
    fn prune(&mut self, now: Timestamp) -> bool {
        self.up_to = self.up_to.filter(|up_to| up_to.expires_at > now);
        self.tokens.retain(|token| token.expires_at > now);
        self.up_to.is_some() || !self.tokens.is_empty()
    }
}

impl UpTo {
    /// Both at once: the later moment covers all that the earlier one does, and its exception holds only if the
    /// earlier one does not void it. The later one's reason stands for both. The order of the two does not matter.
    fn and(self, other: UpTo) -> UpTo {
        let (later, earlier) = if self.moment >= other.moment { (self, other) } else { (other, self) };
        let spared = |token_id: &TokenId| {
            earlier.except == Some(*token_id) || token_id.moment().is_none_or(|issued| issued > earlier.moment)
        };
        UpTo {
            moment: later.moment,
            except: later.except.filter(spared),
            reason: later.reason,
            expires_at: later.expires_at.max(earlier.expires_at),
        }
    }
}

/// When a token was issued: by its id, else by its claim, which knows only the second.
fn issued(token_id: TokenId, issued_at_sec: i64) -> Timestamp {
    token_id.moment().unwrap_or_else(|| Timestamp::from_seconds(issued_at_sec))
}

impl Revocation {
    /// Whether it concerns a token of its subject.
    pub fn voids(&self, token_id: TokenId, issued_at_sec: i64) -> bool {
        match self.tokens {
            RevokedTokens::Token(revoked) => revoked == token_id,
            RevokedTokens::AllBut(except) => {
                except != Some(token_id) && issued(token_id, issued_at_sec) <= self.revoked_at
            }
        }
    }
}

#[cfg(test)]
mod tests;
