//! Filters that cost as much as they can: what a step does stays within its limit, and nobody but their own watchers
//! waits.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use muster_domain::ids::Uuid;
use muster_domain::query::{Query, STEP_UNITS_MAX, Work};
use muster_domain::{ErrorKind, UserId};

use super::super::directory::{Directory, document};
use super::super::limits::{FILTER_BYTES_MAX, FIND_UNITS, LOBBY_NEWS_MAX, LOBBY_VIEWS_PER_USER_MAX, PAGE_ROOMS_MAX};
use super::super::{Find, LobbyDelta, RoomEffect, RoomId, RoomPath, Summary, Value, ViewKey};
use crate::nasty::{Random, Search, text};
use crate::place::Epoch;
use crate::session::Millis;

const FIELDS: [&str; 3] = ["properties.p0", "properties.p1", "name"];
const COSTLY: &str = "-properties.p0:/(?:.*){80}b/";

fn room(number: u32) -> RoomId {
    RoomId(Uuid::from_u128(u128::from(number) + 1))
}

fn user(number: u32) -> UserId {
    UserId(Uuid::from_u128(u128::from(number) + 1))
}

fn summary(number: u32, properties: &[String]) -> Arc<Summary> {
    let value = |text: &String| Value::new(&format!("\"{text}\"")).expect("it is short JSON");
    Arc::new(Summary {
        id: room(number),
        name: Arc::from(format!("room {number}")),
        template: None,
        path: RoomPath::default(),
        capacity: 8,
        players: number % 8,
        free: 8 - number % 8,
        spectators: 0,
        spectators_max: 0,
        locked: false,
        open: true,
        owner: None,
        properties: properties
            .iter()
            .enumerate()
            .map(|(place, text)| (Arc::from(format!("p{place}")), value(text)))
            .collect(),
        variables: Vec::new(),
    })
}

fn view(filter: &str, rooms_max: usize) -> ViewKey {
    ViewKey { path: RoomPath::default(), filter: Arc::from(filter), interval_ms: 250, rooms_max }
}

fn find(filter: &str, after: Option<u32>) -> Find {
    Find { filter: Arc::from(filter), after, ..Find::default() }
}

/// A directory, what watchers know, and the rooms as they are.
struct Hall {
    directory: Directory,
    now: Millis,
    rooms: BTreeMap<RoomId, Arc<Summary>>,
    /// The rooms that watchers know, by view. A watcher knows the rooms of the first page, and the rest by asking for
    /// all pages at once.
    known: BTreeMap<ViewKey, BTreeSet<RoomId>>,
    slices: usize,
    /// Number of slices before the last push of each view.
    told_in: BTreeMap<ViewKey, usize>,
}

impl Hall {
    fn new() -> Self {
        Self {
            directory: Directory::following(Epoch(1)),
            now: 1_000,
            rooms: BTreeMap::new(),
            known: BTreeMap::new(),
            slices: 0,
            told_in: BTreeMap::new(),
        }
    }

    fn put(&mut self, number: u32, properties: &[String]) {
        let summary = summary(number, properties);
        self.rooms.insert(summary.id, summary.clone());
        self.directory.update(self.now, vec![(summary.id, Some(summary))]);
    }

    fn close(&mut self, number: u32) {
        self.rooms.remove(&room(number));
        self.directory.update(self.now, vec![(room(number), None)]);
    }

    fn fitting(&self, filter: &str) -> BTreeSet<RoomId> {
        let query = Query::parse(filter).expect("it is in order");
        let fits = |room: &&Arc<Summary>| query.matches(&document(room), &mut Work::endless()).is_some();
        self.rooms.values().filter(fits).map(|room| room.id).collect()
    }

    /// Asks for all pages of a filter.
    fn find_all(&mut self, filter: &str) -> (Vec<RoomId>, usize) {
        let (mut found, mut after, mut pages) = (Vec::new(), None, 0);
        loop {
            let page = self.directory.find(&find(filter, after)).expect("it is in order");
            pages += 1;
            found.extend(page.rooms.iter().map(|room| room.id));
            after = page.next;
            if after.is_none() {
                return (found, pages);
            }
        }
    }

