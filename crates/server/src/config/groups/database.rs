//! The database of durable data, and the number of connections to it.

use super::super::{
    address::DatabaseAddress,
    key::{Key, Kind, Origin, at_least, honoured},
};

honoured! {
    /// The database.
    pub struct Database in "database." {
        /// Address of the database: `sqlite:PATH`, `postgres://user:password@host:port/name`, or the same without a
        /// scheme. Parameters such as `?sslmode=verify-full` encrypt the connections to PostgreSQL. Several addresses
        /// are servers of one PostgreSQL database, tried in turn: the first that takes writes is used. The default is
        /// the file `muster.db` in `data_dir`.
        address: Vec<DatabaseAddress> = "", Kind::Addresses, Origin::Differs { original: "root@localhost:26257", why: "a server starts without installing a database" };
        /// Longest life of a connection to PostgreSQL, in milliseconds; then it is replaced. 0 keeps it for good.
        conn_max_lifetime_ms: u64 = "3600000", at_least(0);
        /// Largest number of connections to PostgreSQL at a time; at least two for each shard, and two more. A shard
        /// uses 16 at most, since statements share them, and 4 for SQL of game code, a quarter of its part.
        max_open_conns: usize = "100", at_least(1);
    }
}

/// Rows of this group that are not honoured.
pub const OTHERS: &[Key] = &[
    Key::no_meaning(
        "database.max_idle_conns",
        at_least(0),
        "100",
        "requests share pipelined connections, so that none is idle by itself",
        "Largest number of connections that are kept open without work.",
    ),
    Key::no_meaning(
        "database.dns_scan_interval_sec",
        at_least(1),
        "60",
        "the host name is resolved anew for every new connection",
        "Time between two resolutions of the host name, in seconds.",
    ),
];
