//! How much one client address may take of what all share: connections, handshakes of sockets, sign-ins, new accounts,
//! passwords being hashed, and answers to bad tokens and keys.
//!
//! Pure state: the clock is passed in. Each limit is a burst that comes back with time (the generic cell rate
//! algorithm). One process knows what it was asked itself; servers beside each other each allow their own.

use std::collections::{BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::{Arc, MutexGuard, PoisonError};

use crate::address::{AddressKey, Network};
use crate::error::{Error, ErrorKind};
use crate::time::Timestamp;

/// Name of the limit on open connections, in metrics.
const OPEN: &str = "connections";

/// Name of the limit on passwords that are being hashed, in metrics.
const PASSWORDS: &str = "passwords";

/// Number of addresses whose refusals are remembered until the operator has been told.
const OFFENDERS_MAX: usize = 64;

/// Number of limits that come back with time.
const RATES: usize = AddressRate::ALL.len();

/// A limit that comes back with time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AddressRate {
    /// Connections accepted.
    Connections,
    /// Handshakes of sockets.
    Handshakes,
    /// Sign-ins and refreshes of sessions.
    SignIns,
    /// Accounts made.
    NewAccounts,
    /// Answers to tokens and keys that are missing or not valid.
    BadCredentials,
}

impl AddressRate {
    /// All of them, by number.
    pub const ALL: [Self; 5] =
        [Self::Connections, Self::Handshakes, Self::SignIns, Self::NewAccounts, Self::BadCredentials];

    /// The limit's name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Connections => "connections_per_sec",
            Self::Handshakes => "handshakes",
            Self::SignIns => "sign_ins",
            Self::NewAccounts => "new_accounts",
            Self::BadCredentials => "bad_credentials",
        }
    }

    /// The limited thing, in sentences for callers.
    fn noun(self) -> &'static str {
        match self {
            Self::Connections => "connections",
            Self::Handshakes => "sockets",
            Self::SignIns => "sign-ins",
            Self::NewAccounts => "new accounts",
            Self::BadCredentials => "invalid tokens or keys",
        }
    }
}

/// The limits of one address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AdmissionConfig {
    /// Connections open at a time; 0 for no limit.
    pub connections_max: u32,
    /// Passwords being hashed or waiting for it; 0 for no limit.
    pub passwords_max: u32,
    /// Number of each that may come at once; at least 1.
    pub burst: u32,
    /// Number of each that comes back in a second, by [`AddressRate`]; 0 for no limit.
    pub per_sec: [u32; RATES],
    /// Networks whose addresses have no limits.
    pub exempt: Vec<Network>,
    /// Largest number of addresses that are remembered.
    pub addresses_max: usize,
}

impl Default for AdmissionConfig {
    fn default() -> Self {
        Self {
            connections_max: 4_096,
            passwords_max: 32,
            burst: 2_048,
            per_sec: [200, 100, 100, 20, 10],
            exempt: vec![Network::Private],
            addresses_max: 65_536,
        }
    }
}

/// A refusal because of the caller's address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AddressRefused {
    /// The limit that is reached.
    pub rate: AddressRate,
    /// When one more may come; at least 1.
    pub retry_after_sec: u32,
}

impl From<AddressRefused> for Error {
    fn from(refused: AddressRefused) -> Self {
        let AddressRefused { rate, retry_after_sec } = refused;
        let noun = rate.noun();
        let message = format!("Too many {noun} from this address. Please try again in {retry_after_sec} seconds.");
        Self::new(ErrorKind::ResourceExhausted, message).retry_after(retry_after_sec)
    }
}

/// Running totals and sizes, for metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AdmissionCounters {
    /// Refusals, by [`AddressRate`].
    pub refused: [u64; RATES],
    /// Connections refused because as many were open as may be.
    pub refused_open: u64,
    /// Passwords refused because as many were being hashed as may be.
    pub refused_passwords: u64,
    /// Addresses forgotten for want of room.
    pub evicted: u64,
    /// Addresses remembered now.
    pub entries: u64,
}

impl AdmissionCounters {
    /// Refusals by the name of their limit.
    pub fn by_limit(&self) -> impl Iterator<Item = (&'static str, u64)> {
        let rates = AddressRate::ALL.map(|rate| (rate.name(), self.refused[rate as usize]));
        [(OPEN, self.refused_open), (PASSWORDS, self.refused_passwords)].into_iter().chain(rates)
    }
}

/// An address that was refused something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Offender {
    /// The address; of IPv6 the first one of its network.
    pub address: IpAddr,
    /// The name of the limit in metrics.
    pub limit: &'static str,
    /// Number of refusals since the offenders were taken last.
    pub refusals: u64,
}

/// The state as shards share it: an attacker's connections land on all of them.
#[derive(Debug)]
#[allow(
    clippy::disallowed_types,
    reason = "held for a few map operations; no message and no request with a good token"
)]
pub struct SharedAdmission {
    config: AdmissionConfig,
    state: std::sync::Mutex<State>,
}

