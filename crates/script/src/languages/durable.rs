//! Durable matches of all languages: what the log of a partition has, goes on; what is to go on elsewhere is given up.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::join_all;

use muster_live::matches::{LogError, Outline, RecordNumber};
use muster_live::{Epoch, Partition};

use super::{Durable, LanguageMatches};
use crate::durable::history::{self, History};
use crate::durable::tape::Tape;
use crate::host::NO_LOG;
use crate::matches::replay::{Played, Replayed};

/// Matches that cannot go on are kept for so long, for a release of the modules with which they can.
pub const STRANDED_KEPT: Duration = Duration::from_secs(7 * 24 * 60 * 60);

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

    /// Before a match is made: takes over the log of its partition, unless it was. Somebody may have written to it meanwhile.
    pub(crate) async fn open(&self, partition: Partition) -> Result<(), LogError> {
        let Some(durable) = &self.durable else { return Err(LogError::Failed(NO_LOG.to_owned())) };
        let epoch = durable.unwritten.borrow_mut().remove(&partition);
        let epoch = epoch.unwrap_or_else(|| durable.logs.epoch(partition));
        let matches = self.resume(durable, partition, epoch).await?;
        if !matches.is_empty() {
            durable.owner.taken_over(partition, epoch, matches);
        }
        Ok(())
    }

    /// Takes over the log of a partition, and goes on with its matches.
    async fn take_over_one(&self, durable: &Durable, partition: Partition, epoch: Epoch) {
        durable.unwritten.borrow_mut().remove(&partition);
        let matches = match self.resume(durable, partition, epoch).await {
            Ok(matches) => matches,
            Err(error) => {
                tracing::error!(partition = partition.number(), %error, "durable matches cannot go on");
                Vec::new()
            }
        };
        durable.owner.taken_over(partition, epoch, matches);
    }

    async fn resume(&self, durable: &Durable, partition: Partition, epoch: Epoch) -> Result<Vec<Outline>, LogError> {
        let records = durable.logs.open(partition, epoch).await?;
        let histories = history::read(records).map_err(|error| LogError::Failed(error.message.into_owned()))?;
        let (mut matches, mut needed) = (Vec::new(), Vec::new());
        for (id, mut history) in histories {
            let handler = history.handler().clone();
            let resumed = if self.lua.has_handler(&handler) {
                self.lua.resume(&durable.logs, &mut history).await
            } else if self.javascript.has_handler(&handler) {
                self.javascript.resume(&durable.logs, &mut history).await
            } else {
                Err("the modules have no match of this name".into())
            };
            match resumed {
                Ok(Some((resumed, from))) => {
                    matches.push(resumed);
                    needed.push((id, Some(from)));
                }
                Ok(None) => {}
                Err(why) => needed.push((id, self.strand(durable, partition, &history, &why)?)),
            }
            // Sessions and other matches have their turn.
            tokio::task::yield_now().await;
        }
        durable.log_synced(partition).await?;
        needed.into_iter().for_each(|(id, from)| durable.logs.need(partition, id, from));
        Ok(matches)
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

    /// A match cannot go on, now. It stays in the log for some time: answers from where on.
    fn strand(
        &self,
        durable: &Durable,
        partition: Partition,
        history: &History,
        why: &str,
    ) -> Result<Option<RecordNumber>, LogError> {
        let (handler, id) = (history.handler(), history.id);
        let age = self.lua.now().0.saturating_sub(history.created_at().0);
        let is_old = u128::try_from(age).is_ok_and(|age| age > STRANDED_KEPT.as_micros());
        if is_old {
            tracing::error!(%handler, %id, %why, "a durable match cannot go on, and is too old to be kept");
            return Ok(None);
        }
        tracing::error!(
            %handler, %id, %why,
            "a durable match cannot go on: it is kept, and goes on when the server starts with modules that fit"
        );
        durable.logs.carry_on(partition, history).map(Some)
    }

    /// Gives up the log of a partition when the states of its matches are kept.
    pub(super) async fn release(&self, partition: Partition) {
        let Some(durable) = &self.durable else { return };
        let kept = async {
            self.lua.keep_all(partition)?;
            self.javascript.keep_all(partition)?;
            durable.log_synced(partition).await
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

impl Durable {
    async fn log_synced(&self, partition: Partition) -> Result<(), LogError> {
        self.logs.log().synced(partition).await
    }
}
