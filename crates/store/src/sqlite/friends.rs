//! Friends on SQLite. A change is one run of the writer.

use muster_domain::friends::list_start;
use muster_domain::ports::PortFuture;
use muster_domain::ports::friends::{
    Friend, FriendChange, FriendChangeKind, FriendChangeStore, FriendChanged, FriendOfFriend, FriendPosition,
    FriendState, FriendStore, ReferralPosition,
};
use muster_domain::ports::keyed_writes::WriteStamp;
use muster_domain::{Timestamp, UserId};
use rusqlite::{Connection, Row};

use super::SqliteStore;
use super::accounts::{USER_COLUMNS_LEN, user, user_columns};
use super::error::translate;
use super::sql::{Result, execute, one, statement};
use super::{keyed_writes, notifications, wallet};
use crate::friends::{HeldEdges, KnownUsers, crowded, decide, state};
use crate::keyed_writes::KeyedWrite;
use crate::limits;

/// The columns of a [`Friend`], of a query of edges that stands in this one.
macro_rules! friends {
    ($edges:literal) => {
        concat!(
            "SELECT ",
            user_columns!(),
            ", edge_state, edge_position, edge_update_time, edge_metadata FROM (SELECT destination_id, \
             state AS edge_state, position AS edge_position, update_time AS edge_update_time, \
             metadata AS edge_metadata FROM user_edge WHERE source_id = ?1 AND ",
            $edges,
            ") AS edge CROSS JOIN users ON users.id = edge.destination_id ORDER BY edge_state, edge_position"
        )
    };
}

pub(crate) const LIST: &str = friends!("(state, position) > (?2, ?3) ORDER BY state, position LIMIT ?4");
pub(crate) const LIST_OF_STATE: &str = friends!("state = ?2 AND position > ?3 ORDER BY position LIMIT ?4");
pub(crate) const FIND: &str = friends!("destination_id = ?2");
/// The plus signs leave the index by source and end, which has the order of the listing.
pub(crate) const FRIENDS_OF_FRIENDS: &str = concat!(
    "SELECT ",
    user_columns!(),
    ", referrer FROM (SELECT near.destination_id AS referrer, far.destination_id AS friend \
     FROM user_edge AS near CROSS JOIN user_edge AS far ON far.source_id = near.destination_id AND +far.state = 0 \
     WHERE near.source_id = ?1 AND +near.state = 0 AND near.destination_id >= ?2 \
     AND (near.destination_id > ?2 OR far.destination_id > ?3) AND far.destination_id <> ?1 \
     AND NOT EXISTS (SELECT 1 FROM user_edge AS mine WHERE mine.source_id = ?1 \
     AND mine.destination_id = far.destination_id AND +mine.state = 0) \
     ORDER BY near.destination_id, far.destination_id LIMIT ?4) \
     CROSS JOIN users ON users.id = friend ORDER BY referrer, friend"
);
const OF_NAME: &str = "SELECT id FROM users WHERE username = ?1";
const COUNT: &str = "SELECT edge_count FROM users WHERE id = ?1";
const STATE: &str = "SELECT state FROM user_edge WHERE source_id = ?1 AND destination_id = ?2";
const LAST: &str = "SELECT max(position) FROM user_edge WHERE source_id = ?1 AND state = ?2";
const HELD: &str =
    "SELECT coalesce(sum(state = 2), 0), coalesce(sum(state <> 2), 0) FROM user_edge WHERE source_id = ?1";
const METADATA: &str = "SELECT metadata FROM user_edge WHERE source_id = ?1 AND destination_id = ?2";
const INSERT: &str = "INSERT INTO user_edge (source_id, destination_id, state, position, update_time, metadata) \
     VALUES (?1, ?2, ?3, ?4, ?5, ?6)";
const SET: &str = "UPDATE user_edge SET state = ?3, update_time = ?4 WHERE source_id = ?1 AND destination_id = ?2";
const ANNOTATE: &str = "UPDATE user_edge SET metadata = ?3 WHERE source_id = ?1 AND destination_id = ?2";
const REMOVE: &str = "DELETE FROM user_edge WHERE source_id = ?1 AND destination_id = ?2";
const ADD_TO_COUNT: &str = "UPDATE users SET edge_count = max(edge_count + ?2, 0), update_time = ?3 WHERE id = ?1";

impl FriendChangeStore for SqliteStore {
    fn change_friends<'a>(&'a self, change: &'a FriendChange, stamp: WriteStamp) -> PortFuture<'a, Vec<FriendChanged>> {
        Box::pin(async move {
            let (change, write, most) = (change.clone(), KeyedWrite::of(change, stamp), self.inner.quotas.friends);
            let outcome = self.write(move |connection| {
                let work = || run(connection, &change, most, stamp.now);
                match &write {
                    Some(write) => keyed_writes::once(connection, write, &change, work),
                    None => work().map(Ok),
                }
            });
            outcome.await.and_then(|outcome| outcome).inspect_err(|error| self.metrics().count_refusal(error))
        })
    }
}

