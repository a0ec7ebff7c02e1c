//! How often wrong passwords may be presented, for one account and from one client address. Addresses from which an
//! account's password was presented before have tries of their own, so that nobody locks a player out.
//!
//! Pure state: the clock is passed in, nothing waits or answers here but a verdict. It knows one process only;
//! servers beside each other each allow their own number of tries.

use std::collections::{BTreeSet, HashMap};
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{MutexGuard, PoisonError};

use crate::address::AddressKey;
use crate::error::{Error, ErrorKind};
use crate::ids::UserId;
use crate::time::Timestamp;

/// How many wrong passwords are tolerated before tries are refused, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuessLimit {
    /// Wrong passwords within the window that are tolerated.
    pub failures_max: u32,
    /// The window that slides over the failures.
    pub window_sec: i64,
    /// How long tries are refused the first time.
    pub lockout_first_sec: i64,
    /// Each further lockout lasts twice as long as the one before, up to this.
    pub lockout_max_sec: i64,
}

/// The limits of password guessing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuessingConfig {
    /// For one account, from all addresses together that do not know its password; and again from each that does.
    pub account: GuessLimit,
    /// From one client address (of IPv6 its /64 network), whatever the account. Many players may share one.
    pub address: GuessLimit,
    /// How many accounts, how many addresses, and how many accounts with an address that knows the password are
    /// remembered; the one untouched for longest goes first.
    pub entries_max: usize,
}

impl Default for GuessingConfig {
    fn default() -> Self {
        Self {
            account: GuessLimit { failures_max: 10, window_sec: 600, lockout_first_sec: 10, lockout_max_sec: 600 },
            address: GuessLimit { failures_max: 100, window_sec: 600, lockout_first_sec: 30, lockout_max_sec: 1800 },
            entries_max: 65_536,
        }
    }
}

/// A refusal to look at a password at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GuessRefused {
    /// When a try will be looked at again; at least 1.
    pub retry_after_sec: i64,
}

impl From<GuessRefused> for Error {
    fn from(refused: GuessRefused) -> Self {
        let seconds = refused.retry_after_sec;
        let message = format!("Too many failed sign-in attempts. Please try again in {seconds} seconds.");
        Self::new(ErrorKind::ResourceExhausted, message).retry_after(u32::try_from(seconds).unwrap_or(u32::MAX))
    }
}

/// Running totals and sizes, for metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct GuessingCounters {
    /// Wrong passwords, and sign-ins to accounts that do not exist.
    pub failures: u64,
    /// Tries refused because of the account.
    pub refused_by_account: u64,
    /// Tries refused because of the address.
    pub refused_by_address: u64,
    /// Entries forgotten for want of room.
    pub evicted: u64,
    /// Accounts and addresses remembered now.
    pub entries: u64,
    /// Accounts with an address that knows the password, remembered now.
    pub familiar: u64,
}

/// A try that counts as failed until it is said how it ended.
#[derive(Debug)]
#[must_use = "say how the try ended: succeeded, failed or abandoned"]
pub struct Try {
    account: UserId,
    address: Option<AddressKey>,
    /// Whether the address knows the account's password.
    is_familiar: bool,
}

/// The state: failures by account and by address.
#[derive(Debug)]
pub struct Guessing {
    config: GuessingConfig,
    accounts: Tallies<UserId>,
    addresses: Tallies<AddressKey>,
    /// Failures from addresses that know the account's password.
    familiar: Tallies<(UserId, AddressKey)>,
    counters: GuessingCounters,
}

impl Guessing {
    /// Nobody has failed yet.
    pub fn new(config: GuessingConfig) -> Self {
        Self {
            config,
            accounts: Tallies::default(),
            addresses: Tallies::default(),
            familiar: Tallies::default(),
            counters: GuessingCounters::default(),
        }
    }

