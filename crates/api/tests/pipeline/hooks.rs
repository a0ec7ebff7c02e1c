//! Game code around operations, played by Rust.

use std::cell::RefCell;
use std::rc::Rc;

use muster_api::Context;
use muster_api::hooks::{HookFuture, Hooks};
use muster_domain::{Error, ErrorKind};
use muster_wire::operations::Operation;

use crate::world::{SERVER_KEY, Setup, World};

/// Answers before an operation what it was told to, and writes down what it saw.
struct Recorded {
    before: Result<Option<&'static str>, Error>,
    seen: RefCell<Vec<String>>,
}

impl Recorded {
    fn see(&self, what: &str, operation: Operation, text: &[u8]) {
        self.seen.borrow_mut().push(format!("{what} {} {}", operation.name(), String::from_utf8_lossy(text)));
    }
}

impl Hooks for Recorded {
    fn has_before(&self, operation: Operation) -> bool {
        operation == Operation::AuthenticateDevice
    }

    fn has_after(&self, operation: Operation) -> bool {
        operation == Operation::AuthenticateDevice
    }

    fn before<'a>(
        &'a self,
        context: &'a Context<'_>,
        operation: Operation,
        request: Vec<u8>,
    ) -> HookFuture<'a, Option<Vec<u8>>> {
        assert_eq!(context.trace_id(), context.trace_id(), "one per request");
        self.see("before", operation, &request);
        let answer = self.before.clone().map(|text| text.map(|text| text.as_bytes().to_vec()));
        Box::pin(std::future::ready(answer))
    }

    fn after<'a>(
        &'a self,
        _context: &'a Context<'_>,
        operation: Operation,
        request: Vec<u8>,
        _response: Vec<u8>,
    ) -> HookFuture<'a, ()> {
        self.see("after", operation, &request);
        Box::pin(std::future::ready(Err(Error::invalid("what comes after changes nothing"))))
    }
}

fn world(before: Result<Option<&'static str>, Error>) -> (World, Rc<Recorded>) {
    let hooks = Rc::new(Recorded { before, seen: RefCell::default() });
    (World::with(Setup { hooks: hooks.clone(), ..Setup::default() }), hooks)
}

const REQUEST: (&str, &str, &str, &str) =
    ("POST", "/v2/account/authenticate/device", SERVER_KEY, r#"{"id":"0123456789"}"#);

#[test]
fn a_hook_sees_and_changes_the_request() {
    let (world, hooks) = world(Ok(Some(r#"{"account":{"id":"9876543210"},"username":"changed"}"#)));
    assert_eq!(world.device("0123456789").claims()["usn"], "changed");
    assert_eq!(
        *hooks.seen.borrow(),
        [
            r#"before AuthenticateDevice {"account":{"id":"0123456789"}}"#,
            r#"after AuthenticateDevice {"account":{"id":"9876543210"},"username":"changed"}"#,
        ]
    );
}

#[test]
fn a_hook_switches_an_operation_off() {
    let (world, hooks) = world(Ok(None));
    world.refused(REQUEST, (404, 5, "AuthenticateDevice is switched off."));
    assert_eq!(hooks.seen.borrow().len(), 1, "nothing ran after it");
}

#[test]
fn a_hooks_refusal_is_the_answer() {
    let (world, _) = world(Err(Error::new(ErrorKind::ResourceExhausted, "come back tomorrow")));
    world.refused(REQUEST, (429, 8, "come back tomorrow"));
}

#[test]
fn a_hook_that_answers_nonsense_is_the_servers_fault() {
    let (world, _) = world(Ok(Some("nonsense")));
    world.refused(REQUEST, (500, 13, "A hook answered with something that is no request."));
}
