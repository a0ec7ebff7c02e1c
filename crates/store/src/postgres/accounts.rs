//! Accounts on PostgreSQL. Sign-in and sign-up are one statement each. Deletion and export have files of their own.

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
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::fault::{Fault, conflict, is_missing_owner, translate};
use super::pool::PooledConnection;
use super::values::Moment;
use super::{PostgresStore, deletion, export, revocations};
use crate::limits;

type PgResult<T> = Result<T, tokio_postgres::Error>;

/// The columns of a [`Login`], from table `u`.
macro_rules! login_columns {
    () => {
        "u.id, u.username, u.disable_time <> '1970-01-01 00:00:00+00'"
    };
}

/// The columns of a [`User`], from table `users`.
macro_rules! user_columns {
    () => {
        "id, username, display_name, avatar_url, lang_tag, location, timezone, metadata::text, facebook_id, \
         facebook_instant_game_id, google_id, gamecenter_id, steam_id, apple_id, edge_count, create_time, update_time"
    };
}
pub(super) use user_columns;

/// Number of these columns.
pub(super) const USER_COLUMNS_LEN: usize = 17;

const LOGIN_BY_DEVICE: &str =
    concat!("SELECT ", login_columns!(), ", false FROM user_device d JOIN users u ON u.id = d.user_id WHERE d.id = $1");
const LOGIN_BY_CUSTOM: &str = concat!("SELECT ", login_columns!(), ", false FROM users u WHERE custom_id = $1");
const LOGIN_BY_ID: &str = concat!("SELECT ", login_columns!(), ", false FROM users u WHERE id = $1");
const LOGIN_BY_EMAIL: &str = concat!("SELECT ", login_columns!(), ", false, password FROM users u WHERE email = $1");
const LOGIN_BY_USERNAME: &str =
    concat!("SELECT ", login_columns!(), ", false, password FROM users u WHERE username = $1");

const FIND_OR_CREATE_BY_DEVICE: &str = concat!(
    "WITH found AS (SELECT u.* FROM user_device d JOIN users u ON u.id = d.user_id WHERE d.id = $1), \
     made AS (INSERT INTO users (id, username, create_time, update_time) \
         SELECT $2, $3, $4, $4 WHERE NOT EXISTS (SELECT 1 FROM found) RETURNING *), \
     linked AS (INSERT INTO user_device (id, user_id) SELECT $1, id FROM made) \
     SELECT ",
    login_columns!(),
    ", false FROM found u UNION ALL SELECT ",
    login_columns!(),
    ", true FROM made u"
);
const FIND_OR_CREATE_BY_CUSTOM: &str = concat!(
    "WITH found AS (SELECT * FROM users WHERE custom_id = $1), \
     made AS (INSERT INTO users (id, username, create_time, update_time, custom_id) \
         SELECT $2, $3, $4, $4, $1 WHERE NOT EXISTS (SELECT 1 FROM found) RETURNING *) \
     SELECT ",
    login_columns!(),
    ", false FROM found u UNION ALL SELECT ",
    login_columns!(),
    ", true FROM made u"
);
const CREATE_WITH_EMAIL: &str = "INSERT INTO users (id, username, create_time, update_time, email, password) \
     VALUES ($1, $2, $3, $3, $4, $5)";
const ACCOUNT: &str = concat!(
    "SELECT ",
    user_columns!(),
    ", wallet::text, email, custom_id, verify_time, disable_time, \
     ARRAY(SELECT d.id FROM user_device d WHERE d.user_id = u.id ORDER BY d.id COLLATE \"C\") \
     FROM users u WHERE id = $1"
);
const USERS: &str = concat!(
    "SELECT ",
    user_columns!(),
    " FROM users WHERE id <> '00000000-0000-0000-0000-000000000000' \
     AND (id = ANY($1) OR username = ANY($2) OR facebook_id = ANY($3))"
);
const USER_IDS: &str = "SELECT id FROM users WHERE id > $1 ORDER BY id LIMIT $2";
const LAST_USER_ID: &str = "SELECT id FROM users ORDER BY id DESC LIMIT 1";
/// The original has no index for this search, and its tables are not ours to change: the whole table is read once.
pub(crate) const BANNED_SINCE: &str = "SELECT id, disable_time FROM users WHERE disable_time > $1";
pub(super) const UPDATE_ACCOUNT: &str = "UPDATE users SET \
     username = coalesce($2::text, username), \
     display_name = CASE WHEN $3::text IS NULL THEN display_name ELSE nullif($3::text, '') END, \
     avatar_url = CASE WHEN $4::text IS NULL THEN avatar_url ELSE nullif($4::text, '') END, \
     lang_tag = coalesce($5::text, lang_tag), \
     location = CASE WHEN $6::text IS NULL THEN location ELSE nullif($6::text, '') END, \
     timezone = CASE WHEN $7::text IS NULL THEN timezone ELSE nullif($7::text, '') END, \
     metadata = coalesce($8::text::jsonb, metadata), \
     update_time = $9 WHERE id = $1 RETURNING 1";

