//! A cluster: nodes and their places, the queues between places, and the views. Places are told of a view at different
//! times.

use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use fastrand::Rng;
use muster_live::place::{Epoch, Move, NodeNumber, PARTITIONS, Partition};
use muster_live::plane::Message;
use muster_live::{Place, Plane, PlaneConfig, Routes, ShardIndex, StreamKey};

use super::faults::Faults;
use super::tallies::{Shown, Tallies, crossed};
use crate::frames::Encoder;
use crate::scenario::pick;

/// The planes of all living nodes, with their queues and views.
pub(super) struct Cluster {
    pub planes: BTreeMap<Place, Plane>,
    queues: BTreeMap<(Place, Place), VecDeque<Message>>,
    /// The nodes of the last view.
    nodes: Vec<(NodeNumber, ShardIndex)>,
    next_node: NodeNumber,
    owners: Vec<(Place, Epoch)>,
    /// Partitions that move between living owners.
    moves: BTreeMap<Partition, Move>,
    /// The epoch since which no message of a partition was lost, by partition.
    unbroken_since: Vec<Epoch>,
    /// All views, beginning with that of epoch 1. Each has the epochs since which no message of a partition was lost.
    views: Vec<(Routes, Vec<Epoch>)>,
    /// Number of nodes that died.
    pub crashes: usize,
    /// The number of views that a place was told of, and the number of views before it started, by place.
    told: BTreeMap<Place, (usize, usize)>,
    config: PlaneConfig,
    encoder: Rc<Encoder>,
    pub faults: Faults,
    /// Whether planes have tallies, the added kind of this simulation.
    has_tallies: bool,
    /// The tallies of each place.
    pub tallies: BTreeMap<Place, Shown>,
}

impl Cluster {
    /// A cluster of one node.
    pub(super) fn new(
        shards: ShardIndex,
        config: PlaneConfig,
        encoder: Rc<Encoder>,
        faults: Faults,
        has_tallies: bool,
    ) -> Self {
        let mut cluster = Self {
            planes: BTreeMap::new(),
            queues: BTreeMap::new(),
            nodes: Vec::new(),
            next_node: 1,
            owners: Vec::new(),
            moves: BTreeMap::new(),
            unbroken_since: vec![Epoch(1); usize::from(PARTITIONS)],
            crashes: 0,
            views: Vec::new(),
            told: BTreeMap::new(),
            config,
            encoder,
            faults,
            has_tallies,
            tallies: BTreeMap::new(),
        };
        cluster.start(shards);
        let owner = |partition: Partition| (Place::new(1, partition.row() as ShardIndex % shards), Epoch(1));
        cluster.owners = Partition::all().map(owner).collect();
        cluster.publish_view();
        cluster
    }

    fn start(&mut self, shards: ShardIndex) -> NodeNumber {
        let node = self.next_node;
        self.next_node += 1;
        self.nodes.push((node, shards));
        for me in (0..shards).map(|shard| Place::new(node, shard)) {
            let mut plane = Plane::new(me, Routes::of_newcomer(), self.config.clone(), self.encoder.clone());
            if self.has_tallies {
                let tallies = Tallies { keeps_handed_over: self.faults.keeps_handed_over(), ..Tallies::default() };
                self.tallies.insert(me, tallies.shown.clone());
                plane.add(Box::new(tallies));
            }
            self.planes.insert(me, plane);
            self.told.insert(me, (self.views.len(), self.views.len()));
        }
        node
    }

    fn publish_view(&mut self) {
        let owned = |partition: Partition| self.owners[partition.row()];
        let routes = Routes::of_cluster(&self.nodes, self.next_node, owned);
        self.views.push((routes.with_moves(self.moves.values().copied()), self.unbroken_since.clone()));
    }

    /// The epoch of the next view.
    fn epoch(&self) -> Epoch {
        Epoch(self.views.len() as u64 + 1)
    }

    /// All living nodes.
    pub(super) fn nodes(&self) -> impl Iterator<Item = NodeNumber> {
        self.nodes.iter().map(|(node, _)| *node)
    }

    /// Places that have been told of a view.
    pub(super) fn awake(&self) -> Vec<Place> {
        self.told.iter().filter(|(_, (told, before))| told > before).map(|(place, _)| *place).collect()
    }

    /// Whether a place knows the last view.
    pub(super) fn is_up_to_date(&self, place: Place) -> bool {
        self.told.get(&place).is_some_and(|(told, _)| *told == self.views.len())
    }

    /// Number of the last view that a place knows.
    pub(super) fn view_of(&self, place: Place) -> usize {
        self.told.get(&place).map(|(told, _)| *told).unwrap_or_default()
    }

    /// The epoch since which no message of a stream was lost, as of a view.
    pub(super) fn unbroken_since(&self, view: usize, stream: &StreamKey) -> Option<Epoch> {
        let (_, unbroken_since) = self.views.get(view.checked_sub(1)?)?;
        unbroken_since.get(stream.partition().row()).copied()
    }

