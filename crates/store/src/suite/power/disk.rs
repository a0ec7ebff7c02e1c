//! A file system layer for SQLite that passes everything on to the real one. It also keeps an image of the bytes that
//! would be on the disk after a power cut: a write is part of the image after a sync, or earlier by chance, as on a
//! real disk.
//!
//! Unsafe because SQLite's layer is a table of C functions, and there is no safe way to offer one.
#![allow(unsafe_code, reason = "SQLite calls a file system layer through C function pointers")]

use std::collections::HashMap;
use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

use rusqlite::ffi;

/// A fault of the disk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    None,
    /// One write in eight finds no space.
    Full,
    /// One sync in four fails.
    SyncFails,
}

/// A layer registered under a name of its own. It is never unregistered, because SQLite may use it until the process
/// ends.
pub(super) struct Disk {
    name: String,
    state: Arc<State>,
}

struct State {
    real: *mut ffi::sqlite3_vfs,
    files: Mutex<HashMap<PathBuf, FileImage>>,
    fault: AtomicU8,
    random: AtomicU64,
}

// SAFETY: every thread may call the real layer, which is SQLite's own. The other fields are behind a lock or are
// atomic.
unsafe impl Send for State {}
unsafe impl Sync for State {}

/// The synced bytes of a file, and the changes since.
#[derive(Clone, Default)]
struct FileImage {
    synced: Vec<u8>,
    pending: Vec<Change>,
}

#[derive(Clone)]
enum Change {
    Write { offset: usize, bytes: Vec<u8> },
    Truncate { len: usize },
}

/// The contents of all files after a power cut.
pub(super) struct Image(Vec<(PathBuf, Vec<u8>)>);

impl FileImage {
    fn apply(&mut self, change: Change) {
        match change {
            Change::Write { offset, bytes } => {
                let end = offset + bytes.len();
                if self.synced.len() < end {
                    self.synced.resize(end, 0);
                }
                self.synced[offset..end].copy_from_slice(&bytes);
            }
            Change::Truncate { len } => self.synced.truncate(len),
        }
    }

    fn sync(&mut self) {
        for change in std::mem::take(&mut self.pending) {
            self.apply(change);
        }
    }
}

impl State {
    fn chance(&self, one_in: u64) -> bool {
        // SplitMix64 over a counter. On one thread its numbers are the same in each run.
        let mut bits = self.random.fetch_add(0x9e37_79b9_7f4a_7c15, Ordering::Relaxed);
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (bits ^ (bits >> 31)).is_multiple_of(one_in)
    }

    fn has(&self, fault: Fault) -> bool {
        self.fault.load(Ordering::Relaxed) == fault as u8
    }
}

impl Disk {
    pub(super) fn new() -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let name = format!("muster-test-{}", COUNT.fetch_add(1, Ordering::Relaxed));
        let c_name = CString::new(name.clone()).unwrap();
        // SAFETY: a null name asks for the default layer, which lives as long as the process.
        let real = unsafe { ffi::sqlite3_vfs_find(std::ptr::null()) };
        let state = Arc::new(State {
            real,
            files: Mutex::default(),
            fault: AtomicU8::new(Fault::None as u8),
            random: AtomicU64::new(1),
        });
        // SAFETY: `real` is valid, and the copy with its name and state is never freed, as SQLite demands. The
        // functions of the real layer that need its `pAppData` are replaced, because the copy's `pAppData` is our
        // state.
        unsafe {
            let mut vfs = *real;
            vfs.iVersion = 1;
            vfs.pNext = std::ptr::null_mut();
            vfs.zName = c_name.into_raw();
            vfs.szOsFile = c_int::try_from(size_of::<ShimFile>()).unwrap() + (*real).szOsFile;
            vfs.pAppData = Arc::into_raw(Arc::clone(&state)).cast_mut().cast();
            vfs.xOpen = Some(open);
            vfs.xDelete = Some(delete);
            vfs.xAccess = Some(access);
            vfs.xFullPathname = Some(full_pathname);
            assert_eq!(ffi::sqlite3_vfs_register(Box::into_raw(Box::new(vfs)), 0), ffi::SQLITE_OK);
        }
        Self { name, state }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    pub(super) fn fail(&self, fault: Fault) {
        self.state.fault.store(fault as u8, Ordering::Relaxed);
    }

