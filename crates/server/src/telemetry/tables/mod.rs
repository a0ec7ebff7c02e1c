//! The tables of metrics that are read from the whole telemetry, by feature.

pub(super) mod accounts;
pub(super) mod game_code;
pub(super) mod live;
pub(super) mod matchmaker;
pub(super) mod requests;
pub(super) mod sockets;
