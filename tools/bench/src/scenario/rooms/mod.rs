//! `rooms` and `churn`: players come at a rate, are put into rooms of 3 to 8, say something every four seconds, stay
//! for the measured part, and leave at a rate.
//!
//! A latency is that of a delivery: from the intended start of the message until a receiver has it. Since everybody
//! talks once a period, a receiver knows which messages should have come by now, even from senders of other processes.

mod board;
mod churn;
mod contract;
mod metronome;
mod resident;

use std::cell::{Cell, RefCell};
use std::rc::Rc;
use std::time::{Duration, Instant};

use muster_wire::realtime::envelope::Message;
use tokio::task::JoinSet;

use self::board::Board;
use self::metronome::Metronome;
use self::resident::{Order, Place, Resident};
use super::sockets::{self, ArrivingPlayer, Player};
use super::{Connections, LOOK_INTERVAL, names, talk};
use crate::load::Fault;
use crate::load::frames::Opcode;
use crate::options::Via;
use crate::pacing::{Arrivals, Spread, run_arrivals};
use crate::plan::{Event, Window};
use crate::worker::{Worker, say};

pub async fn run(worker: Rc<Worker>) -> anyhow::Result<Connections> {
    let hall = Rc::new(Hall::new(worker.clone()));
    worker.tally.borrow_mut().count(names::DROPS, 0);
    say(&Event::Ready)?;
    let window = worker.wait_for_go().await;
    let (connections, (), (), (), ()) = tokio::try_join!(
        hall.clone().let_first_players_come(),
        async { Ok(hall.metronome.run(window.measure_to, |resident, at| resident.say(&hall, at, false)).await?) },
        churn::run(&hall, window),
        async { Ok(worker.measure_window(window).await?) },
        hall.check_arrivals(window),
    )?;
    worker.tally.borrow_mut().count(names::ROOMS, hall.board.rooms_len() as u64);
    hall.settle_all(window.measure_to).await;
    hall.let_all_leave().await?;
    Ok(connections)
}

/// State that the players of a worker share.
pub struct Hall {
    worker: Rc<Worker>,
    board: Board,
    metronome: Metronome,
    residents: RefCell<Vec<Rc<Resident>>>,
    /// Players who came after the first ones.
    newcomers: RefCell<JoinSet<()>>,
    next_index: Cell<usize>,
    /// Number of newcomers on their way.
    coming: Cell<usize>,
    first_have_come: Cell<bool>,
}

/// Messages that came before the answer that tells the player's room.
type Early = Vec<(Opcode, Vec<u8>)>;

impl Hall {
    fn new(worker: Rc<Worker>) -> Self {
        let each = worker.plan.talk.each(worker.plan.scenario).unwrap_or(1.0);
        let period = Duration::try_from_secs_f64(1.0 / each).unwrap_or(Duration::MAX);
        let next_index = Cell::new(worker.plan.connections);
        Self {
            worker,
            board: Board::default(),
            metronome: Metronome::new(period),
            residents: RefCell::default(),
            newcomers: RefCell::default(),
            next_index,
            coming: Cell::default(),
            first_have_come: Cell::default(),
        }
    }

    async fn let_first_players_come(self: Rc<Self>) -> anyhow::Result<Connections> {
        let (enter, live) = (self.clone(), self.clone());
        let connections = sockets::let_players_come(
            &self.worker,
            async move |player, arrival| enter.enter(player, arrival).await,
            move |_, (player, resident)| live.clone().live(player, resident),
        )
        .await?;
        self.first_have_come.set(true);
        Ok(connections)
    }

    /// Checks that every player has arrived before the measured part begins.
    async fn check_arrivals(&self, window: Window) -> anyhow::Result<()> {
        tokio::time::sleep_until(window.measure_from.into()).await;
        if !self.first_have_come.get() {
            let reason = "players were still coming when the measured part began: raise --warmup".to_owned();
            self.worker.tally.borrow_mut().fail_many(reason, 1);
        }
        Ok(())
    }

