//! Tests of the death of the pool's owner: tickets go on by what places know of their sessions, or end, and players
//! hear it.

use super::*;
use crate::matchmaker::MatchmakerConfig;
use crate::matchmaker::POOL;

const DONE: Reply = Reply::Answer(Answer::Pool(Ok(PoolReply::Done)));

/// A cluster, the node that owns the pool, and two others.
fn cluster() -> (Cluster, [NodeNumber; 3]) {
    with_config(&PlaneConfig::default())
}

fn with_config(config: &PlaneConfig) -> (Cluster, [NodeNumber; 3]) {
    let cluster = Cluster::new(&[1, 1, 1], config);
    let owner = cluster.planes[&first(1)].pool_owner().node();
    let others: Vec<NodeNumber> = (1..=3).filter(|node| *node != owner).collect();
    (cluster, [owner, others[0], others[1]])
}

impl Cluster {
    pub(super) fn begin_add(&mut self, session: SessionRef, ticket: Box<NewTicket<Presence>>) {
        self.step(session.place, |plane, now, out| {
            let request = plane.request();
            plane.ask_pool(now, PoolAsk::Add(ticket), Some(request), out);
        });
    }

    pub(super) fn add_ticket(&mut self, session: SessionRef, id: &str) {
        let ticket = ticket_of(&self.planes[&session.place], session.key, id);
        self.begin_add(session, ticket);
        self.settle();
        assert_eq!(self.replies.pop(), Some(DONE));
    }

    /// Adds a ticket of several sessions, put in by the first.
    fn add_party(&mut self, sessions: &[SessionRef], id: &str) {
        let of = |session: &SessionRef| ticket_of(&self.planes[&session.place], session.key, id);
        let members = sessions.iter().flat_map(|session| of(session).members).collect();
        let ticket = NewTicket {
            members,
            owner: TicketOwner::Party(id.into()),
            max_count: 3,
            min_count: 3,
            ..*of(&sessions[0])
        };
        self.begin_add(sessions[0], Box::new(ticket));
        self.settle();
        assert_eq!(self.replies.pop(), Some(DONE));
    }

    /// The tickets that wait.
    pub(super) fn waiting(&self) -> Vec<String> {
        let tickets = self.planes.values().flat_map(|plane| plane.owned_tickets());
        tickets.map(|ticket| ticket.id.0.to_string()).collect()
    }

    pub(super) fn tickets_of(&self, session: SessionRef) -> Vec<&str> {
        self.planes[&session.place].tickets_of(session.key).map(|id| &*id.0).collect()
    }

    pub(super) fn pass_through(&mut self) {
        self.pass(PlaneConfig::default().matchmaker.interval_ms);
        self.settle();
    }
}

#[test]
fn a_ticket_goes_on_at_the_next_owner_and_is_matched_there() {
    let (mut cluster, [owner, one, two]) = cluster();
    let [ann, bob, cid] = [one, two, owner].map(|node| cluster.open(first(node)));
    cluster.add_ticket(ann, "a");
    cluster.add_ticket(cid, "c");
    cluster.crash(owner);
    cluster.tell_all();
    assert_eq!(cluster.waiting(), ["a"], "of who died with the owner nothing goes on");
    cluster.add_ticket(bob, "b");
    cluster.pass_through();
    for session in [ann, bob] {
        assert_eq!(cluster.take_heard(session), ["matched"]);
        assert_eq!(cluster.tickets_of(session), [""; 0]);
    }
}

#[test]
fn who_was_told_of_a_match_is_matched_no_more_and_who_was_not_goes_on() {
    let (mut cluster, [owner, one, two]) = cluster();
    let [ann, bob] = [one, two].map(|node| cluster.open(first(node)));
    cluster.add_ticket(ann, "a");
    cluster.add_ticket(bob, "b");
    cluster.now += 15_000;
    cluster.step(first(owner), |plane, now, out| plane.turn(now, out));
    while cluster.step(first(owner), |plane, now, out| plane.run_slice(now, out)) {}
    cluster.queues.remove(&(first(owner), bob.place));
    cluster.crash(owner);
    // Messages on their way arrive before the news.
    cluster.settle();
    cluster.tell_all();
    assert_eq!(cluster.take_heard(ann), ["matched"]);
    assert_eq!(cluster.waiting(), ["b"]);
    assert_eq!(cluster.take_heard(bob), [""; 0]);
}

