//! From text to the types of the configuration's fields. Reading never stops at the first fault: all of them are
//! reported together.

use std::{
    collections::BTreeMap,
    net::{IpAddr, Ipv4Addr},
    path::PathBuf,
};

use http::{HeaderName, HeaderValue};
use muster_domain::address::Network;
use muster_domain::ladder::Ladder;

use super::{
    address::DatabaseAddress,
    problem::Problem,
    secret::Secret,
    setting::{Entry, Settings},
    template::RoomTemplate,
};

/// Gives out typed values and records the problems of values that do not fit.
pub(crate) struct Reader<'a> {
    settings: &'a Settings,
    pub(crate) problems: Vec<Problem>,
}

impl<'a> Reader<'a> {
    pub(crate) fn new(settings: &'a Settings) -> Self {
        Reader { settings, problems: check_all(settings) }
    }

    /// The value of a key. A value that does not fit is recorded as a problem, and the type's default is returned.
    pub(crate) fn take<T: FromEntries>(&mut self, name: &'static str) -> T {
        let Some(setting) = self.settings.get(name) else { return T::default() };
        if let Some(value) = T::from_entries(&setting.entries) {
            return value;
        }
        if self.problems.iter().all(|problem| problem.key() != Some(name)) {
            self.problems.push(Problem::bad_value(setting.key, setting.entries.last(), &setting.key.kind.expected()));
        }
        T::default()
    }
}

/// The headers by which an answer is framed or its connection is kept. Only the server can know their values; with
/// other values clients would misread answers.
pub(crate) const FRAMING_HEADERS: &[&str] = &[
    "Connection",
    "Content-Encoding",
    "Content-Length",
    "Content-Type",
    "Date",
    "Keep-Alive",
    "TE",
    "Trailer",
    "Transfer-Encoding",
    "Upgrade",
];

/// The header that `Name=value` adds to answers; `None` for an invalid header, and for one that only the server may
/// set.
pub(crate) fn header(text: &str) -> Option<(HeaderName, HeaderValue)> {
    let (name, value) = text.split_once('=')?;
    let name = name.trim();
    if FRAMING_HEADERS.iter().any(|one| one.eq_ignore_ascii_case(name)) {
        return None;
    }
    HeaderName::try_from(name).ok().zip(HeaderValue::try_from(value).ok())
}

/// Checks every setting against its key's kind, honoured or not.
fn check_all(settings: &Settings) -> Vec<Problem> {
    let mut problems = Vec::new();
    for setting in settings.iter() {
        for entry in &setting.entries {
            if let Err(expected) = setting.key.kind.check(&entry.text) {
                problems.push(Problem::bad_value(setting.key, Some(entry), &expected));
            }
        }
    }
    problems
}

/// A type that a field can have.
pub(crate) trait FromEntries: Default {
    /// `None` when the text does not fit.
    fn from_entries(entries: &[Entry]) -> Option<Self>;
}

/// The last entry, which is the one that counts for keys that are not lists.
fn last(entries: &[Entry]) -> Option<&str> {
    entries.last().map(|entry| entry.text.as_str())
}

impl FromEntries for String {
    fn from_entries(entries: &[Entry]) -> Option<Self> {
        last(entries).map(str::to_owned)
    }
}

impl FromEntries for PathBuf {
    fn from_entries(entries: &[Entry]) -> Option<Self> {
        last(entries).map(PathBuf::from)
    }
}

impl FromEntries for Option<PathBuf> {
    fn from_entries(entries: &[Entry]) -> Option<Self> {
        last(entries).map(|text| (!text.is_empty()).then(|| PathBuf::from(text)))
    }
}

impl FromEntries for Secret {
    fn from_entries(entries: &[Entry]) -> Option<Self> {
        last(entries).map(|text| Secret::from(text.to_owned()))
    }
}

impl FromEntries for bool {
    fn from_entries(entries: &[Entry]) -> Option<Self> {
        flag(last(entries)?)
    }
}

impl FromEntries for Option<IpAddr> {
    fn from_entries(entries: &[Entry]) -> Option<Self> {
        interface(last(entries)?)
    }
}

impl FromEntries for Vec<String> {
    fn from_entries(entries: &[Entry]) -> Option<Self> {
        Some(entries.iter().map(|entry| entry.text.clone()).collect())
    }
}

impl FromEntries for BTreeMap<String, Secret> {
    fn from_entries(entries: &[Entry]) -> Option<Self> {
        let pairs: BTreeMap<String, String> = FromEntries::from_entries(entries)?;
        Some(pairs.into_iter().map(|(name, value)| (name, Secret::from(value))).collect())
    }
}

