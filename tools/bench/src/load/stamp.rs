//! The stamp in each message of the generator: its sender, its number and its time, with a checksum over these and over
//! the place and user that the server reports for the message.
//!
//! By the stamp, a receiver in any process notices a message that was lost, doubled, swapped, damaged, or delivered to
//! the wrong room or under the wrong name, without knowing the sender.

use super::Fault;

/// Hexadecimal digits of sender, number, time in microseconds, and check.
const DIGITS: [usize; 4] = [8, 8, 12, 4];
/// Length of a stamp; longer messages are filled up with letters.
pub const STAMP_LEN: usize = DIGITS[0] + DIGITS[1] + DIGITS[2] + DIGITS[3];
/// Flag in the number of a sender's last message.
const LAST: u32 = 1 << 31;
const TIME_US_MASK: u64 = (1 << (4 * DIGITS[2])) - 1;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stamp {
    /// Number of the player, unique in the whole run.
    pub sender: u32,
    /// Number of the message among the sender's, from 1.
    pub number: u32,
    /// Whether this is the sender's last message.
    pub is_last: bool,
    /// When the message was meant to leave, by the machine's clock.
    pub time_us: u64,
}

/// The place and the user that a message comes from.
#[derive(Debug, Clone, Copy)]
pub struct Origin<'a> {
    /// The room's, channel's or match's id.
    pub room: &'a [u8],
    /// The sender's user id.
    pub user: &'a [u8],
}

impl Stamp {
    /// Appends a message of `len` bytes, at least [`STAMP_LEN`], all of them letters and digits.
    pub fn write(&self, origin: Origin<'_>, len: usize, out: &mut Vec<u8>) {
        let number = self.number & !LAST | if self.is_last { LAST } else { 0 };
        let begin = out.len();
        let values = [u64::from(self.sender), u64::from(number), self.time_us & TIME_US_MASK];
        for (value, digits) in values.into_iter().zip(DIGITS) {
            write_hex(value, digits, out);
        }
        let check = check(&out[begin..], origin);
        write_hex(check.into(), DIGITS[3], out);
        out.extend((STAMP_LEN..len).map(filler));
    }

    /// Reads a message for which the server reported `origin`.
    pub fn read(message: &[u8], origin: Origin<'_>) -> Result<Self, Fault> {
        const FAULT: Fault = Fault::Wrong("content");
        let (stamp, rest) = message.split_at_checked(STAMP_LEN).ok_or(FAULT)?;
        if !rest.iter().enumerate().all(|(index, byte)| *byte == filler(STAMP_LEN + index)) {
            return Err(FAULT);
        }
        let mut values = [0; 4];
        let mut digits = stamp;
        for (value, len) in values.iter_mut().zip(DIGITS) {
            let (these, others) = digits.split_at(len);
            *value = read_hex(these).ok_or(FAULT)?;
            digits = others;
        }
        let [sender, number, time_us, claimed] = values;
        if claimed != u64::from(check(&stamp[..STAMP_LEN - DIGITS[3]], origin)) {
            return Err(Fault::Wrong("content, or not by this sender in this room"));
        }
        let (sender, number) = (sender as u32, number as u32);
        Ok(Self { sender, number: number & !LAST, is_last: number & LAST != 0, time_us })
    }
}

fn filler(index: usize) -> u8 {
    b'a' + (index % 26) as u8
}

fn write_hex(value: u64, digits: usize, out: &mut Vec<u8>) {
    for digit in (0..digits).rev() {
        out.push(b"0123456789abcdef"[(value >> (4 * digit)) as usize & 15]);
    }
}

fn read_hex(digits: &[u8]) -> Option<u64> {
    digits.iter().try_fold(0, |value, digit| {
        let digit = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        Some(value << 4 | u64::from(digit))
    })
}

fn check(stamp: &[u8], origin: Origin<'_>) -> u16 {
    let mut hash = 0;
    for part in [stamp, origin.room, origin.user] {
        for piece in part.chunks(8) {
            let mut bytes = [0; 8];
            bytes[..piece.len()].copy_from_slice(piece);
            hash = (u64::rotate_left(hash, 5) ^ u64::from_le_bytes(bytes)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        }
        hash = hash.rotate_left(5) ^ part.len() as u64;
    }
    (hash >> 48) as u16
}

#[cfg(test)]
mod tests {
    use super::*;

    const ORIGIN: Origin<'_> = Origin { room: b"2...hall", user: b"0c7f3d0e-5a0f-4f3e-9d2b-0c5b3c1f2a11" };
    const STAMP: Stamp = Stamp { sender: 7, number: 3, is_last: false, time_us: 1_234_567_890 };

    #[test]
    fn a_stamp_survives_the_way() {
        for (stamp, len) in [(STAMP, 32), (Stamp { is_last: true, ..STAMP }, 32), (STAMP, 200)] {
            let mut message = Vec::new();
            stamp.write(ORIGIN, len, &mut message);
            assert_eq!((message.len(), Stamp::read(&message, ORIGIN).unwrap()), (len, stamp));
        }
    }

    #[test]
    fn any_change_is_noticed() {
        let mut message = Vec::new();
        STAMP.write(ORIGIN, 40, &mut message);
        for index in 0..message.len() {
            let mut damaged = message.clone();
            damaged[index] = if damaged[index] == b'0' { b'1' } else { b'0' };
            assert!(Stamp::read(&damaged, ORIGIN).is_err(), "byte {index}");
        }
        assert!(Stamp::read(&message[..39], ORIGIN).is_ok(), "the filler's length is not the stamp's business");
        assert!(Stamp::read(&message[..31], ORIGIN).is_err());
        assert!(Stamp::read(&message, Origin { room: b"2...yard", ..ORIGIN }).is_err());
        assert!(Stamp::read(&message, Origin { user: b"somebody else", ..ORIGIN }).is_err());
    }
}
