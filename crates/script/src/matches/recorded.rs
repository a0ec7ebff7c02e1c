//! Recorded matches: what their callbacks do is written down before it leaves, and those that were written down go on.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use muster_live::Partition;
use muster_live::matches::{Call, Chain, LogError, MatchId, Outcome, Outline, RecordNumber, Return};

use super::{GameMatches, Home, Housed, chain_of};
use crate::durable::fate::Fate;
use crate::durable::history::{History, Start};
use crate::durable::life::Life;
use crate::durable::logs::Logs;
use crate::host::{Meter, NO_LOG};
use crate::machine::matches::failed;
use crate::machine::{Frozen, MatchMachine};

impl<M: MatchMachine> GameMatches<M> {
    /// What is written down of a call's match; nothing if it is not recorded.
    pub(super) async fn life_for(&self, call: &Call) -> Result<Option<Rc<Life>>, Arc<str>> {
        let Some(outline) = Outline::of_first(call).filter(|_| call.is_durable()) else {
            return Ok(self.life_of(call.id));
        };
        let logs = self.logs.as_ref().ok_or(NO_LOG)?;
        let partition = call.id.partition();
        self.host.handlers.open(partition).await.map_err(told)?;
        let mut seed = [0; _];
        self.host.entropy.fill(&mut seed);
        let life = Life::new(logs.journal(call.id), outline, seed);
        self.keep_life(call.id, life.clone());
        Ok(Some(life))
    }

    fn life_of(&self, id: MatchId) -> Option<Rc<Life>> {
        self.homes.borrow().get(&id).and_then(|home| home.life.clone())
    }

