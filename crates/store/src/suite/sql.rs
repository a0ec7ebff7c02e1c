//! Statements of game code.

use muster_domain::ports::sql::SqlValue::{self, Bytes, Flag, Integer, Null, Number, Text, Time};
use muster_domain::ports::store::StoreError;
use muster_domain::sql::SQL_ROWS_MAX;
use muster_domain::time::Timestamp;

use super::Fixture;
use super::fixture::{NOW, on_postgres, on_sqlite};

const TABLE: &str = "CREATE TABLE score (name TEXT PRIMARY KEY, points BIGINT, rate DOUBLE PRECISION, good BOOLEAN)";

fn text(text: &str) -> SqlValue {
    Text(text.to_owned())
}

async fn exec(fixture: &Fixture, statement: &str, parameters: &[SqlValue]) -> Result<u64, StoreError> {
    fixture.store().sql_exec(statement, parameters.to_vec()).await
}

async fn rows(fixture: &Fixture, statement: &str, parameters: &[SqlValue]) -> Vec<Vec<SqlValue>> {
    fixture.store().sql_query(statement, parameters.to_vec()).await.unwrap().rows
}

pub(super) async fn change_and_find_rows(fixture: &Fixture) {
    exec(fixture, TABLE, &[]).await.unwrap();
    let insert = "INSERT INTO score (points, name, rate, good) VALUES ($2, $1, $3, $4)";
    for (name, points, good) in [("ann", Integer(7), Flag(true)), ("bob", Null, Flag(false))] {
        assert_eq!(exec(fixture, insert, &[text(name), points, Number(0.5), good]).await, Ok(1));
    }
    let found = fixture.store().sql_query("SELECT * FROM score ORDER BY name", Vec::new()).await.unwrap();
    assert_eq!(found.columns, ["name", "points", "rate", "good"]);
    let bob = vec![text("bob"), Null, Number(0.5), Flag(false)];
    assert_eq!(found.rows, [vec![text("ann"), Integer(7), Number(0.5), Flag(true)], bob]);
    assert_eq!(exec(fixture, "UPDATE score SET points = $1", &[Integer(9)]).await, Ok(2));
    let returned = rows(fixture, "DELETE FROM score WHERE name = $1 RETURNING points", &[text("ann")]).await;
    assert_eq!(returned, [[Integer(9)]]);
    assert_eq!(rows(fixture, "SELECT count(*) AS n FROM score", &[]).await, [[Integer(1)]]);
    assert_eq!(exec(fixture, "DROP TABLE score", &[]).await, Ok(0));
}

pub(super) async fn find_players_by_ids_and_moments(fixture: &Fixture) {
    let ann = fixture.sign_up("ann").await.to_string();
    fixture.sign_up("bob").await;
    let by_id = "SELECT id, username, create_time, metadata FROM users WHERE id = $1";
    let expect = [vec![text(&ann), text("ann"), Time(NOW), text("{}")]];
    assert_eq!(rows(fixture, by_id, &[text(&ann)]).await, expect);
    let by_time = "SELECT username FROM users WHERE create_time = to_timestamp($1) AND id = $2";
    let now = Number(NOW.0 as f64 / 1e6);
    assert_eq!(rows(fixture, by_time, &[now, text(&ann)]).await, [[text("ann")]]);
}

pub(super) async fn that_are_wrong_are_told_so_and_harm_nobody(fixture: &Fixture) {
    exec(fixture, TABLE, &[]).await.unwrap();
    exec(fixture, "INSERT INTO score (name) VALUES ($1)", &[text("ann")]).await.unwrap();
    for (statement, told) in [
        ("SELEC 1", "syntax error"),
        ("SELECT * FORM score", "near \"form\": did you mean FROM? (42601)"),
        ("SELECT name FORM score", "near \"score\": did you mean FROM? (42601)"),
        ("SELECT name FROM score WERE good", "near \"good\": did you mean WHERE? (42601)"),
        ("INSERT INTO score (name) VALUES (?)", "parameters are written $1, $2, … (42601)"),
        ("SELECT name FROM score WHERE name = ?", "parameters are written $1, $2, … (42601)"),
        ("SELECT name FROM score WHERE name = :name", "parameters are written $1, $2, … (42601)"),
        ("SELECT * FROM nothing", "relation \"nothing\" does not exist (42P01)"),
        ("SELECT * FROM scores", "relation \"scores\" does not exist: did you mean score? (42P01)"),
        ("SELECT * FROM stroage", "relation \"stroage\" does not exist: did you mean storage? (42P01)"),
        ("SELECT zzz FROM score", "column \"zzz\" does not exist (42703)"),
        ("SELECT nme FROM score", "name"),
        ("UPDATE score SET nme = '' WHERE true", "column \"nme\" of relation \"score\" does not exist"),
        ("SELECT name FROM score WHERE name = $1 AND points = $2", "no value for its parameter"),
        ("SELECT 1; SELECT 2", "ultiple"),
        ("INSERT INTO score (name) VALUES ('ann')", "score"),
        ("INSERT INTO score (name) VALUES ('bob'), ('ann')", "score"),
    ] {
        let outcome = fixture.store().sql_query(statement, vec![text("ann")]).await;
        let Err(StoreError::Invalid(message)) = outcome else { panic!("{statement}: {outcome:?}") };
        assert!(message.to_lowercase().contains(&told.to_lowercase()), "{statement}: {message}");
        let alone = [[Integer(1)]];
        assert_eq!(rows(fixture, "SELECT count(*) FROM score", &[]).await, alone);
    }
}

