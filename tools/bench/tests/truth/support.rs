//! A stub server of the protocol that misbehaves on request, and a way to run the tool against it.
//!
//! The stub knows device and email sign-in, pings over sockets and, in [`live`], the meeting of players. It has one
//! thread for each connection.

mod live;
mod matching;

use std::collections::HashSet;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::process::Command;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

/// The stub's behaviour.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manner {
    Honest,
    /// Every sign-in fails with status 500.
    Errs,
    /// Status 200 with a body that is not a session.
    LiesInBody,
    /// Every sign-in gets the same user.
    LiesAboutUser,
    /// Pongs carry the cid of another ping.
    LiesAboutCid,
    /// The sign-in of this number is answered this much later, and so is everything after it on its connection.
    StallsOnce(u64, Duration),
    /// On each socket, answers to operations from the first number on wait until the second has come.
    Withholds(u64, u64),
    /// Sign-ins with a password are answered only once this many more pings have come.
    HashesDuringPings(u64),
    /// Never answers a ping.
    SilentOnSockets,
    /// Closes the connection instead of answering every operation whose number divides by this.
    Drops(u64),
    /// Promises more bytes than it sends, then closes.
    Truncates,
    /// Leaves out every delivery whose number is divisible by this, counted over all receivers.
    LosesEvery(u64),
    /// Makes such a delivery twice.
    DoublesEvery(u64),
    /// Holds such a delivery back until the same receiver has got the next one of the same sender.
    SwapsEvery(u64),
    /// Changes a letter in such a delivery.
    AltersEvery(u64),
    /// Reports such a delivery as coming from another user.
    MisattributesEvery(u64),
    /// Reports such a delivery as coming from another room.
    MisroutesEvery(u64),
    /// Makes no delivery after this many.
    FallsSilentAfter(u64),
    /// Delivers messages, but never acknowledges them.
    NeverAcknowledges,
    /// Closes the sockets of players once this many deliveries were made.
    ClosesAfter(u64),
    /// Refuses to let players in.
    RefusesJoins,
    /// Tells nobody of a join whose number is divisible by this.
    HidesJoinsEvery(u64),
    /// Puts more players into a room than it has seats.
    Overfills,
    /// Matches tickets by mode alone, whatever else they ask for.
    MatchesAnybody,
    /// Matches a ticket a second time.
    MatchesTwice,
    /// Tells only the first of two players that they were matched.
    TellsOneOnly,
    /// Lets tickets wait for ever.
    NeverMatches,
    /// Shows a gauge that counts a session for ever.
    LeaksGauge,
    /// Honest, but with chunked bodies, spaces in JSON, and a ping of its own before every pong.
    HonestInOtherWords,
}

struct Stub {
    manner: Manner,
    seen: Mutex<HashSet<String>>,
    operations: Mutex<u64>,
    operation_counted: Condvar,
    /// Pongs of clients to the stub's own pings.
    pongs: AtomicU64,
    live: live::Live,
}

/// Starts a stub that lives as long as the test process.
pub fn start(manner: Manner) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let stub = Arc::new(Stub {
        manner,
        seen: Mutex::default(),
        operations: Mutex::default(),
        operation_counted: Condvar::default(),
        pongs: AtomicU64::default(),
        live: live::Live::new(manner),
    });
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let stub = stub.clone();
            // A generator closes its end when it is done, which is no fault of the stub.
            std::thread::spawn(move || drop(stub.serve(stream)));
        }
    });
    address
}

