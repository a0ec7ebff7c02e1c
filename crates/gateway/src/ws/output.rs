//! The output of a socket: answers straight from the shard's buffer, waiting frames many at a time.

use std::io::IoSlice;
use std::pin::Pin;
use std::task::{Context, Poll};

use muster_live::CloseReason;
use tokio::io::{AsyncRead, AsyncWrite};

use super::connection::{Connection, Phase};
use super::shared::Traffic;
use super::work::MessageHandler;

/// The largest number of slices in one write.
const WRITE_SLICES_MAX: usize = 32;

impl<S, H, T> Connection<S, H, T>
where
    S: AsyncRead + AsyncWrite + Unpin,
    H: MessageHandler + Unpin,
    T: Traffic,
{
    /// Writes the frames that wait. Errors: the connection is lost.
    pub(super) fn flush(&mut self, context: &mut Context<'_>) -> Result<(), CloseReason> {
        let handle = self.handle.clone();
        let mut outbox = handle.outbox().borrow_mut();
        let mut sent = 0;
        let mut is_blocked = false;
        while !outbox.is_empty() {
            let mut slices = [IoSlice::new(&[]); WRITE_SLICES_MAX];
            let filled = outbox.chunks(&mut slices);
            match Pin::new(&mut self.io).poll_write_vectored(context, &slices[..filled]) {
                Poll::Ready(Ok(written)) if written > 0 => {
                    sent += written;
                    outbox.advance(written);
                }
                Poll::Ready(_) => return Err(CloseReason::ConnectionLost),
                Poll::Pending => {
                    is_blocked = true;
                    break;
                }
            }
        }
        let _ = Pin::new(&mut self.io).poll_flush(context).map_err(|_| CloseReason::ConnectionLost)?;
        drop(outbox);
        self.note_written(sent, is_blocked, context);
        Ok(())
    }

    fn note_written(&mut self, sent: usize, is_blocked: bool, context: &mut Context<'_>) {
        if sent > 0 {
            self.shared.traffic.sent(sent as u64);
            self.keep_alive.write_progress(self.now(), is_blocked);
        }
        if is_blocked && (self.keep_alive.write_blocked(self.now()) || sent > 0) && matches!(self.phase, Phase::Open) {
            let deadline = self.now() + self.shared.limits.keep_alive.write_wait_ms;
            self.set_timer(deadline, context);
        }
    }

    /// Sends answers: straight to the socket when nothing waits before them and nothing has to be kept.
    pub(super) fn send_replies(&mut self, replies: &[u8], context: &mut Context<'_>) -> Result<(), CloseReason> {
        let mut written = 0;
        if self.handle.resumption().is_none() && self.handle.outbox().borrow().is_empty() {
            match Pin::new(&mut self.io).poll_write(context, replies) {
                Poll::Ready(Ok(count)) if count > 0 => written = count,
                Poll::Ready(_) => return Err(CloseReason::ConnectionLost),
                Poll::Pending => {}
            }
        }
        self.handle.queue_replies(&replies[written..]);
        self.note_written(written, false, context);
        Ok(())
    }
}
