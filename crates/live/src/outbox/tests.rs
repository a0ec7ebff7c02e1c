//! Order, limits and classes of waiting frames, compared with the plainest queue that does the same.

use super::Delivery::{Droppable, Latest, Reliable};
use super::*;

const LIMITS: OutboxLimits = OutboxLimits { bytes_max: 10, frames_max: 3 };

fn content(outbox: &Outbox) -> String {
    let mut slices = [IoSlice::new(&[]); 64];
    let filled = outbox.chunks(&mut slices);
    let bytes: Vec<u8> = slices[..filled].iter().flat_map(|slice| slice.iter().copied()).collect();
    assert_eq!(bytes.len(), outbox.bytes());
    String::from_utf8(bytes).unwrap()
}

fn push(outbox: &mut Outbox, frame: &'static str, delivery: Delivery) -> Result<(u64, u64), Overflow> {
    let discarded = outbox.push(Bytes::from(frame), delivery, LIMITS)?;
    Ok((discarded.replaced, discarded.dropped))
}

#[test]
fn frames_leave_in_order_across_partial_writes() {
    let mut outbox = Outbox::default();
    for frame in ["abc", "de", "fgh"] {
        push(&mut outbox, frame, Reliable).unwrap();
    }
    outbox.advance(4);
    assert_eq!(content(&outbox), "efgh");
    outbox.advance(1);
    outbox.advance(1);
    assert_eq!(content(&outbox), "gh");
    outbox.advance(2);
    assert!(outbox.is_empty());
    assert_eq!(outbox.bytes(), 0);
}

#[test]
fn either_limit_refuses_and_leaves_the_queue_as_it_was() {
    for delivery in [Reliable, Latest(1)] {
        let mut outbox = Outbox::default();
        push(&mut outbox, "123456789", Reliable).unwrap();
        assert_eq!(push(&mut outbox, "ab", delivery), Err(Overflow));
        assert_eq!(content(&outbox), "123456789");
        outbox.advance(9);
        for _ in 0..3 {
            push(&mut outbox, "a", Reliable).unwrap();
        }
        assert_eq!(push(&mut outbox, "a", delivery), Err(Overflow));
        assert_eq!(content(&outbox), "aaa");
    }
}

#[test]
fn the_latest_of_a_key_takes_the_place_of_the_one_that_waits() {
    let mut outbox = Outbox::default();
    assert_eq!(push(&mut outbox, "a1", Latest(1)), Ok((0, 0)));
    assert_eq!(push(&mut outbox, "b1", Latest(2)), Ok((0, 0)));
    assert_eq!(push(&mut outbox, "a2+", Latest(1)), Ok((1, 0)));
    assert_eq!(content(&outbox), "a2+b1");
    // A frame is not replaced once its first byte was written.
    outbox.advance(1);
    assert_eq!(push(&mut outbox, "a3", Latest(1)), Ok((0, 0)));
    assert_eq!(content(&outbox), "2+b1a3");
    assert_eq!(push(&mut outbox, "a4", Latest(1)), Ok((1, 0)));
    assert_eq!(content(&outbox), "2+b1a4");
    // A frame that was written whole is not replaced either.
    outbox.advance(4);
    assert_eq!(push(&mut outbox, "b2", Latest(2)), Ok((0, 0)));
    assert_eq!(content(&outbox), "a4b2");
    assert_eq!(push(&mut outbox, "too long", Latest(1)), Ok((1, 0)));
    assert_eq!(push(&mut outbox, "too long for it", Latest(1)), Err(Overflow));
    assert_eq!(outbox.discarded(), Discarded { replaced: 3, dropped: 0 });
}

#[test]
fn the_oldest_droppable_frames_make_room() {
    let mut outbox = Outbox::default();
    for frame in ["d1", "d2", "d3"] {
        assert_eq!(push(&mut outbox, frame, Droppable), Ok((0, 0)));
    }
    assert_eq!(push(&mut outbox, "d4", Droppable), Ok((0, 1)));
    assert_eq!(content(&outbox), "d2d3d4");
    // A droppable frame whose first byte was written is not dropped.
    outbox.advance(1);
    assert_eq!(push(&mut outbox, "reliable", Reliable), Ok((0, 2)));
    assert_eq!(content(&outbox), "2reliable");
    // Without other droppable frames, the new one is dropped.
    assert_eq!(push(&mut outbox, "d5", Droppable), Ok((0, 1)));
    assert_eq!(content(&outbox), "2reliable");
    outbox.advance(9);
    assert!(outbox.is_empty());
    assert_eq!(push(&mut outbox, "d6", Droppable), Ok((0, 0)));
    assert_eq!(content(&outbox), "d6");
    assert_eq!(outbox.discarded(), Discarded { replaced: 0, dropped: 4 });
}

/// A list of frames that does the same by the plainest means.
#[derive(Default)]
struct Plain {
    frames: Vec<(String, Delivery)>,
    front_written: usize,
}

