//! What one session has to do with one stream, as the session knows it.

use std::collections::BTreeMap;

use crate::frames::Version;
use crate::model::order::Place;
use crate::scenario::{When, Who};

/// What a session did about a stream.
#[derive(Clone, Debug)]
pub enum Op {
    /// It joined; whether it was let in, once that is known.
    Join { version: Version, when: When, listens: bool, answer: Option<bool> },
    /// It listened, by a question; whether that was granted, once that is known.
    Listen { request: u64, answer: Option<bool> },
    /// It left.
    Leave,
    /// It left and went on hearing, if it heard.
    Vanish { hears: bool },
    /// It stopped hearing.
    Unlisten,
}

/// Whether a session is on a stream, and hears it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct State {
    /// As which appearance it is there.
    pub present: Option<Version>,
    /// Whether it hears.
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

/// A time without gap during which a session hears a stream, from the answer that began it.
#[derive(Clone, Debug)]
pub struct Period {
    /// Different from all others.
    pub id: u64,
    /// Who is there, as the session concludes from what it was told.
    pub view: BTreeMap<Who, Version>,
    /// The snapshot was cut, or there was none: the view may lack those who were there before.
    pub is_cut: bool,
    /// Events may repeat what the view holds, since a second snapshot overtook them.
    pub is_loose: bool,
    /// What was heard last.
    pub place: Place,
}

/// See the module.
#[derive(Clone, Debug, Default)]
pub struct Tie {
    base: State,
    ops: Vec<Op>,
    /// How often it did anything about it.
    pub changes: u32,
    /// How often it stopped hearing: answers to what it asked before say nothing any more.
    pub epoch: u32,
    /// Since when it hears without a gap, as far as it was told.
    pub period: Option<Period>,
}

impl Tie {
    /// Notes what the session does.
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

    /// Notes the answer to a question to listen.
    pub fn listen_answered(&mut self, asked: u64, hears: bool) {
        for op in &mut self.ops {
            match op {
                Op::Listen { request, answer } if *request == asked => *answer = Some(hears),
                _ => {}
            }
        }
    }

    /// Where it stands if what is not answered yet goes well: what its shard believes.
    pub fn hoped(&self) -> State {
        self.ops.iter().fold(self.base, |state, op| state.after(op, true))
    }

    /// Where it stands by what was answered alone.
    pub fn answered(&self) -> State {
        self.ops.iter().fold(self.base, |state, op| state.after(op, false))
    }

    /// Where it stands for certain at its owner once all that was sent arrives; `None` if that depends on others.
    pub fn certain(&self) -> Option<State> {
        let depends = |op: &Op| matches!(op, Op::Join { when: When::Occupied, answer: None, .. });
        let from = self.ops.iter().rposition(|op| matches!(op, Op::Leave)).unwrap_or_default();
        (!self.ops[from..].iter().any(depends)).then(|| self.hoped())
    }

    /// Whether it is there at its owner already, as far as it was told.
    pub fn is_there_already(&self) -> bool {
        self.ops.iter().fold(self.base.present.is_some(), |is_there, op| match op {
            Op::Join { answer, .. } => is_there || *answer == Some(true),
            Op::Leave | Op::Vanish { .. } => false,
            Op::Listen { .. } | Op::Unlisten => is_there,
        })
    }

    /// At rest: forgets how it came to where it stands.
    pub fn rest(&mut self) -> State {
        self.base = self.hoped();
        self.ops.clear();
        self.base
    }
}
