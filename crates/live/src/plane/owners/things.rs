//! The things that a place owns, by kind. A macro makes this code from the list of kinds.

use super::owned::{Owned, Typed};
use super::owning::Owning;
use crate::matches::LeaveReason;
use crate::plane::kinds::kinds;
use crate::plane::message::{Ask, Kind, RequestRef};
use crate::plane::options::{PlaneConfig, PlaneStats};
use crate::session::Millis;
use crate::stream::{Encoding, SessionRef, StreamKey};

macro_rules! things {
    ($($(#[$doc:meta])* $kind:ident: $file:ident::$kept:ident,
        $rules:ident::{$ask:ident => $answer:ident, $part:ident};)*) => {
        /// All things that a place owns, streams excepted, by kind.
        pub(crate) struct Things {
            $($(#[$doc])* pub(crate) $file: super::$file::$kept,)*
            /// Kinds that were added by [`crate::Plane::add`].
            pub(crate) added: Vec<Box<dyn Owned>>,
            /// The place, in the order of kinds, of the kind whose turn for a slice is next.
            next_slice: usize,
        }

        impl Things {
            pub(crate) fn new(config: &PlaneConfig) -> Self {
                Self { $($file: Typed::new(config),)* added: Vec::new(), next_slice: 0 }
            }

            /// Every kind, in the order of their registration.
            pub(crate) fn all(&self) -> impl Iterator<Item = &dyn Owned> {
                [$(&self.$file as &dyn Owned),*].into_iter().chain(self.added.iter().map(|added| &**added))
            }

            /// Every kind, to be changed, in the order of their registration.
            pub(crate) fn all_mut(&mut self) -> impl Iterator<Item = &mut (dyn Owned + 'static)> {
                let registered = [$(&mut self.$file as &mut (dyn Owned + 'static)),*];
                registered.into_iter().chain(self.added.iter_mut().map(|added| &mut **added))
            }

            /// Carries out a question.
            pub(crate) fn ask(&mut self, owning: &mut Owning<'_>, request: Option<RequestRef>, ask: Ask) {
                match ask {
                    $(Ask::$kind(ask) => self.$file.ask(owning, request, ask),)*
                    Ask::Added(ask) => self.ask_added(owning, request, ask),
                }
            }

            /// Does what is due among things of a kind.
            pub(crate) fn turn(&mut self, owning: &mut Owning<'_>, kind: Kind) {
                match kind {
                    Kind::Stream => {}
                    $(Kind::$kind => self.$file.turn(owning),)*
                    Kind::Added(_) => {
                        if let Some(things) = self.of_kind(kind) {
                            things.turn(owning);
                        }
                    }
                }
            }

            /// Does what is due among the kinds that name a time in [`Owned::next_due`] instead of setting timers.
            pub(crate) fn turn_due(&mut self, owning: &mut Owning<'_>) {
                $(turn_if_due(&mut self.$file, owning);)*
                self.added.iter_mut().for_each(|things| turn_if_due(&mut **things, owning));
            }

            /// The earliest time that a kind names in [`Owned::next_due`]. Timers are apart.
            pub(crate) fn next_due(&self) -> Option<Millis> {
                let registered = [$(self.$file.next_due()),*].into_iter().flatten();
                registered.chain(self.added.iter().filter_map(|things| things.next_due())).min()
            }

            /// Whether there is long work to go on with.
            pub(crate) fn is_busy(&self) -> bool {
                $(self.$file.is_busy() ||)* self.added.iter().any(|things| things.is_busy())
            }
        }
    };
}
kinds!(things);

fn turn_if_due(things: &mut (impl Owned + ?Sized), owning: &mut Owning<'_>) {
    if things.next_due().is_some_and(|due| due <= owning.now) {
        things.turn(owning);
    }
}

impl Things {
    /// Goes on with long work: one slice of the next kind that has any, so that slices of several kinds do not add up.
    /// Answers whether there is more.
    pub(crate) fn run_slice(&mut self, owning: &mut Owning<'_>) -> bool {
        let kinds = self.all().count();
        for _ in 0..kinds {
            let at = self.next_slice % kinds;
            self.next_slice = at + 1;
            if let Some(things) = self.all_mut().nth(at).filter(|things| things.is_busy()) {
                things.run_slice(owning);
                break;
            }
        }
        self.is_busy()
    }

    /// The kind that decides who comes to streams of a mode.
    pub(crate) fn of_mode(&mut self, mode: u8) -> Option<&mut (dyn Owned + 'static)> {
        self.all_mut().find(|kind| kind.mode() == Some(mode))
    }

    /// The modes of streams to which things let sessions come.
    pub(crate) fn modes(&self) -> Vec<u8> {
        self.all().filter_map(|kind| kind.mode()).collect()
    }

    /// The things of a kind; `None` for streams.
    pub(crate) fn of_kind(&mut self, kind: Kind) -> Option<&mut (dyn Owned + 'static)> {
        self.all_mut().find(|things| things.kind() == kind)
    }

    /// Sets the gauges and counts of all kinds.
    pub(crate) fn count(&self, stats: &mut PlaneStats) {
        self.all().for_each(|things| things.count(stats));
    }

    /// Takes a session off a stream, and out of the thing that has the stream, if a thing has it.
    pub(crate) fn depart(
        &mut self,
        owning: &mut Owning<'_>,
        key: &StreamKey,
        session: SessionRef,
        heard: Option<Encoding>,
        reason: LeaveReason,
    ) {
        let Some(thing) = self.of_mode(key.mode) else {
            owning.leave(key, session, heard);
            return;
        };
        thing.leaving(owning, key, session);
        let presence = owning.leave(key, session, heard);
        thing.left(owning, key, session, presence, reason);
    }

    /// Tells all kinds that a session no longer hears a stream.
    pub(crate) fn unheard(&mut self, owning: &mut Owning<'_>, key: &StreamKey) {
        self.all_mut().for_each(|things| things.unheard(owning, key));
    }
}
