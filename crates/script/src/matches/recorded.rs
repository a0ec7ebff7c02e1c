//! Recorded matches: what their callbacks do is written down before it leaves, and those that were written down go on.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use muster_domain::ports::store::Store;
use muster_live::Partition;
use muster_live::matches::{Call, Callback, Chain, LogError, MatchId, Outcome, Outline, Return, Said};
use muster_wire::match_log as wire;

use super::{GameMatches, Home, Housed, chain_of};
use crate::durable::fate::Fate;
use crate::durable::history::{Course, Start};
use crate::durable::journal::Journal;
use crate::durable::life::Life;
use crate::durable::record::Origin;
use crate::durable::record::Snapshot;
use crate::durable::term::Term;
use crate::functions::Surroundings;
use crate::host::{Meter, NO_LOG};
use crate::machine::matches::failed;
use crate::machine::{Frozen, MatchMachine};

/// More than so much of a match that goes on is not written once more: its state is, as a whole.
pub const CARRIED_BYTES_MAX: usize = 8 << 20;

/// What a tick says may leave later by this part of the time until the next.
const SLACK_PART: u32 = 10;

/// And by so much at most.
const SLACK_MAX: Duration = Duration::from_millis(10);

impl<M: MatchMachine> GameMatches<M> {
    /// What is written down of a call's match; nothing if it is not recorded.
    pub(super) async fn life_for(&self, call: &Call) -> Result<Option<Rc<Life>>, Arc<str>> {
        let Some(outline) = Outline::of_first(call).filter(|_| call.is_durable()) else {
            return Ok(self.life_of(call.id));
        };
        let logs = self.logs.as_ref().ok_or(NO_LOG)?;
        let term = self.host.handlers.open(call.id.partition(), &call.chain).await.map_err(told)?;
        if !self.holds(call.id) {
            // It was put away meanwhile.
            return Err(told(LogError::Lost));
        }
        let mut seed = [0; _];
        self.host.entropy.fill(&mut seed);
        let Surroundings { node, version, .. } = self.host.process.around.clone();
        let origin = Origin { handler: outline.handler.clone(), created_at: outline.created_at, seed, node, version };
        let life = Life::new(logs.journal(call.id, term), outline, origin);
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
        let begun = Instant::now();
        let (fate, first) = life.begin(call, self.host.clock.now())?;
        if let Some(first) = first {
            life.journal.term().need(life.id(), first);
        }
        let meter = Meter::fated(chain_of(call), &self.limits, fate.clone());
        let (mut returned, is_late) = self.host.current.during(meter, machine.vm.call(call)).await;
        fate.check()?;
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
        match over {
            Some(why) => self.end(life, &why),
            None if kept.is_none() && leaves_with_join(call, &returned) => {
                life.hold_back(fate);
                return Ok((returned, is_late));
            }
            None => {}
        }
        life.journal.synced(slack(call, begun.elapsed())).await?;
        life.held_back().iter().chain([&fate]).for_each(|fate| self.tell(fate));
        if let Some(kept) = kept {
            life.journal.term().need(life.id(), kept);
            self.logs.iter().for_each(|logs| logs.age(self.host.clock.now()));
            if life.has_written() {
                (self.host.spawn)(Box::pin(forget_effects(self.host.store.clone(), life.id(), life.calls())));
            }
        }
        Ok((returned, is_late))
    }

    /// Others hear of what a call told them.
    fn tell(&self, fate: &Fate) {
        fate.held().iter().for_each(|event| self.host.reporter.report(event));
    }

