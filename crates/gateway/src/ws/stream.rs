//! The transport of a socket once its handshake is done, and its move to another shard's thread.

use std::io::{self, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::server::TlsStream;

/// A transport that carries HTTP and becomes a socket.
pub trait Transport: AsyncRead + AsyncWrite + Unpin + Send + 'static {
    /// The transport as a [`Stream`].
    fn into_stream(self) -> Stream;
}

/// Any transport of sockets.
pub enum Stream {
    /// The connection is in the clear.
    Plain(TcpStream),
    /// The connection uses the server's own TLS.
    Tls(Box<TlsStream<TcpStream>>),
}

/// A transport on its way to another thread.
pub enum Portable {
    /// The connection is known to no runtime.
    Plain(std::net::TcpStream),
    /// The state of TLS cannot be taken apart, so the runtime that accepted the connection goes on watching it and
    /// wakes the other thread.
    Tls(Box<TlsStream<TcpStream>>),
}

impl Stream {
    /// Makes the transport ready for another thread.
    pub fn into_portable(self) -> io::Result<Portable> {
        Ok(match self {
            Self::Plain(stream) => Portable::Plain(stream.into_std()?),
            Self::Tls(stream) => Portable::Tls(stream),
        })
    }
}

impl Portable {
    /// Makes the transport usable on the thread that it was sent to.
    pub fn into_stream(self) -> io::Result<Stream> {
        Ok(match self {
            Self::Plain(stream) => Stream::Plain(TcpStream::from_std(stream)?),
            Self::Tls(stream) => Stream::Tls(stream),
        })
    }
}

impl Transport for TcpStream {
    fn into_stream(self) -> Stream {
        Stream::Plain(self)
    }
}

impl Transport for Box<TlsStream<TcpStream>> {
    fn into_stream(self) -> Stream {
        Stream::Tls(self)
    }
}

/// Runs the same code with either transport.
macro_rules! each {
    ($self:ident, $stream:ident => $act:expr) => {
        match $self.get_mut() {
            Stream::Plain($stream) => $act,
            Stream::Tls($stream) => $act,
        }
    };
}

impl AsyncRead for Stream {
    fn poll_read(self: Pin<&mut Self>, context: &mut Context<'_>, into: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        each!(self, stream => Pin::new(stream).poll_read(context, into))
    }
}

impl AsyncWrite for Stream {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        each!(self, stream => Pin::new(stream).poll_write(context, bytes))
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        each!(self, stream => Pin::new(stream).poll_write_vectored(context, slices))
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self, stream => Pin::new(stream).poll_flush(context))
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        each!(self, stream => Pin::new(stream).poll_shutdown(context))
    }
}