/// Answers whether the account exists, whether the device was added, and the user who had the device before, if any.
/// In this statement $4 is the most devices of an account. Requests that come at the same time may link a few more.
const LINK_DEVICE: &str = "WITH account AS (SELECT id FROM users WHERE id = $1), \
     room AS (SELECT count(*) < $4 AS is_there \
         FROM (SELECT 1 FROM user_device WHERE user_id = $1 LIMIT $4) AS linked), \
     added AS (INSERT INTO user_device (id, user_id) SELECT $2, id FROM account WHERE (SELECT is_there FROM room) \
         ON CONFLICT (id) DO NOTHING RETURNING user_id), \
     touched AS (UPDATE users SET update_time = $3 WHERE id IN (SELECT user_id FROM added)) \
     SELECT EXISTS (SELECT 1 FROM account), EXISTS (SELECT 1 FROM added), \
         (SELECT user_id FROM user_device WHERE id = $2), (SELECT is_there FROM room)";
const LINK_CUSTOM: &str = "WITH changed AS (UPDATE users SET custom_id = $2, update_time = $3 \
         WHERE id = $1 AND custom_id IS DISTINCT FROM $2 RETURNING 1) \
     SELECT EXISTS (SELECT 1 FROM users WHERE id = $1) OR EXISTS (SELECT 1 FROM changed)";
const LINK_EMAIL: &str = "UPDATE users SET email = $2, password = $3, update_time = $4 WHERE id = $1 RETURNING 1";

/// Locks the account until the end of the transaction: of two concurrent unlinks the second sees the identifiers that
/// the first left.
const LOCK_ACCOUNT: &str = "SELECT 1 FROM users WHERE id = $1 FOR UPDATE";
// Each of these statements answers whether the identifier was linked, and whether another identifier leads to the
// account. Only if both are true is the identifier removed.
const UNLINK_DEVICE: &str = "WITH state AS (SELECT \
         EXISTS (SELECT 1 FROM user_device WHERE id = $2 AND user_id = $1) AS linked, \
         EXISTS (SELECT 1 FROM user_device WHERE user_id = $1 AND id <> $2) OR EXISTS (SELECT 1 FROM users \
             WHERE id = $1 AND coalesce(custom_id, email, facebook_id, google_id, gamecenter_id, steam_id, apple_id, \
             facebook_instant_game_id) IS NOT NULL) AS others), \
     gone AS (DELETE FROM user_device WHERE id = $2 AND user_id = $1 AND (SELECT linked AND others FROM state)), \
     touched AS (UPDATE users SET update_time = $3 WHERE id = $1 AND (SELECT linked AND others FROM state)) \
     SELECT linked, others FROM state";
const UNLINK_CUSTOM: &str = "WITH state AS (SELECT \
         EXISTS (SELECT 1 FROM users WHERE id = $1 AND ($2 = '' OR custom_id = $2)) AS linked, \
         EXISTS (SELECT 1 FROM user_device WHERE user_id = $1) OR EXISTS (SELECT 1 FROM users WHERE id = $1 \
             AND coalesce(email, facebook_id, google_id, gamecenter_id, steam_id, apple_id, \
             facebook_instant_game_id) IS NOT NULL) AS others), \
     gone AS (UPDATE users SET custom_id = NULL, update_time = $3 \
         WHERE id = $1 AND (SELECT linked AND others FROM state)) \
     SELECT linked, others FROM state";
const UNLINK_EMAIL: &str = "WITH state AS (SELECT \
         EXISTS (SELECT 1 FROM users WHERE id = $1 AND ($2 = '' OR email = $2)) AS linked, \
         EXISTS (SELECT 1 FROM user_device WHERE user_id = $1) OR EXISTS (SELECT 1 FROM users WHERE id = $1 \
             AND coalesce(custom_id, facebook_id, google_id, gamecenter_id, steam_id, apple_id, \
             facebook_instant_game_id) IS NOT NULL) AS others), \
     gone AS (UPDATE users SET email = NULL, password = NULL, update_time = $3 \
         WHERE id = $1 AND (SELECT linked AND others FROM state)) \
     SELECT linked, others FROM state";
