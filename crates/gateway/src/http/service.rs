//! One HTTP request: its routing, and the headers of every response.

use std::cell::RefCell;
use std::convert::Infallible;
use std::net::SocketAddr;
use std::panic::resume_unwind;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::task::Poll;

use bytes::Bytes;
use futures_util::{FutureExt as _, poll};
use http::header::{
    AUTHORIZATION, CACHE_CONTROL, CONNECTION, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue,
    PRAGMA, RETRY_AFTER, SEC_WEBSOCKET_ACCEPT, UPGRADE, VARY,
};
use http::request::Parts;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use hyper::upgrade::OnUpgrade;
use muster_api::game::{Headers, RequestOrigin};
use muster_api::http::{self as api, HttpRequest, HttpResponse};
use muster_api::routes::RouteRequest;
use muster_domain::admission::{AddressRate, AddressRefused, AddressSlot};
use muster_domain::{Error, ErrorKind};
use muster_wire::code::{self, Code};
use muster_wire::operations::{self, RouteError};

use super::activity::{Activity, Phase};
use super::address::ClientAddress;
use super::answers::{self, Reader};
use super::body::{self, BodyError};
use super::caught::caught;
use super::{address, ambiguity, compress, cors};
use crate::shard::{Shard, Working};
use crate::ws::handshake;
use crate::ws::session::{self, Opening};

/// The type of every response's body.
pub type Body = Full<Bytes>;

/// A request that turns its connection into a socket.
pub struct PendingSocket {
    /// The connection, which is available once the answer has been sent.
    pub upgrade: OnUpgrade,
    /// The session that the socket opens.
    pub opening: Opening,
    /// The socket's share of the connections of its client's address, if the connection itself is a proxy's.
    pub of_address: Option<AddressSlot>,
}

/// Things that all requests of one connection share.
pub struct Exchange {
    /// The shard of the connection.
    pub shard: Rc<Shard>,
    /// The address of the peer.
    pub peer: SocketAddr,
    /// The connection's number on its shard.
    pub number: u64,
    /// The connection's present phase.
    pub activity: Arc<Activity>,
    /// A request that turns the connection into a socket is stored here.
    pub pending: Rc<RefCell<Option<PendingSocket>>>,
}

impl Exchange {
    /// Answers a request. If a handler panics, the answer is 500, and nothing else is affected.
    pub async fn answer(&self, request: Request<Incoming>) -> Result<Response<Body>, Infallible> {
        self.activity.enter(Phase::Handling);
        let accepts_gzip = compress::accepts_gzip(request.headers());
        let refusal = ambiguity::refusal(request.version(), request.headers());
        let is_last = refusal.is_some() || ambiguity::ends_connection(request.headers());
        let response = match refusal {
            Some(text) => {
                self.shard.metrics.malformed_requests.fetch_add(1, Ordering::Relaxed);
                error(Code::InvalidArgument, text)
            }
            None => caught(&self.shard.metrics, self.peer, self.route(request)).await,
        };
        let mut response = self.finish(response, accepts_gzip).await;
        if let Some(reader) = response.extensions_mut().remove::<Reader>()
            && answers::is_counted(&response)
        {
            response = answers::count(response, &reader, &self.shard, self.number, &self.activity);
        }
        if is_last {
            response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
        }
        self.activity.enter(Phase::Idle);
        Ok(response)
    }

    async fn route(&self, request: Request<Incoming>) -> Response<Body> {
        if self.shard.config.refuse_forwarded && address::is_forwarded(request.headers()) {
            self.shard.metrics.forwarded_refused.fetch_add(1, Ordering::Relaxed);
            return error(Code::PermissionDenied, FORWARDED_REFUSED);
        }
        let is_read = matches!(*request.method(), Method::GET | Method::HEAD);
        match request.uri().path() {
            _ if request.method() == Method::OPTIONS => preflight(),
            "/" if is_read => Response::new(Body::default()),
            "/readycheck" if is_read => self.readiness().await,
            path if self.shard.is_leaving() && path.starts_with(SIGN_IN) => error(Code::Unavailable, LEAVING),
            "/ws" if is_read => self.open_socket(request),
            _ => self.call(request).await,
        }
    }

