//! Ends of instances: calls over a limit, panics that nothing catches, and traps of WebAssembly. After each a new
//! instance starts.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use futures_util::future::join;
use muster_api::game::{ExecutionMode, Invocation};
use muster_api::hooks::{HookSubject, Hooks as _};
use muster_script::{GoFunctions, GoModule, Limits};
use muster_wire::api::UpdateAccountRequest;
use muster_wire::code::Code;

use super::{built, functions, host, limits};
use crate::world::{block_on, call, store};

/// Functions that end their instance: by too much time, by too much memory, by too deep a stack, by a panic in a
/// goroutine, by an exit, and by a trap.
pub const BOMBS: [&str; 6] = ["loop", "hog", "deep", "goroutine", "exit", "trap"];

/// Limits by which a call that uses too much time ends soon.
pub fn quick() -> Limits {
    let time = Duration::from_millis(200);
    Limits { call_time: time, tick_time_max: time, ..limits() }
}

/// The answer of a new instance, once one has started. Until then calls are refused.
async fn answer_of_next(functions: &GoFunctions) -> String {
    loop {
        match call(functions, "count", "").await {
            Ok(answer) => return answer,
            Err((code, told)) => assert_eq!(code, Code::Unavailable, "{told}"),
        }
        tokio::task::yield_now().await;
    }
}

#[test]
fn what_ends_an_instance_fails_its_calls_and_a_new_one_starts() {
    block_on(async {
        let (functions, metrics) = functions(store(), quick()).await;
        assert_eq!(call(&functions, "count", "").await, Ok("1".to_owned()));
        for (number, kind) in BOMBS.into_iter().enumerate() {
            let (waits, ends) = join(call(&functions, "forever", ""), call(&functions, "bomb", kind)).await;
            assert_eq!(ends.unwrap_err().0, Code::Unavailable, "{kind}");
            assert_eq!(waits.unwrap_err().0, Code::Unavailable, "{kind}");
            assert_eq!(answer_of_next(&functions).await, "1", "variables begin anew");
            assert_eq!(metrics.instances_ended.load(Ordering::Relaxed), number as u64 + 1);
        }
        // A stack that grows without end may also use up the call's time.
        assert!(metrics.over_time.load(Ordering::Relaxed) >= 1);
        assert!(metrics.over_memory.load(Ordering::Relaxed) >= 1);
    });
}

#[test]
fn calls_within_calls_may_go_deep() {
    block_on(async {
        let (functions, metrics) = functions(store(), limits()).await;
        let depth = 8_000;
        let lists = "[".repeat(depth) + &"]".repeat(depth);
        assert_eq!(call(&functions, "nested", &lists).await, Ok(depth.to_string()));
        assert_eq!(metrics.instances_ended.load(Ordering::Relaxed), 0);
    });
}

#[test]
fn a_call_that_ends_its_goroutine_fails_alone() {
    block_on(async {
        let (functions, metrics) = functions(store(), limits()).await;
        assert_eq!(call(&functions, "count", "").await, Ok("1".to_owned()));
        let (code, told) = call(&functions, "leave", "").await.unwrap_err();
        assert_eq!((code, &*told), (Code::Internal, "the function ended its goroutine"));
        assert_eq!(call(&functions, "count", "").await, Ok("2".to_owned()));
        assert_eq!(metrics.instances_ended.load(Ordering::Relaxed), 0);
    });
}

#[test]
fn a_hook_fails_with_its_instance() {
    let subject = HookSubject::operations().find(|subject| subject.name() == "UpdateAccount").unwrap();
    for kind in BOMBS {
        block_on(async {
            let (functions, _) = functions(store(), quick()).await;
            let request = UpdateAccountRequest { display_name: Some(format!("bomb {kind}")), ..Default::default() };
            let invocation = Invocation { mode: ExecutionMode::Before, ..Invocation::default() };
            let refused = functions.before(subject, invocation, Some(&request)).await.unwrap_err();
            assert_eq!(refused.code, Code::Unavailable, "{kind}");
            assert_eq!(answer_of_next(&functions).await, "1", "{kind}");
        });
    }
}

#[test]
fn what_ends_while_it_loads_is_an_error() {
    for kind in BOMBS {
        let mut host = host(store());
        let facts = &mut Arc::get_mut(&mut std::rc::Rc::get_mut(&mut host).unwrap().process).unwrap().facts;
        facts.env = Arc::from([("BOMB".to_owned(), kind.to_owned())]);
        let load = Limits { load_time: Duration::from_millis(500), ..limits() };
        let told = block_on(GoModule::load(built(), &host, &load)).err().unwrap().to_string();
        assert!(told.starts_with("game.wasm: the module ended before it was loaded: "), "{kind}: {told}");
    }
}
