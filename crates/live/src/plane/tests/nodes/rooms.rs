//! Tests of a node that dies with rooms, a desk or the directory.

use super::*;
use crate::plane;
use crate::rooms::{
    Caller, Creation, DirectoryAction, MessageToRoomOwner, Placement, Request, RoomAction, RoomAnswer, RoomId,
    RoomOwner, RoomsConfig, Template, Templates, ViewKey,
};

impl Cluster {
    fn ask_rooms(
        &mut self,
        session: SessionRef,
        ask: impl FnOnce(Caller, Option<RequestRef>) -> MessageToRoomOwner,
    ) -> RoomAnswer {
        self.step(session.place, |plane, now, out| {
            let presence = plane.presence(session.key).unwrap();
            let session = Some((session, presence.session_id));
            let caller = Caller { user_id: presence.user_id, username: presence.username, session };
            let request = plane.request();
            plane.ask_rooms(now, ask(caller, Some(request)), out);
        });
        self.settle();
        match self.replies.pop() {
            Some(Reply::Answer(plane::Answer::Room(Ok(answer)))) => answer,
            other => panic!("{other:?}"),
        }
    }

    /// The id of a new room, in a partition that a node owns.
    fn fresh_room(&mut self, node: NodeNumber) -> RoomId {
        self.now += 1;
        let owner = |room: &RoomId| self.owners[RoomOwner::Room(*room).partition().row()].0;
        let mut ids = (u128::from(self.now) << 64..).map(|id| RoomId(Uuid::from_u128(id)));
        ids.find(|room| owner(room).node() == node).unwrap()
    }

    /// Makes a room in a partition that a node owns.
    fn make_room(&mut self, session: SessionRef, node: NodeNumber, name: &str) -> RoomId {
        let room = self.fresh_room(node);
        let what = RoomAction::Create(Box::new(Creation { name: name.into(), ..Creation::plain(2) }));
        self.ask_rooms(session, |caller, reply_to| MessageToRoomOwner::Room(room, Request { caller, reply_to, what }));
        room
    }

    fn watch(&mut self, session: SessionRef) -> RoomAnswer {
        let view = ViewKey { path: Default::default(), filter: "".into(), interval_ms: 250, rooms_max: 50 };
        self.step(session.place, |plane, now, out| plane.listen(now, session.key, view.stream(), None, out));
        let what = DirectoryAction::Subscribe(view);
        self.ask_rooms(session, |caller, reply_to| MessageToRoomOwner::Directory(Request { caller, reply_to, what }))
    }

    fn place_in(&mut self, session: SessionRef, template: &str) -> RoomId {
        let fresh = self.fresh_room(session.place.node());
        let what = Placement { template: template.into(), size: None, fresh, random: 0, tried: Vec::new() };
        match self
            .ask_rooms(session, |caller, reply_to| MessageToRoomOwner::Placement(Request { caller, reply_to, what }))
        {
            RoomAnswer::Reserved(held) => held.room.id,
            other => panic!("{other:?}"),
        }
    }
}

/// A name that belongs to a place.
fn name_owned_by(cluster: &Cluster, place: Place) -> String {
    let names = (0..).map(|n| n.to_string());
    let owner = |name: &String| cluster.owners[Partition::of_name(name).row()].0;
    names.into_iter().find(|name| owner(name) == place).unwrap()
}

#[test]
fn who_watches_the_lobby_learns_which_rooms_are_left_when_the_directory_dies() {
    let mut cluster = Cluster::new(&[1, 1, 1], &PlaneConfig::default());
    cluster.give(RoomOwner::Directory.partition(), first(3));
    cluster.tell_all();
    let [watcher, maker] = [1, 2].map(|node| cluster.open(first(node)));
    cluster.make_room(maker, 3, "lost");
    cluster.make_room(maker, 2, "left");
    cluster.pass(100);
    assert!(matches!(cluster.watch(watcher), RoomAnswer::Page(page) if page.rooms.len() == 2));
    cluster.crash(3);
    cluster.tell_all();
    cluster.pass(100);
    cluster.pass(250);
    assert_eq!(cluster.take_heard(watcher), ["[lobby anew left:0 -0]"]);
    cluster.make_room(maker, 1, "new");
    cluster.pass(250);
    assert_eq!(cluster.take_heard(watcher), ["[lobby new:0 -0]"]);
    let late = cluster.open(first(2));
    let RoomAnswer::Page(page) = cluster.watch(late) else { panic!("no page") };
    assert_eq!((page.rooms.len(), page.revision), (2, Some((3 << 24) + 2)));
}

#[test]
fn rooms_of_a_dead_node_close_and_leave_the_listing() {
    let mut cluster = Cluster::new(&[1, 1], &PlaneConfig::default());
    cluster.give(RoomOwner::Directory.partition(), first(1));
    cluster.tell_all();
    let [member, watcher] = [1, 1].map(|node| cluster.open(first(node)));
    let room = cluster.make_room(member, 2, "lost");
    cluster.step(member.place, |plane, now, out| {
        let request = plane.request();
        plane.come_to_room(now, member.key, room, Default::default(), request, out);
    });
    cluster.pass(100);
    assert!(matches!(cluster.watch(watcher), RoomAnswer::Page(page) if page.rooms.len() == 1));
    cluster.heard.clear();
    cluster.crash(2);
    cluster.tell_all();
    cluster.pass(250);
    assert_eq!(cluster.take_heard(member), ["Closed(Lost)"]);
    assert_eq!(cluster.take_heard(watcher), ["[lobby -1]"]);
    assert!(!cluster.is_on(member, &room.stream()));
}

#[test]
fn another_desk_goes_on_to_fill_the_rooms_that_are_left() {
    let cluster = Cluster::new(&[1, 1, 1], &PlaneConfig::default());
    let name = name_owned_by(&cluster, first(3));
    let templates = Templates::new([Template { sizes: (3, 3), ..Template::new(&name) }]);
    let rooms = Arc::new(RoomsConfig { templates, ..RoomsConfig::default() });
    let mut cluster = Cluster::new(&[1, 1, 1], &PlaneConfig { rooms, ..PlaneConfig::default() });
    let players = [1, 1, 2, 2].map(|node| cluster.open(first(node)));
    let room = cluster.place_in(players[0], &name);
    cluster.crash(3);
    cluster.tell_all();
    assert_eq!(players[1..3].iter().map(|player| cluster.place_in(*player, &name)).collect::<Vec<_>>(), [room; 2]);
    assert_ne!(cluster.place_in(players[3], &name), room, "it is full");
}
