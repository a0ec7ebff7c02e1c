//! Sessions that may be in only one match, or in only one party. A session that joins another leaves the first.

use muster_live::ShardIndex;
use muster_live::stream::mode;

use super::World;
use crate::frames::StreamId;
use crate::model::Op;
use crate::scenario::{PARTIES_FROM, Who};
use crate::violation::{Check, Checked, ensure};

impl World {
    /// Whether a session may be on only one stream of this kind.
    pub(super) fn is_single(&self, stream: StreamId) -> bool {
        let config = &self.scenario.config;
        if stream >= PARTIES_FROM {
            return config.single_party;
        }
        match self.scenario.streams[usize::from(stream)].mode {
            mode::MATCH_RELAYED => config.single_match,
            mode::PARTY => config.single_party,
            _ => false,
        }
    }

    /// The streams of a mode that a session is on, or on its way to, as its shard believes. Only streams that exclude
    /// each other are listed.
    fn singles(&self, who: Who, mode: u8) -> Vec<StreamId> {
        let at = self.clients[&who].at;
        let plane = &self.planes[usize::from(at.place.shard())];
        let streams = (0..).zip(&self.scenario.streams).chain((PARTIES_FROM..).zip(&self.scenario.parties));
        let of_mode = streams.filter(|(stream, key)| key.mode == mode && self.is_single(*stream));
        of_mode.filter(|(_, key)| plane.is_on(at.key, key)).map(|(stream, _)| stream).collect()
    }

    /// Notes the streams that sessions of a shard have left because they joined others.
    pub(super) fn note_left_for_others(&mut self, shard: ShardIndex) -> Checked {
        if !self.scenario.config.single_match && !self.scenario.config.single_party {
            return Ok(());
        }
        let mut left = Vec::new();
        for (who, client) in
            self.clients.iter().filter(|(_, client)| client.is_open && client.at.place.shard() == shard)
        {
            for mode in [mode::MATCH_RELAYED, mode::PARTY] {
                let on = self.singles(*who, mode);
                let ties =
                    client.ties.iter().filter(|(_, tie)| tie.hoped().present.is_some()).map(|(stream, _)| *stream);
                let gone = ties.filter(|stream| {
                    let key = &self.scenario.streams[usize::from(*stream)];
                    key.mode == mode && self.is_single(*stream) && !on.contains(stream)
                });
                let gone: Vec<StreamId> = gone.collect();
                ensure(Check::Single, gone.is_empty() || !on.is_empty(), || {
                    format!("session {who} has left {gone:?} for nothing")
                })?;
                left.extend(gone.into_iter().map(|stream| (*who, stream)));
                if mode == mode::PARTY && !on.is_empty() {
                    let parties = (PARTIES_FROM..).take(self.scenario.parties.len());
                    let asked = parties.filter(|party| {
                        self.party_ties.get(&(*party, *who)).is_some_and(|tie| tie.may_hear) && !on.contains(party)
                    });
                    left.extend(asked.map(|party| (*who, party)));
                }
            }
        }
        self.control += left.len();
        for (who, stream) in left {
            if stream < PARTIES_FROM {
                self.note(who, stream, Op::Leave);
            } else if let Some(tie) = self.party_ties.get_mut(&(stream, who)) {
                tie.may_hear = false;
                tie.go();
                self.party_changed(stream);
            }
        }
        Ok(())
    }

    /// At rest, checks that no session is on two streams that exclude each other.
    pub(super) fn check_single(&self) -> Checked {
        for who in self.clients.iter().filter(|(_, client)| client.is_open).map(|(who, _)| *who) {
            for mode in [mode::MATCH_RELAYED, mode::PARTY] {
                let on = self.singles(who, mode);
                // A session that waits to be let into a party is not in that party yet, so only heard streams count.
                let at = self.clients[&who].at;
                let plane = &self.planes[usize::from(at.place.shard())];
                let hears = |stream: &StreamId| match stream.checked_sub(PARTIES_FROM) {
                    Some(party) => plane.hears(at.key, &self.scenario.parties[usize::from(party)]),
                    None => plane.hears(at.key, &self.scenario.streams[usize::from(*stream)]),
                };
                let count = on.iter().filter(|stream| hears(stream)).count();
                ensure(Check::Single, count <= 1, || format!("session {who} is on {on:?} at the same time"))?;
            }
        }
        Ok(())
    }
}
