//! Planted bugs between links and their surroundings.

use bytes::Bytes;
use fastrand::Rng;
use muster_cluster::NodeNumber;
use muster_cluster::link::LinkOutput;
use muster_wire::link::{FrameKind, Header};

/// A planted bug.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// A batch is not handed on.
    LoseBatch,
    /// A batch is handed on twice.
    DoubleBatch,
    /// Two batches are handed on in the wrong order.
    SwapBatches,
    /// The end of a batch is cut off.
    CutBatch,
    /// A batch of a link that ended is handed on.
    LateBatch,
    /// A frame is sent with the number of the next one.
    Renumber,
    /// One direction acknowledges one frame more than arrived.
    InventAcknowledgement,
    /// One frame is lost each time it is sent.
    LoseForever,
    /// A node's timers stop.
    StopTime,
    /// A notice to a sender is lost: that its link became congested, or free again.
    MuteCongestion,
    /// A frame is sent while links are at rest.
    Babble,
}

impl Fault {
    /// All faults.
    pub const ALL: [Self; 11] = [
        Self::LoseBatch,
        Self::DoubleBatch,
        Self::SwapBatches,
        Self::CutBatch,
        Self::LateBatch,
        Self::Renumber,
        Self::InventAcknowledgement,
        Self::LoseForever,
        Self::StopTime,
        Self::MuteCongestion,
        Self::Babble,
    ];
}

/// The state of the planted fault. Faults strike once, at one of their first occasions; lasting faults go on from then.
pub struct Faults {
    fault: Option<Fault>,
    occasions: u32,
    /// Sender, receiver and number of the frame that was struck.
    struck: Option<(NodeNumber, NodeNumber, u64)>,
    kept: Option<(NodeNumber, NodeNumber, Bytes)>,
}

impl Faults {
    /// Plants this fault, or none. The seed decides the occasion at which the fault strikes.
    pub fn new(fault: Option<Fault>, seed: u64) -> Self {
        Self { fault, occasions: Rng::with_seed(seed).u32(1..=20), struck: None, kept: None }
    }

    fn strikes(&mut self, fault: Fault) -> bool {
        if self.fault != Some(fault) || self.occasions == 0 {
            return false;
        }
        self.occasions -= 1;
        self.occasions == 0
    }

    /// Lets the fault change a frame on its way; `None` if the frame is lost.
    pub fn frame(&mut self, frame: Bytes) -> Option<Bytes> {
        let Some(mut header) = Header::read(&frame) else { return Some(frame) };
        let of = (header.from, header.to, header.number);
        let has_batch = header.kind != FrameKind::Report;
        if has_batch && self.strikes(Fault::LoseForever)
            || self.struck.is_none() && self.strikes(Fault::InventAcknowledgement)
        {
            self.struck = Some(of);
        }
        if has_batch && self.strikes(Fault::Renumber) {
            header.number += 1;
        }
        match (self.fault, self.struck) {
            (Some(Fault::LoseForever), Some(struck)) if struck == of => return None,
            (Some(Fault::InventAcknowledgement), Some((from, to, _))) if (from, to) == (of.0, of.1) => {
                header.acknowledged += 1;
            }
            _ => {}
        }
        let mut changed = frame.to_vec();
        header.write(&mut changed);
        Some(changed.into())
    }

    /// Lets the fault change the output of a node's links.
    pub fn output(&mut self, me: NodeNumber, out: &mut LinkOutput) {
        if !out.batches.is_empty() {
            if self.strikes(Fault::LoseBatch) {
                out.batches.pop();
            } else if self.strikes(Fault::DoubleBatch) {
                out.batches.extend(out.batches.last().cloned());
            } else if self.strikes(Fault::CutBatch)
                && let Some((_, batch)) = out.batches.last_mut()
            {
                batch.truncate(batch.len() - 1);
            } else if self.fault == Some(Fault::LateBatch)
                && self.kept.is_none()
                && let Some((from, batch)) = out.batches.last()
            {
                self.kept = Some((me, *from, batch.clone()));
            }
        }
        if let [.., (from, one), (also_from, other)] = out.batches.as_mut_slice()
            && from == also_from
            && self.strikes(Fault::SwapBatches)
        {
            std::mem::swap(one, other);
        }
        if !out.congestion.is_empty() && self.strikes(Fault::MuteCongestion) {
            out.congestion.clear();
        }
    }

    /// A batch of a link that just ended, if the fault is that the batch is handed on all the same.
    pub fn after_end(&mut self, me: NodeNumber, peer: NodeNumber) -> Option<Bytes> {
        let (_, _, batch) = self.kept.take_if(|(at, from, _)| (*at, *from) == (me, peer))?;
        Some(batch)
    }

    /// Whether a node's timers have stopped.
    pub fn stops_time(&mut self, me: NodeNumber) -> bool {
        if self.struck.is_none() && self.strikes(Fault::StopTime) {
            self.struck = Some((me, me, 0));
        }
        self.fault == Some(Fault::StopTime) && self.struck == Some((me, me, 0))
    }

    /// Whether the fault is that a frame is sent at rest.
    pub fn babbles(&self) -> bool {
        self.fault == Some(Fault::Babble)
    }
}
