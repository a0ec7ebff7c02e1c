//! Classes of wrong HTTP requests, and the answer to each. `docs/reference/limits.md` lists the classes; a test
//! compares the two.

use std::io::Write as _;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use flate2::Compression;
use flate2::write::{GzEncoder, ZlibEncoder};
use hmac::{Hmac, Mac as _};
use sha2::Sha256;

use super::http::{self, head, request};
use super::random::Random;
use super::server::{SERVER_KEY, SESSION_KEY};
use super::socket::UPGRADE;

/// The expected answer to a class of requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExpectedAnswer {
    /// An error of the protocol: HTTP status and code.
    Error(u16, u64),
    /// A status alone or with plain text: the request did not reach the protocol.
    Status(u16),
    /// No answer: the connection ends.
    Nothing,
    /// The status 400 or 431 alone, or no answer: random bytes may look like the start of anything.
    Refused,
}

/// A class of requests.
pub struct Class {
    pub name: &'static str,
    pub answer: ExpectedAnswer,
    /// Whether the client closes its sending side, so that the request stays incomplete.
    pub is_half_closed: bool,
    pub make: fn(&mut Random) -> Vec<u8>,
}

const fn class(name: &'static str, answer: ExpectedAnswer, make: fn(&mut Random) -> Vec<u8>) -> Class {
    Class { name, answer, is_half_closed: false, make }
}

const fn cut(name: &'static str, answer: ExpectedAnswer, make: fn(&mut Random) -> Vec<u8>) -> Class {
    Class { name, answer, is_half_closed: true, make }
}

const INVALID: ExpectedAnswer = ExpectedAnswer::Error(400, 3);

pub const CLASSES: &[Class] = &[
    cut("truncated head", ExpectedAnswer::Nothing, truncated_head),
    cut("truncated body", INVALID, truncated_body),
    class("head too long", ExpectedAnswer::Status(431), long_head),
    class("too many headers", ExpectedAnswer::Status(431), many_headers),
    class("body too long", INVALID, long_body),
    class("chunked body too long", INVALID, long_chunked_body),
    class("zip bomb", INVALID, zip_bomb),
    class("damaged compression", INVALID, damaged_compression),
    class("unknown content encoding", INVALID, unknown_encoding),
    class("wrong types in JSON", INVALID, wrong_types),
    class("damaged JSON", INVALID, damaged_json),
    class("text behind JSON", INVALID, trailing_json),
    class("JSON that is not UTF-8", INVALID, not_utf8),
    class("deep nesting", INVALID, deep_nesting),
    class("NUL in a value", INVALID, nul_value),
    class("bad percent-encoding", INVALID, bad_percent),
    class("long query", ExpectedAnswer::Status(200), long_query),
    class("bad Content-Length", ExpectedAnswer::Status(400), bad_length),
    class("conflicting Content-Length", ExpectedAnswer::Status(400), conflicting_length),
    class("smuggled request", INVALID, smuggled),
    class("bad Transfer-Encoding", ExpectedAnswer::Status(400), bad_transfer_encoding),
    class("bad chunks", INVALID, bad_chunks),
    class("bad header line", ExpectedAnswer::Status(400), bad_header_line),
    class("bad request line", ExpectedAnswer::Status(400), bad_request_line),
    class("missing or second Host", INVALID, bad_host),
    class("unknown method", ExpectedAnswer::Error(501, 12), unknown_method),
    class("path traversal", ExpectedAnswer::Error(404, 5), traversal),
    cut("noise", ExpectedAnswer::Refused, noise),
    class("HTTP/2 preface", ExpectedAnswer::Nothing, http2_preface),
    class("second Authorization", INVALID, second_authorization),
    class("bad Authorization", ExpectedAnswer::Error(401, 16), bad_authorization),
    class("bad token", ExpectedAnswer::Error(401, 16), bad_token),
    class("forwarded to a development server", ExpectedAnswer::Error(403, 7), forwarded),
    class("bad socket handshake", ExpectedAnswer::Status(400), bad_handshake),
    class("socket with a bad token", ExpectedAnswer::Status(401), bad_socket_token),
];

const SIGN_IN: &str = "/v2/account/authenticate/device?create=true";
const BODY: &[u8] = br#"{"id":"hostile-device","vars":{"a":"b"}}"#;
/// Defaults of the configuration.
const BODY_BYTES_MAX: usize = 262_144;
const DECOMPRESSED_BYTES_MAX: usize = 1_048_576;
const NESTING_DEPTH_MAX: usize = 100;
const TEN_YEARS_SEC: u64 = 315_360_000;

