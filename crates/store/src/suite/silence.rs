//! A database whose connections stay open but do not answer, as when its machine or the network fails.

use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::Duration;

use muster_domain::ports::store::{Store as _, StoreError};
use muster_testenv::Postgres;

use super::fixture::{runtime, servers};
use crate::metrics::StoreMetrics;
use crate::postgres::migrate;
use crate::{PostgresOptions, PostgresStore};

#[test]
fn a_silent_connection_is_given_up_and_another_takes_its_place() {
    let database = Postgres::shared().unwrap().create_database().unwrap();
    let url = url::parts(database.url());
    let is_silent = Arc::new(AtomicBool::new(false));
    let proxy = forward(url.address, Arc::clone(&is_silent));
    let options = PostgresOptions {
        connections_max: 1,
        // Answers that come must come within this time, also on a busy machine.
        statement_timeout: Duration::from_secs(10),
        ..PostgresOptions::default()
    };
    runtime().block_on(async {
        migrate(&servers(database.url())).await.unwrap();
        let through = url.with_address(proxy);
        let store = PostgresStore::open(&servers(&through), &options, Arc::new(StoreMetrics::default())).await.unwrap();
        assert!(store.ping().await.is_ok());
        is_silent.store(true, Ordering::SeqCst);
        assert!(matches!(store.ping().await, Err(StoreError::Unavailable(_))));
        is_silent.store(false, Ordering::SeqCst);
        assert!(store.ping().await.is_ok());
        assert_eq!(store.metrics().connections_lost.load(Ordering::Relaxed), 1);
    });
}

/// Forwards connections to `target`. While `is_silent` is set, bytes from the client are dropped.
fn forward(target: SocketAddr, is_silent: Arc<AtomicBool>) -> SocketAddr {
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    thread::spawn(move || {
        for client in listener.incoming().map_while(Result::ok) {
            let Ok(server) = TcpStream::connect(target) else { return };
            let (from_client, to_client) = (client.try_clone().unwrap(), client);
            let (from_server, to_server) = (server.try_clone().unwrap(), server);
            let silent = Arc::clone(&is_silent);
            thread::spawn(move || copy(from_client, to_server, &silent));
            thread::spawn(move || copy(from_server, to_client, &AtomicBool::new(false)));
        }
    });
    address
}

fn copy(mut from: TcpStream, mut to: TcpStream, is_silent: &AtomicBool) {
    let mut buffer = [0; 4096];
    while let Ok(length @ 1..) = from.read(&mut buffer) {
        if !is_silent.load(Ordering::SeqCst) && to.write_all(&buffer[..length]).is_err() {
            break;
        }
    }
    let _ = to.shutdown(Shutdown::Both);
}

mod url {
    //! The parts of a URL that are needed to replace its address.

    use std::net::SocketAddr;

    pub struct Parts {
        before: String,
        pub address: SocketAddr,
        after: String,
    }

    pub fn parts(url: &str) -> Parts {
        let (before, rest) = url.rsplit_once('@').unwrap();
        let (address, after) = rest.split_once('/').unwrap();
        Parts { before: before.to_owned(), address: address.parse().unwrap(), after: after.to_owned() }
    }

    impl Parts {
        pub fn with_address(&self, address: SocketAddr) -> String {
            format!("{}@{address}/{}", self.before, self.after)
        }
    }
}
