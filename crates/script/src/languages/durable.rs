//! Durable matches of all languages: what the log of a partition has, goes on; what is to go on elsewhere is given up.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;
use muster_domain::Timestamp;
use muster_domain::ids::Uuid;
use muster_live::matches::{Chain, LogError, MatchId, Outline};
use muster_live::{Epoch, Partition};
use muster_wire::match_log as wire;

use super::{Durable, LanguageMatches};
use crate::durable::history::{self, Course, Found, History};
use crate::durable::tape::Tape;
use crate::durable::term::{Term, is_given_up};
use crate::host::NO_LOG;
use crate::matches::replay::{Played, Replayed};

impl LanguageMatches {
    /// Goes on with the matches of partitions that are this place's from now on, and says which these are. Most partitions never
    /// had any: their logs are taken over when a match is made.
    pub async fn take_over(self: &Rc<Self>, partitions: Vec<(Partition, Epoch)>) {
        let Some(durable) = &self.durable else { return };
        let written = durable.logs.log().partitions().await;
        let is_written = |partition: &Partition| written.as_ref().map_or(true, |written| written.contains(partition));
        let (written, unwritten): (Vec<_>, Vec<_>) =
            partitions.into_iter().partition(|(partition, _)| is_written(partition));
        durable.unwritten.borrow_mut().extend(unwritten.iter().copied());
        for (partition, epoch) in unwritten {
            durable.owner.taken_over(partition, epoch, Vec::new());
        }
        join_all(written.into_iter().map(|(partition, epoch)| self.take_over_one(durable, partition, epoch))).await;
    }

    /// Before a match is made on behalf of these: takes over the log of its partition, unless it was, and goes on with what is in it.
    /// Somebody may have written to it meanwhile.
    pub(crate) async fn open(self: &Rc<Self>, partition: Partition, chain: &Chain) -> Result<Rc<Term>, LogError> {
        let Some(durable) = &self.durable else { return Err(LogError::Failed(NO_LOG.to_owned())) };
        let epoch = durable.unwritten.borrow_mut().remove(&partition);
        let term = durable.logs.term(partition, epoch.unwrap_or_else(|| durable.logs.epoch(partition)));
        if term.is_resuming() && chain.iter().any(|id| durable.logs.is_resuming(id.partition())) {
            // Those who resume wait for this one: it cannot wait for them.
            term.take().await?;
            return Ok(term);
        }
        let matches = self.opened(durable, &term).await?;
        if !matches.is_empty() {
            durable.owner.taken_over(partition, term.epoch, matches);
        }
        self.open_failed(durable);
        Ok(term)
    }

    /// What failed may work again, as something else did.
    fn open_failed(self: &Rc<Self>, durable: &Durable) {
        let failed = durable.logs.failed();
        if failed.is_empty() {
            return;
        }
        let its = self.clone();
        tokio::task::spawn_local(async move {
            let Some(durable) = &its.durable else { return };
            for (partition, epoch) in failed {
                // It may have been given up meanwhile.
                if durable.logs.failed().contains(&(partition, epoch)) {
                    its.take_over_one(durable, partition, epoch).await;
                }
            }
        });
    }

    /// Takes over the log of a partition, and goes on with its matches.
    async fn take_over_one(&self, durable: &Durable, partition: Partition, epoch: Epoch) {
        durable.unwritten.borrow_mut().remove(&partition);
        let term = durable.logs.term(partition, epoch);
        let matches = match self.opened(durable, &term).await {
            Ok(matches) => matches,
            Err(error) => {
                tracing::error!(partition = partition.number(), %error, "durable matches cannot go on now");
                Vec::new()
            }
        };
        durable.owner.taken_over(partition, epoch, matches);
    }

    /// Goes on with the matches of a partition, unless that was done: whoever comes meanwhile waits. Answers which these are, to
    /// the first.
    async fn opened(&self, durable: &Durable, term: &Rc<Term>) -> Result<Vec<Outline>, LogError> {
        let mut matches = Vec::new();
        let resume = async {
            matches = self.resume(durable, term).await?;
            Ok::<_, LogError>(())
        };
        term.resumed.get_or_try_init(|| resume).await?;
        term.check()?;
        Ok(matches)
    }