const SET_DISABLED: &str = "UPDATE users SET disable_time = $2 WHERE id = $1 RETURNING 1";

impl AccountStore for PostgresStore {
    fn login<'a>(
        &'a self,
        identifier: &'a Identifier,
        create: Option<&'a NewAccount>,
    ) -> PortFuture<'a, Option<Login>> {
        Box::pin(async move {
            limits::identifier(identifier)?;
            match create {
                None => self.find(identifier).await,
                Some(create) => {
                    limits::username(&create.username)?;
                    self.find_or_create(identifier, create).await.map(Some)
                }
            }
        })
    }

    fn login_by_email<'a>(&'a self, email: &'a str) -> PortFuture<'a, Option<PasswordLogin>> {
        Box::pin(async move { self.query_one(LOGIN_BY_EMAIL, &[&email.to_lowercase()], password_login).await })
    }

    fn login_by_username<'a>(&'a self, username: &'a str) -> PortFuture<'a, Option<PasswordLogin>> {
        Box::pin(async move { self.query_one(LOGIN_BY_USERNAME, &[&username], password_login).await })
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
            let email = limits::email(email)?;
            let values: super::Values<'_> =
                &[&account.user_id.0, &account.username, &Moment(account.now), &email, &password_hash];
            match self.query(CREATE_WITH_EMAIL, values).await {
                Ok(_) => Ok(created(account)),
                // The username may be taken as well. The address decides, because the caller signs in with it.
                Err(StoreError::Conflict(_)) if self.login_by_email(&email).await?.is_some() => {
                    Err(StoreError::Conflict(Conflict::Email))
                }
                Err(error) => Err(error),
            }
        })
    }

    fn replace_password_hash<'a>(&'a self, user_id: UserId, old: &'a [u8], new: &'a [u8]) -> PortFuture<'a, ()> {
        Box::pin(async move {
            limits::password_hash(new)?;
            let sql = "UPDATE users SET password = $3 WHERE id = $1 AND password = $2";
            self.query(sql, &[&user_id.0, &old, &new]).await.map(|_| ())
        })
    }

    fn login_by_id(&self, user_id: UserId) -> PortFuture<'_, Option<Login>> {
        Box::pin(async move { self.query_one(LOGIN_BY_ID, &[&user_id.0], login).await })
    }

    fn account(&self, user_id: UserId) -> PortFuture<'_, Option<Account>> {
        Box::pin(async move { self.query_one(ACCOUNT, &[&user_id.0], account).await })
    }

    fn users<'a>(&'a self, query: &'a UserQuery) -> PortFuture<'a, Vec<User>> {
        Box::pin(async move {
            let ids: Vec<_> = query.ids.iter().map(|id| id.0).collect();
            let rows = self.query(USERS, &[&ids, &query.usernames, &query.facebook_ids]).await?;
            rows.iter().map(user).collect::<PgResult<_>>().map_err(|error| translate(&error))
        })
    }

    fn user_ids(&self, behind: UserId, limit: u32) -> PortFuture<'_, Vec<UserId>> {
        Box::pin(async move {
            let rows = self.query(USER_IDS, &[&behind.0, &i64::from(limit)]).await?;
            let id = |row: &Row| row.try_get(0).map(UserId);
            rows.iter().map(id).collect::<Result<_, _>>().map_err(|error| translate(&error))
        })
    }

    fn last_user_id(&self) -> PortFuture<'_, Option<UserId>> {
        Box::pin(async move {
            let last = self.query_one(LAST_USER_ID, &[], |row| row.try_get(0).map(UserId)).await?;
            Ok(last.filter(|last| *last != UserId::SYSTEM))
        })
    }

    fn banned_since(&self, since: Timestamp) -> PortFuture<'_, Vec<(UserId, Timestamp)>> {
        Box::pin(async move {
            let patient = async || {
                self.transaction(async |connection| connection.query_whole_table(BANNED_SINCE, &[&Moment(since)]).await)
                    .await
            };
            let rows = self.attempts(patient).await?;
            let banned = |row: &Row| Ok((UserId(row.try_get(0)?), row.try_get::<_, Moment>(1)?.0));
            rows.iter().map(banned).collect::<Result<_, _>>().map_err(|error| translate(&error))
        })
    }

    fn update_account<'a>(
        &'a self,
        user_id: UserId,
        update: &'a AccountUpdate,
        now: Timestamp,
    ) -> PortFuture<'a, bool> {
        Box::pin(async move {
            limits::account_update(update)?;
            let alone = async || self::update(&self.pool.shared().await?, user_id, update, now).await;
            self.attempts(alone).await
        })
    }

    fn link<'a>(&'a self, user_id: UserId, identifier: &'a Identifier, now: Timestamp) -> PortFuture<'a, bool> {
        Box::pin(async move {
            limits::identifier(identifier)?;
            match identifier {
                Identifier::Device(id) => {
                    let linked = self.attempts(async || self.link_device(user_id, id, now).await).await;
                    linked.inspect_err(|error| self.metrics().count_refusal(error))
                }
                Identifier::Custom(id) => {
                    let values: super::Values<'_> = &[&user_id.0, id, &Moment(now)];
                    let known = self.query_one(LINK_CUSTOM, values, |row| row.try_get(0)).await?;
                    Ok(known.unwrap_or(false))
                }
            }
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
            let email = limits::email(email)?;
            let rows = self.query(LINK_EMAIL, &[&user_id.0, &email, &password_hash, &Moment(now)]).await?;
            Ok(!rows.is_empty())
        })
    }

    fn unlink<'a>(&'a self, user_id: UserId, identifier: &'a Unlink, now: Timestamp) -> PortFuture<'a, ()> {
        Box::pin(async move {
            limits::unlink(identifier)?;
            let (sql, id) = match identifier {
                Unlink::Device(id) => (UNLINK_DEVICE, id.clone()),
                Unlink::Custom(id) => (UNLINK_CUSTOM, id.clone()),
                Unlink::Email(email) => (UNLINK_EMAIL, email.to_lowercase()),
            };
            self.attempts(async || {
                self.transaction(async |connection| {
                    connection.query(LOCK_ACCOUNT, &[&user_id.0]).await?;
                    let rows = connection.query(sql, &[&user_id.0, &id, &Moment(now)]).await?;
                    let Some(row) = rows.first() else { return Err(Fault::Overtaken) };
                    match (row.try_get(0)?, row.try_get(1)?) {
                        (true, true) => Ok(()),
                        (true, false) => Err(Fault::Rule(StoreError::Rejected(Rejection::LastIdentifier))),
                        (false, _) => Err(Fault::Rule(StoreError::Rejected(Rejection::NotLinked))),
                    }
                })
                .await
            })
            .await
        })
    }

    fn set_disabled<'a>(
        &'a self,
        user_id: UserId,
        disabled_at: Option<Timestamp>,
        revocation: Option<&'a Revocation>,
    ) -> PortFuture<'a, bool> {
        Box::pin(async move {
            if user_id == UserId::SYSTEM {
                return Ok(false);
            }
            let disable_time = Moment(disabled_at.unwrap_or(Timestamp::EPOCH));
            self.attempts(async || {
                self.transaction(async |connection| {
                    if connection.query(SET_DISABLED, &[&user_id.0, &disable_time]).await?.is_empty() {
                        return Ok(false);
                    }
                    if let Some(revocation) = revocation {
                        revocations::insert(connection, revocation).await?;
                    }
                    Ok(true)
                })
                .await
            })
            .await
        })
    }

    fn delete_account<'a>(
        &'a self,
        user_id: UserId,
        recorded: bool,
        revocation: &'a Revocation,
        now: Timestamp,
    ) -> PortFuture<'a, bool> {
        Box::pin(async move {
            self.attempts(async || {
                self.transaction(async |connection| {
                    let deleted = deletion::delete_account(connection, user_id, recorded, now).await?;
                    if deleted {
                        revocations::insert(connection, revocation).await?;
                    }
                    Ok(deleted)
                })
                .await
            })
            .await
        })
    }

    fn export_account(&self, user_id: UserId) -> PortFuture<'_, Option<AccountExport>> {
        Box::pin(export::export_account(self, user_id))
    }
}

