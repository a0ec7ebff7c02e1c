//! `string.format` as the original's interpreter has it, which formats by the rules of Go: any value is a text, `%v`
//! and `%t` exist, and an argument that is missing is named in the result instead of raising an error.
//!
//! Formats that Luau reads the same way go to Luau's own function. For others the format and the arguments are changed
//! on the stack first.

#![expect(unsafe_code, reason = "the arguments of a builtin can only be changed on the stack that they lie on")]

use std::ffi::c_int;
use std::ptr;

use mlua::ffi;

use super::builtins::text;

/// Characters that may stand between the percent sign and the letter of a conversion.
const FLAGS: &[u8] = b"-+ #0123456789.";

/// Conversions of numbers in Luau.
const NUMBERS: &[u8] = b"diucxXoeEfgGaA";

/// A conversion of a format.
#[derive(Debug, PartialEq, Eq)]
struct Conversion<'a> {
    /// The flags, width and precision.
    flags: &'a [u8],
    letter: u8,
    /// Offset of the percent sign, and of the byte behind the letter.
    start: usize,
    end: usize,
}

/// The conversions of a format that take an argument.
fn conversions(format: &[u8]) -> impl Iterator<Item = Conversion<'_>> {
    let mut at = 0;
    std::iter::from_fn(move || {
        loop {
            let start = at + format.get(at..)?.iter().position(|byte| *byte == b'%')?;
            let flags = format[start + 1..].iter().take_while(|byte| FLAGS.contains(byte)).count();
            let letter = *format.get(start + 1 + flags)?;
            at = start + 2 + flags;
            if letter != b'%' {
                return Some(Conversion { flags: &format[start + 1..at - 1], letter, start, end: at });
            }
        }
    })
}

/// The form of a conversion in the new format.
enum Form<'a> {
    /// The conversion as it stands.
    Same,
    /// The conversion of a text, with these flags; the argument was made one.
    Text(&'a [u8]),
}

/// Changes format and arguments so that Luau's own function answers what the original's does.
///
/// # Safety
/// Must be called from a function of C with the state that runs.
pub(super) unsafe fn prepare(state: *mut ffi::lua_State) {
    // SAFETY: the format stays at the first place of the stack until it is replaced at the end.
    let Some(format) = (unsafe { text(state, 1) }) else { return };
    // SAFETY: as for this function.
    let last = unsafe { ffi::lua_gettop(state) };
    let mut made = Vec::new();
    let mut copied = 0;
    // The format is the first argument.
    for (at, conversion) in (2..).zip(conversions(format)) {
        let characters = if at > last {
            // Twice a percent sign is one in the result.
            [b"%%!".as_slice(), &[conversion.letter], b"(MISSING)"].concat()
        } else {
            // SAFETY: `at` is the place of an argument.
            match unsafe { form(state, &conversion, at) } {
                Form::Same => continue,
                Form::Text(flags) => [b"%", flags, b"s"].concat(),
            }
        };
        made.extend_from_slice(&format[copied..conversion.start]);
        made.extend_from_slice(&characters);
        copied = conversion.end;
    }
    if copied > 0 {
        made.extend_from_slice(&format[copied..]);
        // SAFETY: the old format is not used any more.
        unsafe { put(state, 1, &made) };
    }
}

/// Finds the form of a conversion, and makes its argument a text where it has to be one.
///
/// # Safety
/// See [`prepare`]; there must be an argument at the place.
unsafe fn form<'a>(state: *mut ffi::lua_State, conversion: &Conversion<'a>, at: c_int) -> Form<'a> {
    let letter = conversion.letter;
    // SAFETY: as for this function; a function of C has room for one more value.
    unsafe {
        match (letter, ffi::lua_type(state, at)) {
            (b's', ffi::LUA_TSTRING) => Form::Same,
            (b's' | b'v', _) | (b't', ffi::LUA_TBOOLEAN) => {
                ffi::luaL_tolstring(state, at, ptr::null_mut());
                ffi::lua_replace(state, at);
                Form::Text(conversion.flags)
            }
            (b'q', ffi::LUA_TSTRING) => {
                let quoted = quoted(text(state, at).unwrap_or_default());
                put(state, at, &quoted);
                Form::Text(conversion.flags)
            }
            (letter, ffi::LUA_TNIL) if NUMBERS.contains(&letter) => {
                put(state, at, b"&{}");
                Form::Text(b"")
            }
            (letter, ffi::LUA_TBOOLEAN) if NUMBERS.contains(&letter) => {
                let flag = ffi::lua_toboolean(state, at) != 0;
                put(state, at, format!("%!{}(bool={flag})", char::from(letter)).as_bytes());
                Form::Text(b"")
            }
            // A text that is no number counts as zero.
            (letter, ffi::LUA_TSTRING) if NUMBERS.contains(&letter) => {
                let mut is_number = 0;
                ffi::lua_tonumberx(state, at, &raw mut is_number);
                if is_number == 0 {
                    ffi::lua_pushnumber(state, 0.0);
                    ffi::lua_replace(state, at);
                }
                Form::Same
            }
            // Luau raises the error for what neither knows.
            _ => Form::Same,
        }
    }
}

