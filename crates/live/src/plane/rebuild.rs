//! When a partition's owner has died: each place tells the new one what its sessions are to the partition's streams, and
//! then that this was all. When all places have, the new owner tells them who is there, and goes on with what it was told
//! meanwhile.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::Arc;

use super::effect::Effects;
use super::local::Local;
use super::message::{Down, Listener, Standing, Up};
use super::owner::{Owning, Stream, Streams};
use super::pool::{POOL, PoolAsk};
use super::recovery::Kept;
use super::tickets::TicketStanding;
use super::{Carried, LaneKind, Message, Plane, lanes};
use crate::matches::Outline;
use crate::place::{Epoch, Partition, Place};
use crate::rooms::{Across, Owner, ToOwner, ViewKey};
use crate::session::Millis;
use crate::stream::{Presence, SessionRef, StreamKey, mode};

/// Sessions and streams, or presences, in one message.
pub(super) const PART_MAX: usize = 1_000;

/// Whether a stream's owner lets in whom it wants.
fn is_let_in(stream: &StreamKey) -> bool {
    matches!(stream.mode, mode::PARTY | mode::ROOM | mode::MATCH_AUTHORITATIVE)
}

/// Why a place is told who is on a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cause {
    /// It begins to hear the stream, or to hear it from this owner.
    Begins,
    /// The owner has rebuilt the stream.
    NewOwner,
    /// The owner does not know the stream any more.
    LostHere,
}

/// A partition that this place owns and does not know all of yet.
pub(super) struct Rebuilding {
    pub epoch: Epoch,
    /// Who hands it over, if it comes from a living owner.
    pub former: Option<Place>,
    /// Places that have not told all.
    pub awaited: Vec<Place>,
    pub streams: BTreeSet<StreamKey>,
    /// Partitions that got new owners by a death while this one was on its way: desks to which nobody introduced its rooms.
    pub missed: BTreeSet<Partition>,
    /// What came meanwhile, in order.
    pub held: VecDeque<(Place, Up)>,
    /// What sessions are to parties and rooms.
    pub gathered: BTreeMap<StreamKey, Vec<Standing>>,
    /// Which tickets sessions are on.
    pub tickets: Vec<TicketStanding>,
    /// What its former owner had kept of it.
    pub kept: Kept<Carried>,
    /// Whether there are durable matches among what its living owner hands over.
    pub has_matches: bool,
    /// The durable matches that go on.
    pub outlines: Kept<Outline>,
}

impl Rebuilding {
    pub(super) fn new(epoch: Epoch, awaited: Vec<Place>, kept: Kept<Carried>) -> Self {
        Self {
            epoch,
            former: None,
            awaited,
            streams: BTreeSet::new(),
            missed: BTreeSet::new(),
            held: VecDeque::new(),
            gathered: BTreeMap::new(),
            tickets: Vec::new(),
            kept,
            has_matches: false,
            outlines: Kept::Here(Vec::new()),
        }
    }

    /// Of a partition whose owner died: whether nothing is awaited any more.
    fn is_complete(&self) -> bool {
        self.former.is_none() && self.awaited.is_empty() && self.kept.is_here() && self.outlines.is_here()
    }
}

