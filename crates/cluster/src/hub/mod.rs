//! A substitute, within one process, for everything that a cluster needs outside its nodes: bus, registry, recovery
//! data and match logs. Tests and simulations let several nodes meet at one [`Hub`].
//!
//! A hub keeps the promises of the ports and no others. On demand it makes every fault that the ports allow: it loses,
//! delays and reorders frames, cuts members off, loses answers, and lets times to live run out. Times are tokio's, so a
//! paused clock moves them; all random numbers come from one seed.

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

/// The largest frame that a hub takes, in bytes: the default of NATS.
pub const FRAME_BYTES_MAX: usize = 1024 * 1024;

/// The meeting point of the nodes of one process.
#[derive(Clone, Debug)]
pub struct Hub(Arc<Shared>);

/// The connection of one node to a hub.
#[derive(Debug)]
pub struct Member {
    hub: Arc<Shared>,
    id: MemberId,
    connection: watch::Sender<Connection>,
    recovery: Queue,
}

/// Faults of frames between members.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Faults {
    /// Share of frames that are lost, from 0 to 1.
    pub loss: f64,
    /// Longest delay of a frame. Each frame is delayed by a random time up to this, so frames overtake each other.
    pub delay_max: Duration,
}

type MemberId = u32;

#[derive(Debug)]
struct Shared {
    state: Mutex<State>,
    /// Wakes the watches when something changed.
    changes: watch::Sender<()>,
}

#[derive(Debug)]
struct State {
    members: MemberId,
    listeners: HashMap<Address, Listener>,
    /// Pairs of sender and receiver between which all frames are lost.
    blocked: HashSet<(MemberId, MemberId)>,
    faults: Faults,
    chance: fastrand::Rng,
    frames_lost: u64,
    values: Values,
    recovery: BTreeMap<String, Bytes>,
    messages: Messages,
}

impl Hub {
    /// An empty hub; `seed` decides which frames its faults hit.
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

    /// Makes the connection of another node. The caller must be in a tokio runtime.
    #[must_use]
    pub fn join(&self) -> Member {
        let mut state = self.0.state();
        state.members += 1;
        let connection = watch::Sender::new(Connection { is_up: true, losses: 0 });
        let recovery = Queue::start(HubSink { hub: self.0.clone(), connection: connection.subscribe() });
        Member { hub: self.0.clone(), id: state.members, connection, recovery }
    }

    /// Sets the faults that frames suffer from now on.
    pub fn set_faults(&self, faults: Faults) {
        self.0.state().faults = faults;
    }

    /// Loses every frame from `from` to `to` until [`Hub::unblock`]. Other frames pass.
    pub fn block(&self, from: &Member, to: &Member) {
        self.0.state().blocked.insert((from.id, to.id));
    }

    /// Ends [`Hub::block`].
    pub fn unblock(&self, from: &Member, to: &Member) {
        self.0.state().blocked.remove(&(from.id, to.id));
    }

    /// Loses the answers to the next `count` writes to the registry or to match logs. The writes themselves happen.
    pub fn lose_answers(&self, count: u32) {
        let mut state = self.0.state();
        state.values.answers_to_lose = count;
        state.messages.answers_to_lose = count;
    }

    /// Ends a value's time to live now.
    pub fn expire(&self, key: &str) {
        self.0.state().values.remove(key);
        self.0.changes.send_replace(());
    }

    /// Loses the registry and all recovery data, as a store that was deleted. Members that are cut off meanwhile find
    /// an empty registry afterwards.
    pub fn lose_store(&self) {
        let mut state = self.0.state();
        state.values.lose();
        state.recovery.clear();
    }

    /// Number of frames that did not arrive so far, whether by a fault, a full inbox or a missing listener.
    #[must_use]
    pub fn frames_lost(&self) -> u64 {
        self.0.state().frames_lost
    }
}

impl Member {
    /// Cuts this member off from the hub: frames pass in neither direction, and probes find nobody at its address.
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
