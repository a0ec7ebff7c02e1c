//! Rooms that players make, find and are placed in.

use super::super::{
    key::{Kind, Origin, at_least, honoured, number},
    template::RoomTemplate,
};

honoured! {
    /// Rooms and their templates.
    pub struct Rooms in "rooms." {
        /// Kinds of rooms that players are placed in and make rooms of, by name: `duel: {size: 2}`. Fields: `size`
        /// (`4`, or `3-8` for a random one), `spectators`, `path`, `empty_sec` (how long an empty room is kept),
        /// `life_sec` (how long a room is kept at all), `hidden` (in no listing), `owned` (false: nobody owns it),
        /// `recover` (in a cluster: it survives the crash of the node that owns it). A template named `default` always
        /// exists.
        templates: Vec<RoomTemplate> = "", Kind::Templates, Origin::Ours;
        /// Time for which a seat is held for a player who was placed and has not joined, in seconds.
        reservation_sec: u64 = "10", number(1, 600), Origin::Ours;
        /// Largest number of open rooms that one user has made.
        max_rooms_per_user: u32 = "10", at_least(1), Origin::Ours;
        /// Largest number of rooms that one shard keeps.
        max_rooms_per_shard: usize = "100000", at_least(1), Origin::Ours;
    }
}
