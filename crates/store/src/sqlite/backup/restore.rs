//! Puts a backup in place. What was there before is put aside and never overwritten, and a restore that fails is
//! undone.
//!
//! The backup's files are first copied into a folder of their own. Then the old files are moved to the folder in which
//! they are kept, and the new ones to their places.

use std::collections::{BTreeMap, BTreeSet};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::{Manifest, copy_synced, folder_of, lock, private_folder, space, sync, verify, with_suffix};
use crate::OpenError;

/// Folder of the backup's files until all are copied.
const COPYING: &str = "restoring.unfinished";

/// Folder of the backup's files while they and the old files are moved. If the restore ends here, neither the old files
/// nor the new ones are all in their places.
const MOVING: &str = "restoring";

/// Folder into which old files are put aside; further ones have numbers.
const ASIDE: &str = "before-restore";

/// A backup that was put in place.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Restored {
    /// The contents of the backup.
    pub manifest: Manifest,
    /// The folders that hold the files that were there before.
    pub aside: Vec<PathBuf>,
}

/// A rename of a file or folder.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Move {
    from: PathBuf,
    to: PathBuf,
}

/// Puts a backup in place: its database at `path`, all else into `data_dir`. `folders` are folders of `data_dir` that
/// belong to the database and must not stay beside another one, even if the backup has none. With `force` existing
/// files are put aside.
///
/// # Errors
/// When the backup is damaged, when a server uses the database, when files exist and `force` is `false`, and when there
/// is not enough space or a file cannot be written. Everything is as before then.
pub fn restore(
    backup: &Path,
    path: &Path,
    data_dir: &Path,
    folders: &[&str],
    force: bool,
) -> Result<Restored, OpenError> {
    let manifest = verify(backup)?;
    let _lock = lock(path)?;
    private_folder(data_dir).map_err(OpenError::because(format!("cannot create {}", data_dir.display())))?;
    let places = Places { path, data_dir };
    let old = old_files(&manifest, &places, folders);
    if let Some(present) = old.first()
        && !force
    {
        return Err(OpenError::new(format!(
            "{} exists: restore into an empty folder, or say --force to replace it",
            present.display()
        )));
    }
    check_space(&manifest, &places)?;
    let unfinished = Unfinished(places.roots());
    unfinished.remove();
    for name in manifest.files.keys() {
        let (root, inner) = places.of(name, &manifest);
        let copy = root.join(COPYING).join(inner);
        private_folder(folder_of(&copy)).map_err(OpenError::because(format!("cannot write {}", copy.display())))?;
        copy_synced(&backup.join(name), &copy)?;
    }
    let mut aside = Vec::new();
    let mut moves = Vec::new();
    for root in places.roots() {
        let olds: Vec<&PathBuf> = old.iter().filter(|file| folder_of(file) == root).collect();
        if !olds.is_empty() {
            let kept = new_aside(root)?;
            moves.extend(
                olds.into_iter()
                    .map(|file| Move { from: file.clone(), to: kept.join(file.file_name().unwrap_or_default()) }),
            );
            aside.push(kept);
        }
    }
    let tops: BTreeSet<(&Path, PathBuf)> = manifest.files.keys().map(|name| places.top(name, &manifest)).collect();
    moves.extend(tops.iter().map(|(root, top)| Move { from: root.join(MOVING).join(top), to: root.join(top) }));
    let moved = unfinished
        .begin_moving()
        .and_then(|()| move_all(&moves))
        .and_then(|()| places.roots().into_iter().chain(aside.iter().map(PathBuf::as_path)).try_for_each(sync));
    if let Err(error) = moved {
        // The folders are empty again.
        aside.iter().for_each(|folder| drop(std::fs::remove_dir(folder)));
        return Err(error);
    }
    Ok(Restored { manifest, aside })
}

/// Checks that no restore was interrupted while it moved files of a data folder.
///
/// # Errors
/// A sentence that says what to do.
pub fn check_not_interrupted(path: &Path, data_dir: &Path) -> Result<(), OpenError> {
    for root in [folder_of(path), data_dir] {
        let moving = root.join(MOVING);
        if moving.exists() {
            return Err(OpenError::new(format!(
                "a restore was interrupted: its files are in {} and the old ones in the latest folder {ASIDE} beside \
                 it. Run `muster restore` again with --force; or move the old files back, and remove the folder \
                 {MOVING}",
                moving.display()
            )));
        }
    }
    Ok(())
}

/// The places of the files of a backup.
struct Places<'a> {
    path: &'a Path,
    data_dir: &'a Path,
}

