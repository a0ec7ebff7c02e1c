//! Storage objects on PostgreSQL. A request for one object is one statement. A request for several is one transaction
//! of such statements, sent together and in the order of the objects' names, so that two transactions never deadlock.

use futures_util::future::join_all;
use muster_domain::UserId;
use muster_domain::limits::COUNT_AGE_SEC;
use muster_domain::ports::PortFuture;
use muster_domain::ports::storage::{
    Authority, Expected, Object, ObjectAck, ObjectDelete, ObjectId, ObjectQuery, ObjectWrite, StorageStore,
};
use muster_domain::quotas::Quotas;
use muster_domain::time::Timestamp;
use tokio_postgres::Row;

use super::fault::{Fault, is_missing_owner, translate};
use super::pool::PooledConnection;
use super::values::Moment;
use super::{PostgresStore, usage};
use crate::{limits, objects};

type PgResult<T> = Result<T, tokio_postgres::Error>;

/// A statement that changes an object. It answers one row that starts with `true` if the object was changed, one row
/// with the stored object if it was not, and no row if there is no such object.
macro_rules! changing {
    ($change:literal) => {
        concat!(
            "WITH present AS (SELECT version, read, write, create_time, update_time FROM storage \
                 WHERE collection = $1 AND key = $2 AND user_id = $3), changed AS (",
            $change,
            " RETURNING create_time, update_time) \
             SELECT true, '', 0::int2, 0::int2, create_time, update_time FROM changed \
             UNION ALL SELECT false, version, read, write, create_time, update_time FROM present \
             WHERE NOT EXISTS (SELECT 1 FROM changed)"
        )
    };
}

// In these statements $4 is the value, $5 the version, $6 and $7 the permissions, $8 the time, and $9 whether
// permissions are ignored.
const WRITE_ANY: &str = changing!(
    "INSERT INTO storage (collection, key, user_id, value, version, read, write, create_time, update_time) \
     VALUES ($1, $2, $3, $4::text::jsonb, $5, $6, $7, $8, $8) \
     ON CONFLICT (collection, key, user_id) DO UPDATE SET value = excluded.value, version = excluded.version, \
         read = excluded.read, write = excluded.write, update_time = excluded.update_time \
     WHERE ($9 OR storage.write >= 1) AND NOT (storage.version = excluded.version \
         AND storage.read = excluded.read AND storage.write = excluded.write)"
);
const WRITE_ABSENT: &str = changing!(
    "INSERT INTO storage (collection, key, user_id, value, version, read, write, create_time, update_time) \
     VALUES ($1, $2, $3, $4::text::jsonb, $5, $6, $7, $8, $8) ON CONFLICT (collection, key, user_id) DO NOTHING"
);
/// In this statement $10 is the expected version.
const WRITE_VERSION: &str = changing!(
    "UPDATE storage SET value = $4::text::jsonb, version = $5, read = $6, write = $7, update_time = $8 \
     WHERE collection = $1 AND key = $2 AND user_id = $3 AND version = $10 AND ($9 OR write >= 1)"
);
/// In this statement $4 is the expected version, or empty for any, and $5 is whether permissions are ignored.
const DELETE: &str = changing!(
    "DELETE FROM storage WHERE collection = $1 AND key = $2 AND user_id = $3 \
     AND ($4 = '' OR version = $4) AND ($5 OR write >= 1)"
);

/// A statement of a client that changes an object of its own, and the count of the account with it, as `changing!` does
/// without counting. `$change` answers how many objects and bytes there are behind it, and changes the object only
/// while its version is that of `present`, whose size is given back. If the account must be counted first, the answer
/// has a row that starts with NULL.
macro_rules! counting {
    ($fresh:literal, $change:literal, $quotas:literal) => {
        concat!(
            "WITH mine AS MATERIALIZED (SELECT user_id FROM muster_object_usage WHERE user_id = $3",
            $fresh,
            " FOR UPDATE), present AS (SELECT version, read, write, create_time, update_time, \
                 octet_length(value::text) AS bytes FROM storage \
                 WHERE collection = $1 AND key = $2 AND user_id = $3), changed AS (",
            $change,
            "), counted AS (UPDATE muster_object_usage AS usage SET \
                 objects = greatest(0, usage.objects + changed.objects - (SELECT count(*) FROM present)), \
                 bytes = greatest(0, usage.bytes + changed.bytes - coalesce((SELECT bytes FROM present), 0))",
            $quotas,
            " FROM changed WHERE usage.user_id = $3) \
             SELECT true, '', 0::int2, 0::int2, create_time, update_time FROM changed \
             UNION ALL SELECT false, version, read, write, create_time, update_time FROM present \
             WHERE NOT EXISTS (SELECT 1 FROM changed)"
        )
    };
}