impl Stub {
    fn serve(&self, mut stream: TcpStream) -> std::io::Result<()> {
        stream.set_nodelay(true)?;
        let mut buffer = Vec::new();
        while let Some((head, body)) = read_request(&mut stream, &mut buffer)? {
            if head.starts_with("GET /ws?") {
                return self.serve_socket(stream, &head);
            }
            if head.starts_with("GET / ") || head.starts_with("GET /metrics ") {
                respond(&mut stream, 200, &self.live.metrics_page())?;
                continue;
            }
            if head.starts_with("POST /v2/rpc/bench_") {
                assert!(head.contains("Authorization: Bearer e30."), "{head}");
                let body = if self.manner == Manner::LiesAboutCid { body.replace("number", "nought") } else { body };
                respond(&mut stream, 200, &format!(r#"{{"payload":{body}}}"#))?;
                continue;
            }
            if !self.answer_sign_in(&mut stream, &head, &body)? {
                return Ok(());
            }
        }
        Ok(())
    }

    /// Answers a sign-in. The result is false if the connection must be closed.
    fn answer_sign_in(&self, stream: &mut TcpStream, head: &str, body: &str) -> std::io::Result<bool> {
        assert!(head.contains("Authorization: Basic ZGVmYXVsdGtleTo="), "{head}");
        let session = self.session(body);
        match self.manner {
            Manner::Errs => respond(stream, 500, r#"{"code":13,"message":"no"}"#)?,
            Manner::LiesInBody => respond(stream, 200, "{}")?,
            Manner::Truncates => {
                write!(stream, "HTTP/1.1 200 OK\r\nContent-Length: {}\r\n\r\n{session}", session.len() + 1)?;
                return Ok(false);
            }
            Manner::HashesDuringPings(count) if head.contains("/email") => {
                self.wait_for_operations(count);
                respond(stream, 200, &session)?;
            }
            Manner::HonestInOtherWords => {
                let (first, second) = session.split_at(10);
                let (first_len, second_len) = (first.len(), second.len());
                write!(stream, "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")?;
                write!(stream, "{first_len:x}\r\n{first}\r\n{second_len:x}\r\n{second}\r\n0\r\n\r\n")?;
            }
            _ => {
                let Some(number) = self.count_operation() else { return Ok(false) };
                match self.manner {
                    Manner::StallsOnce(at, pause) if number == at => expect_silence(stream, pause)?,
                    _ => {}
                }
                respond(stream, 200, &session)?;
            }
        }
        Ok(true)
    }

    /// Number of the operation; `None` if the connection must be closed instead.
    fn count_operation(&self) -> Option<u64> {
        let mut operations = self.operations.lock().unwrap();
        *operations += 1;
        self.operation_counted.notify_all();
        match self.manner {
            Manner::Drops(every) if operations.is_multiple_of(every) => None,
            _ => Some(*operations),
        }
    }

    fn wait_for_operations(&self, count: u64) {
        let operations = self.operations.lock().unwrap();
        let enough = *operations + count;
        drop(self.operation_counted.wait_while(operations, |operations| *operations < enough).unwrap());
    }

    fn session(&self, body: &str) -> String {
        let account: Value = serde_json::from_str(body).unwrap();
        let name = account["id"].as_str().or(account["email"].as_str()).unwrap();
        let created = self.seen.lock().unwrap().insert(name.to_owned());
        let user =
            if self.manner == Manner::LiesAboutUser { "00000000-0000-4000-8000-000000000000" } else { &name[..36] };
        let claims = format!(r#"{{"tid":"x","uid":"{user}","usn":"n","exp":99999999999}}"#);
        let token = format!("e30.{}.c2ln", URL_SAFE_NO_PAD.encode(claims));
        let created = if created { r#""created":true, "# } else { "" };
        format!(r#"{{{created}"token":"{token}","refresh_token":"{token}"}}"#)
    }

    fn serve_socket(&self, mut stream: TcpStream, head: &str) -> std::io::Result<()> {
        write!(
            stream,
            "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\
             Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\r\n"
        )?;
        let mut session = self.live.connect(&stream, head);
        let served = self.serve_frames(&mut stream, &mut session);
        self.live.disconnect(&session);
        served
    }

    fn serve_frames(&self, stream: &mut TcpStream, session: &mut live::Session) -> std::io::Result<()> {
        let mut answers = Vec::new();
        loop {
            let (first, payload) = read_frame(stream)?;
            match first {
                0x88 => return Ok(()),
                0x8a => drop(self.pongs.fetch_add(1, Ordering::Relaxed)),
                0x82 if payload.ends_with(&[0x82, 0x02, 0x00]) => {
                    let cid = payload.strip_suffix(&[0x82, 0x02, 0x00]).unwrap();
                    stream.write_all(&[&[0x82, payload.len() as u8], cid, &[0x8a, 0x02, 0x00]].concat())?;
                }
                0x81 if payload.ends_with(br#""ping":{}}"#) => {
                    let Some(number) = self.count_operation() else { return Ok(()) };
                    self.answer_ping(number, &String::from_utf8(payload).unwrap(), &mut answers);
                    if !matches!(self.manner, Manner::Withholds(from, to) if (from..to).contains(&number)) {
                        session.write(&answers)?;
                        answers.clear();
                    }
                }
                _ => self.live.take(session, &payload)?,
            }
        }
    }

    fn answer_ping(&self, number: u64, ping: &str, answers: &mut Vec<u8>) {
        let pong = match self.manner {
            Manner::SilentOnSockets => return,
            Manner::LiesAboutCid => r#"{"cid":"7654321","pong":{}}"#.to_owned(),
            Manner::HonestInOtherWords => ping.replace("ping", "pong").replace(',', " , "),
            _ => ping.replace("ping", "pong"),
        };
        if self.manner == Manner::HonestInOtherWords {
            let answered = self.pongs.load(Ordering::Relaxed);
            assert!(answered + 100 > number, "{answered} pongs to {number} pings of the server");
            answers.extend_from_slice(&[0x89, 2, b'h', b'i']);
        }
        answers.extend_from_slice(&[0x81, pong.len() as u8]);
        answers.extend_from_slice(pong.as_bytes());
    }
}

/// One frame of a client: its first byte and the payload.
fn read_frame(stream: &mut TcpStream) -> std::io::Result<(u8, Vec<u8>)> {
    let mut header = [0; 2];
    stream.read_exact(&mut header)?;
    let len = match header[1] & 0x7f {
        126 => {
            let mut len = [0; 2];
            stream.read_exact(&mut len)?;
            u16::from_be_bytes(len).into()
        }
        len => usize::from(len),
    };
    let mut key = [0; 4];
    stream.read_exact(&mut key)?;
    let mut payload = vec![0; len];
    stream.read_exact(&mut payload)?;
    for (byte, key) in payload.iter_mut().zip(key.iter().cycle()) {
        *byte ^= key;
    }
    Ok((header[0], payload))
}

/// Waits for `pause` without an answer. The client must not send another request meanwhile, since it has one under way.
fn expect_silence(stream: &TcpStream, pause: Duration) -> std::io::Result<()> {
    stream.set_read_timeout(Some(pause))?;
    assert!(stream.peek(&mut [0]).is_err(), "a second request before the answer to the first");
    stream.set_read_timeout(None)
}

fn read_request(stream: &mut TcpStream, buffer: &mut Vec<u8>) -> std::io::Result<Option<(String, String)>> {
    loop {
        let text = String::from_utf8_lossy(buffer).into_owned();
        if let Some((head, rest)) = text.split_once("\r\n\r\n") {
            let len = head.lines().find_map(|line| line.strip_prefix("Content-Length: ")?.parse().ok()).unwrap_or(0);
            if rest.len() >= len {
                buffer.drain(..head.len() + 4 + len);
                return Ok(Some((head.to_owned(), rest[..len].to_owned())));
            }
        }
        let mut bytes = [0; 4096];
        match stream.read(&mut bytes)? {
            0 => return Ok(None),
            len => buffer.extend_from_slice(&bytes[..len]),
        }
    }
}

fn respond(stream: &mut TcpStream, status: u16, body: &str) -> std::io::Result<()> {
    write!(
        stream,
        "HTTP/1.1 {status} X\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

/// Output of the tool.
pub struct ToolOutput {
    pub figures: Value,
    pub first_line: String,
    pub exit_code: Option<i32>,
}

impl ToolOutput {
    pub fn number(&self, name: &str) -> f64 {
        self.figures[name].as_f64().unwrap_or_else(|| panic!("no {name} in {}", self.figures))
    }

    /// Number of errors for this reason.
    pub fn errors(&self, reason: &str) -> u64 {
        self.figures["errors_by_reason"][reason].as_u64().unwrap_or_default()
    }

    /// Number of errors for `reason`, after checking that there are no others, and that the first line and the exit
    /// status report them.
    pub fn only_errors(&self, reason: &str) -> u64 {
        let errors = self.errors(reason);
        assert!(errors > 0, "no '{reason}' in {}", self.figures);
        assert_eq!(self.figures["errors"].as_u64(), Some(errors), "{}", self.figures);
        assert!(self.first_line.contains(&format!("{errors} ERRORS")), "{}", self.first_line);
        assert_eq!(self.exit_code, Some(1));
        errors
    }
}

/// Runs the tool against a stub with these arguments and `--json`; `STUB` among them is the stub's address.
pub fn bench(manner: Manner, arguments: &str) -> ToolOutput {
    bench_all(&[manner], arguments)
}

/// Seconds to wait for answers. An honest stub answers, however busy the machine is; of others it is known that some
/// answers never come.
pub fn patience(manner: Manner, otherwise: f64) -> f64 {
    if matches!(manner, Manner::Honest | Manner::HonestInOtherWords) { 20.0 } else { otherwise }
}

/// Runs the tool against several independent stubs.
pub fn bench_all(manners: &[Manner], arguments: &str) -> ToolOutput {
    let addresses: Vec<_> = manners.iter().map(|manner| start(*manner).to_string()).collect();
    run(&addresses.join(","), arguments)
}

/// Runs the tool against one stub under several names, as if it were a cluster.
pub fn bench_cluster(manner: Manner, nodes: usize, arguments: &str) -> ToolOutput {
    run(&vec![start(manner).to_string(); nodes].join(","), arguments)
}

fn run(addresses: &str, arguments: &str) -> ToolOutput {
    let mut command = Command::new(env!("CARGO_BIN_EXE_muster-bench"));
    let arguments = arguments.replace("STUB", addresses);
    command.args(arguments.split_ascii_whitespace()).args(["--json", "--addr", addresses]);
    let output = command.output().unwrap();
    let (figures, words) = (String::from_utf8(output.stdout).unwrap(), String::from_utf8(output.stderr).unwrap());
    let figures = serde_json::from_str(&figures).unwrap_or_else(|error| panic!("{error}: {figures}\n{words}"));
    let first_line = words.lines().next().unwrap_or_default().to_owned();
    ToolOutput { figures, first_line, exit_code: output.status.code() }
}