impl PostgresStore {
    async fn find(&self, identifier: &Identifier) -> Result<Option<Login>, StoreError> {
        match identifier {
            Identifier::Device(id) => self.query_one(LOGIN_BY_DEVICE, &[id], login).await,
            Identifier::Custom(id) => self.query_one(LOGIN_BY_CUSTOM, &[id], login).await,
        }
    }

    async fn find_or_create(&self, identifier: &Identifier, create: &NewAccount) -> Result<Login, StoreError> {
        let (sql, id) = match identifier {
            Identifier::Device(id) => (FIND_OR_CREATE_BY_DEVICE, id),
            Identifier::Custom(id) => (FIND_OR_CREATE_BY_CUSTOM, id),
        };
        let values: [&(dyn ToSql + Sync); 4] = [id, &create.user_id.0, &create.username, &Moment(create.now)];
        self.attempts(async || match self.query_once(sql, &values).await {
            Ok(rows) => Ok(login(rows.first().ok_or(Fault::Overtaken)?)?),
            // A concurrent sign-up with the same identifier may have chosen the same username: then this is a sign-in.
            Err(Fault::Database(error)) if conflict(&error).is_some() => {
                self.find(identifier).await?.ok_or(Fault::Database(error))
            }
            Err(fault) => Err(fault),
        })
        .await
    }

