//! Batches of other nodes: what is read can be written, and then has one stable form.
#![no_main]

use std::sync::Arc;

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use muster_cluster::codec::{Decoder, Encoder};

fuzz_target!(|bytes: &[u8]| {
    let once = again(Bytes::copy_from_slice(bytes));
    assert_eq!(again(once.clone()), once);
});

/// Reads a batch and writes what could be read.
fn again(bytes: Bytes) -> Bytes {
    let mut encoder = Encoder::new(1);
    for received in Decoder::new(2, Arc::default()).decode(1, bytes).into_iter().flatten() {
        if let Ok(message) = received.content {
            encoder.push(received.from.shard(), received.to.shard(), &message);
        }
    }
    Bytes::copy_from_slice(encoder.take().content())
}
