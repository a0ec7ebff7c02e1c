//! A typed client.