    /// Whether a try at `account` from `address` may be looked at. The account's failure is booked at once, so
    /// that tries sent side by side count as if sent one after the other.
    pub fn begin(&mut self, account: UserId, address: Option<IpAddr>, now: Timestamp) -> Result<Try, GuessRefused> {
        self.check_address(address, now)?;
        let (limit, entries_max) = (self.config.account, self.config.entries_max);
        let address = address.map(AddressKey::from);
        let pair = address.map(|address| (account, address)).filter(|pair| self.familiar.by_key.contains_key(pair));
        let refused = match &pair {
            Some(pair) => self.familiar.refused(pair, &limit, now),
            None => self.accounts.refused(&account, &limit, now),
        };
        if let Some(refused) = refused {
            self.counters.refused_by_account += 1;
            return Err(refused);
        }
        self.counters.evicted += match pair {
            Some(pair) => self.familiar.fail(pair, &limit, now, entries_max),
            None => self.accounts.fail(account, &limit, now, entries_max),
        };
        Ok(Try { account, address, is_familiar: pair.is_some() })
    }

    /// Whether anything from `address` may be looked at.
    pub fn check_address(&mut self, address: Option<IpAddr>, now: Timestamp) -> Result<(), GuessRefused> {
        let Some(address) = address else { return Ok(()) };
        match self.addresses.refused(&AddressKey::from(address), &self.config.address, now) {
            Some(refused) => {
                self.counters.refused_by_address += 1;
                Err(refused)
            }
            None => Ok(()),
        }
    }

    /// The password was right: the account starts over, or the address that knew it before. The address keeps its
    /// failures at other accounts, or an attacker could clear them with an account of his own.
    pub fn succeeded(&mut self, attempt: Try, now: Timestamp) {
        if !attempt.is_familiar {
            self.accounts.forget(&attempt.account);
        }
        self.remember(attempt.account, attempt.address, now);
    }

    /// An account was made with a password from `address`.
    pub fn registered(&mut self, account: UserId, address: Option<IpAddr>, now: Timestamp) {
        self.remember(account, address.map(AddressKey::from), now);
    }

    fn remember(&mut self, account: UserId, address: Option<AddressKey>, now: Timestamp) {
        if let Some(address) = address {
            self.counters.evicted += self.familiar.start_over((account, address), now, self.config.entries_max);
        }
    }

    /// The password was wrong.
    pub fn failed(&mut self, attempt: Try, now: Timestamp) {
        self.counters.failures += 1;
        self.fail_address(attempt.address, now);
    }

    /// The password was not looked at after all.
    pub fn abandoned(&mut self, attempt: Try) {
        match attempt.address.filter(|_| attempt.is_familiar) {
            Some(address) => self.familiar.take_back(&(attempt.account, address)),
            None => self.accounts.take_back(&attempt.account),
        }
    }

    /// Someone asked for an account that does not exist.
    pub fn unknown_account(&mut self, address: Option<IpAddr>, now: Timestamp) {
        self.counters.failures += 1;
        self.fail_address(address.map(AddressKey::from), now);
    }

    /// Running totals and sizes.
    pub fn counters(&self) -> GuessingCounters {
        let entries = (self.accounts.by_key.len() + self.addresses.by_key.len()) as u64;
        GuessingCounters { entries, familiar: self.familiar.by_key.len() as u64, ..self.counters }
    }

    fn fail_address(&mut self, address: Option<AddressKey>, now: Timestamp) {
        if let Some(address) = address {
            self.counters.evicted += self.addresses.fail(address, &self.config.address, now, self.config.entries_max);
        }
    }
}

/// The state as shards share it: an attacker's connections land on all of them.
#[derive(Debug)]
#[allow(clippy::disallowed_types, reason = "held for a few map operations on a path that hashes passwords anyway")]
pub struct SharedGuessing(std::sync::Mutex<Guessing>);

impl SharedGuessing {
    /// Nobody has failed yet.
    #[allow(clippy::disallowed_types, reason = "see the type")]
    pub fn new(config: GuessingConfig) -> Self {
        Self(std::sync::Mutex::new(Guessing::new(config)))
    }

