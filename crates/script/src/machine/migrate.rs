//! Migration of matches to newer code: a machine of the old code gives the state of a match, and a machine of the new
//! code goes on with it.

use std::sync::Arc;

use muster_live::matches::{Call, MatchId};

use crate::value::Value;

/// The part of a language in migrations. By default matches of a language stay with their code.
#[expect(async_fn_in_trait, reason = "machines stay on the thread of their shard")]
pub trait Migrating {
    /// The state of a match as a value.
    ///
    /// # Errors
    /// A sentence that says why the state cannot leave its machine.
    fn state(&self, _id: MatchId) -> Result<Value, Arc<str>> {
        Err("this language's matches stay with their code".into())
    }

    /// Takes in a match of earlier code, with the state that its handler's `match_migrate` makes of its former one.
    /// Answers whether the handler has such a function. `call` is the next call of the match.
    ///
    /// # Errors
    /// A sentence that says why that failed. Nothing of the match stays in this machine then.
    async fn adopt(&self, _call: &Call, _state: Value, _from_generation: u64) -> Result<bool, Arc<str>> {
        Ok(false)
    }
}
