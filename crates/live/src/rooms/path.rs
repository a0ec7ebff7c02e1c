//! Paths of rooms, such as `cards/poker/high`. A search within `cards` finds that room as well. Never says whether a
//! room exists.

use std::sync::Arc;

use muster_domain::{Error, Result};

use super::limits::{PATH_BYTES_MAX, PATH_SEGMENTS_MAX};

/// Segments joined by slashes. All paths lie within the empty one.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RoomPath(Arc<str>);

impl RoomPath {
    /// Checks and wraps a path.
    ///
    /// # Errors
    /// `InvalidArgument` when it is too long or too deep, or a segment is empty or holds anything but ASCII letters,
    /// digits, `-`, `_` and `.`.
    pub fn new(text: &str) -> Result<Self> {
        if text.len() > PATH_BYTES_MAX {
            return Err(Error::invalid(format!("A path has at most {PATH_BYTES_MAX} bytes.")));
        }
        if text.is_empty() {
            return Ok(Self::default());
        }
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_' | b'.');
        if text.split('/').count() > PATH_SEGMENTS_MAX {
            return Err(Error::invalid(format!("A path has at most {PATH_SEGMENTS_MAX} segments.")));
        }
        if text.split('/').any(|segment| segment.is_empty() || !segment.bytes().all(is_plain)) {
            let rule = "A path is made of letters, digits, '-', '_' and '.', with '/' between its segments.";
            return Err(Error::invalid(rule));
        }
        Ok(Self(Arc::from(text)))
    }

    /// The path as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// This path, then every path above it, the empty one last.
    pub fn with_ancestors(&self) -> impl Iterator<Item = &str> {
        let first = (!self.0.is_empty()).then_some(self.as_str());
        let above = std::iter::successors(first, |path| path.rfind('/').map(|end| &path[..end]));
        above.chain(std::iter::once(""))
    }

    /// Whether this path equals `above` or lies below it.
    pub fn is_within(&self, above: &Self) -> bool {
        let rest = self.0.strip_prefix(above.as_str());
        above.0.is_empty() || rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

impl Default for RoomPath {
    fn default() -> Self {
        Self(Arc::from(""))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(text: &str) -> RoomPath {
        RoomPath::new(text).unwrap()
    }

    #[test]
    fn paths_are_segments_of_plain_characters() {
        for good in ["", "a", "a/b/c", "cards.v2/high-stakes/no_limit", &"a/".repeat(PATH_SEGMENTS_MAX)[..15]] {
            assert_eq!(path(good).as_str(), good);
        }
        let deep = ["a"; PATH_SEGMENTS_MAX + 1].join("/");
        let long = "a".repeat(PATH_BYTES_MAX + 1);
        for bad in ["/", "/a", "a/", "a//b", "a b", "ä", "a*", &deep, &long] {
            assert!(RoomPath::new(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_path_lies_within_itself_and_all_above() {
        assert_eq!(path("a/b/c").with_ancestors().collect::<Vec<_>>(), ["a/b/c", "a/b", "a", ""]);
        assert_eq!(path("").with_ancestors().collect::<Vec<_>>(), [""]);
        for above in ["", "a", "a/b", "a/b/c"] {
            assert!(path("a/b/c").is_within(&path(above)), "{above}");
        }
        for other in ["a/b/c/d", "a/bb", "b", "a/b/cc"] {
            assert!(!path("a/b/c").is_within(&path(other)), "{other}");
        }
        assert!(!path("a/bc").is_within(&path("a/b")));
    }
}
