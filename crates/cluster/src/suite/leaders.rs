//! Tests of three NATS servers as one JetStream cluster, whose leaders are killed while nodes write and talk.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use async_nats::{ServerAddr, jetstream};
use bytes::Bytes;
use muster_testenv::{Nats as Server, NatsSettings};

use super::ground::{NoLine, block_on, next, state, within};
use super::node::{all_receive, all_send, together};
use super::talker::Talker;
use crate::nats::{Nats, NatsOptions};
use crate::recovery::{Recovery, RecoveryError};
use crate::registry::{Entry, Registry, RegistryError, RegistryEvent, Revision, Watch};

const KEY: &str = "view";

/// Number of acknowledged writes that are awaited before each kill, and again after it.
const WRITES: usize = 100;

const KILLS: usize = 2;

/// Number of values.
const KEYS: usize = 50;
/// Number of writes to each value.
const ROUNDS: usize = 6;

/// Number of batches that each node sends to each of the others at a time.
const BATCHES: u64 = 200;

/// Revisions of acknowledged writes, by the number that was written.
type Acknowledged = Rc<RefCell<BTreeMap<u64, Revision>>>;

#[test]
fn a_killed_leader_loses_nothing_that_was_acknowledged() {
    let servers = Servers::start();
    block_on(tokio::task::LocalSet::new().run_until(async {
        let (one, two) = (servers.connect().await, servers.connect().await);
        within("a first value", one.create(KEY, text(0), None)).await.expect("created");
        let acknowledged = Acknowledged::default();
        let writers = [one, two].map(|node| tokio::task::spawn_local(count_up(node, acknowledged.clone())));

        for kill in 0..KILLS {
            until_written(&acknowledged, WRITES * (2 * kill + 1)).await;
            let leader = servers.kill_leader("KV_muster_registry").await;
            until_written(&acknowledged, WRITES * (2 * kill + 2)).await;
            leader.start_again().expect("started");
        }
        for writer in writers {
            writer.abort();
            let ended = writer.await.expect_err("it never ends by itself");
            assert!(ended.is_cancelled(), "{ended}");
        }
        let acknowledged = acknowledged.borrow();
        let revisions: Vec<Revision> = acknowledged.values().copied().collect();
        assert!(revisions.is_sorted(), "a larger number has an older revision: {acknowledged:?}");
    }));
}

#[test]
fn a_killed_leader_loses_nothing_that_was_kept() {
    let servers = Servers::start();
    block_on(async {
        let (owner, successor) = (servers.connect().await, servers.connect().await);
        for round in 0..ROUNDS {
            for key in 0..KEYS {
                owner.put(&format!("p.1.{key}"), text(round as u64)).expect("room");
            }
            if round == ROUNDS / 2 {
                servers.kill_leader("KV_muster_recovery").await;
            }
            within("it to be written", owner.flush()).await;
        }
        let loading = async {
            loop {
                match successor.load("p.1").await {
                    Ok(found) => return found,
                    Err(RecoveryError::Unavailable(_)) => tokio::task::yield_now().await,
                    Err(error) => panic!("{error}"),
                }
            }
        };
        let found = within("what is kept", loading).await;
        assert_eq!(found.len(), KEYS);
        let last = text(ROUNDS as u64 - 1);
        assert!(found.iter().all(|(_, value)| *value == last), "{found:?}");
    });
}

#[test]
fn nodes_whose_leader_was_killed_lose_no_batch_and_nobody() {
    let servers = Servers::start();
    block_on(async {
        let mut talkers = Vec::new();
        for _ in 0..3 {
            talkers.push(Talker::start(servers.connect().await, Box::new(NoLine)));
        }
        together(&mut talkers).await;
        all_send(&mut talkers, BATCHES).await;
        let leader = servers.kill_leader("KV_muster_registry").await;
        all_send(&mut talkers, BATCHES).await;
        all_receive(&mut talkers, 2 * BATCHES).await;
        together(&mut talkers).await;
        leader.start_again().expect("started");
        all_send(&mut talkers, BATCHES).await;
        all_receive(&mut talkers, 3 * BATCHES).await;
        for talker in talkers {
            assert_eq!(talker.node.metrics().voted_out.load(Ordering::Relaxed), 0);
        }
    });
}