/// Tables whose constraints have names, or have the names that PostgreSQL gives them.
const BOUND: [&str; 4] = [
    "CREATE TABLE team (id BIGSERIAL PRIMARY KEY, name TEXT NOT NULL UNIQUE, colour TEXT, place INT CHECK (place > 0),
        size INT, size_max INT, CONSTRAINT colours UNIQUE (colour), CONSTRAINT fits CHECK (size <= size_max),
        CHECK (size < 100 OR place > 1))",
    "CREATE UNIQUE INDEX team_size ON team (size, size_max)",
    "CREATE TABLE fan (team BIGINT NOT NULL REFERENCES team, rival BIGINT REFERENCES team (id) ON DELETE SET NULL,
        owner UUID REFERENCES users (id), name TEXT, PRIMARY KEY (team, name))",
    "INSERT INTO team (name, colour, place, size, size_max) VALUES ('a', 'red', 1, 1, 2), ('b', 'blue', 2, 2, 3)",
];

/// Statements that violate a constraint, with the words and codes that tell of it on both databases.
const VIOLATIONS: [(&str, &str); 14] = [
    (
        "INSERT INTO team (name) VALUES ('a')",
        "duplicate key value violates unique constraint \"team_name_key\" (23505)",
    ),
    ("INSERT INTO team (name, colour) VALUES ('c', 'red')", "unique constraint \"colours\" (23505)"),
    ("UPDATE team SET size = 1, size_max = 2", "unique constraint \"team_size\" (23505)"),
    ("INSERT INTO fan (team, name) VALUES (1, 'x'), (1, 'x')", "unique constraint \"fan_pkey\" (23505)"),
    (
        "INSERT INTO team (colour) VALUES ('green')",
        "null value in column \"name\" of relation \"team\" violates not-null constraint (23502)",
    ),
    (
        "UPDATE team SET place = 0",
        "new row for relation \"team\" violates check constraint \"team_place_check\" (23514)",
    ),
    ("UPDATE team SET size_max = 0", "check constraint \"fits\" (23514)"),
    ("UPDATE team SET size = 100, size_max = 200 WHERE place = 1", "check constraint \"team_check\" (23514)"),
    ("INSERT INTO fan (team, name) VALUES (9, 'x')", "\"fan_team_fkey\""),
    (
        "UPDATE fan SET rival = 9",
        "insert or update on table \"fan\" violates foreign key constraint \"fan_rival_fkey\" (23503)",
    ),
    (
        "DELETE FROM team WHERE name = 'a'",
        "update or delete on table \"team\" violates foreign key constraint \"fan_team_fkey\" on table \"fan\" (23503)",
    ),
    ("UPDATE users SET username = 'bob' WHERE username = 'ann'", "unique constraint \"users_username_key\" (23505)"),
    ("UPDATE users SET edge_count = -1", "check constraint \"users_edge_count_check\" (23514)"),
    (
        "INSERT INTO storage (collection, key, user_id, value, version, read, write)
            VALUES ('a', 'b', 'd0000000-0000-4000-8000-000000000009', '{}', '', 0, 0)",
        "insert or update on table \"storage\" violates foreign key constraint \"storage_user_id_fkey\" (23503)",
    ),
];

