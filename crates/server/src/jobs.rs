//! Which periodic jobs this server does: all of them on its own, those that it owns as a node of a cluster.

use std::sync::Arc;

use muster_domain::ports::terms::Term;

/// Says since which epoch this node owns a job, by the job's name; `None` while another does.
pub type Ownership = Arc<dyn Fn(&str) -> Option<u64> + Send + Sync>;

/// See the module.
#[derive(Clone)]
pub struct Jobs(Option<Ownership>);

impl Jobs {
    /// Of a server on its own.
    pub fn of_one_server() -> Self {
        Self(None)
    }

    /// Of a node.
    pub fn of_node(ownership: Ownership) -> Self {
        Self(Some(ownership))
    }

    /// Under what a job is done here now, if it is. What it writes carries the term.
    pub fn term(&self, job: &'static str) -> Option<Option<Term>> {
        let Some(ownership) = &self.0 else { return Some(None) };
        let epoch = i64::try_from(ownership(job)?).ok()?;
        Some(Some(Term { job, epoch }))
    }
}
