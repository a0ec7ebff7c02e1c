//! Types of PostgreSQL, and the form in which SQLite holds their values.

use super::tree::Declared;

/// A type of values. Kinds of texts are one type, and differ in their length alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::sqlite) enum Type {
    /// 0 or 1.
    Flag,
    Int2,
    Int4,
    Int8,
    Float8,
    /// An exact decimal, held as its text.
    Numeric,
    Text,
    /// 16 bytes.
    Uuid,
    /// Microseconds since 1970.
    TimestampTz,
    /// Microseconds since 1970, as if the moment were in UTC.
    Timestamp,
    /// Microseconds from 1970 to the day's beginning.
    Date,
    /// Microseconds. Spans with months are no values, and stand in statements alone.
    Interval,
    /// The text as PostgreSQL writes it.
    Jsonb,
    Bytea,
}

/// All types. The index of a type is its number in calls of `pg_cast`.
pub(super) const TYPES: [Type; 14] = [
    Type::Flag,
    Type::Int2,
    Type::Int4,
    Type::Int8,
    Type::Float8,
    Type::Numeric,
    Type::Text,
    Type::Uuid,
    Type::TimestampTz,
    Type::Timestamp,
    Type::Date,
    Type::Interval,
    Type::Jsonb,
    Type::Bytea,
];

impl Type {
    pub(super) fn number(self) -> usize {
        TYPES.iter().position(|one| *one == self).unwrap_or_default()
    }

    /// The name in error messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Flag => "boolean",
            Self::Int2 => "smallint",
            Self::Int4 => "integer",
            Self::Int8 => "bigint",
            Self::Float8 => "double precision",
            Self::Numeric => "numeric",
            Self::Text => "text",
            Self::Uuid => "uuid",
            Self::TimestampTz => "timestamp with time zone",
            Self::Timestamp => "timestamp without time zone",
            Self::Date => "date",
            Self::Interval => "interval",
            Self::Jsonb => "jsonb",
            Self::Bytea => "bytea",
        }
    }

    /// The name of a result's column that is a cast of something without a name.
    pub(super) fn short_name(self) -> &'static str {
        match self {
            Self::Flag => "bool",
            Self::Int2 => "int2",
            Self::Int4 => "int4",
            Self::Int8 => "int8",
            Self::Float8 => "float8",
            Self::TimestampTz => "timestamptz",
            Self::Timestamp => "timestamp",
            other => other.name(),
        }
    }

    pub(super) fn is_int(self) -> bool {
        matches!(self, Self::Int2 | Self::Int4 | Self::Int8)
    }

    pub(super) fn is_number(self) -> bool {
        self.is_int() || matches!(self, Self::Float8 | Self::Numeric)
    }

    /// Whether values are points in time.
    pub(super) fn is_moment(self) -> bool {
        matches!(self, Self::TimestampTz | Self::Timestamp | Self::Date)
    }

    /// The type that holds the values of both, if PostgreSQL converts by itself.
    pub(super) fn common(self, other: Self) -> Option<Self> {
        use Type::{Date, Float8, Int2, Int4, Int8, Numeric, Timestamp, TimestampTz};
        const RISING: [&[Type]; 2] = [&[Int2, Int4, Int8, Numeric, Float8], &[Date, Timestamp, TimestampTz]];
        if self == other {
            return Some(self);
        }
        let row = RISING.iter().find(|row| row.contains(&self) && row.contains(&other))?;
        row.iter().rev().find(|one| **one == self || **one == other).copied()
    }

    /// The type of a column that SQLite declares so.
    pub(super) fn of_column(declared: &str) -> Option<Declared> {
        let declared = declared.to_ascii_uppercase();
        let first = declared.split([' ', '(']).next().unwrap_or_default();
        let numbers = declared.split_once('(').and_then(|(_, rest)| rest.split_once(')')).map(|(numbers, _)| numbers);
        let mut numbers = numbers.into_iter().flat_map(|all| all.split(',')).map_while(|one| one.trim().parse().ok());
        let kind = match first {
            "BOOLEAN" | "BOOL" => Self::Flag,
            "SMALLINT" | "INT2" => Self::Int2,
            "INTEGER" | "INT" | "INT4" => Self::Int4,
            "BIGINT" | "INT8" => Self::Int8,
            "DOUBLE" | "FLOAT8" => Self::Float8,
            "NUMERIC" => Self::Numeric,
            "TEXT" | "VARCHAR" => Self::Text,
            "UUID" => Self::Uuid,
            "TIMESTAMPTZ" => Self::TimestampTz,
            "TIMESTAMP" => Self::Timestamp,
            "DATE" => Self::Date,
            "JSONB" => Self::Jsonb,
            "BYTEA" => Self::Bytea,
            _ => return None,
        };
        let (first, second) = (numbers.next(), numbers.next());
        let length = first.filter(|_| kind == Self::Text);
        let precision = first.filter(|_| kind == Self::Numeric).map(|digits| (digits, second.unwrap_or(0)));
        Some(Declared { kind, length, precision })
    }
}

impl Declared {
    pub(super) fn plain(kind: Type) -> Self {
        Self { kind, length: None, precision: None }
    }

    /// How SQLite declares a column. The first word is the type, and the second one gives SQLite's affinity.
    pub(super) fn declaration(self) -> String {
        let plain = match self.kind {
            Type::Flag => "BOOLEAN INTEGER",
            Type::Int2 => "SMALLINT",
            // The name INTEGER would make a primary key an alias of the row's number.
            Type::Int4 => "INT4",
            Type::Int8 => "BIGINT",
            Type::Float8 => "DOUBLE PRECISION",
            Type::Numeric => match self.precision {
                Some((digits, behind)) => return format!("NUMERIC TEXT({digits}, {behind})"),
                None => "NUMERIC TEXT",
            },
            Type::Text => match self.length {
                Some(length) => return format!("VARCHAR({length})"),
                None => "TEXT",
            },
            Type::Uuid => "UUID BLOB",
            Type::TimestampTz => "TIMESTAMPTZ INTEGER",
            Type::Timestamp => "TIMESTAMP INTEGER",
            Type::Date => "DATE INTEGER",
            Type::Interval => "INTERVAL INTEGER",
            Type::Jsonb => "JSONB TEXT",
            Type::Bytea => "BYTEA BLOB",
        };
        plain.to_owned()
    }
}
