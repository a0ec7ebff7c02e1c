//! Names that come near one that does not exist: the remedy in errors about slips.

/// Least likeness, by Jaro-Winkler, of a name that is suggested for an unknown one.
const LIKENESS_MIN: f64 = 0.85;
/// Limit on the names that are suggested for an unknown one.
const SUGGESTED_MAX: usize = 3;

/// The names that come near an unknown one and need the fewest changes, the most alike first.
pub(crate) fn near<'a>(wanted: &str, names: impl Iterator<Item = &'a str>) -> Vec<&'a str> {
    let plain = |name: &str| name.to_ascii_lowercase().replace('_', "");
    let wanted = plain(wanted);
    let known: Vec<_> = names.map(|name| (plain(name), name)).collect();
    let likeness = |(plain, name): &(String, &'a str)| {
        let likeness = strsim::jaro_winkler(&wanted, plain);
        (likeness >= LIKENESS_MIN).then(|| (strsim::osa_distance(&wanted, plain), likeness, *name))
    };
    let mut near: Vec<_> = known.iter().filter_map(likeness).collect();
    near.sort_by(|one, other| one.0.cmp(&other.0).then(other.1.total_cmp(&one.1)));
    let fewest = near.first().map(|(changes, ..)| *changes);
    let fewest = near.into_iter().take_while(|(changes, ..)| Some(*changes) == fewest);
    fewest.take(SUGGESTED_MAX).map(|(.., name)| name).collect()
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
