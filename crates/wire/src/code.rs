//! The closed set of error codes, and the only table of their meaning on HTTP, gRPC and sockets.

use crate::json::{WriteOptions, Writer};

/// The reason why an operation failed. The numbers are gRPC's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Code {
    /// The caller has gone away.
    Canceled = 1,
    /// The reason is not known.
    Unknown = 2,
    /// The request is malformed, or breaks a rule that does not depend on any state.
    InvalidArgument = 3,
    /// The operation took too long.
    DeadlineExceeded = 4,
    /// The requested thing does not exist, or the caller may not know that it exists.
    NotFound = 5,
    /// The thing to be created exists already.
    AlreadyExists = 6,
    /// The caller is known, and may not do this.
    PermissionDenied = 7,
    /// A limit was reached; a later attempt may succeed.
    ResourceExhausted = 8,
    /// The present state does not allow the operation.
    FailedPrecondition = 9,
    /// The request was in conflict with another request; another attempt may succeed.
    Aborted = 10,
    /// A value lies outside its valid range.
    OutOfRange = 11,
    /// The server does not have this operation.
    Unimplemented = 12,
    /// A fault of the server.
    Internal = 13,
    /// The server, or a service that it needs, is not available; another attempt may succeed.
    Unavailable = 14,
    /// Data is damaged, or a signature is wrong.
    DataLoss = 15,
    /// The caller is not known.
    Unauthenticated = 16,
}

/// Error codes of the realtime protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum RealtimeCode {
    /// A fault of the server.
    RuntimeException = 0,
    /// Clients may not send this message, or a hook has switched it off.
    UnrecognizedPayload = 1,
    /// The envelope contains no message.
    MissingPayload = 2,
    /// The message breaks a rule.
    BadInput = 3,
    /// The match does not exist.
    MatchNotFound = 4,
    /// The match refused the player.
    MatchJoinRejected = 5,
    /// The game code has no function of this name.
    RuntimeFunctionNotFound = 6,
    /// A function or hook of the game code failed.
    RuntimeFunctionException = 7,
}

/// The fate of a socket after an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterError {
    /// The socket stays open.
    Stay,
    /// The socket is closed after the error has been sent.
    Close,
}

/// The meaning of a [`Code`] on each transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mapping {
    /// The HTTP status.
    pub http_status: u16,
    /// The code in the realtime error message.
    pub realtime: RealtimeCode,
    /// The fate of the socket.
    pub after: AfterError,
}

impl Code {
    /// Every code, by number.
    pub const ALL: [Self; 16] = [
        Self::Canceled,
        Self::Unknown,
        Self::InvalidArgument,
        Self::DeadlineExceeded,
        Self::NotFound,
        Self::AlreadyExists,
        Self::PermissionDenied,
        Self::ResourceExhausted,
        Self::FailedPrecondition,
        Self::Aborted,
        Self::OutOfRange,
        Self::Unimplemented,
        Self::Internal,
        Self::Unavailable,
        Self::DataLoss,
        Self::Unauthenticated,
    ];

    /// The gRPC number, which is also the `code` in error bodies.
    #[must_use]
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The code of a gRPC number.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number).checked_sub(1)?).copied()
    }

    /// The meaning of the code on each transport. On sockets a fault of the caller is bad input, and any other fault is
    /// a runtime exception. Only `Unauthenticated` closes the socket.
    #[must_use]
    pub const fn mapping(self) -> Mapping {
        use AfterError::{Close, Stay};
        use RealtimeCode::{BadInput, RuntimeException};
        let (http_status, realtime, after) = match self {
            Self::Canceled => (499, RuntimeException, Stay),
            Self::Unknown => (500, RuntimeException, Stay),
            Self::InvalidArgument => (400, BadInput, Stay),
            Self::DeadlineExceeded => (504, RuntimeException, Stay),
            Self::NotFound => (404, BadInput, Stay),
            Self::AlreadyExists => (409, BadInput, Stay),
            Self::PermissionDenied => (403, BadInput, Stay),
            Self::ResourceExhausted => (429, RuntimeException, Stay),
            Self::FailedPrecondition => (400, BadInput, Stay),
            Self::Aborted => (409, RuntimeException, Stay),
            Self::OutOfRange => (400, BadInput, Stay),
            Self::Unimplemented => (501, RuntimeException, Stay),
            Self::Internal => (500, RuntimeException, Stay),
            Self::Unavailable => (503, RuntimeException, Stay),
            Self::DataLoss => (500, RuntimeException, Stay),
            Self::Unauthenticated => (401, BadInput, Close),
        };
        Mapping { http_status, realtime, after }
    }

    /// The HTTP status.
    #[must_use]
    pub const fn http_status(self) -> u16 {
        self.mapping().http_status
    }
}

impl RealtimeCode {
    /// The number in the realtime error message.
    #[must_use]
    pub const fn number(self) -> i32 {
        self as i32
    }

    /// The fate of the socket when the protocol itself, not an operation, raises this error.
    #[must_use]
    pub const fn after(self) -> AfterError {
        match self {
            Self::UnrecognizedPayload | Self::MissingPayload => AfterError::Close,
            _ => AfterError::Stay,
        }
    }
}

/// The `error` member in the body of a failed call of a game function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RpcFailure {
    /// The server refused the call: `error` repeats the message.
    BuiltIn,
    /// The game's function failed: `error` is an empty object.
    Runtime,
    /// The body was too large: there is no `error`.
    Oversized,
}

/// The body of a failed HTTP request: `{"code":5,"message":"..."}`. The number is that of a [`Code`], or one that game
/// code chose.
#[must_use]
pub fn error_body(number: i32, message: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(message.len() + 32);
    let mut writer = Writer::new(&mut out, WriteOptions::default());
    writer.raw(b"{");
    number_and_message(&mut writer, number, message);
    writer.raw(b"}");
    out
}

/// The body of a failed game function call over HTTP: `{"error":...,"message":"...","code":13}`.
#[must_use]
pub fn rpc_error_body(number: i32, message: &str, failure: RpcFailure) -> Vec<u8> {
    let mut out = Vec::with_capacity(2 * message.len() + 48);
    let mut writer = Writer::new(&mut out, WriteOptions::default());
    writer.raw(b"{");
    match failure {
        RpcFailure::BuiltIn => writer.present_text("\"error\":", message),
        RpcFailure::Runtime => writer.present("\"error\":", &()),
        RpcFailure::Oversized => {}
    }
    number_and_message(&mut writer, number, message);
    writer.raw(b"}");
    out
}

fn number_and_message(writer: &mut Writer<'_>, number: i32, message: &str) {
    writer.present("\"code\":", &number);
    writer.present_text("\"message\":", message);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_error_codes_has_every_code_with_its_status() {
        let page = std::fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/reference/errors.md"));
        let page = page.unwrap_or_default();
        let rows: Vec<Vec<&str>> = page.lines().map(|line| line.split('|').map(str::trim).collect()).collect();
        for code in Code::ALL {
            let (number, status) = (code.number().to_string(), code.http_status().to_string());
            let is_it = |row: &Vec<&str>| row.get(1) == Some(&&*number) && row.get(3) == Some(&&*status);
            assert!(rows.iter().any(is_it), "{code:?} with status {status}");
        }
    }
}
