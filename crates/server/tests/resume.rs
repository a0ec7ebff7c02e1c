//! Tests of sessions that survive their socket: a cut loses and doubles nothing, other players notice nothing, and a
//! client that cannot go on is told so.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};

use muster_wire::envelope::Format;
use muster_wire::extensions::mode;
use muster_wire::realtime::envelope::Message;
use muster_wire::realtime::{ChannelJoin, Envelope};
use serde_json::{Value, json};
use support::http::{self, Response};
use support::server::{SERVER_KEY, Server, Setup};
use support::socket::{CLOSE, PING, PONG, Socket, handshake_asking, ping};
use support::tls::Certificate;
use support::wait_until;

const FORMATS: [Format; 2] = [Format::Json, Format::Protobuf];

/// A socket whose session survives it.
struct Client<S = TcpStream> {
    socket: Socket<S>,
    /// First message of the server.
    greeting: Value,
}

impl<S: Read + Write> Client<S> {
    fn open_on(stream: S, token: &str, format: Format, parameters: &str) -> Self {
        let request = handshake_asking(token, format, parameters);
        let mut socket = Socket::open_by(stream, format, &request);
        let Some(Message::StreamData(data)) = socket.read_envelope().message else { panic!("no greeting") };
        assert_eq!(data.stream.unwrap().mode, i32::from(mode::SESSION));
        Self { socket, greeting: serde_json::from_str(&data.data).unwrap() }
    }

    fn session(&self) -> String {
        self.greeting["session"].as_str().unwrap().to_owned()
    }

    fn send_pings(&mut self, cids: std::ops::Range<usize>) {
        for cid in cids {
            self.socket.send_envelope(&ping(&cid.to_string()));
        }
    }

    fn read_pongs(&mut self, cids: std::ops::Range<usize>) {
        for cid in cids {
            assert_eq!(self.socket.read_envelope().cid, cid.to_string());
        }
    }
}

impl Client {
    fn open(server: &Server, token: &str, format: Format, parameters: &str) -> Self {
        Self::open_on(http::connect(server.address), token, format, parameters)
    }

    fn new(server: &Server, token: &str, format: Format) -> Self {
        Self::open(server, token, format, "&resume=new")
    }

    fn resume(server: &Server, token: &str, format: Format, session: &str, received: usize) -> Self {
        Self::open(server, token, format, &format!("&resume={session}&received={received}"))
    }

    fn cut(self) {
        self.socket.stream.shutdown(Shutdown::Both).unwrap();
    }
}

fn waiting(server: &Server, count: usize) {
    wait_until("sessions wait", || server.metrics().value("sessions_waiting") == count as f64);
}

#[test]
fn what_was_missed_comes_again_and_what_arrived_is_not_asked_for() {
    // Shards take sockets in turn, so with four of them most sockets come to another shard than their session's.
    for shards in [1, 4] {
        let server = Setup::dev().flag("live.shards", shards).start();
        let token = server.sign_in("resume-missed").session;
        for format in FORMATS {
            let mut client = Client::new(&server, &token, format);
            let session = client.session();
            let greeting = json!({ "session": session, "resumed": false, "received": 0, "grace_ms": 15_000 });
            assert_eq!(client.greeting, greeting);
            client.send_pings(0..10);
            client.read_pongs(0..4);
            client.cut();
            waiting(&server, 1);
            let mut client = Client::resume(&server, &token, format, &session, 4);
            let greeting = json!({ "session": session, "resumed": true, "received": 10, "grace_ms": 15_000 });
            assert_eq!(client.greeting, greeting);
            client.read_pongs(4..10);
            client.send_pings(10..12);
            client.read_pongs(10..12);
            for count in 12..22 {
                client.cut();
                client = Client::resume(&server, &token, format, &session, count);
                assert_eq!(client.greeting["received"], count);
                client.send_pings(count..count + 1);
                client.read_pongs(count..count + 1);
            }
            client.socket.send(CLOSE, &[]);
            assert_eq!(client.socket.read().unwrap().opcode, CLOSE);
        }
        wait_until("no session is left", || server.metrics().value("sessions") == 0.0);
        let metrics = server.metrics();
        assert_eq!(metrics.value("session_resume_count"), 22.0);
        assert_eq!(metrics.closed_for("client_closed"), 2.0);
        assert_eq!(metrics.value("socket_ws_opened"), metrics.value("socket_ws_closed"));
        server.stop();
    }
}

