//! Tests of `crates/server/split-symbols.sh`, which puts the symbols of the server's release beside it.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::repository;

/// A folder that is removed when the test ends.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("muster-symbols-{}-{name}", std::process::id()));
        std::fs::create_dir_all(path.join("release/deps")).expect("a temporary folder");
        std::fs::create_dir_all(path.join("dist/deps")).expect("a temporary folder");
        std::fs::create_dir_all(path.join("debug/deps")).expect("a temporary folder");
        Self(path)
    }

    /// Links a program with debug information to `program`. Answers its length in bytes.
    fn link(&self, program: &str) -> u64 {
        let (source, program) = (self.0.join("program.c"), self.0.join(program));
        std::fs::write(&source, "int main(void) { return 0; }\n").expect("a source");
        let mut linker = Command::new(repository::root().join("crates/server/split-symbols.sh"));
        let status = linker.args(["cc", "-g"]).arg(&source).arg("-o").arg(&program).status().expect("a linker");
        assert!(status.success());
        assert!(Command::new(&program).status().expect("a program").success(), "it runs");
        std::fs::metadata(&program).expect("a program").len()
    }

    fn has(&self, file: &str) -> bool {
        self.0.join(file).exists()
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Whether a file holds these bytes.
fn holds(file: &Path, bytes: &[u8]) -> bool {
    std::fs::read(file).expect("a file").windows(bytes.len()).any(|window| window == bytes)
}

#[test]
fn symbols_of_the_release_lie_beside_it() {
    for profile in ["release", "dist"] {
        let folder = Folder::new(profile);
        let whole = folder.link(&format!("{profile}/deps/other-1"));
        let symbols = format!("{profile}/muster.debug");
        assert!(!folder.has(&symbols), "only the server's program is split");
        let name = format!("{profile}/deps/muster-1");
        let split = folder.link(&name);
        assert!(folder.has(&symbols) && split < whole, "{split} of {whole} bytes are left");
        let program = folder.0.join(name);
        assert!(holds(&program, b"muster.debug"), "the program names the file of its symbols");
        assert!(!holds(&program, b"program.c") && holds(&folder.0.join(symbols), b"program.c"));
    }
}

#[test]
fn other_builds_keep_their_symbols() {
    let folder = Folder::new("debug");
    folder.link("debug/deps/muster-1");
    assert!(!folder.has("debug/muster.debug"));
    assert!(holds(&folder.0.join("debug/deps/muster-1"), b"program.c"));
}
