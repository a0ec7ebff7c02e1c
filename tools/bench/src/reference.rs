//! A bare echo server with which real servers are compared: the least work that answers a ping over a socket.
//!
//! The server has one thread, two tasks for each connection (as any server that also pushes needs), and hand-written
//! parsing. It has no accounts, sessions, limits or keep-alive, so it is of no other use.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, Command, Stdio};

use anyhow::{Context as _, bail};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc;

use crate::load::requests::WEBSOCKET_ACCEPT;
use crate::options::{Options, Target};
use crate::report::Report;
use crate::{coordinator, machine};

const READ_BUFFER_LEN: usize = 2 << 10;
const QUEUE_LEN_MAX: usize = 1024;
const LISTEN_BACKLOG: u32 = 1024;

/// Runs the scenario of `options` against a reference server of its own.
pub fn measure(options: &Options) -> anyhow::Result<Report> {
    let server = Server::start(options.reference_core)?;
    let address = server.address;
    let target = Target {
        options,
        addresses: vec![address],
        pids: vec![server.process.id()],
        metrics: Vec::new(),
        signs_in: false,
    };
    let mut runs = Vec::new();
    for _ in 0..options.repeat {
        runs.push(coordinator::run(&target)?);
    }
    Ok(Report::median(runs))
}

struct Server {
    process: Child,
    address: std::net::SocketAddr,
}

impl Server {
    fn start(core: usize) -> anyhow::Result<Self> {
        let mut command = Command::new(std::env::current_exe()?);
        command.arg(crate::REFERENCE_ROLE).arg(core.to_string()).stdin(Stdio::piped()).stdout(Stdio::piped());
        let process = command.spawn().context("cannot start the reference server")?;
        let mut server = Self { process, address: ([127, 0, 0, 1], 0).into() };
        let mut line = String::new();
        if let Some(output) = server.process.stdout.take() {
            BufReader::new(output).read_line(&mut line)?;
        }
        server.address = line.trim().parse().context("the reference server did not start")?;
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // The process may have ended by itself.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Runs the reference server in its own process: pinned to the core of the second argument, until its input ends.
pub fn main() -> anyhow::Result<()> {
    let core = std::env::args().nth(2).and_then(|core| core.parse().ok()).context("no core given")?;
    machine::pin_to_core(core)?;
    machine::raise_file_limit()?;
    std::thread::spawn(|| {
        let _ = std::io::copy(&mut std::io::stdin(), &mut std::io::sink());
        std::process::exit(0);
    });
    let runtime = tokio::runtime::Builder::new_current_thread().enable_io().build()?;
    runtime.block_on(tokio::task::LocalSet::new().run_until(serve()))
}

async fn serve() -> anyhow::Result<()> {
    let socket = tokio::net::TcpSocket::new_v4()?;
    socket.bind(([127, 0, 0, 1], 0).into())?;
    let listener: TcpListener = socket.listen(LISTEN_BACKLOG)?;
    writeln!(std::io::stdout(), "{}", listener.local_addr()?)?;
    loop {
        let (stream, _) = listener.accept().await?;
        tokio::task::spawn_local(async {
            // A connection that breaks is dropped; there is nobody to tell.
            let _ = attend(stream).await;
        });
    }
}

async fn attend(mut stream: TcpStream) -> anyhow::Result<()> {
    stream.set_nodelay(true)?;
    let mut buffer = Vec::with_capacity(READ_BUFFER_LEN);
    while !buffer.ends_with(b"\r\n\r\n") {
        if stream.read_buf(&mut buffer).await? == 0 || buffer.len() > READ_BUFFER_LEN {
            bail!("no request");
        }
    }
    buffer.clear();
    let answer = format!(
        "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n\
         Sec-WebSocket-Accept: {WEBSOCKET_ACCEPT}\r\n\r\n"
    );
    stream.write_all(answer.as_bytes()).await?;
    let (reader, writer) = stream.into_split();
    let (sender, queue) = mpsc::channel(QUEUE_LEN_MAX);
    tokio::task::spawn_local(write_frames(writer, queue));
    read_frames(reader, buffer, sender).await
}

async fn read_frames(
    mut reader: OwnedReadHalf,
    mut buffer: Vec<u8>,
    sender: mpsc::Sender<Vec<u8>>,
) -> anyhow::Result<()> {
    while reader.read_buf(&mut buffer).await? > 0 {
        let mut taken = 0;
        while let Some((len, pong)) = answer_frame(&mut buffer[taken..])? {
            taken += len;
            sender.send(pong).await?;
        }
        buffer.drain(..taken);
    }
    Ok(())
}

async fn write_frames(mut writer: OwnedWriteHalf, mut queue: mpsc::Receiver<Vec<u8>>) {
    while let Some(mut bytes) = queue.recv().await {
        while let Ok(more) = queue.try_recv() {
            bytes.extend_from_slice(&more);
        }
        if writer.write_all(&bytes).await.is_err() {
            return;
        }
    }
}

/// Length of the first whole frame, and the pong to it; `None` if the frame is incomplete.
fn answer_frame(bytes: &mut [u8]) -> anyhow::Result<Option<(usize, Vec<u8>)>> {
    const HEADER_LEN: usize = 6;
    let [first, second, ..] = *bytes else { return Ok(None) };
    let payload_len = usize::from(second & 0x7f);
    if second & 0x80 == 0 || payload_len > 125 {
        bail!("not a short client frame");
    }
    let len = HEADER_LEN + payload_len;
    let Some(frame) = bytes.get_mut(..len) else { return Ok(None) };
    let (header, payload) = frame.split_at_mut(HEADER_LEN);
    for (byte, key) in payload.iter_mut().zip(header[2..].iter().cycle()) {
        *byte ^= key;
    }
    let cid = match first {
        0x81 => payload.strip_prefix(br#"{"cid":""#).and_then(|rest| rest.strip_suffix(br#"","ping":{}}"#)),
        0x82 => payload.strip_prefix(&[0x0a]).and_then(|rest| rest.strip_suffix(&[0x82, 0x02, 0x00])?.get(1..)),
        _ => None,
    };
    let cid = cid.context("not a ping")?;
    let mut pong = vec![first, 0];
    if first == 0x81 {
        pong.extend_from_slice(br#"{"cid":""#);
        pong.extend_from_slice(cid);
        pong.extend_from_slice(br#"","pong":{}}"#);
    } else {
        pong.extend_from_slice(&[0x0a, cid.len() as u8]);
        pong.extend_from_slice(cid);
        pong.extend_from_slice(&[0x8a, 0x02, 0x00]);
    }
    pong[1] = (pong.len() - 2) as u8;
    Ok(Some((len, pong)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::load::Format;
    use crate::load::envelopes::{self, PingAnswer};
    use crate::load::frames::read_server_frame;

    #[test]
    fn the_reference_answers_what_the_generator_asks() {
        for format in [Format::Json, Format::Protobuf] {
            let mut bytes = Vec::new();
            envelopes::write_ping(format, envelopes::cid(7), &mut bytes);
            let whole = bytes.len();
            assert!(answer_frame(&mut bytes[..whole - 1]).unwrap().is_none());
            let (len, pong) = answer_frame(&mut bytes).unwrap().unwrap();
            let frame = read_server_frame(&pong).unwrap().unwrap();
            let answer = envelopes::check_pong(format, frame.opcode, frame.payload, envelopes::cid(7));
            assert_eq!((len, answer.unwrap()), (whole, PingAnswer::Pong));
        }
    }
}