#[test]
fn a_session_goes_on_over_tls() {
    let setup = Setup::dev();
    let certificate = Certificate::create(setup.folder());
    let setup = setup
        .flag("socket.ssl_certificate", certificate.certificate.display())
        .flag("socket.ssl_private_key", certificate.private_key.display())
        .flag("live.shards", 3);
    let server = setup.start();
    let mut stream = certificate.connect(server.address);
    let header = format!("Authorization: {}", http::basic(SERVER_KEY));
    let path = "/v2/account/authenticate/device?create=true";
    stream.write_all(&http::request("POST", path, &[&header], br#"{"id":"resume-over-tls"}"#)).unwrap();
    let mut bytes = Vec::new();
    stream.read_to_end(&mut bytes).unwrap();
    let token = Response::only(&bytes).json()["token"].as_str().unwrap().to_owned();
    let open =
        |parameters: &str| Client::open_on(certificate.connect(server.address), &token, Format::Json, parameters);
    let mut client = open("&resume=new");
    let session = client.session();
    for count in 0..6 {
        client.send_pings(count..count + 1);
        client.socket.stream.sock.shutdown(Shutdown::Write).unwrap();
        client = open(&format!("&resume={session}&received={count}"));
        assert_eq!(client.greeting["resumed"], true);
        // The server may not have read everything before the cut.
        let arrived = client.greeting["received"].as_u64().unwrap() as usize;
        client.send_pings(arrived..count + 1);
        client.read_pongs(count..count + 1);
    }
    server.stop();
}

/// Joins the hall. Returns once both the answer and the player's own join event have come, in either order.
fn join_hall(socket: &mut Socket) {
    let join = ChannelJoin { target: "hall".to_owned(), r#type: 1, ..ChannelJoin::default() };
    socket.send_envelope(&Envelope::reply("join", Message::ChannelJoin(join)));
    let (mut is_answered, mut is_there) = (false, false);
    while !(is_answered && is_there) {
        match socket.read_envelope().message {
            Some(Message::Channel(_)) => is_answered = true,
            Some(Message::ChannelPresenceEvent(_)) => is_there = true,
            _ => {}
        }
    }
}

/// Numbers of players that came and went, by the next event of the hall.
fn next_event(socket: &mut Socket) -> (usize, usize) {
    loop {
        if let Some(Message::ChannelPresenceEvent(event)) = socket.read_envelope().message {
            return (event.joins.len(), event.leaves.len());
        }
    }
}

#[test]
fn others_see_nothing_of_a_cut_within_the_grace() {
    let server = Setup::dev().flag("live.shards", 2).start();
    let (watcher, player) = (server.sign_in("resume-watcher").session, server.sign_in("resume-player").session);
    let mut client = Client::new(&server, &player, Format::Json);
    join_hall(&mut client.socket);
    let session = client.session();
    let mut watcher = Socket::open(server.address, &watcher, Format::Json);
    join_hall(&mut watcher);
    client.cut();
    waiting(&server, 1);
    // The same player opens a socket without resumption, which comes and goes at once.
    let mut other = Socket::open(server.address, &player, Format::Json);
    join_hall(&mut other);
    other.stream.shutdown(Shutdown::Both).unwrap();
    assert_eq!(next_event(&mut watcher), (1, 0));
    assert_eq!(next_event(&mut watcher), (0, 1));
    // The client has received none of its messages: its own join, the watcher's, and the other socket's coming and
    // going.
    let mut client = Client::resume(&server, &player, Format::Json, &session, 0);
    assert_eq!(client.greeting["resumed"], true);
    let told: Vec<_> = std::iter::repeat_with(|| next_event(&mut client.socket)).take(4).collect();
    assert_eq!(told, [(1, 0), (1, 0), (1, 0), (0, 1)]);
    server.stop();
}

#[test]
fn a_session_whose_time_is_over_is_gone() {
    let server = Setup::dev().flag("session.resume_grace_ms", 300).start();
    let (watcher, player) = (server.sign_in("resume-watcher").session, server.sign_in("resume-player").session);
    let mut watcher = Socket::open(server.address, &watcher, Format::Json);
    join_hall(&mut watcher);
    let mut client = Client::new(&server, &player, Format::Json);
    join_hall(&mut client.socket);
    let session = client.session();
    client.cut();
    assert_eq!([next_event(&mut watcher), next_event(&mut watcher)], [(1, 0), (0, 1)]);
    assert_eq!(server.metrics().value("session_expired_count"), 1.0);
    assert_eq!(server.metrics().value("sessions_waiting"), 0.0);
    let client = Client::resume(&server, &player, Format::Json, &session, 0);
    assert_refused(&client, &session, "gone");
    server.stop();
}

fn assert_refused<S: Read + Write>(client: &Client<S>, asked: &str, reason: &str) {
    assert_eq!((&client.greeting["resumed"], &client.greeting["reason"]), (&json!(false), &json!(reason)));
    assert!(client.greeting["session"].as_str().is_some_and(|session| session != asked), "{:?}", client.greeting);
}

#[test]
fn who_cannot_go_on_is_told_so_and_begins_anew() {
    // Four sent messages are kept: three in the buffer, and one that may wait for the socket.
    let setup = Setup::dev().flag("session.resume_buffer_frames", 3).flag("socket.outgoing_queue_size", 1);
    let server = setup.flag("live.shards", 2).flag("socket.idle_timeout_ms", 200).start();
    let (token, stranger) = (server.sign_in("resume-refused").session, server.sign_in("resume-stranger").session);
    let refused = |token: &str, session: &str, received: usize, format: Format, reason: &str| {
        let mut client = Client::resume(&server, token, format, session, received);
        assert_refused(&client, session, reason);
        // The new session works like any other.
        client.send_pings(0..1);
        client.read_pongs(0..1);
        let new = client.session();
        client.cut();
        assert_eq!(Client::resume(&server, token, format, &new, 1).greeting["resumed"], true);
    };
    for unknown in ["5b8f2d1e-0000-4000-8000-000000000000.0", "5b8f2d1e-0000-4000-8000-000000000000.77", "nonsense", ""]
    {
        refused(&token, unknown, 0, Format::Json, "gone");
    }
    let mut client = Client::new(&server, &token, Format::Json);
    let session = client.session();
    client.send_pings(0..9);
    client.read_pongs(0..9);
    // Another player learns nothing by asking, and does no harm.
    refused(&stranger, &session, 0, Format::Json, "gone");
    client.send_pings(9..10);
    client.read_pongs(9..10);
    client.cut();
    // Four of ten messages are kept. The request ends the session, since its client cannot go on with it.
    refused(&token, &session, 5, Format::Json, "overflow");
    refused(&token, &session, 10, Format::Json, "gone");
    let client = Client::new(&server, &token, Format::Json);
    refused(&token, &client.session(), 0, Format::Protobuf, "format");
    let client = Client::new(&server, &token, Format::Json);
    refused(&token, &client.session(), 1, Format::Json, "overflow");
    let metrics = server.metrics();
    let count = |reason| metrics.value(&format!("session_resume_refused_count{{reason=\"{reason}\"}}"));
    assert_eq!((count("gone"), count("overflow"), count("format")), (6.0, 2.0, 1.0));
    // Malformed parameters get no answer.
    for parameters in ["&resume=a.0", "&resume=a.0&received=-1", "&resume=a.0&received=x"] {
        let request = handshake_asking(&token, Format::Json, parameters);
        assert_eq!(Response::only(&http::exchange(server.address, &request)).status, 400, "{parameters}");
    }
    server.stop();
}

#[test]
fn acknowledged_by_pongs_nothing_is_kept_however_long_a_session_lasts() {
    let server = Setup::dev().flag("session.resume_buffer_frames", 64).start();
    let token = server.sign_in("resume-acknowledged").session;
    let mut client = Client::new(&server, &token, Format::Json);
    let (mut received, mut questions) = (0, 0);
    for cid in 0..1_000 {
        client.send_pings(cid..cid + 1);
        loop {
            let frame = client.socket.read().unwrap();
            if frame.opcode != PING {
                received += 1;
                break;
            }
            client.socket.send(PONG, &frame.payload);
            questions += 1;
        }
    }
    assert!((1_000 / 64..=1_000 / 32).contains(&questions), "asked {questions} times");
    let session = client.session();
    client.cut();
    let client = Client::resume(&server, &token, Format::Json, &session, received);
    assert_eq!(client.greeting["resumed"], true);
    client.cut();
    waiting(&server, 1);
    // Acknowledged messages are gone, whatever number the client gives now.
    assert_refused(&Client::resume(&server, &token, Format::Json, &session, 0), &session, "overflow");
    server.stop();
}

#[test]
fn a_second_socket_takes_the_session_from_one_that_only_looks_open() {
    let server = Setup::dev().flag("live.shards", 2).start();
    let token = server.sign_in("resume-half-open").session;
    let mut first = Client::new(&server, &token, Format::Protobuf);
    let session = first.session();
    first.send_pings(0..3);
    first.read_pongs(0..3);
    let mut second = Client::resume(&server, &token, Format::Protobuf, &session, 1);
    assert_eq!((&second.greeting["resumed"], &second.greeting["received"]), (&json!(true), &json!(3)));
    second.read_pongs(1..3);
    assert_eq!(first.socket.read(), None);
    second.send_pings(3..4);
    second.read_pongs(3..4);
    assert_eq!(server.metrics().value("sessions"), 1.0);
    server.stop();
}

#[test]
fn what_ends_sessions_ends_those_that_wait() {
    let server = Setup::dev().flag("live.shards", 2).start();
    let tokens = server.sign_in("resume-logout");
    let client = Client::new(&server, &tokens.session, Format::Json);
    let session = client.session();
    client.cut();
    waiting(&server, 1);
    let body = json!({ "token": tokens.session, "refresh_token": tokens.refresh });
    assert_eq!(server.call("POST", "/v2/session/logout", &http::bearer(&tokens.session), &body).status, 200);
    waiting(&server, 0);
    let token = server.sign_in("resume-logout").session;
    let client = Client::resume(&server, &token, Format::Json, &session, 0);
    assert_refused(&client, &session, "gone");
    client.cut();
    waiting(&server, 1);
    // The server does not wait for clients that might come back.
    server.stop();
}

#[test]
fn more_do_not_wait_than_may() {
    let server = Setup::dev().flag("session.resume_max_waiting", 2).start();
    let token = server.sign_in("resume-many").session;
    let sessions: Vec<_> = (1..=3)
        .map(|count| {
            let client = Client::new(&server, &token, Format::Json);
            let session = client.session();
            client.cut();
            waiting(&server, count.min(2));
            session
        })
        .collect();
    wait_until("one was refused", || server.metrics().value("session_wait_refused_count") == 1.0);
    assert_eq!(Client::resume(&server, &token, Format::Json, &sessions[1], 0).greeting["resumed"], true);
    assert_refused(&Client::resume(&server, &token, Format::Json, &sessions[2], 0), &sessions[2], "gone");
    server.stop();
}

#[test]
fn where_no_session_waits_a_client_is_told_so() {
    let server = Setup::dev().flag("session.resume_grace_ms", 0).start();
    let token = server.sign_in("resume-disabled").session;
    let mut client = Client::new(&server, &token, Format::Json);
    assert_eq!(client.greeting, json!({ "resumed": false, "reason": "disabled" }));
    client.send_pings(0..1);
    client.read_pongs(0..1);
    client.cut();
    wait_until("it is gone", || server.metrics().closed_for("connection_lost") == 1.0);
    server.stop();
}
