//! The things that a place owns, by kind. Each kind is registered here.

use super::Owning;
use super::matches::OwnedMatches;
use super::owned::{AddedAsk, Owned};
use super::parties::OwnedParties;
use super::pool::OwnedPool;
use super::rooms::OwnedRooms;
use crate::party::Member;
use crate::plane::message::{Down, JoinRefusal, Kind, Reply};
use crate::plane::options::PlaneConfig;

macro_rules! things {
    ($($field:ident: $kept:ty),* $(,)?) => {
        /// All things that a place owns but its streams, by kind.
        pub(crate) struct Things {
            $(pub(crate) $field: $kept,)*
            /// Kinds that were added by [`crate::Plane::add`].
            pub(crate) added: Vec<Box<dyn Owned>>,
        }

        impl Things {
            pub(crate) fn new(config: &PlaneConfig) -> Self {
                Self { $($field: <$kept>::new(config),)* added: Vec::new() }
            }

            /// Every kind, in the order of their registration.
            pub(crate) fn all(&self) -> impl Iterator<Item = &dyn Owned> {
                [$(&self.$field as &dyn Owned),*].into_iter().chain(self.added.iter().map(|added| &**added))
            }

            /// Every kind, to be changed.
            pub(crate) fn all_mut(&mut self) -> impl Iterator<Item = &mut (dyn Owned + 'static)> {
                let registered = [$(&mut self.$field as &mut (dyn Owned + 'static)),*];
                registered.into_iter().chain(self.added.iter_mut().map(|added| &mut **added))
            }
        }
    };
}

things! {
    parties: OwnedParties,
    rooms: OwnedRooms,
    pool: OwnedPool,
    matches: OwnedMatches,
}

impl Things {
    /// The kind that decides who comes to streams of a mode.
    pub(crate) fn of_mode(&mut self, mode: u8) -> Option<&mut (dyn Owned + 'static)> {
        self.all_mut().find(|kind| kind.mode() == Some(mode))
    }

    /// The modes of streams to which things let sessions come.
    pub(crate) fn modes(&self) -> Vec<u8> {
        self.all().filter_map(|kind| kind.mode()).collect()
    }

    /// Asks something of a thing of an added kind. A question to a kind that there is not is refused.
    pub(crate) fn ask_added(&mut self, owning: &mut Owning<'_>, asked: AddedAsk<'_>) {
        if let Some(things) = self.of_kind(Kind::Added(asked.stream.mode)) {
            return things.ask(owning, asked);
        }
        if let Some(Member { listener, .. }) = asked.comer {
            owning.down(listener.session.place, Down::Removed { stream: asked.stream.clone(), listener });
        }
        owning.reply(asked.request, Reply::Joined(Err(JoinRefusal::Unavailable)));
    }

    /// The things of a kind; `None` for streams.
    pub(crate) fn of_kind(&mut self, kind: Kind) -> Option<&mut (dyn Owned + 'static)> {
        self.all_mut().find(|things| things.kind() == kind)
    }
}
