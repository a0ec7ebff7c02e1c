//! Accounts and their identifiers.

use muster_domain::UserId;
use muster_domain::ports::accounts::{AccountUpdate, Identifier, Unlink, UserQuery};
use muster_domain::ports::revocations::{Revocation, RevocationReason, RevokedTokens};
use muster_domain::ports::store::{Conflict, Rejection, StoreError};
use muster_domain::time::Timestamp;
use uuid::Uuid;

use super::Fixture;
use super::fixture::Cell::Time;
use super::fixture::{NOW, custom, device, new_account};
use crate::{postgres, sqlite};

const LATER: Timestamp = Timestamp(NOW.0 + 5_000_000);
const UNKNOWN: UserId = UserId(Uuid::from_u128(404));

pub(super) async fn signs_up_once_and_in_afterwards(fixture: &Fixture) {
    let store = fixture.store();
    for identifier in [device("ann"), custom("bob")] {
        assert_eq!(store.login(&identifier, None).await.unwrap(), None);
        let name = format!("{identifier:?}").chars().take(9).collect::<String>();
        let first = fixture.sign_in(&identifier, &name).await;
        assert!(first.created && !first.disabled && first.username == name);
        let second = fixture.sign_in(&identifier, "another name").await;
        assert_eq!((second.user_id, second.created, second.username), (first.user_id, false, name));
        assert_eq!(store.login(&identifier, None).await.unwrap().unwrap().user_id, first.user_id);
        assert_eq!(store.login_by_id(first.user_id).await.unwrap().unwrap().user_id, first.user_id);
    }
    let ann = store.login(&device("ann"), None).await.unwrap().unwrap();
    let account = store.account(ann.user_id).await.unwrap().unwrap();
    assert_eq!((account.user.create_time, account.user.update_time), (NOW, NOW));
    assert_eq!(
        (account.user.lang_tag.as_str(), account.user.metadata.as_str(), account.wallet.as_str()),
        ("en", "{}", "{}")
    );
    assert_eq!((account.devices, account.custom_id.as_str()), (vec!["device-of-ann".to_owned()], ""));
    assert_eq!((account.verify_time, account.disable_time), (Timestamp::EPOCH, Timestamp::EPOCH));
    assert_eq!(store.login_by_id(UNKNOWN).await.unwrap(), None);
    assert_eq!(store.account(UNKNOWN).await.unwrap(), None);
}

pub(super) async fn takes_each_name_and_identifier_once(fixture: &Fixture) {
    let (store, ann) = (fixture.store(), fixture.sign_up("ann").await);
    for identifier in [device("bob"), custom("bob")] {
        let taken = store.login(&identifier, Some(&new_account("ann"))).await;
        assert_eq!(taken, Err(StoreError::Conflict(Conflict::Username)));
        assert_eq!(store.login(&identifier, None).await.unwrap(), None, "a refused sign-up leaves nothing");
    }
    let mut twin = new_account("twin");
    twin.user_id = ann;
    assert_eq!(store.login(&device("twin"), Some(&twin)).await, Err(StoreError::Conflict(Conflict::User)));
    store.create_with_email(&new_account("eve"), "eve@example.com", b"hash").await.unwrap();
    let again = store.create_with_email(&new_account("eva"), "EVE@example.com", b"hash").await;
    assert_eq!(again, Err(StoreError::Conflict(Conflict::Email)));
    let both = store.create_with_email(&new_account("eve"), "eve@example.com", b"hash").await;
    assert_eq!(both, Err(StoreError::Conflict(Conflict::Email)));
    let name = store.create_with_email(&new_account("ann"), "new@example.com", b"hash").await;
    assert_eq!(name, Err(StoreError::Conflict(Conflict::Username)));
    assert_eq!(
        store.link_email(ann, "eve@example.com", b"hash", NOW).await,
        Err(StoreError::Conflict(Conflict::Email))
    );
}

