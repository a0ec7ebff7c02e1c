//! Finds the first byte of a string that JSON has to escape: a control character, a quote or a backslash.

const LOW_BITS: u64 = 0x0101_0101_0101_0101;
const HIGH_BITS: u64 = 0x8080_8080_8080_8080;

/// The number of bytes before the first one that has to be escaped. The search takes eight bytes at a time, because
/// most strings have no such byte.
pub(super) fn plain_len(bytes: &[u8]) -> usize {
    let (chunks, rest) = bytes.as_chunks::<8>();
    for (index, chunk) in chunks.iter().enumerate() {
        let marks = special_bytes(u64::from_le_bytes(*chunk));
        if marks != 0 {
            return index * 8 + (marks.trailing_zeros() / 8) as usize;
        }
    }
    let rest_len = rest.iter().take_while(|&&byte| byte >= b' ' && byte != b'"' && byte != b'\\').count();
    chunks.len() * 8 + rest_len
}

/// Sets the high bit of each byte that has to be escaped. The bytes after the first such byte may be marked wrongly,
/// because the subtraction borrows from them.
fn special_bytes(word: u64) -> u64 {
    let control = word.wrapping_sub(LOW_BITS * 0x20) & !word;
    (control | zero_bytes(word ^ (LOW_BITS * 0x22)) | zero_bytes(word ^ (LOW_BITS * 0x5c))) & HIGH_BITS
}

fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(LOW_BITS) & !word
}

#[cfg(test)]
mod tests {
    use super::plain_len;

    #[test]
    fn every_byte_at_every_place() {
        for len in 0..20 {
            for place in 0..len {
                for byte in 0..=u8::MAX {
                    let mut bytes = vec![b'a'; len];
                    bytes[place] = byte;
                    let special = byte < b' ' || byte == b'"' || byte == b'\\';
                    assert_eq!(plain_len(&bytes), if special { place } else { len }, "{bytes:?}");
                }
            }
        }
    }
}
