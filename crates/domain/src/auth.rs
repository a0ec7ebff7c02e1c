//! Signing in by device, custom id, e-mail address or user name: finding the account, or making it.
//!
//! Nothing here issues tokens; see [`crate::sessions`].

use std::net::IpAddr;

use crate::admission::{AddressRate, SharedAdmission};
use crate::error::{Error, ErrorKind, Result};
use crate::guessing::SharedGuessing;
use crate::identifiers::{
    check_custom_id, check_device_id, check_email, check_new_password, check_presented_password, check_username,
    lower_email, name_taken,
};
use crate::ids::{UserId, UserIdForm};
use crate::limits::{PASSWORD_BYTES_MAX, RANDOM_USERNAME_LETTERS, RANDOM_USERNAME_TRIES};
use crate::ports::accounts::{Identifier, Login, NewAccount, PasswordLogin};
use crate::ports::clock::Entropy;
use crate::ports::passwords::Passwords;
use crate::ports::store::{Conflict, Store, StoreError};
use crate::refusals::{admit, no_such_account};
use crate::time::Timestamp;

/// Everything that signing in needs.
#[derive(Clone, Copy)]
pub struct SignIn<'a> {
    /// Where accounts are.
    pub store: &'a dyn Store,
    /// Hashes and checks.
    pub passwords: &'a dyn Passwords,
    /// For ids and names made up.
    pub entropy: &'a dyn Entropy,
    /// How ids of new accounts are made.
    pub user_ids: UserIdForm,
    /// Failed passwords so far.
    pub guessing: &'a SharedGuessing,
    /// Limits of addresses; `None` for game code, which makes accounts without limit.
    pub admission: Option<&'a SharedAdmission>,
    /// The client's address, if known.
    pub address: Option<IpAddr>,
    /// When the request arrived.
    pub now: Timestamp,
}

/// Registration of an account that is not found.
#[derive(Clone, Copy, Debug)]
pub struct Registration<'a> {
    /// Whether to make it.
    pub create: bool,
    /// Its name; empty for one made up.
    pub username: &'a str,
}