impl Plain {
    fn drop_oldest(&mut self) -> bool {
        let from = usize::from(self.front_written > 0);
        let found = self.frames.iter().skip(from).position(|(_, delivery)| *delivery == Droppable);
        found.map(|index| self.frames.remove(from + index)).is_some()
    }

    fn push(&mut self, frame: &str, delivery: Delivery, limits: OutboxLimits) -> bool {
        let from = usize::from(self.front_written > 0);
        let place =
            self.frames.iter().skip(from).position(|(_, other)| matches!(delivery, Latest(_)) && *other == delivery);
        if place.is_none() {
            while self.frames.len() >= limits.frames_max {
                if !self.drop_oldest() {
                    return delivery == Droppable;
                }
            }
            self.frames.push((frame.to_owned(), delivery));
            return true;
        }
        if let Some(index) = place {
            self.frames[from + index].0 = frame.to_owned();
        }
        true
    }

    fn advance(&mut self, mut written: usize) {
        written += self.front_written;
        while self.frames.first().is_some_and(|(frame, _)| frame.len() <= written) {
            written -= self.frames.remove(0).0.len();
        }
        self.front_written = written;
    }

    fn content(&self) -> String {
        let all: String = self.frames.iter().map(|(frame, _)| frame.as_str()).collect();
        all[self.front_written..].to_owned()
    }
}

#[test]
fn any_mixture_behaves_as_a_plain_list_would() {
    let limits = OutboxLimits { bytes_max: 1 << 20, frames_max: 12 };
    let (mut outbox, mut plain) = (Outbox::default(), Plain::default());
    // A linear congruential generator; its high bits are random enough.
    let mut state = 1_u64;
    let mut random = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    for number in 0..50_000 {
        let frame = format!("<{number}>");
        let delivery = match random(8) {
            0 => Reliable,
            1..=4 => Latest(random(5)),
            _ => Droppable,
        };
        let taken = outbox.push(Bytes::from(frame.clone()), delivery, limits).is_ok();
        assert_eq!(taken, plain.push(&frame, delivery, limits), "{number} {delivery:?}");
        if random(5) == 0 {
            let written = random(plain.content().len() as u64 + 1) as usize;
            outbox.advance(written);
            plain.advance(written);
        }
        assert_eq!(content(&outbox), plain.content(), "after {number} {delivery:?}");
    }
}

const RING: RingLimits = RingLimits { bytes_max: 8, frames_max: 3 };
const NO_QUEUE: OutboxLimits = OutboxLimits { bytes_max: 0, frames_max: 0 };

#[test]
fn what_was_sent_is_sent_again_to_who_has_not_got_it() {
    let mut outbox = Outbox::retaining(RING, NO_QUEUE);
    outbox.push_for_socket(Bytes::from("<new>"));
    for frame in ["a1", "b2", "c3", "d4"] {
        push(&mut outbox, frame, Reliable).unwrap();
    }
    // The greeting, two frames and half of the third are written.
    outbox.advance(5 + 2 + 2 + 1);
    outbox.push_for_socket(Bytes::from("<ping>"));
    assert_eq!(outbox.sent(), Some(2));
    outbox.rewind();
    assert_eq!(content(&outbox), "c3d4");
    assert!([0, 1, 2].iter().all(|received| outbox.can_resume(*received)) && !outbox.can_resume(3));
    outbox.resume(1, Bytes::from("<again>"));
    assert_eq!(content(&outbox), "<again>b2c3d4");
    // The socket is lost before everything was written. The client did not get the greeting, and needs it no more.
    outbox.advance(8);
    outbox.rewind();
    assert_eq!(content(&outbox), "b2c3d4");
    assert_eq!(outbox.sent(), Some(1));
    outbox.resume(1, Bytes::from("<again>"));
    outbox.advance(7 + 6);
    assert_eq!(outbox.sent(), Some(4));
    assert!(outbox.is_empty());
}

#[test]
fn who_missed_more_than_is_kept_cannot_go_on() {
    let mut outbox = Outbox::retaining(RING, NO_QUEUE);
    let send = |outbox: &mut Outbox, frame: &'static str| {
        push(outbox, frame, Reliable).unwrap();
        outbox.advance(frame.len());
    };
    for frame in ["1", "2", "3", "4"] {
        send(&mut outbox, frame);
    }
    assert!(!outbox.can_resume(0) && outbox.can_resume(1));
    send(&mut outbox, "seven..");
    assert!(!outbox.can_resume(2) && outbox.can_resume(3));
    // This frame is too long to be kept at all.
    send(&mut outbox, "nine.....");
    assert!(!outbox.can_resume(5) && outbox.can_resume(6) && !outbox.can_resume(7));
}