impl Plane {
    /// Owners of these partitions are others now, this place perhaps. Whatever it knew of them is no more, and what it
    /// was still to do about them goes back.
    pub(super) fn take_over(&mut self, now: Millis, changed: &BTreeSet<Partition>, out: &mut Effects) {
        let directory = self.local.routes.epoch(Owner::Directory.partition());
        self.owning(now, out).leave_rosters(|partition| changed.contains(&partition));
        self.streams.forget(|stream| changed.contains(&stream.partition()));
        self.parties.forget(|party| changed.contains(&party.stream().partition()));
        self.rooms.forget(now, directory, |owner| changed.contains(&owner.partition()));
        if changed.contains(&POOL.partition()) {
            self.pool.clear(self.config.matchmaker);
        }
        let is_lost = |partition: Partition| changed.contains(&partition);
        let held = std::mem::take(&mut self.held).into_iter();
        self.forget_matches(changed, out);
        let mut lost: VecDeque<_>;
        let mut taken_over = Vec::new();
        (lost, self.held) = held.partition(|(_, up)| up.concerns(is_lost));
        for partition in changed {
            lost.extend(self.rebuilding.remove(partition).into_iter().flat_map(|rebuilding| rebuilding.held));
            if self.local.routes.owner(*partition) == self.local.me {
                let (epoch, awaited) = (self.local.routes.epoch(*partition), self.local.routes.places().to_vec());
                let kept = self.kept_so_far(now);
                self.rebuilding.insert(*partition, Rebuilding::new(epoch, awaited, kept));
                taken_over.push((*partition, epoch));
            }
        }
        self.ask_for_kept(now, &taken_over, out);
        if self.config.recover.matches {
            self.ask_for_matches(now, taken_over, out);
        }
        lost.into_iter().for_each(|(from, up)| self.misdirect(from, &up, out));
    }

    /// Tells new owners what sessions of this place are.
    pub(super) fn tell_owners(&mut self, now: Millis, changed: &BTreeSet<Partition>, out: &mut Effects) {
        if changed.contains(&Owner::Directory.partition()) {
            self.rooms.relist(now);
            self.set_rooms_timer();
        }
        self.local.moves_with_owners(changed);
        let mut fences: BTreeMap<Place, Vec<(Partition, Epoch)>> = BTreeMap::new();
        let mut standings = self.local.standings(changed);
        for partition in changed.iter().copied() {
            let (owner, epoch) = (self.local.routes.owner(partition), self.local.routes.epoch(partition));
            let mut standings = standings.remove(&partition).unwrap_or_default();
            while !standings.is_empty() {
                let rest = standings.split_off(standings.len().min(PART_MAX));
                self.send_up(now, owner, Up::Rebuild { partition, epoch, standings }, out);
                standings = rest;
            }
            fences.entry(owner).or_default().push((partition, epoch));
        }
        if changed.contains(&POOL.partition()) {
            self.tell_tickets(now, out);
        }
        for (owner, partitions) in fences {
            self.send_up(now, owner, Up::Fence { partitions }, out);
        }
        self.owning(now, out).introduce_rooms(changed);
        for arriving in self.rebuilding.values_mut().filter(|rebuilding| rebuilding.former.is_some()) {
            arriving.missed.extend(changed);
        }
    }

    /// Nothing is awaited any more of places that have gone.
    pub(super) fn await_no_more(&mut self, now: Millis, gone: &[Place], out: &mut Effects) {
        for rebuilding in self.rebuilding.values_mut() {
            rebuilding.held.retain(|(from, _)| !gone.contains(from));
            if rebuilding.former.is_none() {
                rebuilding.awaited.retain(|place| !gone.contains(place));
            }
        }
        let partitions: Vec<Partition> = self.rebuilding.keys().copied().collect();
        partitions.into_iter().for_each(|partition| self.complete(now, partition, out));
        self.tell_forgotten_rooms(now, out);
    }

    /// Tells the directory of partitions that were rebuilt: it forgot their rooms when their owner died, and may have
    /// learned of them again by what this place had told of them long before.
    pub(super) fn tell_forgotten_rooms(&mut self, now: Millis, out: &mut Effects) {
        if !self.rebuilt.is_empty() {
            let forgotten = Across::Forgotten(std::mem::take(&mut self.rebuilt));
            self.ask_rooms(now, ToOwner::Across(Owner::Directory, forgotten), out);
        }
    }

