//! Backups of logs: the records of a log as of the moment of a copy of the database.

use bytes::Bytes;
use muster_domain::{Error, ErrorKind, Result};
use muster_live::matches::{LogError, MatchId};
use muster_wire::match_log as wire;
use muster_wire::match_log::record::What as RecordKind;

use super::comparison::{Fit, LatestWrites};
use super::history::{self, LogContents};
use super::listing::end_record;
use super::parts;
use super::record::id_bytes;

/// The records of a log for a backup.
#[derive(Debug, Default)]
pub struct BackedUp {
    /// The records, for a new log.
    pub records: Vec<Bytes>,
    /// Count of matches that can go on from them.
    pub matches: u64,
}

/// The records of a log as of the moment of a copy of the database. `records` must go from before that moment until
/// after it. `database` holds the latest keyed write of each match in the copy.
///
/// # Errors
/// When a record cannot be read, or the records do not reach to the moment of the copy.
pub fn as_of(records: impl IntoIterator<Item = Bytes>, database: &LatestWrites) -> Result<BackedUp> {
    let LogContents { histories, ended, unreadable, .. } = history::read_at(records, database);
    if let Some(error) = unreadable {
        return Err(error);
    }
    let mut backed_up = BackedUp::default();
    for (id, history) in histories {
        let fit = history.calls.as_ref().map_or(Fit::Both, |calls| calls.fit(database.get(&id).copied()));
        // A match that cannot go on in the original cannot go on in the backup either.
        if fit != Fit::Both && history.stranded_at.is_none() {
            let why = format!("the log of match {id} and the database do not belong together: {fit:?}");
            return Err(Error::new(ErrorKind::Internal, why));
        }
        let stranded_at = history.stranded_at.map(|at| at.0);
        let carried = wire::Carried { records: history.records, stranded_at, why: history.why };
        let record = wire::Record { match_id: id_bytes(id.0), what: Some(RecordKind::Carried(carried)) };
        let refused = |error: LogError| Error::invalid(error.to_string());
        backed_up.records.extend(parts::split(&record).map_err(refused)?);
        backed_up.matches += 1;
    }
    // Without these records the writes of matches that have just ended would be taken for those of lost matches.
    let is_open = |id: &MatchId| database.get(id).is_some_and(|latest| !latest.is_end());
    let ended = ended.into_keys().filter(is_open);
    backed_up.records.extend(ended.map(|id| end_record(id, "it had ended before the backup")));
    Ok(backed_up)
}
