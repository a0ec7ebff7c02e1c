//! Stored outcomes are read back unchanged, and their wording stays the same, because later programs must read it.

use uuid::Uuid;

use super::*;

fn change() -> FriendChange {
    FriendChange {
        user_id: UserId(Uuid::from_u128(1)),
        username: "ann".into(),
        kind: FriendChangeKind::Add("{}".into()),
        ids: vec![UserId(Uuid::from_u128(2)), UserId(Uuid::from_u128(3))],
        usernames: vec!["dan".into()],
        authority: Authority::Server,
        notices: Vec::new(),
        quiet_since: None,
    }
}

#[test]
fn outcomes_come_back_as_they_were() {
    let change = change();
    let done = vec![
        changed(Some(UserId(Uuid::from_u128(2))), FriendOutcome::Requested),
        changed(None, FriendOutcome::Unknown),
        changed(None, FriendOutcome::Accepted),
    ];
    let kept = change.encode(&Ok(done.clone())).unwrap();
    assert_eq!(kept, r#"{"changed":["requested","unknown","accepted"]}"#);
    assert_eq!(change.decode(&kept), Some(Ok(done)));
    let refused = Err(StoreError::Invalid("No.".into()));
    let kept = change.encode(&refused).unwrap();
    assert_eq!(kept, r#"{"invalid":"No."}"#);
    assert_eq!(change.decode(&kept), Some(refused));
    assert_eq!(change.encode(&Err(StoreError::Unavailable("away".into()))), None);
    for damaged in ["", "{}", r#"{"changed":[]}"#, r#"{"changed":["a","b","c"]}"#] {
        assert_eq!(change.decode(damaged), None, "{damaged}");
    }
    for (outcome, word) in OUTCOMES {
        let one = FriendChange { ids: vec![UserId(Uuid::from_u128(2))], usernames: Vec::new(), ..change.clone() };
        let kept = one.encode(&Ok(vec![changed(None, outcome)])).unwrap();
        assert_eq!(kept, format!(r#"{{"changed":["{word}"]}}"#));
        assert_eq!(one.decode(&kept).unwrap().unwrap()[0].outcome, outcome);
    }
}

#[test]
fn every_part_of_a_request_counts() {
    let one = change().fingerprint();
    let changes: [fn(&mut FriendChange); 6] = [
        |change| change.user_id = UserId(Uuid::from_u128(9)),
        |change| change.username = "bob".into(),
        |change| change.kind = FriendChangeKind::Add(r#"{"a":1}"#.into()),
        |change| change.kind = FriendChangeKind::Delete,
        |change| change.ids.reverse(),
        |change| change.usernames.clear(),
    ];
    for (number, other) in changes.into_iter().enumerate() {
        let mut changed = change();
        other(&mut changed);
        assert_ne!(changed.fingerprint(), one, "{number}");
    }
    let chosen = FriendChange { notices: vec![None], quiet_since: Some(Timestamp(1)), ..change() };
    assert_eq!(chosen.fingerprint(), one, "the server chose these");
}
