//! Rules about storage objects that both databases share: permissions, versions, and numbers in columns.

use muster_domain::UserId;
use muster_domain::ports::storage::{
    Authority, Expected, ObjectAck, ObjectDelete, ObjectId, ObjectQuery, ObjectWrite, ReadPermission, WritePermission,
};
use muster_domain::ports::store::{Rejection, StoreError};
use muster_domain::time::Timestamp;

/// The stored state of an object, without its name and value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) version: String,
    pub(crate) read: i16,
    pub(crate) write: i16,
    pub(crate) create_time: Timestamp,
    pub(crate) update_time: Timestamp,
}

/// The work that an allowed request needs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Decision {
    /// No change: the stored object is as requested.
    Keep,
    /// The object is written or deleted.
    Write,
}

/// Decides whether `write` is allowed while `present` is stored, and whether the write changes anything.
///
/// # Errors
/// `Rejected(Version)` when another version is stored, `Rejected(Permission)` when the caller may not write the object.
pub(crate) fn decide(
    authority: Authority,
    write: &ObjectWrite,
    present: Option<&State>,
) -> Result<Decision, StoreError> {
    check_owner(authority, &write.id)?;
    let Some(present) = present else {
        return match write.expected {
            Expected::Any | Expected::Absent => Ok(Decision::Write),
            Expected::Version(_) => Err(StoreError::Rejected(Rejection::Version)),
        };
    };
    match &write.expected {
        Expected::Absent => return Err(StoreError::Rejected(Rejection::Version)),
        Expected::Version(version) if *version != present.version => {
            return Err(StoreError::Rejected(Rejection::Version));
        }
        Expected::Version(_) | Expected::Any => {}
    }
    check_writable(authority, present)?;
    let same = present.version == write.version
        && present.read == read_code(write.read)
        && present.write == write_code(write.write);
    Ok(if same && write.expected == Expected::Any { Decision::Keep } else { Decision::Write })
}

/// Decides whether `delete` is allowed while `present` is stored, and whether there is an object to delete.
///
/// # Errors
/// `Rejected(Version)` when another version or no object is stored, `Rejected(Permission)` when the caller may not
/// delete the object.
pub(crate) fn decide_delete(
    authority: Authority,
    delete: &ObjectDelete,
    present: Option<&State>,
) -> Result<Decision, StoreError> {
    check_owner(authority, &delete.id)?;
    let Some(present) = present else {
        return match authority {
            Authority::Server if delete.version.is_empty() => Ok(Decision::Keep),
            _ => Err(StoreError::Rejected(Rejection::Version)),
        };
    };
    check_writable(authority, present)?;
    if !delete.version.is_empty() && delete.version != present.version {
        return Err(StoreError::Rejected(Rejection::Version));
    }
    Ok(Decision::Write)
}

/// Refuses players who write an object of another user.
pub(crate) fn check_owner(authority: Authority, id: &ObjectId) -> Result<(), StoreError> {
    match authority {
        Authority::Client(caller) if caller != id.user_id => Err(StoreError::Rejected(Rejection::Permission)),
        Authority::Client(_) | Authority::Server => Ok(()),
    }
}

fn check_writable(authority: Authority, present: &State) -> Result<(), StoreError> {
    match authority {
        Authority::Client(_) if present.write < write_code(WritePermission::Owner) => {
            Err(StoreError::Rejected(Rejection::Permission))
        }
        Authority::Client(_) | Authority::Server => Ok(()),
    }
}

/// The lowest read permission that lets `authority` see the objects of `owner`; `None` stands for objects of all users.
pub(crate) fn read_least(authority: Authority, owner: Option<UserId>) -> i16 {
    read_code(match authority {
        Authority::Server => ReadPermission::None,
        Authority::Client(caller) if owner == Some(caller) => ReadPermission::Owner,
        Authority::Client(_) => ReadPermission::Public,
    })
}

/// The position where a page begins. Queries compare it as one row value, so that an index leads straight to the page.
pub(crate) struct Start<'a> {
    pub(crate) read: i16,
    pub(crate) key: &'a str,
    pub(crate) user_id: UserId,
    /// Whether an object exactly at this position belongs to the page.
    pub(crate) inclusive: bool,
}

/// The position where the page of `query` begins. Objects that the query's authority may not see lie before it.
pub(crate) fn start(query: &ObjectQuery) -> Start<'_> {
    let least = read_least(query.authority, query.owner);
    match &query.after {
        Some(after) if read_code(after.read) >= least => {
            Start { read: read_code(after.read), key: &after.key, user_id: after.user_id, inclusive: false }
        }
        _ => Start { read: least, key: "", user_id: UserId::SYSTEM, inclusive: true },
    }
}

/// The acknowledgement of a write.
pub(crate) fn ack(write: &ObjectWrite, create_time: Timestamp, update_time: Timestamp) -> ObjectAck {
    ObjectAck { id: write.id.clone(), version: write.version.clone(), create_time, update_time }
}

/// The refusal of an object whose owner does not exist.
pub(crate) fn missing_owner() -> StoreError {
    StoreError::Invalid("The owner of the storage object does not exist.".to_owned())
}

/// The ids, sorted, without duplicates.
pub(crate) fn distinct(ids: &[ObjectId]) -> Vec<ObjectId> {
    let mut ids = ids.to_vec();
    ids.sort_unstable();
    ids.dedup();
    ids
}

/// The number of a read permission in its column.
pub(crate) fn read_code(permission: ReadPermission) -> i16 {
    match permission {
        ReadPermission::None => 0,
        ReadPermission::Owner => 1,
        ReadPermission::Public => 2,
    }
}

/// The number of a write permission in its column.
pub(crate) fn write_code(permission: WritePermission) -> i16 {
    match permission {
        WritePermission::None => 0,
        WritePermission::Owner => 1,
    }
}

/// The read permission of a number in its column. Unknown numbers are treated as SQL's comparisons treat them.
pub(crate) fn read_permission(code: i16) -> ReadPermission {
    match code {
        ..=0 => ReadPermission::None,
        1 => ReadPermission::Owner,
        2.. => ReadPermission::Public,
    }
}

/// The write permission of a number in its column, for unknown numbers as in [`read_permission`].
pub(crate) fn write_permission(code: i16) -> WritePermission {
    if code <= 0 { WritePermission::None } else { WritePermission::Owner }
}
