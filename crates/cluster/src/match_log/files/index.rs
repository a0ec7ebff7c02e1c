//! The index of the log: the position of every record that is still needed, by partition.

use std::collections::{BTreeMap, VecDeque};

/// Position of a record's frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) segment: u32,
    pub(super) offset: u32,
    pub(super) bytes: u32,
}

/// The records of all partitions.
#[derive(Debug, Default)]
pub(super) struct Index {
    partitions: BTreeMap<u16, Records>,
}

/// The records of one partition, with consecutive numbers.
#[derive(Debug, Default)]
struct Records {
    first: u64,
    spans: VecDeque<Span>,
}

impl Index {
    /// Adds a record. Answers `false` if its number is not the next one.
    pub(super) fn push(&mut self, partition: u16, number: u64, span: Span) -> bool {
        let records = self.partitions.entry(partition).or_default();
        if records.spans.is_empty() {
            records.first = records.first.max(number);
        }
        if number != records.first + records.spans.len() as u64 {
            return false;
        }
        records.spans.push_back(span);
        true
    }

    /// Forgets the records before a number. Calls `forgotten` with the segment of each of them.
    pub(super) fn trim(&mut self, partition: u16, before: u64, mut forgotten: impl FnMut(u32)) {
        let records = self.partitions.entry(partition).or_default();
        while records.first < before {
            match records.spans.pop_front() {
                Some(span) => forgotten(span.segment),
                None => {
                    records.first = before;
                    break;
                }
            }
            records.first += 1;
        }
    }

    /// The number that the partition's next record will have.
    pub(super) fn next(&self, partition: u16) -> u64 {
        self.partitions.get(&partition).map_or(0, |records| records.first + records.spans.len() as u64)
    }

    /// A partition's records, oldest first.
    pub(super) fn spans(&self, partition: u16) -> Vec<Span> {
        let records = self.partitions.get(&partition);
        records.map_or_else(Vec::new, |records| records.spans.iter().copied().collect())
    }

    /// Number of records of a partition.
    pub(super) fn len(&self, partition: u16) -> u64 {
        self.partitions.get(&partition).map_or(0, |records| records.spans.len() as u64)
    }

    /// Partitions with records, and those whose records were all trimmed.
    pub(super) fn partitions(&self) -> impl Iterator<Item = u16> {
        self.partitions.keys().copied()
    }
}
