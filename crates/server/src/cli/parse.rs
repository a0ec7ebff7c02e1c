//! Parses arguments into commands.

use std::{ffi::OsString, path::PathBuf};

use muster_domain::near::nearest;

use crate::config::{Key, Kind, ServerMode, Setting, Source, keys, reference};

use super::{AccountAction, Command, HealthTarget, MatchAction, MigrateAction, UsageError, help};

/// Port that `muster healthcheck` asks by default.
const DEFAULT_PORT: u16 = 7350;

/// Names of all commands, for suggestions.
const COMMANDS: [&str; 13] = [
    "dev",
    "serve",
    "check",
    "migrate",
    "backup",
    "restore",
    "account",
    "healthcheck",
    "drain",
    "types",
    "match",
    "bench",
    "help",
];

/// Parses the arguments without the program's name.
///
/// # Errors
/// An unknown command or flag (the text names the nearest known one), a missing value, or too many arguments.
pub fn parse(arguments: impl IntoIterator<Item = OsString>) -> Result<Command, UsageError> {
    let mut arguments = arguments.into_iter();
    let Some(first) = arguments.next() else {
        return Err(UsageError(format!("what to do? Start with `muster dev`.\n\n{}", help::OVERVIEW)));
    };
    let name = text(first)?;
    if name == "bench" {
        return Ok(Command::Bench { arguments: arguments.collect() });
    }
    let rest = arguments.map(text).collect::<Result<Vec<String>, UsageError>>()?;
    match name.as_str() {
        "dev" => start(ServerMode::Dev, rest),
        "serve" => start(ServerMode::Serve, rest),
        "check" => check(rest),
        "migrate" => migrate(rest),
        "backup" => one_folder(rest, "backup", &[], |file, _, flags| Command::Backup { file, flags }),
        "restore" => {
            one_folder(rest, "restore", &["force"], |file, force, flags| Command::Restore { file, force, flags })
        }
        "account" => account(rest),
        "healthcheck" => healthcheck(rest),
        "drain" => drain(rest),
        "types" => one_folder(rest, "types", &[], |folder, _, _| Command::Types { folder }),
        "match" => of_match(rest),
        "help" | "-h" | "-help" | "--help" => about(rest),
        "version" | "-version" | "--version" => Ok(Command::Print(help::version())),
        _ if name.starts_with('-') => Err(UsageError(format!(
            "a command comes first, such as `muster serve {name} …`; `muster --help` lists them"
        ))),
        _ => Err(unknown_command(&name)),
    }
}

fn text(argument: OsString) -> Result<String, UsageError> {
    argument.into_string().map_err(|argument| UsageError(format!("the argument {argument:?} is no UTF-8 text")))
}

fn unknown_command(name: &str) -> UsageError {
    let hint = match nearest(name, COMMANDS) {
        Some(near) => format!("; did you mean `{near}`?"),
        None => "; `muster --help` lists them".to_owned(),
    };
    UsageError(format!("there is no command `{name}`{hint}"))
}

fn start(mode: ServerMode, rest: Vec<String>) -> Result<Command, UsageError> {
    match split(rest, &[])? {
        Split { help: true, .. } => Ok(help_of(if mode == ServerMode::Dev { "dev" } else { "serve" })),
        Split { flags, words, .. } => none_left(&words).map(|()| Command::Start { mode, flags }),
    }
}

fn check(rest: Vec<String>) -> Result<Command, UsageError> {
    let split = split(rest, &["dev", "keys"])?;
    if split.help {
        return Ok(help_of("check"));
    }
    none_left(&split.words)?;
    if split.switches.contains(&"keys") {
        return Ok(Command::Print(reference::list()));
    }
    Ok(Command::Check { mode: mode(&split.switches), flags: split.flags })
}

/// The mode of the server that a command is about: `--dev` for one that `muster dev` starts.
fn mode(switches: &[&str]) -> ServerMode {
    if switches.contains(&"dev") { ServerMode::Dev } else { ServerMode::Serve }
}

