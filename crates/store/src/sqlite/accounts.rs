//! Accounts on SQLite. Deletion and export have files of their own.

use muster_domain::UserId;
use muster_domain::limits::DEVICES_MAX;
use muster_domain::ports::PortFuture;
use muster_domain::ports::accounts::{
    Account, AccountExport, AccountStore, AccountUpdate, Identifier, Login, NewAccount, PasswordLogin, Unlink, User,
    UserQuery,
};
use muster_domain::ports::revocations::Revocation;
use muster_domain::ports::store::{Conflict, Rejection, StoreError};
use muster_domain::quotas::Quota;
use muster_domain::time::Timestamp;
use rusqlite::{Connection, Row};

use super::error::translate;
use super::sql::{Result, execute, exists, one, statement};
use super::{SqliteStore, deletion, export, revocations};
use crate::limits;

const LOGIN_BY_DEVICE: &str = "SELECT u.id, u.username, u.disable_time FROM user_device d \
                               JOIN users u ON u.id = d.user_id WHERE d.id = ?1";
const LOGIN_BY_CUSTOM: &str = "SELECT id, username, disable_time FROM users WHERE custom_id = ?1";
const LOGIN_BY_ID: &str = "SELECT id, username, disable_time FROM users WHERE id = ?1";
const LOGIN_BY_EMAIL: &str = "SELECT id, username, disable_time, password FROM users WHERE email = ?1";
const LOGIN_BY_USERNAME: &str = "SELECT id, username, disable_time, password FROM users WHERE username = ?1";
const INSERT_USER: &str = "INSERT INTO users (id, username, create_time, update_time) VALUES (?1, ?2, ?3, ?3)";
const INSERT_CUSTOM_USER: &str =
    "INSERT INTO users (id, username, create_time, update_time, custom_id) VALUES (?1, ?2, ?3, ?3, ?4)";
const INSERT_EMAIL_USER: &str =
    "INSERT INTO users (id, username, create_time, update_time, email, password) VALUES (?1, ?2, ?3, ?3, ?4, ?5)";
const INSERT_DEVICE: &str = "INSERT INTO user_device (id, user_id) VALUES (?1, ?2)";
/// The columns of a [`User`], from table `users`.
macro_rules! user_columns {
    () => {
        "id, username, display_name, avatar_url, lang_tag, location, timezone, metadata, facebook_id, \
         facebook_instant_game_id, google_id, gamecenter_id, steam_id, apple_id, edge_count, create_time, update_time"
    };
}
pub(super) use user_columns;

const USER_COLUMNS: &str = user_columns!();

/// Number of these columns.
pub(super) const USER_COLUMNS_LEN: usize = 17;
const USER_IDS: &str = "SELECT id FROM users WHERE id > ?1 ORDER BY id LIMIT ?2";
const LAST_USER_ID: &str = "SELECT id FROM users ORDER BY id DESC LIMIT 1";
/// The first condition is the one of the index, which holds banned accounts alone.
pub(crate) const BANNED_SINCE: &str =
    "SELECT id, disable_time FROM users WHERE disable_time <> 0 AND disable_time > ?1";
const UPDATE_ACCOUNT: &str = "UPDATE users SET \
     username = coalesce(?2, username), \
     display_name = CASE WHEN ?3 IS NULL THEN display_name ELSE nullif(?3, '') END, \
     avatar_url = CASE WHEN ?4 IS NULL THEN avatar_url ELSE nullif(?4, '') END, \
     lang_tag = coalesce(?5, lang_tag), \
     location = CASE WHEN ?6 IS NULL THEN location ELSE nullif(?6, '') END, \
     timezone = CASE WHEN ?7 IS NULL THEN timezone ELSE nullif(?7, '') END, \
     metadata = coalesce(?8, metadata), \
     update_time = ?9 WHERE id = ?1";
// These queries find another way to sign in to an account: a device other than ?2, or any identifier in a column other
// than the one to be cleared.
const OTHER_DEVICE: &str = "SELECT 1 FROM user_device WHERE user_id = ?1 AND id <> ?2 LIMIT 1";
const OTHER_THAN_DEVICE: &str = "SELECT 1 FROM users WHERE id = ?1 AND coalesce(custom_id, email, facebook_id, \
     google_id, gamecenter_id, steam_id, apple_id, facebook_instant_game_id) IS NOT NULL";
