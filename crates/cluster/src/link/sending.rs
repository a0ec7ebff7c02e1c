//! The outgoing half of a link: numbers frames, keeps to the window, and sends lost frames again.

use std::collections::VecDeque;

use bytes::Bytes;
use muster_live::Millis;
use muster_wire::link::{FrameKind, HEADER_BYTES, Header, Missing};

use super::round_trip::RoundTrip;
use super::{LinkConfig, LinkOutput, LinkStats, RESENT_AT_ONCE_MAX};

#[derive(Debug)]
struct Sent {
    frame: Bytes,
    /// When the frame was sent last.
    at: Millis,
    is_resent: bool,
}

/// Progress of resending after a silence: frames are sent again from the oldest on, with each acknowledgement twice as
/// many, until an acknowledgement covers a frame that was not sent again.
#[derive(Debug)]
struct Resending {
    /// Number of the last frame that had been sent before the silence was noticed.
    until: u64,
    /// Number of the last frame that was sent again.
    resent: u64,
    at_once: usize,
}

#[derive(Debug)]
pub(super) struct Sending {
    config: LinkConfig,
    /// Number of the next new frame.
    next: u64,
    /// Frames under way, in order of their numbers; the last has the number before `next`.
    unacknowledged: VecDeque<Sent>,
    unacknowledged_bytes: usize,
    /// Frames that wait for room in the window. Their headers are written when they are sent.
    waiting: VecDeque<(FrameKind, Vec<u8>)>,
    waiting_bytes: usize,
    is_congested: bool,
    round_trip: RoundTrip,
    /// Time at which the wait for the oldest frame's acknowledgement ends.
    due: Option<Millis>,
    resending: Option<Resending>,
    sent: u64,
    resent: u64,
    refused: u64,
}

impl Sending {
    pub(super) fn new(config: LinkConfig) -> Self {
        Self {
            config,
            next: 1,
            unacknowledged: VecDeque::new(),
            unacknowledged_bytes: 0,
            waiting: VecDeque::new(),
            waiting_bytes: 0,
            is_congested: false,
            round_trip: RoundTrip::default(),
            due: None,
            resending: None,
            sent: 0,
            resent: 0,
            refused: 0,
        }
    }

    /// Sends a batch (with room for a header), or lets it wait. Answers whether a frame was sent.
    pub(super) fn send(&mut self, now: Millis, batch: Vec<u8>, head: &Header, out: &mut LinkOutput) -> bool {
        if batch.len() <= self.config.frame_bytes_max {
            self.admit(now, FrameKind::Whole, batch, head, out);
        } else {
            self.send_in_parts(now, &batch, head, out);
        }
        self.tell_congestion(head, out);
        self.waiting.is_empty()
    }

    fn send_in_parts(&mut self, now: Millis, batch: &[u8], head: &Header, out: &mut LinkOutput) {
        let mut parts = batch[HEADER_BYTES..].chunks(self.config.frame_bytes_max - HEADER_BYTES).peekable();
        while let Some(part) = parts.next() {
            let kind = if parts.peek().is_some() { FrameKind::Part } else { FrameKind::Whole };
            let mut frame = Vec::with_capacity(HEADER_BYTES + part.len());
            frame.resize(HEADER_BYTES, 0);
            frame.extend_from_slice(part);
            self.admit(now, kind, frame, head, out);
        }
    }

    fn admit(&mut self, now: Millis, kind: FrameKind, frame: Vec<u8>, head: &Header, out: &mut LinkOutput) {
        if self.waiting.is_empty() && self.has_room(frame.len()) {
            self.transmit(now, kind, frame, head, out);
        } else {
            self.waiting_bytes += frame.len();
            self.waiting.push_back((kind, frame));
        }
    }

    fn has_room(&self, bytes: usize) -> bool {
        self.unacknowledged.len() < self.config.window_frames
            && (self.unacknowledged.is_empty() || self.unacknowledged_bytes + bytes <= self.config.window_bytes)
    }

    fn transmit(&mut self, now: Millis, kind: FrameKind, mut frame: Vec<u8>, head: &Header, out: &mut LinkOutput) {
        Header { kind, number: self.next, ..*head }.write(&mut frame);
        let frame = Bytes::from(frame);
        self.next += 1;
        self.sent += 1;
        self.unacknowledged_bytes += frame.len();
        if self.unacknowledged.is_empty() {
            self.due = Some(now + self.round_trip.patience());
        }
        self.unacknowledged.push_back(Sent { frame: frame.clone(), at: now, is_resent: false });
        out.frames.push((head.to, frame));
    }

    /// Number of the oldest frame under way, or of the next new one if none is.
    fn oldest(&self) -> u64 {
        self.next - self.unacknowledged.len() as u64
    }

