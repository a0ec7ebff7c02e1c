//! Calls of functions over HTTP, whose errors have a form of their own: those that are built in, and the game's.

use muster_domain::{Error, ErrorKind, Timestamp};
use muster_wire::api::Rpc;
use muster_wire::code::{Code, RpcFailure, rpc_error_body};
use muster_wire::operations::{Audience, DecodeError, decode_body, decode_http};
use serde::Serialize;

use crate::asker::Asker;
use crate::authorise::{authorise, book_request};
use crate::context::{App, Caller};
use crate::function_payload::write;
use crate::functions;
use crate::game::{ExecutionMode, Invocation};
use crate::http_message::{HttpRequest, HttpResponse, JSON, code};
use crate::pipeline::RequestError;

/// The parameter with which payload and result are whole bodies, and not members of JSON objects.
const UNWRAP: &str = "unwrap";

/// A result that is not unwrapped.
#[derive(Serialize)]
struct Wrapped<'a> {
    payload: &'a str,
}

/// Answers a call of a function.
pub(crate) async fn call(app: &App, request: &HttpRequest<'_>, now: Timestamp) -> HttpResponse {
    let refused = |code: Code, number: i32, message: &str, failure| HttpResponse {
        status: code.http_status(),
        content_type: JSON,
        body: rpc_error_body(number, message, failure),
        retry_after_sec: None,
    };
    match run(app, request, now).await {
        Ok(body) => HttpResponse::ok(body.into_bytes()),
        Err(RequestError::Runtime(failure)) => {
            refused(failure.code, failure.number(), &failure.message, RpcFailure::Runtime)
        }
        Err(RequestError::BuiltIn(error)) => {
            if error.kind == ErrorKind::Internal {
                let cause = error.cause.as_deref().unwrap_or_default();
                tracing::error!(cause, told = %error.message, "function failed");
            }
            let code = code(error.kind);
            let answer = refused(code, code.number().into(), &error.message, RpcFailure::BuiltIn);
            HttpResponse { retry_after_sec: error.retry_after_sec, ..answer }
        }
    }
}

/// Runs a function. The caller is authorised first; then the function is found by its id in lower case.
async fn run(app: &App, request: &HttpRequest<'_>, now: Timestamp) -> Result<String, RequestError> {
    let unfit = |error: DecodeError| Error::invalid(error.to_string());
    // The body, which may be no JSON, is looked at only once there is a function to give it to.
    let mut rpc: Rpc = decode_http(&request.matched, request.query, &[]).map_err(unfit)?;
    let http_key = Some(rpc.http_key.as_str()).filter(|key| !key.is_empty());
    let caller = authorise(app, Audience::HttpKeyOrSession, request.authorization, http_key, request.address, now)?;
    book_request(app, &caller, request.body.len(), now)?;
    if rpc.id.is_empty() {
        return Err(Error::invalid("The id of a function is required.").into());
    }
    let id = rpc.id.to_ascii_lowercase();
    let is_built_in = functions::is_built_in(&id);
    if !is_built_in && !app.game.has(&id) {
        return Err(Error::new(ErrorKind::NotFound, "The game has no function of this id.").into());
    }
    let is_unwrapped = request.query.split('&').any(|pair| pair.split('=').next() == Some(UNWRAP));
    let payload = if is_unwrapped {
        let text = std::str::from_utf8(request.body).map_err(|_| Error::invalid("The body is not UTF-8."))?;
        text.to_owned()
    } else {
        // A payload among the parameters does not count, as in the original.
        rpc.payload.clear();
        decode_body(&request.matched, request.body, &mut rpc).map_err(|error| {
            let told = format!(
                "{error}: the body must be the payload as a JSON text, such as \"{{\\\"a\\\":1}}\"; with ?{UNWRAP} the body \
                 itself is the payload"
            );
            Error::invalid(told)
        })?;
        rpc.payload
    };
    let result = if is_built_in {
        functions::call(app, &Asker::of_caller(caller), &id, &payload).await?
    } else {
        let user = match caller {
            Caller::Player(claims) => Some(claims),
            Caller::Server | Caller::Anyone | Caller::Client => None,
        };
        let trace_id = Some(app.random_uuid());
        let invocation = Invocation { payload, trace_id, ..request.origin().invocation(ExecutionMode::Rpc, user) };
        app.game.call(&id, invocation).await?.unwrap_or_default()
    };
    if is_unwrapped { Ok(result) } else { Ok(write(&Wrapped { payload: &result })?) }
}
