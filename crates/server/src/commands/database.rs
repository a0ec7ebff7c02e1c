//! `muster migrate`, `muster backup` and `muster restore`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use muster_store::Address;
use muster_store::sqlite::backup::{self, Manifest};

use super::{Outcome, configuration, print, runtime};
use crate::cli::MigrateAction;
use crate::config::{Config, Setting};
use crate::{database, keys};

/// Prepares the database, or prints its state.
pub(super) fn migrate(action: MigrateAction, flags: &[Setting]) -> Outcome {
    let address = database::address(&configuration(flags)?).map_err(|error| error.0)?;
    let told = runtime()?.block_on(async {
        match action {
            MigrateAction::Up => muster_store::migrate(&address).await,
            MigrateAction::Status => muster_store::status(&address).await,
        }
    });
    print(&told.map_err(|error| error.0)?)
}

/// Copies the database and the generated keys, also while a server runs.
pub(super) fn backup(folder: &Path, flags: &[Setting]) -> Outcome {
    let config = configuration(flags)?;
    let path = sqlite_path(&config, "pg_dump")?;
    let keys_file = config.general.data_dir.join(keys::FILE_NAME);
    let has_keys = keys_file.try_exists().map_err(|error| backup::unreadable(&keys_file, &error).0)?;
    let also: Vec<PathBuf> = has_keys.then_some(keys_file).into_iter().collect();
    let manifest = backup::backup(&path, &also, folder).map_err(|error| error.0)?;
    tell("saved and verified", folder, &manifest)
}

/// Replaces the database by a backup.
pub(super) fn restore(folder: &Path, force: bool, flags: &[Setting]) -> Outcome {
    let path = sqlite_path(&configuration(flags)?, "pg_restore")?;
    let manifest = backup::restore(folder, &path, force).map_err(|error| error.0)?;
    tell("verified and restored", folder, &manifest)
}

fn tell(what: &str, folder: &Path, manifest: &Manifest) -> Outcome {
    let rows: u64 = manifest.rows.values().sum();
    let files = manifest.files.len();
    print(&format!("{what}: {} with {files} file(s), {rows} rows", folder.display()))?;
    Ok(ExitCode::SUCCESS)
}

fn sqlite_path(config: &Config, tool: &str) -> Result<PathBuf, String> {
    match database::address(config).map_err(|error| error.0)? {
        Address::Sqlite(path) => Ok(path),
        Address::Postgres(_) => {
            Err(format!("the database is PostgreSQL, whose own tools do this better: use {tool} on database.address"))
        }
    }
}
