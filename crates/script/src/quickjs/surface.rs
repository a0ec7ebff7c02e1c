//! Where JavaScript's functions differ from what follows from the host table by rule: names in camel case, arguments in the
//! same order, one result as it is.

/// The conversion of a host function's results for JavaScript.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Answer {
    /// The value itself; nil becomes `undefined`.
    Plain,
    /// The value itself; nil becomes `null`.
    OrNull,
    /// Bytes become an `ArrayBuffer`.
    Binary,
    /// Bytes become their text in base 64.
    Base64,
    /// An object of the results under these names. What is missing is left out, or `null` where the original has it so.
    Named(&'static [&'static str]),
    /// Status, headers and body of a response; each header is a list.
    Response,
}

/// What a function's first argument is before the host's function gets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum First {
    /// As it comes.
    Plain,
    /// A text in base 64, of which the host's function gets the bytes.
    Base64,
}

/// A function that differs.
pub(super) struct Form {
    /// Its name in the host table.
    of: &'static str,
    /// Under which names it is found, where not by rule alone.
    pub(super) names: &'static [&'static str],
    /// For each of the host's parameters which argument it is, where the order differs.
    pub(super) order: &'static [usize],
    pub(super) first: First,
    pub(super) answer: Answer,
}

const BY_RULE: Form = Form { of: "", names: &[], order: &[], first: First::Plain, answer: Answer::Plain };

const fn answers(of: &'static str, answer: Answer) -> Form {
    Form { of, answer, ..BY_RULE }
}

const fn named(of: &'static str, names: &'static [&'static str]) -> Form {
    Form { of, names, ..BY_RULE }
}

const LOGIN: Answer = Answer::Named(&["userId", "username", "created"]);

static FORMS: &[Form] = &[
    Form { order: &[0, 7, 1, 2, 3, 4, 5, 6], ..answers("account_update_id", Answer::Plain) },
    Form { first: First::Base64, ..answers("aes128_decrypt", Answer::Plain) },
    answers("aes128_encrypt", Answer::Base64),
    Form { first: First::Base64, ..answers("aes256_decrypt", Answer::Plain) },
    answers("aes256_encrypt", Answer::Base64),
    answers("authenticate_apple", LOGIN),
    answers("authenticate_custom", LOGIN),
    answers("authenticate_device", LOGIN),
    answers("authenticate_email", LOGIN),
    answers("authenticate_facebook", LOGIN),
    answers("authenticate_facebook_instant_game", LOGIN),
    answers("authenticate_game_center", LOGIN),
    answers("authenticate_google", LOGIN),
    answers("authenticate_steam", LOGIN),
    answers("authenticate_token_generate", Answer::Named(&["token", "exp"])),
    answers("base16_decode", Answer::Binary),
    answers("base64_decode", Answer::Binary),
    Form { names: &["base64UrlDecode"], ..answers("base64url_decode", Answer::Binary) },
    named("base64url_encode", &["base64UrlEncode"]),
    answers("channel_messages_list", Answer::Named(&["messages", "nextCursor", "prevCursor", "cacheableCursor"])),
    answers("hmac_sha256_hash", Answer::Binary),
    answers("http_request", Answer::Response),
    named("link_gamecenter", &["linkGameCenter"]),
    answers("match_get", Answer::OrNull),
    answers("multi_update", Answer::Named(&["storageWriteAcks", "walletUpdateAcks"])),
    answers("notifications_list", Answer::Named(&["notifications", "cursor"])),
    answers("party_list", Answer::Named(&["parties", "cursor"])),
    answers("secure_random_bytes", Answer::Binary),
    answers("sql_exec", Answer::Named(&["rowsAffected"])),
    answers("storage_list", Answer::Named(&["objects", "cursor"])),
    answers("stream_user_get", Answer::OrNull),
    named("tournament_ranks_disable", &["tournamentRanksDisable", "tournamentsRanksDisable"]),
    named("unlink_gamecenter", &["unlinkGameCenter"]),
    named("uuid_v4", &["uuidv4"]),
    answers("uuid_string_to_bytes", Answer::Binary),
    answers("wallet_ledger_list", Answer::Named(&["items", "cursor"])),
    answers("wallet_update", Answer::Named(&["updated", "previous"])),
];

/// How JavaScript has a function of the host table.
pub(super) fn form(name: &str) -> &'static Form {
    FORMS.iter().find(|form| form.of == name).unwrap_or(&BY_RULE)
}

/// The names under which JavaScript finds a function of the host table.
pub(super) fn names(name: &str) -> Vec<String> {
    match form(name).names {
        [] => vec![camel_case(name)],
        names => names.iter().map(|&name| name.to_owned()).collect(),
    }
}

/// `user_id` as `userId`.
pub(crate) fn camel_case(name: &str) -> String {
    let mut written = String::with_capacity(name.len());
    for (index, part) in name.split('_').enumerate() {
        match part.chars().next() {
            Some(first) if index > 0 => {
                written.push(first.to_ascii_uppercase());
                written.push_str(&part[first.len_utf8()..]);
            }
            _ => written.push_str(part),
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::{PENDING, functions};

    #[test]
    fn forms_are_of_functions_that_there_are() {
        for form in FORMS {
            let known = functions().any(|function| function.name == form.of) || PENDING.contains(&form.of);
            assert!(known, "{}", form.of);
        }
    }

    #[test]
    fn names_follow_by_rule() {
        assert_eq!(camel_case("storage_write"), "storageWrite");
        assert_eq!(camel_case("leaderboard_records_list_cursor_from_rank"), "leaderboardRecordsListCursorFromRank");
        assert_eq!(camel_case("time"), "time");
    }

    #[test]
    fn orders_name_each_argument_once() {
        for form in FORMS.iter().filter(|form| !form.order.is_empty()) {
            let function = functions().find(|function| function.name == form.of).unwrap();
            let mut order = form.order.to_vec();
            order.sort_unstable();
            assert_eq!(order, (0..function.parameters.len()).collect::<Vec<_>>(), "{}", form.of);
        }
    }
}
