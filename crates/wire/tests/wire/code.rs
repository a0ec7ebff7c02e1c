//! Error codes and error bodies.

use muster_wire::Code;
use muster_wire::code::{AfterError, RpcFailure, error_body, rpc_error_body};

#[test]
fn statuses_are_those_of_the_gateway() {
    let statuses: Vec<u16> = Code::ALL.iter().map(|code| code.http_status()).collect();
    assert_eq!(statuses, [499, 500, 400, 504, 404, 409, 403, 429, 400, 409, 400, 501, 500, 503, 500, 401]);
}

#[test]
fn numbers() {
    for (index, code) in Code::ALL.into_iter().enumerate() {
        assert_eq!(usize::from(code.number()), index + 1);
        assert_eq!(Code::from_number(code.number()), Some(code));
    }
    assert_eq!((Code::from_number(0), Code::from_number(17)), (None, None));
}

#[test]
fn only_a_caller_no_longer_known_loses_the_socket() {
    let closing: Vec<Code> = Code::ALL.into_iter().filter(|code| code.mapping().after == AfterError::Close).collect();
    assert_eq!(closing, [Code::Unauthenticated]);
}

#[test]
fn bodies() {
    let text = |body: Vec<u8>| String::from_utf8(body).unwrap();
    assert_eq!(text(error_body(5, "a \"b\"")), r#"{"code":5,"message":"a \"b\""}"#);
    assert_eq!(text(rpc_error_body(5, "gone", RpcFailure::BuiltIn)), r#"{"error":"gone","code":5,"message":"gone"}"#);
    assert_eq!(text(rpc_error_body(1001, "boom", RpcFailure::Runtime)), r#"{"error":{},"code":1001,"message":"boom"}"#);
    assert_eq!(text(rpc_error_body(3, "big", RpcFailure::Oversized)), r#"{"code":3,"message":"big"}"#);
}
