//! A server without transports: one shard, a clock that tests move, random numbers that repeat, and passwords that cost
//! nothing.

use std::cell::{Cell, RefCell};
use std::net::IpAddr;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::{Arc, Mutex};

use muster_api::context::LiveRules;
use muster_api::http::HttpResponse;
use muster_api::live::Live;
use muster_api::realtime::framer::Framer;
use muster_api::{ApiMetrics, App, GameFunctions, Hooks, HttpRequest, KeyTexts, Keys, NoFunctions, NoHooks};
use muster_domain::account::AccountEnding;
use muster_domain::admission::{AdmissionConfig, SharedAdmission};
use muster_domain::answers::{AnswerLimits, SharedAnswers};
use muster_domain::barred::Barred;
use muster_domain::budget::{BUDGETS, BudgetConfig};
use muster_domain::chat::{DirectRequests, RequestLimits};
use muster_domain::friends::FriendNotices;
use muster_domain::guessing::{GuessingConfig, SharedGuessing};
use muster_domain::ladder::Ladders;
use muster_domain::ports::clock::{Clock, Entropy};
use muster_domain::ports::passwords::{PasswordCheck, PasswordFuture, PasswordQueueFull, Passwords};
use muster_domain::ports::revocations::Revocation;
use muster_domain::rates::{Rate, Rates};
use muster_domain::revocations::Revocations;
use muster_domain::sessions::SessionRules;
use muster_domain::{Timestamp, UserId};
use muster_live::plane::Effect;
use muster_live::{Millis, Plane, PlaneConfig, Routes};
use muster_store::{SqliteOptions, SqliteStore, StoreMetrics};
use muster_wire::operations::route;
use serde_json::Value;

use crate::rim::TestRim;

/// The time at which every test starts, in Unix seconds.
pub const START_SEC: i64 = 1_700_000_000;
/// `defaultkey:` as Basic credentials.
pub const SERVER_KEY: &str = "Basic ZGVmYXVsdGtleTo=";
/// The key of session tokens.
pub const SESSION_KEY: &str = "session-key";
/// The key of refresh tokens.
pub const REFRESH_KEY: &str = "refresh-key";

/// A clock that only tests move.
pub struct TestClock(Cell<i64>);

impl Clock for TestClock {
    fn now(&self) -> Timestamp {
        Timestamp(self.0.get())
    }
}

/// Bytes of a multiplicative generator, which are the same in every run.
#[derive(Default)]
pub struct TestEntropy {
    state: Cell<u64>,
}

impl TestEntropy {
    /// Starts from the beginning, so that the same bytes are drawn again.
    pub fn restart(&self) {
        self.state.set(0);
    }
}

impl Entropy for TestEntropy {
    fn fill(&self, bytes: &mut [u8]) {
        for byte in bytes {
            let state =
                self.state.get().wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            self.state.set(state);
            *byte = (state >> 56) as u8;
        }
    }
}

/// Password hashing that only puts a scheme before the password.
#[derive(Default)]
pub struct TestPasswords {
    /// Whether further work is refused because the queue is full.
    pub is_full: Cell<bool>,
    /// The scheme of new hashes. Hashes of other schemes are outdated.
    pub scheme: RefCell<String>,
    /// Number of passwords that were checked.
    pub checks: Cell<u32>,
    /// Work that is done by others while the next password is hashed or checked.
    pub meanwhile: RefCell<Option<Pin<Box<dyn Future<Output = ()>>>>>,
}

impl TestPasswords {
    fn answer<'a, T: 'a>(&self, value: T) -> PasswordFuture<'a, T> {
        let (is_full, meanwhile) = (self.is_full.get(), self.meanwhile.take());
        Box::pin(async move {
            if let Some(meanwhile) = meanwhile {
                meanwhile.await;
            }
            if is_full { Err(PasswordQueueFull) } else { Ok(value) }
        })
    }
}

impl Passwords for TestPasswords {
    fn hash<'a>(&'a self, password: &'a str) -> PasswordFuture<'a, Vec<u8>> {
        self.answer(format!("{}:{password}", self.scheme.borrow()).into_bytes())
    }

    fn check<'a>(&'a self, password: &'a str, hash: Option<&'a [u8]>) -> PasswordFuture<'a, PasswordCheck> {
        self.checks.set(self.checks.get() + 1);
        let hash = hash.map(|hash| String::from_utf8_lossy(hash).into_owned()).unwrap_or_default();
        let (scheme, hashed) = hash.split_once(':').unwrap_or(("", ""));
        let outdated = scheme != *self.scheme.borrow();
        self.answer(PasswordCheck { matches: hashed == password, outdated })
    }
}

