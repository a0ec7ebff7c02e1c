//! Durable matches of all languages: matches in the log of a partition are resumed when this place takes the partition
//! over, and released when another place does.

use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use bytes::Bytes;
use futures_util::future::join_all;
use muster_domain::Timestamp;
use muster_domain::ids::Uuid;
use muster_domain::limits::KEYED_WRITE_LIFE_SEC;
use muster_live::matches::{Chain, LogError, MatchId, Outline};
use muster_live::{Epoch, Partition};
use muster_wire::match_log as wire;

use super::{Durable, LanguageMatches};
use crate::durable::comparison::{self, Compared, Fate, LatestWrites};
use crate::durable::forgetting::forget_ended;
use crate::durable::history::{self, CallHistory, History, LogContents};
use crate::durable::latest_write::LoggedWrite;
use crate::durable::open_log::{OpenLog, is_given_up};
use crate::durable::transcript::Transcript;
use crate::engines::EngineDurableMatches;
use crate::host::NO_LOG;
use crate::matches::replay::{Played, Replayed};

/// A match that cannot go on.
struct Stranded {
    id: MatchId,
    records: Vec<wire::Record>,
    /// The moment since which it cannot go on, if a former owner has written one to the log.
    since: Option<Timestamp>,
    why: Arc<str>,
    /// The condition on which the match goes on, for the operator.
    needs: &'static str,
}

const NEEDS_MODULES: &str = "with modules that fit";
const NEEDS_DATABASE: &str = "with a database and a log of matches that belong together";

impl Durable {
    /// The moment before which the database keeps neither outcomes nor ends of matches.
    fn pruned_before(&self) -> Timestamp {
        self.clock.now().plus_seconds(-KEYED_WRITE_LIFE_SEC)
    }
}

impl LanguageMatches {
    /// Resumes the matches of partitions that belong to this place from now on, and tells the owner which these are.
    /// The log of a partition that never had a durable match is taken over when its first one is made.
    pub async fn take_over(self: &Rc<Self>, partitions: Vec<(Partition, Epoch)>) {
        let Some(durable) = &self.durable else { return };
        let written = durable.logs.match_log().partitions().await;
        let is_written = |partition: &Partition| written.as_ref().map_or(true, |written| written.contains(partition));
        let (written, unwritten): (Vec<_>, Vec<_>) =
            partitions.into_iter().partition(|(partition, _)| is_written(partition));
        durable.unwritten.borrow_mut().extend(unwritten.iter().copied());
        let ours: Vec<Partition> = written.iter().chain(&unwritten).map(|(partition, _)| *partition).collect();
        for (partition, epoch) in unwritten {
            durable.owner.taken_over(partition, epoch, Vec::new());
        }
        join_all(written.into_iter().map(|(partition, epoch)| self.take_over_one(durable, partition, epoch))).await;
        durable.unsearched.borrow_mut().extend(ours);
        if durable.is_searching.replace(true) {
            return;
        }
        loop {
            let partitions = durable.unsearched.take();
            if partitions.is_empty() {
                break;
            }
            self.tell_of_lost_logs(|partition| partitions.contains(&partition)).await;
        }
        durable.is_searching.set(false);
    }

    /// Tells the operator of matches that have not ended according to the database, but that no log has. `is_ours`
    /// tells which partitions this place owns.
    pub async fn tell_of_lost_logs(&self, is_ours: impl Fn(Partition) -> bool) {
        let Some(durable) = &self.durable else { return };
        let latest = match durable.store.latest_keyed_writes(None).await {
            Ok(latest) => latest,
            Err(error) => return tracing::warn!(%error, "the logs of matches are not compared with the database"),
        };
        let pruned_before = durable.pruned_before();
        for (id, latest) in latest.into_iter().map(|(id, latest)| (MatchId(id), latest)) {
            let is_lost = || match durable.logs.get(id.partition()) {
                Some(log) => log.resumed.initialized() && !log.knows(id),
                None => true,
            };
            if latest.is_end() || !is_ours(id.partition()) || !is_lost() {
                continue;
            }
            if latest.at >= pruned_before {
                durable.metrics.matches_unfit.fetch_add(1, Ordering::Relaxed);
                tracing::warn!(
                    %id,
                    "a durable match is lost: the database has payments of it, and the log of matches does not have \
                     it. The log is older than the database, or the database is older and the match has ended since"
                );
            } else if let Err(error) = durable.store.end_keyed_writes(id.0, durable.clock.now()).await {
                tracing::debug!(%id, %error, "a lost match is forgotten later");
            }
        }
    }

