//! Copies of an SQLite database. A copy is made while a server writes, is checked before it is trusted, and is restored
//! as a whole.
//!
//! A backup is a folder: the database as one file, other files and folders of the data folder such as keys and the log
//! of matches, and a manifest with the checksum of each file and the number of rows of each table. The folder gets its
//! final name only when it is complete and synced.

mod restore;

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::{Component, Path, PathBuf};

use muster_domain::ids::Uuid;
use muster_domain::ports::keyed_writes::LatestWrite;
use rusqlite::backup::Backup as PageCopy;
use rusqlite::{Connection, OpenFlags};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::keyed_writes::{LATEST_OF_ALL, latest_write};
use super::{lock, private_file, private_folder, schema, space};
use crate::OpenError;

pub use restore::{Restored, check_not_interrupted, restore};

/// Name of the manifest in the backup's folder.
const MANIFEST: &str = "manifest.json";

/// Version of the manifest's format. Backups of earlier releases have [`FORMAT_OF_FILES`].
const FORMAT: u32 = 2;

/// Version of the format of a backup without folders, which earlier releases can read too.
const FORMAT_OF_FILES: u32 = 1;

/// Page cache of the copying connection, KiB. A copy reads each page once, so a larger cache would not help.
const CACHE_KB: u32 = 1024;

/// The contents of a backup.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// Version of the manifest's format.
    pub format: u32,
    /// Version of the database's schema.
    pub schema_version: i64,
    /// Name of the database's file in the folder; `files` lists it too.
    pub database: String,
    /// Size and checksum of every file, by the file's name.
    pub files: BTreeMap<String, FileSum>,
    /// Number of rows of every table, by the table's name.
    pub rows: BTreeMap<String, u64>,
}

/// Size and checksum of a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSum {
    /// Length of the file in bytes.
    pub bytes: u64,
    /// SHA-256 of the file's content in lower-case hex.
    pub sha256: String,
}

/// A backup that is being made. It is removed unless it is finished.
#[derive(Debug)]
pub struct Backup {
    source: PathBuf,
    destination: PathBuf,
    /// The folder until it is complete.
    folder: PathBuf,
    database: String,
    schema_version: i64,
    rows: BTreeMap<String, u64>,
    is_finished: bool,
}

impl Backup {
    /// Begins a backup of the database at `path` in the new folder `destination`, which is to hold `other_bytes` bytes
    /// of other files too. A server may write meanwhile.
    ///
    /// # Errors
    /// When `destination` exists, there is no database or not enough space, or the folder cannot be made.
    pub fn begin(path: &Path, destination: &Path, other_bytes: u64) -> Result<Self, OpenError> {
        if destination.exists() {
            return Err(OpenError::new(format!("{} exists already: name a new folder", destination.display())));
        }
        check_readable(path)?;
        let database = file_name(path)?;
        let folder = with_suffix(destination, ".unfinished");
        // Files of an interrupted attempt are incomplete and are removed.
        let _ = std::fs::remove_dir_all(&folder);
        let failed = OpenError::because(format!("cannot write {}", folder.display()));
        private_folder(&folder).map_err(failed)?;
        let backup = Self {
            source: path.to_owned(),
            destination: destination.to_owned(),
            folder,
            database,
            schema_version: 0,
            rows: BTreeMap::new(),
            is_finished: false,
        };
        let bytes_of = |suffix| with_suffix(path, suffix).metadata().map_or(0, |metadata| metadata.len());
        space::check(&backup.folder, bytes_of("") + bytes_of("-wal") + other_bytes)?;
        Ok(backup)
    }

    /// The folder of the backup, for further files.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Copies the database as of one moment. `after_moment` is called right after that moment.
    ///
    /// # Errors
    /// When the database cannot be copied, and the errors of `after_moment`.
    pub fn copy_database(&mut self, after_moment: impl FnOnce() -> Result<(), OpenError>) -> Result<(), OpenError> {
        let copy = self.folder.join(&self.database);
        (self.schema_version, self.rows) = copy_database(&self.source, &copy, after_moment)?;
        Ok(())
    }

    /// Copies a file beside the database.
    ///
    /// # Errors
    /// When the file cannot be copied.
    pub fn copy_file(&mut self, file: &Path) -> Result<(), OpenError> {
        copy_synced(file, &self.folder.join(file_name(file)?))
    }

