//! Connections that break, that run out, and that are left in the middle of a transaction.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::{join, join_all, poll_immediate};
use muster_domain::ports::accounts::{AccountStore as _, Unlink};
use muster_domain::ports::storage::{Authority, Expected, StorageStore as _};
use muster_domain::ports::store::{Rejection, Store as _, StoreError};
use muster_testenv::Postgres;

use super::fixture::{NOW, client, custom, device, new_account, query, runtime, servers};
use super::storage::{id, version, write};
use crate::metrics::StoreMetrics;
use crate::postgres::migrate;
use crate::{PostgresOptions, PostgresStore};

/// Waits until each connection has ended: a connection whose end is only announced still answers one request.
const DISCONNECT_ALL: &str = "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity \
                              WHERE datname = current_database() AND application_name = 'muster'";

/// Runs `test` with a store of at most `connections` connections, and with another connection to its database.
fn with_connections(connections: usize, test: impl AsyncFnOnce(PostgresStore, tokio_postgres::Client)) {
    with_options(PostgresOptions { connections_max: connections, ..PostgresOptions::default() }, test);
}

fn with_options(options: PostgresOptions, test: impl AsyncFnOnce(PostgresStore, tokio_postgres::Client)) {
    let database = Postgres::shared().unwrap().create_database().unwrap();
    runtime().block_on(async {
        migrate(&servers(database.url())).await.unwrap();
        let store =
            PostgresStore::open(&servers(database.url()), &options, Arc::new(StoreMetrics::default())).await.unwrap();
        let client = client(database.url()).await;
        test(store, client).await;
    });
}

