//! Modules that stopped the server: one that does not come back from a function of C cannot be taken off its thread, so
//! the process ends. It notes which module it was, and does not load that again before its file has changed.

use std::io;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::watch;

/// The modules that are not to be loaded: a line for each, the digest of its file and its name.
#[derive(Debug, Default)]
pub struct StuckModules {
    noted: Vec<(String, String)>,
}

impl StuckModules {
    /// Those noted in a file; none if there is no file.
    ///
    /// # Errors
    /// When the file is there and cannot be read.
    pub fn read(path: &Path) -> io::Result<Self> {
        let text = match std::fs::read_to_string(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
            text => text?,
        };
        let entry = |line: &str| line.split_once(' ').map(|(digest, file)| (digest.to_owned(), file.to_owned()));
        Ok(Self { noted: text.lines().filter_map(entry).collect() })
    }

    /// Notes a module, a file below a folder, in a file.
    ///
    /// # Errors
    /// When the module cannot be read or the file cannot be written.
    pub fn note(path: &Path, folder: &Path, module: &str) -> io::Result<()> {
        let digest = match module.ends_with(LUA) {
            true => digest(&std::fs::read(folder.join(module))?),
            false => digest_of_script(folder, module)?,
        };
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path)?;
        writeln!(file, "{digest} {module}")?;
        file.sync_all()
    }

    /// Whether a module stopped the server as it is.
    pub(crate) fn holds(&self, module: &str, source: &[u8]) -> bool {
        let mut noted = self.noted.iter().filter(|(_, file)| file == module).peekable();
        noted.peek().is_some() && {
            let digest = digest(source);
            noted.any(|(known, _)| *known == digest)
        }
    }

    /// Whether a program of several files, named by the first, stopped the server as it is. One that cannot be read did not.
    pub(crate) fn holds_script(&self, folder: &Path, script: &str) -> bool {
        let mut noted = self.noted.iter().filter(|(_, file)| file == script).peekable();
        noted.peek().is_some()
            && digest_of_script(folder, script).is_ok_and(|digest| noted.any(|(known, _)| *known == digest))
    }
}

/// The ending of files that stand alone.
const LUA: &str = ".lua";

/// Of the file that is run and of all that it may import: what is to be mended may be in any of them.
fn digest_of_script(folder: &Path, script: &str) -> io::Result<String> {
    let mut all = std::fs::read(folder.join(script))?;
    for path in watch::snapshot(folder).into_keys().filter(|path| path.extension().is_none_or(|its| its != &LUA[1..])) {
        all.extend(std::fs::read(path)?);
    }
    Ok(digest(&all))
}

fn digest(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

/// What is to be done about a call that does not answer the clock.
pub struct StuckPolicy {
    /// How long it may not answer.
    pub after: std::time::Duration,
    /// Told the file of the module; ends the process.
    pub tell: Box<dyn Fn(&str) + Send + Sync>,
}

impl StuckPolicy {
    /// Notes the module of a folder in a file, and ends the process.
    pub fn end_process(after: std::time::Duration, path: PathBuf, folder: PathBuf) -> Self {
        let tell = move |module: &str| {
            let noted = Self::try_note(&path, &folder, module);
            tracing::error!(
                module,
                %noted,
                "a module does not come back from a function and holds up its thread: the server ends, and does not load the \
                 module again before its file has changed"
            );
            std::process::exit(EXIT_STUCK);
        };
        Self { after, tell: Box::new(tell) }
    }

    fn try_note(path: &Path, folder: &Path, module: &str) -> String {
        match StuckModules::note(path, folder, module) {
            Ok(()) => path.display().to_string(),
            Err(error) => format!("not noted: {error}"),
        }
    }
}

/// The process's exit status then.
pub const EXIT_STUCK: i32 = 70;