    /// The owner of a stream by the last view.
    pub(super) fn owner(&self, stream: &StreamKey) -> Place {
        self.owner_of(stream.partition())
    }

    /// The owner of a partition by the last view.
    pub(super) fn owner_of(&self, partition: Partition) -> Place {
        partition.anchor().unwrap_or_else(|| self.owners[partition.row()].0)
    }

    /// The epoch since which the owner of a stream by the last view owns it.
    pub(super) fn owned_since(&self, stream: &StreamKey) -> Epoch {
        self.owners[stream.partition().row()].1
    }

    /// Adds a node, and perhaps moves partitions to it at once.
    pub(super) fn join(&mut self, rng: &mut Rng, shards: ShardIndex) {
        self.start(shards);
        if rng.bool() {
            self.begin_moves(rng);
        }
        self.publish_view();
    }

    /// Moves some partitions between living owners.
    pub(super) fn move_some(&mut self, rng: &mut Rng) {
        self.begin_moves(rng);
        self.publish_view();
    }

    fn begin_moves(&mut self, rng: &mut Rng) {
        let (epoch, share) = (self.epoch(), pick(rng, &[2, 16, 256]));
        let all = self.nodes.iter().flat_map(|(node, shards)| (0..*shards).map(|shard| Place::new(*node, shard)));
        let places: Vec<Place> = all.collect();
        for partition in Partition::all() {
            if rng.u32(0..share) > 0 {
                continue;
            }
            let to = places[rng.usize(0..places.len())];
            if self.owners[partition.row()].0 != to {
                self.moves.entry(partition).or_insert(Move { partition, to, epoch });
            }
        }
    }

    /// Notes that a place handed partitions over to their next owners.
    pub(super) fn handed_over(&mut self, from: Place, partitions: &[(Partition, Epoch)]) {
        for (partition, epoch) in partitions {
            let owner = &mut self.owners[partition.row()];
            if let Some(to) = self.moves.get(partition).filter(|it| owner.0 == from && it.epoch == *epoch) {
                *owner = (to.to, *epoch);
                self.moves.remove(partition);
            }
        }
        self.publish_view();
    }

    /// Lets a node die. Its last messages may be lost, and its partitions get other owners.
    pub(super) fn crash(&mut self, rng: &mut Rng, node: NodeNumber) {
        self.nodes.retain(|(other, _)| *other != node);
        self.planes.retain(|place, _| place.node() != node);
        self.told.retain(|place, _| place.node() != node);
        self.queues.retain(|(_, to), _| to.node() != node);
        let (epoch, places) = (self.epoch(), self.planes.keys().copied().collect::<Vec<_>>());
        for (_, queue) in self.queues.iter_mut().filter(|((from, _), _)| from.node() == node) {
            for message in queue.drain(rng.usize(0..=queue.len())..) {
                // The message may be of a partition that the node handed over before, whose present owner lives.
                if let Message::Down(down) = message
                    && let Some(partition) = down.stream().map(StreamKey::partition)
                {
                    self.unbroken_since[partition.row()] = epoch;
                }
            }
        }
        self.crashes += 1;
        for (partition, owner) in Partition::all().zip(&mut self.owners) {
            let is_dead = |place: Place| place.node() == node;
            let next = self.moves.get(&partition).map(|it| it.to);
            if !is_dead(owner.0) && !next.is_some_and(is_dead) {
                continue;
            }
            // A moving partition goes to the one of its two owners that lives.
            let anybody = places[rng.usize(0..places.len())];
            let heir = [Some(owner.0), next].into_iter().flatten().find(|place| !is_dead(*place)).unwrap_or(anybody);
            *owner = (heir, epoch);
            self.moves.remove(&partition);
            self.unbroken_since[partition.row()] = epoch;
        }
        self.publish_view();
    }

    /// Places that do not know the last view.
    pub(super) fn behind(&self) -> impl Iterator<Item = Place> {
        self.told.iter().filter(|(_, (told, _))| *told < self.views.len()).map(|(place, _)| *place)
    }

    /// A later view for a place. The place may skip views in between.
    pub(super) fn next_view(&mut self, rng: &mut Rng, place: Place) -> Option<Routes> {
        let (told, _) = self.told.get_mut(&place)?;
        *told = rng.usize(*told..self.views.len()) + 1;
        self.views.get(*told - 1).map(|(routes, _)| routes.clone())
    }

    /// Pairs of places with messages on the way.
    pub(super) fn deliverable(&self) -> impl Iterator<Item = (Place, Place)> {
        self.queues.iter().filter(|(_, queue)| !queue.is_empty()).map(|(pair, _)| *pair)
    }

    pub(super) fn send(&mut self, from: Place, to: Place, message: Message) {
        if self.planes.contains_key(&to) {
            let message = if self.has_tallies { crossed(from, to, message) } else { message };
            self.faults.put(self.queues.entry((from, to)).or_default(), message);
        }
    }

    pub(super) fn take(&mut self, from: Place, to: Place) -> Option<Message> {
        self.queues.get_mut(&(from, to)).and_then(VecDeque::pop_front)
    }
}
