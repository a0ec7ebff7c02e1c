//! Reads a log: the matches in it that have not ended, and their histories, as they are now or as of the moment of a
//! database.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bytes::Bytes;
use muster_domain::{Error, Result, Timestamp};
use muster_live::matches::MatchId;
use muster_wire::match_log as wire;
use muster_wire::match_log::record::What as RecordKind;

use super::comparison::LatestWrites;
use super::latest_write::LoggedWrite;
use super::parts::Joiner;
use super::record::{Called, MatchOrigin, RecordedAnswer, Snapshot, match_id};

/// The contents of a log.
#[derive(Default)]
pub(crate) struct LogContents {
    /// The matches that have not ended.
    pub(crate) histories: BTreeMap<MatchId, History>,
    /// The matches that have ended, each with its latest keyed write.
    pub(crate) ended: BTreeMap<MatchId, LoggedWrite>,
    /// As of the moment of a database: the matches that began later.
    pub(crate) unbegun: BTreeSet<MatchId>,
    /// The first error of a record that cannot be read. Nobody knows which match such a record belongs to.
    pub(crate) unreadable: Option<Error>,
}

/// The history of a match that has not ended.
pub(crate) struct History {
    /// The start of the match and its calls since, or the error of the first record that cannot be read.
    pub(crate) calls: Result<CallHistory>,
    /// The moment since which the match could not go on, if a former owner failed to resume it.
    pub(crate) stranded_at: Option<Timestamp>,
    /// The reason why it could not; empty if the log does not tell.
    pub(crate) why: String,
    /// The records of the match in the log, from which `calls` was read.
    pub(crate) records: Vec<wire::Record>,
}

/// The start of a match, and its calls since.
pub struct CallHistory {
    pub(crate) start: Start,
    /// The answers of the host in the first callback, if the match starts with that.
    pub(crate) first_answers: Vec<RecordedAnswer>,
    /// Each call with the answers of the host in it.
    pub(crate) calls: Vec<(Called, Vec<RecordedAnswer>)>,
    /// The latest keyed write of the match that the history tells of.
    pub(crate) latest_write: LoggedWrite,
    /// The latest keyed write that the database has, if the database was asked.
    pub(crate) in_database: LoggedWrite,
    /// Whether later calls were dropped, because the database lacks their payments.
    pub(crate) is_set_back: bool,
}

/// The point at which a match starts when it is resumed or replayed.
pub(crate) enum Start {
    /// The first callback.
    Begun { origin: MatchOrigin, params: Bytes, latest_write: LoggedWrite },
    /// A snapshot.
    Snapshot(Box<Snapshot>),
}

impl Start {
    fn of_begun(begun: wire::Begun) -> Result<Self> {
        let wire::Begun { origin, params, latest_write } = begun;
        let latest_write = LoggedWrite::of_wire(latest_write.as_ref());
        Ok(Self::Begun { origin: MatchOrigin::of_wire(origin)?, params, latest_write })
    }

    fn of_snapshot(id: MatchId, snapshot: wire::Snapshot) -> Result<Self> {
        Ok(Self::Snapshot(Box::new(Snapshot::of_wire(id, snapshot)?)))
    }

    /// Count of calls before the start, without the first callback.
    fn calls(&self) -> u64 {
        match self {
            Self::Begun { .. } => 0,
            Self::Snapshot(snapshot) => snapshot.calls,
        }
    }

    /// The latest keyed write before the start.
    pub(crate) fn latest_write(&self) -> LoggedWrite {
        match self {
            Self::Begun { latest_write, .. } => *latest_write,
            Self::Snapshot(snapshot) => snapshot.latest_write,
        }
    }
}

impl CallHistory {
    /// The handler of the match.
    pub(crate) fn handler(&self) -> &Arc<str> {
        match &self.start {
            Start::Begun { origin, .. } => &origin.handler,
            Start::Snapshot(snapshot) => &snapshot.origin.handler,
        }
    }

    fn called(&mut self, called: wire::Called) -> Result<()> {
        let called = Called::of_wire(called)?;
        let expected = self.calls.last().map_or(self.start.calls(), |(last, _)| last.call) + 1;
        if called.call != expected {
            return Err(Error::invalid(format!("call {expected} is missing in its log: the next is {}", called.call)));
        }
        self.calls.push((called, Vec::new()));
        Ok(())
    }

    fn answered(&mut self, answered: wire::Answered) -> Result<()> {
        let (call, answered) = RecordedAnswer::of_wire(answered)?;
        if let Some(written) = answered.written {
            self.latest_write = LoggedWrite::Some(written);
        }
        match self.calls.last_mut() {
            Some((called, answers)) if called.call == call => answers.push(answered),
            None if call == 0 => self.first_answers.push(answered),
            // The call is before the snapshot, and is not repeated.
            _ => {}
        }
        Ok(())
    }
}

impl History {
    fn new(start: Result<Start>) -> Self {
        let calls = start.map(|start| CallHistory {
            latest_write: start.latest_write(),
            start,
            first_answers: Vec::new(),
            calls: Vec::new(),
            in_database: LoggedWrite::Untold,
            is_set_back: false,
        });
        Self { calls, stranded_at: None, why: String::new(), records: Vec::new() }
    }