    /// The latest keyed write of each durable match in the copy of the database.
    ///
    /// # Errors
    /// When the copy cannot be read.
    pub fn latest_keyed_writes(&self) -> Result<Vec<(Uuid, LatestWrite)>, OpenError> {
        let path = self.folder.join(&self.database);
        let failed = |error: rusqlite::Error| OpenError::new(format!("cannot read {}: {error}", path.display()));
        let copy = open_copy(&path).map_err(failed)?;
        let mut latest = copy.prepare(LATEST_OF_ALL).map_err(failed)?;
        latest.query_map((), latest_write).and_then(Iterator::collect).map_err(failed)
    }

    /// Writes the manifest over all files of the folder, checks the backup, and gives the folder its name.
    ///
    /// # Errors
    /// When a file cannot be read or written, or the copy is damaged.
    pub fn finish(mut self) -> Result<Manifest, OpenError> {
        let folder = &self.folder;
        let failed = |error: std::io::Error| OpenError::new(format!("cannot write {}: {error}", folder.display()));
        let mut files = BTreeMap::new();
        for name in files_in(folder).map_err(failed)? {
            sync(&folder.join(&name))?;
            files.insert(name.clone(), sum(&folder.join(&name))?);
        }
        let format = if files.keys().any(|name| name.contains('/')) { FORMAT } else { FORMAT_OF_FILES };
        let (schema_version, rows) = (self.schema_version, std::mem::take(&mut self.rows));
        let manifest = Manifest { format, schema_version, database: self.database.clone(), files, rows };
        let json = serde_json::to_vec_pretty(&manifest).map_err(OpenError::because("cannot write the manifest"))?;
        std::fs::write(folder.join(MANIFEST), json).map_err(failed)?;
        sync(&folder.join(MANIFEST))?;
        sync(folder)?;
        verify(folder)?;
        std::fs::rename(folder, &self.destination).map_err(failed)?;
        self.is_finished = true;
        sync(folder_of(&self.destination))?;
        Ok(manifest)
    }
}

impl Drop for Backup {
    fn drop(&mut self) {
        if !self.is_finished {
            let _ = std::fs::remove_dir_all(&self.folder);
        }
    }
}

/// Names of all files in a folder and the folders in it, with `/` between their parts.
fn files_in(folder: &Path) -> std::io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_dir() {
            names.extend(files_in(&entry.path())?.into_iter().map(|inner| format!("{name}/{inner}")));
        } else {
            names.push(name);
        }
    }
    Ok(names)
}

/// Checks a backup: every file's checksum, the database's integrity, the number of rows of every table, and that this
/// program knows its schema.
///
/// # Errors
/// When anything differs; the sentence says what.
pub fn verify(backup: &Path) -> Result<Manifest, OpenError> {
    let path = backup.join(MANIFEST);
    let unread = |error: std::io::Error| {
        let (path, folder) = (path.display(), backup.display());
        OpenError::new(format!("cannot read {path}: {error}; is {folder} a folder that `muster backup` made?"))
    };
    let read = std::fs::read(&path).map_err(unread)?;
    let manifest: Manifest =
        serde_json::from_slice(&read).map_err(OpenError::because(format!("cannot understand {}", path.display())))?;
    if ![FORMAT_OF_FILES, FORMAT].contains(&manifest.format) {
        return Err(OpenError::new(format!(
            "the backup has form {}, this program reads form {FORMAT}",
            manifest.format
        )));
    }
    for (name, expected) in &manifest.files {
        let is_inside = Path::new(name).components().all(|part| matches!(part, Component::Normal(_)));
        if !is_inside || sum(&backup.join(name))? != *expected {
            return Err(OpenError::new(format!("{name} in the backup is not the file that was saved: do not use it")));
        }
    }
    let failed = |error: rusqlite::Error| OpenError::new(format!("the backup's database cannot be read: {error}"));
    let copy = open_copy(&backup.join(&manifest.database)).map_err(failed)?;
    let found: String = copy.pragma_query_value(None, "integrity_check", |row| row.get(0)).map_err(failed)?;
    if found != "ok" {
        return Err(OpenError::new(format!("the backup's database is damaged: {found}")));
    }
    schema::known_version(&backup.join(&manifest.database), &copy)?;
    if count_rows(&copy).map_err(failed)? != manifest.rows {
        return Err(OpenError::new("the backup's tables do not have the rows that were saved: do not use it"));
    }
    Ok(manifest)
}

