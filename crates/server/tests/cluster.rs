//! Tests of servers as nodes of a cluster, beside nodes with other keys or of another release.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use muster_cluster::NodeNumber;
use muster_cluster::codec::Decoder;
use muster_cluster::link::{Batch, LinkConfig};
use muster_cluster::membership::{Compatibility, NodeConfig, Roles};
use muster_cluster::nats::{Nats, NatsOptions};
use muster_cluster::node::{NodeClock, NodeEvent, NodeOptions, RunningNode};
use muster_cluster::seal::{Seal, SealUse};
use muster_testenv::{Database, Nats as NatsServer, NatsSettings, Postgres};
use muster_wire::batch::VERSION;
use muster_wire::envelope::Format;
use rustix::process::Signal;
use support::DEADLINE;
use support::program::{muster, word};
use support::server::{Server, Setup};
use support::socket::{Socket, handshake_asking};
use tokio::sync::mpsc;

/// Exit status of a server that did not start.
const FAILED: i32 = 1;

/// A NATS server and a database, where the nodes of one test meet.
struct Place {
    database: Database,
    nats: &'static NatsServer,
    cluster: String,
}

impl Place {
    fn new() -> Self {
        static PLACES: AtomicU32 = AtomicU32::new(0);
        Self {
            database: Postgres::shared().unwrap().create_database().unwrap(),
            nats: NatsServer::shared().unwrap(),
            cluster: format!("test{}", PLACES.fetch_add(1, Ordering::Relaxed)),
        }
    }

    fn node(&self, setup: Setup, name: &str) -> Setup {
        setup
            .flag("name", name)
            .flag("database.address", self.database.url())
            .flag("cluster.nats", self.nats.url())
            .flag("cluster.name", &self.cluster)
    }
}

/// A key from a server's file of generated keys.
fn key(setup: &Setup, name: &str) -> String {
    let file = std::fs::read_to_string(setup.folder().join("keys.yml")).unwrap();
    let line = file.lines().find_map(|line| line.strip_prefix(&format!("{name}: "))).unwrap();
    line.trim_matches('"').to_owned()
}

#[test]
fn a_node_with_other_keys_does_not_join_and_says_what_to_do() {
    let place = Place::new();
    let (first, second) = (place.node(Setup::serve(), "first"), place.node(Setup::serve(), "second"));
    let one = first.start();
    let (code, log) = second.fail_to_start();
    assert_eq!(code, Some(FAILED), "{log}");
    for words in ["could not join the cluster: node `first` of it has other keys", "give both the same `keys.yml`"] {
        assert!(log.contains(words), "{log}");
    }
    assert!(!log.contains(&key(&first, "session.encryption_key")), "it tells a key");

    std::fs::copy(first.folder().join("keys.yml"), second.folder().join("keys.yml")).unwrap();
    let two = second.start();
    let tokens = one.sign_in_with(&key(&first, "socket.server_key"), "ann");
    assert_eq!([one.account_status(&tokens.session), two.account_status(&tokens.session)], [200, 200]);
    one.stop();
    two.stop();
}

