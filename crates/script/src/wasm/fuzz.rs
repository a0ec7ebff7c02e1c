//! Damaged frames of instances. What is read is written again with the same meaning, and takes memory in proportion.

use muster_testenv::fuzz::Fuzz;

use super::codec::{Reader, Writer};
use super::frames::{FromInstance, read};
use crate::value::Value;
use crate::value::fuzz::{WORDS, of_bytes};

/// Values behind one another, as a frame has them.
fn written(values: Vec<Value>) -> Vec<u8> {
    let mut frame = Writer::new(0);
    frame.length(values.len());
    for value in values {
        frame.value(value);
    }
    frame.finish()[5..].to_vec()
}

fn texts(values: &[Value]) -> Vec<String> {
    values.iter().map(Value::to_json_text).collect()
}

/// A frame of a host call with a value in it.
fn host_call(value: Value) -> Vec<u8> {
    let mut frame = Writer::new(2);
    frame.u64(7).u32(1).text("storage_read");
    let head = frame.finish()[4..].to_vec();
    [head, written(vec![value])].concat()
}

#[test]
fn damaged_frames_are_refused_or_read() {
    let presence = "0b5a4e2e-7a4c-4d4a-9b7a-0123456789ab";
    let mut acts = Writer::new(5);
    acts.u64(7).byte(3).length(5);
    acts.byte(0).i64(1).bytes(b"data").flag(true).length(1).text(presence).flag(true);
    acts.text(presence).text(presence).text("ann").flag(true);
    acts.byte(2).length(1).text(presence).byte(3).text("label").byte(4).text("t").u64(5).text("d").byte(5).text("t");
    let mut registered = Writer::new(1);
    registered.flag(true).length(4).byte(0).text("f").byte(1).text("GetAccount").byte(10).text("*/5 * * * *");
    registered.byte(12).text("GET,POST /path/{id}");
    let mut logged = Writer::new(6);
    logged.u64(7).byte(1).text("a line").text("{}");
    let frames = [acts, registered, logged].map(|frame| frame.finish()[4..].to_vec());
    let value = of_bytes(&mut &[0x4b, 0x2d, 3, b'a', b'b', b'c', 1, b'd', 0x11, 0x34, b'x', 0x4f, 2, 5, 9][..], 0);
    let tried = Fuzz::new("wasm-frames").seeds(frames).seeds([host_call(value)]).words(WORDS).run(|input| {
        let built = of_bytes(&mut &*input, 0);
        let expect = Value::List(vec![built.clone()]).to_json_text();
        let again = Reader::new(&written(vec![built])).values().expect("our own output is read back");
        assert_eq!(Value::List(again).to_json_text(), expect);
        match read(input) {
            Err(_) => false,
            Ok(FromInstance::HostCalled { arguments, .. }) => {
                let once = texts(&arguments);
                let again = Reader::new(&written(arguments)).values().expect("our own output is read back");
                assert_eq!(texts(&again), once);
                true
            }
            Ok(_) => true,
        }
    });
    assert!(tried.accepted > tried.inputs / 20, "{tried:?}");
}
