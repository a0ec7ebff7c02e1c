//! Friends on PostgreSQL, in the original's table of edges. A change is one transaction.
//!
//! A change locks the rows of all its users in the order of their ids, as all transactions of several players do,
//! before it looks at their edges: of changes of the same two users at the same time one sees what the other did.

use std::collections::HashMap;

use muster_domain::friends::list_start;
use muster_domain::ports::PortFuture;
use muster_domain::ports::friends::{
    Friend, FriendChange, FriendChangeKind, FriendChangeStore, FriendChanged, FriendOfFriend, FriendPosition,
    FriendState, FriendStore, ReferralPosition,
};
use muster_domain::ports::keyed_writes::WriteStamp;
use muster_domain::ports::notifications::Notification;
use muster_domain::ports::store::StoreError;
use muster_domain::{Timestamp, UserId};
use tokio_postgres::Row;
use uuid::Uuid;

use super::PostgresStore;
use super::accounts::{USER_COLUMNS_LEN, user, user_columns};
use super::fault::{Fault, translate};
use super::pool::PooledConnection;
use super::values::Moment;
use super::{keyed_writes, notifications};
use crate::friends::{EdgeRow, EdgeWrites, HeldEdges, KnownUsers, crowded, decide, state};
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
             metadata::text AS edge_metadata FROM user_edge WHERE source_id = $1 AND ",
            $edges,
            ") AS edge JOIN users ON users.id = edge.destination_id ORDER BY edge_state, edge_position"
        )
    };
}

pub(crate) const LIST: &str = friends!("(state, position) > ($2, $3) ORDER BY state, position LIMIT $4");
pub(crate) const LIST_OF_STATE: &str = friends!("state = $2 AND position > $3 ORDER BY position LIMIT $4");
pub(crate) const FIND: &str = friends!("destination_id = ANY($2)");
/// Of each friend at most a page is looked at, in the order of the page, so that the statement ends with the page.
pub(crate) const FRIENDS_OF_FRIENDS: &str = concat!(
    "SELECT ",
    user_columns!(),
    ", referrer FROM (SELECT near.destination_id AS referrer, far.destination_id AS friend \
     FROM (SELECT destination_id FROM user_edge WHERE source_id = $1 AND state = 0 AND destination_id >= $2 \
     ORDER BY destination_id) AS near \
     CROSS JOIN LATERAL (SELECT edge.destination_id FROM user_edge AS edge \
     WHERE edge.source_id = near.destination_id AND edge.state = 0 AND edge.destination_id <> $1 \
     AND (near.destination_id > $2 OR edge.destination_id > $3) \
     AND NOT EXISTS (SELECT 1 FROM user_edge AS mine WHERE mine.source_id = $1 \
     AND mine.destination_id = edge.destination_id AND mine.state = 0) \
     ORDER BY edge.destination_id LIMIT $4) AS far \
     ORDER BY near.destination_id, far.destination_id LIMIT $4) AS found \
     JOIN users ON users.id = found.friend ORDER BY referrer, friend"
);
const OF_NAMES: &str = "SELECT username, id FROM users WHERE username = ANY($1)";
/// The weaker `NO KEY` lock lets other transactions write rows of these players meanwhile.
const LOCK: &str = "SELECT id, edge_count FROM users WHERE id = ANY($1) ORDER BY id FOR NO KEY UPDATE";
const EDGES: &str = "SELECT source_id, destination_id, state FROM user_edge \
     WHERE source_id = $1 AND destination_id = ANY($2) \
     UNION ALL SELECT source_id, destination_id, state FROM user_edge \
     WHERE source_id = ANY($2) AND destination_id = $1";
const LAST: &str = "SELECT source.id, max(edge.position) FROM unnest($1::uuid[]) AS source (id) \
     CROSS JOIN (VALUES (0::int2), (1::int2), (2::int2), (3::int2)) AS each (state) \
     CROSS JOIN LATERAL (SELECT position FROM user_edge WHERE source_id = source.id AND state = each.state \
     ORDER BY position DESC LIMIT 1) AS edge GROUP BY source.id";
const HELD: &str = "SELECT source_id, count(*) FILTER (WHERE state = 2), count(*) FILTER (WHERE state <> 2) \
     FROM user_edge WHERE source_id = ANY($1) GROUP BY source_id";
const INSERT: &str = "INSERT INTO user_edge (source_id, destination_id, state, position, update_time, metadata) \
     SELECT source_id, destination_id, state, position, $6, metadata::jsonb \
     FROM unnest($1::uuid[], $2::uuid[], $3::int2[], $4::int8[], $5::text[]) \
     AS made (source_id, destination_id, state, position, metadata)";
const SET: &str = "UPDATE user_edge AS edge SET state = changed.state, update_time = $5, \
     metadata = CASE WHEN changed.metadata IS NULL THEN edge.metadata \
     ELSE edge.metadata || changed.metadata::jsonb END \
     FROM unnest($1::uuid[], $2::uuid[], $3::int2[], $4::text[]) \
     AS changed (source_id, destination_id, state, metadata) \
     WHERE edge.source_id = changed.source_id AND edge.destination_id = changed.destination_id";
