//! The periodic jobs of this server: a server on its own runs all of them, a node of a cluster those that it owns.

use std::sync::Arc;

use muster_domain::ports::job_epochs::JobEpoch;

/// Answers the epoch since which this node owns a job, by the job's name; `None` while another node owns it.
pub type Ownership = Arc<dyn Fn(&str) -> Option<u64> + Send + Sync>;

/// Decides which jobs run here.
#[derive(Clone)]
pub struct Jobs(Option<Ownership>);

impl Jobs {
    /// A server on its own: it runs every job.
    pub fn of_one_server() -> Self {
        Self(None)
    }

    /// A node of a cluster: it runs the jobs that it owns.
    pub fn of_node(ownership: Ownership) -> Self {
        Self(Some(ownership))
    }

    /// The job's ownership, if this server runs the job now. The inner option is `None` on a server on its own. Every
    /// write of the job carries the ownership.
    pub fn epoch(&self, job: &'static str) -> Option<Option<JobEpoch>> {
        let Some(ownership) = &self.0 else { return Some(None) };
        let epoch = i64::try_from(ownership(job)?).ok()?;
        Some(Some(JobEpoch { job, epoch }))
    }
}
