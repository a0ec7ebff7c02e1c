//! Advice that errors of game code's statements add to the database's words, so that their author finds the mistake.

use muster_domain::near::nearest;

/// Keywords that are often misspelt.
const KEYWORDS: [&str; 31] = [
    "SELECT",
    "FROM",
    "WHERE",
    "GROUP",
    "ORDER",
    "HAVING",
    "LIMIT",
    "OFFSET",
    "JOIN",
    "LEFT",
    "INNER",
    "UNION",
    "BETWEEN",
    "EXISTS",
    "DISTINCT",
    "INSERT",
    "INTO",
    "VALUES",
    "CONFLICT",
    "UPDATE",
    "SET",
    "DELETE",
    "RETURNING",
    "CREATE",
    "TABLE",
    "INDEX",
    "UNIQUE",
    "PRIMARY",
    "REFERENCES",
    "DEFAULT",
    "ALTER",
];

/// The advice for a syntax error at a word behind another one; begins with a colon.
pub(crate) fn of_syntax(before: &str, at: &str) -> Option<String> {
    let words = [at, before];
    if words.iter().any(|word| matches!(*word, "?" | ":")) {
        return Some(": parameters are written $1, $2, …".to_owned());
    }
    words.into_iter().find_map(|word| of_name(&word.to_ascii_uppercase(), KEYWORDS))
}

/// The advice for a name that is not known; begins with a colon.
pub(crate) fn of_name<'n>(name: &str, known: impl IntoIterator<Item = &'n str>) -> Option<String> {
    nearest(name, known).map(|near| format!(": did you mean {near}?"))
}
