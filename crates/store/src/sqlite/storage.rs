//! Storage objects on SQLite.

use muster_domain::UserId;
use muster_domain::ports::PortFuture;
use muster_domain::ports::storage::{
    Authority, Object, ObjectAck, ObjectDelete, ObjectId, ObjectQuery, ObjectWrite, StorageStore,
};
use muster_domain::ports::store::StoreError;
use muster_domain::quotas::Quotas;
use muster_domain::time::Timestamp;
use rusqlite::{Connection, Row};

use super::SqliteStore;
use super::error::{is_missing_owner, translate};
use super::sql::{Result, execute, one, statement};
use super::usage::{self, Growth};
use crate::metrics::add;
use crate::{limits, objects};

const STATE: &str = "SELECT version, read, write, create_time, update_time, octet_length(value) FROM storage \
     WHERE collection = ?1 AND key = ?2 AND user_id = ?3";
const INSERT: &str = "INSERT INTO storage (collection, key, user_id, value, version, read, write, create_time, \
     update_time) VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?8)";
const UPDATE: &str = "UPDATE storage SET value = ?4, version = ?5, read = ?6, write = ?7, update_time = ?8 \
     WHERE collection = ?1 AND key = ?2 AND user_id = ?3";
const DELETE: &str = "DELETE FROM storage WHERE collection = ?1 AND key = ?2 AND user_id = ?3";
const COLUMNS: &str = "collection, key, user_id, value, version, read, write, create_time, update_time";

impl StorageStore for SqliteStore {
    fn write_objects<'a>(
        &'a self,
        authority: Authority,
        writes: &'a [ObjectWrite],
        now: Timestamp,
    ) -> PortFuture<'a, Vec<ObjectAck>> {
        Box::pin(async move {
            writes.iter().try_for_each(limits::object)?;
            let first = self.put_all(authority, writes, now).await;
            let written = match (&first, authority.client()) {
                (Ok(None) | Err(StoreError::Exceeded(_)), Some(owner)) => {
                    let was_counted = self.write(move |connection| usage::count(connection, owner, now)).await?;
                    add(&self.metrics().quota_counts, u64::from(was_counted));
                    // Without a count another request has just made it, or the refusal is by one that is new enough.
                    if was_counted || first.is_ok() { self.put_all(authority, writes, now).await } else { first }
                }
                _ => first,
            };
            let written = written.inspect_err(|error| self.metrics().count_refusal(error))?;
            written.ok_or_else(|| StoreError::Unavailable("the count of the objects was always too old".to_owned()))
        })
    }

    fn read_objects<'a>(&'a self, authority: Authority, ids: &'a [ObjectId]) -> PortFuture<'a, Vec<Object>> {
        Box::pin(async move {
            let ids = objects::distinct(ids);
            self.read(move |connection| {
                let sql = format!(
                    "SELECT {COLUMNS} FROM storage WHERE collection = ?1 AND key = ?2 AND user_id = ?3 AND read >= ?4"
                );
                let mut found = Vec::with_capacity(ids.len());
                for id in &ids {
                    let least = objects::read_least(authority, Some(id.user_id));
                    found.extend(one(connection, &sql, (&id.collection, &id.key, id.user_id.0, least), object)?);
                }
                Ok(found)
            })
            .await
        })
    }

    fn list_objects<'a>(&'a self, query: &'a ObjectQuery) -> PortFuture<'a, (Vec<Object>, bool)> {
        Box::pin(async move {
            let query = query.clone();
            self.read(move |connection| list(connection, &query)).await
        })
    }

    fn delete_objects<'a>(&'a self, authority: Authority, deletes: &'a [ObjectDelete]) -> PortFuture<'a, ()> {
        Box::pin(async move {
            let deletes = deletes.to_vec();
            self.write(move |connection| deletes.iter().try_for_each(|delete| remove(connection, authority, delete)))
                .await
        })
    }
}

impl SqliteStore {
    /// Writes objects in one transaction; `None`, and nothing was written, if the owner must be counted first.
    async fn put_all(
        &self,
        authority: Authority,
        writes: &[ObjectWrite],
        now: Timestamp,
    ) -> Result<Option<Vec<ObjectAck>>> {
        let (writes, quotas) = (writes.to_vec(), self.inner.quotas);
        self.write(move |connection| {
            if let Some(owner) = authority.client()
                && !usage::is_counted(connection, owner, now)?
            {
                return Ok(None);
            }
            writes.iter().map(|write| put(connection, &quotas, authority, write, now)).collect::<Result<_>>().map(Some)
        })
        .await
    }
}

