//! Numbers of the kept messages that this place told its sessions lately. After the loss of a node owners tell such
//! messages again, and each place leaves out those that it had.

use std::collections::{HashSet, VecDeque};

use crate::session::Millis;

/// The largest number of kept messages that a place remembers. If more come within the time, the oldest are forgotten,
/// and messages from before the oldest that is remembered are not told again.
pub const REMEMBERED_MAX: usize = 100_000;

/// The time in milliseconds by which the age of a message may be wrong, because clocks of nodes differ.
const CLOCKS_MS: Millis = 10_000;

/// The kept messages that this place had lately.
#[derive(Debug, Default)]
pub(crate) struct Heard {
    /// Numbers of messages with the times when they came, in order.
    numbers: VecDeque<(Millis, u64)>,
    /// The same numbers for look-ups, and the time until which they are looked up. There are none unless messages were
    /// told again lately.
    known: Option<(HashSet<u64, foldhash::fast::RandomState>, Millis)>,
    /// Numbers of the messages that this place told again as an owner, and the time until which they are looked up.
    /// Later publications of their authors are not told: a session that has moved since would get them twice.
    retold: HashSet<u64, foldhash::fast::RandomState>,
    retold_until: Millis,
    /// The time up to which messages were forgotten although they were not old.
    forgotten_until: Option<Millis>,
    /// Number of messages that were left out because sessions had them, or may have had them.
    pub left_out: u64,
}

impl Heard {
    /// Notes a kept message that came in the ordinary way. Answers whether it is new here.
    pub(crate) fn note(&mut self, now: Millis, number: u64, remembered_ms: Millis) -> bool {
        self.forget_old(now, remembered_ms);
        if let Some((known, _)) = &mut self.known
            && !known.insert(number)
        {
            self.left_out += 1;
            return false;
        }
        self.numbers.push_back((now, number));
        true
    }

    /// Notes a message of this age that is told again. Answers whether it is new here, where `since` is the time when
    /// the first of those came who hear its stream.
    pub(crate) fn note_again(
        &mut self,
        now: Millis,
        (number, age_ms): (u64, u32),
        since: Millis,
        remembered_ms: Millis,
    ) -> bool {
        if self.known.is_none() {
            let known = self.numbers.iter().map(|(_, number)| *number).collect();
            self.known = Some((known, now));
        }
        if let Some((_, until)) = &mut self.known {
            *until = now + remembered_ms;
        }
        let kept_at = now.saturating_sub(age_ms.into());
        let is_remembered = Millis::from(age_ms) + CLOCKS_MS <= remembered_ms
            && self.forgotten_until.is_none_or(|until| kept_at > until);
        if kept_at < since || !is_remembered {
            self.left_out += 1;
            return false;
        }
        self.note(now, number, remembered_ms)
    }

    /// Notes a message that this place tells again as an owner.
    pub(crate) fn note_retold(&mut self, now: Millis, number: u64, remembered_ms: Millis) {
        self.retold.insert(number);
        self.retold_until = now + remembered_ms;
    }

    /// Whether this place told a message again as an owner.
    pub(crate) fn is_retold(&mut self, now: Millis, number: u64) -> bool {
        if self.retold_until < now {
            self.retold.clear();
        }
        self.retold.contains(&number)
    }

    fn forget_old(&mut self, now: Millis, remembered_ms: Millis) {
        if self.known.as_ref().is_some_and(|(_, until)| *until < now) {
            self.known = None;
        }
        while let Some((at, number)) = self.numbers.front().copied() {
            let is_old = at + remembered_ms < now;
            if !is_old && self.numbers.len() < REMEMBERED_MAX {
                break;
            }
            if !is_old {
                self.forgotten_until = Some(at);
            }
            self.numbers.pop_front();
            if let Some((known, _)) = &mut self.known {
                known.remove(&number);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REMEMBERED_MS: Millis = 60_000;

    #[test]
    fn a_message_that_was_had_is_left_out_and_another_is_told_once() {
        let mut heard = Heard::default();
        assert!(heard.note(1_000, 1, REMEMBERED_MS));
        assert!(!heard.note_again(9_000, (1, 8_000), 0, REMEMBERED_MS));
        assert!(heard.note_again(9_000, (2, 8_000), 0, REMEMBERED_MS));
        assert!(!heard.note_again(9_100, (2, 8_100), 0, REMEMBERED_MS));
        assert!(!heard.note(9_200, 2, REMEMBERED_MS), "its author's own publish comes late");
        assert!(heard.note(9_300, 3, REMEMBERED_MS));
        assert_eq!(heard.left_out, 3);
    }

    #[test]
    fn what_was_kept_before_anybody_heard_the_stream_is_not_told() {
        let mut heard = Heard::default();
        assert!(!heard.note_again(9_000, (1, 8_000), 1_001, REMEMBERED_MS));
        assert!(heard.note_again(9_000, (2, 7_000), 1_001, REMEMBERED_MS));
    }

    #[test]
    fn what_a_place_may_have_forgotten_is_not_told() {
        let mut heard = Heard::default();
        assert!(!heard.note_again(90_000, (1, 50_001), 0, REMEMBERED_MS));
        assert!(heard.note_again(90_000, (2, 50_000), 0, REMEMBERED_MS));
    }

    #[test]
    fn numbers_are_remembered_for_a_time_and_up_to_a_count() {
        let mut heard = Heard::default();
        for number in 0..=REMEMBERED_MAX as u64 {
            assert!(heard.note(1_000 + number, number, 10 * REMEMBERED_MS));
        }
        let now = 2_000 + REMEMBERED_MAX as u64;
        let age = |at: u64| (now - at) as u32;
        assert!(!heard.note_again(now, (0, age(1_000)), 0, 10 * REMEMBERED_MS), "it may have been had");
        assert!(heard.note_again(now, (u64::MAX, age(1_002)), 0, 10 * REMEMBERED_MS));
        assert!(heard.note(now + 20 * REMEMBERED_MS, 0, 10 * REMEMBERED_MS));
        assert_eq!(heard.numbers.len(), 1, "all others are old");
    }
}
