//! Questions of a place in a cluster that wait for answers. When the node that was to answer has gone, its questions
//! are answered with a refusal at once, and the changes that they began here are undone ([`Beginning`]). A place on a
//! node of its own keeps no questions.

use std::collections::BTreeMap;

use muster_domain::{Error, ErrorKind};

use super::session::{Coming, OnStream};
use super::{Sessions, is_from};
use crate::place::{Partition, Place};
use crate::plane::effect::Effects;
use crate::plane::message::{FollowUp, Joined, Reply, Up};
use crate::registry::SessionKey;
use crate::stream::StreamKey;

/// The questions of a place that wait for answers.
#[derive(Debug, Default)]
pub(crate) struct Questions {
    open: BTreeMap<u64, Question>,
    /// The change of a session's relation to a stream that begins with the next question.
    beginning: Option<Beginning>,
}

/// A question under way.
#[derive(Debug)]
pub(crate) struct Question {
    /// The place that was asked.
    pub of: Place,
    /// The partition that the question is about, if there is exactly one.
    pub partition: Option<Partition>,
    /// Whether that place may have handed the question on.
    pub may_wander: bool,
    refusal: fn(Error) -> Reply,
    beginning: Option<Beginning>,
    follow_up: Option<FollowUp>,
}

/// The relation to a stream that a session asked for, and the relation that it had before.
#[derive(Debug)]
struct Beginning {
    key: SessionKey,
    stream: StreamKey,
    /// Serial number of the join; `None` if the session only listens.
    serial: Option<u32>,
    /// The options of the join, unless the stream's owner decides whether to let the session in.
    coming: Option<Coming>,
    before: OnStream,
}

impl Questions {
    /// Notes a question on its way.
    pub(crate) fn note(&mut self, of: Place, up: &Up) {
        let beginning = self.beginning.take();
        let Some(request) = up.request() else { return };
        let (partition, refusal, follow_up) = (up.partition(), up.refusal(), up.follow_up(request.place));
        let question = Question { of, partition, may_wander: up.may_wander(), refusal, beginning, follow_up };
        self.open.insert(request.id, question);
    }
}

/// The refusal of a question whose owner has gone.
fn unanswered(refusal: fn(Error) -> Reply) -> Reply {
    refusal(Error::new(ErrorKind::Unavailable, "The node that was to answer has gone. Please try again."))
}

impl Sessions {
    /// The relation of a session to a stream, to be restored if a question about it is never answered. `None` outside
    /// of a cluster.
    pub(crate) fn before(&self, key: SessionKey, stream: &StreamKey) -> Option<Box<OnStream>> {
        self.questions.as_ref()?;
        let on = self.registry.get(key)?.streams.iter().find(|on| on.stream == *stream);
        Some(Box::new(on.cloned().unwrap_or_else(|| OnStream::new(stream.clone()))))
    }

    /// Notes the change that the next question asks for: a session is on a stream by a join, or hears it without one.
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

    /// Notes that a join was refused, so that undoing a later question does not bring the join back.
    pub(crate) fn forget_refused(&mut self, key: SessionKey, stream: &StreamKey, serial: u32) {
        for Beginning { before, .. } in self.begun(key, stream).flatten() {
            before.present.take_if(|present| *present == serial);
            before.hearing.take_if(|hearing| hearing.join == Some(serial));
        }
    }

    /// Notes that a session was told that it is on a stream: it stays there even if its question is never answered.
    pub(crate) fn keep_begun(&mut self, key: SessionKey, stream: &StreamKey, serial: u32) {
        self.begun(key, stream).for_each(|begun| drop(begun.take_if(|begun| begun.serial == Some(serial))));
    }

    /// The beginnings of open questions about a session and a stream.
    fn begun(&mut self, key: SessionKey, stream: &StreamKey) -> impl Iterator<Item = &mut Option<Beginning>> {
        let open = self.questions.iter_mut().flat_map(|questions| questions.open.values_mut());
        let is_it = move |begun: &Beginning| begun.key == key && begun.stream == *stream;
        open.map(|question| &mut question.beginning).filter(move |begun| begun.as_ref().is_some_and(is_it))
    }

    /// Notes that a session hears a stream and goes on to hear it, even if earlier questions are undone.
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

    /// Takes an answer. Says whether anybody still waits for it.
    pub(crate) fn is_answered(&mut self, request: u64, reply: &Reply) -> bool {
        let Some(questions) = &mut self.questions else { return true };
        let Some(question) = questions.open.remove(&request) else { return false };
        if let Some(follow_up) = question.follow_up {
            return self.follow_up(follow_up, reply.is_refused());
        }
        match (question.beginning, reply) {
            (Some(begun), Reply::Joined(Ok(Joined { presences, is_new, .. }))) => {
                self.show(question.of, &begun.stream, presences);
                if *is_new {
                    self.came(begun);
                }
            }
            (Some(begun), Reply::Presences(presences, _)) => self.show(question.of, &begun.stream, presences),
            _ => {}
        }
        true
    }

    /// Notes that a session was let in by this join, and by none before it: the join's options show.
    fn came(&mut self, Beginning { key, stream, serial, coming, .. }: Beginning) {
        self.change(key, &stream, |on| {
            if let (Some(serial), Some(coming)) = (serial, coming)
                && is_from(serial, on.shaped)
            {
                on.shape(serial, coming);
            }
        });
    }

    /// Answers lost questions with a refusal, and undoes their beginnings, the latest first.
    pub(crate) fn give_up(&mut self, is_lost: impl Fn(u64, &Question) -> bool, out: &mut Effects) {
        let Some(questions) = &mut self.questions else { return };
        let lost: Vec<(u64, Question)> =
            questions.open.extract_if(.., |number, question| is_lost(*number, question)).collect();
        let mut begun = Vec::new();
        for (request, mut question) in lost {
            if question.follow_up.take().is_none_or(|follow_up| self.follow_up(follow_up, true)) {
                out.reply(request, unanswered(question.refusal));
            }
            begun.extend(question.beginning);
        }
        begun.into_iter().rev().for_each(|begun| self.undo(begun));
    }

    /// Answers the questions to a place that is not there with a refusal, as if the place had gone after they were
    /// sent.
    pub(crate) fn give_up_on(&mut self, place: Place, up: &Up, out: &mut Effects) {
        if self.questions.is_some() {
            self.give_up(|_, question| question.of == place, out);
        } else {
            out.reply_if_asked(up.request(), unanswered(up.refusal()));
        }
    }

    /// Answers one lost question with a refusal, and undoes its beginning.
    pub(crate) fn give_up_one(&mut self, request: u64, out: &mut Effects) {
        let Some(mut question) = self.questions.as_mut().and_then(|questions| questions.open.remove(&request)) else {
            return;
        };
        if question.follow_up.take().is_none_or(|follow_up| self.follow_up(follow_up, true)) {
            out.reply(request, unanswered(question.refusal));
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
