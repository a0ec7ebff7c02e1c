//! Owners of jobs, as the database fences them.

/// Under what a job's owner writes, where there may be several. The database takes a write under an epoch only while no
/// later one has written under the same name, so that an owner which was replaced while it stood still changes nothing
/// any more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Term {
    /// The job.
    pub job: &'static str,
    /// Since when it has this owner.
    pub epoch: i64,
}
