//! The matches of one shard: the rules of the plane, and the game code of one folder.

pub mod admission;
mod containment;
mod durable;
mod generations;
mod isolation;
mod life;
mod timers;

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::future::Future;
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use bytes::Bytes;
use muster_api::live::MatchEngines as _;
use muster_domain::ids::{SessionId, Uuid};
use muster_domain::{Timestamp, UserId};
use muster_live::matches::{
    CallRef, Chain, Creation, Joiner, ListQuery, Listed, MatchAnswer, MatchAsk, MatchEffect, MatchEvent, MatchId,
    Matches, MatchesConfig, Return,
};
use muster_live::party::Member;
use muster_live::plane::{HandlerOrder, Listener, RequestRef};
use muster_live::{Encoding, Millis, Place, Presence, SessionKey, SessionRef};
use muster_script::value::Value;
use muster_script::{
    Bundle, GoMatches, GoModule, Host, JsMatches, LanguageMatches, Limits, LuaMatches, Program, ScriptMetrics,
};

use crate::world;

/// The matches of one shard.
pub struct Hall {
    rules: RefCell<Matches>,
    code: Rc<LanguageMatches>,
    lua: Rc<LuaMatches>,
    handler: &'static str,
    metrics: Arc<ScriptMetrics>,
    returned: Rc<RefCell<Vec<(CallRef, Return)>>>,
    under_way: Cell<usize>,
    now: Cell<Millis>,
    requests: Cell<u64>,
    answers: RefCell<BTreeMap<u64, Result<MatchAnswer, String>>>,
    /// Messages to players: op code, text, and count of receivers, `None` for all.
    pub told: RefCell<Vec<(i64, String, Option<usize>)>>,
    /// A line for each player who was let in, refused or expelled.
    pub came_and_went: RefCell<Vec<String>>,
}

/// Runs a test on local tasks.
pub fn run<T>(test: impl Future<Output = T>) -> T {
    tokio::task::LocalSet::new().block_on(&tokio::runtime::Builder::new_current_thread().build().unwrap(), test)
}

impl Hall {
    pub fn of(files: &[(&str, &str)], limits: Limits) -> Self {
        let (program, host) = world::program(files, &limits);
        let bundle = world::bundle(files, &host, &limits);
        Self::with_code(Arc::default(), program, bundle, host, limits)
    }

    /// A hall whose matches have a handler of the Go module in a folder.
    pub async fn in_go(folder: &Path, host: Rc<Host>, limits: Limits, handler: &'static str) -> Self {
        let module = GoModule::load(folder, &host, &limits).await.unwrap();
        Self { handler, ..Self::with_code(Arc::new(module), Arc::default(), Arc::default(), host, limits) }
    }

    fn with_code(
        go: Arc<GoModule>,
        program: Arc<Program>,
        bundle: Arc<Bundle>,
        host: Rc<Host>,
        limits: Limits,
    ) -> Self {
        let returned: Rc<RefCell<Vec<(CallRef, Return)>>> = Rc::default();
        let returns = || {
            let returns = returned.clone();
            move |call, what| returns.borrow_mut().push((call, what))
        };
        let metrics = Arc::<ScriptMetrics>::default();
        let lua = Rc::new(LuaMatches::new(program, host.clone(), limits, metrics.clone(), returns()));
        let go = GoMatches::new(go, host.clone(), limits, metrics.clone(), returns());
        let javascript = JsMatches::new(bundle, host, limits, metrics.clone(), returns());
        Self {
            rules: RefCell::new(Matches::new(MatchesConfig::default())),
            code: Rc::new(LanguageMatches::new(vec![Rc::new(go), lua.clone(), Rc::new(javascript)])),
            lua,
            handler: "game",
            metrics,
            returned,
            under_way: Cell::default(),
            now: Cell::new(1_000),
            requests: Cell::default(),
            answers: RefCell::default(),
            told: RefCell::default(),
            came_and_went: RefCell::default(),
        }
    }

    /// A hall whose module `game` has the callbacks of `body`, which adds them to the table `M`. Callbacks that it
    /// leaves out do nothing.
    pub fn with(body: &str) -> Self {
        Self::of(&[("game.lua", &module(body))], Limits::default())
    }