/// Three servers.
struct Servers([Server; 3]);

impl Servers {
    fn start() -> Self {
        Self(Server::start_three(NatsSettings::default()).expect("three servers"))
    }

    fn urls(&self) -> Vec<String> {
        self.0.iter().map(|server| server.url().to_owned()).collect()
    }

    /// A node connected to all three.
    async fn connect(&self) -> Arc<Nats> {
        let options = NatsOptions { urls: self.urls(), replicas: self.0.len(), ..NatsOptions::default() };
        Arc::new(within("a connection", Nats::connect(&options)).await.expect("a connection"))
    }

    /// Kills the server that leads a stream.
    async fn kill_leader(&self, stream: &str) -> &Server {
        let addresses: Vec<ServerAddr> = self.urls().iter().map(|url| url.parse().expect("a URL")).collect();
        let context = jetstream::new(async_nats::connect(addresses).await.expect("a client"));
        let leader = &self.0[leader(&context, stream).await];
        leader.kill().expect("killed");
        leader
    }
}

fn text(number: u64) -> Bytes {
    number.to_string().into()
}

/// Writes the number after the last one, again and again. If an acknowledged write were lost, or two writers won, some
/// number would be acknowledged twice.
async fn count_up(node: Arc<Nats>, acknowledged: Acknowledged) {
    let mut watch = node.watch();
    let mut last = state(&mut watch).await.remove(0);
    loop {
        let number = number_of(&last) + 1;
        match node.update(KEY, text(number), last.revision, None).await {
            Ok(revision) => {
                let before = acknowledged.borrow_mut().insert(number, revision);
                assert_eq!(before, None, "{number} was acknowledged twice, as {revision:?} now");
                last = Entry { value: text(number), revision, ..last };
            }
            Err(RegistryError::Conflict) => last = newer(&mut watch, &last).await,
            Err(RegistryError::Unknown(_)) => {}
            Err(RegistryError::Unavailable(_)) => tokio::task::yield_now().await,
            Err(RegistryError::Refused(reason)) => panic!("{reason}"),
        }
    }
}

fn number_of(entry: &Entry) -> u64 {
    std::str::from_utf8(&entry.value).ok().and_then(|text| text.parse().ok()).expect("a number")
}

/// The next entry of the watch that is newer than `last`.
async fn newer(watch: &mut Watch, last: &Entry) -> Entry {
    loop {
        let entry = match next(watch).await {
            RegistryEvent::Set(entry) => entry,
            RegistryEvent::State(mut entries) => entries.remove(0),
            RegistryEvent::Removed { .. } => panic!("nobody removes it"),
        };
        if entry.revision > last.revision {
            return entry;
        }
    }
}

async fn until_written(acknowledged: &Acknowledged, count: usize) {
    let mut look = tokio::time::interval(Duration::from_millis(5));
    let enough = async {
        while acknowledged.borrow().len() < count {
            look.tick().await;
        }
    };
    within("acknowledged writes", enough).await;
}

/// Index of the server that leads a stream.
async fn leader(context: &jetstream::Context, stream: &str) -> usize {
    let mut look = tokio::time::interval(Duration::from_millis(20));
    let asking = async {
        loop {
            look.tick().await;
            let Ok(stream) = context.get_stream(stream).await else { continue };
            let leader = stream.cached_info().cluster.as_ref().and_then(|cluster| cluster.leader.clone());
            let number = leader.and_then(|name| name.rsplit('-').next()?.parse().ok());
            if let Some(number) = number {
                return number;
            }
        }
    };
    within("a leader", asking).await
}
