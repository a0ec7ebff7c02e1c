//! Parts of large records. A record that is too large for the log is written in parts, which are joined when they are
//! read.

use std::collections::HashMap;

use bytes::Bytes;
use muster_domain::{Error, Result};
use muster_live::matches::LogError;
use muster_wire::match_log as wire;
use muster_wire::match_log::record::What as RecordKind;

/// Limit on the bytes of a part.
const PART_BYTES: usize = 8 << 20;

/// Limit on the bytes of a record with all its parts. With the default limits of game code, a snapshot with the
/// messages of one callback has fewer bytes, and so has a snapshot with the records since.
pub const WHOLE_BYTES_MAX: usize = 48 << 20;

/// The bytes of a record for the log, in parts if it is large.
///
/// # Errors
/// `Refused` for a record of more than [`WHOLE_BYTES_MAX`] bytes.
pub(crate) fn split(record: &wire::Record) -> std::result::Result<Vec<Bytes>, LogError> {
    let whole = Bytes::from(record.to_bytes());
    if whole.len() <= PART_BYTES {
        return Ok(vec![whole]);
    }
    if whole.len() > WHOLE_BYTES_MAX {
        let text = format!("what is written of a match at once has {} bytes, at most {WHOLE_BYTES_MAX}", whole.len());
        return Err(LogError::Refused(text));
    }
    let count = whole.len().div_ceil(PART_BYTES);
    let part = |number: usize| {
        let bytes = whole.slice(number * PART_BYTES..whole.len().min((number + 1) * PART_BYTES));
        let part =
            wire::Part { number: u32::try_from(number).unwrap_or(u32::MAX), is_last: number + 1 == count, bytes };
        wire::Record { match_id: record.match_id.clone(), what: Some(RecordKind::Part(part)) }.to_bytes().into()
    };
    Ok((0..count).map(part).collect())
}

/// Joins the parts of records, for each match by itself.
#[derive(Default)]
pub(crate) struct Joiner {
    /// Records without their last part, by match.
    unfinished: HashMap<Bytes, Unfinished>,
}

/// A record without its last part.
#[derive(Default)]
struct Unfinished {
    /// Count of the parts so far.
    parts: u32,
    bytes: Vec<u8>,
}

impl Joiner {
    /// Takes the next record of the log. Answers a whole record, if this is one or the last part of one.
    ///
    /// # Errors
    /// When the record cannot be read.
    pub(crate) fn take(&mut self, record: Bytes) -> Result<Option<wire::Record>> {
        let record = read(record)?;
        let before = self.unfinished.remove(&record.match_id);
        let Some(RecordKind::Part(wire::Part { number, is_last, bytes })) = record.what else {
            return Ok(Some(record));
        };
        let mut record_so_far = before.filter(|_| number > 0).unwrap_or_default();
        if number != record_so_far.parts {
            // The first parts are missing: their writer died before it had written all.
            return Ok(None);
        }
        record_so_far.bytes.extend_from_slice(&bytes);
        if is_last {
            return read(record_so_far.bytes.into()).map(Some);
        }
        record_so_far.parts += 1;
        self.unfinished.insert(record.match_id, record_so_far);
        Ok(None)
    }
}

fn read(record: Bytes) -> Result<wire::Record> {
    wire::Record::from_bytes(record).map_err(|error| Error::invalid(error.to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ended(id: u8, bytes: usize) -> wire::Record {
        let what = RecordKind::Ended(wire::Ended { why: "x".repeat(bytes), latest_write: None });
        wire::Record { match_id: vec![id; 16].into(), what: Some(what) }
    }

    #[test]
    fn what_is_too_large_for_one_record_is_read_as_it_was_written() {
        let (large, small, other) = (ended(1, 20 << 20), ended(2, 5), ended(1, 9));
        let parts = split(&large).unwrap();
        assert_eq!(parts.len(), 3);
        let small_parts = split(&small).unwrap();
        assert_eq!(small_parts.len(), 1);
        let mut joiner = Joiner::default();
        let mut take = |record: &Bytes| joiner.take(record.clone()).unwrap();
        assert!(take(&parts[0]).is_none() && take(&parts[1]).is_none());
        assert_eq!(take(&small_parts[0]), Some(small), "of another match, between them");
        assert_eq!(take(&parts[2]), Some(large.clone()));
        // The writer died before the last part: the next record is read as if there were no parts.
        assert!(take(&parts[0]).is_none());
        assert_eq!(take(&split(&other).unwrap()[0]), Some(other));
        assert!(take(&parts[1]).is_none() && take(&parts[2]).is_none(), "the first one is missing");
        for (number, part) in parts.iter().enumerate() {
            assert_eq!(take(part).is_some(), number == 2);
        }
        assert!(matches!(split(&ended(1, WHOLE_BYTES_MAX)), Err(LogError::Refused(_))));
    }
}