    /// Answers whether the server can work: it is not stopping, its cluster does not keep it from working, and its
    /// database answers.
    async fn readiness(&self) -> Response<Body> {
        if self.shard.is_draining() {
            return error(Code::Unavailable, "The server is stopping.");
        }
        if self.shard.is_leaving() {
            return error(Code::Unavailable, LEAVING);
        }
        if let Some(reason) = self.shard.unready() {
            return error(Code::Unavailable, reason);
        }
        if self.shard.is_ready().await {
            return respond(HttpResponse::ok(b"{}".to_vec()));
        }
        error(Code::Unavailable, "The database does not answer.")
    }

    async fn call(&self, request: Request<Incoming>) -> Response<Body> {
        let (parts, body) = request.into_parts();
        self.activity.enter(Phase::Reading);
        let body = body::read(&parts.headers, body, &self.shard.config.http).await;
        self.activity.enter(Phase::Handling);
        let body = match body {
            Ok(body) => body,
            Err(refusal) => return self.refuse_body(parts.uri.path(), refusal),
        };
        let client = self.client(&parts.headers);
        let reader = Reader { client, authorization: parts.headers.get(AUTHORIZATION).cloned() };
        let mut response = self.run(parts, body, client).await;
        if answers::is_counted(&response) {
            response.extensions_mut().insert(reader);
        }
        response
    }

    async fn run(&self, parts: Parts, body: Bytes, client: ClientAddress) -> Response<Body> {
        let mut operation = Box::pin(run_operation(self.shard.clone(), parts, body, client));
        // Many operations finish at the first poll, and need no task.
        if let Poll::Ready(response) = poll!(operation.as_mut()) {
            return response;
        }
        // The operation runs in a task of its own, so that its changes are completed even if the client goes away. This
        // includes GET requests, because game code may change things in answer to any method.
        let working = Working::on(self.shard.clone());
        let operation = async move {
            let response = operation.await;
            drop(working);
            response
        };
        let answer = tokio::task::spawn_local(operation).await;
        answer.unwrap_or_else(|failed| match failed.try_into_panic() {
            Ok(panic) => resume_unwind(panic),
            // The shard ends, and its tasks end with it.
            Err(_) => error(Code::Unavailable, "The server is stopping."),
        })
    }

    fn refuse_body(&self, path: &str, refusal: BodyError) -> Response<Body> {
        if refusal.is_size() {
            self.shard.metrics.bodies_too_big.fetch_add(1, Ordering::Relaxed);
        }
        let body = if path.starts_with("/v2/rpc/") {
            code::rpc_error_body(Code::InvalidArgument.number().into(), refusal.text(), code::RpcFailure::Oversized)
        } else {
            code::error_body(Code::InvalidArgument.number().into(), refusal.text())
        };
        respond(HttpResponse { status: Code::InvalidArgument.http_status(), ..HttpResponse::ok(body) })
    }

    /// The client's address, with its port if the client is the peer itself.
    fn client(&self, headers: &HeaderMap) -> ClientAddress {
        ClientAddress::read(self.peer, headers, self.shard.config.proxy_count)
    }

    /// Answers the handshake of a socket, and stores the connection to be taken over.
    fn open_socket(&self, mut request: Request<Incoming>) -> Response<Body> {
        if self.shard.is_draining() {
            return plain(StatusCode::SERVICE_UNAVAILABLE, "The server is stopping.");
        }
        if self.shard.is_leaving() {
            return self.refuse_socket(StatusCode::SERVICE_UNAVAILABLE, LEAVING);
        }
        let checked = handshake::check_request(request.method(), request.version(), request.headers());
        let accept = match checked.and_then(|()| handshake::accept_key(request.headers())) {
            Ok(accept) => accept,
            Err(text) => return self.refuse_socket(StatusCode::BAD_REQUEST, text),
        };
        let authorization = text_header(request.headers(), AUTHORIZATION);
        let query = request.uri().query().unwrap_or_default();
        let client = self.client(request.headers());
        let opening = session::authorise(&self.shard.app, authorization, query, client);
        let of_address = match self.admit_socket(client, opening.as_ref().map_err(|(status, _)| *status)) {
            Ok(of_address) => of_address,
            Err(refused) => {
                self.shard.metrics.sockets_refused.fetch_add(1, Ordering::Relaxed);
                return respond(HttpResponse::refusal(&refused));
            }
        };
        let opening = match opening {
            Ok(opening) => opening,
            Err((status, text)) => return self.refuse_socket(status, text),
        };
        let upgrade = hyper::upgrade::on(&mut request);
        *self.pending.borrow_mut() = Some(PendingSocket { upgrade, opening, of_address });
        let mut response = Response::new(Body::default());
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let headers = response.headers_mut();
        headers.insert(UPGRADE, HeaderValue::from_static("websocket"));
        headers.insert(CONNECTION, HeaderValue::from_static("Upgrade"));
        if let Ok(accept) = HeaderValue::from_str(&accept) {
            headers.insert(SEC_WEBSOCKET_ACCEPT, accept);
        }
        response
    }

