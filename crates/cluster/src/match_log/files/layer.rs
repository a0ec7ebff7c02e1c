//! What the log asks of a file system, so that tests can lose what was not synced, and fill the disk.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use super::OpenError;
use crate::match_log::frame::ReadAt;

/// A folder of numbered files, for one process.
pub(super) trait Layer: Send {
    /// The numbers that there are.
    fn list(&self) -> io::Result<Vec<u32>>;
    /// Makes a file, empty.
    fn create(&self, number: u32) -> io::Result<Box<dyn LayerFile>>;
    /// Opens one that there is.
    fn open(&self, number: u32) -> io::Result<Box<dyn LayerFile>>;
    fn remove(&self, number: u32) -> io::Result<()>;
    /// Which files there are survives the loss of the machine from now on.
    fn sync(&self) -> io::Result<()>;
    /// How operators find a file.
    fn path(&self, number: u32) -> PathBuf;
    fn folder(&self) -> PathBuf;
}

/// A file of a folder.
pub(super) trait LayerFile: ReadAt + Send {
    /// Writes behind the first `offset` bytes.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Forgets what is behind the first `bytes`.
    fn cut(&mut self, bytes: u64) -> io::Result<()>;
    /// What was written survives the loss of the machine from now on.
    fn sync(&mut self) -> io::Result<()>;
}

const EXTENSION: &str = "log";

/// The file whose lock says that a process has the folder.
const LOCK: &str = "lock";

/// A folder of the machine.
pub(super) struct Folder {
    path: PathBuf,
    lock: File,
}

impl Folder {
    /// Takes a folder for this process; makes it if it is not there.
    pub(super) fn take(path: &Path) -> Result<Self, OpenError> {
        let failed = |source| OpenError::Disk { folder: path.to_owned(), source };
        let mut builder = std::fs::DirBuilder::new();
        builder.recursive(true);
        #[cfg(unix)]
        std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
        builder.create(path).map_err(failed)?;
        let mut options = private();
        let lock = options.create(true).truncate(false).open(path.join(LOCK)).map_err(failed)?;
        match lock.try_lock() {
            Ok(()) => Ok(Self { path: path.to_owned(), lock }),
            Err(TryLockError::WouldBlock) => Err(OpenError::InUse(path.to_owned())),
            Err(TryLockError::Error(source)) => Err(failed(source)),
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // Closing alone would leave it to a child that has inherited the file and is not another program yet.
        let _ = self.lock.unlock();
    }
}

impl Layer for Folder {
    fn list(&self) -> io::Result<Vec<u32>> {
        let mut numbers = Vec::new();
        for entry in std::fs::read_dir(&self.path)? {
            let path = PathBuf::from(entry?.file_name());
            let is_ours = path.extension().is_some_and(|extension| extension == EXTENSION);
            let number = path.file_stem().and_then(|stem| stem.to_str()?.parse().ok()).filter(|_| is_ours);
            // What an operator puts beside them stays out of it.
            numbers.extend(number.filter(|number| self.path(*number).file_name() == Some(path.as_os_str())));
        }
        Ok(numbers)
    }

    fn create(&self, number: u32) -> io::Result<Box<dyn LayerFile>> {
        Ok(Box::new(private().create(true).truncate(true).open(self.path(number))?))
    }

    fn open(&self, number: u32) -> io::Result<Box<dyn LayerFile>> {
        Ok(Box::new(private().open(self.path(number))?))
    }

    fn remove(&self, number: u32) -> io::Result<()> {
        std::fs::remove_file(self.path(number))
    }

    fn sync(&self) -> io::Result<()> {
        #[cfg(unix)]
        File::open(&self.path)?.sync_all()?;
        Ok(())
    }

    fn path(&self, number: u32) -> PathBuf {
        self.path.join(format!("{number:010}.{EXTENSION}"))
    }

    fn folder(&self) -> PathBuf {
        self.path.clone()
    }
}

/// Of a file that the server's own account may read.
fn private() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

impl ReadAt for File {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        let mut file = self;
        file.seek(SeekFrom::Start(offset))?;
        loop {
            match file.read(bytes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                outcome => return outcome,
            }
        }
    }
}

impl LayerFile for File {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.seek(SeekFrom::Start(offset))?;
        self.write_all(bytes)
    }

    fn cut(&mut self, bytes: u64) -> io::Result<()> {
        self.set_len(bytes)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_data()
    }
}
