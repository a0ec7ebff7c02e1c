//! Accounts and the identifiers that lead to them.

use super::PortFuture;
use super::revocations::Revocation;
use crate::ids::UserId;
use crate::time::Timestamp;

/// An identifier that leads to an account by being presented.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Identifier {
    /// One of possibly many devices.
    Device(String),
    /// An id of the studio's own system. One per account.
    Custom(String),
}

/// An identifier that can be unlinked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unlink {
    /// This device.
    Device(String),
    /// The custom id, if it is this one or the text is empty.
    Custom(String),
    /// The e-mail address and password, if the address is this one or the text is empty.
    Email(String),
}

/// An account to be created.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewAccount {
    /// Chosen by the caller.
    pub user_id: UserId,
    /// Unique over all accounts.
    pub username: String,
    /// Creation and update time.
    pub now: Timestamp,
}

/// The part of an account that signing in needs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Login {
    /// The account.
    pub user_id: UserId,
    /// Its present name.
    pub username: String,
    /// Banned.
    pub disabled: bool,
    /// Whether this call made it.
    pub created: bool,
}

/// A login together with the stored password hash, if any.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PasswordLogin {
    /// Whose.
    pub login: Login,
    /// Self-describing hash: bcrypt (`$2…`) or a PHC string (`$argon2id$…`).
    pub password_hash: Option<Vec<u8>>,
}

/// The public part of an account.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// Nil only for the system user.
    pub id: Option<UserId>,
    /// Unique.
    pub username: String,
    /// Free text.
    pub display_name: String,
    /// Free text.
    pub avatar_url: String,
    /// BCP 47 tag.
    pub lang_tag: String,
    /// Free text.
    pub location: String,
    /// Free text.
    pub timezone: String,
    /// A JSON object as text.
    pub metadata: String,
    /// Provider identifiers, empty when not linked.
    pub facebook_id: String,
    /// See `facebook_id`.
    pub facebook_instant_game_id: String,
    /// See `facebook_id`.
    pub google_id: String,
    /// See `facebook_id`.
    pub gamecenter_id: String,
    /// See `facebook_id`.
    pub steam_id: String,
    /// See `facebook_id`.
    pub apple_id: String,
    /// Number of friends.
    pub edge_count: i32,
    /// When the account was made.
    pub create_time: Timestamp,
    /// When it last changed.
    pub update_time: Timestamp,
}

/// An account as its owner sees it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Account {
    /// The public part.
    pub user: User,
    /// A JSON object of balances as text.
    pub wallet: String,
    /// Empty when not linked.
    pub email: String,
    /// Empty when not linked.
    pub custom_id: String,
    /// Device ids in the order of their text.
    pub devices: Vec<String>,
    /// [`Timestamp::EPOCH`] when not verified.
    pub verify_time: Timestamp,
    /// [`Timestamp::EPOCH`] unless banned.
    pub disable_time: Timestamp,
}

/// Fields to change; `None` leaves a field, `Some("")` empties it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct AccountUpdate {
    /// New unique name.
    pub username: Option<String>,
    /// See [`User`].
    pub display_name: Option<String>,
    /// See [`User`].
    pub avatar_url: Option<String>,
    /// See [`User`].
    pub lang_tag: Option<String>,
    /// See [`User`].
    pub location: Option<String>,
    /// See [`User`].
    pub timezone: Option<String>,
    /// A JSON object as text; server side only.
    pub metadata: Option<String>,
}

/// Users to look up. Unknown ones are left out of the answer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UserQuery {
    /// By id.
    pub ids: Vec<UserId>,
    /// By exact name.
    pub usernames: Vec<String>,
    /// By Facebook id.
    pub facebook_ids: Vec<String>,
}

/// All that is stored of one player, as JSON: one member per table of the database that holds any of it,
/// each an array of rows as objects with column names.
pub type AccountExport = String;

