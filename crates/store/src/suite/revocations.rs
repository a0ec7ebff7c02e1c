//! The feed of revocations.

use muster_domain::TokenId;
use muster_domain::ports::job_epochs::JobEpoch;
use muster_domain::ports::revocations::{Revocation, RevocationReason, RevokedTokens};
use muster_domain::ports::store::{Rejection, StoreError};
use muster_domain::time::Timestamp;
use uuid::Uuid;

use super::Fixture;
use super::fixture::NOW;

pub(super) async fn feeds_in_order_and_prunes(fixture: &Fixture) {
    let (store, ann) = (fixture.store(), fixture.sign_up("ann").await);
    let token = TokenId(Uuid::from_u128(7));
    let all = [
        (RevokedTokens::Token(token), RevocationReason::SignedOut),
        (RevokedTokens::AllBut(None), RevocationReason::Banned),
        (RevokedTokens::AllBut(Some(token)), RevocationReason::NewerSignIn),
    ];
    let revocations: Vec<Revocation> = (0..)
        .zip(all)
        .map(|(second, (tokens, reason))| Revocation {
            subject: ann.into(),
            tokens,
            revoked_at: NOW.plus_seconds(second),
            expires_at: NOW.plus_seconds(100 + second),
            reason,
        })
        .collect();
    store.revoke(&revocations[..1]).await.unwrap();
    store.revoke(&revocations[1..]).await.unwrap();
    store.revoke(&[]).await.unwrap();
    let never = NOW.plus_seconds(1_000);
    let rows = store.revocations_after(0, never).await.unwrap();
    assert_eq!(rows.iter().map(|row| row.revocation).collect::<Vec<_>>(), revocations);
    assert!(rows.is_sorted_by_key(|row| row.sequence));
    let after = store.revocations_after(rows[0].sequence, never).await.unwrap();
    assert_eq!(after, rows[1..]);
    let recent = store.revocations_after(i64::MAX, NOW.plus_seconds(1)).await.unwrap();
    assert_eq!(recent, rows[2..], "the last few seconds come again");
    assert_eq!(store.latest_epoch().await, Ok(0));
    let at_epoch = |epoch| Some(JobEpoch { job: "prune", epoch });
    assert_eq!(store.prune_revocations(Timestamp(NOW.plus_seconds(101).0), at_epoch(7)).await.unwrap(), 1);
    assert_eq!(store.revocations_after(0, never).await.unwrap(), rows[1..]);
    let late = store.prune_revocations(NOW.plus_seconds(500), at_epoch(6)).await;
    assert_eq!(late, Err(StoreError::Rejected(Rejection::Superseded)), "an owner of before changes nothing");
    assert_eq!(store.revocations_after(0, never).await.unwrap(), rows[1..]);
    let elsewhere = Some(JobEpoch { job: "another", epoch: 1 });
    assert_eq!(store.prune_revocations(NOW, elsewhere).await, Ok(0));
    assert_eq!(store.latest_epoch().await, Ok(7));
    assert_eq!(store.prune_revocations(NOW.plus_seconds(102), at_epoch(7)).await, Ok(1));
    assert_eq!(
        store.prune_revocations(NOW.plus_seconds(500), None).await,
        Ok(1),
        "a server on its own is its only owner"
    );
    store.revoke(&revocations[..1]).await.unwrap();
    let again = store.revocations_after(0, never).await.unwrap();
    assert!(again[0].sequence > rows[2].sequence, "a sequence number is never used twice");
}
