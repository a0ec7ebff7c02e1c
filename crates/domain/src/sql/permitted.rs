//! The statements that game code may send, by their words. A statement is refused if it would outlast its transaction
//! in the connection, reach the server's own tables, other sessions or the database's settings, or run statements that
//! these rules cannot see: texts that a function runs, bodies of functions, and code that runs when another connection
//! changes a row.

use super::ORIGINAL_TABLES;
use super::words::{Word, words};
use crate::near::nearest;
use crate::{Error, Result};

/// First words of statements.
const VERBS: [&str; 18] = [
    "select", "insert", "update", "delete", "with", "values", "table", "merge", "replace", "create", "alter", "drop",
    "truncate", "explain", "analyze", "comment", "refresh", "call",
];

/// Kinds of things that game code makes, alters and drops.
const KINDS: [&str; 8] = ["table", "index", "view", "sequence", "type", "domain", "schema", "statistics"];

/// Words between a verb and the kind.
const BEFORE_KIND: [&str; 10] =
    ["or", "replace", "global", "local", "temp", "temporary", "unlogged", "recursive", "unique", "materialized"];

/// Beginnings of names that are the server's own, and the database's own.
const OURS: &str = "muster_";
const THE_DATABASES: &str = "pg_";

/// Functions of the database that begin with `pg_` and neither change nor reach anything beyond the statement.
const HARMLESS: [&str; 19] = [
    "pg_advisory_xact_lock",
    "pg_advisory_xact_lock_shared",
    "pg_backend_pid",
    "pg_column_size",
    "pg_database_size",
    "pg_get_constraintdef",
    "pg_get_expr",
    "pg_get_indexdef",
    "pg_get_serial_sequence",
    "pg_get_viewdef",
    "pg_indexes_size",
    "pg_is_in_recovery",
    "pg_relation_size",
    "pg_size_pretty",
    "pg_sleep",
    "pg_table_size",
    "pg_total_relation_size",
    "pg_try_advisory_xact_lock",
    "pg_typeof",
];

/// Functions that change the connection, reach files, or run a text as a statement.
const HARMFUL: [&str; 9] = [
    "connectby",
    "lo_export",
    "lo_import",
    "set_config",
    "setseed",
    "ts_rewrite",
    "ts_stat",
    "xpath_table",
    "xslt_process",
];

/// Beginnings of names of further such functions.
const HARMFUL_BEGINNINGS: [&str; 8] = [
    "binary_upgrade_",
    "crosstab",
    "cursor_to_xml",
    "database_to_xml",
    "dblink",
    "query_to_xml",
    "schema_to_xml",
    "table_to_xml",
];

/// Checks a statement.
///
/// # Errors
/// `InvalidArgument` with a sentence that says what is refused.
pub(super) fn check(statement: &str) -> Result<()> {
    let words = words(statement)?;
    let begin = words.iter().position(|word| !matches!(word, Word::Sign('(' | ';'))).unwrap_or(words.len());
    let words = &words[begin..];
    let verb = match words.first() {
        Some(Word::Name(name)) => name.as_str(),
        _ => "",
    };
    if !VERBS.contains(&verb) {
        let (near, verb) = (nearest(verb, VERBS), verb.to_ascii_uppercase());
        return Err(Error::invalid(match near.map(str::to_ascii_uppercase) {
            Some(near) => format!("syntax error: no statement begins with \"{verb}\": did you mean {near}? (42601)"),
            None => {
                format!("Game code sends no statement that begins with \"{verb}\": each is a transaction of its own.")
            }
        }));
    }
    check_names(words)?;
    match verb {
        "create" | "alter" | "drop" => check_definition(verb, &words[1..]),
        _ => Ok(()),
    }
}

