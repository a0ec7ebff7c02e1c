//! Tickets: players who come together, the properties that they offer, and the query that others must fit. Nothing here
//! searches.

use std::collections::BTreeMap;
use std::sync::Arc;

use muster_domain::Timestamp;
use muster_domain::error::{Error, Result};
use muster_domain::ids::SessionId;
use muster_domain::query::{Document, Query};

use super::checks::Profile;
use crate::session::Millis;

/// Limit on the properties of a ticket, texts and numbers together.
pub const PROPERTIES_MAX: usize = 128;
/// Limit on the fields that one ticket widens.
pub const WIDENINGS_MAX: usize = 8;

/// A ticket's public id, made by the caller.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TicketId(pub Arc<str>);

/// The owner of a ticket, who may remove the ticket. The tickets of one owner are counted together.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum TicketOwner {
    /// A single player.
    Session(SessionId),
    /// A party, by its public id.
    Party(Arc<str>),
    /// Game code or an operator, under a name of their choice. `matchmaker.max_tickets` does not limit such an owner.
    Server(Arc<str>),
}

/// Identity of a member. Two tickets with a member in common are not matched with each other.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum MemberKey {
    /// A connected player.
    Session(SessionId),
    /// A member of a server's ticket, who needs no connection, under a name that the owner chose.
    Server(Arc<str>),
}

/// One player of a ticket.
#[derive(Clone, Debug, PartialEq)]
pub struct TicketMember<M> {
    /// The member's identity.
    pub key: MemberKey,
    /// Data that the caller keeps of the member.
    pub presence: M,
}

/// Rule by which a ticket's demand on a number relaxes while the ticket waits.
///
/// In the ticket's second pass, ranges over `field` in the ticket's query are `step` wider on either side, in its third
/// pass twice that, and so on up to `limit`. Terms with `-` never relax. The ticket searches at least until the limit
/// is reached. The demands of other tickets on this one do not relax.
#[derive(Clone, Debug, PartialEq)]
pub struct Widening {
    /// The field, for example `properties.rank`.
    pub field: String,
    /// The step per pass; more than 0.
    pub step: f64,
    /// Limit on the widening of a range; not less than `step`.
    pub limit: f64,
}

/// A ticket as it is requested.
#[derive(Clone, Debug, PartialEq)]
pub struct NewTicket<M> {
    /// The id, which no other ticket has.
    pub id: TicketId,
    /// The owner.
    pub owner: TicketOwner,
    /// All players on the ticket; they stay together.
    pub members: Vec<TicketMember<M>>,
    /// The smallest number of players of a match; at least 2.
    pub min_count: u32,
    /// The largest number of players of a match.
    pub max_count: u32,
    /// The number of players of a match must be a multiple of this, which divides both counts. 1 allows any.
    pub count_multiple: u32,
    /// The query that other tickets must fit.
    pub query: String,
    /// Texts that others may ask about, as `properties.<name>`.
    pub string_properties: BTreeMap<String, String>,
    /// Numbers that others may ask about, as `properties.<name>`.
    pub numeric_properties: BTreeMap<String, f64>,
    /// Rules by which the query relaxes; empty if it does not.
    pub widening: Vec<Widening>,
    /// Moment at which the ticket was made.
    pub created_at: Timestamp,
}

