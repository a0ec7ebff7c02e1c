//! Routes of game code: paths of the server's address that game code answers itself.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;

use crate::failure::Failure;

/// A request to a route.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RouteRequest {
    /// The method, in upper case.
    pub method: String,
    /// The path, as it came.
    pub path: String,
    /// The whole body, decompressed.
    pub body: Vec<u8>,
}

/// The answer of a route. The names and values of its headers are valid in HTTP.
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
    /// No route has this path.
    Nowhere,
    /// Routes have this path, but with other methods.
    WrongMethod,
    /// A route takes it.
    To(FoundRoute),
}

/// A route that takes a request.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FoundRoute {
    /// The language of the route's function, by its position among the languages.
    pub language: usize,
    /// The position of the route among the routes of that language.
    pub index: usize,
    /// The path as game code wrote it.
    pub pattern: Arc<str>,
    /// The parts of the path that have names.
    pub parameters: Vec<(String, String)>,
}

/// The answer of a route that is to come.
pub type RouteFuture<'a> = Pin<Box<dyn Future<Output = Result<RouteResponse, Failure>> + 'a>>;
