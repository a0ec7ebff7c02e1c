//! The matches in a log, for operators: which there are, and the record that ends one of them.

use std::sync::Arc;

use bytes::Bytes;
use muster_domain::Timestamp;
use muster_live::matches::MatchId;
use muster_wire::match_log as wire;
use muster_wire::match_log::record::What as RecordKind;

use super::history::{self, Start};
use super::record::id_bytes;

/// A match of a log that has not ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoggedMatch {
    /// The match.
    pub id: MatchId,
    /// Name of the handler, and the moment at which the match was created. The error says why the match's records
    /// cannot be read.
    pub origin: Result<(Arc<str>, Timestamp), String>,
    /// Players in the match at its last snapshot; 0 before the first one.
    pub players: usize,
    /// The moment since which the match cannot go on, if it could not when its log was taken over.
    pub stranded_at: Option<Timestamp>,
    /// The reason why it cannot; empty if the log does not tell.
    pub why: String,
}

/// The matches of a log that have not ended, by its records in their order.
pub fn matches_of(records: impl IntoIterator<Item = Bytes>) -> Vec<LoggedMatch> {
    let histories = history::read(records).histories.into_iter();
    let listed = histories.map(|(id, history)| {
        let (origin, players) = match &history.calls {
            Ok(calls) => match &calls.start {
                Start::Begun { origin, .. } => (Ok((origin.handler.clone(), origin.created_at)), 0),
                Start::Snapshot(snapshot) => {
                    let origin = &snapshot.origin;
                    (Ok((origin.handler.clone(), origin.created_at)), snapshot.outline.players.len())
                }
            },
            Err(error) => (Err(error.message.to_string()), 0),
        };
        LoggedMatch { id, origin, players, stranded_at: history.stranded_at, why: history.why }
    });
    listed.collect()
}

/// The record that a match has ended, for this reason.
pub fn end_record(id: MatchId, why: &str) -> Bytes {
    let ended = RecordKind::Ended(wire::Ended { why: why.to_owned(), latest_write: None });
    wire::Record { match_id: id_bytes(id.0), what: Some(ended) }.to_bytes().into()
}
