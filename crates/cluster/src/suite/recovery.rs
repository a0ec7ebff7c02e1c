//! Tests that every store of recovery data passes.

use std::sync::atomic::Ordering;

use bytes::Bytes;

use super::ground::{Ground, Joined, until_up, within};
use crate::recovery::{RECOVERY_BYTES_MAX, Recovery, RecoveryError};

fn texts(found: &[(String, Bytes)]) -> Vec<(&str, &str)> {
    found.iter().map(|(key, value)| (&**key, std::str::from_utf8(value).expect("text"))).collect()
}

fn put(node: &impl Recovery, key: &str, value: &'static str) {
    node.put(key, Bytes::from_static(value.as_bytes())).expect("room");
}

async fn load(node: &impl Recovery, words: &str) -> Vec<(String, Bytes)> {
    within("what is kept", node.load(words)).await.expect("what is kept")
}

pub(crate) async fn a_successor_finds_what_was_kept(ground: impl Ground) {
    let (owner, successor) = (ground.join().await.node, ground.join().await.node);
    put(&*owner, "p.1.room", "one");
    put(&*owner, "p.17.room", "seventeen");
    put(&*owner, "p.1.desk", "desk");
    put(&*owner, "p.1.gone", "gone");
    within("it to be written", owner.flush()).await;
    put(&*owner, "p.1.room", "old");
    put(&*owner, "p.1.room", "new");
    owner.remove("p.1.gone").expect("room");
    within("it to be written", owner.flush()).await;
    assert_eq!(texts(&load(&*successor, "p.1").await), [("p.1.desk", "desk"), ("p.1.room", "new")]);
    assert_eq!(texts(&load(&*successor, "p.17").await), [("p.17.room", "seventeen")]);
    assert_eq!(texts(&load(&*successor, "p.2").await), []);
    let mut keys = within("the keys", successor.keys("p")).await.expect("the keys");
    keys.retain(|key| key != "p.1.gone");
    keys.sort_unstable();
    assert_eq!(keys, ["p.1.desk", "p.1.room", "p.17.room"]);
}

pub(crate) async fn the_newest_is_written_when_the_connection_is_back(ground: impl Ground) {
    let Joined { node: owner, line } = ground.join().await;
    put(&*owner, "p.1.room", "before");
    within("it to be written", owner.flush()).await;
    line.cut();
    until_up(&*owner, false).await;
    for value in ["one", "two", "three"] {
        put(&*owner, "p.1.room", value);
    }
    assert!(matches!(owner.load("p.1").await, Err(RecoveryError::Unavailable(_))));
    line.mend();
    within("it to be written", owner.flush()).await;
    assert_eq!(texts(&load(&*owner, "p.1").await), [("p.1.room", "three")]);
    let replaced = owner.recovery_metrics().replaced.load(Ordering::Relaxed);
    assert_eq!(replaced, 2, "two were written by the third");
}

pub(crate) async fn what_nobody_takes_is_refused(ground: impl Ground) {
    let node = ground.join().await.node;
    let largest = Bytes::from(vec![7; RECOVERY_BYTES_MAX]);
    node.put("p.1.large", largest.clone()).expect("room");
    within("it to be written", node.flush()).await;
    assert_eq!(load(&*node, "p.1").await, [("p.1.large".to_owned(), largest)]);
    let larger = node.put("p.1.large", Bytes::from(vec![7; RECOVERY_BYTES_MAX + 1]));
    assert!(matches!(larger, Err(RecoveryError::Refused(_))), "{larger:?}");
    let nameless = node.put("p..large", Bytes::new());
    assert!(matches!(nameless, Err(RecoveryError::Refused(_))), "{nameless:?}");
}
