//! Has the release linked by way of `split-symbols.sh`, which puts the symbols of the program into a file beside it.

use std::env;
use std::process::Command;

const SCRIPT: &str = "split-symbols.sh";

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={SCRIPT}");
    println!("cargo::rerun-if-env-changed=RUSTC_LINKER");
    let variable = |name| env::var(name).unwrap_or_default();
    let is_release = variable("PROFILE") == "release" && variable("CARGO_CFG_TARGET_OS") == "linux";
    let is_for_this_machine = variable("TARGET") == variable("HOST");
    if is_release && is_for_this_machine && is_gcc(&env::var("RUSTC_LINKER").unwrap_or("cc".to_owned())) {
        println!("cargo::rustc-link-arg-bin=muster=-wrapper");
        println!("cargo::rustc-link-arg-bin=muster={}/{SCRIPT}", variable("CARGO_MANIFEST_DIR"));
    }
}

/// Whether a compiler is GCC, the only one that runs its linker by way of another program. With another compiler the
/// program keeps its symbols.
fn is_gcc(compiler: &str) -> bool {
    let told = Command::new(compiler).arg("--version").output();
    told.is_ok_and(|told| String::from_utf8_lossy(&told.stdout).contains("Free Software Foundation"))
}
