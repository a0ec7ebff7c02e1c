//! The record of the messages that one player received from each other player, by which lost, doubled and overtaken
//! messages are noticed.

use std::time::Duration;

use crate::load::Fault;
use crate::load::stamp::Stamp;

/// Messages before the last one that may still come late; older ones count as lost.
const WINDOW: u32 = 64;

#[derive(Debug, Default)]
pub struct Inbox {
    senders: Vec<Heard>,
    /// Messages that will not come any more.
    lost: u64,
}

#[derive(Debug)]
struct Heard {
    sender: u32,
    /// Number of the latest message.
    latest: u32,
    latest_time_us: u64,
    /// Bit i: message number `latest - 1 - i` has not come.
    missing: u64,
    /// Messages up to this number may come or not: they were under way when the receiver joined.
    optional: u32,
    /// Whether the sender has sent its last message.
    is_over: bool,
}

impl Inbox {
    /// Expects each message of `sender` after this number from now on. `time_us` is when that message was sent, or a
    /// period before the first.
    pub fn expect(&mut self, sender: u32, number: u32, time_us: u64) {
        self.forget_silent();
        if self.senders.iter().all(|heard| heard.sender != sender) {
            self.senders.push(Heard::new(sender, number, time_us));
        }
    }

    /// Takes a message. `first_due` gives, for an unknown sender, the number of its first message that should have
    /// come.
    ///
    /// Late messages are faults, but they count as received; messages delivered twice do not.
    pub fn take(&mut self, stamp: &Stamp, first_due: impl FnOnce(&Stamp) -> u32) -> Result<(), Fault> {
        let known = self.senders.iter().position(|heard| heard.sender == stamp.sender);
        let index = known.unwrap_or_else(|| {
            let before = first_due(stamp).clamp(1, stamp.number) - 1;
            self.senders.push(Heard::new(stamp.sender, before, stamp.time_us));
            self.senders.len() - 1
        });
        let heard = &mut self.senders[index];
        self.lost += heard.take(stamp)?;
        Ok(())
    }

    /// Whether everything has come that senders, at one message per `period`, have sent before `time_us`.
    pub fn is_complete(&self, time_us: u64, period: Duration) -> bool {
        self.senders.iter().all(|heard| heard.missing == 0 && heard.due_before(time_us, period) == 0)
    }

    /// Number of messages sent before `time_us` that have not come and will not.
    pub fn lost_before(&self, time_us: u64, period: Duration) -> u64 {
        let due: u64 = self.senders.iter().map(|heard| heard.due_before(time_us, period)).sum();
        due + self.overtaken()
    }

    /// Number of messages that have not come although later ones have.
    pub fn overtaken(&self) -> u64 {
        let missing: u64 = self.senders.iter().map(|heard| u64::from(heard.missing.count_ones())).sum();
        self.lost + missing
    }

    /// Forgets senders that have sent their last message.
    fn forget_silent(&mut self) {
        let lost = &mut self.lost;
        self.senders.retain(|heard| {
            if heard.is_over {
                *lost += u64::from(heard.missing.count_ones());
            }
            !heard.is_over
        });
    }
}

impl Heard {
    fn new(sender: u32, number: u32, time_us: u64) -> Self {
        Self { sender, latest: number, latest_time_us: time_us, missing: 0, optional: number, is_over: false }
    }

    /// Takes a message. Returns the number of earlier ones that are too old by now to come late.
    fn take(&mut self, stamp: &Stamp) -> Result<u64, Fault> {
        if stamp.number > self.latest && self.is_over {
            return Err(Fault::Wrong("a message after the sender's last"));
        }
        let Some(step) = stamp.number.checked_sub(self.latest).filter(|step| *step > 0) else {
            return self.take_late(stamp.number);
        };
        self.is_over = stamp.is_last;
        self.latest = stamp.number;
        self.latest_time_us = stamp.time_us;
        let skipped = step - 1;
        let kept = if step < WINDOW { self.missing << step } else { 0 };
        let added = if skipped < WINDOW { (1 << skipped) - 1 } else { u64::MAX };
        let forgotten = self.missing.count_ones() - kept.count_ones() + skipped.saturating_sub(WINDOW);
        self.missing = kept | added;
        Ok(forgotten.into())
    }

