//! Every message survives both formats, and another parser accepts its JSON.

use std::fmt::Debug;

use muster_wire::json::{JsonMessage, Mode, WriteOptions, from_json, to_json, to_json_with};

use super::generated::for_every_message;
use super::random::{Arbitrary, Random};

const VALUES_PER_MESSAGE: u64 = 60;

fn check<M: JsonMessage + prost::Message + Arbitrary + PartialEq + Debug>() {
    for seed in 0..VALUES_PER_MESSAGE {
        let message = M::arbitrary(&mut Random::new(seed));
        assert_eq!(M::decode(&*message.encode_to_vec()).unwrap(), message);
        check_json(&message, &to_json(&message));
        for (emit_defaults, camel_case) in [(false, true), (true, false), (true, true)] {
            check_json(&message, &to_json_with(&message, WriteOptions { emit_defaults, camel_case }));
        }
    }
}

fn check_json<M: JsonMessage + PartialEq + Debug>(message: &M, text: &[u8]) {
    assert_eq!(&from_json::<M>(text, Mode::Strict).unwrap(), message);
    let value: serde_json::Value = serde_json::from_slice(text).unwrap();
    let other_text = serde_json::to_string_pretty(&value).unwrap();
    assert_eq!(&from_json::<M>(other_text.as_bytes(), Mode::Strict).unwrap(), message);
}

#[test]
fn every_message_survives_both_formats() {
    for_every_message!(check);
}
