//! One socket over a connection in memory, polled by hand: the order of its answers, the messages that it keeps while
//! it waits, and the frames that it still sends when it closes.
#![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::panic::{AssertUnwindSafe, catch_unwind};

use muster_gateway::ws::work::PENDING_MESSAGES_MAX;
use muster_live::{CloseReason, Delivery};
use support::{HOLD_MS, Rig, client_frame, frame, in_paused_runtime, in_runtime, texts};
use tokio::time::{Duration, advance};

/// Frames of a client, masked with zeros, and the server's answers: a ping, and a close frame with code 1000.
const PING: [u8; 7] = [0x89, 0x81, 0, 0, 0, 0, b'x'];
const PONG: [u8; 3] = [0x8A, 1, b'x'];
const CLOSE: [u8; 8] = [0x88, 0x82, 0, 0, 0, 0, 3, 232];
const CLOSED: [u8; 4] = [0x88, 2, 3, 232];

#[test]
fn nothing_follows_the_close_frame() {
    in_runtime(|| {
        for (frames, expected) in [
            ([&PING[..], &CLOSE].concat(), [&PONG[..], &CLOSED].concat()),
            ([&CLOSE[..], &PING].concat(), CLOSED.to_vec()),
        ] {
            let mut rig = Rig::new();
            rig.send(&frames);
            assert_eq!(rig.run(), Some(CloseReason::ClientClosed));
            rig.handle.push(frame("late"), Delivery::Reliable);
            assert_eq!(rig.received(), expected);
        }
    });
}

#[test]
fn an_operation_that_is_ready_at_once_is_answered_in_the_same_poll() {
    in_runtime(|| {
        let mut rig = Rig::new();
        rig.send_texts(["now 1", "ready 2", "now 3"]);
        assert!(rig.poll().is_none());
        assert_eq!(rig.polls, 1);
        assert_eq!(texts(&rig.received()), ["1", "2", "3"]);
    });
}

#[test]
fn messages_wait_for_the_one_before_and_control_frames_do_not() {
    in_runtime(|| {
        let mut rig = Rig::new();
        rig.send_texts(["now 1", "later 2", "now 3", "later 4", "now 5"]);
        rig.send(&PING);
        assert_eq!(rig.run(), None);
        assert_eq!(texts(&rig.received()), ["1", "pong x"]);
        rig.release("2");
        assert_eq!(rig.run(), None);
        assert_eq!(texts(&rig.received()), ["2", "3"]);
        rig.send_texts(["now 6"]);
        rig.release("4");
        assert_eq!(rig.run(), None);
        assert_eq!(texts(&rig.received()), ["4", "5", "6"]);
    });
}

#[test]
fn what_is_done_after_an_answer_holds_up_the_next_message_and_not_the_answer() {
    in_runtime(|| {
        let mut rig = Rig::new();
        rig.send_texts(["rest 1", "now 2"]);
        assert_eq!(rig.run(), None);
        assert_eq!(texts(&rig.received()), ["1"]);
        rig.release("1");
        assert_eq!(rig.run(), None);
        assert_eq!(texts(&rig.received()), ["1", "2"]);
    });
}

#[test]
fn a_socket_is_not_read_while_too_much_waits_and_nothing_is_lost() {
    in_runtime(|| {
        let mut rig = Rig::new();
        let numbers: Vec<String> = (0..20 * PENDING_MESSAGES_MAX).map(|number| number.to_string()).collect();
        let frames: Vec<u8> = numbers.iter().flat_map(|number| client_frame(&format!("now {number}"))).collect();
        rig.send_texts(["later first"]);
        let mut sent = rig.send_what_fits(&frames);
        assert!(sent < frames.len() / 2, "{sent} bytes were read");
        assert_eq!(rig.counters.held.get(), 1);
        rig.release("first");
        assert_eq!(rig.run(), None);
        let mut answers = rig.received();
        while sent < frames.len() {
            sent += rig.send_what_fits(&frames[sent..]);
            answers.extend(rig.received());
            assert_eq!(rig.run(), None);
        }
        answers.extend(rig.received());
        let answers = texts(&answers);
        assert_eq!(answers[0], "first");
        assert_eq!(answers[1..], numbers);
    });
}

