//! Three NATS servers as one JetStream cluster, whose leaders are killed while nodes race to write.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use async_nats::{ServerAddr, jetstream};
use bytes::Bytes;
use muster_testenv::{Nats as Server, NatsSettings};

use super::ground::{next, state, within};
use crate::nats::{Nats, NatsOptions};
use crate::registry::{Entry, Event, Registry, RegistryError, Revision, Watch};

const KEY: &str = "view";

/// Acknowledged writes before each kill, and after it.
const WRITES: usize = 100;

const KILLS: usize = 2;

/// What was acknowledged: the number that was written, and its revision.
type Acknowledged = Rc<RefCell<BTreeMap<u64, Revision>>>;

#[test]
fn a_killed_leader_loses_nothing_that_was_acknowledged() {
    let servers = Server::start_three(NatsSettings::default()).expect("three servers");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime");
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let urls: Vec<String> = servers.iter().map(|server| server.url().to_owned()).collect();
        let options = NatsOptions { urls: urls.clone(), replicas: 3, ..NatsOptions::default() };
        let (one, two) = (connect(&options).await, connect(&options).await);
        within("a first value", one.create(KEY, text(0), None)).await.expect("created");
        let acknowledged = Acknowledged::default();
        let writers = [one, two].map(|node| tokio::task::spawn_local(count_up(node, acknowledged.clone())));

        let addresses: Vec<ServerAddr> = urls.iter().map(|url| url.parse().expect("a URL")).collect();
        let context = jetstream::new(async_nats::connect(addresses).await.expect("a client"));
        for kill in 0..KILLS {
            until_written(&acknowledged, WRITES * (2 * kill + 1)).await;
            let leader = leader(&context).await;
            servers[leader].kill().expect("killed");
            until_written(&acknowledged, WRITES * (2 * kill + 2)).await;
            servers[leader].start_again().expect("started");
        }
        for writer in writers {
            writer.abort();
            let ended = writer.await.expect_err("it never ends by itself");
            assert!(ended.is_cancelled(), "{ended}");
        }
        let acknowledged = acknowledged.borrow();
        let revisions: Vec<Revision> = acknowledged.values().copied().collect();
        assert!(revisions.is_sorted(), "a larger number has an older revision: {acknowledged:?}");
    });
}

async fn connect(options: &NatsOptions) -> Arc<Nats> {
    Arc::new(within("a connection", Nats::connect(options)).await.expect("a connection"))
}

fn text(number: u64) -> Bytes {
    number.to_string().into()
}

/// Writes the number after the last one, again and again. Were an acknowledged write lost, or were there two winners,
/// then some number would be acknowledged twice.
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

/// What the watch tells to be newer than this.
async fn newer(watch: &mut Watch, last: &Entry) -> Entry {
    loop {
        let entry = match next(watch).await {
            Event::Set(entry) => entry,
            Event::State(mut entries) => entries.remove(0),
            Event::Removed { .. } => panic!("nobody removes it"),
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

/// The server that leads the registry's stream.
async fn leader(context: &jetstream::Context) -> usize {
    let mut look = tokio::time::interval(Duration::from_millis(20));
    let asking = async {
        loop {
            look.tick().await;
            let Ok(stream) = context.get_stream("KV_muster_registry").await else { continue };
            let leader = stream.cached_info().cluster.as_ref().and_then(|cluster| cluster.leader.clone());
            let number = leader.and_then(|name| name.rsplit('-').next()?.parse().ok());
            if let Some(number) = number {
                return number;
            }
        }
    };
    within("a leader", asking).await
}