impl FriendStore for SqliteStore {
    fn list_friends(
        &self,
        user_id: UserId,
        state: Option<FriendState>,
        behind: Option<FriendPosition>,
        limit: u32,
    ) -> PortFuture<'_, Vec<Friend>> {
        let (sql, start) = (if state.is_some() { LIST_OF_STATE } else { LIST }, list_start(state, behind));
        Box::pin(self.read(move |connection| {
            let values = (user_id.0, start.state.number(), start.position, limit);
            let mut rows = statement(connection, sql)?;
            let rows = rows.query_map(values, friend).map_err(translate)?;
            rows.map(|row| row.map_err(translate).and_then(|friend| friend)).collect()
        }))
    }

    fn friends<'a>(&'a self, user_id: UserId, others: &'a [UserId]) -> PortFuture<'a, Vec<Friend>> {
        let mut others = others.to_vec();
        others.sort_unstable();
        others.dedup();
        Box::pin(self.read(move |connection| {
            let find = |other: &UserId| one(connection, FIND, (user_id.0, other.0), friend).transpose();
            others.iter().filter_map(find).map(|found| found.and_then(|friend| friend)).collect()
        }))
    }

    fn list_friends_of_friends(
        &self,
        user_id: UserId,
        behind: Option<ReferralPosition>,
        limit: u32,
    ) -> PortFuture<'_, Vec<FriendOfFriend>> {
        let ReferralPosition { referrer, user_id: last } = behind.unwrap_or(ReferralPosition::START);
        Box::pin(self.read(move |connection| {
            let values = (user_id.0, referrer.0, last.0, limit);
            let mut rows = statement(connection, FRIENDS_OF_FRIENDS)?;
            let read =
                |row: &Row<'_>| Ok(FriendOfFriend { referrer: UserId(row.get(USER_COLUMNS_LEN)?), user: user(row)? });
            let rows = rows.query_map(values, read).map_err(translate)?;
            rows.collect::<rusqlite::Result<_>>().map_err(translate)
        }))
    }
}

/// Reads a friend from the columns of [`LIST`]. The inner error is that of an unknown state.
fn friend(row: &Row<'_>) -> rusqlite::Result<Result<Friend>> {
    let known = match state(row.get(USER_COLUMNS_LEN)?) {
        Ok(known) => known,
        Err(error) => return Ok(Err(error)),
    };
    Ok(Ok(Friend {
        user: user(row)?,
        state: known,
        position: row.get(USER_COLUMNS_LEN + 1)?,
        update_time: Timestamp(row.get(USER_COLUMNS_LEN + 2)?),
        metadata: row.get(USER_COLUMNS_LEN + 3)?,
    }))
}

fn run(connection: &Connection, change: &FriendChange, most: i64, now: Timestamp) -> Result<Vec<FriendChanged>> {
    let mut known = look(connection, change)?;
    for user_id in crowded(change, &known, most) {
        let held = one(connection, HELD, [user_id.0], |row| Ok(HeldEdges { asked_by: row.get(0)?, own: row.get(1)? }))?;
        known.held.insert(user_id, held.unwrap_or_default());
    }
    let mut writes = decide(change, known, most, now)?;
    for (source, destination) in &writes.removed {
        execute(connection, REMOVE, (source.0, destination.0))?;
    }
    for edge in &writes.set {
        let (source, destination) = (edge.source.0, edge.destination.0);
        execute(connection, SET, (source, destination, edge.state.number(), now.0))?;
        if let Some(added) = &edge.metadata {
            let before = one(connection, METADATA, (source, destination), |row| row.get::<_, String>(0))?;
            let metadata = wallet::merged(&before.unwrap_or_default(), added)?;
            execute(connection, ANNOTATE, (source, destination, metadata))?;
        }
    }
    for edge in &writes.made {
        let metadata = edge.metadata.as_deref().unwrap_or("{}");
        let values = (edge.source.0, edge.destination.0, edge.state.number(), edge.position, now.0, metadata);
        execute(connection, INSERT, values)?;
    }
    if let FriendChangeKind::Annotate(metadata) = &change.kind {
        for (source, destination) in &writes.annotated {
            execute(connection, ANNOTATE, (source.0, destination.0, metadata))?;
        }
    }
    for (user_id, added) in &writes.counts {
        execute(connection, ADD_TO_COUNT, (user_id.0, added, now.0))?;
    }
    for (index, notice) in std::mem::take(&mut writes.due) {
        limits::notification(&notice)?;
        let is_quiet = match change.quiet_since {
            Some(since) => {
                notifications::is_notified(connection, notice.user_id, (notice.sender_id, notice.code), since)?
            }
            None => false,
        };
        if !is_quiet {
            notifications::insert(connection, &notice)?;
            writes.changed[index].notification = Some(notice);
        }
    }
    Ok(writes.changed)
}

/// Reads the facts about the users of a change.
fn look(connection: &Connection, change: &FriendChange) -> Result<KnownUsers> {
    let mut known = KnownUsers { others: change.ids.iter().copied().map(Some).collect(), ..KnownUsers::default() };
    for name in &change.usernames {
        known.others.push(one(connection, OF_NAME, [name], |row| row.get(0).map(UserId))?);
    }
    for user_id in known.others.clone().into_iter().flatten().chain([change.user_id]) {
        let Some(count) = one(connection, COUNT, [user_id.0], |row| row.get::<_, i64>(0))? else { continue };
        known.counts.insert(user_id, count);
        for edge in [(change.user_id, user_id), (user_id, change.user_id)] {
            if let Some(number) = one(connection, STATE, (edge.0.0, edge.1.0), |row| row.get::<_, i64>(0))? {
                known.edges.insert(edge, state(number)?);
            }
        }
        if change.kind.makes_edges()
            && let Some(last) = last_position(connection, user_id)?
        {
            known.positions.insert(user_id, last);
        }
    }
    Ok(known)
}

/// The highest position among the edges of a user. Each state is looked up along the index.
fn last_position(connection: &Connection, user_id: UserId) -> Result<Option<i64>> {
    let mut highest = None;
    for state in FriendState::ALL {
        let last = one(connection, LAST, (user_id.0, state.number()), |row| row.get::<_, Option<i64>>(0))?;
        highest = highest.max(last.flatten());
    }
    Ok(highest)
}