    fn take_late(&mut self, number: u32) -> Result<u64, Fault> {
        let behind = self.latest - number;
        let bit = if (1..=WINDOW).contains(&behind) { 1 << (behind - 1) } else { 0 };
        if self.missing & bit != 0 {
            self.missing &= !bit;
            return Err(Fault::MessageOutOfOrder);
        }
        if number <= self.optional { Ok(0) } else { Err(Fault::MessageRepeated) }
    }

    fn due_before(&self, time_us: u64, period: Duration) -> u64 {
        let silent_us = time_us.saturating_sub(self.latest_time_us + 1);
        let period_us = u64::try_from(period.as_micros()).unwrap_or(u64::MAX).max(1);
        if self.is_over { 0 } else { silent_us / period_us }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const PERIOD: Duration = Duration::from_micros(10);

    /// Takes message n, which is sent at 10 n microseconds; the receiver joined at `joined_us`.
    fn take(inbox: &mut Inbox, number: u32) -> String {
        let stamp = Stamp { sender: 1, number, is_last: number == 99, time_us: u64::from(number) * 10 };
        inbox.take(&stamp, |_| 1).map_or_else(|fault| fault.to_string(), |()| "ok".to_owned())
    }

    #[test]
    fn order_is_fine() {
        let mut inbox = Inbox::default();
        for number in 1..200 {
            let said = if number <= 99 { "ok" } else { "wrong answer: a message after the sender's last" };
            assert_eq!(take(&mut inbox, number), said);
        }
        assert_eq!((inbox.overtaken(), inbox.lost_before(u64::MAX, PERIOD)), (0, 0));
    }

    #[test]
    fn what_is_missing_may_come_late_once() {
        let mut inbox = Inbox::default();
        assert_eq!(take(&mut inbox, 3), "ok");
        assert_eq!(inbox.overtaken(), 2);
        assert_eq!(take(&mut inbox, 2), "message out of order");
        assert_eq!(take(&mut inbox, 2), "message delivered twice");
        assert_eq!(take(&mut inbox, 3), "message delivered twice");
        assert_eq!(inbox.overtaken(), 1);
    }

    #[test]
    fn what_is_far_behind_is_lost() {
        let mut inbox = Inbox::default();
        assert_eq!(take(&mut inbox, 2), "ok");
        for number in 3..=98 {
            take(&mut inbox, number);
        }
        assert_eq!((inbox.overtaken(), inbox.lost), (1, 1), "message 1 is out of the window");
        let mut leap = Inbox::default();
        take(&mut leap, 1);
        take(&mut leap, 98);
        assert_eq!(leap.overtaken(), 96);
        take(&mut leap, 99);
        assert_eq!(leap.overtaken(), 96);
    }

    #[test]
    fn silence_is_noticed_by_the_clock() {
        let mut inbox = Inbox::default();
        take(&mut inbox, 1);
        assert!(inbox.is_complete(20, PERIOD), "the next one leaves at 20");
        assert!(!inbox.is_complete(21, PERIOD));
        assert_eq!(inbox.lost_before(41, PERIOD), 3);
        take(&mut inbox, 99);
        assert_eq!(inbox.lost_before(2_000, PERIOD), 97, "nothing is due after a sender's last");
    }

    #[test]
    fn those_who_were_there_before_are_expected_from_then_on() {
        let mut inbox = Inbox::default();
        inbox.expect(1, 5, 50);
        assert_eq!(take(&mut inbox, 5), "ok", "it was under way");
        assert_eq!(take(&mut inbox, 7), "ok");
        assert_eq!(inbox.overtaken(), 1);
        inbox.expect(2, 0, 60);
        assert_eq!(inbox.lost_before(71, PERIOD), 2, "one of each");
    }
}
