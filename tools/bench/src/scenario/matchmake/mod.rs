//! `matchmake`: tickets arrive by the clock, wait for opponents, and are matched; matched players come again.
//!
//! A latency is a ticket's wait: from its intended arrival until its player is told of the match. Every player checks
//! its match against its ticket. In the end no two waiting tickets may be compatible.

mod wish;

use std::cell::{Cell, RefCell};
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::rc::Rc;
use std::time::Instant;

use muster_wire::realtime::envelope::Message;
use muster_wire::realtime::{Envelope, MatchmakerMatched};

use self::wish::{Wish, user_id};
use super::sockets::{self, ArrivingPlayer, Player};
use super::{Connections, LOOK_INTERVAL, names};
use crate::load::frames::Opcode;
use crate::load::incoming::{self, Incoming};
use crate::load::socket::{Sent, SocketWriter};
use crate::load::{Fault, envelopes};
use crate::options::TICKETS_PER_SESSION;
use crate::pacing::{Arrivals, run_arrivals};
use crate::plan::Event;
use crate::worker::{Worker, say};

pub async fn run(worker: Rc<Worker>) -> anyhow::Result<Connections> {
    let pool = Rc::new(Pool::new(worker.clone()));
    let (enter, live) = (pool.clone(), pool.clone());
    let connections = sockets::let_players_come(
        &worker,
        async move |player, arrival| enter.enter(player, arrival).await,
        move |_, (player, seeker)| live.clone().attend(player, seeker),
    )
    .await?;
    say(&Event::Ready)?;
    let window = worker.wait_for_go().await;
    let rate = worker.plan.rate.unwrap_or(1.0);
    let arrivals = Arrivals::new(window.begin, rate, worker.plan.spread, worker.plan.seed);
    let adding = run_arrivals(arrivals, window.measure_to, |intended| {
        worker.begin_operation();
        pool.due.borrow_mut().push_back(intended);
        pool.add_due();
        true
    });
    let (measured, added) = tokio::join!(worker.measure_window(window), adding);
    measured.and(added)?;
    pool.settle().await;
    Ok(connections)
}

/// All players of a worker.
struct Pool {
    worker: Rc<Worker>,
    seekers: RefCell<Vec<Rc<Seeker>>>,
    users: RefCell<BTreeSet<String>>,
    idle: RefCell<VecDeque<Rc<Seeker>>>,
    /// Tickets that wait for an idle player.
    due: RefCell<VecDeque<Instant>>,
    /// Matches by their members: number of members in this process that were told of the match, and number of members
    /// here.
    told: RefCell<HashMap<Vec<String>, (usize, usize)>>,
    standing_left: Cell<usize>,
}

struct Seeker {
    writer: Rc<SocketWriter>,
    user: String,
    /// Whether its tickets wait throughout the run.
    is_standing: bool,
    is_open: Cell<bool>,
    ticket: RefCell<Option<Ticket>>,
    /// Number of its latest ticket, which is the cid of the request.
    number: Cell<u32>,
}

struct Ticket {
    wish: Wish,
    intended: Instant,
    /// The ticket's id; unknown until the server has answered.
    id: Option<String>,
}

impl Pool {
    fn new(worker: Rc<Worker>) -> Self {
        let standing_left = Cell::new(worker.plan.standing);
        Self {
            worker,
            seekers: RefCell::default(),
            users: RefCell::default(),
            idle: RefCell::default(),
            due: RefCell::default(),
            told: RefCell::default(),
            standing_left,
        }
    }

    async fn enter(&self, mut player: Player, _: ArrivingPlayer) -> Result<(Player, Rc<Seeker>), Fault> {
        let standing = self.standing_left.get().min(TICKETS_PER_SESSION);
        self.standing_left.set(self.standing_left.get() - standing);
        let mut early = Vec::new();
        for _ in 0..standing {
            let request = Message::MatchmakerAdd(Wish::standing().request());
            let keep = |opcode, payload: &[u8]| early.push((opcode, payload.to_vec()));
            match sockets::ask(&self.worker, &mut player, request, keep).await? {
                Some(Message::MatchmakerTicket(_)) => {}
                _ => return Err(Fault::Wrong("not a ticket")),
            }
        }
        let seeker = Rc::new(Seeker {
            writer: player.writer.clone(),
            user: player.user.to_string(),
            is_standing: standing > 0,
            is_open: Cell::new(true),
            ticket: RefCell::default(),
            number: Cell::default(),
        });
        early.iter().for_each(|(opcode, payload)| self.hear(&seeker, *opcode, payload));
        self.users.borrow_mut().insert(seeker.user.clone());
        self.seekers.borrow_mut().push(seeker.clone());
        if !seeker.is_standing {
            self.idle.borrow_mut().push_back(seeker.clone());
        }
        Ok((player, seeker))
    }

    async fn attend(self: Rc<Self>, mut player: Player, seeker: Rc<Seeker>) {
        let fault = loop {
            let hear = |opcode, payload: &[u8]| self.hear(&seeker, opcode, payload);
            if let Err(fault) = player.reader.receive(&player.writer, hear).await {
                break fault;
            }
        };
        seeker.is_open.set(false);
        self.worker.end_operations(seeker.ticket.take().iter().len() as u64);
        self.worker.fail(&fault);
    }

    /// Adds the tickets that are due, as far as players are idle.
    fn add_due(&self) {
        loop {
            let Some(seeker) = self.idle.borrow_mut().pop_front() else { return };
            if !seeker.is_open.get() {
                continue;
            }
            let Some(intended) = self.due.borrow_mut().pop_front() else {
                return self.idle.borrow_mut().push_front(seeker);
            };
            self.add(&seeker, intended);
        }
    }

