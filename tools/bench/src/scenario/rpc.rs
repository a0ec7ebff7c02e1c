//! `rpc-lua`, `rpc-js` and `rpc-go`: calls of a function of game code that parses its payload and serialises it again.
//!
//! Over HTTP: keep-alive connections with a player each, in a closed or open loop. Over sockets: one call at a time per
//! player.

use std::rc::Rc;

use muster_wire::api;
use muster_wire::realtime::envelope::Message;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Connections;
use super::calls::{self, Caller, Line};
use super::sockets::{self, Player};
use crate::load::http::HttpAnswer;
use crate::load::{Fault, requests};
use crate::options::Over;
use crate::plan::{Event, Scenario};
use crate::worker::{Worker, say};

pub async fn run(worker: Rc<Worker>) -> anyhow::Result<Connections> {
    match worker.plan.rpc.over {
        Over::Http => over_http(worker).await,
        Over::Socket => over_sockets(worker).await,
    }
}

/// Name of the function, which is in `tools/bench/modules`.
fn function(worker: &Worker) -> &'static str {
    let options = &worker.plan.rpc;
    match (worker.plan.scenario, options.waits_for.is_some(), options.one_by_one) {
        (Scenario::RpcJs, false, _) => "bench_js",
        (Scenario::RpcJs, true, false) => "bench_wait_js",
        (Scenario::RpcJs, true, true) => "bench_wait_js_one_by_one",
        (Scenario::RpcGo, false, _) => "bench_go",
        (Scenario::RpcGo, true, _) => "bench_wait_go",
        (_, false, _) => "bench_lua",
        (_, true, false) => "bench_wait_lua",
        (_, true, true) => "bench_wait_lua_one_by_one",
    }
}

/// The payload of the `number`th call.
fn payload(worker: &Worker, number: u32) -> Value {
    if let Some(url) = &worker.plan.rpc.waits_for {
        return json!({ "number": number, "url": url });
    }
    let items = [json!({ "name": "sword", "count": 1 }), json!({ "name": "arrow", "count": 64 })];
    json!({ "number": number, "player": { "name": "ann", "level": 12, "online": true }, "items": items })
}

/// Checks that the answer equals the payload.
fn check(answered: &str, sent: &Value) -> Result<(), Fault> {
    let answered: Value = serde_json::from_str(answered).map_err(|_| Fault::Wrong("payload is not JSON"))?;
    if answered == *sent { Ok(()) } else { Err(Fault::Wrong("another payload")) }
}

struct Client {
    line: Line,
    token: String,
    number: u32,
}

#[derive(Deserialize)]
struct Body {
    payload: String,
}

impl Caller for Client {
    async fn call(&mut self, worker: &Worker) -> Result<(), Fault> {
        self.number += 1;
        let sent = payload(worker, self.number);
        let request = requests::rpc(&self.token, function(worker), &sent.to_string());
        let check = |answer: &HttpAnswer<'_>| {
            if answer.status != 200 {
                return Err(Fault::Status(answer.status));
            }
            let body: Body = serde_json::from_slice(answer.body).map_err(|_| Fault::Wrong("body has no payload"))?;
            check(&body.payload, &sent)
        };
        self.line.exchange(worker, &request, check).await
    }
}

async fn over_http(worker: Rc<Worker>) -> anyhow::Result<Connections> {
    let mut clients = Vec::new();
    for index in 0..worker.plan.connections {
        let (_, token) = sockets::sign_in(&worker, index).await?;
        clients.push(Client { line: Line::open(&worker, index).await?, token, number: 0 });
    }
    calls::drive(&worker, clients).await
}

async fn over_sockets(worker: Rc<Worker>) -> anyhow::Result<Connections> {
    let connections = sockets::let_players_come(&worker, sockets::stand_still, call_in_turn).await?;
    say(&Event::Ready)?;
    let window = worker.wait_for_go().await;
    worker.measure_window(window).await?;
    worker.drain().await;
    Ok(connections)
}

async fn call_in_turn(worker: Rc<Worker>, player: Player) {
    let caller = worker.clone();
    let call = async |player: &mut Player, number| call_once(&caller, player, number).await;
    sockets::work_in_turn(worker, player, call).await;
}

async fn call_once(worker: &Worker, player: &mut Player, number: u32) -> Result<(), Fault> {
    let sent = payload(worker, number);
    let request = api::Rpc { id: function(worker).to_owned(), payload: sent.to_string(), http_key: String::new() };
    match sockets::ask(worker, player, Message::Rpc(request), |_, _| {}).await? {
        Some(Message::Rpc(answer)) => check(&answer.payload, &sent),
        _ => Err(Fault::Wrong("not the answer of a function")),
    }
}
