//! Accounts as their owners, other players and the studio see them: read, change, look up, ban, export, delete.

use crate::error::{Error, Result};
use crate::identifiers::check_username;
pub use crate::ids::parse_user_id;
use crate::ids::{UserId, Uuid};
use crate::json;
use crate::limits::{
    AVATAR_URL_CHARS_MAX, DISPLAY_NAME_CHARS_MAX, LANG_TAG_CHARS_MAX, LOCATION_CHARS_MAX, RANDOM_USERS_MAX,
    RANDOM_USERS_PLACES, REVOCATIONS_AT_ONCE_MAX, TIMEZONE_CHARS_MAX,
};
use crate::ports::accounts::{Account, AccountExport, AccountUpdate, User, UserQuery};
use crate::ports::clock::{Clock, Entropy};
use crate::ports::revocations::{Revocation, RevocationReason};
use crate::ports::store::{Conflict, Store, StoreError};
use crate::refusals::{no_such_account, refuse_system};
use crate::revocations::Revocations;
use crate::sessions::SessionRules;
use crate::time::Timestamp;

/// The whole account.
pub async fn get(store: &dyn Store, user_id: UserId) -> Result<Account> {
    store.account(user_id).await?.ok_or_else(no_such_account)
}

/// Changes the given fields.
///
/// Errors: `InvalidArgument` without a field, for a value out of bounds or a taken user name; `NotFound` for an account
/// gone.
pub async fn update(store: &dyn Store, user_id: UserId, update: &AccountUpdate, now: Timestamp) -> Result<()> {
    refuse_system(user_id, "changed")?;
    check_update(update)?;
    match store.update_account(user_id, update, now).await {
        Ok(true) => Ok(()),
        Ok(false) => Err(no_such_account()),
        Err(StoreError::Conflict(Conflict::Username)) => Err(Error::invalid("The username is already in use.")),
        Err(other) => Err(other.into()),
    }
}

pub(crate) fn check_update(update: &AccountUpdate) -> Result<()> {
    if *update == AccountUpdate::default() {
        return Err(Error::invalid("At least one field to change is required."));
    }
    if let Some(username) = &update.username {
        check_username(username)?;
    }
    check_text("display name", update.display_name.as_deref(), DISPLAY_NAME_CHARS_MAX)?;
    check_text("avatar URL", update.avatar_url.as_deref(), AVATAR_URL_CHARS_MAX)?;
    check_text("language tag", update.lang_tag.as_deref(), LANG_TAG_CHARS_MAX)?;
    check_text("location", update.location.as_deref(), LOCATION_CHARS_MAX)?;
    check_text("timezone", update.timezone.as_deref(), TIMEZONE_CHARS_MAX)?;
    if let Some(metadata) = &update.metadata {
        json::check_object(metadata).map_err(|_| Error::invalid("The metadata must be a JSON object."))?;
    }
    Ok(())
}

fn check_text(what: &str, text: Option<&str>, chars_max: usize) -> Result<()> {
    let Some(text) = text else { return Ok(()) };
    if text.contains('\0') {
        return Err(Error::invalid(format!("The {what} must not contain null characters.")));
    }
    // A text of few bytes has few characters; only a long one is worth counting.
    if text.len() > chars_max && text.chars().count() > chars_max {
        return Err(Error::invalid(format!("The {what} must be at most {chars_max} characters long.")));
    }
    Ok(())
}

/// Public parts of accounts, each once. Unknown ones are left out.
///
/// Errors: `InvalidArgument` for an id that is no UUID or an empty name.
pub async fn users(
    store: &dyn Store,
    ids: &[String],
    usernames: Vec<String>,
    facebook_ids: Vec<String>,
) -> Result<Vec<User>> {
    if ids.is_empty() && usernames.is_empty() && facebook_ids.is_empty() {
        return Ok(Vec::new());
    }
    if usernames.iter().any(String::is_empty) {
        return Err(Error::invalid("A username must not be empty."));
    }
    if facebook_ids.iter().any(String::is_empty) {
        return Err(Error::invalid("A Facebook ID must not be empty."));
    }
    let ids = ids.iter().map(|id| parse_user_id(id)).collect::<Result<_>>()?;
    Ok(store.users(&UserQuery { ids, usernames, facebook_ids }).await?)
}

