//! Storage objects. Game code may read and write all of them, whatever their permissions.

use muster_api::cursors;
use muster_domain::account::parse_user_id;
use muster_domain::ids::UserId;
use muster_domain::limits::STORAGE_PAGE_MAX;
use muster_domain::multi_update::{self, MultiUpdateRequest};
use muster_domain::ports::storage::{
    Authority, Object, ObjectAck, ObjectDelete, ObjectId, ObjectPosition, ReadPermission, WritePermission,
};
use muster_domain::ports::store::Store;
use muster_domain::storage::{self, WriteRequest};
use muster_domain::{Error, ErrorKind, Result};

use super::records::{Record, of_json, of_time, record};
use super::{
    AnswerShape, ArgumentRules, EffectClass, GoShape, HostFunction, JavaScriptShape, LuaShape, ROW, RecordType, Run,
    Type, field, maybe, not_yet, number, only, optional, required,
};
use crate::value::Value;

const STORAGE_READ_REQUEST: Type = Type::Record(&RecordType {
    name: "StorageReadRequest",
    fields: &[field("collection", Type::Text), field("key", Type::Text), maybe("user_id", Type::Text)],
});

pub(super) const STORAGE_WRITE_REQUEST: Type = Type::Record(&RecordType {
    name: "StorageWriteRequest",
    fields: &[
        field("collection", Type::Text),
        field("key", Type::Text),
        maybe("user_id", Type::Text),
        field("value", Type::Object),
        maybe("version", Type::Text),
        maybe("permission_read", Type::Number),
        maybe("permission_write", Type::Number),
    ],
});

pub(super) const STORAGE_DELETE_REQUEST: Type = Type::Record(&RecordType {
    name: "StorageDeleteRequest",
    fields: &[
        field("collection", Type::Text),
        field("key", Type::Text),
        maybe("user_id", Type::Text),
        maybe("version", Type::Text),
    ],
});

const STORAGE_OBJECT: Type = Type::Record(&RecordType {
    name: "StorageObject",
    fields: &[
        field("collection", Type::Text),
        field("key", Type::Text),
        field("user_id", Type::Text),
        field("value", Type::Object),
        field("version", Type::Text),
        field("permission_read", Type::Number),
        field("permission_write", Type::Number),
        field("create_time", Type::Number),
        field("update_time", Type::Number),
    ],
});

pub(super) const STORAGE_WRITE_ACK: Type = Type::Record(&RecordType {
    name: "StorageWriteAck",
    fields: &[
        field("collection", Type::Text),
        field("key", Type::Text),
        field("user_id", Type::Text),
        field("version", Type::Text),
        field("create_time", Type::Number),
        field("update_time", Type::Number),
    ],
});

/// Acknowledgements in Lua and JavaScript say no times, as in the original.
pub(super) const ACK_WITHOUT_TIMES: AnswerShape =
    AnswerShape { without: &["create_time", "update_time"], ..AnswerShape::BY_RULE };

/// Owners and versions of objects may be left out, but not be empty, in JavaScript.
pub(super) const OWNER_NOT_EMPTY: ArgumentRules =
    ArgumentRules { members_not_empty: &["user_id", "version"], ..ArgumentRules::BY_RULE };

/// The number of objects in a page whose length is not given.
const LIST_LEN_DEFAULT: f64 = 100.0;

/// Limits of a page, whatever length was asked for. A page that they cut short has a cursor.
const LIST_LEN_MAX: usize = 10_000;
const LIST_BYTES_MAX: usize = 8 << 20;

