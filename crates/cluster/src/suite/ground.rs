//! Grounds: places where the nodes of one test meet, and lines to them that the test can break.

use std::cell::RefCell;
use std::future::Future;
use std::rc::Rc;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use muster_testenv::{Nats as Server, NatsSettings, Proxy};

use crate::bus::{Address, Bus};
use crate::hub::{Hub, Member};
use crate::match_log::files::{FileLogs, FileOptions};
use crate::nats::{Nats, NatsOptions};
use crate::recovery::Recovery;
use crate::registry::{Entry, Registry, RegistryEvent, Watch};
use crate::seal::{Seal, SealUse, Sealed};

/// Time limit of every wait: a test that waits longer fails. Tests in process have a paused clock, so their waits take
/// no real time.
const DEADLINE: Duration = Duration::from_secs(60);

/// A place where nodes meet.
pub(crate) trait Ground {
    type Node: Bus + Registry + Recovery;

    /// Makes another node, with a line of its own.
    fn join(&self) -> impl Future<Output = Joined<Self::Node>>;
}

/// A node, and its connection to the place where nodes meet.
pub(crate) struct Joined<N> {
    pub(crate) node: Arc<N>,
    pub(crate) line: Box<dyn Line>,
}

/// The connection of a node to the place where nodes meet; a test can break it.
pub(crate) trait Line {
    /// Breaks the line in both directions.
    fn cut(&self);
    /// Mends the line.
    fn mend(&self);
    /// Loses the answer to the next write; the write itself is made.
    fn lose_answer(&self);
}

/// A line that no test breaks.
pub(crate) struct NoLine;

impl Line for NoLine {
    fn cut(&self) {}
    fn mend(&self) {}
    fn lose_answer(&self) {}
}

/// Runs a test whose nodes meet in this process.
pub(crate) fn in_process(test: impl AsyncFnOnce(HubGround)) {
    let mut runtime = tokio::runtime::Builder::new_current_thread();
    let runtime = runtime.enable_time().start_paused(true).build().expect("a runtime");
    runtime.block_on(test(HubGround(Hub::new(1))));
}

pub(crate) struct HubGround(pub(crate) Hub);

impl Ground for HubGround {
    type Node = Sealed<Member>;

    async fn join(&self) -> Joined<Sealed<Member>> {
        let member = Arc::new(self.0.join());
        let node = Arc::new(Sealed::new(member.clone(), seal()));
        Joined { node, line: Box::new(HubLine { hub: self.0.clone(), member }) }
    }
}

struct HubLine {
    hub: Hub,
    member: Arc<Member>,
}

impl Line for HubLine {
    fn cut(&self) {
        self.member.cut();
    }

    fn mend(&self) {
        self.member.mend();
    }

    fn lose_answer(&self) {
        self.hub.lose_answers(1);
    }
}

/// Match logs in files, without a bus.
pub(crate) struct FilesGround(pub(crate) FileLogs);

/// Runs a test of match logs in files.
pub(crate) fn in_files(test: impl AsyncFnOnce(FilesGround)) {
    let folder = tempfile::tempdir().expect("a folder");
    let logs = FileLogs::open(folder.path(), FileOptions::default()).expect("opened");
    block_on(test(FilesGround(logs)));
}

/// Runs a test whose nodes meet at this process's NATS server, in a cluster of the test's own.
pub(crate) fn over_nats(test: impl AsyncFnOnce(NatsGround)) {
    static TESTS: AtomicU32 = AtomicU32::new(0);
    let server = muster_testenv::Nats::shared().expect("a NATS server");
    let number = TESTS.fetch_add(1, Ordering::Relaxed);
    block_on(test(NatsGround::at(server.url(), &format!("test{number}"))));
}

/// Runs a test whose nodes meet at one of three NATS servers, each with a copy of everything.
pub(crate) fn over_three_nats(test: impl AsyncFnOnce(NatsGround)) {
    static TESTS: AtomicUsize = AtomicUsize::new(0);
    static SERVERS: OnceLock<[Server; 3]> = OnceLock::new();
    let servers = SERVERS.get_or_init(|| Server::start_three(NatsSettings::default()).expect("three NATS servers"));
    let number = TESTS.fetch_add(1, Ordering::Relaxed);
    let ground = NatsGround::at(servers[number % servers.len()].url(), &format!("test{number}"));
    block_on(test(NatsGround { replicas: servers.len(), ..ground }));
}

/// Runs a test in real time.
pub(crate) fn block_on(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().expect("a runtime").block_on(test);
}

pub(crate) struct NatsGround {
    url: String,
    cluster: String,
    replicas: usize,
    /// The ground keeps the lines, since a line ends with its last owner and a test may drop its own.
    lines: RefCell<Vec<Rc<Proxy>>>,
}

impl NatsGround {
    /// A cluster of this name at a server.
    pub(crate) fn at(url: &str, cluster: &str) -> Self {
        Self { url: url.to_owned(), cluster: cluster.to_owned(), replicas: 1, lines: RefCell::default() }
    }
}

impl NatsGround {
    /// A new line, and the options of a node on it.
    pub(crate) fn line(&self) -> (Rc<Proxy>, NatsOptions) {
        let line = Rc::new(Proxy::start(&self.url).expect("a line to the server"));
        self.lines.borrow_mut().push(line.clone());
        let (cluster, replicas) = (self.cluster.clone(), self.replicas);
        let options = NatsOptions { urls: vec![line.url()], cluster, replicas, ..NatsOptions::default() };
        (line, options)
    }
}

impl Ground for NatsGround {
    type Node = Sealed<Nats>;

    async fn join(&self) -> Joined<Sealed<Nats>> {
        let (line, options) = self.line();
        let nats = Nats::connect(&options).await.expect("a connection");
        let node = Arc::new(Sealed::new(Arc::new(nats), seal()));
        Joined { node, line: Box::new(line) }
    }
}

impl Line for Rc<Proxy> {
    fn cut(&self) {
        Proxy::cut(self);
    }

    fn mend(&self) {
        Proxy::mend(self);
    }

    fn lose_answer(&self) {
        Proxy::lose_answer(self);
    }
}

/// Waits for `future`, and fails the test if it takes too long.
pub(crate) async fn within<T>(what: &str, future: impl Future<Output = T>) -> T {
    tokio::time::timeout(DEADLINE, future).await.unwrap_or_else(|_| panic!("{what}: not within {DEADLINE:?}"))
}

/// The seals of the nodes of tests.
pub(crate) fn seal() -> Seal {
    Seal::new(&[7; 32], SealUse::Require)
}

/// An address for tests.
pub(crate) fn address(number: u32) -> Address {
    Address { number, incarnation: u128::from(number) << 96 | 7 }
}

/// Waits until the connection is up, or down.
pub(crate) async fn until_up(node: &impl Bus, is_up: bool) {
    let mut connection = node.connection();
    let changed = connection.wait_for(|connection| connection.is_up == is_up);
    within("a change of the connection", changed).await.expect("the connection is watched");
}

/// The next event of a watch.
pub(crate) async fn next(watch: &mut Watch) -> RegistryEvent {
    within("an event", watch.next()).await.expect("the watch goes on")
}

/// The state that a watch begins with.
pub(crate) async fn state(watch: &mut Watch) -> Vec<Entry> {
    match next(watch).await {
        RegistryEvent::State(entries) => entries,
        event => panic!("{event:?} came before the state"),
    }
}
