//! Batches between nodes (`proto/node.proto`). A batch is written piece by piece. It is read as a whole, and then
//! message by message.

use bytes::Bytes;
pub use prost::DecodeError as Damage;
use prost::Message as _;

use crate::node::{Batch, Message};

/// Most bytes of one batch.
pub const BATCH_BYTES_MAX: usize = 64 * 1024 * 1024;
/// Version of the format that is written here.
pub const VERSION: u32 = 1;
/// The lowest version of a node that can read this format.
pub const READABLE_FROM: u32 = 1;

/// The keys of fields 3 and 4 of a batch; both have a length in front of their bytes.
const BLOB_KEY: u8 = 3 << 3 | 2;
const MESSAGE_KEY: u8 = 4 << 3 | 2;

/// The reason why a batch cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum BatchError {
    /// The bytes are no batch.
    #[error("a batch of another node is damaged: {0}")]
    Malformed(#[from] Damage),
    /// The batch has more than [`BATCH_BYTES_MAX`] bytes.
    #[error("a batch of another node has {0} bytes, and at most {BATCH_BYTES_MAX} are read")]
    TooLarge(usize),
    /// The batch does not say in which version of the format it was written.
    #[error("a batch of another node has no version")]
    NoVersion,
    /// The batch needs a node that reads a newer version of the format.
    #[error("a batch of another node is of version {0}, and this node reads up to {VERSION}: update this node")]
    TooNew(u32),
}

/// Appends the head of a batch.
pub fn begin(out: &mut Vec<u8>) {
    let head = Batch { version: VERSION, readable_from: READABLE_FROM, ..Batch::default() };
    written(head.encode(out));
}

/// Appends a blob. The first blob of a batch is number 1.
pub fn append_blob(out: &mut Vec<u8>, blob: &[u8]) {
    out.push(BLOB_KEY);
    written(prost::encode_length_delimiter(blob.len(), out));
    out.extend_from_slice(blob);
}

/// Appends a message.
pub fn append_message(out: &mut Vec<u8>, message: &Message) {
    out.push(MESSAGE_KEY);
    written(message.encode_length_delimited(out));
}

/// Reads a batch. Its blobs and its messages, which stay undecoded, share the memory of `bytes`.
///
/// # Errors
/// See [`BatchError`].
pub fn read(bytes: Bytes) -> Result<Batch, BatchError> {
    if bytes.len() > BATCH_BYTES_MAX {
        return Err(BatchError::TooLarge(bytes.len()));
    }
    let batch = Batch::decode(bytes)?;
    match batch {
        Batch { version: 0, .. } => Err(BatchError::NoVersion),
        Batch { readable_from, .. } if readable_from > VERSION => Err(BatchError::TooNew(readable_from)),
        batch => Ok(batch),
    }
}

/// Decodes one of a batch's messages. The message does not share the memory of `bytes`.
///
/// # Errors
/// When the bytes are damaged.
pub fn read_message(bytes: &[u8]) -> Result<Message, Damage> {
    Message::decode(bytes)
}

/// Checks that encoding succeeded. It fails only when a buffer of fixed size is too small.
fn written(result: Result<(), prost::EncodeError>) {
    debug_assert!(result.is_ok(), "a vector grows");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::node::{Listen, message::What};

    #[test]
    fn what_is_written_piece_by_piece_is_one_batch() {
        let message =
            |shard| Message { from_shard: shard, what: Some(What::Listen(Listen::default())), ..Message::default() };
        let mut out = Vec::new();
        begin(&mut out);
        append_message(&mut out, &message(1));
        append_blob(&mut out, b"blob");
        append_blob(&mut out, &[7; 200]);
        append_message(&mut out, &message(2));
        let blobs = vec![Bytes::from_static(b"blob"), Bytes::from(vec![7; 200])];
        let batch = read(out.into()).unwrap();
        assert_eq!((batch.version, batch.readable_from, batch.blobs), (1, 1, blobs));
        let messages: Vec<_> = batch.messages.iter().map(|message| read_message(message)).collect();
        assert_eq!(messages, [Ok(message(1)), Ok(message(2))]);
    }

    #[test]
    fn a_batch_that_cannot_be_understood_says_why() {
        let read_head = |version, readable_from| {
            let head = Batch { version, readable_from, ..Batch::default() };
            read(head.encode_to_vec().into()).map(|_| ())
        };
        assert_eq!(read_head(VERSION + 7, VERSION), Ok(()));
        assert_eq!(read_head(VERSION + 7, VERSION + 1), Err(BatchError::TooNew(VERSION + 1)));
        assert_eq!(read(Bytes::new()), Err(BatchError::NoVersion));
        assert!(matches!(read(Bytes::from_static(&[MESSAGE_KEY, 9])), Err(BatchError::Malformed(_))));
        let too_large = vec![0; BATCH_BYTES_MAX + 1];
        assert_eq!(read(too_large.into()), Err(BatchError::TooLarge(BATCH_BYTES_MAX + 1)));
    }
}
