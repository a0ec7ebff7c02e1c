//! Messages of every type between the protocol and Lua.

use std::fmt::Debug;

use muster_api::game::Invocation;
use muster_api::hooks::{HookSubject, Hooks as _};
use muster_script::LuaFunctions;
use muster_wire::api::{
    Account, AccountDevice, AuthenticateDeviceRequest, DeleteNotificationsRequest, UpdateAccountRequest,
    WriteStorageObject, WriteStorageObjectsRequest,
};
use muster_wire::json::{JsonMessage, Mode, from_json};
use muster_wire::realtime::envelope::Message;
use muster_wire::realtime::{Envelope, MatchDataSend, MatchmakerAdd};

use crate::generated::for_every_message;
use crate::random::{Arbitrary, Random};
use crate::world::{block_on, module};

const VALUES_PER_MESSAGE: u64 = 20;

/// A hook before `AuthenticateDevice` with this body, in which `m` is the message. Lua does not know its type.
fn hook(body: &str) -> LuaFunctions {
    module(&format!(
        "local nk = require('nakama')\nnk.register_req_before(function(_, m) {body} end, 'AuthenticateDevice')"
    ))
}

/// The message after it has passed through a hook.
fn through<M: JsonMessage>(functions: &LuaFunctions, message: &M) -> Result<M, String> {
    let subject = HookSubject::operations().find(|subject| subject.name() == "AuthenticateDevice").unwrap();
    let answer = block_on(functions.before(subject, Invocation::default(), Some(message)));
    let answer = answer.map_err(|failure| failure.message)?.ok_or("nothing")?;
    from_json(&answer, Mode::GameCode).map_err(|error| format!("{}: {}", error.path(), error.problem()))
}

thread_local! {
    static IDENTITY: LuaFunctions = hook("return m");
}

fn check<M: JsonMessage + Arbitrary + PartialEq + Debug>() {
    for seed in 0..VALUES_PER_MESSAGE {
        let message = M::arbitrary(&mut Random::new(seed));
        assert_eq!(IDENTITY.with(|functions| through(functions, &message)).as_ref(), Ok(&message));
    }
}

#[test]
fn every_message_survives_lua_and_back() {
    for_every_message!(check);
}

#[test]
fn lua_sees_names_with_underscores_and_no_defaults() {
    let message = AuthenticateDeviceRequest {
        account: Some(AccountDevice { id: "0123456789".to_owned(), ..AccountDevice::default() }),
        create: Some(false),
        ..AuthenticateDeviceRequest::default()
    };
    let told = "assert(m.account.id == '0123456789' and m.account.vars == nil and m.username == nil)
        assert(m.create == false)
        m.username = 'ann' m.create = nil m.account.vars = { a = 'b' }
        return m";
    let changed = through(&hook(told), &message).unwrap();
    assert_eq!((changed.username.as_str(), changed.create), ("ann", None));
    assert_eq!(changed.account.unwrap().vars["a"], "b");
}

#[test]
fn numbers_of_64_bits_are_texts_bytes_are_base64_and_others_are_numbers() {
    let send = MatchDataSend { op_code: i64::MAX, data: b"data".as_slice().into(), ..MatchDataSend::default() };
    let told = "assert(m.match_data_send.op_code == '9223372036854775807' and m.match_data_send.data == 'ZGF0YQ==')
        m.match_data_send.op_code = 7
        return m";
    let changed = through(&hook(told), &Envelope::push(Message::MatchDataSend(send.clone()))).unwrap();
    assert_eq!(changed.message, Some(Message::MatchDataSend(MatchDataSend { op_code: 7, ..send })));
    let add = MatchmakerAdd {
        numeric_properties: [("a".to_owned(), 0.1), ("b".to_owned(), f64::INFINITY)].into(),
        min_count: 2,
        ..MatchmakerAdd::default()
    };
    let told = "assert(m.numeric_properties.a == 0.1 and m.numeric_properties.b == 'Infinity' and m.min_count == 2)
        m.numeric_properties = { c = 1 / 3, d = -1 / 0 } m.max_count = 2 ^ 20
        return m";
    let changed = through(&hook(told), &add).unwrap();
    assert_eq!(changed.numeric_properties, [("c".to_owned(), 1.0 / 3.0), ("d".to_owned(), f64::NEG_INFINITY)].into());
    assert_eq!(changed.max_count, 1 << 20);
}

#[test]
fn an_empty_table_is_an_empty_list_map_or_message() {
    let objects = vec![WriteStorageObject { collection: "c".to_owned(), ..WriteStorageObject::default() }];
    let changed = through(&hook("m.objects = {} return m"), &WriteStorageObjectsRequest { objects }).unwrap();
    assert!(changed.objects.is_empty());
    let ids = vec!["a".to_owned()];
    let changed = through(&hook("m.ids = {} return m"), &DeleteNotificationsRequest { ids }).unwrap();
    assert!(changed.ids.is_empty());
    let changed = through(&hook("return { account = { vars = {} } }"), &AuthenticateDeviceRequest::default()).unwrap();
    assert_eq!(changed.account, Some(AccountDevice::default()));
    assert_eq!(through(&hook("return {}"), &Account::default()), Ok(Account::default()));
}

#[test]
fn what_does_not_fit_is_refused_by_its_name() {
    for (body, told) in [
        ("return { acount = {} }", "acount: unknown field \"acount\""),
        ("return { account = { id = 7 } }", "account.id: expected a string"),
        ("return { account = 'a' }", "account: expected an object"),
        ("return { username = { 'a' } }", "username: expected a string"),
        ("return { create = 1 }", "create: expected true or false"),
        ("return { 1 }", ": expected an object"),
    ] {
        assert_eq!(through(&hook(body), &AuthenticateDeviceRequest::default()), Err(told.to_owned()), "{body}");
    }
    let list = "return { objects = { a = {} } }";
    let told = Err("objects: expected a list".to_owned());
    assert_eq!(through(&hook(list), &WriteStorageObjectsRequest::default()), told);
}

#[test]
fn what_is_no_message_is_refused_before_it_is_read() {
    for (body, told) in [
        ("return 5", "a number instead of a table"),
        ("return { username = function() end }", "a function cannot be used here"),
        ("return { username = '\\255' }", "a text in it is not UTF-8"),
        ("m.m = m return m", "the table is nested too deeply"),
        // In JSON the message would have 2^60 objects.
        ("for _ = 1, 60 do m = { m, m } end return m", "more than 250000 values"),
        // Each byte is written as six bytes of JSON.
        ("m.username = string.rep('\\1', 3000000) return m", "it has more than 16777216 bytes"),
    ] {
        let expect = Err(format!("The hook returned no message: {told}."));
        assert_eq!(through(&hook(body), &UpdateAccountRequest::default()), expect, "{body}");
    }
}