/// Persistence of accounts.
pub trait AccountStore {
    /// Finds the account behind `identifier`; when there is none and `create` is given, makes it. Of several
    /// racing calls with one identifier exactly one creates, the others find.
    ///
    /// Errors: `Conflict(Username)` when creating under a taken name. `Ok(None)`: unknown, and `create` is `None`.
    fn login<'a>(&'a self, identifier: &'a Identifier, create: Option<&'a NewAccount>)
    -> PortFuture<'a, Option<Login>>;

    /// Finds the account with this e-mail address (compared in lower case) and its password hash.
    fn login_by_email<'a>(&'a self, email: &'a str) -> PortFuture<'a, Option<PasswordLogin>>;

    /// Finds the account with this name and its password hash.
    fn login_by_username<'a>(&'a self, username: &'a str) -> PortFuture<'a, Option<PasswordLogin>>;

    /// Makes an account with an e-mail address and password.
    ///
    /// Errors: `Conflict(Email)`, `Conflict(Username)`.
    fn create_with_email<'a>(
        &'a self,
        account: &'a NewAccount,
        email: &'a str,
        password_hash: &'a [u8],
    ) -> PortFuture<'a, Login>;

    /// Replaces the password hash if it still is `old`; a hash changed meanwhile stays.
    fn replace_password_hash<'a>(&'a self, user_id: UserId, old: &'a [u8], new: &'a [u8]) -> PortFuture<'a, ()>;

    /// The present name and state of an account, for refreshing a session.
    fn login_by_id(&self, user_id: UserId) -> PortFuture<'_, Option<Login>>;

    /// The whole account.
    fn account(&self, user_id: UserId) -> PortFuture<'_, Option<Account>>;

    /// Public parts of accounts, each once, in no promised order.
    fn users<'a>(&'a self, query: &'a UserQuery) -> PortFuture<'a, Vec<User>>;

    /// The ids of up to `limit` accounts behind one, in the order of ids. The system user's is the lowest, so never
    /// among them.
    fn user_ids(&self, behind: UserId, limit: u32) -> PortFuture<'_, Vec<UserId>>;

    /// The highest id of an account, if there is any.
    fn last_user_id(&self) -> PortFuture<'_, Option<UserId>>;

    /// Changes the given fields. `Ok(false)`: no such account.
    ///
    /// Errors: `Conflict(Username)`, `Invalid` for a value too long for its column.
    fn update_account<'a>(&'a self, user_id: UserId, update: &'a AccountUpdate, now: Timestamp)
    -> PortFuture<'a, bool>;

    /// Links an identifier. Linking what is linked already to this very account succeeds and changes nothing.
    /// `Ok(false)`: no such account.
    ///
    /// Errors: `Conflict(Device | Custom)` when it belongs to another account; `Exceeded(Devices)`.
    fn link<'a>(&'a self, user_id: UserId, identifier: &'a Identifier, now: Timestamp) -> PortFuture<'a, bool>;

    /// Links an e-mail address and password, replacing those the account had. `Ok(false)`: no such account.
    ///
    /// Errors: `Conflict(Email)`.
    fn link_email<'a>(
        &'a self,
        user_id: UserId,
        email: &'a str,
        password_hash: &'a [u8],
        now: Timestamp,
    ) -> PortFuture<'a, bool>;

    /// Removes an identifier.
    ///
    /// Errors: `Rejected(NotLinked)`, `Rejected(LastIdentifier)`.
    fn unlink<'a>(&'a self, user_id: UserId, identifier: &'a Unlink, now: Timestamp) -> PortFuture<'a, ()>;

    /// Bans (`Some(moment)`) or pardons (`None`) an account, and stores `revocation` in the same transaction.
    /// `Ok(false)`: no such account, and nothing was stored.
    fn set_disabled<'a>(
        &'a self,
        user_id: UserId,
        disabled_at: Option<Timestamp>,
        revocation: Option<&'a Revocation>,
    ) -> PortFuture<'a, bool>;

    /// The accounts that were banned after `since` and are banned still, with the times of their bans, in no promised
    /// order. Others may ban too: the original server on the same database, an operator with SQL.
    fn banned_since(&self, since: Timestamp) -> PortFuture<'_, Vec<(UserId, Timestamp)>>;

    /// Removes an account and all that its player wrote or owned, in every table: own rows, edges of others to it
    /// (with their counts), group memberships, records, messages. Messages of others to the player stay. Purchases and
    /// subscriptions stay under the nil user. With `recorded` a tombstone of id and time stays. `revocation` is stored
    /// in the same transaction. `Ok(false)`: no such account, and nothing was stored.
    fn delete_account<'a>(
        &'a self,
        user_id: UserId,
        recorded: bool,
        revocation: &'a Revocation,
        now: Timestamp,
    ) -> PortFuture<'a, bool>;

    /// Everything stored of a player. `Ok(None)`: no such account.
    fn export_account(&self, user_id: UserId) -> PortFuture<'_, Option<AccountExport>>;
}
