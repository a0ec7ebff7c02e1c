//! The functions that a module may import: as much of WASI as Go's runtime needs, and two functions of the host. There
//! are no files and no sockets: Go gets an error for them.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ring::rand::{SecureRandom as _, SystemRandom};
use wasmtime::{Caller, Engine, ExternType, InstancePre, Linker, Module, Val};

use super::instance::{EndReason, FrameReading, InstanceState};

/// Error numbers of WASI.
const SUCCESS: i32 = 0;
const AGAIN: i32 = 6;
const BAD_FILE: i32 = 8;
const FAULT: i32 = 21;
const INVALID: i32 = 28;
const IO: i32 = 29;

const WASI: &str = "wasi_snapshot_preview1";
const HOST: &str = "muster";

const MONOTONIC: i32 = 1;

/// Layout of WASI's subscriptions and events: sizes, and offsets of fields.
const SUBSCRIPTION_BYTES: usize = 48;
const TAG_AT: usize = 8;
const CLOCK_AT: usize = 16;
const TIMEOUT_AT: usize = 24;
const FLAGS_AT: usize = 40;
const EVENT_BYTES: usize = 32;
const TAG_CLOCK: u8 = 0;
const TAG_READ: u8 = 1;

/// Limit on the subscriptions of one wait; Go's runtime never has more.
const SUBSCRIPTIONS_MAX: usize = 64;

/// Limit on the bytes of a frame from an instance. A frame of all values that may cross in one call is shorter.
const FRAME_BYTES_MAX: usize = 34 << 20;

/// Limit on the bytes of one write of an instance to its output, since the instance cannot be interrupted within a
/// write. It writes the rest with further writes.
const WRITTEN_BYTES_MAX: u32 = 64 << 10;

/// Limit on the parts of one read or write. The instance reads or writes the rest with further calls.
const VECTORS_MAX: u32 = 1_024;

/// Bytes of random numbers after which the instance's time is looked at.
const RANDOM_BYTES: usize = 1 << 20;

/// Links a module with everything that it may import.
///
/// # Errors
/// When the module has other imports.
pub(super) fn linked(engine: &Engine, module: &Module) -> wasmtime::Result<InstancePre<InstanceState>> {
    let mut linker = Linker::new(engine);
    linker.allow_shadowing(true);
    for import in module.imports().filter(|import| import.module() == WASI) {
        if let ExternType::Func(of) = import.ty() {
            linker.func_new(WASI, import.name(), of, absent)?;
        }
    }
    linker.func_wrap(HOST, "send", send)?;
    linker.func_wrap(HOST, "at", |mut caller: Caller<'_, InstanceState>, call: u64| caller.data_mut().at(call))?;
    linker.func_wrap(WASI, "args_sizes_get", |caller: Caller<'_, InstanceState>, count, bytes| {
        sizes(caller, count, bytes, &[])
    })?;
    linker.func_wrap(WASI, "args_get", |_: i32, _: i32| SUCCESS)?;
    linker.func_wrap(WASI, "environ_sizes_get", |caller: Caller<'_, InstanceState>, count, bytes| {
        let environment = environment(&caller);
        sizes(caller, count, bytes, &environment)
    })?;
    linker.func_wrap(WASI, "environ_get", environ_get)?;
    linker.func_wrap(WASI, "clock_time_get", clock_time_get)?;
    linker.func_wrap(WASI, "random_get", random_get)?;
    linker.func_wrap(WASI, "sched_yield", || SUCCESS)?;
    linker
        .func_wrap(WASI, "proc_exit", |status: i32| -> wasmtime::Result<()> { Err(EndReason::Exit(status).into()) })?;
    linker.func_wrap(WASI, "fd_read", fd_read)?;
    linker.func_wrap(WASI, "fd_write", fd_write)?;
    linker.func_wrap(WASI, "fd_fdstat_get", fd_fdstat_get)?;
    linker.func_wrap(WASI, "fd_fdstat_set_flags", |_: i32, _: i32| SUCCESS)?;
    linker.func_wrap(WASI, "poll_oneoff", poll_oneoff)?;
    linker.instantiate_pre(module)
}

/// Stands in for all other functions of WASI, which are about files, folders and sockets, and answers an error.
fn absent(_: Caller<'_, InstanceState>, _: &[Val], results: &mut [Val]) -> wasmtime::Result<()> {
    if let Some(result) = results.first_mut() {
        *result = Val::I32(BAD_FILE);
    }
    Ok(())
}

/// The instance's memory and the host's state.
fn parts<'a>(caller: &'a mut Caller<'_, InstanceState>) -> (&'a mut [u8], &'a mut InstanceState) {
    match caller.data().memory {
        Some(memory) => memory.data_and_store_mut(caller),
        None => (&mut [], caller.data_mut()),
    }
}

/// A range of the memory; `None` if it lies outside.
fn part(memory: &mut [u8], at: u32, length: usize) -> Option<&mut [u8]> {
    memory.get_mut(at as usize..)?.get_mut(..length)
}

