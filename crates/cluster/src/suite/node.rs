//! Tests of running nodes: batches between them, and membership of the view.

use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::FutureExt as _;
use muster_testenv::{Nats as Server, NatsSettings};
use tokio::sync::mpsc;

use super::ground::{Ground, HubGround, Joined, NatsGround, NoLine, block_on, in_process, within};
use super::talker::{Talker, batch, options};
use crate::NodeNumber;
use crate::hub::Faults;
use crate::link::BATCH_BYTES_MAX;
use crate::membership::timing::{ISLAND_AFTER_MS, RETRY_MS};
use crate::membership::{Compatibility, Incompatible};
use crate::node::{LINK_BYTES_MAX, NodeCommand, NodeEvent, RunningNode, SendError};
use crate::operator::{self, DrainError};

/// Number of batches that each node sends to each of the others.
const BATCHES: u64 = 300;

/// Waits until every talker sees all others and is online.
pub(super) async fn together(talkers: &mut [Talker]) {
    let count = talkers.len();
    for talker in talkers {
        // A talker's events may lag behind its authority, which tells at once when the node is not sure any more.
        let is_sure = |talker: &Talker| talker.is_online && talker.node.authority().is_online();
        let is_so = |talker: &Talker| talker.nodes.len() == count && is_sure(talker);
        talker.until("all nodes in the view", is_so).await;
    }
}

async fn three(ground: &impl Ground) -> [Talker; 3] {
    let mut talkers = [Talker::join(ground).await, Talker::join(ground).await, Talker::join(ground).await];
    together(&mut talkers).await;
    talkers
}

/// Every talker sends `count` more batches to every other.
pub(super) async fn all_send(talkers: &mut [Talker], count: u64) {
    let numbers: Vec<NodeNumber> = talkers.iter().map(|talker| talker.me).collect();
    for talker in talkers {
        let me = talker.me;
        for to in numbers.iter().filter(|to| **to != me) {
            talker.send(*to, count).await;
        }
    }
}

pub(super) async fn all_receive(talkers: &mut [Talker], count: u64) {
    let numbers: Vec<NodeNumber> = talkers.iter().map(|talker| talker.me).collect();
    for talker in talkers {
        let me = talker.me;
        for from in numbers.iter().filter(|from| **from != me) {
            talker.receives(*from, count).await;
        }
    }
}

pub(crate) async fn batches_between_three_nodes_arrive_in_order(ground: impl Ground) {
    let mut talkers = three(&ground).await;
    all_send(&mut talkers, BATCHES).await;
    all_receive(&mut talkers, BATCHES).await;
    let too_large = talkers[0].node.outbound().try_send(talkers[1].me, batch(0, BATCH_BYTES_MAX));
    assert!(matches!(too_large, Err(SendError::TooLarge(_))), "{too_large:?}");
}

pub(crate) async fn a_node_that_is_gone_is_voted_out_and_its_links_end(ground: impl Ground) {
    let [mut one, mut two, three] = three(&ground).await;
    let (gone, authority) = (three.me, three.node.authority().clone());
    drop(three);
    for talker in [&mut one, &mut two] {
        talker.until("a view without it", |talker| !talker.nodes.contains(&gone)).await;
        let sent = talker.node.outbound().try_send(gone, batch(0, 100));
        assert!(matches!(sent, Err(SendError::NoLink)), "{sent:?}");
        // The wait ends at once: there is no link.
        within("no room to wait for", talker.node.outbound().room(gone)).await;
    }
    assert!(!authority.is_online(), "nobody renews its lease");
    let mut rest = [one, two];
    all_send(&mut rest, 10).await;
    all_receive(&mut rest, 10).await;
}

pub(crate) async fn what_was_said_before_leaving_arrives(ground: impl Ground) {
    let [mut one, mut two, mut leaving] = three(&ground).await;
    let gone = leaving.me;
    leaving.send(one.me, BATCHES).await;
    leaving.send(two.me, BATCHES).await;
    leaving.command(NodeCommand::Leave).await;
    leaving.until("it to leave", |talker| talker.has_left).await;
    assert!(within("the end of the events", leaving.events.recv()).await.is_none());
    assert!(!leaving.node.authority().is_online());
    for talker in [&mut one, &mut two] {
        talker.receives(gone, BATCHES).await;
        talker.until("a view without it", |talker| !talker.nodes.contains(&gone)).await;
    }
}

