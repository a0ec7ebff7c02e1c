//! The secrets of a server: generated at first start into the data folder and kept there.
//!
//! `muster dev` uses the original's well-known ones instead. Nothing here logs or prints a secret.

mod fingerprint;

use std::{
    fs, io,
    io::Write as _,
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};

pub(crate) use fingerprint::{cluster_key, fingerprint};

use crate::config::{KeyFile, Notice, ServerMode, Setting, Settings, Source, file_settings, keys};

/// Name of the file, in the data folder.
pub const FILE_NAME: &str = "keys.yml";

/// Mode of the file: only its owner reads and writes it.
const FILE_MODE: u32 = 0o600;
/// Mode of the data folder: only its owner enters it.
const FOLDER_MODE: u32 = 0o700;

/// A secret that is generated when nobody sets it.
#[derive(Debug)]
pub struct Generated {
    /// The key.
    pub name: &'static str,
    /// The original's published default, which `muster dev` uses and `muster serve` refuses.
    pub well_known: &'static str,
    /// Bytes of randomness; the text is a third longer (base64, URL alphabet, so that it fits headers and queries).
    bytes: usize,
    /// Comment on the secret in the file.
    comment: &'static str,
}

/// Every such secret, in the order of the file.
pub static GENERATED: [Generated; 6] = [
    Generated {
        name: "socket.server_key",
        well_known: "defaultkey",
        bytes: 24,
        comment: "goes into your game's clients",
    },
    Generated {
        name: "session.encryption_key",
        well_known: "defaultencryptionkey",
        bytes: 32,
        comment: "signs session tokens; changing it ends all sessions",
    },
    Generated {
        name: "session.refresh_encryption_key",
        well_known: "defaultrefreshencryptionkey",
        bytes: 32,
        comment: "signs refresh tokens; changing it makes everyone sign in again",
    },
    Generated {
        name: "runtime.http_key",
        well_known: "defaulthttpkey",
        bytes: 24,
        comment: "lets servers of yours call game code",
    },
    Generated {
        name: "console.signing_key",
        well_known: "defaultsigningkey",
        bytes: 32,
        comment: "signs the console's tokens",
    },
    Generated {
        name: "console.password",
        well_known: "password",
        bytes: 15,
        comment: "password of the console's first administrator",
    },
];

/// Explains why the keys are not available.
#[derive(Debug, thiserror::Error)]
pub enum KeysError {
    /// The file or its folder cannot be read or written.
    #[error("cannot {action} {}: {error}; make it accessible to this user, or choose another `data_dir`", path.display())]
    File { action: &'static str, path: PathBuf, error: io::Error },
    /// The file exists, but Muster did not write it so.
    #[error("the file of generated keys {} is damaged: {fault}; restore it, or move it away to have new keys, which ends all sessions", path.display())]
    Damaged { path: PathBuf, fault: String },
    /// The system gives no randomness.
    #[error("the system gives no randomness for new keys: {0}")]
    Randomness(String),
}

/// The secrets to be laid over the configuration's defaults; values that somebody set win over them.
#[derive(Debug)]
pub(crate) struct Settled {
    pub(crate) settings: Vec<Setting>,
    pub(crate) notices: Vec<Notice>,
    pub(crate) created: bool,
}

/// True for a secret that the original publishes as a default, whatever the key.
pub(crate) fn is_well_known(text: &str) -> bool {
    GENERATED.iter().any(|generated| generated.well_known == text)
}

/// Finds values for the secrets that nobody set: the well-known ones under `dev`, otherwise those of the file.
/// `database` is the file of a database that exists already.
pub(crate) fn settle(
    mode: ServerMode,
    key_file: KeyFile,
    data_dir: &Path,
    database: Option<&Path>,
    settings: &Settings,
) -> Result<Settled, KeysError> {
    let is_given = |name: &str| settings.get(name).is_some_and(|setting| setting.source().is_given());
    let missing: Vec<&'static Generated> = GENERATED.iter().filter(|generated| !is_given(generated.name)).collect();
    let nothing = Settled { settings: Vec::new(), notices: Vec::new(), created: false };
    if mode == ServerMode::Dev {
        return Ok(Settled { settings: well_known(&missing), ..nothing });
    }
    if missing.is_empty() || key_file == KeyFile::Ignore {
        return Ok(nothing);
    }
    let path = data_dir.join(FILE_NAME);
    let mut stored = read(&path)?;
    let created = stored.is_none();
    let complete = stored.as_ref().is_some_and(|stored| GENERATED.iter().all(|one| find(stored, one.name).is_some()));
    if key_file == KeyFile::Create && !complete {
        stored = Some(complete_file(data_dir, &path, stored.unwrap_or_default())?);
    }
    let stored = stored.unwrap_or_default();
    let created = created && key_file == KeyFile::Create;
    let mut notices = permissions_notice(&path);
    notices.extend(database.filter(|_| created).map(|database| replaced_notice(&path, database)));
    Ok(Settled {
        settings: missing.iter().filter_map(|one| find(&stored, one.name).cloned()).collect(),
        notices,
        created,
    })
}

fn well_known(missing: &[&'static Generated]) -> Vec<Setting> {
    let setting = |one: &&Generated| Some(Setting::one(keys::find(one.name)?, one.well_known, Source::Development));
    missing.iter().filter_map(setting).collect()
}

fn find<'s>(stored: &'s [Setting], name: &str) -> Option<&'s Setting> {
    stored.iter().find(|setting| setting.key.name == name)
}

