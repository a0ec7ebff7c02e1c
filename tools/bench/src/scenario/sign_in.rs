//! `register` and `authenticate`: sign-ins by device id over keep-alive connections.
//!
//! Closed loop: each connection has one request under way. Open loop: requests queue for the next idle connection,
//! and their latency counts from when they were meant to start.

use std::cell::RefCell;
use std::collections::{HashSet, VecDeque};
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::bail;
use tokio::sync::Notify;
use uuid::Uuid;

use super::Connections;
use crate::load::Fault;
use crate::load::http::HttpConnection;
use crate::load::requests::{DeviceId, DeviceSignIn, fresh_device_id};
use crate::load::session::{SignedIn, check_sign_in};
use crate::pacing::{Arrivals, run_arrivals};
use crate::plan::{Event, Plan, Scenario, Window};
use crate::worker::{Connected, Worker, say};

/// A refused connection is tried again after this, so that a server that is down is not hammered.
const RECONNECT_PAUSE: Duration = Duration::from_millis(50);

pub async fn run(worker: Rc<Worker>) -> anyhow::Result<Connections> {
    let players = Rc::new(match worker.plan.scenario {
        Scenario::Authenticate => make_accounts(&worker).await?,
        _ => Players::New(RefCell::default()),
    });
    let mut clients: Vec<Client> = Vec::new();
    for index in 0..worker.plan.connections {
        clients.push(Client::open(&worker, players.clone(), index).await?);
    }
    say(&Event::Ready)?;
    let window = worker.wait_for_go().await;
    let mut connections = Connections::new();
    match worker.plan.rate {
        None => {
            for client in clients {
                connections.spawn_local(sign_in_in_turn(worker.clone(), client, window));
            }
            worker.measure_window(window).await?;
        }
        Some(rate) => {
            let due = Rc::new(Due::default());
            for client in clients {
                connections.spawn_local(sign_in_when_due(worker.clone(), client, due.clone()));
            }
            let arrivals = Arrivals::new(window.begin, rate, worker.plan.spread, worker.plan.seed);
            let arriving = run_arrivals(arrivals, window.measure_to, |intended| {
                worker.begin_operation();
                due.push(intended);
                true
            });
            let (measured, arrived) = tokio::join!(worker.measure_window(window), arriving);
            measured.and(arrived)?;
        }
    }
    worker.drain().await;
    Ok(connections)
}

async fn sign_in_in_turn(worker: Rc<Worker>, mut client: Client, window: Window) {
    while Instant::now() < window.measure_to {
        worker.begin_operation();
        let started = Instant::now();
        let outcome = client.sign_in(&worker).await;
        worker.record_closed(&window, started, outcome);
    }
}

async fn sign_in_when_due(worker: Rc<Worker>, mut client: Client, due: Rc<Due>) {
    loop {
        let intended = due.take().await;
        let outcome = client.sign_in(&worker).await;
        worker.record_open(intended, outcome);
    }
}

/// Intended starts that wait for a connection.
#[derive(Default)]
struct Due {
    queue: RefCell<VecDeque<Instant>>,
    changed: Notify,
}

impl Due {
    fn push(&self, intended: Instant) {
        self.queue.borrow_mut().push_back(intended);
        self.changed.notify_one();
    }

    async fn take(&self) -> Instant {
        loop {
            if let Some(intended) = self.queue.borrow_mut().pop_front() {
                return intended;
            }
            self.changed.notified().await;
        }
    }
}

/// Who signs in, and what is known about them.
enum Players {
    /// Never seen before; users that the server has made so far, to catch one given out twice.
    New(RefCell<HashSet<Uuid>>),
    Known(Vec<(DeviceId, Uuid)>),
}

impl Players {
    /// A device id and the user it belongs to, if it has one.
    fn choose(&self, random: &mut fastrand::Rng) -> (DeviceId, Option<Uuid>) {
        match self {
            Self::Known(accounts) if !accounts.is_empty() => {
                let (id, user) = accounts[random.usize(..accounts.len())];
                (id, Some(user))
            }
            _ => (fresh_device_id(random), None),
        }
    }

