//! Storage objects of players.

use muster_domain::UserId;
use muster_domain::limits::{DEVICES_MAX, USER_OBJECTS};
use muster_domain::ports::accounts::{AccountStore as _, Identifier};
use muster_domain::ports::clock::Clock as _;
use muster_domain::ports::storage::{
    Authority, Expected, ObjectId, ObjectWrite, ReadPermission, StorageStore as _, WritePermission,
};
use serde_json::{Value, json};

use crate::world::{Player, World};

const WRITE: (&str, &str) = ("PUT", "/v2/storage");
const VERSION_OF_ONE: &str = "23fb9d14c5a8b5b0da5e4e5ac0d5d6e8";
const REJECTED_VERSION: &str = "Storage write rejected: version check failed, the object is at another version.";
const REJECTED_DELETE: &str =
    "Storage delete rejected: version check failed, or an object is missing or may not be deleted.";

fn object(key: &str, value: &str, more: Value) -> Value {
    let mut object = json!({ "collection": "saves", "key": key, "value": value });
    object.as_object_mut().unwrap().extend(more.as_object().cloned().unwrap_or_default());
    object
}

fn body(objects: &[Value]) -> String {
    json!({ "objects": objects }).to_string()
}

fn write(world: &World, player: &Player, objects: &[Value]) -> Value {
    world.ok(WRITE.0, WRITE.1, &player.bearer(), &body(objects))
}

fn read(world: &World, player: &Player, key: &str, owner: &str) -> Value {
    let ids = json!({ "object_ids": [{ "collection": "saves", "key": key, "user_id": owner }] });
    world.ok("POST", "/v2/storage", &player.bearer(), &ids.to_string())
}

#[test]
fn what_is_written_is_read() {
    let world = World::new();
    let player = world.device("0123456789");
    let acks = write(&world, &player, &[object("b", "{\"x\":1}", json!({})), object("a", "{}", json!({}))]);
    let keys: Vec<_> = acks["acks"].as_array().unwrap().iter().map(|ack| ack["key"].as_str().unwrap()).collect();
    assert_eq!(keys, ["b", "a"], "in the order of the request");
    let empty = "99914b932bd37a50b983c5e7c90ae93b";
    let time = "2023-11-14T22:13:20Z";
    assert_eq!(
        acks["acks"][1],
        json!({ "collection": "saves", "key": "a", "version": empty, "user_id": player.id(), "create_time": time, "update_time": time })
    );
    let found = read(&world, &player, "a", &player.id());
    assert_eq!(
        found["objects"],
        json!([{
            "collection": "saves", "key": "a", "user_id": player.id(), "value": "{}", "version": empty,
            "permission_read": 1, "permission_write": 1, "create_time": time, "update_time": time,
        }])
    );
    assert_eq!(read(&world, &player, "a", ""), json!({}), "no owner is the system's object");
    assert_eq!(write(&world, &player, &[]), json!({}));
    assert_eq!(world.ok("POST", "/v2/storage", &player.bearer(), "{}"), json!({}));
    assert_eq!(world.ok("PUT", "/v2/storage/delete", &player.bearer(), "{}"), json!({}));
}

