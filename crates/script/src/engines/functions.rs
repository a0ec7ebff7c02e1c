//! Functions and hooks of one language, behind a trait that does not name the types of the language.

use muster_api::game::GameFunctions;
use muster_api::hooks::Hooks;

use super::{AnyProgram, LocalFuture, typed};
use crate::functions::Functions;
use crate::machine::Machine;
use crate::machine::registered::Names;

/// The functions and hooks of one shard's code in one language.
pub trait EngineFunctions: GameFunctions + Hooks {
    /// Shows the names that the modules have registered. Only [`renew`](Self::renew) changes them.
    fn see_names(&self, see: &mut dyn FnMut(&Names));

    /// Has this program take the calls that begin from now on. Calls under way end in the program in which they began.
    fn renew<'a>(&'a self, program: &AnyProgram, generation: u64) -> LocalFuture<'a, ()>;

    /// Starts machines before calls need them, if the language has this.
    fn warm_up(&self) -> LocalFuture<'_, ()>;

    /// Runs scheduled functions that are due, if this shard is the one that runs them. Answers when the next one is
    /// due, in seconds since 1970.
    fn turn_schedules(&self, is_mine: bool) -> Option<i64>;
}

impl<M: Machine> EngineFunctions for Functions<M> {
    fn see_names(&self, see: &mut dyn FnMut(&Names)) {
        see(self.inner.pool().names());
    }

    fn renew<'a>(&'a self, program: &AnyProgram, generation: u64) -> LocalFuture<'a, ()> {
        Box::pin(self.renew(typed(program), generation))
    }

    fn warm_up(&self) -> LocalFuture<'_, ()> {
        Box::pin(async {
            if M::STARTS_EARLY {
                self.warm_up().await;
            }
        })
    }

    fn turn_schedules(&self, is_mine: bool) -> Option<i64> {
        self.turn_schedules(is_mine)
    }
}