fn put(memory: &mut [u8], at: u32, bytes: &[u8]) -> Option<()> {
    part(memory, at, bytes.len()).map(|place| place.copy_from_slice(bytes))
}

fn u32_at(memory: &[u8], at: usize) -> Option<u32> {
    let bytes = memory.get(at..)?.first_chunk()?;
    Some(u32::from_le_bytes(*bytes))
}

fn u64_at(memory: &[u8], at: usize) -> Option<u64> {
    let bytes = memory.get(at..)?.first_chunk()?;
    Some(u64::from_le_bytes(*bytes))
}

/// The answer to an instance: a fault if it named a place outside of its memory.
fn or_fault(done: Option<i32>) -> i32 {
    done.unwrap_or(FAULT)
}

/// Takes a frame from the instance.
fn send(mut caller: Caller<'_, InstanceState>, at: u32, length: u32) -> wasmtime::Result<()> {
    let (memory, state) = parts(&mut caller);
    let frame = part(memory, at, length as usize).filter(|frame| frame.len() <= FRAME_BYTES_MAX);
    let frame = frame.ok_or_else(|| EndReason::Unreadable(format!("a frame of {length} bytes at {at}")))?;
    Ok(state.receive(frame)?)
}

/// Environment variables for Go's runtime. With them the runtime collects garbage when its memory has grown to five
/// times the size after the last collection, and more often when memory is nearly used up.
fn environment(caller: &Caller<'_, InstanceState>) -> Vec<String> {
    vec!["GOGC=400\0".to_owned(), format!("GOMEMLIMIT={}\0", caller.data().bytes_max() / 4 * 3)]
}

fn sizes(mut caller: Caller<'_, InstanceState>, count: u32, bytes: u32, texts: &[String]) -> i32 {
    let (memory, _) = parts(&mut caller);
    let length: usize = texts.iter().map(String::len).sum();
    let done = put(memory, count, &(texts.len() as u32).to_le_bytes());
    or_fault(done.and_then(|()| put(memory, bytes, &(length as u32).to_le_bytes())).map(|()| SUCCESS))
}

fn environ_get(mut caller: Caller<'_, InstanceState>, pointers: u32, mut texts: u32) -> i32 {
    let environment = environment(&caller);
    let (memory, _) = parts(&mut caller);
    for (index, text) in environment.iter().enumerate() {
        let pointer = pointers.saturating_add(4 * index as u32);
        let done = put(memory, pointer, &texts.to_le_bytes()).and_then(|()| put(memory, texts, text.as_bytes()));
        if done.is_none() {
            return FAULT;
        }
        texts = texts.saturating_add(text.len() as u32);
    }
    SUCCESS
}

fn clock_time_get(mut caller: Caller<'_, InstanceState>, clock: i32, _: i64, out: u32) -> i32 {
    let (memory, state) = parts(&mut caller);
    let now = if clock == MONOTONIC { state.started.elapsed() } else { since_1970() };
    // Go takes zero for a missing clock.
    let nanos = (now.as_nanos() as u64).max(1);
    or_fault(put(memory, out, &nanos.to_le_bytes()).map(|()| SUCCESS))
}

fn since_1970() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

fn random_get(mut caller: Caller<'_, InstanceState>, at: u32, length: u32) -> wasmtime::Result<i32> {
    let (memory, state) = parts(&mut caller);
    let Some(place) = part(memory, at, length as usize) else { return Ok(FAULT) };
    for place in place.chunks_mut(RANDOM_BYTES) {
        if SystemRandom::new().fill(place).is_err() {
            return Ok(IO);
        }
        if place.len() == RANDOM_BYTES {
            state.look()?;
        }
    }
    Ok(SUCCESS)
}

/// Reads bytes of frames into the instance's buffers, and never waits.
fn fd_read(mut caller: Caller<'_, InstanceState>, file: i32, vectors: u32, count: u32, read: u32) -> i32 {
    if file != 0 {
        return BAD_FILE;
    }
    let (memory, state) = parts(&mut caller);
    let mut done = 0_u32;
    for index in 0..count.min(VECTORS_MAX) {
        let Some((at, length)) = vector(memory, vectors, index) else { return FAULT };
        let Some(mut place) = part(memory, at, length as usize) else { return FAULT };
        while !place.is_empty() {
            let FrameReading { frame, read } = &mut state.reading;
            if *read == frame.len() {
                match state.calls.mailbox.next() {
                    Some(next) => (*frame, *read) = (next, 0),
                    None => break,
                }
            }
            let length = place.len().min(frame.len() - *read);
            let (filled, rest) = place.split_at_mut(length);
            filled.copy_from_slice(&frame[*read..*read + length]);
            *read += length;
            done += length as u32;
            place = rest;
        }
    }
    if done == 0 {
        return AGAIN;
    }
    or_fault(put(memory, read, &done.to_le_bytes()).map(|()| SUCCESS))
}

fn vector(memory: &[u8], vectors: u32, index: u32) -> Option<(u32, u32)> {
    let at = vectors as usize + 8 * index as usize;
    Some((u32_at(memory, at)?, u32_at(memory, at + 4)?))
}

