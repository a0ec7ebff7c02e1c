//! Sign-in by device, custom id, e-mail address and username.

use muster_domain::account::AccountEnding;
use muster_domain::ids::Uuid;
use muster_domain::ports::accounts::{AccountStore as _, NewAccount};
use muster_domain::{Timestamp, UserId};
use serde_json::json;

use crate::world::{Player, SERVER_KEY, START_SEC, World, claims};

const DEVICE: &str = "/v2/account/authenticate/device";
const CUSTOM: &str = "/v2/account/authenticate/custom";
const EMAIL: &str = "/v2/account/authenticate/email";

#[test]
fn a_new_device_makes_an_account_and_the_next_time_finds_it() {
    let world = World::new();
    let body = r#"{"id":"0123456789","vars":{"platform":"web"}}"#;
    let first = Player::from(&world.ok("POST", &format!("{DEVICE}?username=Ada%20L"), SERVER_KEY, body));
    assert!(first.created);
    let first_claims = first.claims();
    assert_eq!(first_claims["usn"], "Ada L");
    assert_eq!(first_claims["vrs"], json!({ "platform": "web" }));
    assert_eq!((&first_claims["iat"], &first_claims["exp"]), (&json!(START_SEC), &json!(START_SEC + 60)));
    // The refresh token has the same claims, and lives longer.
    let refresh = claims(&first.refresh_token);
    assert_eq!(refresh["exp"], START_SEC + 3600);
    for name in ["tid", "uid", "usn", "vrs", "iat"] {
        assert_eq!(refresh[name], first_claims[name]);
    }
    let answer = world.ok("POST", &format!("{DEVICE}?username=other&create=false"), SERVER_KEY, body);
    assert_eq!(answer.get("created"), None, "false is omitted");
    let second = Player::from(&answer);
    assert_eq!(second.id(), first.id());
    assert_ne!(second.claims()["tid"], first_claims["tid"], "each sign-in is another");
    assert_eq!(second.claims()["usn"], "Ada L", "a name is for new accounts only");
    assert_eq!(world.device("0123456789").claims().get("vrs"), None, "no variables, no member");
}

