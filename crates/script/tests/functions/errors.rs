//! Errors that callers get when a function fails.

use muster_wire::code::Code;

use crate::world::answer;

fn check(body: &str, code: Code, message: &str) {
    assert_eq!(answer(body, ""), Err((code, message.to_owned())), "{body}");
}

#[test]
fn a_function_says_with_which_code_it_fails() {
    check("error({ 'no chips', 9 })", Code::FailedPrecondition, "no chips");
    check("error({ message = 'no chips', code = 9 })", Code::Internal, "no chips");
    check("error({ 'no code' })", Code::Internal, "no code");
    check("error({ 'a code that there is not', 99 })", Code::Internal, "a code that there is not");
}

#[test]
fn a_text_comes_without_its_place_and_with_code_13() {
    check("error('broken')", Code::Internal, "broken");
    check("error('in 5:30: broken', 0)", Code::Internal, "in 5:30: broken");
    check("error('broken', 0)", Code::Internal, "broken");
    check("local t = nil return t.x", Code::Internal, "attempt to index nil with 'x'");
    check("require('nakama').base16_decode('x')", Code::Internal, "not a valid base16 string");
}

#[test]
fn a_result_is_a_text_or_nothing() {
    assert_eq!(answer("return payload .. '!'", "hello"), Ok("hello!".to_owned()));
    assert_eq!(answer("return nil", ""), Ok(String::new()));
    assert_eq!(answer("", ""), Ok(String::new()));
    check("return { 1 }", Code::Internal, "The function returned a table; it may return a string or nothing.");
}

#[test]
fn game_code_catches_errors_as_texts() {
    let body = "local ok, told = pcall(require('nakama').json_decode, '{') return tostring(ok) .. ' ' .. type(told)";
    assert_eq!(answer(body, ""), Ok("false string".to_owned()));
}