fn migrate(rest: Vec<String>) -> Result<Command, UsageError> {
    let split = split(rest, &[])?;
    if split.help {
        return Ok(help_of("migrate"));
    }
    let action = match split.words.as_slice() {
        [word] if word == "up" => MigrateAction::Up,
        [word] if word == "status" => MigrateAction::Status,
        [word] if word == "down" || word == "redo" => {
            return Err(UsageError(format!(
                "`muster migrate {word}` does not exist: steps back would lose data; restore a backup instead"
            )));
        }
        _ => return Err(UsageError("write `muster migrate up` or `muster migrate status`".to_owned())),
    };
    Ok(Command::Migrate { action, flags: split.flags })
}

fn one_folder(
    rest: Vec<String>,
    name: &str,
    switches: &[&'static str],
    command: impl FnOnce(PathBuf, bool, Vec<Setting>) -> Command,
) -> Result<Command, UsageError> {
    let split = split(rest, switches)?;
    match split.words.as_slice() {
        _ if split.help => Ok(help_of(name)),
        [folder] => Ok(command(PathBuf::from(folder), !split.switches.is_empty(), split.flags)),
        _ => Err(UsageError(format!("write `muster {name} FOLDER`, with one folder"))),
    }
}

fn of_match(rest: Vec<String>) -> Result<Command, UsageError> {
    let Split { mut flags, words, help, switches } = split(rest, &["dev"])?;
    let mode = mode(&switches);
    let usage = || {
        let told = "write `muster match record FOLDER`; `muster match replay|verify FILE`, with one recording or more; \
                    `muster match list [--dev]`; or `muster match forget ID [--dev]`";
        UsageError(told.to_owned())
    };
    let action = match words.as_slice() {
        _ if help => return Ok(help_of("match")),
        [word, ..] if mode == ServerMode::Dev && word != "list" && word != "forget" => return Err(usage()),
        [word, folder] if word == "record" => {
            let key = keys::find("match.record_dir").ok_or_else(usage)?;
            flags.push(Setting::one(key, folder, Source::Flag));
            return Ok(Command::Start { mode: ServerMode::Dev, flags });
        }
        [word] if word == "list" => return Ok(Command::ListMatches { mode, flags }),
        [word, id] if word == "forget" => {
            // The public id names the cluster or server behind a dot.
            let uuid = id.split('.').next().unwrap_or_default();
            let id =
                uuid.parse().map_err(|_| UsageError(format!("`{id}` is no match id; `muster match list` has them")))?;
            return Ok(Command::ForgetMatch { mode, id, flags });
        }
        [word, _, ..] if word == "replay" => MatchAction::Replay,
        [word, _, ..] if word == "verify" => MatchAction::Verify,
        _ => return Err(usage()),
    };
    let files = words.into_iter().skip(1).map(PathBuf::from).collect();
    Ok(Command::Match { action, files, flags })
}

fn account(rest: Vec<String>) -> Result<Command, UsageError> {
    let split = split(rest, &[])?;
    if split.help {
        return Ok(help_of("account"));
    }
    let usage = || UsageError("write `muster account export|ban|unban|delete ID`, with a user's id".to_owned());
    let [word, id] = split.words.as_slice() else { return Err(usage()) };
    let action = match word.as_str() {
        "export" => AccountAction::Export,
        "ban" => AccountAction::Ban,
        "unban" => AccountAction::Unban,
        "delete" => AccountAction::Delete,
        _ => return Err(usage()),
    };
    let user_id = id.parse().map_err(|_| UsageError(format!("`{id}` is no user id, which is a UUID")))?;
    Ok(Command::Account { action, user_id, flags: split.flags })
}

fn healthcheck(rest: Vec<String>) -> Result<Command, UsageError> {
    let split = split(rest, &[])?;
    let usage = || UsageError("write `muster healthcheck`, with a port (1 to 65535) or a URL if need be".to_owned());
    let target = match split.words.as_slice() {
        _ if split.help => return Ok(help_of("healthcheck")),
        [] => HealthTarget::Port(DEFAULT_PORT),
        [url] if url.starts_with("http://") || url.starts_with("https://") => HealthTarget::Url(url.clone()),
        [port] => HealthTarget::Port(port.parse().ok().filter(|port| *port != 0).ok_or_else(usage)?),
        _ => return Err(usage()),
    };
    Ok(Command::Healthcheck { target })
}

fn drain(rest: Vec<String>) -> Result<Command, UsageError> {
    let split = split(rest, &["dev"])?;
    match split.words.as_slice() {
        _ if split.help => Ok(help_of("drain")),
        [node] => Ok(Command::Drain { mode: mode(&split.switches), node: node.clone(), flags: split.flags }),
        _ => Err(UsageError("write `muster drain NODE`, with a node's name or number".to_owned())),
    }
}

fn about(rest: Vec<String>) -> Result<Command, UsageError> {
    match rest.as_slice() {
        [] => Ok(overview()),
        [name] if COMMANDS.contains(&name.as_str()) => Ok(help_of(name)),
        [name] => match keys::find(name) {
            Some(key) => Ok(Command::Print(super::help_for(key))),
            None => Err(unknown_flag(name)),
        },
        _ => Err(UsageError("write `muster help KEY`, with one key".to_owned())),
    }
}

fn overview() -> Command {
    Command::Print(help::OVERVIEW.to_owned())
}

fn help_of(command: &str) -> Command {
    Command::Print(help::of(command))
}

fn none_left(words: &[String]) -> Result<(), UsageError> {
    match words.first() {
        None => Ok(()),
        Some(word) => Err(UsageError(format!("`{word}` has no meaning here; flags begin with a dash"))),
    }
}

/// Arguments, sorted by their kind.
struct Split {
    flags: Vec<Setting>,
    /// Switches of the command that were given.
    switches: Vec<&'static str>,
    words: Vec<String>,
    help: bool,
}

/// Sorts arguments into keys, the command's own switches and plain words.
fn split(rest: Vec<String>, own_switches: &[&'static str]) -> Result<Split, UsageError> {
    let mut split = Split { flags: Vec::new(), switches: Vec::new(), words: Vec::new(), help: false };
    let mut rest = rest.into_iter().peekable();
    while let Some(argument) = rest.next() {
        if argument == "--" {
            split.words.extend(rest);
            break;
        }
        let Some(flag) = argument.strip_prefix('-').filter(|flag| !flag.is_empty()) else {
            split.words.push(argument);
            continue;
        };
        let flag = flag.strip_prefix('-').unwrap_or(flag);
        let (name, value) = flag.split_once('=').map_or((flag, None), |(name, value)| (name, Some(value.to_owned())));
        if let Some(switch) = own_switches.iter().find(|switch| **switch == name && value.is_none()) {
            split.switches.push(switch);
        } else if name == "help" || name == "h" {
            split.help = true;
        } else {
            let key = keys::find(name).ok_or_else(|| unknown_flag(name))?;
            let value = match value {
                Some(value) => value,
                None => following_value(key, &mut rest)?,
            };
            split.flags.push(Setting::one(key, value, Source::Flag));
        }
    }
    Ok(split)
}

/// The value of a flag written without an equals sign. Go would read `--flag false` as true and stop; here the next
/// word is the value.
fn following_value(
    key: &'static Key,
    rest: &mut std::iter::Peekable<std::vec::IntoIter<String>>,
) -> Result<String, UsageError> {
    let is_flag = key.kind == Kind::Flag;
    let fits = |next: &String| if is_flag { next == "true" || next == "false" } else { !names_a_key(next) };
    match rest.next_if(fits) {
        Some(value) => Ok(value),
        None if is_flag => Ok("true".to_owned()),
        None => Err(UsageError(format!("`--{}` needs a value: {}", key.name, key.kind.expected()))),
    }
}

/// True for an argument that is clearly the next flag.
fn names_a_key(argument: &str) -> bool {
    let name = argument.strip_prefix("--").and_then(|flag| flag.split('=').next());
    name.and_then(keys::find).is_some()
}

fn unknown_flag(name: &str) -> UsageError {
    let hint = match keys::nearest(name) {
        Some(near) => format!("; did you mean `{near}`?"),
        None => "; `muster check --keys` lists all keys".to_owned(),
    };
    UsageError(format!("there is no key `{name}`{hint}"))
}