pub(super) async fn keeps_addresses_in_lower_case_and_replaces_hashes(fixture: &Fixture) {
    let store = fixture.store();
    let made = store.create_with_email(&new_account("eve"), "Eve@Example.COM", b"first").await.unwrap();
    assert!(made.created);
    for found in [store.login_by_email("EVE@example.com").await, store.login_by_username("eve").await] {
        let found = found.unwrap().unwrap();
        assert_eq!((found.login.user_id, found.password_hash.as_deref()), (made.user_id, Some(b"first".as_slice())));
    }
    assert_eq!(store.account(made.user_id).await.unwrap().unwrap().email, "eve@example.com");
    store.replace_password_hash(made.user_id, b"wrong", b"second").await.unwrap();
    store.replace_password_hash(made.user_id, b"first", b"third").await.unwrap();
    let found = store.login_by_email("eve@example.com").await.unwrap().unwrap();
    assert_eq!(found.password_hash.as_deref(), Some(b"third".as_slice()));
    assert_eq!(store.login_by_email("nobody@example.com").await.unwrap(), None);
    assert_eq!(store.login_by_username("nobody").await.unwrap(), None);
}

pub(super) async fn updates_what_is_given(fixture: &Fixture) {
    let (store, ann) = (fixture.store(), fixture.sign_up("ann").await);
    fixture.sign_up("bob").await;
    let update = AccountUpdate {
        display_name: Some("Ann".into()),
        location: Some("Oslo".into()),
        timezone: Some("UTC".into()),
        avatar_url: Some("https://example.com/a.png".into()),
        lang_tag: Some("no".into()),
        metadata: Some(r#"{"level": 3}"#.into()),
        ..AccountUpdate::default()
    };
    assert!(store.update_account(ann, &update, LATER).await.unwrap());
    let emptied = AccountUpdate { location: Some(String::new()), ..AccountUpdate::default() };
    assert!(store.update_account(ann, &emptied, LATER).await.unwrap());
    let user = store.account(ann).await.unwrap().unwrap().user;
    assert_eq!((user.display_name.as_str(), user.location.as_str(), user.timezone.as_str()), ("Ann", "", "UTC"));
    assert_eq!((user.lang_tag.as_str(), user.metadata.as_str()), ("no", r#"{"level": 3}"#));
    assert_eq!((user.username.as_str(), user.create_time, user.update_time), ("ann", NOW, LATER));
    let name = |name: &str| AccountUpdate { username: Some(name.into()), ..AccountUpdate::default() };
    assert_eq!(store.update_account(ann, &name("bob"), LATER).await, Err(StoreError::Conflict(Conflict::Username)));
    assert!(store.update_account(ann, &name("ann"), LATER).await.unwrap());
    assert!(!store.update_account(UNKNOWN, &name("zoe"), LATER).await.unwrap());
}

pub(super) async fn finds_users_each_once(fixture: &Fixture) {
    let (store, ann, bob) = (fixture.store(), fixture.sign_up("ann").await, fixture.sign_up("bob").await);
    let query = UserQuery {
        ids: vec![ann, ann, UNKNOWN, UserId::SYSTEM],
        usernames: vec!["ann".into(), "bob".into(), String::new()],
        facebook_ids: vec!["none".into()],
    };
    let mut found: Vec<_> = store.users(&query).await.unwrap().into_iter().filter_map(|user| user.id).collect();
    found.sort();
    let mut expect = vec![ann, bob];
    expect.sort();
    assert_eq!(found, expect);
    assert!(store.users(&UserQuery::default()).await.unwrap().is_empty());
}

pub(super) async fn walks_through_all_accounts(fixture: &Fixture) {
    let store = fixture.store();
    assert_eq!(store.user_ids(UserId::SYSTEM, 10).await.unwrap(), []);
    assert_eq!(store.last_user_id().await.unwrap(), None);
    let mut made = Vec::new();
    for name in ["ann", "bob", "carol", "dora", "eve"] {
        made.push(fixture.sign_up(name).await);
    }
    made.sort();
    assert_eq!(store.user_ids(UserId::SYSTEM, 2).await.unwrap(), made[..2]);
    assert_eq!(store.user_ids(made[1], 10).await.unwrap(), made[2..]);
    assert_eq!(store.user_ids(made[4], 10).await.unwrap(), []);
    assert_eq!(store.last_user_id().await.unwrap(), Some(made[4]));
}

pub(super) async fn links_and_unlinks_down_to_the_last(fixture: &Fixture) {
    let (store, ann) = (fixture.store(), fixture.sign_up("ann").await);
    fixture.sign_up("bob").await;
    let tablet = Identifier::Device("tablet-of-ann".into());
    for identifier in [&tablet, &tablet, &custom("ann"), &custom("ann")] {
        assert!(store.link(ann, identifier, LATER).await.unwrap());
        assert_eq!(store.login(identifier, None).await.unwrap().unwrap().user_id, ann);
    }
    assert!(store.link_email(ann, "Ann@example.com", b"hash", LATER).await.unwrap());
    assert_eq!(store.link(ann, &device("bob"), LATER).await, Err(StoreError::Conflict(Conflict::Device)));
    fixture.sign_in(&custom("cid"), "cid").await;
    assert_eq!(store.link(ann, &custom("cid"), LATER).await, Err(StoreError::Conflict(Conflict::Custom)));
    assert!(!store.link(UNKNOWN, &Identifier::Device("new-device".into()), LATER).await.unwrap());
    assert!(!store.link(UNKNOWN, &custom("new"), LATER).await.unwrap());
    assert!(!store.link_email(UNKNOWN, "new@example.com", b"hash", LATER).await.unwrap());
    let account = store.account(ann).await.unwrap().unwrap();
    assert_eq!(account.devices, ["device-of-ann", "tablet-of-ann"]);
    assert_eq!((account.custom_id.as_str(), account.email.as_str()), ("custom-of-ann", "ann@example.com"));

    let unlink = async |identifier: Unlink| store.unlink(ann, &identifier, LATER).await;
    let not_linked = Err(StoreError::Rejected(Rejection::NotLinked));
    assert_eq!(unlink(Unlink::Device("device-of-bob".into())).await, not_linked);
    assert_eq!(unlink(Unlink::Custom("another".into())).await, not_linked);
    assert_eq!(unlink(Unlink::Email("other@example.com".into())).await, not_linked);
    assert_eq!(unlink(Unlink::Device("tablet-of-ann".into())).await, Ok(()));
    assert_eq!(unlink(Unlink::Email("ANN@example.com".into())).await, Ok(()));
    assert_eq!(store.login_by_username("ann").await.unwrap().unwrap().password_hash, None);
    assert_eq!(unlink(Unlink::Device("device-of-ann".into())).await, Ok(()));
    let last = Err(StoreError::Rejected(Rejection::LastIdentifier));
    assert_eq!(unlink(Unlink::Custom("custom-of-ann".into())).await, last);
    assert_eq!(unlink(Unlink::Device("device-of-ann".into())).await, not_linked);
    assert!(store.link_email(ann, "ann@example.com", b"hash", LATER).await.unwrap());
    assert_eq!(unlink(Unlink::Custom("custom-of-ann".into())).await, Ok(()));
    assert_eq!(unlink(Unlink::Email("ann@example.com".into())).await, last);
    // Without a text, whichever is linked goes, and nothing has to be linked.
    assert_eq!(unlink(Unlink::Custom(String::new())).await, Ok(()));
    assert_eq!(unlink(Unlink::Email(String::new())).await, last);
    assert!(store.link(ann, &custom("ann"), LATER).await.unwrap());
    assert_eq!(unlink(Unlink::Email(String::new())).await, Ok(()));
    let account = store.account(ann).await.unwrap().unwrap();
    assert_eq!((account.custom_id.as_str(), account.email.as_str()), ("custom-of-ann", ""));
}

pub(super) async fn refuses_texts_wider_than_their_columns(fixture: &Fixture) {
    let (store, ann) = (fixture.store(), fixture.sign_up("ann").await);
    let wide = "ü".repeat(129);
    let invalid =
        |outcome: Result<(), StoreError>| assert!(matches!(outcome, Err(StoreError::Invalid(_))), "{outcome:?}");
    invalid(store.login(&Identifier::Device(wide.clone()), None).await.map(|_| ()));
    invalid(store.login(&device("new"), Some(&new_account(&wide))).await.map(|_| ()));
    invalid(store.login(&device("new"), Some(&new_account("nul\0"))).await.map(|_| ()));
    invalid(store.link(ann, &Identifier::Custom(wide.clone()), NOW).await.map(|_| ()));
    invalid(store.link_email(ann, &format!("{}@example.com", wide.repeat(2)), b"hash", NOW).await.map(|_| ()));
    let update = AccountUpdate { lang_tag: Some("x".repeat(19)), ..AccountUpdate::default() };
    invalid(store.update_account(ann, &update, NOW).await.map(|_| ()));
    let fits = AccountUpdate { display_name: Some("ü".repeat(255)), ..AccountUpdate::default() };
    assert!(store.update_account(ann, &fits, NOW).await.unwrap());
}

pub(super) async fn bans_and_pardons(fixture: &Fixture) {
    let (store, ann) = (fixture.store(), fixture.sign_up("ann").await);
    let revocation = Revocation {
        subject: ann.into(),
        tokens: RevokedTokens::AllBut(None),
        revoked_at: NOW,
        expires_at: LATER,
        reason: RevocationReason::Banned,
    };
    assert!(store.set_disabled(ann, Some(NOW), Some(&revocation)).await.unwrap());
    assert!(store.login(&device("ann"), None).await.unwrap().unwrap().disabled);
    assert!(fixture.sign_in(&device("ann"), "any").await.disabled);
    assert_eq!(store.account(ann).await.unwrap().unwrap().disable_time, NOW);
    assert_eq!(store.revocations_after(0, LATER).await.unwrap().len(), 1);
    assert!(store.set_disabled(ann, None, None).await.unwrap());
    assert!(!store.login_by_id(ann).await.unwrap().unwrap().disabled);
    assert!(!store.set_disabled(UNKNOWN, Some(NOW), Some(&revocation)).await.unwrap());
    assert!(!store.set_disabled(UserId::SYSTEM, Some(NOW), Some(&revocation)).await.unwrap());
    assert_eq!(store.revocations_after(0, LATER).await.unwrap().len(), 1, "nothing is stored for nobody");
}

pub(super) async fn finds_bans_by_their_time(fixture: &Fixture) {
    let (ann, bob, cat) = (fixture.sign_up("ann").await, fixture.sign_up("bob").await, fixture.sign_up("cat").await);
    let store = fixture.store();
    let later = Timestamp(NOW.0 + 1);
    store.set_disabled(ann, Some(NOW), None).await.unwrap();
    store.set_disabled(bob, Some(later), None).await.unwrap();
    store.set_disabled(cat, Some(later), None).await.unwrap();
    store.set_disabled(cat, None, None).await.unwrap();
    let banned = async |since| {
        let mut found = store.banned_since(since).await.unwrap();
        found.sort_unstable();
        found
    };
    let mut both = vec![(ann, NOW), (bob, later)];
    both.sort_unstable();
    assert_eq!(banned(Timestamp(NOW.0 - 1)).await, both);
    assert_eq!(banned(NOW).await, [(bob, later)]);
    assert_eq!(banned(later).await, []);
    let plan = fixture.plan(sqlite::accounts::BANNED_SINCE, postgres::accounts::BANNED_SINCE, &[Time(NOW.0)]).await;
    assert!(plan.contains("INDEX users_disable_time_idx") || plan.contains("Seq Scan on users"), "{plan}");
}

pub(super) async fn keeps_its_identity_and_tells_the_time(fixture: &Fixture) {
    let before = muster_domain::Timestamp(now_micros());
    let first = fixture.store().origin().await.unwrap();
    let second = fixture.store().origin().await.unwrap();
    assert!(first.identity != 0 && first.identity == second.identity, "{first:?} {second:?}");
    // SQLite's clock has milliseconds.
    assert!(before.0 / 1_000 <= first.now.0 / 1_000 && first.now <= second.now, "{before:?} {first:?} {second:?}");
}

/// This machine's time, in microseconds since 1970.
fn now_micros() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    i64::try_from(since.as_micros()).unwrap()
}

pub(super) async fn answers_a_ping(fixture: &Fixture) {
    let status = fixture.store().ping().await.unwrap();
    assert!(["sqlite", "postgres"].contains(&status.engine) && !status.adopted);
}
