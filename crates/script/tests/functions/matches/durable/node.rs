//! A process with several durable matches of one partition, and their outlines as the plane keeps them.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;

use bytes::Bytes;
use muster_api::live::MatchEngines as _;
use muster_domain::Timestamp;
use muster_live::matches::{Call, Callback, Chain, Input, MatchId, Outcome, Outline, Return, Timers};
use muster_live::plane::HandlerOrder;
use muster_live::{Epoch, Partition};
use muster_script::host::{HttpClient, HttpFuture, NoHttp, OutgoingRequest, OutgoingResponse};
use muster_script::value::Value;
use tokio::sync::Notify;

use super::disk::Disk;
use super::life::{Process, Shelf, match_id, start, wait};
use crate::matches::presence;
use crate::world;

/// A process with several durable matches of one partition.
pub struct Node {
    pub process: Process,
    disk: Rc<Disk>,
    outlines: RefCell<BTreeMap<MatchId, Outline>>,
    stays: Cell<u64>,
}

impl Node {
    pub async fn start(files: &[(&str, &str)], shelf: &Shelf, disk: &Rc<Disk>) -> Self {
        Self::of(("muster", Rc::new(NoHttp)), files, shelf, disk).await
    }

    /// Starts a process of the node with this name and HTTP client.
    pub async fn of(
        (name, http): (&str, Rc<dyn HttpClient>),
        files: &[(&str, &str)],
        shelf: &Shelf,
        disk: &Rc<Disk>,
    ) -> Self {
        let process = start((1, name, http), files, shelf, disk).await;
        process.now.set(Timestamp::from_seconds(world::NOW_SEC));
        Self { process, disk: disk.clone(), outlines: RefCell::default(), stays: Cell::default() }
    }

    pub fn partition() -> Partition {
        match_id(0).partition()
    }

    /// Begins to take the log over.
    pub fn begin_take_over(&self, epoch: u64) {
        self.process.code.clone().order(HandlerOrder::TakeOver(vec![(Self::partition(), Epoch(epoch))]));
    }

    /// The matches that were resumed; `None` if the process dies before.
    pub async fn taken_over(&self) -> Option<Vec<MatchId>> {
        let found = wait(&self.disk, || self.process.owner.0.take()).await?;
        let mut outlines = self.outlines.borrow_mut();
        outlines.extend(found.iter().map(|outline| (outline.id, outline.clone())));
        Some(found.iter().map(|outline| outline.id).collect())
    }

    /// Takes the log over. Answers the matches that were resumed.
    pub async fn take_over(&self) -> Option<Vec<MatchId>> {
        self.begin_take_over(0);
        self.taken_over().await
    }

    /// Takes over a log with a single match. Answers the outline of the match.
    pub async fn take_over_one(&self) -> Outline {
        let found = self.take_over().await.unwrap();
        self.outlines.borrow()[&found[0]].clone()
    }

    /// Orders a call of a match.
    pub fn begin(&self, id: MatchId, callback: Callback) {
        self.stays.set(self.stays.get() + 1);
        let outlines = self.outlines.borrow();
        let outline = &outlines[&id];
        let Outline { handler, tick, tick_rate, label, .. } = outline.clone();
        let (chain, timers, stay) = (Chain::default(), Timers::default(), self.stays.get());
        let call = Call { id, stay, handler, tick, tick_rate, label, chain, timers, callback };
        self.process.code.clone().order(HandlerOrder::Call(Box::new(call)));
    }

    /// Calls a match. Answers the return; `None` if the process dies before.
    pub async fn call(&self, id: MatchId, callback: Callback) -> Option<Return> {
        self.begin(id, callback.clone());
        let stay = self.stays.get();
        let returned = &self.process.returned;
        let take = || {
            let mut returned = returned.borrow_mut();
            let position = returned.iter().position(|(call, _)| call.id == id && call.stay == stay);
            position.map(|position| returned.remove(position).1)
        };
        let what = wait(&self.disk, take).await?;
        let goes_on = self.outlines.borrow_mut().get_mut(&id).is_some_and(|outline| outline.returned(&callback, &what));
        if !goes_on {
            self.process.code.clone().order(HandlerOrder::Drop(id));
            self.rest().await;
        }
        Some(what)
    }

    /// Lets other tasks run for a while.
    pub async fn rest(&self) {
        for _ in 0..50 {
            tokio::task::yield_now().await;
        }
    }

    /// The id and the first callback of a new match.
    pub fn begin_to_make(&self, number: u64, handler: &str) -> (MatchId, Callback) {
        let (id, created_at) = (match_id(number), Timestamp::from_seconds(world::NOW_SEC));
        self.outlines.borrow_mut().insert(id, Outline::new(id, handler.into(), created_at));
        (id, Callback::Init { params: Value::Map(Vec::new()).encode().into(), created_at })
    }

    /// Makes a match. Answers the outcome of its first callback.
    pub async fn make(&self, number: u64, handler: &str) -> Option<Outcome> {
        let (id, first) = self.begin_to_make(number, handler);
        Some(self.call(id, first).await?.outcome)
    }

    pub async fn tick(&self, id: MatchId) -> Option<Outcome> {
        Some(self.call(id, Callback::Loop(Vec::new())).await?.outcome)
    }

    /// A tick with a message of `bytes` bytes.
    pub async fn tick_with(&self, id: MatchId, bytes: usize) -> Option<Outcome> {
        let (data, received_at) = (Bytes::from(vec![b'x'; bytes]), Timestamp(1));
        let input = Input { sender: presence(1).into(), op_code: 1, data, reliable: true, received_at };
        Some(self.call(id, Callback::Loop(vec![input])).await?.outcome)
    }

    /// The answer of a match to a signal.
    pub async fn ask(&self, id: MatchId) -> Option<String> {
        match self.call(id, Callback::Signal("how".into())).await?.outcome {
            Outcome::Signalled(answer) => Some(answer.to_string()),
            other => panic!("{other:?}"),
        }
    }
}

/// An HTTP client that notes the count of unsynced records at each request. The first request waits while the gate is
/// held.
#[derive(Default)]
pub struct Gate {
    pub disk: Rc<Disk>,
    pub unsynced: RefCell<Vec<usize>>,
    pub is_held: Cell<bool>,
    pub open: Rc<Notify>,
}

impl HttpClient for Gate {
    fn send(&self, _: OutgoingRequest) -> HttpFuture<'_> {
        self.unsynced.borrow_mut().push(self.disk.unsynced());
        let waits = self.is_held.replace(false).then(|| self.open.clone());
        Box::pin(async move {
            if let Some(open) = waits {
                open.notified().await;
            }
            Ok(OutgoingResponse { code: 200, headers: Vec::new(), body: Vec::new() })
        })
    }
}
