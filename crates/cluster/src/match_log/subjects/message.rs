//! The messages of a log: each has a stamp (its owner, and the record number below which nothing is needed) and the
//! records appended since the message before. A record too large for one message is cut into pieces over several.

use std::collections::VecDeque;

use bytes::Bytes;
use muster_live::place::Epoch;

use crate::match_log::frame::{self, HEAD_BYTES, Kind};

/// Bytes of a stamp.
const STAMP_BYTES: usize = HEAD_BYTES + 40;

/// Stands for the number of the first record in the claim of an owner that does not know the number.
const UNKNOWN: u64 = u64::MAX;

/// Head of a message, before its records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Stamp {
    /// Whether the message takes the log over and has no records.
    pub(super) is_claim: bool,
    pub(super) epoch: Epoch,
    /// Identity of the shard that wrote the message.
    pub(super) owner: u128,
    /// Number of the message; rises by one with each message of the owner, from a random start.
    pub(super) message: u64,
    /// Records before this number are not needed.
    pub(super) floor: u64,
    /// Number of the first record in this message. The record may have begun in an earlier message.
    pub(super) first: u64,
}

impl Stamp {
    /// The stamp of a claim that follows message `last`.
    pub(super) fn claim(epoch: Epoch, owner: u128, message: u64, last: Option<&Bytes>) -> Self {
        let empty = match last {
            None => Some((0, 0)),
            Some(last) => Self::of(last).filter(|stamp| stamp.is_end(last)).map(|stamp| (stamp.first, stamp.floor)),
        };
        let (first, floor) = empty.unwrap_or((UNKNOWN, 0));
        Self { is_claim: true, epoch, owner, message, floor, first }
    }

    /// Whether no record before this claim is needed.
    pub(super) fn is_of_empty(&self) -> bool {
        self.first != UNKNOWN
    }

    /// Whether `message`, which has this stamp, has no records and needs none before it.
    fn is_end(&self, message: &Bytes) -> bool {
        message.len() == STAMP_BYTES && self.first != UNKNOWN && self.floor >= self.first
    }

    /// A message of this stamp without records.
    pub(super) fn alone(&self, partition: u16) -> Bytes {
        let mut out = Vec::with_capacity(STAMP_BYTES);
        self.write(partition, &mut out);
        out.into()
    }

    pub(super) fn is_same_message(&self, other: &Self) -> bool {
        (self.owner, self.message) == (other.owner, other.message)
    }

    fn write(&self, partition: u16, out: &mut Vec<u8>) {
        let mut payload = [0; STAMP_BYTES - HEAD_BYTES];
        payload[..16].copy_from_slice(&self.owner.to_le_bytes());
        payload[16..24].copy_from_slice(&self.message.to_le_bytes());
        payload[24..32].copy_from_slice(&self.floor.to_le_bytes());
        payload[32..].copy_from_slice(&self.first.to_le_bytes());
        let kind = if self.is_claim { Kind::Claim } else { Kind::Batch };
        frame::write(out, kind, partition, self.epoch.0, &payload);
    }

    /// The stamp of a message; `None` if no owner wrote the message.
    pub(super) fn of(message: &[u8]) -> Option<Self> {
        let frame = frame::first(message).filter(|frame| matches!(frame.kind, Kind::Claim | Kind::Batch))?;
        let number = |at: usize| Some(u64::from_le_bytes(frame.payload.get(at..at + 8)?.try_into().ok()?));
        let owner = u128::from_le_bytes(frame.payload.get(..16)?.try_into().ok()?);
        let (is_claim, epoch) = (frame.kind == Kind::Claim, Epoch(frame.number));
        Some(Self { is_claim, epoch, owner, message: number(16)?, floor: number(24)?, first: number(32)? })
    }
}

/// Records that wait to be published; part of the first may have been published already.
#[derive(Debug, Default)]
pub(super) struct UnpublishedRecords {
    records: VecDeque<Bytes>,
    /// Published bytes of the first record.
    sent: usize,
    /// Bytes of all records that are not published.
    pub(super) bytes: usize,
}

impl UnpublishedRecords {
    pub(super) fn push(&mut self, record: &[u8]) {
        self.bytes += record.len();
        self.records.push_back(Bytes::copy_from_slice(record));
    }

    pub(super) fn is_empty(&self) -> bool {
        self.records.is_empty()
    }

    /// Whether the first record was published in part.
    pub(super) fn is_cut(&self) -> bool {
        self.sent > 0
    }