impl SignIn<'_> {
    /// Finds the account behind an identifier, or makes it.
    ///
    /// Errors: `InvalidArgument` for what does not fit the rules, `NotFound` when unknown and not to be made,
    /// `AlreadyExists` for a taken user name, `PermissionDenied` when banned, `ResourceExhausted` when the client's
    /// address has made too many accounts.
    pub async fn by_identifier(&self, identifier: &Identifier, registration: Registration<'_>) -> Result<Login> {
        match identifier {
            Identifier::Device(id) => check_device_id(id)?,
            Identifier::Custom(id) => check_custom_id(id)?,
        }
        check_chosen_username(registration.username)?;
        if !registration.create {
            let found = self.store.login(identifier, None).await?;
            return admit(found.ok_or_else(no_such_account)?);
        }
        // The database finds or makes the account in one step, so the account is booked before.
        match self.book_account() {
            Ok(()) => {
                let made = self.find_or_make(identifier, registration.username).await;
                if !made.as_ref().is_ok_and(|login| login.created) {
                    self.unbook_account();
                }
                admit(made?)
            }
            // Who has an account already gets in all the same.
            Err(refused) => {
                let login = self.store.login(identifier, None).await?.ok_or(refused)?;
                if let Some(admission) = self.admission {
                    admission.waive(AddressRate::NewAccounts, self.address);
                }
                admit(login)
            }
        }
    }

    async fn find_or_make(&self, identifier: &Identifier, username: &str) -> Result<Login> {
        for _ in 0..RANDOM_USERNAME_TRIES {
            match self.store.login(identifier, Some(&self.new_account(username))).await {
                Ok(login) => return login.ok_or_else(no_such_account),
                Err(StoreError::Conflict(Conflict::Username)) if username.is_empty() => {}
                Err(error) => return Err(name_taken(error)),
            }
        }
        Err(no_free_name())
    }

    /// Books an account that is about to be made.
    fn book_account(&self) -> Result<()> {
        let Some(admission) = self.admission else { return Ok(()) };
        Ok(admission.take(AddressRate::NewAccounts, self.address, self.now)?)
    }

    fn unbook_account(&self) {
        if let Some(admission) = self.admission {
            admission.give_back(AddressRate::NewAccounts, self.address);
        }
    }

    /// Finds the account with an e-mail address and checks its password, or makes it. With an empty address this
    /// signs in by user name instead and never makes an account.
    ///
    /// Errors: as [`Self::by_identifier`]; `Unauthenticated` for a wrong password, `ResourceExhausted` after too
    /// many of them, `Unavailable` when the password queue is full.
    pub async fn by_email(&self, email: &str, password: &str, registration: Registration<'_>) -> Result<Login> {
        if !email.is_empty() {
            check_email(email)?;
        }
        check_presented_password(password)?;
        if email.is_empty() && registration.username.is_empty() {
            return Err(Error::invalid("A username is required when there is no e-mail address."));
        }
        check_chosen_username(registration.username)?;
        self.guessing.lock().check_address(self.address, self.now)?;
        if email.is_empty() {
            let found = self.store.login_by_username(registration.username).await?;
            return self.check_found(found, password).await;
        }
        let email = lower_email(email);
        match self.store.login_by_email(&email).await? {
            None if registration.create => self.register(&email, password, registration.username).await,
            found => self.check_found(found, password).await,
        }
    }

    async fn register(&self, email: &str, password: &str, username: &str) -> Result<Login> {
        check_new_password(password)?;
        self.book_account()?;
        let made = self.make_with_email(email, password, username).await;
        match &made {
            Ok(login) if login.created => self.guessing.lock().registered(login.user_id, self.address, self.now),
            _ => self.unbook_account(),
        }
        made
    }

    async fn make_with_email(&self, email: &str, password: &str, username: &str) -> Result<Login> {
        let hash = self.passwords.hash(password).await?;
        for _ in 0..RANDOM_USERNAME_TRIES {
            match self.store.create_with_email(&self.new_account(username), email, &hash).await {
                Ok(login) => return admit(login),
                Err(StoreError::Conflict(Conflict::Username)) if username.is_empty() => {}
                // Someone registered the address between the look-up and now; perhaps the same player, twice.
                Err(StoreError::Conflict(Conflict::Email)) => {
                    let found = self.store.login_by_email(email).await?;
                    return self.check_found(found, password).await;
                }
                Err(error) => return Err(name_taken(error)),
            }
        }
        Err(no_free_name())
    }

    /// Checks the password of what a look-up found. An account without a password takes as long as one with.
    async fn check_found(&self, found: Option<PasswordLogin>, password: &str) -> Result<Login> {
        let Some(PasswordLogin { login, password_hash }) = found else {
            self.guessing.lock().unknown_account(self.address, self.now);
            return Err(no_such_account());
        };
        let login = admit(login)?;
        let attempt = self.guessing.lock().begin(login.user_id, self.address, self.now)?;
        let check = match self.passwords.check(password, password_hash.as_deref()).await {
            Ok(check) => check,
            Err(full) => {
                self.guessing.lock().abandoned(attempt);
                return Err(full.into());
            }
        };
        let Some(old) = password_hash.filter(|_| check.matches) else {
            self.guessing.lock().failed(attempt, self.now);
            return Err(Error::new(ErrorKind::Unauthenticated, "The credentials are not valid."));
        };
        self.guessing.lock().succeeded(attempt, self.now);
        if check.outdated && password.len() <= PASSWORD_BYTES_MAX {
            self.replace_hash(login.user_id, password, &old).await;
        }
        Ok(login)
    }

    /// Stores a hash of the present scheme. What goes wrong is left to the next sign-in: the password was right.
    async fn replace_hash(&self, user_id: UserId, password: &str, old: &[u8]) {
        if let Ok(new) = self.passwords.hash(password).await {
            let _ = self.store.replace_password_hash(user_id, old, &new).await;
        }
    }

    fn new_account(&self, username: &str) -> NewAccount {
        let mut bytes = [0; 16];
        self.entropy.fill(&mut bytes);
        NewAccount {
            user_id: UserId::new(self.user_ids, self.now, bytes),
            username: if username.is_empty() { random_username(self.entropy) } else { username.to_owned() },
            now: self.now,
        }
    }
}

/// The name in a token that game code makes for a user: what it gives, or the account's. There need be no account where
/// it gives one.
///
/// Errors: `PermissionDenied` for a banned user, `NotFound` where there is no name.
pub async fn token_name(store: &dyn Store, user_id: UserId, given: String) -> Result<String> {
    let account = store.login_by_id(user_id).await?.map(admit).transpose()?;
    if given.is_empty() { Ok(account.ok_or_else(no_such_account)?.username) } else { Ok(given) }
}

fn check_chosen_username(username: &str) -> Result<()> {
    if username.is_empty() { Ok(()) } else { check_username(username) }
}

fn no_free_name() -> Error {
    Error::new(ErrorKind::Internal, "No free username was found. Please try again, or choose one.")
}

/// Letters of either case, each as likely as any other.
fn random_username(entropy: &dyn Entropy) -> String {
    const LETTERS: &[u8; 52] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    // The greatest multiple of 52 that a byte holds: what is above would favour the first letters.
    const FAIR: u8 = 208;
    let mut name = String::with_capacity(RANDOM_USERNAME_LETTERS);
    let mut bytes = [0; 16];
    while name.len() < RANDOM_USERNAME_LETTERS {
        entropy.fill(&mut bytes);
        let fair = bytes.iter().filter(|&&byte| byte < FAIR);
        let letters = fair.map(|&byte| char::from(LETTERS[usize::from(byte) % LETTERS.len()]));
        name.extend(letters.take(RANDOM_USERNAME_LETTERS - name.len()));
    }
    name
}
