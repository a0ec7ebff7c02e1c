//! Linking and unlinking identifiers.

use serde_json::json;

use crate::world::{SERVER_KEY, World};

const LAST: (u16, u64, &str) =
    (403, 7, "It cannot be unlinked: it is not linked, or it is the account's last way to sign in.");

#[test]
fn what_is_linked_leads_to_the_account() {
    let world = World::new();
    let player = world.device("0123456789");
    let bearer = player.bearer();
    for (kind, link, sign_in) in [
        ("device", r#"{"id":"9876543210"}"#, r#"{"id":"9876543210"}"#),
        ("custom", r#"{"id":"custom-1"}"#, r#"{"id":"custom-1"}"#),
        (
            "email",
            r#"{"email":"Ada@Example.com","password":"password-1"}"#,
            r#"{"email":"ada@example.com","password":"password-1"}"#,
        ),
    ] {
        let path = format!("/v2/account/link/{kind}");
        assert_eq!(world.ok("POST", &path, &bearer, link), json!({}));
        assert_eq!(world.ok("POST", &path, &bearer, link), json!({}), "linking again changes nothing");
        let target = format!("/v2/account/authenticate/{kind}?create=false");
        let found = crate::world::Player::from(&world.ok("POST", &target, SERVER_KEY, sign_in));
        assert_eq!(found.id(), player.id());
    }
    let account = world.ok("GET", "/v2/account", &bearer, "");
    assert_eq!(account["devices"], json!([{ "id": "0123456789" }, { "id": "9876543210" }]));
    assert_eq!((&account["custom_id"], &account["email"]), (&json!("custom-1"), &json!("ada@example.com")));
}

#[test]
fn what_is_another_accounts_is_refused() {
    let world = World::new();
    let (first, second) = (world.device("0123456789"), world.device("9876543210"));
    let email = r#"{"email":"ada@example.com","password":"password-1"}"#;
    world.ok("POST", "/v2/account/link/custom", &first.bearer(), r#"{"id":"custom-1"}"#);
    world.ok("POST", "/v2/account/link/email", &first.bearer(), email);
    for (kind, body, message) in [
        ("device", r#"{"id":"0123456789"}"#, "The device ID is already in use."),
        ("custom", r#"{"id":"custom-1"}"#, "The custom ID is already in use."),
        ("email", email, "The e-mail address is already in use."),
    ] {
        world.refused(("POST", &format!("/v2/account/link/{kind}"), &second.bearer(), body), (409, 6, message));
    }
}

#[test]
fn what_does_not_fit_is_refused() {
    let world = World::new();
    let player = world.device("0123456789");
    let bearer = player.bearer();
    for (path, body, message) in [
        ("link/device", "", "A device ID is required."),
        ("link/device", r#"{"id":"short"}"#, "The device ID must be 10 to 128 bytes long."),
        ("link/custom", r#"{"id":"short"}"#, "The custom ID must be 6 to 128 bytes long."),
        ("link/email", r#"{"email":"ada@example.com"}"#, "An e-mail address and a password are required."),
        ("link/email", r#"{"password":"password-1"}"#, "An e-mail address and a password are required."),
        (
            "link/email",
            r#"{"email":"ada@example.com","password":"short"}"#,
            "The password must be at least 8 bytes long.",
        ),
        ("unlink/device", "", "A device ID is required."),
    ] {
        world.refused(("POST", &format!("/v2/account/{path}"), &bearer, body), (400, 3, message));
    }
}

#[test]
fn the_last_way_to_sign_in_stays() {
    let world = World::new();
    let player = world.device("0123456789");
    let bearer = player.bearer();
    let (device, custom) = (r#"{"id":"0123456789"}"#, r#"{"id":"custom-1"}"#);
    let email = r#"{"email":"Ada@Example.com","password":"password-1"}"#;
    world.refused(("POST", "/v2/account/unlink/device", &bearer, device), LAST);
    world.ok("POST", "/v2/account/link/custom", &bearer, custom);
    world.ok("POST", "/v2/account/unlink/device", &bearer, device);
    world.refused(("POST", "/v2/account/unlink/custom", &bearer, custom), LAST);
    world.ok("POST", "/v2/account/link/email", &bearer, email);
    world.ok("POST", "/v2/account/unlink/custom", &bearer, custom);
    world.refused(("POST", "/v2/account/unlink/email", &bearer, email), LAST);
    world.ok("POST", "/v2/account/link/device", &bearer, device);
    world.ok("POST", "/v2/account/unlink/email", &bearer, r#"{"email":"ada@example.com"}"#);
    let account = world.ok("GET", "/v2/account", &bearer, "");
    assert_eq!((account.get("email"), account.get("custom_id")), (None, None));
}

#[test]
fn what_is_not_linked_cannot_be_unlinked() {
    let world = World::new();
    let player = world.device("0123456789");
    let other = world.device("9876543210");
    world.ok("POST", "/v2/account/link/custom", &player.bearer(), r#"{"id":"custom-1"}"#);
    for (kind, body) in [
        ("device", r#"{"id":"9876543210"}"#),
        ("custom", r#"{"id":"custom-2"}"#),
        ("email", r#"{"email":"ada@example.com"}"#),
    ] {
        world.refused(("POST", &format!("/v2/account/unlink/{kind}"), &player.bearer(), body), LAST);
    }
    assert_eq!(world.device("9876543210").id(), other.id(), "another account's device stays linked");
}
