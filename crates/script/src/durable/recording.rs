//! Recordings of matches. A recording holds all records that the log has of one match, and the return of each call
//! besides.

use bytes::Bytes;
use muster_live::matches::{Act, MatchId, Outcome, Return};
use muster_wire::match_log as wire;

use super::record::{broadcast_to_wire, id_bytes};

/// Makes recordings.
pub trait Recorder {
    /// Begins the recording of a match, or another part of it if the match is resumed. `None` if that fails; the
    /// failure was logged then.
    fn begin(&self, id: MatchId) -> Option<Box<dyn Recording>>;
}

/// A recording while it is written. If it is dropped unfinished, a reader can tell that its end is missing.
pub trait Recording {
    /// Adds a record.
    fn write(&mut self, record: &[u8]);

    /// Hands everything that was written to the operating system.
    fn flush(&mut self);

    /// Ends the recording, because the match is over.
    fn finish(self: Box<Self>);
}

/// The return of a call for a recording.
pub(crate) fn returned(call: u64, Return { outcome, acts }: &Return) -> wire::Returned {
    let outcome = match outcome {
        Outcome::Begun { tick_rate, label } => format!("begins with {tick_rate} ticks a second, label {label:?}"),
        Outcome::Decided(Ok(())) => "lets in".to_owned(),
        Outcome::Decided(Err(why)) => format!("does not let in: {why}"),
        Outcome::GoesOn => "goes on".to_owned(),
        Outcome::Signalled(answer) => format!("answers {answer:?}"),
        Outcome::Refused(why) => format!("cannot be asked: {why}"),
        Outcome::Over => "is over".to_owned(),
        Outcome::Failed(why) => format!("fails: {why}"),
    };
    wire::Returned { call, outcome, acts: acts.iter().map(act).collect() }
}

fn act(act: &Act) -> wire::Act {
    use wire::act::Act as Wire;
    let act = match act {
        Act::Broadcast(broadcast) => Wire::Broadcast(broadcast_to_wire(broadcast)),
        Act::Defer(broadcast) => Wire::Deferred(broadcast_to_wire(broadcast)),
        Act::Kick(sessions) => {
            let sessions: Vec<Bytes> = sessions.iter().map(|session| id_bytes(session.0)).collect();
            Wire::Kick(wire::Kick { sessions })
        }
        Act::Label(label) => Wire::Label(label.to_string()),
        Act::SetTimer { name, after_ms, data } => {
            let (name, data) = (name.to_string(), data.to_string());
            Wire::SetTimer(wire::SetTimer { name, after_ms: *after_ms, data })
        }
        Act::CancelTimer(name) => Wire::CancelTimer(name.to_string()),
    };
    wire::Act { act: Some(act) }
}
