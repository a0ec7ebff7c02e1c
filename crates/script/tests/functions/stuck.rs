//! A module that does not come back ends the process, and is not loaded again before its file has changed.

use std::path::Path;
use std::process::Command;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

use muster_domain::ports::clock::Entropy;
use muster_script::process::stuck::{EXIT_STUCK, StuckModules, StuckPolicy};
use muster_script::process::{Clock, Process};
use muster_script::{Host, Limits};

use crate::world::{block_on, call, host_over, load_in, store, write_all};

const FOLDER: &str = "MUSTER_TEST_STUCK_FOLDER";

/// Longer than a thread waits for a core of a busy machine.
const STUCK_AFTER: Duration = Duration::from_secs(2);

/// Never answers.
struct Silent;

impl Entropy for Silent {
    fn fill(&self, _: &mut [u8]) {
        loop {
            std::thread::park();
        }
    }
}

/// A host whose process notes stuck modules beside the folder of its modules.
fn host(folder: &Path) -> Host {
    let noted = folder.join("stuck-modules");
    let host = host_over(store(), folder);
    let mut process = Process::new(host.process.around.clone(), Arc::default(), Arc::default());
    process.stuck = StuckModules::read(&noted).unwrap();
    let policy = StuckPolicy::end_process(STUCK_AFTER, noted, folder.to_owned());
    process.clock = Clock::with(Some(policy));
    Host { process: Arc::new(process), ..host }
}

#[test]
fn a_module_that_does_not_come_back_ends_the_process_and_is_not_loaded_again() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        let folder = Path::new(&folder);
        let functions = load_in(folder, Host { entropy: Rc::new(Silent), ..host(folder) }, Limits::default()).unwrap();
        // One that uses its time answers whenever it is asked, and is none of these.
        block_on(call(&functions, "loop", "")).unwrap_err();
        block_on(call(&functions, "stuck", "")).unwrap();
        unreachable!("it never answers");
    }
    let folder = tempfile::tempdir().unwrap();
    let good = "require('nakama').register_rpc(function() while true do pcall(error) end end, 'loop')";
    let bad = "local nk = require('nakama') nk.register_rpc(function() return nk.uuid_v4() end, 'stuck')";
    write_all(folder.path(), &[("good.lua", good), ("game/bad.lua", bad)]);
    let name = "stuck::a_module_that_does_not_come_back_ends_the_process_and_is_not_loaded_again";
    let mut child = Command::new(std::env::current_exe().unwrap());
    let ended = child.args(["--exact", name]).env(FOLDER, folder.path()).output().unwrap();
    assert_eq!(ended.status.code(), Some(EXIT_STUCK), "{}", String::from_utf8_lossy(&ended.stderr));

    let has = |id: &str| {
        let functions = load_in(folder.path(), host(folder.path()), Limits::default()).unwrap();
        muster_api::game::GameFunctions::has(&functions, id)
    };
    assert!(has("loop") && !has("stuck"));
    write_all(folder.path(), &[("game/bad.lua", &format!("{bad} -- mended"))]);
    assert!(has("loop") && has("stuck"));
}
