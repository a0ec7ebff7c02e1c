//! Statements of game code, on a thread and a connection of their own. They are written for PostgreSQL, and `dialect`
//! translates them. Statements that are not allowed are refused while SQLite prepares them. Statements that take too
//! long are interrupted, and the writer's batch is not affected. A statement that writes stops the writer for no longer
//! than [`WRITE_TIME_MAX`] and what one call of a function may take: so its values are shorter.
//!
//! The thread does not take the gate of the checkpoints, because the writer would have to wait for it. So the log
//! cannot start over while a statement uses an older snapshot. After each statement that writes, the writer is asked
//! for an empty batch: then the writer finishes checkpoints although nobody else writes.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use muster_domain::ports::PortFuture;
use muster_domain::ports::sql::{SqlRows, SqlStore, SqlValue};
use muster_domain::ports::store::StoreError;
use muster_domain::sql::{SQL_ROWS_BYTES_MAX, SQL_ROWS_MAX, SQL_STATEMENT_BYTES_MAX, bytes_of};
use rusqlite::hooks::{AuthAction, AuthContext, Authorization};
use rusqlite::limits::Limit;
use rusqlite::{Connection, Statement};

use super::dialect::{Dialect, INTERRUPTED, Run, Translation, Untranslated, of_parameter, of_result};
use super::error::translate;
use super::job::{BoxedJob, job};
use super::linear::replace_functions;
use super::queue::Queue;
use super::{SqliteStore, after_this_turn, received, refusal};
use crate::metrics::{add, micros_since};

/// Longest time of a statement that only reads.
const READ_TIME_MAX: Duration = Duration::from_secs(5);

/// Longest time of a statement that writes, with its wait for the writer.
const WRITE_TIME_MAX: Duration = Duration::from_secs(1);

/// Longest text or blob, in bytes; longer ones are an error.
const VALUE_BYTES_MAX: i32 = 16 << 20;

/// Longest text, blob or row of a statement that writes, in bytes; longer ones are an error.
const WRITE_VALUE_BYTES_MAX: i32 = 1 << 20;

/// Number of SQLite's steps between two looks at the clock. A call of a function is one step, so the functions look at
/// the clock themselves.
const STEPS_PER_LOOK: i32 = 1_000;

/// Most statements that may wait.
pub(super) const GUESTS_WAITING_MAX: usize = 1_024;

/// Page cache of the connection, KiB.
pub(super) const GUEST_CACHE_KB: u32 = 2 * 1024;

/// Stack of the thread. The deepest statement that is not refused takes a small part of it.
pub(super) const GUEST_STACK_BYTES: usize = 32 << 20;

/// Statements that SQLite keeps prepared.
const PREPARED_MAX: usize = 64;

/// The pragmas that describe tables. The translation reads them; game code itself sends none.
const PRAGMAS: [&str; 4] = ["table_xinfo", "foreign_key_list", "index_list", "index_info"];

/// State that the thread shares with those who ask it.
pub(super) struct Hands {
    run: Arc<Run>,
    /// Only the thread locks it, so it waits for nobody.
    dialect: Mutex<Dialect>,
}

/// The things that the thread owns or shares.
pub(super) struct Guest {
    pub(super) connection: Connection,
    pub(super) queue: Arc<Queue<BoxedJob>>,
}

impl Guest {
    /// Runs until the queue is closed and empty.
    pub(super) fn run(self) {
        let _working = self.queue.work();
        let mut taken = Vec::with_capacity(1);
        while self.queue.take(&mut taken, 1) {
            for mut job in taken.drain(..) {
                job.run(&self.connection);
                job.answer(None);
            }
        }
    }
}

/// Limits a connection to the things that game code may do, and adds the functions of translated statements.
pub(super) fn bind_hands(connection: &mut Connection) -> rusqlite::Result<Hands> {
    connection.pragma_update(None, "temp_store", "default")?;
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, VALUE_BYTES_MAX)?;
    connection.set_limit(Limit::SQLITE_LIMIT_SQL_LENGTH, SQL_STATEMENT_BYTES_MAX as i32)?;
    connection.set_limit(Limit::SQLITE_LIMIT_ATTACHED, 0)?;
    connection.authorizer(Some(authorize))?;
    let dialect = Dialect::new(connection)?;
    let run = Arc::clone(&dialect.run);
    connection.progress_handler(STEPS_PER_LOOK, Some(move || run.is_over()))?;
    connection.set_prepared_statement_cache_capacity(PREPARED_MAX);
    replace_functions(connection, &dialect.run, VALUE_BYTES_MAX as usize)?;
    Ok(Hands { run: Arc::clone(&dialect.run), dialect: Mutex::new(dialect) })
}

