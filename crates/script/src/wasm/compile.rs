//! Compiles a file of WebAssembly. Compiling takes seconds, so compiled modules are kept in a folder of the server's
//! own, and taken from there when the same file is compiled again.

use std::fs;
use std::hash::{Hash, Hasher};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sha2::{Digest as _, Sha256};
use wasmtime::{Config, Engine, InstancePre, Module, OptLevel, RegallocAlgorithm};

use super::instance::InstanceState;
use super::wasi::linked;

/// Limit on the compiled modules that are kept; these are the ones that were used last.
const KEPT_MAX: usize = 4;

/// Limit on the native stack of compiled code, of which each call within a call takes some hundred bytes. Go programs
/// expect stacks that grow: a pattern of `regexp` alone may need more than wasmtime's 512 KiB.
pub(super) const CODE_STACK_BYTES: usize = 64 << 20;

/// Compiles a module, or takes the kept result of an earlier compilation.
///
/// # Errors
/// A sentence that says so, for a file that is no module, and for a module with imports that the host does not have.
pub(super) fn compile(bytes: &[u8], folder: Option<&Path>) -> Result<InstancePre<InstanceState>, String> {
    let failed = |error: wasmtime::Error| format!("{error:#}");
    let mut config = Config::new();
    config.epoch_interruption(true);
    config.max_wasm_stack(CODE_STACK_BYTES);
    // No code runs on these stacks, but the library refuses to have them smaller.
    config.async_stack_size(CODE_STACK_BYTES);
    if cfg!(debug_assertions) {
        // In debug builds the compiler itself is slow, so it is asked for code that need not be fast.
        config.cranelift_opt_level(OptLevel::None);
        config.cranelift_regalloc_algorithm(RegallocAlgorithm::SinglePass);
    }
    let engine = Engine::new(&config).map_err(failed)?;
    let kept = folder.map(|folder| folder.join(name(&engine, bytes)));
    let module = match kept.as_deref().and_then(|path| take(&engine, path)) {
        Some(module) => module,
        None => {
            let module = Module::new(&engine, bytes).map_err(failed)?;
            if let Some(path) = &kept
                && let Err(error) = keep(&module, path)
            {
                tracing::warn!(path = %path.display(), %error, "a compiled module cannot be kept: it is compiled again next time");
            }
            module
        }
    };
    linked(&engine, &module).map_err(failed)
}

/// The name of a compiled module's file: a digest of everything that the compiled code depends on.
fn name(engine: &Engine, bytes: &[u8]) -> String {
    struct Hashed(Sha256);
    impl Hasher for Hashed {
        fn write(&mut self, bytes: &[u8]) {
            self.0.update(bytes);
        }
        fn finish(&self) -> u64 {
            0
        }
    }
    let mut hashed = Hashed(Sha256::new_with_prefix(bytes));
    engine.precompile_compatibility_hash().hash(&mut hashed);
    let digest: String = hashed.0.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("{digest}.bin")
}

#[expect(unsafe_code, reason = "compiled code is run as it is: the folder is the server's own, as its keys are")]
fn take(engine: &Engine, path: &Path) -> Option<Module> {
    let compiled = fs::read(path).ok()?;
    // SAFETY: only `keep` writes to the folder. It writes whole files, named by a digest of their source.
    let module = unsafe { Module::deserialize(engine, compiled) };
    // The library refuses a file of another release of wasmtime, and the module is compiled anew.
    let module = module.ok()?;
    let used = fs::File::options().append(true).open(path).and_then(|file| file.set_modified(SystemTime::now()));
    if let Err(error) = used {
        tracing::debug!(path = %path.display(), %error, "cannot note that a compiled module was used");
    }
    Some(module)
}

fn keep(module: &Module, path: &Path) -> Result<(), String> {
    let failed = |error: std::io::Error| error.to_string();
    let folder = path.parent().ok_or("there is no folder for it")?;
    fs::create_dir_all(folder).map_err(failed)?;
    let compiled = module.serialize().map_err(|error| error.to_string())?;
    // The file has another name until it is complete: a server that dies half-way leaves nothing that is taken for a
    // module.
    let whole = path.with_extension(format!("{}.part", std::process::id()));
    fs::write(&whole, compiled).map_err(failed)?;
    fs::rename(&whole, path).map_err(failed)?;
    forget_old(folder);
    Ok(())
}

/// Removes all compiled modules but the [`KEPT_MAX`] that were used last.
fn forget_old(folder: &Path) {
    let Ok(entries) = fs::read_dir(folder) else { return };
    let used = |path: PathBuf| Some((path.metadata().ok()?.modified().ok()?, path));
    let mut kept: Vec<_> = entries.flatten().filter_map(|entry| used(entry.path())).collect();
    kept.sort();
    for (_, path) in kept.iter().rev().skip(KEPT_MAX) {
        // Another server with the same folder may have removed it already.
        let _ = fs::remove_file(path);
    }
}
