//! The check of a sign-in's answer: a session whose tokens name a user.
//!
//! Signatures are not checked, since their key is the server's secret; everything that a client reads is.

use std::borrow::Cow;
use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::Deserialize;
use uuid::Uuid;

use super::Fault;
use super::http::HttpAnswer;

/// Longest claims of a token taken.
const CLAIMS_LEN_MAX: usize = 1024;

#[derive(Deserialize)]
struct SessionBody<'a> {
    #[serde(default)]
    created: bool,
    #[serde(borrow)]
    token: Cow<'a, str>,
    #[serde(borrow)]
    refresh_token: Cow<'a, str>,
}

#[derive(Deserialize)]
struct Claims<'a> {
    #[serde(borrow)]
    uid: Cow<'a, str>,
    /// Time of expiry, in Unix seconds.
    exp: u64,
}

/// Result of a sign-in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SignedIn<'a> {
    pub token: Cow<'a, str>,
    pub user: Uuid,
    pub created: bool,
}

/// Reads a sign-in's answer; anything but a session that is valid now is a fault.
pub fn check_sign_in<'a>(answer: &HttpAnswer<'a>) -> Result<SignedIn<'a>, Fault> {
    if answer.status != 200 {
        return Err(Fault::Status(answer.status));
    }
    let session: SessionBody<'a> =
        serde_json::from_slice(answer.body).map_err(|_| Fault::Wrong("body is not a session"))?;
    let user = token_user(&session.token)?;
    if token_user(&session.refresh_token)? != user {
        return Err(Fault::Wrong("refresh token of another user"));
    }
    Ok(SignedIn { token: session.token, user, created: session.created })
}

fn token_user(token: &str) -> Result<Uuid, Fault> {
    const FAULT: Fault = Fault::Wrong("token cannot be read");
    let mut parts = token.split('.');
    let (Some(_), Some(claims), Some(_), None) = (parts.next(), parts.next(), parts.next(), parts.next()) else {
        return Err(FAULT);
    };
    let mut buffer = [0; CLAIMS_LEN_MAX];
    let len = URL_SAFE_NO_PAD.decode_slice(claims, &mut buffer).map_err(|_| FAULT)?;
    let claims: Claims<'_> = serde_json::from_slice(&buffer[..len]).map_err(|_| FAULT)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    if claims.exp < now.as_secs() {
        return Err(Fault::Wrong("token has expired"));
    }
    Uuid::try_parse(&claims.uid).map_err(|_| FAULT)
}

#[cfg(test)]
mod tests {
    use super::*;

    const USER: &str = "7a3b0a0e-5a0f-4f3e-9d2b-0c5b3c1f2a11";
    const OTHER: &str = "00000000-5a0f-4f3e-9d2b-0c5b3c1f2a11";

    fn token(user: &str, exp: u64) -> String {
        let claims = URL_SAFE_NO_PAD.encode(format!(r#"{{"tid":"t","uid":"{user}","usn":"n","exp":{exp}}}"#));
        format!("e30.{claims}.c2ln")
    }

    fn check(status: u16, body: &str) -> String {
        match check_sign_in(&HttpAnswer { status, body: body.as_bytes() }) {
            Ok(signed_in) => format!("{} created={}", signed_in.user, signed_in.created),
            Err(fault) => fault.to_string(),
        }
    }

    fn session(token: &str, refresh: &str) -> String {
        format!(r#"{{"created":true,"token":"{token}","refresh_token":"{refresh}"}}"#)
    }

    #[test]
    fn sessions_are_read() {
        let good = token(USER, u64::MAX);
        assert_eq!(check(200, &session(&good, &good)), format!("{USER} created=true"));
        let existing = format!(r#"{{"token":"{good}", "refresh_token":"{good}"}}"#);
        assert_eq!(check(200, &existing), format!("{USER} created=false"));
    }

    #[test]
    fn anything_else_is_a_fault() {
        let good = token(USER, u64::MAX);
        assert_eq!(check(500, "{}"), "status 500");
        assert_eq!(check(200, "{}"), "wrong answer: body is not a session");
        assert_eq!(check(200, &session("abc", &good)), "wrong answer: token cannot be read");
        assert_eq!(check(200, &session(&token(USER, 1), &good)), "wrong answer: token has expired");
        let other = session(&good, &token(OTHER, u64::MAX));
        assert_eq!(check(200, &other), "wrong answer: refresh token of another user");
    }
}