/// The state of an object, and the bytes of its value.
fn state(connection: &Connection, id: &ObjectId) -> Result<(Option<objects::State>, i64)> {
    let found = one(connection, STATE, (&id.collection, &id.key, id.user_id.0), |row| {
        let state = objects::State {
            version: row.get(0)?,
            read: row.get(1)?,
            write: row.get(2)?,
            create_time: Timestamp(row.get(3)?),
            update_time: Timestamp(row.get(4)?),
        };
        Ok((state, row.get(5)?))
    })?;
    Ok(found.map_or((None, 0), |(state, bytes)| (Some(state), bytes)))
}

/// Writes an object. A client's write is held to `quotas`.
pub(super) fn put(
    connection: &Connection,
    quotas: &Quotas,
    authority: Authority,
    write: &ObjectWrite,
    now: Timestamp,
) -> Result<ObjectAck> {
    objects::check_owner(authority, &write.id)?;
    let (present, bytes_before) = state(connection, &write.id)?;
    let (sql, create_time) = match (objects::decide(authority, write, present.as_ref())?, &present) {
        (objects::Decision::Keep, Some(present)) => {
            return Ok(objects::ack(write, present.create_time, present.update_time));
        }
        (_, Some(present)) => (UPDATE, present.create_time),
        (_, None) => (INSERT, now),
    };
    if let Some(owner) = authority.client() {
        let bytes = i64::try_from(write.value.len()).unwrap_or(i64::MAX);
        let growth = Growth { objects: i64::from(present.is_none()), bytes: bytes - bytes_before };
        usage::grow(connection, quotas, owner, growth)?;
    }
    let (id, read, permission) = (&write.id, objects::read_code(write.read), objects::write_code(write.write));
    let values = (&id.collection, &id.key, id.user_id.0, &write.value, &write.version, read, permission, now.0);
    match statement(connection, sql)?.execute(values) {
        Ok(_) => Ok(objects::ack(write, create_time, now)),
        Err(error) if is_missing_owner(&error) => Err(objects::missing_owner()),
        Err(error) => Err(translate(error)),
    }
}

pub(super) fn remove(connection: &Connection, authority: Authority, delete: &ObjectDelete) -> Result<()> {
    let id = &delete.id;
    let (present, bytes) = state(connection, id)?;
    let decision = objects::decide_delete(authority, delete, present.as_ref())?;
    if let (Some(owner), objects::Decision::Write) = (authority.client(), decision) {
        usage::add_to(connection, owner, Growth { objects: -1, bytes: -bytes })?;
    }
    match decision {
        objects::Decision::Keep => Ok(()),
        objects::Decision::Write => execute(connection, DELETE, (&id.collection, &id.key, id.user_id.0)).map(|_| ()),
    }
}

fn list(connection: &Connection, query: &ObjectQuery) -> Result<(Vec<Object>, bool)> {
    let start = objects::start(query);
    let behind = if start.inclusive { ">=" } else { ">" };
    let limit = i64::from(query.limit) + 1;
    let rows: rusqlite::Result<Vec<Object>> = match query.owner {
        Some(owner) => {
            let sql = format!(
                "SELECT {COLUMNS} FROM storage WHERE user_id = ?1 AND collection = ?2 \
                 AND (read, key) {behind} (?3, ?4) ORDER BY read, key LIMIT ?5"
            );
            let mut rows = statement(connection, &sql)?;
            let values = (owner.0, &query.collection, start.read, start.key, limit);
            rows.query_map(values, object).map_err(translate)?.collect()
        }
        None => {
            let sql = format!(
                "SELECT {COLUMNS} FROM storage WHERE collection = ?1 \
                 AND (read, key, user_id) {behind} (?2, ?3, ?4) ORDER BY read, key, user_id LIMIT ?5"
            );
            let mut rows = statement(connection, &sql)?;
            let values = (&query.collection, start.read, start.key, start.user_id.0, limit);
            rows.query_map(values, object).map_err(translate)?.collect()
        }
    };
    let mut found = rows.map_err(translate)?;
    let more = found.len() > query.limit as usize;
    found.truncate(query.limit as usize);
    Ok((found, more))
}

/// Reads an object from the columns of [`COLUMNS`].
fn object(row: &Row<'_>) -> rusqlite::Result<Object> {
    Ok(Object {
        id: ObjectId { collection: row.get(0)?, key: row.get(1)?, user_id: UserId(row.get(2)?) },
        value: row.get(3)?,
        version: row.get(4)?,
        read: objects::read_permission(row.get(5)?),
        write: objects::write_permission(row.get(6)?),
        create_time: Timestamp(row.get(7)?),
        update_time: Timestamp(row.get(8)?),
    })
}
