//! Refusals of a node that has no way to its cluster: messages and changes that it could not tell to players on other
//! nodes are not acknowledged. On a node that has a way, each of these checks is the look at one flag.

use muster_domain::{Error, ErrorKind, Result};
use muster_live::{Plane, StreamKey};

use crate::live::Live;

impl Live {
    /// Checks that something new may be made here: a room, a party, a match, a ticket.
    ///
    /// # Errors
    /// `Unavailable` on a node that has lost its cluster for now.
    pub fn claim(&self) -> Result<()> {
        let message = "This server has lost its cluster for now, and makes nothing new. Please try again in a moment.";
        self.refuse_on_island(message)
    }

    /// Checks that a change which players on any node may follow can be told to them.
    ///
    /// # Errors
    /// `Unavailable` on a node that has lost its cluster for now.
    pub(crate) fn may_tell_all(&self) -> Result<()> {
        self.refuse_on_island(
            "This server has lost its cluster for now, and cannot tell other servers. Please try again in a moment.",
        )
    }

    fn refuse_on_island(&self, message: &'static str) -> Result<()> {
        if !self.look(Plane::is_island) {
            return Ok(());
        }
        self.step(|plane, _, _| plane.count_island_refusal());
        Err(Error::new(ErrorKind::Unavailable, message))
    }

    /// Checks that what is said on a stream reaches everybody there.
    ///
    /// # Errors
    /// `Unavailable` on a node that has lost its cluster for now, if another node owns the stream or has players there.
    pub async fn reaches(&self, stream: &StreamKey) -> Result<()> {
        if !self.look(Plane::is_island) || self.is_among_ourselves(stream).await {
            return Ok(());
        }
        self.refuse_on_island(
            "This server has lost its cluster for now, and others in here are on another server. Please try again in \
             a moment.",
        )
    }

    /// Whether this node owns a stream and all who are there.
    async fn is_among_ourselves(&self, stream: &StreamKey) -> bool {
        let (node, owner) = self.look(|plane| (plane.place().node(), plane.routes().owner(stream.partition())));
        if owner.node() != node {
            return false;
        }
        let present = self.list_stream(stream, usize::MAX).await;
        present.is_ok_and(|present| present.iter().all(|presence| presence.session.place.node() == node))
    }
}
