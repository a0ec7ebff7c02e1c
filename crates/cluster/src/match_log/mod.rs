//! Logs of durable matches, behind the port [`muster_live::matches::MatchLog`]: in files for a server on its own, in
//! messages for a cluster. Only the engines know what the bytes of a record mean.

pub mod files;
mod frame;
pub mod recording;
pub mod subjects;

use muster_live::matches::{LogError, RECORD_BYTES_MAX};
use muster_live::place::{PARTITIONS, Partition};

/// The number of a partition, for its log. A partition that is anchored to a place has no log: its matches end with the
/// place.
fn number_of(partition: Partition) -> Result<u16, LogError> {
    let number = u16::try_from(partition.number()).ok().filter(|number| *number < PARTITIONS);
    number.ok_or_else(|| LogError::Failed("a partition that is anchored to a place has no log".to_owned()))
}

/// Refuses a record that is too large.
fn check_record(record: &[u8]) -> Result<(), LogError> {
    if record.len() <= RECORD_BYTES_MAX {
        return Ok(());
    }
    Err(LogError::Refused(format!("a record of {} bytes; at most {RECORD_BYTES_MAX} are taken", record.len())))
}
