//! The name that a misspelt one stands for, which errors suggest.

/// The known name that another name is probably a misspelling of: of three letters at most one is wrong, and at most
/// two in all.
pub fn nearest<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> Option<&'n str> {
    const WRONG_MAX: usize = 2;
    let near = known.into_iter().map(|one| (strsim::damerau_levenshtein(name, one), one)).min()?;
    ((1..=WRONG_MAX).contains(&near.0) && near.0 * 3 <= near.1.chars().count()).then_some(near.1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_name_finds_the_one_that_was_meant() {
        for (name, expect) in [
            ("sevre", Some("serve")),
            ("mirgat", Some("migrate")),
            ("dve", Some("dev")),
            ("dxx", None),
            ("serve", None),
            ("poker", None),
        ] {
            assert_eq!(nearest(name, ["dev", "serve", "migrate"]), expect, "{name}");
        }
    }
}
