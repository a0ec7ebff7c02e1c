//! Tests of somebody who reaches the bus, the registry and the stores of a cluster, and does not have its key.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use bytes::Bytes;
use muster_live::place::Place;

use super::ground::{Ground, next, seal, state, within};
use super::node::{all_receive, all_send, together, until_event};
use super::talker::{Talker, batch, options};
use crate::bus::{Address, Bus};
use crate::link::{LinkConfig, LinkOutput, Links, token};
use crate::membership::timing::RETRY_MS;
use crate::membership::{Compatibility, Incompatible, VIEW_KEY, View};
use crate::node::{NodeCommand, NodeEvent, NodeOptions, RunningNode};
use crate::operator::{self, DrainError};
use crate::recovery::Recovery;
use crate::registry::{Entry, Registry, RegistryEvent};
use crate::seal::{Seal, SealUse, Sealed};

/// The key of somebody else.
fn other_seal() -> Seal {
    Seal::new(&[8; 32], SealUse::Require)
}

async fn until_counted(what: &str, counter: &AtomicU64, count: u64) {
    let mut look = tokio::time::interval(Duration::from_millis(5));
    let enough = async {
        while counter.load(Ordering::Relaxed) < count {
            look.tick().await;
        }
    };
    within(what, enough).await;
}

/// The entry of the view, as nodes read it.
async fn view_entry(registry: &impl Registry) -> Entry {
    let entries = state(&mut registry.watch()).await;
    entries.into_iter().find(|entry| entry.key == VIEW_KEY).expect("a view")
}

fn view_of(entry: &Entry) -> View {
    View::from_bytes(&entry.value, entry.revision).expect("a view")
}

/// A frame from one node to another, without a seal. Its batch is none that a talker expects.
fn frame(from: Address, to: Address) -> Bytes {
    let (mut links, mut out) = (Links::new(from.number, LinkConfig::default()), LinkOutput::default());
    links.open(to.number, token(from.incarnation, to.incarnation));
    links.send(0, to.number, batch(77, 100), &mut out).expect("it is small");
    out.frames.remove(0).1
}

pub(crate) async fn forged_and_repeated_frames_are_refused<N>(ground: impl Ground<Node = Sealed<N>>)
where
    N: Bus + Registry + Recovery,
{
    let mut talkers = [Talker::join(&ground).await, Talker::join(&ground).await];
    together(&mut talkers).await;
    let outside = ground.join().await.node;
    let stranger = outside.inner();
    let view = view_of(&view_entry(&*outside).await);
    let [from, to] = [0, 1].map(|node: usize| view.node(talkers[node].me).expect("a node").address());
    let metrics = talkers[1].seal.metrics().clone();

    let plain = frame(from, to);
    for forged in [plain.clone(), other_seal().seal_frame(from, to, 1_000, plain.clone())] {
        stranger.send(to, forged).expect("sent");
    }
    until_counted("the forged frames", &metrics.frames_forged, 2).await;
    all_send(&mut talkers, 50).await;
    all_receive(&mut talkers, 50).await;

    // A frame for one node is none for another, nor for the same node in its next life.
    let elsewhere = Address { incarnation: to.incarnation ^ 1, ..to };
    stranger.send(to, seal().seal_frame(from, elsewhere, 1_001, plain.clone())).expect("sent");
    stranger.send(to, seal().seal_frame(to, from, 1_002, frame(from, to))).expect("sent");
    until_counted("the frames for others", &metrics.frames_forged, 4).await;

    // The sender has used these numbers, so this is how frames look that somebody has recorded.
    assert_eq!(metrics.frames_repeated.load(Ordering::Relaxed), 0);
    for sequence in 1..=3 {
        stranger.send(to, seal().seal_frame(from, to, sequence, plain.clone())).expect("sent");
    }
    until_counted("the repeated frames", &metrics.frames_repeated, 3).await;
    all_send(&mut talkers, 50).await;
    all_receive(&mut talkers, 100).await;
    assert_eq!(metrics.frames_forged.load(Ordering::Relaxed), 4);
}

pub(crate) async fn a_forged_view_changes_nothing<N>(ground: impl Ground<Node = Sealed<N>>)
where
    N: Bus + Registry + Recovery,
{
    let mut talkers = vec![Talker::join(&ground).await, Talker::join(&ground).await];
    together(&mut talkers).await;
    let outside = ground.join().await.node;
    let stranger = outside.inner();
    let mut watch = outside.watch();
    let entries = state(&mut watch).await;
    let mut true_view = entries.into_iter().find(|entry| entry.key == VIEW_KEY).expect("a view");
    let thief = Place::new(talkers[0].me, 0);
    let forged = {
        let mut view = view_of(&true_view).successor(Default::default());
        view.holdings_mut().for_each(|(_, holding)| holding.owner = Some(thief));
        view.to_bytes()
    };
    let resealed = other_seal().seal_value(crate::seal::Store::Registry, VIEW_KEY, forged.clone());
    for value in [forged, resealed] {
        let mut revision = true_view.revision;
        // The nodes may still be giving each other partitions.
        let written = loop {
            match stranger.update(VIEW_KEY, value.clone(), revision, None).await {
                Ok(written) => break written,
                Err(_) => {
                    true_view = next_view(&mut watch).await;
                    revision = true_view.revision;
                }
            }
        };
        let told = loop {
            let told = next_view(&mut watch).await;
            if told.revision == written {
                break told;
            }
            true_view = told;
        };
        assert_eq!(told.value, true_view.value, "the last true view stands in place of the forged");
        true_view = told;
    }
    assert_eq!(outside.seal().metrics().values_forged.load(Ordering::Relaxed), 2);
    // The cluster goes on, and replaces what was forged.
    talkers.push(Talker::join(&ground).await);
    together(&mut talkers).await;
    all_send(&mut talkers, 20).await;
    all_receive(&mut talkers, 20).await;
}

