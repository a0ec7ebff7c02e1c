//! The matches of one language as traits without type parameters, so that code for all languages can call them.

use std::collections::BTreeSet;
use std::rc::Rc;
use std::sync::Arc;

use muster_live::Partition;
use muster_live::matches::{CallRef, LogError, Outline};
use muster_live::plane::HandlerOrder;
use muster_wire::match_log as wire;

use super::{AnyProgram, LocalFuture};
use crate::durable::history::CallHistory;
use crate::durable::journal::Journal;
use crate::durable::open_log::OpenLog;
use crate::durable::transcript::Transcript;
use crate::machine::MatchMachine;
use crate::matches::GameMatches;
use crate::matches::replay::{Played, Replayed};

/// The matches of one shard's code in one language.
pub trait EngineMatches {
    /// Sets the program of matches that begin from now on. Running matches keep their own program.
    fn renew(&self, program: &AnyProgram, generation: u64);

    /// Whether the modules have a match handler of this name.
    fn has_handler(&self, name: &str) -> bool;

    /// Names of the match handlers of the modules.
    fn handlers(&self) -> BTreeSet<String>;

    /// Whether matches of this handler are durable.
    fn is_durable(&self, handler: &str) -> bool;

    /// Carries out an order for a match, on the runtime's local tasks. The call of a match's first callback creates the
    /// match in a machine of this language. Any other order for a match that is in none of these machines is returned,
    /// and so is an order about a partition.
    fn order(self: Rc<Self>, order: HandlerOrder) -> Option<HandlerOrder>;

    /// Tells the plane that a call has failed.
    fn fail(&self, call: CallRef, why: Arc<str>);

    /// The durable matches; `None` for a language whose matches cannot be written to a log.
    fn durable(&self) -> Option<&dyn EngineDurableMatches>;
}

/// The durable matches of one shard's code in one language.
pub trait EngineDurableMatches: EngineMatches {
    /// Resumes a match from the records of its log. Answers its outline for the plane; `None` if the match ended with
    /// its last call.
    ///
    /// # Errors
    /// The reason why the match cannot go on.
    fn resume<'a>(
        &'a self,
        journal: Rc<Journal>,
        history: CallHistory,
        records: &'a [wire::Record],
    ) -> LocalFuture<'a, Result<Option<Outline>, Arc<str>>>;

    /// Replays a recording, and passes each call to `on_call`. The replay ends with the first call that differs from
    /// the recorded one.
    ///
    /// # Errors
    /// The reason why the match cannot begin.
    fn replay<'a>(
        &'a self,
        transcript: Transcript,
        on_call: &'a mut dyn FnMut(Played<'_>),
    ) -> LocalFuture<'a, Result<Replayed, Arc<str>>>;

    /// Writes snapshots of all durable matches of a partition to its log, so that the next owner need not repeat their
    /// calls.
    ///
    /// # Errors
    /// When the log fails.
    fn keep_all(&self, partition: Partition) -> Result<(), LogError>;

    /// Drops all durable matches of a partition without writing to their log.
    fn forget_all(&self, partition: Partition);

    /// Drops all matches that write to this log, without writing to it.
    fn forget_of(&self, log: &Rc<OpenLog>);
}

impl<M: MatchMachine> EngineDurableMatches for GameMatches<M> {
    fn resume<'a>(
        &'a self,
        journal: Rc<Journal>,
        history: CallHistory,
        records: &'a [wire::Record],
    ) -> LocalFuture<'a, Result<Option<Outline>, Arc<str>>> {
        Box::pin(self.resume(journal, history, records))
    }

    fn replay<'a>(
        &'a self,
        transcript: Transcript,
        on_call: &'a mut dyn FnMut(Played<'_>),
    ) -> LocalFuture<'a, Result<Replayed, Arc<str>>> {
        Box::pin(self.replay(transcript, on_call))
    }

    fn keep_all(&self, partition: Partition) -> Result<(), LogError> {
        self.keep_all(partition)
    }

    fn forget_all(&self, partition: Partition) {
        self.forget_all(partition);
    }

    fn forget_of(&self, log: &Rc<OpenLog>) {
        self.forget_of(log);
    }
}
