//! Routes of game code: the requests that they take, and the answers that their functions may give.

use std::sync::Arc;

use muster_api::game::{Failure, Invocation};
use muster_api::routes::{RouteRequest, RouteResponse};
use muster_wire::code::Code;
use percent_encoding::percent_decode_str;

use super::call::CallArgument;
use crate::value::Value;

/// Limit on the routes that the modules of a language register.
pub const ROUTES_MAX: usize = 256;
/// Limit on the bytes of a route's path.
pub const ROUTE_PATH_BYTES_MAX: usize = 512;
/// Limit on the headers of a route's answer; a header with several values counts once for each.
pub const ROUTE_HEADERS_MAX: usize = 64;
/// Limit on the bytes of these headers, names and values together.
pub const ROUTE_HEADER_BYTES_MAX: usize = 16 << 10;
/// Limit on the bytes of the body of a route's answer.
pub const ROUTE_BODY_BYTES_MAX: usize = 8 << 20;

/// Methods that a route may name. A route that names none takes all of them.
const METHODS: [&str; 6] = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH"];

/// First parts of the paths that the server keeps for itself.
const RESERVED: [&str; 6] = ["v2", "ws", "healthcheck", "readycheck", "console", "muster"];

/// Headers that the server writes itself.
const MANAGED: [&str; 9] = [
    "connection",
    "content-encoding",
    "content-length",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "access-control-allow-origin",
];

/// Content type of a body if the answer names no other.
const PLAIN: &str = "text/plain; charset=utf-8";

/// The path and methods of the requests that a route takes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Route {
    pattern: Arc<str>,
    parts: Vec<Part>,
    methods: Vec<&'static str>,
}

/// A part of a path between slashes.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Literal(String),
    /// Any one part; the function is given it under this name.
    Named(String),
    /// The rest of the path; the function is given it under this name.
    Rest(String),
}

/// The result of a comparison of a route with a request.
pub(crate) enum Fit {
    /// The request has another path.
    None,
    /// The request has the path of the route, but another method.
    WrongMethod,
    /// The request fits. Holds the named parts of the path, by name.
    Matches(Vec<(String, String)>),
}

impl Route {
    /// # Errors
    /// A sentence, for a path or a method that no route may have.
    pub(crate) fn new(pattern: &str, methods: &[String]) -> Result<Self, String> {
        if pattern.len() > ROUTE_PATH_BYTES_MAX {
            return Err(format!("a path has at most {ROUTE_PATH_BYTES_MAX} bytes"));
        }
        let rest = pattern.strip_prefix('/').ok_or_else(|| format!("the path '{pattern}' must begin with a slash"))?;
        let parts = rest.split('/').map(|part| part_of(pattern, part)).collect::<Result<Vec<_>, _>>()?;
        match parts.first() {
            Some(Part::Literal(first)) if first.is_empty() => {
                return Err(format!("the path '{pattern}' must begin with a name: the server has / itself"));
            }
            Some(Part::Literal(first)) if RESERVED.contains(&first.as_str()) => {
                return Err(format!("the path '{pattern}' is the server's own: it has all that begins with /{first}"));
            }
            Some(Part::Literal(_)) => {}
            _ => return Err(format!("the path '{pattern}' must begin with a name, which no braces stand for")),
        }
        if parts.iter().rev().skip(1).any(|part| matches!(part, Part::Rest(_))) {
            return Err(format!("in the path '{pattern}' only the last part may stand for all that is left"));
        }
        let known = |method: &String| {
            let known = METHODS.into_iter().find(|known| known.eq_ignore_ascii_case(method));
            known.ok_or_else(|| format!("'{method}' is no method of a route: it takes {}", METHODS.join(", ")))
        };
        let methods = methods.iter().map(known).collect::<Result<Vec<_>, _>>()?;
        let methods = if methods.is_empty() { METHODS.to_vec() } else { methods };
        Ok(Self { pattern: pattern.into(), parts, methods })
    }

    /// The path as game code wrote it.
    pub(crate) fn pattern(&self) -> &Arc<str> {
        &self.pattern
    }

