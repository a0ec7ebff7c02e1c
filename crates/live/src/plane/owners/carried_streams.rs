//! Streams as plain data, which one owner takes out and the next one puts in without a word to anybody.

use std::sync::Arc;

use super::presences::Here;
use super::streams::{Stream, Streams};
use crate::place::Partition;
use crate::plane::message::{Carried, CarriedNews, CarriedPresence, CarriedStream};
use crate::session::Millis;
use crate::stream::{StreamKey, mode};

/// The largest number of presences in one piece.
const PIECE_PRESENCES_MAX: usize = 1_000;

impl Streams {
    /// Takes the streams of some partitions out.
    pub(crate) fn carry_out(&mut self, now: Millis, is_one: impl Fn(Partition) -> bool) -> Vec<Carried> {
        let mut keys: Vec<StreamKey> = self.map.keys().filter(|key| is_one(key.partition())).cloned().collect();
        // Relayed matches come in the order in which they are listed, the others in an order that every run repeats.
        keys.sort_by_cached_key(|key| (self.relayed.get_index_of(key).unwrap_or(usize::MAX), key.clone()));
        let mut parts = Vec::new();
        for key in keys {
            self.relayed.swap_remove(&key);
            if let Some(stream) = self.map.remove(&key) {
                self.presences -= stream.presences.len();
                stream.carried(now, key, &mut parts);
            }
        }
        parts
    }

    /// Puts in a stream, or a further piece of its presences.
    pub(crate) fn carry_in(&mut self, carried: CarriedStream) {
        let CarriedStream { stream: key, came, listeners, presences } = carried;
        if key.mode == mode::MATCH_RELAYED && !presences.is_empty() {
            self.relayed.insert(key.clone());
        }
        let stream = self.map.entry(key).or_default();
        stream.listeners.extend(listeners);
        let before = stream.presences.len();
        for CarriedPresence { presence, heard, number } in presences {
            stream.presences.carry_in(Here { presence: Arc::new(presence), heard, number });
        }
        stream.presences.set_came(came);
        self.presences += stream.presences.len() - before;
    }

    /// Puts in joins and leaves that are kept back. Answers when they are to be told, unless a time is set already.
    pub(crate) fn carry_in_news(&mut self, now: Millis, news: CarriedNews) -> Option<(Millis, StreamKey)> {
        let stream = self.map.get_mut(&news.stream)?;
        let (at, key) = (now.saturating_add(news.due_ms), news.stream.clone());
        stream.news.carry_in(at, news).then_some((at, key))
    }
}

impl Stream {
    fn carried(self, now: Millis, stream: StreamKey, parts: &mut Vec<Carried>) {
        let Self { presences, mut listeners, news } = self;
        let came = presences.came();
        let mut here = presences.into_all().peekable();
        loop {
            let carried = |Here { presence, heard, number }| CarriedPresence {
                presence: Arc::unwrap_or_clone(presence),
                heard,
                number,
            };
            let presences: Vec<_> = here.by_ref().take(PIECE_PRESENCES_MAX).map(carried).collect();
            let listeners = std::mem::take(&mut listeners);
            parts.push(Carried::Stream(CarriedStream { stream: stream.clone(), came, listeners, presences }));
            if here.peek().is_none() {
                break;
            }
        }
        parts.extend(news.carried(now, &stream, PIECE_PRESENCES_MAX).into_iter().map(Carried::News));
    }
}
