//! Calls of functions over HTTP, whose errors have a form of their own: those that are built in; there are no others
//! until scripts are built.

use muster_domain::{Error, ErrorKind, Result, Timestamp};
use muster_wire::api::Rpc;
use muster_wire::code::{RpcFailure, rpc_error_body};
use muster_wire::operations::{Audience, decode_http};
use serde::Serialize;

use crate::authorise::authorise;
use crate::context::App;
use crate::functions::{self, Asker};
use crate::http::{HttpRequest, HttpResponse, JSON, code};

/// The parameter with which payload and result are bodies as they are.
const UNWRAP: &str = "unwrap";

/// A result that is not unwrapped.
#[derive(Serialize)]
struct Wrapped<'a> {
    payload: &'a str,
}

/// Answers a call.
pub(crate) async fn call(app: &App, request: &HttpRequest<'_>, now: Timestamp) -> HttpResponse {
    match run(app, request, now).await {
        Ok(body) => HttpResponse { status: 200, content_type: JSON, body: body.into_bytes() },
        Err(error) => {
            if error.kind == ErrorKind::Internal {
                let cause = error.cause.as_deref().unwrap_or_default();
                tracing::error!(cause, told = %error.message, "function failed");
            }
            let code = code(error.kind);
            let body = rpc_error_body(code, &error.message, RpcFailure::BuiltIn);
            HttpResponse { status: code.http_status(), content_type: JSON, body }
        }
    }
}

/// Authorised first, then the function is found by its lower-case id.
async fn run(app: &App, request: &HttpRequest<'_>, now: Timestamp) -> Result<String> {
    let decode =
        |body| decode_http(&request.matched, request.query, body).map_err(|error| Error::invalid(error.to_string()));
    // The body, which may be no JSON, is looked at only once there is a function to give it to.
    let rpc: Rpc = decode(&[])?;
    let http_key = Some(rpc.http_key.as_str()).filter(|key| !key.is_empty());
    let caller = authorise(app, Audience::HttpKeyOrSession, request.authorization, http_key, now)?;
    if rpc.id.is_empty() {
        return Err(Error::invalid("The id of a function is required."));
    }
    let id = rpc.id.to_ascii_lowercase();
    if !functions::is_built_in(&id) {
        return Err(Error::new(ErrorKind::NotFound, "The game has no function of this id."));
    }
    let is_unwrapped = request.query.split('&').any(|pair| pair.split('=').next() == Some(UNWRAP));
    let payload = if is_unwrapped {
        let text = std::str::from_utf8(request.body).map_err(|_| Error::invalid("The body is not UTF-8."))?;
        text.to_owned()
    } else {
        let rpc: Rpc = decode(request.body)?;
        rpc.payload
    };
    let result = functions::call(app, &Asker::of_caller(caller), &id, &payload).await?;
    if is_unwrapped { Ok(result) } else { functions::write(&Wrapped { payload: &result }) }
}
