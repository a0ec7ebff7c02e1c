//! Friends: both edges of each change, counts, notifications, quotas, races, pages and keys.

use futures_util::future::join_all;
use muster_domain::notifications::codes;
use muster_domain::ports::accounts::UserQuery;
use muster_domain::ports::friends::{
    Friend, FriendChange, FriendChangeKind, FriendOutcome, FriendPosition, FriendState, ReferralPosition,
};
use muster_domain::ports::keyed_writes::{WriteKey, WriteStamp};
use muster_domain::ports::notifications::{Notification, NotificationPosition};
use muster_domain::ports::storage::Authority;
use muster_domain::ports::store::StoreError;
use muster_domain::quotas::Quota;
use muster_domain::{NotificationId, Timestamp, UserId};
use uuid::Uuid;

use super::Fixture;
use super::fixture::Cell::{Id, Number};
use super::fixture::{NOW, quotas};
use crate::{postgres, sqlite};

const DELETE: FriendChangeKind = FriendChangeKind::Delete;
const BLOCK: FriendChangeKind = FriendChangeKind::Block;

fn add() -> FriendChangeKind {
    FriendChangeKind::Add("{}".into())
}

fn change(user_id: UserId, kind: FriendChangeKind, ids: &[UserId]) -> FriendChange {
    FriendChange {
        user_id,
        username: "ann".into(),
        kind,
        ids: ids.to_vec(),
        usernames: Vec::new(),
        authority: Authority::Server,
        notices: Vec::new(),
        quiet_since: None,
    }
}

async fn run(fixture: &Fixture, change: &FriendChange) -> Result<Vec<FriendOutcome>, StoreError> {
    let changed = fixture.store().change_friends(change, WriteStamp::at(NOW)).await?;
    Ok(changed.into_iter().map(|each| each.outcome).collect())
}

async fn list(fixture: &Fixture, user_id: UserId) -> Vec<Friend> {
    fixture.store().list_friends(user_id, None, None, 1_000).await.unwrap()
}

/// The state of the edge between two users, from each side.
async fn between(fixture: &Fixture, one: UserId, two: UserId) -> (Option<FriendState>, Option<FriendState>) {
    let state = async |from, to| {
        let found = fixture.store().friends(from, &[to]).await.unwrap();
        found.first().map(|friend| friend.state)
    };
    (state(one, two).await, state(two, one).await)
}

/// Checks that the counts of all users are those of their edges.
async fn counts_are_right(fixture: &Fixture, users: &[UserId]) {
    let query = UserQuery { ids: users.to_vec(), ..UserQuery::default() };
    for user in fixture.store().users(&query).await.unwrap() {
        let edges = list(fixture, user.id.unwrap()).await.len();
        assert_eq!(user.edge_count as usize, edges, "{}", user.username);
    }
}

pub(super) async fn edges_and_counts_follow_every_change(fixture: &Fixture) {
    use FriendState::{Asked, AskedBy, Blocked, Friend};
    let (ann, bob) = (fixture.sign_up("ann").await, fixture.sign_up("bob").await);
    let steps = [
        (ann, DELETE, FriendOutcome::Unchanged, None, None),
        (ann, add(), FriendOutcome::Requested, Some(Asked), Some(AskedBy)),
        (ann, add(), FriendOutcome::Unchanged, Some(Asked), Some(AskedBy)),
        (ann, DELETE, FriendOutcome::Removed, None, None),
        (ann, add(), FriendOutcome::Requested, Some(Asked), Some(AskedBy)),
        (bob, DELETE, FriendOutcome::Removed, None, None),
        (bob, add(), FriendOutcome::Requested, Some(AskedBy), Some(Asked)),
        (ann, add(), FriendOutcome::Accepted, Some(Friend), Some(Friend)),
        (bob, add(), FriendOutcome::Unchanged, Some(Friend), Some(Friend)),
        (bob, DELETE, FriendOutcome::Removed, None, None),
        (bob, add(), FriendOutcome::Requested, Some(AskedBy), Some(Asked)),
        (ann, BLOCK, FriendOutcome::Blocked, Some(Blocked), None),
        (bob, add(), FriendOutcome::Unchanged, Some(Blocked), None),
        (ann, add(), FriendOutcome::Unchanged, Some(Blocked), None),
        (bob, DELETE, FriendOutcome::Unchanged, Some(Blocked), None),
        (bob, BLOCK, FriendOutcome::Blocked, Some(Blocked), Some(Blocked)),
        (ann, BLOCK, FriendOutcome::Blocked, Some(Blocked), Some(Blocked)),
        (ann, DELETE, FriendOutcome::Unblocked, None, Some(Blocked)),
        (ann, add(), FriendOutcome::Unchanged, None, Some(Blocked)),
        (bob, DELETE, FriendOutcome::Unblocked, None, None),
        (bob, BLOCK, FriendOutcome::Blocked, None, Some(Blocked)),
    ];
    for (number, (who, kind, outcome, of_ann, of_bob)) in steps.into_iter().enumerate() {
        let other = if who == ann { bob } else { ann };
        assert_eq!(run(fixture, &change(who, kind, &[other])).await, Ok(vec![outcome]), "{number}");
        assert_eq!(between(fixture, ann, bob).await, (of_ann, of_bob), "{number}");
        counts_are_right(fixture, &[ann, bob]).await;
    }
    let stranger = UserId(Uuid::from_u128(404));
    for kind in [add(), BLOCK, DELETE] {
        assert_eq!(run(fixture, &change(ann, kind.clone(), &[stranger])).await, Ok(vec![FriendOutcome::Unknown]));
        let itself = run(fixture, &change(ann, kind, &[ann])).await;
        assert!(matches!(itself, Err(StoreError::Invalid(_))), "{itself:?}");
    }
    let of_nobody = run(fixture, &change(stranger, add(), &[ann])).await;
    assert!(matches!(of_nobody, Err(StoreError::Invalid(_))), "{of_nobody:?}");
    counts_are_right(fixture, &[ann, bob]).await;
}

