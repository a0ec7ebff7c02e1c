//! The description of a configuration key: its name, the values it takes, its default, and whether it is honoured.
//! Values that somebody set are in `setting`.

use muster_domain::address::{Network, NotANetwork};
use muster_domain::ladder::{Ladder, NotALadder};

use super::{
    address::DatabaseAddress,
    secret::{mask_address, mask_login},
    servers,
    template::RoomTemplate,
};

/// One row of the table of keys.
#[derive(Debug)]
pub struct Key {
    /// Dotted name, as in flags: `socket.port`.
    pub name: &'static str,
    /// The values that the key takes.
    pub kind: Kind,
    /// The default as text, as a user would write it; empty for none (and for an empty list).
    pub default: &'static str,
    /// Whether and how the key is honoured.
    pub status: Status,
    /// Origin of the key, and whether its default is the original's.
    pub origin: Origin,
    /// Documentation of the key. It may begin with a space: use [`Key::doc`].
    pub(crate) raw_doc: &'static str,
}

/// The effect of setting a key.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Status {
    /// The key works as documented. Exactly these keys have a field in [`super::Config`].
    Honoured,
    /// Accepted, checked and reported: the feature is not built yet.
    NotYet { feature: &'static str },
    /// Accepted, checked and reported: nothing in Muster could change by it.
    NoMeaning { why: &'static str },
}

/// Origin of a key and its default.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Origin {
    /// Name and default of the original (Nakama 3.40).
    Same,
    /// Name of the original, another default, and why.
    Differs { original: &'static str, why: &'static str },
    /// A key that only Muster has.
    Ours,
}

/// The values that a key takes. Every value arrives as text, from YAML, environment and flags alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Any text.
    Text,
    /// A file or folder; relative to the working directory.
    Path,
    /// Text that is never shown again.
    Secret,
    /// True or false.
    Flag,
    /// A whole number, bounds included.
    Number { min: i64, max: i64 },
    /// One of these words, in any case.
    Choice(&'static [&'static str]),
    /// The IP address of an interface; empty for all of them.
    Interface,
    /// Any number of texts.
    List,
    /// Any number of `NAME=value`.
    Pairs { secret: bool },
    /// Any number of headers of HTTP, as `Name=value`.
    Headers,
    /// Any number of database addresses.
    Addresses,
    /// Any number of addresses of NATS servers.
    Servers,
    /// Any number of networks.
    Networks,
    /// Any number of ladders.
    Ladders,
    /// Any number of templates of rooms.
    Templates,
}

/// Shorthand for the tables.
pub(crate) const fn number(min: i64, max: i64) -> Kind {
    Kind::Number { min, max }
}

/// A count or size without an upper bound of its own; the value must fit into four bytes.
pub(crate) const fn at_least(min: i64) -> Kind {
    Kind::Number { min, max: u32::MAX as i64 }
}

/// A TCP port; 0 lets the system choose, or turns the listener off.
pub(crate) const PORT: Kind = number(0, u16::MAX as i64);

impl Key {
    /// A key of the original whose feature is not built yet.
    pub(crate) const fn not_yet(
        name: &'static str,
        kind: Kind,
        default: &'static str,
        feature: &'static str,
        doc: &'static str,
    ) -> Key {
        Key { name, kind, default, status: Status::NotYet { feature }, origin: Origin::Same, raw_doc: doc }
    }

    /// A key of the original that changes nothing here.
    pub(crate) const fn no_meaning(
        name: &'static str,
        kind: Kind,
        default: &'static str,
        why: &'static str,
        doc: &'static str,
    ) -> Key {
        Key { name, kind, default, status: Status::NoMeaning { why }, origin: Origin::Same, raw_doc: doc }
    }

    /// Documentation of the key, in one or two sentences.
    pub fn doc(&self) -> &'static str {
        self.raw_doc.trim()
    }

    /// The environment variable: `MUSTER_` and the name in upper case, each dot as two underscores.
    pub fn environment_name(&self) -> String {
        format!("MUSTER_{}", self.name.to_uppercase().replace('.', "__"))
    }

    /// True when no output may show its value.
    pub fn secret(&self) -> bool {
        matches!(self.kind, Kind::Secret | Kind::Pairs { secret: true })
    }

    /// The text as it may be shown: secrets masked.
    pub fn shown(&self, text: &str) -> String {
        match self.kind {
            Kind::Secret if text.is_empty() => String::new(),
            Kind::Secret => "(secret)".to_owned(),
            Kind::Pairs { secret: true } => {
                let name = text.split_once('=').map_or("(malformed)", |(name, _)| name);
                format!("{name}=(secret)")
            }
            Kind::Addresses => mask_address(text),
            Kind::Servers => mask_login(text),
            _ => text.to_owned(),
        }
    }
}

