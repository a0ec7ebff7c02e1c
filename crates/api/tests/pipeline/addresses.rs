//! Limits of client addresses: sign-ins, new accounts, and answers to bad tokens and keys.

use std::cell::Cell;
use std::rc::Rc;

use muster_api::game::Invocation;
use muster_api::hooks::{HookFuture, HookSubject, Hooks, Payload};
use muster_api::metrics::ApiMetrics;
use muster_domain::admission::{AddressRate, AdmissionConfig};
use serde_json::json;

use crate::world::{Player, SERVER_KEY, Setup, World};

const DEVICE: &str = "/v2/account/authenticate/device";
const EMAIL: &str = "/v2/account/authenticate/email";
const CARRIER: &str = "203.0.113.1";
const ELSEWHERE: &str = "203.0.113.2";

/// A hook before signing in by device, which counts how often it is asked and lets everybody in.
#[derive(Default)]
struct Counted(Cell<u32>);

impl Hooks for Counted {
    fn has_before(&self, subject: HookSubject) -> bool {
        subject.name() == "AuthenticateDevice"
    }

    fn has_after(&self, _subject: HookSubject) -> bool {
        false
    }

    fn before<'a>(
        &'a self,
        _subject: HookSubject,
        _invocation: Invocation,
        input: Option<&'a dyn Payload>,
    ) -> HookFuture<'a, Option<Vec<u8>>> {
        self.0.set(self.0.get() + 1);
        let unchanged = input.map(|input| input.json(Default::default()));
        Box::pin(std::future::ready(Ok(unchanged)))
    }

    fn after<'a>(
        &'a self,
        _subject: HookSubject,
        _invocation: Invocation,
        _output: Option<&'a dyn Payload>,
        _input: Option<&'a dyn Payload>,
    ) -> HookFuture<'a, ()> {
        Box::pin(std::future::ready(Ok(())))
    }
}

/// A server with one limit: `burst` at once, and one more each second.
fn world(rate: AddressRate, burst: u32, hooks: Rc<Counted>) -> World {
    let mut admission = AdmissionConfig { burst, per_sec: [0; 5], ..AdmissionConfig::default() };
    admission.per_sec[rate as usize] = 1;
    let world = World::with(Setup { admission, hooks, ..Setup::default() });
    come_from(&world, CARRIER);
    world
}

fn come_from(world: &World, address: &str) {
    world.address.set(address.parse().ok());
}

fn sign_in(world: &World, device: &str) -> u16 {
    world.call("POST", DEVICE, SERVER_KEY, &json!({ "id": format!("device-{device}") }).to_string()).0
}

fn register(world: &World, name: &str) -> u16 {
    let body = json!({ "email": format!("{name}@example.com"), "password": "password-1" });
    world.call("POST", EMAIL, SERVER_KEY, &body.to_string()).0
}

#[test]
fn sign_ins_and_refreshes_of_an_address_are_limited_before_game_code_is_asked() {
    let hooks = Rc::new(Counted::default());
    let world = world(AddressRate::SignIns, 2, hooks.clone());
    let ann = world.device("device-of-ann-1");
    let refresh = json!({ "token": ann.refresh_token }).to_string();
    world.ok("POST", "/v2/account/session/refresh", SERVER_KEY, &refresh);
    let told = "Too many sign-ins from this address. Please try again in 1 seconds.";
    world.refused(("POST", DEVICE, SERVER_KEY, r#"{"id":"device-of-ann"}"#), (429, 8, told));
    world.refused(("POST", "/v2/account/session/refresh", SERVER_KEY, &refresh), (429, 8, told));
    let answer = world.send("POST", DEVICE, Some(SERVER_KEY), br#"{"id":"device-of-ann"}"#);
    assert_eq!(answer.retry_after_sec.map(u32::from), Some(1));
    assert_eq!(hooks.0.get(), 1, "game code is not asked of what is refused");
    // Requests with a token go on, and so do other addresses.
    assert_eq!(world.status_of(&ann), 200);
    come_from(&world, ELSEWHERE);
    assert_eq!(sign_in(&world, "bob"), 200);
    come_from(&world, CARRIER);
    world.advance_sec(1);
    assert_eq!((sign_in(&world, "ann"), sign_in(&world, "ann")), (200, 429));
}

#[test]
fn new_accounts_of_an_address_are_limited_and_who_has_one_gets_in() {
    let world = world(AddressRate::NewAccounts, 3, Rc::default());
    assert_eq!(["ann", "bob"].map(|device| sign_in(&world, device)), [200; 2]);
    assert_eq!(register(&world, "cid"), 200);
    assert_eq!((sign_in(&world, "dan"), register(&world, "dan")), (429, 429));
    // Those who have an account sign in, as often as they like, and that takes nothing.
    for _ in 0..5 {
        assert_eq!((sign_in(&world, "ann"), register(&world, "cid")), (200, 200));
    }
    let unknown = world.call("POST", &format!("{DEVICE}?create=false"), SERVER_KEY, r#"{"id":"device-dan"}"#);
    assert_eq!(unknown.0, 404, "nothing is made for it");
    come_from(&world, ELSEWHERE);
    assert_eq!(sign_in(&world, "dan"), 200);
    come_from(&world, CARRIER);
    world.advance_sec(1);
    // A taken name makes no account, so it takes none.
    let taken = json!({ "id": "device-eve" }).to_string();
    world.ok("PUT", "/v2/account", &world.device("device-ann").bearer(), r#"{"username":"the-name"}"#);
    assert_eq!(world.call("POST", &format!("{DEVICE}?username=the-name"), SERVER_KEY, &taken).0, 409);
    assert_eq!((sign_in(&world, "eve"), sign_in(&world, "fay")), (200, 429));
    assert_eq!(world.app.admission.counters().refused[AddressRate::NewAccounts as usize], 3);
}

#[test]
fn answers_to_bad_tokens_and_keys_are_limited_and_good_ones_go_on() {
    let world = world(AddressRate::BadCredentials, 4, Rc::default());
    let ann = world.device("device-of-ann-1");
    let bad = [
        ("GET", "/v2/account", "Bearer no.to.ken", ""),
        ("GET", "/v2/account", "", ""),
        ("POST", DEVICE, "Basic d3Jvbmc6", r#"{"id":"device-of-ann"}"#),
        ("POST", "/v2/account/session/refresh", SERVER_KEY, r#"{"token":"no.to.ken"}"#),
    ];
    for (method, path, authorization, body) in bad {
        assert_eq!(world.call(method, path, authorization, body).0, 401, "{path}");
    }
    let told = "Too many invalid tokens or keys from this address. Please try again in 1 seconds.";
    for request in bad {
        world.refused(request, (429, 8, told));
    }
    let (status, _) = world.call("POST", "/v2/rpc/anything?http_key=wrong", "", "");
    assert_eq!(status, 429);
    // Nobody else behind the address is refused.
    assert_eq!(world.status_of(&ann), 200);
    let refreshed =
        world.ok("POST", "/v2/account/session/refresh", SERVER_KEY, &json!({ "token": ann.refresh_token }).to_string());
    assert_eq!(world.status_of(&Player::from(&refreshed)), 200);
    assert_eq!(sign_in(&world, "bob"), 200);
    let ApiMetrics { unauthenticated, .. } = &*world.app.metrics;
    assert_eq!(unauthenticated.load(std::sync::atomic::Ordering::Relaxed), 7);
    come_from(&world, ELSEWHERE);
    assert_eq!(world.call("GET", "/v2/account", "", "").0, 401);
}
