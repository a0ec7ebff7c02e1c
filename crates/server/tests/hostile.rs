//! Ten thousand malformed requests and frames, together with `hostile_sockets`; each class gets its documented answer.
//! This file sends requests over HTTP.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use muster_wire::envelope::Format;
use support::http::{self, Response};
use support::random::Random;
use support::requests::{CLASSES, Class, ExpectedAnswer};
use support::server::{Server, Setup};
use support::socket::Socket;
use support::{DEADLINE, wait_until};

/// Number of requests to a server with one shard, and again to one with two. `hostile_sockets` sends the other half of
/// ten thousand.
const REQUESTS_PER_RUN: usize = 2_500;
/// Largest number of bytes by which the server's memory may grow after the first few requests of each class.
const GROWTH_BYTES_MAX: u64 = 16 << 20;
const WARM_UP_PER_CLASS: usize = 5;

/// Metrics of refusals; each class is counted in one of these, or as an error of its operation.
const REFUSALS: [&str; 6] = [
    "body_too_big_count",
    "forwarded_refused_count",
    "head_too_big_count",
    "malformed_request_count",
    "socket_refused_count",
    "unauthenticated_count",
];

/// A server, and a player on sockets that must survive everything.
struct Bystander {
    server: Server,
    sockets: [Socket; 2],
    pings: u32,
}

impl Bystander {
    fn start(setup: &Setup) -> Self {
        let server = setup.start();
        let tokens = server.sign_in("bystander");
        let sockets =
            [Format::Json, Format::Protobuf].map(|format| Socket::open(server.address, &tokens.session, format));
        Self { server, sockets, pings: 0 }
    }

    fn assert_healthy(&mut self) {
        let request = http::request("GET", "/readycheck", &[], b"");
        for ask in [http::exchange, http::exchange_half_closed] {
            assert_eq!(Response::only(&ask(self.server.address, &request)).status, 200);
        }
        self.assert_sockets_answer();
    }

    fn assert_sockets_answer(&mut self) {
        for socket in &mut self.sockets {
            self.pings += 1;
            socket.ping_pong(&self.pings.to_string());
        }
    }

    /// Ends the sockets. Nothing may be left open, and nothing may have panicked.
    fn finish(self) {
        let Self { server, sockets, .. } = self;
        drop(sockets);
        wait_until("all sockets are closed", || server.metrics().value("connections") == 0.0);
        let metrics = server.metrics();
        assert_eq!(metrics.value("sessions"), 0.0);
        assert_eq!(metrics.value("panic_count"), 0.0);
        server.stop();
    }
}

fn send(server: &Server, class: &Class, random: &mut Random) {
    let request = (class.make)(random);
    let bytes = if class.is_half_closed {
        http::exchange_half_closed(server.address, &request)
    } else {
        http::exchange(server.address, &request)
    };
    let responses = Response::all(&bytes);
    let statuses: Vec<_> = responses.iter().map(|response| (response.status, response.code())).collect();
    let is_right = match (class.answer, &statuses[..]) {
        (ExpectedAnswer::Error(status, code), &[(given, Some(given_code))]) => (given, given_code) == (status, code),
        (ExpectedAnswer::Status(status), &[(given, None)]) => given == status,
        (ExpectedAnswer::Nothing | ExpectedAnswer::Refused, []) | (ExpectedAnswer::Refused, [(400 | 431, None)]) => {
            true
        }
        _ => false,
    };
    let shown = String::from_utf8_lossy(&request[..request.len().min(600)]);
    assert!(is_right, "{}: {responses:?} to {shown:?}", class.name);
}

fn run(shards: usize) {
    let mut bystander = Bystander::start(&Setup::dev().flag("live.shards", shards));
    let mut random = Random::new(shards as u64);
    for class in CLASSES {
        for _ in 0..WARM_UP_PER_CLASS {
            send(&bystander.server, class, &mut random);
        }
    }
    let before = bystander.server.resident_bytes();
    for class in CLASSES {
        for _ in 0..REQUESTS_PER_RUN.div_ceil(CLASSES.len()) {
            send(&bystander.server, class, &mut random);
        }
        bystander.assert_healthy();
    }
    // Two passwords hashed together take this much for a moment, and the allocator returns it a little later.
    wait_until("memory is what it was", || {
        let panicked = bystander.server.metrics().value("panic_count");
        panicked == 0.0 && bystander.server.resident_bytes() < before + GROWTH_BYTES_MAX
    });
    let metrics = bystander.server.metrics();
    for counter in REFUSALS {
        assert!(metrics.value(counter) > 0.0, "{counter}");
    }
    bystander.finish();
}

#[test]
fn every_class_of_request_is_answered_by_one_shard() {
    run(1);
}

#[test]
fn every_class_of_request_is_answered_by_two_shards() {
    run(2);
}

const READ_TIMEOUT: Duration = Duration::from_millis(400);
const WRITE_TIMEOUT: Duration = Duration::from_millis(500);
const IDLE_TIMEOUT: Duration = Duration::from_millis(600);
const SLOW_CLIENTS: usize = 25;

/// Sends a byte whenever nothing came for a moment, until the server ends the connection. Answers everything that the
/// server sent.
fn drip(stream: &mut TcpStream, mut bytes: impl Iterator<Item = u8>) -> Vec<u8> {
    stream.set_read_timeout(Some(Duration::from_millis(10))).unwrap();
    let started = Instant::now();
    let (mut answer, mut chunk) = (Vec::new(), [0; 1024]);
    while started.elapsed() < DEADLINE {
        match stream.read(&mut chunk) {
            Ok(0) => return answer,
            Ok(length) => answer.extend_from_slice(&chunk[..length]),
            // An error of writing shows at the next read too.
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                bytes.next().map(|byte| stream.write(&[byte]));
            }
            Err(error) if http::is_end(&error) => return answer,
            Err(error) => panic!("{error}"),
        }
    }
    panic!("still connected after {:?}", started.elapsed());
}

