//! `muster account`: actions of an operator on one player's account.

use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

use muster_domain::account::{self, AccountEnding};
use muster_domain::ids::UserId;
use muster_domain::ports::store::Store;
use muster_domain::revocations::Revocations;
use muster_store::sqlite::backup::{Backup, Manifest};
use muster_store::{Address, OpenError, StoreMetrics};
use tokio::task::LocalSet;
use uuid::Uuid;

use super::{Outcome, configuration, print, runtime};
use crate::cli::AccountAction;
use crate::config::{Config, Setting};
use crate::database::{self, Database};
use crate::settings::session_rules;
use crate::system::System;

/// Runs the action. On PostgreSQL a running server notices the change within a second. An SQLite database belongs to
/// its server, so every action but `export` needs the server to be stopped.
pub(super) fn run(action: AccountAction, user_id: Uuid, flags: &[Setting]) -> Outcome {
    let config = configuration(flags)?;
    let user_id = UserId(user_id);
    LocalSet::new().block_on(&runtime()?, async {
        match action {
            AccountAction::Export => export(&config, user_id).await,
            AccountAction::Ban => end(&config, user_id, action).await,
            AccountAction::Delete => end(&config, user_id, action).await,
            AccountAction::Unban => {
                let store = open(&config).await?;
                let is_known = account::unban(&*store, user_id).await.map_err(|error| error.to_string())?;
                told(is_known, user_id, "may sign in again")
            }
        }
    })
}

async fn end(config: &Config, user_id: UserId, action: AccountAction) -> Outcome {
    let store = open(config).await?;
    // This process has no sockets to close; running servers read revocations from the database.
    let revocations = Revocations::new(Box::new(|_| {}));
    let sessions = session_rules(config);
    let ending = AccountEnding { sessions: &sessions, revocations: &revocations, clock: &System };
    if action == AccountAction::Delete {
        ending.delete(&*store, user_id, true).await.map_err(|error| error.to_string())?;
        return told(true, user_id, "is deleted");
    }
    let is_known = ending.ban(&*store, user_id).await.map_err(|error| error.to_string())?;
    told(is_known, user_id, "is banned, its tokens are void and its sockets close")
}

fn told(is_known: bool, user_id: UserId, what: &str) -> Outcome {
    if is_known { print(&format!("{user_id} {what}")) } else { Err(format!("there is no account {user_id}")) }
}

async fn open(config: &Config) -> Result<Rc<dyn Store>, String> {
    let (database, _) = Database::open(config, 1, Arc::new(StoreMetrics::default())).await.map_err(|error| error.0)?;
    database.store().await.map_err(|error| error.0)
}

async fn export(config: &Config, user_id: UserId) -> Outcome {
    let address = database::address(config).map_err(|error| error.0)?;
    let Address::Sqlite(path) = address else {
        let store = open(config).await?;
        return print_export(&*store, user_id).await;
    };
    // A copy of the database can be read while a server has the original open.
    let folder = std::env::temp_dir().join(format!("muster-export-{}-{user_id}", std::process::id()));
    let outcome = async {
        let manifest = copy(&path, &folder).map_err(|error| error.0)?;
        let copy = Address::Sqlite(folder.join(&manifest.database));
        let database = Database::open_at(copy, Default::default(), Arc::new(StoreMetrics::default())).await;
        let store = database.map_err(|error| error.0)?.store().await.map_err(|error| error.0)?;
        print_export(&*store, user_id).await
    };
    let outcome = outcome.await;
    let removed = std::fs::remove_dir_all(&folder);
    if let (Err(error), true) = (removed, folder.exists()) {
        return Err(format!("a copy of the database is left in {}: {error}", folder.display()));
    }
    outcome
}

/// Copies the database into a new folder.
fn copy(path: &Path, folder: &Path) -> Result<Manifest, OpenError> {
    let mut copy = Backup::begin(path, folder, 0)?;
    copy.copy_database(|| Ok(()))?;
    copy.finish()
}

async fn print_export(store: &dyn Store, user_id: UserId) -> Outcome {
    let json = account::export(store, user_id).await.map_err(|error| error.to_string())?;
    print(&json)
}