/// Refuses statements that would reach other files, the connection's own state, Muster's own tables, or that create
/// code which the writer would run.
fn authorize(context: AuthContext<'_>) -> Authorization {
    let is_ours = |name: &str| name.len() > 7 && name.as_bytes()[..7].eq_ignore_ascii_case(b"muster_");
    let is_allowed = match context.action {
        AuthAction::Select | AuthAction::Read { .. } | AuthAction::Recursive => true,
        AuthAction::Insert { table_name } | AuthAction::Delete { table_name } => !is_ours(table_name),
        AuthAction::Update { table_name, .. } => !is_ours(table_name),
        AuthAction::CreateTable { table_name } | AuthAction::DropTable { table_name } => !is_ours(table_name),
        AuthAction::CreateIndex { table_name, .. } | AuthAction::DropIndex { table_name, .. } => !is_ours(table_name),
        AuthAction::AlterTable { table_name, .. } => !is_ours(table_name),
        AuthAction::CreateView { .. } | AuthAction::DropView { .. } => true,
        AuthAction::Analyze { .. } | AuthAction::Reindex { .. } => true,
        AuthAction::Pragma { pragma_name: "schema_version", pragma_value } => pragma_value.is_none(),
        AuthAction::Pragma { pragma_name, .. } => PRAGMAS.contains(&pragma_name),
        AuthAction::Function { function_name } => !matches!(function_name, "load_extension" | "fts3_tokenizer"),
        _ => false,
    };
    if is_allowed { Authorization::Allow } else { Authorization::Deny }
}

impl SqliteStore {
    async fn as_guest(&self, statement: &str, parameters: Vec<SqlValue>) -> Result<Outcome, StoreError> {
        let (statement, hands) = (statement.to_owned(), Arc::clone(&self.inner.hands));
        let metrics = Arc::clone(&self.inner.metrics);
        let (job, answer) = job(move |connection| {
            let started = Instant::now();
            let outcome = run(connection, &hands, &statement, &parameters);
            hands.run.allow(None);
            add(&metrics.game_statements, 1);
            add(&metrics.game_statement_us, micros_since(started));
            let is_interrupted = matches!(&outcome, Err(StoreError::Invalid(told)) if told == INTERRUPTED);
            add(&metrics.game_statements_interrupted, u64::from(is_interrupted));
            outcome
        });
        let wake = self.inner.guests.push(job).map_err(|refused| {
            add(&self.inner.metrics.game_queue_full, 1);
            refusal(refused)
        })?;
        after_this_turn(wake).await;
        let outcome = received(answer).await?;
        if outcome.has_written {
            self.write(|_| Ok(())).await?;
        }
        Ok(outcome)
    }
}

impl SqlStore for SqliteStore {
    fn sql_exec<'a>(&'a self, statement: &'a str, parameters: Vec<SqlValue>) -> PortFuture<'a, u64> {
        Box::pin(async move { Ok(self.as_guest(statement, parameters).await?.changed) })
    }

    fn sql_query<'a>(&'a self, statement: &'a str, parameters: Vec<SqlValue>) -> PortFuture<'a, SqlRows> {
        Box::pin(async move { Ok(self.as_guest(statement, parameters).await?.rows) })
    }
}

struct Outcome {
    rows: SqlRows,
    /// Number of rows that the statement changed; for a statement that only reads, number of rows that it found.
    changed: u64,
    has_written: bool,
}

