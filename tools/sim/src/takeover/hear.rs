//! Answers and frames that sessions and places get, compared with the actions of sessions.

use std::collections::BTreeMap;

use bytes::Bytes;
use muster_live::plane::{JoinRefusal, Reply};
use muster_live::{Place, Presence, SessionRef};

use super::act::session_id;
use super::world::{OpenRequest, World};
use crate::frames::{Said, StreamId, Version, decode, version_of};
use crate::model::{Period, Tie};
use crate::scenario::{PARTIES_FROM, Who};
use crate::violation::{Check, Checked, Violation, ensure};

impl World {
    /// Handles the answer to a request.
    pub(super) fn answer(&mut self, place: Place, request: u64, reply: Reply) -> Checked {
        self.trace.step(|| format!("  answer to {place:?}/{request}: {reply:?}"), &[request]);
        let Some(asked) = self.asked.remove(&(place, request)) else {
            let detail = format!("nobody waits for the answer to question {request} of {place:?}");
            return Err(Violation { check: Check::Answers, detail });
        };
        let is_refused = matches!(&reply, Reply::Joined(Err(JoinRefusal::Unavailable)));
        ensure(Check::Answers, !is_refused || self.cluster.crashes > 0, || {
            format!("nobody died, and yet {asked:?} is not answered")
        })?;
        match (asked, reply) {
            (OpenRequest::Join { who, stream, version, epoch, listens }, Reply::Joined(outcome)) => {
                let tie = self.tie(who, stream)?;
                tie.join_answered(version, outcome.is_ok());
                let is_current = tie.epoch == epoch;
                let still_hears = is_current && tie.answered().hears && tie.period.is_none();
                match outcome {
                    Ok(joined) if is_current && listens => self.shown(who, stream, &joined.presences, true),
                    // A join was refused, but a request to listen that the session made meanwhile was granted.
                    Err(refusal) if still_hears && refusal != JoinRefusal::Closed => {
                        self.shown(who, stream, &[], false)
                    }
                    _ => Ok(()),
                }
            }
            (OpenRequest::Listen { who, stream, epoch }, Reply::Presences(presences, _)) => {
                let tie = self.tie(who, stream)?;
                tie.listen_answered(request, true);
                if tie.epoch == epoch { self.shown(who, stream, &presences, true) } else { Ok(()) }
            }
            (OpenRequest::Listen { who, stream, epoch }, Reply::Joined(Err(_))) => {
                let tie = self.tie(who, stream)?;
                tie.listen_answered(request, false);
                // The request was refused, but the session left the stream in such a way that it still hears it.
                let still_hears = tie.epoch == epoch && tie.answered().hears && tie.period.is_none();
                if still_hears { self.shown(who, stream, &[], false) } else { Ok(()) }
            }
            (OpenRequest::Claim { who, to }, reply) => {
                self.claim_answers.push((who, to, reply));
                Ok(())
            }
            (OpenRequest::Rebind { who, stream }, reply) => {
                self.rebind_answered(who, stream, &reply);
                Ok(())
            }
            (OpenRequest::RebindTickets { who }, reply) => {
                self.tickets_rebound(who, &reply);
                Ok(())
            }
            (OpenRequest::Tally { subject, crashes, .. }, reply) => self.tally_answered(subject, crashes, &reply),
            (OpenRequest::Chat { .. }, Reply::Joined(_)) => Ok(()),
            (OpenRequest::Ticket(asked), reply) => self.ticket_answered(asked, reply),
            (OpenRequest::Party(asked), reply) => self.party_answered(asked, &reply),
            (OpenRequest::Rooms(asked), reply) => self.rooms_answered(asked, reply),
            (OpenRequest::Match(asked), reply) => self.match_answered(asked, &reply),
            (asked, reply) => Err(Violation { check: Check::Answers, detail: format!("{reply:?} answers {asked:?}") }),
        }
    }

    fn tie(&mut self, who: Who, stream: StreamId) -> Checked<&mut Tie> {
        let client = self.clients.get_mut(&who);
        let unknown = || Violation { check: Check::Stray, detail: format!("there is no session {who}") };
        client.map(|client| client.ties.entry(stream).or_default()).ok_or_else(unknown)
    }

    /// Notes the presences that a session is shown on a stream. If `is_whole` is false, the session was shown no
    /// earlier presences, and learns only of those that come later.
    fn shown(&mut self, who: Who, stream: StreamId, presences: &[Presence], is_whole: bool) -> Checked {
        let mut view = BTreeMap::new();
        for presence in presences {
            let version = version_of(presence);
            let known = self.appearance(version, stream)?;
            ensure(Check::Presences, session_id(known) == presence.session_id, || {
                format!("{known} is no {presence:?}")
            })?;
            let doubled = view.insert(known, version);
            ensure(Check::Presences, doubled.is_none(), || format!("session {known} is shown twice on {stream}"))?;
        }
        self.periods += 1;
        let id = self.periods;
        let period = &mut self.tie(who, stream)?.period;
        match period {
            None => {
                let (is_cut, is_loose) = (!is_whole, !is_whole);
                *period = Some(Period { id, view, is_cut, is_loose, place: Default::default() });
            }
            Some(period) if is_whole => {
                period.view = view;
                (period.is_cut, period.is_loose) = (false, true);
            }
            Some(_) => {}
        }
        Ok(())
    }

