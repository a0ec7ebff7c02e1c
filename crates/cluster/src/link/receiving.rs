//! The incoming half of a link: puts frames in order, joins the parts of batches, and decides when to send
//! acknowledgements and reports.

use std::collections::BTreeMap;

use bytes::{Bytes, BytesMut};
use muster_live::Millis;
use muster_wire::link::{FrameKind, HEADER_BYTES, Header, Missing, write_missing};

use super::{ACKNOWLEDGE_AFTER_FRAMES, ACKNOWLEDGE_AFTER_MS, FRAMES_AHEAD_MAX, LinkStats};

#[derive(Debug, Default)]
pub(super) struct Receiving {
    /// Number of the last frame up to which all arrived and were handed on.
    acknowledged: u64,
    /// Frames that arrived although earlier ones are missing.
    ahead: BTreeMap<u64, (FrameKind, Bytes)>,
    /// Parts of a batch that is not complete yet.
    parts: Vec<Bytes>,
    /// When the next report to the sender is due.
    due: Option<Millis>,
    /// Number of frames that arrived since the last acknowledgement.
    untold: u32,
    reports: u64,
    received: u64,
    duplicates: u64,
    gaps: u64,
    refused: u64,
}

impl Receiving {
    /// Number of the last frame up to which all arrived.
    pub(super) fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// When [`Self::report`] is due.
    pub(super) fn due(&self) -> Option<Millis> {
        self.due
    }

    /// Notes that a frame carried the acknowledgement to the peer. While frames are missing a report stays due, since
    /// only a report names them.
    pub(super) fn was_acknowledged(&mut self) {
        if self.ahead.is_empty() {
            (self.due, self.untold) = (None, 0);
        }
    }

    pub(super) fn receive(&mut self, now: Millis, header: &Header, payload: Bytes, mut hand_on: impl FnMut(Bytes)) {
        let number = header.number;
        if number <= self.acknowledged || self.ahead.contains_key(&number) {
            // The peer sent the frame again because it had received no acknowledgement, so one is due now.
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

    /// Takes in the next frame in order.
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

    /// A report of the frames that arrived and those that are missing, cut to `bytes_max`.
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