pub(super) async fn that_violate_a_constraint_say_which(fixture: &Fixture) {
    fixture.sign_up("ann").await;
    fixture.sign_up("bob").await;
    for statement in BOUND {
        exec(fixture, statement, &[]).await.unwrap();
    }
    exec(fixture, "INSERT INTO fan (team, rival, name) VALUES (1, 2, 'f')", &[]).await.unwrap();
    for (statement, told) in VIOLATIONS {
        let outcome = exec(fixture, statement, &[]).await;
        let Err(StoreError::Invalid(message)) = outcome else { panic!("{statement}: {outcome:?}") };
        assert!(message.contains(told), "{statement}: {message}");
    }
    assert_eq!(rows(fixture, "SELECT count(*) FROM team", &[]).await, [[Integer(2)]]);
}

pub(super) async fn that_find_too_much_are_refused(fixture: &Fixture) {
    let numbers = |count: usize| {
        format!("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {count}) SELECT i FROM n")
    };
    assert_eq!(rows(fixture, &numbers(SQL_ROWS_MAX), &[]).await.len(), SQL_ROWS_MAX);
    let long = format!("SELECT '{}' AS a FROM ({}) AS b", "x".repeat(10_000), numbers(1_000));
    for statement in [numbers(SQL_ROWS_MAX + 1), long] {
        let outcome = fixture.store().sql_query(&statement, Vec::new()).await;
        let Err(StoreError::Invalid(message)) = outcome else { panic!("{outcome:?}") };
        assert!(message.ends_with("use LIMIT."), "{message}");
    }
    assert_eq!(rows(fixture, "SELECT 1 AS one", &[]).await, [[Integer(1)]]);
}

#[test]
fn sqlite_ends_what_takes_too_long_and_the_writer_goes_on() {
    on_sqlite(async |fixture| {
        exec(fixture, TABLE, &[]).await.unwrap();
        let endless = "INSERT INTO score (name) \
             WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT 'x' FROM n WHERE i < 0";
        let sign_up = async {
            fixture.sign_up("ann").await;
        };
        let (ended, ()) = futures_util::future::join(exec(fixture, endless, &[]), sign_up).await;
        let told = "The statement took too long and was interrupted.".to_owned();
        assert_eq!(ended, Err(StoreError::Invalid(told)));
        assert_eq!(rows(fixture, "SELECT username FROM users WHERE username = 'ann'", &[]).await.len(), 1);
        assert_eq!(rows(fixture, "SELECT count(*) FROM score", &[]).await, [[Integer(0)]]);
    });
}

#[test]
fn sqlite_bounds_the_values_of_statements_that_write() {
    on_sqlite(async |fixture| {
        exec(fixture, TABLE, &[]).await.unwrap();
        let long = "repeat('a', 1100000)";
        assert_eq!(rows(fixture, &format!("SELECT length({long}) AS n"), &[]).await, [[Integer(1_100_000)]]);
        for statement in [
            format!("INSERT INTO score (name) VALUES ({long})"),
            format!("INSERT INTO score (name) SELECT 'x' WHERE strpos({long}, 'b') = 0"),
            "INSERT INTO score (name) VALUES (replace(repeat('a', 2000), 'a', repeat('b', 1000)))".to_owned(),
            "UPDATE score SET name = $1".to_owned(),
        ] {
            let outcome = exec(fixture, &statement, &[text(&"a".repeat(1_100_000))]).await;
            assert!(matches!(outcome, Err(StoreError::Invalid(_))), "{statement}: {outcome:?}");
        }
        exec(fixture, "INSERT INTO score (name) VALUES (repeat('a', 1000000))", &[]).await.unwrap();
        let replaced = "SELECT length(replace(name, 'a', 'bbb')) AS n FROM score";
        assert_eq!(rows(fixture, replaced, &[]).await, [[Integer(3_000_000)]], "one that reads may make more");
    });
}