    fn watch(&mut self, view: ViewKey, by: u32) {
        // The rest of the pages belong to the same moment.
        let fitting = self.fitting(&view.filter);
        if self.directory.subscribe(self.now, view.clone(), user(by)).is_ok() {
            self.known.entry(view).or_insert(fitting);
        }
    }

    fn turn(&mut self, by: Millis) {
        self.now += by;
        self.directory.turn(self.now);
    }

    fn slice(&mut self) {
        let mut out = Vec::new();
        self.directory.run_slice(self.now, &mut out);
        self.slices += 1;
        for effect in out {
            let RoomEffect::Lobby { view, delta } = effect else { panic!("{effect:?}") };
            self.told_in.insert(ViewKey::clone(&view), self.slices);
            self.tell(&view, &delta);
        }
    }

    fn tell(&mut self, view: &ViewKey, delta: &LobbyDelta) {
        assert!(delta.rooms.len() + delta.gone.len() <= view.rooms_max);
        let known = self.known.get_mut(view).expect("somebody watches");
        if delta.anew {
            known.clear();
        }
        for room in &delta.gone {
            known.remove(room);
        }
        known.extend(delta.rooms.iter().map(|room| room.id));
    }

    fn settle(&mut self) {
        loop {
            while self.directory.is_busy() {
                self.slice();
            }
            let Some(due) = self.directory.next_due() else { return };
            self.now = self.now.max(due);
            self.directory.turn(self.now);
        }
    }

    fn check(&self, what: &str) {
        let most = self.directory.work.step_units_max;
        assert!(most <= STEP_UNITS_MAX.into(), "{what}: {most} units in one step");
    }

    fn check_views(&self, what: &str) {
        for (view, known) in &self.known {
            assert_eq!(*known, self.fitting(&view.filter), "{what}: {}", view.filter);
        }
    }
}

#[test]
fn no_step_exceeds_its_limit_and_watchers_know_what_is_there() {
    let mut most = 0;
    for seed in 0..8 {
        let (random, mut hall) = (&mut Random(seed), Hall::new());
        let mut search = Search::new(&FIELDS, FILTER_BYTES_MAX);
        let properties = |random: &mut Random| -> Vec<String> {
            (0..random.pick(&[1, 2, 15])).map(|_| text(random, 1_000)).collect()
        };
        for number in 0..random.pick(&[10, 40]) {
            let properties = properties(random);
            hall.put(number, &properties);
        }
        for _ in 0..100 {
            hall.directory.work.step_units_max = 0;
            match random.below(8) {
                0 | 1 => {
                    let number = random.below(45) as u32;
                    let properties = properties(random);
                    hall.put(number, &properties);
                }
                2 => hall.close(random.below(45) as u32),
                3 => {
                    let filter = search.next(random);
                    hall.directory.find(&find(&filter, None)).expect("it is in order");
                    search.note(hall.directory.work.step_units_max);
                }
                4 => drop(hall.directory.candidates(&find(&search.next(random), None))),
                5 if hall.known.len() < 6 => {
                    let view = view(&search.next(random), random.pick(&[1, 50]));
                    hall.watch(view, random.below(4) as u32);
                }
                6 => hall.turn(random.pick(&[0, 100, 1_000])),
                _ => hall.slice(),
            }
            hall.check(&format!("seed {seed}"));
            if random.below(50) == 0 {
                hall.settle();
                hall.check_views(&format!("seed {seed}"));
            }
        }
        hall.settle();
        hall.check(&format!("seed {seed}"));
        hall.check_views(&format!("seed {seed}"));
        most = most.max(search.most());
    }
    assert!(most > FIND_UNITS.into(), "{most}: no search came to its limit");
}

