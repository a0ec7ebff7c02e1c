//! What a budget costs code that keeps to it: `fib(22)` in a module, as a shard calls it.
//!
//! `cargo run --release -p muster-script --example fib_cost`

use std::time::{Duration, Instant};

use mlua::{Function, Lua, StdLib, VmState};

const FIB: &str = "local function fib(n) if n < 2 then return n end return fib(n - 1) + fib(n - 2) end
    return function() return fib(22) end";

const RUNS: usize = 201;

fn main() -> mlua::Result<()> {
    let quiet = Lua::new_with(StdLib::ALL_SAFE, mlua::LuaOptions::new())?;
    report("no interrupt", &quiet)?;
    let asked = Lua::new_with(StdLib::ALL_SAFE, mlua::LuaOptions::new())?;
    let count = std::cell::Cell::new(0_u32);
    asked.set_interrupt(move |_| {
        count.set(count.get().wrapping_add(1));
        Ok(VmState::Continue)
    });
    report("mlua's interrupt, always", &asked)
}

fn report(name: &str, lua: &Lua) -> mlua::Result<()> {
    let fib: Function = lua.load(FIB).eval()?;
    let mut took: Vec<Duration> = (0..RUNS)
        .map(|_| {
            let started = Instant::now();
            fib.call::<u32>(()).map(|_| started.elapsed())
        })
        .collect::<mlua::Result<_>>()?;
    took.sort_unstable();
    println!("{name}: {:.2} ms", took[RUNS / 2].as_secs_f64() * 1e3);
    Ok(())
}
