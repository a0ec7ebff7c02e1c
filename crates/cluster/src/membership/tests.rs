//! Tests of sharing out, of views as bytes, and of a node's first steps. Several nodes together are simulated in
//! `tools/sim`.

use bytes::Bytes;
use muster_live::place::{NODES_MAX, PARTITIONS, Partition, Place};
use muster_testenv::fuzz::Fuzz;

use super::*;
use crate::bus::Probe;
use crate::registry::{Entry, RegistryEvent, Revision};
use crate::seal::SealUse;

fn node(number: NodeNumber, weight: u32) -> Node {
    Node {
        number,
        name: format!("node-{number}").into(),
        incarnation: u128::from(number) << 64,
        shards: 2,
        weight,
        roles: Roles::ALL,
        is_draining: false,
        is_busy: false,
        compatibility: Compatibility {
            wire_version: 1,
            readable_from: 1,
            keys: 7 << 100,
            database: 5,
            recovers_parties: Some(true),
            seals: Some(SealUse::Require),
        },
    }
}

fn view_of(nodes: &[Node]) -> View {
    let mut view = View::empty(Epoch(10));
    for node in nodes {
        view.next_number = node.number;
        assert!(view.add(node.clone()));
    }
    assert!(assign(&mut view));
    view
}

/// Completes moves until none is left. Answers their number.
fn settle(view: &mut View) -> usize {
    let mut moves = 0;
    loop {
        *view = view.successor(Epoch(0));
        if !assign(view) {
            return moves;
        }
        assert!(view.moving() <= MOVES_AT_ONCE_MAX);
        moves += view.moving();
        for (_, holding) in view.holdings_mut() {
            if let Some(moving) = holding.moving.take() {
                (holding.owner, holding.epoch) = (Some(moving.to), moving.epoch);
            }
        }
    }
}

fn owned(view: &View, number: NodeNumber) -> usize {
    view.holdings().filter(|(_, holding)| holding.owner.is_some_and(|owner| owner.node() == number)).count()
}

#[test]
fn partitions_are_shared_out_by_weight_and_over_shards() {
    let view = view_of(&[node(1, 1), node(2, 1), node(3, 2)]);
    assert_eq!([1, 2, 3].map(|number| owned(&view, number)), [256, 256, 512]);
    let on = |place: Place| view.holdings().filter(|(_, holding)| holding.owner == Some(place)).count();
    assert_eq!([on(Place::new(3, 0)), on(Place::new(3, 1))], [256, 256]);
    assert_eq!(view.moving(), 0);
}

#[test]
fn who_comes_gets_its_share_with_no_more_moves_than_that() {
    let mut view = view_of(&[node(1, 1), node(2, 1)]);
    view.next_number = 3;
    view.add(node(3, 1));
    let moves = settle(&mut view);
    let share = usize::from(PARTITIONS) / 3;
    for number in 1..=3 {
        assert!(owned(&view, number).abs_diff(share) <= slack(share), "{number} has {}", owned(&view, number));
    }
    assert_eq!(moves, owned(&view, 3), "nothing moves but to the new node");
}

#[test]
fn within_the_slack_nothing_moves() {
    let mut view = view_of(&[node(1, 1), node(2, 1)]);
    let of_first: Vec<Partition> =
        Partition::all().filter(|partition| view.holding(*partition).owner.unwrap().node() == 1).collect();
    let slack = slack(of_first.len());
    for partition in &of_first[..slack] {
        view.holding_mut(*partition).owner = Some(Place::new(2, 0));
    }
    assert_eq!(settle(&mut view), 0);
    view.holding_mut(of_first[slack]).owner = Some(Place::new(2, 0));
    assert!(settle(&mut view) > 0);
}

