//! Reloading game code while the server runs: on the main thread, in machines of its own. Code that fails to load
//! changes nothing; code that loads is taken over by each shard.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use muster_domain::ports::store::Store;
use muster_script::host::Signing;
use muster_script::watch::{FolderState, FolderWatch};
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::{Generation, Loader};

/// Time between two looks at the files. A changed file is loaded when it stayed the same from one look to the next.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);

/// Time to wait for all shards to go over to new code before the log says that some have not.
const TAKE_WAIT: Duration = Duration::from_secs(10);

/// Asks for a reload, whether or not files have changed.
#[derive(Clone, Debug, Default)]
pub(crate) struct ReloadRequest(Arc<Notify>);

impl ReloadRequest {
    /// Asks for a reload.
    pub(crate) fn ask(&self) {
        self.0.notify_one();
    }
}

/// The shards that have to go over to new code.
pub(super) struct Shards {
    pub(super) count: usize,
    pub(super) generations: watch::Sender<Generation>,
    /// Each shard sends the number of a generation here once it has gone over to it.
    pub(super) takes: mpsc::Receiver<u64>,
}

/// Reloads game code on request and when its files change.
pub(crate) struct Reload {
    loader: Loader,
    store: Rc<dyn Store>,
    signing: Signing,
    shards: Shards,
    /// Watches the files, if the configuration wants it.
    watch: Option<FolderWatch>,
}

impl Reload {
    /// `files` is the state of the loaded files, if they are to be watched.
    pub(super) fn new(
        loader: Loader,
        store: Rc<dyn Store>,
        signing: Signing,
        shards: Shards,
        files: Option<FolderState>,
    ) -> Self {
        Self { loader, store, signing, shards, watch: files.map(FolderWatch::new) }
    }

    /// Reloads on requests and changes, for ever.
    pub(crate) async fn run(mut self, request: ReloadRequest) {
        let mut look = interval(LOOK_INTERVAL);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = request.0.notified() => {
                    if self.watch.is_some() {
                        self.watch = Some(FolderWatch::new(self.look().await));
                    }
                    self.load().await;
                }
                _ = look.tick(), if self.watch.is_some() => {
                    let files = self.look().await;
                    if self.watch.as_mut().is_some_and(|watch| watch.look(files)) {
                        self.load().await;
                    }
                }
            }
        }
    }

    /// The current state of the files, read on another thread so that a slow disk holds up nobody.
    async fn look(&self) -> FolderState {
        let loader = self.loader.clone();
        tokio::task::spawn_blocking(move || loader.look()).await.unwrap_or_default()
    }

    async fn load(&mut self) {
        let metrics = self.loader.resources.metrics.clone();
        let running = self.shards.generations.borrow().number;
        match self.loader.load(running + 1, self.store.clone(), self.signing.clone()).await {
            Ok(generation) => {
                metrics.generation.store(generation.number, Ordering::Relaxed);
                self.shards.go_over(generation).await;
            }
            Err(error) => {
                metrics.reloads_failed.fetch_add(1, Ordering::Relaxed);
                tracing::error!(generation = running, "{error}; what runs goes on");
            }
        }
    }
}

impl Shards {
    /// Makes all shards go over to new code, and waits for them for a while.
    async fn go_over(&mut self, generation: Generation) {
        let number = generation.number;
        self.generations.send_replace(generation);
        let all = async {
            let mut left = self.count;
            while left > 0
                && let Some(taken) = self.takes.recv().await
            {
                left -= usize::from(taken == number);
            }
        };
        if timeout(TAKE_WAIT, all).await.is_ok() {
            tracing::info!(generation = number, "the new game code runs");
        } else {
            tracing::warn!(generation = number, "the new game code does not run on all shards yet");
        }
    }
}
