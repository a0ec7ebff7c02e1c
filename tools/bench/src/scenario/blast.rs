//! `blast`: every connection sends all its pings without waiting, and must get every pong, in order.
//!
//! A latency counts from the moment when the ping was handed to the socket until its pong.

use std::cell::RefCell;
use std::rc::Rc;
use std::time::Instant;

use super::Connections;
use super::sockets::{self, Player, stay};
use crate::load::envelopes::{self, PingAnswer};
use crate::load::frames::Opcode;
use crate::load::socket::{SocketReader, SocketWriter};
use crate::load::{Fault, Format};
use crate::plan::Event;
use crate::worker::{Worker, say};

/// Pings handed to a socket together.
const BATCH_LEN: u32 = 50;

pub async fn run(worker: Rc<Worker>) -> anyhow::Result<Connections> {
    let connections = sockets::let_players_come(&worker, sockets::stand_still, blast).await?;
    say(&Event::Ready)?;
    worker.wait_for_go().await;
    worker.begin_measuring();
    worker.drain_while_answers_come().await;
    worker.end_measuring();
    say(&Event::Measured)?;
    Ok(connections)
}

async fn blast(worker: Rc<Worker>, mut player: Player) {
    // The operations count from the player's arrival on, so that a run is not taken for finished before it began.
    let pings = u64::from(worker.plan.messages);
    worker.begin_operations(pings);
    let ledger = Ledger::new(worker.clone());
    let outcome = exchange(&ledger, &mut player).await;
    let missing = pings - ledger.answered();
    worker.end_operations(missing);
    match outcome {
        Ok(()) => stay(&worker, player).await,
        Err(fault) => worker.tally.borrow_mut().fail_many(fault.to_string(), missing.max(1)),
    }
}

async fn exchange(ledger: &Ledger, player: &mut Player) -> Result<(), Fault> {
    sockets::idle_until_go(&ledger.worker, player).await?;
    let Player { reader, writer, .. } = player;
    if ledger.worker.plan.writes_first {
        write_all(ledger, writer).await?;
        return read_all(ledger, reader, writer).await;
    }
    tokio::try_join!(write_all(ledger, writer), read_all(ledger, reader, writer)).map(|_| ())
}

async fn write_all(ledger: &Ledger, writer: &SocketWriter) -> Result<(), Fault> {
    let plan = &ledger.worker.plan;
    let mut batch = Vec::new();
    let mut next = 1;
    while next <= plan.messages {
        let end = plan.messages.min(next.saturating_add(BATCH_LEN - 1));
        batch.clear();
        for number in next..=end {
            envelopes::write_ping(plan.format, envelopes::cid(number), &mut batch);
        }
        ledger.batches_sent_at.borrow_mut().push(Instant::now());
        writer.send(&batch).await?;
        next = end + 1;
    }
    Ok(())
}

async fn read_all(ledger: &Ledger, reader: &mut SocketReader, writer: &SocketWriter) -> Result<(), Fault> {
    while ledger.answered() < u64::from(ledger.worker.plan.messages) {
        reader.receive(writer, |opcode, payload| ledger.take_answer(opcode, payload)).await?;
    }
    Ok(())
}

/// Pings and pongs of one connection.
struct Ledger {
    worker: Rc<Worker>,
    format: Format,
    answered: std::cell::Cell<u32>,
    batches_sent_at: RefCell<Vec<Instant>>,
}

impl Ledger {
    fn new(worker: Rc<Worker>) -> Self {
        let format = worker.plan.format;
        Self { worker, format, answered: Default::default(), batches_sent_at: RefCell::default() }
    }

    fn answered(&self) -> u64 {
        self.answered.get().into()
    }

    fn take_answer(&self, opcode: Opcode, payload: &[u8]) {
        let index = self.answered.get();
        let outcome = envelopes::check_pong(self.format, opcode, payload, envelopes::cid(index + 1));
        if matches!(outcome, Ok(PingAnswer::Push)) {
            return;
        }
        let sent_at = self.batches_sent_at.borrow().get((index / BATCH_LEN) as usize).copied();
        let outcome = match (outcome, sent_at) {
            (Ok(_), Some(sent_at)) => Ok(sent_at.elapsed()),
            (Ok(_), None) => Err(Fault::Wrong("an answer to nothing")),
            (Err(fault), _) => Err(fault),
        };
        if index < self.worker.plan.messages {
            self.answered.set(index + 1);
            self.worker.end_operations(1);
        }
        if let Ok(latency) = outcome {
            self.worker.note_answer(Instant::now(), latency);
        }
        let mut tally = self.worker.tally.borrow_mut();
        match outcome {
            Ok(latency) => {
                tally.ok += 1;
                tally.served += 1;
                tally.latency.record(latency);
            }
            Err(fault) => tally.fail(&fault),
        }
    }
}
