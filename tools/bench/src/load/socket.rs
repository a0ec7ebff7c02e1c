//! A realtime socket for the generator: sends whole frames, receives messages, and answers the server's pings.
//!
//! Reading and writing are separate halves, because the pings of an open loop leave by the clock and not after answers.
//! All sockets of a worker read into one shared buffer; only a frame that arrives in parts needs memory of its own.

use std::cell::RefCell;
use std::future::poll_fn;
use std::io;
use std::pin::Pin;
use std::rc::Rc;
use std::task::ready;

use nix::sys::socket::setsockopt;
use nix::sys::socket::sockopt::RcvBuf;
use tokio::io::{AsyncRead, ReadBuf};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};

use super::frames::{self, Opcode};
use super::http::HttpConnection;
use super::{Endpoints, Fault, Format, requests};

const READ_BUFFER_LEN: usize = 64 << 10;

/// The buffer that all sockets of a worker read into. It is borrowed only between two awaits.
#[derive(Clone)]
pub struct ReadBuffer(Rc<RefCell<Vec<u8>>>);

impl ReadBuffer {
    pub fn new() -> Self {
        Self(Rc::new(RefCell::new(vec![0; READ_BUFFER_LEN])))
    }
}

/// Opens a socket with a session's token.
pub async fn open(
    endpoints: &Endpoints,
    index: usize,
    token: &str,
    format: Format,
    buffer: ReadBuffer,
) -> Result<(SocketReader, SocketWriter), Fault> {
    let mut connection = HttpConnection::open(endpoints, index).await?;
    let request = requests::socket_upgrade(endpoints.address(index), token, format);
    let head = connection.upgrade(&request).await?;
    let (read_half, write_half) = connection.into_stream().into_split();
    let reader = SocketReader { half: read_half, partial: head, buffer };
    Ok((reader, SocketWriter { half: write_half, backlog: RefCell::default() }))
}

pub struct SocketReader {
    half: OwnedReadHalf,
    /// The beginning of a frame that has not arrived in full.
    partial: Vec<u8>,
    buffer: ReadBuffer,
}

impl SocketReader {
    /// Limits the kernel's buffer of unread bytes to about `len`.
    pub fn shrink_receive_buffer(&self, len: usize) -> io::Result<()> {
        Ok(setsockopt(self.half.as_ref(), RcvBuf, &len)?)
    }

    /// Waits for bytes, passes every whole message to `on_message`, and answers the server's pings.
    ///
    /// The call returns after one read, so that the caller can look at the clock. Cancelling it loses nothing.
    pub async fn receive(
        &mut self,
        writer: &SocketWriter,
        mut on_message: impl FnMut(Opcode, &[u8]),
    ) -> Result<Received, Fault> {
        poll_fn(|context| {
            let mut shared = self.buffer.0.borrow_mut();
            let mut bytes = ReadBuf::new(&mut shared);
            ready!(Pin::new(&mut self.half).poll_read(context, &mut bytes)).map_err(lost)?;
            if bytes.filled().is_empty() {
                return Err(Fault::Closed).into();
            }
            take_frames(&mut self.partial, bytes.filled(), writer, &mut on_message).into()
        })
        .await
    }
}

/// Result of one read, besides its messages.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Received {
    pub server_pings: u64,
}

fn take_frames(
    partial: &mut Vec<u8>,
    read: &[u8],
    writer: &SocketWriter,
    on_message: &mut impl FnMut(Opcode, &[u8]),
) -> Result<Received, Fault> {
    let mut joined = std::mem::take(partial);
    let mut bytes = read;
    if !joined.is_empty() {
        joined.extend_from_slice(read);
        bytes = &joined;
    }
    let mut received = Received::default();
    while let Some(frame) = frames::read_server_frame(bytes)? {
        match frame.opcode {
            Opcode::Text | Opcode::Binary => on_message(frame.opcode, frame.payload),
            Opcode::Ping => {
                received.server_pings += 1;
                let mut pong = Vec::new();
                frames::write_client_frame(Opcode::Pong, frame.payload, &mut pong);
                writer.send_now(&pong)?;
            }
            Opcode::Pong => {}
            Opcode::Close => return Err(Fault::Closed),
        }
        bytes = &bytes[frame.len..];
    }
    *partial = bytes.to_vec();
    Ok(received)
}

/// Whether a socket took all bytes at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sent {
    Whole,
    /// The rest waits in the backlog: somebody must call [`SocketWriter::flush`].
    Queued,
}

pub struct SocketWriter {
    half: OwnedWriteHalf,
    /// Bytes the socket did not take yet, in order.
    backlog: RefCell<Vec<u8>>,
}

impl SocketWriter {
    /// Sends bytes without waiting. Bytes that the socket does not take are queued behind those that are queued
    /// already.
    pub fn send_now(&self, bytes: &[u8]) -> Result<Sent, Fault> {
        let mut backlog = self.backlog.borrow_mut();
        let mut written = 0;
        if backlog.is_empty() {
            written = match self.half.try_write(bytes) {
                Ok(written) => written,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => 0,
                Err(error) => return Err(lost(error)),
            };
        }
        backlog.extend_from_slice(&bytes[written..]);
        Ok(if backlog.is_empty() { Sent::Whole } else { Sent::Queued })
    }

    /// Waits until the socket has taken everything queued. Cancelling it loses nothing.
    pub async fn flush(&self) -> Result<(), Fault> {
        while !self.backlog.borrow().is_empty() {
            self.half.writable().await.map_err(lost)?;
            let mut backlog = self.backlog.borrow_mut();
            match self.half.try_write(&backlog) {
                Ok(written) => drop(backlog.drain(..written)),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => return Err(lost(error)),
            }
        }
        Ok(())
    }

    /// Sends bytes and waits until the socket has taken them.
    pub async fn send(&self, bytes: &[u8]) -> Result<(), Fault> {
        match self.send_now(bytes)? {
            Sent::Whole => Ok(()),
            Sent::Queued => self.flush().await,
        }
    }
}

fn lost(error: io::Error) -> Fault {
    Fault::Lost(error.kind())
}
