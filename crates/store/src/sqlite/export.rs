//! All that is stored of one player on SQLite, as JSON by table.

use std::fmt::Write as _;

use muster_domain::{Subject, UserId};
use rusqlite::types::ValueRef;
use rusqlite::{Connection, Row};
use serde::de::IgnoredAny;
use uuid::Uuid;

use super::error::translate;
use super::sql::{Result, exists, statement};

/// The tables that have rows of players, each with the condition for one player's rows. ?1 is the player's id, ?2 the
/// id as text, ?3 the player's pseudonym.
const TABLES: &[(&str, &str)] = &[
    ("users", "id = ?1"),
    ("user_device", "user_id = ?1"),
    ("user_edge", "source_id = ?1 OR destination_id = ?1"),
    ("user_tombstone", "user_id = ?1"),
    ("users_notes", "user_id = ?1"),
    ("notification", "user_id = ?1 OR sender_id = ?1"),
    ("storage", "user_id = ?1"),
    ("message", "sender_id = ?1 OR (stream_mode = 4 AND (stream_subject = ?1 OR stream_descriptor = ?1))"),
    ("leaderboard_record", "owner_id = ?1"),
    ("wallet_ledger", "user_id = ?1"),
    ("groups", "creator_id = ?1"),
    ("group_edge", "source_id = ?1 OR destination_id = ?1"),
    ("purchase", "user_id = ?1"),
    ("subscription", "user_id = ?1"),
    ("console_audit_log", "instr(message, ?2) OR instr(metadata, ?2)"),
    ("muster_object_usage", "user_id = ?1"),
    ("muster_message_usage", "user_id = ?1"),
    ("muster_revocation", "subject = ?3"),
];

/// The only column that is left out: a stolen export must not help anyone to guess passwords.
const SECRET: (&str, &str) = ("users", "password");

/// Exports an account, see [`muster_domain::ports::accounts::AccountStore::export_account`].
pub(super) fn export_account(connection: &Connection, user_id: UserId) -> Result<Option<String>> {
    if !exists(connection, "SELECT 1 FROM users WHERE id = ?1", [user_id.0])? {
        return Ok(None);
    }
    let mut json = String::from("{");
    for (table, condition) in TABLES {
        // Every statement names all three parameters, so that one set of values fits all statements.
        let sql = format!("SELECT * FROM {table} WHERE ({condition}) AND ?1 || ?2 || ?3 IS NOT NULL");
        let mut rows = statement(connection, &sql)?;
        let columns: Vec<(String, Kind)> = rows
            .columns()
            .map(|column| (column.name().to_owned(), Kind::of(column.decl_type().unwrap_or_default())))
            .collect();
        let subject = Uuid::from_bytes(Subject::from(user_id).0);
        let mut rows = rows.query((user_id.0, user_id.to_string(), subject)).map_err(translate)?;
        let mut members = Vec::new();
        while let Some(row) = rows.next().map_err(translate)? {
            members.push(row_object(table, &columns, row)?);
        }
        if !members.is_empty() {
            let separator = if json.len() > 1 { "," } else { "" };
            // Writing to a string cannot fail.
            let _ = write!(json, "{separator}{}:[{}]", quoted(table), members.join(","));
        }
    }
    json.push('}');
    Ok(Some(json))
}

fn row_object(table: &str, columns: &[(String, Kind)], row: &Row<'_>) -> Result<String> {
    let mut object = String::from("{");
    for (index, (name, kind)) in columns.iter().enumerate() {
        if (table, name.as_str()) == SECRET {
            continue;
        }
        let value = kind.json(row.get_ref(index).map_err(translate)?);
        let separator = if object.len() > 1 { "," } else { "" };
        let _ = write!(object, "{separator}{}:{value}", quoted(name));
    }
    object.push('}');
    Ok(object)
}

/// The type of a column's values, by the first word of its declared type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Uuid,
    Time,
    Json,
    Boolean,
    Plain,
}

impl Kind {
    fn of(declared: &str) -> Self {
        match declared.split(' ').next() {
            Some("UUID") => Self::Uuid,
            Some("TIME") => Self::Time,
            Some("JSON") => Self::Json,
            Some("BOOLEAN") => Self::Boolean,
            _ => Self::Plain,
        }
    }

    fn json(self, value: ValueRef<'_>) -> String {
        match (self, value) {
            (_, ValueRef::Null) => "null".to_owned(),
            (Self::Boolean, ValueRef::Integer(value)) => (value != 0).to_string(),
            (Self::Time, ValueRef::Integer(micros)) => quoted(&crate::time::rfc3339(micros)),
            (_, ValueRef::Integer(value)) => value.to_string(),
            (_, ValueRef::Real(value)) => value.to_string(),
            (Self::Json, ValueRef::Text(text)) if serde_json::from_slice::<IgnoredAny>(text).is_ok() => {
                String::from_utf8_lossy(text).into_owned()
            }
            (_, ValueRef::Text(text)) => quoted(&String::from_utf8_lossy(text)),
            (Self::Uuid, ValueRef::Blob(bytes)) => {
                quoted(&Uuid::from_slice(bytes).map(|id| id.to_string()).unwrap_or_default())
            }
            (_, ValueRef::Blob(bytes)) => quoted(&bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>()),
        }
    }
}

fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
