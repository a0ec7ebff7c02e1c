//! Databases and logs that were restored alone: matches do not pay what the other one does not know.

use std::rc::Rc;

use muster_domain::Timestamp;
use muster_live::matches::{MatchId, Outcome};
use muster_script::durable::listing::matches_of;

use super::disk::Disk;
use super::failures::{ALL, PAY, counting, run};
use super::life::{Shelf, match_id};
use super::node::Node;

/// Ticks after which a match has written a snapshot since.
const SNAPSHOT_TICKS: usize = 12;

/// A match that pays in each tick, on a database and a log.
struct Table {
    code: String,
    shelf: Shelf,
    disk: Rc<Disk>,
}

impl Table {
    fn new(body: &str) -> Self {
        let table = Self { code: counting(body), shelf: Shelf::new(), disk: Disk::dying(u64::MAX) };
        table.run(async |node| assert!(matches!(node.make(1, "game").await, Some(Outcome::Begun { .. }))));
        table
    }

    /// Runs a process, which dies afterwards.
    fn run<T>(&self, work: impl AsyncFnOnce(&Node) -> T) -> T {
        let files = [("game.lua", self.code.as_str())];
        run(async {
            let node = Node::start(&files, &self.shelf, &self.disk).await;
            work(&node).await
        })
    }

    /// Plays so many ticks in a process of their own.
    fn play(&mut self, ticks: usize) {
        self.disk = self.disk.found(ALL, u64::MAX);
        self.run(async |node| {
            assert_eq!(node.take_over().await.unwrap(), [match_id(1)]);
            for _ in 0..ticks {
                assert_eq!(node.tick(match_id(1)).await, Some(Outcome::GoesOn));
            }
        });
    }

    /// The matches that go on in the next process, and the state of the first.
    fn resume(&mut self) -> (Vec<MatchId>, Option<String>) {
        self.disk = self.disk.found(ALL, u64::MAX);
        self.run(async |node| {
            let matches = node.take_over().await.unwrap();
            let state = if matches.is_empty() { None } else { node.ask(match_id(1)).await };
            (matches, state)
        })
    }

    fn gold(&self) -> String {
        self.shelf.wallet().0
    }

    /// The reason for which the match cannot go on, as operators see it.
    fn why(&self) -> String {
        let [logged] = &matches_of(self.disk.all())[..] else { panic!("one match") };
        assert!(logged.stranded_at.is_some());
        logged.why.clone()
    }
}

#[test]
fn a_match_goes_back_to_the_moment_of_an_older_database() {
    let mut table = Table::new(PAY);
    table.play(1);
    let older = table.shelf.copy();
    table.play(1);
    assert_eq!(table.gold(), "{\"gold\":10}");
    table.shelf = older;
    assert_eq!(table.resume(), (vec![match_id(1)], Some("1".to_owned())));
    table.play(2);
    assert_eq!(table.gold(), "{\"gold\":15}", "each tick has paid once");
    table.play(SNAPSHOT_TICKS);
    assert_eq!(table.resume(), (vec![match_id(1)], Some((3 + SNAPSHOT_TICKS).to_string())));
}

#[test]
fn a_match_that_began_with_a_payment_after_the_moment_of_the_database_does_not_go_on() {
    let mut table = Table::new("");
    let older = table.shelf.copy();
    let code = counting("").replace("return { ticks = 0 }", &format!("{PAY} return {{ ticks = 0 }}"));
    table.code = code.replace("function M.match_init()", "function M.match_init(context)");
    table.disk = Disk::dying(u64::MAX);
    table.run(async |node| drop(node.make(1, "game").await));
    assert_eq!(table.gold(), "{\"gold\":5}");
    table.shelf = older;
    // The snapshot behind the first callback holds the payment, and the records before it are gone.
    assert_eq!(table.resume(), (vec![], None));
    assert_eq!(table.gold(), "{}");
}

#[test]
fn a_match_waits_for_its_database_when_its_log_is_much_newer() {
    let mut table = Table::new(PAY);
    table.play(1);
    let older = table.shelf.copy();
    table.play(SNAPSHOT_TICKS);
    let newer = std::mem::replace(&mut table.shelf, older);
    for _ in 0..2 {
        assert_eq!(table.resume(), (vec![], None));
        assert!(table.why().starts_with("its log has payments that the database does not have"), "{}", table.why());
        assert_eq!(table.gold(), "{\"gold\":5}");
    }
    table.shelf = newer;
    assert_eq!(table.resume(), (vec![match_id(1)], Some((1 + SNAPSHOT_TICKS).to_string())));
    table.play(1);
    assert_eq!(table.gold(), format!("{{\"gold\":{}}}", 5 * (2 + SNAPSHOT_TICKS)));
}

#[test]
fn a_match_waits_for_its_log_when_its_database_is_newer() {
    let mut table = Table::new(&format!("{PAY} if tick == 40 then return nil end"));
    table.play(2);
    let older = table.disk.found(ALL, u64::MAX);
    table.play(1);
    let newer = std::mem::replace(&mut table.disk, older.clone());
    assert_eq!(table.resume(), (vec![], None));
    assert!(table.why().starts_with("the database has payments of the match that its log"), "{}", table.why());
    table.disk = newer;
    assert_eq!(table.resume(), (vec![match_id(1)], Some("3".to_owned())));
    // The match ends. An older log has it still.
    table.disk = table.disk.found(ALL, u64::MAX);
    table.run(async |node| {
        assert_eq!(node.take_over().await.unwrap(), [match_id(1)]);
        while node.tick(match_id(1)).await == Some(Outcome::GoesOn) {}
        node.rest().await;
    });
    let paid = table.gold();
    table.disk = older;
    assert_eq!(table.resume(), (vec![], None));
    assert!(table.why().starts_with("the match has ended according to the database"), "{}", table.why());
    assert_eq!(table.gold(), paid);
}

#[test]
fn a_match_stops_when_the_database_loses_its_payments_meanwhile_and_its_log_keeps_it() {
    let mut table = Table::new(PAY);
    table.disk = table.disk.found(ALL, u64::MAX);
    table.run(async |node| {
        assert_eq!(node.take_over().await.unwrap(), [match_id(1)]);
        for _ in 0..3 {
            assert_eq!(node.tick(match_id(1)).await, Some(Outcome::GoesOn));
        }
        // The database does not have the match any more, as if one of another moment had taken its place.
        table.shelf.store.end_keyed_writes(match_id(1).0, Timestamp(1)).await.unwrap();
        let stopped = node.tick(match_id(1)).await;
        assert!(
            matches!(&stopped, Some(Outcome::Failed(why)) if why.contains("lacks earlier payments")),
            "{stopped:?}"
        );
        node.rest().await;
    });
    assert_eq!(table.gold(), "{\"gold\":15}");
    let [logged] = &matches_of(table.disk.all())[..] else { panic!("the log keeps the match") };
    assert_eq!(logged.id, match_id(1));
}
