//! The look at everything that was acknowledged, once all is over: stored objects and chat messages.

use std::collections::HashSet;
use std::rc::Rc;

use serde::Deserialize;

use super::errands::{Keeper, expect_ok};
use super::town::{Neighbour, Town};
use crate::load::Fault;
use crate::load::http::HttpAnswer;
use crate::load::requests::{self, escaped};
use crate::load::stamp::{Origin, Stamp};

/// Objects that are asked for together.
const OBJECTS_AT_ONCE: usize = 50;
/// Pages of a room's history that are read at most.
const PAGES_MAX: usize = 10_000;

/// Counts what was acknowledged and is not there.
pub async fn check(town: &Town, mut keepers: Vec<Keeper>) -> anyhow::Result<()> {
    for keeper in &mut keepers {
        check_objects(town, keeper).await?;
    }
    if let Some(reader) = keepers.first_mut() {
        for house in town.by_house() {
            check_history(town, reader, &house).await?;
        }
    }
    Ok(())
}

async fn check_objects(town: &Town, keeper: &mut Keeper) -> Result<(), Fault> {
    let written = keeper.written.clone();
    let numbers: Vec<usize> = (0..written.len()).filter(|number| written[*number].is_some()).collect();
    for some in numbers.chunks(OBJECTS_AT_ONCE) {
        let found = keeper.find(&town.worker, some).await?;
        for part in some.iter().filter(|number| !found.contains(number)).filter_map(|number| written[*number].as_ref())
        {
            town.notes.lose(part);
        }
    }
    Ok(())
}

async fn check_history(town: &Town, reader: &mut Keeper, house: &[Rc<Neighbour>]) -> Result<(), Fault> {
    let Some(first) = house.first() else { return Ok(()) };
    let mut kept = HashSet::new();
    let mut cursor = String::new();
    for _ in 0..PAGES_MAX {
        let path = format!("/v2/channel/{}?limit=100&forward=true&cursor={}", first.channel, escaped(&cursor));
        let request = requests::call(&reader.token, "GET", &path, "");
        let mut next = String::new();
        let take = |answer: &HttpAnswer<'_>| {
            expect_ok(answer)?;
            let page: Page = serde_json::from_slice(answer.body).map_err(|_| Fault::Wrong("not a history"))?;
            kept.extend(page.messages.iter().filter_map(|message| message.read(&first.channel)));
            next = page.next_cursor;
            Ok(())
        };
        reader.line.exchange(&town.worker, &request, take).await?;
        cursor = next;
        if cursor.is_empty() {
            break;
        }
    }
    for neighbour in house {
        for (number, part) in neighbour.acknowledged.borrow().iter() {
            if !kept.contains(&(neighbour.number, *number)) {
                town.notes.lose(part);
            }
        }
    }
    Ok(())
}

#[derive(Deserialize)]
struct Page {
    #[serde(default)]
    messages: Vec<Kept>,
    #[serde(default)]
    next_cursor: String,
}

#[derive(Deserialize)]
struct Kept {
    sender_id: String,
    content: String,
}

#[derive(Deserialize)]
struct Content {
    m: String,
}

impl Kept {
    /// Sender and number of an honest player's message.
    fn read(&self, channel: &str) -> Option<(u32, u32)> {
        let content: Content = serde_json::from_str(&self.content).ok()?;
        let origin = Origin { room: channel.as_bytes(), user: self.sender_id.as_bytes() };
        let stamp = Stamp::read(content.m.as_bytes(), origin).ok()?;
        Some((stamp.sender, stamp.number))
    }
}
