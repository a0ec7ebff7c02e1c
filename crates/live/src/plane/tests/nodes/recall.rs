//! Tests of kept messages that a lost node kept from their receivers.

use super::*;

fn config() -> PlaneConfig {
    PlaneConfig { recalls: true, ..PlaneConfig::default() }
}

impl Cluster {
    /// Publishes a message that the database has kept.
    fn publish_kept(&mut self, sender: SessionRef, stream: &StreamKey, number: u64) {
        let (payload, audience) = (Arc::new(Text(TEXTS[number as usize])), Audience::All);
        let publish =
            Publish { stream: stream.clone(), payload, audience, delivery: Delivery::Kept(number), sender: None };
        self.step(sender.place, |plane, now, out| plane.publish(now, publish, out));
    }

    /// Gives all places what the history has, as far as they asked for it. Answers the number of places that asked.
    fn recall(&mut self, stream: &StreamKey, numbers: std::ops::Range<u64>) -> usize {
        let asked = std::mem::take(&mut self.recalling);
        for (place, recall) in &asked {
            assert_eq!(recall.streams, std::slice::from_ref(stream));
            let recalled = |number: u64| Recalled {
                stream: stream.clone(),
                payload: Arc::new(Text(TEXTS[number as usize])),
                number,
                age_ms: 500,
            };
            let messages = numbers.clone().map(recalled).collect();
            self.step(*place, |plane, now, out| plane.recalled(now, recall.rebuilt, messages, out));
        }
        self.settle();
        asked.len()
    }
}

const TEXTS: [&str; 6] = ["0", "1", "2", "3", "4", "5"];

/// A channel that node 1 owns, and a session on each of three nodes that is in it.
fn start() -> (Cluster, StreamKey, [SessionRef; 3]) {
    let mut cluster = Cluster::new(&[1, 1, 1], &config());
    let stream = cluster.owned_by(1);
    let sessions = [1, 2, 3].map(|node| cluster.open(first(node)));
    for session in sessions {
        cluster.join(session, &stream);
    }
    cluster.now += 1_000;
    cluster.heard.clear();
    (cluster, stream, sessions)
}

#[test]
fn what_a_dead_owner_had_not_told_is_told_once_and_before_what_comes_later() {
    let (mut cluster, stream, [one, two, three]) = start();
    cluster.publish_kept(two, &stream, 0);
    cluster.settle();
    // Node 3 hears the next message and node 2 does not; nobody but the database has the one after it.
    cluster.publish_kept(one, &stream, 1);
    cluster.queues.remove(&(first(1), first(2)));
    while let Some(message) = cluster.queues.get_mut(&(first(1), first(3))).and_then(VecDeque::pop_front) {
        cluster.step(first(3), |plane, now, out| plane.receive(now, first(1), message, out));
    }
    cluster.publish_kept(two, &stream, 2);
    cluster.crash(1);
    cluster.queues.clear();
    cluster.tell_all();
    cluster.publish_kept(three, &stream, 3);
    cluster.settle();
    assert_eq!(cluster.take_heard(two), ["0"], "the new owner waits for the history");
    // The message that its author publishes only now stands in the history already.
    assert_eq!(cluster.recall(&stream, 0..5), 1);
    cluster.publish_kept(two, &stream, 4);
    cluster.publish_kept(two, &stream, 5);
    cluster.settle();
    let heard: Vec<Vec<String>> = [two, three].map(|session| cluster.take_heard(session)).to_vec();
    let texts = |session: &Vec<String>| -> Vec<String> {
        session.iter().filter(|text| text.parse::<u32>().is_ok()).cloned().collect()
    };
    assert_eq!(texts(&heard[0]), ["1", "2", "3", "4", "5"]);
    assert_eq!(texts(&heard[1]), ["0", "1", "2", "3", "4", "5"]);
}

#[test]
fn what_authors_on_a_lost_node_said_is_told_by_the_owner_that_lives() {
    let (mut cluster, stream, [one, two, three]) = start();
    cluster.publish_kept(one, &stream, 0);
    cluster.settle();
    cluster.publish_kept(three, &stream, 1);
    cluster.crash(3);
    cluster.queues.clear();
    cluster.tell_all();
    assert_eq!(cluster.recall(&stream, 0..2), 1);
    for session in [one, two] {
        let heard: Vec<String> = cluster.take_heard(session);
        assert_eq!(heard.iter().filter(|text| *text == "0").count(), 1, "{heard:?}");
        assert_eq!(heard.iter().filter(|text| *text == "1").count(), 1, "{heard:?}");
    }
}

#[test]
fn whoever_came_later_is_not_told_of_before() {
    let (mut cluster, stream, _) = start();
    cluster.crash(3);
    cluster.tell_all();
    cluster.recall(&stream, 0..0);
    let late = cluster.add(1);
    cluster.tell_all();
    let late = cluster.open(first(late));
    cluster.join(late, &stream);
    cluster.now += 100;
    cluster.crash(2);
    cluster.tell_all();
    assert_eq!(cluster.recall(&stream, 0..1), 1);
    assert!(!cluster.take_heard(late).contains(&"0".to_owned()));
}

#[test]
fn an_owner_goes_on_without_a_history_that_does_not_come_and_tells_it_when_it_comes() {
    let (mut cluster, stream, [_, two, _]) = start();
    cluster.publish_kept(two, &stream, 0);
    cluster.crash(1);
    cluster.queues.clear();
    cluster.tell_all();
    cluster.publish_kept(two, &stream, 1);
    cluster.pass(RECALL_WAIT_MS);
    assert!(cluster.take_heard(two).contains(&"1".to_owned()));
    cluster.recall(&stream, 0..2);
    assert_eq!(cluster.take_heard(two), ["0"]);
}

#[test]
fn a_node_on_its_own_remembers_nothing() {
    let mut heard = Plane::new(Place::new(0, 0), Routes::alone(1), PlaneConfig::default(), Rc::new(Words));
    let stream = room("1");
    let (info, name) = player(1);
    let key = heard.open(info, name, Encoding::Json);
    let mut out = Effects::default();
    heard.join(1, key, stream.clone(), JoinOptions::default(), None, &mut out);
    let publish = || Publish {
        stream: stream.clone(),
        payload: Arc::new(Text("0")),
        audience: Audience::All,
        delivery: Delivery::Kept(0),
        sender: None,
    };
    let mut out = Effects::default();
    for _ in 0..2 {
        heard.publish(1, publish(), &mut out);
    }
    assert_eq!(out.len(), 2);
}
