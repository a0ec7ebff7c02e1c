//! Statements of game code on PostgreSQL. They run on connections that nobody else uses, each as a transaction of its
//! own with the usual statement timeout, and the connection is reset behind each. Parameters are sent as text, and the
//! database reads each as the type that the statement expects at its place.

use std::error::Error;
use std::pin::pin;
use std::time::Instant;

use futures_util::TryStreamExt as _;
use futures_util::future::join;
use muster_domain::ports::PortFuture;
use muster_domain::ports::sql::{SqlRows, SqlStore, SqlValue};
use muster_domain::ports::store::StoreError;
use muster_domain::sql::{SQL_ROWS_BYTES_MAX, SQL_ROWS_MAX, bytes_of};
use muster_domain::time::Timestamp;
use tokio_postgres::error::{DbError, ErrorPosition, SqlState};
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{Format, FromSql, IsNull, Kind, ToSql, Type};
use tokio_postgres::{Client, Row};
use uuid::Uuid;

use super::PostgresStore;
use super::fault::{Fault, describe, translate};
use super::pool::PooledConnection;
use super::values::EPOCH_US;
use crate::metrics::{add, micros_since};

type Failed = Box<dyn Error + Sync + Send>;

const MICROS_PER_DAY: i64 = 86_400_000_000;

impl SqlStore for PostgresStore {
    fn sql_exec<'a>(&'a self, statement: &'a str, parameters: Vec<SqlValue>) -> PortFuture<'a, u64> {
        Box::pin(async move { Ok(self.run_sql(statement, parameters).await?.1) })
    }

    fn sql_query<'a>(&'a self, statement: &'a str, parameters: Vec<SqlValue>) -> PortFuture<'a, SqlRows> {
        Box::pin(async move { Ok(self.run_sql(statement, parameters).await?.0) })
    }
}

/// Ends the statement's transaction. A statement may have changed how its own commit is synced.
const COMMIT: &str = "SET LOCAL synchronous_commit = on; COMMIT";
const ROLLBACK: &str = "ROLLBACK";

/// Takes from a connection what a statement may have left: a transaction, cursors, settings, locks, temporary tables.
/// The statements are those of `DISCARD ALL`, but they keep the driver's prepared statements, and they go back to the
/// role that the connection began with.
const RESET: &str = "ROLLBACK; CLOSE ALL; SET SESSION AUTHORIZATION DEFAULT; RESET ROLE; RESET ALL; UNLISTEN *; \
                     SELECT pg_advisory_unlock_all(); DISCARD PLANS; DISCARD TEMP; DISCARD SEQUENCES";

/// The end of a statement that the database did not refuse.
enum End {
    /// The statement ran. The fields are its rows, and the number of rows that it changed or found.
    Whole(SqlRows, u64),
    /// The statement was not sent, because the parameter with this number has no value.
    Missing(usize),
    /// The statement found more rows than are allowed; the rest of the rows is still under way.
    TooMany,
}

impl PostgresStore {
    async fn run_sql(&self, statement: &str, parameters: Vec<SqlValue>) -> Result<(SqlRows, u64), StoreError> {
        let connection = self.game_pool.any().await?;
        let started = Instant::now();
        let ran = connection.with_client(async |client| run(client, statement, &parameters).await).await;
        let metrics = self.metrics();
        add(&metrics.game_statements, 1);
        add(&metrics.game_statement_us, micros_since(started));
        let (outcome, end) = match ran {
            Ok(End::Whole(rows, changed)) => (Ok((rows, changed)), COMMIT),
            Ok(End::Missing(number)) => {
                let told = format!("The statement has no value for its parameter ${number}.");
                (Err(StoreError::Invalid(told)), ROLLBACK)
            }
            Err(Fault::Database(error)) if error.as_db_error().is_some() => {
                let advice = advice_on(&connection, statement, &error).await;
                (Err(told(&error, advice)), ROLLBACK)
            }
            // The lease is dropped without `ended`: that closes the connection, and discards the rows still under way.
            Ok(End::TooMany) => {
                add(&metrics.game_connections_closed, 1);
                return Err(crate::too_many_rows());
            }
            Err(Fault::Database(error)) => {
                add(&metrics.game_connections_closed, 1);
                return Err(told(&error, None));
            }
            Err(fault) => {
                add(&metrics.game_connections_closed, 1);
                return Err(fault.into_store_error());
            }
        };
        let ended = end_statement(connection, end).await;
        outcome.and_then(|found| ended.map(|()| found))
    }
}

