//! The closed set of error codes, and the one place that says what each means on HTTP, gRPC and sockets.

use crate::json::{WriteOptions, Writer};

/// Why an operation failed. Numbers are gRPC's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[repr(u8)]
pub enum Code {
    /// The caller went away.
    Canceled = 1,
    /// Nothing better is known.
    Unknown = 2,
    /// The request is malformed or breaks a rule that no state changes.
    InvalidArgument = 3,
    /// It took too long.
    DeadlineExceeded = 4,
    /// What was asked for does not exist, or the caller may not know that it does.
    NotFound = 5,
    /// It exists already.
    AlreadyExists = 6,
    /// The caller is known and may not.
    PermissionDenied = 7,
    /// A limit was hit; later it may work.
    ResourceExhausted = 8,
    /// The state does not allow it.
    FailedPrecondition = 9,
    /// A conflict with another request; trying again may work.
    Aborted = 10,
    /// Beyond the valid range.
    OutOfRange = 11,
    /// The server does not have it.
    Unimplemented = 12,
    /// A fault of the server.
    Internal = 13,
    /// The server or something it needs is away; trying again may work.
    Unavailable = 14,
    /// Data is damaged, or a signature does not fit.
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
    /// This message is not accepted from clients, or switched off by a hook.
    UnrecognizedPayload = 1,
    /// The envelope holds no message.
    MissingPayload = 2,
    /// The message breaks a rule.
    BadInput = 3,
    /// There is no such match.
    MatchNotFound = 4,
    /// The match refused.
    MatchJoinRejected = 5,
    /// The game has no such function.
    RuntimeFunctionNotFound = 6,
    /// A function or hook of the game failed.
    RuntimeFunctionException = 7,
}

/// What becomes of a socket after an error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AfterError {
    /// It stays open.
    Stay,
    /// It is closed after the error was sent.
    Close,
}

/// What a [`Code`] means on each transport.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mapping {
    /// HTTP status.
    pub http_status: u16,
    /// Code in the realtime error message.
    pub realtime: RealtimeCode,
    /// What becomes of the socket.
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

    /// The gRPC number, which also stands in error bodies.
    #[must_use]
    pub const fn number(self) -> u8 {
        self as u8
    }

    /// The code of a gRPC number.
    #[must_use]
    pub fn from_number(number: u8) -> Option<Self> {
        Self::ALL.get(usize::from(number).checked_sub(1)?).copied()
    }

    /// What it means on each transport. On sockets the caller's faults are bad input and the others runtime
    /// exceptions; only a caller who is no longer known is cut off.
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

    /// What becomes of the socket when the protocol itself, not an operation, raises this error.
    #[must_use]
    pub const fn after(self) -> AfterError {
        match self {
            Self::UnrecognizedPayload | Self::MissingPayload => AfterError::Close,
            _ => AfterError::Stay,
        }
    }
}

/// What the `error` member of a failed game function call holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RpcFailure {
    /// The server refused: the text stands there again.
    BuiltIn,
    /// The game's function failed: an empty object.
    Runtime,
    /// The body was too large: the member is missing.
    Oversized,
}

/// The body of a failed HTTP request: `{"code":5,"message":"..."}`.
#[must_use]
pub fn error_body(code: Code, message: &str) -> Vec<u8> {
    let mut out = Vec::with_capacity(message.len() + 32);
    let mut writer = Writer::new(&mut out, WriteOptions::default());
    writer.raw(b"{");
    code_and_message(&mut writer, code, message);
    writer.raw(b"}");
    out
}

/// The body of a failed game function call over HTTP: `{"error":...,"message":"...","code":13}`.
#[must_use]
pub fn rpc_error_body(code: Code, message: &str, failure: RpcFailure) -> Vec<u8> {
    let mut out = Vec::with_capacity(2 * message.len() + 48);
    let mut writer = Writer::new(&mut out, WriteOptions::default());
    writer.raw(b"{");
    match failure {
        RpcFailure::BuiltIn => writer.present_text("\"error\":", message),
        RpcFailure::Runtime => writer.present("\"error\":", &()),
        RpcFailure::Oversized => {}
    }
    code_and_message(&mut writer, code, message);
    writer.raw(b"}");
    out
}

fn code_and_message(writer: &mut Writer<'_>, code: Code, message: &str) {
    writer.present("\"code\":", &u32::from(code.number()));
    writer.present_text("\"message\":", message);
}
