//! Storage objects: what may be written, read, listed and deleted, and by whom.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use md5::{Digest, Md5};

use crate::error::{Error, ErrorKind, Result};
use crate::ids::{UserId, parse_user_id};
use crate::json;
use crate::limits::{
    COLLECTION_BYTES_MAX, KEY_BYTES_MAX, STORAGE_PAGE_DEFAULT, STORAGE_PAGE_MAX, STORAGE_READ_BYTES_MAX,
    STORAGE_READ_PART_LEN, cut_page, page_limit,
};
use crate::ports::storage::{
    Authority, Expected, Object, ObjectAck, ObjectDelete, ObjectId, ObjectPosition, ObjectQuery, ObjectWrite,
    ReadPermission, WritePermission,
};
use crate::ports::store::{Rejection, Store, StoreError};
use crate::time::Timestamp;

/// One object as a caller wants it written.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WriteRequest {
    /// 1 to 128 bytes.
    pub collection: String,
    /// 1 to 128 bytes.
    pub key: String,
    /// A JSON object.
    pub value: String,
    /// Empty: whatever is there. `*`: only if nothing is. Else: only if this version is.
    pub version: String,
    /// 0 to 2; 1 when absent.
    pub read: Option<i32>,
    /// 0 or 1; 1 when absent.
    pub write: Option<i32>,
}

/// Writes all objects or none; acknowledgements in the order of the request.
///
/// Errors: `InvalidArgument` for what does not fit the rules and for a version or permission that forbids it;
/// `ResourceExhausted` for a client's write beyond the quotas.
pub async fn write(
    store: &dyn Store,
    authority: Authority,
    owner: UserId,
    requests: Vec<WriteRequest>,
    now: Timestamp,
) -> Result<Vec<ObjectAck>> {
    if requests.is_empty() {
        return Ok(Vec::new());
    }
    let writes = requests.into_iter().map(|request| check_write(request, owner)).collect::<Result<Vec<_>>>()?;
    store.write_objects(authority, &writes, now).await.map_err(write_rejected)
}

pub(crate) fn check_write(request: WriteRequest, owner: UserId) -> Result<ObjectWrite> {
    check_present(&request.collection, &request.key)?;
    if request.collection.len() > COLLECTION_BYTES_MAX || request.key.len() > KEY_BYTES_MAX {
        return Err(Error::invalid("The collection and the key must each be at most 128 bytes long."));
    }
    let read = match request.read {
        Some(0) => ReadPermission::None,
        None | Some(1) => ReadPermission::Owner,
        Some(2) => ReadPermission::Public,
        Some(_) => return Err(Error::invalid("The read permission must be 0, 1 or 2.")),
    };
    let write = match request.write {
        Some(0) => WritePermission::None,
        None | Some(1) => WritePermission::Owner,
        Some(_) => return Err(Error::invalid("The write permission must be 0 or 1.")),
    };
    json::require_object("value", &request.value)?;
    let expected = match request.version.as_str() {
        "" => Expected::Any,
        "*" => Expected::Absent,
        _ => Expected::Version(request.version),
    };
    let version = version_of(&request.value);
    let id = ObjectId { collection: request.collection, key: request.key, user_id: owner };
    Ok(ObjectWrite { id, value: request.value, version, expected, read, write })
}

/// Words that every refusal because of an object's version contains. Game code for the original looks for them.
pub const VERSION_CHECK_FAILED: &str = "version check failed";

/// The version of a value: the md5 of its text in lower-case hex.
pub fn version_of(value: &str) -> String {
    let mut version = String::with_capacity(32);
    for byte in Md5::digest(value.as_bytes()) {
        // Writing to a string cannot fail.
        let _ = write!(version, "{byte:02x}");
    }
    version
}