/// Ends the transaction of a statement, and resets its connection for the next.
async fn end_statement(connection: PooledConnection, end: &'static str) -> Result<(), StoreError> {
    let (ended, is_reset) = join(connection.control(end), connection.control(RESET)).await;
    if is_reset.is_ok() {
        connection.ended();
    } else {
        add(&connection.metrics().game_connections_closed, 1);
    }
    ended.map_err(|fault| match fault {
        Fault::Database(error) => told(&error, None),
        fault => fault.into_store_error(),
    })
}

async fn run(client: &Client, statement: &str, parameters: &[SqlValue]) -> Result<End, tokio_postgres::Error> {
    // Both leave in one packet.
    let (begun, prepared) = join(client.batch_execute("BEGIN"), client.prepare(statement)).await;
    begun?;
    let statement = prepared?;
    let wanted = statement.params().len();
    if parameters.len() < wanted {
        return Ok(End::Missing(parameters.len() + 1));
    }
    let columns = statement.columns().iter().map(|column| column.name().to_owned()).collect();
    let mut found = SqlRows { columns, rows: Vec::new() };
    let mut bytes = 0;
    let stream = client.query_raw(&statement, parameters.iter().take(wanted).map(Parameter)).await?;
    let mut stream = pin!(stream);
    while let Some(row) = stream.try_next().await? {
        let value = |index| row.try_get::<_, Cell>(index).map(|cell| cell.0);
        let values = (0..row.len()).map(value).collect::<Result<Vec<_>, _>>()?;
        bytes += values.iter().map(bytes_of).sum::<usize>();
        if found.rows.len() >= SQL_ROWS_MAX || bytes > SQL_ROWS_BYTES_MAX {
            return Ok(End::TooMany);
        }
        found.rows.push(values);
    }
    let changed = stream.rows_affected().unwrap_or(0);
    Ok(End::Whole(found, changed))
}

/// The error in the words of PostgreSQL, which the author of the statement reads, and an advice.
fn told(error: &tokio_postgres::Error, advice: Option<String>) -> StoreError {
    match (translate(error), error.as_db_error(), advice) {
        (StoreError::Unavailable(why), ..) => StoreError::Unavailable(why),
        (_, Some(error), Some(advice)) => {
            StoreError::Invalid(format!("{}{advice} ({})", error.message(), error.code().code()))
        }
        _ => StoreError::Invalid(describe(error)),
    }
}

/// Advice on a statement that failed. May end its transaction.
async fn advice_on(connection: &PooledConnection, statement: &str, error: &tokio_postgres::Error) -> Option<String> {
    if error.code() != Some(&SqlState::UNDEFINED_TABLE) {
        return advice(statement, error.as_db_error()?);
    }
    let tables = connection.with_client(async |client| {
        // A transaction that has failed reads nothing more.
        client.batch_execute(ROLLBACK).await?;
        client.query(TABLES, &[]).await
    });
    near_table(error, &tables.await.ok()?)
}

