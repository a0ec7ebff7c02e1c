//! A process that runs one durable match from the end of its log to the end of a script, or until the process dies.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::rc::Rc;
use std::sync::Arc;

use bytes::Bytes;
use fastrand::Rng;
use muster_api::live::MatchEngines as _;
use muster_domain::Timestamp;
use muster_domain::ids::Uuid;
use muster_domain::ports::clock::{Clock, Entropy};
use muster_domain::ports::storage::{Authority, ObjectQuery};
use muster_domain::ports::store::Store;
use muster_domain::wallet;
use muster_live::matches::{
    Act, Broadcast, Call, CallRef, Callback, Chain, Input, Joiner, LeaveReason, Left, MatchId, MatchLog, Outcome,
    Outline, Return, Timers,
};
use muster_live::plane::HandlerOrder;
use muster_live::{Epoch, Partition};
use muster_script::durable::logs::Logs;
use muster_script::durable::recorded_call::{MatchClock, MatchEntropy};
use muster_script::durable::recording::Recorder;
use muster_script::durable::transcript::Transcript;
use muster_script::host::{Current, HttpClient, NoHttp};
use muster_script::languages::DurableOwner;
use muster_script::matches::replay::Replayed;
use muster_script::value::Value;
use muster_script::{
    Bundle, GoMatches, Host, JsMatches, LanguageMatches, Limits, LuaFunctions, LuaMatches, Program, ScriptMetrics,
};
use muster_store::sqlite::backup::Backup;
use tempfile::TempDir;

use super::disk::Disk;
use crate::matches::presence;
use crate::world;

/// The id of the match with this number.
pub fn match_id(number: u64) -> MatchId {
    MatchId::of_partition(Partition::of_name("durable"), Uuid::from_u128(u128::from(number) << 64))
}

/// A change of the wallet, and its metadata.
type LedgerItem = (BTreeMap<String, i64>, String);

/// Name of the database's file.
const FILE: &str = "muster.db";

/// A database that outlives processes.
pub struct Shelf {
    pub store: Rc<dyn Store>,
    folder: TempDir,
}

impl Shelf {
    pub fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let shelf = Self { store: world::store_at(&folder.path().join(FILE)), folder };
        let its = shelf.store.clone();
        world::block_on(async move { world::player(&its, 0x63, "payee").await });
        shelf
    }

    /// A copy of the database as it is now.
    pub fn copy(&self) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let destination = folder.path().join("copy");
        let mut copy = Backup::begin(&self.folder.path().join(FILE), &destination, 0).unwrap();
        copy.copy_database(|| Ok(())).unwrap();
        copy.finish().unwrap();
        Self { store: world::store_at(&destination.join(FILE)), folder }
    }

    /// The wallet of the payee, and its ledger.
    pub fn wallet(&self) -> (String, Vec<LedgerItem>) {
        let store = self.store.clone();
        world::block_on(async move {
            let payee = muster_domain::UserId(Uuid::from_u128(0xd000_0000_0000_4000_8000_0000_0000_0063));
            let account = store.account(payee).await.unwrap().unwrap();
            let (items, _) = wallet::list_ledger(&*store, payee, Some(100), None).await.unwrap();
            let mut items: Vec<_> =
                items.into_iter().map(|item| (item.changeset.into_iter().collect(), item.metadata)).collect();
            items.sort();
            (account.wallet, items)
        })
    }

    /// Keys and values of the stored objects.
    pub fn objects(&self) -> Vec<(String, String)> {
        let store = self.store.clone();
        world::block_on(async move {
            let query = ObjectQuery {
                collection: "game".to_owned(),
                owner: None,
                authority: Authority::Server,
                limit: 100,
                after: None,
            };
            let (objects, _) = store.list_objects(&query).await.unwrap();
            objects.into_iter().map(|object| (object.id.key, object.value)).collect()
        })
    }
}

/// The calls of a match.
pub struct Script {
    moves: Vec<(Timestamp, u64, Callback)>,
    secret: u64,
    /// The number of the match. Scripts that share a database have different ones.
    number: u64,
}

