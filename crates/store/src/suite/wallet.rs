//! Wallets, their ledger, and combined changes.

use futures_util::future::join_all;
use muster_domain::ports::accounts::AccountUpdate;
use muster_domain::ports::keyed_writes::WriteStamp;
use muster_domain::ports::multi_update::{MultiOutcome, MultiUpdate};
use muster_domain::ports::storage::{Authority, Expected, ObjectDelete};
use muster_domain::ports::store::{Conflict, Rejection, StoreError};
use muster_domain::ports::wallet::{
    Amounts, LedgerEntry, LedgerItem, LedgerPosition, UnfitBalance, WalletChange, WalletUpdate,
};
use muster_domain::time::Timestamp;
use muster_domain::{LedgerItemId, UserId};
use uuid::Uuid;

use super::Fixture;
use super::fixture::Cell::{Id, Number, Time};
use super::fixture::NOW;
use super::storage::{id, version, write};
use crate::{postgres, sqlite};

const LATER: Timestamp = Timestamp(NOW.0 + 1_000_000);

pub(super) fn amounts(amounts: &[(&str, i64)]) -> Amounts {
    amounts.iter().map(|(name, amount)| ((*name).to_owned(), *amount)).collect()
}

/// A change of one amount. If `number` is not 0, it is the id of the change's ledger item.
pub(super) fn pay(user_id: UserId, name: &str, amount: i64, number: u128) -> WalletUpdate {
    let entry = LedgerEntry { id: LedgerItemId(Uuid::from_u128(number)), metadata: format!(r#"{{"n": {number}}}"#) };
    WalletUpdate { user_id, changeset: amounts(&[(name, amount)]), ledger: (number > 0).then_some(entry) }
}

pub(super) fn wallets(wallets: Vec<WalletUpdate>) -> MultiUpdate {
    MultiUpdate { wallets, ..MultiUpdate::default() }
}

fn changed(previous: &[(&str, i64)], updated: &[(&str, i64)]) -> Option<WalletChange> {
    Some(WalletChange { previous: amounts(previous), updated: amounts(updated) })
}

async fn update(fixture: &Fixture, update: &MultiUpdate) -> Result<MultiOutcome, StoreError> {
    fixture.store().multi_update(update, WriteStamp::at(LATER)).await
}

pub(super) async fn held(fixture: &Fixture, user_id: UserId) -> Amounts {
    let account = fixture.store().account(user_id).await.unwrap().unwrap();
    muster_domain::wallet::parse(&account.wallet).unwrap()
}

pub(super) async fn ledger(fixture: &Fixture, user_id: UserId) -> Vec<LedgerItem> {
    let (items, more) = fixture.store().list_ledger(user_id, LedgerPosition::START, 1_000).await.unwrap();
    assert!(!more);
    items
}

pub(super) async fn adds_to_wallets_and_tells_before_and_after(fixture: &Fixture) {
    let (ann, bob) = (fixture.sign_up("ann").await, fixture.sign_up("bob").await);
    let nobody = UserId(Uuid::from_u128(404));
    let changes = vec![
        pay(bob, "gold", 7, 0),
        pay(nobody, "gold", 7, 1),
        pay(ann, "gold", 5, 2),
        pay(bob, "gold", -3, 3),
        pay(bob, "gems", i64::MAX, 0),
    ];
    let outcome = update(fixture, &wallets(changes)).await.unwrap();
    let expect = [
        changed(&[], &[("gold", 7)]),
        None,
        changed(&[], &[("gold", 5)]),
        changed(&[("gold", 7)], &[("gold", 4)]),
        changed(&[("gold", 4)], &[("gold", 4), ("gems", i64::MAX)]),
    ];
    assert_eq!(outcome.wallets, expect);
    assert_eq!(held(fixture, bob).await, amounts(&[("gold", 4), ("gems", i64::MAX)]));
    let account = fixture.store().account(ann).await.unwrap().unwrap();
    assert_eq!((account.wallet.replace(' ', "").as_str(), account.user.update_time), (r#"{"gold":5}"#, LATER));
    let items: Vec<_> = ledger(fixture, bob).await;
    assert_eq!(items.len(), 1, "only where the ledger was asked for");
    assert_eq!(update(fixture, &MultiUpdate::default()).await, Ok(MultiOutcome::default()));
}

pub(super) async fn refuses_what_no_wallet_may_hold(fixture: &Fixture) {
    let (ann, bob) = (fixture.sign_up("ann").await, fixture.sign_up("bob").await);
    update(fixture, &wallets(vec![pay(ann, "gold", 5, 0)])).await.unwrap();
    let check = async |last: WalletUpdate, current| {
        let (name, amount) = last.changeset.iter().map(|(name, amount)| (name.clone(), *amount)).next().unwrap();
        let unfit = UnfitBalance { user_id: last.user_id, name, current, amount };
        let outcome = update(fixture, &wallets(vec![pay(bob, "gold", 9, 1), pay(ann, "gold", -2, 2), last])).await;
        assert_eq!(outcome, Err(StoreError::Balance(Box::new(unfit))));
        assert_eq!((held(fixture, ann).await, held(fixture, bob).await), (amounts(&[("gold", 5)]), Amounts::new()));
    };
    check(pay(ann, "gold", -4, 3), 3).await;
    check(pay(bob, "gems", -1, 3), 0).await;
    check(pay(ann, "gold", i64::MAX, 3), 3).await;
    assert_eq!((ledger(fixture, ann).await, ledger(fixture, bob).await), (vec![], vec![]));
}

pub(super) async fn leaves_wallets_of_other_kinds_alone(fixture: &Fixture) {
    let (ann, bob) = (fixture.sign_up("ann").await, fixture.sign_up("bob").await);
    for wallet in [r#"{"gold": 1.5}"#, r#"{"bag": {"gold": 1}}"#] {
        fixture.execute(&format!("UPDATE users SET wallet = '{wallet}' WHERE username = 'ann'")).await;
        let outcome = update(fixture, &wallets(vec![pay(bob, "gold", 1, 1), pay(ann, "gold", 1, 2)])).await;
        assert!(matches!(outcome, Err(StoreError::Invalid(_))), "{outcome:?}");
        assert_eq!(held(fixture, bob).await, Amounts::new());
        assert_eq!(fixture.store().account(ann).await.unwrap().unwrap().wallet, wallet);
    }
}

pub(super) async fn lists_the_ledger_newest_first_over_pages(fixture: &Fixture) {
    let (store, ann, bob) = (fixture.store(), fixture.sign_up("ann").await, fixture.sign_up("bob").await);
    // Several changes with one time, as one call makes them.
    for (round, now) in [NOW, LATER].into_iter().enumerate() {
        let of = |number: u128| pay(ann, "gold", number as i64, round as u128 * 4 + number);
        let update = wallets(vec![of(1), of(2), pay(bob, "gold", 1, 100 + round as u128), of(3), of(4)]);
        store.multi_update(&update, WriteStamp::at(now)).await.unwrap();
    }
    let (mut found, mut behind) = (Vec::new(), LedgerPosition::START);
    loop {
        let (items, more) = store.list_ledger(ann, behind, 3).await.unwrap();
        assert!(items.len() == 3 || !more);
        behind = items.last().map(|last| LedgerPosition { create_time: last.create_time, id: last.id }).unwrap();
        found.extend(items);
        if !more {
            break;
        }
    }
    let numbers: Vec<u128> = found.iter().map(|item| item.id.0.as_u128()).collect();
    assert_eq!(numbers, [8, 7, 6, 5, 4, 3, 2, 1]);
    let LedgerItem { user_id, changeset, create_time, update_time, .. } = &found[0];
    assert_eq!((*user_id, changeset, *create_time, *update_time), (ann, &amounts(&[("gold", 4)]), LATER, LATER));
    assert_eq!(found[7].metadata, r#"{"n": 1}"#);
    assert_eq!(store.list_ledger(UserId(Uuid::from_u128(404)), LedgerPosition::START, 9).await, Ok((vec![], false)));
}

pub(super) async fn adds_to_the_metadata_of_an_item(fixture: &Fixture) {
    let (store, ann) = (fixture.store(), fixture.sign_up("ann").await);
    let first = MultiUpdate { wallets: vec![pay(ann, "gold", 5, 1)], ..MultiUpdate::default() };
    store.multi_update(&first, WriteStamp::at(NOW)).await.unwrap();
    let id = LedgerItemId(Uuid::from_u128(1));
    let added = r#"{"a": {"b": null}, "huge": 12345678901234567890123, "n": 1.50}"#;
    for _ in 0..2 {
        let item = store.annotate_ledger_item(id, added, LATER).await.unwrap().unwrap();
        let metadata = item.metadata.replace(' ', "");
        let members = [r#""a":{"b":null}"#, r#""huge":12345678901234567890123"#, r#""n":1.50"#];
        assert!(members.iter().all(|member| metadata.contains(member)), "{metadata}");
        assert_eq!(metadata.len(), added.replace(' ', "").len(), "nothing else: {metadata}");
        assert_eq!((item.changeset.clone(), item.create_time, item.update_time), (amounts(&[("gold", 5)]), NOW, LATER));
        assert_eq!(ledger(fixture, ann).await, [item]);
    }
    assert_eq!(store.annotate_ledger_item(LedgerItemId(Uuid::from_u128(404)), "{}", LATER).await, Ok(None));
}

/// A combined change of every kind: a username, objects written and deleted, and a payment.
fn of_every_kind(ann: UserId, name: &str, writes: Expected, deletes: u32, amount: i64) -> MultiUpdate {
    let username = Some(name.to_owned());
    let nobody = UserId(Uuid::from_u128(404));
    let empty = AccountUpdate { display_name: Some(String::new()), ..AccountUpdate::default() };
    MultiUpdate {
        accounts: vec![(ann, AccountUpdate { username, ..AccountUpdate::default() }), (nobody, empty)],
        writes: vec![write("b", ann, 2, writes), write("a", UserId::SYSTEM, 3, Expected::Any)],
        deletes: vec![ObjectDelete { id: id("c", ann), version: version(deletes) }],
        wallets: vec![pay(ann, "gold", amount, 1)],
    }
}

pub(super) async fn changes_everything_or_nothing(fixture: &Fixture) {
    let (store, ann) = (fixture.store(), fixture.sign_up("ann").await);
    fixture.sign_up("bob").await;
    let before = [write("b", ann, 1, Expected::Any), write("c", ann, 1, Expected::Any)];
    store.write_objects(Authority::Server, &before, NOW).await.unwrap();
    let rows = async || {
        let mut rows = fixture.rows().await;
        rows.sort();
        rows
    };
    let untouched = rows().await;
    let is = || Expected::Version(version(1));
    let unfit = UnfitBalance { user_id: ann, name: "gold".into(), current: 0, amount: -1 };
    for (refused, expect) in [
        (of_every_kind(ann, "bob", is(), 1, 5), StoreError::Conflict(Conflict::Username)),
        (of_every_kind(ann, "zoe", Expected::Absent, 1, 5), StoreError::Rejected(Rejection::Version)),
        (of_every_kind(ann, "zoe", is(), 2, 5), StoreError::Rejected(Rejection::Version)),
        (of_every_kind(ann, "zoe", is(), 1, -1), StoreError::Balance(Box::new(unfit))),
    ] {
        assert_eq!(update(fixture, &refused).await, Err(expect));
        assert_eq!(rows().await, untouched);
    }
    let outcome = update(fixture, &of_every_kind(ann, "zoe", is(), 1, 5)).await.unwrap();
    let acks: Vec<_> = outcome.acks.iter().map(|ack| (ack.id.key.as_str(), ack.create_time, ack.update_time)).collect();
    assert_eq!(acks, [("b", NOW, LATER), ("a", LATER, LATER)], "in the order asked for");
    assert_eq!(outcome.wallets, [changed(&[], &[("gold", 5)])]);
    assert_eq!(store.account(ann).await.unwrap().unwrap().user.username, "zoe");
    let ids = [id("a", UserId::SYSTEM), id("b", ann), id("c", ann)];
    let mut found = store.read_objects(Authority::Server, &ids).await.unwrap();
    found.sort_by(|one, other| one.id.cmp(&other.id));
    let found: Vec<_> = found.iter().map(|object| (object.id.key.as_str(), object.version.clone())).collect();
    assert_eq!(found, [("a", version(3)), ("b", version(2))]);
}

/// Pseudo-random numbers from a seed.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % end
    }
}

/// Each player gets 100 gold. Then many concurrent transfers take gold from one player and give it to one to three
/// others. Some transfers take more than the player has, and are refused.
pub(super) async fn concurrent_changes_conserve_the_sum(fixture: &Fixture) {
    const PLAYERS: u64 = 12;
    const TRANSFERS: u128 = 600;
    let mut players = Vec::new();
    for number in 0..PLAYERS {
        let player = fixture.sign_up(&format!("player {number}")).await;
        update(fixture, &wallets(vec![pay(player, "gold", 100, 10_000 + u128::from(number))])).await.unwrap();
        players.push(player);
    }
    let mut numbers = Numbers(7);
    let transfers: Vec<MultiUpdate> = (1..=TRANSFERS)
        .map(|number| {
            let others = 1 + numbers.below(3);
            let mut changes: Vec<WalletUpdate> = Vec::new();
            let mut any = || players[numbers.below(PLAYERS) as usize];
            let from: UserId = any();
            let to: Vec<UserId> = (0..others).map(|_| any()).collect();
            let part = 1 + numbers.below(60) as i64;
            changes.extend(to.into_iter().enumerate().map(|(at, to)| pay(to, "gold", part, number * 10 + at as u128)));
            let taken = pay(from, "gold", -part * others as i64, number * 10 + 9);
            // The withdrawal stands at a random place among the payments, because one of them may go to the same
            // player.
            changes.insert(numbers.below(others + 1) as usize, taken);
            wallets(changes)
        })
        .collect();
    let outcomes = join_all(transfers.iter().map(|transfer| update(fixture, transfer))).await;
    let refused = outcomes.iter().filter(|outcome| matches!(outcome, Err(StoreError::Balance(_)))).count();
    let done = outcomes.iter().filter(|outcome| outcome.is_ok()).count();
    assert_eq!(done + refused, outcomes.len());
    assert!(done > 100 && refused > 10, "{done} done, {refused} refused");
    let (mut sum, mut items) = (0, 0);
    for player in players {
        let gold = held(fixture, player).await["gold"];
        let ledger = ledger(fixture, player).await;
        assert!(gold >= 0);
        assert_eq!(gold, ledger.iter().map(|item| item.changeset["gold"]).sum::<i64>(), "the ledger tells the same");
        (sum, items) = (sum + gold, items + ledger.len());
    }
    assert_eq!(sum, 100 * PLAYERS as i64);
    let paid: usize =
        transfers.iter().zip(&outcomes).filter(|(_, done)| done.is_ok()).map(|(each, _)| each.wallets.len()).sum();
    assert_eq!(items, paid + PLAYERS as usize);
}

/// Half of the changes name players and objects in the opposite order. If rows were locked in the order of the request,
/// these changes would deadlock.
pub(super) async fn changes_in_opposite_orders_never_wait_in_a_circle(fixture: &Fixture) {
    const RACERS: i64 = 48;
    let (ann, bob) = (fixture.sign_up("ann").await, fixture.sign_up("bob").await);
    let objects = [write("a", ann, 1, Expected::Any), write("b", bob, 1, Expected::Any)];
    fixture.store().write_objects(Authority::Server, &objects, NOW).await.unwrap();
    let outcomes = join_all((0..RACERS).map(async |racer| {
        let number = 2 + racer as u32 / 2;
        let (first, second) = if racer % 2 == 0 { ((ann, "a"), (bob, "b")) } else { ((bob, "b"), (ann, "a")) };
        let named = AccountUpdate { location: Some(format!("place {racer}")), ..AccountUpdate::default() };
        let update_all = MultiUpdate {
            accounts: vec![(second.0, named.clone()), (first.0, named)],
            writes: vec![write(first.1, first.0, number, Expected::Any)],
            deletes: vec![ObjectDelete { id: id(second.1, second.0), version: String::new() }],
            wallets: vec![pay(first.0, "gold", 1, 0), pay(second.0, "gold", 1, 0)],
        };
        update(fixture, &update_all).await.map(|_| ())
    }))
    .await;
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
    assert_eq!(
        (held(fixture, ann).await, held(fixture, bob).await),
        (amounts(&[("gold", RACERS)]), amounts(&[("gold", RACERS)]))
    );
    assert_eq!(fixture.retries(), 0, "none was ended for a circle");
    // Changes of objects alone, which no lock on a player's row puts in order.
    let outcomes = join_all((0..RACERS).map(async |racer| {
        let (written, deleted) = if racer % 2 == 0 { ("a", "b") } else { ("b", "a") };
        let writes = vec![write(written, ann, 100 + racer as u32, Expected::Any)];
        let deletes = vec![ObjectDelete { id: id(deleted, ann), version: String::new() }];
        update(fixture, &MultiUpdate { writes, deletes, ..MultiUpdate::default() }).await.map(|_| ())
    }))
    .await;
    assert!(outcomes.iter().all(Result::is_ok), "{outcomes:?}");
}

pub(super) async fn finds_ledger_items_along_an_index(fixture: &Fixture) {
    let values = [Id(Uuid::nil()), Time(NOW.0), Id(Uuid::from_u128(1)), Number(100)];
    let plan = fixture.plan(sqlite::wallet::LIST, postgres::wallet::LIST, &values).await;
    assert!(plan.contains("PRIMARY KEY") || plan.contains("Backward using wallet_ledger_pkey"), "{plan}");
    assert!(plan.contains("(create_time,id)") || plan.contains("ROW(create_time, id)"), "{plan}");
    assert!(!plan.contains("TEMP B-TREE") && !plan.contains("Sort") && !plan.contains("Filter"), "{plan}");
}