#[test]
fn who_drains_or_is_not_live_gets_nothing_and_keeps_nothing() {
    let mut view = view_of(&[node(1, 1), node(2, 1), node(3, 1)]);
    view.node_mut(2).unwrap().is_draining = true;
    settle(&mut view);
    assert_eq!(owned(&view, 2), 0);
    let roles = Roles { live: false, ..Roles::ALL };
    let view = view_of(&[Node { roles, ..node(1, 9) }, node(2, 1)]);
    assert_eq!((owned(&view, 1), owned(&view, 2)), (0, usize::from(PARTITIONS)));
}

#[test]
fn who_is_busy_gives_a_quarter_away_and_gets_it_back_and_if_all_are_nothing_moves() {
    let mut view = view_of(&[node(1, 1), node(2, 1), node(3, 1)]);
    let share = usize::from(PARTITIONS) / 3;
    view.node_mut(2).unwrap().is_busy = true;
    settle(&mut view);
    let smaller = usize::from(PARTITIONS) * 3 / 11;
    assert!(owned(&view, 2).abs_diff(smaller) <= slack(smaller), "{}", owned(&view, 2));
    [1, 3].into_iter().for_each(|number| view.node_mut(number).unwrap().is_busy = true);
    settle(&mut view);
    assert!(owned(&view, 2).abs_diff(share) <= slack(share), "{}", owned(&view, 2));
    [1, 2, 3].into_iter().for_each(|number| view.node_mut(number).unwrap().is_busy = false);
    assert_eq!(settle(&mut view), 0);
}

#[test]
fn who_owns_nothing_of_its_share_lacks_it() {
    let mut view = view_of(&[node(1, 1), node(2, 1)]);
    assert_eq!([1, 2].map(|number| view.lacks_its_share(number)), [false, false]);
    view.next_number = 3;
    view.add(node(3, 1));
    assert_eq!([1, 3].map(|number| view.lacks_its_share(number)), [false, true]);
    settle(&mut view);
    assert!(!view.lacks_its_share(3));
    // A node with a weight so small that it gets nothing, one that takes sockets alone, and one that drains.
    let roles = Roles { live: false, ..Roles::ALL };
    let mut view = view_of(&[node(1, 9_000), node(2, 1), Node { roles, ..node(3, 1) }, node(4, 9_000)]);
    view.node_mut(4).unwrap().is_draining = true;
    settle(&mut view);
    assert_eq!([2, 3, 4].map(|number| (owned(&view, number), view.lacks_its_share(number))), [(0, false); 3]);
    let view = View::empty(Epoch(1));
    assert!(view.lacks_its_share(1), "nobody owns anything");
}

#[test]
fn what_a_removed_node_owned_goes_to_the_others_and_the_rest_stays() {
    let view = view_of(&[node(1, 1), node(2, 1), node(3, 1)]);
    let mut next = view.successor(Epoch(0));
    next.remove(2);
    assign(&mut next);
    for ((_, before), (_, after)) in view.holdings().zip(next.holdings()) {
        if before.owner.unwrap().node() == 2 {
            assert_eq!((after.epoch, after.owner.is_some_and(|owner| owner.node() != 2)), (next.epoch, true));
        } else {
            assert_eq!(before, after);
        }
    }
}

#[test]
fn a_view_is_read_as_it_was_written() {
    let mut view = view_of(&[node(1, 1), node(4, 3)]);
    view.node_mut(4).unwrap().is_draining = true;
    view.node_mut(1).unwrap().is_busy = true;
    view = view.successor(Epoch(0));
    assign(&mut view);
    assert!(view.moving() > 0);
    let bytes = view.to_bytes();
    assert!(bytes.len() < 8 * 1024, "{} bytes", bytes.len());
    view.revision = Revision(7);
    let routes = view.routes();
    for (partition, holding) in view.holdings() {
        let epoch = holding.moving.map_or(holding.epoch, |moving| moving.epoch);
        assert_eq!((Some(routes.owner(partition)), routes.epoch(partition)), (holding.eventual_owner(), epoch));
        let former = routes.former(partition).map(|former| (Some(former.owner), former.epoch));
        assert_eq!(former, holding.moving.map(|_| (holding.owner, holding.epoch)), "who hands over what is on its way");
    }
    assert_eq!(routes.places().len(), 4);
    assert!(routes.is_yet_to_come(Place::new(5, 0)) && !routes.is_yet_to_come(Place::new(2, 0)));
    assert_eq!(View::from_bytes(&bytes, Revision(7)), Ok(view));
    assert!(View::from_bytes(b"nonsense", Revision(7)).is_err());
}

