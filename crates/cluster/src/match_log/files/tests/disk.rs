//! A disk in memory for tests. A loss of power destroys unsynced data, in whole or in part; the disk can also be full
//! or broken.

use std::collections::BTreeMap;
use std::io;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard};

use super::super::layer::{Layer, LayerFile};
use crate::match_log::frame::ReadAt;

/// Number of bytes that the disk writes as a unit.
const SECTOR: usize = 64;

/// A handle of a disk; clones share the disk.
#[derive(Clone, Default)]
pub(super) struct Disk(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    files: Vec<Contents>,
    /// Files that exist now, by number.
    names: BTreeMap<u32, usize>,
    /// Files that existed at the last sync of the folder: a crash may bring this state back.
    names_synced: BTreeMap<u32, usize>,
    faults: Faults,
    /// Number of writes and syncs so far.
    pub(super) steps: u64,
}

#[derive(Clone, Default)]
struct Contents {
    now: Vec<u8>,
    synced: Vec<u8>,
}

/// Faults of the disk.
#[derive(Clone, Copy, Default)]
pub(super) struct Faults {
    /// Step from which on every operation fails.
    pub(super) dead_at: Option<u64>,
    /// Limit of the bytes in all files.
    pub(super) bytes_max: Option<usize>,
    /// Syncs of files fail and leave the unsynced bytes in an uncertain state.
    pub(super) has_no_sync: bool,
}

impl Disk {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().expect("no test failed holding it")
    }

    pub(super) fn set(&self, faults: Faults) {
        self.state().faults = faults;
    }

    /// A disk as a loss of power at this moment may leave it.
    pub(super) fn after_crash(&self, chance: &mut fastrand::Rng) -> Self {
        let state = self.state();
        let mut files = Vec::new();
        let mut names = BTreeMap::new();
        let numbers: std::collections::BTreeSet<u32> =
            state.names.keys().chain(state.names_synced.keys()).copied().collect();
        for number in numbers {
            let (now, synced) = (state.names.get(&number), state.names_synced.get(&number));
            let Some(file) = (if chance.bool() { now } else { synced }) else { continue };
            let bytes = torn(&state.files[*file], chance);
            names.insert(number, files.len());
            files.push(Contents { now: bytes.clone(), synced: bytes });
        }
        let names_synced = names.clone();
        Self(Arc::new(Mutex::new(State { files, names, names_synced, ..State::default() })))
    }

    /// Changes the bytes of a file without the log's knowledge.
    pub(super) fn spoil(&self, number: u32, change: impl FnOnce(&mut Vec<u8>)) {
        let mut state = self.state();
        let file = state.names[&number];
        change(&mut state.files[file].now);
    }

    pub(super) fn delete(&self, number: u32) {
        self.state().names.remove(&number);
    }

    pub(super) fn numbers(&self) -> Vec<u32> {
        self.state().names.keys().copied().collect()
    }

    pub(super) fn bytes(&self, number: u32) -> usize {
        let state = self.state();
        state.files[state.names[&number]].now.len()
    }
}

/// The file after a crash: each unsynced sector is there, is missing, or holds other bytes.
fn torn(contents: &Contents, chance: &mut fastrand::Rng) -> Vec<u8> {
    let Contents { now, synced } = contents;
    if now == synced {
        return now.clone();
    }
    let common = now.iter().zip(synced).take_while(|(one, other)| one == other).count();
    let longest = now.len().max(synced.len());
    let mut bytes = synced[..common].to_vec();
    match chance.u8(..5) {
        0 => return synced.clone(),
        1 => return now.clone(),
        2 => bytes.extend_from_slice(&now[common..chance.usize(common..=now.len())]),
        _ => {
            while bytes.len() < longest {
                let end = ((bytes.len() / SECTOR + 1) * SECTOR).min(longest);
                let sector = bytes.len()..end;
                match chance.u8(..6) {
                    0 => bytes.resize(end, 0),
                    1 => bytes.extend(sector.map(|_| chance.u8(..))),
                    2 => break,
                    3 => bytes.extend(sector.map(|at| synced.get(at).copied().unwrap_or(0))),
                    _ => bytes.extend(sector.map(|at| now.get(at).copied().unwrap_or(0))),
                }
            }
        }
    }
    if chance.bool() {
        bytes.extend((0..chance.usize(..200)).map(|_| chance.u8(..)));
    }
    bytes
}

impl State {
    fn step(&mut self) -> io::Result<()> {
        self.steps += 1;
        let is_dead = self.faults.dead_at.is_some_and(|at| self.steps > at);
        if is_dead { Err(io::Error::other("the power is off")) } else { Ok(()) }
    }
}

impl Layer for Disk {
    fn list(&self) -> io::Result<Vec<u32>> {
        Ok(self.state().names.keys().rev().copied().collect())
    }

    fn create(&self, number: u32) -> io::Result<Box<dyn LayerFile>> {
        let mut state = self.state();
        state.step()?;
        state.files.push(Contents::default());
        let file = state.files.len() - 1;
        state.names.insert(number, file);
        Ok(Box::new(DiskFile { disk: self.clone(), file }))
    }

    fn open(&self, number: u32) -> io::Result<Box<dyn LayerFile>> {
        let file = self.state().names.get(&number).copied().ok_or(io::ErrorKind::NotFound)?;
        Ok(Box::new(DiskFile { disk: self.clone(), file }))
    }

    fn remove(&self, number: u32) -> io::Result<()> {
        let mut state = self.state();
        state.step()?;
        state.names.remove(&number).map(|_| ()).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn sync(&self) -> io::Result<()> {
        let mut state = self.state();
        state.step()?;
        state.names_synced = state.names.clone();
        Ok(())
    }

    fn path(&self, number: u32) -> PathBuf {
        self.folder().join(number.to_string())
    }

    fn folder(&self) -> PathBuf {
        PathBuf::from("disk")
    }
}

struct DiskFile {
    disk: Disk,
    file: usize,
}

impl ReadAt for DiskFile {
    fn read_at(&self, bytes: &mut [u8], offset: u64) -> io::Result<usize> {
        self.disk.state().files[self.file].now.read_at(bytes, offset)
    }
}

impl LayerFile for DiskFile {
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.disk.state();
        let died = state.step();
        let room =
            state.faults.bytes_max.map(|most| most.saturating_sub(state.files.iter().map(|f| f.now.len()).sum()));
        let written = room.unwrap_or(usize::MAX).min(bytes.len());
        let offset = usize::try_from(offset).expect("small");
        let now = &mut state.files[self.file].now;
        now.resize(now.len().max(offset + written), 0);
        now[offset..offset + written].copy_from_slice(&bytes[..written]);
        died?;
        if written < bytes.len() { Err(io::ErrorKind::StorageFull.into()) } else { Ok(()) }
    }

    fn cut(&mut self, bytes: u64) -> io::Result<()> {
        let mut state = self.disk.state();
        state.step()?;
        state.files[self.file].now.truncate(usize::try_from(bytes).expect("small"));
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        let mut state = self.disk.state();
        state.step()?;
        if state.faults.has_no_sync {
            return Err(io::Error::other("input/output error"));
        }
        let contents = &mut state.files[self.file];
        contents.synced = contents.now.clone();
        Ok(())
    }
}
