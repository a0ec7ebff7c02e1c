//! Keys without a group: the node's name, its data folder, its shutdown, and the configuration files.

use std::path::PathBuf;

use super::super::key::{Kind, Origin, at_least, honoured};

honoured! {
    /// The node as a whole.
    pub struct General in "" {
        /// Name of this node, 1 to 16 characters, different on every node. It stands in logs and metrics.
        name: String = "muster", Kind::Text, Origin::Differs { original: "nakama", why: "it names this server" };
        /// Folder for the generated keys and, unless `database.address` says otherwise, the database. Created when
        /// missing.
        data_dir: PathBuf = "data", Kind::Path;
        /// Configuration files (YAML), read in order; a later one overrides an earlier one. Given as a flag or by the
        /// environment, never inside a file.
        config: Vec<String> = "", Kind::List;
        /// Time for which a start waits for PostgreSQL and for NATS if these cannot be reached, in seconds. A refused
        /// login or a fault of TLS ends the start at once.
        start_wait_sec: u64 = "60", at_least(0), Origin::Ours;
        /// Time that the shutdown code of the game, open requests and sockets have to end in good order after a request
        /// to stop, in seconds; then they are cut.
        shutdown_drain_sec: u64 = "10", at_least(0), Origin::Ours;
        /// Time that matches of game code have to end after a request to stop, in seconds; their code is told. 0 ends
        /// them at once.
        shutdown_grace_sec: u32 = "0", at_least(0);
    }
}
