//! What tests need from the machine: a PostgreSQL server of their own.
//!
//! A test asks [`Postgres::shared`] for the server of its process and [`Postgres::create_database`] for an empty
//! database that nobody else touches. The server is the one named by `MUSTER_TEST_POSTGRES` (`cargo xtask test` starts
//! one for all test processes), or else one that this process starts, so that plain `cargo test` works too.
//! Nothing here is for production, and nothing here waits by sleeping.

mod database;
mod postgres;
mod programs;
mod supervisor;

pub use database::Database;
pub use postgres::{Postgres, URL_VARIABLE};
pub use programs::{Programs, check_strace, install};
