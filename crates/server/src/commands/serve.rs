//! `muster dev` and `muster serve`: start the server, print its addresses, run it until a signal comes, stop it.

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;

use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::task::LocalSet;

use super::{Outcome, runtime};
use crate::cluster::ClusterState;
use crate::config::{self, Config, DatabaseAddress, KeyFile, Loaded, ServerMode, Setting};
use crate::logging::{self, LogGuard};
use crate::wiring::{self, Running};

/// Starts a server and runs it until it is told to stop.
pub(super) fn start(mode: ServerMode, flags: &[Setting]) -> Outcome {
    let loaded = config::load(mode, KeyFile::Create, flags, std::env::vars_os()).map_err(|error| error.to_string())?;
    let logs = logging::start(&loaded.config.logger).map_err(|error| error.to_string())?;
    for notice in &loaded.notices {
        tracing::warn!(key = notice.key, source = %notice.source, "{}", notice.text);
    }
    let runtime = runtime()?;
    LocalSet::new().block_on(&runtime, serve(&loaded, &logs))
}

/// Starts the server, runs it and stops it; begins anew if the cluster voted this node out.
async fn serve(loaded: &Loaded, logs: &LogGuard) -> Outcome {
    let mut end_signals = EndSignals::watch()?;
    // These would end the process if no handler were installed.
    let mut hangup = watch_signal(SignalKind::hangup())?;
    let mut first_of_users = watch_signal(SignalKind::user_defined1())?;
    let _second_of_users = watch_signal(SignalKind::user_defined2())?;
    let reopen_log = async {
        while first_of_users.recv().await.is_some() {
            logs.reopen();
        }
        std::future::pending().await
    };
    tokio::select! {
        never = reopen_log => never,
        outcome = serve_anew(loaded, logs, &mut end_signals, &mut hangup) => outcome,
    }
}

/// Starts the server, runs it and stops it, until it has not to begin anew.
async fn serve_anew(loaded: &Loaded, logs: &LogGuard, end_signals: &mut EndSignals, hangup: &mut Signal) -> Outcome {
    let mut are_keys_new = loaded.keys_created;
    loop {
        // The start may wait for a database for ever, so signals are watched meanwhile.
        let started = tokio::select! {
            started = wiring::start(&loaded.config, logs.lost_lines()) => started,
            () = end_signals.recv() => return Ok(ExitCode::SUCCESS),
        };
        let running = started.map_err(|error| error.to_string())?;
        if std::mem::take(&mut are_keys_new) && !running.is_database_new {
            warn_of_new_keys(&loaded.config);
        }
        announce(loaded, &running);
        let reason = tokio::select! {
            never = reload_on_hangup(&running, hangup) => never,
            reason = reason_to_stop(&running, end_signals) => reason,
        };
        tracing::info!("stopping; a second signal ends at once");
        tokio::select! {
            connections_cut = stop(running, reason) => tracing::info!(connections_cut, "stopped"),
            () = end_signals.recv() => return Ok(reason.status()),
        }
        if reason != StopReason::VotedOut {
            return Ok(reason.status());
        }
    }
}

/// Warns that keys were generated for a database that was there before. Of a file of SQLite the configuration has
/// warned.
fn warn_of_new_keys(config: &Config) {
    let keys_file = config.general.data_dir.join(crate::keys::FILE_NAME);
    if config.database.address.iter().any(|address| matches!(address, DatabaseAddress::Postgres(_))) {
        tracing::warn!(
            keys_file = %keys_file.display(),
            "there was no file of keys, so new keys were generated, but the database is not new: tokens that its other \
             keys signed are refused, and clients need the new server key. If another server or a backup has the \
             keys, stop this server, put them in place of the file, and start it again"
        );
    }
}

/// The signals that end the server.
struct EndSignals {
    terminate: Signal,
    interrupt: Signal,
}

impl EndSignals {
    fn watch() -> Result<Self, String> {
        Ok(Self {
            terminate: watch_signal(SignalKind::terminate())?,
            interrupt: watch_signal(SignalKind::interrupt())?,
        })
    }