const OTHER_THAN_CUSTOM: &str = "SELECT 1 FROM users WHERE id = ?1 AND coalesce(email, facebook_id, \
     google_id, gamecenter_id, steam_id, apple_id, facebook_instant_game_id) IS NOT NULL";
const OTHER_THAN_EMAIL: &str = "SELECT 1 FROM users WHERE id = ?1 AND coalesce(custom_id, facebook_id, \
     google_id, gamecenter_id, steam_id, apple_id, facebook_instant_game_id) IS NOT NULL";

impl AccountStore for SqliteStore {
    fn login<'a>(
        &'a self,
        identifier: &'a Identifier,
        create: Option<&'a NewAccount>,
    ) -> PortFuture<'a, Option<Login>> {
        Box::pin(async move {
            limits::identifier(identifier)?;
            let found = match create {
                // Most sign-ins are of known players, and a read finds them without the wait for a sync.
                Some(_) if self.inner.newcomers.prevail() => None,
                _ => {
                    let wanted = identifier.clone();
                    self.read(move |connection| find(connection, &wanted)).await?
                }
            };
            let login = match (found, create) {
                (None, Some(create)) => {
                    limits::username(&create.username)?;
                    let (identifier, create) = (identifier.clone(), create.clone());
                    Some(self.write(move |connection| find_or_create(connection, &identifier, &create)).await?)
                }
                (found, _) => found,
            };
            if let (Some(login), Some(_)) = (&login, create) {
                self.inner.newcomers.note(login.created);
            }
            Ok(login)
        })
    }

    fn login_by_email<'a>(&'a self, email: &'a str) -> PortFuture<'a, Option<PasswordLogin>> {
        Box::pin(async move {
            let email = email.to_lowercase();
            self.read(move |connection| one(connection, LOGIN_BY_EMAIL, [&email], password_login)).await
        })
    }

    fn login_by_username<'a>(&'a self, username: &'a str) -> PortFuture<'a, Option<PasswordLogin>> {
        Box::pin(async move {
            let username = username.to_owned();
            self.read(move |connection| one(connection, LOGIN_BY_USERNAME, [&username], password_login)).await
        })
    }

    fn create_with_email<'a>(
        &'a self,
        account: &'a NewAccount,
        email: &'a str,
        password_hash: &'a [u8],
    ) -> PortFuture<'a, Login> {
        Box::pin(async move {
            limits::username(&account.username)?;
            limits::password_hash(password_hash)?;
            let (email, account, hash) = (limits::email(email)?, account.clone(), password_hash.to_vec());
            self.write(move |connection| {
                let values = (account.user_id.0, &account.username, account.now.0, &email, &hash);
                match execute(connection, INSERT_EMAIL_USER, values) {
                    Ok(_) => Ok(created(&account)),
                    // The username may be taken as well. The address decides, because the caller signs in with it.
                    Err(StoreError::Conflict(_)) if exists(connection, LOGIN_BY_EMAIL, [&email])? => {
                        Err(StoreError::Conflict(Conflict::Email))
                    }
                    Err(error) => Err(error),
                }
            })
            .await
        })
    }

    fn replace_password_hash<'a>(&'a self, user_id: UserId, old: &'a [u8], new: &'a [u8]) -> PortFuture<'a, ()> {
        Box::pin(async move {
            limits::password_hash(new)?;
            let (old, new) = (old.to_vec(), new.to_vec());
            self.write(move |connection| {
                let sql = "UPDATE users SET password = ?3 WHERE id = ?1 AND password = ?2";
                execute(connection, sql, (user_id.0, &old, &new)).map(|_| ())
            })
            .await
        })
    }

    fn login_by_id(&self, user_id: UserId) -> PortFuture<'_, Option<Login>> {
        Box::pin(self.read(move |connection| one(connection, LOGIN_BY_ID, [user_id.0], login)))
    }

    fn account(&self, user_id: UserId) -> PortFuture<'_, Option<Account>> {
        Box::pin(self.read(move |connection| account(connection, user_id)))
    }

    fn users<'a>(&'a self, query: &'a UserQuery) -> PortFuture<'a, Vec<User>> {
        Box::pin(async move {
            let query = query.clone();
            self.read(move |connection| users(connection, &query)).await
        })
    }

    fn user_ids(&self, behind: UserId, limit: u32) -> PortFuture<'_, Vec<UserId>> {
        Box::pin(self.read(move |connection| {
            let mut rows = statement(connection, USER_IDS)?;
            let rows = rows.query_map((behind.0, limit), |row| row.get(0).map(UserId)).map_err(translate)?;
            rows.collect::<rusqlite::Result<_>>().map_err(translate)
        }))
    }

    fn last_user_id(&self) -> PortFuture<'_, Option<UserId>> {
        Box::pin(self.read(move |connection| {
            let last = one(connection, LAST_USER_ID, (), |row| row.get(0).map(UserId))?;
            Ok(last.filter(|last| *last != UserId::SYSTEM))
        }))
    }

    fn banned_since(&self, since: Timestamp) -> PortFuture<'_, Vec<(UserId, Timestamp)>> {
        Box::pin(self.read(move |connection| {
            let mut rows = statement(connection, BANNED_SINCE)?;
            let banned = |row: &Row<'_>| Ok((UserId(row.get(0)?), Timestamp(row.get(1)?)));
            let rows = rows.query_map([since.0], banned).map_err(translate)?;
            rows.collect::<rusqlite::Result<_>>().map_err(translate)
        }))
    }

    fn update_account<'a>(
        &'a self,
        user_id: UserId,
        update: &'a AccountUpdate,
        now: Timestamp,
    ) -> PortFuture<'a, bool> {
        Box::pin(async move {
            limits::account_update(update)?;
            let update = update.clone();
            self.write(move |connection| self::update(connection, user_id, &update, now)).await
        })
    }

    fn link<'a>(&'a self, user_id: UserId, identifier: &'a Identifier, now: Timestamp) -> PortFuture<'a, bool> {
        Box::pin(async move {
            limits::identifier(identifier)?;
            let identifier = identifier.clone();
            let linked = self.write(move |connection| link(connection, user_id, &identifier, now)).await;
            linked.inspect_err(|error| self.metrics().count_refusal(error))
        })
    }

    fn link_email<'a>(
        &'a self,
        user_id: UserId,
        email: &'a str,
        password_hash: &'a [u8],
        now: Timestamp,
    ) -> PortFuture<'a, bool> {
        Box::pin(async move {
            limits::password_hash(password_hash)?;
            let (email, hash) = (limits::email(email)?, password_hash.to_vec());
            self.write(move |connection| {
                let sql = "UPDATE users SET email = ?2, password = ?3, update_time = ?4 WHERE id = ?1";
                execute(connection, sql, (user_id.0, &email, &hash, now.0)).map(|changed| changed > 0)
            })
            .await
        })
    }

    fn unlink<'a>(&'a self, user_id: UserId, identifier: &'a Unlink, now: Timestamp) -> PortFuture<'a, ()> {
        Box::pin(async move {
            limits::unlink(identifier)?;
            let identifier = identifier.clone();
            self.write(move |connection| unlink(connection, user_id, &identifier, now)).await
        })
    }

    fn set_disabled<'a>(
        &'a self,
        user_id: UserId,
        disabled_at: Option<Timestamp>,
        revocation: Option<&'a Revocation>,
    ) -> PortFuture<'a, bool> {
        let revocation = revocation.copied();
        Box::pin(self.write(move |connection| {
            if user_id == UserId::SYSTEM {
                return Ok(false);
            }
            let disable_time = disabled_at.unwrap_or(Timestamp::EPOCH).0;
            let sql = "UPDATE users SET disable_time = ?2 WHERE id = ?1";
            if execute(connection, sql, (user_id.0, disable_time))? == 0 {
                return Ok(false);
            }
            revocation.iter().try_for_each(|revocation| revocations::insert(connection, revocation))?;
            Ok(true)
        }))
    }

    fn delete_account<'a>(
        &'a self,
        user_id: UserId,
        recorded: bool,
        revocation: &'a Revocation,
        now: Timestamp,
    ) -> PortFuture<'a, bool> {
        let revocation = *revocation;
        Box::pin(self.write(move |connection| {
            let deleted = deletion::delete_account(connection, user_id, recorded, now)?;
            if deleted {
                revocations::insert(connection, &revocation)?;
            }
            Ok(deleted)
        }))
    }

    fn export_account(&self, user_id: UserId) -> PortFuture<'_, Option<AccountExport>> {
        Box::pin(self.read(move |connection| export::export_account(connection, user_id)))
    }
}