#[test]
fn a_panic_in_an_operation_closes_its_socket() {
    in_runtime(|| {
        let mut rig = Rig::new();
        rig.send_texts(["later panic", "now unheard"]);
        assert_eq!(rig.run(), None);
        rig.release("panic");
        assert_eq!(rig.run(), None);
        rig.send(&CLOSE);
        assert_eq!(rig.run(), Some(CloseReason::Panic));
        assert_eq!(texts(&rig.received()), ["close 1011 internal error"]);
        assert_eq!(rig.counters.panics.get(), 1);
    });
}

#[test]
fn a_close_frame_says_what_was_wrong_with_a_message_as_far_as_it_has_room() {
    in_runtime(|| {
        let mut rig = Rig::new();
        rig.send_texts(["malformed abé"]);
        assert_eq!(rig.run(), None);
        let expect = format!("close 1007 {}ab", "abé".repeat(30));
        assert_eq!(texts(&rig.received()), [expect]);
    });
}

#[test]
fn an_operation_may_close_its_socket_behind_the_reply() {
    in_runtime(|| {
        let mut rig = Rig::new();
        rig.send_texts(["later end", "now unheard"]);
        assert_eq!(rig.run(), None);
        rig.release("end");
        assert_eq!(rig.run(), None);
        rig.send(&CLOSE);
        assert_eq!(rig.run(), Some(CloseReason::TokenRevoked));
        assert_eq!(texts(&rig.received()), ["end", "close 1008 session token revoked"]);
    });
}

#[test]
fn who_is_closed_while_an_operation_runs_gets_what_was_held_for_its_answer() {
    in_runtime(|| {
        let mut rig = Rig::new();
        rig.send_texts(["later 1"]);
        assert_eq!(rig.run(), None);
        rig.handle.hold();
        rig.handle.push(frame("why"), Delivery::Reliable);
        rig.handle.close(CloseReason::Banned);
        assert_eq!(rig.run(), None);
        rig.send(&CLOSE);
        assert_eq!(rig.run(), Some(CloseReason::Banned));
        assert_eq!(texts(&rig.received()), ["why", "close 1008 the user was banned"]);
    });
}

#[test]
fn an_operation_outlives_its_socket() {
    in_runtime(|| {
        let mut rig = Rig::new();
        rig.send_texts(["later 1", "later 2"]);
        assert_eq!(rig.run(), None);
        rig.send(&CLOSE);
        assert_eq!(rig.run(), Some(CloseReason::ClientClosed));
        assert_eq!(rig.received(), CLOSED);
        rig.release("1");
        assert_eq!(rig.finish(), Some("1".into()));

        let mut rig = Rig::new();
        rig.send_texts(["now 1"]);
        rig.cut();
        assert_eq!(rig.run(), Some(CloseReason::ConnectionLost));
        assert_eq!(rig.finish(), None);
    });
}

#[test]
fn what_a_handler_pushes_to_its_own_socket_stands_behind_its_answer() {
    in_runtime(|| {
        let mut rig = Rig::new();
        rig.handle.push(frame("before"), Delivery::Reliable);
        rig.send_texts(["now 1", "push 2", "now 3", "later 4"]);
        assert_eq!(rig.run(), None);
        assert_eq!(texts(&rig.received()), ["before", "1", "2", "pushed", "3"]);
        let polls = rig.polls;
        rig.handle.push(frame("meanwhile"), Delivery::Reliable);
        rig.release("4");
        assert_eq!(rig.run(), None);
        assert_eq!(texts(&rig.received()), ["meanwhile", "4"]);
        assert_eq!(rig.polls, polls + 1, "pushes and replies leave in one turn");
    });
}

#[test]
fn while_the_shard_pauses_messages_are_kept_where_they_stand() {
    in_runtime(|| {
        let mut rig = Rig::new();
        rig.send_texts(["now 1", "pause 2", "now 3", "later 4"]);
        assert_eq!(rig.run(), None);
        assert_eq!(texts(&rig.received()), ["1", "2"]);
        rig.send_texts(["now 5"]);
        rig.handle.push(frame("pushed"), Delivery::Reliable);
        assert_eq!(rig.run(), None);
        assert_eq!(texts(&rig.received()), ["pushed"]);
        rig.shared.resume();
        assert_eq!(rig.run(), None);
        assert_eq!(texts(&rig.received()), ["3"]);
        // Messages that wait for an operation rest too, but the operation itself goes on.
        rig.shared.pause();
        rig.release("4");
        assert_eq!(rig.run(), None);
        assert_eq!(texts(&rig.received()), ["4"]);
        rig.shared.resume();
        // The next pause begins before the socket has seen the end of the last one.
        rig.shared.pause();
        assert_eq!(rig.run(), None);
        rig.shared.resume();
        assert_eq!(rig.run(), None);
        assert_eq!(texts(&rig.received()), ["5"]);
        assert_eq!(rig.counters.pauses.get(), 3);
    });
}