    /// A program for new matches.
    fn program(&self, body: &str) -> Arc<Program> {
        world::program(&[("game.lua", &module(body))], &Limits::default()).0
    }

    /// Count of machines.
    fn machines(&self) -> i64 {
        self.metrics.match_machines.load(Ordering::Relaxed)
    }

    /// Makes a match.
    pub async fn create(&self, number: u128, params: Value) -> Result<(), String> {
        let (params, created_at) = (Bytes::from(params.encode()), Timestamp::from_seconds(world::NOW_SEC));
        let creation =
            Creation { handler: self.handler.into(), params, created_at, chain: Chain::default(), is_durable: false };
        self.ask(number, MatchAsk::Create(creation)).await.map(drop)
    }

    /// Brings a player to a match.
    pub async fn enter(&self, number: u128, player: u32) -> Result<(), String> {
        self.ask(number, join(player)).await.map(drop)
    }

    /// Has `count` players ask to join a match at once. Returns the answer to each.
    pub async fn crowd(&self, number: u128, count: u32) -> Vec<Result<(), String>> {
        let first = self.requests.get() + 1;
        self.requests.set(self.requests.get() + u64::from(count));
        self.step(|rules, now, out| {
            for (request, player) in (first..).zip(1..=count) {
                let reply_to = RequestRef { place: Place::new(0, 0), id: request };
                rules.receive(now, id(number), join(player), Some(reply_to), out);
            }
        })
        .await;
        let mut answers = self.answers.borrow_mut();
        (first..).take(count as usize).map(|request| answers.remove(&request).unwrap().map(drop)).collect()
    }

    /// Sends a message of a player.
    pub async fn send(&self, number: u128, player: u32, op_code: i64, text: &str) {
        let (session, data) = (presence(player).session, Bytes::copy_from_slice(text.as_bytes()));
        let received_at = Timestamp::from_seconds(world::NOW_SEC);
        let ask = MatchAsk::Input { session, op_code, data, reliable: true, received_at };
        self.step(|rules, now, out| rules.receive(now, id(number), ask, None, out)).await;
    }

    /// The answer of the handler to a signal.
    pub async fn signal(&self, number: u128, text: &str) -> Result<String, String> {
        match self.ask(number, MatchAsk::Signal { data: text.into(), chain: Chain::default() }).await? {
            MatchAnswer::Signalled(answer) => Ok(answer.as_ref().to_owned()),
            other => panic!("{other:?}"),
        }
    }

    /// Closes the socket of a player.
    pub async fn lose(&self, number: u128, player: u32) {
        let (session, why) = (presence(player).session, muster_live::matches::LeaveReason::Disconnected);
        self.step(|rules, now, out| rules.gone(now, id(number), session, why, out)).await;
    }

    pub async fn terminate(&self, grace_sec: u32) {
        self.step(|rules, now, out| rules.terminate(now, grace_sec, out)).await;
    }

    /// Lets time pass, millisecond by millisecond.
    pub async fn pass(&self, millis: Millis) {
        let until = self.now.get() + millis;
        let next_due = || self.rules.borrow().next_due().filter(|due| *due <= until);
        while let Some(due) = next_due() {
            self.now.set(due.max(self.now.get()));
            self.step(|rules, now, out| rules.turn(now, out)).await;
        }
        self.now.set(until);
    }

    pub fn list(&self) -> Vec<Listed> {
        let mut rules = self.rules.borrow_mut();
        let all = ListQuery { query: None, label: None, sizes: (0, usize::MAX), limit: 10_000 };
        let mut answer = rules.begin_listing(None, all);
        while answer.is_none() {
            answer = rules.run_slice().pop().map(|(_, answer)| answer);
        }
        let Some(Ok(MatchAnswer::Listed(listed))) = answer else { panic!("{answer:?}") };
        listed
    }

    pub fn take_told(&self) -> Vec<(i64, String, Option<usize>)> {
        self.told.take()
    }

    async fn ask(&self, number: u128, ask: MatchAsk) -> Result<MatchAnswer, String> {
        let request = self.requests.get() + 1;
        self.requests.set(request);
        let reply_to = RequestRef { place: Place::new(0, 0), id: request };
        self.step(|rules, now, out| rules.receive(now, id(number), ask, Some(reply_to), out)).await;
        self.answers.borrow_mut().remove(&request).unwrap()
    }

