//! How much may cross from game code to the host in one call: what is copied there counts for no machine.

/// Most parts of the values of one call: what tables hold, however deep.
pub const PARTS_MAX: usize = 250_000;

/// Most bytes of their texts.
pub const VALUE_BYTES_MAX: usize = 16 << 20;

/// What is left of it.
pub(crate) struct Allowance {
    parts: usize,
    bytes: usize,
}

impl Allowance {
    pub(crate) fn new() -> Self {
        Self { parts: PARTS_MAX, bytes: VALUE_BYTES_MAX }
    }

    /// A part crosses that has so many bytes of text.
    ///
    /// # Errors
    /// A sentence, when it is too much.
    pub(crate) fn take(&mut self, bytes: usize) -> Result<(), String> {
        self.parts = self.parts.checked_sub(1).ok_or_else(|| format!("more than {PARTS_MAX} values"))?;
        self.bytes =
            self.bytes.checked_sub(bytes).ok_or_else(|| format!("more than {VALUE_BYTES_MAX} bytes of texts"))?;
        Ok(())
    }

    /// Whether a JSON text holds no more parts than may cross.
    ///
    /// # Errors
    /// A sentence, when it does.
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
