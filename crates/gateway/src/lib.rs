//! Transports: HTTP and WebSocket connections, pinned to the shards that own their sessions.
//!
//! A shard is one thread. The listener hands each connection to one of them, where it stays: its requests, its
//! socket and its session never leave that thread.

pub mod config;
mod game;
pub mod http;
pub mod listener;
pub mod metrics;
pub mod outgoing;
mod recall;
pub mod rim;
pub mod shard;
pub mod text_page;
pub mod tls;
pub mod ws;

pub use config::{GatewayConfig, HttpLimits};