#[test]
fn a_wrong_login_ends_the_start_and_a_useless_file_the_check_too() {
    let more = "authorization { user: muster, password: secret }\n".to_owned();
    let nats = NatsServer::start(NatsSettings { more, ..NatsSettings::default() }).unwrap();
    let place = Place::new();
    let node = || place.node(Setup::serve(), "node").flag("cluster.nats", nats.url());
    let with = |password: &str| node().flag("cluster.nats_user", "muster").flag("cluster.nats_password", password);
    let server = with("secret").start();
    assert!(!server.log().contains("secret"), "it tells the password");
    server.stop();
    let (code, log) = with("another secret").fail_to_start();
    assert_eq!(code, Some(FAILED), "{log}");
    assert!(log.contains("refuses the login: correct cluster.nats_user") && !log.contains("secret"), "{log}");

    let setup = node();
    let file = setup.folder().join("nkey");
    std::fs::write(&file, "secret").unwrap();
    let fault =
        format!("cluster.nats_nkey_file: {} holds no seed of a key: make one by `nk -gen user`", file.display());
    let data = ["check", "--data_dir", word(setup.folder()), "--database.address", place.database.url()];
    let flags = ["--cluster.nats", nats.url(), "--cluster.nats_nkey_file", word(&file)];
    let ended = muster(&[&data[..], &flags].concat());
    assert_eq!(ended.code, Some(FAILED), "{ended:?}");
    assert!(ended.stdout.contains(&fault), "{ended:?}");
    let (code, log) = setup.flag("cluster.nats_nkey_file", file.display()).fail_to_start();
    assert_eq!(code, Some(FAILED), "{log}");
    assert!(log.contains(&fault), "{log}");
}

#[test]
fn an_upgrade_to_seals_goes_in_three_rounds_with_a_node_always_there() {
    let place = Place::new();
    let [one, two] = ["one", "two"].map(|name| place.node(Setup::serve(), name));
    let at = |setup: &Setup, seals: &str| setup.clone().flag("cluster.seals", seals).start();
    let are_together = |servers: [&Server; 2]| {
        for page in servers.map(Server::metrics) {
            let forged = ["frame", "repeated_frame", "value", "log_message"]
                .map(|kind| page.value(&format!("cluster_forged_count{{kind=\"{kind}\"}}")));
            assert_eq!((page.value("cluster_nodes"), page.value("cluster_online"), forged), (2.0, 1.0, [0.0; 4]));
        }
    };
    let mut first = at(&one, "off");
    std::fs::copy(one.folder().join("keys.yml"), two.folder().join("keys.yml")).unwrap();
    let mut second = at(&two, "off");
    are_together([&first, &second]);
    for seals in ["accept", "require"] {
        first.stop();
        first = at(&one, seals);
        are_together([&first, &second]);
        second.stop();
        second = at(&two, seals);
        are_together([&first, &second]);
    }
    second.stop();
    first.stop();
}

#[test]
fn a_node_with_another_database_does_not_join_and_says_what_to_do() {
    let place = Place::new();
    let one = place.node(Setup::dev(), "first").start();
    let other = Postgres::shared().unwrap().create_database().unwrap();
    let (code, log) = place.node(Setup::dev(), "second").flag("database.address", other.url()).fail_to_start();
    assert_eq!(code, Some(FAILED), "{log}");
    for words in ["node `first` of it has another database", "give all nodes the same `database.address`"] {
        assert!(log.contains(words), "{log}");
    }
    let two = place.node(Setup::dev(), "second").start();
    let tokens = one.sign_in("ann");
    assert_eq!([one.account_status(&tokens.session), two.account_status(&tokens.session)], [200, 200]);
    one.stop();
    two.stop();
}

#[test]
fn a_node_with_other_settings_of_recovery_does_not_join_and_says_what_to_do() {
    let place = Place::new();
    let one = place.node(Setup::dev(), "first").start();
    let (code, log) = place.node(Setup::dev(), "second").flag("cluster.recover_parties", false).fail_to_start();
    assert_eq!(code, Some(FAILED), "{log}");
    assert!(log.contains("node `first` of it has another value of `cluster.recover_parties`"), "{log}");
    one.stop();
}

#[test]
fn a_node_that_writes_no_seals_does_not_join_nodes_that_require_them_and_says_what_to_do() {
    let place = Place::new();
    let one = place.node(Setup::dev(), "first").start();
    let (code, log) = place.node(Setup::dev(), "second").flag("cluster.seals", "off").fail_to_start();
    assert_eq!(code, Some(FAILED), "{log}");
    for words in ["node `first` of it refuses what has no seal", "take `cluster.seals: off` out"] {
        assert!(log.contains(words), "{log}");
    }
    let two = place.node(Setup::dev(), "second").start();
    two.stop();
    one.stop();
}

