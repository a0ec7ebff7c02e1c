//! `takeover`: one node is killed or halted. The players of the other nodes measure the time until they are told that
//! the players of that node left, and until they receive each other's messages again.
//!
//! Each group has one player on each node, in a relayed match that the victim's player made, so that the match lives on
//! the victim. The others talk all the time. A message sent to a node that is gone is lost, which is no error. It is an
//! error if a player is never told of the leave, or never receives another's messages again. Each round begins with new
//! players.

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use muster_wire::realtime::envelope::Message;
use muster_wire::realtime::{Envelope, MatchCreate, MatchDataSend, MatchJoin, match_join};
use rustix::process::{Pid, Signal, kill_process};
use tokio::sync::watch;
use tokio::task::JoinSet;

use super::sockets::{self, Player};
use super::talk::player_number;
use super::{Connections, names};
use crate::load::frames::Opcode;
use crate::load::incoming::{self, Incoming, Way};
use crate::load::socket::Sent;
use crate::load::stamp::{Origin, STAMP_LEN, Stamp};
use crate::load::{Fault, envelopes};
use crate::options::Blow;
use crate::plan::Event;
use crate::worker::{Worker, say};

/// Interval of each player's messages.
const BEAT: Duration = Duration::from_millis(20);
/// Loss of messages, counted from the blow, from which on a match counts as interrupted.
const INTERRUPTED_FROM: Duration = Duration::from_millis(100);
/// The pause before the next attempt to reach a node that is coming back.
const RETURN_PAUSE: Duration = Duration::from_millis(200);
/// Player numbers from here on belong to attempts to reach a node.
const SCOUTS_FROM: usize = 1 << 19;

pub async fn run(worker: Rc<Worker>) -> anyhow::Result<Connections> {
    let victim = worker.plan.cluster.victim()?;
    say(&Event::Ready)?;
    worker.wait_for_go().await;
    worker.begin_measuring();
    for round in 0..worker.plan.cluster.rounds {
        let is_last = round + 1 == worker.plan.cluster.rounds;
        if !play_round(&worker, victim, round, is_last).await? {
            break;
        }
    }
    worker.end_measuring();
    say(&Event::Measured)?;
    Ok(Connections::new())
}

/// Plays a round. Answers whether all went well, so that another round can follow.
async fn play_round(worker: &Rc<Worker>, victim: Pid, number: usize, is_last: bool) -> anyhow::Result<bool> {
    let round = Rc::new(Round::new(worker.clone(), number));
    let (over, is_over) = watch::channel(false);
    let (mut witnesses, mut bystanders) = round.gather(&is_over).await?;
    tokio::time::sleep(worker.plan.warmup).await;
    let errors = worker.tally.borrow().errors_total();
    // No other task runs between here and the blow.
    round.struck.set(Some(Instant::now()));
    worker.expect_answers(2 * witnesses.len() as u64);
    let signal = if worker.plan.cluster.blow == Blow::Kill { Signal::KILL } else { Signal::STOP };
    kill_process(victim, signal).context("cannot signal the process of --victim-pid")?;
    worker.drain().await;
    over.send_replace(true);
    if worker.plan.cluster.blow == Blow::Halt {
        kill_process(victim, Signal::CONT).context("cannot let the process of --victim-pid go on")?;
    }
    while witnesses.join_next().await.is_some() {}
    let is_well = worker.tally.borrow().errors_total() == errors;
    if is_last || !is_well {
        return Ok(is_well);
    }
    // The node closes the sockets when it learns that it was voted out; then it joins anew.
    let all_closed = async { while bystanders.join_next().await.is_some() {} };
    tokio::time::timeout(worker.plan.patience, all_closed).await.context("the node did not close its sockets")?;
    round.wait_for_return().await?;
    Ok(true)
}

/// State that the players of a round share.
struct Round {
    worker: Rc<Worker>,
    number: usize,
    /// When the victim was killed or halted.
    struck: Cell<Option<Instant>>,
}

