//! Positions of listings as the cursors that clients hold.

use muster_domain::account::parse_user_id;
use muster_domain::ports::storage::{ObjectPosition, ReadPermission};
use muster_domain::{Error, Result};
use muster_wire::cursor::{CursorError, CursorKind, CursorReader, CursorWriter};

/// The cursor of a place in a listing of storage objects; `filter` is the collection and the owner asked for.
pub(crate) fn write_storage(position: &ObjectPosition, filter: &[&str]) -> String {
    let read = match position.read {
        ReadPermission::None => 0,
        ReadPermission::Owner => 1,
        ReadPermission::Public => 2,
    };
    let cursor = CursorWriter::new(CursorKind::StorageObjects).number(read).text(&position.key);
    cursor.text(&position.user_id.to_string()).finish(filter)
}

/// The place of a cursor; `None` when there is no cursor.
///
/// Errors: `InvalidArgument` for one of another listing, or that was changed.
pub(crate) fn read_storage(cursor: &str, filter: &[&str]) -> Result<Option<ObjectPosition>> {
    if cursor.is_empty() {
        return Ok(None);
    }
    storage_position(cursor, filter).map(Some).map_err(|error| Error::invalid(sentence(error)))
}

fn storage_position(cursor: &str, filter: &[&str]) -> std::result::Result<ObjectPosition, CursorError> {
    let mut reader = CursorReader::open(cursor, CursorKind::StorageObjects, filter)?;
    let read = match reader.number()? {
        0 => ReadPermission::None,
        1 => ReadPermission::Owner,
        2 => ReadPermission::Public,
        _ => return Err(CursorError),
    };
    let key = reader.text()?;
    let user_id = parse_user_id(&reader.text()?).map_err(|_| CursorError)?;
    reader.end()?;
    Ok(ObjectPosition { read, key, user_id })
}

fn sentence(_: CursorError) -> &'static str {
    "The cursor is not valid for this listing. Start again without one."
}
