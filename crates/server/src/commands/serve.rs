//! `muster dev` and `muster serve`: start the server, print its addresses, run it until a signal comes, stop it.

use std::io::{IsTerminal as _, Write as _};
use std::process::ExitCode;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

use tokio::signal::unix::{SignalKind, signal};
use tokio::task::LocalSet;

use super::{Outcome, runtime};
use crate::cluster::ClusterState;
use crate::config::{self, Config, KeyFile, Loaded, ServerMode, Setting};
use crate::logging;
use crate::wiring::{self, Running};

/// Starts a server and runs it until it is told to stop.
pub(super) fn start(mode: ServerMode, flags: &[Setting]) -> Outcome {
    let loaded = config::load(mode, KeyFile::Create, flags, std::env::vars_os()).map_err(|error| error.to_string())?;
    let logs = logging::start(&loaded.config.logger).map_err(|error| error.to_string())?;
    for notice in &loaded.notices {
        tracing::warn!(key = notice.key, source = %notice.source, "{}", notice.text);
    }
    let runtime = runtime()?;
    LocalSet::new().block_on(&runtime, serve(&loaded, logs.lost_lines()))
}

async fn serve(loaded: &Loaded, lost_log_lines: Arc<AtomicU64>) -> Outcome {
    let config = &loaded.config;
    let mut terminate = signal(SignalKind::terminate()).map_err(|error| format!("cannot watch signals: {error}"))?;
    let mut interrupt = signal(SignalKind::interrupt()).map_err(|error| format!("cannot watch signals: {error}"))?;
    // A hangup would end the process if no handler were installed.
    let mut hangup = signal(SignalKind::hangup()).map_err(|error| format!("cannot watch signals: {error}"))?;
    loop {
        // The start may wait for a database for ever, so signals are watched meanwhile.
        let running = tokio::select! {
            started = wiring::start(config, lost_log_lines.clone()) => started.map_err(|error| error.to_string())?,
            _ = terminate.recv() => return Ok(ExitCode::SUCCESS),
            _ = interrupt.recv() => return Ok(ExitCode::SUCCESS),
        };
        announce(loaded, &running);
        let reload = async {
            while hangup.recv().await.is_some() {
                running.reload_game_code();
            }
            std::future::pending().await
        };
        let end = tokio::select! {
            never = reload => never,
            _ = terminate.recv() => StopReason::Told,
            _ = interrupt.recv() => StopReason::Told,
            () = running.told_to_drain() => {
                tracing::info!("told to drain");
                StopReason::Told
            }
            () = running.failed() => {
                tracing::error!("a shard has ended by itself: the server stops, so that whoever started it starts it anew");
                StopReason::Failed
            }
            state = running.lost_cluster() => match state {
                ClusterState::VotedOut => {
                    tracing::error!("the cluster took this node for dead: it closes its sockets and joins anew");
                    StopReason::VotedOut
                }
                state => {
                    tracing::error!(?state, "there is no way to the cluster any more: the server stops, so that whoever started it starts it anew");
                    StopReason::Failed
                }
            },
        };
        tracing::info!("stopping; a second signal ends at once");
        let stop = async {
            if end == StopReason::Told {
                running.end_matches().await;
                running.drain().await;
            }
            running.stop().await
        };
        tokio::select! {
            left = stop => tracing::info!(connections_cut = left, "stopped"),
            _ = terminate.recv() => return Ok(end.status()),
            _ = interrupt.recv() => return Ok(end.status()),
        }
        if end != StopReason::VotedOut {
            return Ok(end.status());
        }
    }
}

/// Why a server stops.
#[derive(Clone, Copy, PartialEq, Eq)]
enum StopReason {
    /// A signal or `muster drain` told it to.
    Told,
    /// A part of the server has ended.
    Failed,
    /// Its cluster voted it out.
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
