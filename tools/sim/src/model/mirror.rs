//! A room as somebody in it knows it: the answer to coming in, and every event since, as our own client applies them.

use std::collections::BTreeMap;
use std::sync::Arc;

use muster_domain::UserId;
use muster_domain::ids::SessionId;
use muster_live::Presence;
use muster_live::rooms::{Delta, Event, Named, RoomState, Summary, Value};

/// Values by name.
pub type Values = BTreeMap<Arc<str>, Value>;

/// Somebody in the room.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Whose session it is.
    pub user: UserId,
    /// None while watching.
    pub seat: Option<u32>,
    /// As far as they may be seen.
    pub variables: Values,
}

/// See the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mirror {
    /// A name for players' eyes.
    pub name: Arc<str>,
    /// Number of seats.
    pub capacity: u32,
    /// Most spectators.
    pub spectators_max: u32,
    /// Whether it has a password.
    pub locked: bool,
    /// Whether it takes players.
    pub open: bool,
    /// Who owns it.
    pub owner: Option<UserId>,
    /// What the owner says of it.
    pub properties: Values,
    /// Its variables.
    pub variables: Values,
    /// Their version.
    pub version: u64,
    /// Who is in it.
    pub members: BTreeMap<SessionId, Seen>,
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
    /// From what whoever comes in is told.
    pub fn new(state: &RoomState) -> Self {
        let members = state.members.iter().map(|member| {
            let (seat, variables) = (member.seat, values(&member.variables));
            (member.who.session_id, Seen { user: member.who.user_id, seat, variables })
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

    /// An event.
    pub fn told(&mut self, event: &Event) {
        match event {
            Event::Variables(_, delta) => {
                merge(&mut self.variables, delta);
                self.version = delta.version;
            }
            Event::PlayerVariables(who, delta) => {
                if let Some(member) = self.members.get_mut(&who.session_id) {
                    merge(&mut member.variables, delta);
                }
            }
            Event::Seat(who, seat) => {
                if let Some(member) = self.members.get_mut(&who.session_id) {
                    member.seat = *seat;
                }
            }
            Event::Owner(owner) => self.owner = *owner,
            Event::Updated(summary) => {
                (self.name, self.capacity) = (summary.name.clone(), summary.capacity);
                (self.spectators_max, self.locked, self.open) = (summary.spectators_max, summary.locked, summary.open);
                (self.owner, self.properties) = (summary.owner, values(&summary.properties));
                self.variables = values(&summary.variables);
            }
            Event::Message(..) | Event::Private(..) | Event::Out(_) | Event::Closed(_) => {}
        }
    }

    /// Somebody went, somebody came.
    pub fn came_and_went(&mut self, joins: &[Presence], leaves: &[Presence]) {
        for presence in leaves {
            self.members.remove(&presence.session_id);
        }
        for presence in joins {
            let new = || Seen { user: presence.user_id, seat: seat_of(presence), variables: Values::new() };
            // One's own coming may be told before it is answered, and what was shown may be told once more.
            self.members.entry(presence.session_id).or_insert_with(new);
        }
    }

    /// The same without anybody's own variables: those of whoever came unnoticed are not known.
    pub fn without_own(mut self) -> Self {
        self.members.values_mut().for_each(|member| member.variables.clear());
        self
    }
}
