//! A watch on the files of game code. Their times and sizes are compared at intervals, because that works on every file
//! system, including network mounts and mounts of containers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::engines::is_game_code;

/// Name of folders that are not watched. Package managers put files there for compilers and bundlers only.
const FOLDER_LEFT_OUT: &str = "node_modules";

/// Deepest level of folders that is watched; symbolic links may form rings.
const DEPTH_MAX: usize = 32;

/// Files by their paths, with time of change and size.
pub type FolderState = BTreeMap<PathBuf, (Option<SystemTime>, u64)>;

/// A watch that finds out when files have changed and nobody writes to them any more.
#[derive(Debug)]
pub struct FolderWatch {
    /// The files as they were last loaded.
    loaded: FolderState,
    /// The files at the last look, if they differed from the loaded ones.
    changed: Option<FolderState>,
}

impl FolderWatch {
    /// A watch on files that were loaded in this state.
    pub fn new(loaded: FolderState) -> Self {
        Self { loaded, changed: None }
    }

    /// Compares the present files with the loaded ones. Answers whether to load them: they differ from the loaded ones,
    /// and have not changed since the last look.
    pub fn look(&mut self, now: FolderState) -> bool {
        if now == self.loaded {
            self.changed = None;
            return false;
        }
        if self.changed.as_ref() != Some(&now) {
            self.changed = Some(now);
            return false;
        }
        self.changed = None;
        self.loaded = now;
        true
    }
}

/// The files of game code below a folder; none if there is no such folder.
pub fn folder_state(folder: &Path) -> FolderState {
    let mut found = FolderState::new();
    collect(folder, 0, &mut found);
    found
}

fn collect(folder: &Path, depth: usize, found: &mut FolderState) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        // A file may be removed while the folder is read.
        let Ok(about) = std::fs::metadata(&path) else { continue };
        if about.is_dir() {
            if depth < DEPTH_MAX && !path.ends_with(FOLDER_LEFT_OUT) {
                collect(&path, depth + 1, found);
            }
        } else if path.extension().is_some_and(is_game_code) {
            found.insert(path, (about.modified().ok(), about.len()));
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn files(files: &[(&str, u64, u64)]) -> FolderState {
        let at = |seconds: u64| Some(SystemTime::UNIX_EPOCH + Duration::from_secs(seconds));
        files.iter().map(|(name, seconds, size)| (PathBuf::from(name), (at(*seconds), *size))).collect()
    }

    #[test]
    fn what_changed_is_loaded_once_it_has_settled() {
        let mut watch = FolderWatch::new(files(&[("a.lua", 1, 10)]));
        assert!(!watch.look(files(&[("a.lua", 1, 10)])));
        assert!(!watch.look(files(&[("a.lua", 2, 4)])), "a file that changes may be half written");
        assert!(!watch.look(files(&[("a.lua", 2, 12)])), "the file went on changing");
        assert!(watch.look(files(&[("a.lua", 2, 12)])));
        assert!(!watch.look(files(&[("a.lua", 2, 12)])), "a change is loaded once");
        assert!(!watch.look(files(&[("a.lua", 2, 12), ("b.lua", 3, 1)])));
        assert!(!watch.look(files(&[("a.lua", 2, 12)])), "a file that came and went leaves no change");
        assert!(!watch.look(files(&[])));
        assert!(watch.look(files(&[])), "the loss of all files is a change too");
    }

    #[test]
    fn files_of_game_code_are_found_in_all_folders() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(folder.path().join("x/y")).unwrap();
        std::fs::create_dir(folder.path().join("node_modules")).unwrap();
        for (name, text) in
            [("x/y/a.lua", "1234"), ("b.js", ""), ("c.txt", ""), ("x/d.ts", "1"), ("node_modules/e.js", "")]
        {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let found = folder_state(folder.path());
        let names: Vec<_> = found.keys().map(|path| path.strip_prefix(folder.path()).unwrap()).collect();
        assert_eq!(names, [Path::new("b.js"), Path::new("x/d.ts"), Path::new("x/y/a.lua")]);
        assert_eq!(found.values().map(|(_, size)| *size).collect::<Vec<_>>(), [0, 1, 4]);
        assert_eq!(folder_state(&folder.path().join("nowhere")), FolderState::new());
    }
}
