//! Parties as listings show them.

use muster_domain::query::Query;

use super::*;

/// Three parties of which one hides, made in this order, by the numbers of their ids.
fn listed() -> Parties {
    let mut parties = Parties::default();
    for (id, open, label) in
        [(1, true, r#"{"mode":"ranked","level":5}"#), (2, false, r#"{"mode":"fun"}"#), (3, true, "")]
    {
        let settings = Settings { open, hidden: id == 3, label: Label::new(label).expect("the label is good") };
        let created_at = Timestamp(id.into());
        let request = Request::Create { leader: member('a'), settings, max_size: id, created_at };
        parties.handle(PartyId(Uuid::from_u128(id.into())), request, &mut Vec::new()).expect("it is new");
    }
    parties
}

fn find(parties: &Parties, query: &str, open: Option<bool>, after: Option<Place>, limit: usize) -> Vec<Listed> {
    let query = Query::parse(query).expect("the query is good").into();
    parties.list(&ListQuery { query, open, after, limit })
}

fn ids(found: &[Listed]) -> Vec<u128> {
    found.iter().map(|listed| listed.place.party.0.as_u128()).collect()
}

#[test]
fn listing() {
    let mut parties = listed();
    let check = |parties: &Parties, query, open, expected: &[u128]| {
        assert_eq!(ids(&find(parties, query, open, None, 10)), expected, "{query} {open:?}");
    };
    check(&parties, "*", None, &[1, 2]);
    check(&parties, "*", Some(false), &[2]);
    check(&parties, "+label.mode:ranked", None, &[1]);
    check(&parties, "+label.level:>=6", None, &[]);
    check(&parties, "+open:F +max_size:2", None, &[2]);
    check(&parties, "label.mode:ranked label.mode:fun^2", None, &[2, 1]);
    let update = |hidden, label| {
        let settings = Settings { open: false, hidden, label: Label::new(label).expect("the label is good") };
        Request::Update { by: session('a'), settings }
    };
    let [one, two, three] = [1, 2, 3].map(|id| PartyId(Uuid::from_u128(id)));
    parties.handle(one, update(false, r#"{"mode":"fun"}"#), &mut Vec::new()).expect("a leads");
    check(&parties, "+label.mode:fun", None, &[1, 2]);
    parties.handle(one, update(true, ""), &mut Vec::new()).expect("a leads");
    parties.handle(three, update(false, ""), &mut Vec::new()).expect("a leads");
    check(&parties, "*", None, &[2, 3]);
    parties.handle(two, Request::Close(session('a')), &mut Vec::new()).expect("a leads");
    parties.handle(three, Request::Leave(session('a')), &mut Vec::new()).expect("a is a member");
    check(&parties, "*", None, &[]);
}

#[test]
fn listing_page_by_page() {
    let parties = listed();
    let first = find(&parties, "*", None, None, 1);
    assert_eq!(ids(&first), [1]);
    assert_eq!(
        (first[0].open, first[0].max_size, first[0].label.as_json()),
        (true, 1, r#"{"mode":"ranked","level":5}"#)
    );
    let second = find(&parties, "*", None, Some(first[0].place), 1);
    assert_eq!(ids(&second), [2]);
    assert_eq!(ids(&find(&parties, "*", None, Some(second[0].place), 1)), [0; 0]);
}