    /// Takes as many bytes as fit into a message. Answers the message, and the number of records that it completes.
    pub(super) fn message(&mut self, partition: u16, stamp: &Stamp, bytes_max: usize) -> (Bytes, u64) {
        let mut out = Vec::with_capacity(bytes_max.min(STAMP_BYTES + self.bytes + HEAD_BYTES * self.records.len()));
        stamp.write(partition, &mut out);
        let mut complete = 0;
        while let Some(record) = self.records.front() {
            let number = stamp.first + complete;
            let room = bytes_max.saturating_sub(out.len() + HEAD_BYTES);
            let rest = record.slice(self.sent..);
            if rest.len() <= room && out.len() + HEAD_BYTES <= bytes_max {
                let kind = if self.sent == 0 { Kind::Record } else { Kind::Tail };
                frame::write(&mut out, kind, partition, number, &rest);
                self.bytes -= rest.len();
                self.sent = 0;
                self.records.pop_front();
                complete += 1;
                continue;
            }
            // Only a record that is too large for an empty message is cut.
            let is_alone = out.len() == STAMP_BYTES;
            if is_alone && room > 0 {
                let kind = if self.sent == 0 { Kind::Head } else { Kind::Middle };
                frame::write(&mut out, kind, partition, number, &rest[..room]);
                self.bytes -= room;
                self.sent += room;
            }
            break;
        }
        (out.into(), complete)
    }
}

/// The records of a log, gathered message by message.
#[derive(Debug, Default)]
pub(super) struct GatheredRecords {
    records: VecDeque<Bytes>,
    /// Number of the first record, once it is known.
    first: Option<u64>,
    /// The pieces of a record whose end is still to come.
    pieces: Option<Vec<u8>>,
    last: Option<Stamp>,
    floor: u64,
    /// Times that an expected record was missing.
    pub(super) gaps: u64,
}

impl GatheredRecords {
    /// Number of the next record.
    pub(super) fn next(&self) -> u64 {
        self.end().unwrap_or(0).max(self.floor)
    }

    fn end(&self) -> Option<u64> {
        self.first.map(|first| first + self.records.len() as u64)
    }

    /// Adds the next message.
    pub(super) fn push(&mut self, message: &Bytes) {
        let Some(stamp) = Stamp::of(message) else {
            self.lose();
            return;
        };
        let is_same_owner = self.last.is_some_and(|last| last.owner == stamp.owner);
        let follows = self.last.is_none_or(|last| last.message.wrapping_add(1) == stamp.message);
        let is_known = stamp.first != UNKNOWN;
        let is_jump = is_known && self.end().is_some_and(|end| end != stamp.first);
        if is_jump || (is_same_owner && !stamp.is_claim && !follows) {
            self.lose();
        }
        if is_known && (is_jump || self.first.is_none()) {
            self.first = Some(stamp.first);
        }
        if !is_same_owner || stamp.is_claim {
            // The pieces were published before this claim, and their record was never finished.
            self.pieces = None;
        }
        self.last = Some(stamp);
        self.floor = self.floor.max(stamp.floor);
        let mut at = STAMP_BYTES;
        while at < message.len() {
            let Some(frame) = frame::first(&message[at..]) else {
                self.lose();
                return;
            };
            at += frame.len();
            match (frame.kind, &mut self.pieces) {
                (Kind::Record, pieces) => {
                    *pieces = None;
                    self.records.push_back(frame.payload);
                }
                (Kind::Head, pieces) => *pieces = Some(frame.payload.to_vec()),
                (Kind::Middle, Some(pieces)) => pieces.extend_from_slice(&frame.payload),
                (Kind::Tail, Some(pieces)) => {
                    pieces.extend_from_slice(&frame.payload);
                    self.records.push_back(std::mem::take(pieces).into());
                    self.pieces = None;
                }
                // The beginning of the record was purged as not needed, or is lost.
                (Kind::Tail, None) => {
                    self.records.clear();
                    self.first = Some(frame.number + 1);
                }
                _ => {}
            }
        }
    }

    /// Notes a gap. Records before a gap are useless.
    fn lose(&mut self) {
        self.gaps += 1;
        self.first = self.end();
        self.records.clear();
        self.pieces = None;
    }

    /// The records that are needed.
    pub(super) fn records(mut self) -> Vec<Bytes> {
        let unneeded = usize::try_from(self.floor.saturating_sub(self.first.unwrap_or(0))).unwrap_or(usize::MAX);
        self.records.drain(..unneeded.min(self.records.len()));
        self.records.into()
    }
}

#[cfg(test)]
mod tests {
    use muster_testenv::fuzz::Fuzz;

    use super::*;

    fn stamp(message: u64, first: u64) -> Stamp {
        Stamp { is_claim: false, epoch: Epoch(3), owner: 1 << 100 | 7, message, floor: 0, first }
    }

    /// Records of these lengths, and the messages that hold them.
    fn messages(lengths: &[usize], bytes_max: usize) -> (Vec<Bytes>, Vec<Bytes>) {
        let mut waiting = UnpublishedRecords::default();
        let records: Vec<Bytes> = lengths.iter().enumerate().map(|(n, length)| vec![n as u8; *length].into()).collect();
        records.iter().for_each(|record| waiting.push(record));
        let (mut messages, mut first) = (Vec::new(), 0);
        while !waiting.is_empty() {
            let (message, complete) = waiting.message(9, &stamp(messages.len() as u64, first), bytes_max);
            assert!(message.len() <= bytes_max);
            assert_eq!(Stamp::of(&message), Some(stamp(messages.len() as u64, first)));
            first += complete;
            messages.push(message);
        }
        assert_eq!((waiting.bytes, first), (0, lengths.len() as u64));
        (messages, records)
    }