/// Advice of the database itself, and more for syntax errors.
fn advice(statement: &str, error: &DbError) -> Option<String> {
    if *error.code() != SqlState::SYNTAX_ERROR {
        return error.hint().map(|hint| format!(". {hint}"));
    }
    let Some(ErrorPosition::Original(position)) = error.position() else { return None };
    let place = usize::try_from(*position).ok()?.checked_sub(1)?;
    let at = statement.char_indices().nth(place).map_or(statement.len(), |(at, _)| at);
    let (before, rest) = (statement[..at].trim_end(), &statement[at..]);
    let is_other = |letter: char| !letter.is_alphanumeric() && letter != '_';
    let last = before.rfind(is_other).map_or(0, |at| at + before[at..].chars().next().map_or(0, char::len_utf8));
    let last = if last == before.len() { &before[before.len().saturating_sub(1)..] } else { &before[last..] };
    let end = rest.find(is_other).unwrap_or(rest.len());
    let first = if end == 0 { rest.get(..1).unwrap_or_default() } else { &rest[..end] };
    crate::advice::of_syntax(last, first)
}

/// Tables that a statement may name without a schema.
const TABLES: &str = "SELECT relname FROM pg_class WHERE relkind IN ('r', 'p', 'v', 'm') AND pg_table_is_visible(oid) \
                      AND relname NOT LIKE 'pg\\_%' LIMIT 1000";

fn near_table(error: &tokio_postgres::Error, tables: &[Row]) -> Option<String> {
    let missing = error.as_db_error()?.message().split('"').nth(1)?;
    let tables: Vec<String> = tables.iter().filter_map(|row| row.try_get(0).ok()).collect();
    crate::advice::of_name(missing, tables.iter().map(String::as_str))
}

#[derive(Debug)]
struct Parameter<'a>(&'a SqlValue);

impl ToSql for Parameter<'_> {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Failed> {
        match self.0 {
            SqlValue::Null => return Ok(IsNull::Yes),
            SqlValue::Flag(flag) => out.extend_from_slice(if *flag { b"true" } else { b"false" }),
            SqlValue::Integer(number) => out.extend_from_slice(number.to_string().as_bytes()),
            SqlValue::Number(number) => out.extend_from_slice(number.to_string().as_bytes()),
            SqlValue::Text(text) => out.extend_from_slice(text.as_bytes()),
            SqlValue::Bytes(bytes) => {
                out.extend_from_slice(b"\\x");
                bytes.iter().for_each(|byte| out.extend_from_slice(format!("{byte:02x}").as_bytes()));
            }
            SqlValue::Time(time) => out.extend_from_slice(time.seconds().to_string().as_bytes()),
        }
        Ok(IsNull::No)
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    fn encode_format(&self, _: &Type) -> Format {
        Format::Text
    }

    fn to_sql_checked(&self, ty: &Type, out: &mut BytesMut) -> Result<IsNull, Failed> {
        self.to_sql(ty, out)
    }
}

/// A value of a row, of any type.
struct Cell(SqlValue);

impl<'a> FromSql<'a> for Cell {
    fn from_sql(ty: &Type, raw: &'a [u8]) -> Result<Self, Failed> {
        let text = |bytes: &[u8]| Ok::<_, Failed>(SqlValue::Text(std::str::from_utf8(bytes)?.to_owned()));
        Ok(Self(match *ty {
            Type::BOOL => SqlValue::Flag(raw != [0]),
            Type::INT2 => SqlValue::Integer(i16::from_be_bytes(raw.try_into()?).into()),
            Type::INT4 => SqlValue::Integer(i32::from_be_bytes(raw.try_into()?).into()),
            Type::OID => SqlValue::Integer(u32::from_be_bytes(raw.try_into()?).into()),
            Type::INT8 => SqlValue::Integer(i64::from_be_bytes(raw.try_into()?)),
            Type::FLOAT4 => SqlValue::Number(f32::from_be_bytes(raw.try_into()?).into()),
            Type::FLOAT8 => SqlValue::Number(f64::from_be_bytes(raw.try_into()?)),
            Type::NUMERIC => SqlValue::Text(decimal(raw)?),
            Type::UUID => SqlValue::Text(Uuid::from_slice(raw)?.to_string()),
            // The first byte is the version of the binary form.
            Type::JSONB => text(raw.get(1..).unwrap_or_default())?,
            Type::BYTEA => SqlValue::Bytes(raw.to_vec()),
            Type::TIMESTAMPTZ | Type::TIMESTAMP => {
                let micros = i64::from_be_bytes(raw.try_into()?);
                match endless(micros, i64::MIN, i64::MAX) {
                    Some(word) => word,
                    None => moment(micros)?,
                }
            }
            Type::DATE => {
                let days = i32::from_be_bytes(raw.try_into()?);
                match endless(days, i32::MIN, i32::MAX) {
                    Some(word) => word,
                    None => moment(i64::from(days).checked_mul(MICROS_PER_DAY).ok_or(TOO_FAR)?)?,
                }
            }
            Type::VOID => SqlValue::Null,
            Type::TEXT
            | Type::VARCHAR
            | Type::BPCHAR
            | Type::NAME
            | Type::UNKNOWN
            | Type::JSON
            | Type::XML
            | Type::CHAR => text(raw)?,
            _ if matches!(ty.kind(), Kind::Enum(_)) || ty.name() == "citext" => text(raw)?,
            _ => return Err(format!("columns of type {ty} cannot be read: cast them to text").into()),
        }))
    }

