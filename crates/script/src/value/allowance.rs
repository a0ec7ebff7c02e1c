//! A limit on the values that cross from game code to the host in one call. The host copies them into its own memory,
//! which counts against no machine's limit.

/// The largest number of parts of the values of one call. Each value is a part, and so is each value in a list or map,
/// at any depth.
pub const PARTS_MAX: usize = 250_000;

/// The largest number of bytes of all texts in the values of one call.
pub const VALUE_BYTES_MAX: usize = 16 << 20;

/// The parts and bytes that one call may still send.
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
    /// A sentence that names the limit, when the parts or bytes are used up.
    pub(crate) fn take(&mut self, bytes: usize) -> Result<(), String> {
        self.parts = self.parts.checked_sub(1).ok_or_else(|| format!("more than {PARTS_MAX} values"))?;
        self.bytes =
            self.bytes.checked_sub(bytes).ok_or_else(|| format!("more than {VALUE_BYTES_MAX} bytes of texts"))?;
        Ok(())
    }

    /// Counts the bytes of a JSON text and all parts in it.
    ///
    /// # Errors
    /// A sentence that names the limit, when the parts or bytes are used up.
    pub(crate) fn take_json(&mut self, json: &[u8]) -> Result<(), String> {
        self.take(json.len())?;
        let within = Self::parts_of_json(json) - 1;
        self.parts = self.parts.checked_sub(within).ok_or_else(|| format!("more than {PARTS_MAX} values"))?;
        Ok(())
    }

    /// Checks that a JSON text holds no more parts than may cross.
    ///
    /// # Errors
    /// A sentence that names the limit, when the text holds more parts.
    pub(crate) fn check_json(json: &[u8]) -> Result<(), String> {
        if Self::parts_of_json(json) > PARTS_MAX { Err(format!("more than {PARTS_MAX} values")) } else { Ok(()) }
    }

    /// Number of parts of a JSON text, at least one.
    pub(crate) fn parts_of_json(json: &[u8]) -> usize {
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
        parts
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
        let half = format!("[{}0]", "0,".repeat(PARTS_MAX / 2));
        let mut left = Allowance::new();
        assert!(left.take_json(half.as_bytes()).is_ok() && left.take_json(half.as_bytes()).is_err());
        assert!(check(format!("[\"{}\\\"{}\"]", ",".repeat(PARTS_MAX), "{".repeat(PARTS_MAX))));
    }
}