    /// The image of all files if the power failed now: all synced bytes, and a random part of the later changes.
    pub(super) fn after_power_cut(&self) -> Image {
        let files = self.state.files.lock().unwrap();
        let cut = |image: &FileImage| {
            let mut image = image.clone();
            for change in std::mem::take(&mut image.pending) {
                if self.state.chance(3) {
                    image.apply(change);
                }
            }
            image.synced
        };
        Image(files.iter().map(|(path, image)| (path.clone(), cut(image))).collect())
    }
}

impl Image {
    /// Writes the image's files to the new folder `to`. In the image they are in the folder `from`.
    pub(super) fn write_to(&self, from: &Path, to: &Path) {
        std::fs::create_dir(to).unwrap();
        for (path, bytes) in &self.0 {
            std::fs::write(to.join(path.strip_prefix(from).unwrap()), bytes).unwrap();
        }
    }
}

/// An open file: first SQLite's part, then ours. The real layer's part follows in the same allocation.
#[repr(C)]
struct ShimFile {
    base: ffi::sqlite3_file,
    open: *mut Open,
}

struct Open {
    state: Arc<State>,
    /// The path in the image; `None` for temporary files, which are not part of it.
    path: Option<PathBuf>,
}

/// The real layer's file.
///
/// SAFETY: [`open`] must have opened `file`; the real file lies right behind ours, where `szOsFile` reserved space for
/// it.
unsafe fn real(file: *mut ffi::sqlite3_file) -> *mut ffi::sqlite3_file {
    unsafe { file.cast::<ShimFile>().add(1).cast() }
}

/// Runs `change` on the image of a file, if it has one.
///
/// SAFETY: the same condition as for [`real`].
unsafe fn with_image(file: *mut ffi::sqlite3_file, change: impl FnOnce(&mut FileImage)) {
    let open = unsafe { &*(*file.cast::<ShimFile>()).open };
    if let Some(path) = &open.path {
        change(open.state.files.lock().unwrap().entry(path.clone()).or_default());
    }
}

/// The state of a layer.
///
/// SAFETY: [`Disk::new`] must have registered `vfs`.
unsafe fn state<'a>(vfs: *mut ffi::sqlite3_vfs) -> &'a State {
    unsafe { &*(*vfs).pAppData.cast::<State>() }
}

// SAFETY of all functions below: SQLite calls them with the layers and files described above, and with buffers of the
// stated lengths.

unsafe extern "C" fn open(
    vfs: *mut ffi::sqlite3_vfs,
    name: ffi::sqlite3_filename,
    file: *mut ffi::sqlite3_file,
    flags: c_int,
    out_flags: *mut c_int,
) -> c_int {
    unsafe {
        (*file).pMethods = std::ptr::null();
        let state_pointer = (*vfs).pAppData.cast::<State>().cast_const();
        let real_vfs = state(vfs).real;
        let code = ((*real_vfs).xOpen.unwrap())(real_vfs, name, real(file), flags, out_flags);
        if code != ffi::SQLITE_OK {
            return code;
        }
        Arc::increment_strong_count(state_pointer);
        let path = (!name.is_null()).then(|| PathBuf::from(CStr::from_ptr(name).to_str().unwrap()));
        if let Some(path) = &path {
            state(vfs).files.lock().unwrap().entry(path.clone()).or_default();
        }
        (*file.cast::<ShimFile>()).open = Box::into_raw(Box::new(Open { state: Arc::from_raw(state_pointer), path }));
        (*file).pMethods = &METHODS;
        code
    }
}

unsafe extern "C" fn delete(vfs: *mut ffi::sqlite3_vfs, name: *const c_char, sync: c_int) -> c_int {
    unsafe {
        state(vfs).files.lock().unwrap().remove(Path::new(CStr::from_ptr(name).to_str().unwrap()));
        let real = state(vfs).real;
        ((*real).xDelete.unwrap())(real, name, sync)
    }
}

unsafe extern "C" fn access(vfs: *mut ffi::sqlite3_vfs, name: *const c_char, flags: c_int, out: *mut c_int) -> c_int {
    unsafe {
        let real = state(vfs).real;
        ((*real).xAccess.unwrap())(real, name, flags, out)
    }
}

unsafe extern "C" fn full_pathname(
    vfs: *mut ffi::sqlite3_vfs,
    name: *const c_char,
    len: c_int,
    out: *mut c_char,
) -> c_int {
    unsafe {
        let real = state(vfs).real;
        ((*real).xFullPathname.unwrap())(real, name, len, out)
    }
}