/// Makes the clock of a database show another time to Muster.
fn shift_clock(database: &Database, seconds: i64) {
    let name = database.url().rsplit('/').next().unwrap().split('?').next().unwrap();
    support::database::postgres(
        database.url(),
        &format!(
            "CREATE FUNCTION public.clock_timestamp() RETURNS timestamptz LANGUAGE sql \
             AS 'SELECT pg_catalog.clock_timestamp() + make_interval(secs => {seconds})'; \
             ALTER DATABASE {name} SET search_path = public, pg_catalog"
        ),
    );
}

#[test]
fn a_node_whose_clock_is_wrong_does_not_start_and_says_what_to_do() {
    let place = Place::new();
    shift_clock(&place.database, -70);
    let setup = place.node(Setup::dev(), "ahead");
    let (code, log) = setup.fail_to_start();
    assert_eq!(code, Some(FAILED), "{log}");
    for words in ["s ahead of the database's", "cluster.clock_skew_max_ms is 5000", "Synchronise the clocks"] {
        assert!(log.contains(words), "{log}");
    }
    let server = setup.flag("cluster.clock_skew_max_ms", 600_000).start();
    server.stop();
}

#[test]
fn a_name_belongs_to_one_living_node_and_to_the_next_when_that_is_dead() {
    let place = Place::new();
    let setup = place.node(Setup::dev(), "first");
    let one = setup.start();
    let (code, log) = place.node(Setup::dev(), "first").fail_to_start();
    assert_eq!(code, Some(FAILED), "{log}");
    assert!(log.contains("another node that runs is called `first` too"), "{log}");
    one.kill();
    let again = setup.start();
    assert_eq!(again.get("/readycheck").status, 200, "it owns what its predecessor owned");
    let page = again.metrics();
    assert_eq!(["cluster_nodes", "cluster_partitions"].map(|name| page.value(name)), [1.0, 1024.0]);
    again.stop();
}

/// Path of a probe of the guide for operators: the sample that begins with this word. The port that it names has to be
/// the default.
fn probe(name: &str) -> String {
    let docs = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs");
    let guide = std::fs::read_to_string(docs.join("guide/operating.md")).unwrap();
    let (_, sample) = guide.split_once(&format!("{name}:\n")).unwrap();
    let get = sample.lines().find_map(|line| line.trim().strip_prefix("httpGet: { path: ")).unwrap();
    let (path, port) = get.trim_end_matches(" }").split_once(", port: ").unwrap();
    let keys = std::fs::read_to_string(docs.join("reference/configuration.md")).unwrap();
    let row = keys.lines().find(|line| line.starts_with("| `socket.port` |")).unwrap();
    assert!(row.contains(&format!("| `{port}` |")), "{row}");
    path.to_owned()
}

#[test]
fn a_draining_node_is_alive_and_gets_no_players_as_the_guides_probes_see_it() {
    let place = Place::new();
    let start = |name| place.node(Setup::dev(), name).flag("session.resume_grace_ms", 3_600_000).start();
    let (one, two) = (start("first"), start("second"));
    let probes = ["livenessProbe", "readinessProbe"].map(probe);
    let seen = |server: &Server| probes.each_ref().map(|path| server.get(path).status);
    [&one, &two].into_iter().for_each(|node| until_ready(node, true));
    assert_eq!([seen(&one), seen(&two)], [[200, 200]; 2]);
    // A session whose client does not come again keeps the node draining.
    let token = one.sign_in("ann").session;
    let request = handshake_asking(&token, Format::Json, "&resume=new");
    let _socket = Socket::open_by(support::http::connect(one.address), Format::Json, &request);
    one.signal(Signal::TERM);
    one.wait_for_log("draining: sessions that can go on elsewhere do so");
    support::wait_until("the node is not ready", || seen(&one) != [200, 200]);
    assert_eq!(seen(&one), [200, 503]);
    let port = one.address.port().to_string();
    muster(&["healthcheck", &port]).failed(FAILED, "is not ready: it answered 503 to /readycheck");
    assert_eq!(one.metrics().value("sessions_resumable"), 1.0);
    assert_eq!(seen(&two), [200, 200]);
    assert_eq!(two.account_status(&token), 200);
    one.kill();
    two.stop();
}