pub(super) static FUNCTIONS: &[HostFunction] = &[
    HostFunction {
        name: "storage_read",
        doc: "Reads objects. Each is named by collection, key and user_id; an object named without user_id is the \
              server's own.",
        parameters: &[required("object_ids", Type::List(&STORAGE_READ_REQUEST))],
        results: &[only(Type::List(&STORAGE_OBJECT))],
        answers: "the objects that exist, each with collection, key, user_id, value, version, permission_read, \
                 permission_write, create_time, update_time",
        errors: &[(ErrorKind::ResourceExhausted, "the objects are too large to be read at once")],
        effect: EffectClass::Reads,
        javascript: JavaScriptShape::taking(OWNER_NOT_EMPTY),
        go: GoShape::arguments(&[("object_ids", "reads")]),
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let id = |mut id: Record| Ok((id.text("collection")?, id.text("key")?, id.text("user_id")?));
                let ids = Record::list(arguments.any(), "object ids")?.into_iter().map(id).collect::<Result<_>>()?;
                let objects = storage::read(&*host.store, Authority::Server, ids).await?;
                Ok(Value::List(objects.into_iter().map(of_object).collect()))
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "storage_write",
        doc: "Writes objects, all or none. Each has collection, key, user_id and value (a table), and may have \
              version, permission_read and permission_write.",
        parameters: &[required("objects", Type::List(&STORAGE_WRITE_REQUEST))],
        results: &[only(Type::List(&STORAGE_WRITE_ACK))],
        answers: "collection, key, user_id and version of each object, in the order of the request",
        effect: EffectClass::WritesKeyed,
        lua: LuaShape::answering(ACK_WITHOUT_TIMES),
        javascript: JavaScriptShape {
            arguments: ArgumentRules { null_is_absent: &["user_id", "version"], ..OWNER_NOT_EMPTY },
            ..JavaScriptShape::with_tables(ACK_WITHOUT_TIMES)
        },
        go: GoShape { error: "rejected", ..GoShape::arguments(&[("objects", "writes")]) },
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let objects = Record::list(arguments.any(), "objects")?;
                let writes = objects.into_iter().map(to_write).collect::<Result<_>>()?;
                let request = MultiUpdateRequest { writes, ..MultiUpdateRequest::default() };
                let made = multi_update::run(&host.keyed_writes(), &*host.entropy, request, host.stamp()).await?;
                Ok(Value::List(made.acks.into_iter().map(of_ack).collect()))
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "storage_delete",
        doc: "Deletes objects, all or none. Each is named by collection, key and user_id, and may have the version \
              that it must be at.",
        parameters: &[required("object_ids", Type::List(&STORAGE_DELETE_REQUEST))],
        effect: EffectClass::WritesKeyed,
        javascript: JavaScriptShape::taking(OWNER_NOT_EMPTY),
        go: GoShape { error: "rejected", ..GoShape::arguments(&[("object_ids", "deletes")]) },
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let objects = Record::list(arguments.any(), "object ids")?;
                let deletes = objects.into_iter().map(to_delete).collect::<Result<_>>()?;
                let request = MultiUpdateRequest { deletes, ..MultiUpdateRequest::default() };
                multi_update::run(&host.keyed_writes(), &*host.entropy, request, host.stamp()).await?;
                Ok(Value::Nil)
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "storage_list",
        doc: "Lists the objects of a collection: the objects of a user, or of all users if none is given. If a caller \
              is given, only objects that this player may read are listed.",
        parameters: &[
            optional("user_id", Type::Text),
            optional("collection", Type::Text),
            number("limit", LIST_LEN_DEFAULT),
            optional("cursor", Type::Text),
            optional("caller_id", Type::Text),
        ],
        results: &[field("objects", Type::List(&STORAGE_OBJECT)), maybe("cursor", Type::Text)],
        answers: "the objects, and the cursor of the next page if there is one; none without a collection",
        effect: EffectClass::Reads,
        lua: LuaShape::taking(ArgumentRules {
            required: &["limit"],
            no_numbers: &["collection"],
            ..ArgumentRules::BY_RULE
        }),
        javascript: JavaScriptShape::taking(ArgumentRules { not_empty: &["user_id"], ..ArgumentRules::BY_RULE }),
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let (user_id, collection) = (arguments.text()?, arguments.text()?);
                let (limit, cursor, caller) = (arguments.integer(), arguments.text()?, arguments.text()?);
                let authority = match caller.as_str() {
                    "" => Authority::Server,
                    caller => Authority::Client(parse_user_id(caller)?),
                };
                let after = cursors::read_storage(&cursor, &[&collection, &user_id])?;
                let limit = usize::try_from(limit.unwrap_or_default());
                let limit = limit.map_err(|_| Error::invalid("The limit must not be below 0."))?;
                let (objects, next) = match collection.as_str() {
                    "" => (Vec::new(), None),
                    collection => page(&*host.store, authority, (collection, &user_id), limit, after).await?,
                };
                let cursor = next.map(|next| Value::text(cursors::write_storage(&next, &[&collection, &user_id])));
                let objects = Value::List(objects.into_iter().map(of_object).collect());
                Ok(Value::Results(vec![objects, cursor.unwrap_or(Value::Nil)]))
            })
        }),
        ..ROW
    },
    not_yet("storage_index_list"),
    HostFunction { go: GoShape::by_hand("StorageWriteRetry"), ..not_yet("storage_write_retry") },
];