    fn from_sql_null(_: &Type) -> Result<Self, Failed> {
        Ok(Self(SqlValue::Null))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// The error for dates that lie beyond all points in time of 64 bits of microseconds.
const TOO_FAR: &str = "a date is too far away to be read: cast it to text";

/// A point in time, from microseconds since 2000.
fn moment(micros: i64) -> Result<SqlValue, Failed> {
    Ok(SqlValue::Time(Timestamp(micros.checked_add(EPOCH_US).ok_or(TOO_FAR)?)))
}

/// The word for a point in time that never comes or has always been; PostgreSQL has the first and last number for them.
fn endless<T: PartialEq>(number: T, first: T, last: T) -> Option<SqlValue> {
    match number {
        number if number == last => Some(SqlValue::Text("infinity".to_owned())),
        number if number == first => Some(SqlValue::Text("-infinity".to_owned())),
        _ => None,
    }
}

/// The text of a `numeric`. Its binary form has two bytes for each number: the count of groups of four digits, the
/// place of the first group, the sign, the number of digits behind the point, and then the groups.
fn decimal(raw: &[u8]) -> Result<String, Failed> {
    const NEGATIVE: i16 = 0x4000;
    let mut numbers = raw.chunks_exact(2).map(|pair| i16::from_be_bytes([pair[0], pair[1]]));
    let mut next = || numbers.next().ok_or("a decimal is cut short");
    let (_, weight, sign, scale) = (next()?, next()?, next()?, next()?);
    match sign {
        0 | NEGATIVE => {}
        _ => {
            return match sign as u16 {
                0xC000 => Ok("NaN".to_owned()),
                0xD000 => Ok("Infinity".to_owned()),
                0xF000 => Ok("-Infinity".to_owned()),
                _ => Err("a decimal has an unknown sign".into()),
            };
        }
    }
    let groups: Vec<i16> = numbers.collect();
    let group =
        |place: i32| usize::try_from(i32::from(weight) - place).ok().and_then(|index| groups.get(index)).copied();
    let mut whole = String::new();
    for place in (0..=i32::from(weight).max(0)).rev() {
        whole.push_str(&format!("{:04}", group(place).unwrap_or(0)));
    }
    let whole = whole.trim_start_matches('0');
    let mut fraction = String::new();
    for place in 1..=(i32::from(scale) + 3) / 4 {
        fraction.push_str(&format!("{:04}", group(-place).unwrap_or(0)));
    }
    fraction.truncate(usize::try_from(scale)?);
    let (sign, whole) = (if sign == NEGATIVE { "-" } else { "" }, if whole.is_empty() { "0" } else { whole });
    Ok(if fraction.is_empty() { format!("{sign}{whole}") } else { format!("{sign}{whole}.{fraction}") })
}