/// A ticket that waits, or that was matched.
#[derive(Debug)]
pub struct Ticket<M> {
    /// The public id.
    pub id: TicketId,
    /// The owner.
    pub owner: TicketOwner,
    /// All players on the ticket.
    pub members: Vec<TicketMember<M>>,
    /// The smallest number of players of a match.
    pub min_count: u32,
    /// The largest number of players of a match.
    pub max_count: u32,
    /// The number of players of a match must be a multiple of this.
    pub count_multiple: u32,
    /// Texts that others may ask about.
    pub string_properties: BTreeMap<String, String>,
    /// Numbers that others may ask about.
    pub numeric_properties: BTreeMap<String, f64>,
    /// Moment at which the ticket was made.
    pub created_at: Timestamp,
    /// Moment at which the ticket was added. A moment before this node's clock began is negative, and wraps around.
    pub(super) added_at: Millis,
    /// Number of the first pass that the ticket takes part in.
    pub(super) first_pass: u64,
    /// The query after widening.
    pub(super) query: Query,
    /// The properties that queries of others ask about.
    pub(super) document: Document,
    /// The demands of the query, as the index of demands has them.
    pub(super) demands: Document,
    /// Document and query, translated into numbers while the ticket waits.
    pub(super) profile: Profile,
    /// Set if the query widens.
    pub(super) widening: Option<Box<WideningPlan>>,
    /// Number of steps by which the query was widened.
    pub(super) widened: u32,
    /// Whether the last search met a limit, so that another search may find more.
    pub(super) was_cut: bool,
    /// Identities of all members, in ascending order.
    keys: Box<[MemberKey]>,
}

/// A query that widens.
#[derive(Debug)]
pub(super) struct WideningPlan {
    /// The query as it was requested.
    pub(super) original: Query,
    /// The fields that widen, and by how much.
    pub(super) fields: Vec<Widening>,
}

impl<M> Ticket<M> {
    pub(super) fn new(new: NewTicket<M>, first_pass: u64, now: Millis) -> Result<Self> {
        check(&new)?;
        let query = Query::parse(&new.query)?;
        let mut keys: Vec<_> = new.members.iter().map(|member| member.key.clone()).collect();
        keys.sort_unstable();
        if keys.windows(2).any(|pair| pair[0] == pair[1]) {
            return Err(Error::invalid("A member stands twice on the ticket: name everybody once."));
        }
        let document = document(&new);
        let widening = (!new.widening.is_empty())
            .then(|| Box::new(WideningPlan { original: query.clone(), fields: new.widening }));
        Ok(Self {
            document,
            demands: Document::new(),
            profile: Profile::default(),
            id: new.id,
            owner: new.owner,
            members: new.members,
            min_count: new.min_count,
            max_count: new.max_count,
            count_multiple: new.count_multiple,
            string_properties: new.string_properties,
            numeric_properties: new.numeric_properties,
            created_at: new.created_at,
            added_at: now,
            first_pass,
            query,
            widening,
            widened: 0,
            was_cut: false,
            keys: keys.into(),
        })
    }

    /// Time that the ticket has waited.
    pub(super) fn waited_ms(&self, now: Millis) -> Millis {
        // The difference is negative for a ticket that was added after the running pass began. Such a ticket has waited
        // 0 ms.
        Millis::try_from(now.wrapping_sub(self.added_at).cast_signed()).unwrap_or(0)
    }

    /// The party that owns the ticket; `None` if a player or a server does.
    pub fn party_id(&self) -> Option<&Arc<str>> {
        match &self.owner {
            TicketOwner::Party(party_id) => Some(party_id),
            TicketOwner::Session(_) | TicketOwner::Server(_) => None,
        }
    }

    /// Whether the ticket's only member owns it.
    pub(super) fn is_of_its_player(&self) -> bool {
        match (&self.owner, &*self.keys) {
            (TicketOwner::Session(owner), [MemberKey::Session(member)]) => owner == member,
            _ => false,
        }
    }

    /// The query after widening.
    pub fn query(&self) -> &Query {
        &self.query
    }

    /// Number of players on the ticket.
    pub fn size(&self) -> u32 {
        // A party has at most some hundreds of members.
        self.keys.len() as u32
    }

    pub(super) fn keys(&self) -> &[MemberKey] {
        &self.keys
    }

    /// Whether both tickets have a member or the party in common.
    pub(super) fn overlaps(&self, other: &Self) -> bool {
        if self.party_id().is_some() && self.party_id() == other.party_id() {
            return true;
        }
        if let ([key], [other]) = (&*self.keys, &*other.keys) {
            return key == other;
        }
        let (mut left, mut right) = (self.keys.iter().peekable(), other.keys.iter().peekable());
        while let (Some(a), Some(b)) = (left.peek(), right.peek()) {
            match a.cmp(b) {
                std::cmp::Ordering::Less => left.next(),
                std::cmp::Ordering::Greater => right.next(),
                std::cmp::Ordering::Equal => return true,
            };
        }
        false
    }

