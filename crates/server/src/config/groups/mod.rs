//! The groups of keys, one file each: a struct of the honoured keys, and rows for the others. To honour a key, move its
//! row into the struct of its group.

pub mod account;
pub mod chat;
pub mod cluster;
pub mod console;
pub mod database;
pub mod friends;
pub mod general;
pub mod leaderboard;
pub mod limits;
pub mod live;
pub mod logger;
pub mod matches;
pub mod matchmaker;
pub mod metrics;
pub mod parties;
pub mod purchases;
pub mod rooms;
pub mod runtime;
pub mod satori;
pub mod script;
pub mod session;
pub mod social;
pub mod socket;
pub mod storage;
pub mod tracker;

use super::key::Key;

/// Keys under one heading of the reference page.
pub struct Group {
    /// Heading.
    pub title: &'static str,
    /// The rows, honoured ones first.
    pub keys: &'static [&'static [Key]],
}

/// Every group, in the order of the reference page.
pub const GROUPS: &[Group] = &[
    Group { title: "General", keys: &[general::General::KEYS] },
    Group { title: "Database", keys: &[database::Database::KEYS, database::OTHERS] },
    Group { title: "Sockets and HTTP", keys: &[socket::Socket::KEYS, socket::OTHERS] },
    Group { title: "Sessions", keys: &[session::Session::KEYS] },
    Group { title: "Accounts", keys: &[account::Account::KEYS, account::Failures::KEYS] },
    Group { title: "Limits", keys: &[limits::Limits::KEYS] },
    Group { title: "Chat", keys: &[chat::Chat::KEYS] },
    Group { title: "Friends", keys: &[friends::Friends::KEYS] },
    Group { title: "Live plane", keys: &[live::Live::KEYS, tracker::OTHERS] },
    Group { title: "Cluster", keys: &[cluster::Cluster::KEYS] },
    Group { title: "Logs", keys: &[logger::Logger::KEYS, logger::OTHERS] },
    Group { title: "Metrics", keys: &[metrics::Metrics::KEYS, metrics::OTHERS] },
    Group { title: "Game code", keys: &[runtime::Runtime::KEYS, script::Script::KEYS, runtime::OTHERS] },
    Group { title: "Matches", keys: &[matches::Matches::KEYS, matches::OTHERS] },
    Group { title: "Matchmaker", keys: &[matchmaker::Matchmaker::KEYS, matchmaker::OTHERS] },
    Group { title: "Rooms", keys: &[rooms::Rooms::KEYS] },
    Group { title: "Parties", keys: &[parties::OTHERS] },
    Group { title: "Leaderboards", keys: &[leaderboard::OTHERS] },
    Group { title: "Storage", keys: &[storage::OTHERS] },
    Group { title: "Console", keys: &[console::OTHERS] },
    Group { title: "Sign-in through other services", keys: &[social::OTHERS] },
    Group { title: "Purchases", keys: &[purchases::OTHERS] },
    Group { title: "Satori", keys: &[satori::OTHERS] },
];
