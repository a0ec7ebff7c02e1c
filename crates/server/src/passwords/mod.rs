//! Password hashing on a bounded pool of low-priority threads.
//!
//! A storm of sign-ins with passwords fills this queue and nothing else: sockets and other requests go on. When the
//! queue is full, the caller is told to try again, and the refusal is counted.

mod schemes;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::thread;

use crossbeam_channel::{Receiver, Sender, bounded};
use muster_domain::ports::passwords::{PasswordCheck, PasswordFuture, PasswordQueueFull, Passwords};
use tokio::sync::oneshot;

pub use schemes::Scheme;

/// Niceness of the hashing threads, which gives precedence to everything that answers players at once.
const NICENESS: i32 = 10;

/// Counters of the pool.
#[derive(Debug, Default)]
pub struct PasswordMetrics {
    /// Passwords waiting or being hashed now.
    pub queued: AtomicI64,
    /// Passwords hashed or checked.
    pub done: AtomicU64,
    /// Passwords refused because the queue was full.
    pub refused: AtomicU64,
}

enum Job {
    Hash { password: String, answer: oneshot::Sender<Vec<u8>> },
    Check { password: String, hash: Option<Vec<u8>>, answer: oneshot::Sender<PasswordCheck> },
}

/// The pool; clones share it. Its threads end with the last clone.
#[derive(Clone)]
pub struct PasswordPool {
    jobs: Sender<Job>,
    metrics: Arc<PasswordMetrics>,
}

impl PasswordPool {
    /// Starts `workers` threads that hash in `scheme`, with `queue_size_max` passwords waiting at most.
    ///
    /// # Errors
    /// When a thread cannot be started.
    pub fn start(
        scheme: Scheme,
        workers: usize,
        queue_size_max: usize,
        metrics: Arc<PasswordMetrics>,
    ) -> std::io::Result<Self> {
        let (jobs, inbox) = bounded(queue_size_max);
        for index in 0..workers.max(1) {
            let inbox = inbox.clone();
            let metrics = metrics.clone();
            thread::Builder::new().name(format!("password-{index}")).spawn(move || work(scheme, &inbox, &metrics))?;
        }
        Ok(Self { jobs, metrics })
    }

    fn refuse(&self) -> PasswordQueueFull {
        self.metrics.refused.fetch_add(1, Ordering::Relaxed);
        PasswordQueueFull
    }

    async fn submit<T>(&self, job: Job, answer: oneshot::Receiver<T>) -> Result<T, PasswordQueueFull> {
        if self.jobs.try_send(job).is_err() {
            return Err(self.refuse());
        }
        self.metrics.queued.fetch_add(1, Ordering::Relaxed);
        // Only a worker that panicked drops the answer; the caller may try again.
        answer.await.map_err(|_| PasswordQueueFull)
    }
}

impl Passwords for PasswordPool {
    fn hash<'a>(&'a self, password: &'a str) -> PasswordFuture<'a, Vec<u8>> {
        Box::pin(async move {
            // Sign-ups may fill half of the queue, so that a flood of them does not lock out returning players.
            if self.jobs.len() >= self.jobs.capacity().unwrap_or(usize::MAX).div_ceil(2) {
                return Err(self.refuse());
            }
            let (answer, answered) = oneshot::channel();
            self.submit(Job::Hash { password: password.to_owned(), answer }, answered).await
        })
    }

    fn check<'a>(&'a self, password: &'a str, hash: Option<&'a [u8]>) -> PasswordFuture<'a, PasswordCheck> {
        Box::pin(async move {
            let (answer, answered) = oneshot::channel();
            let job = Job::Check { password: password.to_owned(), hash: hash.map(<[u8]>::to_vec), answer };
            self.submit(job, answered).await
        })
    }
}

fn work(scheme: Scheme, inbox: &Receiver<Job>, metrics: &PasswordMetrics) {
    // If the system refuses, the threads run at ordinary priority and compete with the rest.
    let _ = rustix::process::nice(NICENESS);
    let mut hasher = schemes::Hasher::new(scheme);
    while let Ok(job) = inbox.recv() {
        match job {
            // The caller has left, so there is nothing to do.
            Job::Hash { answer, .. } if answer.is_closed() => {}
            Job::Check { answer, .. } if answer.is_closed() => {}
            Job::Hash { password, answer } => {
                if let Some(hash) = hasher.hash(&password) {
                    let _ = answer.send(hash);
                }
            }
            Job::Check { password, hash, answer } => {
                let _ = answer.send(hasher.check(&password, hash.as_deref()));
            }
        }
        metrics.queued.fetch_sub(1, Ordering::Relaxed);
        metrics.done.fetch_add(1, Ordering::Relaxed);
        if inbox.is_empty() {
            hasher.rest();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_queue_refuses_and_counts_and_sign_ups_fill_half_of_it() {
        // The queue has no worker.
        let (jobs, _inbox) = bounded(2);
        let metrics = Arc::new(PasswordMetrics::default());
        let pool = PasswordPool { jobs, metrics: metrics.clone() };
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let mut waiting = Box::pin(pool.hash("first password"));
            assert!(futures_util::poll!(&mut waiting).is_pending());
            assert_eq!(pool.hash("second password").await, Err(PasswordQueueFull));
            let mut checking = Box::pin(pool.check("third password", None));
            assert!(futures_util::poll!(&mut checking).is_pending());
            assert_eq!(pool.check("fourth password", None).await, Err(PasswordQueueFull));
        });
        assert_eq!(metrics.refused.load(Ordering::Relaxed), 2);
        assert_eq!(metrics.queued.load(Ordering::Relaxed), 2);
    }
}
