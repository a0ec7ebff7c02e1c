//! Templates: settings for rooms of one kind. Templates come from the configuration, and never change while the server
//! runs; the template `default` always exists.

use std::collections::BTreeMap;
use std::sync::Arc;

use muster_domain::{Error, ErrorKind, Result};

use super::limits::{CAPACITY_MAX, EMPTY_MS_MAX, SPECTATORS_MAX};
use super::message::Creation;
use super::path::RoomPath;
use super::variables::Change;
use crate::session::Millis;

/// Name of the template that always exists.
pub const DEFAULT_TEMPLATE: &str = "default";

/// Number of seats of a room if no number is asked for.
pub const DEFAULT_CAPACITY: u32 = 8;

/// Settings for rooms of one kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// Name by which players ask for the template.
    pub name: Arc<str>,
    /// Least and greatest number of seats; each room has one number in this range.
    pub sizes: (u32, u32),
    /// The largest number of spectators.
    pub spectators_max: u32,
    /// Path of all rooms of the template.
    pub path: RoomPath,
    /// Time for which an empty room is kept.
    pub empty_ms: Millis,
    /// Time for which a room is kept in any case; `None` for no limit.
    pub life_ms: Option<Millis>,
    /// Whether rooms of the template are in no listing and no lobby.
    pub hidden: bool,
    /// Whether the first player of a room becomes its owner; otherwise rooms of the template have no owner.
    pub owned: bool,
    /// Whether rooms of the template survive a crash of the node that owns them.
    pub recover: bool,
}

impl Template {
    /// A template with all settings at their defaults.
    pub fn new(name: &str) -> Self {
        Self {
            name: Arc::from(name),
            sizes: (DEFAULT_CAPACITY, DEFAULT_CAPACITY),
            spectators_max: 0,
            path: RoomPath::default(),
            empty_ms: 0,
            life_ms: None,
            hidden: false,
            owned: true,
            recover: false,
        }
    }

    /// Checks that rooms can be made from the template.
    ///
    /// # Errors
    /// `InvalidArgument` with the setting that is wrong.
    pub fn check(&self) -> Result<()> {
        let (smallest, largest) = self.sizes;
        if smallest == 0 || smallest > largest || largest > CAPACITY_MAX {
            return Err(Error::invalid(format!("sizes must be 1 to {CAPACITY_MAX}, the smaller first")));
        }
        if self.spectators_max > SPECTATORS_MAX {
            return Err(Error::invalid(format!("there may be at most {SPECTATORS_MAX} spectators")));
        }
        if self.empty_ms > EMPTY_MS_MAX {
            return Err(Error::invalid(format!("an empty room is kept at most {} seconds", EMPTY_MS_MAX / 1_000)));
        }
        if self.life_ms == Some(0) {
            return Err(Error::invalid("a room lives for at least a second: leave life_sec out to keep it for good"));
        }
        Ok(())
    }

    /// The number of seats that the caller asked for, or one that the random number picks.
    ///
    /// # Errors
    /// `InvalidArgument` when rooms of the template never have that number.
    pub fn size(&self, asked: Option<u32>, random: u32) -> Result<u32> {
        let (smallest, largest) = self.sizes;
        match asked {
            // The remainder favours small numbers, but by less than 10,000 / 2^32.
            None => Ok(smallest + random % (largest - smallest + 1)),
            Some(size) if (smallest..=largest).contains(&size) => Ok(size),
            Some(_) => {
                let message = format!("Rooms of \"{}\" have {smallest} to {largest} players.", self.name);
                Err(Error::invalid(message))
            }
        }
    }
}

impl Template {
    /// Settings of a new room of the template with this number of seats.
    pub fn creation(&self, capacity: u32) -> Creation {
        Creation {
            name: Arc::from(""),
            template: Some(self.name.clone()),
            path: self.path.clone(),
            capacity,
            spectators_max: self.spectators_max,
            password: None,
            hidden: self.hidden,
            owned: self.owned,
            empty_ms: self.empty_ms,
            life_ms: self.life_ms,
            recover: self.recover,
            properties: Change::default(),
            variables: Change::default(),
        }
    }
}

impl Creation {
    /// Settings of a new room without a template, at their defaults but for the number of seats.
    pub fn plain(capacity: u32) -> Self {
        Self { template: None, ..Template::new("").creation(capacity) }
    }
}

/// All templates by name.
#[derive(Clone, Debug)]
pub struct Templates(BTreeMap<Arc<str>, Arc<Template>>);

impl Templates {
    /// The given templates, and `default` unless they include it.
    pub fn new(templates: impl IntoIterator<Item = Template>) -> Self {
        let built_in = std::iter::once(Template::new(DEFAULT_TEMPLATE));
        let all = built_in.chain(templates);
        Self(all.map(|template| (template.name.clone(), Arc::new(template))).collect())
    }

    /// The template with this name.
    ///
    /// # Errors
    /// `NotFound` when there is none.
    pub fn get(&self, name: &str) -> Result<&Arc<Template>> {
        self.0.get(name).ok_or_else(|| {
            let told = format!("There is no room template named \"{name}\" in the setting rooms.templates.");
            Error::new(ErrorKind::NotFound, told)
        })
    }
}

impl Default for Templates {
    fn default() -> Self {
        Self::new([])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_drawn_evenly_and_asked_for_within_the_range() {
        let template = Template { sizes: (3, 8), ..Template::new("bench") };
        let mut counts = [0; 9];
        (0..600).for_each(|random| counts[template.size(None, random).unwrap() as usize] += 1);
        assert_eq!(counts, [0, 0, 0, 100, 100, 100, 100, 100, 100]);
        assert_eq!((template.size(Some(3), 9).unwrap(), template.size(Some(8), 9).unwrap()), (3, 8));
        assert!(template.size(Some(2), 0).is_err() && template.size(Some(9), 0).is_err());
    }

    #[test]
    fn the_default_template_is_there_and_may_be_replaced() {
        assert_eq!(Templates::default().get("default").unwrap().sizes, (DEFAULT_CAPACITY, DEFAULT_CAPACITY));
        let own = Template { sizes: (2, 2), ..Template::new("default") };
        assert_eq!(Templates::new([own]).get("default").unwrap().sizes, (2, 2));
        assert_eq!(Templates::default().get("poker").unwrap_err().kind, ErrorKind::NotFound);
    }

    #[test]
    fn impossible_templates_are_refused() {
        let template = || Template::new("t");
        assert!(template().check().is_ok());
        for wrong in [
            Template { sizes: (0, 4), ..template() },
            Template { sizes: (5, 4), ..template() },
            Template { sizes: (1, CAPACITY_MAX + 1), ..template() },
            Template { spectators_max: SPECTATORS_MAX + 1, ..template() },
            Template { empty_ms: EMPTY_MS_MAX + 1, ..template() },
            Template { life_ms: Some(0), ..template() },
        ] {
            assert!(wrong.check().is_err(), "{wrong:?}");
        }
    }
}