    /// A match is over: it does not go on when its log is read. What became of its writes is known for as long as it might.
    pub(super) fn end(&self, life: &Rc<Life>, why: &str) {
        if life.end() {
            return;
        }
        match life.journal.ended(why) {
            Ok(true) => {}
            // The log takes it later; or it is another's by now, where the match goes on.
            Ok(false) | Err(LogError::Lost) => return,
            Err(error) => {
                tracing::error!(id = %life.id(), %error, "the end of a match is written down when its log can be again");
                return;
            }
        }
        let (synced, store, life) = (life.journal.synced(Duration::ZERO), self.host.store.clone(), life.clone());
        (self.host.spawn)(Box::pin(async move {
            if synced.await.is_err() {
                return;
            }
            life.journal.term().leave(life.id());
            if life.has_written() {
                forget_effects(store, life.id(), life.calls()).await;
            }
        }));
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
                match life.keep(&state) {
                    Ok(_) => {}
                    Err(error @ LogError::Refused(_)) => {
                        tracing::warn!(id = %life.id(), %error, "the state of a match is not kept as a whole");
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    /// Puts away all recorded matches of a partition as they are.
    pub(crate) fn forget_all(&self, partition: Partition) {
        self.forget_those(|id, _| id.partition() == partition);
    }

    /// Puts away those that write in a term.
    pub(crate) fn forget_of(&self, term: &Rc<Term>) {
        self.forget_those(|_, home| home.life.as_ref().is_some_and(|life| Rc::ptr_eq(life.journal.term(), term)));
    }

    fn forget_those(&self, is_one: impl Fn(MatchId, &Home<M>) -> bool) {
        let homes = self.homes.borrow();
        let ids: Vec<MatchId> = homes.iter().filter(|(id, home)| is_one(**id, home)).map(|(id, _)| *id).collect();
        drop(homes);
        ids.into_iter().for_each(|id| self.put_away(id));
    }

    /// Puts a match away as it is.
    pub(super) fn put_away(&self, id: MatchId) {
        if let Some(home) = self.leave(id) {
            home.machine.vm.drop_match(id);
            self.retire(&home.machine);
        }
    }

    /// Goes on with a match as its log says. Answers what it is to the plane; nothing if it ended with its last call.
    ///
    /// # Errors
    /// Why it cannot go on.
    pub(crate) async fn resume(
        &self,
        journal: Rc<Journal>,
        course: Course,
        records: &[wire::Record],
    ) -> Result<Option<Outline>, Arc<str>> {
        let id = MatchId(journal.match_id());
        self.put_away(id);
        let machine = self.house(id, true)?;
        let resumed = self.try_resume(&machine, journal, course, records).await;
        if !matches!(resumed, Ok(Some(_))) {
            self.put_away(id);
        }
        resumed
    }

    async fn try_resume(
        &self,
        machine: &Rc<Housed<M>>,
        journal: Rc<Journal>,
        course: Course,
        records: &[wire::Record],
    ) -> Result<Option<Outline>, Arc<str>> {
        let id = MatchId(journal.match_id());
        journal.carried(records);
        let Course { start, first_answers, calls } = course;
        let (mut over, mut said) = (None, Said::default());
        // The latest call, and an attempt before it that was synced together with it.
        let mut latest: Vec<Rc<Fate>> = Vec::new();
        let mut is_to_be_kept = is_large(records);
        let life = match &start {
            Start::Snapshot(kept) => {
                let life = Life::resumed(journal, kept);
                self.thaw(machine, &life, kept).await?;
                said.add(&kept.outline);
                life
            }
            Start::Begun { origin, params } => {
                let outline = Outline::new(id, origin.handler.clone(), origin.created_at);
                let life = Life::new(journal, outline, origin.clone());
                let call = life.first_call(params.clone());
                let fate = life.first_again(first_answers);
                over = self.repeat(machine, &life, &call, fate.clone()).await?;
                life.say_again(&call.callback, &mut said);
                latest.push(fate);
                is_to_be_kept = true;
                life
            }
        };
        self.keep_life(id, life.clone());
        let mut is_attempt_before = false;
        for (called, known) in calls {
            if let Some(why) = over {
                return Err(format!("it ended where it had gone on: {why}").into());
            }
            let number = called.call;
            let (call, fate) = life.repeat(called, known);
            let repeated = self.repeat(machine, &life, &call, fate.clone()).await;
            let is_with_attempt = is_attempt_before && matches!(call.callback, Callback::Join(_));
            if !is_with_attempt {
                latest.clear();
            }
            latest.push(fate);
            is_attempt_before = matches!(call.callback, Callback::JoinAttempt { .. });
            over = repeated.map_err(|why| -> Arc<str> { format!("call {number} is not what it was: {why}").into() })?;
            life.say_again(&call.callback, &mut said);
            // What an attempt sent may not have left before its join: its record is still needed.
            is_to_be_kept = is_large(records) && !is_with_attempt || life.is_to_be_kept(&call.callback);
        }
        // Others may have heard what the latest calls told them, or not.
        if latest.iter().any(|fate| fate.holds()) {
            life.journal.synced(Duration::ZERO).await.map_err(told)?;
            latest.iter().for_each(|fate| self.tell(fate));
        }
        if let Some(why) = over {
            self.end(&life, &why);
            return Ok(None);
        }
        // Its log goes on where it was. A copy of the state is taken when it would have been, and at no other time: the
        // order of what tables hold would be another than it was.
        let term = life.journal.term();
        let kept = if is_to_be_kept {
            let state = machine.vm.freeze(id)?;
            term.needed_from(id, life.keep(&state))
        } else {
            term.carry_on(id, records.to_vec(), None)
        };
        kept.map_err(told)?;
        Ok(Some(said.into_outline(life.outline())))
    }

    /// A machine goes on with a match as it was kept.
    pub(super) async fn thaw(&self, machine: &Housed<M>, life: &Life, kept: &Snapshot) -> Result<(), Arc<str>> {
        let Outline { id, ref handler, tick_rate, .. } = kept.outline;
        let frozen = Frozen { id, handler, tick_rate, state: &kept.state };
        let meter = Meter::fated(Chain::default(), &self.limits, life.first_again(Vec::new()));
        self.host.current.during(meter, machine.vm.thaw(frozen)).await
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
        fate.check().map_err(told)?;
        let goes_on = life.returned(&call.callback, &returned);
        let over = (!goes_on).then(|| why(&returned.outcome).into());
        Ok((returned, over))
    }
}

/// What ticks say may leave by so much later, so that more of them share a wait for the log. Whatever else is called has
/// somebody who waits for its answer.
fn slack(call: &Call, took: Duration) -> Duration {
    let period = Duration::from_secs(1) / call.tick_rate.max(1);
    match call.callback {
        // One that takes long has little time before the next.
        Callback::Loop(_) => (period.saturating_sub(took) / SLACK_PART).min(SLACK_MAX),
        _ => Duration::ZERO,
    }
}

/// Whether a call is an accepted attempt. The plane calls its join next and does nothing of the attempt before that has
/// returned, so one wait for the log serves both.
fn leaves_with_join(call: &Call, returned: &Return) -> bool {
    matches!((&call.callback, &returned.outcome), (Callback::JoinAttempt { .. }, Outcome::Decided(Ok(()))))
}

/// What became of writes that no call asks for again is forgotten. What is not is removed when it is old.
async fn forget_effects(store: Rc<dyn Store>, id: MatchId, calls: u64) {
    let latest = i64::try_from(calls).unwrap_or(i64::MAX);
    if let Err(error) = store.forget_effects(id.0, latest).await {
        tracing::debug!(%id, %error, "outcomes of a match's writes are forgotten later");
    }
}

/// Whether there is so much of a match that its state is kept rather than all that once more.
fn is_large(records: &[wire::Record]) -> bool {
    let bytes = |record: &wire::Record| record.to_bytes().len();
    records.iter().map(bytes).sum::<usize>() > CARRIED_BYTES_MAX
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
