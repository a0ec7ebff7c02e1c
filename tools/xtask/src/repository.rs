//! The repository: its folder and its files.

use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use crate::run;

/// Top folder of the repository, found from the folder in which this program was built.
pub fn root() -> PathBuf {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    package.ancestors().nth(2).unwrap_or(package).to_owned()
}

/// Every file that is committed or would be, with paths relative to [`root`]. Ignored files and symbolic links are left
/// out.
pub fn files() -> Result<Vec<PathBuf>> {
    let mut git = Command::new("git");
    git.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let listed = run::output(&mut git)?;
    let root = root();
    let mut files: Vec<PathBuf> = listed
        .split('\0')
        .filter(|name| !name.is_empty())
        .map(PathBuf::from)
        .filter(|file| root.join(file).symlink_metadata().is_ok_and(|metadata| metadata.is_file()))
        .collect();
    files.sort();
    files.dedup();
    Ok(files)
}

/// The text of a file of [`files`]; `None` when it is not text.
pub fn read_text(file: &Path) -> Result<Option<String>> {
    let bytes = std::fs::read(root().join(file)).with_context(|| format!("cannot read {}", file.display()))?;
    Ok(String::from_utf8(bytes).ok())
}