    /// Resolves when one of the signals comes.
    async fn recv(&mut self) {
        tokio::select! {
            _ = self.terminate.recv() => {}
            _ = self.interrupt.recv() => {}
        }
    }
}

fn watch_signal(kind: SignalKind) -> Result<Signal, String> {
    signal(kind).map_err(|error| format!("cannot watch signals: {error}"))
}

/// Reloads the game code at each hangup. The future never resolves.
async fn reload_on_hangup<T>(running: &Running, hangup: &mut Signal) -> T {
    while hangup.recv().await.is_some() {
        running.reload_game_code();
    }
    std::future::pending().await
}

/// Waits until the server has to stop. Answers the reason.
async fn reason_to_stop(running: &Running, end_signals: &mut EndSignals) -> StopReason {
    tokio::select! {
        () = end_signals.recv() => StopReason::Told,
        () = running.told_to_drain() => {
            tracing::info!("told to drain");
            StopReason::Told
        }
        () = running.failed() => {
            tracing::error!("a shard has ended by itself: the server stops, and has to be started again");
            StopReason::Failed
        }
        state = running.lost_cluster() => match state {
            ClusterState::VotedOut => {
                tracing::error!("the cluster took this node for dead: it closes its sockets and joins anew");
                StopReason::VotedOut
            }
            state => {
                tracing::error!(?state, "the cluster is lost: the server stops, and has to be started again");
                StopReason::Failed
            }
        },
    }
}

/// Stops the server. A server that was told to stop first gives its matches time to end, and its sessions time to go on
/// at other nodes. Answers the number of connections that had to be cut.
async fn stop(running: Running, reason: StopReason) -> usize {
    if reason == StopReason::Told {
        running.end_matches().await;
        running.drain().await;
    }
    if reason == StopReason::VotedOut { running.stop_voted_out().await } else { running.stop().await }
}

/// The reason for which a server stops.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StopReason {
    /// A signal or `muster drain` told the server to stop.
    Told,
    /// A part of the server has ended.
    Failed,
    /// The cluster voted this node out.
    VotedOut,
}

impl StopReason {
    fn status(self) -> ExitCode {
        if self == Self::Failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
    }
}

fn announce(loaded: &Loaded, running: &Running) {
    let config = &loaded.config;
    tracing::info!(
        address = %running.address,
        shards = running.shard_count,
        "muster serves"
    );
    if let Some(address) = running.metrics_address {
        tracing::info!(%address, "metrics");
    }
    let text = if config.dev { development_page(config, running) } else { production_page(loaded, running) };
    let _ = writeln!(std::io::stdout().lock(), "{text}");
}

fn development_page(config: &Config, running: &Running) -> String {
    let port = running.address.port();
    let (red, plain) = if std::io::stdout().is_terminal() { ("\x1b[31m", "\x1b[0m") } else { ("", "") };
    format!(
        "\n  Muster is ready at http://{address}\n\n  \
         {red}Development server: its keys are known to everyone. Use `muster serve` for players.{plain}\n\n  \
         server key   {server_key}\n  http key     {http_key}\n  data folder  {data}\n\n  Try:\n    \
         curl -u {server_key}: 'http://127.0.0.1:{port}/v2/account/authenticate/device?create=true' \
         -d '{{\"id\":\"my-first-device\"}}'\n\n  Connect:\n    \
         new Client(\"{server_key}\", \"127.0.0.1\", \"{port}\")   // @heroiclabs/nakama-js, unmodified\n",
        address = running.address,
        server_key = config.socket.server_key.expose(),
        http_key = config.runtime.http_key.expose(),
        data = config.general.data_dir.display(),
    )
}

fn production_page(loaded: &Loaded, running: &Running) -> String {
    let config = &loaded.config;
    let keys_file = config.general.data_dir.join(crate::keys::FILE_NAME);
    let mut text = format!("muster serves at {}\n", running.address);
    if loaded.keys_created {
        // The key is printed only by the start that generated it: the developer copies it into the game's client.
        text.push_str(&format!(
            "keys were generated into {}\nfor your client: new Client(\"{}\", \"<host>\", \"{}\")\n",
            keys_file.display(),
            config.socket.server_key.expose(),
            running.address.port(),
        ));
    }
    text
}
