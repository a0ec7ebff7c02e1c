//! The attacker's side: accounts from one address that do one thing over and over.
//!
//! Each attacker takes a first step, which must succeed; the attack begins when all have. From then on whatever the
//! server does is right: what it carries out and what it refuses is counted, and the attacker goes on.

use std::cell::Cell;
use std::convert::Infallible;
use std::rc::Rc;
use std::time::Duration;

use anyhow::bail;
use tokio::sync::{Mutex, Notify};
use tokio::task::JoinSet;

use super::{flood, lines, requesting};
use crate::load::Fault;
use crate::options::Kind;
use crate::plan::Event;
use crate::scenario::{Connections, names};
use crate::worker::{Worker, say};

/// The pause behind a connection that was refused or closed, so that the attacker's own process is not the bottleneck.
const PAUSE: Duration = Duration::from_millis(20);

/// How an attack by one account ends: before its first step with a fault, and afterwards not at all.
pub type Attack = Result<Infallible, Fault>;

/// State that all attackers share.
pub struct Raid {
    pub worker: Rc<Worker>,
    pub kind: Kind,
    /// Held by an attacker that takes its first step, where several at once would be refused.
    pub first_step: Mutex<()>,
    ready_count: Cell<usize>,
    one_is_ready: Notify,
}

pub async fn run(worker: Rc<Worker>, kind: Kind) -> anyhow::Result<Connections> {
    let raid = Rc::new(Raid {
        worker,
        kind,
        first_step: Mutex::new(()),
        ready_count: Cell::default(),
        one_is_ready: Notify::new(),
    });
    let worker = &raid.worker;
    let mut attackers = JoinSet::new();
    for index in 0..worker.plan.connections {
        attackers.spawn_local(attack(raid.clone(), index));
    }
    let allowed = tokio::time::sleep(worker.plan.patience);
    tokio::select! {
        () = raid.all_ready(attackers.len()) => {}
        Some(ended) = attackers.join_next() => match ended? {
            Err(fault) => bail!("its first step failed: {fault}"),
        },
        () = allowed => bail!("its first step got no answer in time"),
    }
    say(&Event::Ready)?;
    worker.wait_for_go().await;
    worker.begin_measuring();
    // An error means that the coordinator is gone.
    let _ = worker.part.clone().wait_for(|part| part.is_over).await;
    worker.end_measuring();
    drop(attackers);
    Ok(Connections::new())
}

async fn attack(raid: Rc<Raid>, index: usize) -> Attack {
    match raid.kind {
        Kind::Chat
        | Kind::Requests
        | Kind::Functions
        | Kind::Pings
        | Kind::Frames
        | Kind::History
        | Kind::Tickets
        | Kind::Parties
        | Kind::Lobby
        | Kind::SlowReaders => flood::attack(raid, index).await,
        // Each third attacker searches for rooms; the others list matches and parties.
        Kind::Filters if index.is_multiple_of(3) => flood::attack(raid, index).await,
        Kind::Filters
        | Kind::Seats
        | Kind::Http
        | Kind::Storage
        | Kind::Accounts
        | Kind::Registrations
        | Kind::SignIns
        | Kind::Passwords
        | Kind::Tokens => requesting::attack(raid, index).await,
        Kind::UnreadAnswers | Kind::Connections | Kind::Handshakes => lines::attack(raid, index).await,
    }
}

impl Raid {
    async fn all_ready(&self, count: usize) {
        while self.ready_count.get() < count {
            self.one_is_ready.notified().await;
        }
    }

    /// Tells that an attacker's first step has succeeded, and waits until the attack begins.
    pub async fn begin(&self) {
        self.ready_count.set(self.ready_count.get() + 1);
        self.one_is_ready.notify_one();
        self.worker.wait_for_go().await;
    }

    /// Counts steps that the server carried out.
    pub fn done(&self, count: u64) {
        self.worker.tally.borrow_mut().count(names::DONE, count);
        self.worker.end_operations(count);
    }

    /// Counts a step that the server refused.
    pub fn refused(&self, reason: String) {
        self.worker.tally.borrow_mut().fail_many(reason, 1);
    }

    /// Counts a step that the server refused by closing its connection, or by not taking it. Rests for a moment.
    pub async fn cut_off(&self, fault: &Fault) {
        self.refused(fault.to_string());
        tokio::time::sleep(PAUSE).await;
    }
}