    /// Makes one step of the rules, and carries out its effects.
    async fn step(&self, step: impl FnOnce(&mut Matches, Millis, &mut Vec<MatchEffect>)) {
        let mut effects = Vec::new();
        step(&mut self.rules.borrow_mut(), self.now.get(), &mut effects);
        self.carry_out(effects);
        while self.under_way.get() > 0 {
            for (call, returned) in self.returned.take() {
                self.under_way.set(self.under_way.get() - 1);
                let mut effects = Vec::new();
                self.rules.borrow_mut().returned(self.now.get(), call, returned, &mut effects);
                self.carry_out(effects);
            }
            tokio::task::yield_now().await;
        }
    }

    fn carry_out(&self, effects: Vec<MatchEffect>) {
        for effect in effects {
            match effect {
                MatchEffect::Call(call) => {
                    self.under_way.set(self.under_way.get() + 1);
                    self.code.clone().order(HandlerOrder::Call(call));
                }
                MatchEffect::DropState(id) => self.code.clone().order(HandlerOrder::Drop(id)),
                MatchEffect::Reply(to, answer) => {
                    let answer = answer.map_err(|error| error.message.into_owned());
                    self.answers.borrow_mut().insert(to.id, answer);
                }
                MatchEffect::Tell { to, event: MatchEvent::Data(data), .. } => {
                    let text = String::from_utf8_lossy(&data.data).into_owned();
                    self.told.borrow_mut().push((data.op_code, text, to.map(|to| to.len())));
                }
                MatchEffect::TellFailure(..) => {}
                MatchEffect::Enter(_, member) => self.note('+', &member.presence.username),
                MatchEffect::Refuse(_, listener) => self.note('!', &who(listener.session)),
                MatchEffect::Expel(_, listener) => self.note('-', &who(listener.session)),
            }
        }
    }

    fn note(&self, what: char, whom: &str) {
        self.came_and_went.borrow_mut().push(format!("{what}{whom}"));
    }
}

/// The request of a player to join.
fn join(player: u32) -> MatchAsk {
    let presence = presence(player);
    let listener = Listener { session: presence.session, encoding: Encoding::Json, serial: 1 };
    let metadata = vec![("team".to_owned(), "red".to_owned())];
    let joiner = Arc::new(Joiner {
        metadata,
        vars: vec![("a".to_owned(), "b".to_owned())],
        token_expires_at_sec: world::NOW_SEC + 60,
        client_ip: "10.0.0.1".to_owned(),
        client_port: "5000".to_owned(),
    });
    MatchAsk::Join { member: Box::new(Member { presence, listener }), joiner }
}

/// The text of a module with the callbacks of `body`.
pub fn module(body: &str) -> String {
    format!(
        "local nk = require('nakama')
        local M = {{}}
        function M.match_init(context, params) return {{}}, 10, '' end
        function M.match_join_attempt(context, dispatcher, tick, state, presence, metadata) return state, true end
        function M.match_join(context, dispatcher, tick, state, presences) return state end
        function M.match_leave(context, dispatcher, tick, state, presences) return state end
        function M.match_loop(context, dispatcher, tick, state, messages) return state end
        function M.match_terminate(context, dispatcher, tick, state, grace_seconds) return state end
        function M.match_signal(context, dispatcher, tick, state, data) return state, data end
        {body}
        return M"
    )
}

pub fn id(number: u128) -> MatchId {
    MatchId(Uuid::from_u128(number))
}

fn who(session: SessionRef) -> String {
    (1..100).map(|number| format!("user-{number}")).find(|name| presence_named(name).session == session).unwrap()
}

fn presence_named(name: &str) -> Presence {
    presence(name.rsplit('-').next().unwrap().parse().unwrap())
}

pub fn presence(number: u32) -> Presence {
    let wide = u128::from(number);
    Presence {
        session: SessionRef { place: Place::new(0, 0), key: SessionKey::from_number(number.into()) },
        session_id: SessionId(Uuid::from_u128(wide << 64)),
        user_id: UserId(Uuid::from_u128(wide)),
        username: format!("user-{number}").into(),
        hidden: false,
        persistence: false,
        status: None,
        only_session_since: None,
    }
}