    fn add(&self, seeker: &Seeker, intended: Instant) {
        let wish = Wish::new(self.worker.plan.matchmake.duels, &mut self.worker.random.borrow_mut());
        seeker.number.set(seeker.number.get() + 1);
        let request = Message::MatchmakerAdd(wish.request());
        *seeker.ticket.borrow_mut() = Some(Ticket { wish, intended, id: None });
        let mut frame = Vec::new();
        let envelope = Envelope::reply(seeker.number.get().to_string(), request);
        envelopes::write_envelope(self.worker.plan.format, &envelope, &mut frame);
        // The reader reports a lost connection.
        if let Ok(Sent::Queued) = seeker.writer.send_now(&frame) {
            sockets::flush_later(seeker.writer.clone());
        }
    }

    fn hear(&self, seeker: &Rc<Seeker>, opcode: Opcode, payload: &[u8]) {
        let outcome = match incoming::read(self.worker.plan.format, opcode, payload) {
            Ok(Incoming::Other(envelope)) => self.take(seeker, *envelope),
            Ok(_) => Ok(()),
            Err(fault) => Err(fault),
        };
        if let Err(fault) = outcome {
            self.worker.fail(&fault);
        }
    }

    fn take(&self, seeker: &Rc<Seeker>, envelope: Envelope) -> Result<(), Fault> {
        match envelope.message {
            Some(Message::Error(error)) => {
                // The error may be about any request; the ticket under way will get no answer.
                self.worker.end_operations(seeker.ticket.take().iter().len() as u64);
                Err(Fault::Refused(error.code))
            }
            Some(Message::MatchmakerTicket(answer)) => {
                let mut ticket = seeker.ticket.borrow_mut();
                let ticket = ticket.as_mut().filter(|ticket| ticket.id.is_none());
                let is_asked = envelope.cid == seeker.number.get().to_string();
                let ticket = ticket.filter(|_| is_asked).ok_or(Fault::Wrong("cid of another request"))?;
                ticket.id = Some(answer.ticket);
                self.worker.tally.borrow_mut().record_other(names::TICKET, ticket.intended.elapsed());
                Ok(())
            }
            Some(Message::MatchmakerMatched(matched)) => self.take_match(seeker, &matched),
            _ => Ok(()),
        }
    }

    fn take_match(&self, seeker: &Rc<Seeker>, matched: &MatchmakerMatched) -> Result<(), Fault> {
        if seeker.is_standing {
            return Err(Fault::Wrong("a standing ticket was matched"));
        }
        let is_own = |ticket: &mut Ticket| ticket.id.as_ref() == Some(&matched.ticket);
        let Some(ticket) = seeker.ticket.borrow_mut().take_if(is_own) else {
            return Err(Fault::Wrong("a match for a ticket that does not wait"));
        };
        let outcome = ticket.wish.check(&seeker.user, matched);
        self.note_told(matched);
        self.worker.record_open(ticket.intended, outcome);
        self.idle.borrow_mut().push_back(seeker.clone());
        self.add_due();
        Ok(())
    }

    /// Remembers a match until all its members in this process have been told of it.
    fn note_told(&self, matched: &MatchmakerMatched) {
        let mut members: Vec<String> = matched.users.iter().map(|user| user_id(user).to_owned()).collect();
        members.sort_unstable();
        let users = self.users.borrow();
        let here = members.iter().filter(|member| users.contains(*member)).count();
        let mut told = self.told.borrow_mut();
        let (count, of) = told.remove(&members).unwrap_or((0, here));
        if count + 1 < of {
            told.insert(members, (count + 1, of));
        }
    }

    /// Waits for the last matches, with the plan's patience. Tickets that are compatible with no other may go on
    /// waiting.
    async fn settle(&self) {
        let is_settled = || self.seekers.borrow().iter().all(|seeker| seeker.ticket.borrow().is_none());
        let deadline = Instant::now() + self.worker.plan.patience;
        while !(is_settled() && self.due.borrow().is_empty()) && Instant::now() < deadline {
            tokio::time::sleep(LOOK_INTERVAL).await;
        }
        let never_added = self.due.take().len() as u64;
        let seekers = self.seekers.borrow();
        let waiting: Vec<Ticket> = seekers.iter().filter_map(|seeker| seeker.ticket.take()).collect();
        self.worker.end_operations(never_added + waiting.len() as u64);
        let unanswered = waiting.iter().filter(|ticket| ticket.id.is_none()).count() as u64;
        let has_partner = |index: usize| {
            let fits =
                |(other, ticket): (usize, &Ticket)| other != index && ticket.wish.is_compatible(&waiting[index].wish);
            waiting.iter().enumerate().any(fits)
        };
        let forgotten = (0..waiting.len()).filter(|index| has_partner(*index)).count() as u64;
        let mut tally = self.worker.tally.borrow_mut();
        tally.count(names::UNMATCHED, waiting.len() as u64);
        tally.fail_many("no player was free for a ticket".to_owned(), never_added);
        tally.fail_many(Fault::Unanswered.to_string(), unanswered);
        tally.fail_many("tickets that fit each other were left waiting".to_owned(), forgotten);
        let untold = self.told.borrow().values().map(|(count, of)| (of - count) as u64).sum();
        tally.fail_many("a member was not told of its match".to_owned(), untold);
    }
}
