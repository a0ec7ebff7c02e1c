//! The segments of the log. All are read when the server starts, records are appended to the newest, and the oldest are
//! removed when nothing in them is needed.
//!
//! Segments are numbered consecutively; only the last is written to. A write that was torn when the machine stopped
//! lies behind everything that had been synced, so it is cut off. Anything else that cannot be read is damage, and is
//! reported to the operator.

use std::collections::VecDeque;
use std::io;

use bytes::Bytes;

use super::OpenError;
use super::index::{Index, Span};
use super::layer::{Layer, LayerFile};
use crate::match_log::frame::{self, Frames, HEADER_BYTES, Kind, MARK_BYTES, Next, ReadAt};

/// The first bytes of each segment: the kind of file and the version of its format.
pub(super) const MAGIC: [u8; 8] = *b"mstrlog1";

/// All segments of the log, owned by one thread.
pub(super) struct Segments {
    layer: Box<dyn Layer>,
    /// All segments, oldest first; the last is the current one.
    kept: VecDeque<Segment>,
    /// The file of the current segment; `None` while the content of that file is uncertain.
    current: Option<Box<dyn LayerFile>>,
    segment_bytes: u64,
    pub(super) index: Index,
}

#[derive(Clone, Copy, Debug)]
struct Segment {
    number: u32,
    /// Size of the segment; of the current one, the bytes that are synced.
    bytes: u64,
    /// Number of the segment's records that are still needed.
    needed: u64,
}

/// A record of a batch.
#[derive(Clone, Copy, Debug)]
pub(super) struct Entry {
    pub(super) partition: u16,
    pub(super) number: u64,
    /// Offset in the batch's bytes.
    pub(super) offset: usize,
    pub(super) bytes: usize,
}

/// Records and trims that are written together.
#[derive(Debug)]
pub(super) struct Batch {
    /// The frames, after room for a mark.
    pub(super) bytes: Vec<u8>,
    pub(super) entries: Vec<Entry>,
    /// Partitions with the record number below which nothing is needed once this batch is written.
    pub(super) trims: Vec<(u16, u64)>,
}

impl Default for Batch {
    fn default() -> Self {
        Self { bytes: vec![0; MARK_BYTES], entries: Vec::new(), trims: Vec::new() }
    }
}

impl Batch {
    pub(super) fn is_empty(&self) -> bool {
        self.bytes.len() == MARK_BYTES
    }

    pub(super) fn record(&mut self, partition: u16, number: u64, record: &[u8]) {
        let offset = self.bytes.len();
        frame::write(&mut self.bytes, Kind::Record, partition, number, record);
        self.entries.push(Entry { partition, number, offset, bytes: self.bytes.len() - offset });
    }

    pub(super) fn trim(&mut self, partition: u16, before: u64) {
        frame::write(&mut self.bytes, Kind::Trim, partition, before, &[]);
        self.trims.push((partition, before));
    }

    /// Empties the batch for the next use. Its memory is kept unless it exceeds `usual_bytes`.
    pub(super) fn clear(&mut self, usual_bytes: usize) {
        self.bytes.truncate(MARK_BYTES);
        self.bytes.shrink_to(usual_bytes);
        self.entries.clear();
        self.trims.clear();
    }
}

/// Result of reading a segment.
enum SegmentContent {
    /// The frames end at `until`; behind them lies nothing, or a torn write.
    Frames { until: u64, is_torn: bool },
    /// The segment has no complete header.
    Nothing,
}

impl Segments {
    /// Reads the segments of a folder.
    pub(super) fn open(layer: Box<dyn Layer>, segment_bytes: u64) -> Result<Self, OpenError> {
        let mut segments = Self { layer, kept: VecDeque::new(), current: None, segment_bytes, index: Index::default() };
        let mut numbers = segments.layer.list().map_err(|error| segments.disk(error))?;
        numbers.sort_unstable();
        for (place, number) in numbers.iter().copied().enumerate() {
            let is_next = place == 0 || numbers[place - 1] + 1 == number;
            if !is_next {
                return Err(OpenError::Missing(segments.layer.path(number - 1)));
            }
            segments.read(number, place + 1 == numbers.len())?;
        }
        segments.begin().map_err(|error| segments.disk(error))?;
        segments.remove_unneeded().map_err(|error| segments.disk(error))?;
        Ok(segments)
    }

