//! Errands of honest players over HTTP: objects written and read again, players who arrive, and one who signs in with a
//! password time and again.

use std::cell::Cell;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::Context as _;
use muster_wire::api::Rpc;
use muster_wire::realtime::Ping;
use muster_wire::realtime::envelope::Message;
use serde::Deserialize;
use serde_json::json;
use tokio::task::JoinSet;
use uuid::Uuid;

use super::notes::Notes;
use super::town::Town;
use super::{COLLECTION, resident_sign_in};
use crate::load::Fault;
use crate::load::http::{HttpAnswer, HttpConnection};
use crate::load::requests;
use crate::load::session::check_sign_in;
use crate::scenario::calls::Line;
use crate::scenario::sockets;
use crate::worker::Worker;

/// Players on sockets for each one who stores objects.
const NEIGHBOURS_PER_KEEPER: usize = 10;
const KEEPER_PERIOD: Duration = Duration::from_secs(2);
const ARRIVAL_PERIOD: Duration = Duration::from_millis(500);
const SIGN_IN_PERIOD: Duration = Duration::from_secs(2);
const PASSWORD: &str = "correct-horse-battery";

/// A player who stores objects.
pub struct Keeper {
    pub line: Line,
    pub user: Uuid,
    pub token: String,
    /// The part in which each object was written whose write was acknowledged, by number from 0; none if it was not.
    pub written: Vec<Option<String>>,
}

/// Players who are ready to go.
pub struct Errands {
    town: Rc<Town>,
    keepers: Vec<Keeper>,
}

/// Players who are on their way.
pub struct Running {
    keepers: JoinSet<Keeper>,
    others: JoinSet<()>,
}

/// Makes the accounts, and the one with a password.
pub async fn prepare(town: &Rc<Town>) -> anyhow::Result<Errands> {
    let (worker, count) = (&town.worker, town.worker.plan.connections.div_ceil(NEIGHBOURS_PER_KEEPER));
    let mut keepers = Vec::new();
    for index in 0..count {
        let index = worker.plan.connections + index;
        let (user, token) = sockets::sign_in(worker, index).await?;
        keepers.push(Keeper { line: Line::open(worker, index).await?, user, token, written: Vec::new() });
    }
    let mut connection = HttpConnection::open(&worker.endpoints, 0).await?;
    let answer = connection.exchange(&resident_sign_in(worker, 0, PASSWORD)).await?;
    check_sign_in(&answer).context("an account with a password")?;
    Ok(Errands { town: town.clone(), keepers })
}

impl Errands {
    pub fn start(self) -> Running {
        let mut running = Running { keepers: JoinSet::new(), others: JoinSet::new() };
        let count = u32::try_from(self.keepers.len()).unwrap_or(u32::MAX);
        for (place, keeper) in (0..count).zip(self.keepers) {
            let begin = Instant::now() + KEEPER_PERIOD / count * place;
            running.keepers.spawn_local(keep(self.town.clone(), keeper, begin));
        }
        running.others.spawn_local(let_players_arrive(self.town.clone()));
        running.others.spawn_local(sign_in_again(self.town));
        running
    }
}

impl Running {
    /// Waits until all are done; they notice that the run is over.
    pub async fn finish(mut self) -> anyhow::Result<Vec<Keeper>> {
        while let Some(ended) = self.others.join_next().await {
            ended?;
        }
        let mut keepers = Vec::new();
        while let Some(keeper) = self.keepers.join_next().await {
            keepers.push(keeper?);
        }
        Ok(keepers)
    }
}

/// Calls an errand at each beat until the run is over.
async fn at_each_beat(town: &Town, begin: Instant, period: Duration, mut errand: impl AsyncFnMut(Instant)) {
    let mut next = begin;
    let mut part = town.worker.part.clone();
    loop {
        tokio::select! {
            _ = part.wait_for(|part| part.is_over) => return,
            () = tokio::time::sleep_until(next.into()) => {}
        }
        errand(next).await;
        next = (next + period).max(Instant::now());
    }
}

/// Waits for an outcome with the plan's patience.
async fn in_time<T>(worker: &Worker, doing: impl Future<Output = Result<T, Fault>>) -> Result<T, Fault> {
    tokio::time::timeout(worker.plan.patience, doing).await.unwrap_or(Err(Fault::Unanswered))
}

/// Writes an object at every other beat, and reads it at the next.
async fn keep(town: Rc<Town>, mut keeper: Keeper, begin: Instant) -> Keeper {
    let is_reading = Cell::new(false);
    at_each_beat(&town, begin, KEEPER_PERIOD, async |intended| {
        let begun = town.notes.begin(intended);
        let outcome = if is_reading.get() {
            in_time(&town.worker, keeper.read_latest(&town.worker)).await
        } else {
            in_time(&town.worker, keeper.write(&town.notes, &town.worker)).await
        };
        is_reading.set(!is_reading.get());
        town.notes.end(&begun, |met| &mut met.request, outcome);
    })
    .await;
    keeper
}