/// Changes the given fields. Answers whether the account exists.
pub(super) fn update(connection: &Connection, user_id: UserId, update: &AccountUpdate, now: Timestamp) -> Result<bool> {
    let values = (
        user_id.0,
        &update.username,
        &update.display_name,
        &update.avatar_url,
        &update.lang_tag,
        &update.location,
        &update.timezone,
        &update.metadata,
        now.0,
    );
    execute(connection, UPDATE_ACCOUNT, values).map(|changed| changed > 0)
}

fn find(connection: &Connection, identifier: &Identifier) -> Result<Option<Login>> {
    match identifier {
        Identifier::Device(id) => one(connection, LOGIN_BY_DEVICE, [id], login),
        Identifier::Custom(id) => one(connection, LOGIN_BY_CUSTOM, [id], login),
    }
}

fn find_or_create(connection: &Connection, identifier: &Identifier, create: &NewAccount) -> Result<Login> {
    // Another sign-in may have created the account after the reader's look, and no reader looks while newcomers
    // prevail.
    if let Some(found) = find(connection, identifier)? {
        return Ok(found);
    }
    let (user_id, username, now) = (create.user_id.0, &create.username, create.now.0);
    match identifier {
        Identifier::Device(id) => {
            execute(connection, INSERT_USER, (user_id, username, now))?;
            execute(connection, INSERT_DEVICE, (id, user_id))?;
        }
        Identifier::Custom(id) => {
            execute(connection, INSERT_CUSTOM_USER, (user_id, username, now, id))?;
        }
    }
    Ok(created(create))
}

