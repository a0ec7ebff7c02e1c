//! The secrets of a server: the keys that clients and servers present, and the signers of both kinds of token.

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD};
use muster_domain::ids::parse_user_id;
use muster_domain::sessions::{Claims, Issued};
use muster_domain::{Timestamp, TokenId, UserId};
use muster_wire::api::Session;
use muster_wire::token::{self, Signer, TokenError};

/// The keys as texts, to build [`Keys`] from.
#[derive(Clone, Copy)]
pub struct KeyTexts<'a> {
    /// Key that clients present to sign in.
    pub server_key: &'a str,
    /// Key that servers present to call game functions. Empty: none is accepted.
    pub http_key: &'a str,
    /// Key that signs session tokens.
    pub session: &'a str,
    /// Key that signs refresh tokens; must differ from the key for session tokens.
    pub refresh: &'a str,
}

/// Keys and signers, prepared once.
pub struct Keys {
    server_key: Box<[u8]>,
    http_key: Box<[u8]>,
    session: Signer,
    refresh: Signer,
}

/// The two signing keys are equal, so that a refresh token would pass for a session token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("session.encryption_key and session.refresh_encryption_key must differ")]
pub struct EqualKeys;

impl std::fmt::Debug for Keys {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Keys(..)")
    }
}

impl Keys {
    /// Prepares the keys.
    pub fn new(texts: KeyTexts<'_>) -> Result<Self, EqualKeys> {
        if texts.session == texts.refresh {
            return Err(EqualKeys);
        }
        Ok(Self {
            server_key: texts.server_key.as_bytes().into(),
            http_key: texts.http_key.as_bytes().into(),
            session: Signer::new(texts.session.as_bytes()),
            refresh: Signer::new(texts.refresh.as_bytes()),
        })
    }

    /// Signs a session as its two tokens.
    pub fn sign(&self, issued: Issued, created: bool) -> Session {
        let mut claims = to_wire(issued.claims);
        let token = self.session.sign(&claims);
        claims.expires_at_sec = issued.refresh_expires_at_sec;
        Session { created, token, refresh_token: self.refresh.sign(&claims) }
    }

    /// Reads a session token that has not expired. Whether it is void is not looked at.
    pub fn read_session(&self, token: &str, now: Timestamp) -> Result<Claims, TokenError> {
        from_wire(self.session.verify(token, now.seconds())?)
    }

    /// Reads a refresh token that has not expired. Whether it is void is not looked at.
    pub fn read_refresh(&self, token: &str, now: Timestamp) -> Result<Claims, TokenError> {
        from_wire(self.refresh.verify(token, now.seconds())?)
    }

    /// Makes a token that lets its holder join a match until a second.
    pub fn sign_match(&self, match_id: &str, expires_at_sec: i64) -> String {
        self.session.sign_match(match_id, expires_at_sec)
    }

    /// The public id of the match that a token lets its holder join.
    pub fn read_match(&self, token: &str, now: Timestamp) -> Result<String, TokenError> {
        self.session.verify_match(token, now.seconds())
    }

    /// Whether Basic credentials hold the server key as their user name. The password is not looked at.
    pub fn is_server_key(&self, credentials: &str) -> bool {
        user_name(credentials).is_some_and(|name| is_key(&self.server_key, &name))
    }

    /// Whether Basic credentials hold the HTTP key as their user name.
    pub fn is_http_key_as_basic(&self, credentials: &str) -> bool {
        user_name(credentials).is_some_and(|name| is_key(&self.http_key, &name))
    }

    /// Whether this is the HTTP key.
    pub fn is_http_key(&self, key: &str) -> bool {
        is_key(&self.http_key, key.as_bytes())
    }
}

/// The user name of Basic credentials.
fn user_name(credentials: &str) -> Option<Vec<u8>> {
    let mut decoded = STANDARD.decode(credentials).or_else(|_| STANDARD_NO_PAD.decode(credentials)).ok()?;
    let colon = decoded.iter().position(|&byte| byte == b':')?;
    decoded.truncate(colon);
    Some(decoded)
}

/// Compares in a time that depends on the lengths only. An empty key fits nothing.
pub fn is_key(key: &[u8], presented: &[u8]) -> bool {
    let differences = key.iter().zip(presented).fold(0, |seen, (a, b)| seen | (a ^ b));
    !key.is_empty() && key.len() == presented.len() && std::hint::black_box(differences) == 0
}

fn to_wire(claims: Claims) -> token::Claims {
    token::Claims {
        token_id: claims.token_id.to_string(),
        user_id: claims.user_id.to_string(),
        username: claims.username,
        vars: claims.vars,
        expires_at_sec: claims.expires_at_sec,
        issued_at_sec: claims.issued_at_sec,
    }
}

/// Reads the claims of a token. A malformed user id is refused, and so is the system user, whom nobody can be.
fn from_wire(claims: token::Claims) -> Result<Claims, TokenError> {
    let user_id = parse_user_id(&claims.user_id).map_err(|_| TokenError::Malformed)?;
    if user_id == UserId::SYSTEM {
        return Err(TokenError::Malformed);
    }
    Ok(Claims {
        token_id: claims.token_id.parse::<TokenId>().map_err(|_| TokenError::Malformed)?,
        user_id,
        username: claims.username,
        vars: claims.vars,
        issued_at_sec: claims.issued_at_sec,
        expires_at_sec: claims.expires_at_sec,
    })
}