pub(crate) async fn an_operator_has_a_node_drain_and_waits_until_it_has_left(ground: impl Ground) {
    let [mut one, mut two, mut draining] = three(&ground).await;
    let outside = ground.join().await.node;
    let unknown = operator::drain(&*outside, "nobody", |_, _| {}).await;
    assert!(matches!(unknown, Err(DrainError::Unknown { .. })), "{unknown:?}");
    let (gone, mut owned) = (draining.me, Vec::new());
    let name = gone.to_string();
    let drain = async {
        draining.until("it to be drained", |talker| talker.is_drained).await;
        draining.command(NodeCommand::Leave).await;
        draining.until("it to leave", |talker| talker.has_left).await;
    };
    let is_gone = |talker: &Talker| !talker.nodes.contains(&gone);
    let (drained, (), (), ()) = tokio::join!(
        operator::drain(&*outside, &name, |_, partitions| owned.push(partitions)),
        drain,
        one.until("a view without it", is_gone),
        two.until("a view without it", is_gone)
    );
    drained.expect("drained");
    // The operator's watch may skip views, so the test cannot expect certain numbers.
    assert!(!owned.is_empty(), "it tells how far it is");
}

pub(crate) async fn a_draining_node_gives_everything_away_and_goes(ground: impl Ground) {
    let [mut one, mut two, mut draining] = three(&ground).await;
    let gone = draining.me;
    let drain = async {
        draining.command(NodeCommand::Drain).await;
        draining.until("it to be drained", |talker| talker.is_drained).await;
        draining.command(NodeCommand::Leave).await;
        draining.until("it to leave", |talker| talker.has_left).await;
    };
    // Meanwhile the others complete the moves between them.
    let is_gone = |talker: &Talker| !talker.nodes.contains(&gone);
    tokio::join!(drain, one.until("a view without it", is_gone), two.until("a view without it", is_gone));
}

pub(crate) async fn nodes_that_lose_the_bus_together_are_islands_and_go_on_with_nothing_lost(ground: impl Ground) {
    let mut talkers = three(&ground).await;
    all_send(&mut talkers, BATCHES / 3).await;
    let lines: Vec<_> =
        talkers.iter_mut().map(|talker| std::mem::replace(&mut talker.line, Box::new(NoLine))).collect();
    lines.iter().for_each(|line| line.cut());
    islands(&mut talkers, || lines.iter().for_each(|line| line.mend())).await;
}

/// Waits until the talkers, whose bus is away, are islands; then sends batches, calls `mend`, and sends the rest.
async fn islands(talkers: &mut [Talker], mend: impl FnOnce()) {
    for talker in talkers.iter_mut() {
        talker.until("an island", |talker| talker.islands > 0 && !talker.is_online).await;
        assert!(!talker.node.authority().is_online());
    }
    all_send(talkers, BATCHES / 3).await;
    mend();
    together(talkers).await;
    all_send(talkers, BATCHES / 3).await;
    all_receive(talkers, BATCHES / 3 * 3).await;
    for talker in talkers {
        assert_eq!(talker.node.metrics().voted_out.load(Ordering::Relaxed), 0);
    }
}

#[test]
fn nodes_whose_server_was_killed_go_on_with_nothing_lost() {
    let server = Server::start(NatsSettings::default()).expect("a server");
    block_on(async {
        let ground = NatsGround::at(server.url(), "killed");
        let mut talkers = three(&ground).await;
        all_send(&mut talkers, BATCHES / 3).await;
        server.kill().expect("killed");
        islands(&mut talkers, || server.start_again().expect("started")).await;
    });
}

#[test]
fn nodes_that_were_all_killed_and_start_again_own_everything_within_two_seconds() {
    in_process(async |ground: HubGround| {
        let start = async || {
            let mut talkers = Vec::new();
            for name in ["one", "two", "three"] {
                let Joined { node, line } = ground.join().await;
                talkers.push(Talker::start_as(name, node, line));
            }
            // The view has as many nodes as there are now: those of before own nothing any more.
            together(&mut talkers).await;
            talkers
        };
        drop(start().await);
        let begun = tokio::time::Instant::now();
        let _talkers = start().await;
        let took = begun.elapsed();
        assert!(took < Duration::from_secs(2), "{took:?} by the hub's clock");
    });
}