/// Waits until a server says that it is ready, or that it is not.
fn until_ready(server: &Server, is_ready: bool) {
    let status = if is_ready { 200 } else { 503 };
    support::wait_until("a change of readiness", || server.get("/readycheck").status == status);
    assert_eq!(server.get("/healthcheck").status, 200, "the process lives");
}

#[test]
fn a_cluster_whose_nats_lost_its_store_goes_on_with_its_players() {
    let nats = NatsServer::start(muster_testenv::NatsSettings::default()).unwrap();
    let place = Place::new();
    let start = |name| place.node(Setup::dev(), name).flag("cluster.nats", nats.url()).start();
    let servers = [start("first"), start("second")];
    let token = servers[0].sign_in("ann").session;
    let mut sockets = servers.each_ref().map(|server| Socket::open(server.address, &token, Format::Json));
    nats.kill().unwrap();
    servers.iter().for_each(|server| until_ready(server, false));
    nats.lose_store().unwrap();
    nats.start_again().unwrap();
    servers.iter().for_each(|server| until_ready(server, true));
    for (server, socket) in servers.iter().zip(&mut sockets) {
        socket.ping_pong("1");
        let page = server.metrics();
        assert_eq!(["cluster_nodes", "cluster_voted_out_count"].map(|name| page.value(name)), [2.0, 0.0]);
    }
    servers.into_iter().for_each(Server::stop);
}

#[test]
fn a_node_that_was_voted_out_closes_its_sockets_and_joins_again() {
    let place = Place::new();
    let start = |name| place.node(Setup::dev(), name).flag("shutdown_drain_sec", 1_000).start();
    let (one, two) = (start("first"), start("second"));
    let mut socket = Socket::open(two.address, &two.sign_in("ann").session, Format::Json);
    two.signal(Signal::STOP);
    one.wait_for_log("a node is gone from the cluster");
    two.signal(Signal::CONT);
    let (_, code, _) = socket.read_close();
    assert_eq!(code, 1001);
    one.wait_for_log("a node has joined the cluster");
    one.stop();
    two.stop();
}

#[test]
fn a_start_waits_for_nats_and_for_the_database() {
    let nats = NatsServer::start(muster_testenv::NatsSettings::default()).unwrap();
    let mut postgres = Postgres::start().unwrap();
    let url = postgres.url().to_owned();
    let setup = Setup::dev().flag("start_wait_sec", 1_000).flag("database.address", &url);
    postgres.crash().unwrap();
    setup.start_after("no database answers yet", || postgres.start_again().unwrap()).stop();

    let setup = setup.flag("cluster.nats", nats.url());
    nats.kill().unwrap();
    let server = setup.start_after("no nats server answers yet", || nats.start_again().unwrap());
    assert_eq!(server.get("/readycheck").status, 200);
    server.stop();
}

#[test]
fn new_keys_beside_a_database_that_has_been_used_are_told() {
    let database = Postgres::shared().unwrap().create_database().unwrap();
    let setup = Setup::serve().flag("database.address", database.url());
    let words = "the database is not new";
    let server = setup.start();
    assert!(!server.log().contains(words), "the database is new");
    server.stop();
    std::fs::remove_file(setup.folder().join("keys.yml")).unwrap();
    let server = setup.start();
    server.wait_for_log(words);
    server.stop();
    let server = setup.start();
    assert!(!server.log().contains(words), "the keys are those of before");
    server.stop();
}

