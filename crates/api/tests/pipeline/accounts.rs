//! The caller's account and other players' profiles.

use muster_domain::ports::clock::Clock as _;
use muster_domain::ports::keyed_writes::WriteStamp;
use muster_domain::ports::revocations::RevocationReason;
use muster_domain::ports::wallet::Amounts;
use muster_domain::wallet::{self, WalletChangeRequest, WalletError};
use serde_json::json;

use crate::world::{SERVER_KEY, World};

#[test]
fn an_account_as_its_owner_sees_it() {
    let world = World::new();
    let target = "/v2/account/authenticate/device?username=ada";
    let player = crate::world::Player::from(&world.ok("POST", target, SERVER_KEY, r#"{"id":"0123456789"}"#));
    let account = world.ok("GET", "/v2/account", &player.bearer(), "");
    assert_eq!(
        account,
        json!({
            "user": {
                "id": player.id(),
                "username": "ada",
                "lang_tag": "en",
                "metadata": "{}",
                "create_time": "2023-11-14T22:13:20Z",
                "update_time": "2023-11-14T22:13:20Z",
            },
            "wallet": "{}",
            "devices": [{ "id": "0123456789" }],
        })
    );
}

#[test]
fn an_account_shows_what_its_wallet_holds() {
    let world = World::new();
    let player = world.device("0123456789");
    let user_id = player.id().parse().unwrap();
    let change = |amount| WalletChangeRequest {
        user_id,
        changeset: Amounts::from([("gold".to_owned(), amount)]),
        metadata: "{}".to_owned(),
    };
    let change = |amount| {
        let stamp = WriteStamp::at(world.clock.now());
        world.run(wallet::update(&*world.store, &*world.entropy, change(amount), true, stamp))
    };
    assert_eq!(change(5).unwrap().updated["gold"], 5);
    world.advance_sec(1);
    assert_eq!(change(-2).unwrap().previous["gold"], 5);
    assert!(matches!(change(-4), Err(WalletError::Balance(unfit)) if unfit.current == 3));
    let account = world.ok("GET", "/v2/account", &player.bearer(), "");
    assert_eq!(account["wallet"], r#"{"gold":3}"#);
    let (items, next) = world.run(wallet::list_ledger(&*world.store, user_id, Some(1), None)).unwrap();
    assert_eq!((items[0].changeset["gold"], items.len()), (-2, 1), "the newest first");
    let (items, next) = world.run(wallet::list_ledger(&*world.store, user_id, None, next)).unwrap();
    assert_eq!((items[0].changeset["gold"], items.len(), next), (5, 1, None));
}

#[test]
fn an_update_changes_the_fields_given() {
    let world = World::new();
    let player = world.device("0123456789");
    let bearer = player.bearer();
    world.advance_sec(1);
    let fields = r#"{"username":"ada","display_name":"Ada","avatarUrl":"https://a","lang_tag":"fr","location":"Paris","timezone":"UTC"}"#;
    assert_eq!(world.ok("PUT", "/v2/account", &bearer, fields), json!({}));
    let user = world.ok("GET", "/v2/account", &bearer, "")["user"].clone();
    let expect = json!({
        "username": "ada", "display_name": "Ada", "avatar_url": "https://a", "lang_tag": "fr",
        "location": "Paris", "timezone": "UTC", "update_time": "2023-11-14T22:13:21Z",
    });
    for (name, value) in expect.as_object().unwrap() {
        assert_eq!(&user[name], value, "{name}");
    }
    world.ok("PUT", "/v2/account", &bearer, r#"{"display_name":"","location":null}"#);
    let user = world.ok("GET", "/v2/account", &bearer, "")["user"].clone();
    assert_eq!((user.get("display_name"), &user["location"]), (None, &json!("Paris")));
}

#[test]
fn what_does_not_fit_is_refused() {
    let world = World::new();
    let bearer = world.device("0123456789").bearer();
    world.ok("POST", "/v2/account/authenticate/custom?username=taken", SERVER_KEY, r#"{"id":"custom-1"}"#);
    let text = |name: &str, len: usize| json!({ name: "é".repeat(len) }).to_string();
    for (body, message) in [
        (r#"{"username":""}"#.to_owned(), "The username must be 1 to 128 bytes long."),
        (text("username", 65), "The username must be 1 to 128 bytes long."),
        (r#"{"username":"taken"}"#.to_owned(), "The username is already in use."),
        (text("display_name", 256), "The display name must be at most 255 characters long."),
        (text("avatar_url", 513), "The avatar URL must be at most 512 characters long."),
        (text("lang_tag", 19), "The language tag must be at most 18 characters long."),
        (text("location", 256), "The location must be at most 255 characters long."),
        (text("timezone", 256), "The timezone must be at most 255 characters long."),
        (r#"{"location":"a\u0000b"}"#.to_owned(), "The location must not contain null characters."),
    ] {
        world.refused(("PUT", "/v2/account", &bearer, &body), (400, 3, message));
    }
    // The limit counts characters, not bytes, as the column does.
    world.ok("PUT", "/v2/account", &bearer, &text("display_name", 255));
}

#[test]
fn a_deleted_account_is_gone_and_so_are_its_tokens() {
    let world = World::new();
    let (player, other) = (world.device("0123456789"), world.device("9876543210"));
    assert_eq!(world.ok("DELETE", "/v2/account", &player.bearer(), ""), json!({}));
    assert_eq!([&player, &other].map(|player| world.status_of(player)), [401, 200]);
    let users = world.ok("GET", &format!("/v2/user?ids={}", player.id()), &other.bearer(), "");
    assert_eq!(users, json!({}));
    let again = world.device("0123456789");
    assert!(again.created && again.id() != player.id());
    assert!(world.revoked.lock().unwrap().iter().all(|revocation| revocation.reason == RevocationReason::SignedOut));
}

#[test]
fn the_system_user_cannot_be_changed_banned_or_deleted() {
    use muster_domain::account::{export, update};
    use muster_domain::ports::accounts::AccountUpdate;
    use muster_domain::{ErrorKind, UserId};
    let world = World::new();
    let store = &*world.app.store;
    let (ending, now) = (world.ending(), muster_domain::Timestamp(1));
    let refusals = [
        world.run(ending.delete(store, UserId::SYSTEM, false)).unwrap_err(),
        world.run(ending.ban(store, UserId::SYSTEM)).unwrap_err(),
        world.run(update(store, UserId::SYSTEM, &AccountUpdate::default(), now)).unwrap_err(),
        world.run(export(store, UserId::SYSTEM)).unwrap_err(),
    ];
    assert!(refusals.iter().all(|error| error.kind == ErrorKind::InvalidArgument));
}

#[test]
fn an_export_names_the_player() {
    let world = World::new();
    let player = world.device("0123456789");
    let id = player.id().parse().unwrap();
    let export = world.run(muster_domain::account::export(&*world.app.store, id)).unwrap();
    let export: serde_json::Value = serde_json::from_str(&export).unwrap();
    assert_eq!(export["users"][0]["id"], player.id());
}

#[test]
fn users_by_id_and_name_each_once() {
    let world = World::new();
    let (first, second) = (world.device("0123456789"), world.device("9876543210"));
    let name = second.claims()["usn"].as_str().unwrap().to_owned();
    let target = format!("/v2/user?ids={0}&ids={0}&ids={1}&usernames={name}&usernames=nobody", first.id(), second.id());
    let users = world.ok("GET", &target, &first.bearer(), "");
    let mut ids: Vec<_> = users["users"].as_array().unwrap().iter().map(|user| user["id"].as_str().unwrap()).collect();
    ids.sort_unstable();
    let mut expect = [first.id(), second.id()];
    expect.sort_unstable();
    assert_eq!(ids, expect);
    assert!(users["users"][0].get("email").is_none());
    assert_eq!(world.ok("GET", "/v2/user", &first.bearer(), ""), json!({}));
    for (target, message) in [
        ("/v2/user?ids=x", "The user ID is not a valid UUID."),
        ("/v2/user?ids=00000000000000000000000000000001", "The user ID is not a valid UUID."),
        ("/v2/user?usernames=", "A username must not be empty."),
        ("/v2/user?facebook_ids=", "A Facebook ID must not be empty."),
    ] {
        world.refused(("GET", target, &first.bearer(), ""), (400, 3, message));
    }
}
