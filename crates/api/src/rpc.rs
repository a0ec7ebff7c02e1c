//! Calls of game functions over HTTP, whose errors have a form of their own. There are no functions until scripts
//! are built: every id is unknown.

use muster_domain::{Error, ErrorKind, Result, Timestamp};
use muster_wire::api::Rpc;
use muster_wire::code::{RpcFailure, rpc_error_body};
use muster_wire::operations::{Audience, decode_http};

use crate::authorise::authorise;
use crate::context::App;
use crate::http::{HttpRequest, HttpResponse, JSON, code};

/// Answers a call.
pub(crate) fn call(app: &App, request: &HttpRequest<'_>, now: Timestamp) -> HttpResponse {
    match find(app, request, now) {
        Ok(never) => match never {},
        Err(error) => {
            let code = code(error.kind);
            let body = rpc_error_body(code, &error.message, RpcFailure::BuiltIn);
            HttpResponse { status: code.http_status(), content_type: JSON, body }
        }
    }
}

/// Finds the function asked for: authorised first, then looked up by its lower-case id.
fn find(app: &App, request: &HttpRequest<'_>, now: Timestamp) -> Result<std::convert::Infallible> {
    // The body, which may be no JSON, is looked at only once there is a function to give it to.
    let rpc: Rpc =
        decode_http(&request.matched, request.query, &[]).map_err(|error| Error::invalid(error.to_string()))?;
    let http_key = Some(rpc.http_key.as_str()).filter(|key| !key.is_empty());
    authorise(app, Audience::HttpKeyOrSession, request.authorization, http_key, now)?;
    if rpc.id.is_empty() {
        return Err(Error::invalid("The id of a function is required."));
    }
    Err(Error::new(ErrorKind::NotFound, "The game has no function of this id."))
}