impl Script {
    /// A script of `ticks` ticks, with a signal at the end.
    pub fn of_ticks(ticks: u64) -> Self {
        let mut script = Self { moves: Vec::new(), secret: 1, number: 7 };
        script.add(0, init(true));
        for tick in 0..ticks {
            script.add(tick, Callback::Loop(Vec::new()));
        }
        script.add(ticks, Callback::Signal("end".into()));
        script
    }

    pub fn with_secret(self, secret: u64) -> Self {
        Self { secret, ..self }
    }

    /// The same script for the match with another number.
    pub fn of_match(self, number: u64) -> Self {
        Self { number, secret: number, ..self }
    }

    pub fn random(random: &mut Rng, pays: bool) -> Self {
        let mut script = Self { moves: Vec::new(), secret: random.u64(..), number: 7 };
        script.add(0, init(pays));
        let (mut inside, mut tick): (Vec<u32>, u64) = (Vec::new(), 0);
        for _ in 0..random.usize(20..90) {
            match random.u8(..100) {
                0..10 => {
                    let player = random.u32(1..6);
                    let team = if random.bool() { "red" } else { "blue" };
                    let metadata = vec![("team".to_owned(), team.to_owned())];
                    let joiner = Arc::new(Joiner { metadata, ..Joiner::default() });
                    let who = Arc::new(presence(player));
                    script.add(tick, Callback::JoinAttempt { presence: who.clone(), joiner });
                    if team == "red" && !inside.contains(&player) {
                        inside.push(player);
                        let mut came = vec![who];
                        // In logs of earlier builds attempts of other players stand between an attempt and its join.
                        if let Some(other) = (1..6).find(|it| !inside.contains(it)).filter(|_| random.bool()) {
                            inside.push(other);
                            let (presence, joiner) = (Arc::new(presence(other)), Arc::default());
                            came.push(presence.clone());
                            script.add(tick, Callback::JoinAttempt { presence, joiner });
                        }
                        script.add(tick, Callback::Join(came));
                    }
                }
                10..15 if !inside.is_empty() => {
                    let player = inside.swap_remove(random.usize(..inside.len()));
                    let left = Left { presence: Arc::new(presence(player)), reason: LeaveReason::Left };
                    script.add(tick, Callback::Leave(vec![left]));
                }
                15..20 => script.add(tick, Callback::Signal("how".into())),
                20..25 => {
                    let (name, data) = ("bell".into(), format!("rung{}", random.u8(..4)).into());
                    script.add(tick, Callback::Timer { name, data });
                }
                _ => {
                    let inputs = (0..random.usize(..4)).filter_map(|number| {
                        let sender = Arc::new(presence(*inside.get(number)?));
                        let (op_code, data) = (random.i64(-3..9), Bytes::from(format!("name{}", random.u8(..9))));
                        let received_at = Timestamp(random.i64(..1_000_000));
                        Some(Input { sender, op_code, data, reliable: random.bool(), received_at })
                    });
                    let inputs = inputs.collect();
                    script.add(tick, Callback::Loop(inputs));
                    tick += 1;
                }
            }
        }
        script.add(tick, Callback::Signal("end".into()));
        script
    }

    fn add(&mut self, tick: u64, callback: Callback) {
        let now = Timestamp::from_seconds(world::NOW_SEC).0 + 97_003 * self.moves.len() as i64;
        self.moves.push((Timestamp(now), tick, callback));
    }
}

fn init(pays: bool) -> Callback {
    let params = vec![("name".to_owned(), Value::text("one")), ("pays".to_owned(), Value::Flag(pays))];
    let params = Value::Map(params).encode().into();
    Callback::Init { params, created_at: Timestamp::from_seconds(world::NOW_SEC) }
}

struct SetClock(Rc<Cell<Timestamp>>);

impl Clock for SetClock {
    fn now(&self) -> Timestamp {
        self.0.get()
    }
}

/// Randomness that is always the same.
struct Secret(u64);