fn fd_write(mut caller: Caller<'_, InstanceState>, file: i32, vectors: u32, count: u32, written: u32) -> i32 {
    if file != 1 && file != 2 {
        return BAD_FILE;
    }
    let (memory, state) = parts(&mut caller);
    let mut done = 0_u32;
    for index in 0..count.min(VECTORS_MAX) {
        let Some((at, length)) = vector(memory, vectors, index) else { return FAULT };
        let length = length.min(WRITTEN_BYTES_MAX - done);
        let Some(bytes) = part(memory, at, length as usize) else { return FAULT };
        state.log.write(file == 2, bytes);
        done += length;
        if done == WRITTEN_BYTES_MAX {
            break;
        }
    }
    or_fault(put(memory, written, &done.to_le_bytes()).map(|()| SUCCESS))
}

/// Describes standard input, output and error, the only files. Reading from input never waits.
fn fd_fdstat_get(mut caller: Caller<'_, InstanceState>, file: i32, out: u32) -> i32 {
    const STREAM: u8 = 6;
    const NON_BLOCKING: u8 = 4;
    const RIGHTS_AT: usize = 8;
    if !(0..=2).contains(&file) {
        return BAD_FILE;
    }
    let mut about = [0_u8; 24];
    about[0] = STREAM;
    about[2] = if file == 0 { NON_BLOCKING } else { 0 };
    about[RIGHTS_AT..].fill(0xff);
    let (memory, _) = parts(&mut caller);
    or_fault(put(memory, out, &about).map(|()| SUCCESS))
}

/// An event that an instance waits for.
struct Subscription {
    user_data: u64,
    tag: u8,
    /// Moment at which a clock rings; `None` for other events.
    due: Option<Instant>,
}

/// Waits for a frame or the next timer: Go's runtime calls this when no goroutine can run.
fn poll_oneoff(
    mut caller: Caller<'_, InstanceState>,
    subscriptions: u32,
    events: u32,
    count: u32,
    happened: u32,
) -> wasmtime::Result<i32> {
    let (memory, state) = parts(&mut caller);
    if count == 0 || count as usize > SUBSCRIPTIONS_MAX {
        return Ok(INVALID);
    }
    let now = Instant::now();
    let read = |index| subscription(memory, subscriptions as usize + SUBSCRIPTION_BYTES * index, state, now);
    let Some(wanted) = (0..count as usize).map(read).collect::<Option<Vec<_>>>() else { return Ok(FAULT) };
    let is_reading = wanted.iter().any(|wanted| wanted.tag == TAG_READ);
    let is_writing = wanted.iter().any(|wanted| wanted.tag > TAG_READ);
    let until = wanted.iter().filter_map(|wanted| wanted.due).min();
    let has_rest = state.reading.read < state.reading.frame.len();
    let is_ready = is_writing || is_reading && has_rest;
    let may_wait = !is_ready && until.is_none_or(|until| until > now);
    if may_wait {
        state.leave();
    }
    let until = if may_wait { until } else { Some(now) };
    let has_mail = state.calls.mailbox.wait(until).ok_or(EndReason::Closed)?;
    if may_wait {
        state.enter();
    }
    let now = Instant::now();
    let mut done = 0_u32;
    for wanted in wanted {
        let is_ready = match wanted.tag {
            TAG_CLOCK => wanted.due.is_some_and(|due| due <= now),
            TAG_READ => has_mail || has_rest,
            _ => true,
        };
        if !is_ready {
            continue;
        }
        let mut event = [0_u8; EVENT_BYTES];
        event[..8].copy_from_slice(&wanted.user_data.to_le_bytes());
        event[10] = wanted.tag;
        // The number of bytes to read or write: at least one.
        event[16..24].copy_from_slice(&1_u64.to_le_bytes());
        let place = events.checked_add(EVENT_BYTES as u32 * done);
        if place.and_then(|place| put(memory, place, &event)).is_none() {
            return Ok(FAULT);
        }
        done += 1;
    }
    Ok(or_fault(put(memory, happened, &done.to_le_bytes()).map(|()| SUCCESS)))
}

fn subscription(memory: &[u8], at: usize, state: &InstanceState, now: Instant) -> Option<Subscription> {
    let (user_data, tag) = (u64_at(memory, at)?, *memory.get(at + TAG_AT)?);
    let due = if tag == TAG_CLOCK {
        let clock = u32_at(memory, at + CLOCK_AT)? as i32;
        let timeout = Duration::from_nanos(u64_at(memory, at + TIMEOUT_AT)?);
        let is_absolute = memory.get(at + FLAGS_AT)? & 1 != 0;
        let left = match (is_absolute, clock) {
            (false, _) => timeout,
            (true, MONOTONIC) => timeout.saturating_sub(state.started.elapsed()),
            (true, _) => timeout.saturating_sub(since_1970()),
        };
        // Longer waits are cut, so that the moment does not overflow; Go's runtime waits again when it is woken too
        // early.
        const FAR: Duration = Duration::from_secs(86_400);
        Some(now + left.min(FAR))
    } else {
        None
    };
    Some(Subscription { user_data, tag, due })
}