#[test]
fn a_start_does_not_wait_for_a_login_to_be_right() {
    let (_, place) = Postgres::shared().unwrap().url().rsplit_once('@').unwrap();
    let url = format!("postgres://nobody:wrong@{place}");
    let setup = Setup::dev().flag("start_wait_sec", 1_000).flag("database.address", url);
    let (code, log) = setup.fail_to_start();
    assert_eq!(code, Some(FAILED), "{log}");
    assert!(log.contains("cannot connect to the database") && !log.contains("answers yet"), "{log}");
}

/// A node that the test itself runs, in the role of a node of another release.
struct Other {
    _node: RunningNode,
    node_of_server: NodeNumber,
    me: NodeNumber,
    events: mpsc::Receiver<NodeEvent>,
    outbound: muster_cluster::node::Outbound,
    /// Text of the messages that the server sent.
    heard: Vec<String>,
}

async fn start_other(place: &Place, compatibility: Compatibility) -> (RunningNode, mpsc::Receiver<NodeEvent>) {
    let urls = vec![place.nats.url().to_owned()];
    let options = NatsOptions { urls, cluster: place.cluster.clone(), ..NatsOptions::default() };
    let nats = Arc::new(Nats::connect(&options).await.unwrap());
    // The test has not the keys of the server, which is told to do without seals.
    let seal = Seal::new(&[0; 32], SealUse::Off);
    // The node owns nothing, since the test cannot do the work of an owner.
    let roles = Roles { gateway: true, live: false, jobs: false };
    let node = NodeConfig { name: "other".into(), shards: 1, weight: 1, roles, compatibility, epoch_floor: 0 };
    RunningNode::start(nats, NodeOptions { node, links: LinkConfig::default(), clock: NodeClock::of_system(), seal })
}

impl Other {
    /// Joins the cluster of the one server that runs.
    async fn join(place: &Place, compatibility: Compatibility) -> Self {
        let (node, mut events) = start_other(place, compatibility).await;
        let (mut me, mut numbers, mut is_online) = (None, BTreeSet::new(), false);
        while !is_online || me.is_none() {
            match next(&mut events).await {
                NodeEvent::View { new, .. } => numbers = new.nodes().iter().map(|node| node.number).collect(),
                NodeEvent::Joined(address) => me = Some(address.number),
                NodeEvent::Online => is_online = true,
                event => panic!("{event:?}"),
            }
        }
        let me = me.unwrap();
        numbers.remove(&me);
        let outbound = node.outbound().clone();
        Self { _node: node, node_of_server: *numbers.first().unwrap(), me, events, outbound, heard: Vec::new() }
    }

    fn send(&self, content: &[u8]) {
        let mut batch = Batch::default();
        batch.append(|out| out.extend_from_slice(content));
        self.outbound.try_send(self.node_of_server, batch).unwrap();
    }

    /// Waits until the server has sent a message with these words.
    async fn hears(&mut self, words: &str) {
        let decoder = Decoder::new(self.me, Arc::default());
        while !self.heard.iter().any(|heard| heard.contains(words)) {
            if let NodeEvent::Batch { from, bytes } = next(&mut self.events).await {
                let messages = decoder.decode(from, bytes).unwrap();
                self.heard.extend(messages.map(|message| format!("{:?}", message.content.unwrap())));
            }
        }
    }
}

async fn next(events: &mut mpsc::Receiver<NodeEvent>) -> NodeEvent {
    tokio::time::timeout(DEADLINE, events.recv()).await.unwrap().unwrap()
}

fn block_on(test: impl Future<Output = ()>) {
    tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(test);
}

/// A batch of these messages. Its head holds the version in which it was written, and the lowest version that can read
/// it.
fn batch(version: u32, readable_from: u32, messages: &[Vec<u8>]) -> Vec<u8> {
    let head = [0x08, u8::try_from(version).unwrap(), 0x10, u8::try_from(readable_from).unwrap()];
    [&head[..], &messages.concat()].concat()
}

