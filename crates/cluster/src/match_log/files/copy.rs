//! Reads the files of a log for a backup, while another process may write them. Nothing is locked or changed.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use bytes::Bytes;
use muster_live::place::Partition;

use super::OpenError;
use super::layer::{list, path_of};
use super::segments::{MAGIC, read_exact};
use crate::match_log::frame::{self, Frames, HEADER_BYTES, Kind, Next};

/// The files of a log, held open. They can still be read when the log has removed them.
#[derive(Debug)]
pub struct LogFiles {
    folder: PathBuf,
    files: BTreeMap<u32, File>,
}

impl LogFiles {
    /// Opens the files that are in a folder now; none if there is no such folder.
    ///
    /// # Errors
    /// When the folder or a file cannot be read.
    pub fn open(folder: &Path) -> Result<Self, OpenError> {
        let mut files = Self { folder: folder.to_owned(), files: BTreeMap::new() };
        files.open_new()?;
        Ok(files)
    }

    /// Opens the files that the log has begun meanwhile.
    ///
    /// # Errors
    /// When the folder or a file cannot be read, or the log has begun and removed files meanwhile.
    pub fn open_new(&mut self) -> Result<(), OpenError> {
        let folder = self.folder.clone();
        let disk = |source| OpenError::Disk { folder: folder.clone(), source };
        let numbers = match list(&self.folder) {
            Err(error) if error.kind() == ErrorKind::NotFound => return Ok(()),
            listed => listed.map_err(disk)?,
        };
        for number in numbers {
            if self.files.contains_key(&number) {
                continue;
            }
            match File::open(path_of(&self.folder, number)) {
                Ok(file) => drop(self.files.insert(number, file)),
                // The log has just removed the file, so nothing in it is needed.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(disk(error)),
            }
        }
        let gap = self.files.keys().zip(self.files.keys().skip(1)).find(|(number, next)| *number + 1 < **next);
        match gap {
            None => Ok(()),
            Some(_) => Err(self.disk(std::io::Error::other("the log has changed too fast; try again"))),
        }
    }

    /// Bytes in all files.
    ///
    /// # Errors
    /// Errors of the disk.
    pub fn bytes(&self) -> Result<u64, OpenError> {
        let sizes = self.files.values().map(|file| file.metadata().map(|metadata| metadata.len()));
        sizes.sum::<std::io::Result<u64>>().map_err(|error| self.disk(error))
    }

    /// All records in the files, by partition and in their order, also those that are no longer needed. A record that
    /// is being written is left out.
    ///
    /// # Errors
    /// When a file cannot be read, or is damaged.
    pub fn records(&self) -> Result<BTreeMap<Partition, Vec<Bytes>>, OpenError> {
        let mut records: BTreeMap<Partition, Vec<Bytes>> = BTreeMap::new();
        let last = self.files.keys().next_back().copied();
        for (number, file) in &self.files {
            let is_last = Some(*number) == last;
            let damaged = |at| OpenError::Damaged { file: path_of(&self.folder, *number), at };
            let mut header = [0; HEADER_BYTES];
            let has_header = read_exact(file, &mut header, 0).map_err(|error| self.disk(error))?;
            if !has_header || header != frame::header(MAGIC, (*number).into()) {
                if is_last {
                    break;
                }
                return Err(damaged(0));
            }
            let mut frames = Frames::new(file, HEADER_BYTES as u64);
            loop {
                match frames.next().map_err(|error| self.disk(error))? {
                    Next::Frame(frame) if frame.kind == Kind::Record => {
                        let partition = Partition::new(frame.partition).ok_or_else(|| damaged(frames.offset()))?;
                        records.entry(partition).or_default().push(frame.payload);
                    }
                    Next::Frame(_) => {}
                    Next::End => break,
                    Next::Bad if is_last => break,
                    Next::Bad => return Err(damaged(frames.offset())),
                }
            }
        }
        Ok(records)
    }

    fn disk(&self, source: std::io::Error) -> OpenError {
        OpenError::Disk { folder: self.folder.clone(), source }
    }
}