    /// Puts a player into a room.
    async fn enter(&self, mut player: Player, arrival: ArrivingPlayer) -> Result<(Player, Rc<Resident>), Fault> {
        let number = talk::player_number(&self.worker, arrival.index);
        let mut early = Vec::new();
        let place = self.place(&mut player, arrival.index, &mut early).await?;
        let capacity = place.capacity;
        let joined = Instant::now();
        let joined_us = self.worker.clock.time_us(joined);
        let lane = self.worker.endpoints.lane(arrival.index);
        let resident = Rc::new(Resident::new(&player, number, lane, place, joined_us));
        self.meet(&resident, joined, capacity)?;
        for (opcode, payload) in early {
            resident.hear(self, opcode, &payload);
        }
        self.worker.tally.borrow_mut().record_other(names::ARRIVAL, arrival.intended.elapsed());
        Ok((player, resident))
    }

    /// Asks for a room. Messages that come before the answer are kept in `early`.
    async fn place(&self, player: &mut Player, index: usize, early: &mut Early) -> Result<Place, Fault> {
        let talk = &self.worker.plan.talk;
        let keep = |opcode, payload: &[u8]| early.push((opcode, payload.to_vec()));
        if talk.via == Via::Rooms {
            let request = contract::place_request(&talk.template, talk.room_size);
            let answer = sockets::ask(&self.worker, player, request, keep).await?;
            let placed = contract::read_placed(answer)?;
            return Ok(Place { room: placed.id, seat: None, capacity: placed.capacity });
        }
        let lane = self.worker.endpoints.lane(index);
        let (name, capacity) = {
            let mut random = self.worker.random.borrow_mut();
            let name = |number| format!("bench-{:016x}-{number}", self.worker.plan.seed);
            self.board.take_seat(lane, talk.room_size, &mut random, name)
        };
        let request = talk::channel_join(&name, talk.persistent);
        match sockets::ask(&self.worker, player, request, keep).await {
            Ok(Some(Message::Channel(channel))) if channel.room_name == name => {
                Ok(Place { room: channel.id, seat: Some(name), capacity })
            }
            failed => {
                self.board.free_seat(&name);
                failed.and(Err(Fault::Wrong("not the channel asked for")))
            }
        }
    }

    /// Lets the resident talk from now on, and the others in the room expect its messages.
    fn meet(&self, resident: &Rc<Resident>, joined: Instant, capacity: usize) -> Result<(), Fault> {
        // The random wait keeps those who come together from talking together.
        let wait = self.metronome.period().mul_f64(self.worker.random.borrow_mut().f64());
        let period_before = joined.checked_sub(self.metronome.period() - wait).unwrap_or(joined);
        resident.begin_at(self.worker.clock.time_us(period_before));
        let others = self.board.enter(resident);
        // A resident who is about to leave may still have its seat.
        if others.iter().filter(|other| other.is_healthy()).count() >= capacity {
            self.board.leave(resident);
            return Err(Fault::Wrong("more players than seats"));
        }
        for other in &others {
            resident.expect(other);
            other.expect(resident);
        }
        if contract::SENDERS_HEAR_THEMSELVES {
            resident.expect(resident);
        }
        self.metronome.add(resident.clone(), period_before + self.metronome.period());
        self.residents.borrow_mut().push(resident.clone());
        Ok(())
    }

    /// The life of a resident, until it goes.
    async fn live(self: Rc<Self>, mut player: Player, resident: Rc<Resident>) {
        let order = loop {
            let hear = |opcode, payload: &[u8]| resident.hear(&self, opcode, payload);
            tokio::select! {
                received = player.reader.receive(&player.writer, hear) => if let Err(fault) = received {
                    return self.count_drop(&resident, &fault);
                },
                () = resident.ordered.notified() => break resident.order.get(),
            }
        };
        self.metronome.remove(&resident);
        if order != Order::Close {
            let now = Instant::now();
            resident.say(&self, now, true);
            let acknowledged = tokio::time::timeout(self.worker.plan.patience, self.hear_out(&mut player, &resident));
            if let Err(fault) = acknowledged.await.unwrap_or(Err(Fault::Unanswered)) {
                return self.count_drop(&resident, &fault);
            }
            resident.settle(&self, now);
        }
        self.forget(&resident);
        match order {
            Order::Vanish | Order::StopReading => churn::be_ill(&self, player, &resident, order).await,
            Order::Stay | Order::Leave | Order::Close => self.close(player, &resident).await,
        }
    }

