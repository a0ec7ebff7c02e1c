//! A player's session on a socket: opened with a token, registered with its shard, gone when the socket closes.

use std::net::IpAddr;
use std::panic::AssertUnwindSafe;
use std::rc::Rc;

use bytes::Bytes;
use futures_util::FutureExt as _;
use http::StatusCode;
use muster_api::authorise::session_token;
use muster_api::context::App;
use muster_api::game::Client;
use muster_api::realtime::{Operation, SocketSession};
use muster_domain::UserId;
use muster_domain::ids::SessionId;
use muster_domain::sessions::Claims;
use muster_live::{CloseReason, Delivery, Discarded, Place, SessionKey};
use muster_wire::envelope::Format;
use percent_encoding::percent_decode_str;

use super::connection::Connection;
use super::handle::SocketHandle;
use super::resume::{self, ResumeRequest, UpgradedSocket};
use super::shared::Traffic as _;
use super::stream::Transport;
use super::work::Work;
use crate::http::address::ClientAddress;
use crate::shard::{ConnectionGuard, Shard, count_session};

/// The language of a client that names none.
const LANG: &str = "en";

/// The request of a handshake, as far as it was granted.
pub struct Opening {
    pub(super) claims: Claims,
    pub(super) format: Format,
    /// Whether the user appears online.
    appears: bool,
    pub(super) client: Client,
    /// The request for a session that survives its socket, if the client made one.
    pub(super) resume: Option<ResumeRequest>,
}

impl Opening {
    /// The user whose session it is.
    pub fn user_id(&self) -> UserId {
        self.claims.user_id
    }
}

/// Decides whether a socket may open.
///
/// # Errors
/// Status and text of the refusal, for the client.
pub fn authorise(
    app: &App,
    authorization: Option<&str>,
    query: &str,
    from: ClientAddress,
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
    let resume = match parameter(query, "resume") {
        None => None,
        Some(resume) => {
            let request = ResumeRequest::read(&resume, parameter(query, "received").as_deref());
            Some(request.map_err(|text| (StatusCode::BAD_REQUEST, text))?)
        }
    };
    let lang = parameter(query, "lang").unwrap_or_else(|| LANG.to_owned());
    let client = Client { address: Some(from.ip), port: from.port, lang: Some(lang) };
    Ok(Opening { claims, format, appears, client, resume })
}

/// A query parameter's first value, decoded.
fn parameter(query: &str, name: &str) -> Option<String> {
    let value = query.split('&').find_map(|pair| {
        let (key, value) = pair.split_once('=').unwrap_or((pair, ""));
        (key == name).then_some(value)
    })?;
    Some(percent_decode_str(&value.replace('+', " ")).decode_utf8_lossy().into_owned())
}

/// Starts the task of a socket whose handshake is done.
pub fn start<S: Transport>(stream: S, early: Bytes, opening: Opening, shard: Rc<Shard>, guard: ConnectionGuard) {
    match opening.resume {
        Some(request) if shard.config.resume.grace_ms > 0 => {
            let socket = UpgradedSocket { stream: stream.into_stream(), early, opening, guard };
            tokio::task::spawn_local(resume::arrive(socket, request, shard));
        }
        _ => start_plain(stream, &early, opening, shard, guard),
    }
}

/// Starts a session that ends with its socket. Its task holds only what it needs to wait: the arguments of an async
/// function would stay in the task to the end, among them the buffer that the handshake was read into.
fn start_plain<S: Transport>(stream: S, early: &[u8], opening: Opening, shard: Rc<Shard>, guard: ConnectionGuard) {
    let handle = Rc::new(SocketHandle::new(shard.pushing.clone()));
    if opening.resume.is_some() {
        handle.push(resume::disabled(opening.format), Delivery::Reliable);
    }
    let session = RegisteredSession::open(shard.clone(), opening, handle.clone());
    session.begin();
    let work = Work::new(session.message_handler());
    let mut connection = Connection::new(stream, early, work, handle, shard.sockets.clone());
    tokio::task::spawn_local(async move {
        let gauge = count_session(&shard.metrics);
        let reason = (&mut connection).await;
        let operation = connection.into_work().into_operation();
        drop(gauge);
        shard.metrics.socket_closed(reason);
        session.close(reason);
        if let Some(operation) = operation {
            finish(operation, &shard).await;
        }
        drop(guard);
    });
}

