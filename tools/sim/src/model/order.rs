//! The order of messages and events on one stream, which must be the same for all sessions that hear it.
//!
//! Messages for everybody form one row for all sessions, and each session hears an unbroken part of the row. Messages
//! for some sessions may stand in between, but two of them never in opposite orders for two sessions.

use std::collections::{BTreeMap, BTreeSet};

use crate::frames::Version;
use crate::scenario::Who;
use crate::violation::{Check, Checked, Violation, ensure};

/// Number of a message or event that was heard.
type Token = u32;

/// The latest messages that a session has heard.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Place {
    last: Option<Token>,
    last_for_all: Option<Token>,
}

/// The messages and events that sessions heard on one stream, and their order.
#[derive(Debug, Default)]
pub struct Order {
    tokens: BTreeMap<Vec<u8>, Token>,
    /// The next message for everybody behind each one, with the session that heard it first.
    next: BTreeMap<Token, (Token, Who)>,
    /// The message for everybody before each one, with the session that heard it first.
    previous: BTreeMap<Token, (Token, Who)>,
    /// For each message, the messages that some session heard directly before it.
    before: BTreeMap<Token, BTreeSet<Token>>,
    /// The event in which each appearance joined.
    came: BTreeMap<Version, Token>,
    /// The event in which each appearance left.
    went: BTreeMap<Version, Token>,
}

impl Order {
    /// Notes that a session hears a message, and checks the order of messages for everybody. `content` is the same for
    /// all receivers.
    pub fn heard(&mut self, who: Who, place: &mut Place, content: &[u8], is_for_all: bool) -> Checked<()> {
        let fresh = self.tokens.len() as Token;
        let token = *self.tokens.entry(content.to_vec()).or_insert(fresh);
        if let Some(last) = place.last.replace(token) {
            self.before.entry(token).or_default().insert(last);
        }
        if !is_for_all {
            return Ok(());
        }
        if let Some(last) = place.last_for_all.replace(token) {
            let (next, other) = *self.next.entry(last).or_insert((token, who));
            self.agree(who, other, token, next, "behind", last)?;
            let (previous, other) = *self.previous.entry(token).or_insert((last, who));
            self.agree(who, other, last, previous, "before", token)?;
        }
        Ok(())
    }

    fn agree(&self, who: Who, other: Who, mine: Token, theirs: Token, side: &str, token: Token) -> Checked {
        ensure(Check::Order, mine == theirs, || {
            let [mine, theirs, token] = [mine, theirs, token].map(|token| self.describe(token));
            format!("session {who} heard {mine} {side} {token}, session {other} heard {theirs} there")
        })
    }

    fn describe(&self, token: Token) -> String {
        let found = self.tokens.iter().find(|(_, other)| **other == token);
        found.map_or_else(String::new, |(content, _)| describe(content))
    }

    /// Checks that each appearance in an event of joins and leaves joins in no other event, and leaves in no other.
    pub fn told(&mut self, content: &[u8], joins: &[Version], leaves: &[Version]) -> Checked {
        let Some(token) = self.tokens.get(content) else { return Ok(()) };
        for (versions, known, what) in [(joins, &mut self.came, "came"), (leaves, &mut self.went, "went")] {
            for version in versions {
                let first = *known.entry(*version).or_insert(*token);
                ensure(Check::Twice, first == *token, || format!("appearance {version} {what} in two events"))?;
            }
        }
        Ok(())
    }

    /// Checks that there is one order of all messages with which the order of every session agrees.
    pub fn check(&self) -> Checked {
        let mut behind: BTreeMap<Token, Vec<Token>> = BTreeMap::new();
        let mut open: BTreeMap<Token, usize> = self.tokens.values().map(|token| (*token, 0)).collect();
        for (token, before) in &self.before {
            open.insert(*token, before.len());
            for other in before {
                behind.entry(*other).or_default().push(*token);
            }
        }
        let mut ready: Vec<Token> = open.iter().filter(|(_, count)| **count == 0).map(|(token, _)| *token).collect();
        while let Some(token) = ready.pop() {
            open.remove(&token);
            for other in behind.remove(&token).unwrap_or_default() {
                if let Some(count) = open.get_mut(&other) {
                    *count -= 1;
                    if *count == 0 {
                        ready.push(other);
                    }
                }
            }
        }
        match open.keys().next() {
            None => Ok(()),
            Some(token) => {
                let detail = format!("around {} sessions heard things in different orders", self.describe(*token));
                Err(Violation { check: Check::Order, detail })
            }
        }
    }
}

/// The content of a frame as readable text.
fn describe(content: &[u8]) -> String {
    let mut frame = vec![0];
    frame.extend(content);
    crate::frames::decode(&frame).map_or_else(|| format!("{content:?}"), |(_, said)| format!("{said:?}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(heard: &[(Who, &str)], expect: bool) {
        let mut order = Order::default();
        let mut places = BTreeMap::<Who, Place>::new();
        let outcome: Checked = heard.iter().try_for_each(|(who, content)| {
            let is_for_all = content.chars().all(char::is_uppercase);
            order.heard(*who, places.entry(*who).or_default(), content.as_bytes(), is_for_all)
        });
        assert_eq!(outcome.and_then(|()| order.check()).is_ok(), expect, "{heard:?}");
    }

    #[test]
    fn there_is_one_line_for_all() {
        check(&[(1, "A"), (1, "B"), (1, "C"), (2, "B"), (2, "C")], true);
        check(&[(1, "A"), (1, "B"), (1, "C"), (2, "A"), (2, "C")], false);
        check(&[(1, "A"), (1, "B"), (2, "B"), (2, "A")], false);
        check(&[(1, "A"), (1, "x"), (1, "B"), (2, "A"), (2, "B")], true);
        check(&[(1, "x"), (1, "y"), (2, "y"), (2, "x")], false);
        check(&[(1, "x"), (1, "y"), (2, "y"), (2, "z"), (3, "z"), (3, "x")], false);
    }
}