#[test]
fn sqlite_lets_nobody_out_of_its_file_or_at_its_safety() {
    on_sqlite(async |fixture| {
        let copy = std::env::temp_dir().join(format!("muster-stolen-{}", std::process::id()));
        for statement in [
            "PRAGMA synchronous = off",
            "PRAGMA journal_mode = delete",
            "PRAGMA writable_schema = on",
            "ATTACH ':memory:' AS other",
            "DETACH main",
            "VACUUM",
            &format!("VACUUM INTO '{}'", copy.display()),
            "BEGIN",
            "SAVEPOINT a",
            "CREATE TRIGGER t AFTER INSERT ON users BEGIN SELECT 1; END",
            "CREATE VIRTUAL TABLE x USING fts5(a)",
            "CREATE TEMP TABLE x (a)",
            "DELETE FROM muster_migration",
            "DROP TABLE muster_migration",
            "DELETE FROM sqlite_schema",
            "SELECT load_extension('x')",
            "SELECT length(zeroblob(100000000))",
            "SELECT instr(hex(zeroblob(500000)), 'a')",
        ] {
            let outcome = fixture.store().sql_query(statement, Vec::new()).await;
            assert!(matches!(outcome, Err(StoreError::Invalid(_))), "{statement}: {outcome:?}");
        }
        assert!(!copy.exists());
        fixture.sign_up("ann").await;
    });
}

/// Statements by which game code could harm others on PostgreSQL.
const TRICKS: [&str; 17] = [
    "SELECT set_config('synchronous_commit', 'off', false)",
    "SELECT set_config('default_transaction_read_only', 'on', false)",
    "UPDATE pg_settings SET setting = 'on' WHERE name = 'default_transaction_read_only'",
    "/* /* */ SELECT 1 */ BEGIN",
    "ALTER ROLE CURRENT_USER SET default_transaction_read_only = on",
    "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database()); END $$",
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() \
     AND pid <> pg_backend_pid()",
    "SELECT query_to_xml('SELECT pg_terminate_'||'backend(pid) FROM pg_stat_activity \
     WHERE datname = current_database() AND pid <> pg_backend_pid()', true, true, '')",
    "SELECT pg_advisory_lock(4711)",
    "DELETE FROM muster_migration",
    "SELECT setval('muster_revocation_sequence_seq', 1000)",
    "GRANT DELETE ON users TO PUBLIC",
    "DROP SCHEMA public CASCADE",
    "CREATE FUNCTION harm() RETURNS trigger LANGUAGE plpgsql AS \
     'BEGIN PERFORM set_config(''synchronous_commit'', ''off'', false); RETURN NEW; END'",
    "CREATE TABLE harm (id uuid REFERENCES users ON DELETE SET DEFAULT, \
     a text DEFAULT set_config('synchronous_commit', 'off', false))",
    "ALTER TABLE users SET UNLOGGED",
    "INSERT INTO pg_db_role_setting SELECT oid, 0, '{synchronous_commit=off}' FROM pg_database",
];

#[test]
fn no_trick_of_game_code_harms_others_on_postgres() {
    on_postgres(async |fixture| {
        fixture.sign_up("ann").await;
        let before = fixture.rows().await;
        for statement in TRICKS {
            let outcome = muster_domain::sql::query(fixture.store(), statement, Vec::new()).await;
            let kind = outcome.err().map(|error| error.kind);
            assert_eq!(kind, Some(muster_domain::ErrorKind::InvalidArgument), "{statement}");
        }
        assert_eq!(fixture.rows().await, before);
        fixture.sign_up("bob").await;
    });
}