#[test]
fn what_does_not_fit_is_refused_and_nothing_of_it_written() {
    let world = World::new();
    let player = world.device("0123456789");
    let (bearer, owner) = (player.bearer(), player.id());
    let present = "A collection and a key are required.";
    let not_object = "The value must be a JSON object.";
    for (wrong, message) in [
        (json!({ "collection": "saves", "value": "{}" }), present),
        (json!({ "key": "k", "value": "{}" }), present),
        (object("k", "", json!({})), not_object),
        (object("k", "[]", json!({})), not_object),
        (object("k", "{", json!({})), not_object),
        (object("k", "{}", json!({ "permission_read": 3 })), "The read permission must be 0, 1 or 2."),
        (object("k", "{}", json!({ "permission_write": 2 })), "The write permission must be 0 or 1."),
        (object(&"k".repeat(129), "{}", json!({})), "The collection and the key must each be at most 128 bytes long."),
    ] {
        let batch = body(&[object("good", "{}", json!({})), wrong]);
        world.refused((WRITE.0, WRITE.1, &bearer, &batch), (400, 3, message));
    }
    assert_eq!(read(&world, &player, "good", &owner), json!({}));
    let nobody = json!({ "object_ids": [{ "collection": "saves", "key": "k", "user_id": "x" }] }).to_string();
    world.refused(("POST", "/v2/storage", &bearer, &nobody), (400, 3, "The user ID is not a valid UUID."));
    for method in [("POST", "/v2/storage"), ("PUT", "/v2/storage/delete")] {
        world.refused((method.0, method.1, &bearer, r#"{"object_ids":[{"collection":"saves"}]}"#), (400, 3, present));
    }
}

#[test]
fn versions_guard_writes_and_the_batch_is_one() {
    let world = World::new();
    let player = world.device("0123456789");
    let bearer = player.bearer();
    let acks = write(&world, &player, &[object("k", "{\"x\":1}", json!({ "version": "*" }))]);
    let version = acks["acks"][0]["version"].as_str().unwrap().to_owned();
    let again = body(&[object("k", "{\"x\":2}", json!({ "version": "*" }))]);
    world.refused((WRITE.0, WRITE.1, &bearer, &again), (400, 3, REJECTED_VERSION));
    let stale = object("k", "{\"x\":2}", json!({ "version": VERSION_OF_ONE }));
    let batch = body(&[object("other", "{}", json!({})), stale]);
    world.refused((WRITE.0, WRITE.1, &bearer, &batch), (400, 3, REJECTED_VERSION));
    assert_eq!(read(&world, &player, "other", &player.id()), json!({}), "all or none");
    write(&world, &player, &[object("k", "{\"x\":2}", json!({ "version": version }))]);
    let delete = |version: &str| {
        json!({ "object_ids": [{ "collection": "saves", "key": "k", "version": version }] }).to_string()
    };
    world.refused(("PUT", "/v2/storage/delete", &bearer, &delete(&version)), (400, 3, REJECTED_DELETE));
    world.ok("PUT", "/v2/storage/delete", &bearer, &delete(""));
    world.refused(("PUT", "/v2/storage/delete", &bearer, &delete("")), (400, 3, REJECTED_DELETE));
}

#[test]
fn permissions_hold_for_players() {
    let world = World::new();
    let (owner, other) = (world.device("0123456789"), world.device("9876543210"));
    for (key, read_permission) in [("none", 0), ("owner", 1), ("public", 2)] {
        write(&world, &owner, &[object(key, "{}", json!({ "permission_read": read_permission }))]);
    }
    let seen = |player: &Player| {
        ["none", "owner", "public"].map(|key| read(&world, player, key, &owner.id())["objects"].is_array())
    };
    assert_eq!((seen(&owner), seen(&other)), ([false, true, true], [false, false, true]));
    write(&world, &owner, &[object("sealed", "{}", json!({ "permission_write": 0 }))]);
    let again = body(&[object("sealed", "{}", json!({}))]);
    let rejected = "Storage write rejected: the object may not be changed.";
    world.refused((WRITE.0, WRITE.1, &owner.bearer(), &again), (400, 3, rejected));
    let delete = r#"{"object_ids":[{"collection":"saves","key":"sealed"}]}"#;
    world.refused(("PUT", "/v2/storage/delete", &owner.bearer(), delete), (400, 3, REJECTED_DELETE));
    // An object of another player with the same key is another object.
    write(&world, &other, &[object("public", "{\"mine\":true}", json!({}))]);
    assert_eq!(read(&world, &owner, "public", &owner.id())["objects"][0]["value"], "{}");
}

/// Lists page by page. Answers the keys of each page.
fn pages(world: &World, player: &Player, target: &str, query: &str) -> Vec<Vec<String>> {
    let (mut pages, mut cursor) = (Vec::new(), String::new());
    loop {
        let page = world.ok("GET", &format!("{target}?{query}&cursor={cursor}"), &player.bearer(), "");
        let objects = page["objects"].as_array().cloned().unwrap_or_default();
        pages.push(objects.iter().map(|object| object["key"].as_str().unwrap().to_owned()).collect());
        match page["cursor"].as_str() {
            Some(next) => cursor = next.to_owned(),
            None => return pages,
        }
    }
}

#[test]
fn listings_go_page_by_page() {
    let world = World::new();
    let (owner, other) = (world.device("0123456789"), world.device("9876543210"));
    let objects = ["a", "b", "c", "d", "e"].map(|key| object(key, "{}", json!({ "permission_read": 1 })));
    write(&world, &owner, &objects);
    write(&world, &owner, &[object("p", "{}", json!({ "permission_read": 2 }))]);
    write(&world, &other, &[object("q", "{}", json!({ "permission_read": 2 }))]);
    let own = format!("/v2/storage/saves/{}", owner.id());
    assert_eq!(pages(&world, &owner, &own, "limit=4"), [vec!["a", "b", "c", "d"], vec!["e", "p"]]);
    assert_eq!(pages(&world, &owner, &own, "").len(), 6, "one by one unless told otherwise");
    assert_eq!(pages(&world, &other, &own, "limit=100"), [["p"]], "of others only what is public");
    assert_eq!(pages(&world, &owner, "/v2/storage/saves", "limit=1"), [["p"], ["q"]]);
    assert_eq!(pages(&world, &owner, "/v2/storage/nothing", "limit=1"), [[""; 0]]);
}

#[test]
fn limits_and_cursors_of_listings_must_fit() {
    let world = World::new();
    let player = world.device("0123456789");
    write(&world, &player, &["a", "b"].map(|key| object(key, "{}", json!({ "permission_read": 2 }))));
    let bearer = player.bearer();
    let cursor = world.ok("GET", "/v2/storage/saves?limit=1", &bearer, "")["cursor"].as_str().unwrap().to_owned();
    let limit = "The limit must be between 1 and 100.";
    let wrong_cursor = "The cursor is not valid for this listing. Start again without one.";
    for (target, message) in [
        ("/v2/storage/saves?limit=0", limit),
        ("/v2/storage/saves?limit=101", limit),
        ("/v2/storage/saves?limit=-1", limit),
        ("/v2/storage/saves?cursor=x", wrong_cursor),
        (&format!("/v2/storage/others?cursor={cursor}"), wrong_cursor),
        (&format!("/v2/storage/saves/{}?cursor={cursor}", player.id()), wrong_cursor),
        ("/v2/storage/saves/x", "The user ID is not a valid UUID."),
    ] {
        world.refused(("GET", target, &bearer, ""), (400, 3, message));
    }
}

#[test]
fn a_read_of_more_than_an_answer_may_hold_is_refused() {
    const VALUE_BYTES: usize = 250_000;
    // The objects have a little more than 32 MiB in all.
    const OBJECTS: usize = 140;
    let world = World::new();
    let player = world.device("0123456789");
    let value = json!({ "text": "x".repeat(VALUE_BYTES) }).to_string();
    for key in 0..OBJECTS {
        write(&world, &player, &[object(&key.to_string(), &value, json!({}))]);
    }
    let ids = |count: usize| {
        let id = |key: usize| json!({ "collection": "saves", "key": key.to_string(), "user_id": player.id() });
        json!({ "object_ids": (0..count).map(id).collect::<Vec<_>>() }).to_string()
    };
    let too_many = "These objects are too large to be read at once. Please ask for fewer.";
    world.refused(("POST", "/v2/storage", &player.bearer(), &ids(OBJECTS)), (429, 8, too_many));
    let found = world.ok("POST", "/v2/storage", &player.bearer(), &ids(130));
    assert_eq!(found["objects"].as_array().unwrap().len(), 130);
}

#[test]
fn an_account_has_only_so_many_objects() {
    let world = World::new();
    let player = world.device("0123456789");
    let owner: UserId = player.id().parse().unwrap();
    let given = |number: u64| ObjectWrite {
        id: ObjectId { collection: "saves".into(), key: number.to_string(), user_id: owner },
        value: "{}".into(),
        version: muster_domain::storage::version_of("{}"),
        expected: Expected::Any,
        read: ReadPermission::Owner,
        write: WritePermission::Owner,
    };
    // Game code may give a player as many as there may be, and more.
    let writes: Vec<ObjectWrite> = (0..=USER_OBJECTS).map(given).collect();
    world.run(world.store.write_objects(Authority::Server, &writes, world.clock.now())).unwrap();

    let refusal = "You have as many storage objects as you may have. Please delete some.";
    let one_more = body(&[object("one more", "{}", json!({}))]);
    world.refused((WRITE.0, WRITE.1, &player.bearer(), &one_more), (429, 8, refusal));
    assert_eq!(read(&world, &player, "one more", &player.id()), json!({}));
    write(&world, &player, &[object("1", "{\"x\":1}", json!({}))]);
    let delete =
        json!({ "object_ids": [{ "collection": "saves", "key": "2" }, { "collection": "saves", "key": "3" }] });
    world.ok("PUT", "/v2/storage/delete", &player.bearer(), &delete.to_string());
    world.ok(WRITE.0, WRITE.1, &player.bearer(), &one_more);
}

#[test]
fn an_account_has_only_so_many_devices() {
    let world = World::new();
    let player = world.device("0123456789");
    let owner: UserId = player.id().parse().unwrap();
    for number in 1..DEVICES_MAX {
        let device = Identifier::Device(format!("device {number:05}"));
        assert!(world.run(world.store.link(owner, &device, world.clock.now())).unwrap());
    }
    let refusal = "At most 1000 devices can be linked. Please unlink one.";
    let body = json!({ "id": "one-device-too-many" }).to_string();
    world.refused(("POST", "/v2/account/link/device", &player.bearer(), &body), (429, 8, refusal));
}
