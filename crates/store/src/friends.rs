//! Changes of friendships as both databases make them: from what a database knows of the users, the rows to write; and
//! outcomes under keys.

use std::collections::{BTreeMap, HashMap, HashSet};

use muster_domain::friends::{self, EdgeStep};
use muster_domain::ports::friends::{FriendChange, FriendChangeKind, FriendChanged, FriendOutcome, FriendState};
use muster_domain::ports::notifications::Notification;
use muster_domain::ports::storage::Authority;
use muster_domain::ports::store::StoreError;
use muster_domain::quotas::Quota;
use muster_domain::{Timestamp, UserId};
use serde::{Deserialize, Serialize};

use crate::keyed_writes::{Asked, KeyedRequest};
use crate::messages;

/// Facts of the database about the users of a change.
#[derive(Debug, Default)]
pub(crate) struct KnownUsers {
    /// The others as they are named, ids first; `None` for names that nobody has.
    pub(crate) others: Vec<Option<UserId>>,
    /// Number of edges of each user who exists.
    pub(crate) counts: HashMap<UserId, i64>,
    /// States of edges, by source and end.
    pub(crate) edges: HashMap<(UserId, UserId), FriendState>,
    /// Highest position among the edges of a user.
    pub(crate) positions: HashMap<UserId, i64>,
    /// Numbers of edges of users who may have as many as they may.
    pub(crate) held: HashMap<UserId, HeldEdges>,
}

/// Numbers of edges of one user.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct HeldEdges {
    /// Requests by others.
    pub(crate) asked_by: i64,
    /// All others: friends, own requests and blocks.
    pub(crate) own: i64,
}

/// An edge to be made or changed.
#[derive(Debug)]
pub(crate) struct EdgeRow {
    pub(crate) source: UserId,
    pub(crate) destination: UserId,
    pub(crate) state: FriendState,
    /// Position of a new edge.
    pub(crate) position: i64,
    /// Metadata of a new edge, or what is added to that of a known one.
    pub(crate) metadata: Option<String>,
}

/// The rows that a change writes.
#[derive(Debug, Default)]
pub(crate) struct EdgeWrites {
    pub(crate) removed: Vec<(UserId, UserId)>,
    pub(crate) set: Vec<EdgeRow>,
    pub(crate) made: Vec<EdgeRow>,
    /// Edges whose metadata is replaced.
    pub(crate) annotated: Vec<(UserId, UserId)>,
    /// Amounts that are added to the numbers of edges.
    pub(crate) counts: BTreeMap<UserId, i64>,
    /// Notifications that are due, each with the index of its outcome.
    pub(crate) due: Vec<(usize, Notification)>,
    pub(crate) changed: Vec<FriendChanged>,
}

/// The users whose edges may be as many as may be, if `friends_max` is the quota: their exact numbers are wanted.
pub(crate) fn crowded(change: &FriendChange, known: &KnownUsers, friends_max: i64) -> Vec<UserId> {
    if change.authority == Authority::Server || matches!(change.kind, FriendChangeKind::Delete) {
        return Vec::new();
    }
    let more = |user_id| if user_id == change.user_id { known.others.len() as i64 } else { 1 };
    let is_crowded = |(user_id, count): &(&UserId, &i64)| count.saturating_add(more(**user_id)) > friends_max;
    known.counts.iter().filter(is_crowded).map(|(user_id, _)| *user_id).collect()
}

/// The rows that a change writes, given what is known.
///
/// # Errors
/// `Invalid` for changes of oneself, and for an unknown user who would get edges; `Exceeded`.
pub(crate) fn decide(
    change: &FriendChange,
    mut known: KnownUsers,
    friends_max: i64,
    now: Timestamp,
) -> Result<EdgeWrites, StoreError> {
    let mut writes = EdgeWrites::default();
    let mut seen = HashSet::new();
    for (index, other) in std::mem::take(&mut known.others).into_iter().enumerate() {
        let Some(other) = other.filter(|other| known.counts.contains_key(other)) else {
            writes.changed.push(changed(None, FriendOutcome::Unknown));
            continue;
        };
        if !seen.insert(other) {
            writes.changed.push(changed(Some(other), FriendOutcome::Unchanged));
            continue;
        }
        if other == change.user_id {
            return Err(StoreError::Invalid("Nobody can befriend, remove or block themselves.".to_owned()));
        }
        let (forth, back) = ((change.user_id, other), (other, change.user_id));
        let plan = friends::plan(&change.kind, known.edges.get(&forth).copied(), known.edges.get(&back).copied());
        check_quota(change, &mut known, (other, plan), friends_max)?;
        let position = known.next_position(change.user_id, other, now);
        for ((source, destination), step) in [(forth, plan.mine), (back, plan.theirs)] {
            let metadata = match &change.kind {
                FriendChangeKind::Add(metadata) if source == change.user_id => Some(metadata.clone()),
                _ => None,
            };
            let row = |state| EdgeRow { source, destination, state, position, metadata: metadata.clone() };
            match step {
                EdgeStep::Keep => {}
                EdgeStep::Make(state) => {
                    writes.made.push(row(state));
                    *writes.counts.entry(source).or_default() += 1;
                    known.positions.insert(source, position);
                }
                EdgeStep::Set(state) => writes.set.push(row(state)),
                EdgeStep::Remove => {
                    writes.removed.push((source, destination));
                    *writes.counts.entry(source).or_default() -= 1;
                }
            }
        }
        let outcome = plan.outcome;
        if outcome == FriendOutcome::Annotated {
            writes.annotated.push(forth);
        }
        let id = change.notices.get(index).copied().flatten();
        let notice = id.and_then(|id| friends::notification(change, other, outcome, id, now));
        writes.due.extend(notice.map(|notice| (index, notice)));
        writes.changed.push(changed(Some(other), outcome));
    }
    if !writes.made.is_empty() && !known.counts.contains_key(&change.user_id) {
        return Err(messages::missing_user("user"));
    }
    Ok(writes)
}