/// A field of bytes, as protobuf writes it.
fn field(number: u16, content: &[u8]) -> Vec<u8> {
    let key = number << 3 | 2;
    let mut out = if key < 0x80 { vec![key as u8] } else { vec![key as u8 | 0x80, (key >> 7) as u8] };
    out.push(u8::try_from(content.len()).unwrap());
    out.extend_from_slice(content);
    out
}

/// A message with a question of this number, which used up a credit.
fn question(number: u8, what: &[u8]) -> Vec<u8> {
    let head = [field(3, &[0x10, number]), vec![0x28, 1]].concat();
    field(4, &[&head, what].concat())
}

/// A field that no release has.
const UNKNOWN_FIELD: [u8; 3] = [0xF8, 0x7F, 1];
/// Number of the field for a kind of question that no release has.
const UNKNOWN_KIND: u16 = 1_000;
/// Number of the field for the question how many presences a stream has.
const COUNT: u16 = 24;

#[test]
fn a_node_of_a_newer_release_is_understood_but_for_what_is_new() {
    let place = Place::new();
    let server = place.node(Setup::dev(), "older").flag("cluster.seals", "off").start();
    block_on(async {
        let newer = Compatibility { wire_version: VERSION + 1, readable_from: VERSION, ..Compatibility::default() };
        let mut other = Other::join(&place, newer).await;
        let count = [field(1, &[&[0x08, 2], &UNKNOWN_FIELD[..]].concat()), UNKNOWN_FIELD.to_vec()].concat();
        let messages = [
            question(7, &field(UNKNOWN_KIND, b"what is it")),
            question(8, &[field(COUNT, &count), UNKNOWN_FIELD.to_vec()].concat()),
        ];
        other.send(&batch(VERSION + 1, VERSION, &messages));
        other.hears("Reply(7, Joined(Err(Unavailable)))").await;
        other.hears("Reply(8, Counts([0]))").await;
        other.hears("Credit(Up, ").await;

        // A batch that cannot be read is lost, and nothing else.
        other.send(&batch(VERSION + 2, VERSION + 1, &messages));
        other.send(&batch(VERSION + 1, VERSION, &[question(9, &field(COUNT, &count))]));
        other.hears("Reply(9, Counts([0]))").await;
        assert!(server.says("and this node reads up to"), "the operator is told");
    });
    let page = server.metrics();
    let counted = ["cluster_message_count{kind=\"unread\"}", "cluster_batches_refused_count"];
    assert_eq!(counted.map(|name| page.value(name)), [1.0, 1.0]);
    let player = server.sign_in("ann");
    for format in [Format::Json, Format::Protobuf] {
        Socket::open(server.address, &player.session, format).ping_pong("1");
    }
    server.stop();
}

#[test]
fn nodes_of_releases_too_far_apart_do_not_come_together() {
    let place = Place::new();
    let (setup, too_new) = (place.node(Setup::dev(), "older").flag("cluster.seals", "off"), VERSION + 1);
    let far = Compatibility { wire_version: too_new, readable_from: too_new, ..Compatibility::default() };
    block_on(async {
        let server: Server = setup.start();
        let (_node, mut events) = start_other(&place, far).await;
        let reason = loop {
            if let NodeEvent::Refused(reason) = next(&mut events).await {
                break reason.to_string();
            }
        };
        assert!(reason.contains("node `older`") && reason.contains("update that node first"), "{reason}");
        server.stop();

        let (_node, mut events) = start_other(&place, far).await;
        while !matches!(next(&mut events).await, NodeEvent::Online) {}
        let (code, log) = tokio::task::spawn_blocking(move || setup.fail_to_start()).await.unwrap();
        assert_eq!(code, Some(FAILED), "{log}");
        assert!(log.contains("node `other`") && log.contains("update this node"), "{log}");
    });
}
