//! Numbers in the forms that protojson reads: an integer may be written `7`, `"7"`, `7.0` or `70e-1`.

/// The length of the JSON number at the start of `bytes`; `None` if there is no number.
pub(super) fn scan(bytes: &[u8]) -> Option<usize> {
    let mut position = usize::from(bytes.first() == Some(&b'-'));
    let whole = digits(bytes, position);
    if whole == 0 {
        return None;
    }
    // No digit may follow a leading zero.
    position += if bytes[position] == b'0' { 1 } else { whole };
    if bytes.get(position) == Some(&b'.') {
        let fraction = digits(bytes, position + 1);
        if fraction == 0 {
            return None;
        }
        position += 1 + fraction;
    }
    if matches!(bytes.get(position), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(position + 1), Some(b'+' | b'-')));
        let exponent = digits(bytes, position + 1 + sign);
        if exponent == 0 {
            return None;
        }
        position += 1 + sign + exponent;
    }
    Some(position)
}

/// The value of a JSON number if it is a whole number and fits an `i64`.
pub(super) fn integer(text: &str) -> Option<i64> {
    // Most numbers are plain digits, which the standard library reads.
    if let Some(value) = text.parse().ok().filter(|_| !text.starts_with('+')) {
        return Some(value);
    }
    let (negative, text) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (mantissa, exponent) = match text.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i32>().ok()?),
        None => (text, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let fraction = fraction.trim_end_matches('0');
    let mut value: i128 = 0;
    for digit in whole.bytes().chain(fraction.bytes()) {
        value = value.checked_mul(10)?.checked_add(i128::from(digit.checked_sub(b'0')?))?;
    }
    if value == 0 {
        return Some(0);
    }
    let mut scale = exponent.checked_sub(i32::try_from(fraction.len()).ok()?)?;
    while scale < 0 {
        if value % 10 != 0 {
            return None;
        }
        value /= 10;
        scale += 1;
    }
    while scale > 0 {
        value = value.checked_mul(10)?;
        scale -= 1;
    }
    i64::try_from(if negative { -value } else { value }).ok()
}

/// Whether `text` is one JSON number and nothing else.
pub(super) fn is_number(text: &str) -> bool {
    scan(text.as_bytes()) == Some(text.len())
}

fn digits(bytes: &[u8], from: usize) -> usize {
    bytes.iter().skip(from).take_while(|byte| byte.is_ascii_digit()).count()
}