/// Public parts of accounts drawn at random, each once: all of them where there are no more.
///
/// Errors: `InvalidArgument` for a count out of 0 to 1,000.
pub async fn random(store: &dyn Store, entropy: &dyn Entropy, count: i32) -> Result<Vec<User>> {
    if !(0..=RANDOM_USERS_MAX).contains(&count) {
        return Err(Error::invalid(format!("The number of random users must be between 0 and {RANDOM_USERS_MAX}.")));
    }
    let count = count.unsigned_abs();
    let (first, last) = (store.user_ids(UserId::SYSTEM, 1).await?, store.last_user_id().await?);
    let (Some(first), Some(last)) = (first.first(), last) else { return Ok(Vec::new()) };
    if count == 0 {
        return Ok(Vec::new());
    }
    let (first, span) = (first.0.as_u128(), last.0.as_u128().saturating_sub(first.0.as_u128()));
    let draw = || {
        let mut bytes = [0; 16];
        entropy.fill(&mut bytes);
        u128::from_be_bytes(bytes)
    };
    // Neighbours were made one after the other, where ids are in order: a few from each of several places.
    let places = count.min(RANDOM_USERS_PLACES);
    let mut ids = Vec::new();
    for _ in 0..places {
        let start = first.saturating_add(draw() % span.saturating_add(1));
        let behind = UserId(Uuid::from_u128(start.saturating_sub(1)));
        ids.extend(store.user_ids(behind, count.div_ceil(places)).await?);
    }
    ids.sort_unstable();
    ids.dedup();
    if ids.len() < count as usize {
        ids.extend(store.user_ids(UserId::SYSTEM, count).await?);
        ids.sort_unstable();
        ids.dedup();
    }
    ids.sort_by_cached_key(|_| draw());
    ids.truncate(count as usize);
    Ok(store.users(&UserQuery { ids, ..UserQuery::default() }).await?)
}

/// Everything that ending accounts needs besides the store.
#[derive(Clone, Copy)]
pub struct AccountEnding<'a> {
    /// How long tokens live.
    pub sessions: &'a SessionRules,
    /// This process's copy of what is void.
    pub revocations: &'a Revocations,
    /// The time.
    pub clock: &'a dyn Clock,
}

impl AccountEnding<'_> {
    /// Removes an account and voids its tokens. Answers when this process refuses them. An account gone already
    /// is no error, so that a request whose answer was lost can be repeated.
    pub async fn delete(&self, store: &dyn Store, user_id: UserId, recorded: bool) -> Result<()> {
        refuse_system(user_id, "deleted")?;
        let revocation = self.all_up_to_now(user_id, RevocationReason::SignedOut);
        store.delete_account(user_id, recorded, &revocation, self.clock.now()).await?;
        self.void_late_sign_ins(store, user_id, RevocationReason::SignedOut).await
    }

    /// Bans an account: it cannot sign in, its tokens are void, its sockets are told and close. Answers whether it
    /// exists.
    pub async fn ban(&self, store: &dyn Store, user_id: UserId) -> Result<bool> {
        refuse_system(user_id, "banned")?;
        let revocation = self.all_up_to_now(user_id, RevocationReason::Banned);
        if !store.set_disabled(user_id, Some(self.clock.now()), Some(&revocation)).await? {
            return Ok(false);
        }
        self.void_late_sign_ins(store, user_id, RevocationReason::Banned).await?;
        Ok(true)
    }

    /// Voids the tokens of accounts that others banned: the original server on the same database, or an operator with
    /// SQL. Answers how many accounts these are. Bans older than the life of every token need nothing: nobody who is
    /// banned is issued a token. To be called at start, once the revocations have been read; calls of several servers
    /// do no harm.
    pub async fn void_bans_of_others(&self, store: &dyn Store) -> Result<usize> {
        let banned = store.banned_since(self.sessions.oldest_live(self.clock.now())).await?;
        let voided = |user_id: &UserId, banned_at| self.revocations.voids_all_up_to(&(*user_id).into(), banned_at);
        let fresh = banned.into_iter().filter(|(user_id, banned_at)| !voided(user_id, *banned_at));
        let rows: Vec<_> = fresh.map(|(user_id, _)| self.all_up_to_now(user_id, RevocationReason::Banned)).collect();
        for rows in rows.chunks(REVOCATIONS_AT_ONCE_MAX) {
            self.revocations.revoke(store, self.clock, rows).await?;
        }
        Ok(rows.len())
    }

    /// Voids the tokens once more. A sign-in that read the account just before it was banned or deleted may have
    /// taken its moment after that of the first revocation; it took it before this one.
    async fn void_late_sign_ins(&self, store: &dyn Store, user_id: UserId, reason: RevocationReason) -> Result<()> {
        let row = self.all_up_to_now(user_id, reason);
        self.revocations.revoke(store, self.clock, &[row]).await
    }

    fn all_up_to_now(&self, user_id: UserId, reason: RevocationReason) -> Revocation {
        self.sessions.all_up_to_now(self.revocations, self.clock, user_id, reason)
    }
}

/// Lifts a ban; answers whether the account exists. Tokens voided by the ban stay void.
pub async fn unban(store: &dyn Store, user_id: UserId) -> Result<bool> {
    Ok(store.set_disabled(user_id, None, None).await?)
}

/// Everything stored of a player.
pub async fn export(store: &dyn Store, user_id: UserId) -> Result<AccountExport> {
    refuse_system(user_id, "exported")?;
    store.export_account(user_id).await?.ok_or_else(no_such_account)
}