    /// Goes on with the matches of a partition: with all that can, or none if the log fails meanwhile.
    async fn resume(&self, durable: &Durable, term: &Rc<Term>) -> Result<Vec<Outline>, LogError> {
        let mut matches = Vec::new();
        term.set_resuming(true);
        let resumed = self.try_resume(durable, term, &mut matches).await;
        term.set_resuming(false);
        if let Err(error) = resumed {
            // They go on when it can be read again.
            matches.iter().for_each(|outline| term.leave(outline.id));
            term.close(error.clone());
            self.lua.forget_of(term);
            self.javascript.forget_of(term);
            return Err(error);
        }
        Ok(matches)
    }

    async fn try_resume(&self, durable: &Durable, term: &Rc<Term>, matches: &mut Vec<Outline>) -> Result<(), LogError> {
        term.take().await?;
        let Found { histories, unreadable } = history::read(term.found());
        if let Some(error) = unreadable {
            let partition = term.partition.number();
            tracing::error!(partition, %error, "a log of matches holds what cannot be read: nothing of it is removed");
            term.need_all(MatchId(Uuid::nil()));
        }
        for (id, history) in histories {
            if term.was_given_up(id) {
                term.end(id, "its log had failed")?;
                continue;
            }
            let History { course, stranded_at, records } = history;
            let resumed = match course {
                Ok(course) => self.resume_one(durable, (term, id), course, &records).await,
                Err(error) => Err(error.message.as_ref().into()),
            };
            match resumed {
                Ok(outline) => matches.extend(outline),
                Err(why) => {
                    term.leave(id);
                    // Perhaps it was the log that failed.
                    term.check()?;
                    self.strand((term, id), records, stranded_at, &why)?;
                }
            }
            // Sessions and other matches have their turn.
            tokio::task::yield_now().await;
            term.check()?;
        }
        term.synced(Duration::ZERO).await?;
        term.settle();
        Ok(())
    }

    async fn resume_one(
        &self,
        durable: &Durable,
        (term, id): (&Rc<Term>, MatchId),
        course: Course,
        records: &[wire::Record],
    ) -> Result<Option<Outline>, Arc<str>> {
        let handler = course.handler().clone();
        let journal = || durable.logs.journal(id, term.clone());
        if self.lua.has_handler(&handler) {
            self.lua.resume(journal(), course, records).await
        } else if self.javascript.has_handler(&handler) {
            self.javascript.resume(journal(), course, records).await
        } else {
            Err(format!("the modules have no match '{handler}'").into())
        }
    }

    /// A match cannot go on, now. It stays in the log for some time.
    fn strand(
        &self,
        (term, id): (&Rc<Term>, MatchId),
        records: Vec<wire::Record>,
        stranded_at: Option<Timestamp>,
        why: &str,
    ) -> Result<(), LogError> {
        let now = self.lua.now();
        let since = stranded_at.unwrap_or(now);
        if is_given_up(since, now) {
            tracing::error!(%id, %why, "a durable match cannot go on, and could not for too long: it is given up");
            return term.end(id, "it could not go on for too long").map(drop);
        }
        tracing::error!(
            %id, %why,
            "a durable match cannot go on: it is kept, and goes on when the server starts with modules that fit"
        );
        term.carry_on(id, records, Some(since))
    }

    /// Plays a recording again, and shows each call.
    ///
    /// # Errors
    /// When the modules have no such match, or it cannot begin.
    pub async fn replay(&self, tape: Tape, see: &mut dyn FnMut(Played<'_>)) -> Result<Replayed, Arc<str>> {
        if self.lua.has_handler(tape.handler()) {
            self.lua.replay(tape, see).await
        } else if self.javascript.has_handler(tape.handler()) {
            self.javascript.replay(tape, see).await
        } else {
            Err(format!("the modules have no match '{}'", tape.handler()).into())
        }
    }

    /// Gives up the log of a partition when the states of its matches are kept.
    pub(super) async fn release(&self, partition: Partition) {
        let Some(durable) = &self.durable else { return };
        let kept = async {
            self.lua.keep_all(partition)?;
            self.javascript.keep_all(partition)?;
            match durable.logs.now(partition) {
                Some(term) => term.synced(Duration::ZERO).await,
                None => Ok(()),
            }
        };
        if let Err(error) = kept.await {
            // What was kept before is enough to go on, only later.
            tracing::warn!(partition = partition.number(), %error, "states of durable matches are not kept as a whole");
        }
        self.forget(partition);
        durable.owner.released(partition);
    }

    /// Puts away the durable matches of a partition as they are.
    pub(super) fn forget(&self, partition: Partition) {
        let Some(durable) = &self.durable else { return };
        self.lua.forget_all(partition);
        self.javascript.forget_all(partition);
        durable.unwritten.borrow_mut().remove(&partition);
        durable.logs.release(partition);
    }
}