    /// Receives until all messages of the resident are acknowledged.
    async fn hear_out(&self, player: &mut Player, resident: &Resident) -> Result<(), Fault> {
        while resident.unacknowledged() > 0 {
            let hear = |opcode, payload: &[u8]| resident.hear(self, opcode, payload);
            player.reader.receive(&player.writer, hear).await?;
        }
        Ok(())
    }

    async fn close(&self, mut player: Player, resident: &Resident) {
        resident.send_close();
        let closed = async { while player.reader.receive(&player.writer, |_, _| {}).await.is_ok() {} };
        if tokio::time::timeout(self.worker.plan.patience, closed).await.is_err() {
            self.worker.fail(&Fault::Unanswered);
        }
    }

    fn count_drop(&self, resident: &Rc<Resident>, fault: &Fault) {
        self.worker.end_operations(resident.unacknowledged());
        {
            let mut tally = self.worker.tally.borrow_mut();
            tally.count(names::DROPS, 1);
            tally.fail_many(format!("dropped: {fault}"), 1);
        }
        self.forget(resident);
    }

    fn forget(&self, resident: &Rc<Resident>) {
        self.metronome.remove(resident);
        self.board.leave(resident);
        if let Some(seat) = &resident.seat {
            self.board.free_seat(seat);
        }
        self.residents.borrow_mut().retain(|other| other.number != resident.number);
    }

    /// Waits until all messages have come everywhere, for the plan's patience at most. The rest is lost.
    async fn settle_all(&self, end: Instant) {
        let end_us = self.worker.clock.time_us(end);
        let period = self.metronome.period();
        let has_all = |residents: &[Rc<Resident>]| {
            residents.iter().filter(|resident| resident.is_healthy()).all(|one| one.has_all_before(end_us, period))
        };
        let settled = async {
            while self.coming.get() > 0 || !has_all(&self.residents.borrow()) {
                tokio::time::sleep(LOOK_INTERVAL).await;
            }
        };
        // Missing messages are counted below.
        let _ = tokio::time::timeout(self.worker.plan.patience, settled).await;
        let residents = self.residents.borrow();
        let healthy = residents.iter().filter(|resident| resident.is_healthy());
        let lost = healthy.map(|resident| resident.lost_before(end_us, period)).sum();
        self.worker.tally.borrow_mut().fail_many(Fault::MessageLost.to_string(), lost);
    }

    /// Lets everybody leave at the plan's rate, which ends the run.
    async fn let_all_leave(&self) -> anyhow::Result<()> {
        self.worker.drain().await;
        let leaving: Vec<_> = self.residents.borrow().iter().filter(|one| one.is_healthy()).cloned().collect();
        let mut leaving = leaving.into_iter();
        let begin = Instant::now();
        let departures = Arrivals::new(begin, self.worker.plan.leave_rate, Spread::Fixed, self.worker.plan.seed);
        let far_off = begin + Duration::from_secs(24 * 3600);
        run_arrivals(departures, far_off, |_| leaving.next().inspect(|one| one.order(Order::Close)).is_some()).await?;
        let gone = async {
            while !self.residents.borrow().is_empty() {
                tokio::time::sleep(LOOK_INTERVAL).await;
            }
        };
        if tokio::time::timeout(self.worker.plan.patience, gone).await.is_err() {
            self.worker.fail(&Fault::Unanswered);
        }
        Ok(())
    }
}