impl Entropy for Secret {
    fn fill(&self, bytes: &mut [u8]) {
        bytes.iter_mut().zip(self.0.to_le_bytes().into_iter().cycle()).for_each(|(byte, secret)| *byte = secret);
    }
}

/// Keeps the matches of a log that was taken over.
#[derive(Clone, Default)]
pub struct Owner(pub Rc<RefCell<Option<Vec<Outline>>>>);

impl DurableOwner for Owner {
    fn taken_over(&self, _: Partition, _: Epoch, matches: Vec<Outline>) {
        self.0.replace(Some(matches));
    }

    fn released(&self, _: Partition) {}
}

/// The part of a script that one process has played.
#[derive(Default)]
pub struct Life {
    /// The returns of calls, by their positions in the script.
    pub seen: BTreeMap<usize, Return>,
    /// The position of the last call in the log when the process began, and the broadcasts of that call that are sent
    /// again.
    pub again: Option<(usize, Vec<Broadcast>)>,
    /// The outline of the match in the plane.
    pub outline: Option<Outline>,
    /// Whether the script was played to its end.
    pub is_over: bool,
    /// Whether the log has the match but it could not be resumed.
    pub is_gone: bool,
}

impl Life {
    /// Plays a script from the end of the log on.
    pub fn run(script: &Script, files: &[(&str, &str)], shelf: &Shelf, disk: &Rc<Disk>) -> Self {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        // Dropping the tasks with everything that runs in them is the death of the process.
        let tasks = tokio::task::LocalSet::new();
        tasks.block_on(&runtime, play(script, files, shelf, disk))
    }

    /// The broadcasts of a call.
    pub fn sent(&self, number: usize) -> Vec<Broadcast> {
        let Some(returned) = self.seen.get(&number) else { return Vec::new() };
        let (mut sent, mut deferred) = (Vec::new(), Vec::new());
        for act in &returned.acts {
            match act {
                Act::Broadcast(broadcast) => sent.push(broadcast.clone()),
                Act::Defer(broadcast) => deferred.push(broadcast.clone()),
                Act::Kick(_) | Act::Label(_) | Act::SetTimer { .. } | Act::CancelTimer(_) => {}
            }
        }
        sent.append(&mut deferred);
        sent
    }
}

/// A process with its modules.
pub struct Process {
    pub code: Rc<LanguageMatches>,
    pub owner: Owner,
    pub returned: Rc<RefCell<Vec<(CallRef, Return)>>>,
    pub now: Rc<Cell<Timestamp>>,
    /// Kept for its listeners of events.
    _functions: LuaFunctions,
    _folder: tempfile::TempDir,
}

pub async fn start(
    (secret, node, http): (u64, &str, Rc<dyn HttpClient>),
    files: &[(&str, &str)],
    shelf: &Shelf,
    disk: &Rc<Disk>,
) -> Process {
    let folder = tempfile::tempdir().unwrap();
    world::write_all(folder.path(), files);
    let (current, now) = (Current::default(), Rc::new(Cell::new(Timestamp(0))));
    let host = Rc::new(Host {
        clock: Rc::new(MatchClock::new(Rc::new(SetClock(now.clone())), current.clone())),
        entropy: Rc::new(MatchEntropy::new(Rc::new(Secret(secret)), current.clone())),
        current,
        http,
        ..world::host_of(node, shelf.store.clone(), folder.path())
    });
    let limits = Limits::default();
    let program = Arc::new(Program::load(folder.path(), &host, &limits).await.unwrap());
    let bundle = Arc::new(Bundle::load(folder.path(), None, &host, &limits).await.unwrap());
    let logs = Logs::new(disk.clone() as Rc<dyn MatchLog>, Some(disk.clone() as Rc<dyn Recorder>));
    let returned: Rc<RefCell<Vec<(CallRef, Return)>>> = Rc::default();
    let returns = || {
        let returned = returned.clone();
        move |call, what| returned.borrow_mut().push((call, what))
    };
    let metrics = Arc::<ScriptMetrics>::default();
    let functions = LuaFunctions::new(program.clone(), host.clone(), limits, metrics.clone());
    let go = GoMatches::new(Arc::default(), host.clone(), limits, metrics.clone(), returns());
    let lua = LuaMatches::new(program, host.clone(), limits, metrics.clone(), returns()).with_logs(logs.clone());
    let javascript = JsMatches::new(bundle, host.clone(), limits, metrics.clone(), returns()).with_logs(logs.clone());
    let owner = Owner::default();
    let code = LanguageMatches::new(vec![Rc::new(go), Rc::new(lua), Rc::new(javascript)]).with_durable(
        &host,
        metrics,
        logs,
        Box::new(owner.clone()),
    );
    let code = Rc::new(code);
    host.handlers.set(&code);
    Process { code, owner, returned, now, _functions: functions, _folder: folder }
}

