//! Views from the registry: what is read can be written, and then has one stable form.
#![no_main]

use libfuzzer_sys::fuzz_target;
use muster_cluster::membership::{View, assign};
use muster_cluster::registry::Revision;

fuzz_target!(|bytes: &[u8]| {
    let Ok(view) = View::from_bytes(bytes, Revision(1)) else { return };
    assert_eq!(View::from_bytes(&view.to_bytes(), Revision(1)).as_ref(), Ok(&view));
    let mut next = view;
    assign(&mut next);
});