fn created(account: &NewAccount) -> Login {
    Login { user_id: account.user_id, username: account.username.clone(), disabled: false, created: true }
}

fn link(connection: &Connection, user_id: UserId, identifier: &Identifier, now: Timestamp) -> Result<bool> {
    if !exists(connection, LOGIN_BY_ID, [user_id.0])? {
        return Ok(false);
    }
    let (owner, taken) = match identifier {
        Identifier::Device(_) => (find(connection, identifier)?, Conflict::Device),
        Identifier::Custom(_) => (find(connection, identifier)?, Conflict::Custom),
    };
    match (owner, identifier) {
        (Some(owner), _) if owner.user_id == user_id => return Ok(true),
        (Some(_), _) => return Err(StoreError::Conflict(taken)),
        (None, Identifier::Device(id)) => {
            let sql = "SELECT count(*) FROM (SELECT 1 FROM user_device WHERE user_id = ?1 LIMIT ?2)";
            if one(connection, sql, (user_id.0, DEVICES_MAX), |row| row.get(0))? >= Some(DEVICES_MAX) {
                return Err(StoreError::Exceeded(Quota::Devices));
            }
            execute(connection, INSERT_DEVICE, (id, user_id.0))?;
            execute(connection, "UPDATE users SET update_time = ?2 WHERE id = ?1", (user_id.0, now.0))?;
        }
        (None, Identifier::Custom(id)) => {
            let sql = "UPDATE users SET custom_id = ?2, update_time = ?3 WHERE id = ?1";
            execute(connection, sql, (user_id.0, id, now.0))?;
        }
    }
    Ok(true)
}

fn unlink(connection: &Connection, user_id: UserId, identifier: &Unlink, now: Timestamp) -> Result<()> {
    let id = user_id.0;
    let (linked, others) = match identifier {
        Unlink::Device(device) => (
            exists(connection, "SELECT 1 FROM user_device WHERE id = ?1 AND user_id = ?2", (device, id))?,
            exists(connection, OTHER_DEVICE, (id, device))? || exists(connection, OTHER_THAN_DEVICE, [id])?,
        ),
        Unlink::Custom(custom) => (
            exists(connection, "SELECT 1 FROM users WHERE id = ?1 AND (?2 = '' OR custom_id = ?2)", (id, custom))?,
            exists(connection, OTHER_DEVICE, (id, ""))? || exists(connection, OTHER_THAN_CUSTOM, [id])?,
        ),
        Unlink::Email(email) => (
            exists(
                connection,
                "SELECT 1 FROM users WHERE id = ?1 AND (?2 = '' OR email = ?2)",
                (id, email.to_lowercase()),
            )?,
            exists(connection, OTHER_DEVICE, (id, ""))? || exists(connection, OTHER_THAN_EMAIL, [id])?,
        ),
    };
    if !linked {
        return Err(StoreError::Rejected(Rejection::NotLinked));
    }
    if !others {
        return Err(StoreError::Rejected(Rejection::LastIdentifier));
    }
    let change = match identifier {
        Unlink::Device(device) => {
            execute(connection, "DELETE FROM user_device WHERE id = ?1", [device])?;
            "UPDATE users SET update_time = ?2 WHERE id = ?1"
        }
        Unlink::Custom(_) => "UPDATE users SET custom_id = NULL, update_time = ?2 WHERE id = ?1",
        Unlink::Email(_) => "UPDATE users SET email = NULL, password = NULL, update_time = ?2 WHERE id = ?1",
    };
    execute(connection, change, (id, now.0)).map(|_| ())
}