    /// Opens the log of a partition before a match is made there, and resumes the matches in it, which another place
    /// may have written before. `chain` holds the matches whose callbacks wait for the new one.
    pub(crate) async fn open(self: &Rc<Self>, partition: Partition, chain: &Chain) -> Result<Rc<OpenLog>, LogError> {
        let Some(durable) = &self.durable else { return Err(LogError::Failed(NO_LOG.to_owned())) };
        let epoch = durable.unwritten.borrow_mut().remove(&partition);
        let log = durable.logs.open(partition, epoch.unwrap_or_else(|| durable.logs.epoch(partition)));
        if log.is_resuming() && chain.iter().any(|id| durable.logs.is_resuming(id.partition())) {
            // A match that is being resumed waits for this one, so this one must not wait for all to be resumed.
            log.take().await?;
            return Ok(log);
        }
        let matches = self.opened(durable, &log).await?;
        if !matches.is_empty() {
            durable.owner.taken_over(partition, log.epoch, matches);
        }
        self.open_failed(durable);
        Ok(log)
    }

    /// Takes over logs that have failed before. It is called when one log works, since the others may work again too.
    fn open_failed(self: &Rc<Self>, durable: &Durable) {
        let failed = durable.logs.failed();
        if failed.is_empty() {
            return;
        }
        let matches = self.clone();
        tokio::task::spawn_local(async move {
            let Some(durable) = &matches.durable else { return };
            for (partition, epoch) in failed {
                // The partition may have been released meanwhile.
                if durable.logs.failed().contains(&(partition, epoch)) {
                    matches.take_over_one(durable, partition, epoch).await;
                }
            }
        });
    }

    /// Takes over the log of a partition, and resumes its matches.
    async fn take_over_one(&self, durable: &Durable, partition: Partition, epoch: Epoch) {
        durable.unwritten.borrow_mut().remove(&partition);
        let log = durable.logs.open(partition, epoch);
        let matches = match self.opened(durable, &log).await {
            Ok(matches) => matches,
            Err(error) => {
                tracing::error!(partition = partition.number(), %error, "durable matches cannot go on now");
                Vec::new()
            }
        };
        durable.owner.taken_over(partition, epoch, matches);
    }

    /// Resumes the matches of a log, unless they were resumed already; other callers wait meanwhile. Only the caller
    /// that resumed them gets the matches, others get none.
    async fn opened(&self, durable: &Durable, log: &Rc<OpenLog>) -> Result<Vec<Outline>, LogError> {
        let mut matches = Vec::new();
        let resume = async {
            matches = self.resume(durable, log).await?;
            Ok::<_, LogError>(())
        };
        log.resumed.get_or_try_init(|| resume).await?;
        log.check()?;
        Ok(matches)
    }

    /// Resumes the matches of a log: all that can go on, or none if the log fails meanwhile.
    async fn resume(&self, durable: &Durable, log: &Rc<OpenLog>) -> Result<Vec<Outline>, LogError> {
        let mut matches = Vec::new();
        log.set_resuming(true);
        let resumed = self.try_resume(durable, log, &mut matches).await;
        log.set_resuming(false);
        if let Err(error) = resumed {
            // The matches are resumed when the log can be read again.
            matches.iter().for_each(|outline| log.leave(outline.id));
            log.close(error.clone());
            self.durable_engines().for_each(|engine| engine.forget_of(log));
            return Err(error);
        }
        Ok(matches)
    }

