//! Logs of durable matches, behind the port [`muster_live::matches::MatchLog`]: in files for a server on its own, in messages
//! for several. What a record says is for the engines alone.

pub mod files;
mod frame;
pub mod recording;
pub mod subjects;

use muster_live::matches::{LogError, RECORD_BYTES_MAX};
use muster_live::place::{PARTITIONS, Partition};

/// The number of a partition that may have a log: what is anchored to a place ends with it.
fn number_of(partition: Partition) -> Result<u16, LogError> {
    let number = u16::try_from(partition.number()).ok().filter(|number| *number < PARTITIONS);
    number.ok_or_else(|| LogError::Failed("what is anchored to a place has no log".to_owned()))
}

/// Refuses what is too large for a record.
fn check_record(record: &[u8]) -> Result<(), LogError> {
    if record.len() <= RECORD_BYTES_MAX {
        return Ok(());
    }
    Err(LogError::Refused(format!("a record of {} bytes; at most {RECORD_BYTES_MAX} are taken", record.len())))
}
