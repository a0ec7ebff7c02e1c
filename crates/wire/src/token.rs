//! Session and refresh tokens: JWTs signed with HMAC-SHA-256.
//!
//! Clients read the claims themselves, so the claims' names are part of the protocol. Only HS256 is accepted; the other
//! members of the header, and their order, do not matter. Session tokens and refresh tokens differ only by their key:
//! each has a [`Signer`] of its own.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac as _};
use sha2::Sha256;

use crate::json::{Field as _, JsonError, Mode, Reader, WriteOptions, Writer};

/// The header `{"alg":"HS256","typ":"JWT"}` of every token made here, in base64.
const HEADER: &str = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9";
/// Longest token, in bytes; longer ones are refused before any work is done. Session variables are the only part
/// without a length limit of its own.
pub const TOKEN_LEN_MAX: usize = 64 * 1024;
/// Length of a signature in base64.
const SIGNATURE_TEXT_LEN: usize = 43;
const SIGNATURE_LEN: usize = 32;

/// The contents of a token.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Claims {
    /// `tid`: the id that a session token shares with its refresh token.
    pub token_id: String,
    /// `uid`: the id of the user.
    pub user_id: String,
    /// `usn`: the username when the token was made.
    pub username: String,
    /// `vrs`: session variables, omitted when empty.
    pub vars: BTreeMap<String, String>,
    /// `exp`: Unix seconds of the expiry. At that second the token is no longer valid.
    pub expires_at_sec: i64,
    /// `iat`: Unix seconds of the sign-in.
    pub issued_at_sec: i64,
}

/// The reason why a token is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TokenError {
    /// The text is no token of this kind.
    #[error("malformed token")]
    Malformed,
    /// The token was made with another key, or was changed.
    #[error("token signature does not fit")]
    BadSignature,
    /// The token has expired.
    #[error("token expired")]
    Expired,
}

/// Makes and checks tokens with one key. The key's hash is computed once.
#[derive(Clone)]
pub struct Signer {
    keyed: Hmac<Sha256>,
}

impl std::fmt::Debug for Signer {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str("Signer(..)")
    }
}

impl Signer {
    /// A signer for a key of any length.
    #[must_use]
    #[expect(clippy::expect_used, reason = "an HMAC takes keys of every length: longer than a block, they are hashed")]
    pub fn new(key: &[u8]) -> Self {
        Self { keyed: Hmac::new_from_slice(key).expect("a key of any length") }
    }

    /// Makes a session or refresh token. The caller has to bound the session variables, because a token longer than
    /// [`TOKEN_LEN_MAX`] is refused.
    #[must_use]
    pub fn sign(&self, claims: &Claims) -> String {
        self.sign_payload(&claims.to_json())
    }

    /// Checks a session or refresh token, and reads its claims. `now_sec` is Unix seconds.
    ///
    /// # Errors
    /// When the token is malformed, not signed with this key, or expired at `now_sec`.
    pub fn verify(&self, token: &str, now_sec: i64) -> Result<Claims, TokenError> {
        let claims = Claims::from_json(&self.verify_payload(token)?)?;
        if now_sec >= claims.expires_at_sec { Err(TokenError::Expired) } else { Ok(claims) }
    }

    /// Makes a token that allows its holder to join a match until `expires_at_sec` (Unix seconds). `match_id` is the
    /// match's public id.
    #[must_use]
    pub fn sign_match(&self, match_id: &str, expires_at_sec: i64) -> String {
        let mut out = Vec::with_capacity(96);
        let mut writer = Writer::new(&mut out, WriteOptions::default());
        writer.raw(b"{");
        writer.present_text("\"mid\":", match_id);
        writer.present_number("\"exp\":", expires_at_sec);
        writer.raw(b"}");
        self.sign_payload(&out)
    }

    /// Checks a token of a match, and answers the match's public id. `now_sec` is Unix seconds.
    ///
    /// # Errors
    /// When the token is malformed, of another kind, not signed with this key, or expired at `now_sec`.
    pub fn verify_match(&self, token: &str, now_sec: i64) -> Result<String, TokenError> {
        let (mut match_id, mut expires_at_sec) = (String::new(), 0i64);
        read_members(&self.verify_payload(token)?, |name, reader| match name {
            "mid" => match_id.read(reader),
            "exp" => expires_at_sec.read(reader),
            _ => reader.skip(),
        })?;
        if match_id.is_empty() {
            return Err(TokenError::Malformed);
        }
        if now_sec >= expires_at_sec { Err(TokenError::Expired) } else { Ok(match_id) }
    }

