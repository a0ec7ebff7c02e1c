//! Questions of a place in a cluster that wait for answers. When the node that was to answer goes, they are answered at once,
//! and what they had begun is undone. A place on a node of its own keeps none.

use std::collections::BTreeMap;

use muster_domain::{Error, ErrorKind};

use super::session::{Coming, OnStream};
use super::tickets::here_and_elsewhere;
use super::{Sessions, is_from};
use crate::matchmaker::{Owner, TicketId};
use crate::place::{Partition, Place};
use crate::plane::effect::Effects;
use crate::plane::message::{JoinRefusal, Joined, Reply, Up};
use crate::plane::owners::pool::PoolAsk;
use crate::registry::SessionKey;
use crate::stream::StreamKey;

/// See the module.
#[derive(Debug, Default)]
pub(crate) struct Questions {
    open: BTreeMap<u64, Question>,
    /// What the next question begins.
    beginning: Option<Beginning>,
}

/// A question under way.
#[derive(Debug)]
pub(crate) struct Question {
    /// The place that was asked.
    pub of: Place,
    /// About which partition, if about one.
    pub partition: Option<Partition>,
    /// Whether that place may have handed the question on.
    pub may_wander: bool,
    about: About,
    beginning: Option<Beginning>,
    of_tickets: Option<OfTickets>,
}

/// What a question is to do about tickets.
#[derive(Debug)]
enum OfTickets {
    /// Add one, with sessions of here on it.
    Add(TicketId, Vec<SessionKey>),
    /// Cancel somebody's, which may be lost: nobody waits for the answer, and yet it is to be done.
    Cancel(Owner, bool),
}

/// What kind of answer somebody waits for.
#[derive(Clone, Copy, Debug)]
enum About {
    Rooms,
    Pool,
    Match,
    Else,
}

/// What a session was about to be to a stream, and what it was before.
#[derive(Debug)]
struct Beginning {
    key: SessionKey,
    stream: StreamKey,
    /// The join's; `None` if it listens only.
    serial: Option<u32>,
    /// As what it comes, if its join says so.
    coming: Option<Coming>,
    before: OnStream,
}

impl Questions {
    /// Notes a question on its way.
    pub(crate) fn note(&mut self, of: Place, up: &Up) {
        let beginning = self.beginning.take();
        let Some(request) = up.request() else { return };
        let may_wander = matches!(up, Up::Rooms(ask) if ask.may_wander());
        let of_tickets = match up {
            Up::Pool { ask: PoolAsk::Add(ticket), .. } => {
                Some(OfTickets::Add(ticket.id.clone(), here_and_elsewhere(ticket, request.place).0))
            }
            Up::Pool { ask: PoolAsk::RemoveOwner(owner), .. } => Some(OfTickets::Cancel(owner.clone(), false)),
            Up::Pool { ask: PoolAsk::LoseOwner(owner), .. } => Some(OfTickets::Cancel(owner.clone(), true)),
            _ => None,
        };
        let (partition, about) = (up.partition(), About::of(up));
        self.open.insert(request.id, Question { of, partition, may_wander, about, beginning, of_tickets });
    }
}

impl About {
    fn of(up: &Up) -> Self {
        match up {
            Up::Rooms(_) => Self::Rooms,
            Up::Pool { .. } => Self::Pool,
            Up::Match { .. } | Up::FindMatches { .. } => Self::Match,
            _ => Self::Else,
        }
    }

    fn refusal(self) -> Reply {
        let message = "The node that was to answer has gone. Please try again.";
        let refusal = Error::new(ErrorKind::Unavailable, message);
        match self {
            About::Rooms => Reply::Rooms(Err(refusal)),
            About::Pool => Reply::Pool(Err(refusal)),
            About::Match => Reply::Match(Err(refusal)),
            About::Else => Reply::Joined(Err(JoinRefusal::Unavailable)),
        }
    }
}

impl Sessions {
    /// What a session is to a stream, in case that a question about it is never answered.
    pub(crate) fn before(&self, key: SessionKey, stream: &StreamKey) -> Option<Box<OnStream>> {
        self.questions.as_ref()?;
        let on = self.registry.get(key)?.streams.iter().find(|on| on.stream == *stream);
        Some(Box::new(on.cloned().unwrap_or_else(|| OnStream::new(stream.clone()))))
    }

    /// The next question asks for more than there was before: to be there by a join, or to hear without.
    pub(crate) fn begins(
        &mut self,
        key: SessionKey,
        join: Option<(u32, Option<Coming>)>,
        before: Option<Box<OnStream>>,
    ) {
        if let (Some(questions), Some(before)) = (&mut self.questions, before) {
            let (stream, serial) = (before.stream.clone(), join.as_ref().map(|(serial, _)| *serial));
            let coming = join.and_then(|(_, coming)| coming);
            questions.beginning = Some(Beginning { key, stream, serial, coming, before: *before });
        }
    }

    /// A join was refused: whatever is undone of what was begun behind it, it does not come back.
    pub(crate) fn forget_refused(&mut self, key: SessionKey, stream: &StreamKey, serial: u32) {
        for Beginning { before, .. } in self.begun(key, stream).flatten() {
            before.present.take_if(|present| *present == serial);
            before.hearing.take_if(|hearing| hearing.join == Some(serial));
        }
    }

    /// A session was told that it is on a stream: whether its question is answered or not, it stays.
    pub(crate) fn keep_begun(&mut self, key: SessionKey, stream: &StreamKey, serial: u32) {
        self.begun(key, stream).for_each(|begun| drop(begun.take_if(|begun| begun.serial == Some(serial))));
    }

