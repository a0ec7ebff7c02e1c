//! Durable matches, and recordings: what a match did is written down call by call, so that whoever has it can do it again
//! and has the same match.
//!
//! A callback follows from the state, what it is called with, and what the host answers. The [`journal`] keeps these before
//! anything of the callback leaves; within a callback the clock stands, and randomness, ids too, follow from the match's
//! secret seed and the number of the call ([`fate`]). Now and then the state is kept as a whole, and the match itself goes
//! on with what was kept, so that tables lie in it as they will in the one that is restored.

pub mod fate;
pub(crate) mod history;
pub(crate) mod journal;
pub mod life;
pub mod logs;
pub mod parts;
pub(crate) mod record;
pub mod recording;
pub(crate) mod seed;
pub mod tape;
pub mod term;
