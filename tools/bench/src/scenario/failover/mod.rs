//! `failover`: the node that runs durable matches is killed. Their players, who are on the other nodes, measure the
//! time until their match answers again, and check that its state is right.
//!
//! Each player sends one number after the other, again at every beat until it is answered. The match takes each once,
//! adds it up, pays for every tenth into the player's wallet, and answers with what it has; so every answer follows
//! from its number alone, whatever became of the node in between. In the end the wallet and its ledger must hold what
//! the match says that it paid.

mod account;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use muster_wire::api::Rpc;
use muster_wire::realtime::envelope::Message;
use muster_wire::realtime::{Envelope, MatchDataSend, MatchJoin, match_join};
use rustix::process::{Signal, kill_process};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::json;
use tokio::sync::{Semaphore, watch};
use tokio::task::JoinSet;
use tokio::time::{Interval, MissedTickBehavior, interval_at};

use self::account::{Account, Purse, phase_of};
use super::sockets::{self, Player};
use super::{Connections, names};
use crate::load::frames::Opcode;
use crate::load::incoming::{self, Incoming, Way};
use crate::load::socket::Sent;
use crate::load::{Fault, envelopes};
use crate::plan::Event;
use crate::worker::{Worker, say};

/// Functions of game code, see `tools/bench/modules`.
const MAKE_MATCH: &str = "bench_make_failover";
const READ_PURSE: &str = "bench_failover_purse";
/// Numbers per second of each player, unless the command line gives a rate.
const EACH: f64 = 4.0;
/// Players who come, or ask for their wallets, at the same time.
const AT_ONCE_MAX: usize = 32;
const OP_NUMBER: i64 = 1;

pub async fn run(worker: Rc<Worker>) -> anyhow::Result<Connections> {
    let victim = worker.plan.cluster.victim()?;
    let failover = Rc::new(Failover::new(worker.clone()));
    let (phase, in_phase) = watch::channel(Phase::Idle);
    let matches = failover.make_matches().await?;
    let (mut players, seats) = failover.gather(&matches, &in_phase).await?;
    say(&Event::Ready)?;
    worker.wait_for_go().await;
    worker.begin_measuring();
    phase.send_replace(Phase::Playing);
    tokio::time::sleep(worker.plan.warmup).await;
    anyhow::ensure!(seats.iter().all(|seat| seat.answered.get() > 0), "not all matches answered before the blow");
    failover.struck.set(Some(Instant::now()));
    worker.expect_answers(seats.len() as u64);
    kill_process(victim, Signal::KILL).context("cannot signal the process of --victim-pid")?;
    worker.drain().await;
    // The players go on for as long as they played before.
    tokio::time::sleep(worker.plan.warmup).await;
    phase.send_replace(Phase::Over);
    while players.join_next().await.is_some() {}
    worker.end_measuring();
    say(&Event::Measured)?;
    let mut tally = worker.tally.borrow_mut();
    tally.count(names::MATCHES, matches.len() as u64);
    tally.count(names::INPUTS, seats.iter().map(|seat| seat.answered.get()).sum());
    drop(tally);
    Ok(Connections::new())
}

/// Phases of the run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Idle,
    Playing,
    /// No new numbers are sent.
    Over,
}

/// State that all players share.
struct Failover {
    worker: Rc<Worker>,
    /// When the victim was killed.
    struck: Cell<Option<Instant>>,
    reading_purses: Semaphore,
}

impl Failover {
    fn new(worker: Rc<Worker>) -> Self {
        Self { worker, struck: Cell::default(), reading_purses: Semaphore::new(AT_ONCE_MAX) }
    }

    /// Number of nodes without the last, which is the victim.
    fn survivors(&self) -> usize {
        self.worker.plan.addresses.len() - 1
    }

    fn room_size(&self) -> usize {
        self.worker.plan.talk.room_size.unwrap_or(1)
    }

    /// Makes all matches, by a player of the victim, who then leaves.
    async fn make_matches(&self) -> anyhow::Result<Vec<String>> {
        let mut maker = sockets::arrive(&self.worker, self.survivors()).await.context("a player of the victim")?;
        let mut matches = Vec::new();
        for number in 0..self.worker.plan.connections / self.room_size() {
            let asked = json!({ "phase": phase_of(number) }).to_string();
            let made: Made = call(&self.worker, &mut maker, MAKE_MATCH, asked).await.context("making a match")?;
            matches.push(made.match_id);
        }
        Ok(matches)
    }

