//! A tie: the relation of one session to one stream, as the session knows it.

use std::collections::BTreeMap;

use crate::frames::Version;
use crate::model::order::Place;
use crate::scenario::{When, Who};

/// An action of a session on a stream.
#[derive(Clone, Debug)]
pub enum Op {
    /// A join. `answer` says whether the session was let in, once that is known.
    Join { version: Version, when: When, listens: bool, answer: Option<bool> },
    /// A request to listen. `answer` says whether it was granted, once that is known.
    Listen { request: u64, answer: Option<bool> },
    /// Leaving the stream.
    Leave,
    /// Leaving the stream. `hears` says whether the session goes on hearing it.
    Vanish { hears: bool },
    /// The end of hearing the stream.
    Unlisten,
}

/// Whether a session is on a stream, and whether it hears the stream.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// The session's appearance on the stream, if it is on it.
    pub present: Option<Version>,
    /// Whether the session hears the stream.
    pub hears: bool,
}

impl State {
    fn after(self, op: &Op, open_counts: bool) -> Self {
        match *op {
            Op::Join { version, when, listens, answer } => {
                if !answer.unwrap_or(open_counts) {
                    return self;
                }
                let present = self.present.filter(|_| when != When::Replacing).or(Some(version));
                Self { present, hears: self.hears || listens }
            }
            Op::Listen { answer, .. } => Self { hears: self.hears || answer.unwrap_or(open_counts), ..self },
            Op::Leave => Self::default(),
            Op::Vanish { hears } => Self { present: None, hears },
            Op::Unlisten => Self { hears: false, ..self },
        }
    }
}

/// A period during which a session hears a stream without a gap. It begins when a request of the session is answered.
#[derive(Clone, Debug)]
pub struct Period {
    /// An id that no other period has.
    pub id: u64,
    /// The presences on the stream, as the session concludes from what it was told.
    pub view: BTreeMap<Who, Version>,
    /// Whether the snapshot was incomplete or missing, so that the view may lack presences that came before.
    pub is_cut: bool,
    /// Whether events may repeat changes that the view has already, because a second snapshot overtook them.
    pub is_loose: bool,
    /// The last messages that the session heard.
    pub place: Place,
}

/// The actions of one session on one stream, and the answers and messages that it got.
#[derive(Clone, Debug, Default)]
pub struct Tie {
    base: State,
    ops: Vec<Op>,
    /// Number of the session's actions on the stream.
    pub changes: u32,
    /// Number of times that the session stopped hearing the stream. Answers to requests of an earlier epoch no longer
    /// count.
    pub epoch: u32,
    /// The present period of hearing, as far as the session was told.
    pub period: Option<Period>,
}

impl Tie {
    /// Notes an action of the session.
    pub fn note(&mut self, op: Op) {
        self.changes += 1;
        if matches!(op, Op::Leave | Op::Unlisten) {
            self.epoch += 1;
            self.period = None;
        }
        self.ops.push(op);
    }

    /// Notes the answer to the join of an appearance.
    pub fn join_answered(&mut self, joined: Version, is_in: bool) {
        for op in &mut self.ops {
            match op {
                Op::Join { version, answer, .. } if *version == joined => *answer = Some(is_in),
                _ => {}
            }
        }
    }

    /// Notes the answer to a request to listen.
    pub fn listen_answered(&mut self, asked: u64, hears: bool) {
        for op in &mut self.ops {
            match op {
                Op::Listen { request, answer } if *request == asked => *answer = Some(hears),
                _ => {}
            }
        }
    }

    /// The state if all open requests are granted, as the session's shard assumes.
    pub fn hoped(&self) -> State {
        self.ops.iter().fold(self.base, |state, op| state.after(op, true))
    }

    /// The state if all open requests are refused.
    pub fn answered(&self) -> State {
        self.ops.iter().fold(self.base, |state, op| state.after(op, false))
    }

    /// The state at the stream's owner once all requests have arrived; `None` if that depends on other sessions.
    pub fn certain(&self) -> Option<State> {
        let depends = |op: &Op| matches!(op, Op::Join { when: When::Occupied, answer: None, .. });
        let from = self.ops.iter().rposition(|op| matches!(op, Op::Leave)).unwrap_or_default();
        (!self.ops[from..].iter().any(depends)).then(|| self.hoped())
    }

    /// Whether the session is certainly on the stream at the stream's owner, by the answers that it got.
    pub fn is_there_already(&self) -> bool {
        self.ops.iter().fold(self.base.present.is_some(), |is_there, op| match op {
            Op::Join { answer, .. } => is_there || *answer == Some(true),
            Op::Leave | Op::Vanish { .. } => false,
            Op::Listen { .. } | Op::Unlisten => is_there,
        })
    }

    /// At rest, forgets the actions and keeps the state that they led to.
    pub fn rest(&mut self) -> State {
        self.base = self.hoped();
        self.ops.clear();
        self.base
    }
}