/// A `counting!` statement that writes. In it $9 is the time since which the account must have been counted, $10 and
/// $11 are the quotas. An account may have more than its quotas; then it may get less, and not more.
macro_rules! counting_write {
    ($change:literal) => {
        concat!(
            counting!(
                " AND counted_at > $9",
                $change,
                ", objects_max = greatest($10, usage.objects), bytes_max = greatest($11, usage.bytes)"
            ),
            " UNION ALL SELECT NULL, '', 0::int2, 0::int2, $8::timestamptz, $8::timestamptz \
             WHERE NOT EXISTS (SELECT 1 FROM mine)"
        )
    };
}

const COUNTED_WRITE_ANY: &str = counting_write!(
    "INSERT INTO storage (collection, key, user_id, value, version, read, write, create_time, update_time) \
     SELECT $1::text, $2::text, user_id, $4::text::jsonb, $5::text, $6::int2, $7::int2, $8::timestamptz, \
         $8::timestamptz FROM mine \
     ON CONFLICT (collection, key, user_id) DO UPDATE SET value = excluded.value, version = excluded.version, \
         read = excluded.read, write = excluded.write, update_time = excluded.update_time \
     WHERE storage.write >= 1 AND storage.version = (SELECT version FROM present) \
         AND NOT (storage.version = excluded.version \
         AND storage.read = excluded.read AND storage.write = excluded.write) \
     RETURNING create_time, update_time, 1 AS objects, octet_length(value::text) AS bytes"
);
const COUNTED_WRITE_ABSENT: &str = counting_write!(
    "INSERT INTO storage (collection, key, user_id, value, version, read, write, create_time, update_time) \
     SELECT $1::text, $2::text, user_id, $4::text::jsonb, $5::text, $6::int2, $7::int2, $8::timestamptz, \
         $8::timestamptz FROM mine ON CONFLICT (collection, key, user_id) DO NOTHING \
     RETURNING create_time, update_time, 1 AS objects, octet_length(value::text) AS bytes"
);
/// In this statement $12 is the expected version.
const COUNTED_WRITE_VERSION: &str = counting_write!(
    "UPDATE storage SET value = $4::text::jsonb, version = $5, read = $6, write = $7, update_time = $8 FROM mine \
     WHERE collection = $1 AND key = $2 AND storage.user_id = mine.user_id AND version = $12 AND write >= 1 \
         AND version = (SELECT version FROM present) \
     RETURNING create_time, update_time, 1 AS objects, octet_length(value::text) AS bytes"
);
/// In this statement $4 is the expected version, or empty for any. An account that was never counted need not be.
const COUNTED_DELETE: &str = counting!(
    "",
    "DELETE FROM storage WHERE collection = $1 AND key = $2 AND user_id = $3 \
         AND (SELECT count(*) FROM mine) >= 0 \
         AND ($4 = '' OR version = $4) AND write >= 1 AND version = (SELECT version FROM present) \
     RETURNING create_time, update_time, 0 AS objects, 0 AS bytes",
    ""
);

/// The columns of an [`Object`], from table `s`.
macro_rules! columns {
    () => {
        "s.collection, s.key, s.user_id, s.value::text, s.version, s.read, s.write, s.create_time, s.update_time"
    };
}

const READ: &str = concat!(
    "SELECT ",
    columns!(),
    " FROM unnest($1::text[], $2::text[], $3::uuid[], $4::int2[]) AS wanted (collection, key, user_id, least) \
     JOIN storage s ON s.collection = wanted.collection AND s.key = wanted.key AND s.user_id = wanted.user_id \
     AND s.read >= wanted.least"
);
/// The query for a page of all owners' objects. `$behind` is `>` or `>=`.
macro_rules! list_all {
    ($behind:literal) => {
        concat!(
            "SELECT ",
            columns!(),
            " FROM storage s WHERE collection = $1 AND (read, key, user_id) ",
            $behind,
            " ($2, $3, $4) ORDER BY read, key, user_id LIMIT $5"
        )
    };
}

/// The query for a page of one owner's objects. `$behind` is `>` or `>=`.
macro_rules! list_owner {
    ($behind:literal) => {
        concat!(
            "SELECT ",
            columns!(),
            " FROM storage s WHERE collection = $1 AND user_id = $2 AND (read, key) ",
            $behind,
            " ($3, $4) ORDER BY read, key LIMIT $5"
        )
    };
}