#[test]
fn pages_of_a_costly_filter_end_early_and_leave_no_room_out() {
    let mut hall = Hall::new();
    (0..300).for_each(|number| hall.put(number, &["a".repeat(60)]));
    let (found, pages) = hall.find_all(COSTLY);
    assert_eq!(found, (0..300).map(room).collect::<Vec<_>>());
    assert!(pages > 300_usize.div_ceil(PAGE_ROOMS_MAX), "{pages}");
    assert!(hall.directory.searches_cut > 0);
    hall.check("pages");
    assert_eq!(hall.find_all("+open:T").1, 3, "a plain filter has full pages");
}

#[test]
fn a_quick_join_says_if_it_has_not_seen_all_rooms() {
    let mut hall = Hall::new();
    (0..300).for_each(|number| hall.put(number, &["a".repeat(60)]));
    let refused =
        |hall: &mut Hall, filter: &str| hall.directory.candidates(&find(filter, None)).map_err(|why| why.kind);
    assert_eq!(refused(&mut hall, "+properties.p0:/(?:.*){80}b/").err(), Some(ErrorKind::ResourceExhausted));
    assert_eq!(refused(&mut hall, "+properties.p0:b").err(), Some(ErrorKind::NotFound));
    assert!(refused(&mut hall, COSTLY).is_ok(), "a room that fits was found on the way");
}

#[test]
fn a_costly_view_delays_itself_alone() {
    let mut hall = Hall::new();
    let (plain, costly) = (view("+players:>=0", 50), view(COSTLY, 50));
    hall.watch(costly.clone(), 1);
    hall.watch(plain.clone(), 2);
    hall.turn(1_000);
    (0..40).for_each(|number| hall.put(number, &["a".repeat(60)]));
    while !hall.told_in.contains_key(&plain) {
        hall.slice();
    }
    assert_eq!(hall.known[&plain].len(), 40);
    assert!(hall.known[&costly].len() < 40);
    let plain_told_in = hall.told_in[&plain];
    hall.settle();
    assert!(hall.slices > 2 * plain_told_in, "{} {plain_told_in}", hall.slices);
    hall.check_views("all are told in the end");
    hall.check("slices");
}

#[test]
fn a_view_that_is_too_far_behind_begins_anew() {
    let mut hall = Hall::new();
    hall.watch(view("+properties.p0:aa", 50), 1);
    let text = |number: u32| [if number.is_multiple_of(2_000) { "aa" } else { "b" }.to_owned()];
    let count = LOBBY_NEWS_MAX as u32 + 10;
    (0..count).for_each(|number| hall.put(number, &text(number)));
    hall.close(2_000);
    assert_eq!(hall.directory.lobby.restarted, 0);
    hall.settle();
    assert_eq!(hall.directory.lobby.restarted, 1);
    hall.check_views("what it shows");
    hall.check("slices");
}

#[test]
fn repeated_changes_of_a_room_are_judged_once() {
    let units = |changes: usize| {
        let mut hall = Hall::new();
        hall.watch(view("+properties.p0:/(?:.*){20}b/", 50), 1);
        hall.put(1, &["a".repeat(50)]);
        hall.settle();
        let before = hall.directory.work.units;
        (0..changes).for_each(|_| hall.put(1, &["a".repeat(50)]));
        hall.settle();
        hall.directory.work.units - before
    };
    assert_eq!(units(100), units(1));
}

#[test]
fn a_user_is_the_first_to_watch_so_many_views() {
    let mut hall = Hall::new();
    for number in 0..LOBBY_VIEWS_PER_USER_MAX {
        hall.directory.subscribe(hall.now, view(&format!("a{number}"), 50), user(1)).expect("there are few");
    }
    let one_more = hall.directory.subscribe(hall.now, view("b", 50), user(1));
    assert_eq!(one_more.map_err(|why| why.kind).err(), Some(ErrorKind::ResourceExhausted));
    assert_eq!(hall.directory.lobby.refused, 1);
    hall.directory.subscribe(hall.now, view("b", 50), user(2)).expect("another user may");
    hall.directory.subscribe(hall.now, view("b", 50), user(1)).expect("the view is there already");
    hall.directory.drop_view(&view("a0", 50));
    hall.directory.subscribe(hall.now, view("c", 50), user(1)).expect("one has ended");
}