    fn appearance(&self, version: Version, stream: StreamId) -> Checked<Who> {
        let known = self.appearances.get((version as usize).wrapping_sub(1)).filter(|(_, on)| *on == stream);
        let unknown = || format!("nobody appeared as {version} on stream {stream}");
        known.map(|(who, _)| *who).ok_or_else(|| Violation { check: Check::Presences, detail: unknown() })
    }

    /// Hands a frame to a session.
    pub(super) fn deliver(&mut self, at: SessionRef, frame: &Bytes) -> Checked {
        if self.keep_for(at, frame) {
            return Ok(());
        }
        let marked = frame.split_last_chunk().map(|(frame, mark)| (frame, u32::from_le_bytes(*mark)));
        let (frame, mark) = marked.unwrap_or((&[], 0));
        let (Some(who), Some((encoding, said))) = (self.by_ref.get(&at).copied(), decode(frame)) else {
            return Err(Violation { check: Check::Stray, detail: format!("{at:?} receives {frame:?}") });
        };
        self.trace.bytes(|| format!("  session {who} hears {said:?}"), frame);
        let client = &self.clients[&who];
        ensure(Check::Stray, client.is_open, || format!("session {who} is closed and receives {said:?}"))?;
        ensure(Check::Stray, client.encoding == encoding, || format!("session {who} receives {encoding:?}"))?;
        match &said {
            Said::Party(party, word) => self.hear_of_party(who, *party, word),
            Said::Event { stream, joins, leaves } if *stream >= PARTIES_FROM => {
                self.hear_of_members(who, *stream, joins, leaves)
            }
            Said::Message(stream, id) => {
                self.check_hears(who, *stream, &said)?;
                self.messages.received(*id, *stream, who)?;
                self.put_in_order(who, *stream, &frame[1..], mark)
            }
            Said::Event { stream, joins, leaves } => {
                self.check_hears(who, *stream, &said)?;
                self.put_in_order(who, *stream, &frame[1..], mark)?;
                self.conclude(who, *stream, joins, leaves)
            }
            Said::Tale(number) => self.hear_tale(who, *number),
            Said::Push(word) => self.hear_of_ticket(who, *word),
            Said::Kept(number) => self.hear_kept(who, *number),
            Said::Match(game, word) => self.hear_of_match(who, *game, word),
        }
    }

    fn check_hears(&mut self, who: Who, stream: StreamId, said: &Said) -> Checked {
        let hears = usize::from(stream) < self.streams.len() && self.tie(who, stream)?.period.is_some();
        ensure(Check::Stray, hears, || format!("session {who} does not hear stream {stream}, and receives {said:?}"))
    }

    /// Checks that all sessions hear the messages of a stream in one order, as long as the stream keeps its owner.
    /// After the death of an owner, some sessions get its last messages later, from the next owner. Differences between
    /// the roster of a new owner and that of the former one are heard at one place only, so they are not part of the
    /// order.
    fn put_in_order(&mut self, who: Who, stream: StreamId, content: &[u8], mark: u32) -> Checked {
        let (view, is_difference) = (mark >> 1, mark & 1 == 1);
        let epoch = self.cluster.unbroken_since(view as usize, &self.streams[usize::from(stream)]);
        let is_other = self.heard_of.insert((stream, who), epoch) != Some(epoch);
        let tie = self.clients.get_mut(&who).and_then(|client| client.ties.get_mut(&stream));
        let Some(period) = tie.and_then(|tie| tie.period.as_mut()) else { return Ok(()) };
        if is_other || is_difference {
            period.place = Default::default();
        }
        match is_difference {
            true => Ok(()),
            false => self.orders.entry((stream, epoch)).or_default().heard(who, &mut period.place, content, true),
        }
    }

    /// Updates a session's view of the presences on a stream. Leaves are applied before joins.
    fn conclude(&mut self, who: Who, stream: StreamId, joins: &[Version], leaves: &[Version]) -> Checked {
        let known = |versions: &[Version]| -> Checked<Vec<(Version, Who)>> {
            versions.iter().map(|version| Ok((*version, self.appearance(*version, stream)?))).collect()
        };
        let (joins, leaves) = (known(joins)?, known(leaves)?);
        let is_merged = self.is_merged;
        let Some(period) = &mut self.tie(who, stream)?.period else { return Ok(()) };
        let is_strict = !is_merged && !period.is_cut && !period.is_loose;
        for (version, other) in leaves {
            let was = period.view.remove(&other);
            ensure(Check::Conclusions, !is_strict || was == Some(version), || {
                format!("session {who} hears that {version} left stream {stream}, and knew of {was:?} there")
            })?;
        }
        for (version, other) in joins {
            let was = period.view.insert(other, version);
            ensure(Check::Conclusions, !is_strict || was.is_none(), || {
                format!("session {who} hears that {version} came to stream {stream}, and knew of {was:?} there")
            })?;
        }
        Ok(())
    }
}