fn run(
    connection: &Connection,
    hands: &Hands,
    statement: &str,
    parameters: &[SqlValue],
) -> Result<Outcome, StoreError> {
    hands.run.allow(Some(READ_TIME_MAX));
    let translation = {
        let mut dialect = hands.dialect.lock().unwrap_or_else(PoisonError::into_inner);
        dialect.translation(connection, statement).map_err(untranslated)?
    };
    hands.run.begin();
    let mut statement = connection.prepare_cached(&translation.sql).map_err(told)?;
    let has_written = !statement.readonly();
    let (time, bytes_max) =
        if has_written { (WRITE_TIME_MAX, WRITE_VALUE_BYTES_MAX) } else { (READ_TIME_MAX, VALUE_BYTES_MAX) };
    hands.run.allow(Some(time));
    connection.set_limit(Limit::SQLITE_LIMIT_LENGTH, bytes_max).map_err(told)?;
    bind(&mut statement, &translation, parameters)?;
    let columns = &translation.columns;
    let before = connection.total_changes();
    let mut found = SqlRows { columns: columns.iter().map(|(name, _)| name.clone()).collect(), rows: Vec::new() };
    let mut bytes = 0;
    let mut rows = statement.raw_query();
    while let Some(row) = rows.next().map_err(|error| violation(hands, &translation, error))? {
        let mut values = Vec::with_capacity(columns.len());
        for (index, (_, kind)) in columns.iter().enumerate() {
            let value = of_result(row.get_ref(index).map_err(told)?, *kind);
            values.push(value.map_err(|refusal| StoreError::Invalid(refusal.to_string()))?);
        }
        bytes += values.iter().map(bytes_of).sum::<usize>();
        if found.rows.len() >= SQL_ROWS_MAX || bytes > SQL_ROWS_BYTES_MAX {
            return Err(crate::too_many_rows());
        }
        found.rows.push(values);
    }
    drop(rows);
    let changed = match (has_written, connection.total_changes() == before) {
        (true, true) => 0,
        (true, false) => connection.changes(),
        (false, _) => found.rows.len() as u64,
    };
    Ok(Outcome { rows: found, changed, has_written })
}

fn untranslated(error: Untranslated) -> StoreError {
    match error {
        Untranslated::Refused(refusal) => StoreError::Invalid(refusal.to_string()),
        Untranslated::Failed(error) => told(error),
    }
}

/// Gives each parameter its value, in the form of its type. Parameters that the statement does not have are ignored.
fn bind(statement: &mut Statement<'_>, translation: &Translation, parameters: &[SqlValue]) -> Result<(), StoreError> {
    for (index, kind) in translation.parameters.iter().enumerate() {
        let number = index + 1;
        let Some(value) = parameters.get(index) else {
            return Err(StoreError::Invalid(format!("The statement has no value for its parameter ${number}.")));
        };
        let value = of_parameter(value, *kind)
            .map_err(|refusal| StoreError::Invalid(format!("The parameter ${number}: {refusal}")))?;
        if number <= statement.parameter_count() {
            statement.raw_bind_parameter(number, value).map_err(told)?;
        }
    }
    Ok(())
}

/// The error of a running statement. For violated constraints it has PostgreSQL's words.
fn violation(hands: &Hands, translation: &Translation, error: rusqlite::Error) -> StoreError {
    let rusqlite::Error::SqliteFailure(failure, Some(message)) = &error else { return told(error) };
    if failure.code != rusqlite::ErrorCode::ConstraintViolation {
        return told(error);
    }
    let dialect = hands.dialect.lock().unwrap_or_else(PoisonError::into_inner);
    dialect.violation(translation, message).map_or_else(|| told(error), StoreError::Invalid)
}

/// The error in the words of SQLite, which the author of the statement reads.
fn told(error: rusqlite::Error) -> StoreError {
    if error.sqlite_error_code() == Some(rusqlite::ErrorCode::OperationInterrupted) {
        return StoreError::Invalid(INTERRUPTED.to_owned());
    }
    let text = error.to_string();
    match translate(error) {
        StoreError::Unavailable(why) => StoreError::Unavailable(why),
        _ => StoreError::Invalid(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn functions_look_at_the_clock_themselves() {
        let mut connection = Connection::open_in_memory().unwrap();
        connection.execute_batch("CREATE TABLE t (a)").unwrap();
        let hands = bind_hands(&mut connection).unwrap();
        let check = |sql: &str, expect: Result<usize, StoreError>| {
            hands.run.allow(Some(Duration::ZERO));
            assert_eq!(connection.execute(sql, []).map_err(told), expect, "{sql}");
        };
        // This statement has too few steps for a look at the clock.
        check("INSERT INTO t SELECT 'a'", Ok(1));
        for call in ["pg_reverse('a')", "pg_like('a', 'a', NULL, 1)", "pg_concat('a')", "replace('a', 'b', 'c')"] {
            check(&format!("INSERT INTO t SELECT {call}"), Err(StoreError::Invalid(INTERRUPTED.to_owned())));
        }
    }
}
