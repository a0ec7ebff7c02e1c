//! How long things take in a cluster. All nodes must have the same values; they are no configuration keys.

use muster_live::Millis;

/// A lease ends so long after the registry took it, by the registry's clock.
pub const LEASE_MS: Millis = 6_000;
/// It is renewed so long after it was renewed last.
pub const RENEW_EVERY_MS: Millis = 2_000;
/// So long after the last renewal was sent that succeeded, a node is an island, by its own clock. The rest of the lease
/// is for clocks that differ.
pub const ISLAND_AFTER_MS: Millis = 5_000;
/// So long after its connection was lost a node is an island, unless it was confirmed since. Less than
/// [`PROBE_AGAIN_MS`], so that it is one before others are sure that nobody listens.
pub const DISCONNECTED_ISLAND_AFTER_MS: Millis = 150;
/// A node that acts for what it owns takes a step so often, so that it knows of its own pauses.
pub const STEP_EVERY_MS: Millis = 100;
/// Without a step for so long it was halted.
pub const PAUSE_MS: Millis = 150;
/// A node that is awake is told of the loss of its connection within this time.
pub const TOLD_WITHIN_MS: Millis = 80;
/// A write that was not answered by then may have happened or not.
pub const ANSWER_WITHIN_MS: Millis = 1_500;
/// What failed is tried again after so long.
pub const RETRY_MS: Millis = 250;
/// A node looks after its neighbour so often.
pub const PROBE_EVERY_MS: Millis = 500;
/// And again so long after it found nobody.
pub const PROBE_AGAIN_MS: Millis = 250;
/// If more than one node has gone at once, the bus may be to blame: they have so long to come back.
pub const SEVERAL_SILENT_MS: Millis = 3_000;
/// A node that joined has so long until it must listen.
pub const SETTLE_MS: Millis = 2_000;
/// After trouble of its own a node takes nobody for gone for so long: others may have had the same.
pub const GRACE_MS: Millis = 3_000;
/// What any node may do for all, the first does at once, and each further one so much later if it is still to be done.
pub const RANK_DELAY_MS: Millis = 200;
/// A node confirms that it is still in the view after this much for each before it, unless another change did.
pub const CONFIRM_DELAY_MS: Millis = 20;
/// What is handed over within this time is said in one view.
pub const GATHER_MS: Millis = 20;
