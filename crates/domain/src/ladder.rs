//! Ladders for sessions that flood others although their messages are refused: rungs that they climb one by one, as the
//! operator has set them up for each kind of message.

use std::str::FromStr;

use crate::budget::{BUDGETS, Spending};

/// A rung of a ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rung {
    /// The log names the player.
    Warn,
    /// Messages of the kind are refused for a time.
    Mute {
        /// Its length in seconds.
        sec: u32,
    },
    /// The socket closes.
    Kick,
    /// The socket closes, and sockets of the user are refused for a time.
    Refuse {
        /// Its length in seconds.
        sec: u32,
    },
}

/// The longest time of a rung, in seconds.
const RUNG_SEC_MAX: u32 = 7 * 86_400;

impl FromStr for Rung {
    type Err = NotALadder;

    fn from_str(text: &str) -> Result<Self, NotALadder> {
        let seconds = |text: &str| {
            let sec = text.parse().ok().filter(|sec| (1..=RUNG_SEC_MAX).contains(sec));
            sec.ok_or(NotALadder)
        };
        match text.split_once(':') {
            None if text == "warn" => Ok(Self::Warn),
            None if text == "kick" => Ok(Self::Kick),
            Some(("mute", sec)) => Ok(Self::Mute { sec: seconds(sec)? }),
            Some(("refuse", sec)) => Ok(Self::Refuse { sec: seconds(sec)? }),
            _ => Err(NotALadder),
        }
    }
}

/// The ladder of one kind of message, or of all: `chat=warn,mute:60,kick`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ladder {
    /// The kind; `None` for every kind that has no ladder of its own.
    pub what: Option<Spending>,
    /// The rungs from the first; the last one is climbed again and again.
    pub rungs: Vec<Rung>,
}

impl FromStr for Ladder {
    type Err = NotALadder;

    fn from_str(text: &str) -> Result<Self, NotALadder> {
        let (name, rungs) = text.split_once('=').ok_or(NotALadder)?;
        let what = match name.trim() {
            "any" => None,
            name => Some(Spending::ALL.into_iter().find(|what| what.name() == name).ok_or(NotALadder)?),
        };
        let rungs = rungs.split(',').map(str::trim).filter(|rung| !rung.is_empty());
        Ok(Self { what, rungs: rungs.map(str::parse).collect::<Result<_, _>>()? })
    }
}

/// A text that is no ladder.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error(
    "a kind (chat, match_data, party_data, functions, requests, pings, or any) and its rungs (warn, mute:SECONDS, \
     kick, refuse:SECONDS): chat=warn,mute:60,kick"
)]
pub struct NotALadder;

/// The ladders of all kinds.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ladders([Vec<Rung>; BUDGETS]);

impl Ladders {
    /// Of several ladders for one kind the last counts.
    pub fn new(given: &[Ladder]) -> Self {
        let of = |what: Option<Spending>| given.iter().rev().find(|ladder| ladder.what == what);
        let rungs = |what| of(Some(what)).or(of(None)).map(|ladder| ladder.rungs.clone()).unwrap_or_default();
        Self(Spending::ALL.map(rungs))
    }

    /// The rung that follows after this many.
    pub(crate) fn rung(&self, what: Spending, climbed: u32) -> Option<Rung> {
        let rungs = &self.0[what as usize];
        rungs.get(usize::try_from(climbed).unwrap_or(usize::MAX)).or(rungs.last()).copied()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ladders_are_read_and_found_by_kind() {
        let given =
            ["any=warn", "chat = warn, mute:60, kick", "functions="].map(|text| text.parse::<Ladder>().unwrap());
        let ladders = Ladders::new(&given);
        let climbed = |what| [0, 1, 2, 3].map(|climbed| ladders.rung(what, climbed));
        let chat = [Rung::Warn, Rung::Mute { sec: 60 }, Rung::Kick, Rung::Kick].map(Some);
        assert_eq!(climbed(Spending::Chat), chat);
        assert_eq!(climbed(Spending::Requests), [Some(Rung::Warn); 4]);
        assert_eq!(climbed(Spending::Functions), [None; 4]);
        assert_eq!("refuse:5".parse(), Ok(Rung::Refuse { sec: 5 }));
    }

    #[test]
    fn texts_that_are_no_ladders() {
        for text in ["", "chat", "shouting=warn", "chat=ban", "chat=mute", "chat=mute:0", "chat=warn:5", "chat=mute:x"]
        {
            assert_eq!(text.parse::<Ladder>(), Err(NotALadder), "{text}");
        }
    }
}
