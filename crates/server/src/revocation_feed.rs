//! Brings revocations from the database into this process, and from the thread that applied a revocation to all shards.

use std::rc::Rc;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use muster_domain::ports::revocations::Revocation;
use muster_domain::ports::store::Store;
use muster_domain::revocations::Revocations;
use muster_gateway::shard::{ShardCommand, ShardHandle};
use tokio::sync::Notify;

use crate::system::System;

/// Time between two reads of the revocations of other servers on the same database.
const POLL_INTERVAL: Duration = Duration::from_millis(500);

/// Applies the revocations of other servers on the same database.
pub async fn follow(store: Rc<dyn Store>, revocations: Arc<Revocations>) {
    let mut poll = tokio::time::interval(POLL_INTERVAL);
    let mut is_failing = false;
    loop {
        poll.tick().await;
        let outcome = revocations.refresh(&*store, &System).await;
        match &outcome {
            Err(error) if !is_failing => tracing::warn!(%error, "cannot read revocations; trying again"),
            Ok(_) if is_failing => tracing::info!("reading revocations again"),
            _ => {}
        }
        is_failing = outcome.is_err();
    }
}

/// Revocations on their way from the thread that applied them to every shard.
///
/// The queue is bounded by the requests under way: each request that revokes waits until its own revocation is applied.
/// Lock: held to push or to take, never across an await.
#[derive(Default)]
pub struct Mailbox {
    waiting: Mutex<Vec<Revocation>>,
    news: Notify,
}

impl Mailbox {
    /// The function that puts a revocation into the mailbox; given to [`Revocations`].
    pub fn observer(self: &Arc<Self>) -> Box<dyn Fn(&Revocation) + Send + Sync> {
        let mailbox = self.clone();
        Box::new(move |revocation| {
            mailbox.waiting.lock().unwrap_or_else(PoisonError::into_inner).push(*revocation);
            mailbox.news.notify_one();
        })
    }

    /// Delivers revocations to every shard until the future is dropped or a shard has ended.
    pub async fn deliver(self: Arc<Self>, shards: Arc<[ShardHandle]>) {
        loop {
            let revocations = std::mem::take(&mut *self.waiting.lock().unwrap_or_else(PoisonError::into_inner));
            for revocation in revocations {
                for shard in shards.iter() {
                    if shard.send(ShardCommand::Revoked(revocation)).await.is_err() {
                        return;
                    }
                }
            }
            self.news.notified().await;
        }
    }
}
