//! Transports: HTTP and WebSocket connections, pinned to the shards that own their sessions.

pub mod ws;