/// Checks that there is a database that this process may read.
///
/// # Errors
/// A sentence that says whether there is none, or why it cannot be read.
fn check_readable(path: &Path) -> Result<(), OpenError> {
    match File::open(path).and_then(|file| file.metadata()) {
        Ok(found) if found.is_file() => Ok(()),
        Ok(_) => Err(OpenError::new(format!("{} is no file, so it is no database", path.display()))),
        Err(error) if error.kind() == ErrorKind::NotFound => Err(OpenError::new(format!(
            "there is no database {}: name the server's data folder with --data_dir",
            path.display()
        ))),
        Err(error) => Err(unreadable(path, &error)),
    }
}

/// The error for a file or folder that this process cannot read.
pub fn unreadable(path: &Path, error: &std::io::Error) -> OpenError {
    let advice = if error.kind() == ErrorKind::PermissionDenied {
        "; run this command as the user whom the server runs as"
    } else {
        ""
    };
    OpenError::new(format!("cannot read {}: {error}{advice}", path.display()))
}

/// Opens the database of a backup for reading only, so that no further file is left in the folder.
fn open_copy(path: &Path) -> rusqlite::Result<Connection> {
    Connection::open_with_flags(path, OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX)
}

/// Copies all pages of one snapshot, and calls `after_moment` right after the moment of the snapshot. Answers the
/// schema's version and the number of rows of each table in the snapshot.
fn copy_database(
    from: &Path,
    to: &Path,
    after_moment: impl FnOnce() -> Result<(), OpenError>,
) -> Result<(i64, BTreeMap<String, u64>), OpenError> {
    let failed =
        |error: rusqlite::Error| OpenError::new(format!("cannot copy the database {}: {error}", from.display()));
    let source = schema::connect(from, None, CACHE_KB).map_err(failed)?;
    source.execute_batch("BEGIN").map_err(failed)?;
    // The first read takes the snapshot.
    let version = schema::known_version(from, &source)?;
    after_moment()?;
    let rows = count_rows(&source).map_err(failed)?;
    private_file(to).map_err(OpenError::because(format!("cannot create {}", to.display())))?;
    let mut copy = Connection::open(to).map_err(failed)?;
    // All pages are copied in one step: between two steps a write would make the copy start again.
    PageCopy::new(&source, &mut copy).and_then(|backup| backup.step(-1)).map_err(failed)?;
    source.execute_batch("COMMIT").map_err(failed)?;
    // With this journal mode the copy is one file, without a log beside it.
    copy.pragma_update(None, "journal_mode", "delete").map_err(failed)?;
    copy.close().map_err(|(_, error)| failed(error))?;
    sync(to)?;
    Ok((version, rows))
}

fn count_rows(connection: &Connection) -> rusqlite::Result<BTreeMap<String, u64>> {
    let sql = "SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'";
    let mut tables = connection.prepare(sql)?;
    let tables: Vec<String> = tables.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    let count = |table: String| {
        let quoted = table.replace('"', "\"\"");
        let count: i64 = connection.query_row(&format!("SELECT count(*) FROM \"{quoted}\""), [], |row| row.get(0))?;
        Ok((table, u64::try_from(count).unwrap_or(0)))
    };
    tables.into_iter().map(count).collect()
}

fn sum(path: &Path) -> Result<FileSum, OpenError> {
    let failed = |error: std::io::Error| OpenError::new(format!("cannot read {}: {error}", path.display()));
    let mut file = File::open(path).map_err(failed)?;
    let (mut digest, mut bytes, mut chunk) = (Sha256::new(), 0, vec![0; 64 * 1024]);
    loop {
        let len = file.read(&mut chunk).map_err(failed)?;
        if len == 0 {
            break;
        }
        bytes += len as u64;
        digest.update(&chunk[..len]);
    }
    Ok(FileSum { bytes, sha256: digest.finalize().iter().map(|byte| format!("{byte:02x}")).collect() })
}

fn copy_synced(from: &Path, to: &Path) -> Result<(), OpenError> {
    std::fs::copy(from, to).map_err(OpenError::because(format!("cannot copy {}", from.display())))?;
    sync(to)
}

/// Syncs a file, or the list of names in a folder.
fn sync(path: &Path) -> Result<(), OpenError> {
    File::open(path)
        .and_then(|file| file.sync_all())
        .map_err(OpenError::because(format!("cannot sync {}", path.display())))
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

/// The last part of a path, which is the file's name in a backup.
fn file_name(path: &Path) -> Result<String, OpenError> {
    let name = path.file_name().and_then(|name| name.to_str());
    name.map(str::to_owned).ok_or_else(|| OpenError::new(format!("{} does not name a file", path.display())))
}