/// Waits until the talkers are islands, and then until they are the same cluster as before, with nothing lost.
async fn go_on_after_a_loss(mut talkers: [Talker; 3], lose: impl FnOnce()) {
    let numbers: Vec<NodeNumber> = talkers.iter().map(|talker| talker.me).collect();
    all_send(&mut talkers, BATCHES / 3).await;
    islands(&mut talkers, lose).await;
    assert_eq!(talkers.iter().map(|talker| talker.me).collect::<Vec<_>>(), numbers);
}

#[test]
fn nodes_whose_server_lost_its_store_set_the_registry_up_again_with_nothing_lost() {
    let server = Server::start(NatsSettings::default()).expect("a server");
    block_on(async {
        let ground = NatsGround::at(server.url(), "forgetful");
        let talkers = three(&ground).await;
        server.kill().expect("killed");
        go_on_after_a_loss(talkers, || {
            server.lose_store().expect("lost");
            server.start_again().expect("started");
        })
        .await;
    });
}

#[test]
fn nodes_whose_hub_lost_its_store_set_the_registry_up_again_with_nothing_lost() {
    in_process(async |ground: HubGround| {
        let mut talkers = three(&ground).await;
        let lines: Vec<_> =
            talkers.iter_mut().map(|talker| std::mem::replace(&mut talker.line, Box::new(NoLine))).collect();
        lines.iter().for_each(|line| line.cut());
        go_on_after_a_loss(talkers, || {
            ground.0.lose_store();
            lines.iter().for_each(|line| line.mend());
        })
        .await;
    });
}

pub(crate) async fn a_node_cut_off_for_long_comes_again_as_another(ground: impl Ground) {
    let [mut one, mut two, mut cut] = three(&ground).await;
    let before = cut.me;
    cut.line.cut();
    cut.until("an island", |talker| talker.islands > 0 && !talker.is_online).await;
    for talker in [&mut one, &mut two] {
        talker.until("a view without it", |talker| !talker.nodes.contains(&before)).await;
        assert!(talker.is_online, "{} is no island", talker.me);
    }
    // Batches to the nodes that voted it out are lost without an error: the node does not know yet.
    cut.send(one.me, 1).await;
    cut.line.mend();
    cut.until("it to hear of it", |talker| talker.is_voted_out).await;
    let sent = cut.node.outbound().try_send(one.me, batch(0, 100));
    assert!(matches!(sent, Err(SendError::NoLink)), "{sent:?}");
    assert_eq!(cut.node.metrics().voted_out.load(Ordering::Relaxed), 1);
    cut.command(NodeCommand::Rejoin).await;
    let mut talkers = [one, two, cut];
    together(&mut talkers).await;
    assert!(talkers[2].me > before);
    all_send(&mut talkers, BATCHES).await;
    all_receive(&mut talkers, BATCHES).await;
    assert!(!talkers[0].arrived.contains_key(&before));
}

pub(crate) async fn a_node_that_was_voted_out_can_leave(ground: impl Ground) {
    let [mut one, _two, mut cut] = three(&ground).await;
    let before = cut.me;
    cut.line.cut();
    one.until("a view without it", |talker| !talker.nodes.contains(&before)).await;
    cut.line.mend();
    cut.until("it to hear of it", |talker| talker.is_voted_out).await;
    cut.command(NodeCommand::Leave).await;
    cut.until("it to leave", |talker| talker.has_left).await;
    assert!(within("the end of the events", cut.events.recv()).await.is_none());
}

