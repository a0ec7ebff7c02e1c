//! Operations of Muster without sockets: one pipeline, one file per feature.
//!
//! A transport routes a request to an operation and calls [`http::call`], or hands a socket's messages to
//! [`realtime::SocketSession`]. Nothing here reads or writes a socket, spawns, or catches a panic.

pub mod account;
mod asker;
pub mod authenticate;
pub mod authorise;
pub mod chat;
pub mod context;
pub mod cursors;
mod dispatch;
mod errands;
pub mod events;
mod failure;
pub mod friends;
mod function_payload;
pub mod functions;
pub mod game;
mod healthcheck;
pub mod hooks;
pub mod http;
mod http_message;
mod islands;
pub mod keys;
pub mod link;
pub mod live;
pub mod matches;
pub mod matchmaker;
pub mod metrics;
pub mod notifications;
pub mod orders;
pub mod parties;
pub mod pipeline;
pub mod reach;
pub mod realtime;
pub mod rooms;
pub mod routes;
mod rpc;
pub mod session;
pub mod storage;
pub mod tokens;
mod unanswered;
pub mod users;
mod wire_time;

pub use context::{App, Caller, Context};
pub use game::{GameFunctions, NoFunctions};
pub use hooks::{Hooks, NoHooks};
pub use http::{HttpRequest, HttpResponse};
pub use keys::{KeyTexts, Keys};
pub use metrics::ApiMetrics;
pub use realtime::{MessageOutcome, SocketSession};
