//! Copies of an SQLite database. A copy is made while a server writes, is checked before it is trusted, and is restored
//! as a whole.
//!
//! A backup is a folder: the database as one file, other files of the data folder such as keys, and a manifest with the
//! checksum of each file and the number of rows of each table. The folder gets its final name only when it is complete
//! and synced.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{ErrorKind, Read as _};
use std::path::{Path, PathBuf};

use rusqlite::backup::Backup;
use rusqlite::{Connection, OpenFlags};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use super::{lock, private_file, private_folder, schema};
use crate::OpenError;

/// Name of the manifest in the backup's folder.
const MANIFEST: &str = "manifest.json";

/// Version of the manifest's format.
const FORMAT: u32 = 1;

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

/// Copies the database at `path`, and the files `also`, into the new folder `destination`. A server may write
/// meanwhile. The copy is checked before the folder gets its name.
///
/// # Errors
/// When `destination` exists, a file cannot be read or written, or the copy is damaged.
pub fn backup(path: &Path, also: &[PathBuf], destination: &Path) -> Result<Manifest, OpenError> {
    if destination.exists() {
        return Err(OpenError::new(format!("{} exists already: name a new folder", destination.display())));
    }
    check_readable(path)?;
    let unfinished = with_suffix(destination, ".unfinished");
    // Files of an interrupted attempt are incomplete and are removed.
    let _ = std::fs::remove_dir_all(&unfinished);
    let failed = |error: std::io::Error| OpenError::new(format!("cannot write {}: {error}", unfinished.display()));
    private_folder(&unfinished).map_err(failed)?;
    let database = file_name(path)?;
    let (schema_version, rows) = copy_database(path, &unfinished.join(&database))?;
    let mut files = BTreeMap::from([(database.clone(), sum(&unfinished.join(&database))?)]);
    for file in also {
        let name = file_name(file)?;
        copy_synced(file, &unfinished.join(&name))?;
        files.insert(name.clone(), sum(&unfinished.join(&name))?);
    }
    let manifest = Manifest { format: FORMAT, schema_version, database, files, rows };
    let json = serde_json::to_vec_pretty(&manifest).map_err(OpenError::because("cannot write the manifest"))?;
    std::fs::write(unfinished.join(MANIFEST), json).map_err(failed)?;
    sync(&unfinished.join(MANIFEST))?;
    sync(&unfinished)?;
    verify(&unfinished)?;
    std::fs::rename(&unfinished, destination).map_err(failed)?;
    sync(folder_of(destination))?;
    Ok(manifest)
}

/// Checks a backup: every file's checksum, the database's integrity, the number of rows of every table, and that this
/// program knows its schema.
///
/// # Errors
/// When anything differs; the sentence says what.
pub fn verify(backup: &Path) -> Result<Manifest, OpenError> {
    let path = backup.join(MANIFEST);
    let read = std::fs::read(&path).map_err(OpenError::because(format!("cannot read {}", path.display())))?;
    let manifest: Manifest =
        serde_json::from_slice(&read).map_err(OpenError::because(format!("cannot understand {}", path.display())))?;
    if manifest.format != FORMAT {
        return Err(OpenError::new(format!(
            "the backup has form {}, this program reads form {FORMAT}",
            manifest.format
        )));
    }
    for (name, expected) in &manifest.files {
        if file_name(Path::new(name))? != *name || sum(&backup.join(name))? != *expected {
            return Err(OpenError::new(format!("{name} in the backup is not the file that was saved: do not use it")));
        }
    }
    let failed = |error: rusqlite::Error| OpenError::new(format!("the backup's database cannot be read: {error}"));
    // The copy is opened for reading only, so that the check leaves no further file in the folder.
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let copy = Connection::open_with_flags(backup.join(&manifest.database), flags).map_err(failed)?;
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

/// Copies a backup's files into the folder of the database at `path`; the backup's database gets that name. With
/// `force` existing files are replaced, and stay beside the new ones with the suffix `.before-restore`.
///
/// # Errors
/// When the backup is damaged, when a server uses the database, and when files exist and `force` is `false`.
pub fn restore(backup: &Path, path: &Path, force: bool) -> Result<Manifest, OpenError> {
    let manifest = verify(backup)?;
    let _lock = lock(path)?;
    let folder = folder_of(path);
    let target = |name: &String| if *name == manifest.database { path.to_owned() } else { folder.join(name) };
    if let Some(present) = manifest.files.keys().map(target).find(|file| file.exists())
        && !force
    {
        return Err(OpenError::new(format!(
            "{} exists: restore into an empty folder, or say --force to replace it",
            present.display()
        )));
    }
    for name in manifest.files.keys() {
        copy_synced(&backup.join(name), &with_suffix(&target(name), ".restoring"))?;
    }
    let rename = |from: &Path, to: &Path| {
        std::fs::rename(from, to).map_err(OpenError::because(format!("cannot rename {}", from.display())))
    };
    // The old log belongs to the old file and would damage the new one. The log is renamed first: the old file without
    // its log is still a whole database.
    for suffix in ["-wal", "-shm", ""] {
        let old = with_suffix(path, suffix);
        if old.exists() {
            rename(&old, &with_suffix(&with_suffix(path, ".before-restore"), suffix))?;
        }
    }
    for name in manifest.files.keys() {
        let target = target(name);
        if target.exists() {
            rename(&target, &with_suffix(&target, ".before-restore"))?;
        }
        rename(&with_suffix(&target, ".restoring"), &target)?;
    }
    sync(folder)?;
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

/// Copies all pages of one snapshot. Answers the schema's version and the number of rows of each table in the snapshot.
fn copy_database(from: &Path, to: &Path) -> Result<(i64, BTreeMap<String, u64>), OpenError> {
    let failed =
        |error: rusqlite::Error| OpenError::new(format!("cannot copy the database {}: {error}", from.display()));
    let source = schema::connect(from, None, CACHE_KB).map_err(failed)?;
    source.execute_batch("BEGIN").map_err(failed)?;
    let version = schema::known_version(from, &source)?;
    let rows = count_rows(&source).map_err(failed)?;
    private_file(to).map_err(OpenError::because(format!("cannot create {}", to.display())))?;
    let mut copy = Connection::open(to).map_err(failed)?;
    // All pages are copied in one step: between two steps a write would make the copy start again.
    Backup::new(&source, &mut copy).and_then(|backup| backup.step(-1)).map_err(failed)?;
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