/// Runs the operation of the last message to its end. Nobody waits for the reply any more.
pub(super) async fn finish(operation: Operation, shard: &Shard) {
    let mut next = Some(operation);
    while let Some(operation) = next {
        next = match AssertUnwindSafe(operation).catch_unwind().await {
            Ok(finished) => finished.rest,
            Err(_) => {
                shard.metrics.panicked();
                None
            }
        };
    }
}

/// A session and its handle, known to the live plane until dropped, however that happens.
pub(super) struct RegisteredSession {
    shard: Rc<Shard>,
    session: Rc<SocketSession>,
    handle: Rc<SocketHandle>,
    address: Option<IpAddr>,
    appears: bool,
}

impl RegisteredSession {
    pub(super) fn open(shard: Rc<Shard>, opening: Opening, handle: Rc<SocketHandle>) -> Self {
        let Opening { claims, format, appears, client, .. } = opening;
        let address = client.address;
        let session = SocketSession::register(shard.app.clone(), format, claims, client);
        shard.rim.attach(session.key(), handle.clone());
        Self { shard, session, handle, address, appears }
    }

    /// Begins the session, which receives from here on.
    pub(super) fn begin(&self) {
        let Self { shard, session, handle, appears, .. } = self;
        session.begin(*appears);
        // Revocations are checked again now that the session is registered, so that none is missed between the two
        // checks.
        if let Some(reason) = shard.app.revocations.reason_of(session.claims()) {
            session.revoke(reason);
        } else if shard.is_draining() {
            handle.close(CloseReason::ServerStopping);
        }
        session.tell_of_start();
        let (session_id, user_id) = (session.session_id(), session.claims().user_id);
        let format = session.format().name();
        tracing::debug!(%session_id, %user_id, address = self.address.map(tracing::field::display), format, "socket opened");
    }

    /// Notes that the session goes on over another socket.
    pub(super) fn reached_from(&mut self, client: Client) {
        self.address = client.address;
        self.session.reached_from(client);
    }

    /// Adopts a session that was on another node before. The session still is on everything that it was on there.
    pub(super) fn adopt(
        shard: Rc<Shard>,
        session: Rc<SocketSession>,
        handle: Rc<SocketHandle>,
        address: Option<IpAddr>,
    ) -> Self {
        Self { shard, session, handle, address, appears: false }
    }

    pub(super) fn key(&self) -> SessionKey {
        self.session.key()
    }

    pub(super) fn claims(&self) -> &Claims {
        self.session.claims()
    }

    pub(super) fn session_id(&self) -> SessionId {
        self.session.session_id()
    }

    /// The handler of the session's messages.
    pub(super) fn message_handler(&self) -> Rc<SocketSession> {
        self.session.clone()
    }

    /// Notes that the session went to another node.
    pub(super) fn moved(self, to: Place) {
        let (session_id, user_id) = (self.session.session_id(), self.session.claims().user_id);
        tracing::debug!(%session_id, %user_id, node = to.node(), "session moved");
    }

    /// Ends the session, and says why.
    pub(super) fn close(self, reason: CloseReason) {
        self.session.tell_of_end(reason);
        let (session_id, user_id) = (self.session.session_id(), self.session.claims().user_id);
        let (address, reason) = (self.address.map(tracing::field::display), reason.name());
        let Discarded { replaced, dropped } = self.handle.discarded();
        let detail = self.handle.close_detail();
        drop(self);
        let detail = detail.as_deref();
        tracing::info!(%session_id, %user_id, address, reason, detail, replaced, dropped, "socket closed");
    }
}

impl Drop for RegisteredSession {
    fn drop(&mut self) {
        self.shard.rim.detach(self.session.key());
        self.session.close();
    }
}
