//! Logs, by the keys `logger.*`: level, outputs and format.
//!
//! The module's only state is the `tracing` subscriber of the process. The threads that serve players never wait for a
//! terminal, a pipe or a disk: see [`writer`].

mod writer;

use std::{
    io::{self, IsTerminal as _},
    path::PathBuf,
};

use tracing::{Subscriber, level_filters::LevelFilter, subscriber::SetGlobalDefaultError};
use tracing_subscriber::{Layer, Registry, filter::Targets, fmt, layer::SubscriberExt as _, registry::LookupSpan};

use crate::config::{LogFormat, LogLevel, Logger};

pub use writer::LogGuard;
use writer::{LogFile, RunningLog};

/// Explains why logs cannot be set up.
#[derive(Debug, thiserror::Error)]
pub enum LoggingError {
    /// The log file cannot be opened for appending.
    #[error("cannot append to the log file {} (`logger.file`): {error}", path.display())]
    File { path: PathBuf, error: io::Error },
    /// The thread that writes cannot be started.
    #[error("cannot start the thread that writes logs: {0}")]
    Thread(io::Error),
    /// This process logs already.
    #[error("this process has set up its logs already: {0}")]
    Twice(#[from] SetGlobalDefaultError),
}

/// Sets up the logs of this process. The guard must be kept until the end: dropping it writes the lines that wait.
///
/// # Errors
/// The file cannot be opened, the writing thread cannot be started, or logs are set up already.
pub fn start(logger: &Logger) -> Result<LogGuard, LoggingError> {
    let (subscriber, guard) = subscriber(logger, Box::new(io::stdout()), io::stdout().is_terminal())?;
    tracing::subscriber::set_global_default(subscriber)?;
    Ok(guard)
}

/// The subscriber; tests pass their own standard output.
fn subscriber(
    logger: &Logger,
    stdout: Box<dyn io::Write + Send>,
    terminal: bool,
) -> Result<(impl Subscriber + Send + Sync + use<>, LogGuard), LoggingError> {
    let open =
        |path: &PathBuf| LogFile::open(path.clone()).map_err(|error| LoggingError::File { path: path.clone(), error });
    let file = logger.file.as_ref().map(open).transpose()?;
    let has_file = file.is_some();
    let RunningLog { to_stdout, to_file, guard } = writer::start(stdout, file).map_err(LoggingError::Thread)?;
    let stdout_layer = logger.stdout.then(|| layer(stdout_style(logger.format, terminal), to_stdout));
    let file_layer = has_file.then(|| layer(file_style(logger.format), to_file));
    let subscriber = Registry::default().with(stdout_layer).with(file_layer).with(filter(logger.level));
    Ok((subscriber, guard))
}

/// Format of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Style {
    Human { colours: bool },
    Json,
}

fn stdout_style(format: LogFormat, terminal: bool) -> Style {
    let colours = terminal && std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    match format {
        LogFormat::Human => Style::Human { colours },
        LogFormat::Auto if terminal => Style::Human { colours },
        LogFormat::Auto | LogFormat::Json | LogFormat::Stackdriver => Style::Json,
    }
}

fn file_style(format: LogFormat) -> Style {
    match format {
        LogFormat::Human => Style::Human { colours: false },
        LogFormat::Auto | LogFormat::Json | LogFormat::Stackdriver => Style::Json,
    }
}

fn layer<S>(style: Style, to: writer::LineSink) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
{
    match style {
        Style::Human { colours } => fmt::layer().compact().with_ansi(colours).with_writer(to).boxed(),
        Style::Json => fmt::layer().json().flatten_event(true).with_span_list(false).with_writer(to).boxed(),
    }
}

/// Levels by crate: our own crates log at the configured level, libraries at `info` at most, since their details would
/// drown ours.
fn filter(level: LogLevel) -> Targets {
    let level = match level {
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Error => LevelFilter::ERROR,
    };
    Targets::new().with_default(level.min(LevelFilter::INFO)).with_target("muster", level)
}

#[cfg(test)]
mod tests;
