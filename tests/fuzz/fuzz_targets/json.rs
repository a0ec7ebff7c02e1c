//! Requests as JSON, with unknown members ignored: what is accepted has one stable form.
#![no_main]

use libfuzzer_sys::fuzz_target;
use muster_wire::api::{Event, LeaderboardRecordList, ValidatedPurchase, WriteStorageObjectsRequest};
use muster_wire::json::{JsonMessage, Mode, from_json, to_json};

fn check<M: JsonMessage>(text: &[u8]) {
    if let Ok(message) = from_json::<M>(text, Mode::Tolerant) {
        let once = to_json(&message);
        let again = from_json::<M>(&once, Mode::Strict).expect("our own output is read back");
        assert_eq!(to_json(&again), once);
    }
}

fuzz_target!(|text: &[u8]| {
    check::<WriteStorageObjectsRequest>(text);
    check::<LeaderboardRecordList>(text);
    check::<ValidatedPurchase>(text);
    check::<Event>(text);
});
