//! Authorisation: the server key, a session token or the HTTP key shows who asks. A missing or wrong one is refused,
//! and counts against the client's address.

use std::net::IpAddr;

use muster_domain::admission::AddressRate;
use muster_domain::sessions::Claims;
use muster_domain::{Error, ErrorKind, Result, Timestamp};
use muster_wire::operations::Audience;

use crate::context::{App, Caller};
use crate::metrics::add;

/// Finds out who asks, from the `authorization` header and, for game functions, the `http_key` parameter.
///
/// Errors: `Unauthenticated`, with a sentence that says what is missing or wrong; `ResourceExhausted` instead when that
/// was told to the address too often.
pub fn authorise(
    app: &App,
    audience: Audience,
    authorization: Option<&str>,
    http_key: Option<&str>,
    address: Option<IpAddr>,
    now: Timestamp,
) -> Result<Caller> {
    let caller = match audience {
        Audience::Anyone => Ok(Caller::Anyone),
        Audience::ServerKey => server_key(app, authorization),
        Audience::Session => player(app, authorization, now),
        Audience::HttpKeyOrSession => server_or_player(app, authorization, http_key, now),
    };
    caller.map_err(|error| {
        add(&app.metrics.unauthenticated, 1);
        bad_credentials(app, address, now, error)
    })
}

/// Books an answer to a token or key that is missing or not valid. Answers the refusal for the caller: the one that was
/// decided, or that the address gets no more of them.
pub fn bad_credentials(app: &App, address: Option<IpAddr>, now: Timestamp, refusal: Error) -> Error {
    match app.admission.take(AddressRate::BadCredentials, address, now) {
        Ok(()) => refusal,
        Err(refused) => refused.into(),
    }
}

/// Reads a session token, as a header or a socket's address holds it.
///
/// Errors: `Unauthenticated` when it is malformed, expired or void.
pub fn session_token(app: &App, token: &str, now: Timestamp) -> Result<Claims> {
    let claims = app.tokens.read(&app.keys, token, now).map_err(|_| refused(TOKEN_INVALID))?;
    if app.revocations.is_revoked(&claims) { Err(refused(TOKEN_INVALID)) } else { Ok(claims) }
}

const TOKEN_INVALID: &str = "The session token is invalid or has expired.";

/// Books a request of a player over HTTP that changes something or calls a function: as much as a unit for each
/// [`UNIT_BYTES`] of its body.
///
/// # Errors
/// `ResourceExhausted` when the player has sent too many.
pub fn book_request(app: &App, caller: &Caller, body_bytes: usize, now: Timestamp) -> Result<()> {
    let Caller::Player(claims) = caller else { return Ok(()) };
    let units = u32::try_from(1 + body_bytes / UNIT_BYTES).unwrap_or(u32::MAX);
    app.requests.borrow_mut().take(claims.user_id, units, now).map_err(|seconds| {
        add(&app.metrics.requests_limited, 1);
        let message = format!("Too many requests of this player. Please try again in {seconds} seconds.");
        Error::new(ErrorKind::ResourceExhausted, message).retry_after(seconds)
    })
}

/// The bytes of a request's body for which it costs one unit; it costs one at least.
const UNIT_BYTES: usize = 16_384;

fn server_key(app: &App, authorization: Option<&str>) -> Result<Caller> {
    let key = basic(authorization).ok_or_else(|| refused("The server key is required."))?;
    if app.keys.is_server_key(key) { Ok(Caller::Client) } else { Err(refused("The server key is not valid.")) }
}

fn player(app: &App, authorization: Option<&str>, now: Timestamp) -> Result<Caller> {
    let token = bearer(authorization).ok_or_else(|| refused("A session token is required."))?;
    session_token(app, token, now).map(Caller::Player)
}

fn server_or_player(app: &App, authorization: Option<&str>, http_key: Option<&str>, now: Timestamp) -> Result<Caller> {
    let is_valid = match (http_key, basic(authorization)) {
        (Some(key), _) => app.keys.is_http_key(key),
        (None, Some(credentials)) => app.keys.is_http_key_as_basic(credentials),
        (None, None) if authorization.is_none() => {
            return Err(refused("A session token or the HTTP key is required."));
        }
        (None, None) => return player(app, authorization, now),
    };
    if is_valid { Ok(Caller::Server) } else { Err(refused("The HTTP key is not valid.")) }
}

fn refused(message: &'static str) -> Error {
    Error::new(ErrorKind::Unauthenticated, message)
}

fn basic(authorization: Option<&str>) -> Option<&str> {
    after_scheme(authorization?, "Basic")
}

fn bearer(authorization: Option<&str>) -> Option<&str> {
    after_scheme(authorization?, "Bearer").filter(|token| !token.is_empty())
}

/// Credentials behind the scheme, whose name may come in any case.
fn after_scheme<'h>(header: &'h str, scheme: &str) -> Option<&'h str> {
    let (name, rest) = header.split_once(' ')?;
    name.eq_ignore_ascii_case(scheme).then(|| rest.trim_ascii())
}
