//! Tokens that are void after rows in every order.

use std::cell::{Cell, RefCell};
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use uuid::Uuid;

use super::*;
use crate::ids::UserId;
use crate::ports::PortFuture;
use crate::ports::job_epochs::JobEpoch;

const NOW: Timestamp = Timestamp(1_700_000_000_000_000);
const LATER: Timestamp = Timestamp(1_700_000_000_000_000 + 3_600_000_000);

fn token(micros: i64) -> TokenId {
    TokenId::issued(Timestamp(NOW.0 + micros), [7; 8])
}

fn row(sequence: i64, micros: i64, tokens: RevokedTokens) -> RevocationRow {
    let revoked_at = Timestamp(NOW.0 + micros);
    let subject = Subject::from(UserId(Uuid::from_u128(1)));
    RevocationRow {
        sequence,
        revocation: Revocation { subject, tokens, revoked_at, expires_at: LATER, reason: RevocationReason::SignedOut },
    }
}

fn claims(token_id: TokenId) -> Claims {
    Claims {
        token_id,
        user_id: UserId(Uuid::from_u128(1)),
        username: String::new(),
        vars: crate::sessions::Vars::new(),
        issued_at_sec: NOW.seconds(),
        expires_at_sec: LATER.seconds(),
    }
}

/// Applies rows in every order and checks which of the tokens issued at the given microseconds are void.
fn check(rows: &[RevocationRow], void: &[i64], valid: &[i64]) {
    for order in orders(rows) {
        let revocations = Revocations::new(Box::new(|_| {}));
        for row in &order {
            assert!(revocations.apply(row, NOW), "each row is new once");
            assert!(!revocations.apply(row, NOW), "applying it again changes nothing");
        }
        for (micros, expect) in void.iter().map(|at| (at, true)).chain(valid.iter().map(|at| (at, false))) {
            assert_eq!(revocations.is_revoked(&claims(token(*micros))), expect, "token {micros} after {order:?}");
        }
    }
}

fn orders(rows: &[RevocationRow]) -> Vec<Vec<RevocationRow>> {
    if rows.len() <= 1 {
        return vec![rows.to_vec()];
    }
    let mut all = Vec::new();
    for first in 0..rows.len() {
        let mut rest = rows.to_vec();
        let row = rest.remove(first);
        for mut order in orders(&rest) {
            order.insert(0, row);
            all.push(order);
        }
    }
    all
}

#[test]
fn a_moment_divides_tokens_of_one_second() {
    check(&[row(1, 5, RevokedTokens::AllBut(None))], &[0, 4, 5], &[6, 1_000_000]);
}

#[test]
fn one_sign_in_is_void_alone() {
    check(&[row(1, 5, RevokedTokens::Token(token(3)))], &[3], &[0, 4, 6]);
    check(&[row(1, 5, RevokedTokens::Token(token(3))), row(2, 9, RevokedTokens::Token(token(8)))], &[3, 8], &[4]);
}

#[test]
fn of_two_single_sessions_the_later_stays() {
    let first = row(1, 5, RevokedTokens::AllBut(Some(token(5))));
    let second = row(2, 8, RevokedTokens::AllBut(Some(token(8))));
    check(&[first, second], &[0, 5, 7], &[8, 9]);
}

#[test]
fn an_exception_does_not_survive_another_row() {
    let spared = row(1, 5, RevokedTokens::AllBut(Some(token(3))));
    check(&[spared], &[0, 4, 5], &[3, 6]);
    check(&[spared, row(2, 7, RevokedTokens::AllBut(None))], &[3, 6, 7], &[8]);
    check(&[spared, row(2, 4, RevokedTokens::AllBut(None))], &[3, 5], &[6]);
    check(&[spared, row(2, 2, RevokedTokens::AllBut(None))], &[0, 5], &[3, 6]);
    check(&[spared, row(2, 9, RevokedTokens::Token(token(3)))], &[3], &[6]);
}

#[test]
fn the_latest_moment_says_why() {
    let because =
        |reason, row: RevocationRow| RevocationRow { revocation: Revocation { reason, ..row.revocation }, ..row };
    let rows = [
        because(RevocationReason::Banned, row(1, 5, RevokedTokens::AllBut(None))),
        because(RevocationReason::NewerSignIn, row(2, 7, RevokedTokens::AllBut(Some(token(7))))),
        row(3, 8, RevokedTokens::Token(token(7))),
    ];
    for order in orders(&rows) {
        let revocations = Revocations::new(Box::new(|_| {}));
        let reasons = || [4, 6, 7, 8].map(|micros| revocations.reason_of(&claims(token(micros))));
        assert_eq!(reasons(), [None; 4]);
        order.iter().for_each(|row| assert!(revocations.apply(row, NOW)));
        let (newer, out) = (Some(RevocationReason::NewerSignIn), Some(RevocationReason::SignedOut));
        assert_eq!(reasons(), [newer, newer, out, None], "{order:?}");
    }
    let revocations = Revocations::new(Box::new(|_| {}));
    revocations.apply(&rows[0], NOW);
    assert_eq!(revocations.reason_of(&claims(token(4))), Some(RevocationReason::Banned));
}

#[test]
fn random_token_ids_are_judged_by_their_second() {
    let foreign = TokenId(Uuid::from_u128(0x7c9e_6679_7425_40de_944b_e07f_c1f9_0ae7));
    let revocations = Revocations::new(Box::new(|_| {}));
    revocations.apply(&row(1, 5, RevokedTokens::AllBut(None)), NOW);
    assert!(revocations.is_revoked(&claims(foreign)));
    let next_second = Claims { issued_at_sec: NOW.seconds() + 1, ..claims(foreign) };
    assert!(!revocations.is_revoked(&next_second));
}

