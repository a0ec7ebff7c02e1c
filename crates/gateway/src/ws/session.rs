//! A player's session on a socket: opened with a token, registered with its shard, gone when the socket closes.

use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::rc::Rc;

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::StatusCode;
use muster_api::authorise::session_token;
use muster_api::context::App;
use muster_api::realtime::{Operation, Outcome, SocketSession};
use muster_domain::sessions::Claims;
use muster_live::{CloseReason, Discarded};
use muster_wire::envelope::Format;
use percent_encoding::percent_decode_str;

use super::connection::Connection;
use super::frame::Opcode;
use super::handle::SocketHandle;
use super::shared::Traffic as _;
use super::work::MessageHandler;
use crate::http::Transport;
use crate::shard::{ConnectionGuard, Shard, count_session};

/// What a handshake asked for and may have.
pub struct Opening {
    claims: Claims,
    format: Format,
    /// Whether the user appears online.
    appears: bool,
    address: IpAddr,
}

/// Decides whether a socket may open.
///
/// # Errors
/// Status and text of the refusal, for whoever connected.
pub fn authorise(
    app: &App,
    authorization: Option<&str>,
    query: &str,
    address: IpAddr,
) -> Result<Opening, (StatusCode, &'static str)> {
    let format = match parameter(query, "format") {
        None => Format::Json,
        Some(name) => Format::from_name(&name).ok_or((StatusCode::BAD_REQUEST, "format must be json or protobuf."))?,
    };
    let bearer = authorization.and_then(|header| header.split_once(' ')).filter(|(scheme, _)| {
        // Any other scheme is for a proxy on the way, not for us.
        scheme.eq_ignore_ascii_case("bearer")
    });
    let token = match bearer {
        Some((_, token)) => token.trim().to_owned(),
        None => parameter(query, "token").unwrap_or_default(),
    };
    let claims = session_token(app, &token, app.clock.now())
        .map_err(|_| (StatusCode::UNAUTHORIZED, "The session token is missing, invalid or has expired."))?;
    let appears = parameter(query, "status")
        .is_some_and(|value| matches!(value.as_str(), "true" | "1" | "t" | "T" | "TRUE" | "True"));
    Ok(Opening { claims, format, appears, address })
}

/// A query parameter's first value, decoded.
fn parameter(query: &str, name: &str) -> Option<String> {
    let value = query.split('&').find_map(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (key == name).then_some(value)
    })?;
    Some(percent_decode_str(&value.replace('+', " ")).decode_utf8_lossy().into_owned())
}

/// Runs a socket to its end.
pub async fn run<S: Transport>(stream: S, early: Bytes, opening: Opening, shard: Rc<Shard>, _guard: ConnectionGuard) {
    let Opening { claims, format, appears, address } = opening;
    let handle = Rc::new(SocketHandle::new(shard.pushing.clone()));
    let user_id = claims.user_id;
    let registered = Registered::open(&shard, claims, format, appears, handle.clone());
    let session_id = registered.session.session_id();
    // Asked again now that it is registered, so that a revocation meanwhile is not missed between the two.
    if shard.app.revocations.is_revoked(registered.session.claims()) {
        handle.close(CloseReason::TokenRevoked);
    } else if shard.is_draining() {
        handle.close(CloseReason::ServerStopping);
    }
    let gauge = count_session(&shard.metrics);
    tracing::debug!(%session_id, %user_id, %address, format = format.name(), "socket opened");
    let handler = Handler { session: registered.session.clone() };
    let mut connection = Connection::new(stream, &early, handler, handle.clone(), shard.sockets.clone());
    // It holds on to the buffer that the handshake was read into.
    drop(early);
    let reason = (&mut connection).await;
    let operation = connection.into_operation();
    drop(gauge);
    drop(registered);
    shard.metrics.socket_closed(reason);
    let Discarded { replaced, dropped } = handle.discarded();
    let name = reason.name();
    tracing::info!(%session_id, %user_id, %address, reason = name, replaced, dropped, "socket closed");
    if let Some(operation) = operation {
        finish(operation, &shard).await;
    }
}

/// Runs to its end what the last message caused. Nobody waits for the reply any more.
async fn finish(operation: Operation, shard: &Shard) {
    if AssertUnwindSafe(operation).catch_unwind().await.is_err() {
        shard.metrics.panicked();
    }
}

/// A session and its socket, known to the live plane until dropped, however that happens.
struct Registered<'a> {
    shard: &'a Shard,
    session: Rc<SocketSession>,
}

impl<'a> Registered<'a> {
    fn open(shard: &'a Shard, claims: Claims, format: Format, appears: bool, socket: Rc<SocketHandle>) -> Self {
        let session = SocketSession::register(shard.app.clone(), format, claims);
        shard.rim.attach(session.key(), socket);
        session.begin(appears);
        Self { shard, session }
    }
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        self.shard.rim.detach(self.session.key());
        self.session.close();
    }
}

struct Handler {
    session: Rc<SocketSession>,
}

impl MessageHandler for Handler {
    fn message(&mut self, payload: &[u8], reply: &mut Vec<u8>) -> Outcome {
        self.session.message(payload, reply)
    }

    fn opcode(&self) -> Opcode {
        match self.session.format() {
            Format::Json => Opcode::Text,
            Format::Protobuf => Opcode::Binary,
        }
    }
}
