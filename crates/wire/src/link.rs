//! Frames of the links between nodes: a header of fixed length and the bytes of a batch, or a report of missing frames.
//! Numbers are little-endian. Frames of other versions are refused. What a seal is, is the links' business: here is
//! only the bit that tells of it.

/// Length of a frame's header, in bytes.
pub const HEADER_BYTES: usize = 36;

/// Most ranges of missing frames in one report.
pub const MISSING_RANGES_MAX: usize = 64;

/// Version of the form.
const VERSION: u8 = 1;
/// Bit beside the version in a frame that ends with a seal. Releases that know no seals refuse such a frame, as one of
/// another version.
const SEALED: u8 = 0x80;
/// Length of a range in a report, in bytes.
pub const RANGE_BYTES: usize = 8;

/// The content of a frame behind its header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum FrameKind {
    /// A whole batch, or the last part of one.
    Whole = 0,
    /// A part of a batch, which the next frame continues.
    Part = 1,
    /// A report: ranges of missing frames, possibly none. A report has no frame number.
    Report = 2,
}

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The content behind the header.
    pub kind: FrameKind,
    /// The sender's node number.
    pub from: u32,
    /// The receiver's node number.
    pub to: u32,
    /// Both nodes' incarnations combined in one number, so that the nodes of a cluster that was set up anew ignore
    /// frames of the earlier cluster.
    pub token: u64,
    /// The frame's number on its link, from 1; 0 for a report.
    pub number: u64,
    /// The number up to which all frames of the opposite direction have arrived.
    pub acknowledged: u64,
}

/// A range of missing frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Missing {
    /// Number of the first missing frame.
    pub first: u64,
    /// Number of missing frames.
    pub count: u32,
}

impl Header {
    /// Writes the header over the first [`HEADER_BYTES`] bytes of a frame. A shorter frame is left unchanged.
    pub fn write(&self, frame: &mut [u8]) {
        let Some(head) = frame.first_chunk_mut::<HEADER_BYTES>() else { return };
        head[0] = VERSION;
        head[1] = self.kind as u8;
        head[2..4].fill(0);
        head[4..8].copy_from_slice(&self.from.to_le_bytes());
        head[8..12].copy_from_slice(&self.to.to_le_bytes());
        head[12..20].copy_from_slice(&self.token.to_le_bytes());
        head[20..28].copy_from_slice(&self.number.to_le_bytes());
        head[28..36].copy_from_slice(&self.acknowledged.to_le_bytes());
    }

    /// The header of a frame; `None` if the version is another, or the bytes are no frame.
    #[must_use]
    pub fn read(frame: &[u8]) -> Option<Self> {
        let head = frame.first_chunk::<HEADER_BYTES>()?;
        let kind = match head[1] {
            0 => FrameKind::Whole,
            1 => FrameKind::Part,
            2 => FrameKind::Report,
            _ => return None,
        };
        let header = Self {
            kind,
            from: u32_at(head, 4),
            to: u32_at(head, 8),
            token: u64_at(head, 12),
            number: u64_at(head, 20),
            acknowledged: u64_at(head, 28),
        };
        (head[0] & !SEALED == VERSION && (kind == FrameKind::Report) == (header.number == 0)).then_some(header)
    }
}

/// Whether a frame says that it ends with a seal.
#[must_use]
pub fn has_seal(frame: &[u8]) -> bool {
    frame.first().is_some_and(|version| version & SEALED != 0)
}

/// Notes in a frame that a seal will end it.
pub fn mark_sealed(frame: &mut [u8]) {
    if let Some(version) = frame.first_mut() {
        *version |= SEALED;
    }
}