    /// Books a handshake, or the answer to a bad token, of the client's address. Answers the socket's share of the
    /// address's connections, if the connection itself is a proxy's.
    fn admit_socket(
        &self,
        client: ClientAddress,
        opening: Result<&Opening, StatusCode>,
    ) -> Result<Option<AddressSlot>, Error> {
        let (admission, now) = (&self.shard.app.admission, self.shard.app.clock.now());
        let opening = match opening {
            Ok(opening) => opening,
            Err(StatusCode::UNAUTHORIZED) => {
                admission.take(AddressRate::BadCredentials, Some(client.ip), now)?;
                return Ok(None);
            }
            Err(_) => return Ok(None),
        };
        admission.take(AddressRate::Handshakes, Some(client.ip), now)?;
        if let Some(seconds) = self.shard.app.barred.refused_sec(opening.user_id(), now) {
            let message = format!("This player has sent too many messages. Please try again in {seconds} seconds.");
            let error = Error::new(ErrorKind::ResourceExhausted, message);
            return Err(error.retry_after(seconds));
        }
        if !address::is_proxy(self.peer.ip(), self.shard.config.proxy_count) {
            return Ok(None);
        }
        let too_many = |_| AddressRefused { rate: AddressRate::Handshakes, retry_after_sec: OPEN_RETRY_SEC };
        Ok(admission.open(client.ip).map_err(too_many)?)
    }

    fn refuse_socket(&self, status: StatusCode, text: &'static str) -> Response<Body> {
        self.shard.metrics.sockets_refused.fetch_add(1, Ordering::Relaxed);
        plain(status, text)
    }

    /// Adds the headers of every response, and compresses the body if that is worth it.
    async fn finish(&self, mut response: Response<Body>, accepts_gzip: bool) -> Response<Body> {
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            return response;
        }
        if accepts_gzip {
            response = gzip(response).await;
        }
        let headers = response.headers_mut();
        cors::allow_origin(headers);
        // Game code may set how long the answer of its route may be cached.
        if !headers.contains_key(CACHE_CONTROL) {
            headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store, no-cache, must-revalidate"));
            headers.insert(PRAGMA, HeaderValue::from_static("no-cache"));
        }
        for (name, value) in &self.shard.config.response_headers {
            headers.insert(name, value.clone());
        }
        response
    }
}

async fn run_operation(shard: Rc<Shard>, parts: Parts, body: Bytes, client: ClientAddress) -> Response<Body> {
    let matched = match operations::route(parts.method.as_str(), parts.uri.path()) {
        Ok(matched) => matched,
        Err(RouteError::NotFound) => return ask_game(&shard, &parts, &body, client).await,
        Err(refusal) => return respond(HttpResponse::not_routed(refusal)),
    };
    let request = HttpRequest {
        matched,
        query: parts.uri.query().unwrap_or_default(),
        body: &body,
        authorization: text_header(&parts.headers, AUTHORIZATION),
        address: Some(client.ip),
        port: client.port,
        headers: &RequestHeaders(&parts.headers),
    };
    respond(api::call(&shard.app, request).await)
}

