//! What must come of a world's actions, worked out without the plane: from what sessions did and were told.

mod messages;
mod order;
mod tie;

pub use messages::{Audience, Messages, Receiver};
pub use order::{Order, Place};
pub use tie::{Op, Period, State, Tie};
