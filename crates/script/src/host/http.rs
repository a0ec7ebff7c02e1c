//! Requests of game code to other servers.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

use muster_domain::{Error, ErrorKind, Result};

use super::records::named_texts;
use super::{Arguments, Effect, Host, HostFunction, Kind, Run, optional, text};
use crate::value::Value;

/// How long a request takes unless told otherwise.
const HTTP_TIMEOUT_DEFAULT: Duration = Duration::from_secs(5);

/// A longer time is cut to this.
const HTTP_TIMEOUT_MAX: Duration = Duration::from_secs(300);

const METHODS: [&str; 6] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"];

/// What game code asks another server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpRequest {
    /// With scheme and host.
    pub url: String,
    /// In capitals.
    pub method: String,
    /// Names and values.
    pub headers: Vec<(String, String)>,
    /// Empty for none.
    pub body: Vec<u8>,
    /// For everything, from looking up the name to the last byte.
    pub timeout: Duration,
    /// Whether to take any certificate.
    pub insecure: bool,
}

/// What the other server answers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HttpResponse {
    /// Its status.
    pub code: u16,
    /// Names and values, as they came.
    pub headers: Vec<(String, String)>,
    /// Its body.
    pub body: Vec<u8>,
}

/// A response that is to come.
pub type HttpFuture<'a> = Pin<Box<dyn Future<Output = Result<HttpResponse>> + 'a>>;

/// The way to other servers. What it may be asked for, and where, is bounded on the other side.
pub trait HttpClient {
    /// Sends a request and awaits the response.
    fn send(&self, request: HttpRequest) -> HttpFuture<'_>;
}

/// No way.
#[derive(Clone, Copy, Debug)]
pub struct NoHttp;

impl HttpClient for NoHttp {
    fn send(&self, _request: HttpRequest) -> HttpFuture<'_> {
        let message = "This server makes no requests to others.";
        Box::pin(std::future::ready(Err(Error::new(ErrorKind::FailedPrecondition, message))))
    }
}

pub(super) static FUNCTIONS: &[HostFunction] = &[HostFunction {
    name: "http_request",
    parameters: &[
        text("url"),
        text("method"),
        optional("headers", Kind::Table),
        optional("body", Kind::Text),
        optional("timeout", Kind::Number),
        optional("insecure", Kind::Flag),
    ],
    result: "the status, the headers by name, and the body",
    doc: "Asks another server. The timeout is in milliseconds, 5,000 without one. Insecure requests take any certificate.",
    effect: Effect::Asks,
    run: Run::Later(|host, arguments| Box::pin(request(host, arguments))),
}];

async fn request(host: Rc<Host>, mut arguments: Arguments) -> Result<Value> {
    let (url, method) = (arguments.text()?, arguments.text()?.to_ascii_uppercase());
    if !METHODS.contains(&method.as_str()) {
        return Err(Error::invalid(format!("expects method to be one of {}", METHODS.join(", "))));
    }
    let headers = named_texts(arguments.any(), "headers")?;
    let body = arguments.bytes();
    let timeout = match arguments.any() {
        Value::Number(millis) if millis > 0.0 => Duration::from_secs_f64(millis.min(1e9) / 1_000.0),
        Value::Number(_) => return Err(Error::invalid("expects timeout to be above 0")),
        _ => HTTP_TIMEOUT_DEFAULT,
    };
    let (timeout, insecure) = (timeout.min(HTTP_TIMEOUT_MAX), arguments.flag_or(false));
    let response = host.http.send(HttpRequest { url, method, headers, body, timeout, insecure }).await?;
    let headers = of_headers(response.headers);
    Ok(Value::Results(vec![Value::Number(response.code.into()), headers, Value::Bytes(response.body)]))
}

/// By their names as the original writes them. Several of one name are joined, as HTTP has it.
fn of_headers(headers: Vec<(String, String)>) -> Value {
    let mut table: Vec<(String, Value)> = Vec::new();
    for (name, value) in headers {
        let name = spelled(&name);
        match table.iter_mut().find(|(known, _)| *known == name) {
            Some((_, Value::Bytes(joined))) => {
                joined.extend(b", ");
                joined.extend(value.into_bytes());
            }
            _ => table.push((name, Value::text(value))),
        }
    }
    Value::Map(table)
}

/// `content-type` as `Content-Type`.
fn spelled(name: &str) -> String {
    let capital = |part: &str| {
        let mut letters = part.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        first.into_iter().chain(letters.map(|letter| letter.to_ascii_lowercase())).collect::<String>()
    };
    name.split('-').map(capital).collect::<Vec<_>>().join("-")
}
