//! Payloads of functions of rooms and the lobby. Each struct is the payload of one function.

use std::collections::BTreeMap;
use std::sync::Arc;

use muster_domain::{Error, Result, UserId};
use muster_live::rooms::{self as live, PasswordDigest, RoomPath, Value};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// Names with JSON values.
pub(super) type Values = BTreeMap<String, Box<RawValue>>;

/// A room's id as text.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Room(pub live::RoomId);

impl TryFrom<String> for Room {
    type Error = &'static str;

    fn try_from(text: String) -> std::result::Result<Self, Self::Error> {
        text.parse().map(Self).map_err(|()| "a room is named by its id, a UUID")
    }
}

/// A user's id as text.
#[derive(Clone, Copy, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct User(pub UserId);

impl TryFrom<String> for User {
    type Error = &'static str;

    fn try_from(text: String) -> std::result::Result<Self, Self::Error> {
        text.parse().map(Self).map_err(|_| "a user is named by its id, a UUID")
    }
}

/// `muster.rooms.create`
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Create {
    /// Name of the template, which gives everything that is left out here.
    pub template: Option<String>,
    pub name: String,
    pub path: Option<String>,
    pub capacity: Option<u32>,
    pub spectators_max: Option<u32>,
    pub password: Option<String>,
    pub hidden: Option<bool>,
    /// Seconds for which the room is kept while it is empty.
    pub empty_sec: Option<u64>,
    /// Seconds for which the room is kept in any case.
    pub life_sec: Option<u64>,
    /// Whether the room survives the crash of the node that owns it.
    pub recover: Option<bool>,
    pub properties: Values,
    pub variables: Values,
    /// Whether the seat is only held, and not taken.
    pub reserve: bool,
}

/// `muster.rooms.join`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Join {
    pub room: Room,
    pub password: Option<String>,
    #[serde(default)]
    pub spectator: bool,
}

/// `muster.rooms.place`
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct PlaceRequest {
    pub template: Option<String>,
    pub size: Option<u32>,
    pub reserve: bool,
}

/// `muster.rooms.quick_join`
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct QuickJoin {
    pub path: String,
    pub filter: String,
    pub reserve: bool,
}

/// `muster.rooms.find`
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Find {
    pub path: String,
    pub filter: String,
    pub limit: Option<usize>,
    pub cursor: Option<String>,
}

/// `muster.rooms.leave`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Leave {
    pub room: Room,
}

/// `muster.rooms.get`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Get {
    pub room: Room,
}

/// `muster.rooms.set` and `muster.rooms.set_player`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Set {
    pub room: Room,
    #[serde(default)]
    pub set: Values,
    #[serde(default)]
    pub unset: Vec<String>,
    #[serde(default)]
    pub private: bool,
    /// The version that the change is meant for.
    pub version: Option<u64>,
}

impl Set {
    pub(super) fn change(self) -> Result<live::Change> {
        let change = change(self.set, self.unset)?;
        Ok(live::Change { private: self.private, expected_version: self.version, ..change })
    }
}

/// `muster.rooms.send`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Send {
    pub room: Room,
    pub data: String,
}

/// `muster.rooms.send_to`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct SendTo {
    pub room: Room,
    pub users: Vec<User>,
    pub data: String,
}

/// `muster.rooms.kick`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Kick {
    pub room: Room,
    pub user: User,
    #[serde(default)]
    pub bar_sec: u64,
}

/// `muster.rooms.update`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Update {
    pub room: Room,
    pub name: Option<String>,
    pub open: Option<bool>,
    /// Null takes the password away.
    #[serde(default, deserialize_with = "given")]
    pub password: Option<Option<String>>,
    pub capacity: Option<u32>,
    pub spectators_max: Option<u32>,
    #[serde(default)]
    pub set_properties: Values,
    #[serde(default)]
    pub unset_properties: Vec<String>,
}

/// `muster.rooms.spectate`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Spectate {
    pub room: Room,
    pub spectator: bool,
}

/// `muster.lobby.subscribe`
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Subscribe {
    pub path: String,
    pub filter: String,
    pub interval_ms: Option<u64>,
    pub rooms_max: Option<usize>,
}

/// `muster.lobby.unsubscribe`
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Unsubscribe {
    pub lobby: String,
}

/// Reads a member that may be null, so that null differs from a member that is left out.
fn given<'de, D: Deserializer<'de>>(from: D) -> std::result::Result<Option<Option<String>>, D::Error> {
    Option::deserialize(from).map(Some)
}

/// A change of values.
pub(super) fn change(set: Values, unset: Vec<String>) -> Result<live::Change> {
    let value = |(name, json): (String, Box<RawValue>)| Ok((Arc::from(name), Value::new(json.get())?));
    let set = set.into_iter().map(value).collect::<Result<_>>()?;
    Ok(live::Change { set, unset: unset.into_iter().map(Arc::from).collect(), ..live::Change::default() })
}

/// A room's password; `None` if an empty text or nothing is given.
pub(super) fn password(room: live::RoomId, given: Option<String>) -> Result<Option<PasswordDigest>> {
    given.filter(|text| !text.is_empty()).map(|text| PasswordDigest::new(room, &text)).transpose()
}

/// The path and the filter of a search for rooms.
pub(super) fn find(path: &str, filter: String) -> Result<live::Find> {
    Ok(live::Find { path: RoomPath::new(path)?, filter: filter.into(), ..live::Find::default() })
}

/// Seconds as the rules count time, if they do not overflow it.
pub(super) fn milliseconds(seconds: u64, name: &str) -> Result<u64> {
    seconds.checked_mul(1_000).ok_or_else(|| Error::invalid(format!("\"{name}\" is too long.")))
}
