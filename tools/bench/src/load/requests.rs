//! Requests prepared once and patched in place: device and email sign-in, opening a socket.

use std::net::SocketAddr;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use uuid::Uuid;

use super::Format;

/// Length of a device id: a hyphenated UUID, as game engines give out.
pub const DEVICE_ID_LEN: usize = 36;
pub type DeviceId = [u8; DEVICE_ID_LEN];

/// The sample key of RFC 6455 section 1.3; [`WEBSOCKET_ACCEPT`] is its answer.
const WEBSOCKET_KEY: &str = "dGhlIHNhbXBsZSBub25jZQ==";
pub const WEBSOCKET_ACCEPT: &str = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo=";

/// A random device id, which nobody has used before.
pub fn fresh_device_id(random: &mut fastrand::Rng) -> DeviceId {
    let mut id = [0; DEVICE_ID_LEN];
    uuid::Builder::from_random_bytes(random.u128(..).to_be_bytes()).into_uuid().hyphenated().encode_lower(&mut id);
    id
}

/// A device sign-in with a replaceable id.
#[derive(Debug, Clone)]
pub struct DeviceSignIn {
    bytes: Vec<u8>,
    id_at: usize,
}

impl DeviceSignIn {
    pub fn new(address: SocketAddr, server_key: &str) -> Self {
        let body = format!(r#"{{"id":"{}"}}"#, Uuid::nil());
        let bytes = sign_in_request(address, server_key, "device", &body);
        let id_at = bytes.len() - body.len() + r#"{"id":""#.len();
        Self { bytes, id_at }
    }

    /// The whole request with this id.
    pub fn with(&mut self, id: &DeviceId) -> &[u8] {
        self.bytes[self.id_at..self.id_at + DEVICE_ID_LEN].copy_from_slice(id);
        &self.bytes
    }
}

/// A whole request that registers `email` with `password`. Neither may need escaping in JSON.
pub fn email_sign_in(address: SocketAddr, server_key: &str, email: &str, password: &str) -> Vec<u8> {
    sign_in_request(address, server_key, "email", &format!(r#"{{"email":"{email}","password":"{password}"}}"#))
}

fn sign_in_request(address: SocketAddr, server_key: &str, method: &str, body: &str) -> Vec<u8> {
    let credentials = STANDARD.encode(format!("{server_key}:"));
    let length = body.len();
    format!(
        "POST /v2/account/authenticate/{method}?create=true HTTP/1.1\r\nHost: {address}\r\n\
         Authorization: Basic {credentials}\r\nAccept: application/json\r\nContent-Type: application/json\r\n\
         Content-Length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// A whole request that calls a function of game code. The payload travels as a JSON string.
pub fn rpc(token: &str, function: &str, payload: &str) -> Vec<u8> {
    call(token, "POST", &format!("/v2/rpc/{function}"), &serde_json::Value::from(payload).to_string())
}

/// A whole request of a player.
pub fn call(token: &str, method: &str, path: &str, body: &str) -> Vec<u8> {
    let length = body.len();
    format!(
        "{method} {path} HTTP/1.1\r\nHost: bench\r\nAuthorization: Bearer {token}\r\n\
         Accept: application/json\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    )
    .into_bytes()
}

/// A whole request that opens a socket.
pub fn socket_upgrade(address: SocketAddr, token: &str, format: Format) -> Vec<u8> {
    let format = format.as_str();
    format!(
        "GET /ws?lang=en&status=false&format={format}&token={token} HTTP/1.1\r\nHost: {address}\r\n\
         Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\
         Sec-WebSocket-Key: {WEBSOCKET_KEY}\r\n\r\n"
    )
    .into_bytes()
}

/// A text as it may stand in a query: all bytes but letters and digits in their hexadecimal form.
pub fn escaped(text: &str) -> String {
    let escape =
        |byte: u8| if byte.is_ascii_alphanumeric() { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_sign_in_takes_any_id() {
        let mut request = DeviceSignIn::new(([127, 0, 0, 1], 7350).into(), "defaultkey");
        let id = fresh_device_id(&mut fastrand::Rng::with_seed(1));
        let text = String::from_utf8(request.with(&id).to_vec()).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        assert!(head.contains("Authorization: Basic ZGVmYXVsdGtleTo=\r\n"), "{head}");
        assert!(head.ends_with(&format!("Content-Length: {}", body.len())), "{head}");
        assert_eq!(body, format!(r#"{{"id":"{}"}}"#, std::str::from_utf8(&id).unwrap()));
    }
}
