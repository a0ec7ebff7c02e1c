//! Bytes of answers that their clients have not read yet: how many one connection, user and address may have, and all
//! of them together. Small answers are not counted.

use std::collections::HashMap;
use std::hash::Hash;
use std::net::IpAddr;
use std::sync::{Arc, MutexGuard, PoisonError};

use crate::address::{AddressKey, Network};
use crate::ids::UserId;

/// The length of an answer from which on it is counted, in bytes. Smaller ones cost less than the connection itself.
pub const ANSWER_COUNTED_BYTES_MIN: usize = 16 * 1024;

/// Those for whom bytes are counted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AnswerScope {
    /// A connection.
    Connection,
    /// A user.
    User,
    /// A client address.
    Address,
    /// The server.
    Process,
}

impl AnswerScope {
    /// All of them, by number.
    pub const ALL: [Self; 4] = [Self::Connection, Self::User, Self::Address, Self::Process];

    /// The name in metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::Connection => "connection",
            Self::User => "user",
            Self::Address => "address",
            Self::Process => "process",
        }
    }
}

/// Limits of answers that wait to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AnswerLimits {
    /// Most bytes, by [`AnswerScope`]; 0 for no limit. A single answer may be larger.
    pub bytes_max: [u64; 4],
    /// Networks whose addresses have no limit.
    pub exempt: Vec<Network>,
}

/// Running totals and sizes, for metrics.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct AnswerCounters {
    /// Answers refused, by [`AnswerScope`].
    pub refused: [u64; 4],
    /// Bytes that wait to be read now.
    pub bytes: u64,
}

/// Answers that wait, as all shards share them.
#[derive(Debug)]
#[allow(clippy::disallowed_types, reason = "held for a few map operations, twice for an answer of many bytes")]
pub struct SharedAnswers {
    limits: AnswerLimits,
    state: std::sync::Mutex<State>,
}

/// A connection among others.
pub type ConnectionNumber = (usize, u64);

#[derive(Debug, Default)]
struct State {
    connections: HashMap<ConnectionNumber, u64>,
    users: HashMap<UserId, u64>,
    addresses: HashMap<AddressKey, u64>,
    counters: AnswerCounters,
}

impl SharedAnswers {
    /// Nothing waits.
    #[allow(clippy::disallowed_types, reason = "see the type")]
    pub fn new(limits: AnswerLimits) -> Self {
        Self { limits, state: std::sync::Mutex::default() }
    }

    /// Counts an answer until the returned value is dropped.
    ///
    /// # Errors
    /// The scope whose limit the answer would exceed together with those that wait already.
    pub fn begin(
        self: &Arc<Self>,
        bytes: usize,
        connection: ConnectionNumber,
        user: Option<UserId>,
        address: IpAddr,
    ) -> Result<AnswerInFlight, AnswerScope> {
        let is_exempt = self.limits.exempt.iter().any(|network| network.contains(address));
        let address = (!is_exempt).then(|| AddressKey::from(address));
        let bytes = bytes as u64;
        let mut state = self.lock();
        let waiting = [
            state.connections.get(&connection).copied(),
            user.and_then(|user| state.users.get(&user).copied()),
            address.and_then(|address| state.addresses.get(&address).copied()),
            Some(state.counters.bytes),
        ];
        let is_over = |scope: &AnswerScope| {
            let (waiting, max) = (waiting[*scope as usize].unwrap_or_default(), self.limits.bytes_max[*scope as usize]);
            waiting > 0 && max > 0 && waiting + bytes > max
        };
        if let Some(scope) = AnswerScope::ALL.into_iter().find(is_over) {
            state.counters.refused[scope as usize] += 1;
            return Err(scope);
        }
        *state.connections.entry(connection).or_default() += bytes;
        user.into_iter().for_each(|user| *state.users.entry(user).or_default() += bytes);
        address.into_iter().for_each(|address| *state.addresses.entry(address).or_default() += bytes);
        state.counters.bytes += bytes;
        Ok(AnswerInFlight { answers: self.clone(), bytes, connection, user, address })
    }

    /// Running totals and sizes.
    pub fn counters(&self) -> AnswerCounters {
        self.lock().counters
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A panic while counting leaves counts that are off by one answer at most.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// An answer that waits to be read, counted until dropped.
#[derive(Debug)]
pub struct AnswerInFlight {
    answers: Arc<SharedAnswers>,
    bytes: u64,
    connection: ConnectionNumber,
    user: Option<UserId>,
    address: Option<AddressKey>,
}

impl Drop for AnswerInFlight {
    fn drop(&mut self) {
        let mut state = self.answers.lock();
        take_off(&mut state.connections, self.connection, self.bytes);
        self.user.into_iter().for_each(|user| take_off(&mut state.users, user, self.bytes));
        self.address.into_iter().for_each(|address| take_off(&mut state.addresses, address, self.bytes));
        state.counters.bytes = state.counters.bytes.saturating_sub(self.bytes);
    }
}

/// Takes bytes off a count, which goes with the last of them.
fn take_off<Key: Eq + Hash>(counts: &mut HashMap<Key, u64>, key: Key, bytes: u64) {
    if let Some(count) = counts.get_mut(&key) {
        *count = count.saturating_sub(bytes);
        if *count == 0 {
            counts.remove(&key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_count_for_everybody_until_they_are_read() {
        let limits = AnswerLimits { bytes_max: [100, 150, 200, 300], exempt: vec![Network::Private] };
        let answers = Arc::new(SharedAnswers::new(limits));
        let begin = |bytes, connection, user, address: &str| {
            let user = Some(UserId(uuid::Uuid::from_u128(user)));
            answers.begin(bytes, (0, connection), user, address.parse().unwrap())
        };
        let scope = |outcome: Result<AnswerInFlight, AnswerScope>| outcome.err();
        let first = begin(90, 1, 1, "203.0.113.1").unwrap();
        assert_eq!(scope(begin(11, 1, 1, "203.0.113.1")), Some(AnswerScope::Connection));
        assert_eq!(scope(begin(61, 2, 1, "203.0.113.9")), Some(AnswerScope::User));
        assert_eq!(scope(begin(111, 2, 2, "203.0.113.1")), Some(AnswerScope::Address));
        // A single answer may be larger than what one may have.
        let second = begin(205, 2, 2, "10.0.0.1").unwrap();
        assert_eq!(scope(begin(6, 3, 3, "10.0.0.1")), Some(AnswerScope::Process));
        assert_eq!(answers.counters(), AnswerCounters { refused: [1; 4], bytes: 295 });
        drop((first, second));
        assert_eq!(answers.counters().bytes, 0);
        let state = answers.lock();
        assert!(state.connections.is_empty() && state.users.is_empty() && state.addresses.is_empty());
    }
}
