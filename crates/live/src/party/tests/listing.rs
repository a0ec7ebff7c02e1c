//! Listings of parties.

use muster_domain::query::{QUERY_BYTES_MAX, Query, STEP_UNITS_MAX, Work};

use super::*;
use crate::listings::LISTING_SLICE_UNITS;
use crate::nasty::{Random, Search, text};

/// Three parties, made in this order and named by the numbers of their ids. One of them is hidden.
fn listed() -> Parties {
    let mut parties = Parties::default();
    for (id, open, label) in
        [(1, true, r#"{"mode":"ranked","level":5}"#), (2, false, r#"{"mode":"fun"}"#), (3, true, "")]
    {
        let settings = Settings { open, hidden: id == 3, label: Label::new(label).expect("the label is good") };
        let created_at = Timestamp(id.into());
        let request = PartyRequest::Create { leader: member('a'), settings, max_size: id, created_at };
        parties.handle(PartyId(Uuid::from_u128(id.into())), request, &mut Vec::new()).expect("it is new");
    }
    parties
}

/// The page that a request asks for, after as many slices as it takes.
fn page(parties: &mut Parties, asked: &ListQuery) -> Page {
    let mut page = parties.begin_listing(None, asked.clone());
    while page.is_none() {
        page = parties.run_slice().pop().map(|(_, page)| Ok(page));
    }
    page.expect("it is over").expect("few listings wait")
}

fn find(
    parties: &mut Parties,
    query: &str,
    open: Option<bool>,
    after: Option<ListingPosition>,
    limit: usize,
) -> Vec<Listed> {
    let query = Query::parse(query).expect("the query is good").into();
    page(parties, &ListQuery { query, open, after, limit }).parties
}

fn ids(found: &[Listed]) -> Vec<u128> {
    found.iter().map(|listed| listed.place.party.0.as_u128()).collect()
}

#[test]
fn listing() {
    let mut parties = listed();
    let check = |parties: &mut Parties, query, open, expected: &[u128]| {
        assert_eq!(ids(&find(parties, query, open, None, 10)), expected, "{query} {open:?}");
    };
    check(&mut parties, "*", None, &[1, 2]);
    check(&mut parties, "*", Some(false), &[2]);
    check(&mut parties, "+label.mode:ranked", None, &[1]);
    check(&mut parties, "+label.level:>=6", None, &[]);
    check(&mut parties, "+open:F +max_size:2", None, &[2]);
    check(&mut parties, "label.mode:ranked label.mode:fun^2", None, &[2, 1]);
    let update = |hidden, label| {
        let settings = Settings { open: false, hidden, label: Label::new(label).expect("the label is good") };
        PartyRequest::Update { by: session('a'), settings }
    };
    let [one, two, three] = [1, 2, 3].map(|id| PartyId(Uuid::from_u128(id)));
    parties.handle(one, update(false, r#"{"mode":"fun"}"#), &mut Vec::new()).expect("a leads");
    check(&mut parties, "+label.mode:fun", None, &[1, 2]);
    parties.handle(one, update(true, ""), &mut Vec::new()).expect("a leads");
    parties.handle(three, update(false, ""), &mut Vec::new()).expect("a leads");
    check(&mut parties, "*", None, &[2, 3]);
    parties.handle(two, PartyRequest::Close(session('a')), &mut Vec::new()).expect("a leads");
    parties.handle(three, PartyRequest::Leave(session('a')), &mut Vec::new()).expect("a is a member");
    check(&mut parties, "*", None, &[]);
}

#[test]
fn listing_page_by_page() {
    let mut parties = listed();
    let first = find(&mut parties, "*", None, None, 1);
    assert_eq!(ids(&first), [1]);
    assert_eq!(
        (first[0].open, first[0].max_size, first[0].label.as_json()),
        (true, 1, r#"{"mode":"ranked","level":5}"#)
    );
    let second = find(&mut parties, "*", None, Some(first[0].place), 1);
    assert_eq!(ids(&second), [2]);
    assert_eq!(ids(&find(&mut parties, "*", None, Some(second[0].place), 1)), [0; 0]);
}

#[test]
fn a_listing_looks_at_so_many_and_goes_on_from_there() {
    let mut parties = Parties::default();
    // Only the last party matches, by a term that no index answers.
    let last = LISTING_SCAN_MAX as u128 + 10;
    for id in 1..=last {
        let text = if id == last { "needle" } else { &format!("hay-{id}") };
        let label = Label::new(&format!(r#"{{"text":"{text}"}}"#)).expect("the label is good");
        let settings = Settings { open: true, hidden: false, label };
        // The clocks of shards differ, but places keep the order all the same.
        let created_at = Timestamp(5);
        let request = PartyRequest::Create { leader: member('a'), settings, max_size: 2, created_at };
        parties.handle(PartyId(Uuid::from_u128(id)), request, &mut Vec::new()).expect("it is new");
    }
    let query: std::sync::Arc<Query> = Query::parse("+label.text:/nee.*/").expect("the query is good").into();
    let asked = |after| ListQuery { query: query.clone(), open: None, after, limit: 3 };
    let first = page(&mut parties, &asked(None));
    assert_eq!(ids(&first.parties), [0; 0]);
    let second = page(&mut parties, &asked(Some(first.until.expect("there is more"))));
    assert_eq!((ids(&second.parties), second.until), (vec![last], None));
    // A query whose terms weigh differently orders the parties that were looked at.
    let weighed = find(&mut parties, "label.text:/nee.*/ max_size:2", None, None, 2);
    assert_eq!(ids(&weighed), [1, 2]);
}

#[test]
fn pages_of_shards_make_one() {
    let listed = |id: u128, at: i64| Listed {
        place: ListingPosition { score: 1.0, created_at: Timestamp(at), party: PartyId(Uuid::from_u128(id)) },
        open: true,
        max_size: 2,
        label: Label::default(),
    };
    let page = |found: &[(u128, i64)], until: Option<(u128, i64)>| Page {
        parties: found.iter().map(|(id, at)| listed(*id, *at)).collect(),
        until: until.map(|(id, at)| listed(id, at).place),
    };
    let check = |pages: Vec<Page>, limit, expected: &[u128], until: Option<u128>| {
        let merged = Page::merge(pages, limit);
        assert_eq!(
            (ids(&merged.parties), merged.until.map(|place| place.party.0.as_u128())),
            (expected.to_vec(), until)
        );
    };
    check(vec![page(&[(1, 1), (3, 3)], None), page(&[(2, 2)], None)], 3, &[1, 2, 3], None);
    check(vec![page(&[(1, 1), (3, 3)], None), page(&[(2, 2)], None)], 2, &[1, 2], Some(2));
    // One shard stopped early: the parties behind that place are on the next page.
    check(vec![page(&[(1, 1), (5, 5)], None), page(&[(2, 2)], Some((3, 3)))], 4, &[1, 2], Some(3));
    check(vec![page(&[], Some((9, 9))), page(&[], None)], 4, &[], Some(9));
}

#[test]
fn no_listing_does_more_in_a_step_than_its_limit() {
    let mut most = 0;
    for seed in 0..4 {
        let (random, mut parties) = (&mut Random(seed), Parties::default());
        let mut labels = Vec::new();
        for id in 1..=random.pick(&[10, 60]) {
            let (one, other) = (text(random, 900), text(random, 900));
            let label = Label::new(&format!(r#"{{"one":"{one}","other":["{other}","b"]}}"#)).expect("it is short");
            let settings = Settings { open: true, hidden: false, label: label.clone() };
            let request = PartyRequest::Create { leader: member('a'), settings, max_size: 2, created_at: Timestamp(1) };
            parties.handle(PartyId(Uuid::from_u128(id)), request, &mut Vec::new()).expect("it is new");
            labels.push((id, label));
        }
        let mut search = Search::new(&["label.one", "label.other"], QUERY_BYTES_MAX);
        for _ in 0..10 {
            let query = Query::parse(&search.next(random)).expect("it is in order");
            let before = parties.listing_stats().work.units;
            let mut found = ids(&find(&mut parties, query.source(), None, None, 1_000));
            let stats = parties.listing_stats();
            search.note(stats.work.units - before);
            let limit = u64::from(STEP_UNITS_MAX);
            assert!(stats.work.step_units_max <= limit, "seed {seed}: {stats:?} for {}", query.source());
            let fits = |label: &Label| {
                let document = label.document().clone().with("open", true).with("max_size", 2.0);
                query.matches(&document, &mut Work::endless()).is_some()
            };
            let expect: Vec<u128> = labels.iter().filter(|(_, label)| fits(label)).map(|(id, _)| *id).collect();
            found.sort_unstable();
            assert_eq!(found, expect, "seed {seed}: {}", query.source());
        }
        most = most.max(search.most());
    }
    assert!(most > 2 * u64::from(LISTING_SLICE_UNITS), "{most}: no listing took several slices");
}

#[test]
fn a_listing_that_has_done_its_work_goes_on_on_the_next_page() {
    let mut parties = Parties::default();
    for id in 1..=1_200 {
        let label = Label::new(&format!(r#"{{"text":"{}"}}"#, "a".repeat(80))).expect("it is short");
        let settings = Settings { open: true, hidden: false, label };
        let request = PartyRequest::Create { leader: member('a'), settings, max_size: 2, created_at: Timestamp(1) };
        parties.handle(PartyId(Uuid::from_u128(id)), request, &mut Vec::new()).expect("it is new");
    }
    let query: std::sync::Arc<Query> = Query::parse("-label.text:/(?:.*){80}b/").expect("it is in order").into();
    let (mut found, mut after, mut pages) = (Vec::new(), None, 0);
    loop {
        let page = page(&mut parties, &ListQuery { query: query.clone(), open: None, after, limit: 5_000 });
        pages += 1;
        found.extend(ids(&page.parties));
        after = page.until;
        if after.is_none() {
            break;
        }
    }
    assert_eq!(found, (1..=1_200).collect::<Vec<u128>>());
    assert!(pages > 1);
    assert_eq!(parties.listing_stats().cut, pages - 1);
}