    /// Lets the players come, to the surviving nodes in turn.
    async fn gather(
        self: &Rc<Self>,
        matches: &[String],
        phase: &watch::Receiver<Phase>,
    ) -> anyhow::Result<(JoinSet<()>, Vec<Rc<Seat>>)> {
        let arriving = Arc::new(Semaphore::new(AT_ONCE_MAX));
        let mut arrivals = JoinSet::new();
        for index in 0..self.worker.plan.connections {
            let (failover, arriving) = (self.clone(), arriving.clone());
            let number = index / self.room_size();
            let match_id = matches.get(number).context("a player too many")?.clone();
            arrivals.spawn_local(async move {
                let _alone = arriving.acquire().await;
                failover.arrive(index, number, match_id).await
            });
        }
        let (mut players, mut seats) = (JoinSet::new(), Vec::new());
        while let Some(arrived) = arrivals.join_next().await {
            let (seat, player) = arrived?.context("a player on the way")?;
            seats.push(seat.clone());
            players.spawn_local(seat.live(player, phase.clone()));
        }
        Ok((players, seats))
    }

    async fn arrive(
        self: Rc<Self>,
        index: usize,
        number: usize,
        match_id: String,
    ) -> Result<(Rc<Seat>, Player), Fault> {
        let survivors = self.survivors();
        let at_survivor = index / survivors * (survivors + 1) + index % survivors;
        let mut player = sockets::arrive(&self.worker, at_survivor).await?;
        let id = Some(match_join::Id::MatchId(match_id.clone()));
        let join = Message::MatchJoin(MatchJoin { id, ..MatchJoin::default() });
        match sockets::ask(&self.worker, &mut player, join, |_, _| {}).await? {
            Some(Message::Match(joined)) if joined.match_id == match_id => {}
            _ => return Err(Fault::Wrong("not the match asked for")),
        }
        Ok((Rc::new(Seat::new(self, index, phase_of(number), match_id)), player))
    }
}

#[derive(Deserialize)]
struct Made {
    match_id: String,
}

/// A player in its match.
struct Seat {
    failover: Rc<Failover>,
    index: usize,
    phase: u64,
    match_id: String,
    /// The number under way, or the latest one, and when it was first sent.
    asked: Cell<u64>,
    asked_at: Cell<Option<Instant>>,
    answered: Cell<u64>,
    sent: Cell<u64>,
    latest: RefCell<Option<Account>>,
    has_resumed: Cell<bool>,
    fault: RefCell<Option<Fault>>,
}

impl Seat {
    fn new(failover: Rc<Failover>, index: usize, phase: u64, match_id: String) -> Self {
        Self {
            failover,
            index,
            phase,
            match_id,
            asked: Cell::default(),
            asked_at: Cell::default(),
            answered: Cell::default(),
            sent: Cell::default(),
            latest: RefCell::default(),
            has_resumed: Cell::default(),
            fault: RefCell::default(),
        }
    }

    async fn live(self: Rc<Self>, mut player: Player, mut phase: watch::Receiver<Phase>) {
        let outcome = self.play(&mut player, &mut phase).await;
        if let Err(fault) = outcome {
            self.failover.worker.fail(&fault);
        }
    }

    /// Plays until the run is over and the last number is answered, and then checks the wallet.
    async fn play(&self, player: &mut Player, phase: &mut watch::Receiver<Phase>) -> Result<(), Fault> {
        let worker = &self.failover.worker;
        self.attend(player, phase, Phase::Playing, None).await?;
        let spread = self.period().mul_f64(self.index as f64 / worker.plan.connections as f64);
        let mut beat = interval_at(tokio::time::Instant::now() + spread, self.period());
        beat.set_missed_tick_behavior(MissedTickBehavior::Delay);
        self.attend(player, phase, Phase::Over, Some(&mut beat)).await?;
        let ending = async {
            while self.answered.get() < self.asked.get() {
                self.hear_or_say(player, Some(&mut beat)).await?;
            }
            let _alone = self.failover.reading_purses.acquire().await;
            self.check_purse(player).await
        };
        tokio::time::timeout(worker.plan.patience, ending).await.unwrap_or(Err(Fault::Unanswered))
    }

    /// Listens, and sends at each beat, until phase `until` begins.
    async fn attend(
        &self,
        player: &mut Player,
        phase: &mut watch::Receiver<Phase>,
        until: Phase,
        mut beat: Option<&mut Interval>,
    ) -> Result<(), Fault> {
        loop {
            tokio::select! {
                // An error means that nobody waits for this player any more.
                _ = phase.wait_for(|phase| *phase == until) => return Ok(()),
                outcome = self.hear_or_say(player, beat.as_deref_mut()) => outcome?,
            }
        }
    }

    fn period(&self) -> Duration {
        Duration::from_secs_f64(1.0 / self.failover.worker.plan.talk.each.unwrap_or(EACH))
    }

    async fn hear_or_say(&self, player: &mut Player, beat: Option<&mut Interval>) -> Result<(), Fault> {
        let is_talking = beat.is_some();
        let next = async {
            if let Some(beat) = beat {
                beat.tick().await;
            }
        };
        let hear = |opcode, payload: &[u8]| {
            if let Err(fault) = self.hear(opcode, payload) {
                self.fault.replace(Some(fault));
            }
        };
        tokio::select! {
            received = player.reader.receive(&player.writer, hear) => received.map(drop)?,
            () = next, if is_talking => self.say(player)?,
        }
        self.fault.take().map_or(Ok(()), Err)
    }

