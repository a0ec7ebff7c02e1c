//! The program `muster`.

use std::process::ExitCode;

use muster_server::{cli, commands};

/// Frames are made by one shard and freed by another. With the system's allocator, this takes a third of the cost of a
/// chat message on two shards (BENCHMARKS.md).
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Turns huge pages off. The allocator asks for them, and the kernel then fills memory up to them in the background: an
/// idle server grows by a sixth within an hour. Without them nothing is slower (BENCHMARKS.md). A failure is ignored:
/// the server only uses more memory.
#[cfg(target_os = "linux")]
fn refuse_huge_pages() {
    let _ = nix::sys::prctl::set_thp_disable(true);
}

fn main() -> ExitCode {
    #[cfg(target_os = "linux")]
    refuse_huge_pages();
    match cli::parse(std::env::args_os().skip(1)) {
        Ok(command) => commands::run(command),
        Err(error) => {
            commands::complain(&error.to_string());
            ExitCode::from(cli::EXIT_USAGE)
        }
    }
}