#[test]
fn a_connection_is_reset_behind_each_statement_on_postgres() {
    on_postgres(async |fixture| {
        fixture.execute("CREATE TABLE kept (a int)").await;
        let locks = "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 4711";
        for (trick, question, expect) in [
            ("SELECT set_config('synchronous_commit', 'off', false)", "SHOW synchronous_commit", text("on")),
            (
                "SELECT set_config('default_transaction_read_only', 'on', false)",
                "SHOW transaction_read_only",
                text("off"),
            ),
            ("SELECT set_config('statement_timeout', '0', false)", "SHOW statement_timeout", text("15s")),
            ("SET search_path = pg_catalog", "SELECT current_schema()", text("public")),
            ("SELECT pg_advisory_lock(4711)", locks, Integer(0)),
            (
                "CREATE TEMP TABLE kept (a text)",
                "SELECT pg_typeof(a)::text FROM kept RIGHT JOIN (SELECT 1) b ON true",
                text("integer"),
            ),
            ("DECLARE c CURSOR WITH HOLD FOR SELECT 1", "SELECT count(*) FROM pg_cursors WHERE name = 'c'", Integer(0)),
            ("LISTEN news", "SELECT count(*) FROM pg_listening_channels()", Integer(0)),
            ("BEGIN", "SELECT 1", Integer(1)),
        ] {
            exec(fixture, trick, &[]).await.unwrap();
            assert_eq!(rows(fixture, question, &[]).await, [[expect]], "{trick}");
            let mine = "SELECT count(*) FROM pg_stat_activity WHERE state LIKE 'idle in transaction%' \
                        AND datname = current_database()";
            assert_eq!(rows(fixture, mine, &[]).await, [[Integer(0)]], "{trick}");
        }
        // Changes behind an open transaction are seen by others at once.
        exec(fixture, "BEGIN", &[]).await.unwrap();
        exec(fixture, "INSERT INTO kept VALUES (1)", &[]).await.unwrap();
        assert!(fixture.rows().await.contains(&("kept".to_owned(), r#"{"a": 1}"#.to_owned())));
    });
}

#[test]
fn a_statement_that_fails_or_finds_too_much_changes_nothing_on_postgres() {
    on_postgres(async |fixture| {
        exec(fixture, "CREATE TABLE t (a int, b int UNIQUE DEFERRABLE INITIALLY DEFERRED)", &[]).await.unwrap();
        let too_many = format!("INSERT INTO t SELECT n FROM generate_series(1, {}) n RETURNING a", SQL_ROWS_MAX + 1);
        for statement in [
            too_many.as_str(),
            "INSERT INTO t VALUES (1, 1), (2, 1)",
            "INSERT INTO t SELECT 1 / (2 - n) FROM generate_series(1, 2) n",
        ] {
            let outcome = exec(fixture, statement, &[]).await;
            assert!(matches!(outcome, Err(StoreError::Invalid(_))), "{statement}: {outcome:?}");
            assert_eq!(rows(fixture, "SELECT count(*) FROM t", &[]).await, [[Integer(0)]], "{statement}");
        }
    });
}

#[test]
fn postgres_reads_and_takes_types_that_sqlite_lacks() {
    on_postgres(async |fixture| {
        for (expression, expect) in [
            ("123.4500::numeric", text("123.4500")),
            ("(-0.001)::numeric", text("-0.001")),
            ("12345678.9::numeric", text("12345678.9")),
            ("0::numeric", text("0")),
            ("0.00::numeric", text("0.00")),
            ("100000000::numeric", text("100000000")),
            ("10000.0001::numeric", text("10000.0001")),
            ("0.000000012::numeric", text("0.000000012")),
            ("'NaN'::numeric", text("NaN")),
            ("'{\"a\": 1}'::jsonb", text("{\"a\": 1}")),
            ("'ab'::bytea", Bytes(b"ab".to_vec())),
            ("DATE '2000-01-02'", Time(Timestamp::from_seconds(946_771_200))),
            ("DATE 'infinity'", text("infinity")),
            ("DATE '-infinity'", text("-infinity")),
            ("TIMESTAMPTZ 'infinity'", text("infinity")),
            ("TIMESTAMP '-infinity'", text("-infinity")),
            ("'Infinity'::numeric", text("Infinity")),
            ("'-Infinity'::numeric", text("-Infinity")),
            ("TIMESTAMPTZ '1969-12-31 23:59:59+00'", Time(Timestamp::from_seconds(-1))),
            ("1.5::real", Number(1.5)),
            ("7::smallint", Integer(7)),
            ("pg_sleep(0)", Null),
        ] {
            assert_eq!(rows(fixture, &format!("SELECT {expression} AS a"), &[]).await, [[expect]], "{expression}");
        }
        for (kind, parameter, expect) in [
            ("int", Integer(5), Integer(5)),
            ("numeric", Number(1.25), text("1.25")),
            ("float8", Integer(2), Number(2.0)),
            ("text", Integer(2), text("2")),
            ("boolean", Flag(true), Flag(true)),
            ("bytea", Bytes(vec![0, 255]), Bytes(vec![0, 255])),
            ("timestamptz", text("1970-01-01 00:00:01+00"), Time(Timestamp::from_seconds(1))),
            ("uuid", text("d0000000-0000-4000-8000-000000000001"), text("d0000000-0000-4000-8000-000000000001")),
        ] {
            assert_eq!(rows(fixture, &format!("SELECT $1::{kind} AS a"), &[parameter]).await, [[expect]], "{kind}");
        }
        for statement in
            ["SELECT ARRAY[1, 2] AS a", "SELECT 'x'::int AS a", "SELECT 1 / 0 AS a", "SELECT DATE '5874897-12-31' AS a"]
        {
            let outcome = fixture.store().sql_query(statement, Vec::new()).await;
            assert!(matches!(outcome, Err(StoreError::Invalid(_))), "{statement}: {outcome:?}");
        }
    });
}
