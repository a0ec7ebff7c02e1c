//! Answers and frames that sessions get from planes, compared with the model.

use std::collections::BTreeMap;

use bytes::Bytes;
use muster_live::plane::{JoinRefusal, Joined, Reply};
use muster_live::stream::mode;
use muster_live::{CloseReason, Delivery, Presence, SessionRef, ShardIndex};

use super::act::session_id;
use super::{OpenRequest, World};
use crate::faults::Fault;
use crate::frames::{Said, StreamId, Version, decode, version_of};
use crate::model::{Period, Tie};
use crate::scenario::{PARTIES_FROM, SESSIONS_MAX, Who};
use crate::violation::{Check, Checked, Violation, ensure};

impl World {
    /// Checks the answer to a request and lets the model learn of it.
    pub(super) fn answer(&mut self, shard: ShardIndex, request: u64, reply: Reply) -> Checked {
        self.trace.step(|| format!("  answer to {shard}/{request}: {reply:?}"), &[u64::from(shard), request]);
        let Some(asked) = self.asked.remove(&(shard, request)) else {
            let detail = format!("nobody waits for the answer to question {request} of shard {shard}");
            return Err(Violation { check: Check::Answers, detail });
        };
        match (asked, reply) {
            (OpenRequest::Join { who, stream, version, epoch, listens }, Reply::Joined(outcome)) => {
                self.check_refusal(who, stream, &outcome)?;
                let tie = self.tie(who, stream);
                tie.join_answered(version, outcome.is_ok());
                let is_current = tie.epoch == epoch;
                match outcome {
                    Ok(joined) => self.let_in(who, stream, joined, is_current && listens),
                    Err(_) if is_current && tie.answered().hears && tie.period.is_none() => {
                        self.hears_from_now(who, stream);
                        Ok(())
                    }
                    Err(_) => Ok(()),
                }
            }
            (OpenRequest::Listen { who, stream, epoch }, Reply::Presences(presences, total)) => {
                let tie = self.tie(who, stream);
                tie.listen_answered(request, true);
                let is_current = tie.epoch == epoch;
                let view = self.view(stream, &presences)?;
                if is_current {
                    self.hears(who, stream, view, total);
                }
                Ok(())
            }
            (OpenRequest::Listen { who, stream, .. }, Reply::Joined(Err(refusal))) => {
                self.check_refusal(who, stream, &Err(refusal))?;
                self.tie(who, stream).listen_answered(request, false);
                Ok(())
            }
            (OpenRequest::List { stream, with_hidden, limit }, Reply::Presences(presences, total)) => {
                self.listed(stream, with_hidden, limit, &presences, total)
            }
            (OpenRequest::Count, Reply::Counts(counts)) => {
                self.answers.counts.push((shard, counts));
                Ok(())
            }
            (OpenRequest::Matches, Reply::Matches(matches)) => {
                let streams = &self.scenario.streams;
                let numbered = matches.iter().filter_map(|(key, size)| {
                    Some((streams.iter().position(|stream| stream == key)? as StreamId, *size))
                });
                self.answers.matches.extend(numbered);
                Ok(())
            }
            (OpenRequest::Ticket(asked), reply) => self.ticket_answered(asked, &reply),
            (OpenRequest::Party(asked), reply) => self.party_answered(asked, reply),
            (OpenRequest::Room(asked), reply) => self.rooms_answered(*asked, reply),
            (asked, reply) => Err(Violation { check: Check::Answers, detail: format!("{reply:?} answers {asked:?}") }),
        }
    }

    #[expect(clippy::expect_used, reason = "whoever asked was open then, and clients are never forgotten")]
    fn tie(&mut self, who: Who, stream: StreamId) -> &mut Tie {
        self.clients.get_mut(&who).map(|client| client.ties.entry(stream).or_default()).expect("a client that asked")
    }

    fn check_refusal(&self, who: Who, stream: StreamId, outcome: &Result<Joined, JoinRefusal>) -> Checked {
        match outcome {
            Err(JoinRefusal::Closed) => {
                ensure(Check::Answers, !self.clients[&who].is_open, || format!("session {who} is not closed"))
            }
            Err(JoinRefusal::TooManyStreams) => {
                let count = self.clients[&who].ties.values().filter(|tie| tie.hoped() != Default::default()).count();
                let max = self.scenario.config.session_streams_max;
                ensure(Check::Limits, count > max, || {
                    format!("session {who} was refused {stream} with {count} of {max}")
                })
            }
            Ok(_) | Err(JoinRefusal::Empty | JoinRefusal::Unavailable) => Ok(()),
        }
    }

    /// The presences that a session is shown on a stream, by session.
    fn view(&self, stream: StreamId, presences: &[Presence]) -> Checked<BTreeMap<Who, Version>> {
        let mut view = BTreeMap::new();
        for presence in presences {
            let who = self.check_shown(stream, presence, false)?;
            let doubled = view.insert(who, version_of(presence));
            ensure(Check::Presences, doubled.is_none(), || format!("session {who} is shown twice on {stream}"))?;
        }
        Ok(view)
    }

