//! Storage objects of players. Rules are `domain::storage`'s.

use muster_domain::Result;
use muster_domain::ports::storage::{Authority, Object, ObjectAck, ReadPermission, WritePermission};
use muster_domain::storage::{self, WriteRequest};
use muster_wire::api;

use crate::context::Context;
use crate::cursors;
use crate::wire_time::{time, whole_time};

/// Writes objects of the caller's: all or none.
pub async fn write(context: &Context<'_>, request: api::WriteStorageObjectsRequest) -> Result<api::StorageObjectAcks> {
    let user_id = context.user()?;
    let writes = request.objects.into_iter().map(write_from_wire).collect();
    let store = &*context.app.store;
    let acks = storage::write(store, Authority::Client(user_id), user_id, writes, context.now).await?;
    Ok(api::StorageObjectAcks { acks: acks.into_iter().map(ack_to_wire).collect() })
}

/// Reads objects that the caller may read; the others are left out.
pub async fn read(context: &Context<'_>, request: api::ReadStorageObjectsRequest) -> Result<api::StorageObjects> {
    let authority = Authority::Client(context.user()?);
    let ids = request.object_ids.into_iter().map(|id| (id.collection, id.key, id.user_id)).collect();
    let objects = storage::read(&*context.app.store, authority, ids).await?;
    Ok(api::StorageObjects { objects: objects.into_iter().map(object_to_wire).collect() })
}

/// Deletes objects of the caller's: all or none.
pub async fn delete(context: &Context<'_>, request: api::DeleteStorageObjectsRequest) -> Result<()> {
    let user_id = context.user()?;
    let ids = request.object_ids.into_iter().map(|id| (id.collection, id.key, id.version)).collect();
    storage::delete(&*context.app.store, Authority::Client(user_id), user_id, ids).await
}

/// A page of a collection: of one owner, or of everyone's public objects.
pub async fn list(context: &Context<'_>, request: api::ListStorageObjectsRequest) -> Result<api::StorageObjectList> {
    let authority = Authority::Client(context.user()?);
    let api::ListStorageObjectsRequest { user_id: owner, collection, limit, cursor } = request;
    let after = cursors::read_storage(&cursor, &[&collection, &owner])?;
    let (objects, next) =
        storage::list(&*context.app.store, authority, collection.clone(), &owner, limit, after).await?;
    Ok(api::StorageObjectList {
        objects: objects.into_iter().map(object_to_wire).collect(),
        cursor: next.map(|next| cursors::write_storage(&next, &[&collection, &owner])).unwrap_or_default(),
    })
}

fn write_from_wire(object: api::WriteStorageObject) -> WriteRequest {
    WriteRequest {
        collection: object.collection,
        key: object.key,
        value: object.value,
        version: object.version,
        read: object.permission_read,
        write: object.permission_write,
    }
}

fn ack_to_wire(ack: ObjectAck) -> api::StorageObjectAck {
    api::StorageObjectAck {
        collection: ack.id.collection,
        key: ack.id.key,
        version: ack.version,
        user_id: ack.id.user_id.to_string(),
        create_time: Some(time(ack.create_time)),
        update_time: Some(time(ack.update_time)),
    }
}

fn object_to_wire(object: Object) -> api::StorageObject {
    api::StorageObject {
        collection: object.id.collection,
        key: object.id.key,
        user_id: object.id.user_id.to_string(),
        value: object.value,
        version: object.version,
        permission_read: match object.read {
            ReadPermission::None => 0,
            ReadPermission::Owner => 1,
            ReadPermission::Public => 2,
        },
        permission_write: match object.write {
            WritePermission::None => 0,
            WritePermission::Owner => 1,
        },
        create_time: Some(whole_time(object.create_time)),
        update_time: Some(whole_time(object.update_time)),
    }
}