/// A page of a collection, of a user or of everybody. It is read in parts where it is longer than the store's pages.
async fn page(
    store: &dyn Store,
    authority: Authority,
    (collection, user_id): (&str, &str),
    limit: usize,
    after: Option<ObjectPosition>,
) -> Result<(Vec<Object>, Option<ObjectPosition>)> {
    let (mut objects, mut next, mut bytes) = (Vec::new(), after, 0);
    while objects.len() < limit.min(LIST_LEN_MAX) && bytes < LIST_BYTES_MAX {
        let len = (limit - objects.len()).min(STORAGE_PAGE_MAX as usize) as i32;
        let part = storage::list(store, authority, collection.to_owned(), user_id, Some(len), next).await?;
        bytes += part.0.iter().map(|object: &Object| object.value.len()).sum::<usize>();
        objects.extend(part.0);
        next = part.1;
        if next.is_none() {
            break;
        }
    }
    let is_empty = objects.is_empty();
    Ok((objects, next.filter(|_| !is_empty)))
}

fn owner(record: &mut Record) -> Result<UserId> {
    match record.text("user_id")?.as_str() {
        "" => Ok(UserId::SYSTEM),
        id => parse_user_id(id),
    }
}

/// Reads an object to write, with its owner.
pub(super) fn to_write(mut object: Record) -> Result<(UserId, WriteRequest)> {
    let owner = owner(&mut object)?;
    let value = object
        .object("value")?
        .ok_or_else(|| Error::invalid("expects the value of each object to be a table or object"))?;
    let request = WriteRequest {
        collection: object.text("collection")?,
        key: object.text("key")?,
        value,
        version: object.text("version")?,
        read: object.integer("permission_read")?,
        write: object.integer("permission_write")?,
    };
    Ok((owner, request))
}

/// Reads the id and version of an object to delete.
pub(super) fn to_delete(mut object: Record) -> Result<ObjectDelete> {
    let user_id = owner(&mut object)?;
    let id = ObjectId { collection: object.text("collection")?, key: object.text("key")?, user_id };
    Ok(ObjectDelete { id, version: object.text("version")? })
}

fn of_object(object: Object) -> Value {
    let read = match object.read {
        ReadPermission::None => 0.0,
        ReadPermission::Owner => 1.0,
        ReadPermission::Public => 2.0,
    };
    let write = match object.write {
        WritePermission::None => 0.0,
        WritePermission::Owner => 1.0,
    };
    record([
        ("key", Value::text(object.id.key)),
        ("collection", Value::text(object.id.collection)),
        ("user_id", Value::text(object.id.user_id.to_string())),
        ("version", Value::text(object.version)),
        ("permission_read", Value::Number(read)),
        ("permission_write", Value::Number(write)),
        ("create_time", of_time(object.create_time)),
        ("update_time", of_time(object.update_time)),
        ("value", of_json(&object.value)),
    ])
}

/// The acknowledgement of a written object.
pub(super) fn of_ack(ack: ObjectAck) -> Value {
    record([
        ("key", Value::text(ack.id.key)),
        ("collection", Value::text(ack.id.collection)),
        ("user_id", Value::text(ack.id.user_id.to_string())),
        ("version", Value::text(ack.version)),
        ("create_time", of_time(ack.create_time)),
        ("update_time", of_time(ack.update_time)),
    ])
}
