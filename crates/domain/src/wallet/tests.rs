//! Wallets after changes.

use super::*;

const ANN: UserId = UserId(crate::ids::Uuid::from_u128(1));

fn amounts(amounts: &[(&str, i64)]) -> Amounts {
    amounts.iter().map(|(name, amount)| ((*name).to_owned(), *amount)).collect()
}

fn check(held: &[(&str, i64)], changeset: &[(&str, i64)], expect: std::result::Result<&[(&str, i64)], &str>) {
    let applied = apply(ANN, &amounts(held), &amounts(changeset)).map_err(|error| error.to_string());
    assert_eq!(applied, expect.map(amounts).map_err(str::to_owned), "{held:?} {changeset:?}");
}

#[test]
fn amounts_are_added() {
    check(&[("gold", 5)], &[("gold", -5), ("gems", 3)], Ok(&[("gold", 0), ("gems", 3)]));
    check(&[("gold", 5)], &[], Ok(&[("gold", 5)]));
    check(&[], &[("gold", 0), ("", i64::MAX)], Ok(&[("gold", 0), ("", i64::MAX)]));
    check(&[("debt", -9), ("gold", 1)], &[("gold", 1), ("debt", 10)], Ok(&[("debt", 1), ("gold", 2)]));
}

#[test]
fn nothing_goes_below_nothing_or_beyond_counting() {
    let negative = |name: &str| format!("wallet update rejected negative value at path '{name}'");
    check(&[("gold", 5)], &[("gems", 1), ("gold", -6)], Err(&negative("gold")));
    check(&[], &[("gold", -1)], Err(&negative("gold")));
    check(&[("a", 1), ("b", 1)], &[("b", -2), ("a", -2)], Err(&negative("a")));
    check(&[("debt", -9)], &[("debt", 8)], Err(&negative("debt")));
    check(&[("debt", -9)], &[("debt", i64::MIN)], Err(&negative("debt")));
    check(&[("gold", 1)], &[("gold", i64::MAX)], Err("wallet update rejected too large a value at path 'gold'"));
    let unfit = apply(ANN, &amounts(&[("gold", 5)]), &amounts(&[("gold", -6)])).unwrap_err();
    let expect = UnfitBalance { user_id: ANN, name: "gold".into(), current: 5, amount: -6 };
    assert_eq!(unfit, StoreError::Balance(Box::new(expect)));
    assert_eq!(Error::from(unfit).kind, ErrorKind::FailedPrecondition);
}

#[test]
fn a_wallet_has_only_so_many_names() {
    let many = |len: usize| (0..len).map(|number| (number.to_string(), 1)).collect::<Amounts>();
    let one_more = amounts(&[("one more", 1)]);
    assert!(apply(ANN, &many(WALLET_NAMES_MAX - 1), &one_more).is_ok());
    assert!(apply(ANN, &many(WALLET_NAMES_MAX), &one_more).is_err());
    assert!(apply(ANN, &many(WALLET_NAMES_MAX + 5), &many(1)).is_ok(), "those that are there go on");
    assert!(apply(ANN, &many(WALLET_NAMES_MAX + 5), &one_more).is_err());
}

#[test]
fn amounts_are_whole_numbers_in_json() {
    let held = amounts(&[("a \"b\"", i64::MIN), ("gold", i64::MAX)]);
    assert_eq!(to_json(&held), r#"{"a \"b\"":-9223372036854775808,"gold":9223372036854775807}"#);
    assert_eq!(parse(&to_json(&held)), Ok(held));
    assert_eq!(parse(" {\"gold\": 5} "), Ok(amounts(&[("gold", 5)])));
    for json in
        [r#"{"a":1.5}"#, r#"{"a":1.0}"#, r#"{"a":{"b":1}}"#, r#"{"a":"1"}"#, r#"{"a":9223372036854775808}"#, "[]"]
    {
        assert!(matches!(parse(json), Err(StoreError::Invalid(_))), "{json}");
    }
}

#[test]
fn names_and_metadata_have_their_rules() {
    let check = |name: &str, metadata: &str, expect: bool| {
        let change =
            WalletChangeRequest { user_id: ANN, changeset: amounts(&[(name, 1)]), metadata: metadata.to_owned() };
        assert_eq!(super::check(&change).is_ok(), expect, "{name:.20} {metadata:.20}");
    };
    check(&"ä".repeat(64), r#"{"reason": "won"}"#, true);
    check(&"n".repeat(129), "{}", false);
    check("a\0b", "{}", false);
    check("gold", "", false);
    check("gold", "[]", false);
    check("gold", &format!(r#"{{"a":"{}"}}"#, "x".repeat(LEDGER_METADATA_BYTES_MAX)), false);
}