#[test]
fn a_partys_ticket_goes_on_with_all_of_it_or_ends_for_those_who_were_not_told() {
    for is_told in [false, true] {
        let (mut cluster, [owner, one, two]) = cluster();
        let [ann, bob, cid] = [one, two, two].map(|node| cluster.open(first(node)));
        cluster.add_party(&[ann, bob], "party");
        assert_eq!([ann, bob].map(|session| cluster.tickets_of(session)), [["party"]; 2].map(Vec::from));
        if is_told {
            cluster.add_ticket(cid, "c");
            let single =
                NewTicket { min_count: 3, max_count: 3, ..*ticket_of(&cluster.planes[&cid.place], cid.key, "d") };
            cluster.begin_add(cid, Box::new(single));
            cluster.settle();
            cluster.now += 15_000;
            cluster.step(first(owner), |plane, now, out| plane.turn(now, out));
            while cluster.step(first(owner), |plane, now, out| plane.run_slice(now, out)) {}
            cluster.queues.remove(&(first(owner), ann.place));
        }
        cluster.crash(owner);
        cluster.settle();
        cluster.tell_all();
        let told = [ann, bob].map(|session| cluster.take_heard(session));
        if is_told {
            assert_eq!(told, [["ticket lost"], ["matched"]].map(|words| words.map(str::to_owned).to_vec()));
            assert_eq!(cluster.waiting(), [""; 0]);
        } else {
            assert_eq!((told, cluster.waiting()), ([vec![], vec![]], vec!["party".to_owned()]));
        }
        assert_eq!(cluster.tickets_of(ann).len(), usize::from(!is_told));
    }
}

#[test]
fn a_ticket_of_which_its_player_was_told_an_error_does_not_come_back() {
    let config = MatchmakerConfig { total_tickets_max: 1, ..MatchmakerConfig::default() };
    let (mut cluster, [owner, one, two]) = with_config(&PlaneConfig { matchmaker: config, ..PlaneConfig::default() });
    let [ann, bob] = [one, two].map(|node| cluster.open(first(node)));
    cluster.add_ticket(bob, "b");
    let ticket = ticket_of(&cluster.planes[&ann.place], ann.key, "refused");
    cluster.begin_add(ann, ticket);
    cluster.settle();
    assert!(matches!(cluster.replies.pop(), Some(Reply::Answer(Answer::Pool(Err(_))))));
    assert_eq!(cluster.tickets_of(ann), [""; 0]);
    // Nobody says whether this ticket was taken in.
    let ticket = ticket_of(&cluster.planes[&ann.place], ann.key, "unanswered");
    cluster.begin_add(ann, ticket);
    cluster.crash(owner);
    cluster.tell_all();
    assert!(matches!(cluster.replies.pop(), Some(Reply::Answer(Answer::Pool(Err(_))))));
    assert_eq!((cluster.waiting(), cluster.tickets_of(ann)), (vec!["b".to_owned()], vec![]));
}

#[test]
fn what_is_taken_back_or_dropped_is_known_to_all_who_were_on_it() {
    let (mut cluster, [_, one, two]) = cluster();
    let [ann, bob, cid] = [one, two, two].map(|node| cluster.open(first(node)));
    cluster.add_party(&[ann, bob], "party");
    // A leader at another place may take the ticket back.
    cluster.step(bob.place, |plane, now, out| {
        let ask = PoolAsk::Remove(TicketId("party".into()), TicketOwner::Party("party".into()));
        plane.ask_pool(now, ask, None, out);
    });
    cluster.settle();
    assert_eq!([ann, bob].map(|session| cluster.tickets_of(session).len()), [0, 0]);

    cluster.add_party(&[ann, bob], "dropped");
    cluster.add_ticket(ann, "a");
    cluster.add_ticket(cid, "c");
    cluster.pass_through();
    assert_eq!([ann, bob, cid].map(|session| cluster.tickets_of(session).len()), [0, 0, 0]);
    assert_eq!(cluster.waiting(), [""; 0]);
}

