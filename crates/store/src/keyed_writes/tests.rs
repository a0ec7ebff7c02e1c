//! Stored outcomes are read back unchanged, and their wording stays the same, because later programs must read it.

use muster_domain::LedgerItemId;
use muster_domain::ports::wallet::LedgerEntry;
use uuid::Uuid;

use super::*;

fn update() -> MultiUpdate {
    let (ann, bob) = (UserId(Uuid::from_u128(1)), UserId(Uuid::from_u128(2)));
    let wallet = |user_id, amount| WalletUpdate {
        user_id,
        changeset: Amounts::from([("gold".to_owned(), amount)]),
        ledger: Some(LedgerEntry { id: LedgerItemId(Uuid::from_u128(3)), metadata: "{}".into() }),
    };
    MultiUpdate { wallets: vec![wallet(ann, 5), wallet(bob, -1)], ..MultiUpdate::default() }
}

fn write(update: &MultiUpdate, now: Timestamp) -> KeyedWrite {
    let key = WriteKey { match_id: Uuid::from_u128(9), tick: 1, ordinal: 0, after: None };
    KeyedWrite::of(update, WriteStamp { now, key: Some(key) }).unwrap()
}

#[test]
fn outcomes_come_back_as_they_were() {
    let update = update();
    let check = |outcome: Result<MultiOutcome, StoreError>, expect: &str| {
        let stored = update.encode(&outcome).unwrap();
        assert_eq!(stored, expect);
        let write = write(&update, Timestamp::EPOCH);
        let known = KnownWrite { fingerprint: &write.fingerprint, format: FORMAT, outcome: &stored };
        assert_eq!(write.outcome(known, &update), Ok(outcome));
    };
    let change = WalletChange { previous: Amounts::new(), updated: Amounts::from([("gold".to_owned(), i64::MAX)]) };
    check(
        Ok(MultiOutcome { acks: vec![], wallets: vec![Some(change), None] }),
        r#"{"done":{"acks":[],"wallets":[{"previous":{},"updated":{"gold":9223372036854775807}},null]}}"#,
    );
    let unfit = UnfitBalance { user_id: update.wallets[1].user_id, name: "gold".into(), current: 0, amount: -1 };
    check(
        Err(StoreError::Balance(Box::new(unfit))),
        r#"{"balance":{"wallet":1,"name":"gold","current":0,"amount":-1}}"#,
    );
    check(Err(StoreError::Conflict(Conflict::Username)), r#"{"conflict":"username"}"#);
    check(Err(StoreError::Rejected(Rejection::Version)), r#"{"rejected":"version"}"#);
    check(Err(StoreError::Invalid("Too long.".into())), r#"{"invalid":"Too long."}"#);
    for failure in
        [StoreError::Unavailable("away".into()), StoreError::Internal("damaged".into()), StoreError::Diverged]
    {
        assert_eq!(update.encode(&Err(failure)), None);
    }
}

#[test]
fn what_was_asked_has_one_fingerprint() {
    let one = write(&update(), Timestamp::EPOCH);
    let mut again = update();
    again.wallets[0].ledger.as_mut().unwrap().id = LedgerItemId(Uuid::from_u128(4));
    assert_eq!(write(&again, Timestamp(7)).fingerprint, one.fingerprint, "neither ids nor times are asked for");
    let changes: [fn(&mut MultiUpdate); 5] = [
        |update| update.wallets[0].ledger = None,
        |update| update.wallets[0].user_id = UserId::SYSTEM,
        |update| update.wallets[0].changeset = Amounts::from([("gold".to_owned(), 6)]),
        |update| update.wallets.swap(0, 1),
        |update| update.accounts.push((UserId::SYSTEM, AccountUpdate::default())),
    ];
    for (number, change) in changes.into_iter().enumerate() {
        let mut other = update();
        change(&mut other);
        let fingerprint = write(&other, Timestamp::EPOCH).fingerprint;
        let known = KnownWrite { fingerprint: &fingerprint, format: FORMAT, outcome: "{}" };
        assert_eq!(one.outcome(known, &update()), Err(StoreError::Diverged), "{number}");
    }
    assert_eq!(
        one.fingerprint[..4],
        PRINTED,
        "kept outcomes have this fingerprint of the same request: a new one needs a new form"
    );
}

const PRINTED: [u8; 4] = [115, 253, 83, 51];
