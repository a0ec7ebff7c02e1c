//! `muster migrate`, `muster backup` and `muster restore`.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use muster_cluster::match_log::files::{FileLogs, FileOptions, LOCK, LogFiles};
use muster_domain::ports::keyed_writes::LatestWrite;
use muster_live::matches::{LogError, MatchId, MatchLog as _};
use muster_live::{Epoch, Partition};
use muster_script::durable::backup::{BackedUp, as_of};
use muster_script::durable::listing::matches_of;
use muster_store::sqlite::backup::{self, Backup, Manifest};
use muster_store::{Address, OpenError};

use super::{Outcome, configuration, print, runtime};
use crate::cli::MigrateAction;
use crate::config::{Config, Setting};
use crate::game::MATCHES;
use crate::{database, keys};

/// Bytes of the log of a backup that are synced together.
const WAITING_BYTES: usize = 16 << 20;

/// Prepares the database, or prints its state.
pub(super) fn migrate(action: MigrateAction, flags: &[Setting]) -> Outcome {
    let address = database::address(&configuration(flags)?).map_err(|error| error.0)?;
    let told = runtime()?.block_on(async {
        match action {
            MigrateAction::Up => muster_store::migrate(&address).await.map(|done| done.told),
            MigrateAction::Status => muster_store::status(&address).await,
        }
    });
    print(&told.map_err(|error| error.0)?)
}

/// Copies the database, the generated keys and the log of matches as of one moment, also while a server runs.
pub(super) fn backup(folder: &Path, flags: &[Setting]) -> Outcome {
    let config = configuration(flags)?;
    let path = sqlite_path(&config, "pg_dump")?;
    let keys_file = config.general.data_dir.join(keys::FILE_NAME);
    let has_keys = keys_file.try_exists().map_err(|error| backup::unreadable(&keys_file, &error).0)?;
    // Files that the server removes from now on can still be read.
    let mut logs = LogFiles::open(&config.general.data_dir.join(MATCHES)).map_err(|error| error.to_string())?;
    let log_bytes = logs.bytes().map_err(|error| error.to_string())?;
    let mut copy = Backup::begin(&path, folder, log_bytes).map_err(told)?;
    copy.copy_database(|| logs.open_new().map_err(|error| OpenError(error.to_string()))).map_err(told)?;
    if has_keys {
        copy.copy_file(&keys_file).map_err(told)?;
    }
    let matches = copy_matches(&logs, &copy)?;
    let manifest = copy.finish().map_err(told)?;
    print(&format!("saved and verified: {}", contents(folder, &manifest, matches)))
}

/// Writes the log of matches into a backup, as of the moment of its copy of the database. Answers the number of
/// matches.
fn copy_matches(logs: &LogFiles, copy: &Backup) -> Result<u64, String> {
    let records = logs.records().map_err(|error| error.to_string())?;
    let latest = copy.latest_keyed_writes().map_err(told)?;
    let latest: BTreeMap<MatchId, LatestWrite> = latest.into_iter().map(|(id, latest)| (MatchId(id), latest)).collect();
    let mut kept = BTreeMap::new();
    for (partition, records) in records {
        let backed_up = as_of(records, &latest).map_err(|error| format!("cannot copy the log of matches: {error}"))?;
        if !backed_up.records.is_empty() {
            kept.insert(partition, backed_up);
        }
    }
    if kept.is_empty() {
        return Ok(0);
    }
    let folder = copy.folder().join(MATCHES);
    runtime()?.block_on(write_matches(&folder, &kept)).map_err(|error| error.to_string())?;
    // The lock is no part of the backup.
    let _ = std::fs::remove_file(folder.join(LOCK));
    Ok(kept.values().map(|backed_up| backed_up.matches).sum())
}

async fn write_matches(folder: &Path, kept: &BTreeMap<Partition, BackedUp>) -> Result<(), LogError> {
    let failed = |error: muster_cluster::match_log::files::OpenError| LogError::Failed(error.to_string());
    let logs = FileLogs::open(folder, FileOptions::default()).map_err(failed)?;
    let log = logs.handle();
    for (partition, backed_up) in kept {
        log.take_over(*partition, Epoch::default()).await?;
        let mut waiting = 0;
        for record in &backed_up.records {
            log.append(*partition, record)?;
            waiting += record.len();
            // The log takes a limited number of bytes at a time.
            if waiting >= WAITING_BYTES {
                log.synced(*partition, Duration::ZERO).await?;
                waiting = 0;
            }
        }
        log.synced(*partition, Duration::ZERO).await?;
    }
    Ok(())
}

/// Replaces the database, and all that belongs to it, by a backup.
pub(super) fn restore(folder: &Path, force: bool, flags: &[Setting]) -> Outcome {
    let config = configuration(flags)?;
    let path = sqlite_path(&config, "pg_restore")?;
    let restored = backup::restore(folder, &path, &config.general.data_dir, &[MATCHES], force).map_err(told)?;
    let logs = LogFiles::open(&folder.join(MATCHES)).map_err(|error| error.to_string())?;
    let matches = logs.records().map_err(|error| error.to_string())?;
    let matches = matches.into_values().map(|records| matches_of(records).len() as u64).sum();
    let mut text = format!("verified and restored: {}", contents(folder, &restored.manifest, matches));
    for aside in &restored.aside {
        text.push_str(&format!("\nwhat was there before is in {}", aside.display()));
    }
    print(&text)
}

fn contents(folder: &Path, manifest: &Manifest, matches: u64) -> String {
    let rows: u64 = manifest.rows.values().sum();
    let files = manifest.files.len();
    format!("{} with {files} file(s), {rows} rows, {matches} durable match(es)", folder.display())
}

fn told(error: OpenError) -> String {
    error.0
}

fn sqlite_path(config: &Config, tool: &str) -> Result<PathBuf, String> {
    match database::address(config).map_err(|error| error.0)? {
        Address::Sqlite(path) => Ok(path),
        Address::Postgres(_) => {
            Err(format!("the database is PostgreSQL, whose own tools do this better: use {tool} on database.address"))
        }
    }
}