impl FromEntries for Vec<(HeaderName, HeaderValue)> {
    fn from_entries(entries: &[Entry]) -> Option<Self> {
        entries.iter().map(|entry| header(&entry.text)).collect()
    }
}

impl FromEntries for BTreeMap<String, String> {
    fn from_entries(entries: &[Entry]) -> Option<Self> {
        let pair = |entry: &Entry| entry.text.split_once('=').map(|(k, v)| (k.trim().to_owned(), v.to_owned()));
        entries.iter().map(pair).collect()
    }
}

impl FromEntries for Vec<Ladder> {
    fn from_entries(entries: &[Entry]) -> Option<Self> {
        entries.iter().map(|entry| entry.text.parse().ok()).collect()
    }
}

impl FromEntries for Vec<Network> {
    fn from_entries(entries: &[Entry]) -> Option<Self> {
        entries.iter().map(|entry| entry.text.parse().ok()).collect()
    }
}

impl FromEntries for Vec<RoomTemplate> {
    fn from_entries(entries: &[Entry]) -> Option<Self> {
        entries.iter().map(|entry| entry.text.parse().ok()).collect()
    }
}

impl FromEntries for Vec<DatabaseAddress> {
    fn from_entries(entries: &[Entry]) -> Option<Self> {
        entries.iter().map(|entry| entry.text.parse().ok()).collect()
    }
}

macro_rules! numbers {
    ($($Number:ty),+) => { $(
        impl FromEntries for $Number {
            fn from_entries(entries: &[Entry]) -> Option<Self> {
                whole_number(last(entries)?)?.try_into().ok()
            }
        }
    )+ };
}
numbers!(u16, u32, u64, usize);

/// Declares an enum of the words that a key takes.
macro_rules! choice {
    (
        $(#[doc = $doc:literal])+
        pub enum $Choice:ident { $( $(#[doc = $word_doc:literal])+ $Variant:ident = $word:literal, )+ }
    ) => {
        $(#[doc = $doc])+
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub enum $Choice {
            #[default]
            $( $(#[doc = $word_doc])+ $Variant, )+
        }

        impl $Choice {
            /// The words, for the table of keys.
            pub(crate) const KIND: $crate::config::key::Kind = $crate::config::key::Kind::Choice(&[$($word),+]);

            /// The word as users write it.
            pub fn word(self) -> &'static str {
                match self {
                    $( Self::$Variant => $word, )+
                }
            }
        }

        impl $crate::config::read::FromEntries for $Choice {
            fn from_entries(entries: &[$crate::config::setting::Entry]) -> Option<Self> {
                let text = entries.last()?.text.to_ascii_lowercase();
                match text.as_str() {
                    $( $word => Some($Choice::$Variant), )+
                    _ => None,
                }
            }
        }
    };
}
pub(crate) use choice;

/// True and false, as Go's flags and YAML write them.
pub(crate) fn flag(text: &str) -> Option<bool> {
    match text {
        "1" | "t" | "T" => return Some(true),
        "0" | "f" | "F" => return Some(false),
        _ => {}
    }
    match text.to_ascii_lowercase().as_str() {
        "true" | "yes" | "on" => Some(true),
        "false" | "no" | "off" => Some(false),
        _ => None,
    }
}

/// Whole numbers, as Go's flags and YAML write them: decimal, `0x`, `0o`, `0b`, with underscores between digits. A
/// leading zero is refused, because Go reads it as octal and most people do not.
pub(crate) fn whole_number(text: &str) -> Option<i64> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text.strip_prefix('+').unwrap_or(text)),
    };
    let lower = digits.to_ascii_lowercase();
    let (radix, body) = match lower.get(..2) {
        Some("0x") => (16, &lower[2..]),
        Some("0o") => (8, &lower[2..]),
        Some("0b") => (2, &lower[2..]),
        _ => (10, lower.as_str()),
    };
    let misplaced = body.starts_with(['_', '+', '-']) || body.ends_with('_') || body.contains("__");
    if misplaced || (radix == 10 && body.len() > 1 && body.starts_with('0')) {
        return None;
    }
    let magnitude = i64::from_str_radix(&body.replace('_', ""), radix).ok()?;
    Some(sign * magnitude)
}

/// An interface. The outer option is `None` for a text that is not one; the inner option is `None` for all interfaces.
pub(crate) fn interface(text: &str) -> Option<Option<IpAddr>> {
    match text {
        "" => Some(None),
        "localhost" => Some(Some(IpAddr::V4(Ipv4Addr::LOCALHOST))),
        _ => {
            let bare = text.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')).unwrap_or(text);
            bare.parse().ok().map(Some)
        }
    }
}