fn server_key() -> String {
    format!("Authorization: {}", http::basic(SERVER_KEY))
}

fn sign_in(headers: &[&str], body: &[u8]) -> Vec<u8> {
    request("POST", SIGN_IN, &[&[server_key().as_str()], headers].concat(), body)
}

/// A sign-in whose body is framed by the caller.
fn sign_in_unframed(headers: &[&str], rest: &[u8]) -> Vec<u8> {
    let mut bytes = head("POST", SIGN_IN, &[&[server_key().as_str()], headers].concat());
    bytes.extend_from_slice(rest);
    bytes
}

fn truncated_head(random: &mut Random) -> Vec<u8> {
    let mut bytes = sign_in(&[], BODY);
    let head_len = bytes.len() - BODY.len();
    bytes.truncate(random.between(1, head_len));
    bytes
}

fn truncated_body(random: &mut Random) -> Vec<u8> {
    let mut bytes = sign_in(&[], BODY);
    bytes.truncate(bytes.len() - random.between(1, BODY.len()));
    bytes
}

fn long_head(random: &mut Random) -> Vec<u8> {
    let long = random.word(9_000);
    match random.between(0, 3) {
        0 => sign_in(&[&format!("X-Long: {long}")], BODY),
        1 => request("GET", &format!("/v2/{long}"), &[], b""),
        _ => request("GET", &format!("/healthcheck?{long}"), &[], b""),
    }
}

fn many_headers(random: &mut Random) -> Vec<u8> {
    let lines: Vec<String> = (0..random.between(64, 200)).map(|number| format!("X-{number}: a")).collect();
    let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
    sign_in(&lines, BODY)
}

fn long_body(random: &mut Random) -> Vec<u8> {
    let length = BODY_BYTES_MAX + random.between(1, 10_000);
    // Nineteen of twenty requests only announce the body: the answer must not wait for a body that is too large anyway.
    let sent = if random.between(0, 20) == 0 { length } else { 0 };
    sign_in_unframed(&[&format!("Content-Length: {length}")], &vec![b' '; sent])
}

fn long_chunked_body(random: &mut Random) -> Vec<u8> {
    let chunk = random.between(8_000, 60_000);
    let mut rest = Vec::new();
    while rest.len() <= BODY_BYTES_MAX + 1_000 {
        rest.extend_from_slice(format!("{chunk:x}\r\n").as_bytes());
        rest.resize(rest.len() + chunk, b' ');
        rest.extend_from_slice(b"\r\n");
    }
    sign_in_unframed(&["Transfer-Encoding: chunked"], &rest)
}

fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

fn zlib(body: &[u8]) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

fn zip_bomb(random: &mut Random) -> Vec<u8> {
    let body = vec![b' '; DECOMPRESSED_BYTES_MAX + random.between(1, 4_000_000)];
    let (encoding, compressed) =
        if random.between(0, 2) == 0 { ("gzip", gzip(&body)) } else { ("deflate", zlib(&body)) };
    sign_in(&[&format!("Content-Encoding: {encoding}")], &compressed)
}

fn damaged_compression(random: &mut Random) -> Vec<u8> {
    let mut body = gzip(BODY);
    let mut encoding = random.pick(&["gzip", "x-gzip", "GZIP"]);
    match random.between(0, 5) {
        0 => body.truncate(random.between(1, body.len())),
        1 => {
            let length = random.between(1, 100);
            body.extend(random.bytes(length));
        }
        // This damages the checksum at the end.
        2 => {
            let at = body.len() - random.between(5, 9);
            body[at] ^= 1 << random.between(0, 8);
        }
        3 => {
            encoding = "deflate";
            body = [zlib(BODY), random.bytes(3)].concat();
        }
        _ => body = BODY.to_vec(),
    }
    sign_in(&[&format!("Content-Encoding: {encoding}")], &body)
}

fn unknown_encoding(random: &mut Random) -> Vec<u8> {
    let encoding = random.pick(&["br", "zstd", "compress", "gzip, gzip", "gzip;q=1", "\u{7f}", "deflate, gzip"]);
    let encoding = if encoding == "\u{7f}" { random.word(20) } else { encoding.to_owned() };
    sign_in(&[&format!("Content-Encoding: {encoding}")], BODY)
}