#[derive(Deserialize)]
struct Objects {
    #[serde(default)]
    objects: Vec<Object>,
}

#[derive(Deserialize)]
struct Object {
    key: String,
    value: String,
}

impl Keeper {
    fn value(&self, number: usize) -> String {
        json!({ "of": self.user, "number": number }).to_string()
    }

    async fn write(&mut self, notes: &Notes, worker: &Worker) -> Result<(), Fault> {
        let number = self.written.len();
        let part = notes.part().name;
        self.written.push(None);
        let object = json!({ "collection": COLLECTION, "key": key(number), "value": self.value(number) });
        let body = json!({ "objects": [object] }).to_string();
        let request = requests::call(&self.token, "PUT", "/v2/storage", &body);
        self.line.exchange(worker, &request, expect_ok).await?;
        notes.write(&part);
        self.written[number] = Some(part);
        Ok(())
    }

    async fn read_latest(&mut self, worker: &Worker) -> Result<(), Fault> {
        let Some(number) = self.written.iter().rposition(Option::is_some) else { return Ok(()) };
        if self.find(worker, &[number]).await?.is_empty() {
            Err(Fault::Wrong("an object that is not there"))
        } else {
            Ok(())
        }
    }

    /// The numbers of those of these objects that are there as they were written.
    pub async fn find(&mut self, worker: &Worker, numbers: &[usize]) -> Result<Vec<usize>, Fault> {
        let id = |number: &usize| json!({ "collection": COLLECTION, "key": key(*number), "user_id": self.user });
        let body = json!({ "object_ids": numbers.iter().map(id).collect::<Vec<_>>() }).to_string();
        let request = requests::call(&self.token, "POST", "/v2/storage", &body);
        let mut found = Vec::new();
        let values: Vec<String> = numbers.iter().map(|number| self.value(*number)).collect();
        let check = |answer: &HttpAnswer<'_>| {
            expect_ok(answer)?;
            let page: Objects = serde_json::from_slice(answer.body).map_err(|_| Fault::Wrong("not storage objects"))?;
            for (number, value) in numbers.iter().zip(&values) {
                if page.objects.iter().any(|object| object.key == key(*number) && object.value == *value) {
                    found.push(*number);
                }
            }
            Ok(())
        };
        self.line.exchange(worker, &request, check).await?;
        Ok(found)
    }
}

fn key(number: usize) -> String {
    format!("chest-{number}")
}

pub fn expect_ok(answer: &HttpAnswer<'_>) -> Result<(), Fault> {
    if answer.status == 200 { Ok(()) } else { Err(Fault::Status(answer.status)) }
}

/// Lets new players come, who sign in, open a socket, are placed in a room, watch the lobby, and leave.
async fn let_players_arrive(town: Rc<Town>) {
    // Behind those of the players who are there.
    let index = Cell::new(2 * town.worker.plan.connections);
    at_each_beat(&town, Instant::now(), ARRIVAL_PERIOD, async |intended| {
        index.set(index.get() + 1);
        let begun = town.notes.begin(intended);
        let outcome = in_time(&town.worker, visit(&town.worker, index.get())).await;
        town.notes.end(&begun, |met| &mut met.arrival, outcome);
    })
    .await;
}

async fn visit(worker: &Rc<Worker>, index: usize) -> Result<(), Fault> {
    let mut player = sockets::arrive(worker, index).await?;
    let template = json!({ "template": worker.plan.talk.template }).to_string();
    for (id, payload) in [("muster.rooms.place", template), ("muster.lobby.subscribe", "{}".to_owned())] {
        let call = Rpc { id: id.to_owned(), payload, http_key: String::new() };
        sockets::ask(worker, &mut player, Message::Rpc(call), |_, _| {}).await?;
    }
    match sockets::ask(worker, &mut player, Message::Ping(Ping {}), |_, _| {}).await? {
        Some(Message::Pong(_)) => Ok(()),
        _ => Err(Fault::Wrong("not a pong")),
    }
}

/// Signs in with the right password, over a new connection each time.
async fn sign_in_again(town: Rc<Town>) {
    at_each_beat(&town, Instant::now(), SIGN_IN_PERIOD, async |intended| {
        let begun = town.notes.begin(intended);
        let sign_in = async {
            let mut connection = HttpConnection::open(&town.worker.endpoints, 0).await?;
            let answer = connection.exchange(&resident_sign_in(&town.worker, 0, PASSWORD)).await?;
            check_sign_in(&answer).map(drop)
        };
        let outcome = in_time(&town.worker, sign_in).await;
        town.notes.end(&begun, |met| &mut met.sign_in, outcome);
    })
    .await;
}