    fn check(&self, signed_in: &SignedIn<'_>, expected: Option<Uuid>) -> Result<(), Fault> {
        match (expected, self) {
            (Some(user), _) if signed_in.user != user => Err(Fault::Wrong("session of another user")),
            (Some(_), _) if signed_in.created => Err(Fault::Wrong("account made a second time")),
            (None, _) if !signed_in.created => Err(Fault::Wrong("no account was made")),
            (None, Self::New(users)) if !users.borrow_mut().insert(signed_in.user) => {
                Err(Fault::Wrong("session of another user"))
            }
            _ => Ok(()),
        }
    }
}

/// One keep-alive connection with its prepared request.
struct Client {
    index: usize,
    connection: Option<HttpConnection>,
    request: DeviceSignIn,
    players: Rc<Players>,
    _connected: Connected,
}

impl Client {
    async fn open(worker: &Rc<Worker>, players: Rc<Players>, index: usize) -> Result<Self, Fault> {
        let connection = HttpConnection::open(&worker.endpoints, index).await?;
        let request = request(&worker.plan, worker, index);
        Ok(Self { index, connection: Some(connection), request, players, _connected: worker.connected() })
    }

    /// One sign-in, checked. After a fault of the connection the next one begins with a new connection.
    async fn sign_in(&mut self, worker: &Worker) -> Result<(), Fault> {
        let mut connection = match self.connection.take() {
            Some(connection) => connection,
            None => reconnect(worker, self.index).await?,
        };
        let (id, expected) = self.players.choose(&mut worker.random.borrow_mut());
        let outcome = match connection.exchange(self.request.with(&id)).await {
            Ok(answer) => check_sign_in(&answer).and_then(|signed_in| self.players.check(&signed_in, expected)),
            Err(fault) => Err(fault),
        };
        if outcome.as_ref().err().is_none_or(Fault::leaves_connection_usable) {
            self.connection = Some(connection);
        }
        outcome
    }
}

fn request(plan: &Plan, worker: &Worker, index: usize) -> DeviceSignIn {
    DeviceSignIn::new(worker.endpoints.address(index), &plan.server_key)
}

async fn reconnect(worker: &Worker, index: usize) -> Result<HttpConnection, Fault> {
    let connection = HttpConnection::open(&worker.endpoints, index).await;
    if connection.is_err() {
        tokio::time::sleep(RECONNECT_PAUSE).await;
    }
    connection
}

/// Makes the accounts that `authenticate` signs in to, outside the measured window.
async fn make_accounts(worker: &Rc<Worker>) -> anyhow::Result<Players> {
    let mut making = tokio::task::JoinSet::new();
    let clients = worker.plan.connections.min(worker.plan.users).max(1);
    for index in 0..clients {
        let share = worker.plan.users / clients + usize::from(index < worker.plan.users % clients);
        making.spawn_local(make_share(worker.clone(), index, share));
    }
    let mut accounts = Vec::with_capacity(worker.plan.users);
    while let Some(share) = making.join_next().await {
        accounts.extend(share??);
    }
    if accounts.is_empty() {
        bail!("authenticate needs at least one user for each process");
    }
    Ok(Players::Known(accounts))
}

async fn make_share(worker: Rc<Worker>, index: usize, count: usize) -> Result<Vec<(DeviceId, Uuid)>, Fault> {
    let mut connection = HttpConnection::open(&worker.endpoints, index).await?;
    let mut request = request(&worker.plan, &worker, index);
    let mut accounts = Vec::with_capacity(count);
    for _ in 0..count {
        let id = fresh_device_id(&mut worker.random.borrow_mut());
        let answer = connection.exchange(request.with(&id)).await?;
        accounts.push((id, check_sign_in(&answer)?.user));
    }
    Ok(accounts)
}
