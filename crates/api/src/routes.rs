//! Routes of game code: paths of the server's address that game code answers itself. Which there are and what they answer is
//! declared in [`crate::game::GameFunctions`]; here a request becomes a call, and its answer is measured.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use muster_wire::code::Code;

use crate::context::App;
use crate::game::{Failure, Mode, Origin};
use crate::http::HttpResponse;

/// A request to a route.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteRequest {
    /// Its method, in upper case.
    pub method: String,
    /// Its path, as it came.
    pub path: String,
    /// The whole body, decompressed.
    pub body: Vec<u8>,
}

/// What a route answers. Names and values of headers are such as may be sent.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteResponse {
    /// The status, 200 to 599.
    pub status: u16,
    /// Headers by name, some several times.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// Whether game code takes a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Routed {
    /// It has no such path.
    Nowhere,
    /// It has the path, but with other methods.
    WrongMethod,
    /// It does.
    To(FoundRoute),
}

/// A route that takes a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundRoute {
    /// The language of its function, by its place among them.
    pub language: usize,
    /// Its place among the routes of that language.
    pub index: usize,
    /// The path as game code wrote it.
    pub pattern: Arc<str>,
    /// The parts of the path that have names.
    pub parameters: Vec<(String, String)>,
}

/// The answer of a route that is to come.
pub type RouteFuture<'a> = Pin<Box<dyn Future<Output = Result<RouteResponse, Failure>> + 'a>>;

/// Answers a request that no operation takes; `None` if game code does not take it either.
///
/// What went wrong in game code is for its log: clients are told that something did.
pub async fn answer(
    app: &App,
    request: RouteRequest,
    origin: Origin<'_>,
) -> Option<Result<RouteResponse, HttpResponse>> {
    let found = match app.game.find_route(&request.method, &request.path) {
        Routed::Nowhere => return None,
        Routed::WrongMethod => {
            let told = "This path does not take requests of this method.";
            return Some(Err(HttpResponse::error(Code::Unimplemented, told)));
        }
        Routed::To(found) => found,
    };
    let mut invocation = origin.invocation(Mode::Http, None);
    invocation.trace_id = Some(app.random_uuid());
    let answered = app.game.serve(found, request, invocation).await;
    Some(answered.map_err(|failure| match failure.code {
        Code::Unavailable => HttpResponse::error(Code::Unavailable, "The server has too much to do. Try again."),
        _ => HttpResponse::error(Code::Internal, "An internal error occurred."),
    }))
}
