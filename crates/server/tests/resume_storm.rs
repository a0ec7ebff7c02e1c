//! A thousand sockets are cut at random bytes while two hundred players talk. Nobody misses a message, gets one twice,
//! or sees another player leave.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::cell::RefCell;
use std::collections::HashSet;
use std::net::SocketAddr;
use std::rc::Rc;

use muster_client::wire::Format;
use muster_client::wire::realtime::envelope::Message;
use muster_client::wire::realtime::{ChannelJoin, ChannelMessageSend, Envelope};
use muster_client::{ClientError, ResumableSocket, SocketOptions};
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};
use support::random::Random;
use support::server::Setup;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Barrier;
use tokio::task::{JoinSet, LocalSet};

const SOCKETS: usize = 1_000;
const ROOMS: usize = 50;
const MEMBERS: usize = SOCKETS / ROOMS;
/// Number of senders in each room; 200 in all.
const SENDERS: usize = 4;
const MESSAGES_PER_SENDER: u64 = 25;
const ACCOUNTS: usize = 20;
/// Largest number of bytes that a connection passes in both directions together. Each connection is cut at a random
/// point before that.
const BYTES_PER_CONNECTION_MAX: usize = 12_000;

/// Passes connections on, and cuts each at a random byte. Bytes under way are lost then.
async fn run_proxy(listener: TcpListener, target: SocketAddr, mut random: Random) {
    loop {
        let (client, _) = listener.accept().await.unwrap();
        let budget = random.between(1, BYTES_PER_CONNECTION_MAX);
        tokio::task::spawn_local(async move {
            if let Ok(server) = TcpStream::connect(target).await {
                // Both sides see the end of the connection, whether by a cut or an error.
                let _ = pass(client, server, budget).await;
            }
        });
    }
}

async fn pass(mut client: TcpStream, mut server: TcpStream, mut budget: usize) -> std::io::Result<()> {
    let (mut up, mut down) = ([0; 4_096], [0; 4_096]);
    while budget > 0 {
        let (read, to, bytes) = tokio::select! {
            read = client.read(&mut up) => (read?, &mut server, &up),
            read = server.read(&mut down) => (read?, &mut client, &down),
        };
        if read == 0 {
            break;
        }
        let passed = read.min(budget);
        to.write_all(&bytes[..passed]).await?;
        budget -= passed;
    }
    Ok(())
}

struct Player {
    socket: ResumableSocket,
    room: usize,
    /// Ids of sessions whose join this player was told of.
    seen: HashSet<String>,
    /// By sender, the number that its next message must have.
    expected: [u64; SENDERS],
}

impl Player {
    /// Opens a socket. Even the first connection may be cut before its session is known; then another is opened.
    async fn open(address: &str, token: &str, format: Format, room: usize) -> Self {
        let options = SocketOptions { format, ..SocketOptions::default() };
        let socket = loop {
            match ResumableSocket::open(address, token, &options).await {
                Ok(socket) => break socket,
                Err(ClientError::Socket(_) | ClientError::SocketClosed { .. }) => {}
                Err(error) => panic!("{error}"),
            }
        };
        Self { socket, room, seen: HashSet::new(), expected: [0; SENDERS] }
    }

    /// Joins the room. Answers the id of its channel.
    async fn join(&mut self) -> String {
        let join = ChannelJoin { target: format!("room-{}", self.room), r#type: 1, ..ChannelJoin::default() };
        self.socket.send(Envelope::reply("join", Message::ChannelJoin(join))).await.unwrap();
        loop {
            if let Some(Message::Channel(channel)) = self.receive().await {
                return channel.id;
            }
        }
    }

    /// The next message, checked against all those before.
    async fn receive(&mut self) -> Option<Message> {
        let envelope = self.socket.receive().await.unwrap();
        match &envelope.message {
            Some(Message::ChannelPresenceEvent(event)) => {
                assert_eq!(event.leaves, [], "nobody leaves");
                for presence in &event.joins {
                    assert!(self.seen.insert(presence.session_id.clone()), "nobody comes twice: {presence:?}");
                }
            }
            Some(Message::ChannelMessage(message)) => {
                let content: Value = serde_json::from_str(&message.content).unwrap();
                assert_eq!(content["room"], self.room);
                let sender = content["sender"].as_u64().unwrap() as usize;
                assert_eq!(content["number"], self.expected[sender], "from sender {sender}");
                self.expected[sender] += 1;
            }
            _ => {}
        }
        envelope.message
    }

    /// Receives the messages of all senders. A sender also sends its own, each after it has received the one before.
    async fn talk(&mut self, channel_id: &str, member: usize) {
        let mut sent = 0;
        while self.expected.iter().any(|expected| *expected < MESSAGES_PER_SENDER) {
            if member < SENDERS && sent < MESSAGES_PER_SENDER && sent == self.expected[member] {
                let content = json!({ "room": self.room, "sender": member, "number": sent }).to_string();
                let message = ChannelMessageSend { channel_id: channel_id.to_owned(), content };
                let cid = format!("message {sent}");
                self.socket.send(Envelope::reply(cid, Message::ChannelMessageSend(message))).await.unwrap();
                sent += 1;
            }
            self.receive().await;
        }
    }
}

fn allow_many_files() {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum }).unwrap();
}

#[test]
fn nothing_is_lost_doubled_or_seen_to_leave() {
    allow_many_files();
    let server = Setup::dev().flag("live.shards", 2).flag("session.resume_grace_ms", 120_000).start();
    let tokens: Vec<_> = (0..ACCOUNTS).map(|number| server.sign_in(&format!("storm-{number}")).session).collect();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let resumed = LocalSet::new().block_on(&runtime, async {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        tokio::task::spawn_local(run_proxy(listener, server.address, Random::new(1)));
        let (begin, end) = (Rc::new(Barrier::new(SOCKETS)), Rc::new(Barrier::new(SOCKETS)));
        let resumed = Rc::new(RefCell::new(0));
        let mut players = JoinSet::new();
        for number in 0..SOCKETS {
            let (address, token) = (address.clone(), tokens[number % ACCOUNTS].clone());
            let (begin, end, resumed) = (begin.clone(), end.clone(), resumed.clone());
            players.spawn_local(async move {
                let format = if number % 2 == 0 { Format::Json } else { Format::Protobuf };
                let mut player = Player::open(&address, &token, format, number / MEMBERS).await;
                let channel_id = player.join().await;
                begin.wait().await;
                player.talk(&channel_id, number % MEMBERS).await;
                *resumed.borrow_mut() += player.socket.resumed();
                // Players stay until all have received everything, so that the end causes no leave events.
                end.wait().await;
            });
        }
        while let Some(outcome) = players.join_next().await {
            outcome.unwrap();
        }
        *resumed.borrow()
    });
    assert!(resumed > SOCKETS as u64, "{resumed} cuts are no storm");
    let metrics = server.metrics();
    assert!(metrics.value("session_resume_count") >= resumed as f64);
    assert_eq!(metrics.value("session_resume_refused_count{reason=\"overflow\"}"), 0.0);
    assert_eq!(metrics.value("panic_count"), 0.0);
    server.stop();
}
