//! The files that are generated from the host table for authors of game code: the reference page, declarations for
//! editors and compilers, and the list from which Go's methods are generated.

mod go;
mod luau;
mod messages;
mod page;
mod payloads;
mod shapes;
mod types;
mod typescript;

pub use go::go;
pub use luau::luau;
pub use page::page;
pub use typescript::typescript;

/// Breaks a comment into lines of at most `width` characters.
fn wrapped(text: &str, width: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split_whitespace() {
        if let Some(line) = lines.last_mut() {
            if !line.is_empty() && line.len() + word.len() >= width {
                lines.push(word.to_owned());
            } else {
                line.push_str(if line.is_empty() { "" } else { " " });
                line.push_str(word);
            }
        }
    }
    lines
}

#[cfg(test)]
mod tests;