    fn check_shown(&self, stream: StreamId, presence: &Presence, with_hidden: bool) -> Checked<Who> {
        let version = version_of(presence);
        let appearance = self.appearances.get((version as usize).wrapping_sub(1));
        let fits = appearance.is_some_and(|known| {
            known.stream == stream
                && known.persistence == presence.persistence
                && session_id(known.who) == presence.session_id
        });
        ensure(Check::Presences, fits, || format!("nobody appeared so on stream {stream}: {presence:?}"))?;
        let is_hidden = appearance.is_some_and(|known| known.hidden);
        ensure(Check::Hidden, with_hidden || !is_hidden, || format!("shown on stream {stream}: {presence:?}"))?;
        Ok(appearance.map(|known| known.who).unwrap_or_default())
    }

    fn let_in(&mut self, who: Who, stream: StreamId, joined: Joined, begins: bool) -> Checked {
        let view = self.view(stream, &joined.presences)?;
        let config = &self.scenario.config;
        ensure(Check::Limits, view.len() <= config.snapshot_max, || format!("{} in a snapshot", view.len()))?;
        let expect = joined.total.min(config.snapshot_max);
        ensure(Check::Answers, view.len() == expect, || format!("{} are shown of {}", view.len(), joined.total))?;
        if begins {
            self.hears(who, stream, view, joined.total);
        }
        Ok(())
    }

    /// Notes that a session begins to hear a stream, or gets another snapshot of it.
    fn hears(&mut self, who: Who, stream: StreamId, view: BTreeMap<Who, Version>, total: usize) {
        let is_cut = view.len() < total;
        self.periods += 1;
        let id = self.periods;
        let period = &mut self.tie(who, stream).period;
        match period {
            None => *period = Some(Period { id, view, is_cut, is_loose: false, place: Default::default() }),
            Some(period) if is_cut => period.is_loose = true,
            Some(period) => {
                period.view = view;
                period.is_cut = false;
                period.is_loose = true;
            }
        }
    }

    /// Notes that a session hears a stream from now on although its join was refused: a request to listen, made
    /// meanwhile, was granted.
    fn hears_from_now(&mut self, who: Who, stream: StreamId) {
        self.hears(who, stream, BTreeMap::new(), usize::MAX);
        if let Some(period) = &mut self.tie(who, stream).period {
            period.is_loose = true;
        }
    }

    fn listed(
        &mut self,
        stream: StreamId,
        with_hidden: bool,
        limit: usize,
        presences: &[Presence],
        total: usize,
    ) -> Checked {
        ensure(Check::Limits, presences.len() <= limit, || format!("{} listed, {limit} asked", presences.len()))?;
        for presence in presences {
            self.check_shown(stream, presence, with_hidden)?;
        }
        self.answers.listed.extend(presences.iter().map(version_of));
        self.answers.total = total;
        Ok(())
    }

    pub(super) fn told_to_close(&mut self, at: SessionRef, reason: CloseReason) -> Checked {
        let Some(who) = self.by_ref.get(&at).copied() else { return Ok(()) };
        self.trace.step(|| format!("  session {who} is to close: {reason:?}"), &[who as u64]);
        self.closing.push(who);
        let ties = |who: &Who| {
            let streams =
                self.clients[who].ties.keys().filter(|stream| usize::from(**stream) < self.scenario.streams.len());
            streams.filter(|stream| self.scenario.streams[usize::from(**stream)].mode == mode::NOTIFICATIONS)
        };
        let mut newer = self.clients.range(who + 1..).map(|(newer, _)| newer);
        let gives_way = newer.any(|newer| ties(newer).any(|stream| ties(&who).any(|other| other == stream)));
        ensure(Check::Closes, reason != CloseReason::SingleSocket || gives_way, || {
            format!("session {who} was to close, and opened last")
        })
    }

    /// Hands a frame to a session.
    pub(super) fn deliver(&mut self, at: SessionRef, frame: &Bytes, delivery: Delivery) -> Checked {
        let Some(who) = self.by_ref.get(&at).copied() else {
            return Err(Violation { check: Check::Stray, detail: format!("{at:?} was never open") });
        };
        self.hear(who, frame)?;
        self.misdeliver(frame)?;
        let backlog_max = self.scenario.backlog_max;
        let Some(client) = self.clients.get_mut(&who).filter(|client| !client.reads) else { return Ok(()) };
        client.backlog += 1;
        if client.backlog > backlog_max && delivery == Delivery::Reliable && !self.closing.contains(&who) {
            self.closing.push(who);
        }
        Ok(())
    }

    /// Lets a session that has left a stream receive the frame as well, if that bug is planted.
    fn misdeliver(&mut self, frame: &Bytes) -> Checked {
        let leavers: Vec<Who> = match decode(frame) {
            Some((_, Said::Message(stream, _))) if self.faults.is(Fault::DeliverToLeaver) => {
                let leavers = self.clients.iter().filter(|(_, client)| {
                    let tie = client.ties.get(&stream);
                    client.is_open && tie.is_some_and(|tie| tie.changes > 1 && tie.period.is_none())
                });
                leavers.map(|(who, _)| *who).collect()
            }
            Some((_, Said::Tale(number))) if self.faults.is(Fault::TellLeaver) => self.room_leavers(number),
            _ => return Ok(()),
        };
        match self.faults.leaver(leavers.into_iter()) {
            Some(leaver) => self.hear(leaver, frame),
            None => Ok(()),
        }
    }