    /// Whether the query may still widen.
    pub(super) fn may_widen(&self) -> bool {
        let Some(plan) = self.widening.as_deref() else { return false };
        plan.fields.iter().any(|widening| widening.step * f64::from(self.widened) < widening.limit)
    }

    /// Number of terms that widening looks at, counted once for each field that widens.
    pub(super) fn terms_to_widen(&self) -> u32 {
        let fields = self.widening.as_deref().map_or(0, |plan| plan.fields.len());
        // A ticket has few fields that widen, and a query few terms.
        (fields * self.query.clauses().len()) as u32
    }

    /// Widens the original query by this many steps.
    pub(super) fn widen(&mut self, steps: u32) {
        let Some(plan) = self.widening.as_deref() else { return };
        self.widened = steps;
        self.query = plan.fields.iter().fold(plan.original.clone(), |query, widening| {
            query.widened(&widening.field, (widening.step * f64::from(steps)).min(widening.limit))
        });
    }
}

/// The properties that queries of others ask about.
fn document<M>(new: &NewTicket<M>) -> Document {
    let mut document = Document::new();
    for (name, text) in &new.string_properties {
        document.push(&["properties.", name].concat(), text.as_str());
    }
    for (name, number) in &new.numeric_properties {
        document.push(&["properties.", name].concat(), *number);
    }
    document.push("min_count", f64::from(new.min_count));
    document.push("max_count", f64::from(new.max_count));
    document.push("ticket", &*new.id.0);
    if let TicketOwner::Party(party_id) = &new.owner {
        document.push("party_id", &**party_id);
    }
    // The unit is nanoseconds, as in the original. A floating-point number is exact only to a few hundred nanoseconds.
    document.push("created_at", new.created_at.0 as f64 * 1_000.0);
    document
}

/// Checks all of a ticket except its query and the identities of its members.
fn check<M>(new: &NewTicket<M>) -> Result<()> {
    let refuse = |message: String| Err(Error::invalid(message));
    let (min, max, multiple) = (new.min_count, new.max_count, new.count_multiple);
    if new.members.is_empty() {
        return refuse("A ticket needs at least one member.".into());
    }
    if min < 2 {
        return refuse(format!("min_count is {min}: a match has at least 2 players."));
    }
    if max < min {
        return refuse(format!("max_count is {max} and min_count {min}: max_count must not be less."));
    }
    if multiple == 0 || !min.is_multiple_of(multiple) || !max.is_multiple_of(multiple) {
        return refuse(format!(
            "count_multiple is {multiple}: it must divide both min_count ({min}) and max_count ({max}) without a remainder."
        ));
    }
    if let Some(name) = new.string_properties.keys().find(|name| new.numeric_properties.contains_key(*name)) {
        return refuse(format!("The property \"{name}\" is both a text and a number: give one of them another name."));
    }
    if new.string_properties.len() + new.numeric_properties.len() > PROPERTIES_MAX {
        return refuse(format!("A ticket has at most {PROPERTIES_MAX} properties: leave some out."));
    }
    if let Some((name, _)) = new.numeric_properties.iter().find(|(_, number)| !number.is_finite()) {
        return refuse(format!("The property \"{name}\" is not a number."));
    }
    if new.widening.len() > WIDENINGS_MAX {
        return refuse(format!("A ticket widens at most {WIDENINGS_MAX} fields: leave some out."));
    }
    for Widening { field, step, limit } in &new.widening {
        if !(step.is_finite() && limit.is_finite() && *step > 0.0 && limit >= step) {
            return refuse(format!(
                "The field \"{field}\" widens by {step} up to {limit}: the step must be more than 0, the limit not less."
            ));
        }
    }
    Ok(())
}