    /// Whether a request could fit both routes equally well.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        let shape = |route: &Self| {
            let part = |part: &Part| match part {
                Part::Literal(text) => (0, text.clone()),
                Part::Named(_) => (1, String::new()),
                Part::Rest(_) => (2, String::new()),
            };
            route.parts.iter().map(part).collect::<Vec<_>>()
        };
        shape(self) == shape(other) && self.methods.iter().any(|method| other.methods.contains(method))
    }

    /// Whether this route is more specific than another. The first parts that differ in kind decide: a literal part
    /// comes before a named one, and a named part before the rest of a path.
    pub(crate) fn is_closer_than(&self, other: &Self) -> bool {
        let rank = |route: &Self| {
            let rank = |part: &Part| match part {
                Part::Literal(_) => 0,
                Part::Named(_) => 1,
                Part::Rest(_) => 2,
            };
            route.parts.iter().map(rank).collect::<Vec<u8>>()
        };
        rank(self) < rank(other)
    }

    pub(crate) fn fit(&self, method: &str, path: &str) -> Fit {
        let Some(path) = path.strip_prefix('/') else { return Fit::None };
        let mut given = path.split('/');
        let mut parameters = Vec::new();
        for part in &self.parts {
            match (part, given.next()) {
                (Part::Literal(wanted), Some(found)) if wanted == found => {}
                (Part::Named(name), Some(found)) if !found.is_empty() => match decoded(found) {
                    Some(value) => parameters.push((name.clone(), value)),
                    None => return Fit::None,
                },
                (Part::Rest(name), Some(found)) => {
                    let all = given.by_ref().fold(found.to_owned(), |all, next| all + "/" + next);
                    match decoded(&all) {
                        Some(value) => parameters.push((name.clone(), value)),
                        None => return Fit::None,
                    }
                }
                _ => return Fit::None,
            }
        }
        if given.next().is_some() {
            return Fit::None;
        }
        if self.methods.contains(&method) { Fit::Matches(parameters) } else { Fit::WrongMethod }
    }
}

fn decoded(part: &str) -> Option<String> {
    percent_decode_str(part).decode_utf8().ok().map(std::borrow::Cow::into_owned)
}

fn part_of(pattern: &str, part: &str) -> Result<Part, String> {
    let Some(name) = part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) else {
        return match part.contains(['{', '}', '?', '#', '*', ' ']) {
            true => Err(format!("in the path '{pattern}' the part '{part}' is neither a name nor one in braces")),
            false => Ok(Part::Literal(part.to_owned())),
        };
    };
    let (name, is_rest) = name.strip_suffix("...").map_or((name, false), |name| (name, true));
    let is_name = !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    match (is_name, is_rest) {
        (true, true) => Ok(Part::Rest(name.to_owned())),
        (true, false) => Ok(Part::Named(name.to_owned())),
        _ => Err(format!("in the path '{pattern}' the name in '{part}' must be of letters, digits and underscores")),
    }
}

/// The argument of a route's function: the request as values by name, and its body. The body is apart because each
/// language adds it in a type of its own for bytes.
pub(crate) fn route_argument(
    request: RouteRequest,
    parameters: Vec<(String, String)>,
    invocation: &Invocation,
) -> CallArgument {
    let texts = |values: &Vec<String>| Value::List(values.iter().map(|value| Value::text(value.as_str())).collect());
    let multimap = |values: &[(String, Vec<String>)]| {
        Value::Map(values.iter().map(|(name, values)| (name.clone(), texts(values))).collect())
    };
    let parameters = parameters.into_iter().map(|(name, value)| (name, Value::text(value))).collect();
    let address = invocation.client.address.map_or(Value::Nil, |address| Value::text(address.to_string()));
    let record = Value::Record(vec![
        ("method", Value::text(request.method)),
        ("path", Value::text(request.path)),
        ("path_params", Value::Map(parameters)),
        ("query", multimap(&invocation.query)),
        ("headers", multimap(&invocation.headers)),
        ("client_ip", address),
    ]);
    CallArgument::Request(record, request.body)
}