    async fn link_device(&self, user_id: UserId, id: &str, now: Timestamp) -> Result<bool, Fault> {
        let rows = match self.query_once(LINK_DEVICE, &[&user_id.0, &id, &Moment(now), &i64::from(DEVICES_MAX)]).await {
            // The account was deleted while the statement ran.
            Err(Fault::Database(error)) if is_missing_owner(&error) => return Ok(false),
            rows => rows?,
        };
        let row = rows.first().ok_or(Fault::Overtaken)?;
        let owner: Option<uuid::Uuid> = row.try_get(2)?;
        match (row.try_get(0)?, row.try_get(1)?, owner) {
            (false, _, _) => Ok(false),
            (true, true, _) => Ok(true),
            (true, false, Some(owner)) if owner == user_id.0 => Ok(true),
            (true, false, Some(_)) => Err(Fault::Rule(StoreError::Conflict(Conflict::Device))),
            (true, false, None) if !row.try_get::<_, bool>(3)? => {
                Err(Fault::Rule(StoreError::Exceeded(Quota::Devices)))
            }
            // The device was linked while the statement ran, so its snapshot does not show the owner.
            (true, false, None) => Err(Fault::Overtaken),
        }
    }
}

/// Changes the given fields. Answers whether the account exists.
pub(super) async fn update(
    connection: &PooledConnection,
    user_id: UserId,
    update: &AccountUpdate,
    now: Timestamp,
) -> Result<bool, Fault> {
    let values: super::Values<'_> = &[
        &user_id.0,
        &update.username,
        &update.display_name,
        &update.avatar_url,
        &update.lang_tag,
        &update.location,
        &update.timezone,
        &update.metadata,
        &Moment(now),
    ];
    Ok(!connection.query(UPDATE_ACCOUNT, values).await?.is_empty())
}

fn created(account: &NewAccount) -> Login {
    Login { user_id: account.user_id, username: account.username.clone(), disabled: false, created: true }
}

fn login(row: &Row) -> PgResult<Login> {
    Ok(Login {
        user_id: UserId(row.try_get(0)?),
        username: row.try_get(1)?,
        disabled: row.try_get(2)?,
        created: row.try_get(3)?,
    })
}

fn password_login(row: &Row) -> PgResult<PasswordLogin> {
    Ok(PasswordLogin { login: login(row)?, password_hash: row.try_get(4)? })
}

fn account(row: &Row) -> PgResult<Account> {
    Ok(Account {
        user: user(row)?,
        wallet: row.try_get(17)?,
        email: text(row, 18)?,
        custom_id: text(row, 19)?,
        verify_time: moment(row, 20)?,
        disable_time: moment(row, 21)?,
        devices: row.try_get(22)?,
    })
}

/// Reads a user from the columns of `user_columns!`.
pub(super) fn user(row: &Row) -> PgResult<User> {
    Ok(User {
        id: Some(UserId(row.try_get(0)?)),
        username: row.try_get(1)?,
        display_name: text(row, 2)?,
        avatar_url: text(row, 3)?,
        lang_tag: row.try_get(4)?,
        location: text(row, 5)?,
        timezone: text(row, 6)?,
        metadata: row.try_get(7)?,
        facebook_id: text(row, 8)?,
        facebook_instant_game_id: text(row, 9)?,
        google_id: text(row, 10)?,
        gamecenter_id: text(row, 11)?,
        steam_id: text(row, 12)?,
        apple_id: text(row, 13)?,
        edge_count: row.try_get(14)?,
        create_time: moment(row, 15)?,
        update_time: moment(row, 16)?,
    })
}

fn text(row: &Row, column: usize) -> PgResult<String> {
    Ok(row.try_get::<_, Option<String>>(column)?.unwrap_or_default())
}

fn moment(row: &Row, column: usize) -> PgResult<Timestamp> {
    Ok(row.try_get::<_, Moment>(column)?.0)
}
