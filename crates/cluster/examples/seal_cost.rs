//! Measures the CPU time of sealing and opening a frame between two nodes.
//!
//! ```text
//! cargo run --release -p muster-cluster --example seal_cost
//! ```
#![expect(clippy::print_stdout, reason = "an example talks on standard output")]
#![expect(clippy::expect_used, reason = "it ends when something is wrong")]

use bytes::Bytes;
use muster_cluster::bus::Address;
use muster_cluster::seal::{Seal, SealUse};
use rustix::time::{ClockId, clock_gettime};

/// The same allocator as in the server.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const FROM: Address = Address { number: 1, incarnation: 7 };
const TO: Address = Address { number: 2, incarnation: 9 };

const FRAMES: u32 = 200_000;
const ROUNDS: usize = 5;

fn main() {
    let seal = Seal::new(&[7; 32], SealUse::Require);
    println!("| bytes of a frame | seal | open |\n|---|---|---|");
    for bytes in [64, 200, 2_000, 20_000] {
        let [sealing, opening] =
            [false, true].map(|opens| (0..ROUNDS).map(|_| measure(&seal, bytes, opens)).fold(f64::INFINITY, f64::min));
        println!("| {bytes} | {sealing:.0} ns | {opening:.0} ns |");
    }
}

/// Nanoseconds for each frame.
fn measure(seal: &Seal, bytes: usize, opens: bool) -> f64 {
    let plain = Bytes::from(vec![1; bytes]);
    let sealed = seal.seal_frame(FROM, TO, 1, plain.clone());
    let begin = cpu_ns();
    for sequence in 0..u64::from(FRAMES) {
        if opens {
            std::hint::black_box(seal.open_frame(FROM, TO, &sealed).expect("its seal is right"));
        } else {
            std::hint::black_box(seal.seal_frame(FROM, TO, sequence, plain.clone()));
        }
    }
    (cpu_ns() - begin) as f64 / f64::from(FRAMES)
}

fn cpu_ns() -> i64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}
