//! Contexts: the first argument of every call, a table that tells for whom the function is called, and by which server.
//! Each call has a table of its own, which it may change.

use mlua::{Lua, Result, Table, Value as LuaValue};
use muster_api::game::{Invocation, Multimap};
use muster_domain::ids::Uuid;

use super::raw::{self, Pen};
use crate::functions::ServerFacts;
use crate::machine::call::CallArgument;

/// Number of entries that a context has room for at first.
const ROOM: usize = 16;

/// The names of a context's entries. Machines keep them as texts of Lua, in this order; the constants below are their
/// indexes.
const NAMES: [&str; 13] = [
    "execution_mode",
    "env",
    "headers",
    "query_params",
    "user_id",
    "username",
    "user_session_exp",
    "vars",
    "session_id",
    "client_ip",
    "client_port",
    "lang",
    "trace_id",
];
const EXECUTION_MODE: i64 = 1;
const ENV: i64 = 2;
const HEADERS: i64 = 3;
const QUERY_PARAMS: i64 = 4;
const USER_ID: i64 = 5;
const USERNAME: i64 = 6;
const USER_SESSION_EXP: i64 = 7;
const VARS: i64 = 8;
const SESSION_ID: i64 = 9;
const CLIENT_IP: i64 = 10;
const CLIENT_PORT: i64 = 11;
const LANG: i64 = 12;
const TRACE_ID: i64 = 13;

/// Stack places of the names and of the common table while a context is written.
const NAMES_AT: i32 = 1;
const COMMON_AT: i32 = 2;

/// The names and the entries that all contexts of a machine share.
pub(super) struct Contexts {
    names: Table,
    common: Table,
}

impl Contexts {
    /// Prepares the contexts of a machine's calls.
    pub(super) fn new(lua: &Lua, facts: &ServerFacts) -> Result<Self> {
        let common = raw::table(lua, ROOM, |common| {
            common.set_text("node", &*facts.node);
            common.set_text("version", &*facts.version);
        })?;
        Ok(Self { names: lua.create_sequence_from(NAMES)?, common })
    }

    /// The context and the second argument of a call. For messages, which are read later, the second argument is nil.
    pub(super) fn of_call(
        &self,
        lua: &Lua,
        invocation: &Invocation,
        argument: &CallArgument,
        facts: &ServerFacts,
    ) -> Result<(Table, LuaValue)> {
        raw::with_tables(lua, [&self.names, &self.common], |pen| {
            pen.clone_of(COMMON_AT);
            fill(pen, invocation, facts);
            match argument {
                CallArgument::Text(text) => pen.text(text.as_bytes()),
                CallArgument::Number(number) => pen.number(*number),
                CallArgument::Value(value) => pen.value(value),
                CallArgument::Request(request, body) => {
                    pen.value(request);
                    pen.set_text("body", body);
                }
                CallArgument::Messages(_) => pen.nil(),
            }
        })
    }

    /// A context that names no caller. `mode` is its execution mode.
    pub(super) fn of_nobody(&self, lua: &Lua, mode: &str, facts: &ServerFacts) -> Result<Table> {
        raw::with_tables(lua, [&self.names, &self.common], |pen| {
            pen.clone_of(COMMON_AT);
            fill_common(pen, mode, facts);
        })
    }
}

fn fill_common(pen: &mut Pen, mode: &str, facts: &ServerFacts) {
    pen.set_listed(NAMES_AT, EXECUTION_MODE, |pen| pen.text(mode.as_bytes()));
    pen.set_listed(NAMES_AT, ENV, |pen| {
        pen.table(0, facts.env.len(), |env| facts.env.iter().for_each(|(name, value)| env.set_text(name, value)));
    });
}

/// Writes the entries of a call's context. They have the names of the original.
fn fill(pen: &mut Pen, invocation: &Invocation, facts: &ServerFacts) {
    let set_text = |pen: &mut Pen, name, text: &str| pen.set_listed(NAMES_AT, name, |pen| pen.text(text.as_bytes()));
    fill_common(pen, invocation.mode.name(), facts);
    pen.set_listed(NAMES_AT, HEADERS, |pen| write_multimap(pen, &invocation.headers));
    pen.set_listed(NAMES_AT, QUERY_PARAMS, |pen| write_multimap(pen, &invocation.query));
    if let Some(claims) = &invocation.user {
        set_text(pen, USER_ID, text_of(claims.user_id.0, &mut [0; 36]));
        set_text(pen, USERNAME, &claims.username);
        pen.set_listed(NAMES_AT, USER_SESSION_EXP, |pen| pen.number(claims.expires_at_sec as f64));
        if !claims.vars.is_empty() {
            pen.set_listed(NAMES_AT, VARS, |pen| {
                pen.table(0, claims.vars.len(), |vars| {
                    claims.vars.iter().for_each(|(name, text)| vars.set_text(name, text))
                });
            });
        }
    }
    let client = &invocation.client;
    if let Some(id) = &invocation.session_id {
        set_text(pen, SESSION_ID, id);
    }
    if let Some(address) = client.address {
        set_text(pen, CLIENT_IP, &address.to_string());
    }
    if let Some(port) = client.port {
        // The port is a text, as in the original.
        set_text(pen, CLIENT_PORT, &port.to_string());
    }
    if let Some(lang) = &client.lang {
        set_text(pen, LANG, lang);
    }
    if let Some(id) = invocation.trace_id {
        set_text(pen, TRACE_ID, text_of(id, &mut [0; 36]));
    }
}

/// Writes a table that holds the list of values of each name.
fn write_multimap(pen: &mut Pen, values: &Multimap) {
    pen.table(0, values.len(), |table| values.iter().for_each(|(name, values)| table.set_texts(name, values)));
}

/// An id as text, written into the buffer.
pub(super) fn text_of(id: Uuid, buffer: &mut [u8; 36]) -> &str {
    id.hyphenated().encode_lower(buffer)
}
