//! Frames in both formats: what is accepted has one stable form.
#![no_main]

use libfuzzer_sys::fuzz_target;
use muster_wire::Format;
use muster_wire::envelope::{decode, encode};

fuzz_target!(|frame: &[u8]| {
    for format in [Format::Json, Format::Protobuf] {
        if let Ok(envelope) = decode(frame, format) {
            let once = encode(&envelope, format);
            let again = decode(&once, format).expect("our own output is read back");
            assert_eq!(encode(&again, format), once);
        }
    }
});
