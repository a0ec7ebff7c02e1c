//! Keep-alive of one socket: the times at which to ping it or give it up. Never touches the socket.

use crate::close::CloseReason;

/// Milliseconds on a monotonic clock with an arbitrary start.
pub type Millis = u64;

/// The timeouts of the protocol, named as in the configuration.
#[derive(Clone, Copy, Debug)]
pub struct KeepAliveConfig {
    /// The setting `socket.ping_period_ms`: time between two WebSocket pings.
    pub ping_period_ms: Millis,
    /// The setting `socket.pong_wait_ms`: time without a byte from the client after which the socket closes.
    pub pong_wait_ms: Millis,
    /// The setting `socket.ping_backoff_threshold`: number of messages from the client in a ping period that make its
    /// ping unnecessary.
    pub ping_backoff_threshold: u32,
    /// The setting `socket.write_wait_ms`: time after which the socket closes if the client takes none of the bytes
    /// that wait.
    pub write_wait_ms: Millis,
}

/// The next thing to do for a socket.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Directive {
    /// Nothing is due before this time.
    Wait(Millis),
    /// Send a WebSocket ping, then ask again.
    Ping,
    /// Close the socket.
    Close(CloseReason),
}

/// The timers of one socket. Any byte from the client proves that it lives.
#[derive(Debug)]
pub struct KeepAlive {
    last_received: Millis,
    next_ping: Millis,
    messages_since_ping: u32,
    write_blocked_since: Option<Millis>,
}

impl KeepAlive {
    /// The timers of a socket that opened at `now`.
    pub fn new(now: Millis, config: &KeepAliveConfig) -> Self {
        Self {
            last_received: now,
            next_ping: now + config.ping_period_ms,
            messages_since_ping: 0,
            write_blocked_since: None,
        }
    }

    /// Notes that bytes arrived, with `messages` complete data messages among them.
    pub fn received(&mut self, now: Millis, messages: u32) {
        self.last_received = now;
        self.messages_since_ping = self.messages_since_ping.saturating_add(messages);
    }

    /// Notes that the socket does not take bytes that wait. Returns true if it was not blocked before: then the caller
    /// must set a timer.
    pub fn write_blocked(&mut self, now: Millis) -> bool {
        let news = self.write_blocked_since.is_none();
        self.write_blocked_since.get_or_insert(now);
        news
    }

    /// Notes that the socket took bytes; `pending` says whether more wait.
    pub fn write_progress(&mut self, now: Millis, pending: bool) {
        self.write_blocked_since = pending.then_some(now);
    }

    /// The action that is due at `now`.
    pub fn due(&mut self, now: Millis, config: &KeepAliveConfig) -> Directive {
        let pong_deadline = self.last_received + config.pong_wait_ms;
        if now >= pong_deadline {
            return Directive::Close(CloseReason::PongTimeout);
        }
        let write_deadline = self.write_blocked_since.map(|since| since + config.write_wait_ms);
        if write_deadline.is_some_and(|deadline| now >= deadline) {
            return Directive::Close(CloseReason::SlowReader);
        }
        if now >= self.next_ping {
            let busy = self.messages_since_ping >= config.ping_backoff_threshold;
            self.messages_since_ping = 0;
            self.next_ping = now + config.ping_period_ms;
            if !busy {
                return Directive::Ping;
            }
        }
        let next = pong_deadline.min(self.next_ping);
        Directive::Wait(write_deadline.map_or(next, |deadline| next.min(deadline)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CONFIG: KeepAliveConfig = KeepAliveConfig {
        ping_period_ms: 15_000,
        pong_wait_ms: 25_000,
        ping_backoff_threshold: 20,
        write_wait_ms: 5_000,
    };

    #[test]
    fn a_silent_client_is_pinged_and_then_closed() {
        let mut keep_alive = KeepAlive::new(0, &CONFIG);
        assert_eq!(keep_alive.due(1, &CONFIG), Directive::Wait(15_000));
        assert_eq!(keep_alive.due(15_000, &CONFIG), Directive::Ping);
        assert_eq!(keep_alive.due(15_000, &CONFIG), Directive::Wait(25_000));
        assert_eq!(keep_alive.due(25_000, &CONFIG), Directive::Close(CloseReason::PongTimeout));
    }

    #[test]
    fn any_byte_postpones_the_end_and_a_busy_client_is_not_pinged() {
        let mut keep_alive = KeepAlive::new(0, &CONFIG);
        keep_alive.received(14_000, 20);
        assert_eq!(keep_alive.due(15_000, &CONFIG), Directive::Wait(30_000));
        keep_alive.received(29_000, 19);
        assert_eq!(keep_alive.due(30_000, &CONFIG), Directive::Ping);
        keep_alive.received(31_000, 0);
        assert_eq!(keep_alive.due(45_000, &CONFIG), Directive::Ping);
        assert_eq!(keep_alive.due(55_999, &CONFIG), Directive::Wait(56_000));
        assert_eq!(keep_alive.due(56_000, &CONFIG), Directive::Close(CloseReason::PongTimeout));
    }

    #[test]
    fn a_reader_that_stops_is_closed_and_one_that_crawls_is_not() {
        let mut keep_alive = KeepAlive::new(0, &CONFIG);
        assert!(keep_alive.write_blocked(1_000));
        assert!(!keep_alive.write_blocked(2_000));
        assert_eq!(keep_alive.due(2_000, &CONFIG), Directive::Wait(6_000));
        keep_alive.write_progress(5_500, true);
        assert_eq!(keep_alive.due(6_000, &CONFIG), Directive::Wait(10_500));
        assert_eq!(keep_alive.due(10_500, &CONFIG), Directive::Close(CloseReason::SlowReader));
        keep_alive.write_progress(10_500, false);
        keep_alive.received(10_500, 1);
        assert_eq!(keep_alive.due(10_500, &CONFIG), Directive::Wait(15_000));
    }
}
