//! Measures the cost of messages as bytes: CPU time of writing them into a batch and of reading them, and their length.
//!
//! ```text
//! cargo run --release -p muster-cluster --example codec_cost
//! ```
#![expect(clippy::print_stdout, reason = "an example talks on standard output")]
#![expect(clippy::expect_used, reason = "it ends when something is wrong")]

use std::hint::black_box;
use std::sync::Arc;

use bytes::Bytes;
use muster_cluster::codec::{Decoder, Encoded, Encoder};
use muster_domain::ids::{SessionId, UserId, Uuid};
use muster_live::plane::{Audience, Down, Frames, Joined, LocalAudience, Message, Publish, Reply, Up};
use muster_live::stream::mode;
use muster_live::{Delivery, Epoch, Place, Presence, SessionKey, SessionRef, StreamKey};
use rustix::time::{ClockId, clock_gettime};

/// The same allocator as in the server.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Rounds are many and short: the best one is one during which nothing else ran on the core.
const ROUNDS: usize = 300;
const BATCHES: u32 = 1_000;

fn main() {
    println!("{:<34} {:>9} {:>9} {:>9}", "a message in a batch", "bytes", "write ns", "read ns");
    let stream = StreamKey::about(mode::MATCH_RELAYED, Uuid::from_u128(7 << 80 | 9));
    for at_once in [1, 16] {
        report("publish of 100 bytes", at_once, |_| publish(&stream));
        report("fanout of 100 bytes", at_once, |index| fanout(&stream, &frame(index)));
    }
    let shared = frame(0);
    report("fanout of one frame to 4 shards", 4, |_| fanout(&stream, &shared));
    report("answer with 10 presences", 1, |_| joined(10));
    report("answer with 1,000 presences", 1, |_| joined(1_000));
    let chat = Chat::new();
    report("chat, up to its owner", 1, |_| chat.publish());
    report("chat, to all of a shard", 1, |_| chat.fanout(LocalAudience::All));
    report("chat, to all of 4 shards", 4, |_| chat.fanout(LocalAudience::All));
    for sessions in [1_u64, 10, 50] {
        let keys = || (0..sessions).map(SessionKey::from_number).collect();
        report(&format!("chat, to {sessions} of a shard"), 1, |_| chat.fanout(LocalAudience::Only(keys())));
    }
    report("chat, to each of 50 alone", 50, |index| chat.push(index));
}

/// A channel message in both encodings, as long as the server writes it for a text of 100 bytes.
struct Chat {
    stream: StreamKey,
    frames: Frames,
    payload: Arc<Encoded>,
}

impl Chat {
    fn new() -> Self {
        let [json, protobuf] = [vec![b'j'; 480], vec![b'p'; 290]].map(Bytes::from);
        Self {
            stream: StreamKey::new(mode::CHANNEL, Uuid::nil(), Uuid::nil(), "general"),
            frames: Frames { json: Some(json.clone()), protobuf: Some(protobuf.clone()) },
            payload: Arc::new(Encoded { json, protobuf }),
        }
    }

    fn publish(&self) -> Message {
        let (stream, payload) = (self.stream.clone(), self.payload.clone());
        let (audience, delivery) = (Audience::All, Delivery::Reliable);
        Message::Dated(Epoch(1_000), Up::Publish(Publish { stream, payload, audience, delivery, sender: None }))
    }

    fn fanout(&self, audience: LocalAudience) -> Message {
        let (stream, frames, delivery) = (self.stream.clone(), self.frames.clone(), Delivery::Reliable);
        Message::Down(Down::Fanout { stream, frames, audience, delivery })
    }

    fn push(&self, index: u8) -> Message {
        let (session, payload) = (SessionKey::from_number(index.into()), self.payload.clone());
        Message::Down(Down::Push { session, payload, delivery: Delivery::Reliable, ended: Vec::new() })
    }
}

fn frame(index: u8) -> Bytes {
    vec![index; 104].into()
}

fn publish(stream: &StreamKey) -> Message {
    let sender = SessionRef { place: Place::new(3, 1), key: SessionKey::from_number(5 << 32 | 1_000) };
    let payload = Encoded { json: vec![1; 100].into(), protobuf: vec![2; 100].into() };
    Message::Up(Up::Publish(Publish {
        stream: stream.clone(),
        payload: Arc::new(payload),
        audience: Audience::AllBut(sender),
        delivery: Delivery::Reliable,
        sender: Some(sender),
    }))
}

fn fanout(stream: &StreamKey, frame: &Bytes) -> Message {
    let (audience, delivery) = (LocalAudience::All, Delivery::Reliable);
    let frames = Frames { json: Some(frame.clone()), protobuf: None };
    Message::Down(Down::Fanout { stream: stream.clone(), frames, audience, delivery })
}

fn joined(count: u32) -> Message {
    let presence = |index: u32| Presence {
        session: SessionRef { place: Place::new(3, 1), key: SessionKey::from_number(index.into()) },
        session_id: SessionId(Uuid::from_u128(index.into())),
        user_id: UserId(Uuid::from_u128(u128::from(index) << 64)),
        username: format!("player-{index}").into(),
        hidden: false,
        persistence: true,
        status: None,
        only_session_since: None,
    };
    let presences = (0..count).map(presence).collect();
    Message::Down(Down::Reply(9, Reply::Joined(Ok(Joined { is_new: true, presences, total: count as usize }))))
}

/// Prints the best round as the cost: in all others, something else took time on the core too.
fn report(name: &str, at_once: u8, message: impl Fn(u8) -> Message) {
    let messages: Vec<Message> = (0..at_once).map(message).collect();
    let mut encoder = Encoder::new(3);
    let mut write = || {
        for message in &messages {
            encoder.push(1, 2, black_box(message));
        }
        encoder.take()
    };
    let bytes = Bytes::copy_from_slice(write().content());
    let batches = (BATCHES / u32::from(at_once)).min(500_000 / bytes.len() as u32).max(1);
    let each = |ns: f64| ns / f64::from(at_once);
    let written = best(batches, || drop(black_box(write())));
    let decoder = Decoder::new(5, Arc::default());
    let read = best(batches, || {
        let messages = decoder.decode(3, black_box(bytes.clone())).expect("it is one of ours");
        messages.for_each(|message| drop(black_box(message)));
    });
    let (written, read) = (each(written), each(read));
    println!("{name:<31} {at_once:>2} {:>9.0} {written:>9.0} {read:>9.0}", each(bytes.len() as f64));
}

fn best(times: u32, mut work: impl FnMut()) -> f64 {
    let mut round = || {
        let begin = cpu_ns();
        (0..times).for_each(|_| work());
        (cpu_ns() - begin) as f64 / f64::from(times)
    };
    (0..ROUNDS).map(|_| round()).fold(f64::INFINITY, f64::min)
}

fn cpu_ns() -> i64 {
    let time = clock_gettime(ClockId::ProcessCPUTime);
    time.tv_sec * 1_000_000_000 + time.tv_nsec
}
