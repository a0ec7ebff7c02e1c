//! Recordings: the records of one match in a file of its own (`*.mrec`), to be inspected and replayed elsewhere.
//!
//! A recording is a header with a version, records with checksums, and an end frame that counts them, so that a
//! recording cut short is recognised. Only the engines know what the bytes of a record mean.

use std::fs::File;
use std::io::{self, BufWriter, Write as _};
use std::path::Path;

use bytes::Bytes;
use muster_live::matches::RECORD_BYTES_MAX;

use super::frame::{self, Frames, HEADER_BYTES, Kind, Next, ReadAt as _};

/// File name extension of recordings.
pub const EXTENSION: &str = "mrec";

/// Version of the format that is written.
pub const VERSION: u64 = 1;

/// The first bytes of each recording.
const MAGIC: [u8; 8] = *b"mstrmrec";

/// Explains why a recording cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// A file operation failed.
    #[error("{0}")]
    File(#[from] io::Error),
    /// The file does not begin as a recording does.
    #[error("this is no recording of a match")]
    Other,
    /// A newer release wrote the recording, in this version of the format.
    #[error("the recording has version {0}, and this program reads up to {VERSION}: use the one that wrote it")]
    Newer(u64),
    /// The file has been changed or cut since it was written.
    #[error("the recording is damaged from byte {at} on, behind {records} records")]
    Damaged {
        /// Offset of the damage.
        at: u64,
        /// Number of intact records before it.
        records: u64,
    },
    /// A record exceeds [`RECORD_BYTES_MAX`].
    #[error("a record of {0} bytes; at most {RECORD_BYTES_MAX} are taken")]
    TooLarge(usize),
}

/// Writes a recording.
#[derive(Debug)]
pub struct RecordingWriter {
    file: BufWriter<File>,
    records: u64,
    frame: Vec<u8>,
}

impl RecordingWriter {
    /// Begins a recording in a new file.
    ///
    /// # Errors
    /// Errors of the file, for example that it exists already.
    pub fn create(path: &Path) -> Result<Self, RecordingError> {
        let mut file = BufWriter::new(File::create_new(path)?);
        file.write_all(&frame::header(MAGIC, VERSION))?;
        Ok(Self { file, records: 0, frame: Vec::new() })
    }

    /// Adds a record.
    ///
    /// # Errors
    /// Errors of the file; a record that is too large.
    pub fn write(&mut self, record: &[u8]) -> Result<(), RecordingError> {
        if record.len() > RECORD_BYTES_MAX {
            return Err(RecordingError::TooLarge(record.len()));
        }
        self.put(Kind::Record, record)?;
        self.records += 1;
        Ok(())
    }

    /// Hands everything written so far to the operating system, so that it survives this process.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn flush(&mut self) -> Result<(), RecordingError> {
        Ok(self.file.flush()?)
    }

    /// Ends the recording and syncs it to the disk.
    ///
    /// # Errors
    /// Errors of the file.
    pub fn finish(mut self) -> Result<(), RecordingError> {
        self.put(Kind::End, &[])?;
        self.file.flush()?;
        self.file.get_ref().sync_all()?;
        Ok(())
    }

    fn put(&mut self, kind: Kind, payload: &[u8]) -> Result<(), RecordingError> {
        self.frame.clear();
        frame::write(&mut self.frame, kind, 0, self.records, payload);
        self.file.write_all(&self.frame)?;
        Ok(())
    }
}

/// Reads a recording.
#[derive(Debug)]
pub struct RecordingReader {
    frames: Frames<File>,
    records: u64,
    is_complete: bool,
}