impl StorageStore for PostgresStore {
    fn write_objects<'a>(
        &'a self,
        authority: Authority,
        writes: &'a [ObjectWrite],
        now: Timestamp,
    ) -> PortFuture<'a, Vec<ObjectAck>> {
        Box::pin(async move {
            writes.iter().try_for_each(limits::object)?;
            writes.iter().try_for_each(|write| objects::check_owner(authority, &write.id))?;
            match authority {
                Authority::Server => {
                    let put = async |connection: &PooledConnection, write: &ObjectWrite| {
                        put(connection, authority, write, now).await
                    };
                    self.attempts(self.each(None, writes, write_statement, |write| &write.id, put)).await
                }
                Authority::Client(owner) => {
                    let quotas = &self.quotas;
                    let put = async |connection: &PooledConnection, write: &ObjectWrite| {
                        put_counted(connection, quotas, authority, write, now).await
                    };
                    let each = self.each(Some(owner), writes, counted_write_statement, |write| &write.id, put);
                    self.counted(owner, now, each).await
                }
            }
        })
    }

    fn read_objects<'a>(&'a self, authority: Authority, ids: &'a [ObjectId]) -> PortFuture<'a, Vec<Object>> {
        Box::pin(async move {
            let ids = objects::distinct(ids);
            let collections: Vec<&str> = ids.iter().map(|id| id.collection.as_str()).collect();
            let keys: Vec<&str> = ids.iter().map(|id| id.key.as_str()).collect();
            let owners: Vec<_> = ids.iter().map(|id| id.user_id.0).collect();
            let least: Vec<i16> = ids.iter().map(|id| objects::read_least(authority, Some(id.user_id))).collect();
            let rows = self.query(READ, &[&collections, &keys, &owners, &least]).await?;
            rows.iter().map(object).collect::<PgResult<_>>().map_err(|error| translate(&error))
        })
    }

    fn list_objects<'a>(&'a self, query: &'a ObjectQuery) -> PortFuture<'a, (Vec<Object>, bool)> {
        Box::pin(async move {
            let start = objects::start(query);
            let limit = i64::from(query.limit) + 1;
            let rows = match query.owner {
                Some(owner) => {
                    let sql = if start.inclusive { list_owner!(">=") } else { list_owner!(">") };
                    let values: super::Values<'_> = &[&query.collection, &owner.0, &start.read, &start.key, &limit];
                    self.query(sql, values).await?
                }
                None => {
                    let sql = if start.inclusive { list_all!(">=") } else { list_all!(">") };
                    let values: super::Values<'_> =
                        &[&query.collection, &start.read, &start.key, &start.user_id.0, &limit];
                    self.query(sql, values).await?
                }
            };
            let more = rows.len() > query.limit as usize;
            let found = rows.iter().take(query.limit as usize).map(object).collect::<PgResult<_>>();
            Ok((found.map_err(|error| translate(&error))?, more))
        })
    }

    fn delete_objects<'a>(&'a self, authority: Authority, deletes: &'a [ObjectDelete]) -> PortFuture<'a, ()> {
        Box::pin(async move {
            deletes.iter().try_for_each(|delete| objects::check_owner(authority, &delete.id))?;
            let remove = async |connection: &PooledConnection, delete: &ObjectDelete| {
                remove(connection, authority, delete).await
            };
            let each =
                self.each(authority.client(), deletes, |_| delete_statement(authority), |delete| &delete.id, remove);
            self.attempts(each).await.map(|_| ())
        })
    }
}

impl PostgresStore {
    /// A transaction that runs `step` for each of `items`, and answers in the order of the items. For a client it locks
    /// the count of the `owner` first; one statement does that itself, and only if it was overtaken it is run again
    /// behind the lock, where no other write of the owner overtakes it.
    fn each<I, T>(
        &self,
        owner: Option<UserId>,
        items: &[I],
        statement: impl Fn(&I) -> &'static str,
        id: impl Fn(&I) -> &ObjectId,
        step: impl AsyncFn(&PooledConnection, &I) -> Result<T, Fault>,
    ) -> impl AsyncFnMut() -> Result<Vec<T>, Fault> {
        let mut is_overtaken = false;
        async move || {
            if let ([item], false) = (items, is_overtaken) {
                let outcome = step(&self.pool.shared().await?, item).await;
                is_overtaken = owner.is_some() && matches!(outcome, Err(Fault::Overtaken));
                return Ok(vec![outcome?]);
            }
            let together = async |connection: &PooledConnection| {
                if let Some(owner) = owner {
                    usage::lock(connection, owner).await?;
                }
                in_order(connection, items, &statement, &id, &step).await
            };
            self.transaction(together).await
        }
    }
}

