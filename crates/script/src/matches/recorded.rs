//! Recorded matches. The messages and events of a call leave only when its records are durable, so that a match can be
//! resumed from its log as others saw it.

use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use muster_live::Partition;
use muster_live::matches::{Call, Callback, Chain, LogError, MatchId, Outcome, Outline, ReplayedBroadcasts, Return};
use muster_wire::match_log as wire;

use super::{GameMatches, MachineSlot, MatchPlace, chain_of};
use crate::durable::forgetting::{forget_ended, forget_keyed_writes};
use crate::durable::history::{CallHistory, Start};
use crate::durable::journal::Journal;
use crate::durable::latest_write::LoggedWrite;
use crate::durable::open_log::OpenLog;
use crate::durable::record::MatchOrigin;
use crate::durable::record::Snapshot;
use crate::durable::recorded_call::RecordedCall;
use crate::durable::recorded_match::RecordedMatch;
use crate::functions::ServerFacts;
use crate::host::{Meter, NO_LOG};
use crate::machine::matches::failed;
use crate::machine::{Frozen, MatchMachine};

/// Limit on the bytes of former records that a resumed match writes once more. A match with more of them writes a
/// snapshot instead.
pub const CARRIED_BYTES_MAX: usize = 8 << 20;

/// Divisor of the time until the next tick. The quotient is the delay that the messages of a tick may have.
const SLACK_PART: u32 = 10;

/// Limit on the delay that the messages of a tick may have.
const SLACK_MAX: Duration = Duration::from_millis(10);

impl<M: MatchMachine> GameMatches<M> {
    /// The recorded match that a call belongs to; `None` if the match is not recorded. A call of the first callback
    /// begins the recorded match.
    pub(super) async fn recorded_match_for(&self, call: &Call) -> Result<Option<Rc<RecordedMatch>>, Arc<str>> {
        let Some(outline) = Outline::of_first(call).filter(|_| call.is_durable()) else {
            return Ok(self.recorded_match(call.id));
        };
        let logs = self.logs.as_ref().ok_or(NO_LOG)?;
        let log = self.host.handlers.open(call.id.partition(), &call.chain).await.map_err(told)?;
        if !self.holds(call.id) {
            // The match was dropped meanwhile.
            return Err(told(LogError::Lost));
        }
        let mut seed = [0; _];
        self.host.entropy.fill(&mut seed);
        let ServerFacts { node, version, .. } = self.host.process.facts.clone();
        let origin =
            MatchOrigin { handler: outline.handler.clone(), created_at: outline.created_at, seed, node, version };
        let recorded = RecordedMatch::new(logs.journal(call.id, log), outline, origin, LoggedWrite::None);
        self.set_recorded(call.id, recorded.clone());
        Ok(Some(recorded))
    }

    fn recorded_match(&self, id: MatchId) -> Option<Rc<RecordedMatch>> {
        self.places.borrow().get(&id).and_then(|place| place.recorded.clone())
    }

