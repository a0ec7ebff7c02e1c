//! Frames of records in files and messages. Each has its length and a checksum, so that a torn frame is recognised.
//!
//! A file begins with a header that names its kind. Numbers are little-endian.

use std::io;

use bytes::Bytes;
use muster_live::matches::RECORD_BYTES_MAX;

/// Bytes of a frame before its payload: checksum (4), length (4), kind (1), partition (2), number (8). The checksum
/// covers everything after it.
pub(crate) const HEAD_BYTES: usize = 19;

/// Bytes of a file's header: kind and version (8), number of the file (8), checksum (4).
pub(crate) const HEADER_BYTES: usize = 20;

/// Payload of a [`Kind::Mark`], long enough that no other bytes look like it.
const MARK: [u8; 16] = *b"\x9fmuster mark\r\n\x1a\x00";

/// Smallest number of bytes that are read ahead at a time.
const WINDOW_BYTES: usize = 256 * 1024;

/// Kind of a frame. The number in the frame's head means something else for each.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A record; the number is that of the record in its partition.
    Record,
    /// A trim without payload: records of the partition before the number are not needed any more.
    Trim,
    /// Begins a batch in a file; the number is the batch's offset. Everything before the mark had been synced.
    Mark,
    /// A message by which an owner takes a log over; the number is the epoch.
    Claim,
    /// Begins a message with records of one owner; the number is the epoch.
    Batch,
    /// The beginning of a record that is cut into pieces over several messages.
    Head,
    /// A piece between the beginning and the end of such a record.
    Middle,
    /// The end of such a record.
    Tail,
    /// The end of a recording; the number counts its records.
    End,
}

impl Kind {
    fn byte(self) -> u8 {
        match self {
            Self::Record => 1,
            Self::Trim => 2,
            Self::Mark => 3,
            Self::Claim => 4,
            Self::Batch => 8,
            Self::End => 9,
            Self::Head => 5,
            Self::Middle => 6,
            Self::Tail => 7,
        }
    }

    fn of(byte: u8) -> Option<Self> {
        match byte {
            1 => Some(Self::Record),
            2 => Some(Self::Trim),
            3 => Some(Self::Mark),
            4 => Some(Self::Claim),
            8 => Some(Self::Batch),
            9 => Some(Self::End),
            5 => Some(Self::Head),
            6 => Some(Self::Middle),
            7 => Some(Self::Tail),
            _ => None,
        }
    }
}

/// A frame that was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Frame {
    pub(crate) kind: Kind,
    pub(crate) partition: u16,
    pub(crate) number: u64,
    pub(crate) payload: Bytes,
}

impl Frame {
    /// Bytes of the frame in a file.
    pub(crate) fn len(&self) -> usize {
        HEAD_BYTES + self.payload.len()
    }
}

/// Appends a frame to `out`.
pub(crate) fn write(out: &mut Vec<u8>, kind: Kind, partition: u16, number: u64, payload: &[u8]) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    // Payloads are never longer than `RECORD_BYTES_MAX`.
    out.extend_from_slice(&u32::try_from(payload.len()).unwrap_or(u32::MAX).to_le_bytes());
    out.push(kind.byte());
    out.extend_from_slice(&partition.to_le_bytes());
    out.extend_from_slice(&number.to_le_bytes());
    out.extend_from_slice(payload);
    let checksum = crc32fast::hash(&out[start + 4..]);
    out[start..start + 4].copy_from_slice(&checksum.to_le_bytes());
}

/// Appends the mark of a batch that lies at `offset` of its file.
pub(crate) fn write_mark(out: &mut Vec<u8>, offset: u64) {
    write(out, Kind::Mark, 0, offset, &MARK);
}

/// Bytes of a mark.
pub(crate) const MARK_BYTES: usize = HEAD_BYTES + MARK.len();

/// A file's header.
pub(crate) fn header(magic: [u8; 8], number: u64) -> [u8; HEADER_BYTES] {
    let mut header = [0; HEADER_BYTES];
    header[..8].copy_from_slice(&magic);
    header[8..16].copy_from_slice(&number.to_le_bytes());
    let checksum = crc32fast::hash(&header[..16]);
    header[16..].copy_from_slice(&checksum.to_le_bytes());
    header
}

/// A source of bytes with random access. A read of zero bytes means that the source ends there.
pub(crate) trait ReadAt {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize>;
}

/// Result of reading on in a file.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Next {
    Frame(Frame),
    /// The file ends after a complete frame.
    End,
    /// The following bytes are not a complete frame.
    Bad,
}

impl<F: ReadAt + ?Sized> ReadAt for &F {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        (**self).read_at(bytes, offset)
    }
}

