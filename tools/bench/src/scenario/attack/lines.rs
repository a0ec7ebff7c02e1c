//! Attacks by connections: answers that nobody reads, connections held open, and handshakes that never end.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::RcvBuf;
use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::raid::{Attack, Raid};
use crate::load::Fault;
use crate::load::http::HttpConnection;
use crate::load::requests::call;
use crate::options::Kind;
use crate::scenario::sockets;

/// Objects that each attacker stores, 6 MB together, to ask for pages of them.
const OBJECTS: usize = 30;
const OBJECT_BYTES: usize = 200_000;
const PAGE: &str = "/v2/storage/loot?limit=100";
/// Bytes of the kernel's buffer of a connection whose answers are not read.
const UNREAD_BUFFER_BYTES: usize = 4_096;
/// Connections that each attacker holds.
const UNREAD_LINES: usize = 64;
const OPEN_LINES: usize = 1_000;
const DRIPPING_LINES: usize = 500;
/// The pause between two bytes of a handshake.
const DRIP_PAUSE: Duration = Duration::from_millis(500);
/// Begin of a handshake. What follows drips.
const HALF_HANDSHAKE: &str = "GET /ws HTTP/1.1\r\nHost: bench\r\nUpgrade: websocket\r\nX-Slow: ";
/// Bytes of a status line, up to the status.
const STATUS_LEN: usize = "HTTP/1.1 200".len();

pub async fn attack(raid: Rc<Raid>, index: usize) -> Attack {
    let holder = Holder { raid, index };
    match holder.raid.kind {
        Kind::UnreadAnswers => holder.leave_answers().await,
        Kind::Connections => holder.hold_connections().await,
        _ => holder.drip().await,
    }
}

struct Holder {
    raid: Rc<Raid>,
    index: usize,
}

impl Holder {
    async fn connect(&self) -> Result<TcpStream, Fault> {
        self.raid.worker.endpoints.connect(self.index).await
    }

    /// Sends a request, and reads the answer as far as its status.
    async fn ask(&self, request: &[u8]) -> Result<(TcpStream, u16), Fault> {
        let mut stream = self.connect().await?;
        if self.raid.kind == Kind::UnreadAnswers {
            setsockopt(&stream, RcvBuf, &UNREAD_BUFFER_BYTES).map_err(|error| lost(error.into()))?;
        }
        stream.write_all(request).await.map_err(lost)?;
        let mut line = [0; STATUS_LEN];
        stream.read_exact(&mut line).await.map_err(lost)?;
        let status = line.rsplit(|byte| *byte == b' ').next().and_then(|digits| std::str::from_utf8(digits).ok());
        let status = status.and_then(|digits| digits.parse().ok()).ok_or(Fault::Malformed("HTTP head"))?;
        Ok((stream, status))
    }

    /// Asks as long as there is room for another connection, and then lets the oldest go.
    async fn ask_on(&self, request: &[u8], held_max: usize) -> Infallible {
        let mut held = VecDeque::new();
        loop {
            match self.ask(request).await {
                Ok((stream, 200)) => {
                    self.raid.done(1);
                    held.push_back(stream);
                }
                Ok((_, status)) => self.raid.cut_off(&Fault::Status(status)).await,
                Err(fault) => self.raid.cut_off(&fault).await,
            }
            if held.len() > held_max {
                held.pop_front();
            }
        }
    }

    async fn take_first_step(&self, request: &[u8]) -> Result<(), Fault> {
        match self.ask(request).await? {
            (_, 200) => Ok(()),
            (_, status) => Err(Fault::Status(status)),
        }
    }

    async fn leave_answers(&self) -> Attack {
        let (_, token) = sockets::sign_in(&self.raid.worker, self.index).await?;
        let mut connection = HttpConnection::open(&self.raid.worker.endpoints, self.index).await?;
        for number in 0..OBJECTS {
            let value = json!({ "text": "a".repeat(OBJECT_BYTES) }).to_string();
            let object = json!({ "collection": "loot", "key": number.to_string(), "value": value });
            let request = call(&token, "PUT", "/v2/storage", &json!({ "objects": [object] }).to_string());
            let status = connection.exchange(&request).await?.status;
            if status != 200 {
                return Err(Fault::Status(status));
            }
        }
        let request = call(&token, "GET", PAGE, "");
        self.take_first_step(&request).await?;
        self.raid.begin().await;
        match self.ask_on(&request, UNREAD_LINES).await {}
    }

    async fn hold_connections(&self) -> Attack {
        let request = b"GET /healthcheck HTTP/1.1\r\nHost: bench\r\n\r\n";
        self.take_first_step(request).await?;
        self.raid.begin().await;
        match self.ask_on(request, OPEN_LINES).await {}
    }

    async fn half_handshake(&self) -> Result<TcpStream, Fault> {
        let mut stream = self.connect().await?;
        stream.write_all(HALF_HANDSHAKE.as_bytes()).await.map_err(lost)?;
        Ok(stream)
    }

    async fn drip(&self) -> Attack {
        let mut held = vec![self.half_handshake().await?];
        self.raid.begin().await;
        loop {
            while held.len() < DRIPPING_LINES {
                match self.half_handshake().await {
                    Ok(stream) => {
                        self.raid.done(1);
                        held.push(stream);
                    }
                    Err(fault) => {
                        self.raid.cut_off(&fault).await;
                        break;
                    }
                }
            }
            tokio::time::sleep(DRIP_PAUSE).await;
            held.retain(|stream| {
                let is_open = is_open(stream) && stream.try_write(b"a").is_ok();
                if !is_open {
                    self.raid.refused(Fault::Closed.to_string());
                }
                is_open
            });
        }
    }
}

/// Whether the server has neither closed the connection nor answered.
fn is_open(stream: &TcpStream) -> bool {
    matches!(stream.try_read(&mut [0; 64]), Err(error) if error.kind() == io::ErrorKind::WouldBlock)
}

fn lost(error: io::Error) -> Fault {
    if error.kind() == io::ErrorKind::UnexpectedEof { Fault::Closed } else { Fault::Lost(error.kind()) }
}