impl Round {
    fn new(worker: Rc<Worker>, number: usize) -> Self {
        Self { worker, number, struck: Cell::default() }
    }

    /// Number of nodes without the last, which is the victim.
    fn survivors(&self) -> usize {
        self.worker.plan.addresses.len() - 1
    }

    /// Lets all groups come. Answers the tasks of the surviving players, and those of the victim's players.
    async fn gather(self: &Rc<Self>, is_over: &watch::Receiver<bool>) -> anyhow::Result<(JoinSet<()>, JoinSet<()>)> {
        let (mut witnesses, mut bystanders) = (JoinSet::new(), JoinSet::new());
        let nodes = self.survivors() + 1;
        for group in 0..self.worker.plan.connections / nodes {
            let first = group * nodes;
            let mut maker = self.arrive(first + self.survivors()).await?;
            let created =
                sockets::ask(&self.worker, &mut maker, Message::MatchCreate(MatchCreate::default()), |_, _| {});
            let Some(Message::Match(made)) = created.await.context("making a match")? else {
                anyhow::bail!("making a match: not a match");
            };
            for index in first..first + self.survivors() {
                let mut player = self.arrive(index).await?;
                let id = Some(match_join::Id::MatchId(made.match_id.clone()));
                let join = Message::MatchJoin(MatchJoin { id, ..MatchJoin::default() });
                let joined =
                    sockets::ask(&self.worker, &mut player, join, |_, _| {}).await.context("joining a match")?;
                anyhow::ensure!(matches!(joined, Some(Message::Match(_))), "joining a match: not a match");
                let witness = Witness::new(self.clone(), index, player.user.to_string(), &made.match_id, &maker);
                witnesses.spawn_local(witness.live(player, is_over.clone()));
            }
            bystanders.spawn_local(wait_for_end(maker));
        }
        Ok((witnesses, bystanders))
    }

    /// Every round has its own players, on the same nodes.
    async fn arrive(&self, index: usize) -> anyhow::Result<Player> {
        let index = index + self.number * self.worker.plan.connections;
        sockets::arrive(&self.worker, index).await.context("a player on the way")
    }

    /// Resolves when the victim takes players again.
    async fn wait_for_return(&self) -> anyhow::Result<()> {
        let nodes = self.survivors() + 1;
        let scout = SCOUTS_FROM.next_multiple_of(nodes) + self.survivors();
        let returned = async {
            while sockets::arrive(&self.worker, scout).await.is_err() {
                tokio::time::sleep(RETURN_PAUSE).await;
            }
        };
        tokio::time::timeout(self.worker.plan.patience, returned).await.context("the node did not come back")
    }
}

/// A player of the victim: however its socket ends is right.
async fn wait_for_end(mut player: Player) {
    while player.reader.receive(&player.writer, |_, _| {}).await.is_ok() {}
}

/// A player of another node.
struct Witness {
    round: Rc<Round>,
    /// Number of the player, unique in the whole run.
    number: u32,
    user: String,
    match_id: String,
    /// The victim's player, who made the match.
    maker: String,
    said: Cell<u32>,
    has_seen_leave: Cell<bool>,
    has_heard: Cell<bool>,
    fault: RefCell<Option<Fault>>,
}

impl Witness {
    fn new(round: Rc<Round>, index: usize, user: String, match_id: &str, maker: &Player) -> Self {
        let number = player_number(&round.worker, index);
        Self {
            round,
            number,
            user,
            match_id: match_id.to_owned(),
            maker: maker.user.to_string(),
            said: Cell::default(),
            has_seen_leave: Cell::default(),
            has_heard: Cell::default(),
            fault: RefCell::default(),
        }
    }

