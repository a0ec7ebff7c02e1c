//! Requests over HTTP: an operation is decoded, run, measured and encoded. A request that no operation takes may be for
//! a route of game code. Nothing here uses sockets: bodies come whole and leave whole.

use muster_domain::{Error, ErrorKind, Result};
use muster_wire::code::Code;
use muster_wire::json;
use muster_wire::operations::{Operation, TypedOperation, decode_http};

use crate::context::App;
use crate::dispatch::dispatch;
use crate::game::{ExecutionMode, RequestOrigin};
pub use crate::http_message::{HttpRequest, HttpResponse, JSON, code};
use crate::metrics::Measured;
use crate::pipeline::{Call, Codec, RequestError};
use crate::routes::{RouteRequest, RouteResponse, Routed};
use crate::rpc;

/// Answers a request.
pub async fn call(app: &App, request: HttpRequest<'_>) -> HttpResponse {
    let operation = request.matched.operation;
    let now = app.clock.now();
    let response = if operation == Operation::RpcFunc {
        rpc::call(app, &request, now).await
    } else {
        let (authorization, origin) = (request.authorization, request.origin());
        let call = Call { operation, authorization, origin, now, codec: HttpCodec(request) };
        // The future is boxed: it is as large as the largest operation, and calls of functions need not carry so much
        // along.
        match Box::pin(dispatch(app, &call)).await {
            Ok(body) => HttpResponse::ok(body),
            Err(RequestError::BuiltIn(error)) => {
                report(operation, &error);
                HttpResponse::refusal(&error)
            }
            Err(RequestError::Runtime(failure)) => HttpResponse::failure(&failure),
        }
    };
    let measured = Measured {
        is_error: response.status >= 400,
        recv_bytes: request.body.len(),
        sent_bytes: response.body.len(),
        latency_us: u64::try_from(app.clock.now().0.saturating_sub(now.0)).unwrap_or(0),
    };
    app.metrics.request(operation, measured);
    response
}

/// Answers a request that no operation takes; `None` if game code does not take it either.
///
/// Failures of game code are for its log: clients are told only that something failed.
pub async fn answer_route(
    app: &App,
    request: RouteRequest,
    origin: RequestOrigin<'_>,
) -> Option<std::result::Result<RouteResponse, HttpResponse>> {
    let found = match app.game.find_route(&request.method, &request.path) {
        Routed::Nowhere => return None,
        Routed::WrongMethod => {
            let told = "This path does not take requests of this method.";
            return Some(Err(HttpResponse::error(Code::Unimplemented, told)));
        }
        Routed::To(found) => found,
    };
    let mut invocation = origin.invocation(ExecutionMode::Http, None);
    invocation.trace_id = Some(app.random_uuid());
    let answered = app.game.serve(found, request, invocation).await;
    Some(answered.map_err(|failure| match failure.code {
        Code::Unavailable => HttpResponse::error(Code::Unavailable, "The server has too much to do. Try again."),
        _ => HttpResponse::error(Code::Internal, "An internal error occurred."),
    }))
}

/// The codec of HTTP: a request comes as path, query and body, and the answer is JSON.
struct HttpCodec<'a>(HttpRequest<'a>);

impl Codec for HttpCodec<'_> {
    fn request<T: TypedOperation>(&self) -> Result<T::Request> {
        let HttpRequest { matched, query, body, .. } = &self.0;
        decode_http(matched, query, body).map_err(|error| Error::invalid(error.to_string()))
    }

    fn body_bytes(&self) -> usize {
        self.0.body.len()
    }

    fn response<T: TypedOperation>(&self, response: &T::Response) -> Vec<u8> {
        json::to_json(response)
    }
}

/// Logs an error that is not the caller's fault. A database that does not answer is reported where it is watched, not
/// for each request.
fn report(operation: Operation, error: &Error) {
    let (operation, cause) = (operation.name(), error.cause.as_deref().unwrap_or_default());
    match error.kind {
        ErrorKind::Internal => tracing::error!(operation, cause, told = %error.message, "request failed"),
        ErrorKind::Unavailable => tracing::debug!(operation, cause, "request refused for now"),
        _ => {}
    }
}