/// Settings of a world that differ from the usual ones.
pub struct Setup {
    pub sessions: SessionRules,
    pub guessing: GuessingConfig,
    pub admission: AdmissionConfig,
    pub budgets: BudgetConfig,
    pub requests: Rate,
    pub direct_requests: RequestLimits,
    pub friend_notices: RequestLimits,
    pub game: Rc<dyn GameFunctions>,
    pub hooks: Rc<dyn Hooks>,
    pub live: LiveRules,
    pub plane: PlaneConfig,
}

impl Default for Setup {
    fn default() -> Self {
        Self {
            sessions: SessionRules { token_life_sec: 60, refresh_life_sec: 3600, single_session: false },
            guessing: GuessingConfig::default(),
            admission: AdmissionConfig::default(),
            budgets: BudgetConfig::new([0; BUDGETS], 1, Ladders::default()),
            requests: Rate { per_sec: 0, burst: 1 },
            direct_requests: RequestLimits::default(),
            friend_notices: RequestLimits { burst: 1_000, refill_sec: 0, repeat_sec: 0 },
            game: Rc::new(NoFunctions),
            hooks: Rc::new(NoHooks),
            live: LiveRules { node: "muster".into(), single_socket: false },
            plane: PlaneConfig::default(),
        }
    }
}

/// A server for one test, see the module.
pub struct World {
    pub app: Rc<App>,
    pub store: Rc<SqliteStore>,
    pub clock: Rc<TestClock>,
    pub entropy: Rc<TestEntropy>,
    pub passwords: Rc<TestPasswords>,
    pub revoked: Arc<Mutex<Vec<Revocation>>>,
    /// The messages that sessions were sent.
    pub rim: Rc<TestRim>,
    pub address: Cell<Option<IpAddr>>,
    runtime: tokio::runtime::Runtime,
    _folder: tempfile::TempDir,
}

/// A signed-in player as the client sees it.
#[derive(Clone, Debug)]
pub struct Player {
    pub token: String,
    pub refresh_token: String,
    pub created: bool,
}

impl Player {
    pub fn from(body: &Value) -> Self {
        let text = |name: &str| body[name].as_str().unwrap_or_else(|| panic!("no {name} in {body}")).to_owned();
        Self { token: text("token"), refresh_token: text("refresh_token"), created: body["created"] == true }
    }

    /// The `authorization` header.
    pub fn bearer(&self) -> String {
        format!("Bearer {}", self.token)
    }

    /// The claims of the session token.
    pub fn claims(&self) -> Value {
        claims(&self.token)
    }

    pub fn id(&self) -> String {
        self.claims()["uid"].as_str().unwrap().to_owned()
    }
}

/// The claims of a token, whose signature is not checked.
pub fn claims(token: &str) -> Value {
    use base64::Engine as _;
    let payload = token.split('.').nth(1).unwrap();
    serde_json::from_slice(&base64::engine::general_purpose::URL_SAFE_NO_PAD.decode(payload).unwrap()).unwrap()
}

impl World {
    pub fn new() -> Self {
        Self::with(Setup::default())
    }