impl<'a> Places<'a> {
    /// The folders in which files are moved: that of the database, and the data folder if it is another.
    fn roots(&self) -> Vec<&'a Path> {
        let database = folder_of(self.path);
        if database == self.data_dir { vec![database] } else { vec![database, self.data_dir] }
    }

    /// The place of a file of a backup: one of the roots, and the path in it.
    fn of(&self, name: &str, manifest: &Manifest) -> (&'a Path, PathBuf) {
        if name == manifest.database {
            let name = self.path.file_name().unwrap_or_default();
            return (folder_of(self.path), PathBuf::from(name));
        }
        // The roots may be one folder that is written in two ways.
        (self.data_dir, PathBuf::from(name))
    }

    /// The file or folder at the top of a root that holds a file of a backup.
    fn top(&self, name: &str, manifest: &Manifest) -> (&'a Path, PathBuf) {
        let (root, inner) = self.of(name, manifest);
        let top = inner.components().next().map(|part| PathBuf::from(part.as_os_str())).unwrap_or_default();
        (root, top)
    }
}

/// The files and folders that a backup replaces. The log of the old database goes first: the database without its log
/// is still a whole database, and the log would damage another one.
fn old_files(manifest: &Manifest, places: &Places<'_>, folders: &[&str]) -> Vec<PathBuf> {
    let database = ["-wal", "-shm", ""].map(|suffix| with_suffix(places.path, suffix));
    let names = manifest.files.keys().filter(|name| **name != manifest.database);
    let tops = names.map(|name| places.top(name, manifest).1);
    let others: BTreeSet<PathBuf> = tops.chain(folders.iter().map(PathBuf::from)).collect();
    let others = others.into_iter().map(|name| places.data_dir.join(name));
    database.into_iter().chain(others).filter(|file| file.exists()).collect()
}

fn check_space(manifest: &Manifest, places: &Places<'_>) -> Result<(), OpenError> {
    let mut needed: BTreeMap<&Path, u64> = BTreeMap::new();
    for (name, file) in &manifest.files {
        *needed.entry(places.of(name, manifest).0).or_default() += file.bytes;
    }
    needed.into_iter().try_for_each(|(root, bytes)| space::check(root, bytes))
}

/// The copies of a backup's files in these folders. They are removed in the end.
struct Unfinished<'a>(Vec<&'a Path>);

impl Unfinished<'_> {
    fn remove(&self) {
        for root in &self.0 {
            for name in [COPYING, MOVING] {
                let _ = std::fs::remove_dir_all(root.join(name));
            }
        }
    }

    /// Notes on the disk that files are being moved.
    fn begin_moving(&self) -> Result<(), OpenError> {
        for root in &self.0 {
            let (copying, moving) = (root.join(COPYING), root.join(MOVING));
            if copying.exists() {
                rename(&copying, &moving)?;
            }
            sync(root)?;
        }
        Ok(())
    }
}

impl Drop for Unfinished<'_> {
    fn drop(&mut self) {
        self.remove();
        self.0.iter().for_each(|root| drop(sync(root)));
    }
}

/// Makes a new folder for old files.
fn new_aside(root: &Path) -> Result<PathBuf, OpenError> {
    let names = std::iter::once(ASIDE.to_owned()).chain((2..).map(|number: u64| format!("{ASIDE}-{number}")));
    for folder in names.map(|name| root.join(name)) {
        match std::fs::create_dir(&folder) {
            Ok(()) => return Ok(folder),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => {}
            Err(error) => return Err(OpenError::new(format!("cannot create {}: {error}", folder.display()))),
        }
    }
    Err(OpenError::new(format!("cannot create a folder in {}", root.display())))
}

/// Carries out all moves, in their order. If one fails, those before it are undone.
fn move_all(moves: &[Move]) -> Result<(), OpenError> {
    for (position, each) in moves.iter().enumerate() {
        if let Err(error) = rename(&each.from, &each.to) {
            for done in moves[..position].iter().rev() {
                rename(&done.to, &done.from)?;
            }
            return Err(error);
        }
    }
    Ok(())
}

fn rename(from: &Path, to: &Path) -> Result<(), OpenError> {
    std::fs::rename(from, to).map_err(OpenError::because(format!(
        "cannot rename {} to {}",
        from.display(),
        to.display()
    )))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::suite::fixture::Folder;

    #[test]
    fn moves_are_undone_when_one_fails() {
        let folder = Folder::new();
        let at = |name: &str| folder.0.join(name);
        for name in ["old", "new"] {
            std::fs::write(at(name), name).unwrap();
        }
        let moves = [("old", "kept"), ("new", "old"), ("missing", "other")];
        let moves = moves.map(|(from, to)| Move { from: at(from), to: at(to) });
        let failed = move_all(&moves).unwrap_err().0;
        assert!(failed.contains("cannot rename") && failed.contains("missing"), "{failed}");
        for name in ["old", "new"] {
            assert_eq!(std::fs::read_to_string(at(name)).unwrap(), name);
        }
        assert!(!at("kept").exists());
        move_all(&moves[..2]).unwrap();
        assert_eq!(std::fs::read_to_string(at("old")).unwrap(), "new");
    }

    #[test]
    fn old_files_get_a_folder_of_their_own_each_time() {
        let folder = Folder::new();
        let names: Vec<PathBuf> = (0..3).map(|_| new_aside(&folder.0).unwrap()).collect();
        assert_eq!(names, ["before-restore", "before-restore-2", "before-restore-3"].map(|name| folder.0.join(name)));
    }
}
