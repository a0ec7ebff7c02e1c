//! Times in PostgreSQL's binary form, which is microseconds since 2000; Muster counts microseconds since 1970.

use std::error::Error;

use muster_domain::time::Timestamp;
use tokio_postgres::types::private::BytesMut;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, accepts, to_sql_checked};

/// 2000-01-01 in microseconds since 1970.
pub(super) const EPOCH_US: i64 = 946_684_800_000_000;

/// A time as a value of type `timestamptz`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Moment(pub(super) Timestamp);

impl ToSql for Moment {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        out.extend_from_slice(&(self.0.0.saturating_sub(EPOCH_US)).to_be_bytes());
        Ok(IsNull::No)
    }

    accepts!(TIMESTAMPTZ);
    to_sql_checked!();
}

impl<'a> FromSql<'a> for Moment {
    fn from_sql(_: &Type, raw: &'a [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        let micros = i64::from_be_bytes(raw.try_into()?);
        Ok(Self(Timestamp(micros.saturating_add(EPOCH_US))))
    }

    accepts!(TIMESTAMPTZ);
}
