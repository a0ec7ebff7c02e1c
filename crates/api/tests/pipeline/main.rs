//! Every operation that is built, through the pipeline as a transport would, on a real SQLite file.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod accounts;
mod audiences;
mod authenticate;
mod chat;
mod clock;
mod connected;
mod direct_requests;
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
