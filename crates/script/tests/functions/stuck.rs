//! A module that never returns ends the process, and is not loaded again before its file has changed.

use std::path::Path;
use std::process::Command;
use std::rc::Rc;
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use muster_domain::ports::clock::Entropy;
use muster_script::process::stuck::{EXIT_STUCK, StuckModules, StuckPolicy};
use muster_script::process::{Process, SliceClock};
use muster_script::{Bundle, Host, JsFunctions, Limits, LuaFunctions, Program};

use crate::world::{block_on, call, host_over, load_in, store, write_all};

const FOLDER: &str = "MUSTER_TEST_STUCK_FOLDER";

/// Time after which a module counts as stuck. It is longer than a thread waits for a core of a busy computer.
const STUCK_AFTER: Duration = Duration::from_secs(2);

/// A call that never looks at its budget.
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
    let mut process = Process::new(host.process.facts.clone(), Arc::default(), Arc::default());
    process.stuck = StuckModules::read(&noted).unwrap();
    let policy = StuckPolicy::end_process(STUCK_AFTER, noted);
    process.clock = SliceClock::with(Some(policy));
    Host { process: Arc::new(process), ..host }
}

/// Runs a test in a process of its own, with a folder of modules. Answers the output of the process.
fn run_alone(name: &str, folder: &Path) -> std::process::Output {
    let mut child = Command::new(std::env::current_exe().unwrap());
    let name = format!("stuck::{name}");
    child.args(["--exact", &name]).env(FOLDER, folder).output().unwrap()
}

#[test]
fn a_module_that_does_not_come_back_ends_the_process_and_is_not_loaded_again() {
    if let Some(folder) = std::env::var_os(FOLDER) {
        let folder = Path::new(&folder);
        let functions = load_in(folder, Host { entropy: Rc::new(Silent), ..host(folder) }, Limits::default()).unwrap();
        // A call that uses up its time still looks at its budget, and is not stuck.
        block_on(call(&functions, "loop", "")).unwrap_err();
        block_on(call(&functions, "stuck", "")).unwrap();
        unreachable!("it never answers");
    }
    let folder = tempfile::tempdir().unwrap();
    let good = "require('nakama').register_rpc(function() while true do pcall(error) end end, 'loop')";
    let bad = "local nk = require('nakama') nk.register_rpc(function() return nk.uuid_v4() end, 'stuck')";
    write_all(folder.path(), &[("good.lua", good), ("game/bad.lua", bad)]);
    let name = "a_module_that_does_not_come_back_ends_the_process_and_is_not_loaded_again";
    let ended = run_alone(name, folder.path());
    assert_eq!(ended.status.code(), Some(EXIT_STUCK), "{}", String::from_utf8_lossy(&ended.stderr));

    let has = |id: &str| {
        let functions = load_in(folder.path(), host(folder.path()), Limits::default()).unwrap();
        muster_api::game::GameFunctions::has(&functions, id)
    };
    assert!(has("loop") && !has("stuck"));
    write_all(folder.path(), &[("game/bad.lua", &format!("{bad} -- mended"))]);
    assert!(has("loop") && has("stuck"));
}

/// The functions of the script in a folder.
fn script_in(folder: &Path, limits: Limits) -> JsFunctions {
    let host = Rc::new(host(folder));
    let bundle = block_on(Bundle::load(folder, None, &host, &limits)).unwrap();
    JsFunctions::new(Arc::new(bundle), host, limits, Arc::default())
}

#[test]
fn calls_are_given_up_so_often_and_then_the_process_ends() {
    let limits = Limits { call_time: Duration::from_millis(1), ..Limits::default() };
    if let Some(folder) = std::env::var_os(FOLDER) {
        let functions = script_in(Path::new(&folder), limits);
        loop {
            block_on(call(&functions, "hang", "")).unwrap_err();
            println!("given up");
        }
    }
    let folder = tempfile::tempdir().unwrap();
    let text = "function InitModule(ctx, logger, nk, initializer) {
        initializer.registerRpc('hang', () => { for (;;) new Promise(() => { for (;;) {} }); });
    }";
    write_all(folder.path(), &[("index.js", text), ("other.wasm", "none of its files")]);
    let ended = run_alone("calls_are_given_up_so_often_and_then_the_process_ends", folder.path());
    assert_eq!(ended.status.code(), Some(EXIT_STUCK), "{}", String::from_utf8_lossy(&ended.stderr));
    let has = || muster_api::game::GameFunctions::has(&script_in(folder.path(), limits), "hang");
    assert!(!has());
    write_all(folder.path(), &[("other.wasm", "another")]);
    assert!(!has());
    write_all(folder.path(), &[("index.js", &format!("{text} // mended"))]);
    assert!(has());
}

#[test]
fn what_is_noted_is_the_file_as_it_was_loaded() {
    let (noted, told) = (Arc::new(Mutex::new(Vec::new())), Arc::new(Condvar::new()));
    let (list, bell) = (noted.clone(), told.clone());
    let on_stuck = move |module: &str, digest: Option<&str>| {
        list.lock().unwrap().push((module.to_owned(), digest.map(str::to_owned)));
        bell.notify_all();
    };
    let policy = StuckPolicy { after: Duration::from_millis(20), on_stuck: Box::new(on_stuck) };
    let folder = tempfile::tempdir().unwrap();
    let mut host = host_over(store(), folder.path());
    Arc::get_mut(&mut host.process).unwrap().clock = SliceClock::with(Some(policy));
    let wait = noted.clone();
    let host = Rc::new(Host { entropy: Rc::new(Told(wait, told)), ..host });
    let text = "require('nakama').register_rpc(function() return require('nakama').uuid_v4() end, 'stuck')";
    // The digest is that of the loaded version even if the file has changed since; `None` if two versions were loaded.
    for (number, version) in [(1, text.to_owned()), (2, format!("{text} -- mended"))] {
        write_all(folder.path(), &[("bad.lua", &version)]);
        let program = Arc::new(block_on(Program::load(folder.path(), &host, &Limits::default())).unwrap());
        write_all(folder.path(), &[("bad.lua", "-- no longer it")]);
        let functions = LuaFunctions::new(program, host.clone(), Limits::default(), Arc::default());
        noted.lock().unwrap().clear();
        block_on(call(&functions, "stuck", "")).unwrap();
        let (module, digest) = noted.lock().unwrap()[0].clone();
        let expected = (number == 1).then(|| {
            let digest = ring::digest::digest(&ring::digest::SHA256, version.as_bytes());
            digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect::<String>()
        });
        assert_eq!((module.as_str(), digest), ("bad.lua", expected));
    }
}

/// Stuck modules that the policy was told of, each with its digest.
type Noted = Arc<Mutex<Vec<(String, Option<String>)>>>;

/// Waits until the policy was called.
struct Told(Noted, Arc<Condvar>);

impl Entropy for Told {
    fn fill(&self, bytes: &mut [u8]) {
        let noted = self.0.lock().unwrap();
        drop(self.1.wait_while(noted, |noted| noted.is_empty()).unwrap());
        bytes.fill(1);
    }
}