pub(super) async fn metadata_is_of_one_s_own_edge(fixture: &Fixture) {
    let (ann, bob) = (fixture.sign_up("ann").await, fixture.sign_up("bob").await);
    let with = |text: &str| FriendChangeKind::Add(text.into());
    let metadata = async |of, to| {
        let found = fixture.store().friends(of, &[to]).await.unwrap().remove(0);
        assert_eq!(found.user.id, Some(to));
        serde_json::from_str::<serde_json::Value>(&found.metadata).unwrap()
    };
    let json = |text: &str| serde_json::from_str::<serde_json::Value>(text).unwrap();
    run(fixture, &change(ann, with(r#"{"met":"here","n":1}"#), &[bob])).await.unwrap();
    assert_eq!((metadata(ann, bob).await, metadata(bob, ann).await), (json(r#"{"met":"here","n":1}"#), json("{}")));
    let note = FriendChangeKind::Annotate(r#"{"n":2,"old":true}"#.into());
    assert_eq!(run(fixture, &change(bob, note, &[ann])).await, Ok(vec![FriendOutcome::Annotated]));
    run(fixture, &change(bob, with(r#"{"n":3}"#), &[ann])).await.unwrap();
    assert_eq!(metadata(bob, ann).await, json(r#"{"n":3,"old":true}"#), "added to what was there");
    assert_eq!(metadata(ann, bob).await, json(r#"{"met":"here","n":1}"#));
    run(fixture, &change(ann, BLOCK, &[bob])).await.unwrap();
    assert_eq!(metadata(ann, bob).await, json(r#"{"met":"here","n":1}"#));
    let note = FriendChangeKind::Annotate("{}".into());
    assert_eq!(run(fixture, &change(bob, note, &[ann])).await, Ok(vec![FriendOutcome::Unchanged]));
}

pub(super) async fn whoever_is_named_twice_changes_once(fixture: &Fixture) {
    let (ann, bob) = (fixture.sign_up("ann").await, fixture.sign_up("bob").await);
    let named = |kind, usernames: &[&str]| FriendChange {
        usernames: usernames.iter().map(|name| (*name).to_owned()).collect(),
        ..change(ann, kind, &[bob, bob])
    };
    let both = named(add(), &["bob", "nobody"]);
    let (once, twice, never) = (FriendOutcome::Requested, FriendOutcome::Unchanged, FriendOutcome::Unknown);
    assert_eq!(run(fixture, &both).await, Ok(vec![once, twice, twice, never]));
    counts_are_right(fixture, &[ann, bob]).await;
    let gone = run(fixture, &named(DELETE, &["bob"])).await;
    assert_eq!(gone, Ok(vec![FriendOutcome::Removed, twice, twice]));
    counts_are_right(fixture, &[ann, bob]).await;
    let itself = run(fixture, &named(add(), &["ann"])).await;
    assert!(matches!(itself, Err(StoreError::Invalid(_))), "{itself:?}");
    assert_eq!(between(fixture, ann, bob).await, (None, None), "nothing of it");
}

pub(super) async fn are_notified_in_the_same_transaction(fixture: &Fixture) {
    let (store, ann, bob) = (fixture.store(), fixture.sign_up("ann").await, fixture.sign_up("bob").await);
    let cid = fixture.sign_up("cid").await;
    let mut number = 0;
    let mut told = async |who: UserId, kind: FriendChangeKind, quiet_since| {
        number += 1;
        let id = NotificationId(Uuid::from_u128(number));
        let other = if who == ann { bob } else { ann };
        let notices = vec![Some(id), None];
        let change = FriendChange { notices, quiet_since, ..change(who, kind, &[other, cid]) };
        let changed = store.change_friends(&change, WriteStamp::at(Timestamp(NOW.0 + number as i64))).await.unwrap();
        assert_eq!(changed[1].notification, None, "no id, no notification");
        changed[0].notification.as_ref().map(|notice| (notice.user_id, notice.code))
    };
    assert_eq!(told(ann, add(), None).await, Some((bob, codes::FRIEND_REQUEST)));
    assert_eq!(told(ann, add(), None).await, None);
    assert_eq!(told(bob, add(), None).await, Some((ann, codes::FRIEND_ACCEPTED)));
    assert_eq!(told(ann, DELETE, None).await, Some((bob, codes::FRIEND_REMOVED)));
    let since = Some(Timestamp(NOW.0 - 1));
    assert_eq!(told(ann, add(), since).await, None, "the first one waits");
    assert_eq!(told(ann, DELETE, since).await, None);
    assert_eq!(told(bob, add(), since).await, Some((ann, codes::FRIEND_REQUEST)), "the first of its code");
    assert_eq!(told(bob, BLOCK, since).await, None);
    let waiting = async |user_id| store.list_notifications(user_id, NotificationPosition::START, 100).await.unwrap();
    let codes_of = |list: &[Notification]| list.iter().map(|each| each.code).collect::<Vec<_>>();
    let of_bob = waiting(bob).await;
    assert_eq!(codes_of(&of_bob), [codes::FRIEND_REQUEST, codes::FRIEND_REMOVED]);
    assert_eq!(codes_of(&waiting(ann).await), [codes::FRIEND_ACCEPTED, codes::FRIEND_REQUEST]);
    let content: serde_json::Value = serde_json::from_str(&of_bob[0].content).unwrap();
    assert_eq!((of_bob[0].sender_id, content), (ann, serde_json::json!({ "username": "ann" })));
    assert_eq!(waiting(cid).await, []);
    // A name too long for a subject refuses all of it.
    let long = FriendChange {
        username: "x".repeat(255),
        notices: vec![Some(NotificationId(Uuid::from_u128(900)))],
        ..change(ann, DELETE, &[cid])
    };
    run(fixture, &change(ann, add(), &[cid])).await.unwrap();
    assert!(matches!(run(fixture, &long).await, Err(StoreError::Invalid(_))));
    assert!(between(fixture, ann, cid).await.0.is_some());
}

pub(super) async fn are_as_many_as_may_be(fixture: &Fixture) {
    let (ann, most) = (fixture.sign_up("ann").await, quotas().friends as usize);
    let mut others = Vec::new();
    for number in 0..=most + 1 {
        others.push(fixture.sign_up(&format!("friend {number}")).await);
    }
    let by_client =
        |who, kind, ids: &[UserId]| FriendChange { authority: Authority::Client(who), ..change(who, kind, ids) };
    let full = Err(StoreError::Exceeded(Quota::Friends));
    assert_eq!(run(fixture, &by_client(ann, add(), &others[..=most])).await, full, "all or none");
    assert_eq!(list(fixture, ann).await, []);
    run(fixture, &by_client(ann, add(), &others[..most - 1])).await.unwrap();
    run(fixture, &by_client(ann, BLOCK, &others[most - 1..most])).await.unwrap();
    for kind in [add(), BLOCK] {
        assert_eq!(run(fixture, &by_client(ann, kind, &others[most..=most])).await, full);
    }
    // Blocking somebody whom one knows already takes no more room.
    run(fixture, &by_client(ann, BLOCK, &others[..1])).await.unwrap();
    // Requests by others wait beside, as many again.
    for other in &others[1..most] {
        run(fixture, &change(ann, DELETE, &[*other])).await.unwrap();
    }
    for other in &others[1..=most] {
        run(fixture, &by_client(*other, add(), &[ann])).await.unwrap();
    }
    let crowded = Err(StoreError::Exceeded(Quota::FriendRequests));
    assert_eq!(run(fixture, &by_client(others[most + 1], add(), &[ann])).await, crowded);
    run(fixture, &by_client(ann, add(), &others[1..most])).await.unwrap();
    assert_eq!(run(fixture, &by_client(ann, add(), &others[most..=most])).await, full, "accepting counts");
    run(fixture, &by_client(ann, DELETE, &others[1..2])).await.unwrap();
    run(fixture, &by_client(ann, add(), &others[most..=most])).await.unwrap();
    assert_eq!(fixture.metric("quota_friends_refused"), 5);
    // Game code is not held to it.
    run(fixture, &change(others[most + 1], add(), &[ann])).await.unwrap();
    run(fixture, &change(ann, add(), &[others[most + 1]])).await.unwrap();
    counts_are_right(fixture, &[ann, others[1], others[most + 1]]).await;
}

pub(super) async fn changes_of_both_at_once_agree(fixture: &Fixture) {
    use FriendState::{Blocked, Friend};
    let mut users = Vec::new();
    for number in 0..6 {
        users.push(fixture.sign_up(&format!("racer {number}")).await);
    }
    // Everybody asks everybody, in opposite orders: who comes second accepts.
    let asked = join_all(users.iter().enumerate().map(async |(index, user)| {
        let mut others: Vec<UserId> = users.iter().copied().filter(|other| other != user).collect();
        if index % 2 == 0 {
            others.reverse();
        }
        run(fixture, &change(*user, add(), &others)).await
    }))
    .await;
    let outcomes: Vec<FriendOutcome> = asked.into_iter().flat_map(Result::unwrap).collect();
    let count = |wanted| outcomes.iter().filter(|outcome| **outcome == wanted).count();
    assert_eq!((count(FriendOutcome::Requested), count(FriendOutcome::Accepted)), (15, 15));
    assert_eq!(between(fixture, users[0], users[5]).await, (Some(Friend), Some(Friend)));
    counts_are_right(fixture, &users).await;
    // Both block each other while both ask and remove: each block holds.
    let (ann, bob) = (users[0], users[1]);
    let kinds = [BLOCK, add(), DELETE, add(), BLOCK];
    let both = kinds.iter().flat_map(|kind| [(ann, bob, kind), (bob, ann, kind)]);
    let changed = join_all(both.map(async |(one, two, kind)| run(fixture, &change(one, kind.clone(), &[two])).await));
    assert!(changed.await.iter().all(Result::is_ok));
    assert_eq!(between(fixture, ann, bob).await, (Some(Blocked), Some(Blocked)));
    counts_are_right(fixture, &users).await;
    assert_eq!(fixture.retries(), 0, "locks are taken in one order");
}

pub(super) async fn lists_every_friend_once_over_pages(fixture: &Fixture) {
    let (store, ann) = (fixture.store(), fixture.sign_up("ann").await);
    let mut others = Vec::new();
    for number in 0..12 {
        others.push(fixture.sign_up(&format!("friend {number:02}")).await);
    }
    run(fixture, &change(ann, add(), &others[..6])).await.unwrap();
    for other in &others[6..9] {
        run(fixture, &change(*other, add(), &[ann])).await.unwrap();
    }
    for other in &others[..3] {
        run(fixture, &change(*other, add(), &[ann])).await.unwrap();
    }
    run(fixture, &change(ann, BLOCK, &others[9..])).await.unwrap();
    let expect: Vec<Option<UserId>> = others.iter().copied().map(Some).collect();
    let all = list(fixture, ann).await;
    assert_eq!(all.iter().map(|friend| friend.user.id).collect::<Vec<_>>(), expect, "by state, then by age");
    assert_eq!((all[0].update_time, all[0].user.username.as_str()), (NOW, "friend 00"));
    assert!(all.iter().all(|friend| friend.metadata == "{}"));
    for state in [None, Some(FriendState::Asked)] {
        let (mut behind, mut seen) = (None, Vec::new());
        loop {
            let page = store.list_friends(ann, state, behind, 2).await.unwrap();
            let Some(last) = page.last() else { break };
            behind = Some(FriendPosition { state: last.state, position: last.position });
            seen.extend(page);
        }
        let expect = if state.is_some() { &all[3..6] } else { &all[..] };
        assert_eq!(seen, expect);
    }
    let mut status = store.friends(ann, &[others[0], others[11], ann, others[0]]).await.unwrap();
    status.sort_by_key(|friend| friend.state);
    assert_eq!(status, [all[0].clone(), all[11].clone()]);
}

pub(super) async fn lists_the_friends_of_friends(fixture: &Fixture) {
    let (store, ann) = (fixture.store(), fixture.sign_up("ann").await);
    let mut others = Vec::new();
    for number in 0..6 {
        others.push(fixture.sign_up(&format!("friend {number}")).await);
    }
    others.sort_unstable();
    let befriend = async |one: UserId, two: UserId| {
        run(fixture, &change(one, add(), &[two])).await.unwrap();
        run(fixture, &change(two, add(), &[one])).await.unwrap();
    };
    for friend in &others[..3] {
        befriend(ann, *friend).await;
    }
    let expect = [(0, 3), (0, 4), (1, 3), (1, 5), (2, 4)].map(|(one, two)| (others[one], others[two]));
    for (one, two) in expect {
        befriend(one, two).await;
    }
    befriend(others[0], others[1]).await;
    // Requests and blocks are no friendships, neither near nor far.
    run(fixture, &change(others[2], add(), &[others[5]])).await.unwrap();
    run(fixture, &change(ann, BLOCK, &[others[5]])).await.unwrap();
    for limit in [100, 1, 2] {
        let (mut behind, mut seen) = (None, Vec::new());
        loop {
            let page = store.list_friends_of_friends(ann, behind, limit).await.unwrap();
            let Some(last) = page.last() else { break };
            behind = Some(ReferralPosition { referrer: last.referrer, user_id: last.user.id.unwrap() });
            seen.extend(page.into_iter().map(|each| (each.referrer, each.user.id.unwrap())));
        }
        assert_eq!(seen, expect, "{limit}");
    }
    assert_eq!(store.list_friends_of_friends(UserId(Uuid::from_u128(404)), None, 9).await.unwrap(), []);
}

pub(super) async fn changes_with_a_key_happen_once(fixture: &Fixture) {
    let (store, ann, bob) = (fixture.store(), fixture.sign_up("ann").await, fixture.sign_up("bob").await);
    let stamp = |tick| {
        let key = WriteKey { match_id: Uuid::from_u128(7), tick, ordinal: 0, after: None };
        WriteStamp { now: NOW, key: Some(key) }
    };
    let notices = vec![Some(NotificationId(Uuid::from_u128(1)))];
    let ask = FriendChange { notices, ..change(ann, add(), &[bob]) };
    let first = store.change_friends(&ask, stamp(1)).await.unwrap();
    assert_eq!(first[0].outcome, FriendOutcome::Requested);
    run(fixture, &change(bob, DELETE, &[ann])).await.unwrap();
    let again = store.change_friends(&ask, stamp(1)).await.unwrap();
    assert_eq!((again[0].outcome, again[0].user_id), (FriendOutcome::Requested, Some(bob)));
    assert_eq!(between(fixture, ann, bob).await, (None, None), "not made again");
    let waiting = store.list_notifications(bob, NotificationPosition::START, 9).await.unwrap();
    assert_eq!(waiting.len(), 1);
    let other = change(ann, BLOCK, &[bob]);
    assert_eq!(store.change_friends(&other, stamp(1)).await, Err(StoreError::Diverged));
    let itself = change(ann, add(), &[ann]);
    let refused = store.change_friends(&itself, stamp(2)).await;
    assert!(matches!(refused, Err(StoreError::Invalid(_))), "{refused:?}");
    assert_eq!(store.change_friends(&itself, stamp(2)).await, refused);
}

pub(super) async fn are_found_along_an_index(fixture: &Fixture) {
    let ann = Id(Uuid::from_u128(1));
    let check = async |sqlite: &str, postgres: &str, values: &[super::fixture::Cell<'_>], sorts: usize| {
        let plan = fixture.plan(sqlite, postgres, values).await;
        assert!(!plan.contains("SCAN user_edge") && !plan.contains("Seq Scan on user_edge"), "{plan}");
        assert!(!plan.contains("SCAN users") && !plan.contains("Seq Scan on users"), "{plan}");
        // The only order that is made is that of the page.
        assert!(plan.matches("TEMP B-TREE").count() <= sorts, "{plan}");
    };
    let page = [ann, Number(0), Number(7), Number(100)];
    check(sqlite::friends::LIST, postgres::friends::LIST, &page, 1).await;
    check(sqlite::friends::LIST_OF_STATE, postgres::friends::LIST_OF_STATE, &page, 1).await;
    let one = [Id(Uuid::from_u128(1)), Id(Uuid::from_u128(2))];
    check(sqlite::friends::FIND, &postgres::friends::FIND.replace("ANY($2)", "ANY(ARRAY[$2]::uuid[])"), &one, 1).await;
    let place = [Id(Uuid::from_u128(1)), Id(Uuid::nil()), Id(Uuid::nil()), Number(11)];
    check(sqlite::friends::FRIENDS_OF_FRIENDS, postgres::friends::FRIENDS_OF_FRIENDS, &place, 1).await;
}
