//! Tests that every bus passes.

use std::collections::HashSet;

use bytes::Bytes;

use super::ground::{Ground, Joined, address, until_up, within};
use crate::bus::{Bus, BusError, Inbox, Probe};

/// Frames of one burst: few enough to fit into every queue on the way.
const BURST: u32 = 1_000;

pub(crate) async fn frames_arrive_at_their_address_alone(ground: impl Ground) {
    let (one, two) = (ground.join().await.node, ground.join().await.node);
    let mut first = one.listen(address(1)).await.expect("listening");
    let mut second = two.listen(address(2)).await.expect("listening");

    one.send(address(2), Bytes::from_static(b"to two")).expect("sent");
    two.send(address(1), Bytes::from_static(b"to one")).expect("sent");
    // An earlier node of the same number has another address.
    let mut other = address(2);
    other.incarnation += 1;
    one.send(other, Bytes::from_static(b"to nobody")).expect("sent");
    one.send(address(1), Bytes::from_static(b"to myself")).expect("sent");

    assert_eq!(within("a frame", second.receive()).await.expect("a frame"), "to two");
    let mut arrived = HashSet::new();
    for _ in 0..2 {
        arrived.insert(within("a frame", first.receive()).await.expect("a frame"));
    }
    assert_eq!(arrived, HashSet::from([Bytes::from_static(b"to one"), Bytes::from_static(b"to myself")]));
    assert_eq!(second.try_receive(), None);
}

pub(crate) async fn frames_arrive_once_each(ground: impl Ground) {
    let (one, two) = (ground.join().await.node, ground.join().await.node);
    let mut inbox = two.listen(address(2)).await.expect("listening");
    for number in 0..BURST {
        one.send(address(2), Bytes::copy_from_slice(&number.to_le_bytes())).expect("sent");
    }
    let mut arrived = HashSet::new();
    for _ in 0..BURST {
        let frame = within("a frame", inbox.receive()).await.expect("a frame");
        assert!(arrived.insert(frame), "it came twice");
    }
}

pub(crate) async fn frames_have_a_largest_size(ground: impl Ground) {
    let node = ground.join().await.node;
    let mut inbox = node.listen(address(1)).await.expect("listening");
    let bytes_max = node.frame_bytes_max();
    let frame = Bytes::from(vec![7; bytes_max]);
    node.send(address(1), frame.clone()).expect("sent");
    assert_eq!(within("the largest frame", inbox.receive()).await, Some(frame));

    let bytes = bytes_max + 1;
    let refused = node.send(address(1), Bytes::from(vec![7; bytes]));
    assert_eq!(refused, Err(BusError::TooLarge { bytes, bytes_max }));
}

pub(crate) async fn an_address_is_probed(ground: impl Ground) {
    let (Joined { node: one, .. }, Joined { node: two, line }) = (ground.join().await, ground.join().await);
    assert_eq!(one.probe(address(2)).await, Probe::Nobody);
    let inbox = two.listen(address(2)).await.expect("listening");
    assert_eq!(within("an answer", one.probe(address(2))).await, Probe::Listening);
    assert_eq!(within("an answer", two.probe(address(2))).await, Probe::Listening);
    drop(inbox);
    within("nobody to listen", until_probed(&*one, Probe::Nobody)).await;

    let _inbox = two.listen(address(2)).await.expect("listening again");
    line.cut();
    within("nobody to listen", until_probed(&*one, Probe::Nobody)).await;
    until_up(&*two, false).await;
    assert_eq!(within("an answer", two.probe(address(2))).await, Probe::Unknown);
}

pub(crate) async fn a_cut_connection_is_told_and_heals(ground: impl Ground) {
    let Joined { node, line } = ground.join().await;
    let mut connection = node.connection();
    let before = *connection.borrow_and_update();
    assert!(before.is_up);
    line.cut();
    until_up(&*node, false).await;
    assert_eq!(node.send(address(1), Bytes::new()), Err(BusError::Down));
    line.mend();
    until_up(&*node, true).await;
    assert!(connection.borrow().losses > before.losses, "a loss counts even when nobody looked");
}

pub(crate) async fn what_was_listened_to_is_again_after_a_loss(ground: impl Ground) {
    let (Joined { node: one, .. }, Joined { node: two, line }) = (ground.join().await, ground.join().await);
    let mut inbox = two.listen(address(2)).await.expect("listening");
    line.cut();
    until_up(&*two, false).await;
    line.mend();
    within("it to listen again", until_probed(&*one, Probe::Listening)).await;
    one.send(address(2), Bytes::from_static(b"welcome back")).expect("sent");
    assert_eq!(within("a frame", inbox.receive()).await.expect("a frame"), "welcome back");
}

/// Probes until the answer is `expect`: the bus needs a moment to learn what happened.
async fn until_probed(node: &impl Bus, expect: Probe) {
    while node.probe(address(2)).await != expect {
        tokio::task::yield_now().await;
    }
}