const ANNOTATE: &str = "UPDATE user_edge AS edge SET metadata = $3::text::jsonb \
     FROM unnest($1::uuid[], $2::uuid[]) AS changed (source_id, destination_id) \
     WHERE edge.source_id = changed.source_id AND edge.destination_id = changed.destination_id";
const REMOVE: &str = "DELETE FROM user_edge AS edge \
     USING unnest($1::uuid[], $2::uuid[]) AS gone (source_id, destination_id) \
     WHERE edge.source_id = gone.source_id AND edge.destination_id = gone.destination_id";
const ADD_TO_COUNTS: &str = "UPDATE users SET edge_count = greatest(users.edge_count + changed.added, 0), \
     update_time = $3 FROM unnest($1::uuid[], $2::int4[]) AS changed (id, added) WHERE users.id = changed.id";

impl FriendChangeStore for PostgresStore {
    fn change_friends<'a>(&'a self, change: &'a FriendChange, stamp: WriteStamp) -> PortFuture<'a, Vec<FriendChanged>> {
        Box::pin(async move {
            let (write, most) = (KeyedWrite::of(change, stamp), self.quotas.friends);
            let outcome = self.attempts(async || {
                self.transaction(async |connection| {
                    let work = run(connection, change, most, stamp.now);
                    match &write {
                        Some(write) => keyed_writes::once(connection, write, change, work).await,
                        None => work.await.map(Ok),
                    }
                })
                .await
            });
            outcome.await.and_then(|outcome| outcome).inspect_err(|error| self.metrics().count_refusal(error))
        })
    }
}

impl FriendStore for PostgresStore {
    fn list_friends(
        &self,
        user_id: UserId,
        state: Option<FriendState>,
        behind: Option<FriendPosition>,
        limit: u32,
    ) -> PortFuture<'_, Vec<Friend>> {
        Box::pin(async move {
            let (sql, start) = (if state.is_some() { LIST_OF_STATE } else { LIST }, list_start(state, behind));
            let values: super::Values<'_> = &[&user_id.0, &start.state.number(), &start.position, &i64::from(limit)];
            self.query(sql, values).await?.iter().map(friend).collect()
        })
    }

    fn friends<'a>(&'a self, user_id: UserId, others: &'a [UserId]) -> PortFuture<'a, Vec<Friend>> {
        Box::pin(async move {
            let others: Vec<Uuid> = others.iter().map(|other| other.0).collect();
            self.query(FIND, &[&user_id.0, &others]).await?.iter().map(friend).collect()
        })
    }

    fn list_friends_of_friends(
        &self,
        user_id: UserId,
        behind: Option<ReferralPosition>,
        limit: u32,
    ) -> PortFuture<'_, Vec<FriendOfFriend>> {
        Box::pin(async move {
            let ReferralPosition { referrer, user_id: last } = behind.unwrap_or(ReferralPosition::START);
            let values: super::Values<'_> = &[&user_id.0, &referrer.0, &last.0, &i64::from(limit)];
            let rows = self.query(FRIENDS_OF_FRIENDS, values).await?;
            let read = |row: &Row| -> Result<_, tokio_postgres::Error> {
                Ok(FriendOfFriend { referrer: UserId(row.try_get(USER_COLUMNS_LEN)?), user: user(row)? })
            };
            rows.iter().map(read).collect::<Result<_, _>>().map_err(|error| translate(&error))
        })
    }
}

/// Reads a friend from the columns of [`LIST`].
fn friend(row: &Row) -> Result<Friend, StoreError> {
    let failed = |error: tokio_postgres::Error| translate(&error);
    let number: i16 = row.try_get(USER_COLUMNS_LEN).map_err(failed)?;
    let state = state(number.into())?;
    let read = || {
        Ok(Friend {
            user: user(row)?,
            state,
            position: row.try_get(USER_COLUMNS_LEN + 1)?,
            update_time: row.try_get::<_, Moment>(USER_COLUMNS_LEN + 2)?.0,
            metadata: row.try_get(USER_COLUMNS_LEN + 3)?,
        })
    };
    read().map_err(failed)
}

async fn run(
    connection: &PooledConnection,
    change: &FriendChange,
    most: i64,
    now: Timestamp,
) -> Result<Vec<FriendChanged>, Fault> {
    let mut known = look(connection, change).await?;
    let crowded: Vec<Uuid> = crowded(change, &known, most).into_iter().map(|user_id| user_id.0).collect();
    if !crowded.is_empty() {
        known.held.extend(crowded.iter().map(|id| (UserId(*id), HeldEdges::default())));
        for row in connection.query(HELD, &[&crowded]).await? {
            known.held.insert(UserId(row.try_get(0)?), HeldEdges { asked_by: row.try_get(1)?, own: row.try_get(2)? });
        }
    }
    let mut writes = decide(change, known, most, now)?;
    write(connection, change, &writes, now).await?;
    let due = std::mem::take(&mut writes.due);
    for (_, notice) in &due {
        limits::notification(notice)?;
    }
    let quiet = match change.quiet_since {
        Some(since) => notifications::notified(connection, due.iter().map(|(_, notice)| notice), since).await?,
        None => Vec::new(),
    };
    let is_sent = |(_, notice): &(usize, Notification)| !quiet.contains(&(notice.user_id, notice.code));
    let sent: Vec<(usize, Notification)> = due.into_iter().filter(is_sent).collect();
    if !sent.is_empty() {
        let notices: Vec<Notification> = sent.iter().map(|(_, notice)| notice.clone()).collect();
        notifications::insert(connection, &notices).await?;
    }
    for (index, notice) in sent {
        writes.changed[index].notification = Some(notice);
    }
    Ok(writes.changed)
}