/// Replaces an argument by a text.
///
/// # Safety
/// See [`prepare`].
unsafe fn put(state: *mut ffi::lua_State, at: c_int, text: &[u8]) {
    // SAFETY: a function of C has room for one more value.
    unsafe {
        ffi::lua_pushlstring(state, text.as_ptr().cast(), text.len());
        ffi::lua_replace(state, at);
    }
}

/// A text in quotes, with the escapes of Go.
fn quoted(text: &[u8]) -> Vec<u8> {
    let mut quoted = vec![b'"'];
    for chunk in text.utf8_chunks() {
        for character in chunk.valid().chars() {
            match character {
                '"' => quoted.extend_from_slice(b"\\\""),
                '\\' => quoted.extend_from_slice(b"\\\\"),
                '\n' => quoted.extend_from_slice(b"\\n"),
                '\r' => quoted.extend_from_slice(b"\\r"),
                '\t' => quoted.extend_from_slice(b"\\t"),
                character if character.is_control() && u32::from(character) < 0x80 => {
                    quoted.extend_from_slice(format!("\\x{:02x}", u32::from(character)).as_bytes());
                }
                character => quoted.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
            }
        }
        chunk.invalid().iter().for_each(|byte| quoted.extend_from_slice(format!("\\x{byte:02x}").as_bytes()));
    }
    quoted.push(b'"');
    quoted
}

#[cfg(test)]
mod tests {
    use mlua::Lua;

    use crate::luau::builtins;

    /// Evaluates an expression. What is expected is what the original's interpreter answered.
    fn check(expression: &str, expect: &str) {
        let lua = Lua::new();
        builtins::replace(&lua).expect("builtins can be replaced");
        let result: mlua::Result<mlua::Value> = lua.load(format!("return {expression}")).eval();
        assert_eq!(
            result.and_then(|value| value.to_string()).unwrap_or_else(|error| error.to_string()),
            expect,
            "{expression}"
        );
    }

    #[test]
    fn any_value_is_a_text() {
        check("string.format('%s', nil)", "nil");
        check("string.format('%s %s', true, false)", "true false");
        check("string.format('%s', {}):sub(1, 6)", "table:");
        check("string.format('%s', setmetatable({}, { __tostring = function() return 'its own' end }))", "its own");
        check("('%s|%v'):format(1.5, 'x')", "1.5|x");
        check("string.format('%v %v', nil, 3)", "nil 3");
        check("string.format('%t', true)", "true");
        check("string.format('%5s|%-5s|%05d', 'a', 'b', 42)", "    a|b    |00042");
        check("string.format('%5v|', true)", " true|");
    }

    #[test]
    fn missing_arguments_are_named_and_further_ones_are_left_out() {
        check("string.format('%s %s', 1)", "1 %!s(MISSING)");
        check("string.format('%d%%')", "%!d(MISSING)%");
        check("#string.format(string.rep('%s', 50), 1)", "589");
        check("string.format('%s', 1, 2, 3)", "1");
        check("string.format('none')", "none");
    }

    #[test]
    fn numbers_take_what_go_takes() {
        check("string.format('%d', nil)", "&{}");
        check("string.format('%d %s', nil, 'x')", "&{} x");
        check("string.format('%d %d', 'x', '3')", "0 3");
        check("string.format('%d', 3.7)", "3");
        check("string.format('%d %d', true, 4)", "%!d(bool=true) 4");
        check("string.format('%5.2f %x %g %c', 3.14159, 255, 1e20, 65)", " 3.14 ff 1e+20 A");
    }

    #[test]
    fn quotes_are_those_of_go() {
        check("string.format('%q', 'a\\n\"b\\\\')", "\"a\\n\\\"b\\\\\"");
        check("string.format('%q', '\\0\\200')", "\"\\x00\\xc8\"");
    }
}
