//! A room as one of its members knows it: the answer to the member's join and all events since, applied in the way of
//! our client.

use std::collections::BTreeMap;
use std::sync::Arc;

use muster_domain::UserId;
use muster_domain::ids::SessionId;
use muster_live::Presence;
use muster_live::rooms::{Delta, Named, RoomEvent, RoomState, Summary, Value};

/// Values by name.
pub type Values = BTreeMap<Arc<str>, Value>;

/// A member as another member sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SeenMember {
    /// The member's user.
    pub user: UserId,
    /// The seat; `None` for spectators.
    pub seat: Option<u32>,
    /// The variables that the observer may see.
    pub variables: Values,
}

/// The state of a room as one member sees it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mirror {
    /// The name that players see.
    pub name: Arc<str>,
    /// Number of seats.
    pub capacity: u32,
    /// The largest number of spectators.
    pub spectators_max: u32,
    /// Whether the room has a password.
    pub locked: bool,
    /// Whether the room takes players without a reservation.
    pub open: bool,
    /// The player who owns the room.
    pub owner: Option<UserId>,
    /// Values that the owner set.
    pub properties: Values,
    /// Values that members set.
    pub variables: Values,
    /// Version of the variables.
    pub version: u64,
    /// The members by their session.
    pub members: BTreeMap<SessionId, SeenMember>,
}

fn values(named: &[Named]) -> Values {
    named.iter().cloned().collect()
}

fn merge(values: &mut Values, delta: &Delta) {
    values.retain(|name, _| !delta.unset.contains(name));
    values.extend(delta.set.iter().cloned());
}

/// The seat that a presence shows.
pub fn seat_of(presence: &Presence) -> Option<u32> {
    presence.status.as_deref().and_then(|status| status.parse().ok())
}

impl Mirror {
    /// The view of a member that just joined.
    pub fn new(state: &RoomState) -> Self {
        let members = state.members.iter().map(|member| {
            let (seat, variables) = (member.seat, values(&member.variables));
            (member.who.session_id, SeenMember { user: member.who.user_id, seat, variables })
        });
        let Summary { name, capacity, spectators_max, locked, open, owner, properties, variables, .. } = &state.summary;
        Self {
            name: name.clone(),
            capacity: *capacity,
            spectators_max: *spectators_max,
            locked: *locked,
            open: *open,
            owner: *owner,
            properties: values(properties),
            variables: values(variables),
            version: state.version,
            members: members.collect(),
        }
    }

    /// Applies an event.
    pub fn told(&mut self, event: &RoomEvent) {
        match event {
            RoomEvent::Variables(_, delta) => {
                merge(&mut self.variables, delta);
                self.version = delta.version;
            }
            RoomEvent::PlayerVariables(who, delta) => {
                if let Some(member) = self.members.get_mut(&who.session_id) {
                    merge(&mut member.variables, delta);
                }
            }
            RoomEvent::Seat(who, seat) => {
                if let Some(member) = self.members.get_mut(&who.session_id) {
                    member.seat = *seat;
                }
            }
            RoomEvent::Owner(owner) => self.owner = *owner,
            RoomEvent::Updated(summary) => {
                (self.name, self.capacity) = (summary.name.clone(), summary.capacity);
                (self.spectators_max, self.locked, self.open) = (summary.spectators_max, summary.locked, summary.open);
                (self.owner, self.properties) = (summary.owner, values(&summary.properties));
                self.variables = values(&summary.variables);
            }
            RoomEvent::Message(..) | RoomEvent::Private(..) | RoomEvent::Out(_) | RoomEvent::Closed(_) => {}
        }
    }

    /// Applies leaves, then joins.
    pub fn came_and_went(&mut self, joins: &[Presence], leaves: &[Presence]) {
        for presence in leaves {
            self.members.remove(&presence.session_id);
        }
        for presence in joins {
            let new = || SeenMember { user: presence.user_id, seat: seat_of(presence), variables: Values::new() };
            // The event of a member's own join may come before the answer to it, and members in the answer may be told
            // again.
            self.members.entry(presence.session_id).or_insert_with(new);
        }
    }

    /// The same room without the variables of members. A member's variables are unknown if its join was told together
    /// with others.
    pub fn without_own(mut self) -> Self {
        self.members.values_mut().for_each(|member| member.variables.clear());
        self
    }
}