#[test]
fn a_job_runs_where_its_partition_is_or_else_on_one_node_for_jobs() {
    let runners = |view: &View| -> Vec<NodeNumber> {
        (0..100).map(|job| view.job_runner(&format!("job-{job}")).unwrap()).collect()
    };
    let view = view_of(&[node(1, 1), node(2, 1)]);
    for (job, runner) in (0..).zip(runners(&view)) {
        let owner = view.holding(Partition::of_name(&format!("job-{job}"))).owner.unwrap();
        assert_eq!(owner.node(), runner);
    }
    let live = Roles { jobs: false, ..Roles::ALL };
    let jobs = Roles { live: false, ..Roles::ALL };
    let split =
        [Node { roles: live, ..node(1, 1) }, Node { roles: jobs, ..node(2, 1) }, Node { roles: jobs, ..node(3, 1) }];
    let both = runners(&view_of(&split));
    assert!(both.contains(&2) && both.contains(&3) && !both.contains(&1));
    let more = [&split[..], &[Node { roles: jobs, ..node(4, 1) }]].concat();
    let moved = both.iter().zip(runners(&view_of(&more))).filter(|(before, after)| *before != after);
    assert!(moved.into_iter().all(|(_, after)| after == 4), "only to who came");
    assert_eq!(view_of(&split[..1]).job_runner("job-1"), None);
}

#[test]
fn damaged_views_are_refused_or_read_as_some_view() {
    let mut view = view_of(&[node(1, 1), node(4, 3)]);
    view.node_mut(4).unwrap().is_draining = true;
    view = view.successor(Epoch(0));
    assign(&mut view);
    let tried = Fuzz::new("view").seeds([view.to_bytes()]).runs(1_000).run(|input| {
        let Ok(once) = View::from_bytes(input, Revision(1)) else { return false };
        assert_eq!(View::from_bytes(&once.to_bytes(), Revision(1)), Ok(once.clone()));
        let mut next = once.successor(Epoch(0));
        next.remove(1);
        assign(&mut next);
        let _ = next.routes();
        true
    });
    assert!(tried.accepted > tried.inputs / 10, "{tried:?}");
}

#[test]
fn when_numbers_end_nobody_is_added() {
    let mut view = View::empty(Epoch(1));
    view.next_number = NODES_MAX - 1;
    assert!(view.add(node(0, 1)));
    assert!(!view.add(node(0, 1)));
    assert_eq!(view.nodes().len(), 1);
}

#[test]
fn a_long_name_is_cut_between_characters() {
    let mut alone = Alone::new(7);
    alone.membership.config.name = "ü".repeat(40).into();
    alone.handle(0, MembershipEvent::Registry(RegistryEvent::State(Vec::new())));
    alone.run(0, 1_000);
    assert_eq!(*alone.membership.view().nodes()[0].name, *"ü".repeat(32));
}

/// A registry with one node, and the actions that the node's membership wants next.
struct Alone {
    membership: Membership,
    revision: u64,
    told: Vec<Action>,
    /// Answer to all probes.
    probe: Probe,
}

impl Alone {
    fn new(incarnation: u128) -> Self {
        let config = NodeConfig {
            name: "alone".into(),
            shards: 2,
            weight: 2,
            roles: Roles::ALL,
            compatibility: Compatibility::default(),
            epoch_floor: 1_000,
        };
        Self {
            membership: Membership::new(config, incarnation, 0),
            revision: 0,
            told: Vec::new(),
            probe: Probe::Unknown,
        }
    }