/// Runs `step` for each of `items`, as part of the caller's transaction. The statements are sent together, in the order
/// of the objects' names. The answers have the order of the items.
async fn in_order<I, T>(
    connection: &PooledConnection,
    items: &[I],
    statement: impl Fn(&I) -> &'static str,
    id: impl Fn(&I) -> &ObjectId,
    step: impl AsyncFn(&PooledConnection, &I) -> Result<T, Fault>,
) -> Result<Vec<T>, Fault> {
    // The sort is stable, so that two steps for one object keep their order.
    let mut order: Vec<usize> = (0..items.len()).collect();
    order.sort_by_key(|index| id(&items[*index]));
    for item in items {
        connection.prepare(statement(item)).await?;
    }
    // The futures are first polled in this order, so all statements are sent in this order before the first answer is
    // back.
    let answers = join_all(order.iter().map(|index| step(connection, &items[*index]))).await;
    let mut found: Vec<(usize, T)> = Vec::with_capacity(items.len());
    for (index, answer) in order.iter().zip(answers) {
        // The first error counts: after it the database refuses the rest of the transaction.
        found.push((*index, answer?));
    }
    found.sort_by_key(|(index, _)| *index);
    Ok(found.into_iter().map(|(_, answer)| answer).collect())
}

/// A change of one object.
enum Step<'a> {
    Write(&'a ObjectWrite),
    Delete(&'a ObjectDelete),
}

/// Writes objects, then deletes objects, as part of the caller's transaction. Answers the acknowledgements in the order
/// of the writes. Writes and deletes lock the objects in one common order.
pub(super) async fn apply(
    connection: &PooledConnection,
    authority: Authority,
    writes: &[ObjectWrite],
    deletes: &[ObjectDelete],
    now: Timestamp,
) -> Result<Vec<ObjectAck>, Fault> {
    let steps: Vec<Step<'_>> = writes.iter().map(Step::Write).chain(deletes.iter().map(Step::Delete)).collect();
    let statement = |step: &Step<'_>| match step {
        Step::Write(write) => write_statement(write),
        Step::Delete(_) => DELETE,
    };
    let run = async |connection: &PooledConnection, step: &Step<'_>| match step {
        Step::Write(write) => put(connection, authority, write, now).await.map(Some),
        Step::Delete(delete) => remove(connection, authority, delete).await.map(|()| None),
    };
    let acks = in_order(connection, &steps, statement, Step::object, run).await?;
    Ok(acks.into_iter().flatten().collect())
}

impl Step<'_> {
    fn object(&self) -> &ObjectId {
        match self {
            Self::Write(write) => &write.id,
            Self::Delete(delete) => &delete.id,
        }
    }
}

fn write_statement(write: &ObjectWrite) -> &'static str {
    match write.expected {
        Expected::Any => WRITE_ANY,
        Expected::Absent => WRITE_ABSENT,
        Expected::Version(_) => WRITE_VERSION,
    }
}

fn counted_write_statement(write: &ObjectWrite) -> &'static str {
    match write.expected {
        Expected::Any => COUNTED_WRITE_ANY,
        Expected::Absent => COUNTED_WRITE_ABSENT,
        Expected::Version(_) => COUNTED_WRITE_VERSION,
    }
}

fn delete_statement(authority: Authority) -> &'static str {
    match authority {
        Authority::Client(_) => COUNTED_DELETE,
        Authority::Server => DELETE,
    }
}

/// The answer of a `changing!` or `counting!` statement.
enum Change {
    Done { create_time: Timestamp, update_time: Timestamp },
    NotDone(Option<objects::State>),
}

async fn put(
    connection: &PooledConnection,
    authority: Authority,
    write: &ObjectWrite,
    now: Timestamp,
) -> Result<ObjectAck, Fault> {
    let (id, server) = (&write.id, authority == Authority::Server);
    let (read, permission, now) = (objects::read_code(write.read), objects::write_code(write.write), Moment(now));
    let expected = match &write.expected {
        Expected::Version(version) => version.as_str(),
        Expected::Any | Expected::Absent => "",
    };
    let all: super::Values<'_> = &[
        &id.collection,
        &id.key,
        &id.user_id.0,
        &write.value,
        &write.version,
        &read,
        &permission,
        &now,
        &server,
        &expected,
    ];
    let values = match write.expected {
        Expected::Any => &all[..9],
        Expected::Absent => &all[..8],
        Expected::Version(_) => all,
    };
    let rows = connection.query(write_statement(write), values).await;
    written(authority, write, rows)
}