unsafe extern "C" fn close(file: *mut ffi::sqlite3_file) -> c_int {
    unsafe {
        drop(Box::from_raw((*file.cast::<ShimFile>()).open));
        ((*(*real(file)).pMethods).xClose.unwrap())(real(file))
    }
}

unsafe extern "C" fn write(file: *mut ffi::sqlite3_file, from: *const c_void, len: c_int, offset: i64) -> c_int {
    unsafe {
        let state = &(*(*file.cast::<ShimFile>()).open).state;
        if state.has(Fault::Full) && state.chance(8) {
            return ffi::SQLITE_FULL;
        }
        let code = ((*(*real(file)).pMethods).xWrite.unwrap())(real(file), from, len, offset);
        if code == ffi::SQLITE_OK {
            let bytes = std::slice::from_raw_parts(from.cast::<u8>(), usize::try_from(len).unwrap()).to_vec();
            let offset = usize::try_from(offset).unwrap();
            with_image(file, |image| image.pending.push(Change::Write { offset, bytes }));
        }
        code
    }
}

unsafe extern "C" fn truncate(file: *mut ffi::sqlite3_file, len: i64) -> c_int {
    unsafe {
        with_image(file, |image| image.pending.push(Change::Truncate { len: usize::try_from(len).unwrap() }));
        ((*(*real(file)).pMethods).xTruncate.unwrap())(real(file), len)
    }
}

unsafe extern "C" fn sync(file: *mut ffi::sqlite3_file, flags: c_int) -> c_int {
    unsafe {
        let state = &(*(*file.cast::<ShimFile>()).open).state;
        if state.has(Fault::SyncFails) && state.chance(4) {
            return ffi::SQLITE_IOERR_FSYNC;
        }
        let code = ((*(*real(file)).pMethods).xSync.unwrap())(real(file), flags);
        if code == ffi::SQLITE_OK {
            with_image(file, FileImage::sync);
        }
        code
    }
}

/// Functions that call the real layer and do nothing else.
macro_rules! passing_on {
    ($($name:ident => $method:ident($($argument:ident: $kind:ty),*) $(-> $answer:ty)?;)*) => {
        $(unsafe extern "C" fn $name(file: *mut ffi::sqlite3_file, $($argument: $kind),*) $(-> $answer)? {
            unsafe { ((*(*real(file)).pMethods).$method.unwrap())(real(file), $($argument),*) }
        })*
    };
}

passing_on! {
    read => xRead(to: *mut c_void, len: c_int, offset: i64) -> c_int;
    file_size => xFileSize(out: *mut i64) -> c_int;
    lock => xLock(level: c_int) -> c_int;
    unlock => xUnlock(level: c_int) -> c_int;
    check_reserved_lock => xCheckReservedLock(out: *mut c_int) -> c_int;
    file_control => xFileControl(operation: c_int, argument: *mut c_void) -> c_int;
    sector_size => xSectorSize() -> c_int;
    device_characteristics => xDeviceCharacteristics() -> c_int;
    shm_map => xShmMap(page: c_int, len: c_int, extend: c_int, out: *mut *mut c_void) -> c_int;
    shm_lock => xShmLock(offset: c_int, count: c_int, flags: c_int) -> c_int;
    shm_barrier => xShmBarrier();
    shm_unmap => xShmUnmap(delete: c_int) -> c_int;
}

static METHODS: ffi::sqlite3_io_methods = ffi::sqlite3_io_methods {
    // Version 3 would offer memory maps, which bypass the image.
    iVersion: 2,
    xClose: Some(close),
    xRead: Some(read),
    xWrite: Some(write),
    xTruncate: Some(truncate),
    xSync: Some(sync),
    xFileSize: Some(file_size),
    xLock: Some(lock),
    xUnlock: Some(unlock),
    xCheckReservedLock: Some(check_reserved_lock),
    xFileControl: Some(file_control),
    xSectorSize: Some(sector_size),
    xDeviceCharacteristics: Some(device_characteristics),
    xShmMap: Some(shm_map),
    xShmLock: Some(shm_lock),
    xShmBarrier: Some(shm_barrier),
    xShmUnmap: Some(shm_unmap),
    xFetch: None,
    xUnfetch: None,
};
