//! Values that are never printed: a wrapper that hides them from `Debug`, and the masking of addresses.

use std::fmt;

/// A secret text. Neither `Debug` nor any report shows it; only [`Secret::expose`] gives it out.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// The text itself, for the code that signs, compares or connects.
    pub fn expose(&self) -> &str {
        &self.0
    }

    /// True when nothing is set.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl From<String> for Secret {
    fn from(text: String) -> Self {
        Secret(text)
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_empty() { "Secret(none)" } else { "Secret(…)" })
    }
}

/// A database address with its passwords masked, even if it is malformed.
pub(crate) fn mask_address(text: &str) -> String {
    let authority_start = text.find("://").map_or(0, |at| at + 3);
    let (scheme, rest) = text.split_at(authority_start);
    let masked = match rest.rsplit_once('@') {
        Some((user_info, host)) => match user_info.split_once(':') {
            Some((user, _)) => format!("{scheme}{user}:(secret)@{host}"),
            None => text.to_owned(),
        },
        None => text.to_owned(),
    };
    match masked.split_once('?') {
        Some((head, query)) => {
            let parameters: Vec<String> = query.split('&').map(mask_parameter).collect();
            format!("{head}?{}", parameters.join("&"))
        }
        None => masked,
    }
}

/// An address of a server with all that stands before its host masked.
pub(crate) fn mask_login(text: &str) -> String {
    let host_start = text.rfind('@').map_or(0, |at| at + 1);
    let scheme_end = text.find("://").map_or(0, |at| at + 3);
    if host_start <= scheme_end {
        return text.to_owned();
    }
    format!("{}(secret)@{}", &text[..scheme_end], &text[host_start..])
}

fn mask_parameter(parameter: &str) -> String {
    match parameter.split_once('=') {
        Some((name, _)) if name.contains("password") => format!("{name}=(secret)"),
        _ => parameter.to_owned(),
    }
}
