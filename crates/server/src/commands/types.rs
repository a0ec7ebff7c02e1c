//! `muster types`: declarations of the functions that game code may call, for editors and compilers.

use std::fs;
use std::path::Path;
use std::process::ExitCode;

use muster_script::typings;

use super::{Outcome, print};

/// Makes the text of a file.
type Text = fn() -> String;

/// The files with their texts.
const FILES: [(&str, Text); 2] = [("muster.d.ts", typings::typescript), ("nakama.luau", typings::luau)];

/// Writes declarations into a folder.
pub(super) fn write(folder: &Path) -> Outcome {
    let failed = |error: std::io::Error| format!("cannot write to {}: {error}", folder.display());
    fs::create_dir_all(folder).map_err(failed)?;
    for (name, text) in FILES {
        fs::write(folder.join(name), text()).map_err(failed)?;
    }
    let [(typescript, _), (luau, _)] = FILES;
    print(&format!("{typescript} and {luau} are in {}", folder.display()))?;
    Ok(ExitCode::SUCCESS)
}
