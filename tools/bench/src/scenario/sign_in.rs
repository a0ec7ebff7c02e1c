//! `register` and `authenticate`: sign-ins by device id over keep-alive connections.

use std::cell::RefCell;
use std::collections::HashSet;
use std::rc::Rc;

use anyhow::bail;
use uuid::Uuid;

use super::Connections;
use super::calls::{self, Caller, Line};
use crate::load::Fault;
use crate::load::http::{HttpAnswer, HttpConnection};
use crate::load::requests::{DeviceId, DeviceSignIn, fresh_device_id};
use crate::load::session::{SignedIn, check_sign_in};
use crate::plan::{Plan, Scenario};
use crate::worker::Worker;

pub async fn run(worker: Rc<Worker>) -> anyhow::Result<Connections> {
    let players = Rc::new(match worker.plan.scenario {
        Scenario::Authenticate => make_accounts(&worker).await?,
        _ => Players::New(RefCell::default()),
    });
    let mut clients: Vec<Client> = Vec::new();
    for index in 0..worker.plan.connections {
        let request = request(&worker.plan, &worker, index);
        clients.push(Client { line: Line::open(&worker, index).await?, request, players: players.clone() });
    }
    calls::drive(&worker, clients).await
}

/// The players who sign in, and what the server should know of them.
enum Players {
    /// New players; with the users that the server has made so far, to catch one that is given out twice.
    New(RefCell<HashSet<Uuid>>),
    Known(Vec<(DeviceId, Uuid)>),
}

impl Players {
    /// A device id, and its user if it has one.
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

/// A connection with its prepared request.
struct Client {
    line: Line,
    request: DeviceSignIn,
    players: Rc<Players>,
}

impl Caller for Client {
    async fn call(&mut self, worker: &Worker) -> Result<(), Fault> {
        let (id, expected) = self.players.choose(&mut worker.random.borrow_mut());
        let check = |answer: &HttpAnswer<'_>| {
            check_sign_in(answer).and_then(|signed_in| self.players.check(&signed_in, expected))
        };
        self.line.exchange(worker, self.request.with(&id), check).await
    }
}

fn request(plan: &Plan, worker: &Worker, index: usize) -> DeviceSignIn {
    DeviceSignIn::new(worker.endpoints.address(index), &plan.server_key)
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