/// Reads the frames of a file one after the other.
#[derive(Debug)]
pub(crate) struct Frames<F> {
    file: F,
    /// Offset of the next frame.
    offset: u64,
    /// Bytes that were read ahead; the first `at` of them are used up.
    window: Vec<u8>,
    at: usize,
}

impl<F: ReadAt> Frames<F> {
    /// A reader that begins at this offset.
    pub(crate) fn new(file: F, offset: u64) -> Self {
        Self { file, offset, window: Vec::new(), at: 0 }
    }

    /// Offset of the next frame.
    pub(crate) fn offset(&self) -> u64 {
        self.offset
    }

    /// Reads the next frame.
    ///
    /// # Errors
    /// Errors of the file.
    pub(crate) fn next(&mut self) -> io::Result<Next> {
        let available = self.fill(HEAD_BYTES)?;
        if available == 0 {
            return Ok(Next::End);
        }
        let Some(length) = length(&self.window[self.at..]) else { return Ok(Next::Bad) };
        if self.fill(HEAD_BYTES + length)? < HEAD_BYTES + length {
            return Ok(Next::Bad);
        }
        let Some(frame) = parse(&self.window[self.at..self.at + HEAD_BYTES + length]) else { return Ok(Next::Bad) };
        self.at += frame.len();
        self.offset += frame.len() as u64;
        Ok(Next::Frame(frame))
    }

    /// Whether a mark follows anywhere. If so, everything before the mark had been synced, so a bad frame here is
    /// damage and not a torn write: no mark ever follows a torn write.
    ///
    /// # Errors
    /// Errors of the file.
    pub(crate) fn finds_mark(&mut self) -> io::Result<bool> {
        loop {
            self.fill(WINDOW_BYTES)?;
            let window = &self.window[self.at..];
            let is_mark = |at: usize| {
                let frame = window.get(at..at + MARK_BYTES).and_then(parse);
                frame.is_some_and(|frame| frame.kind == Kind::Mark && frame.number == self.offset + at as u64)
            };
            let starts = window.len().saturating_sub(MARK_BYTES - 1);
            if (0..starts).any(|at| window[at + HEAD_BYTES] == MARK[0] && is_mark(at)) {
                return Ok(true);
            }
            if starts == 0 {
                return Ok(false);
            }
            self.at += starts;
            self.offset += starts as u64;
        }
    }

    /// Reads ahead until `bytes` bytes are there. Answers the number that are there, fewer only at the end of the file.
    fn fill(&mut self, bytes: usize) -> io::Result<usize> {
        while self.window.len() - self.at < bytes {
            self.window.drain(..self.at);
            self.at = 0;
            let before = self.window.len();
            self.window.resize(before + WINDOW_BYTES.max(bytes - before), 0);
            let read = self.file.read_at(&mut self.window[before..], self.offset + before as u64);
            self.window.truncate(before + read.as_ref().copied().unwrap_or(0));
            if read? == 0 {
                break;
            }
        }
        Ok(self.window.len() - self.at)
    }
}

/// Length of the payload according to the frame's head; `None` if it cannot be right.
fn length(bytes: &[u8]) -> Option<usize> {
    let length = u32::from_le_bytes(bytes.get(4..8)?.try_into().ok()?);
    let length = usize::try_from(length).ok()?;
    (bytes.len() >= HEAD_BYTES && length <= RECORD_BYTES_MAX).then_some(length)
}

/// The frame at the beginning of `bytes`, if it is complete and intact.
pub(crate) fn first(bytes: &[u8]) -> Option<Frame> {
    bytes.get(..HEAD_BYTES + length(bytes)?).and_then(parse)
}

/// The frame that is exactly these bytes, if it is intact.
pub(crate) fn parse(bytes: &[u8]) -> Option<Frame> {
    let (checksum, rest) = bytes.split_at_checked(4)?;
    let is_whole = crc32fast::hash(rest).to_le_bytes() == checksum;
    if !is_whole || length(bytes)? != bytes.len() - HEAD_BYTES {
        return None;
    }
    let kind = Kind::of(rest[4])?;
    let partition = u16::from_le_bytes([rest[5], rest[6]]);
    let number = u64::from_le_bytes(rest[7..15].try_into().ok()?);
    let payload = &bytes[HEAD_BYTES..];
    if kind == Kind::Mark && payload != MARK {
        return None;
    }
    Some(Frame { kind, partition, number, payload: Bytes::copy_from_slice(payload) })
}

#[cfg(test)]
mod tests {
    use muster_testenv::fuzz::Fuzz;

    use super::*;

