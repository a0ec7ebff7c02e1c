//! Guessing of passwords is slowed down for each account and for each address, and is counted.

use muster_domain::guessing::{GuessLimit, GuessingConfig};

use crate::world::{SERVER_KEY, Setup, World};

const EMAIL: &str = "/v2/account/authenticate/email";
const LIMIT: GuessLimit = GuessLimit { failures_max: 2, window_sec: 60, lockout_first_sec: 10, lockout_max_sec: 40 };

fn sign_in(world: &World, email: &str, password: &str) -> (u16, String) {
    let body = serde_json::json!({ "email": email, "password": password }).to_string();
    let (status, body) = world.call("POST", &format!("{EMAIL}?create=false"), SERVER_KEY, &body);
    (status, body["message"].as_str().unwrap_or_default().to_owned())
}

fn register(world: &World, email: &str) {
    let body = serde_json::json!({ "email": email, "password": "password-1" }).to_string();
    world.ok("POST", EMAIL, SERVER_KEY, &body);
}

#[test]
fn an_account_is_locked_for_all_but_who_knows_its_password_and_opens_by_itself() {
    let loose = GuessLimit { failures_max: 100, ..LIMIT };
    let world = World::with(Setup {
        guessing: GuessingConfig { account: LIMIT, address: loose, entries_max: 10 },
        ..Setup::default()
    });
    register(&world, "ada@example.com");
    register(&world, "bob@example.com");
    world.address.set("10.0.0.9".parse().ok());
    for _ in 0..3 {
        assert_eq!(sign_in(&world, "ada@example.com", "password-2").0, 401);
    }
    let checks = world.passwords.checks.get();
    let locked = (429, "Too many failed sign-in attempts. Please try again in 10 seconds.".to_owned());
    assert_eq!(sign_in(&world, "ada@example.com", "password-1"), locked);
    world.address.set("10.0.0.2".parse().ok());
    assert_eq!(sign_in(&world, "ada@example.com", "password-1"), locked);
    assert_eq!(world.passwords.checks.get(), checks, "no password is looked at while locked");
    // The player registered here.
    world.address.set("10.0.0.1".parse().ok());
    assert_eq!(sign_in(&world, "ada@example.com", "password-1").0, 200);
    world.address.set("10.0.0.2".parse().ok());
    assert_eq!(sign_in(&world, "ada@example.com", "password-1"), locked);
    assert_eq!(sign_in(&world, "bob@example.com", "password-1").0, 200, "others are not");
    // Sign-in by other means is not locked either.
    world.device("0123456789");
    world.advance_sec(10);
    assert_eq!(sign_in(&world, "ada@example.com", "password-1").0, 200);
    assert_eq!(sign_in(&world, "ada@example.com", "password-2").0, 401, "the count has started over");
    let counters = world.app.guessing.lock().counters();
    assert_eq!((counters.failures, counters.refused_by_account, counters.refused_by_address), (4, 3, 0));
}

#[test]
fn an_address_is_locked_over_all_accounts_those_that_do_not_exist_included() {
    let world = World::with(Setup {
        guessing: GuessingConfig { account: LIMIT, address: LIMIT, entries_max: 10 },
        ..Setup::default()
    });
    register(&world, "ada@example.com");
    assert_eq!(sign_in(&world, "nobody1@example.com", "password-2").0, 404);
    assert_eq!(sign_in(&world, "ada@example.com", "password-2").0, 401);
    assert_eq!(sign_in(&world, "nobody2@example.com", "password-2").0, 404);
    assert_eq!(sign_in(&world, "ada@example.com", "password-1").0, 429);
    assert_eq!(sign_in(&world, "nobody3@example.com", "password-1").0, 429);
    world.address.set("10.0.0.2".parse().ok());
    assert_eq!(sign_in(&world, "ada@example.com", "password-1").0, 200);
    assert_eq!(world.app.guessing.lock().counters().refused_by_address, 2);
}
