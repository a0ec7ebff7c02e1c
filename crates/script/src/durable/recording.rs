//! Recordings of matches: all that a log has of one, what came of each call besides, in a place of its own.

use bytes::Bytes;
use muster_live::matches::{Act, MatchId, Outcome, Return};
use muster_wire::match_log as wire;

use super::record::{broadcast_to_wire, id_bytes};

/// Makes recordings.
pub trait Recorder {
    /// Begins one of a match, or goes on with one in another part. Nothing if it cannot: it has said so.
    fn begin(&self, id: MatchId) -> Option<Box<dyn Recording>>;
}

/// A recording that is written. One that is dropped ends without an end.
pub trait Recording {
    /// Adds a record.
    fn write(&mut self, record: &[u8]);

    /// What was written leaves the process.
    fn flush(&mut self);

    /// The match is over.
    fn finish(self: Box<Self>);
}

/// What came of a call, as recordings have it.
pub(crate) fn returned(call: u64, Return { outcome, acts }: &Return) -> wire::Returned {
    let outcome = match outcome {
        Outcome::Begun { tick_rate, label } => format!("begins with {tick_rate} ticks a second, label {label:?}"),
        Outcome::Decided(Ok(())) => "lets in".to_owned(),
        Outcome::Decided(Err(why)) => format!("does not let in: {why}"),
        Outcome::Goes => "goes on".to_owned(),
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
