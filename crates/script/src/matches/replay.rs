//! Recordings that are played again: whether what the code does now is what it did.

use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use muster_live::matches::{Call, LogError, LogFuture, MatchLog, Outline, RecordNumber};
use muster_live::{Epoch, Partition};
use muster_wire::match_log as wire;

use super::{GameMatches, Housed};
use crate::durable::fate::Fate;
use crate::durable::history::Start;
use crate::durable::life::Life;
use crate::durable::logs::Logs;
use crate::durable::record::Snapshot;
use crate::durable::recording;
use crate::durable::tape::{Known, Tape};
use crate::machine::MatchMachine;

/// A call that was played again.
pub struct Played<'a> {
    /// What was called.
    pub call: &'a Call,
    /// The how manieth it was; 0 is the first of all.
    pub number: u64,
    /// What the host answered in it.
    pub answers: usize,
    /// What came of it.
    pub returned: &'a wire::Returned,
    /// How that differs from what came of it when it was recorded.
    pub difference: Option<String>,
}

/// What came of playing a recording.
#[derive(Debug, PartialEq, Eq)]
pub struct Replayed {
    /// Calls that were played.
    pub calls: u64,
    /// Those of them of which the recording says what they returned, and that returned something else.
    pub differences: u64,
    /// States that were compared.
    pub states: u64,
    /// Why the match ended, if it did.
    pub end: Option<String>,
}

impl<M: MatchMachine> GameMatches<M> {
    /// Plays a recording. It ends where the code does something else than it did, since all behind that is another match.
    ///
    /// # Errors
    /// Why the match cannot begin.
    pub(crate) async fn replay(&self, tape: Tape, see: &mut dyn FnMut(Played<'_>)) -> Result<Replayed, Arc<str>> {
        let (id, machine) = (tape.id, self.house(tape.id, true)?);
        let replayed = self.try_replay(&machine, tape, see).await;
        self.put_away(id);
        replayed
    }

    async fn try_replay(
        &self,
        machine: &Rc<Housed<M>>,
        tape: Tape,
        see: &mut dyn FnMut(Played<'_>),
    ) -> Result<Replayed, Arc<str>> {
        let logs = Logs::new(Rc::new(Nowhere), None);
        let journal = logs.journal(tape.id, logs.term(tape.id.partition(), Epoch::default()));
        let Tape { id, start, first, calls, end } = tape;
        let mut playing = Playing { matches: self, machine, see, replayed: Replayed::new(end) };
        let life = match start {
            Start::Snapshot(kept) => {
                let life = Life::resumed(journal, &kept);
                life.seal();
                self.thaw(machine, &life, &kept).await?;
                life
            }
            Start::Begun { origin, params } => {
                let outline = Outline::new(id, origin.handler.clone(), origin.created_at);
                let life = Life::new(journal, outline, origin);
                life.seal();
                if first.returned.is_none() && calls.is_empty() {
                    return Ok(playing.replayed);
                }
                let call = life.first_call(params);
                let (fate, known) = (life.first_again(first.answers.clone()), first);
                if !playing.play(&life, &call, fate, known).await {
                    return Ok(playing.replayed);
                }
                life
            }
        };
        let last = calls.len().saturating_sub(1);
        for (position, (called, known)) in calls.into_iter().enumerate() {
            // The process ended within it.
            if known.returned.is_none() && position == last {
                break;
            }
            let (call, fate) = life.repeat(called, known.answers.clone());
            if !playing.play(&life, &call, fate, known).await {
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

struct Playing<'a, M: MatchMachine> {
    matches: &'a GameMatches<M>,
    machine: &'a Rc<Housed<M>>,
    see: &'a mut dyn FnMut(Played<'_>),
    replayed: Replayed,
}

impl<M: MatchMachine> Playing<'_, M> {
    /// Plays a call. Answers whether the match is what it was, and goes on.
    async fn play(&mut self, life: &Life, call: &Call, fate: Rc<Fate>, known: Known) -> bool {
        let Known { answers, returned: before, kept } = known;
        let answers = answers.len();
        let played = self.matches.call_again(self.machine, life, call, fate).await;
        let number = life.calls();
        self.replayed.calls += 1;
        let (returned, over, mut difference) = match played {
            Ok((returned, over)) => (recording::returned(number, &returned), over, None),
            Err(why) => (wire::Returned { call: number, ..Default::default() }, None, Some(why.to_string())),
        };
        if difference.is_none() {
            difference = before.filter(|before| *before != returned).map(|before| differ(&before, &returned));
        }
        if difference.is_none()
            && let Some(kept) = kept
        {
            self.replayed.states += 1;
            difference = self.differing_state(life, call, &kept);
        }
        let is_as_it_was = difference.is_none();
        self.replayed.differences += u64::from(!is_as_it_was);
        (self.see)(Played { call, number, answers, returned: &returned, difference });
        is_as_it_was && over.is_none()
    }

    fn differing_state(&self, life: &Life, call: &Call, kept: &Snapshot) -> Option<String> {
        match self.machine.vm.freeze(call.id) {
            Err(why) => Some(why.to_string()),
            Ok(state) if state != kept.state => {
                let (now, before) = (state.len(), kept.state.len());
                let same = state.iter().zip(&kept.state).take_while(|(now, before)| now == before).count();
                Some(format!("its state is another: {now} bytes where it had {before}, the same up to byte {same}"))
            }
            Ok(_) if life.outline() != kept.outline => {
                Some(format!("what is known of it is {:?} where it was {:?}", life.outline(), kept.outline))
            }
            Ok(_) => None,
        }
    }
}

/// How what came of a call is not what it was.
fn differ(before: &wire::Returned, now: &wire::Returned) -> String {
    if before.outcome != now.outcome {
        return format!("it {}; it was recorded that it {}", now.outcome, before.outcome);
    }
    let position = before.acts.iter().zip(&now.acts).take_while(|(before, now)| before == now).count();
    let shown = |acts: &[wire::Act]| acts.get(position).map_or("nothing".to_owned(), |act| format!("{:?}", act.act));
    format!("its act {} is {}; recorded was {}", position + 1, shown(&now.acts), shown(&before.acts))
}

/// Nothing is kept of what is only looked at.
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