    async fn try_resume(
        &self,
        durable: &Durable,
        log: &Rc<OpenLog>,
        matches: &mut Vec<Outline>,
    ) -> Result<(), LogError> {
        log.take().await?;
        let found = log.found();
        let contents = history::read(found.iter().cloned());
        log.set_known(contents.histories.keys().chain(contents.ended.keys()).copied().collect());
        if let Some(error) = &contents.unreadable {
            let partition = log.partition.number();
            tracing::error!(partition, %error, "a log of matches holds what cannot be read: nothing of it is removed");
            log.need_all(MatchId(Uuid::nil()));
        }
        let match_log = durable.logs.match_log();
        let unwanted = if contents.histories.is_empty() { BTreeSet::new() } else { match_log.unwanted().await? };
        let Compared { fates, ended, ended_later } = self.compare(durable, &found, contents).await;
        drop(found);
        let mut forgotten = Vec::new();
        for (id, fate) in fates {
            if log.was_given_up(id) {
                log.end(id, "its log had failed", LoggedWrite::Untold)?;
                continue;
            }
            if unwanted.contains(&id) {
                tracing::warn!(%id, "a durable match is ended, as an operator wants");
                log.end(id, "an operator has ended it", LoggedWrite::Untold)?;
                forgotten.push(id);
                continue;
            }
            let history = match fate {
                Fate::GoesOn(history) => history,
                Fate::GoesBack(history) => {
                    durable.metrics.matches_set_back.fetch_add(1, Ordering::Relaxed);
                    tracing::warn!(
                        %id,
                        "a durable match goes back to before the payments that the database lacks: the database is \
                         older than the log of matches, or has lost its latest changes"
                    );
                    history
                }
                Fate::NeverBegan => {
                    durable.metrics.matches_set_back.fetch_add(1, Ordering::Relaxed);
                    tracing::warn!(%id, "a durable match is ended: it began after the moment of the database");
                    log.end(id, "it began after the moment of the database", LoggedWrite::None)?;
                    continue;
                }
                Fate::Stays(History { stranded_at, records, .. }, why) => {
                    durable.metrics.matches_unfit.fetch_add(1, Ordering::Relaxed);
                    self.strand(
                        durable,
                        log,
                        Stranded { id, records, since: stranded_at, why, needs: NEEDS_DATABASE },
                    )?;
                    continue;
                }
            };
            let History { calls, stranded_at, records, .. } = history;
            let resumed = match calls {
                Ok(calls) => self.resume_one(durable, log, id, calls, &records).await,
                Err(error) => Err(error.message.as_ref().into()),
            };
            match resumed {
                Ok(outline) => matches.extend(outline),
                Err(why) => {
                    log.leave(id);
                    // The match may have failed only because the log has failed.
                    log.check()?;
                    let stranded = Stranded { id, records, since: stranded_at, why, needs: NEEDS_MODULES };
                    self.strand(durable, log, stranded)?;
                }
            }
            // Other tasks of the thread have their turn.
            tokio::task::yield_now().await;
            log.check()?;
        }
        log.synced(Duration::ZERO).await?;
        forgotten.into_iter().for_each(|id| match_log.forgotten(id));
        for id in ended_later {
            durable.metrics.matches_unfit.fetch_add(1, Ordering::Relaxed);
            tracing::warn!(
                %id,
                "a durable match has ended with payments that the database lacks: the database is older than the log \
                 of matches, or has lost its latest changes"
            );
        }
        for id in ended {
            // If that fails, the match is taken for a lost one later.
            if let Err(error) = durable.store.end_keyed_writes(id.0, durable.clock.now()).await {
                tracing::debug!(%id, %error, "writes of a match that has ended are forgotten later");
            }
        }
        log.settle();
        forget_ended(durable.store.clone(), durable.clock.clone(), log.clone()).await;
        Ok(())
    }

