//! Servers for tests: PostgreSQL and NATS, started on demand and thrown away; fuzz targets; and reproducible numbers.
//!
//! A test gets the server of its process from [`Postgres::shared`], and an empty database of its own from
//! [`Postgres::create_database`]. The server is the one named by `MUSTER_TEST_POSTGRES` (`cargo xtask test` starts one
//! for all test processes); otherwise this process starts one, so that plain `cargo test` works too. NATS servers start
//! quickly, so each process, or test, starts its own. This crate is not for production, and never waits by sleeping.

mod database;
pub mod fuzz;
mod nats;
mod postgres;
mod programs;
mod random;
mod supervisor;

pub use database::Database;
pub use nats::{Nats, NatsPlace, NatsSettings, Proxy, free_ports, nats_server};
pub use postgres::{Postgres, PostgresSettings, URL_VARIABLE};
pub use programs::{Programs, check_strace, install};
pub use random::Random;

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{SystemTime, UNIX_EPOCH};

/// A name part that no other test process, and no earlier run, has used.
fn unique() -> String {
    static COUNTER: AtomicU32 = AtomicU32::new(0);
    let count = COUNTER.fetch_add(1, Ordering::Relaxed);
    let since_epoch_ns = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_nanos());
    format!("{}_{since_epoch_ns:x}_{count}", std::process::id())
}