async fn next_view(watch: &mut crate::registry::Watch) -> Entry {
    loop {
        if let RegistryEvent::Set(entry) = next(watch).await
            && entry.key == VIEW_KEY
        {
            return entry;
        }
    }
}

pub(crate) async fn an_old_view_makes_no_owner<N>(ground: impl Ground<Node = Sealed<N>>)
where
    N: Bus + Registry + Recovery,
{
    let mut talkers = vec![Talker::join(&ground).await];
    together(&mut talkers).await;
    let outside = ground.join().await.node;
    let stranger = outside.inner();
    let recorded = view_entry(&**stranger).await.value;
    talkers.push(Talker::join(&ground).await);
    together(&mut talkers).await;
    let newest = view_of(&view_entry(&*outside).await).epoch;
    while stranger.update(VIEW_KEY, recorded.clone(), view_entry(&*outside).await.revision, None).await.is_err() {}
    // The members store theirs again, with a later epoch, and nobody has to join anew.
    let mut look = tokio::time::interval(Duration::from_millis(5));
    within("the members' view to be back", async {
        while view_of(&view_entry(&*outside).await).epoch <= newest {
            look.tick().await;
        }
    })
    .await;
    together(&mut talkers).await;
    assert!(talkers.iter().all(|talker| !talker.is_voted_out));
    all_send(&mut talkers, 20).await;
    all_receive(&mut talkers, 20).await;
}

pub(crate) async fn forged_recovery_data_are_left_out<N>(ground: impl Ground<Node = Sealed<N>>)
where
    N: Bus + Registry + Recovery,
{
    let node = ground.join().await.node;
    let stranger = node.inner();
    for key in ["p.1.true", "p.1.other"] {
        node.put(key, Bytes::from_static(b"true")).expect("room");
    }
    within("it to be written", node.flush()).await;
    let recorded = within("what is kept", stranger.load("p.1")).await.expect("kept");
    let (_, recorded) = recorded.into_iter().find(|(key, _)| key == "p.1.true").expect("it is kept");
    stranger.put("p.1.forged", Bytes::from_static(b"forged")).expect("room");
    stranger.put("p.1.other", recorded).expect("room");
    within("it to be written", stranger.flush()).await;
    let found = within("what is kept", node.load("p.1")).await.expect("kept");
    assert_eq!(found, [("p.1.true".to_owned(), Bytes::from_static(b"true"))]);
    assert_eq!(node.seal().metrics().values_forged.load(Ordering::Relaxed), 2);
}

pub(crate) async fn a_node_with_another_key_is_told_so_and_joins_when_the_others_are_gone<N>(
    ground: impl Ground<Node = Sealed<N>>,
) where
    N: Bus + Registry + Recovery,
{
    let mut talkers = [Talker::join(&ground).await];
    together(&mut talkers).await;
    let stranger = ground.join().await.node.inner().clone();
    let operator = operator::drain(&Sealed::new(stranger.clone(), other_seal()), "node", |_, _| {}).await;
    assert!(matches!(operator, Err(DrainError::Keys)), "{operator:?}");
    let options = NodeOptions { seal: other_seal(), ..options("stranger", Compatibility::default()) };
    let (node, mut events) = RunningNode::start(Arc::new(Sealed::new(stranger, other_seal())), options);
    let is_outcome = |event: &NodeEvent| matches!(event, NodeEvent::Refused(_) | NodeEvent::Joined(_));
    let event = until_event(&mut events, is_outcome).await;
    assert!(matches!(event, NodeEvent::Refused(Incompatible::Keys(_))), "{event:?}");
    assert!(talkers[0].node.authority().is_online(), "the cluster noticed nothing");

    drop(talkers);
    let mut attempts = tokio::time::interval(Duration::from_millis(RETRY_MS));
    loop {
        attempts.tick().await;
        node.commands().send(NodeCommand::Rejoin).await.expect("it runs");
        // The node is refused until the lease of its predecessor has run out.
        if let NodeEvent::Joined(_) = until_event(&mut events, is_outcome).await {
            break;
        }
    }
    until_event(&mut events, |event| matches!(event, NodeEvent::Online)).await;
}
