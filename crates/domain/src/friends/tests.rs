//! The edges that a change leaves between two users, from every pair of states that there can be.

use uuid::Uuid;

use super::*;
use FriendState::{Asked, AskedBy, Blocked};

const FRIEND: Option<FriendState> = Some(FriendState::Friend);

fn ann() -> UserId {
    UserId(Uuid::from_u128(1))
}

fn after(step: EdgeStep, before: Option<FriendState>) -> Option<FriendState> {
    match step {
        EdgeStep::Keep => before,
        EdgeStep::Make(state) => {
            assert_eq!(before, None);
            Some(state)
        }
        EdgeStep::Set(state) => {
            assert!(before.is_some());
            Some(state)
        }
        EdgeStep::Remove => {
            assert!(before.is_some());
            None
        }
    }
}

fn check(
    kind: &FriendChangeKind,
    before: (Option<FriendState>, Option<FriendState>),
    expect: (Option<FriendState>, Option<FriendState>, FriendOutcome),
) {
    let EdgePlan { mine, theirs, outcome } = plan(kind, before.0, before.1);
    assert_eq!((after(mine, before.0), after(theirs, before.1), outcome), expect, "{kind:?} {before:?}");
}

#[test]
fn asking_accepts_what_waits_and_respects_blocks() {
    let add = FriendChangeKind::Add("{}".into());
    check(&add, (None, None), (Some(Asked), Some(AskedBy), FriendOutcome::Requested));
    check(&add, (Some(AskedBy), Some(Asked)), (FRIEND, FRIEND, FriendOutcome::Accepted));
    for same in [
        (Some(Asked), Some(AskedBy)),
        (FRIEND, FRIEND),
        (Some(Blocked), None),
        (None, Some(Blocked)),
        (Some(Blocked), Some(Blocked)),
    ] {
        check(&add, same, (same.0, same.1, FriendOutcome::Unchanged));
    }
}

#[test]
fn deleting_leaves_the_blocks_of_others() {
    let delete = FriendChangeKind::Delete;
    for both in [(Some(Asked), Some(AskedBy)), (Some(AskedBy), Some(Asked)), (FRIEND, FRIEND)] {
        check(&delete, both, (None, None, FriendOutcome::Removed));
    }
    check(&delete, (Some(Blocked), None), (None, None, FriendOutcome::Unblocked));
    check(&delete, (Some(Blocked), Some(Blocked)), (None, Some(Blocked), FriendOutcome::Unblocked));
    check(&delete, (None, Some(Blocked)), (None, Some(Blocked), FriendOutcome::Unchanged));
    check(&delete, (None, None), (None, None, FriendOutcome::Unchanged));
}

#[test]
fn blocking_takes_all_but_the_other_block() {
    let block = FriendChangeKind::Block;
    for both in [(Some(Asked), Some(AskedBy)), (Some(AskedBy), Some(Asked)), (FRIEND, FRIEND), (None, None)] {
        check(&block, both, (Some(Blocked), None, FriendOutcome::Blocked));
    }
    for mine in [None, Some(Blocked)] {
        check(&block, (mine, Some(Blocked)), (Some(Blocked), Some(Blocked), FriendOutcome::Blocked));
    }
    check(&block, (Some(Blocked), None), (Some(Blocked), None, FriendOutcome::Blocked));
}

#[test]
fn metadata_is_of_edges_there_are() {
    let annotate = FriendChangeKind::Annotate("{}".into());
    check(&annotate, (None, FRIEND), (None, FRIEND, FriendOutcome::Unchanged));
    check(&annotate, (Some(Blocked), None), (Some(Blocked), None, FriendOutcome::Annotated));
}

#[test]
fn oneself_the_system_user_and_nobody_are_no_friends() {
    let id = ann().to_string();
    let check = |ids: &[&str], names: &[&str], expect: bool| {
        let ids: Vec<String> = ids.iter().map(|id| (*id).to_owned()).collect();
        let names = names.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(NamedFriends::parse(ann(), "ann", &ids, names).is_ok(), expect, "{ids:?}");
    };
    check(&[], &[], true);
    check(&["00000000-0000-0000-0000-000000000002"], &["bob", "Ann"], true);
    check(&[&id], &[], false);
    let capitals = "0000000A-0000-0000-0000-000000000001";
    let oneself = UserId(Uuid::parse_str(capitals).unwrap());
    assert!(NamedFriends::parse(oneself, "ann", &[capitals.to_owned()], Vec::new()).is_err());
    check(&[&UserId::SYSTEM.to_string()], &[], false);
    check(&["bob"], &[], false);
    check(&[""], &[], false);
    check(&[], &["ann"], false);
    check(&[], &[""], false);
    check(&[], &["a\0"], false);
    check(&["00000000-0000-0000-0000-000000000002"; FRIENDS_CHANGED_MAX], &[], true);
    check(&["00000000-0000-0000-0000-000000000002"; FRIENDS_CHANGED_MAX], &["bob"], false);
}

#[test]
fn metadata_is_a_small_object() {
    assert!(check_metadata("{}").is_ok());
    for wrong in ["", "[]", "1", "{"] {
        assert!(check_metadata(wrong).is_err(), "{wrong}");
    }
    let long = |bytes: usize| format!(r#"{{"a":"{}"}}"#, "x".repeat(bytes - 8));
    assert!(check_metadata(&long(FRIEND_METADATA_BYTES_MAX)).is_ok());
    assert!(check_metadata(&long(FRIEND_METADATA_BYTES_MAX + 1)).is_err());
}

#[test]
fn a_listing_begins_behind_its_place() {
    let place = FriendPosition { state: Asked, position: 7 };
    let start = FriendPosition { state: FriendState::Friend, position: i64::MIN };
    assert_eq!(list_start(None, None), start);
    assert_eq!(list_start(None, Some(place)), place);
    assert_eq!(list_start(Some(Asked), Some(place)), place);
    assert_eq!(list_start(Some(Blocked), None), FriendPosition { state: Blocked, ..start });
}
