//! Calls of functions over a socket: of built-in functions, and of the game's.

use std::rc::Rc;

use muster_domain::{Error, ErrorKind};
use muster_wire::api::Rpc;
use muster_wire::code::RealtimeCode;
use muster_wire::realtime::envelope::Message;
use muster_wire::realtime::{self, Envelope};

use super::{Handled, MessageAnswer, SocketSession, refuse, refuse_input};
use crate::asker::Asker;
use crate::functions;
use crate::game::{ExecutionMode, Invocation};
use crate::http_message::code;

/// The key in the error's context of the code that the same refusal has over HTTP.
pub(super) const CODE_KEY: &str = "code";

pub(super) fn call(session: &Rc<SocketSession>, cid: String, rpc: Rpc) -> Handled {
    let id = rpc.id.to_ascii_lowercase();
    if id.is_empty() {
        return refuse_input(cid, "The id of a function is required.").into();
    }
    if !functions::is_built_in(&id) {
        if session.app.game.has(&id) {
            return call_game(session.clone(), cid, id, rpc);
        }
        let text = "The game has no function of this id.";
        return refuse(cid, RealtimeCode::RuntimeFunctionNotFound, text).into();
    }
    session.pay_for_rooms(&id, rpc.payload.len());
    let session = session.clone();
    Handled::later(async move {
        let asker = Asker::Player(session.caller());
        match functions::call(&session.app, &asker, &id, &rpc.payload).await {
            Ok(payload) => answer(cid, rpc.id, payload),
            Err(error) => refusal(cid, &error),
        }
    })
}

/// Calls a function of the game. All its failures have one realtime code; the socket stays open.
fn call_game(session: Rc<SocketSession>, cid: String, id: String, rpc: Rpc) -> Handled {
    Handled::later(async move {
        let invocation = Invocation { payload: rpc.payload, ..session.invocation(ExecutionMode::Rpc) };
        match session.app.game.call(&id, invocation).await {
            Ok(payload) => answer(cid, rpc.id, payload.unwrap_or_default()),
            Err(failure) => refuse(cid, RealtimeCode::RuntimeFunctionException, failure.message),
        }
    })
}

/// The answer of a function, with its id as the client wrote it. Without a `cid` nobody could tell which call an answer
/// is for: silence means that all went well.
fn answer(cid: String, id: String, payload: String) -> MessageAnswer {
    if cid.is_empty() {
        return MessageAnswer::Silence;
    }
    MessageAnswer::Reply(Envelope::reply(cid, Message::Rpc(Rpc { id, payload, ..Rpc::default() })))
}

fn refusal(cid: String, error: &Error) -> MessageAnswer {
    if error.kind == ErrorKind::Internal {
        tracing::error!(cause = error.cause.as_deref().unwrap_or_default(), told = %error.message, "function failed");
    }
    if error.kind == ErrorKind::NotFound && error.message.starts_with("There is no function") {
        return refuse(cid, RealtimeCode::RuntimeFunctionNotFound, error.message.clone());
    }
    let code = code(error.kind);
    let error = realtime::Error {
        code: code.mapping().realtime.number(),
        message: error.message.to_string(),
        context: [(CODE_KEY.to_owned(), code.number().to_string())].into(),
    };
    MessageAnswer::Refusal(Envelope::reply(cid, Message::Error(error)), None)
}