#[test]
fn what_waited_for_a_socket_is_not_lost_by_leaving_at_once() {
    let queue = OutboxLimits { bytes_max: 10, frames_max: 10 };
    let mut outbox = Outbox::retaining(RING, queue);
    for frame in ["one", "two", "3", "4", "five"] {
        outbox.push(Bytes::from(frame), Reliable, queue).unwrap();
    }
    for lost in 0..3 {
        outbox.resume(0, Bytes::from_static(b"<again>"));
        assert_eq!(content(&outbox), "<again>onetwo34five");
        let all = outbox.bytes();
        outbox.advance(all);
        assert_eq!((outbox.sent(), outbox.can_resume(0)), (Some(5), true), "after {lost}");
        outbox.rewind();
    }
    // This frame exceeds what the ring and the queue together keep.
    let next = "six and 7";
    outbox.push(Bytes::from(next), Reliable, queue).unwrap();
    outbox.advance(next.len());
    assert!(!outbox.can_resume(0) && outbox.can_resume(1));
    // Waiting frames take room from sent ones, but never the ring's own.
    outbox.push(Bytes::from("8 waits.."), Reliable, queue).unwrap();
    outbox.push(Bytes::from("9"), Reliable, queue).unwrap();
    outbox.advance(1);
    assert!(!outbox.can_resume(4) && outbox.can_resume(5));
}

#[test]
fn what_the_client_has_is_not_kept() {
    let mut outbox = Outbox::retaining(RING, NO_QUEUE);
    for frame in ["1", "2"] {
        push(&mut outbox, frame, Reliable).unwrap();
    }
    assert_eq!(outbox.question(), None);
    outbox.advance(2);
    // More than half of the ring is in use: the client is asked, once.
    assert_eq!((outbox.question(), outbox.question()), (Some(2), None));
    outbox.acknowledge(3);
    assert!(outbox.can_resume(0));
    outbox.acknowledge(1);
    assert!(!outbox.can_resume(0) && outbox.can_resume(1));
    push(&mut outbox, "3", Reliable).unwrap();
    outbox.advance(1);
    assert_eq!(outbox.question(), Some(3));
    outbox.rewind();
    outbox.resume(2, Bytes::from("<again>"));
    assert_eq!(content(&outbox), "<again>3");
}

#[test]
fn classes_survive_a_change_of_socket() {
    let mut outbox = Outbox::retaining(RingLimits { bytes_max: 100, frames_max: 10 }, NO_QUEUE);
    push(&mut outbox, "l1", Latest(1)).unwrap();
    push(&mut outbox, "d1", Droppable).unwrap();
    outbox.push_for_socket(Bytes::from("<ping>"));
    push(&mut outbox, "l2", Latest(2)).unwrap();
    // The first of `Latest` was written, so it is sent again unchanged; the second waits again and may be replaced.
    outbox.advance(3);
    outbox.rewind();
    outbox.resume(0, Bytes::from("<again>"));
    assert_eq!(content(&outbox), "<again>l1d1l2");
    assert_eq!(push(&mut outbox, "l1+", Latest(1)), Ok((0, 0)));
    assert_eq!(push(&mut outbox, "l2+", Latest(2)), Ok((1, 0)));
    assert_eq!(content(&outbox), "<again>l1d1l2+l1+");
    let rest = outbox.bytes();
    outbox.advance(rest);
    assert_eq!(outbox.sent(), Some(4));
}

#[test]
fn what_a_client_lacks_goes_with_its_session_to_another_place() {
    let mut left = Outbox::retaining(RING, NO_QUEUE);
    for frame in ["a1", "b2", "c3"] {
        push(&mut left, frame, Reliable).unwrap();
    }
    left.push_for_socket(Bytes::from("<ping>"));
    // Two frames and half of the third were written; the client has the first.
    left.advance(2 + 2 + 1);
    let lacks = left.hand_over(1, 100).unwrap();
    assert_eq!(lacks, ["b2", "c3"]);
    let mut arrived = Outbox::retaining(RING, NO_QUEUE);
    // A frame that was pushed before the session came stays behind the session's own.
    push(&mut arrived, "d4", Reliable).unwrap();
    arrived.take_over(1, lacks);
    assert!(!arrived.can_resume(0) && arrived.can_resume(1));
    arrived.resume(1, Bytes::from("<again>"));
    assert_eq!(content(&arrived), "<again>b2c3d4");
    let all = arrived.bytes();
    arrived.advance(all);
    assert_eq!(arrived.sent(), Some(4));
}

#[test]
fn nobody_goes_to_another_place_with_a_gap_or_with_too_much() {
    let filled = || {
        let mut outbox = Outbox::retaining(RING, NO_QUEUE);
        for frame in ["1", "2", "3", "4"] {
            push(&mut outbox, frame, Reliable).unwrap();
            outbox.advance(1);
        }
        outbox
    };
    assert_eq!(filled().hand_over(0, 100), None, "the first is not kept any more");
    assert_eq!(filled().hand_over(1, 2), None, "three bytes are more than two");
    assert_eq!(filled().hand_over(1, 3).unwrap(), ["2", "3", "4"]);
    assert!(filled().hand_over(4, 0).unwrap().is_empty());
}
