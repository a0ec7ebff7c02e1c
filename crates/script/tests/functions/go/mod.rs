//! Behaviour that studios rely on in Go, tested with the module of `tests/e2e/modules-go`, which the Go tool builds.

mod endings;
mod hostile;
mod matches;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::rc::Rc;
use std::sync::{Arc, OnceLock};

use muster_api::game::{ExecutionMode, GameFunctions as _, Invocation};
use muster_domain::ids::{TokenId, Uuid};
use muster_domain::ports::store::Store;
use muster_domain::sessions::{Claims, Vars};
use muster_script::{GoFunctions, GoModule, Host, Limits, ScriptMetrics};
use muster_wire::code::Code;

use crate::world::{NOW_SEC, block_on, call, host_over, player, store, write_all};

/// The folder with the module, built once in a process.
fn built() -> &'static Path {
    static BUILT: OnceLock<PathBuf> = OnceLock::new();
    BUILT.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/e2e/modules-go");
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("go-{}", std::process::id()));
        let mut go = Command::new("go");
        go.args(["build", "-o"]).arg(folder.join("game.wasm")).arg(".").current_dir(source);
        let status = go.env("GOOS", "wasip1").env("GOARCH", "wasm").status();
        assert!(status.is_ok_and(|status| status.success()), "the Go tool builds the module: https://go.dev/dl");
        folder
    })
}

/// A host that keeps the compiled module for the next test.
fn host(store: Rc<dyn Store>) -> Rc<Host> {
    let mut host = host_over(store, built());
    let process = Arc::get_mut(&mut host.process).unwrap();
    process.compiled = Some(Path::new(env!("CARGO_TARGET_TMPDIR")).join("compiled"));
    Rc::new(host)
}

/// The functions of the module. They stay on the thread that made them.
async fn functions(store: Rc<dyn Store>, limits: Limits) -> (GoFunctions, Arc<ScriptMetrics>) {
    let host = host(store);
    let module = GoModule::load(built(), &host, &limits).await.unwrap();
    // The shard and the thread of the instance share these counters.
    let metrics = host.process.metrics.clone();
    (GoFunctions::new(Arc::new(module), host, limits, metrics.clone()), metrics)
}

/// Limits for tests. All calls and matches of a test share one instance.
fn limits() -> Limits {
    Limits { machine_bytes: 256 << 20, matches_per_machine: usize::MAX, ..Limits::default() }
}

#[test]
fn functions_answer_refuse_and_panic() {
    block_on(async {
        let (functions, _) = functions(store(), limits()).await;
        assert_eq!(call(&functions, "echo", "Zo\u{eb}").await, Ok("Zo\u{eb}".to_owned()));
        for (id, code, told) in [
            ("refuse", Code::FailedPrecondition, "no chips"),
            ("broken", Code::Internal, "broken"),
            ("panicking", Code::Internal, "The game's function panicked."),
            ("unbuilt", Code::Unimplemented, "nk.LeaderboardDelete is not available on this server yet."),
        ] {
            assert_eq!(call(&functions, id, "").await, Err((code, told.to_owned())), "{id}");
        }
        assert!(!functions.has("nothing"));
    });
}

#[test]
fn calls_that_wait_let_others_go_on() {
    block_on(async {
        let store = store();
        player(&store, 1, "ann").await;
        let (functions, _) = functions(store, limits()).await;
        let later = (0..50).map(|_| call(&functions, "later", "ann"));
        let (waited, counted) =
            futures_util::future::join(futures_util::future::join_all(later), call(&functions, "count", "")).await;
        assert_eq!(counted, Ok("1".to_owned()));
        assert!(waited.iter().all(|answer| *answer == Ok("1 <nil>".to_owned())), "{waited:?}");
    });
}

#[test]
fn functions_work_with_what_the_server_has() {
    block_on(async {
        let store = store();
        let ann = player(&store, 1, "ann").await;
        let (functions, _) = functions(store.clone(), limits()).await;
        let (token_id, username) = (TokenId(Uuid::nil()), "ann".to_owned());
        let (vars, issued_at_sec, expires_at_sec) = (Vars::default(), NOW_SEC, NOW_SEC + 60);
        let claims = Claims { token_id, user_id: ann, username, vars, issued_at_sec, expires_at_sec };
        let invocation = |payload: &str| Invocation {
            mode: ExecutionMode::Rpc,
            payload: payload.to_owned(),
            user: Some(claims.clone()),
            ..Invocation::default()
        };
        let prize = |day| functions.call("prize", invocation(day));
        assert_eq!(prize("{\"day\":1}").await.unwrap().unwrap(), "{\"gold\":10}");
        assert_eq!(prize("{\"day\":1}").await.unwrap_err().message, "come back tomorrow");
        assert_eq!(prize("{\"day\":2}").await.unwrap().unwrap(), "{\"gold\":20}");
        // Whole numbers of SQL are exact, and there are no transactions.
        assert_eq!(call(&functions, "query", "ann").await, Ok(format!("ann {} true", 1_i64 << 60)));
        let context: serde_json::Value =
            serde_json::from_str(&functions.call("context", invocation("")).await.unwrap().unwrap()).unwrap();
        assert_eq!(
            (&context["user_id"], &context["execution_mode"], &context["env"]["NAME"], &context["match_id"]),
            (&ann.to_string().into(), &"rpc".into(), &"value".into(), &serde_json::Value::Null)
        );
    });
}

#[test]
fn what_is_no_module_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let refused = |files: &[(&str, &str)]| {
        write_all(folder.path(), files);
        block_on(GoModule::load(folder.path(), &host(store()), &limits())).err().unwrap().to_string()
    };
    let told = refused(&[("a.wasm", "no module")]);
    assert!(told.starts_with("a.wasm: "), "{told}");
    assert!(refused(&[("b.wasm", "another")]).contains("muster.Run takes several InitModule"));
    let empty = tempfile::tempdir().unwrap();
    assert!(block_on(GoModule::load(empty.path(), &host(store()), &limits())).unwrap().is_empty());
}