    /// Makes a token with any JSON payload, for tokens with other claims.
    #[must_use]
    pub fn sign_payload(&self, payload: &[u8]) -> String {
        let capacity = HEADER.len() + 2 + payload.len().div_ceil(3) * 4 + SIGNATURE_TEXT_LEN;
        let mut token = String::with_capacity(capacity);
        token.push_str(HEADER);
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(payload, &mut token);
        let signature = self.keyed.clone().chain_update(token.as_bytes()).finalize().into_bytes();
        token.push('.');
        URL_SAFE_NO_PAD.encode_string(signature, &mut token);
        token
    }

    /// Checks a token's header and signature, and answers its payload. The expiry is not checked.
    ///
    /// # Errors
    /// When the token is malformed or not signed with this key.
    pub fn verify_payload(&self, token: &str) -> Result<Vec<u8>, TokenError> {
        if token.len() > TOKEN_LEN_MAX {
            return Err(TokenError::Malformed);
        }
        let (signed, signature) = token.rsplit_once('.').ok_or(TokenError::Malformed)?;
        let (header, payload) = signed.split_once('.').ok_or(TokenError::Malformed)?;
        if header != HEADER {
            check_header(header)?;
        }
        let mut expected = [0; SIGNATURE_LEN + 1];
        let len = URL_SAFE_NO_PAD.decode_slice(signature, &mut expected).map_err(|_| TokenError::Malformed)?;
        let mac = self.keyed.clone().chain_update(signed.as_bytes());
        // The comparison takes constant time, and refuses signatures of another length.
        mac.verify_slice(&expected[..len]).map_err(|_| TokenError::BadSignature)?;
        URL_SAFE_NO_PAD.decode(payload).map_err(|_| TokenError::Malformed)
    }
}

/// Accepts any header that names HS256 and requires no extension.
fn check_header(header: &str) -> Result<(), TokenError> {
    let json = URL_SAFE_NO_PAD.decode(header).map_err(|_| TokenError::Malformed)?;
    let mut algorithm_fits = false;
    read_members(&json, |name, reader| {
        match name {
            "alg" => algorithm_fits = reader.string()? == "HS256",
            "crit" => return Err(reader.expected("no critical extension")),
            _ => reader.skip()?,
        }
        Ok(())
    })?;
    if algorithm_fits { Ok(()) } else { Err(TokenError::Malformed) }
}

impl Claims {
    fn to_json(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(256);
        let mut writer = Writer::new(&mut out, WriteOptions::default());
        writer.raw(b"{");
        writer.present_text("\"tid\":", &self.token_id);
        writer.present_text("\"uid\":", &self.user_id);
        writer.present_text("\"usn\":", &self.username);
        writer.field("\"vrs\":", &self.vars);
        writer.present_number("\"exp\":", self.expires_at_sec);
        writer.present_number("\"iat\":", self.issued_at_sec);
        writer.raw(b"}");
        out
    }

    fn from_json(json: &[u8]) -> Result<Self, TokenError> {
        let mut claims = Self::default();
        read_members(json, |name, reader| match name {
            "tid" => claims.token_id.read(reader),
            "uid" => claims.user_id.read(reader),
            "usn" => claims.username.read(reader),
            "vrs" => claims.vars.read(reader),
            "exp" => claims.expires_at_sec.read(reader),
            "iat" => claims.issued_at_sec.read(reader),
            _ => reader.skip(),
        })?;
        if claims.user_id.is_empty() || claims.expires_at_sec <= 0 {
            return Err(TokenError::Malformed);
        }
        Ok(claims)
    }
}

/// Reads the members of one JSON object. A member that is `null` counts as not given.
fn read_members(
    json: &[u8],
    mut member: impl FnMut(&str, &mut Reader<'_>) -> Result<(), JsonError>,
) -> Result<(), TokenError> {
    let mut read = || {
        let mut reader = Reader::new(json, Mode::Tolerant)?;
        reader.begin_object()?;
        let mut first = true;
        while let Some(name) = reader.next_name(&mut first)? {
            if !reader.take_null()? {
                member(&name, &mut reader)?;
            }
        }
        reader.end()
    };
    read().map_err(|_| TokenError::Malformed)
}