    /// Whether a message tells of a change that this place has not heard of, or comes behind such a one.
    pub(super) fn is_ahead(&self, from: Place, message: &Message) -> bool {
        let is_news = |partition: Partition, epoch: Epoch| epoch > self.local.routes.epoch(partition);
        match message {
            Message::Up(_) | Message::Dated(..) if self.early.contains_key(&from) => true,
            Message::Dated(_, Up::Rebind { rebind, .. }) if self.local.routes.is_yet_to_come(rebind.to.place) => true,
            Message::Dated(_, Up::Pool { ask: PoolAsk::Rebind(_, to), .. })
                if self.local.routes.is_yet_to_come(to.place) =>
            {
                true
            }
            Message::Dated(epoch, up) => up.partition().is_some_and(|partition| is_news(partition, *epoch)),
            Message::Up(Up::Rebuild { partition, epoch, .. } | Up::Carried { partition, epoch, .. }) => {
                is_news(*partition, *epoch)
            }
            Message::Up(Up::Tickets { epoch, .. }) => is_news(POOL.partition(), *epoch),
            Message::Up(Up::Fence { partitions } | Up::Passed { partitions }) => {
                partitions.iter().any(|(partition, epoch)| is_news(*partition, *epoch))
            }
            _ => false,
        }
    }

    /// Messages that wait until this place knows more.
    pub(super) fn kept_back(&self) -> usize {
        let held = self.rebuilding.values().map(|rebuilding| rebuilding.held.len());
        held.sum::<usize>() + self.early.values().map(VecDeque::len).sum::<usize>()
    }

    /// Whether what a place says of a stream is its owner's to say.
    pub(super) fn is_by_owner(&self, from: Place, down: &Down) -> bool {
        !self.local.routes.is_of_cluster()
            || down.stream().is_none_or(|stream| {
                let partition = stream.partition();
                self.local.routes.owner(partition) == from || self.handovers.speaks(partition, from)
            })
    }

    /// A message for what this place owned since an epoch. Of another epoch none is taken.
    pub(super) fn receive_dated(&mut self, now: Millis, from: Place, epoch: Epoch, mut up: Up, out: &mut Effects) {
        if let Up::Rooms(ask) = &mut up
            && !self.drop_old_reports(from, ask)
        {
            return;
        }
        if up.partition().is_some_and(|partition| self.owned_since(partition) != epoch) {
            self.misdirect(from, &up, out);
        } else {
            self.receive_up(now, from, up, out);
        }
    }

    /// Answers a message back if this place may carry it out as an owner now.
    pub(super) fn screen(&mut self, now: Millis, from: Place, up: Up, out: &mut Effects) -> Option<Up> {
        if !self.local.routes.is_of_cluster() {
            return Some(up);
        }
        match up {
            Up::Rebuild { partition, epoch, standings } => self.rebuild(partition, epoch, standings),
            Up::Tickets { epoch, standings } => self.hear_of_tickets(epoch, standings),
            Up::Fence { partitions } => {
                partitions.into_iter().for_each(|(partition, epoch)| self.fenced(now, from, partition, epoch, out));
                self.tell_forgotten_rooms(now, out);
            }
            Up::Carried { partition, epoch, parts, ends } => {
                self.receive_carried(now, from, (partition, epoch), parts, ends, out);
            }
            Up::Count { ref streams, .. } if !streams.iter().all(|stream| self.owns(stream.partition())) => {
                let arriving = streams.iter().map(StreamKey::partition).find(|partition| self.is_arriving(*partition));
                match arriving.and_then(|partition| self.rebuilding.get_mut(&partition)) {
                    Some(arriving) => arriving.held.push_back((from, up)),
                    None => self.misdirect(from, &up, out),
                }
            }
            up => {
                let Some(partition) = up.partition() else { return Some(up) };
                let is_owner = self.is_owner(partition);
                match self.rebuilding.get_mut(&partition) {
                    // Its place does not know of the change: it will tell again what is to last.
                    Some(rebuilding) if rebuilding.former.is_none() && rebuilding.awaited.contains(&from) => {
                        self.misdirect(from, &up, out);
                    }
                    Some(rebuilding) => rebuilding.held.push_back((from, up)),
                    None if is_owner => return Some(up),
                    None => self.misdirect(from, &up, out),
                }
            }
        }
        None
    }

    /// Since when this place owns what it owns.
    pub(super) fn owned_since(&self, partition: Partition) -> Epoch {
        self.handovers.leaving(partition).unwrap_or_else(|| self.local.routes.epoch(partition))
    }

