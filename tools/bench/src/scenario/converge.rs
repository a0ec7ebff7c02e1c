//! `converge`: groups of players of all nodes join one stream after the other, and on each node a watcher follows the
//! streams of each group. An operation is a presence: its latency counts from the intended join until every node has
//! shown it.

use std::cell::{Cell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::time::Instant;

use anyhow::Context as _;
use muster_wire::realtime::Envelope;
use muster_wire::realtime::envelope::Message;
use uuid::Uuid;

use super::Connections;
use super::sockets::{self, Player};
use super::talk::channel_join;
use crate::load::frames::Opcode;
use crate::load::incoming::{self, Incoming};
use crate::load::socket::{Sent, SocketWriter};
use crate::load::{Fault, envelopes};
use crate::pacing::{Arrivals, run_arrivals};
use crate::plan::{Event, Plan};
use crate::worker::{Worker, say};

/// Most nodes: each watcher has a bit of its own.
const NODES_MAX: usize = 64;

pub async fn run(worker: Rc<Worker>) -> anyhow::Result<Connections> {
    let field = Rc::new(Field::new(worker.clone()));
    let live = {
        let field = field.clone();
        move |_, (player, index)| field.clone().stay(player, index)
    };
    let enter = async |player, arrival: sockets::ArrivingPlayer| Ok((player, arrival.index));
    let mut connections = sockets::let_players_come(&worker, enter, live).await?;
    field.post_watchers(&mut connections).await?;
    say(&Event::Ready)?;
    let window = worker.wait_for_go().await;
    let arrivals = Arrivals::new(window.begin, rate(&worker.plan), worker.plan.spread, worker.plan.seed);
    let joining = run_arrivals(arrivals, window.measure_to, |intended| field.join_next(intended));
    let (measured, joined) = tokio::join!(worker.measure_window(window), joining);
    measured.and(joined)?;
    worker.drain().await;
    Ok(connections)
}

fn rate(plan: &Plan) -> f64 {
    plan.rate.unwrap_or(1.0)
}

/// Number of streams per group. Every player joins every stream of its group once; the number suffices for the whole
/// run, with some to spare.
fn rounds(plan: &Plan) -> usize {
    let joins = rate(plan) * (plan.lead() + plan.duration).as_secs_f64() * 1.2;
    (joins / plan.connections as f64).ceil() as usize + 1
}

/// Number of groups; the last may be smaller.
fn groups(plan: &Plan) -> usize {
    plan.connections.div_ceil(group_len(plan))
}

fn group_len(plan: &Plan) -> usize {
    plan.talk.room_size.unwrap_or(plan.connections).min(plan.connections)
}

/// State that players and watchers of a worker share.
struct Field {
    worker: Rc<Worker>,
    /// Names of the streams, which are chat rooms: one for each round and group.
    names: Vec<String>,
    /// Indices of the streams, by the ids that the server gives them.
    numbers: RefCell<HashMap<String, usize>>,
    /// Writers of the players, by index; those of players who have gone are missing.
    players: RefCell<Vec<Option<Rc<SocketWriter>>>>,
    joins: Cell<usize>,
    /// Presences that some watcher has not been shown yet, by stream and user.
    untold: RefCell<HashMap<(usize, Uuid), Untold>>,
    users: RefCell<Vec<Uuid>>,
}

struct Untold {
    intended: Instant,
    /// Bits of the watchers that were shown the presence.
    shown_by: u64,
}

impl Field {
    fn new(worker: Rc<Worker>) -> Self {
        let name = |number| format!("bench-{:016x}-{number}", worker.plan.seed);
        let names = (0..rounds(&worker.plan) * groups(&worker.plan)).map(name).collect();
        let players = RefCell::new(vec![None; worker.plan.connections]);
        let users = RefCell::new(vec![Uuid::nil(); worker.plan.connections]);
        Self {
            worker,
            names,
            numbers: RefCell::default(),
            players,
            joins: Cell::default(),
            untold: RefCell::default(),
            users,
        }
    }

    /// Reads until the socket ends. A player's events about others are only load; watchers check them.
    async fn stay(self: Rc<Self>, mut player: Player, index: usize) {
        self.players.borrow_mut()[index] = Some(player.writer.clone());
        self.users.borrow_mut()[index] = player.user;
        let fault = loop {
            if let Err(fault) = player.reader.receive(&player.writer, |_, _| {}).await {
                break fault;
            }
        };
        self.players.borrow_mut()[index] = None;
        self.worker.fail(&fault);
    }

    /// Makes the watchers, one of each group on each node, and has them join all streams before anybody else.
    async fn post_watchers(self: &Rc<Self>, connections: &mut Connections) -> anyhow::Result<()> {
        let nodes = self.worker.plan.addresses.len();
        anyhow::ensure!(nodes <= NODES_MAX, "at most {NODES_MAX} nodes are watched");
        let (first, groups) = (self.worker.plan.connections.next_multiple_of(nodes), groups(&self.worker.plan));
        for watcher in 0..nodes * groups {
            let mut player = sockets::arrive(&self.worker, first + watcher).await.context("a watcher")?;
            for (number, name) in self.names.iter().enumerate().skip(watcher / nodes).step_by(groups) {
                let request = channel_join(name, false);
                match sockets::ask(&self.worker, &mut player, request, |_, _| {}).await.context("a watcher")? {
                    Some(Message::Channel(channel)) => drop(self.numbers.borrow_mut().insert(channel.id, number)),
                    _ => anyhow::bail!("a watcher: not the channel asked for"),
                }
            }
            connections.spawn_local(self.clone().watch(player, watcher % nodes));
        }
        Ok(())
    }

    async fn watch(self: Rc<Self>, mut player: Player, node: usize) {
        let fault = loop {
            let see = |opcode, payload: &[u8]| {
                if let Err(fault) = self.see(node, opcode, payload) {
                    self.worker.fail(&fault);
                }
            };
            if let Err(fault) = player.reader.receive(&player.writer, see).await {
                break fault;
            }
        };
        self.worker.fail(&fault);
    }

    fn see(&self, node: usize, opcode: Opcode, payload: &[u8]) -> Result<(), Fault> {
        let Incoming::Other(envelope) = incoming::read(self.worker.plan.format, opcode, payload)? else {
            return Ok(());
        };
        match envelope.message {
            Some(Message::ChannelPresenceEvent(event)) => {
                let number = self.numbers.borrow().get(&event.channel_id).copied();
                let number = number.ok_or(Fault::Wrong("an event of another channel"))?;
                event.joins.iter().try_for_each(|presence| self.see_join(node, number, &presence.user_id))
            }
            Some(Message::Error(error)) => Err(Fault::Refused(error.code)),
            _ => Ok(()),
        }
    }

    fn see_join(&self, node: usize, number: usize, user: &str) -> Result<(), Fault> {
        let user = Uuid::try_parse(user).map_err(|_| Fault::Wrong("id of a user"))?;
        let mut untold = self.untold.borrow_mut();
        // Watchers are also told of each other.
        let Some(presence) = untold.get_mut(&(number, user)) else { return Ok(()) };
        if presence.shown_by & 1 << node != 0 {
            return Err(Fault::Wrong("a presence that came twice"));
        }
        presence.shown_by |= 1 << node;
        if presence.shown_by.count_ones() as usize == self.worker.plan.addresses.len() {
            let intended = presence.intended;
            untold.remove(&(number, user));
            self.worker.record_open(intended, Ok(()));
        }
        Ok(())
    }

    /// Lets the next player join. Answers false if all players are on all streams.
    fn join_next(&self, intended: Instant) -> bool {
        let join = self.joins.get();
        self.joins.set(join + 1);
        let plan = &self.worker.plan;
        let (round, index) = (join / plan.connections, join % plan.connections);
        let number = round * groups(plan) + index / group_len(plan);
        let Some(name) = self.names.get(number) else {
            self.worker.tally.borrow_mut().fail_many("there were not enough streams".to_owned(), 1);
            return false;
        };
        let Some(writer) = self.players.borrow()[index].clone() else { return true };
        let user = self.users.borrow()[index];
        self.untold.borrow_mut().insert((number, user), Untold { intended, shown_by: 0 });
        self.worker.begin_operation();
        let mut frame = Vec::new();
        let request = Envelope::reply(join.to_string(), channel_join(name, false));
        envelopes::write_envelope(self.worker.plan.format, &request, &mut frame);
        // The reader reports a lost connection.
        if let Ok(Sent::Queued) = writer.send_now(&frame) {
            sockets::flush_later(writer);
        }
        true
    }
}