/// Those of the objects that exist and may be read, each once. `ids` are collection, key and owner; an empty
/// owner is the system user.
///
/// Errors: `InvalidArgument` for a missing collection or key, or an owner that is no UUID; `ResourceExhausted` when the
/// values together are larger than [`STORAGE_READ_BYTES_MAX`].
pub async fn read(store: &dyn Store, authority: Authority, ids: Vec<(String, String, String)>) -> Result<Vec<Object>> {
    if ids.is_empty() {
        return Ok(Vec::new());
    }
    let check = |(collection, key, owner): (String, String, String)| {
        check_present(&collection, &key)?;
        let user_id = if owner.is_empty() { UserId::SYSTEM } else { parse_user_id(&owner)? };
        Ok(ObjectId { collection, key, user_id })
    };
    let ids = ids.into_iter().map(check).collect::<Result<BTreeSet<_>>>()?;
    let ids: Vec<ObjectId> = ids.into_iter().collect();
    let (mut found, mut bytes) = (Vec::new(), 0);
    // Part by part, so that never much more is held than may be answered.
    for part in ids.chunks(STORAGE_READ_PART_LEN) {
        let objects = store.read_objects(authority, part).await?;
        bytes += objects.iter().map(|object| object.value.len()).sum::<usize>();
        if bytes > STORAGE_READ_BYTES_MAX {
            return Err(Error::new(ErrorKind::ResourceExhausted, TOO_MUCH_TO_READ));
        }
        found.extend(objects);
    }
    Ok(found)
}

const TOO_MUCH_TO_READ: &str = "These objects are too large to be read at once. Please ask for fewer.";

/// Deletes all objects or none. `requests` are collection, key and version (empty for any).
///
/// Errors: `InvalidArgument` for a missing collection or key, and for an object that is missing, that the caller
/// may not delete, or whose version is another.
pub async fn delete(
    store: &dyn Store,
    authority: Authority,
    owner: UserId,
    requests: Vec<(String, String, String)>,
) -> Result<()> {
    if requests.is_empty() {
        return Ok(());
    }
    let named = |(collection, key, version)| ObjectDelete { id: ObjectId { collection, key, user_id: owner }, version };
    let deletes: Vec<ObjectDelete> = requests.into_iter().map(named).collect();
    deletes.iter().try_for_each(check_delete)?;
    store.delete_objects(authority, &deletes).await.map_err(delete_rejected)
}

/// A page of a listing, and where the next one starts, if there is one. An empty `owner` means everyone's public
/// objects.
///
/// Errors: `InvalidArgument` for a missing collection, a limit out of 1 to 100, or an owner that is no UUID.
pub async fn list(
    store: &dyn Store,
    authority: Authority,
    collection: String,
    owner: &str,
    limit: Option<i32>,
    after: Option<ObjectPosition>,
) -> Result<(Vec<Object>, Option<ObjectPosition>)> {
    if collection.is_empty() || collection.contains('\0') {
        return Err(Error::invalid("A collection is required."));
    }
    let limit = page_limit(limit, STORAGE_PAGE_DEFAULT, STORAGE_PAGE_MAX)?;
    let owner = if owner.is_empty() { None } else { Some(parse_user_id(owner)?) };
    let query = ObjectQuery { collection, owner, authority, limit, after };
    let (mut objects, more) = store.list_objects(&query).await?;
    let more = cut_page(&mut objects, |object| object.value.len()) || more;
    let position =
        |last: &Object| ObjectPosition { read: last.read, key: last.id.key.clone(), user_id: last.id.user_id };
    let next = if more { objects.last().map(position) } else { None };
    Ok((objects, next))
}

pub(crate) fn check_delete(delete: &ObjectDelete) -> Result<()> {
    check_present(&delete.id.collection, &delete.id.key)
}

fn check_present(collection: &str, key: &str) -> Result<()> {
    if collection.is_empty() || key.is_empty() {
        return Err(Error::invalid("A collection and a key are required."));
    }
    // PostgreSQL holds no null characters; saying so here gives the same answer on every database.
    if collection.contains('\0') || key.contains('\0') {
        return Err(Error::invalid("The collection and the key must not contain null characters."));
    }
    Ok(())
}

fn write_rejected(error: StoreError) -> Error {
    match error {
        StoreError::Rejected(Rejection::Version) => {
            Error::invalid("Storage write rejected: version check failed, the object is at another version.")
        }
        StoreError::Rejected(_) => Error::invalid("Storage write rejected: the object may not be changed."),
        other => other.into(),
    }
}

/// One sentence for all reasons: a player need not learn whether another's object exists.
fn delete_rejected(error: StoreError) -> Error {
    match error {
        StoreError::Rejected(_) => Error::invalid(
            "Storage delete rejected: version check failed, or an object is missing or may not be deleted.",
        ),
        other => other.into(),
    }
}

#[cfg(test)]
mod tests;
