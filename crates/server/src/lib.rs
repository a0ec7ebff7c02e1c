//! A whole Muster server as a library: configuration, wiring, command line. The program `muster` is a thin main over
//! it.

pub mod cli;
pub mod cluster;
pub mod commands;
pub mod config;
pub mod database;
mod game;
pub mod jobs;
pub mod keys;
pub mod limits;
pub mod logging;
pub mod offenders;
pub mod passwords;
pub mod pruning;
pub mod revocation_feed;
pub mod settings;
pub mod system;
pub mod telemetry;
pub mod wiring;
