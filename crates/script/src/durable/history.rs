//! What a log says of its matches.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use muster_domain::{Error, Result, Timestamp};
use muster_live::matches::MatchId;
use muster_wire::match_log as wire;
use muster_wire::match_log::record::What;

use super::record::{Answered, Called, Origin, Snapshot, match_id};

/// A match that has not ended: where it is to begin, and what happened since.
pub(crate) struct History {
    pub(crate) id: MatchId,
    pub(crate) start: Start,
    /// What the host answered in the first callback, if the match starts with it.
    pub(crate) first_answers: Vec<Answered>,
    pub(crate) calls: Vec<(Called, Vec<Answered>)>,
    /// The records of all that.
    pub(crate) records: Vec<wire::Record>,
}

/// Where a match is to begin.
pub(crate) enum Start {
    /// With its first callback.
    Begun { origin: Origin, params: Bytes },
    /// With all there was to it behind a call.
    Snapshot(Box<Snapshot>),
}

impl History {
    fn new(id: MatchId, start: Start) -> Self {
        let (first_answers, calls, records) = Default::default();
        Self { id, start, first_answers, calls, records }
    }

    fn origin(&self) -> &Origin {
        match &self.start {
            Start::Begun { origin, .. } => origin,
            Start::Snapshot(snapshot) => &snapshot.origin,
        }
    }

    /// Whose callbacks were called.
    pub(crate) fn handler(&self) -> &Arc<str> {
        &self.origin().handler
    }

    /// When it was asked for.
    pub(crate) fn created_at(&self) -> Timestamp {
        self.origin().created_at
    }

    fn answered(&mut self, call: u64, answered: Answered) {
        match self.calls.last_mut() {
            Some((called, answers)) if called.call == call => answers.push(answered),
            None if call == 0 => self.first_answers.push(answered),
            // Of a call before the snapshot: it is not made again.
            _ => {}
        }
    }
}

/// Reads the records of a log in their order. Answers the matches that have not ended, by their ids.
///
/// # Errors
/// When a record cannot be read.
pub(crate) fn read(records: impl IntoIterator<Item = Bytes>) -> Result<BTreeMap<MatchId, History>> {
    let mut histories = BTreeMap::new();
    for record in records {
        let record = wire::Record::from_bytes(record).map_err(|error| Error::invalid(error.to_string()))?;
        take(&mut histories, record)?;
    }
    Ok(histories)
}

fn take(histories: &mut BTreeMap<MatchId, History>, record: wire::Record) -> Result<()> {
    let id = match_id(&record.match_id)?;
    match record.what.clone() {
        Some(What::Begun(wire::Begun { origin, params })) => {
            let start = Start::Begun { origin: Origin::of_wire(origin)?, params };
            histories.insert(id, History::new(id, start));
        }
        Some(What::Snapshot(snapshot)) => {
            let snapshot = Snapshot::of_wire(id, snapshot)?;
            histories.insert(id, History::new(id, Start::Snapshot(Box::new(snapshot))));
        }
        Some(What::Called(called)) => {
            if let Some(history) = histories.get_mut(&id) {
                history.calls.push((Called::of_wire(called)?, Vec::new()));
            }
        }
        Some(What::Answered(answered)) => {
            if let Some(history) = histories.get_mut(&id) {
                let (call, answered) = Answered::of_wire(answered)?;
                history.answered(call, answered);
            }
        }
        Some(What::Ended(_)) => drop(histories.remove(&id)),
        Some(What::Carried(wire::Carried { records })) => {
            return records.into_iter().try_for_each(|record| take(histories, record));
        }
        // Of recordings; of a later release, and of no effect on what this one does.
        Some(What::Returned(_)) | None => {}
    }
    if let Some(history) = histories.get_mut(&id) {
        history.records.push(record);
    }
    Ok(())
}