/// The response that the answer of a route's function means: the answer is nothing, a text, or a table of status,
/// headers and body.
///
/// # Errors
/// When the answer cannot be sent.
pub(crate) fn response(answered: Option<Value>) -> Result<RouteResponse, Failure> {
    let unfit = |told: &str| Failure::new(Code::Internal, format!("The function of a route answered {told}."));
    let (status, headers, body) = match answered {
        None | Some(Value::Nil) => return Ok(RouteResponse { status: 204, ..RouteResponse::default() }),
        Some(Value::Bytes(body)) => (Value::Nil, Value::Nil, Value::Bytes(body)),
        Some(Value::Map(entries)) => {
            let mut parts = (Value::Nil, Value::Nil, Value::Nil);
            for (name, value) in entries {
                match name.as_str() {
                    "status" => parts.0 = value,
                    "headers" => parts.1 = value,
                    "body" => parts.2 = value,
                    other => return Err(unfit(&format!("'{other}': it takes status, headers and body"))),
                }
            }
            parts
        }
        Some(Value::List(values)) if values.is_empty() => (Value::Nil, Value::Nil, Value::Nil),
        Some(other) => return Err(unfit(&format!("a {}", other.kind()))),
    };
    let status = match status {
        Value::Nil => 200,
        Value::Number(number) if number.fract() == 0.0 && (200.0..600.0).contains(&number) => number as u16,
        _ => return Err(unfit("a status that is none from 200 to 599")),
    };
    let body = match body {
        Value::Nil => Vec::new(),
        Value::Bytes(body) if body.len() <= ROUTE_BODY_BYTES_MAX => body,
        Value::Bytes(_) => return Err(unfit(&format!("a body of more than {ROUTE_BODY_BYTES_MAX} bytes"))),
        other => return Err(unfit(&format!("a {} as body, which must be a string", other.kind()))),
    };
    let mut headers = headers_of(headers).map_err(|told| unfit(&told))?;
    if !body.is_empty() && !headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("content-type")) {
        headers.push(("content-type".to_owned(), PLAIN.to_owned()));
    }
    Ok(RouteResponse { status, headers, body })
}

fn headers_of(given: Value) -> Result<Vec<(String, String)>, String> {
    let entries = match given {
        Value::Nil => return Ok(Vec::new()),
        Value::List(values) if values.is_empty() => return Ok(Vec::new()),
        Value::Map(entries) => entries,
        other => return Err(format!("a {} as headers, which must be values by name", other.kind())),
    };
    let (mut headers, mut bytes) = (Vec::new(), 0);
    for (name, value) in entries {
        if !is_token(&name) {
            return Err(format!("a header with the name '{name}'"));
        }
        if MANAGED.iter().any(|managed| name.eq_ignore_ascii_case(managed)) {
            return Err(format!("the header {name}, which the server writes itself"));
        }
        let values = if let Value::List(values) = value { values } else { vec![value] };
        for value in values {
            let text = match value {
                Value::Bytes(text) => String::from_utf8(text).ok(),
                Value::Number(number) => Some(number.to_string()),
                _ => None,
            };
            let text = text.filter(|text| text.chars().all(|letter| letter == '\t' || (' '..='~').contains(&letter)));
            let text = text.ok_or_else(|| format!("a value of the header {name} that is no plain text"))?;
            bytes += name.len() + text.len();
            headers.push((name.clone(), text));
            if headers.len() > ROUTE_HEADERS_MAX || bytes > ROUTE_HEADER_BYTES_MAX {
                return Err(format!("more than {ROUTE_HEADERS_MAX} headers or {ROUTE_HEADER_BYTES_MAX} bytes of them"));
            }
        }
    }
    Ok(headers)
}