    /// Sends the next number, or the latest one again.
    fn say(&self, player: &Player) -> Result<(), Fault> {
        if self.answered.get() == self.asked.get() {
            self.asked.set(self.asked.get() + 1);
            self.asked_at.set(Some(Instant::now()));
        }
        self.sent.set(self.sent.get() + 1);
        let data = json!({ "number": self.asked.get(), "sent": self.sent.get() }).to_string();
        let message = Message::MatchDataSend(MatchDataSend {
            match_id: self.match_id.clone(),
            op_code: OP_NUMBER,
            data: data.into_bytes().into(),
            reliable: true,
            ..MatchDataSend::default()
        });
        let mut frame = Vec::new();
        envelopes::write_envelope(self.failover.worker.plan.format, &Envelope::push(message), &mut frame);
        if let Sent::Queued = player.writer.send_now(&frame)? {
            sockets::flush_later(player.writer.clone());
        }
        Ok(())
    }

    fn hear(&self, opcode: Opcode, payload: &[u8]) -> Result<(), Fault> {
        let now = Instant::now();
        match incoming::read(self.failover.worker.plan.format, opcode, payload)? {
            Incoming::Said(said) => {
                if said.way != Way::Match || said.origin().room != self.match_id.as_bytes() {
                    return Err(Fault::Wrong("a message for another room"));
                }
                let account = serde_json::from_slice(&said.message).map_err(|_| Fault::Wrong("not an account"))?;
                self.take(now, account)
            }
            Incoming::Other(envelope) => match envelope.message {
                Some(Message::MatchPresenceEvent(event)) if !event.leaves.is_empty() => {
                    Err(Fault::Wrong("a leave: nobody went"))
                }
                // The match has no node at the moment.
                Some(Message::Error(_)) => {
                    self.failover.worker.tally.borrow_mut().count(names::REFUSED, 1);
                    Ok(())
                }
                _ => Ok(()),
            },
            Incoming::RoomEvent | Incoming::ChatAck { .. } => Ok(()),
        }
    }

    fn take(&self, now: Instant, account: Account) -> Result<(), Fault> {
        if account.number < self.answered.get() {
            return Err(Fault::Wrong("an input that was answered is forgotten"));
        }
        if account.number > self.asked.get() || !account.is_right(self.phase) {
            return Err(Fault::Wrong("an input or a payment that is missing or doubled"));
        }
        let worker = &self.failover.worker;
        let is_new = account.number > self.answered.replace(account.number);
        if is_new {
            self.note_answer(now);
        }
        let after = self.asked_at.get().map(|asked_at| now - asked_at).filter(|_| is_new);
        if let Some(after) = after.filter(|_| self.failover.struck.get().is_none()) {
            worker.tally.borrow_mut().record_other(names::ANSWER, after);
        }
        self.latest.replace(Some(account));
        Ok(())
    }

    /// Notes an answer. A number sent first after the kill can only be answered by another node, so its answer ends the
    /// wait.
    fn note_answer(&self, now: Instant) {
        let (Some(struck), Some(asked_at)) = (self.failover.struck.get(), self.asked_at.get()) else { return };
        if asked_at < struck || self.has_resumed.replace(true) {
            return;
        }
        let (after, worker) = (now - struck, &self.failover.worker);
        let mut tally = worker.tally.borrow_mut();
        tally.ok += 1;
        tally.latency.record(after);
        drop(tally);
        worker.note_answer(now, after);
        worker.end_operation();
    }

    async fn check_purse(&self, player: &mut Player) -> Result<(), Fault> {
        let purse: Purse = call(&self.failover.worker, player, READ_PURSE, String::new()).await?;
        if !purse.holds(self.latest.borrow().as_ref()) {
            return Err(Fault::Wrong("a wallet or ledger that is not what the match paid"));
        }
        self.failover.worker.tally.borrow_mut().count(names::GRANTS, purse.ledger_steps);
        Ok(())
    }
}

/// Calls a function of game code.
async fn call<A: DeserializeOwned>(
    worker: &Worker,
    player: &mut Player,
    function: &str,
    payload: String,
) -> Result<A, Fault> {
    let request = Rpc { id: function.to_owned(), payload, http_key: String::new() };
    match sockets::ask(worker, player, Message::Rpc(request), |_, _| {}).await? {
        Some(Message::Rpc(answer)) => {
            serde_json::from_str(&answer.payload).map_err(|_| Fault::Wrong("not the answer of a function"))
        }
        _ => Err(Fault::Wrong("not the answer of a function")),
    }
}