impl Kind {
    /// True when several entries may stand beside each other.
    pub fn is_list(self) -> bool {
        matches!(self, Kind::List | Kind::Addresses | Kind::Servers | Kind::Networks | Kind::Ladders | Kind::Templates)
            || self.has_names()
    }

    /// True when each entry has a name of its own, by which a later source replaces it.
    pub(crate) fn has_names(self) -> bool {
        matches!(self, Kind::Pairs { .. } | Kind::Headers)
    }

    /// Description of valid values, for error messages and the reference.
    pub fn expected(self) -> String {
        match self {
            Kind::Text | Kind::Secret => "a text".to_owned(),
            Kind::Path => "a path".to_owned(),
            Kind::Flag => "true or false".to_owned(),
            Kind::Number { min, max } => format!("a whole number from {min} to {max}"),
            Kind::Choice(words) => format!("one of {}", words.join(", ")),
            Kind::Interface => "an IP address, localhost, or nothing for all interfaces".to_owned(),
            Kind::List => "a list of texts".to_owned(),
            Kind::Pairs { .. } => "NAME=value pairs".to_owned(),
            Kind::Headers => format!(
                "NAME=value pairs that are headers of HTTP, and none of those by which the server frames its answers: {}",
                super::read::FRAMING_HEADERS.join(", ")
            ),
            Kind::Addresses => super::address::EXPECTED.to_owned(),
            Kind::Servers => servers::EXPECTED.to_owned(),
            Kind::Networks => NotANetwork.to_string(),
            Kind::Ladders => NotALadder.to_string(),
            Kind::Templates => super::template::EXPECTED.to_owned(),
        }
    }

    /// Checks one entry. The error describes valid values.
    pub(crate) fn check(self, text: &str) -> Result<(), String> {
        let fits = match self {
            Kind::Text | Kind::Secret | Kind::Path | Kind::List => !text.contains('\0'),
            Kind::Flag => super::read::flag(text).is_some(),
            Kind::Number { min, max } => super::read::whole_number(text).is_some_and(|n| (min..=max).contains(&n)),
            Kind::Choice(words) => words.iter().any(|word| word.eq_ignore_ascii_case(text)),
            Kind::Interface => super::read::interface(text).is_some(),
            Kind::Servers => servers::is_address(text),
            Kind::Pairs { .. } => text.split_once('=').is_some_and(|(name, _)| !name.trim().is_empty()),
            Kind::Headers => super::read::header(text).is_some(),
            Kind::Addresses => return text.parse::<DatabaseAddress>().map(drop).map_err(|e| e.to_string()),
            Kind::Networks => return text.parse::<Network>().map(drop).map_err(|e| e.to_string()),
            Kind::Ladders => return text.parse::<Ladder>().map(drop).map_err(|e| e.to_string()),
            Kind::Templates => return text.parse::<RoomTemplate>().map(drop).map_err(|e| e.to_string()),
        };
        if fits { Ok(()) } else { Err(self.expected()) }
    }
}

/// Declares a group's struct and its rows of the table together, so that a key has a field exactly when it is honoured.
///
/// A row is `/// documentation`, then `field: Type = "default", kind;` or `…, kind, origin;`. The documentation of the
/// field is that of the key.
macro_rules! honoured {
    (
        $(#[doc = $group_doc:literal])+
        pub struct $Group:ident in $prefix:literal {
            $( $(#[doc = $doc:literal])+ $field:ident: $Type:ty = $default:expr, $kind:expr $(, $origin:expr)?; )*
        }
    ) => {
        $(#[doc = $group_doc])+
        #[derive(Clone, Debug)]
        pub struct $Group {
            $( $(#[doc = $doc])+ pub $field: $Type, )*
        }

        impl $Group {
            /// The rows of the table that are this struct's fields.
            pub(crate) const KEYS: &'static [$crate::config::key::Key] = &[
                $( $crate::config::key::Key {
                    name: concat!($prefix, stringify!($field)),
                    kind: $kind,
                    default: $default,
                    status: $crate::config::key::Status::Honoured,
                    origin: $crate::config::key::origin!($($origin)?),
                    raw_doc: concat!($($doc),+),
                }, )*
            ];

            /// Takes the fields from the settings. The reader records every value that does not fit.
            pub(crate) fn read(reader: &mut $crate::config::read::Reader<'_>) -> Self {
                Self { $( $field: reader.take(concat!($prefix, stringify!($field))), )* }
            }
        }
    };
}

/// The origin of a row; by default that of the original.
macro_rules! origin {
    () => {
        $crate::config::key::Origin::Same
    };
    ($origin:expr) => {
        $origin
    };
}

pub(crate) use {honoured, origin};
