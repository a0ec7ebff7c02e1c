//! The registry of a hub: a map, and the log of its last changes.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Weak};
use std::time::Duration;

use bytes::Bytes;
use tokio::sync::{mpsc, watch};

use super::{Member, Shared};
use crate::bus::Connection;
use crate::registry::{
    Entry, Registry, RegistryError, RegistryEvent, Revision, Watch, Written, check_key, check_sealed_value,
};

/// Number of changes that are kept for watches. A watch that is further behind is sent the whole state instead.
const CHANGES_KEPT_MAX: usize = 1_024;

#[derive(Debug, Default)]
pub(super) struct Values {
    entries: BTreeMap<String, Entry>,
    last: u64,
    /// Number of times that everything was lost.
    lives: u64,
    changes: VecDeque<RegistryEvent>,
    pub(super) answers_to_lose: u32,
}

impl Registry for Member {
    async fn create(&self, key: &str, value: Bytes, time_to_live: Option<Duration>) -> Written {
        self.write(key, None, Some((value, time_to_live)))
    }

    async fn update(&self, key: &str, value: Bytes, expected: Revision, time_to_live: Option<Duration>) -> Written {
        self.write(key, Some(expected), Some((value, time_to_live)))
    }

    async fn delete(&self, key: &str, expected: Revision) -> Written {
        self.write(key, Some(expected), None)
    }

    fn watch(&self) -> Watch {
        let mut teller = Teller {
            hub: self.hub.clone(),
            changes: self.hub.changes.subscribe(),
            connection: self.connection.subscribe(),
            told: None,
            losses: 0,
        };
        Watch::start(|events| async move { while teller.tell(&events).await {} })
    }
}

impl Member {
    fn write(&self, key: &str, expected: Option<Revision>, value: Option<(Bytes, Option<Duration>)>) -> Written {
        check_key(key)?;
        value.iter().try_for_each(|(value, _)| check_sealed_value(value))?;
        if !self.is_up() {
            return Err(RegistryError::Unavailable("this member is cut off".to_owned()));
        }
        let mut state = self.hub.state();
        let values = &mut state.values;
        if values.entries.get(key).map(|entry| entry.revision) != expected {
            return Err(RegistryError::Conflict);
        }
        let revision = match value {
            Some((value, time_to_live)) => {
                let revision = values.set(key, value);
                if let Some(time_to_live) = time_to_live {
                    let written = (values.lives, revision);
                    expire_later(Arc::downgrade(&self.hub), key.to_owned(), written, time_to_live);
                }
                revision
            }
            None => values.remove(key),
        };
        let is_answer_lost = values.answers_to_lose > 0;
        values.answers_to_lose -= u32::from(is_answer_lost);
        drop(state);
        self.hub.changes.send_replace(());
        if is_answer_lost {
            return Err(RegistryError::Unknown("the answer was lost".to_owned()));
        }
        Ok(revision)
    }
}

fn expire_later(hub: Weak<Shared>, key: String, written: (u64, Revision), time_to_live: Duration) {
    let seconds = time_to_live.as_secs() + u64::from(time_to_live.subsec_nanos() > 0);
    tokio::spawn(async move {
        tokio::time::sleep(Duration::from_secs(seconds.max(1))).await;
        let Some(hub) = hub.upgrade() else { return };
        let mut state = hub.state();
        let lives = state.values.lives;
        if state.values.entries.get(&key).is_some_and(|entry| (lives, entry.revision) == written) {
            state.values.remove(&key);
            drop(state);
            hub.changes.send_replace(());
        }
    });
}

impl Values {
    fn set(&mut self, key: &str, value: Bytes) -> Revision {
        self.last += 1;
        let entry = Entry { key: key.to_owned(), value, revision: Revision(self.last) };
        self.entries.insert(key.to_owned(), entry.clone());
        self.record(RegistryEvent::Set(entry));
        Revision(self.last)
    }

    /// Loses everything: revisions begin anew.
    pub(super) fn lose(&mut self) {
        *self = Self { lives: self.lives + 1, ..Self::default() };
    }

    /// Removes a value, if there is one.
    pub(super) fn remove(&mut self, key: &str) -> Revision {
        if self.entries.remove(key).is_some() {
            self.last += 1;
            self.record(RegistryEvent::Removed { key: key.to_owned(), revision: Revision(self.last) });
        }
        Revision(self.last)
    }

    fn record(&mut self, change: RegistryEvent) {
        self.changes.push_back(change);
        if self.changes.len() > CHANGES_KEPT_MAX {
            self.changes.pop_front();
        }
    }

    /// Events after change `told`: single changes, or the whole state if `told` is `None` or too old.
    fn since(&self, told: Option<u64>) -> Vec<RegistryEvent> {
        let missing = told.and_then(|told| self.last.checked_sub(told));
        let missing = missing.map(|missing| usize::try_from(missing).unwrap_or(usize::MAX));
        match missing.filter(|missing| *missing <= self.changes.len()) {
            Some(missing) => self.changes.range(self.changes.len() - missing..).cloned().collect(),
            None => vec![RegistryEvent::State(self.entries.values().cloned().collect())],
        }
    }
}

/// The sender of one watch's events, in a task of its own.
struct Teller {
    hub: Arc<Shared>,
    changes: watch::Receiver<()>,
    connection: watch::Receiver<Connection>,
    /// Number of the last change that was sent. `None`: the whole state comes next.
    told: Option<u64>,
    losses: u64,
}

impl Teller {
    /// Sends new events, then waits for more. Answers `false` once nobody listens any more.
    async fn tell(&mut self, events: &mpsc::Sender<RegistryEvent>) -> bool {
        let Connection { is_up, losses } = *self.connection.borrow_and_update();
        if losses != self.losses {
            self.losses = losses;
            self.told = None;
        }
        if is_up {
            self.changes.borrow_and_update();
            let (new, last) = {
                let state = self.hub.state();
                (state.values.since(self.told), state.values.last)
            };
            self.told = Some(last);
            for event in new {
                if events.send(event).await.is_err() {
                    return false;
                }
            }
        }
        // A change that happened while the events above were sent is seen here at once.
        tokio::select! {
            change = self.changes.changed(), if is_up => change.is_ok(),
            connection = self.connection.changed() => connection.is_ok(),
        }
    }
}
