//! The file system as the log needs it: a trait, so that tests can lose unsynced data and fill the disk.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{self, Read as _, Seek as _, SeekFrom, Write as _};
use std::path::{Path, PathBuf};

use super::OpenError;
use crate::match_log::frame::ReadAt;

/// A folder of numbered files, for one process.
pub(super) trait Layer: Send {
    /// Numbers of the files in the folder.
    fn list(&self) -> io::Result<Vec<u32>>;
    /// Makes an empty file.
    fn create(&self, number: u32) -> io::Result<Box<dyn LayerFile>>;
    /// Opens an existing file.
    fn open(&self, number: u32) -> io::Result<Box<dyn LayerFile>>;
    fn remove(&self, number: u32) -> io::Result<()>;
    /// Syncs the folder: the set of its files survives a loss of power from now on.
    fn sync(&self) -> io::Result<()>;
    /// Path of a file, for messages to operators.
    fn path(&self, number: u32) -> PathBuf;
    fn folder(&self) -> PathBuf;
}

/// A file of a folder.
pub(super) trait LayerFile: ReadAt + Send {
    /// Writes `bytes` at an offset.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Cuts the file to its first `bytes` bytes.
    fn cut(&mut self, bytes: u64) -> io::Result<()>;
    /// Syncs the file: its content survives a loss of power from now on.
    fn sync(&mut self) -> io::Result<()>;
}

const EXTENSION: &str = "log";

/// Name of the lock file. The process that holds the file's lock owns the folder.
pub const LOCK: &str = "lock";

/// A folder of the machine's file system, locked for this process.
pub(super) struct Folder {
    path: PathBuf,
    lock: File,
}

impl Folder {
    /// Locks a folder for this process; makes the folder if it does not exist.
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
        // Closing the file is not enough: a child process that inherited it, and has not started its own program yet,
        // would keep the lock.
        let _ = self.lock.unlock();
    }
}

impl Layer for Folder {
    fn list(&self) -> io::Result<Vec<u32>> {
        list(&self.path)
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
        path_of(&self.path, number)
    }

    fn folder(&self) -> PathBuf {
        self.path.clone()
    }
}

/// Numbers of the files of a log in a folder.
pub(super) fn list(folder: &Path) -> io::Result<Vec<u32>> {
    let mut numbers = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = PathBuf::from(entry?.file_name());
        let is_ours = path.extension().is_some_and(|extension| extension == EXTENSION);
        let number = path.file_stem().and_then(|stem| stem.to_str()?.parse().ok()).filter(|_| is_ours);
        // Other files that an operator puts into the folder are ignored.
        numbers.extend(number.filter(|number| path_of(folder, *number).file_name() == Some(path.as_os_str())));
    }
    Ok(numbers)
}

/// Path of a file of a log.
pub(super) fn path_of(folder: &Path, number: u32) -> PathBuf {
    folder.join(format!("{number:010}.{EXTENSION}"))
}

/// Options for a file that only the server's own account may read.
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
