//! A bound on the values that cross from game code to the host in one call. The host copies them into memory of its
//! own, which counts for no machine.

/// Most parts of the values of one call. Each value counts, and each value in a list or map, however deep.
pub const PARTS_MAX: usize = 250_000;

/// Most bytes of the texts in the values of one call.
pub const VALUE_BYTES_MAX: usize = 16 << 20;

/// Parts and bytes that a call has left.
pub(crate) struct Allowance {
    parts: usize,
    bytes: usize,
}

impl Allowance {
    pub(crate) fn new() -> Self {
        Self { parts: PARTS_MAX, bytes: VALUE_BYTES_MAX }
    }

    /// Counts a part, and the bytes of its text.
    ///
    /// # Errors
    /// A sentence, when the parts or bytes are used up.
    pub(crate) fn take(&mut self, bytes: usize) -> Result<(), String> {
        self.parts = self.parts.checked_sub(1).ok_or_else(|| format!("more than {PARTS_MAX} values"))?;
        self.bytes =
            self.bytes.checked_sub(bytes).ok_or_else(|| format!("more than {VALUE_BYTES_MAX} bytes of texts"))?;
        Ok(())
    }

    /// Checks that a JSON text holds no more parts than may cross.
    ///
    /// # Errors
    /// A sentence, when it holds more.
    pub(crate) fn check_json(json: &[u8]) -> Result<(), String> {
        let (mut parts, mut in_text, mut is_escaped) = (1, false, false);
        for byte in json {
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' if in_text => is_escaped = true,
                b'"' => in_text = !in_text,
                b',' | b'[' | b'{' if !in_text => parts += 1,
                _ => {}
            }
        }
        if parts > PARTS_MAX { Err(format!("more than {PARTS_MAX} values")) } else { Ok(()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_json_are_counted_outside_of_texts() {
        let check = |json: String| Allowance::check_json(json.as_bytes()).is_ok();
        assert!(check(format!("[{}0]", "0,".repeat(PARTS_MAX - 2))));
        assert!(!check(format!("[{}0]", "0,".repeat(PARTS_MAX))));
        assert!(!check("[".repeat(PARTS_MAX)));
        assert!(check(format!("[\"{}\\\"{}\"]", ",".repeat(PARTS_MAX), "{".repeat(PARTS_MAX))));
    }
}