/// Appends ranges to a report until it has `report_bytes_max` bytes or [`MISSING_RANGES_MAX`] ranges. A range's first
/// frame is written as its distance from `acknowledged`, in 32 bits.
pub fn write_missing(
    report: &mut Vec<u8>,
    report_bytes_max: usize,
    acknowledged: u64,
    missing: impl Iterator<Item = Missing>,
) {
    let fitting = report_bytes_max.saturating_sub(report.len()) / RANGE_BYTES;
    for Missing { first, count } in missing.take(fitting.min(MISSING_RANGES_MAX)) {
        let ahead = u32::try_from(first.saturating_sub(acknowledged)).unwrap_or(u32::MAX);
        report.extend_from_slice(&ahead.to_le_bytes());
        report.extend_from_slice(&count.to_le_bytes());
    }
}

/// The ranges of missing frames in the body of a report.
pub fn read_missing(header: &Header, body: &[u8]) -> impl Iterator<Item = Missing> {
    let acknowledged = header.acknowledged;
    body.chunks_exact(RANGE_BYTES).take(MISSING_RANGES_MAX).map(move |range| Missing {
        first: acknowledged.saturating_add(u64::from(u32_at(range, 0))),
        count: u32_at(range, 4),
    })
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u32::from_le_bytes(*bytes))
}

fn u64_at(bytes: &[u8], at: usize) -> u64 {
    bytes.get(at..).and_then(<[u8]>::first_chunk).map_or(0, |bytes| u64::from_le_bytes(*bytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEADER: Header =
        Header { kind: FrameKind::Part, from: 1, to: 0x0403_0201, token: 7, number: 9, acknowledged: u64::MAX };

    #[test]
    fn a_header_has_this_form() {
        let mut frame = [0xAA; HEADER_BYTES + 1];
        HEADER.write(&mut frame);
        let mut expected = vec![1, 1, 0, 0, 1, 0, 0, 0, 1, 2, 3, 4, 7, 0, 0, 0, 0, 0, 0, 0, 9, 0, 0, 0, 0, 0, 0, 0];
        expected.extend([0xFF; 8]);
        expected.push(0xAA);
        assert_eq!(frame.as_slice(), expected);
        assert_eq!(Header::read(&frame), Some(HEADER));
    }

    #[test]
    fn what_is_no_frame_is_refused() {
        let mut frame = [0; HEADER_BYTES];
        HEADER.write(&mut frame);
        for len in 0..HEADER_BYTES {
            assert_eq!(Header::read(&frame[..len]), None);
        }
        for (at, byte) in [(0, 0), (0, 2), (1, 3), (1, 2)] {
            let mut wrong = frame;
            wrong[at] = byte;
            assert_eq!(Header::read(&wrong), None, "byte {at} as {byte}");
        }
    }

    #[test]
    fn a_mark_of_a_seal_changes_nothing_else() {
        let mut frame = [0; HEADER_BYTES];
        HEADER.write(&mut frame);
        assert!(!has_seal(&frame) && !has_seal(&[]));
        mark_sealed(&mut frame);
        assert!(has_seal(&frame));
        assert_eq!(Header::read(&frame), Some(HEADER));
    }

    #[test]
    fn a_report_names_what_is_missing_and_no_more_than_fits() {
        let header = Header { kind: FrameKind::Report, number: 0, acknowledged: 100, ..HEADER };
        let missing: Vec<Missing> = (0..100).map(|n| Missing { first: 101 + 3 * n, count: 2 }).collect();
        let mut report = vec![0; HEADER_BYTES];
        header.write(&mut report);
        let check = |report_bytes_max, count| {
            let mut report = report.clone();
            write_missing(&mut report, report_bytes_max, header.acknowledged, missing.iter().copied());
            assert!(report.len() <= report_bytes_max);
            let header = Header::read(&report).expect("a header");
            assert_eq!(read_missing(&header, &report[HEADER_BYTES..]).collect::<Vec<_>>(), missing[..count]);
        };
        check(usize::MAX, MISSING_RANGES_MAX);
        check(HEADER_BYTES + 3 * RANGE_BYTES - 1, 2);
    }
}