#[test]
fn a_socket_that_rests_still_closes() {
    in_runtime(|| {
        let mut rig = Rig::new();
        rig.shared.pause();
        rig.send_texts(["now 1"]);
        assert_eq!(rig.run(), None);
        rig.handle.close(CloseReason::ServerStopping);
        rig.send(&CLOSE);
        assert_eq!(rig.run(), Some(CloseReason::ServerStopping));
        assert_eq!(texts(&rig.received()), ["close 1001 server is stopping"]);
    });
}

#[test]
fn a_queue_that_cannot_take_what_it_was_promised_closes_its_socket() {
    in_runtime(|| {
        let mut rig = Rig::new();
        for number in 0..support::OUTBOX_FRAMES_MAX {
            rig.handle.push(frame(&format!("d{number}")), Delivery::Droppable);
        }
        rig.handle.push(frame("l1"), Delivery::Latest(1));
        rig.handle.push(frame("l2"), Delivery::Latest(1));
        for number in 1..support::OUTBOX_FRAMES_MAX {
            rig.handle.push(frame(&format!("r{number}")), Delivery::Reliable);
        }
        let count = |counter: &std::sync::atomic::AtomicU64| counter.load(std::sync::atomic::Ordering::Relaxed);
        assert_eq!(count(&rig.metrics.frames_replaced), 1);
        assert_eq!(count(&rig.metrics.frames_dropped), support::OUTBOX_FRAMES_MAX as u64);
        rig.handle.push(frame("too much"), Delivery::Reliable);
        rig.handle.push(frame("late"), Delivery::Reliable);
        rig.send(&CLOSE);
        assert_eq!(rig.run(), Some(CloseReason::QueueOverflow));
        let received = texts(&rig.received());
        assert_eq!(received[0], "l2");
        assert_eq!(received.len(), support::OUTBOX_FRAMES_MAX + 1);
        assert!(received.last().unwrap().starts_with("close 1008"), "{received:?}");
    });
}

#[test]
fn a_handler_that_panics_closes_its_socket_and_loses_no_later_push() {
    in_runtime(|| {
        let mut rig = Rig::new();
        rig.send_texts(["now 1", "panic"]);
        let outcome = catch_unwind(AssertUnwindSafe(|| rig.run()));
        assert_eq!(outcome.unwrap(), None);
        rig.send(&CLOSE);
        assert_eq!(rig.run(), Some(CloseReason::Panic));
        assert_eq!(texts(&rig.received()), ["1", "close 1011 internal error"]);
    });
}

#[test]
fn a_session_that_sends_too_much_is_not_read_for_a_time_and_goes_on() {
    in_paused_runtime(async || {
        let mut rig = Rig::new();
        rig.send_texts(["now 1", "hold 2", "now 3"]);
        rig.send(&PING);
        assert_eq!(rig.run(), None);
        assert_eq!(texts(&rig.received()), ["1", "2"]);
        // Frames that are pushed to it leave all the same.
        rig.handle.push(frame("pushed"), Delivery::Reliable);
        advance(Duration::from_millis(u64::from(HOLD_MS) - 1)).await;
        assert_eq!(rig.run(), None);
        assert_eq!(texts(&rig.received()), ["pushed"]);
        advance(Duration::from_millis(1)).await;
        assert_eq!(rig.run(), None);
        assert_eq!(texts(&rig.received()), ["3", "pong x"]);
    });
}

#[test]
fn messages_that_wait_for_an_operation_are_slowed_one_by_one() {
    in_paused_runtime(async || {
        let mut rig = Rig::new();
        rig.send_texts(["later 1", "hold 2", "hold 3", "now 4"]);
        assert_eq!(rig.run(), None);
        rig.release("1");
        for expected in [&["1", "2"][..], &["3"], &["4"]] {
            assert_eq!(rig.run(), None);
            assert_eq!(texts(&rig.received()), expected);
            advance(Duration::from_millis(u64::from(HOLD_MS))).await;
        }
    });
}