/// Replays the recording of a disk with these files. Answers the result, and the differences.
pub fn replay(script: &Script, files: &[(&str, &str)], disk: &Rc<Disk>) -> (Replayed, Vec<String>) {
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let shelf = Shelf::new();
    tokio::task::LocalSet::new().block_on(&runtime, async {
        let process = start((script.secret, "muster", Rc::new(NoHttp)), files, &shelf, &Disk::dying(0)).await;
        let transcript = Transcript::read(disk.recording()).unwrap();
        let mut differences = Vec::new();
        let replayed = process.code.replay(transcript, &mut |played| differences.extend(played.difference)).await;
        (replayed.unwrap(), differences)
    })
}

async fn play(script: &Script, files: &[(&str, &str)], shelf: &Shelf, disk: &Rc<Disk>) -> Life {
    let http = Rc::new(NoHttp);
    let Process { code, owner, returned, now, .. } = &start((script.secret, "muster", http), files, shelf, disk).await;
    let mut life = Life::default();
    let mut outline = None;
    let mut first = 0;
    if let Some(partition) = disk.written().first()
        && let Some(latest) = disk.calls()
    {
        code.clone().order(HandlerOrder::TakeOver(vec![(*partition, Epoch::default())]));
        let Some(resumed) = wait(disk, || owner.0.take()).await else { return life };
        let Some(goes_on) = resumed.into_iter().next() else {
            return Life { is_gone: !disk.is_dead.get(), ..life };
        };
        first = latest as usize + 1;
        life.again = Some((latest as usize, goes_on.sent.clone()));
        outline = Some(goes_on);
    }
    for (number, (at, tick, callback)) in script.moves.iter().enumerate().skip(first) {
        now.set(*at);
        let call = call(match_id(script.number), outline.as_ref(), *tick, callback.clone());
        code.clone().order(HandlerOrder::Call(Box::new(call.clone())));
        let Some((_, what)) = wait(disk, || returned.borrow_mut().pop()).await else { return life };
        let its = outline.get_or_insert_with(|| Outline::of_first(&call).unwrap());
        its.returned(callback, &what);
        let has_failed = matches!(what.outcome, Outcome::Failed(_));
        life.seen.insert(number, what);
        if has_failed {
            return life;
        }
    }
    (life.outline, life.is_over) = (outline, true);
    life
}

/// Waits until `ready` answers something. Answers `None` if the process dies before.
pub async fn wait<T>(disk: &Disk, mut ready: impl FnMut() -> Option<T>) -> Option<T> {
    loop {
        if let Some(ready) = ready() {
            return Some(ready);
        }
        if disk.is_dead.get() {
            return None;
        }
        tokio::task::yield_now().await;
    }
}

fn call(id: MatchId, outline: Option<&Outline>, tick: u64, callback: Callback) -> Call {
    let (label, tick_rate, timers) = outline.map_or((Arc::default(), 0, Timers::default()), |outline| {
        (outline.label.clone(), outline.tick_rate, outline.timers.clone())
    });
    Call { id, stay: 1, handler: handler_of(), tick, tick_rate, label, chain: Chain::default(), timers, callback }
}

fn handler_of() -> Arc<str> {
    "game".into()
}
