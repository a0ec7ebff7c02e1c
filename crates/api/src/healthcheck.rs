//! The answer to clients that ask whether the server is there.

use muster_domain::Result;

use crate::context::Context;

/// Answers that the process serves requests. Whether the database answers is readiness, which the gateway tells.
pub async fn answer(_context: &Context<'_>, (): ()) -> Result<()> {
    Ok(())
}
