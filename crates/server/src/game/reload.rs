//! Loading game code anew while the server runs: on the main thread, in machines of its own. What does not load changes
//! nothing; what does is taken over by each shard.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use muster_domain::ports::store::Store;
use muster_script::host::Signing;
use muster_script::watch::{Snapshot, Watch};
use tokio::sync::{Notify, mpsc, watch};
use tokio::time::{MissedTickBehavior, interval, timeout};

use super::{Generation, Loader};

/// How often files are looked at. What has changed is loaded when it stayed as it is from one time to the next.
const LOOK_INTERVAL: Duration = Duration::from_millis(250);

/// How long it is waited until all shards have gone over to new code, before the log says that some have not.
const TAKE_WAIT: Duration = Duration::from_secs(10);

/// By which game code is asked to be loaded anew, whether or not it has changed.
#[derive(Clone, Debug, Default)]
pub(crate) struct Ask(Arc<Notify>);

impl Ask {
    /// Asks.
    pub(crate) fn ask(&self) {
        self.0.notify_one();
    }
}

/// Those that go over to new code.
pub(super) struct Shards {
    pub(super) count: usize,
    pub(super) generations: watch::Sender<Generation>,
    /// The number of a generation, from each that has.
    pub(super) takes: mpsc::Receiver<u64>,
}

/// See the module.
pub(crate) struct Reload {
    loader: Loader,
    store: Rc<dyn Store>,
    signing: Signing,
    shards: Shards,
    /// Of files that are to be watched.
    watch: Option<Watch>,
}

impl Reload {
    /// `files` are those that were loaded, if they are to be watched.
    pub(super) fn new(
        loader: Loader,
        (store, signing): (Rc<dyn Store>, Signing),
        shards: Shards,
        files: Option<Snapshot>,
    ) -> Self {
        Self { loader, store, signing, shards, watch: files.map(Watch::new) }
    }

    /// Loads what changes and what is asked for.
    pub(crate) async fn run(mut self, asked: Ask) {
        let mut look = interval(LOOK_INTERVAL);
        look.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                () = asked.0.notified() => {
                    if self.watch.is_some() {
                        self.watch = Some(Watch::new(self.look().await));
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

    /// The files as they are. A slow disk holds up nobody.
    async fn look(&self) -> Snapshot {
        let loader = self.loader.clone();
        tokio::task::spawn_blocking(move || loader.look()).await.unwrap_or_default()
    }

    async fn load(&mut self) {
        let metrics = self.loader.means.metrics.clone();
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
    /// Has all of them go over to new code.
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