    /// Drops the latest call, which has this number.
    fn drop_call(&mut self, number: u64) {
        let is_it =
            |record: &wire::Record| matches!(&record.what, Some(RecordKind::Called(called)) if called.call == number);
        if let Some(position) = self.records.iter().rposition(is_it) {
            self.records.truncate(position);
        }
        if let Ok(calls) = &mut self.calls
            && calls.calls.last().is_some_and(|(called, _)| called.call == number)
        {
            calls.calls.pop();
        }
    }

    /// Adds a record to the history of calls, unless an earlier one could not be read.
    fn note(&mut self, note: impl FnOnce(&mut CallHistory) -> Result<()>) {
        if let Ok(calls) = &mut self.calls
            && let Err(error) = note(calls)
        {
            self.calls = Err(error);
        }
    }
}

/// The moment of a database, as of which a log is read.
struct Moment<'a> {
    /// The latest keyed write that the database has of each match.
    database: &'a LatestWrites,
    /// Matches whose records so far go beyond the moment. Their further records are not read.
    is_past: BTreeSet<MatchId>,
}

/// The latest keyed write that a record tells of.
fn latest_write_of(record: &wire::Record) -> LoggedWrite {
    let latest_write = match &record.what {
        Some(RecordKind::Begun(begun)) => begun.latest_write.as_ref(),
        Some(RecordKind::Answered(answered)) => answered.latest_write.as_ref(),
        Some(RecordKind::Snapshot(snapshot)) => snapshot.latest_write.as_ref(),
        Some(RecordKind::Ended(ended)) => ended.latest_write.as_ref(),
        _ => None,
    };
    LoggedWrite::of_wire(latest_write)
}

impl LogContents {
    /// Takes in a record, unless it is of a later moment than the database.
    fn take_until(&mut self, record: wire::Record, moment: &mut Option<Moment<'_>>) -> Result<()> {
        let Some(known) = moment else { return self.take(record, moment) };
        let id = match_id(&record.match_id)?;
        if known.is_past.contains(&id) {
            return Ok(());
        }
        let latest = known.database.get(&id).copied();
        if !latest_write_of(&record).is_missing_after(latest) {
            return self.take(record, moment);
        }
        known.is_past.insert(id);
        if let Some(RecordKind::Answered(answered)) = &record.what {
            let is_begun_call = latest.is_some_and(|latest| i64::try_from(answered.call) == Ok(latest.tick));
            match self.histories.get_mut(&id) {
                // The call has made other writes before, which the database has. The rest of the call is made again.
                _ if is_begun_call => {}
                Some(history) if answered.call > 0 => history.drop_call(answered.call),
                Some(_) => {
                    self.histories.remove(&id);
                    self.unbegun.insert(id);
                }
                None => {}
            }
        }
        Ok(())
    }

    fn take(&mut self, record: wire::Record, moment: &mut Option<Moment<'_>>) -> Result<()> {
        let id = match_id(&record.match_id)?;
        match record.what.clone() {
            Some(RecordKind::Begun(begun)) => self.begin(id, Start::of_begun(begun)),
            Some(RecordKind::Snapshot(snapshot)) => self.begin(id, Start::of_snapshot(id, snapshot)),
            Some(RecordKind::Called(called)) => self.note(id, |history| history.called(called)),
            Some(RecordKind::Answered(answered)) => self.note(id, |history| history.answered(answered)),
            Some(RecordKind::Ended(_)) => {
                self.histories.remove(&id);
                self.ended.insert(id, latest_write_of(&record));
            }
            Some(RecordKind::Carried(wire::Carried { records, stranded_at, why })) => {
                records.into_iter().try_for_each(|record| self.take_until(record, moment))?;
                if let Some(history) = self.histories.get_mut(&id) {
                    (history.stranded_at, history.why) = (stranded_at.map(Timestamp), why);
                }
                return Ok(());
            }
            // Parts were joined before. Returns are for recordings. Unknown records are from a later release, which may
            // only add records that this one can do without.
            Some(RecordKind::Part(_) | RecordKind::Returned(_)) | None => {}
        }
        if let Some(history) = self.histories.get_mut(&id) {
            history.records.push(record);
        }
        Ok(())
    }

    fn begin(&mut self, id: MatchId, start: Result<Start>) {
        self.ended.remove(&id);
        self.histories.insert(id, History::new(start));
    }

    fn note(&mut self, id: MatchId, note: impl FnOnce(&mut CallHistory) -> Result<()>) {
        if let Some(history) = self.histories.get_mut(&id) {
            history.note(note);
        }
    }
}

/// Reads the records of a log in their order.
pub(crate) fn read(records: impl IntoIterator<Item = Bytes>) -> LogContents {
    read_until(records, None)
}

/// Reads the records of a log in their order, each match up to the first keyed write that the database lacks.
pub(crate) fn read_at(records: impl IntoIterator<Item = Bytes>, database: &LatestWrites) -> LogContents {
    read_until(records, Some(Moment { database, is_past: BTreeSet::new() }))
}

fn read_until(records: impl IntoIterator<Item = Bytes>, mut moment: Option<Moment<'_>>) -> LogContents {
    let (mut contents, mut joiner) = (LogContents::default(), Joiner::default());
    for record in records {
        let read = joiner
            .take(record)
            .and_then(|record| record.map_or(Ok(()), |record| contents.take_until(record, &mut moment)));
        if let Err(error) = read {
            contents.unreadable.get_or_insert(error);
        }
    }
    contents
}