    fn set_recorded(&self, id: MatchId, recorded: Rc<RecordedMatch>) {
        if let Some(place) = self.places.borrow_mut().get_mut(&id) {
            place.recorded = Some(recorded);
            self.metrics.matches_durable.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Runs a callback of a recorded match, and waits until the call is durable. The return of an accepted join attempt
    /// need not wait: its messages leave with the join.
    pub(super) async fn call_recorded(
        &self,
        machine: &MachineSlot<M>,
        recorded: &Rc<RecordedMatch>,
        call: &Call,
    ) -> (Return, bool) {
        match self.try_call_recorded(machine, recorded, call).await {
            Ok(returned) => returned,
            Err(error) => (failed(told(error)), false),
        }
    }

    async fn try_call_recorded(
        &self,
        machine: &MachineSlot<M>,
        recorded: &Rc<RecordedMatch>,
        call: &Call,
    ) -> Result<(Return, bool), LogError> {
        let begun = Instant::now();
        let (recorded_call, first) = recorded.begin(call, self.host.clock.now())?;
        if let Some(first) = first {
            recorded.journal.log().need(recorded.id(), first);
        }
        let meter = Meter::recorded(chain_of(call), &self.limits, recorded_call.clone());
        let (mut returned, is_late) = self.host.current.during(meter, machine.vm.call(call)).await;
        self.keep_stack(call, &mut returned);
        recorded_call.check()?;
        if let Some(why) = recorded_call.refused() {
            self.stop(recorded, &why);
            return Ok((failed(why.into()), is_late));
        }
        let mut snapshot = None;
        let mut over: Option<Arc<str>> =
            (!recorded.returned(&call.callback, &returned)).then(|| why(&returned.outcome).into());
        if over.is_none() && recorded.is_snapshot_due(&call.callback) {
            match machine.vm.freeze(call.id) {
                Ok(state) => snapshot = Some(recorded.write_snapshot(&state)?),
                Err(why) => {
                    returned = failed(why.clone());
                    over = Some(why);
                }
            }
        }
        recorded.journal.returned(recorded.calls(), &returned);
        match over {
            Some(why) => self.end(recorded, &why),
            None if snapshot.is_none() && leaves_with_join(call, &returned) => {
                recorded.hold_back(recorded_call);
                return Ok((returned, is_late));
            }
            None => {}
        }
        recorded.journal.synced(slack(call, begun.elapsed())).await?;
        recorded.held_back().iter().chain([&recorded_call]).for_each(|call| self.report(call));
        if let Some(snapshot) = snapshot {
            recorded.journal.log().need(recorded.id(), snapshot);
            let aged = self.logs.iter().flat_map(|logs| logs.age(self.host.clock.now()));
            aged.for_each(|log| {
                (self.host.spawn)(Box::pin(forget_ended(self.host.store.clone(), self.host.clock.clone(), log)))
            });
            if recorded.has_written() {
                let (id, calls) = (recorded.id(), recorded.calls());
                (self.host.spawn)(Box::pin(forget_keyed_writes(self.host.store.clone(), id, calls)));
            }
        }
        Ok((returned, is_late))
    }

    /// Reports the events of a call that is durable.
    fn report(&self, call: &RecordedCall) {
        call.take_events().iter().for_each(|event| self.host.reporter.report(event));
    }

    /// Stops a match whose log and database do not belong together. The log keeps the match, so that it may go on from
    /// there when somebody has put that right.
    fn stop(&self, recorded: &Rc<RecordedMatch>, why: &str) {
        if !recorded.end() {
            recorded.journal.log().leave(recorded.id());
            self.metrics.matches_unfit.fetch_add(1, Ordering::Relaxed);
            tracing::error!(
                id = %recorded.id(), why,
                "a durable match stops: the database refuses what it pays. Its log is kept; it is compared with the \
                 database when the server starts"
            );
        }
    }

    /// Writes that a match is over, so that it is not resumed. Its keyed writes are forgotten once that is durable.
    pub(super) fn end(&self, recorded: &Rc<RecordedMatch>, why: &str) {
        if recorded.end() {
            return;
        }
        match recorded.journal.ended(why, recorded.latest_write_at_end()) {
            Ok(true) => {}
            // The log takes the end later, or belongs to another place by now, where the match goes on.
            Ok(false) | Err(LogError::Lost) => return,
            Err(error) => {
                tracing::error!(id = %recorded.id(), %error, "the end of a match is written down when its log can be again");
                return;
            }
        }
        let synced = recorded.journal.synced(Duration::ZERO);
        let (store, clock, recorded) = (self.host.store.clone(), self.host.clock.clone(), recorded.clone());
        (self.host.spawn)(Box::pin(async move {
            if synced.await.is_err() {
                return;
            }
            let log = recorded.journal.log();
            log.leave(recorded.id());
            forget_ended(store, clock, log.clone()).await;
        }));
    }

    /// Writes snapshots of all recorded matches of a partition, so that the next owner need not repeat their calls.
    pub(crate) fn keep_all(&self, partition: Partition) -> Result<(), LogError> {
        let places = self.places.borrow();
        for place in places.values() {
            let of_partition = |recorded: &&Rc<RecordedMatch>| recorded.journal.partition() == partition;
            let Some(recorded) = place.recorded.as_ref().filter(of_partition) else { continue };
            if let Ok(state) = place.machine.vm.freeze(recorded.id()) {
                // The former records stay needed, because nobody waits here until the snapshot is durable.
                match recorded.write_snapshot(&state) {
                    Ok(_) => {}
                    Err(error @ LogError::Refused(_)) => {
                        tracing::warn!(id = %recorded.id(), %error, "the state of a match is not kept as a whole");
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        Ok(())
    }

    /// Drops all recorded matches of a partition without writing to their log.
    pub(crate) fn forget_all(&self, partition: Partition) {
        self.forget_those(|id, _| id.partition() == partition);
    }

    /// Drops all matches that write to an open log, without writing to it.
    pub(crate) fn forget_of(&self, log: &Rc<OpenLog>) {
        let writes_to = |recorded: &Rc<RecordedMatch>| Rc::ptr_eq(recorded.journal.log(), log);
        self.forget_those(|_, place| place.recorded.as_ref().is_some_and(writes_to));
    }

    fn forget_those(&self, is_gone: impl Fn(MatchId, &MatchPlace<M>) -> bool) {
        let places = self.places.borrow();
        let ids: Vec<MatchId> = places.iter().filter(|(id, place)| is_gone(**id, place)).map(|(id, _)| *id).collect();
        drop(places);
        ids.into_iter().for_each(|id| self.drop_here(id));
    }

    /// Drops a match without writing to its log.
    pub(super) fn drop_here(&self, id: MatchId) {
        if let Some(place) = self.remove_place(id) {
            place.machine.vm.drop_match(id);
            self.retire(&place.machine);
        }
    }

    /// Resumes a match from its log. Answers its outline for the plane; `None` if the match ended with its last call.
    ///
    /// # Errors
    /// The reason why the match cannot go on.
    pub(crate) async fn resume(
        &self,
        journal: Rc<Journal>,
        history: CallHistory,
        records: &[wire::Record],
    ) -> Result<Option<Outline>, Arc<str>> {
        let id = MatchId(journal.match_id());
        self.drop_here(id);
        let machine = self.place_match(id, true)?;
        let resumed = self.try_resume(&machine, journal, history, records).await;
        if !matches!(resumed, Ok(Some(_))) {
            self.drop_here(id);
        }
        resumed
    }

    async fn try_resume(
        &self,
        machine: &Rc<MachineSlot<M>>,
        journal: Rc<Journal>,
        history: CallHistory,
        records: &[wire::Record],
    ) -> Result<Option<Outline>, Arc<str>> {
        let id = MatchId(journal.match_id());
        journal.resume(records);
        let CallHistory { start, first_answers, calls, in_database, is_set_back, .. } = history;
        let mut over = None;
        // The latest call, and an attempt before it that was synced together with it.
        let mut latest: Vec<Rc<RecordedCall>> = Vec::new();
        let mut replayed = ReplayedBroadcasts::default();
        let mut is_snapshot_due = is_large(records);
        // The writes of a match whose log does not tell of any may be in the database.
        journal.has_written.set(start.latest_write() != LoggedWrite::None);
        let recorded = match &start {
            Start::Snapshot(snapshot) => {
                let recorded = RecordedMatch::resumed(journal, snapshot);
                self.thaw(machine, &recorded, snapshot).await?;
                replayed.add(&snapshot.outline);
                recorded
            }
            Start::Begun { origin, params, latest_write } => {
                let outline = Outline::new(id, origin.handler.clone(), origin.created_at);
                let recorded = RecordedMatch::new(journal, outline, origin.clone(), *latest_write);
                let call = recorded.first_call(params.clone());
                let recorded_call = recorded.repeat_first(first_answers);
                over = self.repeat(machine, &recorded, &call, recorded_call.clone()).await?;
                recorded.collect_broadcasts(&call.callback, &mut replayed);
                latest.push(recorded_call);
                is_snapshot_due = true;
                recorded
            }
        };
        self.set_recorded(id, recorded.clone());
        let mut is_attempt_before = false;
        for (called, answers) in calls {
            if let Some(why) = over {
                return Err(format!("it ended where it had gone on: {why}").into());
            }
            let number = called.call;
            let (call, recorded_call) = recorded.repeat(called, answers);
            let repeated = self.repeat(machine, &recorded, &call, recorded_call.clone()).await;
            let is_with_attempt = is_attempt_before && matches!(call.callback, Callback::Join(_));
            if !is_with_attempt {
                latest.clear();
            }
            latest.push(recorded_call);
            is_attempt_before = matches!(call.callback, Callback::JoinAttempt { .. });
            over = repeated.map_err(|why| -> Arc<str> { format!("call {number} is not what it was: {why}").into() })?;
            recorded.collect_broadcasts(&call.callback, &mut replayed);
            // The messages of an attempt leave with its join. Whether they had left is unknown, so a snapshot must not
            // replace the record of the attempt.
            is_snapshot_due = is_large(records) && !is_with_attempt || recorded.is_snapshot_due(&call.callback);
        }
        recorded.learn_latest_write(in_database);
        if is_set_back {
            recorded.skip_broadcast_numbers();
            is_snapshot_due = true;
        }
        // The former owner may have ended before listeners heard of the events of the latest calls, so they hear of
        // them again.
        if latest.iter().any(|call| call.has_events()) {
            recorded.journal.synced(Duration::ZERO).await.map_err(told)?;
            latest.iter().for_each(|call| self.report(call));
        }
        if let Some(why) = over {
            self.end(&recorded, &why);
            return Ok(None);
        }
        // A snapshot is written only where one was due: at a snapshot the match goes on with a copy of its state, whose
        // tables may list their entries in another order.
        let log = recorded.journal.log();
        let carried = recorded.journal.resumed();
        let written = if is_snapshot_due {
            let state = machine.vm.freeze(id)?;
            log.needed_from(id, recorded.write_snapshot(&state))
        } else {
            log.carry_on(id, carried, None)
        };
        written.map_err(told)?;
        Ok(Some(replayed.into_outline(recorded.outline())))
    }

    /// Has a machine take in a match from a snapshot.
    pub(super) async fn thaw(
        &self,
        machine: &MachineSlot<M>,
        recorded: &RecordedMatch,
        snapshot: &Snapshot,
    ) -> Result<(), Arc<str>> {
        let Outline { id, ref handler, tick_rate, .. } = snapshot.outline;
        let frozen = Frozen { id, handler, tick_rate, state: &snapshot.state };
        let meter = Meter::recorded(Chain::default(), &self.limits, recorded.repeat_first(Vec::new()));
        self.host.current.during(meter, machine.vm.thaw(frozen)).await
    }

    /// Repeats a call. Answers why the match ended with it, if it did.
    ///
    /// # Errors
    /// How the call differs from the former one.
    async fn repeat(
        &self,
        machine: &Rc<MachineSlot<M>>,
        recorded: &RecordedMatch,
        call: &Call,
        recorded_call: Rc<RecordedCall>,
    ) -> Result<Option<Arc<str>>, Arc<str>> {
        Ok(self.call_again(machine, recorded, call, recorded_call).await?.1)
    }

    /// Repeats a call. Answers its return, and why the match ended with it, if it did.
    ///
    /// # Errors
    /// How the call differs from the former one.
    pub(super) async fn call_again(
        &self,
        machine: &Rc<MachineSlot<M>>,
        recorded: &RecordedMatch,
        call: &Call,
        recorded_call: Rc<RecordedCall>,
    ) -> Result<(Return, Option<Arc<str>>), Arc<str>> {
        self.metrics.match_calls.fetch_add(1, Ordering::Relaxed);
        let meter = Meter::recorded(chain_of(call), &self.limits, recorded_call.clone());
        let (mut returned, _) = self.host.current.during(meter, machine.vm.call(call)).await;
        self.keep_stack(call, &mut returned);
        if let Some(diverged) = recorded_call.diverged() {
            return Err(diverged.into());
        }
        recorded_call.check().map_err(told)?;
        if let Some(why) = recorded_call.refused() {
            return Err(why.into());
        }
        let goes_on = recorded.returned(&call.callback, &returned);
        let over = (!goes_on).then(|| why(&returned.outcome).into());
        Ok((returned, over))
    }
}

/// The delay that the messages of a call may have, so that more ticks share one sync of the log. For callbacks other
/// than ticks somebody waits, so their messages have no delay.
fn slack(call: &Call, took: Duration) -> Duration {
    let period = Duration::from_secs(1) / call.tick_rate.max(1);
    match call.callback {
        // A tick that takes long has little time left before the next one.
        Callback::Loop(_) => (period.saturating_sub(took) / SLACK_PART).min(SLACK_MAX),
        _ => Duration::ZERO,
    }
}

/// Whether a call is an accepted join attempt. The plane calls its join next, and carries out nothing of the attempt
/// before the join has returned, so one wait for the log serves both.
fn leaves_with_join(call: &Call, returned: &Return) -> bool {
    matches!((&call.callback, &returned.outcome), (Callback::JoinAttempt { .. }, Outcome::Decided(Ok(()))))
}

/// Whether a resumed match has more records than it may write once more; see [`CARRIED_BYTES_MAX`].
fn is_large(records: &[wire::Record]) -> bool {
    let bytes = |record: &wire::Record| record.to_bytes().len();
    records.iter().map(bytes).sum::<usize>() > CARRIED_BYTES_MAX
}

fn told(error: LogError) -> Arc<str> {
    error.to_string().into()
}

/// Why a match ended.
fn why(outcome: &Outcome) -> &str {
    match outcome {
        Outcome::Failed(why) => why,
        _ => "its handler ended it",
    }
}
