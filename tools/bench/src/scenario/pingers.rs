//! Sockets that take pings at any time, answered or not, for the open loop of `heartbeat` and `passwords`.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::time::Instant;

use super::Connections;
use super::sockets::{self, Player};
use crate::load::Fault;
use crate::load::envelopes::{self, CID_LEN, PingAnswer};
use crate::load::socket::{Sent, SocketReader, SocketWriter};
use crate::worker::Worker;

/// Called at the end of every ping, with its intended start and whether the right pong came.
type OnOutcome = Box<dyn Fn(&Worker, Instant, Result<(), Fault>)>;

/// All open sockets of a worker.
pub struct Pingers {
    worker: Rc<Worker>,
    all: RefCell<Vec<Rc<Pinger>>>,
    next: Cell<usize>,
    frame: RefCell<Vec<u8>>,
    on_outcome: OnOutcome,
}

struct Pinger {
    writer: Rc<SocketWriter>,
    /// Pings under way, oldest first, since pongs come in order.
    under_way: RefCell<VecDeque<Ping>>,
    number: Cell<u32>,
    is_open: Cell<bool>,
}

struct Ping {
    cid: [u8; CID_LEN],
    intended: Instant,
}

impl Pingers {
    /// `on_outcome` must end the operation: see [`Worker::end_operation`].
    pub fn new(worker: Rc<Worker>, on_outcome: impl Fn(&Worker, Instant, Result<(), Fault>) + 'static) -> Rc<Self> {
        Rc::new(Self {
            worker,
            all: RefCell::default(),
            next: Cell::default(),
            frame: RefCell::default(),
            on_outcome: Box::new(on_outcome),
        })
    }

    /// Opens the worker's sockets.
    pub async fn let_players_come(self: &Rc<Self>) -> anyhow::Result<Connections> {
        let pingers = self.clone();
        let live = move |_, player| {
            let pingers = pingers.clone();
            async move { pingers.attend(player).await }
        };
        sockets::let_players_come(&self.worker, sockets::stand_still, live).await
    }

    /// Sends a ping on the next open socket. Answers false if there is none left.
    pub fn ping(&self, intended: Instant) -> bool {
        self.worker.begin_operation();
        let Some(pinger) = self.next_open() else {
            (self.on_outcome)(&self.worker, intended, Err(Fault::Closed));
            return false;
        };
        pinger.number.set(pinger.number.get() + 1);
        let cid = envelopes::cid(pinger.number.get());
        pinger.under_way.borrow_mut().push_back(Ping { cid, intended });
        let mut frame = self.frame.borrow_mut();
        frame.clear();
        envelopes::write_ping(self.worker.plan.format, cid, &mut frame);
        match pinger.writer.send_now(&frame) {
            Ok(Sent::Whole) => {}
            Ok(Sent::Queued) => sockets::flush_later(pinger.writer.clone()),
            // The reader sees the same end, and accounts for the pings under way.
            Err(_) => pinger.is_open.set(false),
        }
        true
    }

    fn next_open(&self) -> Option<Rc<Pinger>> {
        let all = self.all.borrow();
        (0..all.len()).find_map(|_| {
            let index = self.next.get();
            self.next.set((index + 1) % all.len());
            all[index].is_open.get().then(|| all[index].clone())
        })
    }

    /// Takes the pongs of one socket until it ends.
    async fn attend(&self, player: Player) {
        let Player { mut reader, writer, .. } = player;
        let pinger = Rc::new(Pinger {
            writer,
            under_way: RefCell::default(),
            number: Cell::default(),
            is_open: Cell::new(true),
        });
        self.all.borrow_mut().push(pinger.clone());
        let fault = self.take_pongs(&pinger, &mut reader).await;
        pinger.is_open.set(false);
        let lost = pinger.under_way.take();
        if lost.is_empty() {
            self.worker.fail(&fault);
        }
        for ping in lost {
            (self.on_outcome)(&self.worker, ping.intended, Err(Fault::Closed));
        }
    }

    async fn take_pongs(&self, pinger: &Pinger, reader: &mut SocketReader) -> Fault {
        let format = self.worker.plan.format;
        loop {
            let received = reader.receive(&pinger.writer, |opcode, payload| {
                let due = pinger.under_way.borrow().front().map_or([0; CID_LEN], |ping| ping.cid);
                let outcome = match envelopes::check_pong(format, opcode, payload, due) {
                    Ok(PingAnswer::Push) => return,
                    Ok(PingAnswer::Pong) => Ok(()),
                    Err(fault) => Err(fault),
                };
                match (pinger.under_way.borrow_mut().pop_front(), outcome) {
                    (Some(ping), outcome) => (self.on_outcome)(&self.worker, ping.intended, outcome),
                    (None, _) => self.worker.fail(&Fault::Wrong("an answer to nothing")),
                }
            });
            if let Err(fault) = received.await {
                return fault;
            }
        }
    }
}
