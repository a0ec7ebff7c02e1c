//! Templates of rooms: `NAME=FIELD=VALUE …` in flags and environment, a map of maps in YAML.

use std::str::FromStr;

use muster_live::rooms::{RoomPath, Template};

/// Description of valid templates, for messages.
pub(crate) const EXPECTED: &str = "NAME=FIELD=VALUE …, such as `duel=size=2 path=games/duel`, with the fields size \
     (`4` or `3-8`), spectators, path, empty_sec, life_sec, hidden, owned and recover";

/// Length of the longest name of a template, in bytes: names are part of ids in logs and requests.
const NAME_BYTES_MAX: usize = 64;

/// A template as configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RoomTemplate(pub Template);

/// Explains why a text is not a template.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{EXPECTED}; {0}")]
pub struct TemplateError(String);

impl FromStr for RoomTemplate {
    type Err = TemplateError;

    fn from_str(text: &str) -> Result<Self, TemplateError> {
        let fault = |what: String| TemplateError(what);
        let (name, fields) = text.split_once('=').ok_or_else(|| fault("the name is missing".to_owned()))?;
        if name.is_empty() || name.len() > NAME_BYTES_MAX || !name.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(fault(format!("the name has 1 to {NAME_BYTES_MAX} letters, digits and signs")));
        }
        let mut template = Template::new(name);
        for field in fields.split_ascii_whitespace() {
            let (field, value) = field.split_once('=').ok_or_else(|| fault(format!("`{field}` has no value")))?;
            set(&mut template, field, value).map_err(fault)?;
        }
        template.check().map_err(|error| fault(error.message.into_owned()))?;
        Ok(Self(template))
    }
}

fn set(template: &mut Template, field: &str, value: &str) -> Result<(), String> {
    match field {
        "size" => {
            let (smallest, largest) = value.split_once('-').unwrap_or((value, value));
            template.sizes = (number(field, smallest)?, number(field, largest)?);
        }
        "spectators" => template.spectators_max = number(field, value)?,
        "path" => template.path = RoomPath::new(value).map_err(|error| error.message.into_owned())?,
        "empty_sec" => template.empty_ms = u64::from(number(field, value)?) * 1_000,
        "life_sec" => template.life_ms = Some(u64::from(number(field, value)?) * 1_000),
        "hidden" => template.hidden = flag(field, value)?,
        "owned" => template.owned = flag(field, value)?,
        "recover" => template.recover = flag(field, value)?,
        _ => return Err(format!("there is no field `{field}`")),
    }
    Ok(())
}

fn number(field: &str, text: &str) -> Result<u32, String> {
    let number = super::read::whole_number(text).and_then(|number| u32::try_from(number).ok());
    number.ok_or_else(|| format!("`{field}` takes a whole number, not `{text}`"))
}

fn flag(field: &str, text: &str) -> Result<bool, String> {
    super::read::flag(text).ok_or_else(|| format!("`{field}` takes true or false, not `{text}`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<Template, String> {
        text.parse::<RoomTemplate>().map(|template| template.0).map_err(|error| error.0)
    }

    #[test]
    fn templates_are_a_name_and_fields() {
        assert_eq!(parse("duel="), Ok(Template::new("duel")));
        let text = "bench=size=3-8 path=bench/a spectators=5 empty_sec=10 life_sec=3600 hidden=true owned=no";
        let expect = Template {
            sizes: (3, 8),
            path: RoomPath::new("bench/a").unwrap(),
            spectators_max: 5,
            empty_ms: 10_000,
            life_ms: Some(3_600_000),
            hidden: true,
            owned: false,
            ..Template::new("bench")
        };
        assert_eq!(parse(text), Ok(expect));
    }

    #[test]
    fn faults_say_what_is_wrong() {
        for (text, fault) in [
            ("duel", "the name is missing"),
            ("=size=2", "the name has 1 to 64 letters, digits and signs"),
            ("duel=size", "`size` has no value"),
            ("duel=size=two", "`size` takes a whole number, not `two`"),
            ("duel=size=3-2", "sizes must be 1 to 10000, the smaller first"),
            ("duel=color=red", "there is no field `color`"),
            ("duel=owned=maybe", "`owned` takes true or false, not `maybe`"),
            ("duel=empty_sec=3601", "an empty room is kept at most 3600 seconds"),
            ("duel=life_sec=0", "a room lives for at least a second: leave life_sec out to keep it for good"),
        ] {
            assert_eq!(parse(text), Err(fault.to_owned()), "{text}");
        }
    }
}