fn check_names(words: &[Word<'_>]) -> Result<()> {
    let changes_rows = words.iter().enumerate().any(|(at, word)| {
        // `FOR UPDATE` locks rows, and does not change them.
        let is_lock = at > 0 && ["for", "key"].iter().any(|before| words[at - 1].is(before));
        ["insert", "delete", "merge", "truncate"].iter().any(|verb| word.is(verb)) || (word.is("update") && !is_lock)
    });
    for (at, word) in words.iter().enumerate() {
        let Some(name) = word.name() else { continue };
        let next = words.get(at + 1);
        let is_call = next == Some(&Word::Sign('('));
        let is_schema = name == "pg_catalog" && next == Some(&Word::Sign('.'));
        let is_harmful = HARMFUL.contains(&name) || HARMFUL_BEGINNINGS.iter().any(|begin| name.starts_with(begin));
        if name.get(..OURS.len()).is_some_and(|begin| begin.eq_ignore_ascii_case(OURS)) {
            return Err(Error::invalid(format!(
                "Names that begin with {OURS} are the server's own: game code does not use {name}."
            )));
        }
        if is_harmful || (is_call && name.starts_with(THE_DATABASES) && !HARMLESS.contains(&name)) {
            return Err(Error::invalid(format!("Game code does not call {name}: it reaches beyond its statement.")));
        }
        if changes_rows && name.starts_with(THE_DATABASES) && !is_call && !is_schema {
            return Err(Error::invalid(format!(
                "Names that begin with {THE_DATABASES} are the database's own: a statement that changes rows does not \
                 use {name}."
            )));
        }
        if name == "setval" && is_call && !sets_a_named_sequence(&words[at + 2..]) {
            return Err(Error::invalid(
                "setval names its sequence as a text: setval('name', …) or setval(pg_get_serial_sequence('table', \
                 'column'), …).",
            ));
        }
    }
    Ok(())
}

/// Whether the arguments of `setval` begin with a text that names a sequence of game code's own.
fn sets_a_named_sequence(arguments: &[Word<'_>]) -> bool {
    let is_own = |text: &str| !text.to_ascii_lowercase().contains(OURS);
    match arguments {
        [Word::Text(text), Word::Sign(',' | ':'), ..] => is_own(text),
        [Word::Name(name), Word::Sign('('), Word::Text(table), Word::Sign(','), ..] => {
            name == "pg_get_serial_sequence" && is_own(table)
        }
        _ => false,
    }
}

/// Checks a statement that makes, alters or drops something; `words` are those behind the verb.
fn check_definition(verb: &str, words: &[Word<'_>]) -> Result<()> {
    let refuse = |what: &str| {
        let verb = verb.to_ascii_uppercase();
        Err(Error::invalid(format!(
            "Game code sends no {verb} {}: it makes tables, indexes, views, sequences, types and schemas, and an \
             operator makes the rest.",
            what.to_ascii_uppercase()
        )))
    };
    let is_before_kind = |word: &Word<'_>| BEFORE_KIND.iter().any(|before| word.is(before));
    let at = words.iter().position(|word| !is_before_kind(word)).unwrap_or(words.len());
    let kind = words.get(at).and_then(Word::name).unwrap_or_default();
    let is_schema_dropped = kind == "schema" && verb != "create";
    if !KINDS.contains(&kind) || is_schema_dropped || matches!(words.get(at), Some(Word::Quoted(_))) {
        return refuse(kind);
    }
    // The statement of a schema may have others within it.
    if let Some(Word::Name(inner)) = words.iter().find(|word| word.is("create") || word.is("grant")) {
        return refuse(&format!("{kind} with {inner} in it"));
    }
    let names = &words[at + 1..];
    if names.first().is_some_and(|word| word.is("all")) {
        return refuse(&format!("{kind} all"));
    }
    if verb == "alter" && names.windows(2).any(|pair| pair[0].is("owner") && pair[1].is("to")) {
        return refuse(&format!("{kind} of another owner"));
    }
    let changed = match (verb, kind) {
        ("alter", "table") => target(names).into_iter().collect(),
        ("drop", "table") => names.iter().filter_map(Word::name).collect(),
        _ => Vec::new(),
    };
    match changed.iter().find(|name| ORIGINAL_TABLES.contains(name)) {
        Some(name) => Err(Error::invalid(format!(
            "The table {name} is the server's own: game code changes its rows, and not its form."
        ))),
        None => Ok(()),
    }
}

/// The name of the table that `ALTER TABLE` changes, without its schema.
fn target<'a>(words: &'a [Word<'_>]) -> Option<&'a str> {
    let mut names = words.iter().skip_while(|word| ["if", "exists", "only"].iter().any(|before| word.is(before)));
    let mut name = names.next()?.name()?;
    while names.next() == Some(&Word::Sign('.')) {
        name = names.next()?.name()?;
    }
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn permitted(statements: &[&str]) {
        for statement in statements {
            assert_eq!(check(statement), Ok(()), "{statement}");
        }
    }

    #[track_caller]
    fn refused(word: &str, statements: &[&str]) {
        for statement in statements {
            let told = check(statement).err().map(|error| error.message.into_owned()).unwrap_or_default();
            assert!(told.contains(word), "{statement}: {told}");
        }
    }

    #[test]
    fn statements_of_games_pass() {
        permitted(&[
            "SELECT 1;",
            ";;  (select 1)",
            "-- why\n/* because */ insert into t values (1)",
            "/* /* SELECT */ BEGIN */ SELECT 1",
            "WITH a AS (SELECT 1) SELECT * FROM a",
            "VALUES(1)",
            "CALL settle(1)",
            "SELECT pg_sleep(0), pg_catalog.pg_typeof(1), pg_column_size(1), pg_advisory_xact_lock(1)",
            "SELECT tablename FROM pg_tables",
            "SELECT 'muster_effect', '; BEGIN', $$ SET $$, \"order\" FROM t FOR NO KEY UPDATE",
            "INSERT INTO t SELECT pg_catalog.now() ON CONFLICT (a) DO UPDATE SET a = 1",
            "SELECT * FROM pg_indexes FOR UPDATE",
            "SELECT setval('t_id_seq', 1), setval(pg_get_serial_sequence('t', 'id'), max(id)) FROM t",
            "CREATE TABLE IF NOT EXISTS t (a uuid REFERENCES users (id) ON DELETE CASCADE, type text)",
            "CREATE UNLOGGED TABLE t AS SELECT 1",
            "CREATE UNIQUE INDEX ON users (location)",
            "CREATE OR REPLACE TEMP VIEW v AS SELECT 1",
            "CREATE MATERIALIZED VIEW v AS SELECT * FROM users",
            "CREATE SCHEMA IF NOT EXISTS game",
            "CREATE TYPE mood AS ENUM ('sad')",
            "ALTER TABLE IF EXISTS ONLY game.t ADD COLUMN user_id uuid REFERENCES users (id)",
            "ALTER TABLE game.guild RENAME TO clan",
            "ALTER INDEX i RENAME TO j",
            "DROP TABLE t, game.u CASCADE",
            "DROP MATERIALIZED VIEW v",
            "TRUNCATE t",
            "REFRESH MATERIALIZED VIEW v",
            "EXPLAIN ANALYZE DELETE FROM t",
            "COMMENT ON TABLE t IS 'a'",
        ]);
    }

    #[test]
    fn statements_that_outlast_their_transaction_are_refused() {
        refused(
            "begins with",
            &[
                "",
                "BEGIN",
                "commit",
                "ROLLBACK",
                "END",
                "ABORT",
                "START TRANSACTION",
                "PREPARE TRANSACTION 'a'",
                "SAVEPOINT a",
                "SET x = 1",
                "RESET ALL",
                "LISTEN a",
                "DISCARD ALL",
                "DECLARE c CURSOR WITH HOLD FOR SELECT 1",
                "PRAGMA synchronous = off",
                "ATTACH 'x' AS y",
                "VACUUM INTO 'x'",
                "COPY t TO '/x'",
                "LOCK t",
                "PREPARE a AS x",
                "LOAD 'x'",
                "CHECKPOINT",
                "--",
                "/* SELECT */ BEGIN",
                "/* /* */ SELECT 1 */ BEGIN",
                "\u{a0}SELECT 1",
                "\"select\" 1",
                "12",
                "DO $$ BEGIN END $$",
                "GRANT ALL ON users TO PUBLIC",
                "REVOKE ALL ON users FROM CURRENT_USER",
                "REASSIGN OWNED BY a TO b",
            ],
        );
        refused("did you mean SELECT?", &["SELEC 1"]);
        refused("did you mean DELETE?", &["/* x */ delte from t"]);
        refused("comment without end", &["/* open", "SELECT 1 /* /* */"]);
        refused(
            "reaches beyond",
            &[
                "SELECT set_config('synchronous_commit', 'off', false)",
                "SELECT \"set_config\" ('a', 'b', false)",
                "SELECT pg_catalog . set_config /* */ ('a', 'b', false)",
                "INSERT INTO t VALUES (SET_CONFIG('a', 'b', true))",
                "CREATE TABLE t (a text DEFAULT set_config('a', 'b', false))",
                "SELECT pg_advisory_lock(1)",
                "SELECT pg_try_advisory_lock_shared(1)",
                "SELECT pg_advisory_unlock_all()",
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity",
                "SELECT pg_cancel_backend(1)",
                "SELECT pg_reload_conf()",
                "SELECT pg_read_file('/etc/passwd')",
                "SELECT query_to_xml('SELECT set_'||'config(1)', true, true, '')",
                "SELECT * FROM ts_stat('SELECT 1')",
                "SELECT dblink_exec('dbname=a', 'ALTER ROLE b')",
                "SELECT lo_import('/etc/passwd')",
                "EXPLAIN ANALYZE SELECT set_config('a', 'b', false)",
            ],
        );
        refused("without U&", &["SELECT U&\"set\\005fconfig\"('a', 'b', false)"]);
    }

    #[test]
    fn what_is_the_server_s_or_the_database_s_stays_so() {
        refused(
            "server's own",
            &[
                "DELETE FROM muster_effect",
                "SELECT * FROM public.\"muster_revocation\"",
                "WITH a AS (DELETE FROM MUSTER_TERM RETURNING 1) SELECT * FROM a",
                "CREATE VIEW v AS SELECT * FROM muster_term",
                "DROP TABLE t, muster_migration",
                "ALTER TABLE muster_term ADD COLUMN a int",
                "ALTER TABLE IF EXISTS public.users SET UNLOGGED",
                "ALTER TABLE ONLY \"users\" DROP COLUMN email",
                "DROP TABLE IF EXISTS public . storage CASCADE",
            ],
        );
        refused(
            "database's own",
            &[
                "UPDATE pg_settings SET setting = 'off' WHERE name = 'synchronous_commit'",
                "DELETE FROM pg_catalog.pg_authid",
                "WITH a AS (UPDATE \"pg_database\" SET datallowconn = false RETURNING 1) TABLE a",
                "INSERT INTO pg_db_role_setting VALUES (0, 0, '{}')",
            ],
        );
        refused("setval", &["SELECT setval('muster_revocation_sequence_seq', 1)", "SELECT setval('mus'||'ter_x', 1)"]);
        refused("setval", &["SELECT setval(E'muster\\137x', 1)", "SELECT setval(16399, 1)", "SELECT setval($1, 1)"]);
        refused(
            "an operator makes the rest",
            &[
                "ALTER ROLE muster SET default_transaction_read_only = on",
                "ALTER DATABASE game SET synchronous_commit = off",
                "ALTER SYSTEM SET fsync = off",
                "ALTER USER muster PASSWORD 'x'",
                "ALTER TABLE ALL IN TABLESPACE a SET TABLESPACE b",
                "ALTER TABLE t OWNER TO somebody",
                "ALTER SCHEMA public RENAME TO other",
                "ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO PUBLIC",
                "CREATE ROLE a SUPERUSER",
                "CREATE DATABASE a",
                "CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
                "CREATE OR REPLACE PROCEDURE p() LANGUAGE sql AS ''",
                "CREATE TRIGGER t AFTER INSERT ON users EXECUTE FUNCTION f()",
                "CREATE CONSTRAINT TRIGGER t AFTER INSERT ON users EXECUTE FUNCTION f()",
                "CREATE RULE r AS ON INSERT TO users DO INSTEAD NOTHING",
                "CREATE EVENT TRIGGER e ON ddl_command_start EXECUTE FUNCTION f()",
                "CREATE EXTENSION hstore",
                "CREATE OPERATOR + (FUNCTION = f)",
                "CREATE AGGREGATE a (int) (SFUNC = f, STYPE = int)",
                "CREATE CAST (int AS text) WITH FUNCTION f",
                "CREATE FOREIGN TABLE t () SERVER s",
                "CREATE SCHEMA s CREATE TABLE t (a int)",
                "CREATE SCHEMA s GRANT SELECT ON t TO PUBLIC",
                "DROP SCHEMA public CASCADE",
                "DROP OWNED BY muster",
                "DROP EXTENSION pg_trgm CASCADE",
                "CREATE \"table\" t (a int)",
            ],
        );
    }
}
