//! HTTP and WebSocket transports of Muster.
