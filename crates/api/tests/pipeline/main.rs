//! Tests of every operation that is built. Requests take the same way as from a transport, and the database is an
//! SQLite file.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod accounts;
mod addresses;
mod audiences;
mod authenticate;
mod chat;
mod clock;
mod connected;
mod direct_requests;
mod floods;
mod friends;
mod functions;
mod game;
mod guessing;
mod hooks;
mod link;
mod notifications;
mod rim;
mod sessions;
mod socket;
mod storage;
mod world;