fn wrong_types(random: &mut Random) -> Vec<u8> {
    let value = random.pick(&["1", "-1.5e9", "true", "[]", "{}", "[\"a\"]", "{\"a\":1}", "NaN", "1e999999"]);
    let vars = random.pick(&["1", "\"a\"", "[]", "[{}]", "{\"a\":1}", "{\"a\":{}}", "true"]);
    let body = match random.between(0, 4) {
        0 => format!("{{\"id\":{value}}}"),
        1 => format!("{{\"id\":\"hostile-device\",\"vars\":{vars}}}"),
        2 => random.pick(&["[]", "\"a\"", "1", "true", "[{\"id\":\"hostile-device\"}]"]).to_owned(),
        _ => format!("{{\"id\":\"hostile-device\",\"id\":\"{}\"}}", random.word(12)),
    };
    sign_in(&[], body.as_bytes())
}

fn damaged_json(random: &mut Random) -> Vec<u8> {
    let mut body = BODY.to_vec();
    match random.between(0, 3) {
        0 => body.truncate(random.between(1, body.len())),
        1 => {
            let at = random.between(1, body.len());
            let control = random.between(0, 9) as u8;
            body.insert(at, control);
            // Control characters are not allowed in strings, and none of these is allowed between tokens.
        }
        _ => {
            let damage = random.pick(&["{/**/", "{,", "{'a':1,", "{a:1,", "\u{feff}{", "{{", "+{"]);
            body.splice(0..1, damage.bytes());
        }
    }
    sign_in(&[], &body)
}

fn trailing_json(random: &mut Random) -> Vec<u8> {
    let mut body = BODY.to_vec();
    let length = random.between(1, 50);
    body.extend_from_slice(random.word(length).as_bytes());
    sign_in(&[], &body)
}

fn not_utf8(random: &mut Random) -> Vec<u8> {
    let bad: &[u8] = random.pick(&[
        b"\xff",
        b"\xc0\xaf",
        b"\xe2\x28\xa1",
        b"\xed\xa0\x80",
        b"\xf4\x90\x80\x80",
        b"\x80",
        b"\\ud800",
        b"\\udc00\\ud800",
    ]);
    let name = random.word(8);
    let body = [b"{\"id\":\"", name.as_bytes(), bad, b"abc\"}"].concat();
    sign_in(&[], &body)
}

fn deep_nesting(random: &mut Random) -> Vec<u8> {
    let depth = random.between(NESTING_DEPTH_MAX + 1, 20_000);
    let (open, close) = random.pick(&[("[", "]"), ("{\"a\":", "}")]);
    let is_closed = random.between(0, 2) == 0;
    let end = if is_closed { format!("1{}}}", close.repeat(depth)) } else { String::new() };
    let body = format!("{{\"unknown\":{}{end}", open.repeat(depth));
    sign_in(&[], body.as_bytes())
}

fn nul_value(random: &mut Random) -> Vec<u8> {
    let body = format!("{{\"id\":\"{}\\u0000{}\"}}", random.word(6), random.word(6));
    sign_in(&[], body.as_bytes())
}

fn bad_percent(random: &mut Random) -> Vec<u8> {
    let bad = random.pick(&["%", "%2", "%zz", "%ff%fe", "%c0%af", "%ed%a0%80", "%%30"]);
    let path = format!("/v2/account/authenticate/device?create={bad}");
    request("POST", &path, &[&server_key()], BODY)
}

fn long_query(random: &mut Random) -> Vec<u8> {
    let length = random.between(1_000, 7_500);
    request("GET", &format!("/healthcheck?{}", random.word(length)), &[], b"")
}

fn bad_length(random: &mut Random) -> Vec<u8> {
    let length = random.pick(&["-1", "+1", "0x10", "1 1", "1,2", "99999999999999999999999", "", "1.0", "ten"]);
    sign_in_unframed(&[&format!("Content-Length: {length}")], BODY)
}

fn conflicting_length(random: &mut Random) -> Vec<u8> {
    let (first, second) = (BODY.len(), BODY.len() + random.between(1, 100));
    sign_in_unframed(&[&format!("Content-Length: {first}"), &format!("Content-Length: {second}")], BODY)
}

/// Bytes whose first request ends at one place for a server that trusts the encoding, and at another for a server that
/// trusts the length. The server must answer exactly one request.
fn smuggled(random: &mut Random) -> Vec<u8> {
    let inner = head("GET", &format!("/v2/{}", random.word(8)), &[]);
    let rest = [b"0\r\n\r\n".as_slice(), &inner].concat();
    let length = format!("Content-Length: {}", random.pick(&[5, rest.len()]));
    let encoding = "Transfer-Encoding: chunked";
    if random.between(0, 2) == 0 {
        sign_in_unframed(&[&length, encoding], &rest)
    } else {
        sign_in_unframed(&[encoding, &length], &rest)
    }
}

