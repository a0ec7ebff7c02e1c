//! Tests that need a server of their own, or a look behind the ports.

use std::sync::Arc;
use std::sync::atomic::Ordering;

use muster_domain::ports::sql::{SqlStore as _, SqlValue};
use muster_domain::ports::store::{Store as _, StoreError};
use muster_testenv::Postgres;

use super::*;
use crate::suite::fixture::{client, query, runtime, servers};

const OPTIONS: fn() -> PostgresOptions = PostgresOptions::default;

async fn open(url: &str) -> Result<PostgresStore, OpenError> {
    migrate(&servers(url)).await?;
    PostgresStore::open(&servers(url), &OPTIONS(), Arc::default()).await
}

#[test]
fn a_connection_to_a_server_that_takes_no_more_writes_is_replaced() {
    let database = Postgres::shared().unwrap().create_database().unwrap();
    runtime().block_on(async {
        migrate(&servers(database.url())).await.unwrap();
        let options = PostgresOptions { connections_max: 1, ..OPTIONS() };
        let store = PostgresStore::open(&servers(database.url()), &options, Arc::default()).await.unwrap();
        let write = "DELETE FROM muster_term";
        store.query(write, &[]).await.unwrap();
        // The server becomes read-only for this connection, as a primary that was made a standby.
        let connection = store.pool.exclusive().await.unwrap();
        connection.control("SET default_transaction_read_only = on").await.unwrap();
        connection.ended();
        let refused = store.query(write, &[]).await;
        assert!(matches!(refused, Err(StoreError::Unavailable(_))), "{:?}", refused.err());
        assert_eq!(store.metrics().connections_useless.load(Ordering::Relaxed), 1);
        store.query(write, &[]).await.unwrap();
        assert_eq!(store.metrics().connections_opened.load(Ordering::Relaxed), 2);
    });
}

#[test]
fn prepared_statements_that_are_gone_are_told_as_a_poolers_work() {
    let database = Postgres::shared().unwrap().create_database().unwrap();
    runtime().block_on(async {
        migrate(&servers(database.url())).await.unwrap();
        let options = PostgresOptions { connections_max: 1, ..OPTIONS() };
        let store = PostgresStore::open(&servers(database.url()), &options, Arc::default()).await.unwrap();
        store.ping().await.unwrap();
        let connection = store.pool.exclusive().await.unwrap();
        connection.control("DEALLOCATE ALL").await.unwrap();
        connection.ended();
        let Err(StoreError::Unavailable(told)) = store.ping().await else { panic!("must be refused") };
        assert!(told.contains("give Muster the address of PostgreSQL itself"), "{told}");
        store.ping().await.unwrap();
    });
}

/// The role is one of the whole server, so each test has a server of its own.
fn with_role(test: impl AsyncFnOnce(&str, tokio_postgres::Client)) {
    let server = Postgres::start().unwrap();
    runtime().block_on(async {
        let operator = client(server.url()).await;
        query(&operator, "CREATE ROLE muster_game").await;
        test(server.url(), operator).await;
    });
}

#[test]
fn game_code_runs_as_the_lesser_role_if_there_is_one() {
    with_role(async |url, operator| {
        let store = open(url).await.unwrap();
        let exec = async |statement: &str| store.sql_exec(statement, Vec::new()).await;
        for statement in [
            "CREATE TABLE guild (id BIGSERIAL PRIMARY KEY, owner UUID REFERENCES users (id) ON DELETE CASCADE)",
            "INSERT INTO users (id, username) VALUES ('00000000-0000-4000-8000-000000000001', 'ann')",
            "INSERT INTO guild (owner) SELECT id FROM users WHERE username = 'ann'",
            "UPDATE users SET location = 'here' WHERE username = 'ann'",
            "INSERT INTO storage (collection, key, user_id, value, version) \
             SELECT 'a', 'b', id, '{}', 'c' FROM users WHERE username = 'ann'",
            "DELETE FROM users WHERE username = 'ann'",
            "DROP TABLE guild",
        ] {
            exec(statement).await.unwrap_or_else(|error| panic!("{statement}: {error}"));
        }
        // The rules of statements would refuse these before; the role refuses them too.
        for statement in [
            "SELECT * FROM muster_revocation",
            "DELETE FROM muster_migration",
            "SELECT setval('muster_revocation_sequence_seq', 1000)",
            "DROP TABLE users",
            "ALTER TABLE users SET UNLOGGED",
            "ALTER ROLE muster SET default_transaction_read_only = on",
            "ALTER DATABASE postgres SET default_transaction_read_only = on",
            "ALTER SYSTEM SET fsync = off",
            "CREATE ROLE stranger",
            "CREATE TRIGGER t AFTER INSERT ON users EXECUTE FUNCTION suppress_redundant_updates_trigger()",
            "DO $$ BEGIN EXECUTE 'ALTER ROLE muster SET synchronous_commit = off'; END $$",
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'muster' AND pid <> pg_backend_pid()",
            "SELECT pg_read_file('/etc/passwd')",
            "COPY users TO PROGRAM 'cat'",
        ] {
            let outcome = exec(statement).await;
            assert!(matches!(outcome, Err(StoreError::Invalid(_))), "{statement}: {outcome:?}");
        }
        // Each statement begins as the role, whatever the one before said.
        for trick in [
            "RESET ROLE",
            "SET ROLE muster",
            "SELECT set_config('role', 'muster', false)",
            "SET SESSION AUTHORIZATION muster",
        ] {
            let _ = exec(trick).await;
            let found = store.sql_query("SELECT current_user::text, session_user::text", Vec::new()).await.unwrap();
            assert_eq!(found.rows, [["muster_game", "muster"].map(|name| SqlValue::Text(name.to_owned()))], "{trick}");
        }
        let own = "SELECT pg_get_userbyid(relowner) FROM pg_class WHERE relname = 'muster_revocation'";
        assert_eq!(query(&operator, own).await, ["muster"]);
    });
}

#[test]
fn a_role_that_is_not_lesser_is_refused() {
    with_role(async |url, operator| {
        open(url).await.unwrap();
        for (harm, remedy, told) in [
            ("ALTER ROLE muster_game CREATEROLE", "ALTER ROLE muster_game NOCREATEROLE", "making roles"),
            (
                "GRANT SELECT ON muster_effect TO muster_game",
                "REVOKE SELECT ON muster_effect FROM muster_game",
                "begin with muster_",
            ),
            ("GRANT DELETE ON muster_term TO PUBLIC", "REVOKE DELETE ON muster_term FROM PUBLIC", "begin with muster_"),
            ("GRANT muster TO muster_game", "REVOKE muster FROM muster_game", "member of the server's own role"),
        ] {
            query(&operator, harm).await;
            let refused = open(url).await.err().map(|error| error.0).unwrap_or_default();
            assert!(refused.contains(told), "{harm}: {refused}");
            query(&operator, remedy).await;
            open(url).await.unwrap();
        }
    });
}
