//! The model: the expected results of a world's actions, derived from what sessions did and were told. Never looks into
//! a plane.

mod filling;
mod ledger;
mod messages;
mod mirror;
mod order;
mod tie;
mod watching;

pub use filling::{Filling, PartFilled};
pub use ledger::Ledger;
pub use messages::{Audience, Messages, Receiver};
pub use mirror::{Mirror, SeenMember, Values, seat_of};
pub use order::{Order, Place};
pub use tie::{Op, Period, State, Tie};
pub use watching::Watching;