#[test]
fn moments_never_repeat_nor_precede_a_revocation() {
    let revocations = Revocations::new(Box::new(|_| {}));
    assert_eq!(revocations.moment(NOW), NOW);
    assert_eq!(revocations.moment(NOW), Timestamp(NOW.0 + 1));
    assert_eq!(revocations.moment(Timestamp(0)), Timestamp(NOW.0 + 2));
    revocations.apply(&row(1, 500, RevokedTokens::AllBut(None)), NOW);
    assert_eq!(revocations.moment(NOW), Timestamp(NOW.0 + 501));
}

#[test]
fn expired_entries_go() {
    let mut entry = Entry::default();
    entry.apply(&row(1, 5, RevokedTokens::Token(token(9))).revocation);
    entry.apply(&row(2, 5, RevokedTokens::AllBut(None)).revocation);
    assert!(entry.prune(NOW));
    assert!(!entry.prune(LATER));
    let revocations = Revocations::new(Box::new(|_| {}));
    revocations.apply(&row(1, 5, RevokedTokens::AllBut(None)), LATER);
    assert!(revocations.is_empty(), "a row that has expired is not kept");
}

#[test]
fn tokens_that_a_moment_covers_are_not_listed() {
    let mut entry = Entry::default();
    for micros in 0..100 {
        entry.apply(&row(micros, micros, RevokedTokens::Token(token(micros))).revocation);
    }
    assert_eq!(entry.tokens.len(), 100);
    entry.apply(&row(100, 100, RevokedTokens::AllBut(None)).revocation);
    assert!(entry.tokens.is_empty());
}

/// A feed whose rows become visible in an order of its own.
#[derive(Default)]
struct FakeFeed {
    visible: RefCell<Vec<RevocationRow>>,
    /// The row that `revoke` makes visible; none when the database lags behind its acknowledgement.
    next: RefCell<Vec<RevocationRow>>,
    reads: Cell<u32>,
}

impl RevocationStore for FakeFeed {
    fn revoke<'a>(&'a self, _revocations: &'a [Revocation]) -> PortFuture<'a, ()> {
        self.visible.borrow_mut().append(&mut self.next.borrow_mut());
        Box::pin(std::future::ready(Ok(())))
    }

    fn revocations_after(&self, sequence: i64, since: Timestamp) -> PortFuture<'_, Vec<RevocationRow>> {
        self.reads.set(self.reads.get() + 1);
        let is_asked_for = |row: &&RevocationRow| row.sequence > sequence || row.revocation.revoked_at > since;
        let rows = self.visible.borrow().iter().filter(is_asked_for).copied().collect();
        Box::pin(std::future::ready(Ok(rows)))
    }

    fn prune_revocations(&self, _now: Timestamp, _job_epoch: Option<JobEpoch>) -> PortFuture<'_, u64> {
        Box::pin(std::future::ready(Ok(0)))
    }
}

impl Clock for Timestamp {
    fn now(&self) -> Timestamp {
        *self
    }
}

/// The result of a future that waits for nothing.
fn ready<T>(future: impl Future<Output = T>) -> T {
    match pin!(future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(value) => value,
        Poll::Pending => panic!("it waits"),
    }
}

#[test]
fn a_row_that_became_visible_late_is_read_again_and_told_of_once() {
    let told = Arc::new(std::sync::Mutex::new(Vec::new()));
    let observer = Arc::clone(&told);
    let revocations = Revocations::new(Box::new(move |row| observer.lock().unwrap().push(row.tokens)));
    let feed = FakeFeed::default();
    let [third, fifth] = [3, 5].map(|place| row(place, place, RevokedTokens::Token(token(place))));
    feed.visible.borrow_mut().push(fifth);
    assert_eq!(ready(revocations.refresh(&feed, &NOW)), Ok(1));
    feed.visible.borrow_mut().push(third);
    assert_eq!(ready(revocations.refresh(&feed, &NOW)), Ok(1));
    assert_eq!(ready(revocations.refresh(&feed, &NOW)), Ok(0));
    assert!(revocations.is_revoked(&claims(token(3))) && revocations.is_revoked(&claims(token(5))));
    assert_eq!(*told.lock().unwrap(), [fifth, third].map(|row| row.revocation.tokens));
}

#[test]
fn a_revocation_is_answered_once_it_was_read_back() {
    let revocations = Revocations::new(Box::new(|_| {}));
    let feed = FakeFeed::default();
    let [first, third, fifth] = [1, 3, 5].map(|place| row(place, place, RevokedTokens::Token(token(place))));
    feed.next.borrow_mut().push(fifth);
    assert_eq!(ready(revocations.revoke(&feed, &NOW, &[fifth.revocation])), Ok(()));
    assert_eq!(feed.reads.get(), 1, "only what is new was read");
    // It lands behind one that was read already.
    feed.next.borrow_mut().push(third);
    assert_eq!(ready(revocations.revoke(&feed, &NOW, &[third.revocation])), Ok(()));
    assert_eq!(feed.reads.get(), 3);
    // It was stored, but the feed does not show it.
    let refusal = ready(revocations.revoke(&feed, &NOW, &[first.revocation])).unwrap_err();
    assert_eq!(refusal.kind, ErrorKind::Unavailable);
    assert!(!revocations.is_revoked(&claims(token(1))));
}
