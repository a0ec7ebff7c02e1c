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
use muster_domain::ids::SessionId;
use muster_domain::sessions::Claims;
use muster_live::{CloseReason, Discarded, SessionInfo, SessionKey};
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
    Ok(Opening { claims, format, address })
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
    let Opening { claims, format, address } = opening;
    let handle = Rc::new(SocketHandle::new(shard.pushing.clone()));
    let info = SessionInfo {
        session_id: session_id(&shard.app),
        user_id: claims.user_id,
        token_id: claims.token_id,
        issued_at_sec: claims.issued_at_sec,
    };
    let (session_id, user_id) = (info.session_id, info.user_id);
    // Registered first and asked again then, so that a revocation meanwhile is not missed between the two.
    let registered = Registered { key: shard.sessions.borrow_mut().open(info, handle.clone()), shard: &shard };
    if shard.app.revocations.is_revoked(&claims) {
        handle.close(CloseReason::TokenRevoked);
    } else if shard.is_draining() {
        handle.close(CloseReason::ServerStopping);
    }
    let gauge = count_session(&shard.metrics);
    tracing::debug!(%session_id, %user_id, %address, format = format.name(), "socket opened");
    let handler = Handler { session: Rc::new(SocketSession::new(shard.app.clone(), format, claims)) };
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

/// A session's entry with its shard, gone with the socket however that ends.
struct Registered<'a> {
    shard: &'a Shard,
    key: SessionKey,
}

impl Drop for Registered<'_> {
    fn drop(&mut self) {
        self.shard.sessions.borrow_mut().close(self.key);
    }
}

fn session_id(app: &App) -> SessionId {
    let mut bytes = [0; 16];
    app.entropy.fill(&mut bytes);
    SessionId(uuid::Builder::from_random_bytes(bytes).into_uuid())
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
