//! A whole Muster server as a library: configuration, command line, keys and logs. The program `muster` is a thin main over it.

pub mod cli;
pub mod config;
pub mod keys;
pub mod logging;
