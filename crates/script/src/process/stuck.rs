//! Modules that stopped the server. A call that never returns from a function of C cannot be taken off its thread, so
//! the process ends. It notes the module of the call, and later processes do not load that module before its file has
//! changed.

use std::io;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

/// Modules that must not be loaded. They are noted in a text file, with a line for each: the digest of the module, a
/// space, and its name.
#[derive(Debug, Default)]
pub struct StuckModules {
    /// Digest and name of each module.
    noted: Vec<(String, String)>,
}

impl StuckModules {
    /// Reads the modules noted in a file; none if there is no file.
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

    /// Notes a version of a module in a file.
    ///
    /// # Errors
    /// When the file cannot be written.
    fn note(path: &Path, module: &str, digest: &str) -> io::Result<()> {
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path)?;
        writeln!(file, "{digest} {module}")?;
        file.sync_all()
    }

    /// Whether this version of a module has stopped the server.
    pub(crate) fn holds(&self, module: &str, digest: &str) -> bool {
        self.noted.iter().any(|(known, file)| file == module && known == digest)
    }
}

/// The digest of a module that is one file.
pub(crate) fn digest(bytes: &[u8]) -> String {
    hexadecimal(Sha256::new_with_prefix(bytes))
}

/// The digest of a program of several files. It changes when any of the files changes, because the error may be in any
/// of them.
#[derive(Default)]
pub(crate) struct Digest(Sha256);

impl Digest {
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    pub(crate) fn end(self) -> String {
        hexadecimal(self.0)
    }
}

fn hexadecimal(hashed: Sha256) -> String {
    hashed.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The function that is called with the name of a stuck module, and with its digest if that is known.
pub type OnStuck = Box<dyn Fn(&str, Option<&str>) + Send + Sync>;

/// The policy of the process for stuck calls: those that do not look at their budget, and so cannot be ended.
pub struct StuckPolicy {
    /// Time after which the call counts as stuck.
    pub after: std::time::Duration,
    /// The function that is called for a stuck module; that of a server ends the process. The digest is known if only
    /// one version of the module was loaded.
    pub on_stuck: OnStuck,
}

impl StuckPolicy {
    /// A policy that notes the module in a file, and ends the process.
    pub fn end_process(after: std::time::Duration, path: PathBuf) -> Self {
        let on_stuck = move |module: &str, digest: Option<&str>| {
            let noted = Self::try_note(&path, module, digest);
            tracing::error!(
                module,
                %noted,
                "a module does not come back from a function and holds up its thread: the server ends, and does not load the \
                 module again before its file has changed"
            );
            std::process::exit(EXIT_STUCK);
        };
        Self { after, on_stuck: Box::new(on_stuck) }
    }

    fn try_note(path: &Path, module: &str, digest: Option<&str>) -> String {
        // Several versions were loaded, and nobody knows which version is stuck. The next process loads the present
        // version only.
        let Some(digest) = digest else { return "not noted: its file has changed since the server began".to_owned() };
        match StuckModules::note(path, module, digest) {
            Ok(()) => path.display().to_string(),
            Err(error) => format!("not noted: {error}"),
        }
    }
}

/// Exit status of a process that a stuck module has ended.
pub const EXIT_STUCK: i32 = 70;
