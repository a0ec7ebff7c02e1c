//! Durations of the membership protocol. All nodes must have the same values, so they are not configuration keys.

use muster_live::Millis;

/// Time to live of a lease, by the registry's clock.
pub const LEASE_MS: Millis = 6_000;
/// Time between renewals of a lease.
pub const RENEW_EVERY_MS: Millis = 2_000;
/// A node is an island when this time has passed since it sent its last successful renewal, by its own clock. The rest
/// of the lease allows for clocks that differ.
pub const ISLAND_AFTER_MS: Millis = 5_000;
/// A node is an island when this time has passed since its connection was lost and no view has confirmed it. The value
/// is below [`PROBE_AGAIN_MS`], so the node stops before others are sure that it does not listen.
pub const DISCONNECTED_ISLAND_AFTER_MS: Millis = 150;
/// Time between steps of a node that owns partitions, so that it notices its own pauses.
pub const STEP_EVERY_MS: Millis = 100;
/// A gap between steps above this counts as a pause of the process.
pub const PAUSE_MS: Millis = 150;
/// A node that is awake is told of the loss of its connection within this time.
pub const TOLD_WITHIN_MS: Millis = 80;
/// Time for which the answer to a write is awaited. A write without an answer by then may have happened or not.
pub const ANSWER_WITHIN_MS: Millis = 1_500;
/// Pause before a failed write is tried again.
pub const RETRY_MS: Millis = 250;
/// Time between probes of a node's neighbour.
pub const PROBE_EVERY_MS: Millis = 500;
/// Time between probes after one found nobody.
pub const PROBE_AGAIN_MS: Millis = 250;
/// Time to come back for several nodes that seem gone at once: the fault may be the bus's.
pub const SEVERAL_SILENT_MS: Millis = 3_000;
/// Time that a new member has to begin listening.
pub const SETTLE_MS: Millis = 2_000;
/// Time for which a node that had trouble of its own judges no other node to be gone: the others may have had the same
/// trouble.
pub const GRACE_MS: Millis = 3_000;
/// Delay of changes that any node may make: the first node in the view makes them at once, each further node this much
/// later if they are still needed.
pub const RANK_DELAY_MS: Millis = 200;
/// A node proposes its own confirmation after this time for each node before it, unless another change came first.
pub const CONFIRM_DELAY_MS: Millis = 20;
/// Time that the members give each other, after the registry lost the view, to tell which views they know. The member
/// that knows the latest stores it again.
pub const GATHER_AFTER_LOSS_MS: Millis = 2_000;
/// Number of epochs that are left out when a view is stored again: more views than a member can have missed.
pub const EPOCHS_AFTER_LOSS: u64 = 1_000;
/// Partitions that are handed over within this time are recorded in one view.
pub const GATHER_MS: Millis = 20;