    /// Compares the matches of a log with the database. If the database does not answer, all go on: a database that is
    /// older than its matches refuses what they pay.
    async fn compare(&self, durable: &Durable, found: &[Bytes], contents: LogContents) -> Compared {
        let asked: Vec<Uuid> = contents.histories.keys().chain(contents.ended.keys()).map(|id| id.0).collect();
        if asked.is_empty() {
            return Compared::default();
        }
        match durable.store.latest_keyed_writes(Some(asked)).await {
            Ok(latest) => {
                let database: LatestWrites = latest.into_iter().map(|(id, latest)| (MatchId(id), latest)).collect();
                comparison::compare(found, contents, &database, durable.pruned_before())
            }
            Err(error) => {
                tracing::warn!(%error, "a log of matches is not compared with the database");
                let goes_on = |(id, history)| (id, Fate::GoesOn(history));
                let fates: BTreeMap<MatchId, Fate> = contents.histories.into_iter().map(goes_on).collect();
                Compared { fates, ..Compared::default() }
            }
        }
    }

    /// The engines whose matches can be durable.
    fn durable_engines(&self) -> impl Iterator<Item = &dyn EngineDurableMatches> {
        self.engines.iter().filter_map(|engine| engine.durable())
    }

    /// The first engine whose matches can be durable and whose modules have the handler.
    fn durable_engine(&self, handler: &str) -> Result<&dyn EngineDurableMatches, Arc<str>> {
        let found = self.durable_engines().find(|engine| engine.has_handler(handler));
        found.ok_or_else(|| format!("the modules have no match '{handler}'").into())
    }

    async fn resume_one(
        &self,
        durable: &Durable,
        log: &Rc<OpenLog>,
        id: MatchId,
        calls: CallHistory,
        records: &[wire::Record],
    ) -> Result<Option<Outline>, Arc<str>> {
        let handler = calls.handler().clone();
        let engine = self.durable_engine(&handler)?;
        engine.resume(durable.logs.journal(id, log.clone()), calls, records).await
    }

    /// Keeps the records of a match that cannot go on, or ends it if it could not for too long.
    fn strand(&self, durable: &Durable, log: &Rc<OpenLog>, stranded: Stranded) -> Result<(), LogError> {
        let Stranded { id, records, since, why, needs } = stranded;
        let now = durable.clock.now();
        let since = since.unwrap_or(now);
        if is_given_up(since, now) {
            tracing::error!(%id, %why, "a durable match cannot go on, and could not for too long: it is given up");
            return log.end(id, "it could not go on for too long", LoggedWrite::Untold).map(drop);
        }
        tracing::error!(
            %id, %why,
            "a durable match cannot go on: it is kept, and goes on when the server starts {needs}; \
             `muster match forget ID` ends it"
        );
        log.carry_on(id, records, Some((since, &why)))
    }

    /// Replays a recording, and shows each call.
    ///
    /// # Errors
    /// When the modules have no handler for the match, or it cannot begin.
    pub async fn replay(
        &self,
        transcript: Transcript,
        on_call: &mut dyn FnMut(Played<'_>),
    ) -> Result<Replayed, Arc<str>> {
        let engine = self.durable_engine(transcript.handler())?;
        engine.replay(transcript, on_call).await
    }

    /// Releases the log of a partition once snapshots of its matches are durable.
    pub(super) async fn release(&self, partition: Partition) {
        let Some(durable) = &self.durable else { return };
        let snapshots = async {
            self.durable_engines().try_for_each(|engine| engine.keep_all(partition))?;
            match durable.logs.get(partition) {
                Some(log) => log.synced(Duration::ZERO).await,
                None => Ok(()),
            }
        };
        if let Err(error) = snapshots.await {
            // The matches can be resumed from the records so far, but that takes longer.
            tracing::warn!(partition = partition.number(), %error, "states of durable matches are not kept as a whole");
        }
        self.forget(partition);
        durable.owner.released(partition);
    }

    /// Drops the durable matches of a partition without writing to their log, and closes the log.
    pub(super) fn forget(&self, partition: Partition) {
        let Some(durable) = &self.durable else { return };
        self.durable_engines().for_each(|engine| engine.forget_all(partition));
        durable.unwritten.borrow_mut().remove(&partition);
        durable.logs.release(partition);
    }
}
