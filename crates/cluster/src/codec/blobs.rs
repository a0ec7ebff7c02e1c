//! Blobs of a batch: frames and payloads that messages hold by reference, each written once however many messages hold
//! it.

use std::collections::HashMap;
use std::sync::Arc;

use bytes::Bytes;
use muster_live::Encoding;
use muster_live::plane::Frames;
use muster_live::stream::{Payload, SharedPayload};
use muster_wire::{batch, node};

use super::form::{CodecError, Result, required, wrong};
use crate::link::Batch;

/// The smallest and the largest number of bytes that a batch has room for from the beginning.
const ROOM_MIN: usize = 256;
const ROOM_MAX: usize = 64 * 1024;

type Map<K, V> = HashMap<K, V, foldhash::fast::RandomState>;

/// A payload from another node, in both encodings.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Encoded {
    /// For sockets of text frames.
    pub json: Bytes,
    /// For sockets of binary frames.
    pub protobuf: Bytes,
}

impl Payload for Encoded {
    fn write(&self, encoding: Encoding, out: &mut Vec<u8>) {
        out.extend_from_slice(match encoding {
            Encoding::Json => &self.json,
            Encoding::Protobuf => &self.protobuf,
        });
    }
}

/// A batch in the making.
#[derive(Debug, Default)]
pub(super) struct Writer {
    batch: Batch,
    blobs: u32,
    /// Numbers of frames that were written, by the address and length of their bytes. The bytes are kept, so that no
    /// others can come to lie there.
    frames: Map<(usize, usize), (u32, Bytes)>,
    /// References to payloads that were written, by the address of the payload, which is kept for the same reason.
    payloads: Map<usize, (node::Frames, SharedPayload)>,
    scratch: Vec<u8>,
}

impl Writer {
    pub(super) fn len(&self) -> usize {
        self.batch.len()
    }

    /// Takes the batch out. The next one begins with as much room as this one came to need.
    pub(super) fn take(&mut self) -> Batch {
        self.blobs = 0;
        self.frames.clear();
        self.payloads.clear();
        let room = self.batch.len().clamp(ROOM_MIN, ROOM_MAX);
        std::mem::replace(&mut self.batch, Batch::with_capacity(room))
    }

    pub(super) fn message(&mut self, message: &node::Message) {
        self.begin();
        self.batch.append(|out| batch::append_message(out, message));
    }

    fn begin(&mut self) {
        if self.batch.is_empty() {
            self.batch.append(batch::begin);
        }
    }

    fn blob(&mut self, blob: &[u8]) -> u32 {
        self.begin();
        self.batch.append(|out| batch::append_blob(out, blob));
        self.blobs += 1;
        self.blobs
    }

    /// Writes frames that may stand in other messages of the batch too.
    pub(super) fn frames(&mut self, frames: &Frames) -> node::Frames {
        let mut number = |frame: &Option<Bytes>| frame.as_ref().map_or(0, |frame| self.frame(frame));
        node::Frames { json: number(&frames.json), protobuf: number(&frames.protobuf) }
    }

    fn frame(&mut self, frame: &Bytes) -> u32 {
        let address = (frame.as_ptr().addr(), frame.len());
        if let Some((number, _)) = self.frames.get(&address) {
            return *number;
        }
        let number = self.blob(frame);
        self.frames.insert(address, (number, frame.clone()));
        number
    }

    /// Writes a payload that may stand in other messages of the batch too.
    pub(super) fn shared_payload(&mut self, payload: &SharedPayload) -> node::Frames {
        let address = Arc::as_ptr(payload).cast::<()>().addr();
        if let Some((frames, _)) = self.payloads.get(&address) {
            return *frames;
        }
        let frames = self.payload(&**payload);
        self.payloads.insert(address, (frames, payload.clone()));
        frames
    }

    /// Writes a payload of one message.
    pub(super) fn payload(&mut self, payload: &dyn Payload) -> node::Frames {
        let mut write = |encoding| {
            let mut scratch = std::mem::take(&mut self.scratch);
            scratch.clear();
            payload.write(encoding, &mut scratch);
            let number = self.blob(&scratch);
            self.scratch = scratch;
            number
        };
        node::Frames { json: write(Encoding::Json), protobuf: write(Encoding::Protobuf) }
    }
}

/// The blobs of a batch that arrived.
pub(super) struct Blobs {
    blobs: Vec<Bytes>,
    /// The latest payload that was made of blobs, since pushes of one payload follow each other.
    last: Option<(node::Frames, Arc<Encoded>)>,
}

impl Blobs {
    /// The blobs of a batch of `batch_bytes` bytes. No blob keeps more than twice its own bytes alive: some wait long
    /// for a slow socket.
    pub(super) fn new(mut blobs: Vec<Bytes>, batch_bytes: usize) -> Self {
        for blob in &mut blobs {
            if blob.len() < batch_bytes / 2 {
                *blob = Bytes::copy_from_slice(blob);
            }
        }
        Self { blobs, last: None }
    }

    fn get(&self, number: u32, field: &'static str) -> Result<Option<Bytes>> {
        let Some(index) = number.checked_sub(1) else { return Ok(None) };
        let blob = self.blobs.get(index as usize).cloned();
        blob.map(Some).ok_or_else(|| wrong(field, format!("the batch has no blob {number}")))
    }

    pub(super) fn frames(&self, wire: Option<node::Frames>) -> Result<Frames> {
        let wire = wire.unwrap_or_default();
        Ok(Frames { json: self.get(wire.json, "frames.json")?, protobuf: self.get(wire.protobuf, "frames.protobuf")? })
    }

    pub(super) fn payload(&mut self, wire: Option<node::Frames>) -> Result<SharedPayload> {
        let wire = required(wire, "payload")?;
        if let Some((_, payload)) = self.last.as_ref().filter(|(frames, _)| *frames == wire) {
            return Ok(payload.clone());
        }
        let get = |number, field| self.get(number, field)?.ok_or(CodecError::Missing(field));
        let (json, protobuf) = (get(wire.json, "payload.json")?, get(wire.protobuf, "payload.protobuf")?);
        let payload = Arc::new(Encoded { json, protobuf });
        self.last = Some((wire, payload.clone()));
        Ok(payload)
    }
}
