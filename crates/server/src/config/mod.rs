//! The configuration: defaults, then YAML files, then environment, then flags, each laid over the one before.
//!
//! [`load`] returns plain structs, one for each group. Nothing here is global, and no value is silently ignored: a key
//! that is not honoured gives a [`Notice`], a wrong value a [`Problem`].

pub mod address;
pub mod check;
pub(crate) mod environment;
mod file;
pub mod groups;
pub mod key;
pub mod keys;
mod problem;
mod read;
pub mod reference;
mod secret;
mod servers;
mod setting;
pub mod template;
#[cfg(test)]
mod tests;
mod validate;
mod yaml;

pub(crate) use file::parse as file_settings;

use std::{ffi::OsString, path::Path};

pub use address::{DatabaseAddress, PostgresAddress};
pub use groups::{
    account::{Account, Failures},
    chat::Chat,
    cluster::Cluster,
    database::Database,
    friends::Friends,
    general::General,
    limits::Limits,
    live::Live,
    logger::{LogFormat, LogLevel, Logger},
    matches::Matches,
    matchmaker::Matchmaker,
    metrics::Metrics,
    rooms::Rooms,
    runtime::Runtime,
    script::Script,
    session::Session,
    socket::{Protocol, Socket},
};
pub use key::{Key, Kind, Origin, Status};
pub use problem::{Problem, Problems};
pub use secret::Secret;
pub use setting::{Entry, Setting, Settings, Source};

/// The key that names configuration files. It is read before all others, and never from a file.
pub(crate) const CONFIG_KEY: &str = "config";

/// Strictness of the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ServerMode {
    /// `muster dev`: well-known keys, and the loopback interface unless another is set.
    Dev,
    /// `muster serve` and all other commands: generated keys; the well-known ones are refused.
    Serve,
}

/// Use of the file of generated keys, which exists only under [`ServerMode::Serve`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum KeyFile {
    /// Read the file and create or complete it: for a server that starts.
    Create,
    /// Read the file if it exists, and leave missing keys empty: for `muster check`.
    Read,
    /// Read the file if it exists, for a command that needs the keys of a cluster and nothing else of a server.
    Find,
    /// Leave all keys empty: for commands that sign nothing, such as `muster migrate`.
    Ignore,
}

/// The whole configuration of one server. A key has a field here exactly when it is honoured.
#[derive(Clone, Debug)]
pub struct Config {
    /// True under `muster dev`, which accepts the well-known keys and therefore refuses forwarded requests.
    pub dev: bool,
    /// Keys without a group.
    pub general: General,
    /// `logger.*`
    pub logger: Logger,
    /// `metrics.*`
    pub metrics: Metrics,
    /// `session.*`
    pub session: Session,
    /// `socket.*`
    pub socket: Socket,
    /// `database.*`
    pub database: Database,
    /// `runtime.*`
    pub runtime: Runtime,
    /// `script.*`
    pub script: Script,
    /// `live.*`
    pub live: Live,
    /// `match.*`
    pub matches: Matches,
    /// `matchmaker.*`
    pub matchmaker: Matchmaker,
    /// `rooms.*`
    pub rooms: Rooms,
    /// `account.*`
    pub account: Account,
    /// `account.failures.*`
    pub failures: Failures,
    /// `limits.*`
    pub limits: Limits,
    /// `chat.*`
    pub chat: Chat,
    /// `friends.*`
    pub friends: Friends,
    /// `cluster.*`
    pub cluster: Cluster,
}

/// A message for start-up that does not prevent it: a key that is not honoured, or a warning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// The key of the message.
    pub key: &'static str,
    /// The source that set the key.
    pub source: Source,
    /// The message, as a sentence without its full stop.
    pub text: String,
}

/// A configuration with the messages about it.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The typed values.
    pub config: Config,
    /// Every key's text with its source.
    pub settings: Settings,
    /// Messages for start-up.
    pub notices: Vec<Notice>,
    /// True when this call created the file of generated keys.
    pub keys_created: bool,
}