    /// A node that has founded a cluster, after five seconds.
    fn joined() -> Self {
        let mut alone = Self::new(7);
        // The registry was used before, so that its revisions are higher than those of a new one.
        alone.revision = 500;
        alone.handle(0, MembershipEvent::Registry(RegistryEvent::State(Vec::new())));
        alone.run(0, 5_000);
        alone
    }

    /// Passes an event to the membership at a time, and carries out its actions at once.
    fn handle(&mut self, now: Millis, event: MembershipEvent) {
        let mut out = Vec::new();
        self.membership.handle(now, event, &mut out);
        for action in out {
            let (request, key, value) = match action {
                Action::Create { request, key, value, .. } | Action::Update { request, key, value, .. } => {
                    (request, key, value)
                }
                Action::Probe { request, .. } => {
                    let probe = self.probe;
                    self.handle(now, MembershipEvent::Probed { request, probe });
                    continue;
                }
                Action::Delete { key, .. } => {
                    self.revision += 1;
                    let revision = Revision(self.revision);
                    self.handle(now, MembershipEvent::Registry(RegistryEvent::Removed { key, revision }));
                    continue;
                }
                Action::Joined(_) => {
                    self.told.push(action);
                    self.handle(now + 1, MembershipEvent::Listening);
                    continue;
                }
                action => {
                    self.told.push(action);
                    continue;
                }
            };
            self.revision += 1;
            let revision = Revision(self.revision);
            self.handle(now, MembershipEvent::Written { request, outcome: Ok(revision) });
            self.handle(now, MembershipEvent::Registry(RegistryEvent::Set(Entry { key, value, revision })));
        }
    }

    fn run(&mut self, from: Millis, until: Millis) {
        let mut now = from;
        while now <= until {
            self.handle(now, MembershipEvent::Tick);
            now = self.membership.next_due().max(now + 1);
        }
    }

    fn has_told(&self, wanted: impl Fn(&Action) -> bool) -> bool {
        self.told.iter().any(wanted)
    }
}

#[test]
fn a_node_alone_joins_and_owns_everything_until_it_cannot_renew() {
    let mut alone = Alone::new(7);
    alone.handle(0, MembershipEvent::Registry(RegistryEvent::State(Vec::new())));
    alone.run(0, 10_000);
    assert!(alone.has_told(|action| matches!(action, Action::BackOnline)), "{:?}", alone.told.len());
    let membership = &alone.membership;
    assert_eq!((membership.number(), membership.view().nodes().len()), (Some(1), 1));
    assert!(membership.view().epoch > Epoch(1_000), "epochs go on where a former cluster's ended");
    assert!(Partition::all().all(|partition| membership.owns(10_000, partition).is_some()));
    assert_eq!(membership.runs(10_000, "cleaning"), Some(membership.view().epoch));
    assert!(membership.stats().proposals > 0 && membership.stats().races_lost == 0);
    assert!(membership.owns(16_000, Partition::of_name("any")).is_none(), "nothing renewed it");
    assert_eq!(membership.runs(16_000, "cleaning"), None);
}

#[test]
fn who_lost_its_connection_while_it_was_halted_is_an_island_when_it_wakes() {
    let wake = |pause_ms: Millis, told_after_ms: Millis| {
        let mut alone = Alone::new(7);
        alone.handle(0, MembershipEvent::Registry(RegistryEvent::State(Vec::new())));
        alone.run(0, 5_000);
        let woken = 5_000 + pause_ms;
        alone.handle(woken, MembershipEvent::Tick);
        let told = woken + told_after_ms;
        let mut out = Vec::new();
        alone.membership.handle(told, MembershipEvent::Connection { is_up: true, losses: 1 }, &mut out);
        (alone, told)
    };
    for (pause_ms, told_after_ms) in [(400, 0), (400, 50), (1_900, 20)] {
        let (mut alone, told) = wake(pause_ms, told_after_ms);
        assert!(!alone.membership.is_online(told), "after {pause_ms} ms, told after {told_after_ms}");
        alone.run(told + 1, told + 1_000);
        assert!(alone.membership.is_online(told + 1_000), "the registry still has it");
    }
    // The node was awake and heard of the loss at once, so there was time to confirm it.
    let (alone, told) = wake(60, 10);
    assert!(alone.membership.is_online(told + 50) && !alone.membership.is_online(told + 150));
}