impl RecordingReader {
    /// Opens a recording.
    ///
    /// # Errors
    /// Errors of the file; the file is no recording, or one of a newer version.
    pub fn open(path: &Path) -> Result<Self, RecordingError> {
        let file = File::open(path)?;
        let (mut header, mut at) = ([0; HEADER_BYTES], 0);
        while at < HEADER_BYTES {
            match file.read_at(&mut header[at..], at as u64)? {
                0 => return Err(RecordingError::Other),
                read => at += read,
            }
        }
        let version = u64::from_le_bytes(header[8..16].try_into().map_err(|_| RecordingError::Other)?);
        if header != frame::header(MAGIC, version) {
            return Err(RecordingError::Other);
        }
        if version > VERSION {
            return Err(RecordingError::Newer(version));
        }
        Ok(Self { frames: Frames::new(file, HEADER_BYTES as u64), records: 0, is_complete: false })
    }

    /// The next record; `None` after the last.
    ///
    /// # Errors
    /// Errors of the file; damage.
    pub fn read(&mut self) -> Result<Option<Bytes>, RecordingError> {
        if self.is_complete {
            return Ok(None);
        }
        let at = self.frames.offset();
        match self.frames.next()? {
            Next::End => Ok(None),
            Next::Frame(frame) if frame.kind == Kind::Record && frame.number == self.records => {
                self.records += 1;
                Ok(Some(frame.payload))
            }
            Next::Frame(frame) if frame.kind == Kind::End && frame.number == self.records => {
                self.is_complete = true;
                Ok(None)
            }
            Next::Frame(_) | Next::Bad => Err(RecordingError::Damaged { at, records: self.records }),
        }
    }

    /// Whether the end frame was read. Without it, the writer did not finish.
    #[must_use]
    pub fn is_complete(&self) -> bool {
        self.is_complete
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(path: &Path, records: &[&[u8]], is_finished: bool) {
        let mut writer = RecordingWriter::create(path).expect("made");
        records.iter().for_each(|record| writer.write(record).expect("written"));
        if is_finished {
            writer.finish().expect("finished");
        }
    }

    fn read(path: &Path) -> Result<(Vec<Bytes>, bool), RecordingError> {
        let mut reader = RecordingReader::open(path)?;
        let mut records = Vec::new();
        while let Some(record) = reader.read()? {
            records.push(record);
        }
        Ok((records, reader.is_complete()))
    }

    #[test]
    fn a_recording_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("one.mrec");
        let large = vec![5; 1 << 20];
        write(&path, &[b"one", b"", &large], true);
        let (records, is_complete) = read(&path).expect("read");
        assert_eq!((records, is_complete), (vec!["one".into(), "".into(), large.into()], true));
        assert!(matches!(RecordingWriter::create(&path), Err(RecordingError::File(_))), "nothing is replaced");
        let unfinished = folder.path().join("two.mrec");
        write(&unfinished, &[b"one"], false);
        assert_eq!(read(&unfinished).expect("read"), (vec!["one".into()], false));
        let mut writer = RecordingWriter::create(&folder.path().join("three.mrec")).expect("made");
        let refused = writer.write(&vec![0; RECORD_BYTES_MAX + 1]);
        assert!(matches!(refused, Err(RecordingError::TooLarge(_))), "{refused:?}");
    }

    #[test]
    fn what_is_damaged_or_none_is_told() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("one.mrec");
        write(&path, &[b"one", b"two"], true);
        let whole = std::fs::read(&path).expect("read");
        let with = |bytes: &[u8]| {
            std::fs::write(&path, bytes).expect("written");
            read(&path).expect_err("it is damaged").to_string()
        };
        for at in 0..whole.len() {
            let mut bytes = whole.clone();
            bytes[at] ^= 4;
            let expect = if at < HEADER_BYTES { "no recording" } else { "is damaged from byte" };
            let told = with(&bytes);
            assert!(told.contains(expect), "{at}: {told}");
        }
        assert!(with(b"short").contains("no recording"));
        assert!(with(&whole[..whole.len() - 1]).contains("behind 2 records"));
        assert!(with(&[&frame::header(MAGIC, 2)[..], &whole[HEADER_BYTES..]].concat()).contains("version 2"));
    }
}