    fn read(&mut self, number: u32, is_last: bool) -> Result<(), OpenError> {
        let mut file = self.layer.open(number).map_err(|error| self.disk(error))?;
        self.kept.push_back(Segment { number, bytes: 0, needed: 0 });
        match self.scan(number, &*file, is_last)? {
            SegmentContent::Nothing => {
                self.kept.pop_back();
                self.layer.remove(number).and_then(|()| self.layer.sync()).map_err(|error| self.disk(error))
            }
            SegmentContent::Frames { until, is_torn } => {
                self.kept.back_mut().into_iter().for_each(|segment| segment.bytes = until);
                if is_torn {
                    let path = self.layer.path(number);
                    tracing::info!(file = %path.display(), bytes = until, "a torn write is cut off the log of matches");
                    file.cut(until).map_err(|error| self.disk(error))?;
                }
                // A killed process may have left unsynced frames. They are about to be relied on, so they are synced
                // now.
                let synced = if is_last { file.sync() } else { Ok(()) };
                self.current = Some(file);
                synced.map_err(|error| self.disk(error))
            }
        }
    }

    fn scan(&mut self, number: u32, file: &dyn LayerFile, is_last: bool) -> Result<SegmentContent, OpenError> {
        let damaged = |layer: &dyn Layer, at| OpenError::Damaged { file: layer.path(number), at };
        let disk = |error| OpenError::Disk { folder: self.layer.folder(), source: error };
        let mut header = [0; HEADER_BYTES];
        let reader: &dyn ReadAt = file;
        let has_header = read_exact(reader, &mut header, 0).map_err(disk)?;
        if !has_header || header != frame::header(MAGIC, number.into()) {
            let is_unfinished = is_last && !Frames::new(reader, 0).finds_mark().map_err(disk)?;
            return if is_unfinished { Ok(SegmentContent::Nothing) } else { Err(damaged(&*self.layer, 0)) };
        }
        let mut frames = Frames::new(reader, HEADER_BYTES as u64);
        loop {
            let until = frames.offset();
            match frames.next().map_err(disk)? {
                Next::End => return Ok(SegmentContent::Frames { until, is_torn: false }),
                Next::Bad if is_last && !frames.finds_mark().map_err(disk)? => {
                    return Ok(SegmentContent::Frames { until, is_torn: true });
                }
                Next::Bad => return Err(damaged(&*self.layer, until)),
                Next::Frame(frame) => {
                    let bytes = u32::try_from(frame.len()).unwrap_or(u32::MAX);
                    let span = Span { segment: number, offset: u32::try_from(until).unwrap_or(u32::MAX), bytes };
                    let is_sound = match frame.kind {
                        Kind::Record => {
                            self.kept.back_mut().into_iter().for_each(|segment| segment.needed += 1);
                            self.index.push(frame.partition, frame.number, span)
                        }
                        Kind::Trim => {
                            self.index.trim(frame.partition, frame.number, forget(&mut self.kept));
                            true
                        }
                        Kind::Mark => frame.number == until,
                        _ => false,
                    };
                    if !is_sound {
                        return Err(damaged(&*self.layer, until));
                    }
                }
            }
        }
    }

    /// Begins a segment, unless the current one is empty.
    fn begin(&mut self) -> io::Result<()> {
        let last = self.kept.back().copied();
        if last.is_some_and(|last| last.bytes == HEADER_BYTES as u64) {
            return Ok(());
        }
        let number = last.map_or(0, |last| last.number + 1);
        let mut file = self.layer.create(number)?;
        file.write_at(0, &frame::header(MAGIC, number.into()))?;
        file.sync()?;
        self.layer.sync()?;
        self.kept.push_back(Segment { number, bytes: HEADER_BYTES as u64, needed: 0 });
        self.current = Some(file);
        Ok(())
    }

