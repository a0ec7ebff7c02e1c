//! Modules that stopped the server: one that does not come back from a function of C cannot be taken off its thread, so
//! the process ends. It notes which module it was, and does not load that again before its file has changed.

use std::io;
use std::io::Write as _;
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

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

    /// Notes a module, as it was loaded, in a file.
    ///
    /// # Errors
    /// When the file cannot be written.
    fn note(path: &Path, module: &str, digest: &str) -> io::Result<()> {
        let mut file = std::fs::OpenOptions::new().create(true).append(true).open(path)?;
        writeln!(file, "{digest} {module}")?;
        file.sync_all()
    }

    /// Whether a module stopped the server as it is.
    pub(crate) fn holds(&self, module: &str, digest: &str) -> bool {
        self.noted.iter().any(|(known, file)| file == module && known == digest)
    }
}

/// Of a module that is one file.
pub(crate) fn digest(bytes: &[u8]) -> String {
    written(Sha256::new_with_prefix(bytes))
}

/// Of one of several files, the first of which names it: what is to be mended may be in any of them.
#[derive(Default)]
pub(crate) struct Digest(Sha256);

impl Digest {
    pub(crate) fn add(&mut self, bytes: &[u8]) {
        self.0.update((bytes.len() as u64).to_le_bytes());
        self.0.update(bytes);
    }

    pub(crate) fn end(self) -> String {
        written(self.0)
    }
}

fn written(hashed: Sha256) -> String {
    hashed.finalize().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Takes the file of a module and its digest.
pub type Tell = Box<dyn Fn(&str, Option<&str>) + Send + Sync>;

/// What is to be done about a call that does not answer the clock.
pub struct StuckPolicy {
    /// How long it may not answer.
    pub after: std::time::Duration,
    /// Told the file of the module, and its digest if one version of it alone was loaded; ends the process.
    pub tell: Tell,
}

impl StuckPolicy {
    /// Notes the module in a file, and ends the process.
    pub fn end_process(after: std::time::Duration, path: PathBuf) -> Self {
        let tell = move |module: &str, digest: Option<&str>| {
            let noted = Self::try_note(&path, module, digest);
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

    fn try_note(path: &Path, module: &str, digest: Option<&str>) -> String {
        // Which of several versions it was nobody knows. The next process has loaded the present one alone.
        let Some(digest) = digest else { return "not noted: its file has changed since the server began".to_owned() };
        match StuckModules::note(path, module, digest) {
            Ok(()) => path.display().to_string(),
            Err(error) => format!("not noted: {error}"),
        }
    }
}

/// The process's exit status then.
pub const EXIT_STUCK: i32 = 70;