    /// Takes in an acknowledgement of all frames up to `up_to`. Answers whether waiting frames could be sent because of
    /// it.
    pub(super) fn acknowledged(&mut self, now: Millis, up_to: u64, head: &Header, out: &mut LinkOutput) -> bool {
        if up_to >= self.next {
            self.refused += 1;
            return false;
        }
        let mut last = None;
        while self.oldest() <= up_to {
            let Some(sent) = self.unacknowledged.pop_front() else { break };
            self.unacknowledged_bytes -= sent.frame.len();
            last = Some(sent);
        }
        let Some(last) = last else { return false };
        // The round trip of a frame that was sent twice is unknown: the acknowledgement may answer the first or the
        // second sending.
        if !last.is_resent {
            self.round_trip.measure(now.saturating_sub(last.at));
        }
        self.round_trip.was_answered();
        self.due = (!self.unacknowledged.is_empty()).then(|| now + self.round_trip.patience());
        self.recover(now, up_to, head, out);
        let sent = self.sent;
        self.refill(now, head, out);
        self.tell_congestion(head, out);
        // Only new frames carry the current acknowledgement: a frame that is sent again keeps its first header.
        self.sent > sent
    }

    /// Goes on with resending. Ends it if the acknowledgement covers frames that were not sent again: those had
    /// arrived.
    fn recover(&mut self, now: Millis, up_to: u64, head: &Header, out: &mut LinkOutput) {
        let Some(mut resending) = self.resending.take() else { return };
        if up_to >= resending.until || up_to > resending.resent {
            return;
        }
        resending.at_once = (resending.at_once * 2).min(RESENT_AT_ONCE_MAX);
        let last = resending.until.min(resending.resent + resending.at_once as u64);
        for number in resending.resent + 1..=last {
            self.resend(now, number, head, out);
        }
        resending.resent = last;
        self.resending = Some(resending);
    }

    fn refill(&mut self, now: Millis, head: &Header, out: &mut LinkOutput) {
        while let Some((_, frame)) = self.waiting.front()
            && self.has_room(frame.len())
            && let Some((kind, frame)) = self.waiting.pop_front()
        {
            self.waiting_bytes -= frame.len();
            self.transmit(now, kind, frame, head, out);
        }
    }

    /// Sends frames again that the peer reports as missing.
    pub(super) fn missing(
        &mut self,
        now: Millis,
        missing: impl Iterator<Item = Missing>,
        head: &Header,
        out: &mut LinkOutput,
    ) {
        let mut left = RESENT_AT_ONCE_MAX;
        for Missing { first, count } in missing {
            let end = first.saturating_add(u64::from(count)).min(self.next);
            for number in first.max(self.oldest())..end {
                let Some(sent) = self.sent(number) else { break };
                // A frame that was sent again may still be on its way.
                if sent.is_resent && now < sent.at + self.round_trip.usual() {
                    continue;
                }
                if left == 0 {
                    return;
                }
                left -= 1;
                self.resend(now, number, head, out);
            }
        }
    }

    fn sent(&self, number: u64) -> Option<&Sent> {
        self.unacknowledged.get(usize::try_from(number.checked_sub(self.oldest())?).ok()?)
    }

    fn resend(&mut self, now: Millis, number: u64, head: &Header, out: &mut LinkOutput) {
        let Some(at) = number.checked_sub(self.oldest()) else { return };
        let Some(sent) = usize::try_from(at).ok().and_then(|at| self.unacknowledged.get_mut(at)) else { return };
        (sent.at, sent.is_resent) = (now, true);
        self.resent += 1;
        out.frames.push((head.to, sent.frame.clone()));
    }

    /// When [`Self::tick`] has something to do.
    pub(super) fn due(&self) -> Option<Millis> {
        self.due
    }

    pub(super) fn tick(&mut self, now: Millis, head: &Header, out: &mut LinkOutput) {
        if self.due.is_none_or(|due| now < due) {
            return;
        }
        self.round_trip.was_silent();
        self.due = Some(now + self.round_trip.patience());
        let oldest = self.oldest();
        self.resend(now, oldest, head, out);
        self.resending = Some(Resending { until: self.next - 1, resent: oldest, at_once: 1 });
    }

    /// Reports congestion when a frame has to wait, and its end when half the window is free.
    fn tell_congestion(&mut self, head: &Header, out: &mut LinkOutput) {
        let is_congested = if self.is_congested {
            !self.waiting.is_empty()
                || self.unacknowledged.len() > self.config.window_frames / 2
                || self.unacknowledged_bytes > self.config.window_bytes / 2
        } else {
            !self.waiting.is_empty()
        };
        if is_congested != self.is_congested {
            self.is_congested = is_congested;
            out.congestion.push((head.to, is_congested));
        }
    }

    pub(super) fn is_congested(&self) -> bool {
        self.is_congested
    }

    pub(super) fn count(&self, stats: &mut LinkStats) {
        stats.sent = self.sent;
        stats.resent = self.resent;
        stats.refused += self.refused;
        stats.unacknowledged_frames = self.unacknowledged.len();
        stats.unacknowledged_bytes = self.unacknowledged_bytes;
        stats.waiting_bytes = self.waiting_bytes;
    }
}
