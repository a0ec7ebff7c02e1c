//! What game code may use, and do beyond the server.

use std::path::PathBuf;

use super::super::key::{Kind, Origin, honoured, number};

honoured! {
    /// What game code may use, and do beyond the server.
    pub struct Script in "script." {
        /// Whether `http_request` reaches the public internet alone: neither this machine nor private networks. Link-local addresses, and those where clouds hand out credentials, are refused in any case.
        http_strict: bool = "false", Kind::Flag, Origin::Ours;
        /// Requests of `http_request` that are under way at once; further ones wait, which counts as their time.
        http_requests: usize = "1024", number(1, 16_384), Origin::Ours;
        /// Whether files of game code that change are loaded at once. SIGHUP has them loaded in any case. On under `muster dev`.
        reload: bool = "false", Kind::Flag, Origin::Ours;
        /// Calls that are under way at once in the machines that they share: of Lua's files that begin with `--!concurrent`, and of functions in JavaScript that are `async`. Further ones wait.
        concurrent_calls: usize = "4096", number(1, 1_000_000), Origin::Ours;
        /// CPU time of a call, in milliseconds: of a function, a hook, or a callback of a match. One that takes more fails.
        call_cpu_ms: u64 = "1000", number(1, 600_000), Origin::Ours;
        /// CPU time of a tick of a match, in milliseconds. Three in a row that take more end the match.
        tick_cpu_ms: u64 = "100", number(1, 600_000), Origin::Ours;
        /// CPU time of loading all modules, in milliseconds; also of the first callback of a match.
        load_cpu_ms: u64 = "5000", number(1, 600_000), Origin::Ours;
        /// Memory of a machine, in bytes. A call that finds no more fails.
        vm_bytes: usize = "67108864", number(4 << 20, 4 << 30), Origin::Ours;
        /// Memory of the instance that runs modules in Go, in bytes. One that needs more ends, all its calls fail, and a new one starts.
        go_bytes: usize = "268435456", number(16 << 20, 4 << 30), Origin::Ours;
        /// Where compiled modules in Go are kept, so that they are compiled once. They are run as they are: nobody else may write there. `compiled` in the data folder if it is not set.
        compiled_dir: Option<PathBuf> = "", Kind::Path, Origin::Ours;
        /// Memory of what a match keeps between its callbacks, in bytes. One that keeps more ends.
        match_bytes: usize = "4194304", number(64 << 10, 4 << 30), Origin::Ours;
        /// Functions of the server that one call uses; further ones are errors.
        host_calls: u32 = "10000", number(1, 1_000_000_000), Origin::Ours;
        /// Bytes that one call writes to the log; the rest of its lines is dropped.
        log_bytes: usize = "65536", number(0, 1 << 30), Origin::Ours;
        /// How long a call may be in a function that cannot be interrupted, in milliseconds, before the server notes its module and ends; 0: for ever. The module is not loaded again before its file has changed.
        stuck_ms: u64 = "10000", number(0, 600_000), Origin::Ours;
    }
}