#[test]
fn one_connection_serves_single_statements_and_transactions_alike() {
    with_connections(1, async |store, _| {
        let ann = store.login(&device("ann"), Some(&new_account("ann"))).await.unwrap().unwrap().user_id;
        store.link(ann, &custom("ann"), NOW).await.unwrap();
        let (logins, unlinks) = join(
            join_all((0..50).map(|number| {
                let store = &store;
                async move {
                    let name = format!("player {number}");
                    store.login(&device(&name), Some(&new_account(&name))).await
                }
            })),
            join_all([Unlink::Custom("custom-of-ann".into()), Unlink::Device("device-of-ann".into())].map(
                |identifier| {
                    let store = &store;
                    async move { store.unlink(ann, &identifier, NOW).await }
                },
            )),
        )
        .await;
        assert!(logins.iter().all(Result::is_ok), "{logins:?}");
        assert_eq!(unlinks, [Ok(()), Err(StoreError::Rejected(Rejection::LastIdentifier))]);
        let metrics = store.metrics();
        assert_eq!(metrics.connections_opened.load(Ordering::Relaxed), 1);
        assert_eq!(metrics.connections_in_use.load(Ordering::Relaxed), 0);
        assert_eq!(metrics.connections_idle.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn outlived_connections_are_replaced_between_requests() {
    let options = PostgresOptions {
        connections_max: 1,
        // With this lifetime every connection is replaced before the next request.
        connection_lifetime: Some(Duration::ZERO),
        ..PostgresOptions::default()
    };
    with_options(options, async |store, _| {
        for _ in 0..3 {
            assert!(store.ping().await.is_ok());
        }
        let metrics = store.metrics();
        assert_eq!(metrics.connections_opened.load(Ordering::Relaxed), 3);
        assert_eq!(metrics.connections_lost.load(Ordering::Relaxed), 0);
        assert_eq!(metrics.connections_open.load(Ordering::Relaxed), 1);
    });
}

#[test]
fn broken_connections_are_replaced() {
    with_connections(4, async |store, client| {
        join_all((0..8).map(|_| store.ping())).await.into_iter().for_each(|status| assert!(status.is_ok()));
        let broken = query(&client, DISCONNECT_ALL).await.len();
        assert!(broken >= 2, "{broken}");
        // Each broken connection may fail one request, and the error must be `Unavailable`.
        let mut failed = 0;
        let login = loop {
            match store.login(&device("ann"), Some(&new_account("ann"))).await {
                Ok(login) => break login.unwrap(),
                Err(error) => assert!(matches!(error, StoreError::Unavailable(_)), "{error}"),
            }
            failed += 1;
            assert!(failed <= broken, "{failed}");
        };
        assert!(login.created);
    });
}

#[test]
fn a_transaction_given_up_half_way_leaves_nothing_behind() {
    with_connections(2, async |store, client| {
        let ann = store.login(&device("ann"), Some(&new_account("ann"))).await.unwrap().unwrap().user_id;
        let objects = [write("a", ann, 1, Expected::Any), write("b", ann, 1, Expected::Any)];
        for _ in 0..20 {
            // The future is dropped at any of its steps, as when a client hangs up.
            let mut batch = Box::pin(store.write_objects(Authority::Client(ann), &objects, NOW));
            for _ in 0..3 {
                if poll_immediate(&mut batch).await.is_some() {
                    break;
                }
                tokio::task::yield_now().await;
                query(&client, "SELECT 1").await;
            }
        }
        let objects = [write("a", ann, 2, Expected::Any), write("b", ann, 2, Expected::Any)];
        store.write_objects(Authority::Client(ann), &objects, NOW).await.unwrap();
        let found = store.read_objects(Authority::Server, &[id("a", ann), id("b", ann)]).await.unwrap();
        assert!(found.iter().all(|object| object.version == version(2)) && found.len() == 2, "{found:?}");
        assert_eq!(store.metrics().connections_in_use.load(Ordering::Relaxed), 0);
    });
}

#[test]
fn an_address_that_leads_nowhere_is_refused() {
    let servers = servers("postgres://nobody:secret@127.0.0.1:1/none");
    let refused = runtime().block_on(PostgresStore::open(&servers, &PostgresOptions::default(), Arc::default()));
    let said = refused.err().map(|error| error.0).unwrap_or_default();
    assert!(said.starts_with("cannot connect") && !said.contains("secret"), "{said}");
}

#[test]
fn linking_to_an_account_that_is_being_deleted_finds_none() {
    with_connections(2, async |store, client| {
        let ann = store.login(&device("ann"), Some(&new_account("ann"))).await.unwrap().unwrap().user_id;
        query(&client, "BEGIN").await;
        query(&client, &format!("DELETE FROM users WHERE id = '{ann}'")).await;
        let extra = device("another of ann");
        let deleted = async {
            // The link has seen the account and waits for the end of the deletion.
            let waits = "SELECT 1 FROM pg_locks WHERE NOT granted AND transactionid = pg_current_xact_id()::xid";
            while query(&client, waits).await.is_empty() {}
            query(&client, "COMMIT").await;
        };
        let (linked, ()) = join(store.link(ann, &extra, NOW), deleted).await;
        assert_eq!(linked, Ok(false));
    });
}

#[test]
fn a_number_that_the_database_cannot_hold_is_the_callers_fault() {
    with_connections(1, async |store, _| {
        let ann = store.login(&device("ann"), Some(&new_account("ann"))).await.unwrap().unwrap().user_id;
        for value in [r#"{"a":1e200000}"#, r#"{"a":1e-20000}"#, r#"{"a":1e999999999999}"#] {
            let mut object = write("a", ann, 1, Expected::Any);
            object.value = value.to_owned();
            let refused = store.write_objects(Authority::Client(ann), &[object], NOW).await;
            assert!(matches!(refused, Err(StoreError::Invalid(_))), "{value}: {refused:?}");
        }
    });
}

#[test]
fn thousands_who_wait_are_woken_as_there_is_room_for_them() {
    with_connections(2, async |store, _| {
        let ann = store.login(&device("ann"), Some(&new_account("ann"))).await.unwrap().unwrap().user_id;
        let polls = std::cell::Cell::new(0_u32);
        let counted = async |number: u32| {
            let mut request = Box::pin(async {
                if number.is_multiple_of(100) {
                    let objects = [write("a", ann, number, Expected::Any), write("b", ann, number, Expected::Any)];
                    return store.write_objects(Authority::Client(ann), &objects, NOW).await.is_ok();
                }
                store.ping().await.is_ok()
            });
            std::future::poll_fn(|context| {
                polls.set(polls.get() + 1);
                request.as_mut().poll(context)
            })
            .await
        };
        let answers = join_all((0..WAITING).map(counted)).await;
        assert!(answers.iter().all(|is_ok| *is_ok));
        // A few polls per request are enough, however many requests wait. If all were woken at every answer, hundreds
        // would be needed.
        assert!(polls.get() < WAITING * 20, "{} polls", polls.get());
    });
}

/// Number of concurrent requests, many more than two connections carry.
const WAITING: u32 = 3_000;