impl SharedAdmission {
    /// Nobody has taken anything.
    #[allow(clippy::disallowed_types, reason = "see the type")]
    pub fn new(config: AdmissionConfig) -> Self {
        Self { config, state: std::sync::Mutex::default() }
    }

    /// Takes one of what an address may take; an address that is not known may take anything.
    ///
    /// # Errors
    /// When it has taken all; then nothing is taken.
    pub fn take(&self, rate: AddressRate, address: Option<IpAddr>, now: Timestamp) -> Result<(), AddressRefused> {
        match self.limited(address).filter(|_| self.config.per_sec[rate as usize] > 0) {
            Some(key) => self.lock().take(rate, key, &self.config, now),
            None => Ok(()),
        }
    }

    /// Gives back what was taken and not used.
    pub fn give_back(&self, rate: AddressRate, address: Option<IpAddr>) {
        if let Some(key) = self.limited(address).filter(|_| self.config.per_sec[rate as usize] > 0) {
            self.lock().give_back(rate, key, &self.config);
        }
    }

    /// Takes back a refusal that was not told to anybody.
    pub fn waive(&self, rate: AddressRate, address: Option<IpAddr>) {
        let mut state = self.lock();
        if let Some(key) = self.limited(address) {
            state.offenders.remove(&(key, rate.name()));
        }
        let refused = &mut state.counters.refused[rate as usize];
        *refused = refused.saturating_sub(1);
    }

    /// Counts a connection of an address as open until the slot is dropped. `None` where connections are not limited.
    ///
    /// # Errors
    /// When as many are open as may be.
    pub fn open(self: &Arc<Self>, address: IpAddr) -> Result<Option<AddressSlot>, TooManyOpen> {
        let Some(key) = self.limited(Some(address)).filter(|_| self.config.connections_max > 0) else {
            return Ok(None);
        };
        let born = self.lock().open(key, &self.config)?;
        Ok(Some(AddressSlot { admission: self.clone(), key, born }))
    }

    /// Takes the addresses that were refused something since the last call, the most refused first. Of very many
    /// addresses some are left out.
    pub fn take_offenders(&self) -> Vec<Offender> {
        let taken = std::mem::take(&mut self.lock().offenders);
        let offender = |((AddressKey(address), limit), refusals)| Offender { address, limit, refusals };
        let mut offenders: Vec<_> = taken.into_iter().map(offender).collect();
        offenders.sort_by_key(|offender| (std::cmp::Reverse(offender.refusals), offender.address, offender.limit));
        offenders
    }

    /// Counts a password of an address as being hashed until the slot is dropped. `None` where that is not limited.
    ///
    /// # Errors
    /// When as many are as may be.
    pub fn begin_password(&self, address: Option<IpAddr>) -> Result<Option<PasswordSlot<'_>>, TooManyPasswords> {
        let Some(key) = self.limited(address).filter(|_| self.config.passwords_max > 0) else { return Ok(None) };
        let born = self.lock().begin_password(key, &self.config)?;
        Ok(Some(PasswordSlot { admission: self, key, born }))
    }

    /// Running totals and sizes.
    pub fn counters(&self) -> AdmissionCounters {
        let state = self.lock();
        AdmissionCounters { entries: state.by_key.len() as u64, ..state.counters }
    }

    fn limited(&self, address: Option<IpAddr>) -> Option<AddressKey> {
        let address = address.filter(|address| !self.config.exempt.iter().any(|network| network.contains(*address)))?;
        Some(AddressKey::from(address))
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic while counting leaves counts that are off by one at most: better than refusing everyone.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// As many connections of an address are open as may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyOpen;

/// As many passwords of an address are being hashed as may be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooManyPasswords;

impl From<TooManyPasswords> for Error {
    fn from(TooManyPasswords: TooManyPasswords) -> Self {
        let message = "Too many passwords from this address are being checked. Please try again in 1 second.";
        Self::new(ErrorKind::ResourceExhausted, message).retry_after(1)
    }
}

/// A password of an address that is being hashed, counted until dropped.
#[derive(Debug)]
pub struct PasswordSlot<'a> {
    admission: &'a SharedAdmission,
    key: AddressKey,
    born: u64,
}

impl Drop for PasswordSlot<'_> {
    fn drop(&mut self) {
        self.admission.lock().end_password(self.key, self.born);
    }
}

/// An open connection of an address, counted until dropped.
#[derive(Debug)]
pub struct AddressSlot {
    admission: Arc<SharedAdmission>,
    key: AddressKey,
    born: u64,
}

impl Drop for AddressSlot {
    fn drop(&mut self) {
        self.admission.lock().close(self.key, self.born);
    }
}

/// The share that one address has taken.
#[derive(Clone, Copy, Debug, Default)]
struct Entry {
    /// Connections open now.
    open: u32,
    /// Passwords being hashed now, or waiting for it.
    passwords: u32,
    /// When the address has all of each again, by [`AddressRate`].
    full_at: [Timestamp; RATES],
    /// Number of the entry, so that a slot of a forgotten entry is not given back to the next one of its address.
    born: u64,
}

