//! Features and limits of game code that the original does not have.

use std::path::PathBuf;

use super::super::key::{Kind, Origin, honoured, number};

honoured! {
    /// Features and limits of game code that the original does not have.
    pub struct Script in "script." {
        /// Whether `http_request` reaches only the public internet: neither this machine nor private networks.
        /// Link-local addresses, and those where clouds hand out credentials, are refused in any case.
        http_strict: bool = "false", Kind::Flag, Origin::Ours;
        /// Largest number of requests of `http_request` that are under way on the whole server. Further ones wait; the
        /// wait counts against their timeout.
        http_requests: usize = "1024", number(1, 16_384), Origin::Ours;
        /// Whether changed files of game code are loaded at once. SIGHUP loads them in any case. On under `muster dev`.
        reload: bool = "false", Kind::Flag, Origin::Ours;
        /// Largest number of calls that are under way in shared machines: functions of Lua files that begin with
        /// `--!concurrent`, and `async` functions in JavaScript. Further ones wait.
        concurrent_calls: usize = "4096", number(1, 1_000_000), Origin::Ours;
        /// Limit of the CPU time of a call (a function, a hook, or a callback of a match), in milliseconds. A call that
        /// takes more fails.
        call_cpu_ms: u64 = "1000", number(1, 600_000), Origin::Ours;
        /// Limit of the CPU time of a tick of a match, in milliseconds. Three ticks in a row that take more end the
        /// match.
        tick_cpu_ms: u64 = "100", number(1, 600_000), Origin::Ours;
        /// Limit of the CPU time of loading all modules, in milliseconds; also the limit of a match's first callback.
        load_cpu_ms: u64 = "5000", number(1, 600_000), Origin::Ours;
        /// Limit of the memory of a machine, in bytes. A call that needs more fails.
        vm_bytes: usize = "67108864", number(4 << 20, 4 << 30), Origin::Ours;
        /// Limit of the memory of the instance that runs modules in Go, in bytes. An instance that needs more ends, all
        /// its calls fail, and a new one starts.
        go_bytes: usize = "268435456", number(16 << 20, 4 << 30), Origin::Ours;
        /// Folder in which compiled modules in Go are kept, so that they are compiled once. They are trusted when they
        /// are loaded, so nobody else may write there. The default is `compiled` in the data folder.
        compiled_dir: Option<PathBuf> = "", Kind::Path, Origin::Ours;
        /// Limit of the memory for the state that a match keeps between its callbacks, in bytes. A match that keeps
        /// more ends.
        match_bytes: usize = "4194304", number(64 << 10, 4 << 30), Origin::Ours;
        /// Largest number of uses of host functions in one call. Further uses are errors.
        host_calls: u32 = "10000", number(1, 1_000_000_000), Origin::Ours;
        /// Largest number of bytes that one call may write to the log. The rest of its lines is dropped.
        log_bytes: usize = "65536", number(0, 1 << 30), Origin::Ours;
        /// Time that a call may spend in a function that cannot be interrupted, in milliseconds, before the server
        /// notes its module and ends; 0 for no limit. The module is not loaded again until its file has changed.
        stuck_ms: u64 = "10000", number(0, 600_000), Origin::Ours;
    }
}
