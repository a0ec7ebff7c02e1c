//! Whether a disk has room for what is about to be written.

use std::path::Path;

use crate::OpenError;

/// Bytes that are to stay free, so that the server beside can go on.
const SPARE_BYTES: u64 = 16 << 20;

/// Free bytes on the disk of a folder or file, for this process.
pub(super) fn free(path: &Path) -> std::io::Result<u64> {
    let disk = rustix::fs::statvfs(path)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// Checks that so many bytes fit into a folder.
///
/// # Errors
/// A sentence that says how much is missing.
pub(super) fn check(folder: &Path, bytes: u64) -> Result<(), OpenError> {
    let free =
        free(folder).map_err(OpenError::because(format!("cannot tell the free space of {}", folder.display())))?;
    let needed = bytes.saturating_add(SPARE_BYTES);
    if free >= needed {
        return Ok(());
    }
    let [needed, free] = [needed, free].map(|bytes| bytes.div_ceil(1 << 20));
    Err(OpenError::new(format!(
        "{} has {free} MiB of free space, and {needed} MiB are needed: free some, or name another place. Nothing was \
         changed",
        folder.display()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::fixture::Folder;

    #[test]
    fn what_does_not_fit_is_refused_before_it_is_written() {
        let folder = Folder::new();
        assert!(check(&folder.0, 1).is_ok());
        let refused = check(&folder.0, u64::MAX / 2).unwrap_err().0;
        assert!(refused.contains("MiB are needed"), "{refused}");
        assert!(check(&folder.0.join("missing"), 1).is_err());
    }
}