fn account(connection: &Connection, user_id: UserId) -> Result<Option<Account>> {
    let sql =
        format!("SELECT {USER_COLUMNS}, wallet, email, custom_id, verify_time, disable_time FROM users WHERE id = ?1");
    let found = one(connection, &sql, [user_id.0], |row| {
        Ok(Account {
            user: user(row)?,
            wallet: row.get(17)?,
            email: text(row, 18)?,
            custom_id: text(row, 19)?,
            devices: Vec::new(),
            verify_time: Timestamp(row.get(20)?),
            disable_time: Timestamp(row.get(21)?),
        })
    })?;
    let Some(mut account) = found else { return Ok(None) };
    let mut devices = statement(connection, "SELECT id FROM user_device WHERE user_id = ?1 ORDER BY id")?;
    let rows = devices.query_map([user_id.0], |row| row.get(0)).map_err(translate)?;
    account.devices = rows.collect::<rusqlite::Result<_>>().map_err(translate)?;
    Ok(Some(account))
}

fn users(connection: &Connection, query: &UserQuery) -> Result<Vec<User>> {
    let mut found: Vec<User> = Vec::new();
    let mut add = |user: Option<User>| {
        if let Some(user) = user
            && found.iter().all(|known| known.id != user.id)
        {
            found.push(user);
        }
    };
    let by = |column: &str| format!("SELECT {USER_COLUMNS} FROM users WHERE {column} = ?1");
    let (by_id, by_username, by_facebook_id) = (by("id"), by("username"), by("facebook_id"));
    for id in query.ids.iter().filter(|id| **id != UserId::SYSTEM) {
        add(one(connection, &by_id, [id.0], user)?);
    }
    for username in query.usernames.iter().filter(|username| !username.is_empty()) {
        add(one(connection, &by_username, [username], user)?);
    }
    for facebook_id in &query.facebook_ids {
        add(one(connection, &by_facebook_id, [facebook_id], user)?);
    }
    Ok(found)
}

/// Reads a user from the columns of [`USER_COLUMNS`].
pub(super) fn user(row: &Row<'_>) -> rusqlite::Result<User> {
    Ok(User {
        id: Some(UserId(row.get(0)?)),
        username: row.get(1)?,
        display_name: text(row, 2)?,
        avatar_url: text(row, 3)?,
        lang_tag: row.get(4)?,
        location: text(row, 5)?,
        timezone: text(row, 6)?,
        metadata: row.get(7)?,
        facebook_id: text(row, 8)?,
        facebook_instant_game_id: text(row, 9)?,
        google_id: text(row, 10)?,
        gamecenter_id: text(row, 11)?,
        steam_id: text(row, 12)?,
        apple_id: text(row, 13)?,
        edge_count: row.get(14)?,
        create_time: Timestamp(row.get(15)?),
        update_time: Timestamp(row.get(16)?),
    })
}

fn text(row: &Row<'_>, column: usize) -> rusqlite::Result<String> {
    Ok(row.get::<_, Option<String>>(column)?.unwrap_or_default())
}

fn login(row: &Row<'_>) -> rusqlite::Result<Login> {
    let disable_time: i64 = row.get(2)?;
    Ok(Login {
        user_id: UserId(row.get(0)?),
        username: row.get(1)?,
        disabled: disable_time != Timestamp::EPOCH.0,
        created: false,
    })
}

fn password_login(row: &Row<'_>) -> rusqlite::Result<PasswordLogin> {
    Ok(PasswordLogin { login: login(row)?, password_hash: row.get(3)? })
}
