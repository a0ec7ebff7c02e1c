//! Lines of source of game code, for developers who read the log.

use std::fs::File;
use std::io::{BufRead as _, BufReader};
use std::path::{Component, Path};

/// Limit on the bytes of a line that is shown.
const LINE_BYTES_MAX: usize = 240;

/// Endings of files that hold source.
const ENDINGS: [&str; 5] = ["lua", "js", "mjs", "ts", "mts"];

/// The file and the line that a word of a trace names, such as `game.lua:3:` or `game.js:3:14`.
pub(super) fn place_of(word: &str) -> Option<(&str, usize)> {
    let (file, rest) = word.split_once(':')?;
    let line = rest.split(':').next()?.parse().ok().filter(|line| *line > 0)?;
    let ending = Path::new(file).extension()?.to_str()?;
    ENDINGS.contains(&ending).then_some((file, line))
}

/// A line of a file in the folder of modules, without the space around it. `None` if there is none.
pub(super) fn read_line(folder: &Path, file: &str, line: usize) -> Option<String> {
    let file = Path::new(file);
    if !file.components().all(|part| matches!(part, Component::Normal(_))) {
        return None;
    }
    let lines = BufReader::new(File::open(folder.join(file)).ok()?).lines();
    let text = lines.map_while(Result::ok).nth(line - 1)?;
    let text = text.trim();
    Some(text[..text.floor_char_boundary(LINE_BYTES_MAX)].to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_in_traces_are_found() {
        for (word, expect) in [
            ("game.lua:3:", Some(("game.lua", 3))),
            ("sub/game.ts:12:7", Some(("sub/game.ts", 12))),
            ("<input>:1:2", None),
            ("[C]:", None),
            ("boom:3", None),
            ("game.lua:x", None),
        ] {
            assert_eq!(place_of(word), expect, "{word}");
        }
    }

    #[test]
    fn files_outside_of_the_folder_are_not_read() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        assert!(read_line(here, "src/lib.rs", 1).is_some_and(|line| line.starts_with("//!")));
        assert_eq!(read_line(here, "../script/src/lib.rs", 1), None);
        assert_eq!(read_line(here, "src/lib.rs", 1_000_000), None);
    }
}