/// Whether a text may be the name of a header.
fn is_token(name: &str) -> bool {
    let is_letter = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
    !name.is_empty() && name.bytes().all(is_letter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn route(pattern: &str, methods: &[&str]) -> Result<Route, String> {
        Route::new(pattern, &methods.iter().map(|&method| method.to_owned()).collect::<Vec<_>>())
    }

    #[track_caller]
    fn check(pattern: &str, path: &str, expect: Option<&[(&str, &str)]>) {
        let found = match route(pattern, &["get"]).unwrap().fit("GET", path) {
            Fit::Matches(parameters) => Some(parameters),
            Fit::None | Fit::WrongMethod => None,
        };
        let expect =
            expect.map(|pairs| pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect());
        assert_eq!(found, expect, "{pattern} {path}");
    }

    #[test]
    fn paths_fit_their_routes() {
        check("/shop", "/shop", Some(&[]));
        check("/shop", "/shop/", None);
        check("/shop/", "/shop/", Some(&[]));
        check("/shop/{id}", "/shop/a%20b", Some(&[("id", "a b")]));
        check("/shop/{id}", "/shop/", None);
        check("/shop/{id}", "/shop/a/b", None);
        check("/shop/{id}/buy", "/shop/7/buy", Some(&[("id", "7")]));
        check("/files/{path...}", "/files/a/b%2Fc", Some(&[("path", "a/b/c")]));
        check("/shop/{id}", "/shop/%ff", None);
        assert!(matches!(route("/shop", &["post"]).unwrap().fit("GET", "/shop"), Fit::WrongMethod));
        assert!(matches!(route("/shop", &[]).unwrap().fit("DELETE", "/shop"), Fit::Matches(_)));
    }

    #[test]
    fn what_is_the_servers_own_or_no_path_is_refused() {
        for (pattern, told) in [
            ("/", "the server has / itself"),
            ("/v2/account", "all that begins with /v2"),
            ("/ws", "all that begins with /ws"),
            ("/{any}", "must begin with a name"),
            ("shop", "must begin with a slash"),
            ("/a/{b...}/c", "only the last part"),
            ("/a/{b:[0-9]+}", "letters, digits and underscores"),
            ("/a/b*", "neither a name nor one in braces"),
        ] {
            let refused = route(pattern, &[]).unwrap_err();
            assert!(refused.contains(told), "{refused}");
        }
        assert!(route("/a", &["TRACE"]).unwrap_err().contains("no method of a route"));
    }

    #[test]
    fn routes_that_could_not_be_told_apart_are_alike() {
        let alike = |one: (&str, &[&str]), other: (&str, &[&str])| {
            route(one.0, one.1).unwrap().is_like(&route(other.0, other.1).unwrap())
        };
        assert!(alike(("/a/{b}", &["get"]), ("/a/{c}", &["get", "post"])));
        assert!(!alike(("/a/{b}", &["get"]), ("/a/{b}", &["post"])));
        assert!(!alike(("/a/{b}", &["get"]), ("/a/b", &["get"])));
    }

    #[test]
    fn answers_are_statuses_headers_and_bodies() {
        let map = |entries: &[(&str, Value)]| {
            Value::Map(entries.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect())
        };
        assert_eq!(response(None).unwrap().status, 204);
        let plain = response(Some(Value::text("hi"))).unwrap();
        assert_eq!((plain.status, plain.headers[0].1.as_str(), &plain.body[..]), (200, PLAIN, &b"hi"[..]));
        let cookies = Value::List(vec![Value::text("a=1"), Value::text("b=2")]);
        let answer = map(&[("status", Value::Number(201.0)), ("headers", map(&[("Set-Cookie", cookies)]))]);
        assert_eq!(response(Some(answer)).unwrap().headers.len(), 2);
        for (answer, told) in [
            (Value::Number(1.0), "a number"),
            (map(&[("status", Value::Number(101.0))]), "a status that is none"),
            (map(&[("code", Value::Number(200.0))]), "'code'"),
            (map(&[("body", map(&[("a", Value::Nil)]))]), "a table as body"),
            (map(&[("headers", map(&[("Content-Length", Value::text("1"))]))]), "the server writes itself"),
            (map(&[("headers", map(&[("X-A", Value::text("a\r\nb"))]))]), "no plain text"),
            (map(&[("headers", map(&[("X A", Value::text("a"))]))]), "'X A'"),
        ] {
            let refused = response(Some(answer)).unwrap_err().message;
            assert!(refused.contains(told), "{refused}");
        }
    }
}