/// Runs many clients that are slow in one way. The server must end every one, not before `patience` is over, with one
/// of the statuses in `answer` or none.
fn slow_clients(bystander: &mut Bystander, patience: Duration, answer: &[u16], client: fn(&mut TcpStream) -> Vec<u8>) {
    let before = bystander.server.metrics().value("http_timeout_count");
    let address = bystander.server.address;
    std::thread::scope(|scope| {
        for _ in 0..SLOW_CLIENTS {
            scope.spawn(move || {
                let started = Instant::now();
                let mut stream = http::connect(address);
                let bytes = client(&mut stream);
                // The server counts whole milliseconds.
                let lasted = started.elapsed() + Duration::from_millis(1);
                assert!(lasted >= patience, "ended after {lasted:?}");
                let statuses: Vec<u16> = Response::all(&bytes).iter().map(|response| response.status).collect();
                assert_eq!(statuses, answer);
            });
        }
        // The time limits of requests are short here, and a busy machine may exceed them. Sockets have none.
        bystander.assert_sockets_answer();
    });
    let counted = bystander.server.metrics().value("http_timeout_count") - before;
    assert_eq!(counted, SLOW_CLIENTS as f64);
    bystander.assert_sockets_answer();
}

/// Sends requests for ever and reads nothing, until the server ends the connection.
fn ask_without_reading(stream: &mut TcpStream) -> Vec<u8> {
    stream.set_write_timeout(Some(Duration::from_millis(10))).unwrap();
    let requests = http::head("GET", "/healthcheck", &[]).repeat(1_000);
    let started = Instant::now();
    let mut sent = 0;
    while started.elapsed() < DEADLINE {
        match stream.write(&requests[sent..]) {
            Ok(length) => sent = (sent + length) % requests.len(),
            Err(error) if error.kind() == ErrorKind::WouldBlock => {}
            Err(error) if http::is_end(&error) => return Vec::new(),
            Err(error) => panic!("{error}"),
        }
    }
    panic!("still connected after {:?}", started.elapsed());
}

#[test]
fn slow_clients_are_ended_by_their_timeouts() {
    let setup = Setup::dev()
        .flag("socket.read_timeout_ms", READ_TIMEOUT.as_millis())
        .flag("socket.write_timeout_ms", WRITE_TIMEOUT.as_millis())
        .flag("socket.idle_timeout_ms", IDLE_TIMEOUT.as_millis());
    let mut bystander = Bystander::start(&setup);
    // The client connects and is silent: the server sees a half-open connection.
    slow_clients(&mut bystander, READ_TIMEOUT, &[], http::read_to_end);
    slow_clients(&mut bystander, READ_TIMEOUT, &[], |stream| {
        let head = b"GET /healthcheck HTTP/1.1\r\nHost: localhost\r\nX: ".iter().copied();
        drip(stream, head.chain(std::iter::repeat(b'a')))
    });
    slow_clients(&mut bystander, READ_TIMEOUT, &[], |stream| {
        let path = "/v2/account/authenticate/device";
        stream.write_all(&http::head("POST", path, &["Content-Length: 100000"])).unwrap();
        drip(stream, std::iter::repeat(b' '))
    });
    slow_clients(&mut bystander, READ_TIMEOUT, &[], |stream| {
        let path = "/v2/account/authenticate/device";
        stream.write_all(&http::head("POST", path, &["Transfer-Encoding: chunked"])).unwrap();
        drip(stream, b"1\r\n \r\n".iter().copied().cycle())
    });
    slow_clients(&mut bystander, IDLE_TIMEOUT, &[200], |stream| {
        stream.write_all(&http::head("GET", "/healthcheck", &[])).unwrap();
        http::read_to_end(stream)
    });
    slow_clients(&mut bystander, WRITE_TIMEOUT, &[], ask_without_reading);
    bystander.finish();
}

#[test]
fn an_answer_does_not_wait_for_the_next_request() {
    const REQUESTS: usize = 1_000;
    let server = Setup::dev().start();
    let mut stream = http::connect(server.address);
    let request = http::head("GET", "/healthcheck", &[]);
    let (half, rest) = request.split_at(request.len() / 2);
    let mut unread = Vec::new();
    // Each round sends one whole request and half of the next.
    stream.write_all(half).unwrap();
    for _ in 0..REQUESTS {
        stream.write_all(&[rest, half].concat()).unwrap();
        let answer = loop {
            if let Some((answer, behind)) = Response::first(&unread) {
                let answer = answer.clone();
                unread = behind.to_vec();
                break answer;
            }
            let mut chunk = [0; 4_096];
            let length = stream.read(&mut chunk).unwrap();
            assert_ne!(length, 0, "ended with {:?}", String::from_utf8_lossy(&unread));
            unread.extend_from_slice(&chunk[..length]);
        };
        assert_eq!(answer.status, 200);
    }
    server.stop();
}

#[test]
fn the_reference_lists_every_class() {
    let page = include_str!("../../../docs/reference/limits.md");
    for class in CLASSES {
        let answer = match class.answer {
            ExpectedAnswer::Error(status, code) => format!("{status}, code {code}"),
            ExpectedAnswer::Status(status) => status.to_string(),
            ExpectedAnswer::Nothing => "none".to_owned(),
            ExpectedAnswer::Refused => "400, 431 or none".to_owned(),
        };
        let row = format!("| {} | {answer} |", class.name);
        assert!(page.contains(&row), "docs/reference/limits.md has no row {row}");
    }
}