    fn gather(messages: &[Bytes]) -> GatheredRecords {
        let mut gathered = GatheredRecords::default();
        messages.iter().for_each(|message| gathered.push(message));
        gathered
    }

    #[test]
    fn records_come_out_as_they_went_in_whatever_their_sizes() {
        let check = |lengths: &[usize], expect_messages: usize| {
            let (messages, records) = messages(lengths, 200);
            assert_eq!(messages.len(), expect_messages, "{lengths:?}");
            let gathered = gather(&messages);
            assert_eq!((gathered.gaps, gathered.next()), (0, lengths.len() as u64), "{lengths:?}");
            assert_eq!(gathered.records(), records, "{lengths:?}");
        };
        check(&[1, 2, 3], 1);
        check(&[0, 0], 1);
        check(&[122], 1);
        check(&[123], 2);
        check(&[100, 100], 2);
        check(&[10, 1_000, 10], 10);
        check(&[244, 5], 3);
        let mut chance = fastrand::Rng::with_seed(5);
        for _ in 0..200 {
            let lengths: Vec<usize> = (0..chance.usize(1..20)).map(|_| chance.usize(0..500)).collect();
            let (messages, records) = messages(&lengths, 200);
            assert_eq!(gather(&messages).records(), records, "{lengths:?}");
        }
    }

    #[test]
    fn what_follows_a_missing_message_is_whole() {
        let mut chance = fastrand::Rng::with_seed(6);
        for _ in 0..300 {
            let lengths: Vec<usize> = (0..chance.usize(1..20)).map(|_| chance.usize(0..500)).collect();
            let (mut messages, records) = messages(&lengths, 200);
            let lost = chance.usize(..messages.len());
            messages.remove(lost);
            let gathered = gather(&messages);
            let is_end = lost == messages.len();
            assert_eq!(gathered.gaps, u64::from(lost > 0 && !is_end), "{lengths:?} without {lost}");
            let (next, got) = (gathered.next(), gathered.records());
            let next = usize::try_from(next).expect("small");
            assert_eq!(got, records[next - got.len()..next], "{lengths:?} without {lost}");
        }
    }

    #[test]
    fn what_an_owner_left_unfinished_or_does_not_need_is_not_there() {
        let (mut messages, _) = messages(&[3, 300], 200);
        messages.pop();
        let mut waiting = UnpublishedRecords::default();
        waiting.push(b"next");
        let claim = Stamp::claim(Epoch(4), 2, 9, messages.last());
        assert!(!claim.is_of_empty());
        messages.push(claim.alone(9));
        let next = Stamp { is_claim: false, epoch: Epoch(4), owner: 2, message: 10, floor: 0, first: 1 };
        messages.push(waiting.message(9, &next, 200).0);
        let gathered = gather(&messages);
        assert_eq!(gathered.gaps, 0);
        assert_eq!(gathered.records(), [Bytes::from_static(&[0; 3]), Bytes::from_static(b"next")]);
        messages.push(waiting.message(9, &Stamp { message: 11, floor: 2, first: 2, ..next }, 200).0);
        assert_eq!(gather(&messages).next(), 2);
        assert!(gather(&messages).records().is_empty());
        let claim = Stamp::claim(Epoch(5), 3, 1, messages.last());
        assert!(claim.is_of_empty());
        assert_eq!((claim.first, claim.floor), (2, 2));
        assert!(Stamp::claim(Epoch(6), 4, 1, Some(&claim.alone(9))).is_of_empty());
    }

    #[test]
    fn damaged_messages_give_records_that_were_written_or_none() {
        let (sent, _) = messages(&[10, 1_000, 10], 200);
        let seeds = sent.iter().map(|message| [&(message.len() as u16).to_le_bytes()[..], message].concat());
        let whole: Vec<u8> = seeds.clone().flatten().collect();
        // An input is a list of messages, each behind its length.
        let tried = Fuzz::new("match-log-messages").seeds(seeds).seeds([whole]).run(|mut input| {
            let mut gathered = GatheredRecords::default();
            let mut bytes = 0;
            while let Some((length, rest)) = input.split_first_chunk::<2>() {
                let (message, rest) = rest.split_at(usize::from(u16::from_le_bytes(*length)).min(rest.len()));
                input = rest;
                bytes += message.len();
                if let Some(stamp) = Stamp::of(message) {
                    assert_eq!(Stamp::of(&stamp.alone(9)), Some(stamp));
                }
                gathered.push(&Bytes::copy_from_slice(message));
            }
            let records = gathered.records();
            assert!(records.iter().map(Bytes::len).sum::<usize>() <= bytes);
            !records.is_empty()
        });
        assert!(tried.accepted > tried.inputs / 50, "{tried:?}");
    }
}