/// A client's write, which counts.
async fn put_counted(
    connection: &PooledConnection,
    quotas: &Quotas,
    authority: Authority,
    write: &ObjectWrite,
    now: Timestamp,
) -> Result<ObjectAck, Fault> {
    let id = &write.id;
    let (read, permission) = (objects::read_code(write.read), objects::write_code(write.write));
    let (now, fresh_since) = (Moment(now), Moment(now.plus_seconds(-COUNT_AGE_SEC)));
    let expected = match &write.expected {
        Expected::Version(version) => version.as_str(),
        Expected::Any | Expected::Absent => "",
    };
    let all: super::Values<'_> = &[
        &id.collection,
        &id.key,
        &id.user_id.0,
        &write.value,
        &write.version,
        &read,
        &permission,
        &now,
        &fresh_since,
        &quotas.objects,
        &quotas.object_bytes,
        &expected,
    ];
    let values = match write.expected {
        Expected::Any | Expected::Absent => &all[..11],
        Expected::Version(_) => all,
    };
    let rows = connection.query(counted_write_statement(write), values).await;
    if let Ok(rows) = &rows
        && let Some(last) = rows.last()
        && last.try_get::<_, Option<bool>>(0)?.is_none()
    {
        return Err(Fault::Uncounted);
    }
    written(authority, write, rows)
}

/// The acknowledgement of a write, by the answer of its statement.
fn written(authority: Authority, write: &ObjectWrite, rows: Result<Vec<Row>, Fault>) -> Result<ObjectAck, Fault> {
    let rows = match rows {
        Err(Fault::Database(error)) if is_missing_owner(&error) => return Err(Fault::Rule(objects::missing_owner())),
        rows => rows?,
    };
    match change(&rows)? {
        Change::Done { create_time, update_time } => Ok(objects::ack(write, create_time, update_time)),
        Change::NotDone(present) => match (objects::decide(authority, write, present.as_ref())?, present) {
            (objects::Decision::Keep, Some(present)) => {
                Ok(objects::ack(write, present.create_time, present.update_time))
            }
            // By the answer the write was allowed, and yet it was not done: another transaction has changed the object
            // meanwhile.
            _ => Err(Fault::Overtaken),
        },
    }
}

async fn remove(connection: &PooledConnection, authority: Authority, delete: &ObjectDelete) -> Result<(), Fault> {
    let (id, server) = (&delete.id, authority == Authority::Server);
    let values: super::Values<'_> = &[&id.collection, &id.key, &id.user_id.0, &delete.version, &server];
    let values = if server { values } else { &values[..4] };
    match change(&connection.query(delete_statement(authority), values).await?)? {
        Change::Done { .. } => Ok(()),
        Change::NotDone(present) => match objects::decide_delete(authority, delete, present.as_ref())? {
            objects::Decision::Keep => Ok(()),
            objects::Decision::Write => Err(Fault::Overtaken),
        },
    }
}

fn change(rows: &[Row]) -> PgResult<Change> {
    let Some(row) = rows.first() else { return Ok(Change::NotDone(None)) };
    let (create_time, update_time) = (row.try_get::<_, Moment>(4)?.0, row.try_get::<_, Moment>(5)?.0);
    if row.try_get(0)? {
        return Ok(Change::Done { create_time, update_time });
    }
    let (version, read, write) = (row.try_get(1)?, row.try_get(2)?, row.try_get(3)?);
    Ok(Change::NotDone(Some(objects::State { version, read, write, create_time, update_time })))
}

/// Reads an object from the columns of `columns!`.
fn object(row: &Row) -> PgResult<Object> {
    Ok(Object {
        id: ObjectId { collection: row.try_get(0)?, key: row.try_get(1)?, user_id: UserId(row.try_get(2)?) },
        value: row.try_get(3)?,
        version: row.try_get(4)?,
        read: objects::read_permission(row.try_get(5)?),
        write: objects::write_permission(row.try_get(6)?),
        create_time: row.try_get::<_, Moment>(7)?.0,
        update_time: row.try_get::<_, Moment>(8)?.0,
    })
}
