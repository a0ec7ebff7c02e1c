//! Finding rooms, joining one quickly, and watching the lobby.

use std::sync::Arc;

use muster_domain::{ErrorKind, Result};

use super::super::limits::{
    FILTER_BYTES_MAX, LISTING_INTERVAL_MS, LOBBY_INTERVAL_MS_MAX, LOBBY_INTERVAL_MS_MIN, LOBBY_PUSH_ROOMS_MAX,
    LOBBY_VIEWS_MAX, LOBBY_VIEWS_PER_USER_MAX, PAGE_ROOMS_MAX,
};
use super::super::{
    Change, Creation, DirectoryAction, Find, LobbyDelta, Page, RoomAction, RoomAnswer, RoomId, RoomPath, RoomsConfig,
    Update, Value, ViewKey, check_view,
};
use super::world::World;

fn world() -> World {
    World::new(2, 1, RoomsConfig { rooms_per_creator_max: 1_000, ..RoomsConfig::default() })
}

fn values(values: &[(&str, &str)]) -> Change {
    let set = values.iter().map(|(name, json)| (Arc::from(*name), Value::new(json).unwrap())).collect();
    Change { set, ..Change::default() }
}

fn room(world: &mut World, player: u32, name: &str, path: &str, properties: &[(&str, &str)]) -> RoomId {
    let creation = Creation {
        name: Arc::from(name),
        path: RoomPath::new(path).unwrap(),
        properties: values(properties),
        ..Creation::plain(2)
    };
    let room = world.fresh_room();
    world.ask(player, room, RoomAction::Create(Box::new(creation))).unwrap();
    world.join(player, room).unwrap();
    room
}

fn find(path: &str, filter: &str) -> Find {
    Find { path: RoomPath::new(path).unwrap(), filter: Arc::from(filter), ..Find::default() }
}

fn page(answer: Result<RoomAnswer>) -> Page {
    match answer.unwrap() {
        RoomAnswer::Page(page) => page,
        other => panic!("{other:?}"),
    }
}

fn names(world: &mut World, path: &str, filter: &str) -> Vec<String> {
    let page = page(world.look_up(9, DirectoryAction::Find(find(path, filter))));
    page.rooms.iter().map(|room| room.name.to_string()).collect()
}

fn told(deltas: &[LobbyDelta]) -> Vec<(Vec<String>, usize)> {
    let rooms = |delta: &LobbyDelta| delta.rooms.iter().map(|room| format!("{} {}", room.name, room.players)).collect();
    deltas.iter().map(|delta| (rooms(delta), delta.gone.len())).collect()
}

fn view(path: &str, filter: &str) -> ViewKey {
    ViewKey { path: RoomPath::new(path).unwrap(), filter: Arc::from(filter), interval_ms: 250, rooms_max: 50 }
}

