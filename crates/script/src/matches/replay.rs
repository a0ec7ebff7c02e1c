//! Replay of recordings. A replay shows whether game code does the same now as when the recording was made.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use muster_live::matches::{Call, LogError, LogFuture, MatchLog, Outline, RecordNumber};
use muster_live::{Epoch, Partition};
use muster_wire::match_log as wire;
use muster_wire::match_log::act::Act;

use super::{GameMatches, MachineSlot};
use crate::durable::history::Start;
use crate::durable::latest_write::LoggedWrite;
use crate::durable::logs::Logs;
use crate::durable::record::Snapshot;
use crate::durable::recorded_call::RecordedCall;
use crate::durable::recorded_match::RecordedMatch;
use crate::durable::recording;
use crate::durable::transcript::{RecordedOutcome, Transcript};
use crate::machine::MatchMachine;

/// Largest number of bytes of a message that are shown.
const SHOWN_BYTES: usize = 60;

/// A call that was replayed.
pub struct Played<'a> {
    /// The call.
    pub call: &'a Call,
    /// Serial number of the call in its match; 0 is the first callback.
    pub number: u64,
    /// Count of answers of the host to the call.
    pub answers: usize,
    /// The return of the call.
    pub returned: &'a wire::Returned,
    /// The difference between the call and the recorded one, if there is one.
    pub difference: Option<String>,
}

/// The result of the replay of a recording.
#[derive(Debug, PartialEq, Eq)]
pub struct Replayed {
    /// Calls that were replayed.
    pub calls: u64,
    /// Calls that differ from the recorded ones: 0 or 1, because the replay ends with the first one.
    pub differences: u64,
    /// States that were compared with recorded snapshots.
    pub states: u64,
    /// The reason why the match ended, if it did so before the end of the recording.
    pub end: Option<String>,
}

impl<M: MatchMachine> GameMatches<M> {
    /// Replays a recording. The replay ends with the first call that differs from the recorded one, because the calls
    /// after it belong to a match that went on otherwise.
    ///
    /// # Errors
    /// The reason why the match cannot begin.
    pub(crate) async fn replay(
        &self,
        transcript: Transcript,
        on_call: &mut dyn FnMut(Played<'_>),
    ) -> Result<Replayed, Arc<str>> {
        let (id, machine) = (transcript.id, self.place_match(transcript.id, true)?);
        let replayed = self.try_replay(&machine, transcript, on_call).await;
        self.drop_here(id);
        replayed
    }

    async fn try_replay(
        &self,
        machine: &Rc<MachineSlot<M>>,
        transcript: Transcript,
        on_call: &mut dyn FnMut(Played<'_>),
    ) -> Result<Replayed, Arc<str>> {
        let logs = Logs::new(Rc::new(Nowhere), None);
        let journal = logs.journal(transcript.id, logs.open(transcript.id.partition(), Epoch::default()));
        let Transcript { id, start, first, calls, end } = transcript;
        let mut playing = Playing { matches: self, machine, on_call, replayed: Replayed::new(end) };
        let recorded = match start {
            Start::Snapshot(snapshot) => {
                let recorded = RecordedMatch::resumed(journal, &snapshot);
                recorded.seal();
                self.thaw(machine, &recorded, &snapshot).await?;
                recorded
            }
            Start::Begun { origin, params, .. } => {
                let outline = Outline::new(id, origin.handler.clone(), origin.created_at);
                let recorded = RecordedMatch::new(journal, outline, origin, LoggedWrite::Untold);
                recorded.seal();
                if first.returned.is_none() && calls.is_empty() {
                    return Ok(playing.replayed);
                }
                let call = recorded.first_call(params);
                let recorded_call = recorded.repeat_first(first.answers.clone());
                if !playing.play(&recorded, &call, recorded_call, first).await {
                    return Ok(playing.replayed);
                }
                recorded
            }
        };
        let last = calls.len().saturating_sub(1);
        for (position, (called, outcome)) in calls.into_iter().enumerate() {
            // The process ended within the last call.
            if outcome.returned.is_none() && position == last {
                break;
            }
            let (call, recorded_call) = recorded.repeat(called, outcome.answers.clone());
            if !playing.play(&recorded, &call, recorded_call, outcome).await {
                break;
            }
        }
        Ok(playing.replayed)
    }
}

impl Replayed {
    fn new(end: Option<String>) -> Self {
        Self { calls: 0, differences: 0, states: 0, end }
    }
}

/// A replay under way.
struct Playing<'a, M: MatchMachine> {
    matches: &'a GameMatches<M>,
    machine: &'a Rc<MachineSlot<M>>,
    on_call: &'a mut dyn FnMut(Played<'_>),
    replayed: Replayed,
}

