//! Attacks over HTTP: each attacker sends one request after the other on several connections.

use std::convert::Infallible;
use std::rc::Rc;

use serde_json::json;

use super::flood::COSTLY_FILTER;
use super::notes::LIMIT_STATUSES;
use super::raid::{Attack, Raid};
use super::resident_sign_in;
use crate::load::Fault;
use crate::load::http::HttpConnection;
use crate::load::requests::{DeviceSignIn, call, email_sign_in, escaped, fresh_device_id, rpc};
use crate::options::Kind;
use crate::scenario::sockets;

/// Connections of each attacker.
const LINES: usize = 4;
/// Bytes of a large object, as far as a request may be long.
const OBJECT_BYTES: usize = 200_000;
/// A token of the right form that nobody has signed.
const FORGED: &str =
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJ1aWQiOiIwIiwiZXhwIjo5OTk5OTk5OTk5fQ.c2lnbmVkIGJ5IG5vYm9keQ";

/// An attacker with an account.
struct Caller {
    raid: Rc<Raid>,
    index: usize,
    token: String,
}

pub async fn attack(raid: Rc<Raid>, index: usize) -> Attack {
    let token = match raid.kind {
        Kind::Accounts | Kind::Registrations | Kind::SignIns | Kind::Passwords | Kind::Tokens => String::new(),
        _ => sockets::sign_in(&raid.worker, index).await?.1,
    };
    let caller = Caller { raid, index, token };
    // The account whose password is guessed allows few guesses, of which one is enough.
    if caller.raid.kind != Kind::Passwords || index == 0 {
        caller.take_first_step().await?;
    }
    caller.raid.begin().await;
    let (first, second, third, last) = (caller.go_on(1), caller.go_on(2), caller.go_on(3), caller.go_on(4));
    tokio::select! {
        never = first => match never {},
        never = second => match never {},
        never = third => match never {},
        never = last => match never {},
    }
}

impl Caller {
    /// The status of a request that the server carries out, or looks at closely enough.
    fn expected(&self) -> u16 {
        if matches!(self.raid.kind, Kind::Passwords | Kind::Tokens) { 401 } else { 200 }
    }

    async fn take_first_step(&self) -> Result<(), Fault> {
        let _alone = self.raid.first_step.lock().await;
        let mut connection = HttpConnection::open(&self.raid.worker.endpoints, self.index).await?;
        let status = connection.exchange(&self.request(0)).await?.status;
        if status == self.expected() { Ok(()) } else { Err(Fault::Status(status)) }
    }

    async fn go_on(&self, line: usize) -> Infallible {
        let mut number = line;
        loop {
            if let Err(fault) = self.send_all(&mut number).await {
                self.raid.cut_off(&fault).await;
            }
        }
    }

    /// Sends requests over one connection until it ends; the server ends it behind the refusal of a limit.
    async fn send_all(&self, number: &mut usize) -> Result<(), Fault> {
        let mut connection = HttpConnection::open(&self.raid.worker.endpoints, self.index).await?;
        loop {
            *number += LINES;
            let status = connection.exchange(&self.request(*number)).await?.status;
            if status == self.expected() {
                self.raid.done(1);
            } else {
                self.raid.refused(Fault::Status(status).to_string());
            }
            if LIMIT_STATUSES.contains(&status) {
                return Ok(());
            }
        }
    }

    /// The `number`th request.
    fn request(&self, number: usize) -> Vec<u8> {
        let worker = &self.raid.worker;
        let (address, key) = (worker.endpoints.address(self.index), &worker.plan.server_key);
        let new_id = || fresh_device_id(&mut worker.random.borrow_mut());
        let store = |bytes: usize| {
            let value = json!({ "text": "a".repeat(bytes) }).to_string();
            let object = json!({ "collection": "loot", "key": number.to_string(), "value": value });
            call(&self.token, "PUT", "/v2/storage", &json!({ "objects": [object] }).to_string())
        };
        let get = |path: &str| call(&self.token, "GET", path, "");
        match self.raid.kind {
            Kind::Accounts => DeviceSignIn::new(address, key).with(&new_id()).to_vec(),
            Kind::Registrations => {
                let email = format!("{}@example.com", String::from_utf8_lossy(&new_id()));
                email_sign_in(address, key, &email, "a-long-password")
            }
            Kind::SignIns => {
                let email = format!("attacker-{:016x}-{}@example.com", worker.plan.town, self.index);
                email_sign_in(address, key, &email, "a-long-password")
            }
            Kind::Passwords => resident_sign_in(worker, self.index, &format!("wrong-password-{number}")),
            Kind::Tokens => call(FORGED, "GET", "/v2/account", ""),
            Kind::Storage => store(OBJECT_BYTES),
            Kind::Seats if number.is_multiple_of(2) => {
                let asked = json!({ "template": worker.plan.talk.template, "reserve": true });
                rpc(&self.token, "muster.rooms.place", &asked.to_string())
            }
            Kind::Seats => rpc(&self.token, "muster.rooms.quick_join", r#"{"reserve":true}"#),
            Kind::Filters if self.index % 3 == 1 => {
                get(&format!("/v2/match?limit=100&query={}", escaped(COSTLY_FILTER)))
            }
            Kind::Filters => get(&format!("/v2/party?limit=100&query={}", escaped(COSTLY_FILTER))),
            _ if number.is_multiple_of(2) => store(100),
            _ => get("/v2/account"),
        }
    }
}