#[test]
fn who_finds_an_unreadable_view_is_out_and_comes_again_under_a_new_number() {
    let unreadable =
        Entry { key: VIEW_KEY.to_owned(), value: Bytes::from_static(b"nonsense"), revision: Revision(1_000) };
    let mut alone = Alone::joined();
    let (number, epoch) = (alone.membership.number(), alone.membership.view().epoch);
    alone.handle(5_000, MembershipEvent::Registry(RegistryEvent::Set(unreadable)));
    assert!(alone.has_told(|action| matches!(action, Action::VotedOut)));
    assert!(!alone.membership.is_online(5_000));
    alone.revision = 2_000;
    alone.handle(5_001, MembershipEvent::Rejoin { incarnation: 8 });
    alone.run(5_002, 10_000);
    assert!(alone.membership.number() > number);
    assert!(alone.membership.view().epoch > epoch);
}

/// An entry of the view.
fn entry_of(view: &View, revision: Revision) -> Entry {
    Entry { key: VIEW_KEY.to_owned(), value: view.to_bytes(), revision }
}

#[test]
fn who_finds_the_registry_without_its_view_or_with_an_older_one_stores_it_again() {
    let older = {
        let mut view = View::empty(Epoch(1_001));
        view.add(node(0, 1));
        entry_of(&view, Revision(1))
    };
    for state in [Vec::new(), vec![older]] {
        let mut alone = Alone::joined();
        let (number, before) = (alone.membership.number(), alone.membership.view().clone());
        alone.revision = 1;
        alone.handle(5_000, MembershipEvent::Registry(RegistryEvent::State(state)));
        alone.run(5_001, 6_000);
        assert!(!alone.has_told(|action| matches!(action, Action::VotedOut)));
        assert_eq!((alone.membership.number(), alone.membership.is_online(6_000)), (number, true));
        let after = alone.membership.view();
        assert!(after.revision < before.revision && after.epoch > before.epoch, "{after:?}");
        assert!(after.nodes() == before.nodes() && after.holdings().eq(before.holdings()), "{after:?}");
    }
}

/// The event that the registry was set anew: the lease of a node that knows views up to an epoch.
fn lease_of(incarnation: u128, epoch: Epoch, revision: Revision) -> Entry {
    let value = muster_wire::membership::Lease { renewal: 9, epoch: epoch.0 }.to_bytes();
    Entry { key: super::lease::key_of(incarnation), value, revision }
}

#[test]
fn the_member_that_knows_the_latest_view_stores_it_again() {
    let member_of_two = |known: Epoch| {
        let mut alone = Alone::joined();
        let mut view = alone.membership.view().successor(Epoch(0));
        view.add(node(0, 1));
        let other = view.nodes()[1].incarnation;
        alone.revision = 1_000;
        let joined = [lease_of(other, view.epoch, Revision(900)), entry_of(&view, Revision(901))];
        joined.into_iter().for_each(|entry| alone.handle(5_000, MembershipEvent::Registry(RegistryEvent::Set(entry))));
        alone.run(5_000, 6_000);
        let last = alone.membership.view().epoch;
        alone.revision = 1;
        let told = lease_of(other, Epoch(last.0 + known.0), Revision(1));
        alone.handle(6_000, MembershipEvent::Registry(RegistryEvent::State(vec![told])));
        alone.run(6_001, 6_500);
        (alone, last)
    };
    let (alone, last) = member_of_two(Epoch(0));
    assert!(alone.membership.view().epoch > last && alone.membership.is_online(6_500));
    let (mut alone, last) = member_of_two(Epoch(3));
    assert_eq!(alone.membership.view().epoch, last, "the other member knows a later view");
    alone.handle(
        6_600,
        MembershipEvent::Registry(RegistryEvent::Removed {
            key: super::lease::key_of(alone.membership.view().nodes()[1].incarnation),
            revision: Revision(500),
        }),
    );
    alone.revision = 600;
    alone.run(6_601, 9_000);
    assert!(alone.membership.view().epoch > last, "and is gone");
}

