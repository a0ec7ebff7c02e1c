//! A recording that is read: what a match did, and what has to come of it when it does it again.

use bytes::Bytes;
use muster_domain::{Error, Result};
use muster_live::matches::MatchId;
use muster_wire::match_log as wire;
use muster_wire::match_log::record::What;

use super::history::Start;
use super::parts::Joiner;
use super::record::{Answered, Called, Origin, Snapshot, match_id};

/// See the module.
pub struct Tape {
    pub(crate) id: MatchId,
    pub(crate) start: Start,
    /// What is known of the first callback, of a recording that begins with it.
    pub(crate) first: Known,
    pub(crate) calls: Vec<(Called, Known)>,
    /// Why the match ended, if it did.
    pub(crate) end: Option<String>,
}

/// What came of a call.
#[derive(Default)]
pub(crate) struct Known {
    pub(crate) answers: Vec<Answered>,
    /// What it returned. Nothing if the recording does not say: the process ended then, or the call is from before.
    pub(crate) returned: Option<wire::Returned>,
    /// All there was to the match behind it, if that was kept then.
    pub(crate) kept: Option<Snapshot>,
}

impl Tape {
    /// Reads the records of a recording, in their order.
    ///
    /// # Errors
    /// When a record cannot be read, or the first ones are missing.
    pub fn read(records: impl IntoIterator<Item = Bytes>) -> Result<Self> {
        let (mut tape, mut joiner) = (None, Joiner::default());
        for record in records {
            if let Some(record) = joiner.take(record)? {
                take(&mut tape, record)?;
            }
        }
        tape.ok_or_else(|| Error::invalid("the recording has no match that begins"))
    }

    /// Whose callbacks were called.
    pub fn handler(&self) -> &str {
        match &self.start {
            Start::Begun { origin, .. } => &origin.handler,
            Start::Snapshot(snapshot) => &snapshot.origin.handler,
        }
    }

    /// Of which match.
    pub fn id(&self) -> MatchId {
        self.id
    }

    fn begin(id: MatchId, start: Start) -> Self {
        Self { id, start, first: Known::default(), calls: Vec::new(), end: None }
    }

    /// What is known of a call, of which there was a record before.
    fn known(&mut self, call: u64) -> Option<&mut Known> {
        match self.calls.last_mut() {
            Some((called, known)) if called.call == call => Some(known),
            None if call == 0 => Some(&mut self.first),
            _ => None,
        }
    }
}

fn take(tape: &mut Option<Tape>, record: wire::Record) -> Result<()> {
    let id = match_id(&record.match_id)?;
    let Some(tape) = tape else {
        let start = match record.what {
            Some(What::Begun(wire::Begun { origin, params })) => {
                Start::Begun { origin: Origin::of_wire(origin)?, params }
            }
            Some(What::Snapshot(snapshot)) => Start::Snapshot(Box::new(Snapshot::of_wire(id, snapshot)?)),
            Some(What::Carried(wire::Carried { records, .. })) => {
                return records.into_iter().try_for_each(|record| take(tape, record));
            }
            _ => return Ok(()),
        };
        *tape = Some(Tape::begin(id, start));
        return Ok(());
    };
    match record.what {
        Some(What::Called(called)) => tape.calls.push((Called::of_wire(called)?, Known::default())),
        Some(What::Answered(answered)) => {
            let (call, answered) = Answered::of_wire(answered)?;
            if let Some(known) = tape.known(call) {
                known.answers.push(answered);
            }
        }
        Some(What::Returned(returned)) => {
            if let Some(known) = tape.known(returned.call) {
                known.returned = Some(returned);
            }
        }
        Some(What::Snapshot(snapshot)) => {
            let snapshot = Snapshot::of_wire(id, snapshot)?;
            if let Some(known) = tape.known(snapshot.calls) {
                known.kept = Some(snapshot);
            }
        }
        Some(What::Ended(wire::Ended { why })) => tape.end = Some(why),
        // Of another part, or of a later release.
        Some(What::Begun(_) | What::Carried(_) | What::Part(_)) | None => {}
    }
    Ok(())
}