    /// Whether this place owns a partition.
    pub fn is_owner(&self, partition: Partition) -> bool {
        self.local.routes.owner(partition) == self.local.me || self.handovers.leaving(partition).is_some()
    }

    fn owns(&self, partition: Partition) -> bool {
        self.is_owner(partition) && !self.rebuilding.contains_key(&partition)
    }

    /// Whether a living owner is handing a partition over to this place.
    fn is_arriving(&self, partition: Partition) -> bool {
        self.rebuilding.get(&partition).is_some_and(|rebuilding| rebuilding.former.is_some())
    }

    fn misdirect(&mut self, from: Place, up: &Up, out: &mut Effects) {
        self.misdirected += 1;
        if from != self.local.me && self.local.is_there(from) && lanes::Traffic::needs_credit(up) {
            self.local.lanes.worked_off(from, LaneKind::Up, out);
        }
        if let Some(request) = up.request() {
            self.local.down(request.place, Down::Misdirected { request: request.id }, out);
        }
    }

    fn rebuild(&mut self, partition: Partition, epoch: Epoch, standings: Vec<Standing>) {
        let Some(rebuilding) = self.rebuilding.get_mut(&partition).filter(|rebuilding| rebuilding.epoch == epoch)
        else {
            return;
        };
        for standing in standings {
            if is_let_in(&standing.stream) {
                rebuilding.gathered.entry(standing.stream.clone()).or_default().push(standing);
                continue;
            }
            rebuilding.streams.insert(standing.stream.clone());
            self.streams.install(standing);
        }
    }

    fn fenced(&mut self, now: Millis, from: Place, partition: Partition, epoch: Epoch, out: &mut Effects) {
        let rebuilding = self.rebuilding.get_mut(&partition).filter(|rebuilding| rebuilding.epoch == epoch);
        let Some(rebuilding) = rebuilding else { return };
        rebuilding.awaited.retain(|place| *place != from);
        self.complete(now, partition, out);
    }

    /// Goes on with a partition whose owner died, if nothing of it is awaited any more.
    pub(super) fn complete(&mut self, now: Millis, partition: Partition, out: &mut Effects) {
        if self.rebuilding.get(&partition).is_some_and(Rebuilding::is_complete) {
            self.rebuilt(now, partition, out);
        }
    }

    /// Those who watch the lobby are told anew by a new directory, all at once: now that it knows of all.
    fn adopt_views(&mut self, now: Millis, streams: &BTreeSet<StreamKey>) {
        for stream in streams.iter().filter(|stream| stream.mode == mode::LOBBY) {
            if let Some(view) = ViewKey::parse(stream.label()) {
                self.rooms.adopt_view(now, view);
            }
        }
        self.set_rooms_timer();
    }

    /// Sessions of nodes that died while the partition was on its way leave now.
    fn lose_absent(&mut self, now: Millis, partition: Partition, streams: &BTreeSet<StreamKey>, out: &mut Effects) {
        let mut absent = self.owning(now, out).absent(streams);
        let waiting = self.parties.sessions().map(|(_, session)| session.place);
        let waiting = waiting.chain(self.matches.attempting().map(|(_, session)| session.place));
        absent.extend(waiting.filter(|place| !self.local.is_there(*place)));
        if partition == POOL.partition() {
            absent.extend(self.pool.absent(|place| !self.local.is_there(place)));
        }
        if !absent.is_empty() {
            let absent: Vec<Place> = absent.into_iter().collect();
            self.lose_tickets(&absent, out);
            self.owning(now, out).lose(&absent);
        }
    }