#[test]
fn what_was_to_be_cancelled_when_the_owner_died_is_cancelled_at_the_next() {
    let (mut cluster, [owner, one, two]) = cluster();
    let [ann, bob] = [one, two].map(|node| cluster.open(first(node)));
    cluster.add_party(&[ann, bob], "party");
    // The cancellation is on its way to an owner that has died.
    cluster
        .step(ann.place, |plane, now, out| plane.cancel_tickets(now, TicketOwner::Party("party".into()), false, out));
    cluster.queues.remove(&(ann.place, first(owner)));
    cluster.crash(owner);
    cluster.tell_all();
    assert_eq!((cluster.waiting(), cluster.replies.len()), (vec![], 0));
    assert_eq!([ann, bob].map(|session| cluster.take_heard(session)), [const { Vec::<String>::new() }; 2]);
}

#[test]
fn a_session_that_went_on_elsewhere_has_its_ticket_with_it() {
    let (mut cluster, [owner, one, two]) = cluster();
    let [goes, stays] = [one, one].map(|node| cluster.open(first(node)));
    cluster.add_party(&[stays, goes], "party");
    cluster.add_ticket(goes, "own");
    let there = cluster.expect(goes, first(two));
    cluster.bind(goes, there);
    cluster.step(goes.place, |plane, now, out| {
        let request = plane.request();
        plane.rebind_tickets(now, goes.key, request, out);
    });
    cluster.settle();
    assert_eq!(cluster.replies.pop(), Some(DONE));
    let departed = cluster.step(goes.place, |plane, now, _| plane.take_departed(now, goes.key)).unwrap();
    let (info, _) = cluster.identity(there);
    assert!(cluster.step(there.place, |plane, now, out| plane.settle(now, there.key, info, departed, out)));
    cluster.crash(owner);
    cluster.tell_all();
    let mut waiting = cluster.waiting();
    waiting.sort();
    assert_eq!(waiting, ["own", "party"]);
    let pool = cluster.planes[&stays.place].pool_owner();
    let members = cluster.planes[&pool].owned_tickets().flat_map(|ticket| &ticket.members);
    assert!(members.map(|member| member.presence.session).all(|session| [stays, there].contains(&session)));
}

#[test]
fn a_session_whose_pool_gets_another_owner_while_it_is_on_its_way_does_not_go_on() {
    let (mut cluster, [owner, one, two]) = cluster();
    let goes = cluster.open(first(one));
    cluster.add_ticket(goes, "own");
    let there = cluster.expect(goes, first(two));
    cluster.bind(goes, there);
    cluster.step(goes.place, |plane, now, out| {
        let request = plane.request();
        plane.rebind_tickets(now, goes.key, request, out);
    });
    cluster.settle();
    let departed = cluster.step(goes.place, |plane, now, _| plane.take_departed(now, goes.key)).unwrap();
    cluster.crash(owner);
    cluster.tell_all();
    let (info, _) = cluster.identity(there);
    assert!(!cluster.step(there.place, |plane, now, out| plane.settle(now, there.key, info, departed, out)));
    assert_eq!(cluster.owners[POOL.partition().row()].1, cluster.epoch);
}

