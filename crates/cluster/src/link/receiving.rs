//! The way in of a link: order, parts made whole again, and what to tell the sender.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};
use muster_live::Millis;
use muster_wire::link::{FrameKind, HEADER_BYTES, Header, Missing, write_missing};

use super::{ACKNOWLEDGE_AFTER_FRAMES, ACKNOWLEDGE_AFTER_MS, FRAMES_AHEAD_MAX, LinkStats};

#[derive(Debug, Default)]
pub(super) struct Receiving {
    /// All up to here arrived and were handed on.
    acknowledged: u64,
    /// Arrived before others that are missing.
    ahead: BTreeMap<u64, (FrameKind, Bytes)>,
    /// Of the batch that is not whole yet.
    parts: Vec<Bytes>,
    /// When the sender is to be told.
    due: Option<Millis>,
    /// Frames of which it was not told.
    untold: u32,
    reports: u64,
    received: u64,
    duplicates: u64,
    gaps: u64,
    refused: u64,
}

impl Receiving {
    /// All up to this frame arrived.
    pub(super) fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// When [`Self::report`] is due.
    pub(super) fn due(&self) -> Option<Millis> {
        self.due
    }

    /// A frame left that carries the acknowledgement. What is missing only a report can say.
    pub(super) fn was_acknowledged(&mut self) {
        if self.ahead.is_empty() {
            (self.due, self.untold) = (None, 0);
        }
    }

    pub(super) fn receive(&mut self, now: Millis, header: &Header, payload: Bytes, mut hand_on: impl FnMut(Bytes)) {
        let number = header.number;
        if number <= self.acknowledged || self.ahead.contains_key(&number) {
            // It came again because the sender does not know.
            self.duplicates += 1;
            self.due = Some(now);
        } else if number == self.acknowledged + 1 {
            let fills_gap = !self.ahead.is_empty();
            self.take(header.kind, payload, &mut hand_on);
            while let Some((kind, payload)) = self.ahead.remove(&(self.acknowledged + 1)) {
                self.take(kind, payload, &mut hand_on);
            }
            self.tell(now, fills_gap);
        } else if number - self.acknowledged > FRAMES_AHEAD_MAX {
            self.refused += 1;
        } else {
            let highest = self.ahead.last_key_value().map_or(self.acknowledged, |(number, _)| *number);
            let is_gap = number > highest + 1;
            self.gaps += u64::from(is_gap);
            self.ahead.insert(number, (header.kind, payload));
            self.tell(now, is_gap);
        }
    }

    /// The next frame in order.
    fn take(&mut self, kind: FrameKind, payload: Bytes, hand_on: &mut impl FnMut(Bytes)) {
        self.acknowledged += 1;
        if kind == FrameKind::Part {
            self.parts.push(payload);
            return;
        }
        self.received += 1;
        if self.parts.is_empty() {
            hand_on(payload);
            return;
        }
        self.parts.push(payload);
        let mut whole = BytesMut::with_capacity(self.parts.iter().map(Bytes::len).sum());
        self.parts.drain(..).for_each(|part| whole.extend_from_slice(&part));
        hand_on(whole.freeze());
    }

    fn tell(&mut self, now: Millis, at_once: bool) {
        self.untold += 1;
        let due = if at_once || self.untold >= ACKNOWLEDGE_AFTER_FRAMES { now } else { now + ACKNOWLEDGE_AFTER_MS };
        self.due = Some(self.due.map_or(due, |before| before.min(due)));
    }

    /// A report of what arrived and what did not, as much of it as fits.
    pub(super) fn report(&mut self, head: &Header, bytes_max: usize) -> Bytes {
        (self.due, self.untold) = (None, 0);
        self.reports += 1;
        let mut report = vec![0; HEADER_BYTES];
        Header { kind: FrameKind::Report, number: 0, ..*head }.write(&mut report);
        write_missing(&mut report, bytes_max, self.acknowledged, self.missing());
        report.into()
    }

    fn missing(&self) -> impl Iterator<Item = Missing> {
        let mut expected = self.acknowledged + 1;
        self.ahead.keys().filter_map(move |number| {
            let first = std::mem::replace(&mut expected, number + 1);
            let count = u32::try_from(number - first).unwrap_or(u32::MAX);
            (count > 0).then_some(Missing { first, count })
        })
    }

    pub(super) fn count(&self, stats: &mut LinkStats) {
        stats.reports = self.reports;
        stats.received = self.received;
        stats.duplicates = self.duplicates;
        stats.gaps = self.gaps;
        stats.refused += self.refused;
    }
}