    /// What open questions have begun for a session on a stream.
    fn begun(&mut self, key: SessionKey, stream: &StreamKey) -> impl Iterator<Item = &mut Option<Beginning>> {
        let open = self.questions.iter_mut().flat_map(|questions| questions.open.values_mut());
        let is_it = move |begun: &Beginning| begun.key == key && begun.stream == *stream;
        open.map(|question| &mut question.beginning).filter(move |begun| begun.as_ref().is_some_and(is_it))
    }

    /// A session that hears a stream goes on to, whatever is undone of what was begun before.
    pub(crate) fn keep_hearing(&mut self, key: SessionKey, stream: &StreamKey) {
        let session = self.registry.get(key);
        let hearing = session.and_then(|session| session.streams.iter().find(|on| on.stream == *stream)?.hearing);
        for Beginning { before, .. } in self.begun(key, stream).flatten() {
            before.hearing = before.hearing.or(hearing);
        }
    }

    /// Whether somebody still waits for the answer.
    pub(crate) fn is_asked(&self, request: u64) -> bool {
        self.questions.as_ref().is_none_or(|questions| questions.open.contains_key(&request))
    }

    /// An answer comes. Says whether anybody still waits for it.
    pub(crate) fn is_answered(&mut self, request: u64, reply: &Reply) -> bool {
        let Some(questions) = &mut self.questions else { return true };
        let Some(question) = questions.open.remove(&request) else { return false };
        let is_refused = matches!(reply, Reply::Pool(Err(_)) | Reply::Joined(Err(_)));
        if let Some(of_tickets) = question.of_tickets {
            return self.end_of_tickets(of_tickets, is_refused);
        }
        match (question.beginning, reply) {
            (Some(begun), Reply::Joined(Ok(Joined { presences, is_new, .. }))) => {
                self.show(&begun.stream, presences);
                if *is_new {
                    self.came(begun);
                }
            }
            (Some(begun), Reply::Presences(presences, _)) => self.show(&begun.stream, presences),
            _ => {}
        }
        true
    }

    /// A question about tickets has its answer, or gets none. Says whether anybody waits for it.
    fn end_of_tickets(&mut self, of_tickets: OfTickets, is_refused: bool) -> bool {
        match of_tickets {
            OfTickets::Add(ticket, keys) => {
                if is_refused {
                    self.drop_ticket(&ticket, &keys);
                }
                true
            }
            OfTickets::Cancel(owner, is_lost) => {
                self.uncancelled.extend(is_refused.then_some((owner, is_lost)));
                false
            }
        }
    }

    /// A session was let in by this join, and by none before it.
    fn came(&mut self, Beginning { key, stream, serial, coming, .. }: Beginning) {
        self.change(key, &stream, |on| {
            if let (Some(serial), Some(coming)) = (serial, coming)
                && is_from(serial, on.shaped)
            {
                on.shape(serial, coming);
            }
        });
    }

    /// Answers the questions that nobody will answer any more, and undoes what they had begun, the latest first.
    pub(crate) fn give_up(&mut self, is_lost: impl Fn(u64, &Question) -> bool, out: &mut Effects) {
        let Some(questions) = &mut self.questions else { return };
        let lost: Vec<(u64, Question)> =
            questions.open.extract_if(.., |number, question| is_lost(*number, question)).collect();
        let mut begun = Vec::new();
        for (request, mut question) in lost {
            if question.of_tickets.take().is_none_or(|of_tickets| self.end_of_tickets(of_tickets, true)) {
                out.reply(request, question.about.refusal());
            }
            begun.extend(question.beginning);
        }
        begun.into_iter().rev().for_each(|begun| self.undo(begun));
    }

    /// Answers what was to go to a place that is not there, as if it had gone after.
    pub(crate) fn give_up_on(&mut self, place: Place, up: &Up, out: &mut Effects) {
        if self.questions.is_some() {
            self.give_up(|_, question| question.of == place, out);
        } else {
            out.reply_if_asked(up.request(), About::of(up).refusal());
        }
    }

    /// Answers a question that nobody will answer any more.
    pub(crate) fn give_up_one(&mut self, request: u64, out: &mut Effects) {
        let Some(mut question) = self.questions.as_mut().and_then(|questions| questions.open.remove(&request)) else {
            return;
        };
        if question.of_tickets.take().is_none_or(|of_tickets| self.end_of_tickets(of_tickets, true)) {
            out.reply(request, question.about.refusal());
        }
        if let Some(begun) = question.beginning {
            if let Some(serial) = begun.serial {
                self.forget_refused(begun.key, &begun.stream, serial);
            }
            self.undo(begun);
        }
    }

    fn undo(&mut self, Beginning { key, stream, serial, before, .. }: Beginning) {
        self.change(key, &stream, |on| match serial {
            Some(serial) => {
                if on.present == Some(serial) {
                    (on.present, on.shaped) = (before.present, before.shaped);
                    (on.hidden, on.persistence, on.status) = (before.hidden, before.persistence, before.status);
                }
                on.hearing.take_if(|hearing| hearing.join == Some(serial) && before.hearing.is_none());
                if let (Some(hearing), Some(before)) = (&mut on.hearing, before.hearing)
                    && hearing.join == Some(serial)
                {
                    hearing.join = before.join;
                }
            }
            None => {
                on.hearing.take_if(|hearing| hearing.join.is_none() && before.hearing.is_none());
                if let (Some(hearing), Some(before)) = (&mut on.hearing, before.hearing)
                    && hearing.join.is_none()
                {
                    hearing.join = before.join;
                }
            }
        });
    }
}