fn bad_transfer_encoding(random: &mut Random) -> Vec<u8> {
    let encoding =
        random.pick(&["identity", "gzip", "xchunked", "chunked, gzip", "chunked;q=1", "\x0bchunked", "chunkedd"]);
    sign_in_unframed(&[&format!("Transfer-Encoding: {encoding}")], b"0\r\n\r\n")
}

fn bad_chunks(random: &mut Random) -> Vec<u8> {
    let rest = match random.between(0, 6) {
        0 => b"zz\r\nabc\r\n0\r\n\r\n".to_vec(),
        1 => b"ffffffffffffffffff\r\nabc\r\n0\r\n\r\n".to_vec(),
        2 => [b"5;", random.word(20_000).as_bytes(), b"\r\nabcde\r\n0\r\n\r\n"].concat(),
        3 => b"3\r\nabcdef\r\n0\r\n\r\n".to_vec(),
        4 => [b"0\r\n".as_slice(), &b"X: y\r\n".repeat(2_000), b"\r\n"].concat(),
        _ => b"-3\r\nabc\r\n0\r\n\r\n".to_vec(),
    };
    sign_in_unframed(&["Transfer-Encoding: chunked"], &rest)
}

fn bad_header_line(random: &mut Random) -> Vec<u8> {
    let line = match random.between(0, 6) {
        0 => "X : y".to_owned(),
        1 => random.word(9),
        2 => "X: y\r\n z".to_owned(),
        3 => format!("X: a{}b", random.pick(&['\0', '\u{1}', '\u{8}', '\u{b}', '\u{1f}', '\u{7f}'])),
        4 => format!("X{}Y: z", random.pick(&['(', ')', '@', '\0', '"', '/', '[', '='])),
        _ => ": value".to_owned(),
    };
    sign_in(&[&line], BODY)
}

fn bad_request_line(random: &mut Random) -> Vec<u8> {
    let word = random.word(5);
    let line: String = match random.between(0, 7) {
        0 => format!("G@{word} / HTTP/1.1"),
        1 => format!("GET / HTTP/{}", random.pick(&["0.9", "2.0", "1.2", "9", "1", "x"])),
        2 => format!("GET / {word}"),
        3 => format!("GET /{word} {word} HTTP/1.1"),
        4 => format!("GET /{word}{} HTTP/1.1", random.pick(&['\0', '\u{1}', '\u{7f}', '\t'])),
        5 => format!(" /{word} HTTP/1.1"),
        _ => format!("{word}\r\n"),
    };
    [line.as_bytes(), b"\r\nHost: localhost\r\n\r\n"].concat()
}

fn bad_host(random: &mut Random) -> Vec<u8> {
    let text = String::from_utf8(sign_in(&[&format!("X: {}", random.word(5))], BODY)).unwrap();
    let hosts = random.pick(&["", "Host: localhost\r\nHost: localhost\r\n", "Host: a\r\nhost: b\r\n"]);
    text.replacen("Host: localhost\r\n", hosts, 1).into_bytes()
}

fn unknown_method(random: &mut Random) -> Vec<u8> {
    let word = random.word(7);
    let method = random.pick(&["PATCH", "TRACE", "PROPFIND", "get", "Post", &word]);
    request(method, "/v2/account", &[], b"")
}

fn traversal(random: &mut Random) -> Vec<u8> {
    let step = random.pick(&["../", "%2e%2e/", "..%2f", "..%5c", "./", "//"]);
    let start = random.pick(&["/", "/v2/", "/static/"]);
    request("GET", &format!("{start}{}etc/passwd", step.repeat(random.between(1, 9))), &[], b"")
}

fn noise(random: &mut Random) -> Vec<u8> {
    let length = random.between(1, 12_000);
    random.bytes(length)
}

