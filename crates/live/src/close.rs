//! The closed list of reasons for which a socket closes. Close frame, log line and metric label are all derived from
//! the reason. Nothing here closes a socket.

/// The reason for which a session's socket closes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CloseReason {
    /// The client sent a close frame.
    ClientClosed,
    /// The connection ended without a close frame, or failed.
    ConnectionLost,
    /// No byte arrived for the time in the setting `socket.pong_wait_ms`.
    PongTimeout,
    /// The client left bytes unread for the time in the setting `socket.write_wait_ms`.
    SlowReader,
    /// A frame did not fit into `socket.outgoing_queue_bytes` or `socket.outgoing_queue_size`.
    QueueOverflow,
    /// A frame broke the WebSocket protocol.
    ProtocolError,
    /// A text message was not UTF-8, or a message was no envelope.
    InvalidPayload,
    /// A message was larger than `socket.max_message_size_bytes`.
    MessageTooBig,
    /// The client sent a frame of the other kind than the session's format (text for json, binary for protobuf).
    WrongFrameType,
    /// The client sent an empty envelope, or one that only servers may send.
    UnexpectedMessage,
    /// The token was revoked, for example by a logout or by the deletion of the account.
    TokenRevoked,
    /// The user was banned.
    Banned,
    /// The user opened another socket, and the setting `session.single_socket` allows only one.
    SingleSocket,
    /// Game code closed the session.
    GameCode,
    /// The client sent many more messages than it may, and the setting `limits.ladder` says so.
    Flooding,
    /// The server is stopping.
    ServerStopping,
    /// The server panicked while it served this session.
    Panic,
}

impl CloseReason {
    /// All reasons, in the order of [`CloseReason::index`].
    pub const ALL: [CloseReason; 17] = [
        Self::ClientClosed,
        Self::ConnectionLost,
        Self::PongTimeout,
        Self::SlowReader,
        Self::QueueOverflow,
        Self::ProtocolError,
        Self::InvalidPayload,
        Self::MessageTooBig,
        Self::WrongFrameType,
        Self::UnexpectedMessage,
        Self::TokenRevoked,
        Self::Banned,
        Self::SingleSocket,
        Self::GameCode,
        Self::Flooding,
        Self::ServerStopping,
        Self::Panic,
    ];

    /// The reason's position in [`CloseReason::ALL`], for counters kept in arrays.
    pub fn index(self) -> usize {
        self as usize
    }

    /// The reason's name in logs and metrics.
    pub fn name(self) -> &'static str {
        match self {
            Self::ClientClosed => "client_closed",
            Self::ConnectionLost => "connection_lost",
            Self::PongTimeout => "pong_timeout",
            Self::SlowReader => "slow_reader",
            Self::QueueOverflow => "queue_overflow",
            Self::ProtocolError => "protocol_error",
            Self::InvalidPayload => "invalid_payload",
            Self::MessageTooBig => "message_too_big",
            Self::WrongFrameType => "wrong_frame_type",
            Self::UnexpectedMessage => "unexpected_message",
            Self::TokenRevoked => "token_revoked",
            Self::Banned => "banned",
            Self::SingleSocket => "single_socket",
            Self::GameCode => "game_code",
            Self::Flooding => "flooding",
            Self::ServerStopping => "server_stopping",
            Self::Panic => "panic",
        }
    }

    /// The status code of the close frame (RFC 6455, 7.4.1).
    pub fn code(self) -> u16 {
        match self {
            Self::ClientClosed | Self::ConnectionLost | Self::GameCode => 1000,
            Self::ProtocolError => 1002,
            Self::WrongFrameType | Self::UnexpectedMessage => 1003,
            Self::InvalidPayload => 1007,
            Self::PongTimeout
            | Self::SlowReader
            | Self::QueueOverflow
            | Self::TokenRevoked
            | Self::Banned
            | Self::SingleSocket
            | Self::Flooding => 1008,
            Self::MessageTooBig => 1009,
            Self::Panic => 1011,
            Self::ServerStopping => 1001,
        }
    }

    /// The text of the close frame, written for the game's programmer.
    pub fn text(self) -> &'static str {
        match self {
            Self::ClientClosed | Self::ConnectionLost => "",
            Self::PongTimeout => "nothing received within socket.pong_wait_ms",
            Self::SlowReader => "client did not read within socket.write_wait_ms",
            Self::QueueOverflow => "outgoing queue full: client reads slower than it is sent to",
            Self::ProtocolError => "WebSocket protocol error",
            Self::InvalidPayload => "malformed envelope",
            Self::MessageTooBig => "message larger than socket.max_message_size_bytes",
            Self::WrongFrameType => "wrong frame type: text for format=json, binary for format=protobuf",
            Self::UnexpectedMessage => "message missing or not accepted from clients",
            Self::TokenRevoked => "session token revoked",
            Self::Banned => "the user was banned",
            Self::SingleSocket => "the user opened another socket",
            Self::Flooding => "sends more messages than it may",
            Self::GameCode => "server-side session disconnect",
            Self::ServerStopping => "server is stopping",
            Self::Panic => "internal error",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_stands_at_its_index_and_has_a_name_of_its_own() {
        for (index, reason) in CloseReason::ALL.into_iter().enumerate() {
            assert_eq!(reason.index(), index, "{reason:?}");
            let same_name = CloseReason::ALL.into_iter().filter(|other| other.name() == reason.name()).count();
            assert_eq!(same_name, 1, "{reason:?}");
            // A close frame's payload is at most 125 bytes, two of which are the code.
            assert!(reason.text().len() <= 123, "{reason:?}");
        }
    }
}
