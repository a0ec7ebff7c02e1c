//! Rooms: made freely or from templates, found, filled and talked in; and the lobby, which shows them.
//!
//! Each room has one owner, the owner of its stream. One desk per template places players who ask for any seat, and one
//! directory lists the rooms. The rules are pure: ids and random numbers come in with requests, time is an argument,
//! and effects go out as data. The rules know no wire format: JSON values pass through as text.

mod carry;
mod desk;
mod directory;
mod effect;
mod holds;
pub mod limits;
mod lobby;
mod message;
mod news;
mod owner;
mod password;
mod path;
mod recovery;
mod room;
mod seats;
mod state;
mod template;
#[cfg(test)]
mod tests;
mod variables;

pub use carry::{
    CarriedAttempts, CarriedDesk, CarriedFilling, CarriedListed, CarriedListing, CarriedMember, CarriedMembers,
    CarriedRoom, CarriedRooms, CarriedSeat, CarriedValue, CarriedValues, CarriedView,
};
pub use directory::check_view;
pub use effect::*;
pub use message::*;
pub use owner::{RoomStats, Rooms, RoomsConfig};
pub use password::PasswordDigest;
pub use path::RoomPath;
pub use state::{MemberState, RoomState, Summary};
pub use template::{DEFAULT_CAPACITY, DEFAULT_TEMPLATE, Template, Templates};
pub use variables::{Change, Delta, Named, Value};
