//! Keyed writes that no match asks for again are forgotten in the database.

use std::rc::Rc;
use std::time::Duration;

use muster_domain::ports::clock::Clock;
use muster_domain::ports::store::Store;
use muster_live::matches::MatchId;

use super::open_log::OpenLog;

/// Forgets the outcomes of keyed writes up to a call, which no call asks for again. If that fails, they are removed
/// when they are old.
pub(crate) async fn forget_keyed_writes(store: Rc<dyn Store>, id: MatchId, calls: u64) {
    let latest = i64::try_from(calls).unwrap_or(i64::MAX);
    if let Err(error) = store.forget_keyed_writes(id.0, latest).await {
        tracing::debug!(%id, %error, "outcomes of a match's writes are forgotten later");
    }
}

/// Forgets the keyed writes of the matches whose end is in a log, once the end is durable: until then their calls may
/// be repeated.
pub(crate) async fn forget_ended(store: Rc<dyn Store>, clock: Rc<dyn Clock>, log: Rc<OpenLog>) {
    let ended = log.take_ended();
    if ended.is_empty() || log.synced(Duration::ZERO).await.is_err() {
        return;
    }
    for id in ended {
        if let Err(error) = store.end_keyed_writes(id.0, clock.now()).await {
            tracing::debug!(%id, %error, "writes of a match that has ended are forgotten later");
        }
        log.forgotten(id);
    }
}
