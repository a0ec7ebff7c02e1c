//! The outside of a cluster within one process: several nodes meet at one [`Hub`], for tests and simulations.
//!
//! It keeps the promises of the ports and no more, and breaks what they leave open on demand: frames are lost, delayed
//! and overtaken, members cut off, answers lost, time run out. Times are tokio's, so a paused clock moves them; chance
//! comes from one seed.

mod bus;
mod match_log;
mod recovery;
mod registry;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::watch;

use crate::bus::{Address, Connection};
use crate::recovery::Queue;
pub use bus::HubInbox;
use bus::Listener;
use match_log::Messages;
pub use match_log::{HubLogs, HubSubjects};
use recovery::HubSink;
use registry::Values;

/// The largest frame that a hub takes, as NATS does unless told otherwise.
pub const FRAME_BYTES_MAX: usize = 1024 * 1024;

/// Where several nodes of one process meet.
#[derive(Clone, Debug)]
pub struct Hub(Arc<Shared>);

#[derive(Debug)]
pub struct Member {
    hub: Arc<Shared>,
    id: MemberId,
    connection: watch::Sender<Connection>,
    recovery: Queue,
}

/// What happens to frames between members.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Faults {
    /// The share of frames that are lost, from 0 to 1.
    pub loss: f64,
    /// Each frame takes a time of its own up to this, so frames overtake each other.
    pub delay_max: Duration,
}

type MemberId = u32;

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Tells watches that there is something new.
    changes: watch::Sender<()>,
}

#[derive(Debug)]
struct State {
    members: MemberId,
    listeners: HashMap<Address, Listener>,
    /// Frames from the first to the second are lost.
    blocked: HashSet<(MemberId, MemberId)>,
    faults: Faults,
    chance: fastrand::Rng,
    frames_lost: u64,
    values: Values,
    recovery: BTreeMap<String, Bytes>,
    messages: Messages,
}

impl Hub {
    /// A hub with nothing in it; `seed` decides which frames its faults hit.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        let state = State {
            members: 0,
            listeners: HashMap::new(),
            blocked: HashSet::new(),
            faults: Faults::default(),
            chance: fastrand::Rng::with_seed(seed),
            frames_lost: 0,
            values: Values::default(),
            recovery: BTreeMap::new(),
            messages: Messages::default(),
        };
        Self(Arc::new(Shared { state: Mutex::new(state), changes: watch::Sender::new(()) }))
    }

    /// Another node's connection; made within a tokio runtime.
    #[must_use]
    pub fn join(&self) -> Member {
        let mut state = self.0.state();
        state.members += 1;
        let connection = watch::Sender::new(Connection { is_up: true, losses: 0 });
        let recovery = Queue::start(HubSink { hub: self.0.clone(), connection: connection.subscribe() });
        Member { hub: self.0.clone(), id: state.members, connection, recovery }
    }

    /// From now on this happens to frames.
    pub fn set_faults(&self, faults: Faults) {
        self.0.state().faults = faults;
    }

    /// Loses what `from` sends to `to`, and no other frame, until [`Hub::unblock`].
    pub fn block(&self, from: &Member, to: &Member) {
        self.0.state().blocked.insert((from.id, to.id));
    }

    /// Ends [`Hub::block`].
    pub fn unblock(&self, from: &Member, to: &Member) {
        self.0.state().blocked.remove(&(from.id, to.id));
    }

    /// The next writes to the registry, or to logs of matches, happen, and their answers are lost.
    pub fn lose_answers(&self, count: u32) {
        let mut state = self.0.state();
        state.values.answers_to_lose = count;
        state.messages.answers_to_lose = count;
    }

    /// The time of a value runs out now.
    pub fn expire(&self, key: &str) {
        self.0.state().values.remove(key);
        self.0.changes.send_replace(());
    }

    /// Frames that did not arrive so far: faults, full inboxes, nobody there.
    #[must_use]
    pub fn frames_lost(&self) -> u64 {
        self.0.state().frames_lost
    }
}

impl Member {
    /// Cuts this member off from the hub: nothing gets through either way, and nobody seems to listen where it does.
    pub fn cut(&self) {
        self.connection.send_modify(|connection| {
            connection.losses += u64::from(connection.is_up);
            connection.is_up = false;
        });
    }

    /// Ends [`Member::cut`].
    pub fn mend(&self) {
        self.connection.send_modify(|connection| connection.is_up = true);
    }

    fn is_up(&self) -> bool {
        self.connection.borrow().is_up
    }
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
