//! Comparison of a log with the database, by the latest keyed write of each match. One of them is older than the other
//! if it was restored, or if it has lost its end.
//!
//! A match whose payments the database lacks goes back to before the first of them, if the log still has the records up
//! to there. Otherwise the match is kept as it is, and cannot go on.

use std::collections::BTreeMap;
use std::sync::Arc;

use bytes::Bytes;
use muster_domain::Timestamp;
use muster_domain::ports::keyed_writes::LatestWrite;
use muster_live::matches::MatchId;

use super::history::{self, CallHistory, History, LogContents, Start};
use super::latest_write::LoggedWrite;

/// The latest keyed writes that a database has, by match.
pub(crate) type LatestWrites = BTreeMap<MatchId, LatestWrite>;

/// How the log of a match and the database fit together.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fit {
    /// They belong together.
    Both,
    /// The database lacks payments that the log has.
    DatabaseIsOlder,
    /// The log lacks calls whose payments the database has.
    LogIsOlder,
    /// They tell of different payments under one key.
    Neither,
}

/// Outcome of the comparison for a match.
pub(crate) enum Fate {
    /// The match goes on.
    GoesOn(History),
    /// The match goes on from an earlier call, before the payments that the database lacks.
    GoesBack(History),
    /// The match began with payments that the database lacks.
    NeverBegan,
    /// The match cannot go on.
    Stays(History, Arc<str>),
}

/// The matches of a log after the comparison.
#[derive(Default)]
pub(crate) struct Compared {
    pub(crate) fates: BTreeMap<MatchId, Fate>,
    /// Matches that have ended and whose writes the database still has.
    pub(crate) ended: Vec<MatchId>,
    /// Matches that have ended with payments that the database lacks.
    pub(crate) ended_later: Vec<MatchId>,
}

/// Compares the matches of a log with the database. `found` holds all records of the log, and `contents` what was read
/// of them.
/// `pruned_before` is the moment before which the database keeps no end of a match.
pub(crate) fn compare(
    found: &[Bytes],
    contents: LogContents,
    database: &LatestWrites,
    pruned_before: Timestamp,
) -> Compared {
    // The database does not know any more whether it has ever had such a match.
    let is_forgotten = |written: LoggedWrite, latest: Option<LatestWrite>| {
        latest.is_none() && written.write().is_some_and(|write| write.at < pruned_before)
    };
    let mut compared = Compared::default();
    let mut missing: BTreeMap<MatchId, Option<History>> = BTreeMap::new();
    for (id, mut history) in contents.histories {
        let latest = database.get(&id).copied();
        let fit = history.calls.as_ref().map_or(Fit::Both, |calls| calls.fit(latest));
        let fate = match fit {
            Fit::Both => {
                if let Ok(calls) = &mut history.calls {
                    calls.in_database = LoggedWrite::of_database(latest);
                }
                Fate::GoesOn(history)
            }
            Fit::DatabaseIsOlder
                if history.calls.as_ref().is_ok_and(|calls| is_forgotten(calls.latest_write, latest)) =>
            {
                Fate::Stays(history, FORGOTTEN.into())
            }
            Fit::DatabaseIsOlder => {
                missing.insert(id, Some(history));
                continue;
            }
            Fit::LogIsOlder if latest.is_some_and(LatestWrite::is_end) => Fate::Stays(history, HAS_ENDED.into()),
            Fit::LogIsOlder => Fate::Stays(history, LOG_IS_OLDER.into()),
            Fit::Neither => Fate::Stays(history, NEITHER.into()),
        };
        compared.fates.insert(id, fate);
    }
    for (id, written) in contents.ended {
        let latest = database.get(&id).copied();
        if written.is_missing_after(latest) && !is_forgotten(written, latest) {
            missing.insert(id, None);
        } else if latest.is_some_and(|latest| !latest.is_end()) {
            compared.ended.push(id);
        }
    }
    if !missing.is_empty() {
        go_back(found, missing, database, &mut compared);
    }
    compared
}

const LOG_IS_OLDER: &str = "the database has payments of the match that its log does not have: the log is older than \
                            the database, or has lost its end";
const HAS_ENDED: &str = "the match has ended according to the database: the log is older than the database";
const FORGOTTEN: &str = "its latest payment is so old that the database may have forgotten how the match ended: the \
                         log is older than the database, or the database was restored";
const NEITHER: &str = "the log of the match and the database have different payments under the same number: one of \
                       them was restored, and both went on";
const DATABASE_IS_OLDER: &str = "its log has payments that the database does not have: the database is older than the \
                                 log, or has lost its latest changes";

/// Looks for the records of matches from before the payments that the database lacks.
fn go_back(
    found: &[Bytes],
    missing: BTreeMap<MatchId, Option<History>>,
    database: &LatestWrites,
    compared: &mut Compared,
) {
    let LogContents { mut histories, unbegun, .. } = history::read_at(found.iter().cloned(), database);
    for (id, later) in missing {
        let latest = database.get(&id).copied();
        let earlier = histories
            .remove(&id)
            .filter(|earlier| earlier.calls.as_ref().is_ok_and(|calls| calls.fit(latest) == Fit::Both));
        let fate = match (earlier, later) {
            (Some(mut earlier), _) => {
                if let Ok(calls) = &mut earlier.calls {
                    (calls.in_database, calls.is_set_back) = (LoggedWrite::of_database(latest), true);
                }
                Fate::GoesBack(earlier)
            }
            (None, _) if unbegun.contains(&id) => Fate::NeverBegan,
            (None, Some(later)) => Fate::Stays(later, DATABASE_IS_OLDER.into()),
            (None, None) => {
                compared.ended_later.push(id);
                continue;
            }
        };
        compared.fates.insert(id, fate);
    }
}

impl CallHistory {
    /// How the history fits together with a database whose latest write of the match is `latest`.
    pub(crate) fn fit(&self, latest: Option<LatestWrite>) -> Fit {
        if let Some(latest) = latest
            && self.moment_of(latest).is_some_and(|moment| moment != latest.at)
        {
            return Fit::Neither;
        }
        if self.latest_write.is_missing_after(latest) {
            return Fit::DatabaseIsOlder;
        }
        if latest.is_some_and(|latest| self.is_before(latest)) { Fit::LogIsOlder } else { Fit::Both }
    }

    /// The moment at which the history has a write, if the history tells of the write's call.
    fn moment_of(&self, write: LatestWrite) -> Option<Timestamp> {
        let known =
            self.latest_write.write().filter(|known| (known.tick, known.ordinal) == (write.tick, write.ordinal));
        let called = self.calls.iter().find(|(called, _)| i64::try_from(called.call) == Ok(write.tick));
        known.map(|known| known.at).or(called.map(|(called, _)| called.now))
    }

    /// Whether the history ends before the call that made a write. The latest call may have made writes whose answers
    /// are not in the log: it is repeated, and finds their outcomes in the database.
    fn is_before(&self, write: LatestWrite) -> bool {
        let call = match (self.calls.last(), &self.start) {
            (Some((called, _)), _) => called.call,
            (None, Start::Begun { .. }) => 0,
            (None, Start::Snapshot(snapshot)) => snapshot.calls,
        };
        u64::try_from(write.tick).unwrap_or(0) > call
    }
}

#[cfg(test)]
mod tests;