fn http2_preface(random: &mut Random) -> Vec<u8> {
    let length = random.between(9, 60);
    [b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".as_slice(), &random.bytes(length)].concat()
}

fn second_authorization(random: &mut Random) -> Vec<u8> {
    let other =
        if random.between(0, 2) == 0 { server_key() } else { format!("authorization: Basic {}", random.word(8)) };
    sign_in(&[&other], BODY)
}

fn bad_authorization(random: &mut Random) -> Vec<u8> {
    let key = random.word(10);
    let value = match random.between(0, 8) {
        0 => String::new(),
        1 => "Basic".to_owned(),
        2 => "Basic !!!".to_owned(),
        3 => format!("Basic {}", STANDARD.encode([0xff, random.byte()])),
        4 => http::basic(&key),
        5 => format!("Digest {key}"),
        6 => format!("Basic{}", STANDARD.encode(format!("{SERVER_KEY}:"))),
        _ => http::bearer(SERVER_KEY),
    };
    request("POST", SIGN_IN, &[&format!("Authorization: {value}")], BODY)
}

/// A token with any header, claims and key.
fn signed(header: &str, claims: &str, key: &str) -> String {
    let text = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
    let mut keyed = Hmac::<Sha256>::new_from_slice(key.as_bytes()).unwrap();
    keyed.update(text.as_bytes());
    format!("{text}.{}", URL_SAFE_NO_PAD.encode(keyed.finalize().into_bytes()))
}

/// A token that no server may accept.
pub fn forged(random: &mut Random) -> String {
    const HS256: &str = r#"{"alg":"HS256","typ":"JWT"}"#;
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs();
    let claims = |user: &str, expires: u64| {
        let token = "0193e3a5-7f4e-7cc1-9d6a-1c2e3d4f5a6b";
        format!(r#"{{"tid":"{token}","uid":"{user}","usn":"mallory","exp":{expires},"iat":{now}}}"#)
    };
    let user = "0193e3a5-7f4e-7cc1-9d6a-000000000001";
    let good = claims(user, now + TEN_YEARS_SEC);
    let token = signed(HS256, &good, SESSION_KEY);
    match random.between(0, 10) {
        0 => format!("{}.{}.", URL_SAFE_NO_PAD.encode(r#"{"alg":"none","typ":"JWT"}"#), URL_SAFE_NO_PAD.encode(&good)),
        1 => signed(r#"{"alg":"none","typ":"JWT"}"#, &good, SESSION_KEY),
        2 => signed(r#"{"alg":"HS512","typ":"JWT"}"#, &good, SESSION_KEY),
        3 => signed(HS256, &good, &random.word(20)),
        // A refresh token is no session token.
        4 => signed(HS256, &good, "defaultrefreshencryptionkey"),
        5 => signed(HS256, &claims(user, now - random.between(1, 100_000) as u64), SESSION_KEY),
        6 => token[..random.between(0, token.len())].to_owned(),
        7 => {
            let at = random.between(0, token.len());
            let other = if token.as_bytes()[at] == b'x' { "y" } else { "x" };
            format!("{}{other}{}", &token[..at], &token[at + 1..])
        }
        8 => signed(HS256, &claims(&random.word(10), now + TEN_YEARS_SEC), SESSION_KEY),
        _ => ".".repeat(random.between(1, 3_000)),
    }
}

fn bad_token(random: &mut Random) -> Vec<u8> {
    let token = forged(random);
    request("GET", "/v2/account", &[&format!("Authorization: {}", http::bearer(&token))], b"")
}

fn forwarded(random: &mut Random) -> Vec<u8> {
    let line = random.pick(&[
        "X-Forwarded-For: 127.0.0.1",
        "Forwarded: for=127.0.0.1",
        "Via: 1.1 proxy",
        "X-Real-IP: 127.0.0.1",
        "x-forwarded-host: localhost",
    ]);
    if random.between(0, 2) == 0 { sign_in(&[line], BODY) } else { request("GET", "/ws", &[line], b"") }
}

fn bad_handshake(random: &mut Random) -> Vec<u8> {
    let mut lines = UPGRADE.to_vec();
    let at = random.between(0, lines.len());
    let word = random.word(4);
    let path = match random.between(0, 3) {
        0 => {
            lines.remove(at);
            "/ws".to_owned()
        }
        1 => {
            let wrong = ["Connection: close", "Upgrade: h2c", "Sec-WebSocket-Version: 8", "Sec-WebSocket-Key: short"];
            lines[at] = wrong[at];
            "/ws".to_owned()
        }
        _ => format!("/ws?format={word}"),
    };
    if !lines.contains(&"Connection: close") {
        lines.push("Connection: close");
    }
    head("GET", &path, &lines)
}

fn bad_socket_token(random: &mut Random) -> Vec<u8> {
    let token = forged(random);
    let lines = [&UPGRADE[..], &["Connection: close"]].concat();
    head("GET", &format!("/ws?format=json&token={token}"), &lines)
}