    /// All have told what they know.
    pub(super) fn rebuilt(&mut self, now: Millis, partition: Partition, out: &mut Effects) {
        let Some(rebuilding) = self.rebuilding.remove(&partition) else { return };
        let Rebuilding { streams, held, former, missed, gathered, tickets, kept, outlines, .. } = rebuilding;
        let mut outlines = outlines.into_here();
        if former.is_none() {
            self.adopt_views(now, &streams);
            self.rebuilt.push(partition);
            let kept = kept.into_here();
            if !kept.is_empty() {
                // Before what goes on is listed again.
                self.tell_forgotten_rooms(now, out);
            }
            self.go_on(now, partition, kept, std::mem::take(&mut outlines), gathered, out);
            if partition == POOL.partition() {
                self.go_on_with_tickets(now, tickets, out);
            }
        }
        let cause = if former.is_some() { Cause::Begins } else { Cause::NewOwner };
        let mut owning = self.owning(now, out);
        for stream in &streams {
            owning.send_rosters(stream, cause);
            owning.close_older(stream);
            // Who heard it may have gone while all were awaited.
            owning.drop_unheard(stream);
        }
        if former.is_some() {
            owning.tell_rooms_again(partition, &missed);
            self.wake_matches(now, partition, outlines, out);
            self.lose_absent(now, partition, &streams, out);
            self.after_owning(now, out);
        }
        // What one of these leads to stays behind the rest of them.
        let (about_this, about_more): (Vec<_>, Vec<_>) = held.into_iter().partition(|(_, up)| up.partition().is_some());
        self.held.extend(about_this);
        about_more.into_iter().for_each(|(from, up)| self.receive_up(now, from, up, out));
        self.release_held(now, out);
    }
}

impl Owning<'_> {
    /// Those of these streams' sessions and hearers whose places have gone while the partition was on its way.
    fn absent(&self, streams: &BTreeSet<StreamKey>) -> BTreeSet<Place> {
        let streams = streams.iter().filter_map(|key| self.streams.map.get(key));
        let places = streams
            .flat_map(|stream| stream.places().chain(stream.presences.iter().map(|presence| presence.session.place)));
        places.filter(|place| !self.local.is_there(*place)).collect()
    }

    /// Tells what is untold of these partitions' streams, and leaves with the places of this node, which keep no rosters
    /// of what is owned here, who is on them.
    pub(super) fn leave_rosters(&mut self, is_one: impl Fn(Partition) -> bool) {
        let me = self.local.me.node();
        // Of what is not rebuilt yet places keep what the owner before told them: not all of it is known here.
        let is_known = |partition: Partition| is_one(partition) && !self.rebuilding.contains_key(&partition);
        let mut streams: Vec<StreamKey> =
            self.streams.map.keys().filter(|key| is_known(key.partition())).cloned().collect();
        // In an order that another run has too.
        streams.sort_unstable();
        for key in streams {
            self.tell_all_kept(&key);
            let places = self.streams.map.get(&key).into_iter().flat_map(Stream::places);
            let here: Vec<Place> = places.filter(|place| place.node() == me).collect();
            here.into_iter().for_each(|place| self.send_roster(&key, place, Cause::LostHere));
        }
    }

    pub(super) fn send_rosters(&mut self, key: &StreamKey, cause: Cause) {
        let places: Vec<Place> = self.streams.map.get(key).into_iter().flat_map(|stream| stream.places()).collect();
        places.into_iter().for_each(|place| self.send_roster(key, place, cause));
    }

    /// Tells a place who may be seen on a stream, if its sessions are told who comes and goes.
    pub(super) fn send_roster(&mut self, key: &StreamKey, place: Place, cause: Cause) {
        let Some(stream) = self.streams.map.get_mut(key) else { return };
        if !self.local.encode.tells_presences(key) {
            return;
        }
        stream.news.shown(&stream.presences);
        let mut visible = stream.presences.iter().filter(|presence| !presence.hidden).peekable();
        let mut begins = true;
        loop {
            let presences: Vec<Presence> = visible.by_ref().take(PART_MAX).cloned().collect();
            let ends = visible.peek().is_none();
            let (stream, is_anew, is_last) = (key.clone(), cause == Cause::NewOwner, cause == Cause::LostHere);
            let roster = Down::Roster { stream, presences, begins, ends, is_anew, is_last };
            self.local.down(place, roster, self.out);
            if ends {
                return;
            }
            begins = false;
        }
    }
}