#[test]
fn a_session_that_was_to_go_on_at_a_node_that_died_leaves_no_ticket() {
    let (mut cluster, [owner, one, two]) = cluster();
    let goes = cluster.open(first(one));
    cluster.add_ticket(goes, "own");
    let there = cluster.expect(goes, first(two));
    cluster.bind(goes, there);
    cluster.crash(two);
    cluster.tell(first(owner));
    cluster.step(goes.place, |plane, now, out| {
        let request = plane.request();
        plane.rebind_tickets(now, goes.key, request, out);
    });
    cluster.settle();
    assert_eq!((cluster.replies.pop(), cluster.waiting()), (Some(DONE), vec![]));
}

/// A ticket of a server for one player, under an id like those that the server makes.
fn of_server(number: u128) -> Box<NewTicket<Presence>> {
    let session_id = SessionId(Uuid::from_u128(1 << 64 | number));
    let presence = Presence {
        session: SessionRef::NOBODY,
        session_id,
        user_id: UserId(Uuid::from_u128(number)),
        username: "served".into(),
        hidden: false,
        persistence: false,
        status: None,
        only_session_since: None,
    };
    Box::new(NewTicket {
        id: TicketId(Uuid::from_u128(number).to_string().into()),
        owner: TicketOwner::Server("league".into()),
        members: vec![TicketMember { key: MemberKey::Server(number.to_string().into()), presence }],
        min_count: 2,
        max_count: 2,
        count_multiple: 1,
        query: "*".to_owned(),
        string_properties: BTreeMap::new(),
        numeric_properties: BTreeMap::new(),
        widening: Vec::new(),
        created_at: Timestamp(1),
    })
}

#[test]
fn a_servers_ticket_goes_on_as_it_was_kept_unless_it_was_matched_or_taken_back() {
    let recover = Recover { tickets: true, ..Recover::default() };
    let (mut cluster, [owner, one, two]) = with_config(&PlaneConfig { recover, ..PlaneConfig::default() });
    let asker = cluster.open(first(one));
    for number in [1, 2, 3, 4] {
        let mut ticket = of_server(number);
        if number > 2 {
            // Nobody fits this ticket.
            ticket.query = "+properties.nobody:1".to_owned();
        }
        cluster.begin_add(asker, ticket);
        cluster.settle();
        assert_eq!(cluster.replies.pop(), Some(DONE));
    }
    cluster.pass(RECOVERY_INTERVAL_MS);
    assert_eq!(cluster.kept.values().filter(|parts| !parts.is_empty()).count(), 4);
    let [_, _, third, fourth] = [1, 2, 3, 4].map(|number| of_server(number).id);
    cluster.step(asker.place, |plane, now, out| {
        let ask = PoolAsk::Remove(third, TicketOwner::Server("league".into()));
        plane.ask_pool(now, ask, None, out);
    });
    cluster.settle();
    cluster.pass_through();
    assert_eq!(cluster.waiting(), [fourth.0.to_string()], "two fit each other");
    cluster.pass(RECOVERY_INTERVAL_MS);
    assert_eq!(cluster.kept.values().filter(|parts| !parts.is_empty()).count(), 1);
    cluster.crash(owner);
    cluster.tell_all();
    cluster.recover();
    assert_eq!(cluster.waiting(), [fourth.0.to_string()]);
    cluster.pass(RECOVERY_INTERVAL_MS);
    // The ticket goes on a second time: its next owner has kept it too.
    let next = cluster.planes[&first(two)].pool_owner().node();
    cluster.crash(next);
    cluster.tell_all();
    cluster.recover();
    assert_eq!(cluster.waiting(), [fourth.0.to_string()]);
}

#[test]
fn who_is_told_by_two_owners_that_a_ticket_has_ended_hears_the_first() {
    let (mut cluster, [owner, one, _]) = cluster();
    let ann = cluster.open(first(one));
    cluster.add_ticket(ann, "a");
    for _ in 0..2 {
        cluster.tell_of_tickets(first(owner), ann, "ticket lost", vec![TicketId("a".into())]);
        cluster.settle();
    }
    assert_eq!(cluster.take_heard(ann), ["ticket lost"]);
    assert_eq!(cluster.tickets_of(ann), [""; 0]);
}