impl Entry {
    /// The order in which entries are forgotten: first those without connections and passwords, and of them who owes
    /// least.
    fn order(&self, key: AddressKey) -> (bool, Timestamp, AddressKey) {
        (self.open > 0 || self.passwords > 0, self.full_at.into_iter().max().unwrap_or_default(), key)
    }
}

#[derive(Debug, Default)]
struct State {
    by_key: HashMap<AddressKey, Entry>,
    by_order: BTreeSet<(bool, Timestamp, AddressKey)>,
    entries_born: u64,
    counters: AdmissionCounters,
    /// Refusals by address and limit since the operator was told.
    offenders: HashMap<(AddressKey, &'static str), u64>,
}

impl State {
    fn note_refusal(&mut self, key: AddressKey, limit: &'static str) {
        let offender = (key, limit);
        if self.offenders.len() < OFFENDERS_MAX || self.offenders.contains_key(&offender) {
            *self.offenders.entry(offender).or_default() += 1;
        }
    }

    fn take(
        &mut self,
        rate: AddressRate,
        key: AddressKey,
        config: &AdmissionConfig,
        now: Timestamp,
    ) -> Result<(), AddressRefused> {
        while self.by_order.first().is_some_and(|(has_open, full_at, _)| !has_open && *full_at <= now) {
            self.forget_first();
        }
        let index = rate as usize;
        let refill_us = refill_us(config, rate);
        let latest = Timestamp(now.0.saturating_add(refill_us.saturating_mul(config.burst.max(1).into())));
        let known = self.by_key.get(&key).map_or(now, |entry| entry.full_at[index]);
        // A clock that was set back must not make anybody wait longer than for all of them.
        let next = Timestamp(known.clamp(now, latest).0 + refill_us);
        if next > latest {
            self.counters.refused[index] += 1;
            self.note_refusal(key, rate.name());
            self.change(key, config, |entry| entry.full_at[index] = entry.full_at[index].min(latest));
            let wait_sec = (next.0 - latest.0 + 999_999) / 1_000_000;
            return Err(AddressRefused { rate, retry_after_sec: u32::try_from(wait_sec.max(1)).unwrap_or(u32::MAX) });
        }
        self.change(key, config, |entry| entry.full_at[index] = next);
        Ok(())
    }

    fn give_back(&mut self, rate: AddressRate, key: AddressKey, config: &AdmissionConfig) {
        if self.by_key.contains_key(&key) {
            let refill_us = refill_us(config, rate);
            self.change(key, config, |entry| entry.full_at[rate as usize].0 -= refill_us);
        }
    }

    fn open(&mut self, key: AddressKey, config: &AdmissionConfig) -> Result<u64, TooManyOpen> {
        if self.by_key.get(&key).is_some_and(|entry| entry.open >= config.connections_max) {
            self.counters.refused_open += 1;
            self.note_refusal(key, OPEN);
            return Err(TooManyOpen);
        }
        Ok(self.change(key, config, |entry| entry.open += 1).born)
    }

    fn close(&mut self, key: AddressKey, born: u64) {
        let Some(entry) = self.by_key.get_mut(&key).filter(|entry| entry.born == born) else { return };
        self.by_order.remove(&entry.order(key));
        entry.open = entry.open.saturating_sub(1);
        self.by_order.insert(entry.order(key));
    }

    fn begin_password(&mut self, key: AddressKey, config: &AdmissionConfig) -> Result<u64, TooManyPasswords> {
        if self.by_key.get(&key).is_some_and(|entry| entry.passwords >= config.passwords_max) {
            self.counters.refused_passwords += 1;
            self.note_refusal(key, PASSWORDS);
            return Err(TooManyPasswords);
        }
        Ok(self.change(key, config, |entry| entry.passwords += 1).born)
    }

    fn end_password(&mut self, key: AddressKey, born: u64) {
        let Some(entry) = self.by_key.get_mut(&key).filter(|entry| entry.born == born) else { return };
        self.by_order.remove(&entry.order(key));
        entry.passwords = entry.passwords.saturating_sub(1);
        self.by_order.insert(entry.order(key));
    }

    /// Changes the entry of an address, which is made if need be; then another one may have to go.
    fn change(&mut self, key: AddressKey, config: &AdmissionConfig, change: impl FnOnce(&mut Entry)) -> Entry {
        if !self.by_key.contains_key(&key) && self.by_key.len() >= config.addresses_max.max(1) {
            self.forget_first();
            self.counters.evicted += 1;
        }
        let born = &mut self.entries_born;
        let entry = self.by_key.entry(key).or_insert_with(|| {
            *born += 1;
            Entry { born: *born, ..Entry::default() }
        });
        self.by_order.remove(&entry.order(key));
        change(entry);
        self.by_order.insert(entry.order(key));
        *entry
    }

    fn forget_first(&mut self) {
        if let Some((_, _, key)) = self.by_order.pop_first() {
            self.by_key.remove(&key);
        }
    }
}

/// Microseconds in which one more comes back.
fn refill_us(config: &AdmissionConfig, rate: AddressRate) -> i64 {
    (1_000_000 / i64::from(config.per_sec[rate as usize].max(1))).max(1)
}

#[cfg(test)]
mod tests;
