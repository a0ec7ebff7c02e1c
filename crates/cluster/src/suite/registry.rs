//! Tests that every registry passes.

use std::time::Duration;

use bytes::Bytes;

use super::ground::{Ground, Joined, next, state, until_up, within};
use crate::registry::{Entry, Registry, RegistryError, RegistryEvent, Revision, VALUE_BYTES_MAX, Watch, Written};

const SECOND: Option<Duration> = Some(Duration::from_secs(1));

/// Number of races in one test, and of updates in another.
const ROUNDS: usize = 50;

fn text(text: &'static str) -> Bytes {
    Bytes::from_static(text.as_bytes())
}

fn entry(key: &str, value: &'static str, revision: Revision) -> Entry {
    Entry { key: key.to_owned(), value: text(value), revision }
}

fn removed(event: RegistryEvent) -> String {
    match event {
        RegistryEvent::Removed { key, .. } => key,
        event => panic!("{event:?} is no removal"),
    }
}

pub(crate) async fn a_value_is_created_once(ground: impl Ground) {
    let (one, two) = (ground.join().await.node, ground.join().await.node);
    let first = one.create("a", text("1"), None).await.expect("created");
    assert_eq!(two.create("a", text("2"), None).await, Err(RegistryError::Conflict));
    let other = two.create("b", text("2"), None).await.expect("created");
    assert!(other > first, "revisions of all keys grow together");
    two.delete("a", first).await.expect("deleted");
    let again = one.create("a", text("3"), None).await.expect("created again");
    assert!(again > other);
}

pub(crate) async fn writes_expect_what_is_there(ground: impl Ground) {
    let node = ground.join().await.node;
    assert_eq!(node.update("a", text("0"), Revision(1), None).await, Err(RegistryError::Conflict));
    let first = node.create("a", text("1"), None).await.expect("created");
    let second = node.update("a", text("2"), first, None).await.expect("updated");
    assert!(second > first);
    assert_eq!(node.update("a", text("3"), first, None).await, Err(RegistryError::Conflict));
    assert_eq!(node.delete("a", first).await, Err(RegistryError::Conflict));
    node.delete("a", second).await.expect("deleted");
    assert_eq!(node.update("a", text("4"), second, None).await, Err(RegistryError::Conflict));
    assert_eq!(node.delete("a", second).await, Err(RegistryError::Conflict));
}

pub(crate) async fn one_of_two_racing_writers_wins(ground: impl Ground) {
    let (one, two) = (ground.join().await.node, ground.join().await.node);
    let mut expected = one.create("view", text("0"), None).await.expect("created");
    for _ in 0..ROUNDS {
        let (first, second) =
            tokio::join!(one.update("view", text("1"), expected, None), two.update("view", text("2"), expected, None),);
        expected = winner(first, second);
        let (first, second) = tokio::join!(one.create("owner", text("1"), None), two.create("owner", text("2"), None));
        let owner = winner(first, second);
        one.delete("owner", owner).await.expect("deleted");
    }
}

fn winner(first: Written, second: Written) -> Revision {
    match (first, second) {
        (Ok(revision), Err(RegistryError::Conflict)) | (Err(RegistryError::Conflict), Ok(revision)) => revision,
        outcomes => panic!("not one winner: {outcomes:?}"),
    }
}

pub(crate) async fn watches_tell_the_state_then_changes_in_order(ground: impl Ground) {
    let (one, two) = (ground.join().await.node, ground.join().await.node);
    let a = one.create("a", text("1"), None).await.expect("created");
    let b = one.create("b", text("2"), None).await.expect("created");
    one.delete("b", b).await.expect("deleted");
    let mut watch = two.watch();
    assert_eq!(state(&mut watch).await, [entry("a", "1", a)]);

    let c = one.create("c", text("3"), None).await.expect("created");
    assert_eq!(next(&mut watch).await, RegistryEvent::Set(entry("c", "3", c)));
    let mut a = two.update("a", text("4"), a, None).await.expect("updated");
    assert_eq!(next(&mut watch).await, RegistryEvent::Set(entry("a", "4", a)));
    one.delete("c", c).await.expect("deleted");
    assert_eq!(removed(next(&mut watch).await), "c");

    for _ in 0..ROUNDS {
        a = one.update("a", text("5"), a, None).await.expect("updated");
    }
    let mut told = Revision::default();
    while told != a {
        let RegistryEvent::Set(Entry { revision, .. }) = next(&mut watch).await else { panic!("no value") };
        assert!(revision > told, "{revision:?} came after {told:?}");
        told = revision;
    }
}

pub(crate) async fn values_go_when_their_time_is_over(ground: impl Ground) {
    let (one, two) = (ground.join().await.node, ground.join().await.node);
    let mut watch = two.watch();
    state(&mut watch).await;
    let lease = one.create("lease", text("1"), SECOND).await.expect("created");
    assert_eq!(next(&mut watch).await, RegistryEvent::Set(entry("lease", "1", lease)));
    let RegistryEvent::Removed { key, revision } = next(&mut watch).await else { panic!("no removal") };
    assert_eq!(key, "lease");
    assert!(revision > lease, "a removal is a change");
    assert_eq!(one.update("lease", text("2"), lease, SECOND).await, Err(RegistryError::Conflict));
}