    /// The state, for as long as the guard lives; not to be held across an await.
    pub fn lock(&self) -> MutexGuard<'_, Guessing> {
        // A panic while counting leaves counts that are off by one at most: better than refusing everyone.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Failures of one key. The window slides by weighing the previous whole window with what is left of it.
#[derive(Clone, Copy, Debug, Default)]
struct Tally {
    window: i64,
    current: u32,
    previous: u32,
    lockouts: u32,
    locked_until: Timestamp,
    touched: Timestamp,
}

impl Tally {
    fn advance(&mut self, limit: &GuessLimit, now: Timestamp) {
        let window = now.seconds().div_euclid(limit.window_sec.max(1));
        match window - self.window {
            0 => return,
            1 => self.previous = self.current,
            // A whole window without failures: neither they nor the lockouts they brought count any more.
            _ => (self.previous, self.lockouts) = (0, 0),
        }
        self.current = 0;
        self.window = window;
    }

    /// Failures in the window that ends now.
    fn estimate(&self, limit: &GuessLimit, now: Timestamp) -> u32 {
        let window_sec = limit.window_sec.max(1);
        let left_sec = window_sec - now.seconds().rem_euclid(window_sec);
        let carried = i64::from(self.previous).saturating_mul(left_sec) / window_sec;
        self.current.saturating_add(u32::try_from(carried).unwrap_or(u32::MAX))
    }

    fn fail(&mut self, limit: &GuessLimit, now: Timestamp) {
        self.advance(limit, now);
        self.current = self.current.saturating_add(1);
        if self.estimate(limit, now) <= limit.failures_max {
            return;
        }
        let doubled = limit.lockout_first_sec.saturating_mul(1_i64.checked_shl(self.lockouts).unwrap_or(i64::MAX));
        self.locked_until = now.plus_seconds(doubled.clamp(1, limit.lockout_max_sec.max(1)));
        self.lockouts = (self.lockouts + 1).min(32);
    }
}

/// Tallies by key, bounded; the one touched longest ago goes first.
#[derive(Debug)]
struct Tallies<Key> {
    by_key: HashMap<Key, Tally>,
    by_age: BTreeSet<(Timestamp, Key)>,
}

impl<Key> Default for Tallies<Key> {
    fn default() -> Self {
        Self { by_key: HashMap::new(), by_age: BTreeSet::new() }
    }
}

impl<Key: Copy + Eq + Hash + Ord> Tallies<Key> {
    fn refused(&mut self, key: &Key, limit: &GuessLimit, now: Timestamp) -> Option<GuessRefused> {
        let tally = self.by_key.get_mut(key)?;
        if tally.locked_until <= now {
            return None;
        }
        // A clock that was set back must not lengthen a lockout beyond the longest there is.
        tally.locked_until = tally.locked_until.min(now.plus_seconds(limit.lockout_max_sec.max(1)));
        Some(GuessRefused { retry_after_sec: (tally.locked_until.0 - now.0 + 999_999) / 1_000_000 })
    }

    /// Books a failure; answers how many entries had to go for it.
    fn fail(&mut self, key: Key, limit: &GuessLimit, now: Timestamp, entries_max: usize) -> u64 {
        self.change(key, now, entries_max, |tally| tally.fail(limit, now))
    }

    /// Remembers a key without failures; answers how many entries had to go for it.
    fn start_over(&mut self, key: Key, now: Timestamp, entries_max: usize) -> u64 {
        self.change(key, now, entries_max, |tally| *tally = Tally::default())
    }

    fn change(&mut self, key: Key, now: Timestamp, entries_max: usize, change: impl FnOnce(&mut Tally)) -> u64 {
        let tally = self.by_key.entry(key).or_default();
        self.by_age.remove(&(tally.touched, key));
        change(tally);
        tally.touched = now;
        self.by_age.insert((now, key));
        let mut evicted = 0;
        while self.by_key.len() > entries_max.max(1) {
            let Some((_, oldest)) = self.by_age.pop_first() else { break };
            self.by_key.remove(&oldest);
            evicted += 1;
        }
        evicted
    }

    fn take_back(&mut self, key: &Key) {
        if let Some(tally) = self.by_key.get_mut(key) {
            tally.current = tally.current.saturating_sub(1);
        }
    }

    fn forget(&mut self, key: &Key) {
        if let Some(tally) = self.by_key.remove(key) {
            self.by_age.remove(&(tally.touched, *key));
        }
    }
}

#[cfg(test)]
mod tests;