    /// Talks and listens until the round is over.
    async fn live(self, mut player: Player, mut is_over: watch::Receiver<bool>) {
        let mut beat = tokio::time::interval(BEAT);
        let outcome = loop {
            let hear = |opcode, payload: &[u8]| {
                if let Err(fault) = self.hear(opcode, payload) {
                    self.fault.replace(Some(fault));
                }
            };
            let turn = tokio::select! {
                // An error means that nobody waits for this round any more.
                _ = is_over.wait_for(|is_over| *is_over) => break Ok(()),
                received = player.reader.receive(&player.writer, hear) => received.map(|_| ()),
                _ = beat.tick() => self.say(&player),
            };
            if let Some(fault) = turn.err().or_else(|| self.fault.take()) {
                break Err(fault);
            }
        };
        if let Err(fault) = outcome {
            self.round.worker.fail(&fault);
        }
    }

    fn say(&self, player: &Player) -> Result<(), Fault> {
        let worker = &self.round.worker;
        let number = self.said.get() + 1;
        self.said.set(number);
        let stamp =
            Stamp { sender: self.number, number, is_last: false, time_us: worker.clock.time_us(Instant::now()) };
        let origin = Origin { room: self.match_id.as_bytes(), user: self.user.as_bytes() };
        let mut data = Vec::new();
        stamp.write(origin, STAMP_LEN, &mut data);
        let message = Message::MatchDataSend(MatchDataSend {
            match_id: self.match_id.clone(),
            op_code: 1,
            data: data.into(),
            reliable: true,
            ..MatchDataSend::default()
        });
        let mut frame = Vec::new();
        envelopes::write_envelope(worker.plan.format, &Envelope::push(message), &mut frame);
        if player.writer.send_now(&frame)? == Sent::Queued {
            sockets::flush_later(player.writer.clone());
        }
        Ok(())
    }

    fn hear(&self, opcode: Opcode, payload: &[u8]) -> Result<(), Fault> {
        let now = Instant::now();
        match incoming::read(self.round.worker.plan.format, opcode, payload)? {
            Incoming::Said(said) => {
                if said.way != Way::Match || said.origin().room != self.match_id.as_bytes() {
                    return Err(Fault::Wrong("a message for another room"));
                }
                let stamp = Stamp::read(&said.message, said.origin())?;
                self.take_said(now, self.round.worker.clock.moment(stamp.time_us));
                Ok(())
            }
            Incoming::Other(envelope) => match envelope.message {
                Some(Message::MatchPresenceEvent(event)) => {
                    let left = event.leaves.iter().any(|presence| presence.user_id == self.maker);
                    if left { self.take_leave(now) } else { Ok(()) }
                }
                // Requests about a node that is gone may be refused.
                _ => Ok(()),
            },
            Incoming::RoomEvent | Incoming::ChatAck { .. } => Ok(()),
        }
    }

    fn take_leave(&self, now: Instant) -> Result<(), Fault> {
        let Some(struck) = self.round.struck.get() else { return Err(Fault::Wrong("a leave before the blow")) };
        if self.has_seen_leave.replace(true) {
            return Err(Fault::Wrong("a leave that was told twice"));
        }
        let worker = &self.round.worker;
        let after = now - struck;
        {
            let mut tally = worker.tally.borrow_mut();
            tally.ok += 1;
            tally.served += 1;
            tally.latency.record(after);
        }
        worker.note_answer(now, after);
        worker.end_operation();
        Ok(())
    }

    fn take_said(&self, now: Instant, said_at: Instant) {
        let Some(struck) = self.round.struck.get().filter(|struck| said_at >= *struck) else { return };
        if self.has_heard.replace(true) {
            return;
        }
        // The messages in between have not come.
        let is_interrupted = said_at - struck >= INTERRUPTED_FROM;
        let name = if is_interrupted { names::FIRST_MESSAGE } else { names::UNDISTURBED };
        self.round.worker.tally.borrow_mut().record_other(name, now - struck);
        self.round.worker.end_operation();
    }
}
