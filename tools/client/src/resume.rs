//! A socket that survives its connection: it opens another by itself, tells the server what it has received, and sends
//! again what the server has not. See the server's reference, "Sessions that survive their socket".

use std::collections::VecDeque;
use std::time::Duration;

use muster_wire::extensions::mode;
use muster_wire::realtime::envelope::Message;
use muster_wire::realtime::{Envelope, StreamData};
use serde_json::Value;
use tokio::time::{Instant, sleep};

use crate::socket::{ABNORMAL, Socket, SocketOptions};
use crate::{ClientError, Closed};

/// First and longest pause between two attempts to connect.
const RETRY_FIRST: Duration = Duration::from_millis(20);
const RETRY_MAX: Duration = Duration::from_secs(1);

/// A session, and its current socket if there is one. All methods reconnect when necessary; cancelling one of them
/// loses nothing.
pub struct ResumableSocket {
    address: String,
    token: String,
    options: SocketOptions,
    session: String,
    grace: Duration,
    socket: Option<Socket>,
    /// Number of the server's messages that were given to the caller.
    received: u64,
    /// Number of our messages that the server has acknowledged.
    arrived: u64,
    /// Our later messages, in order.
    kept: VecDeque<Envelope>,
    /// Number of messages in `kept` that were sent on this socket.
    sent: usize,
    resumed: u64,
}

/// Content of a socket's first message.
struct Greeting {
    session: Option<String>,
    resumed: bool,
    received: u64,
    reason: String,
    grace: Duration,
}

impl ResumableSocket {
    /// Opens a session that survives its socket. `address` is `host:port`.
    pub async fn open(address: &str, token: &str, options: &SocketOptions) -> Result<Self, ClientError> {
        let (socket, greeting) = connect(address, token, options, "&resume=new").await?;
        let session = greeting.session.ok_or(ClientError::NotResumed { reason: greeting.reason })?;
        Ok(Self {
            address: address.to_owned(),
            token: token.to_owned(),
            options: options.clone(),
            session,
            grace: greeting.grace,
            socket: Some(socket),
            received: 0,
            arrived: 0,
            kept: VecDeque::new(),
            sent: 0,
            resumed: 0,
        })
    }

    /// Number of times that the session went on over another socket.
    pub fn resumed(&self) -> u64 {
        self.resumed
    }

    /// Sends an envelope. It is kept until its own answer, or a later one, has come.
    pub async fn send(&mut self, envelope: Envelope) -> Result<(), ClientError> {
        self.kept.push_back(envelope);
        loop {
            let outcome = self.send_kept().await;
            if self.is_done(&outcome) {
                return outcome;
            }
        }
    }

    /// The next message; each is returned exactly once.
    pub async fn receive(&mut self) -> Result<Envelope, ClientError> {
        loop {
            let outcome = self.receive_now().await;
            if self.is_done(&outcome) {
                return outcome;
            }
        }
    }

    /// Closes the socket, which ends the session.
    pub async fn close(mut self) -> Result<Closed, ClientError> {
        self.ensure_connected().await?;
        match self.socket {
            Some(socket) => socket.close().await,
            None => Ok(Closed { code: ABNORMAL, reason: String::new() }),
        }
    }

    /// Whether a result is for the caller. If not, the socket was lost, and the next attempt opens another.
    fn is_done<T>(&mut self, outcome: &Result<T, ClientError>) -> bool {
        let is_lost = outcome.as_ref().is_err_and(is_loss);
        if is_lost {
            self.socket = None;
        }
        !is_lost
    }

    async fn send_kept(&mut self) -> Result<(), ClientError> {
        self.ensure_connected().await?;
        let Some(socket) = &mut self.socket else { return Ok(()) };
        while let Some(envelope) = self.kept.get(self.sent) {
            socket.feed(envelope).await?;
            self.sent += 1;
        }
        socket.flush().await
    }

    async fn receive_now(&mut self) -> Result<Envelope, ClientError> {
        self.send_kept().await?;
        let socket = self.socket.as_mut().ok_or_else(lost)?;
        let envelope = socket.receive().await?;
        self.received += 1;
        self.note_answer(&envelope.cid);
        Ok(envelope)
    }

    /// Notes an answer. The server takes messages in order, so an answer to one means that it has all before.
    fn note_answer(&mut self, cid: &str) {
        if cid.is_empty() {
            return;
        }
        let answered = self.kept.iter().take(self.sent).position(|envelope| envelope.cid == cid);
        if let Some(index) = answered {
            self.note_arrived(index + 1);
        }
    }

    fn note_arrived(&mut self, count: usize) {
        self.kept.drain(..count);
        self.arrived += count as u64;
        self.sent = self.sent.saturating_sub(count);
    }

    async fn ensure_connected(&mut self) -> Result<(), ClientError> {
        let (started, mut pause) = (Instant::now(), RETRY_FIRST);
        while self.socket.is_none() {
            match self.reconnect().await {
                Err(error) if is_passing(&error) && started.elapsed() < self.grace => {
                    sleep(pause).await;
                    pause = RETRY_MAX.min(pause * 2);
                }
                outcome => outcome?,
            }
        }
        Ok(())
    }

    async fn reconnect(&mut self) -> Result<(), ClientError> {
        let parameters = format!("&resume={}&received={}", self.session, self.received);
        let (socket, greeting) = connect(&self.address, &self.token, &self.options, &parameters).await?;
        if !greeting.resumed {
            return Err(ClientError::NotResumed { reason: greeting.reason });
        }
        let count = greeting.received.checked_sub(self.arrived).and_then(|count| usize::try_from(count).ok());
        let count = count.filter(|count| *count <= self.kept.len());
        let count =
            count.ok_or_else(|| ClientError::Malformed("the server has other messages than were sent".into()))?;
        self.note_arrived(count);
        self.sent = 0;
        self.resumed += 1;
        self.socket = Some(socket);
        Ok(())
    }
}

async fn connect(
    address: &str,
    token: &str,
    options: &SocketOptions,
    parameters: &str,
) -> Result<(Socket, Greeting), ClientError> {
    let mut socket = Socket::open_asking(address, token, options, parameters).await?;
    let first = socket.receive().await?;
    let greeting = match first.message {
        Some(Message::StreamData(data)) => Greeting::read(&data),
        _ => None,
    };
    let greeting = greeting.ok_or_else(|| ClientError::Malformed("the server did not say what it resumes".into()))?;
    Ok((socket, greeting))
}

impl Greeting {
    fn read(data: &StreamData) -> Option<Self> {
        if data.stream.as_ref()?.mode != i32::from(mode::SESSION) {
            return None;
        }
        let json: Value = serde_json::from_str(&data.data).ok()?;
        Some(Self {
            session: json["session"].as_str().map(str::to_owned),
            resumed: json["resumed"].as_bool()?,
            received: json["received"].as_u64().unwrap_or_default(),
            reason: json["reason"].as_str().unwrap_or_default().to_owned(),
            grace: Duration::from_millis(json["grace_ms"].as_u64().unwrap_or_default()),
        })
    }
}

/// Whether the session may go on after a socket that ended with this error.
fn is_loss(error: &ClientError) -> bool {
    matches!(error, ClientError::Socket(_) | ClientError::SocketClosed { code: ABNORMAL, .. })
}

/// Whether another attempt to connect may succeed.
fn is_passing(error: &ClientError) -> bool {
    is_loss(error) || matches!(error, ClientError::Connect { .. })
}

fn lost() -> ClientError {
    ClientError::SocketClosed { code: ABNORMAL, reason: String::new() }
}
