//! Matches that go over to newer code: what a machine of the old code says of one, and what one of the new makes of that.

use std::sync::Arc;

use muster_live::matches::{Call, MatchId};

use crate::value::Value;

/// What a language has to do for it; by default its matches stay with their code.
#[expect(async_fn_in_trait, reason = "machines stay on the thread of their shard")]
pub trait Migrating {
    /// The state of a match as a value.
    ///
    /// # Errors
    /// A sentence, when it has no form outside of its machine.
    fn state(&self, _id: MatchId) -> Result<Value, Arc<str>> {
        Err("this language's matches stay with their code".into())
    }

    /// A match of earlier code goes on here with the state that its handler's `match_migrate` makes of that one. Answers
    /// whether there is such a function. `call` is the one that it is called with next.
    ///
    /// # Errors
    /// A sentence, when that fails: nothing of the match is here then.
    async fn adopt(&self, _call: &Call, _state: Value, _from_generation: u64) -> Result<bool, Arc<str>> {
        Ok(false)
    }
}
