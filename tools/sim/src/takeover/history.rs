//! A chat whose messages the database keeps. A session that hears the chat when a message is kept gets the message,
//! once, whatever nodes die: authors are told that a message was said as soon as it is kept.

use std::collections::BTreeSet;
use std::sync::Arc;

use fastrand::Rng;
use muster_domain::ids::Uuid;
use muster_live::plane::{Audience, JoinOptions, Publish, Recall, Recalled};
use muster_live::stream::mode;
use muster_live::{Delivery, Millis, Place, StreamKey};

use super::faults::Fault;
use super::world::{OpenRequest, World};
use crate::frames::{KEPT, Say};
use crate::scenario::Who;
use crate::violation::{Check, Checked, Violation, ensure};

/// The longest time that passes between the death of a node and the moment when others act on it. In a longer time any
/// message may be lost that has not arrived.
const SOON_MS: Millis = 5_000;

/// A message that was kept.
struct Kept {
    say: Arc<Say>,
    said_at: Millis,
    /// Sessions that must still get the message.
    due: BTreeSet<Who>,
    heard_by: BTreeSet<Who>,
}

/// The history of the chat, and the places that ask for it.
pub(super) struct History {
    pub has_some: bool,
    pub rng: Rng,
    pub stream: StreamKey,
    messages: Vec<Kept>,
    /// Places that wait for what was kept lately.
    pub asked: Vec<(Place, Recall)>,
}

impl History {
    /// Runs of every third seed speak in the chat, unless a bug is planted that has nothing to do with it.
    pub(super) fn of_seed(seed: u64, fault: Option<Fault>) -> Self {
        let is_about_chat = matches!(fault, None | Some(Fault::LoseHistory | Fault::HearAgain));
        let mut rng = Rng::with_seed(seed ^ 0xC4A7);
        let subject = Uuid::from_u128(rng.u128(..));
        let stream = StreamKey::new(mode::CHANNEL, subject, Uuid::nil(), KEPT);
        Self { has_some: is_about_chat && seed % 3 == 1, rng, stream, messages: Vec::new(), asked: Vec::new() }
    }

    /// Notes that a session is gone, leaves the chat, or moves: what has not arrived may not reach the session.
    pub(super) fn excuse(&mut self, who: Who) {
        for message in &mut self.messages {
            message.due.remove(&who);
        }
    }

    /// Notes that time passes.
    pub(super) fn pass(&mut self, ms: Millis) {
        if ms >= SOON_MS {
            self.messages.iter_mut().for_each(|message| message.due.clear());
        }
    }
}

impl World {
    /// Lets a session come to the chat, leave it, or say something.
    pub(super) fn act_in_chat(&mut self, who: Who) -> Checked {
        let (at, stream) = (self.clients[&who].at, self.history.stream.clone());
        let is_on = self.cluster.planes[&at.place].is_on(at.key, &stream);
        match self.history.rng.u8(0..8) {
            _ if !is_on => {
                let request = self.ask(at.place, OpenRequest::Chat { who });
                let options = JoinOptions { persistence: true, ..JoinOptions::default() };
                self.step(at.place, |plane, now, out| plane.join(now, at.key, stream, options, request, out))
            }
            0 => {
                self.history.excuse(who);
                self.step(at.place, |plane, now, out| plane.leave(now, at.key, stream, out)).map(drop)
            }
            _ => self.say_in_chat(who),
        }
    }

    fn say_in_chat(&mut self, who: Who) -> Checked {
        // Whoever has come by now came before the message was kept.
        self.advance(1)?;
        let (at, stream) = (self.clients[&who].at, self.history.stream.clone());
        let number = self.history.messages.len() as u32;
        let hears = |place: &Place, key| self.cluster.planes[place].hears(key, &stream);
        let staying = self.clients.iter().filter(|(who, client)| client.is_open && !self.moves.contains_key(*who));
        let due: BTreeSet<Who> =
            staying.filter(|(_, client)| hears(&client.at.place, client.at.key)).map(|(who, _)| *who).collect();
        self.trace.line(|| format!("session {who} says kept {number} to {due:?}"));
        let say = Arc::new(Say::kept(number));
        let kept = Kept { say: say.clone(), said_at: self.now, due, heard_by: BTreeSet::new() };
        self.history.messages.push(kept);
        let (audience, delivery) = (Audience::All, Delivery::Kept(number.into()));
        let publish = Publish { stream, payload: say, audience, delivery, sender: None };
        self.step(at.place, |plane, now, out| plane.publish(now, publish, out))
    }

    /// Hands a kept message to a session.
    pub(super) fn hear_kept(&mut self, who: Who, number: u32) -> Checked {
        let Some(message) = self.history.messages.get_mut(number as usize) else {
            return Err(Violation { check: Check::Stray, detail: format!("nobody said kept {number}") });
        };
        message.due.remove(&who);
        ensure(Check::Twice, message.heard_by.insert(who), || format!("session {who} hears kept {number} twice"))
    }

    /// Gives a place what was kept lately.
    pub(super) fn read_history(&mut self, number: usize) -> Checked {
        let (place, Recall { rebuilt, streams, back_ms }) = self.history.asked.swap_remove(number);
        if !self.cluster.planes.contains_key(&place) {
            return Ok(());
        }
        let mut messages: Vec<Recalled> = Vec::new();
        if streams.contains(&self.history.stream) {
            for (number, kept) in (0..).zip(&self.history.messages) {
                let age_ms = self.now - kept.said_at;
                if age_ms <= back_ms {
                    let (stream, payload) = (self.history.stream.clone(), kept.say.clone());
                    messages.push(Recalled { stream, payload, number, age_ms: age_ms as u32 });
                }
            }
        }
        self.cluster.faults.forget_kept(&mut messages);
        self.trace.line(|| format!("  {place:?} is told {} kept messages again", messages.len()));
        self.step(place, |plane, now, out| plane.recalled(now, rebuilt, messages, out))
    }

    /// Checks that everybody got the kept messages.
    pub(super) fn check_chat(&self) -> Checked {
        for (number, message) in self.history.messages.iter().enumerate() {
            let missed = message.due.iter().find(|who| self.clients[*who].is_open);
            ensure(Check::Lost, missed.is_none(), || format!("{missed:?} never hears kept {number}"))?;
        }
        Ok(())
    }
}