/// Loads the configuration of a command.
///
/// `flags` are those of the command line, `variables` the environment; variables without our prefix are ignored.
///
/// # Errors
/// All faults: unknown keys, values that do not fit, contradictions, unreadable files, and under [`ServerMode::Serve`]
/// keys that are publicly known.
pub fn load(
    mode: ServerMode,
    key_file: KeyFile,
    flags: &[Setting],
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<Loaded, Problems> {
    let mut problems = Vec::new();
    let environment = environment::read(variables, &mut problems);
    let mut settings = Settings::defaults();
    if mode == ServerMode::Dev {
        settings.lay_over(&development_defaults());
    }
    for path in configuration_files(&environment, flags) {
        settings.lay_over(&file::read(Path::new(&path), &mut problems));
    }
    settings.lay_over(&environment);
    settings.lay_over(flags);
    if !problems.is_empty() {
        return Err(Problems(problems));
    }
    finish(mode, key_file, settings)
}

/// Everything after the layers: computed defaults, generated keys, types, contradictions.
fn finish(mode: ServerMode, key_file: KeyFile, mut settings: Settings) -> Result<Loaded, Problems> {
    let data_dir = settings.text("data_dir").to_owned();
    settings.lay_over(&default_database(&settings, Path::new(&data_dir)));
    // Types are checked first, so that no key file is written for a configuration that cannot start.
    let (before, mut problems) = typed(mode, &settings);
    problems.extend(validate::given_secrets(mode, &settings));
    if !problems.is_empty() {
        return Err(Problems(problems));
    }
    let database = match before.database.address.first() {
        Some(DatabaseAddress::Sqlite { path }) if path.exists() => Some(path.as_path()),
        _ => None,
    };
    let keys = crate::keys::settle(mode, key_file, Path::new(&data_dir), database, &settings).map_err(Problem::from)?;
    settings.lay_over(&keys.settings);
    let (config, mut problems) = typed(mode, &settings);
    problems.extend(validate::contradictions(&config, &settings));
    if matches!(key_file, KeyFile::Create | KeyFile::Read) {
        problems.extend(validate::contradictions_of_servers(&config));
    }
    if !problems.is_empty() {
        return Err(Problems(problems));
    }
    let mut notices = validate::notices(&settings, &config);
    notices.extend(keys.notices);
    Ok(Loaded { config, settings, notices, keys_created: keys.created })
}

fn typed(mode: ServerMode, settings: &Settings) -> (Config, Vec<Problem>) {
    let mut reader = read::Reader::new(settings);
    let config = Config {
        dev: mode == ServerMode::Dev,
        general: General::read(&mut reader),
        logger: Logger::read(&mut reader),
        metrics: Metrics::read(&mut reader),
        session: Session::read(&mut reader),
        socket: Socket::read(&mut reader),
        database: Database::read(&mut reader),
        runtime: Runtime::read(&mut reader),
        script: Script::read(&mut reader),
        live: Live::read(&mut reader),
        matches: Matches::read(&mut reader),
        matchmaker: Matchmaker::read(&mut reader),
        rooms: Rooms::read(&mut reader),
        account: Account::read(&mut reader),
        failures: Failures::read(&mut reader),
        limits: Limits::read(&mut reader),
        chat: Chat::read(&mut reader),
        friends: Friends::read(&mut reader),
        cluster: Cluster::read(&mut reader),
    };
    (config, reader.problems)
}

/// The files to read: the flags' if there are any, otherwise the environment's.
fn configuration_files(environment: &[Setting], flags: &[Setting]) -> Vec<String> {
    let named = |layer: &[Setting]| -> Vec<String> {
        let of_key = layer.iter().filter(|setting| setting.key.name == CONFIG_KEY);
        of_key.flat_map(|setting| setting.entries.iter().map(|entry| entry.text.clone())).collect()
    };
    let from_flags = named(flags);
    if from_flags.is_empty() { named(environment) } else { from_flags }
}

/// Defaults of `muster dev`, such as listening on loopback.
fn development_defaults() -> Vec<Setting> {
    const VALUES: [(&str, &str); 6] = [
        ("socket.address", "127.0.0.1"),
        ("console.address", "127.0.0.1"),
        // A developer can look around for as long as these tokens live. With shorter lives, the official JavaScript
        // client warns at every sign-in.
        ("session.token_expiry_sec", "7200"),
        ("session.refresh_token_expiry_sec", "2592000"),
        ("script.reload", "true"),
        // A developer who tries the matchmaker out waits for two passes.
        ("matchmaker.interval_sec", "1"),
    ];
    let setting = |(name, value)| Some(Setting::one(keys::find(name)?, value, Source::Development));
    VALUES.into_iter().filter_map(setting).collect()
}

/// The database file in the data folder, for a configuration without an address.
fn default_database(settings: &Settings, data_dir: &Path) -> Vec<Setting> {
    const NAME: &str = "database.address";
    let given = settings.get(NAME).is_some_and(|setting| !setting.entries.is_empty());
    let Some(key) = keys::find(NAME).filter(|_| !given) else { return Vec::new() };
    let path = data_dir.join("muster.db");
    vec![Setting::one(key, format!("sqlite:{}", path.display()), Source::Default)]
}

/// Settings in the form of flags, for tests and for programs that start a server themselves.
///
/// # Errors
/// Names that are not keys.
pub fn from_pairs<'a>(pairs: impl IntoIterator<Item = (&'a str, &'a str)>) -> Result<Vec<Setting>, Problems> {
    let mut settings = Vec::new();
    let mut problems = Vec::new();
    for (name, text) in pairs {
        match keys::find(name) {
            Some(key) => settings.push(Setting::one(key, text, Source::Flag)),
            None => problems.push(Problem::unknown_key(name, &Source::Flag)),
        }
    }
    if problems.is_empty() { Ok(settings) } else { Err(Problems(problems)) }
}