    impl ReadAt for Vec<u8> {
        fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
            let rest = self.get(usize::try_from(offset).expect("small")..).unwrap_or_default();
            // Short reads are allowed, as with files.
            let count = rest.len().min(bytes.len()).min(100_000);
            bytes[..count].copy_from_slice(&rest[..count]);
            Ok(count)
        }
    }

    fn frames(file: &Vec<u8>) -> (Vec<Frame>, Next, u64) {
        let mut reading = Frames::new(file, 0);
        let mut frames = Vec::new();
        loop {
            match reading.next().expect("readable") {
                Next::Frame(frame) => frames.push(frame),
                end => return (frames, end, reading.offset()),
            }
        }
    }

    #[test]
    fn frames_are_read_as_they_were_written() {
        let mut file = Vec::new();
        write_mark(&mut file, 0);
        let large = vec![7; 3 * WINDOW_BYTES + 11];
        write(&mut file, Kind::Record, 1_023, 5, &large);
        write(&mut file, Kind::Trim, 3, u64::MAX, b"");
        write(&mut file, Kind::Record, 3, 0, b"");
        let (frames, end, offset) = frames(&file);
        assert_eq!((end, offset), (Next::End, file.len() as u64));
        let got: Vec<_> = frames.iter().map(|frame| (frame.kind, frame.partition, frame.number)).collect();
        let expect = [(Kind::Mark, 0, 0), (Kind::Record, 1_023, 5), (Kind::Trim, 3, u64::MAX), (Kind::Record, 3, 0)];
        assert_eq!(got, expect);
        assert_eq!(frames[1].payload, large);
    }

    #[test]
    fn what_is_cut_or_changed_anywhere_is_bad_from_there_on() {
        let mut file = Vec::new();
        write(&mut file, Kind::Record, 1, 1, b"one");
        let first = file.len();
        write(&mut file, Kind::Record, 1, 2, b"two");
        for cut in first + 1..file.len() {
            let (frames, end, offset) = frames(&file[..cut].to_vec());
            assert_eq!((frames.len(), end, offset), (1, Next::Bad, first as u64), "cut at {cut}");
        }
        for at in first..file.len() {
            let mut changed = file.clone();
            changed[at] ^= 0x10;
            let (frames, end, offset) = frames(&changed);
            assert_eq!((frames.len(), end, offset), (1, Next::Bad, first as u64), "changed at {at}");
        }
        file.truncate(first);
        file.resize(first + 1_000, 0);
        assert_eq!(frames(&file).1, Next::Bad, "zeros");
    }

    #[test]
    fn a_mark_is_found_wherever_it_is_and_nowhere_else() {
        let check = |at: usize, said: u64, expect: bool| {
            let mut file = vec![MARK[0]; at];
            write_mark(&mut file, said);
            file.extend_from_slice(b"behind");
            assert_eq!(Frames::new(&file, 0).finds_mark().expect("readable"), expect, "{at} said {said}");
        };
        for at in [0, 1, 77, WINDOW_BYTES - 1, WINDOW_BYTES, WINDOW_BYTES + 20, 5 * WINDOW_BYTES - 9] {
            check(at, at as u64, true);
            check(at, at as u64 + 1, false);
        }
        assert!(!Frames::new(&vec![MARK[0]; 2 * WINDOW_BYTES], 0).finds_mark().expect("readable"));
        assert!(!Frames::new(&Vec::new(), 0).finds_mark().expect("readable"));
    }

    #[test]
    fn damaged_files_are_read_up_to_the_damage() {
        let mut file = Vec::new();
        write_mark(&mut file, 0);
        write(&mut file, Kind::Record, 3, 5, b"a record");
        write(&mut file, Kind::Trim, 3, 5, b"");
        let second = file.len() as u64;
        write_mark(&mut file, second);
        write(&mut file, Kind::Record, 3, 6, &[7; 100]);
        let tried = Fuzz::new("match-log").seeds([file]).run(|input| {
            let input = input.to_vec();
            let (read, end, offset) = frames(&input);
            let mut again = Vec::new();
            for frame in &read {
                write(&mut again, frame.kind, frame.partition, frame.number, &frame.payload);
            }
            let offset = usize::try_from(offset).expect("small");
            assert_eq!(again, input[..offset]);
            assert_eq!(end == Next::End, offset == input.len());
            assert_eq!(first(&input).as_ref(), read.first());
            let mut reading = Frames::new(&input, offset as u64);
            let finds = reading.finds_mark().expect("readable");
            let marks = (offset..input.len()).any(|at| {
                let mut mark = Vec::new();
                write_mark(&mut mark, at as u64);
                input[at..].starts_with(&mark)
            });
            assert_eq!(finds, marks);
            !read.is_empty()
        });
        assert!(tried.accepted > tried.inputs / 20, "{tried:?}");
    }
}
