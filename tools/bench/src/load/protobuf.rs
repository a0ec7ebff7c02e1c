//! Reads the fields of a protobuf message in place, without copies; unwanted fields are skipped.

use super::Fault;

const FAULT: Fault = Fault::Malformed("envelope is not protobuf");

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field<'a> {
    Number(u64),
    /// A string, bytes or a nested message.
    Bytes(&'a [u8]),
    /// Fixed-width numbers, which none of the messages read here has.
    Fixed,
}

impl<'a> Field<'a> {
    pub fn bytes(self) -> Result<&'a [u8], Fault> {
        match self {
            Self::Bytes(bytes) => Ok(bytes),
            _ => Err(FAULT),
        }
    }

    pub fn number(self) -> Result<u64, Fault> {
        match self {
            Self::Number(number) => Ok(number),
            _ => Err(FAULT),
        }
    }
}

/// The next field's number and value; `None` at the end.
pub fn take_field<'a>(rest: &mut &'a [u8]) -> Result<Option<(u64, Field<'a>)>, Fault> {
    if rest.is_empty() {
        return Ok(None);
    }
    let tag = take_varint(rest).ok_or(FAULT)?;
    let field = match tag & 7 {
        0 => Field::Number(take_varint(rest).ok_or(FAULT)?),
        1 => take_bytes(rest, 8).map(|_| Field::Fixed)?,
        2 => {
            let len = take_varint(rest).and_then(|len| usize::try_from(len).ok()).ok_or(FAULT)?;
            Field::Bytes(take_bytes(rest, len)?)
        }
        5 => take_bytes(rest, 4).map(|_| Field::Fixed)?,
        _ => return Err(FAULT),
    };
    Ok(Some((tag >> 3, field)))
}

fn take_bytes<'a>(rest: &mut &'a [u8], len: usize) -> Result<&'a [u8], Fault> {
    let (taken, after) = rest.split_at_checked(len).ok_or(FAULT)?;
    *rest = after;
    Ok(taken)
}

fn take_varint(rest: &mut &[u8]) -> Option<u64> {
    let mut value = 0_u64;
    for shift in (0..64).step_by(7) {
        let (&byte, after) = rest.split_first()?;
        *rest = after;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}