/// Asks game code about a request that is no operation: game code may have a route for it.
async fn ask_game(shard: &Shard, parts: &Parts, body: &[u8], client: ClientAddress) -> Response<Body> {
    let (method, path) = (parts.method.as_str().to_owned(), parts.uri.path().to_owned());
    let query = parts.uri.query().unwrap_or_default();
    let headers = &RequestHeaders(&parts.headers);
    let request = RouteRequest { method, path, body: body.to_vec() };
    let origin = RequestOrigin { address: Some(client.ip), port: client.port, query, headers };
    match api::answer_route(&shard.app, request, origin).await {
        None => respond(HttpResponse::not_routed(RouteError::NotFound)),
        Some(Err(refusal)) => respond(refusal),
        Some(Ok(answer)) => {
            let mut response = Response::new(Body::from(answer.body));
            *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            for (name, value) in answer.headers {
                // Headers that are not valid are left out here. Game code was told of them before.
                if let (Ok(name), Ok(value)) = (name.parse::<HeaderName>(), HeaderValue::from_str(&value)) {
                    response.headers_mut().append(name, value);
                }
            }
            response
        }
    }
}

/// Headers as game code sees them. Values that are not text are left out.
#[derive(Debug)]
struct RequestHeaders<'a>(&'a HeaderMap);

impl Headers for RequestHeaders<'_> {
    fn each(&self, see: &mut dyn FnMut(&str, &str)) {
        for (name, value) in self.0 {
            if let Ok(value) = value.to_str() {
                see(name.as_str(), value);
            }
        }
    }
}

/// The beginning of the paths by which players sign in.
const SIGN_IN: &str = "/v2/account/authenticate/";
/// Time after which a client whose address has as many sockets as it may can ask again, in seconds.
const OPEN_RETRY_SEC: u32 = 10;
/// The answer of a node that is draining.
const LEAVING: &str = "This server is draining and takes nobody new. Please connect again: another takes over.";

const FORWARDED_REFUSED: &str = "This is a development server with well-known keys, and this request came through a \
     proxy. Run `muster serve` for anything that others can reach.";

async fn gzip(response: Response<Body>) -> Response<Body> {
    let (mut parts, body) = response.into_parts();
    let bytes = whole(body);
    if bytes.len() < compress::COMPRESS_BYTES_MIN {
        return Response::from_parts(parts, Body::new(bytes));
    }
    let folded = if bytes.len() <= compress::INLINE_BYTES_MAX {
        compress::gzip(&bytes).ok()
    } else {
        let bytes = bytes.clone();
        tokio::task::spawn_blocking(move || compress::gzip(&bytes).ok()).await.ok().flatten()
    };
    let Some(folded) = folded else { return Response::from_parts(parts, Body::new(bytes)) };
    parts.headers.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    parts.headers.append(VARY, HeaderValue::from_static("Accept-Encoding"));
    Response::from_parts(parts, Body::from(folded))
}

/// The bytes of a body, which is complete: collecting them neither waits nor fails.
pub(super) fn whole(body: Body) -> Bytes {
    let collected = http_body_util::BodyExt::collect(body).now_or_never();
    collected.and_then(|collected| Some(collected.ok()?.to_bytes())).unwrap_or_default()
}

fn text_header(headers: &HeaderMap, name: http::HeaderName) -> Option<&str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

fn preflight() -> Response<Body> {
    let mut response = Response::new(Body::default());
    cors::allow_preflight(response.headers_mut());
    response
}

pub(super) fn error(code: Code, message: &str) -> Response<Body> {
    respond(HttpResponse::error(code, message))
}

pub(super) fn respond(answer: HttpResponse) -> Response<Body> {
    let mut response = Response::new(Body::from(answer.body));
    *response.status_mut() = StatusCode::from_u16(answer.status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let headers = response.headers_mut();
    headers.insert(CONTENT_TYPE, HeaderValue::from_static(answer.content_type));
    if let Some(seconds) = answer.retry_after_sec {
        headers.insert(RETRY_AFTER, HeaderValue::from(seconds.get()));
        headers.insert(CONNECTION, HeaderValue::from_static("close"));
    }
    response
}

fn plain(status: StatusCode, text: &'static str) -> Response<Body> {
    let mut response = Response::new(Body::from(text));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}