#[test]
fn identifiers_must_fit_the_rules() {
    let world = World::new();
    let long = "x".repeat(129);
    let cases = [
        (DEVICE, "{}", "A device ID is required."),
        (DEVICE, "", "A device ID is required."),
        (DEVICE, r#"{"id":"012345678"}"#, "The device ID must be 10 to 128 bytes long."),
        (DEVICE, &format!("{{\"id\":\"{long}\"}}"), "The device ID must be 10 to 128 bytes long."),
        (DEVICE, r#"{"id":"01234 56789"}"#, "The device ID must not contain spaces or control characters."),
        (CUSTOM, "{}", "A custom ID is required."),
        (CUSTOM, r#"{"id":"01234"}"#, "The custom ID must be 6 to 128 bytes long."),
        (CUSTOM, r#"{"id":"012\n345"}"#, "The custom ID must not contain spaces or control characters."),
        (EMAIL, "", "An e-mail address and a password are required."),
        (EMAIL, r#"{"email":"a@b.c","password":"password"}"#, "The e-mail address must be 10 to 255 bytes long."),
        (
            EMAIL,
            r#"{"email":"no address","password":"password"}"#,
            "The e-mail address must not contain spaces or control characters.",
        ),
        (
            EMAIL,
            r#"{"email":"name-at-host","password":"password"}"#,
            "The e-mail address does not look like name@host.domain.",
        ),
        (EMAIL, r#"{"email":"name@example.com"}"#, "A password is required."),
        (EMAIL, r#"{"email":"name@example.com","password":"1234567"}"#, "The password must be at least 8 bytes long."),
        (EMAIL, r#"{"password":"password"}"#, "A username is required when there is no e-mail address."),
    ];
    for (path, body, message) in cases {
        world.refused(("POST", path, SERVER_KEY, body), (400, 3, message));
    }
    let too_long = format!("{{\"email\":\"name@example.com\",\"password\":\"{}\"}}", "x".repeat(73));
    world.refused(("POST", EMAIL, SERVER_KEY, &too_long), (400, 3, "The password must be at most 72 bytes long."));
    let (status, body) = world.call("POST", DEVICE, SERVER_KEY, "{\"id\":");
    assert_eq!((status, body["code"].as_u64()), (400, Some(3)));
}

#[test]
fn user_names_must_fit_the_rules() {
    let world = World::new();
    let body = r#"{"id":"0123456789"}"#;
    for name in ["a%09b", "%5B%5D", "a%0A"] {
        let message = "The username must not contain control characters, tabs, line breaks or \"[]\".";
        world.refused(("POST", &format!("{DEVICE}?username={name}"), SERVER_KEY, body), (400, 3, message));
    }
    let long = format!("{DEVICE}?username={}", "x".repeat(129));
    world.refused(("POST", &long, SERVER_KEY, body), (400, 3, "The username must be 1 to 128 bytes long."));
}

#[test]
fn an_unknown_identifier_is_not_found_unless_it_may_be_made() {
    let world = World::new();
    let not_found = (404, 5, "There is no such account.");
    world.refused(("POST", &format!("{DEVICE}?create=false"), SERVER_KEY, r#"{"id":"0123456789"}"#), not_found);
    world.refused(("POST", &format!("{CUSTOM}?create=false"), SERVER_KEY, r#"{"id":"012345"}"#), not_found);
    let email = r#"{"email":"name@example.com","password":"password"}"#;
    world.refused(("POST", &format!("{EMAIL}?create=false"), SERVER_KEY, email), not_found);
    let by_name = r#"{"password":"password"}"#;
    world.refused(("POST", &format!("{EMAIL}?username=nobody&create=true"), SERVER_KEY, by_name), not_found);
}

#[test]
fn a_taken_name_is_refused_but_one_made_up_is_replaced() {
    let world = World::new();
    world.ok("POST", &format!("{DEVICE}?username=taken"), SERVER_KEY, r#"{"id":"0123456789"}"#);
    let taken = (409, 6, "The username is already in use.");
    world.refused(("POST", &format!("{DEVICE}?username=taken"), SERVER_KEY, r#"{"id":"9876543210"}"#), taken);
    world.refused(("POST", &format!("{CUSTOM}?username=taken"), SERVER_KEY, r#"{"id":"012345"}"#), taken);
    let email = r#"{"email":"name@example.com","password":"password"}"#;
    world.refused(("POST", &format!("{EMAIL}?username=taken"), SERVER_KEY, email), taken);

    let made_up = world.device("1111111111").claims()["usn"].as_str().unwrap().to_owned();
    assert!(made_up.len() == 10 && made_up.bytes().all(|byte| byte.is_ascii_alphabetic()), "{made_up}");
}

#[test]
fn of_made_up_names_one_that_is_taken_is_made_up_again() {
    let world = World::new();
    let first = world.device("1111111111");
    // The account is deleted and its name is given to another account. Then the same random numbers would make the same
    // name again.
    let name = first.claims()["usn"].as_str().unwrap().to_owned();
    world.ok("DELETE", "/v2/account", &first.bearer(), "");
    world.ok("POST", &format!("{DEVICE}?username={name}"), SERVER_KEY, r#"{"id":"2222222222"}"#);
    world.entropy.restart();
    let second = world.device("3333333333");
    assert!(second.created);
    assert_ne!(second.claims()["usn"], name);
}

#[test]
fn email_addresses_sign_in_in_any_case_and_need_their_password() {
    let world = World::new();
    let sign_in = |email: &str, password: &str| {
        let body = json!({ "email": email, "password": password }).to_string();
        world.call("POST", &format!("{EMAIL}?username=ada"), SERVER_KEY, &body)
    };
    let (status, body) = sign_in("Ada@Example.com", "password-1");
    assert_eq!(status, 200);
    let player = Player::from(&body);
    assert!(player.created);
    assert_eq!(world.ok("GET", "/v2/account", &player.bearer(), "")["email"], "ada@example.com");
    let again = Player::from(&sign_in("ADA@EXAMPLE.COM", "password-1").1);
    assert_eq!((again.id(), again.created), (player.id(), false));
    let wrong = (401, 16, "The credentials are not valid.");
    let body = r#"{"email":"ada@example.com","password":"password-2"}"#;
    world.refused(("POST", EMAIL, SERVER_KEY, body), wrong);
    // The player signs in by username, with the right password and with a wrong one.
    let by_name = format!("{EMAIL}?username=ada");
    let named = Player::from(&world.ok("POST", &by_name, SERVER_KEY, r#"{"password":"password-1"}"#));
    assert_eq!((named.id(), named.created), (player.id(), false));
    world.refused(("POST", &by_name, SERVER_KEY, r#"{"password":"password-2"}"#), wrong);
}

#[test]
fn an_account_without_a_password_answers_like_a_wrong_one() {
    let world = World::new();
    world.ok("POST", &format!("{DEVICE}?username=ada"), SERVER_KEY, r#"{"id":"0123456789"}"#);
    let request = ("POST", "/v2/account/authenticate/email?username=ada", SERVER_KEY, r#"{"password":"password"}"#);
    world.refused(request, (401, 16, "The credentials are not valid."));
    assert_eq!(world.passwords.checks.get(), 1, "a check was made, so that it takes as long");
}

#[test]
fn an_outdated_hash_is_replaced_by_the_next_sign_in() {
    let world = World::new();
    let body = r#"{"email":"ada@example.com","password":"password-1"}"#;
    world.passwords.scheme.replace("old".into());
    world.ok("POST", EMAIL, SERVER_KEY, body);
    world.passwords.scheme.replace("new".into());
    world.ok("POST", EMAIL, SERVER_KEY, body);
    let stored = world.run(world.store.login_by_email("ada@example.com")).unwrap().unwrap();
    assert_eq!(stored.password_hash.as_deref(), Some(&b"new:password-1"[..]));
    world.ok("POST", EMAIL, SERVER_KEY, body);
}

#[test]
fn a_full_password_queue_is_temporary() {
    let world = World::new();
    let body = r#"{"email":"ada@example.com","password":"password-1"}"#;
    let busy = (503, 14, "Too many passwords are being checked right now. Please try again.");
    world.passwords.is_full.set(true);
    world.refused(("POST", EMAIL, SERVER_KEY, body), busy);
    world.passwords.is_full.set(false);
    world.ok("POST", EMAIL, SERVER_KEY, body);
    world.passwords.is_full.set(true);
    for _ in 0..50 {
        // A full queue is no failed attempt, so it does not lock the account.
        world.refused(("POST", EMAIL, SERVER_KEY, body), busy);
    }
}

#[test]
fn a_banned_account_cannot_sign_in() {
    let world = World::new();
    let email = r#"{"email":"ada@example.com","password":"password-1"}"#;
    let player = Player::from(&world.ok("POST", &format!("{EMAIL}?username=ada"), SERVER_KEY, email));
    world.ok("POST", "/v2/account/link/device", &player.bearer(), r#"{"id":"0123456789"}"#);
    world.ok("POST", "/v2/account/link/custom", &player.bearer(), r#"{"id":"012345"}"#);
    world.ban(&player);
    let banned = (403, 7, "This account is banned.");
    world.refused(("POST", DEVICE, SERVER_KEY, r#"{"id":"0123456789"}"#), banned);
    world.refused(("POST", CUSTOM, SERVER_KEY, r#"{"id":"012345"}"#), banned);
    world.refused(("POST", EMAIL, SERVER_KEY, email), banned);
    world.refused(("POST", &format!("{EMAIL}?username=ada"), SERVER_KEY, r#"{"password":"password-1"}"#), banned);
    let id = player.id().parse().unwrap();
    assert!(world.run(muster_domain::account::unban(&*world.app.store, id)).unwrap());
    assert_eq!(world.device("0123456789").id(), player.id());
}

/// Registers the e-mail address while the next password is hashed.
fn register_meanwhile(world: &World, hash: &'static [u8]) {
    let store = world.store.clone();
    let account = NewAccount { user_id: UserId(Uuid::from_u128(9)), username: "rival".into(), now: Timestamp(1) };
    world.passwords.meanwhile.replace(Some(Box::pin(async move {
        store.create_with_email(&account, "ada@example.com", hash).await.unwrap();
    })));
}

#[test]
fn of_two_registrations_of_one_address_at_once_the_second_signs_in() {
    let world = World::new();
    let body = r#"{"email":"ada@example.com","password":"password-1"}"#;
    // The other registration has the same password, so it is the same player's.
    register_meanwhile(&world, b"new:password-1");
    let player = Player::from(&world.ok("POST", EMAIL, SERVER_KEY, body));
    assert_eq!((player.id(), player.created), (Uuid::from_u128(9).to_string(), false));
    // The other registration has another password, so it is somebody else's.
    let world = World::new();
    register_meanwhile(&world, b"new:password-2");
    world.refused(("POST", EMAIL, SERVER_KEY, body), (401, 16, "The credentials are not valid."));
}

#[test]
fn a_ban_while_the_password_is_checked_voids_the_token() {
    let world = World::new();
    let body = r#"{"email":"ada@example.com","password":"password-1"}"#;
    let id = Player::from(&world.ok("POST", EMAIL, SERVER_KEY, body)).id().parse().unwrap();
    let app = world.app.clone();
    world.passwords.meanwhile.replace(Some(Box::pin(async move {
        let ending = AccountEnding { sessions: &app.sessions, revocations: &app.revocations, clock: &*app.clock };
        assert!(ending.ban(&*app.store, id).await.unwrap());
    })));
    let player = Player::from(&world.ok("POST", EMAIL, SERVER_KEY, body));
    assert_eq!(world.status_of(&player), 401);
}

#[test]
fn variables_that_no_request_could_carry_make_no_account() {
    let world = World::new();
    let expect = (400, 3, "The session variables must not take more than 4096 bytes.");
    let body = |len: usize| format!(r#"{{"id":"0123456789","vars":{{"k":"{}"}}}}"#, "v".repeat(len));
    world.refused(("POST", DEVICE, SERVER_KEY, &body(5_000)), expect);
    let player = Player::from(&world.ok("POST", DEVICE, SERVER_KEY, &body(4_000)));
    assert!(player.created);
    let refresh = format!(r#"{{"token":"{}","vars":{{"k":"{}"}}}}"#, player.refresh_token, "v".repeat(5_000));
    world.refused(("POST", "/v2/account/session/refresh", SERVER_KEY, &refresh), expect);
}
