//! Epochs of the owners of periodic jobs, by which the database fences their writes.

/// The ownership of a job under which its owner writes, where a job may have several owners. The database takes a write
/// under an epoch only while no later owner of the job has written: an owner that was replaced while it stood still
/// changes nothing any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobEpoch {
    /// The job.
    pub job: &'static str,
    /// The epoch since which the job has its owner.
    pub epoch: i64,
}
