//! Parts of a start without a server: the game code loads over an empty database, in a temporary folder that is removed
//! afterwards. Nothing in the data folder changes, and nothing listens.

use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

use muster_domain::admission::SharedAdmission;
use muster_domain::ports::store::Store;
use muster_domain::revocations::Revocations;
use muster_script::LoadedCode;
use tempfile::TempDir;

use super::{Metrics, Shared, StartError, load_game, share, signing};
use crate::cluster::nats_options;
use crate::config::{Config, Secret};
use crate::database::Database;
use crate::game::{RecordingPlayer, STUCK_MODULES, default_folder};
use crate::limits;
use crate::settings::{admission, gateway_config};

/// Loads the modules for replaying recordings. The temporary folder is removed when the second value is dropped.
///
/// # Errors
/// A sentence that says why the modules cannot be loaded.
pub(crate) async fn player(config: &Config) -> Result<(RecordingPlayer, TempDir), StartError> {
    let folder = temporary_folder()?;
    let (shared, store) = over_empty_database(config, &folder, &Metrics::new(config)).await?;
    let player = RecordingPlayer::load(config, store, signing(&shared)).await.map_err(StartError)?;
    Ok((player, folder))
}

/// Does what a start does with the configuration: reads certificates and logins, makes the rules of all parts, and
/// loads the game code. Answers the folder of the game code, and the code in it; `None` if there is no folder.
///
/// # Errors
/// The sentence with which a start would end.
pub(crate) async fn rehearse(config: &Config) -> Result<Option<(PathBuf, Vec<LoadedCode>)>, StartError> {
    if config.cluster.is_joined() {
        nats_options(&config.cluster).check().map_err(|error| StartError(error.to_string()))?;
    }
    let folder = temporary_folder()?;
    let config = aside(config, &folder)?;
    let metrics = Metrics::new(&config);
    let (shared, store) = over_empty_database(&config, &folder, &metrics).await?;
    gateway_config(&config, limits::connections_max(&config)).map_err(StartError)?;
    let (game, _reload) = load_game(&shared, store, &metrics).await?;
    Ok(config.runtime.path.clone().map(|folder| (folder, game.code())))
}

/// The configuration with all that a start writes moved into `folder`. Secrets that the first start would generate have
/// values for this trial.
fn aside(config: &Config, folder: &TempDir) -> Result<Config, StartError> {
    let mut moved = config.clone();
    moved.general.data_dir = folder.path().to_owned();
    moved.script.compiled_dir = None;
    // Modules in the data folder are optional, and a folder that is named is not.
    moved.runtime.path = config.runtime.path.clone().or_else(|| default_folder(config));
    let noted = config.general.data_dir.join(STUCK_MODULES);
    match std::fs::copy(&noted, folder.path().join(STUCK_MODULES)) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(StartError::because(format!("cannot read {}", noted.display()))(error));
        }
        _ => {}
    }
    for (secret, name) in [
        (&mut moved.socket.server_key, "server"),
        (&mut moved.runtime.http_key, "http"),
        (&mut moved.session.encryption_key, "session"),
        (&mut moved.session.refresh_encryption_key, "refresh"),
    ] {
        if secret.is_empty() {
            *secret = Secret::from(format!("the {name} key of a trial"));
        }
    }
    Ok(moved)
}

fn temporary_folder() -> Result<TempDir, StartError> {
    tempfile::tempdir().map_err(StartError::because("cannot make a folder for a moment"))
}

/// The state that all shards would share, over an empty database in `folder`.
async fn over_empty_database(
    config: &Config,
    folder: &TempDir,
    metrics: &Metrics,
) -> Result<(Shared, Rc<dyn Store>), StartError> {
    let address = muster_store::Address::Sqlite(folder.path().join("muster.db"));
    let opened = Database::open_at(address, Default::default(), metrics.store.clone()).await;
    let database = opened.map_err(|error| StartError(error.0))?;
    let store = database.store().await.map_err(StartError::because("cannot use a database"))?;
    let admission = Arc::new(SharedAdmission::new(admission(config, limits::connections_max(config))));
    let revocations = Revocations::new(Box::new(|_| {}));
    let shared = share(config, database, &*store, (revocations, admission), metrics).await?;
    Ok((shared, store))
}