#[test]
fn rooms_are_found_by_path_and_by_what_they_say_of_themselves() {
    let mut world = world();
    let a = room(&mut world, 1, "a", "cards/poker", &[("stake", "5"), ("mode", "\"fast\"")]);
    room(&mut world, 2, "b", "cards/poker/high", &[("stake", "500"), ("tags", r#"["fast","loud"]"#)]);
    room(&mut world, 3, "c", "cards", &[("rules", r#"{"jokers":true}"#)]);
    room(&mut world, 4, "d", "", &[]);
    world.wait(LISTING_INTERVAL_MS);
    for (path, filter, expect) in [
        ("", "", "a b c d"),
        ("cards", "", "a b c"),
        ("cards/poker", "", "a b"),
        ("cards/pok", "", ""),
        ("", "+properties.stake:>100", "b"),
        ("cards", "+properties.stake:<100", "a"),
        ("", "+properties.tags:loud", "b"),
        ("", "+properties.rules.jokers:T", "c"),
        ("", "+players:1 -name:a", "b c d"),
        ("", "+path:cards", "c"),
        ("", "+variables.round:1", ""),
        ("", &format!("+id:\"{a}\""), "a"),
    ] {
        assert_eq!(names(&mut world, path, filter).join(" "), expect, "{path} {filter}");
    }
    world.ask(1, a, RoomAction::SetVariables(values(&[("round", "1")]))).unwrap();
    assert_eq!(names(&mut world, "", "+variables.round:1").len(), 0);
    world.wait(world.now + LISTING_INTERVAL_MS);
    assert_eq!(names(&mut world, "", "+variables.round:1"), ["a"]);

    // Hidden and closed rooms are not found.
    let hidden = Creation { hidden: true, ..Creation::plain(2) };
    let room = world.fresh_room();
    world.ask(5, room, RoomAction::Create(Box::new(hidden))).unwrap();
    world.send_gone(1, a);
    world.settle();
    assert_eq!(names(&mut world, "", "").join(" "), "b c d");
}

#[test]
fn pages_follow_each_other() {
    let mut world = world();
    for n in 0..25 {
        room(&mut world, n, &n.to_string(), "many", &[("even", if n % 2 == 0 { "true" } else { "false" })]);
    }
    let mut found = Vec::new();
    let mut after = None;
    loop {
        let find = Find { limit: 4, after, ..find("many", "+properties.even:T") };
        let page = page(world.look_up(99, DirectoryAction::Find(find)));
        found.extend(page.rooms.iter().map(|room| room.name.to_string()));
        after = page.next;
        if after.is_none() {
            break;
        }
    }
    let expect: Vec<String> = (0..25).step_by(2).map(|n: u32| n.to_string()).collect();
    assert_eq!(found, expect);
    for limit in [0, PAGE_ROOMS_MAX + 1] {
        let find = DirectoryAction::Find(Find { limit, ..find("", "") });
        assert_eq!(world.look_up(99, find).unwrap_err().kind, ErrorKind::InvalidArgument);
    }
    for filter in ["+name:>\"x", &"a".repeat(FILTER_BYTES_MAX + 1)] {
        let find = DirectoryAction::Find(find("", filter));
        assert_eq!(world.look_up(99, find).unwrap_err().kind, ErrorKind::InvalidArgument, "{filter}");
    }
}

#[test]
fn a_quick_join_goes_where_there_is_a_seat() {
    let mut world = world();
    let rooms: Vec<_> =
        (1..=3).map(|n| room(&mut world, n, &n.to_string(), "quick", &[("level", &n.to_string())])).collect();
    world.wait(LISTING_INTERVAL_MS);
    // Six players ask for three seats before the directory hears of any room again.
    let quick = |filter: &str| DirectoryAction::QuickJoin(find("quick", filter));
    let mut went = Vec::new();
    for player in 11..=16 {
        went.push(match world.look_up(player, quick("+properties.level:>1 +open:T")) {
            Ok(RoomAnswer::Reserved(held)) => rooms.iter().position(|room| *room == held.room.id),
            Ok(other) => panic!("{other:?}"),
            Err(error) => {
                assert!(matches!(error.kind, ErrorKind::NotFound | ErrorKind::ResourceExhausted), "{error:?}");
                None
            }
        });
    }
    assert_eq!(went, [Some(1), Some(2), None, None, None, None]);
    world.wait(world.now + LISTING_INTERVAL_MS);
    let nothing = world.look_up(20, quick("+properties.level:>1"));
    assert_eq!(nothing.unwrap_err().kind, ErrorKind::NotFound);
    assert!(world.look_up(20, quick("")).is_ok());
}

#[test]
fn a_lobby_tells_merged_changes_at_its_budget() {
    let mut world = world();
    let first = room(&mut world, 1, "a", "lobby", &[]);
    world.wait(1_000);
    let snapshot = page(world.look_up(9, DirectoryAction::Subscribe(view("lobby", ""))));
    assert_eq!(snapshot.rooms.len(), 1);
    world.look_up(9, DirectoryAction::Subscribe(view("elsewhere", ""))).unwrap();
    assert_eq!(world.shards.iter().map(|rooms| rooms.stats().views).sum::<usize>(), 2);

    // A join and a leave within the interval are one change.
    world.join(2, first).unwrap();
    world.send_gone(2, first);
    world.settle();
    world.join(3, first).unwrap();
    let second = room(&mut world, 4, "b", "lobby/inner", &[]);
    room(&mut world, 5, "c", "other", &[]);
    world.wait(1_249);
    assert!(world.lobby.is_empty());
    world.wait(1_250);
    assert_eq!(told(&world.lobby), [(vec!["b 1".to_owned(), "a 2".to_owned()], 0)]);
    world.wait(3_000);
    assert_eq!(world.lobby.len(), 1);

    // A change after a long silence is pushed at once.
    world.send_gone(4, second);
    world.settle();
    world.wait(3_000);
    assert_eq!(told(&world.lobby[1..]), [(vec![], 1)]);
    for key in [view("lobby", ""), view("elsewhere", "")] {
        world.shards.iter_mut().for_each(|rooms| rooms.view_unheard(&key));
    }
    room(&mut world, 6, "d", "lobby", &[]);
    world.wait(10_000);
    assert_eq!((world.lobby.len(), world.shards[0].stats().views), (2, 0));
}

#[test]
fn what_is_beyond_the_budget_waits_merged() {
    let mut world = world();
    let key = ViewKey { rooms_max: 2, interval_ms: 500, ..view("", "") };
    world.look_up(9, DirectoryAction::Subscribe(key)).unwrap();
    let rooms: Vec<_> = (1..=5).map(|n| room(&mut world, n, &n.to_string(), "", &[])).collect();
    world.wait(500);
    // The last room closes before any watcher was told of it.
    world.send_gone(5, rooms[4]);
    world.settle();
    world.wait(5_000);
    let expect = [(vec!["1 1", "2 1"], 0), (vec!["3 1", "4 1"], 0), (vec![], 1)];
    let expect: Vec<_> =
        expect.map(|(rooms, gone)| (rooms.iter().map(|room| room.to_string()).collect::<Vec<_>>(), gone)).into();
    assert_eq!(told(&world.lobby), expect);
}

#[test]
fn a_room_that_fits_no_longer_goes_from_the_view() {
    let mut world = world();
    world.look_up(9, DirectoryAction::Subscribe(view("", "+open:T"))).unwrap();
    let id = room(&mut world, 1, "a", "", &[]);
    world.wait(1_000);
    let open = |open| RoomAction::Update(Box::new(Update { open: Some(open), ..Update::default() }));
    for now_open in [false, true] {
        world.ask(1, id, open(now_open)).unwrap();
        world.wait(world.now + 1_000);
    }
    let one = || vec!["a 1".to_owned()];
    assert_eq!(told(&world.lobby), [(one(), 0), (vec![], 1), (one(), 0)]);
}

#[test]
fn a_view_is_named_by_a_text() {
    for view in [view("", ""), ViewKey { interval_ms: 1_000, rooms_max: 5, ..view("cards/poker", "+a:/x?y/ b") }] {
        assert_eq!(ViewKey::parse(&view.label()), Some(view));
    }
    for label in ["", "1/2", "1/2/a", "x/2/a?", "1/2/a b?"] {
        assert_eq!(ViewKey::parse(label), None, "{label}");
    }
}

#[test]
fn views_have_limits() {
    let mut world = world();
    for n in 0..LOBBY_VIEWS_MAX {
        let player = (n / LOBBY_VIEWS_PER_USER_MAX) as u32;
        world.look_up(player, DirectoryAction::Subscribe(view(&n.to_string(), ""))).unwrap();
    }
    // A view that exists already costs no further one.
    world.look_up(9, DirectoryAction::Subscribe(view("0", ""))).unwrap();
    let one_more = world.look_up(9_000, DirectoryAction::Subscribe(view("one-more", "")));
    assert_eq!(one_more.unwrap_err().kind, ErrorKind::ResourceExhausted);

    let ok = || view("", "");
    assert!(check_view(&ok()).is_ok());
    for wrong in [
        ViewKey { interval_ms: LOBBY_INTERVAL_MS_MIN - 1, ..ok() },
        ViewKey { interval_ms: LOBBY_INTERVAL_MS_MAX + 1, ..ok() },
        ViewKey { rooms_max: 0, ..ok() },
        ViewKey { rooms_max: LOBBY_PUSH_ROOMS_MAX + 1, ..ok() },
        view("", "+name:>\"x"),
    ] {
        assert!(check_view(&wrong).is_err(), "{wrong:?}");
    }
}
