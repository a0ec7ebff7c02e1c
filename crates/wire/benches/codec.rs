//! The cost of the hot paths: `cargo bench -p muster-wire`. Prints nanoseconds per call, the best of several rounds.
#![allow(clippy::print_stdout, clippy::unwrap_used)] // a program for people, on input of its own

use std::hint::black_box;
use std::time::Instant;

use muster_wire::json::to_json;
use muster_wire::operations::{decode_http, route};
use muster_wire::realtime::envelope::Message;
use muster_wire::realtime::{Envelope, MatchData, UserPresence};
use muster_wire::token::{Claims, Signer};
use muster_wire::{Format, Timestamp, api, cursor, envelope};

const ROUNDS: u32 = 20;
const CALLS_PER_ROUND: u32 = 20_000;

fn measure<T>(name: &str, mut call: impl FnMut() -> T) {
    let mut best_ns = f64::INFINITY;
    for _ in 0..ROUNDS {
        let start = Instant::now();
        for _ in 0..CALLS_PER_ROUND {
            black_box(call());
        }
        best_ns = best_ns.min(start.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS_PER_ROUND));
    }
    println!("{name:<40} {best_ns:>8.0} ns");
}

fn main() {
    requests();
    frames();
    tokens();
}

fn requests() {
    let body = br#"{"id":"1b2c3d4e-device-0001","vars":{"build":"1.2.3"}}"#;
    measure("route", || route("POST", black_box("/v2/account/authenticate/device")));
    measure("route with two parameters", || route("GET", black_box("/v2/storage/saves/4c2a8a52")));
    let found = route("POST", "/v2/account/authenticate/device").unwrap();
    measure("decode an authenticate request", || {
        decode_http::<api::AuthenticateDeviceRequest>(&found, black_box("create=true&username=ada"), black_box(body))
    });
    let account = account();
    measure("write an account", || to_json(black_box(&account)));
    let objects = api::StorageObjects { objects: vec![storage_object(); 10] };
    measure("write ten storage objects", || to_json(black_box(&objects)));
}

fn frames() {
    let data = Envelope::push(Message::MatchData(MatchData {
        match_id: "4c2a8a52-0b5d-4f3c-9a55-6d1f4b7f2f10.".into(),
        presence: Some(UserPresence {
            user_id: "4c2a8a52-0b5d-4f3c-9a55-6d1f4b7f2f10".into(),
            session_id: "5d3b9b63-0b5d-4f3c-9a55-6d1f4b7f2f10".into(),
            username: "ada".into(),
            ..UserPresence::default()
        }),
        op_code: 1,
        data: vec![7; 64].into(),
        reliable: true,
    }));
    let ping = Envelope::reply("12", Message::Ping(Default::default()));
    for format in [Format::Json, Format::Protobuf] {
        let frame = envelope::encode(&ping, format);
        measure(&format!("ping to pong, {}", format.name()), || {
            let request = envelope::decode(black_box(&frame), format).unwrap();
            envelope::encode(&Envelope::reply(request.cid, Message::Pong(Default::default())), format)
        });
        measure(&format!("write match data, {}", format.name()), || envelope::encode(black_box(&data), format));
        let frame = envelope::encode(&data, format);
        measure(&format!("read match data, {}", format.name()), || envelope::decode(black_box(&frame), format));
    }
}

fn tokens() {
    let signer = Signer::new(b"a key for measuring");
    let claims = Claims {
        token_id: "5d3b9b63-0b5d-4f3c-9a55-6d1f4b7f2f10".into(),
        user_id: "4c2a8a52-0b5d-4f3c-9a55-6d1f4b7f2f10".into(),
        username: "ada".into(),
        expires_at_sec: 2_000_000_000,
        issued_at_sec: 1_999_999_940,
        ..Claims::default()
    };
    let token = signer.sign(&claims);
    measure("sign a token", || signer.sign(black_box(&claims)));
    measure("verify a token", || signer.verify(black_box(&token), 1_999_999_999));
    let writer = || cursor::CursorWriter::new(cursor::CursorKind::StorageObjects).text("key").finish(&["saves", "u"]);
    measure("write a cursor", writer);
}

fn account() -> api::Account {
    let time = Some(Timestamp { seconds: 1_700_000_000, nanos: 123_456_000 });
    api::Account {
        user: Some(api::User {
            id: "4c2a8a52-0b5d-4f3c-9a55-6d1f4b7f2f10".into(),
            username: "ada".into(),
            display_name: "Ada \"Countess\" L.".into(),
            lang_tag: "en".into(),
            metadata: "{\"level\":12,\"guild\":\"engines\"}".into(),
            create_time: time,
            update_time: time,
            ..api::User::default()
        }),
        wallet: "{\"coins\":100}".into(),
        email: "ada@example.com".into(),
        devices: vec![api::AccountDevice { id: "1b2c3d4e-device-0001".into(), ..Default::default() }],
        ..api::Account::default()
    }
}

fn storage_object() -> api::StorageObject {
    let time = Some(Timestamp { seconds: 1_700_000_000, nanos: 0 });
    api::StorageObject {
        collection: "saves".into(),
        key: "slot-1".into(),
        user_id: "4c2a8a52-0b5d-4f3c-9a55-6d1f4b7f2f10".into(),
        value: "{\"position\":[1,2,3],\"inventory\":[\"sword\",\"lamp\"]}".into(),
        version: "5a105e8b9d40e1329780d62ea2265d8a".into(),
        permission_read: 1,
        permission_write: 1,
        create_time: time,
        update_time: time,
    }
}