    pub fn with(setup: Setup) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("muster.db");
        let store = SqliteStore::open(&path, &SqliteOptions::default(), Arc::new(StoreMetrics::default())).unwrap();
        let store = Rc::new(store);
        let clock = Rc::new(TestClock(Cell::new(START_SEC * 1_000_000)));
        let (entropy, passwords) = (Rc::new(TestEntropy::default()), Rc::new(TestPasswords::default()));
        passwords.scheme.replace("new".into());
        let revoked = Arc::new(Mutex::new(Vec::new()));
        let told = Arc::clone(&revoked);
        let texts =
            KeyTexts { server_key: "defaultkey", http_key: "http-key", session: SESSION_KEY, refresh: REFRESH_KEY };
        let rim = Rc::new(TestRim::default());
        let framer = Framer::new(setup.live.node.clone(), false);
        let app = Rc::new(App {
            game: setup.game,
            store: store.clone(),
            passwords: passwords.clone(),
            clock: clock.clone(),
            entropy: entropy.clone(),
            user_ids: muster_domain::ids::UserIdForm::TimeOrdered,
            hooks: setup.hooks,
            keys: Arc::new(Keys::new(texts).unwrap()),
            tokens: Default::default(),
            sessions: setup.sessions,
            revocations: Arc::new(Revocations::new(Box::new(move |row| told.lock().unwrap().push(*row)))),
            guessing: Arc::new(SharedGuessing::new(setup.guessing)),
            admission: Arc::new(SharedAdmission::new(setup.admission)),
            answers: Arc::new(SharedAnswers::new(AnswerLimits { bytes_max: [0; 4], exempt: Vec::new() })),
            budgets: Arc::new(setup.budgets),
            barred: Arc::new(Barred::default()),
            requests: RefCell::new(Rates::new(setup.requests, 100)),
            direct_requests: Arc::new(DirectRequests::new(setup.direct_requests)),
            friend_notices: Arc::new(FriendNotices::new(setup.friend_notices)),
            live: Rc::new(Live::new(Plane::new(0.into(), Routes::alone(1), setup.plane, framer.clone()), rim.clone())),
            live_rules: setup.live,
            metrics: Arc::new(ApiMetrics::default()),
        });
        framer.frames_for(&app);
        let matched = Rc::downgrade(&app);
        let others = move |effect| {
            let app = matched.upgrade().unwrap();
            if let Effect::Matched(found) = effect {
                muster_api::realtime::matchmaker::tell_matched(&app, &found);
            }
        };
        rim.others.replace(Some(Rc::new(others)));
        app.live.attach_engines(app.game.match_engines());
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        let address = Cell::new("10.0.0.1".parse().ok());
        Self { app, store, clock, entropy, passwords, revoked, rim, address, runtime, _folder: folder }
    }

    pub fn run<T>(&self, future: impl Future<Output = T>) -> T {
        self.runtime.block_on(future)
    }

    /// Moves the clock forwards or backwards.
    pub fn advance_micros(&self, micros: i64) {
        self.clock.0.set(self.clock.0.get() + micros);
    }

    pub fn advance_sec(&self, seconds: i64) {
        self.advance_micros(seconds * 1_000_000);
    }

    /// Moves the live plane's clock, and does the work that is due until then.
    pub fn advance_live(&self, by: Millis) {
        self.rim.now.set(self.rim.now.get() + by);
        self.app.live.step(|plane, now, out| {
            plane.turn(now, out);
            while plane.run_slice(now, out) {}
        });
    }

    /// Sends a request whose body is bytes. `target` is path and query.
    pub fn send(&self, method: &str, target: &str, authorization: Option<&str>, body: &[u8]) -> HttpResponse {
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        let matched = match route(method, path) {
            Ok(matched) => matched,
            Err(error) => return HttpResponse::not_routed(error),
        };
        let (address, port, headers) = (self.address.get(), Some(7), &[("x-device", "a"), ("x-device", "b")]);
        let request = HttpRequest { matched, query, body, authorization, address, port, headers };
        self.run(muster_api::http::call(&self.app, request))
    }

    /// Sends a request. Answers its status and JSON body.
    pub fn call(&self, method: &str, target: &str, authorization: &str, body: &str) -> (u16, Value) {
        let response = self.send(method, target, Some(authorization).filter(|text| !text.is_empty()), body.as_bytes());
        assert_eq!(response.content_type, "application/json");
        (response.status, serde_json::from_slice(&response.body).unwrap())
    }

    /// Sends a request that must succeed.
    #[track_caller]
    pub fn ok(&self, method: &str, target: &str, authorization: &str, body: &str) -> Value {
        let (status, body) = self.call(method, target, authorization, body);
        assert_eq!(status, 200, "{method} {target}: {body}");
        body
    }

    /// Sends a request that must fail. Checks the HTTP status, the code and the text.
    #[track_caller]
    pub fn refused(&self, request: (&str, &str, &str, &str), expect: (u16, u64, &str)) {
        let (method, target, authorization, body) = request;
        let (status, answer) = self.call(method, target, authorization, body);
        let (code, message) = (answer["code"].as_u64(), answer["message"].as_str());
        assert_eq!((status, code, message), (expect.0, Some(expect.1), Some(expect.2)), "{method} {target} {body}");
    }

    /// Signs in by device, and creates the account if there is none.
    #[track_caller]
    pub fn device(&self, id: &str) -> Player {
        let body = serde_json::json!({ "id": id }).to_string();
        Player::from(&self.ok("POST", "/v2/account/authenticate/device", SERVER_KEY, &body))
    }

    pub fn ending(&self) -> AccountEnding<'_> {
        AccountEnding { sessions: &self.app.sessions, revocations: &self.app.revocations, clock: &*self.app.clock }
    }

    pub fn ban(&self, player: &Player) {
        let id: UserId = player.id().parse().unwrap();
        assert!(self.run(self.ending().ban(&*self.app.store, id)).unwrap());
    }

    /// The status of a cheap request with the player's token.
    pub fn status_of(&self, player: &Player) -> u16 {
        self.call("GET", "/v2/account", &player.bearer(), "").0
    }
}