/// Locks the users of a change. Answers what the database knows of them.
async fn look(connection: &PooledConnection, change: &FriendChange) -> Result<KnownUsers, Fault> {
    let mut known = KnownUsers { others: change.ids.iter().copied().map(Some).collect(), ..KnownUsers::default() };
    if !change.usernames.is_empty() {
        let rows = connection.query(OF_NAMES, &[&change.usernames]).await?;
        let entry = |row: &Row| Ok((row.try_get(0)?, UserId(row.try_get(1)?)));
        let ids: HashMap<String, UserId> = rows.iter().map(entry).collect::<Result<_, tokio_postgres::Error>>()?;
        known.others.extend(change.usernames.iter().map(|name| ids.get(name).copied()));
    }
    let others: Vec<Uuid> = known.others.iter().flatten().map(|other| other.0).collect();
    let all: Vec<Uuid> = others.iter().copied().chain([change.user_id.0]).collect();
    for row in connection.query(LOCK, &[&all]).await? {
        known.counts.insert(UserId(row.try_get(0)?), row.try_get::<_, i32>(1)?.into());
    }
    for row in connection.query(EDGES, &[&change.user_id.0, &others]).await? {
        let edge = (UserId(row.try_get(0)?), UserId(row.try_get(1)?));
        known.edges.insert(edge, state(row.try_get::<_, i16>(2)?.into())?);
    }
    if change.kind.makes_edges() {
        for row in connection.query(LAST, &[&all]).await? {
            known.positions.insert(UserId(row.try_get(0)?), row.try_get(1)?);
        }
    }
    Ok(known)
}

async fn write(
    connection: &PooledConnection,
    change: &FriendChange,
    writes: &EdgeWrites,
    now: Timestamp,
) -> Result<(), Fault> {
    let pairs = |edges: &[(UserId, UserId)]| -> (Vec<Uuid>, Vec<Uuid>) {
        edges.iter().map(|(source, destination)| (source.0, destination.0)).unzip()
    };
    if !writes.removed.is_empty() {
        let (sources, destinations) = pairs(&writes.removed);
        connection.query(REMOVE, &[&sources, &destinations]).await?;
    }
    if !writes.set.is_empty() {
        let Columns { sources, destinations, states, metadata, .. } = Columns::of(&writes.set);
        connection.query(SET, &[&sources, &destinations, &states, &metadata, &Moment(now)]).await?;
    }
    if !writes.made.is_empty() {
        let Columns { sources, destinations, states, positions, metadata } = Columns::of(&writes.made);
        let metadata: Vec<&str> = metadata.into_iter().map(|text| text.unwrap_or("{}")).collect();
        let values: super::Values<'_> = &[&sources, &destinations, &states, &positions, &metadata, &Moment(now)];
        connection.query(INSERT, values).await?;
    }
    if let FriendChangeKind::Annotate(metadata) = &change.kind
        && !writes.annotated.is_empty()
    {
        let (sources, destinations) = pairs(&writes.annotated);
        connection.query(ANNOTATE, &[&sources, &destinations, metadata]).await?;
    }
    if !writes.counts.is_empty() {
        let ids: Vec<Uuid> = writes.counts.keys().map(|user_id| user_id.0).collect();
        let added: Vec<i32> = writes.counts.values().map(|added| i32::try_from(*added).unwrap_or(0)).collect();
        connection.query(ADD_TO_COUNTS, &[&ids, &added, &Moment(now)]).await?;
    }
    Ok(())
}

/// Edges column by column.
struct Columns<'a> {
    sources: Vec<Uuid>,
    destinations: Vec<Uuid>,
    states: Vec<i16>,
    positions: Vec<i64>,
    metadata: Vec<Option<&'a str>>,
}

impl<'a> Columns<'a> {
    fn of(edges: &'a [EdgeRow]) -> Self {
        Self {
            sources: edges.iter().map(|edge| edge.source.0).collect(),
            destinations: edges.iter().map(|edge| edge.destination.0).collect(),
            states: edges.iter().map(|edge| edge.state.number()).collect(),
            positions: edges.iter().map(|edge| edge.position).collect(),
            metadata: edges.iter().map(|edge| edge.metadata.as_deref()).collect(),
        }
    }
}