    fn keep_life(&self, id: MatchId, life: Rc<Life>) {
        if let Some(home) = self.homes.borrow_mut().get_mut(&id) {
            home.life = Some(life);
            self.metrics.matches_durable.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Runs a callback of a recorded match. What it is called with is there to stay before anything of it leaves.
    pub(super) async fn recorded(&self, machine: &Housed<M>, life: &Rc<Life>, call: &Call) -> (Return, bool) {
        match self.try_recorded(machine, life, call).await {
            Ok(returned) => returned,
            Err(error) => (failed(told(error)), false),
        }
    }

    async fn try_recorded(
        &self,
        machine: &Housed<M>,
        life: &Rc<Life>,
        call: &Call,
    ) -> Result<(Return, bool), LogError> {
        let (fate, first) = life.begin(call, self.host.clock.now())?;
        if let Some(first) = first {
            self.need(life, Some(first));
        }
        let meter = Meter::fated(chain_of(call), &self.limits, fate);
        let (mut returned, is_late) = self.host.current.during(meter, machine.vm.call(call)).await;
        let mut kept = None;
        let mut over: Option<Arc<str>> =
            (!life.returned(&call.callback, &returned)).then(|| why(&returned.outcome).into());
        if over.is_none() && life.is_to_be_kept(&call.callback) {
            match machine.vm.freeze(call.id) {
                Ok(state) => kept = Some(life.keep(&state)?),
                Err(why) => {
                    returned = failed(why.clone());
                    over = Some(why);
                }
            }
        }
        life.journal.returned(life.calls(), &returned);
        if let Some(why) = over {
            self.end(life, &why);
        }
        life.journal.synced().await?;
        if let Some(kept) = kept {
            self.need(life, Some(kept));
            self.forget_effects(life);
        }
        Ok((returned, is_late))
    }

    fn need(&self, life: &Life, from: Option<RecordNumber>) {
        if let Some(logs) = &self.logs {
            logs.need(life.journal.partition(), life.id(), from);
        }
    }

    /// What became of writes that no call asks for again is forgotten. What is not is removed when it is old.
    fn forget_effects(&self, life: &Life) {
        let (store, id) = (self.host.store.clone(), life.id());
        let latest = i64::try_from(life.calls()).unwrap_or(i64::MAX);
        if !life.has_written() {
            return;
        }
        (self.host.spawn)(Box::pin(async move {
            if let Err(error) = store.forget_effects(id.0, latest).await {
                tracing::debug!(%id, %error, "outcomes of a match's writes are forgotten later");
            }
        }));
    }

    /// A match is over: it does not go on when its log is read.
    pub(super) fn end(&self, life: &Life, why: &str) {
        if life.end() {
            return;
        }
        if let Err(error) = life.journal.ended(why) {
            tracing::error!(id = %life.id(), %error, "the end of a match cannot be written down: it may come back");
        }
        self.need(life, None);
        self.forget_effects(life);
    }

    /// Keeps the states of all recorded matches of a partition, so that they go on elsewhere at once.
    pub(crate) fn keep_all(&self, partition: Partition) -> Result<(), LogError> {
        let homes = self.homes.borrow();
        let of_partition =
            |home: &&Home<M>| home.life.as_ref().is_some_and(|life| life.journal.partition() == partition);
        for home in homes.values().filter(of_partition) {
            let Some(life) = &home.life else { continue };
            if let Ok(state) = home.machine.vm.freeze(life.id()) {
                // Former records stay needed: nobody waits here for this one to be kept.
                life.keep(&state)?;
            }
        }
        Ok(())
    }

    /// Puts away all recorded matches of a partition as they are.
    pub(crate) fn forget_all(&self, partition: Partition) {
        let of_partition =
            |home: &Home<M>| home.life.as_ref().is_some_and(|life| life.journal.partition() == partition);
        let ids: Vec<MatchId> =
            self.homes.borrow().iter().filter(|(_, home)| of_partition(home)).map(|(id, _)| *id).collect();
        for id in ids {
            if let Some(home) = self.leave(id) {
                home.machine.vm.drop_match(id);
                self.retire(&home.machine);
            }
        }
    }

    /// Goes on with a match as its log says. Answers what it is to the plane, and the first record that it needs from now on;
    /// nothing if it ended with its last call.
    ///
    /// # Errors
    /// Why it cannot go on.
    pub(crate) async fn resume(
        &self,
        logs: &Logs,
        history: &mut History,
    ) -> Result<Option<(Outline, RecordNumber)>, Arc<str>> {
        let id = history.id;
        let machine = self.house(id, true)?;
        let resumed = self.try_resume(&machine, logs, history).await;
        if !matches!(resumed, Ok(Some(_)))
            && let Some(home) = self.leave(id)
        {
            home.machine.vm.drop_match(id);
            self.retire(&home.machine);
        }
        resumed
    }

    async fn try_resume(
        &self,
        machine: &Rc<Housed<M>>,
        logs: &Logs,
        history: &mut History,
    ) -> Result<Option<(Outline, RecordNumber)>, Arc<str>> {
        let id = history.id;
        let journal = logs.journal(id);
        journal.carried(&history.records);
        let calls = std::mem::take(&mut history.calls);
        let mut over = None;
        let mut is_to_be_kept = false;
        let life = match &history.start {
            Start::Snapshot(kept) => {
                let life = Life::resumed(journal, kept);
                let frozen = Frozen {
                    id,
                    handler: &kept.outline.handler,
                    tick_rate: kept.outline.tick_rate,
                    state: &kept.state,
                };
                let meter = Meter::fated(Chain::default(), &self.limits, life.first_again(Vec::new()));
                self.host.current.during(meter, machine.vm.thaw(frozen)).await?;
                life
            }
            Start::Begun { origin, params } => {
                let outline = Outline::new(id, origin.handler.clone(), origin.created_at);
                let life = Life::new(journal, outline, origin.seed);
                let call = life.first_call(params.clone());
                let fate = life.first_again(std::mem::take(&mut history.first_answers));
                over = self.repeat(machine, &life, &call, fate).await?;
                is_to_be_kept = true;
                life
            }
        };
        self.keep_life(id, life.clone());
        for (called, known) in calls {
            if let Some(why) = over {
                return Err(format!("it ended where it had gone on: {why}").into());
            }
            let number = called.call;
            let (call, fate) = life.repeat(called, known);
            let repeated = self.repeat(machine, &life, &call, fate).await;
            over = repeated.map_err(|why| -> Arc<str> { format!("call {number} is not what it was: {why}").into() })?;
            is_to_be_kept = life.is_to_be_kept(&call.callback);
        }
        if let Some(why) = over {
            self.end(&life, &why);
            return Ok(None);
        }
        // Its log goes on where it was. A copy of the state is taken when it would have been, and at no other time: the
        // order of what tables hold would be another than it was.
        let kept = if is_to_be_kept {
            let state = machine.vm.freeze(id)?;
            life.keep(&state)
        } else {
            logs.carry_on(id.partition(), history)
        };
        Ok(Some((life.outline(), kept.map_err(told)?)))
    }

    /// Calls what was called before. Answers why the match does not go on behind it, if it does not.
    pub(super) async fn repeat(
        &self,
        machine: &Rc<Housed<M>>,
        life: &Life,
        call: &Call,
        fate: Rc<Fate>,
    ) -> Result<Option<Arc<str>>, Arc<str>> {
        Ok(self.call_again(machine, life, call, fate).await?.1)
    }

    /// The same, with what the call returned.
    pub(super) async fn call_again(
        &self,
        machine: &Rc<Housed<M>>,
        life: &Life,
        call: &Call,
        fate: Rc<Fate>,
    ) -> Result<(Return, Option<Arc<str>>), Arc<str>> {
        self.metrics.match_calls.fetch_add(1, Ordering::Relaxed);
        let meter = Meter::fated(chain_of(call), &self.limits, fate.clone());
        let (returned, _) = self.host.current.during(meter, machine.vm.call(call)).await;
        if let Some(diverged) = fate.diverged() {
            return Err(diverged.into());
        }
        let goes_on = life.returned(&call.callback, &returned);
        let over = (!goes_on).then(|| why(&returned.outcome).into());
        Ok((returned, over))
    }
}

fn told(error: LogError) -> Arc<str> {
    error.to_string().into()
}

/// Why a match does not go on.
fn why(outcome: &Outcome) -> &str {
    match outcome {
        Outcome::Failed(why) => why,
        _ => "its handler ended it",
    }
}