pub(crate) async fn what_a_node_does_not_read_holds_up_its_senders_alone(ground: impl Ground) {
    const BYTES: usize = 48 * 1024;
    let [mut one, mut two, mut slow] = three(&ground).await;
    // Meanwhile nobody reads the events of the slow talker.
    let filling = async {
        let mut taken = 0;
        loop {
            match one.node.outbound().try_send(slow.me, batch(taken, BYTES)) {
                Ok(()) => {
                    taken += 1;
                    assert!((taken as usize * BYTES) < 32 * LINK_BYTES_MAX, "nothing holds it up");
                }
                // The wait for room lets the node's task run. If that brings no room, the slow talker holds batches
                // back.
                Err(SendError::Full(_)) => {
                    let room = one.node.outbound().room(slow.me);
                    if tokio::time::timeout(Duration::from_secs(10), room).await.is_err() {
                        return taken;
                    }
                }
                Err(error) => panic!("{error}"),
            }
        }
    };
    let taken = within("a full link", filling).await;
    assert!(taken as usize * BYTES > LINK_BYTES_MAX, "{taken} were taken");
    assert!(one.node.metrics().outbound_full.load(Ordering::Relaxed) > 0);
    assert!(slow.node.metrics().events_full.load(Ordering::Relaxed) > 0);
    assert_eq!(one.node.metrics().links.borrow().congested, 1);

    one.send(two.me, BATCHES).await;
    two.receives(one.me, BATCHES).await;
    assert!(slow.node.authority().is_online(), "it is slow, and no island");
    slow.receives(one.me, taken).await;
    within("room", one.node.outbound().room(slow.me)).await;
}

pub(crate) async fn a_node_that_does_not_fit_joins_when_the_others_are_gone(ground: impl Ground) {
    let there = Compatibility { wire_version: 3, readable_from: 2, keys: 7, ..Compatibility::default() };
    let (first, mut told) = RunningNode::start(ground.join().await.node, options("first", there));
    until_event(&mut told, |event| matches!(event, NodeEvent::Online)).await;
    let misfit = async |compatibility| {
        let (node, mut told) = RunningNode::start(ground.join().await.node, options("other", compatibility));
        let event = until_event(&mut told, |event| matches!(event, NodeEvent::Refused(_) | NodeEvent::Joined(_))).await;
        let reason = if let NodeEvent::Refused(reason) = event { Some(reason) } else { None };
        (node, told, reason)
    };
    let name = || "first".into();
    let (.., reason) = misfit(Compatibility { wire_version: 1, readable_from: 1, ..there }).await;
    assert_eq!(reason, Some(Incompatible::TooOld(name())));
    let (.., reason) = misfit(Compatibility { wire_version: 9, readable_from: 4, ..there }).await;
    assert_eq!(reason, Some(Incompatible::TooNew(name())));
    let (.., reason) = misfit(Compatibility { wire_version: 2, readable_from: 1, ..there }).await;
    assert_eq!(reason, None, "a neighbouring release");
    let (other, mut told, reason) = misfit(Compatibility { keys: 8, ..there }).await;
    assert_eq!(reason, Some(Incompatible::Keys(name())));

    drop(first);
    let mut attempts = tokio::time::interval(Duration::from_millis(RETRY_MS));
    loop {
        attempts.tick().await;
        other.commands().send(NodeCommand::Rejoin).await.expect("it runs");
        let event = until_event(&mut told, |event| matches!(event, NodeEvent::Refused(_) | NodeEvent::Joined(_))).await;
        // The node is refused until the lease of its predecessor has run out.
        if matches!(event, NodeEvent::Joined(_)) {
            break;
        }
    }
}

/// Reads events up to the first that `is_it` accepts.
pub(super) async fn until_event(
    events: &mut mpsc::Receiver<NodeEvent>,
    is_it: impl Fn(&NodeEvent) -> bool,
) -> NodeEvent {
    let reading = async {
        loop {
            let event = events.recv().await.expect("events go on");
            if is_it(&event) {
                return event;
            }
        }
    };
    within("an event", reading).await
}

#[test]
fn authority_ends_in_time_though_no_task_gets_to_run() {
    in_process(async |ground: HubGround| {
        let talkers = three(&ground).await;
        // Polling once moves the clock, and nothing else runs before the check.
        let _ = tokio::time::advance(Duration::from_millis(ISLAND_AFTER_MS)).now_or_never();
        assert!(talkers.iter().all(|talker| !talker.node.authority().is_online()));
    });
}

#[test]
fn batches_arrive_in_order_over_a_bus_that_loses_and_delays() {
    in_process(async |ground: HubGround| {
        let mut talkers = three(&ground).await;
        ground.0.set_faults(Faults { loss: 0.2, delay_max: Duration::from_millis(20) });
        all_send(&mut talkers, BATCHES).await;
        all_receive(&mut talkers, BATCHES).await;
        assert!(ground.0.frames_lost() > 0);
        let resent = talkers[0].node.metrics().links.borrow().sum.resent;
        assert!(resent > 0);
    });
}
