//! The machine's clock jumps forwards and backwards. Tokens expire by the clock, void tokens stay void, and nobody is
//! locked out for the length of the jump.

use serde_json::json;

use crate::world::{SERVER_KEY, World};
use muster_domain::ports::clock::Clock as _;
use muster_domain::ports::revocations::RevocationStore as _;

const DAY_SEC: i64 = 86_400;
const REFRESH: &str = "/v2/account/session/refresh";
const STORAGE: &str = "/v2/storage";

fn write(world: &World, bearer: &str) -> u16 {
    let body = json!({ "objects": [{ "collection": "saves", "key": "slot", "value": "{}" }] }).to_string();
    world.call("PUT", STORAGE, bearer, &body).0
}

#[test]
fn a_jump_ahead_ends_tokens_and_signing_in_again_goes_on() {
    let world = World::new();
    let player = world.device("0123456789");
    assert_eq!(write(&world, &player.bearer()), 200);
    world.advance_sec(365 * DAY_SEC);
    assert_eq!(world.status_of(&player), 401);
    let refresh = json!({ "token": player.refresh_token }).to_string();
    assert_eq!(world.call("POST", REFRESH, SERVER_KEY, &refresh).0, 401);
    let again = world.device("0123456789");
    assert_eq!((again.id(), write(&world, &again.bearer())), (player.id(), 200));
}

#[test]
fn a_jump_back_neither_ends_nor_revives_anything() {
    let world = World::new();
    let void = world.device("0123456789");
    world.ok("POST", "/v2/session/logout", &void.bearer(), "{}");
    let valid = world.device("0123456789");
    for _ in 0..2 {
        world.advance_sec(-365 * DAY_SEC);
        assert_eq!([&void, &valid].map(|player| world.status_of(player)), [401, 200]);
        assert_eq!(write(&world, &valid.bearer()), 200);
        world.app.revocations.prune(&*world.clock);
        assert_eq!(world.run(world.store.prune_revocations(world.clock.now(), None)), Ok(0));
    }
    let earlier = world.device("0123456789");
    assert_eq!(world.status_of(&earlier), 200);
    world.ban(&earlier);
    assert_eq!([&void, &valid, &earlier].map(|player| world.status_of(player)), [401; 3], "the ban voids all of them");
    // When the clock is right again, tokens that were void before are still void.
    world.advance_sec(2 * 365 * DAY_SEC);
    assert_eq!([&void, &valid].map(|player| world.status_of(player)), [401, 401]);
}
