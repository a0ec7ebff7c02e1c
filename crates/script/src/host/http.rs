//! Requests of game code to other servers.

use std::future::Future;
use std::pin::Pin;
use std::rc::Rc;
use std::time::Duration;

use muster_domain::{Error, ErrorKind, Result};

use super::records::named_texts;
use super::{
    Arguments, EffectClass, Host, HostFunction, JavaScriptAnswer, JavaScriptShape, ROW, Run, Type, field, flag, number,
    optional, required,
};
use crate::value::Value;

/// The timeout of a request that names none, in milliseconds.
const HTTP_TIMEOUT_DEFAULT_MS: f64 = 5_000.0;

/// The longest timeout; longer ones are cut to this one.
const HTTP_TIMEOUT_MAX: Duration = Duration::from_secs(300);

const METHODS: [&str; 6] = ["GET", "POST", "PUT", "PATCH", "DELETE", "HEAD"];

/// A request of game code to another server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutgoingRequest {
    /// The address, with scheme and host.
    pub url: String,
    /// The method, in capitals.
    pub method: String,
    /// Names and values of headers.
    pub headers: Vec<(String, String)>,
    /// The body; empty for none.
    pub body: Vec<u8>,
    /// The time for the whole request, from the look-up of the server's name to the last byte of the response.
    pub timeout: Duration,
    /// Whether any certificate is accepted.
    pub insecure: bool,
}

/// The response of another server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutgoingResponse {
    /// The status.
    pub code: u16,
    /// Names and values of headers, as they came.
    pub headers: Vec<(String, String)>,
    /// The body.
    pub body: Vec<u8>,
}

/// A response that is to come.
pub type HttpFuture<'a> = Pin<Box<dyn Future<Output = Result<OutgoingResponse>> + 'a>>;

/// The way to other servers. The implementation decides which addresses may be asked, and limits size and number of
/// requests.
pub trait HttpClient {
    /// Sends a request and awaits the response.
    fn send(&self, request: OutgoingRequest) -> HttpFuture<'_>;
}

/// A substitute for a way to other servers: it refuses every request.
#[derive(Clone, Copy, Debug)]
pub struct NoHttp;

impl HttpClient for NoHttp {
    fn send(&self, _request: OutgoingRequest) -> HttpFuture<'_> {
        let message = "This server makes no requests to others.";
        Box::pin(std::future::ready(Err(Error::new(ErrorKind::FailedPrecondition, message))))
    }
}

pub(super) static FUNCTIONS: &[HostFunction] = &[HostFunction {
    name: "http_request",
    doc: "Sends an HTTP request to another server and waits for the answer. The timeout is in milliseconds, by \
          default 5,000. An insecure request accepts any certificate.",
    parameters: &[
        required("url", Type::Text),
        required("method", Type::Text),
        optional("headers", Type::Object),
        optional("body", Type::Bytes),
        number("timeout", HTTP_TIMEOUT_DEFAULT_MS),
        flag("insecure", false),
    ],
    results: &[field("code", Type::Number), field("headers", Type::Map(&Type::Text)), field("body", Type::Text)],
    answers: "the status, the headers by name, and the body",
    effect: EffectClass::AsksServer,
    javascript: JavaScriptShape::answering(JavaScriptAnswer::Response),
    run: Run::Later(|host, arguments| Box::pin(request(host, arguments))),
    ..ROW
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
        _ => return Err(Error::invalid("expects timeout to be above 0")),
    };
    let (timeout, insecure) = (timeout.min(HTTP_TIMEOUT_MAX), arguments.flag());
    let response = host.http.send(OutgoingRequest { url, method, headers, body, timeout, insecure }).await?;
    let headers = of_headers(response.headers);
    Ok(Value::Results(vec![Value::Number(response.code.into()), headers, Value::Bytes(response.body)]))
}

/// Headers by their names, which the original writes like `Content-Type`. Several values of one name are joined by
/// commas.
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

/// Writes a header's name like `Content-Type`.
fn spelled(name: &str) -> String {
    let capital = |part: &str| {
        let mut letters = part.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        first.into_iter().chain(letters.map(|letter| letter.to_ascii_lowercase())).collect::<String>()
    };
    name.split('-').map(capital).collect::<Vec<_>>().join("-")
}
