//! Measures the CPU time of sending, receiving and acknowledging a batch on a link without losses.
//!
//! ```text
//! cargo run --release -p muster-cluster --example link_cost
//! ```
#![expect(clippy::print_stdout, reason = "an example talks on standard output")]
#![expect(clippy::expect_used, reason = "it ends when something is wrong")]

use muster_cluster::link::{Batch, LinkConfig, LinkOutput, Links, token};
use rustix::time::{ClockId, clock_gettime};

/// The same allocator as in the server.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const BATCHES: u32 = 1_000_000;
const ROUNDS: usize = 5;
/// Batches sent before the other side reads them.
const AT_ONCE: u32 = 16;

fn main() {
    for (len, answers) in [(200, false), (200, true), (2_000, false), (20_000, false)] {
        let nanoseconds = (0..ROUNDS).map(|_| measure(len, answers)).fold(f64::INFINITY, f64::min);
        let way = if answers { "both ways" } else { "one way" };
        println!("{len:>6} bytes {way:<9} {nanoseconds:>7.0} ns a batch");
    }
}

/// Answers the best round as the cost: in all others, something else took time on the core too.
fn measure(len: usize, answers: bool) -> f64 {
    let mut nodes = [Links::new(1, LinkConfig::default()), Links::new(2, LinkConfig::default())];
    nodes[0].open(2, token(5, 6));
    nodes[1].open(1, token(5, 6));
    let content = vec![7; len];
    let (mut out, mut back) = (LinkOutput::default(), LinkOutput::default());
    let (mut received, mut sent, mut now) = (0, 0, 0);
    let begin = cpu_ns();
    while sent < BATCHES {
        now += 1;
        for _ in 0..AT_ONCE {
            let mut batch = Batch::with_capacity(len);
            batch.append(|bytes| bytes.extend_from_slice(&content));
            nodes[0].send(now, 2, batch, &mut out).expect("it is small");
            sent += 1;
        }
        for (_, frame) in out.frames.drain(..) {
            nodes[1].receive(now, &frame, &mut back);
        }
        received += back.batches.drain(..).count();
        if answers {
            let mut batch = Batch::with_capacity(len);
            batch.append(|bytes| bytes.extend_from_slice(&content));
            nodes[1].send(now, 1, batch, &mut back).expect("it is small");
            sent += 1;
        }
        nodes[1].tick(now, &mut back);
        for (_, frame) in back.frames.drain(..) {
            nodes[0].receive(now, &frame, &mut out);
        }
        received += out.batches.drain(..).count();
        nodes[0].tick(now, &mut out);
    }
    assert_eq!(received, sent as usize);
    (cpu_ns() - begin) as f64 / f64::from(sent)
}

fn cpu_ns() -> i64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}
