//! Names that come near one that does not exist: the remedy in errors about slips.

/// Least likeness, by Jaro-Winkler, of a name that is suggested for an unknown one.
const LIKENESS_MIN: f64 = 0.85;
/// Most by which a suggested name is less alike than the first.
const LESS_MAX: f64 = 0.04;
/// Limit on the names that are suggested for an unknown one.
const SUGGESTED_MAX: usize = 3;

/// The names that are most like an unknown one, the most alike first.
pub(crate) fn near<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let plain = |name: &str| name.to_ascii_lowercase().replace('_', "");
    let wanted = plain(wanted);
    let likeness = |name: &'a str| (strsim::jaro_winkler(&wanted, &plain(name)), name);
    let mut near: Vec<_> = names.map(likeness).filter(|(likeness, _)| *likeness >= LIKENESS_MIN).collect();
    near.sort_by(|one, other| other.0.total_cmp(&one.0));
    let most = near.first().map_or(0.0, |(likeness, _)| *likeness);
    // A name that differs in case and underscores only is surely the one that was meant.
    let least = if most == 1.0 { most } else { most - LESS_MAX };
    near.into_iter().take_while(|(likeness, _)| *likeness >= least).take(SUGGESTED_MAX).map(|(_, name)| name).collect()
}

/// The question at the end of an error: `did you mean a or b?`. `None` if no name comes near.
pub(crate) fn did_you_mean<N: AsRef<str>>(near: &[N]) -> Option<String> {
    let names: Vec<&str> = near.iter().map(AsRef::as_ref).collect();
    (!names.is_empty()).then(|| format!("did you mean {}?", names.join(" or ")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_find_the_name_that_was_meant() {
        let names = ["storage_read", "storage_write", "account_get_id", "users_get_id"];
        for (wanted, expect) in [
            ("storage_reed", Some("storage_read")),
            ("storageRead", Some("storage_read")),
            ("acount_get_id", Some("account_get_id")),
            ("frobnicate", None),
        ] {
            assert_eq!(near(wanted, names.into_iter()).first().copied(), expect, "{wanted}");
        }
        assert_eq!(near("storage_Read", names.into_iter()), ["storage_read"]);
        assert_eq!(did_you_mean(&["a", "b"]).as_deref(), Some("did you mean a or b?"));
        assert_eq!(did_you_mean::<&str>(&[]), None);
    }
}