    /// Writes a batch and syncs it. `Ok` means that the batch will survive a loss of power. After an error nothing may
    /// be written before [`Self::repair`], since the content of the file is uncertain.
    pub(super) fn write(&mut self, batch: &mut Batch) -> io::Result<()> {
        let bytes = batch.bytes.len() as u64;
        if self.kept.back().is_some_and(|segment| segment.bytes + bytes > self.segment_bytes) {
            self.begin()?;
        }
        let (Some(file), Some(segment)) = (&mut self.current, self.kept.back_mut()) else {
            return Err(io::Error::other("an earlier write has failed"));
        };
        let mut mark = Vec::with_capacity(MARK_BYTES);
        frame::write_mark(&mut mark, segment.bytes);
        batch.bytes[..MARK_BYTES].copy_from_slice(&mark);
        file.write_at(segment.bytes, &batch.bytes)?;
        file.sync()?;
        let start = segment.bytes;
        segment.bytes += bytes;
        segment.needed += batch.entries.len() as u64;
        let fits = |number: u64| u32::try_from(number).unwrap_or(u32::MAX);
        for entry in &batch.entries {
            let (offset, bytes) = (fits(start + entry.offset as u64), fits(entry.bytes as u64));
            self.index.push(entry.partition, entry.number, Span { segment: segment.number, offset, bytes });
        }
        for (partition, before) in &batch.trims {
            self.index.trim(*partition, *before, forget(&mut self.kept));
        }
        Ok(())
    }

    /// Cuts off the remains of a failed write, and begins a new segment.
    pub(super) fn repair(&mut self) -> io::Result<()> {
        if let Some(segment) = self.kept.back().copied() {
            let mut file = self.layer.open(segment.number)?;
            file.cut(segment.bytes)?;
            file.sync()?;
            self.current = Some(file);
        }
        // A new segment whose creation had failed half-way is made anew.
        self.begin()
    }

    /// Removes the oldest segments up to the first with a record that is needed.
    pub(super) fn remove_unneeded(&mut self) -> io::Result<()> {
        while self.kept.len() > 1 && self.kept.front().is_some_and(|segment| segment.needed == 0) {
            if let Some(segment) = self.kept.front() {
                match self.layer.remove(segment.number) {
                    // An earlier attempt removed the file, but failed to sync the folder.
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    outcome => outcome?,
                }
            }
            // The folder is synced after each removal, so that a crash never leaves a gap between segments.
            self.layer.sync()?;
            self.kept.pop_front();
        }
        Ok(())
    }

    /// All records of a partition.
    pub(super) fn records(&self, partition: u16) -> io::Result<Vec<Bytes>> {
        let spans = self.index.spans(partition);
        let mut records = Vec::with_capacity(spans.len());
        let mut open: Option<(u32, Box<dyn LayerFile>)> = None;
        for span in spans {
            let file = match open.take() {
                Some((number, file)) if number == span.segment => file,
                _ => self.layer.open(span.segment)?,
            };
            let mut bytes = vec![0; usize::try_from(span.bytes).unwrap_or(usize::MAX)];
            let is_there = read_exact(&*file, &mut bytes, span.offset.into())?;
            let Some(frame) = frame::parse(&bytes).filter(|_| is_there) else {
                let path = self.layer.path(span.segment);
                return Err(io::Error::other(format!("{} is damaged at byte {}", path.display(), span.offset)));
            };
            records.push(frame.payload);
            open = Some((span.segment, file));
        }
        Ok(records)
    }

    /// Number of segments, and their bytes.
    pub(super) fn size(&self) -> (u64, u64) {
        (self.kept.len() as u64, self.kept.iter().map(|segment| segment.bytes).sum())
    }

    fn disk(&self, source: io::Error) -> OpenError {
        OpenError::Disk { folder: self.layer.folder(), source }
    }
}

/// Returns a function that counts one record of a segment as no longer needed.
fn forget(kept: &mut VecDeque<Segment>) -> impl FnMut(u32) {
    let first = kept.front().map_or(0, |segment| segment.number);
    move |number| {
        let place = usize::try_from(number.wrapping_sub(first)).unwrap_or(usize::MAX);
        kept.get_mut(place).into_iter().for_each(|segment| segment.needed = segment.needed.saturating_sub(1));
    }
}

/// Fills `bytes` from an offset. Answers `false` if the file ends before.
pub(super) fn read_exact(file: &dyn ReadAt, bytes: &mut [u8], offset: u64) -> io::Result<bool> {
    let mut at = 0;
    while at < bytes.len() {
        match file.read_at(&mut bytes[at..], offset + at as u64)? {
            0 => return Ok(false),
            read => at += read,
        }
    }
    Ok(true)
}