fn changed(user_id: Option<UserId>, outcome: FriendOutcome) -> FriendChanged {
    FriendChanged { user_id, outcome, notification: None }
}

/// Whether the edges that a plan makes are within the quota.
fn check_quota(
    change: &FriendChange,
    known: &mut KnownUsers,
    (other, plan): (UserId, friends::EdgePlan),
    friends_max: i64,
) -> Result<(), StoreError> {
    if change.authority == Authority::Server {
        return Ok(());
    }
    // Accepting turns a request of the other's into an edge of one's own.
    let adds_own = matches!(plan.mine, EdgeStep::Make(_)) || plan.outcome == FriendOutcome::Accepted;
    if adds_own && let Some(held) = known.held.get_mut(&change.user_id) {
        if held.own >= friends_max {
            return Err(StoreError::Exceeded(Quota::Friends));
        }
        held.own += 1;
    }
    if matches!(plan.theirs, EdgeStep::Make(_))
        && known.held.get(&other).is_some_and(|held| held.asked_by >= friends_max)
    {
        return Err(StoreError::Exceeded(Quota::FriendRequests));
    }
    Ok(())
}

impl KnownUsers {
    /// A position for an edge between two users, behind all of theirs: the moment in nanoseconds, as in the original,
    /// or later.
    fn next_position(&self, one: UserId, two: UserId, now: Timestamp) -> i64 {
        let behind = |user_id| self.positions.get(&user_id).map_or(i64::MIN, |position| position.saturating_add(1));
        now.0.saturating_mul(1_000).max(behind(one)).max(behind(two))
    }
}

/// Outcomes in the order of the request, without the users.
#[derive(Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Stored {
    Changed(Vec<String>),
    Invalid(String),
}

const OUTCOMES: [(FriendOutcome, &str); 8] = [
    (FriendOutcome::Unknown, "unknown"),
    (FriendOutcome::Unchanged, "unchanged"),
    (FriendOutcome::Requested, "requested"),
    (FriendOutcome::Accepted, "accepted"),
    (FriendOutcome::Removed, "removed"),
    (FriendOutcome::Unblocked, "unblocked"),
    (FriendOutcome::Blocked, "blocked"),
    (FriendOutcome::Annotated, "annotated"),
];

impl KeyedRequest for FriendChange {
    type Outcome = Vec<FriendChanged>;

    fn fingerprint(&self) -> [u8; 32] {
        let (kind, metadata) = match &self.kind {
            FriendChangeKind::Add(metadata) => ("friends_add", metadata.as_str()),
            FriendChangeKind::Delete => ("friends_delete", ""),
            FriendChangeKind::Block => ("friends_block", ""),
            FriendChangeKind::Annotate(metadata) => ("friend_metadata_update", metadata.as_str()),
        };
        let mut asked = Asked::of(kind);
        asked.user(self.user_id);
        asked.text(&self.username);
        asked.text(metadata);
        asked.all(&self.ids, |asked, user_id| asked.user(*user_id));
        asked.all(&self.usernames, |asked, name| asked.text(name));
        asked.finish()
    }

    fn encode(&self, outcome: &Result<Vec<FriendChanged>, StoreError>) -> Option<String> {
        let word = |each: &FriendChanged| {
            let known = OUTCOMES.iter().find(|(outcome, _)| *outcome == each.outcome);
            known.map(|(_, word)| (*word).to_owned())
        };
        let stored = match outcome {
            Ok(changed) => Stored::Changed(changed.iter().map(word).collect::<Option<_>>()?),
            Err(StoreError::Invalid(sentence)) => Stored::Invalid(sentence.clone()),
            Err(_) => return None,
        };
        serde_json::to_string(&stored).ok()
    }

    fn decode(&self, kept: &str) -> Option<Result<Vec<FriendChanged>, StoreError>> {
        let words = match serde_json::from_str(kept).ok()? {
            Stored::Changed(words) => words,
            Stored::Invalid(sentence) => return Some(Err(StoreError::Invalid(sentence))),
        };
        if words.len() != self.ids.len() + self.usernames.len() {
            return None;
        }
        let ids = self.ids.iter().copied().map(Some).chain(std::iter::repeat(None));
        let outcomes = words.iter().zip(ids).map(|(word, user_id)| {
            let (outcome, _) = OUTCOMES.iter().find(|(_, known)| known == word)?;
            Some(changed(user_id.filter(|_| *outcome != FriendOutcome::Unknown), *outcome))
        });
        outcomes.collect::<Option<Vec<_>>>().map(Ok)
    }
}

/// The state of a number in the database.
pub(crate) fn state(number: i64) -> Result<FriendState, StoreError> {
    FriendState::of_number(number)
        .ok_or_else(|| StoreError::Internal(format!("an edge between users has the unknown state {number}")))
}

#[cfg(test)]
mod tests;