/// The secrets of the file; `None` when there is no file.
fn read(path: &Path) -> Result<Option<Vec<Setting>>, KeysError> {
    let text = match fs::read_to_string(path) {
        Ok(text) => text,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(KeysError::File { action: "read", path: path.to_owned(), error }),
    };
    let damaged = |fault: String| KeysError::Damaged { path: path.to_owned(), fault };
    let mut problems = Vec::new();
    let mut stored = file_settings(path, &text, &mut problems);
    if let Some(problem) = problems.first() {
        return Err(damaged(problem.to_string()));
    }
    for setting in &mut stored {
        if GENERATED.iter().all(|one| one.name != setting.key.name) {
            return Err(damaged(format!(
                "`{}` is not generated; set it in a configuration file instead",
                setting.key.name
            )));
        }
        for entry in &mut setting.entries {
            if entry.text.is_empty() || is_well_known(&entry.text) {
                return Err(damaged(format!("`{}` has no value of its own", setting.key.name)));
            }
            entry.source = Source::KeysFile(path.to_owned());
        }
    }
    Ok(Some(stored))
}

/// Writes the file, with the stored secrets and new ones for those that are missing. If another process writes the
/// first file at the same time, the secrets of that process count.
fn complete_file(data_dir: &Path, path: &Path, mut stored: Vec<Setting>) -> Result<Vec<Setting>, KeysError> {
    let first = stored.is_empty();
    for one in &GENERATED {
        if let Some(key) = keys::find(one.name).filter(|_| find(&stored, one.name).is_none()) {
            stored.push(Setting::one(key, random_text(one.bytes)?, Source::KeysFile(path.to_owned())));
        }
    }
    let write_error = |error| KeysError::File { action: "write", path: path.to_owned(), error };
    create_folder(data_dir).map_err(write_error)?;
    let temporary = data_dir.join(format!(".{FILE_NAME}.{}", random_text(6)?));
    let placed = write_synced(&temporary, &file_text(&stored)).and_then(|()| place(&temporary, path, first));
    // The temporary file is gone if it was renamed; otherwise it is left over.
    let _ = fs::remove_file(&temporary);
    match placed {
        Ok(()) => {}
        Err(error) if first && error.kind() == io::ErrorKind::AlreadyExists => {
            return read(path).map(Option::unwrap_or_default);
        }
        Err(error) => return Err(write_error(error)),
    }
    fs::File::open(data_dir).and_then(|folder| folder.sync_all()).map_err(write_error)?;
    Ok(stored)
}

fn create_folder(data_dir: &Path) -> io::Result<()> {
    use std::os::unix::fs::DirBuilderExt as _;
    fs::DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(data_dir)
}

fn write_synced(path: &Path, text: &str) -> io::Result<()> {
    let mut file = fs::OpenOptions::new().write(true).create(true).truncate(true).mode(FILE_MODE).open(path)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()
}

/// Moves the temporary file to its place. The first file must not replace another process's, so it is linked: a link
/// fails where a rename would not.
fn place(temporary: &Path, path: &Path, first: bool) -> io::Result<()> {
    if first { fs::hard_link(temporary, path) } else { fs::rename(temporary, path) }
}

fn file_text(stored: &[Setting]) -> String {
    let mut text =
        "# Keys of this server, generated by Muster at its first start. Keep this file secret and in your backups.\n\
                    # A key set by configuration file, environment or flag counts instead of the one here.\n"
            .to_owned();
    for one in &GENERATED {
        if let Some(entry) = find(stored, one.name).and_then(|setting| setting.entries.last()) {
            text.push_str(&format!("\n# {}\n{}: \"{}\"\n", one.comment, one.name, entry.text));
        }
    }
    text
}

fn random_text(bytes: usize) -> Result<String, KeysError> {
    let mut random = vec![0; bytes];
    getrandom::fill(&mut random).map_err(|error| KeysError::Randomness(error.to_string()))?;
    Ok(URL_SAFE_NO_PAD.encode(random))
}

/// The warning that keys were generated for a database that had others.
fn replaced_notice(path: &Path, database: &Path) -> Notice {
    let text = format!(
        "the database {} has no {} beside it, so new keys were generated: all sessions end, and clients need the new \
         server key. If the keys are in a backup, stop the server, put them there as {}, and start it again",
        database.display(),
        FILE_NAME,
        path.display()
    );
    Notice { key: "data_dir", source: Source::KeysFile(path.to_owned()), text }
}

fn permissions_notice(path: &Path) -> Vec<Notice> {
    let others_may_read = fs::metadata(path).is_ok_and(|metadata| metadata.permissions().mode() & 0o077 != 0);
    let notice = Notice {
        key: "data_dir",
        source: Source::KeysFile(path.to_owned()),
        text: format!("others on this machine may read the keys; `chmod 600 {}`", path.display()),
    };
    if others_may_read { vec![notice] } else { Vec::new() }
}

#[cfg(test)]
mod tests;
