//! Threads for work of game code that would hold up a shard: hashing of passwords, signatures, reading of files. They
//! run at a lower priority than shards, and are not the threads that hash the passwords of players who sign in.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::Ordering;
use std::sync::{Arc, OnceLock};
use std::thread;

use crossbeam_channel::{Receiver, Sender, bounded};
use muster_domain::{Error, ErrorKind, Result};
use tokio::sync::oneshot;

use crate::metrics::ScriptMetrics;

/// Count of threads, and so of jobs that run at a time.
const BACKGROUND_THREADS: usize = 2;

/// Limit of jobs that wait; further ones are refused.
const BACKGROUND_WAITING_MAX: usize = 256;

/// Niceness of the threads. It lets shards have the processor first.
const NICENESS: i32 = 10;

type Job = Box<dyn FnOnce() + Send>;

/// Threads for work that would hold up a shard. They start with the first job, and end when this value is dropped.
pub struct Background {
    jobs: OnceLock<Option<Sender<Job>>>,
    metrics: Arc<ScriptMetrics>,
}

impl Background {
    pub(super) fn new(metrics: Arc<ScriptMetrics>) -> Self {
        Self { jobs: OnceLock::new(), metrics }
    }

    /// Does work on one of the threads. The work is left out if the caller has stopped waiting before a thread takes
    /// it.
    ///
    /// # Errors
    /// `Unavailable` when too many jobs wait; `Internal` when the work panicked.
    pub async fn run<T: Send + 'static>(&self, work: impl FnOnce() -> T + Send + 'static) -> Result<T> {
        let (answer, answered) = oneshot::channel();
        let job: Job = Box::new(move || {
            if !answer.is_closed() {
                // Sending fails if the caller has stopped waiting meanwhile; nobody misses the answer then.
                let _ = answer.send(work());
            }
        });
        let jobs = self.jobs.get_or_init(start).as_ref();
        if jobs.is_none_or(|jobs| jobs.try_send(job).is_err()) {
            self.metrics.background_refused.fetch_add(1, Ordering::Relaxed);
            return Err(Error::new(ErrorKind::Unavailable, "The server has too much to do. Try again."));
        }
        answered.await.map_err(|_| Error::new(ErrorKind::Internal, "An internal error occurred."))
    }
}

fn start() -> Option<Sender<Job>> {
    let (jobs, inbox) = bounded(BACKGROUND_WAITING_MAX);
    for index in 0..BACKGROUND_THREADS {
        let inbox = inbox.clone();
        let started = thread::Builder::new().name(format!("script-{index}")).spawn(move || work(&inbox));
        if let Err(error) = started {
            tracing::error!(%error, "cannot start a thread for game code");
            return None;
        }
    }
    Some(jobs)
}

fn work(inbox: &Receiver<Job>) {
    // If the system refuses, the threads run at ordinary priority, which is slower for shards but not wrong.
    let _ = rustix::process::nice(NICENESS);
    while let Ok(job) = inbox.recv() {
        if catch_unwind(AssertUnwindSafe(job)).is_err() {
            tracing::error!("work in the background panicked");
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt as _;
    use futures_util::future::join_all;

    use super::*;

    fn block_on<T>(future: impl Future<Output = T>) -> T {
        tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
    }

    #[test]
    fn work_is_done_and_a_panic_harms_only_itself() {
        let background = Background::new(Arc::default());
        block_on(async {
            for _ in 0..2 * BACKGROUND_THREADS {
                let panicked: Result<()> = background.run(|| panic!("on purpose")).await;
                assert_eq!(panicked.unwrap_err().kind, ErrorKind::Internal);
            }
            assert_eq!(background.run(|| 6 * 7).await, Ok(42));
        });
    }

    #[test]
    fn too_much_is_refused_and_counted() {
        let metrics = Arc::new(ScriptMetrics::default());
        let background = Background::new(metrics.clone());
        let (go_on, gate) = bounded::<()>(0);
        let (reached, reaches) = bounded(BACKGROUND_THREADS);
        block_on(async {
            let mut busy: Vec<_> = (0..BACKGROUND_THREADS)
                .map(|_| {
                    let (gate, reached) = (gate.clone(), reached.clone());
                    Box::pin(background.run(move || {
                        reached.send(()).unwrap();
                        gate.recv().unwrap_err();
                    }))
                })
                .collect();
            assert!(busy.iter_mut().all(|busy| busy.now_or_never().is_none()));
            (0..BACKGROUND_THREADS).for_each(|_| reaches.recv().unwrap());
            let mut waiting: Vec<_> = (0..BACKGROUND_WAITING_MAX).map(|_| Box::pin(background.run(|| ()))).collect();
            assert!(waiting.iter_mut().all(|waiting| waiting.now_or_never().is_none()));
            assert_eq!(background.run(|| ()).await.unwrap_err().kind, ErrorKind::Unavailable);
            drop(go_on);
            join_all(busy).await.into_iter().chain(join_all(waiting).await).for_each(|done| done.unwrap());
        });
        assert_eq!(metrics.background_refused.load(Ordering::Relaxed), 1);
    }
}
