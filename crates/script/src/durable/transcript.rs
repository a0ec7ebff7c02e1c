//! A transcript: a recording as it was read, with the start of a match, its calls, and the outcome of each.

use bytes::Bytes;
use muster_domain::{Error, Result};
use muster_live::matches::MatchId;
use muster_wire::match_log as wire;
use muster_wire::match_log::record::What as RecordKind;

use super::history::Start;
use super::latest_write::LoggedWrite;
use super::parts::Joiner;
use super::record::{Called, MatchOrigin, RecordedAnswer, Snapshot, match_id};

/// The contents of a recording.
pub struct Transcript {
    pub(crate) id: MatchId,
    pub(crate) start: Start,
    /// The outcome of the first callback, if the recording begins with that.
    pub(crate) first: RecordedOutcome,
    pub(crate) calls: Vec<(Called, RecordedOutcome)>,
    /// The reason why the match ended, if it did so before the end of the recording.
    pub(crate) end: Option<String>,
}

/// The outcome of a call, as far as the recording holds it.
#[derive(Default)]
pub(crate) struct RecordedOutcome {
    /// The answers of the host to the call.
    pub(crate) answers: Vec<RecordedAnswer>,
    /// The return of the call. `None` if the process ended within the call, or the call was before the recording.
    pub(crate) returned: Option<wire::Returned>,
    /// The snapshot after the call, if there was one.
    pub(crate) snapshot: Option<Snapshot>,
}

impl Transcript {
    /// Reads the records of a recording, in their order.
    ///
    /// # Errors
    /// When a record cannot be read, or the beginning of the match is missing.
    pub fn read(records: impl IntoIterator<Item = Bytes>) -> Result<Self> {
        let (mut transcript, mut joiner) = (None, Joiner::default());
        for record in records {
            if let Some(record) = joiner.take(record)? {
                take(&mut transcript, record)?;
            }
        }
        transcript.ok_or_else(|| Error::invalid("the recording has no match that begins"))
    }

    /// The handler of the match.
    pub fn handler(&self) -> &str {
        match &self.start {
            Start::Begun { origin, .. } => &origin.handler,
            Start::Snapshot(snapshot) => &snapshot.origin.handler,
        }
    }

    /// The id of the match.
    pub fn id(&self) -> MatchId {
        self.id
    }

    fn begin(id: MatchId, start: Start) -> Self {
        Self { id, start, first: RecordedOutcome::default(), calls: Vec::new(), end: None }
    }

    /// The outcome of a call whose record was read before.
    fn outcome(&mut self, call: u64) -> Option<&mut RecordedOutcome> {
        match self.calls.last_mut() {
            Some((called, outcome)) if called.call == call => Some(outcome),
            None if call == 0 => Some(&mut self.first),
            _ => None,
        }
    }
}

fn take(transcript: &mut Option<Transcript>, record: wire::Record) -> Result<()> {
    let id = match_id(&record.match_id)?;
    let Some(transcript) = transcript else {
        let start = match record.what {
            Some(RecordKind::Begun(wire::Begun { origin, params, .. })) => {
                Start::Begun { origin: MatchOrigin::of_wire(origin)?, params, latest_write: LoggedWrite::Untold }
            }
            Some(RecordKind::Snapshot(snapshot)) => Start::Snapshot(Box::new(Snapshot::of_wire(id, snapshot)?)),
            Some(RecordKind::Carried(wire::Carried { records, .. })) => {
                return records.into_iter().try_for_each(|record| take(transcript, record));
            }
            _ => return Ok(()),
        };
        *transcript = Some(Transcript::begin(id, start));
        return Ok(());
    };
    match record.what {
        Some(RecordKind::Called(called)) => {
            transcript.calls.push((Called::of_wire(called)?, RecordedOutcome::default()))
        }
        Some(RecordKind::Answered(answered)) => {
            let (call, answered) = RecordedAnswer::of_wire(answered)?;
            if let Some(outcome) = transcript.outcome(call) {
                outcome.answers.push(answered);
            }
        }
        Some(RecordKind::Returned(returned)) => {
            if let Some(outcome) = transcript.outcome(returned.call) {
                outcome.returned = Some(returned);
            }
        }
        Some(RecordKind::Snapshot(snapshot)) => {
            let snapshot = Snapshot::of_wire(id, snapshot)?;
            if let Some(outcome) = transcript.outcome(snapshot.calls) {
                outcome.snapshot = Some(snapshot);
            }
        }
        Some(RecordKind::Ended(wire::Ended { why, .. })) => transcript.end = Some(why),
        // The match was resumed here, or the record is from a later release.
        Some(RecordKind::Begun(_) | RecordKind::Carried(_) | RecordKind::Part(_)) | None => {}
    }
    Ok(())
}
