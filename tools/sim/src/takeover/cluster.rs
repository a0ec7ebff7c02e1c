//! Nodes and their places, the queues between them, and the views that each place is told of, one after the other or
//! some at once.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use fastrand::Rng;
use muster_live::place::{Epoch, NodeNumber, Partition};
use muster_live::plane::Message;
use muster_live::{Place, Plane, PlaneConfig, Routes, ShardIndex, StreamKey};

use super::faults::Faults;
use crate::frames::Encoder;

/// See the module.
pub(super) struct Cluster {
    pub planes: BTreeMap<Place, Plane>,
    queues: BTreeMap<(Place, Place), VecDeque<Message>>,
    /// Those that are there by the last view.
    nodes: Vec<(NodeNumber, ShardIndex)>,
    next_node: NodeNumber,
    owners: Vec<(Place, Epoch)>,
    /// Every view that there was: of epoch 1, 2 and so on.
    views: Vec<Routes>,
    /// How many of them a place has been told of, and how many there were before it.
    told: BTreeMap<Place, (usize, usize)>,
    config: PlaneConfig,
    encoder: Rc<Encoder>,
    pub faults: Faults,
}

impl Cluster {
    /// A first node, alone.
    pub(super) fn new(shards: ShardIndex, config: PlaneConfig, encoder: Rc<Encoder>, faults: Faults) -> Self {
        let mut cluster = Self {
            planes: BTreeMap::new(),
            queues: BTreeMap::new(),
            nodes: Vec::new(),
            next_node: 1,
            owners: Vec::new(),
            views: Vec::new(),
            told: BTreeMap::new(),
            config,
            encoder,
            faults,
        };
        cluster.start(shards);
        let owner = |partition: Partition| (Place::new(1, partition.number() % shards), Epoch(1));
        cluster.owners = Partition::all().map(owner).collect();
        cluster.publish_view();
        cluster
    }

    fn start(&mut self, shards: ShardIndex) -> NodeNumber {
        let node = self.next_node;
        self.next_node += 1;
        self.nodes.push((node, shards));
        for me in (0..shards).map(|shard| Place::new(node, shard)) {
            let plane = Plane::new(me, Routes::of_newcomer(), self.config.clone(), self.encoder.clone());
            self.planes.insert(me, plane);
            self.told.insert(me, (self.views.len(), self.views.len()));
        }
        node
    }

    fn publish_view(&mut self) {
        let owned = |partition: Partition| self.owners[usize::from(partition.number())];
        self.views.push(Routes::of_cluster(&self.nodes, self.next_node, owned));
    }

    /// The epoch of the next view.
    fn epoch(&self) -> Epoch {
        Epoch(self.views.len() as u64 + 1)
    }

    /// Living nodes.
    pub(super) fn nodes(&self) -> impl Iterator<Item = NodeNumber> {
        self.nodes.iter().map(|(node, _)| *node)
    }

    /// Places that know who is there.
    pub(super) fn awake(&self) -> Vec<Place> {
        self.told.iter().filter(|(_, (told, before))| told > before).map(|(place, _)| *place).collect()
    }

    /// Whether a place knows the last view.
    pub(super) fn is_up_to_date(&self, place: Place) -> bool {
        self.told.get(&place).is_some_and(|(told, _)| *told == self.views.len())
    }

    /// The number of the last view that a place knows.
    pub(super) fn view_of(&self, place: Place) -> usize {
        self.told.get(&place).map(|(told, _)| *told).unwrap_or_default()
    }

    /// Since when a stream has its owner by the view of a number.
    pub(super) fn epoch_of(&self, view: usize, stream: &StreamKey) -> Option<Epoch> {
        Some(self.views.get(view.checked_sub(1)?)?.epoch(stream.partition()))
    }

    /// By the last view.
    pub(super) fn owner(&self, stream: &StreamKey) -> Place {
        self.owners[usize::from(stream.partition().number())].0
    }

    /// A node joins. Others offer it what they do not use; sometimes that comes to nothing.
    pub(super) fn join(&mut self, rng: &mut Rng, shards: ShardIndex) {
        let is_lost = rng.u8(0..4) == 0;
        let up_to_date: Vec<Place> = self.planes.keys().copied().filter(|place| self.is_up_to_date(*place)).collect();
        let (node, epoch) = (self.start(shards), self.epoch());
        for place in up_to_date {
            let wanted: Vec<Partition> = Partition::all().filter(|_| rng.bool()).collect();
            let offered = self.planes.get_mut(&place).map(|plane| plane.offer(&wanted)).unwrap_or_default();
            for partition in offered.into_iter().filter(|_| !is_lost) {
                self.owners[usize::from(partition.number())] = (Place::new(node, rng.u16(0..shards)), epoch);
            }
        }
        self.publish_view();
    }

    /// A node dies. Of what it sent the first part arrives. What it owned gets others.
    pub(super) fn crash(&mut self, rng: &mut Rng, node: NodeNumber) {
        self.nodes.retain(|(other, _)| *other != node);
        self.planes.retain(|place, _| place.node() != node);
        self.told.retain(|place, _| place.node() != node);
        self.queues.retain(|(_, to), _| to.node() != node);
        for (_, queue) in self.queues.iter_mut().filter(|((from, _), _)| from.node() == node) {
            queue.truncate(rng.usize(0..=queue.len()));
        }
        let (epoch, places) = (self.epoch(), self.planes.keys().copied().collect::<Vec<_>>());
        for owner in self.owners.iter_mut().filter(|(owner, _)| owner.node() == node) {
            *owner = (places[rng.usize(0..places.len())], epoch);
        }
        self.publish_view();
    }

    /// Places that are told of views that they do not know.
    pub(super) fn behind(&self) -> impl Iterator<Item = Place> {
        self.told.iter().filter(|(_, (told, _))| *told < self.views.len()).map(|(place, _)| *place)
    }

    /// The next view for a place; others in between it never sees.
    pub(super) fn next_view(&mut self, rng: &mut Rng, place: Place) -> Option<Routes> {
        let (told, _) = self.told.get_mut(&place)?;
        *told = rng.usize(*told..self.views.len()) + 1;
        self.views.get(*told - 1).cloned()
    }

    /// Queues with something for a place that lives.
    pub(super) fn deliverable(&self) -> impl Iterator<Item = (Place, Place)> {
        self.queues.iter().filter(|(_, queue)| !queue.is_empty()).map(|(pair, _)| *pair)
    }

    pub(super) fn send(&mut self, from: Place, to: Place, message: Message) {
        if self.planes.contains_key(&to) {
            self.faults.put(self.queues.entry((from, to)).or_default(), message);
        }
    }

    pub(super) fn take(&mut self, from: Place, to: Place) -> Option<Message> {
        self.queues.get_mut(&(from, to)).and_then(VecDeque::pop_front)
    }
}
