//! A piece of work for a thread that owns a connection, and the way its answer travels back.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Instant;

use muster_domain::ports::store::StoreError;
use rusqlite::Connection;
use tokio::sync::oneshot;

/// One transaction of a port, without its begin and commit. A job may run more than once: the earlier runs have been
/// rolled back, and the last run counts.
pub(super) trait Job: Send {
    /// Runs the work and keeps its answer.
    fn run(&mut self, connection: &Connection);

    /// The error of the last run, if the run failed.
    fn failure(&self) -> Option<&StoreError>;

    /// Sends the kept answer, or `fault` in its place.
    fn answer(self: Box<Self>, fault: Option<&StoreError>);

    /// The time at which the job was made.
    fn made_at(&self) -> Instant;
}

/// A boxed [`Job`].
pub(super) type BoxedJob = Box<dyn Job>;

struct Work<T, F> {
    work: F,
    kept: Option<Result<T, StoreError>>,
    reply: oneshot::Sender<Result<T, StoreError>>,
    made_at: Instant,
}

/// A job that does `work`, and the receiver of its answer.
pub(super) fn job<T, F>(work: F) -> (BoxedJob, oneshot::Receiver<Result<T, StoreError>>)
where
    T: Send + 'static,
    F: FnMut(&Connection) -> Result<T, StoreError> + Send + 'static,
{
    let (reply, answer) = oneshot::channel();
    (Box::new(Work { work, kept: None, reply, made_at: Instant::now() }), answer)
}

impl<T, F> Job for Work<T, F>
where
    T: Send,
    F: FnMut(&Connection) -> Result<T, StoreError> + Send,
{
    fn run(&mut self, connection: &Connection) {
        let work = &mut self.work;
        // A panic in one job must not end the thread, because all other jobs depend on it.
        let outcome = catch_unwind(AssertUnwindSafe(|| work(connection)));
        self.kept = Some(outcome.unwrap_or_else(|_| Err(StoreError::Internal("a database job panicked".to_owned()))));
    }

    fn failure(&self) -> Option<&StoreError> {
        self.kept.as_ref().and_then(|kept| kept.as_ref().err())
    }

    fn answer(self: Box<Self>, fault: Option<&StoreError>) {
        let outcome = match (fault, self.kept) {
            (Some(fault), _) => Err(fault.clone()),
            (None, Some(kept)) => kept,
            (None, None) => Err(StoreError::Internal("a database job was not run".to_owned())),
        };
        // Sending fails when the caller no longer waits for the answer; that is no error.
        let _ = self.reply.send(outcome);
    }

    fn made_at(&self) -> Instant {
        self.made_at
    }
}
