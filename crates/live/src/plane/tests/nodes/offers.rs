//! A node joins and gets what nobody uses.

use super::*;

/// Partitions that the first of two nodes offers.
fn offered(cluster: &mut Cluster) -> Vec<Partition> {
    let all: Vec<Partition> = Partition::all().collect();
    cluster.step(first(1), |plane, _, _| plane.offer(&all))
}

#[test]
fn what_is_used_is_not_offered() {
    let mut cluster = Cluster::new(&[1, 1], &PlaneConfig::default());
    let [used, free] = [cluster.owned_by(1), room("free")];
    let session = cluster.open(first(2));
    cluster.join(session, &used);
    let first_offer = offered(&mut cluster);
    assert!(first_offer.len() > 500 && !first_offer.contains(&used.partition()), "{}", first_offer.len());
    assert_eq!(
        first_offer.contains(&free.partition()),
        cluster.planes[&first(1)].routes().owner(free.partition()) == first(1)
    );
    assert!(offered(&mut cluster).is_empty(), "once");
}

#[test]
fn what_is_asked_of_an_offered_partition_waits_and_is_asked_again_or_done() {
    for stays in [true, false] {
        let mut cluster = Cluster::new(&[1, 1], &PlaneConfig::default());
        let stream = cluster.owned_by(1);
        let [asking, silent] = [2, 2].map(|node| cluster.open(first(node)));
        let free = offered(&mut cluster);
        cluster.begin_join(asking, &stream, JoinOptions::default());
        cluster.step(silent.place, |plane, now, out| {
            plane.join(now, silent.key, stream.clone(), JoinOptions::default(), None, out);
        });
        cluster.settle();
        assert_eq!((cluster.replies.len(), cluster.planes[&first(1)].stats().held), (0, 2));
        if stays {
            // Another view changes nothing about it.
            cluster.add(1);
            cluster.tell_all();
            assert_eq!(cluster.replies.len(), 0);
            cluster.step(first(1), |plane, now, out| plane.keep(now, &free, out));
            cluster.settle();
        } else {
            cluster.give(stream.partition(), first(2));
            cluster.tell_all();
        }
        match &cluster.replies[..] {
            [Reply::Joined(Ok(joined))] => assert!(stays && joined.is_new),
            [Reply::Joined(Err(refusal))] => assert!(!stays && *refusal == JoinRefusal::Unavailable),
            other => panic!("{other:?}"),
        }
        assert!(cluster.is_on(silent, &stream));
        assert_eq!(cluster.is_on(asking, &stream), stays);
        let there: usize = cluster.planes.values().map(|plane| plane.owned_presences(&stream).count()).sum();
        assert_eq!(there, 1 + usize::from(stays));
        cluster.publish(silent, &stream, "to all");
        cluster.settle();
        assert_eq!(cluster.take_heard(silent).last().unwrap(), "to all");
    }
}