impl Streams {
    /// Takes in what a session is to a stream, without a word.
    pub(super) fn install(&mut self, standing: Standing) {
        let Standing { stream: key, presence, listener, by_join, .. } = standing;
        let stream = self.map.entry(key.clone()).or_default();
        if let Some(Listener { session, encoding, .. }) = listener {
            stream.count_listener(session.place, encoding);
        }
        let Some(presence) = presence else { return };
        let heard = listener.filter(|_| by_join).map(|listener| listener.encoding);
        if stream.presences.insert(Arc::new(presence), heard).is_none() {
            self.presences += 1;
        }
        if key.mode == mode::MATCH_RELAYED {
            self.matches.insert(key);
        }
    }

    fn forget(&mut self, is_lost: impl Fn(&StreamKey) -> bool) {
        let Self { map, matches, presences, .. } = self;
        map.retain(|key, stream| {
            let is_lost = is_lost(key);
            if is_lost {
                *presences -= stream.presences.len();
                matches.swap_remove(key);
            }
            !is_lost
        });
    }
}

impl Local {
    /// What sessions are to streams of these partitions. From now on those hear that were to.
    fn standings(&mut self, changed: &BTreeSet<Partition>) -> BTreeMap<Partition, Vec<Standing>> {
        let mut standings: BTreeMap<Partition, Vec<Standing>> = BTreeMap::new();
        let keys: Vec<_> = self.sessions.keys().collect();
        for key in keys {
            let (Some(own), Some(session)) = (self.presence(key), self.sessions.get_mut(key)) else { continue };
            let (at, encoding) = (SessionRef { place: self.me, key }, session.encoding);
            let mut hearing = Vec::new();
            for on in &mut session.streams {
                let partition = on.stream.partition();
                if !changed.contains(&partition) {
                    continue;
                }
                // To those its owner lets in whom it wants, and sees them out: that is not undone here.
                let is_let_in = is_let_in(&on.stream);
                let here = self.listeners.get(&on.stream);
                if is_let_in && here.is_some_and(|here| here.is_leaving(key)) {
                    continue;
                }
                let waits = is_let_in && !here.is_some_and(|here| here.sessions.contains_key(&key));
                if let Some(hearing) = on.hearing.as_mut().filter(|_| on.present.is_none()) {
                    hearing.join = None;
                }
                let listener = on.hearing.map(|hearing| {
                    let serial = hearing.join.unwrap_or(hearing.since);
                    Listener { session: at, encoding, serial }
                });
                hearing.extend(on.hearing.filter(|_| !waits).map(|hearing| (on.stream.clone(), hearing.since)));
                let (hidden, persistence, status) = (on.hidden, on.persistence, on.status.clone());
                let presence =
                    on.present.filter(|_| !waits).map(|_| Presence { hidden, persistence, status, ..own.clone() });
                let by_join = on.hearing.is_some_and(|hearing| hearing.join.is_some());
                let standing = Standing { stream: on.stream.clone(), presence, listener, by_join, latest: 0 };
                standings.entry(partition).or_default().push(standing);
            }
            for (stream, since) in hearing {
                if !self.hears(key, &stream) {
                    self.hear(stream, key, encoding, since);
                }
            }
        }
        standings
    }

    /// What sessions are to streams whose place has gone: how they hear it, and what is seen of those that are on it.
    pub(super) fn anchorless(&self) -> Vec<(StreamKey, Listener, Option<Presence>)> {
        let mut found = Vec::new();
        for key in self.sessions.keys() {
            let (Some(own), Some(session)) = (self.presence(key), self.sessions.get(key)) else { continue };
            let at = SessionRef { place: self.me, key };
            for on in session.streams.iter().filter(|on| self.is_anchorless(&on.stream)) {
                let serial = on.hearing.map(|hearing| hearing.join.unwrap_or(hearing.since)).unwrap_or_default();
                let listener = Listener { session: at, encoding: session.encoding, serial };
                let presence = self.hears(key, &on.stream).then(|| own.clone());
                found.push((on.stream.clone(), listener, presence));
            }
        }
        found
    }

    /// Whether a stream was at a place that has gone.
    pub(super) fn is_anchorless(&self, stream: &StreamKey) -> bool {
        stream.partition().anchor().is_some_and(|place| !self.is_there(place))
    }
}
