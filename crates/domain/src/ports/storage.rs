//! Storage objects: JSON documents by collection, key and owner.

use super::PortFuture;
use crate::ids::UserId;
use crate::time::Timestamp;

/// Who reads an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ReadPermission {
    /// The server alone (0).
    None,
    /// Its owner (1).
    Owner,
    /// Everyone (2).
    Public,
}

/// Who writes and deletes an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WritePermission {
    /// The server alone (0).
    None,
    /// Its owner (1).
    Owner,
}

/// The user or server that an operation runs for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Authority {
    /// A player: permissions apply.
    Client(UserId),
    /// The server: permissions do not.
    Server,
}

impl Authority {
    /// The player, if it is one.
    pub fn client(self) -> Option<UserId> {
        match self {
            Self::Client(user_id) => Some(user_id),
            Self::Server => None,
        }
    }
}

/// The condition of a write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Expected {
    /// The last write wins.
    Any,
    /// Only if there is no such object.
    Absent,
    /// Only if the present version is this one.
    Version(String),
}

/// The name of an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId {
    /// At most 128 bytes.
    pub collection: String,
    /// At most 128 bytes.
    pub key: String,
    /// The owner; the system user for the server's own objects.
    pub user_id: UserId,
}

/// One object to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectWrite {
    /// Where.
    pub id: ObjectId,
    /// A JSON object as text.
    pub value: String,
    /// md5 of `value` in lower-case hex, computed by the rules.
    pub version: String,
    /// When to write.
    pub expected: Expected,
    /// Who will read it.
    pub read: ReadPermission,
    /// Who will write it.
    pub write: WritePermission,
}

/// Outcome of the write of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectAck {
    /// Where.
    pub id: ObjectId,
    /// The version now stored.
    pub version: String,
    /// When the object was first written.
    pub create_time: Timestamp,
    /// When it last changed. A write of an identical value and permissions without a condition changes nothing.
    pub update_time: Timestamp,
}

/// One object to delete.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectDelete {
    /// Where.
    pub id: ObjectId,
    /// Only if the present version is this one; empty for any.
    pub version: String,
}

/// A stored object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Object {
    /// Where.
    pub id: ObjectId,
    /// A JSON object as text.
    pub value: String,
    /// md5 of the value as it was written.
    pub version: String,
    /// Who reads it.
    pub read: ReadPermission,
    /// Who writes it.
    pub write: WritePermission,
    /// First written.
    pub create_time: Timestamp,
    /// Last changed.
    pub update_time: Timestamp,
}

/// A page of a listing, in the order read permission, key, owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectQuery {
    /// Name of the collection.
    pub collection: String,
    /// One owner's objects only; else everyone's (for clients: the public ones).
    pub owner: Option<UserId>,
    /// Who asks.
    pub authority: Authority,
    /// 1 to 100 for clients.
    pub limit: u32,
    /// Continue behind this object.
    pub after: Option<ObjectPosition>,
}

/// A place in a listing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectPosition {
    /// Its read permission then.
    pub read: ReadPermission,
    /// Its key.
    pub key: String,
    /// Its owner.
    pub user_id: UserId,
}

/// Persistence of storage objects.
pub trait StorageStore {
    /// Writes all or none; acknowledgements in the order of the request. Two writes of one object in a batch
    /// apply in order. A client's writes are held to the quotas; by a count that others' writes make wrong for a while.
    ///
    /// Errors: `Rejected(Version | Permission)`; `Invalid` when an owner does not exist; `Exceeded`.
    fn write_objects<'a>(
        &'a self,
        authority: Authority,
        writes: &'a [ObjectWrite],
        now: Timestamp,
    ) -> PortFuture<'a, Vec<ObjectAck>>;

    /// Those of the objects that exist and that `authority` may read, each once, in no promised order.
    fn read_objects<'a>(&'a self, authority: Authority, ids: &'a [ObjectId]) -> PortFuture<'a, Vec<Object>>;

    /// A page, and whether more follow.
    fn list_objects<'a>(&'a self, query: &'a ObjectQuery) -> PortFuture<'a, (Vec<Object>, bool)>;

    /// Deletes all or none. For clients a missing object is a rejection, for the server it is nothing to do
    /// (unless a version was named).
    ///
    /// Errors: `Rejected(Version | Permission)`.
    fn delete_objects<'a>(&'a self, authority: Authority, deletes: &'a [ObjectDelete]) -> PortFuture<'a, ()>;
}