#[test]
fn a_node_that_joins_waits_for_members_to_store_their_view_again() {
    let mut alone = Alone::new(7);
    let member = lease_of(3, Epoch(2_000), Revision(1));
    alone.revision = 1;
    alone.handle(0, MembershipEvent::Registry(RegistryEvent::State(vec![member])));
    alone.run(0, 1_000);
    assert_eq!(alone.membership.number(), None);
    let gone = RegistryEvent::Removed { key: super::lease::key_of(3), revision: Revision(100) };
    alone.revision = 200;
    alone.handle(1_000, MembershipEvent::Registry(gone));
    alone.run(1_001, 2_000);
    assert_eq!(alone.membership.number(), Some(1), "there is nobody who could");
}

/// A node that joins a cluster whose only node has the same name, and finds this when it probes that node.
fn beside_a_namesake(probe: Probe) -> Alone {
    let mut view = View::empty(Epoch(2_000));
    view.add(Node { name: "alone".into(), ..node(0, 1) });
    assign(&mut view);
    let incarnation = view.nodes()[0].incarnation;
    let entries = vec![lease_of(incarnation, view.epoch, Revision(1)), entry_of(&view, Revision(2))];
    let mut alone = Alone::new(7);
    (alone.revision, alone.probe) = (2, probe);
    alone.handle(0, MembershipEvent::Registry(RegistryEvent::State(entries)));
    alone.run(0, 1_000);
    alone
}

#[test]
fn a_node_takes_the_place_of_its_dead_namesake_at_once() {
    let alone = beside_a_namesake(Probe::Nobody);
    let membership = &alone.membership;
    assert_eq!((membership.number(), membership.view().nodes().len()), (Some(2), 1));
    assert!(Partition::all().all(|partition| membership.owns(1_000, partition).is_some()));
}

#[test]
fn a_node_does_not_join_beside_a_living_namesake() {
    let alone = beside_a_namesake(Probe::Listening);
    let is_refusal =
        |action: &Action| matches!(action, Action::Refused(Incompatible::Name(name)) if &**name == "alone");
    assert!(alone.has_told(is_refusal));
    assert_eq!(alone.membership.view().nodes().len(), 1);
}

#[test]
fn a_node_waits_for_a_namesake_that_may_live_until_its_lease_ends() {
    let mut alone = beside_a_namesake(Probe::Unknown);
    assert_eq!(alone.membership.number(), None);
    let key = super::lease::key_of(alone.membership.view().nodes()[0].incarnation);
    alone.revision = 500;
    alone.handle(1_001, MembershipEvent::Registry(RegistryEvent::Removed { key, revision: Revision(400) }));
    alone.run(1_002, 2_000);
    assert_eq!(alone.membership.number(), Some(2));
}

#[test]
fn who_finds_another_view_under_the_revision_that_it_knows_is_out() {
    let mut alone = Alone::new(7);
    alone.handle(0, MembershipEvent::Registry(RegistryEvent::State(Vec::new())));
    alone.run(0, 5_000);
    let known = alone.membership.view().clone();
    let told = |view: &View| {
        let entry = Entry { key: VIEW_KEY.to_owned(), value: view.to_bytes(), revision: known.revision };
        MembershipEvent::Registry(RegistryEvent::State(vec![entry]))
    };
    alone.handle(5_000, told(&known));
    assert!(!alone.has_told(|action| matches!(action, Action::VotedOut)), "it is the one that it knows");
    // The registry lost everything, and others have written to it as many times since.
    let mut another = View::empty(Epoch(90_000));
    another.add(node(0, 1));
    alone.handle(5_001, told(&another));
    assert!(alone.has_told(|action| matches!(action, Action::VotedOut)));
    assert_eq!(alone.membership.view().epoch, Epoch(90_000));
}