pub(crate) async fn a_value_lives_on_by_being_written(ground: impl Ground) {
    let node = ground.join().await.node;
    let mut watch = node.watch();
    state(&mut watch).await;
    let first = node.create("kept", text("1"), SECOND).await.expect("created");
    let renewed = node.create("renewed", text("1"), SECOND).await.expect("created");
    let first = node.update("kept", text("2"), first, None).await.expect("updated");
    // This time to live outlasts the test, even on a slow machine.
    let renewed = node.update("renewed", text("2"), renewed, Some(Duration::from_secs(600))).await.expect("updated");
    // This value was written last and expires first, so by then the others would have expired too.
    node.create("gone", text("1"), SECOND).await.expect("created");
    assert_eq!(removed(until_removed(&mut watch).await), "gone");
    node.update("kept", text("3"), first, None).await.expect("still there");
    node.update("renewed", text("3"), renewed, None).await.expect("still there");
}

/// A client library is known to drop the time to live of a value that follows a removal: a lease would never end then.
pub(crate) async fn a_value_made_after_another_went_goes_in_time(ground: impl Ground) {
    let node = ground.join().await.node;
    let mut watch = node.watch();
    state(&mut watch).await;
    node.create("lease", text("runs out"), SECOND).await.expect("created");
    assert_eq!(removed(until_removed(&mut watch).await), "lease");
    let second = node.create("lease", text("is deleted"), SECOND).await.expect("created after it ran out");
    node.delete("lease", second).await.expect("deleted");
    assert_eq!(removed(until_removed(&mut watch).await), "lease");
    node.create("lease", text("runs out too"), SECOND).await.expect("created after it was deleted");
    assert_eq!(removed(until_removed(&mut watch).await), "lease");
}

async fn until_removed(watch: &mut Watch) -> RegistryEvent {
    loop {
        let event = next(watch).await;
        if matches!(event, RegistryEvent::Removed { .. }) {
            return event;
        }
    }
}

pub(crate) async fn a_watch_tells_the_state_again_after_a_loss(ground: impl Ground) {
    let (Joined { node: one, .. }, Joined { node: two, line }) = (ground.join().await, ground.join().await);
    let a = one.create("a", text("1"), None).await.expect("created");
    let b = one.create("b", text("1"), None).await.expect("created");
    let mut watch = two.watch();
    assert_eq!(state(&mut watch).await, [entry("a", "1", a), entry("b", "1", b)]);
    line.cut();
    until_up(&*two, false).await;
    one.delete("a", a).await.expect("deleted");
    let b = one.update("b", text("2"), b, None).await.expect("updated");
    let c = one.create("c", text("1"), None).await.expect("created");
    assert!(matches!(two.create("d", text("1"), None).await, Err(RegistryError::Unavailable(_))));
    line.mend();
    assert_eq!(state(&mut watch).await, [entry("b", "2", b), entry("c", "1", c)]);
    one.delete("c", c).await.expect("deleted");
    assert_eq!(removed(next(&mut watch).await), "c");
}

pub(crate) async fn a_lost_answer_leaves_it_unknown_and_the_write_can_be_repeated(ground: impl Ground) {
    let (Joined { node: one, line }, Joined { node: two, .. }) = (ground.join().await, ground.join().await);
    let mut watch = two.watch();
    state(&mut watch).await;

    line.lose_answer();
    let outcome = within("an outcome", one.create("view", text("mine"), None)).await;
    assert!(matches!(outcome, Err(RegistryError::Unknown(_))), "{outcome:?}");
    until_up(&*one, true).await;
    let repeated = within("an outcome", one.create("view", text("mine"), None)).await;
    assert_eq!(repeated, Err(RegistryError::Conflict), "the first had happened");
    let RegistryEvent::Set(Entry { value, revision, .. }) = next(&mut watch).await else { panic!("no value") };
    assert_eq!(value, "mine", "and the watch tells so");

    line.lose_answer();
    let outcome = within("an outcome", one.update("view", text("mine too"), revision, None)).await;
    assert!(matches!(outcome, Err(RegistryError::Unknown(_))), "{outcome:?}");
    until_up(&*one, true).await;
    let repeated = within("an outcome", one.update("view", text("mine too"), revision, None)).await;
    assert_eq!(repeated, Err(RegistryError::Conflict));
    let RegistryEvent::Set(Entry { value, .. }) = next(&mut watch).await else { panic!("no value") };
    assert_eq!(value, "mine too");
}

pub(crate) async fn what_is_no_key_or_too_large_is_refused(ground: impl Ground) {
    let node = ground.join().await.node;
    for key in ["", "a b", "a.*", ">", ".a"] {
        let outcome = node.create(key, text("1"), None).await;
        assert!(matches!(outcome, Err(RegistryError::Refused(_))), "{key}: {outcome:?}");
    }
    let revision = node.create("largest", vec![7; VALUE_BYTES_MAX].into(), None).await.expect("created");
    let larger = Bytes::from(vec![7; VALUE_BYTES_MAX + 1]);
    let outcome = node.update("largest", larger.clone(), revision, None).await;
    assert!(matches!(outcome, Err(RegistryError::Refused(_))), "{outcome:?}");
    let outcome = node.create("larger", larger, None).await;
    assert!(matches!(outcome, Err(RegistryError::Refused(_))), "{outcome:?}");
}