impl<M: MatchMachine> Playing<'_, M> {
    /// Replays a call. Answers whether the call is as it was recorded and the match goes on after it.
    async fn play(
        &mut self,
        recorded: &RecordedMatch,
        call: &Call,
        recorded_call: Rc<RecordedCall>,
        outcome: RecordedOutcome,
    ) -> bool {
        let RecordedOutcome { answers, returned: before, snapshot } = outcome;
        let answers = answers.len();
        let played = self.matches.call_again(self.machine, recorded, call, recorded_call).await;
        let number = recorded.calls();
        self.replayed.calls += 1;
        let (returned, over, mut difference) = match played {
            Ok((returned, over)) => (recording::returned(number, &returned), over, None),
            Err(why) => (wire::Returned { call: number, ..Default::default() }, None, Some(why.to_string())),
        };
        if difference.is_none() {
            difference = before.filter(|before| *before != returned).map(|before| differ(&before, &returned));
        }
        if difference.is_none()
            && let Some(snapshot) = snapshot
        {
            self.replayed.states += 1;
            difference = self.differing_state(recorded, call, &snapshot);
        }
        let is_as_it_was = difference.is_none();
        self.replayed.differences += u64::from(!is_as_it_was);
        (self.on_call)(Played { call, number, answers, returned: &returned, difference });
        is_as_it_was && over.is_none()
    }

    /// The difference between the state of the match and a recorded snapshot, if there is one.
    fn differing_state(&self, recorded: &RecordedMatch, call: &Call, snapshot: &Snapshot) -> Option<String> {
        match self.machine.vm.freeze(call.id) {
            Err(why) => Some(why.to_string()),
            Ok(state) if state != snapshot.state => {
                let (now, before) = (state.len(), snapshot.state.len());
                let same = state.iter().zip(&snapshot.state).take_while(|(now, before)| now == before).count();
                Some(format!("its state is another: {now} bytes where it had {before}, the same up to byte {same}"))
            }
            Ok(_) if recorded.outline() != snapshot.outline => {
                Some(format!("what is known of it is {:?} where it was {:?}", recorded.outline(), snapshot.outline))
            }
            Ok(_) => None,
        }
    }
}

/// The difference between the return of a call and the recorded one.
fn differ(before: &wire::Returned, now: &wire::Returned) -> String {
    if before.outcome != now.outcome {
        return format!("it {}; it was recorded that it {}", now.outcome, before.outcome);
    }
    let position = before.acts.iter().zip(&now.acts).take_while(|(before, now)| before == now).count();
    let shown = |acts: &[wire::Act]| acts.get(position).map_or_else(|| "is missing".to_owned(), in_words);
    let (now, before) = (shown(&now.acts), shown(&before.acts));
    let unseen = if now == before { ", but not in the same way" } else { "" };
    format!("its act {} {now}; it was recorded that this {before}{unseen}", position + 1)
}

/// An act as the end of a sentence that begins with the act, such as `puts 2 out`.
pub fn in_words(act: &wire::Act) -> String {
    let message = |broadcast: &wire::Broadcast| {
        let data = String::from_utf8_lossy(&broadcast.data[..broadcast.data.len().min(SHOWN_BYTES)]).into_owned();
        let to = if broadcast.for_some { format!("{} of them", broadcast.to.len()) } else { "all".to_owned() };
        format!("op code {}, {} bytes, to {to}: {data:?}", broadcast.op_code, broadcast.data.len())
    };
    match &act.act {
        Some(Act::Broadcast(broadcast)) => format!("sends {}", message(broadcast)),
        Some(Act::Deferred(broadcast)) => format!("sends behind the loop {}", message(broadcast)),
        Some(Act::Kick(kick)) => format!("puts {} out", kick.sessions.len()),
        Some(Act::Label(label)) => format!("is found by {label:?}"),
        Some(Act::SetTimer(timer)) => format!("sets the timer {:?} to {} ms", timer.name, timer.after_ms),
        Some(Act::CancelTimer(name)) => format!("cancels the timer {name:?}"),
        None => "does what this release does not know".to_owned(),
    }
}

/// A log that keeps nothing, because a replay needs no log.
struct Nowhere;

impl MatchLog for Nowhere {
    fn partitions(&self) -> LogFuture<std::collections::BTreeSet<Partition>> {
        Box::pin(std::future::ready(Ok(Default::default())))
    }

    fn take_over(&self, _: Partition, _: Epoch) -> LogFuture<Vec<bytes::Bytes>> {
        Box::pin(std::future::ready(Ok(Vec::new())))
    }

    fn append(&self, _: Partition, _: &[u8]) -> Result<RecordNumber, LogError> {
        Ok(RecordNumber::default())
    }

    fn synced(&self, _: Partition, _: Duration) -> LogFuture<()> {
        Box::pin(std::future::ready(Ok(())))
    }

    fn trim(&self, _: Partition, _: RecordNumber) {}

    fn release(&self, _: Partition) {}
}