    fn hear(&mut self, who: Who, frame: &Bytes) -> Checked {
        let Some((encoding, said)) = decode(frame) else {
            return Err(Violation { check: Check::Stray, detail: format!("no frame: {frame:?}") });
        };
        self.trace.bytes(|| format!("  session {who} hears {said:?}"), frame);
        let client = &self.clients[&who];
        ensure(Check::Stray, client.is_open, || format!("session {who} is closed and receives {said:?}"))?;
        ensure(Check::Stray, client.encoding == encoding, || format!("session {who} receives {encoding:?}"))?;
        match &said {
            Said::Push(id) => self.pushed(who, *id),
            Said::Tale(number) => self.hear_tale(who, *number),
            Said::Match(..) | Said::Kept(_) => {
                Err(Violation { check: Check::Stray, detail: format!("no match is durable here, and {said:?}") })
            }
            Said::Party(party, word) => self.hear_of_party(who, *party, word),
            Said::Event { stream, joins, leaves } if *stream >= PARTIES_FROM => {
                self.hear_of_members(who, *stream, joins, leaves)
            }
            Said::Message(stream, id) => {
                self.check_hears(who, *stream, &said)?;
                let is_for_all = self.messages.received(*id, *stream, who)?;
                self.put_in_order(who, *stream, &frame[1..], is_for_all)
            }
            Said::Event { stream, joins, leaves } => {
                self.check_hears(who, *stream, &said)?;
                self.put_in_order(who, *stream, &frame[1..], true)?;
                self.orders[usize::from(*stream)].told(&frame[1..], joins, leaves)?;
                self.conclude(who, *stream, joins, leaves)
            }
        }
    }

    fn check_hears(&mut self, who: Who, stream: StreamId, said: &Said) -> Checked {
        let hears = usize::from(stream) < self.orders.len() && self.tie(who, stream).period.is_some();
        ensure(Check::Stray, hears, || format!("session {who} does not hear stream {stream}, and receives {said:?}"))
    }

    fn put_in_order(&mut self, who: Who, stream: StreamId, content: &[u8], is_for_all: bool) -> Checked {
        let tie = self.clients.get_mut(&who).and_then(|client| client.ties.get_mut(&stream));
        let Some(period) = tie.and_then(|tie| tie.period.as_mut()) else { return Ok(()) };
        self.orders[usize::from(stream)].heard(who, &mut period.place, content, is_for_all)
    }

    fn pushed(&mut self, who: Who, id: u32) -> Checked {
        let Some(push) = self.pushes.get_mut(id as usize) else {
            return Err(Violation { check: Check::Stray, detail: format!("nobody pushed {id}") });
        };
        let Some(to) = push.to else { return Ok(()) };
        ensure(Check::Stray, to == who, || format!("session {who} receives what was pushed to {to}"))?;
        ensure(Check::Twice, !push.is_received, || format!("session {who} receives push {id} again"))?;
        push.is_received = true;
        Ok(())
    }

    /// Updates a session's view of the presences on a stream. Leaves are applied before joins.
    fn conclude(&mut self, who: Who, stream: StreamId, joins: &[Version], leaves: &[Version]) -> Checked {
        let is_merged = self.scenario.config.merge_above < SESSIONS_MAX;
        let known = |version: Version| {
            let appearance = self.appearances.get((version as usize).wrapping_sub(1)).copied();
            let shown = appearance.filter(|known| known.stream == stream);
            shown.ok_or_else(|| Violation {
                check: Check::Presences,
                detail: format!("session {who} hears of appearance {version}, which is not on stream {stream}"),
            })
        };
        let joins: Vec<_> = joins.iter().map(|version| Ok((*version, known(*version)?))).collect::<Checked<_>>()?;
        let leaves: Vec<_> = leaves.iter().map(|version| Ok((*version, known(*version)?))).collect::<Checked<_>>()?;
        for (version, appearance) in joins.iter().chain(&leaves) {
            let detail = || format!("session {who} hears of hidden appearance {version} on stream {stream}");
            ensure(Check::Hidden, !appearance.hidden, detail)?;
        }
        let Some(period) = &mut self.tie(who, stream).period else { return Ok(()) };
        let is_strict = !is_merged && !period.is_cut && !period.is_loose;
        for (version, appearance) in leaves {
            let was = period.view.remove(&appearance.who);
            ensure(Check::Conclusions, !is_strict || was == Some(version), || {
                format!("session {who} hears that {version} left stream {stream}, and knew of {was:?} there")
            })?;
        }
        for (version, appearance) in joins {
            let was = period.view.insert(appearance.who, version);
            ensure(Check::Conclusions, !is_strict || was.is_none(), || {
                format!("session {who} hears that {version} came to stream {stream}, and knew of {was:?} there")
            })?;
        }
        Ok(())
    }
}
