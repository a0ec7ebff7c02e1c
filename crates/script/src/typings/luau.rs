//! Declarations for Luau: a module of types, and of `require("nakama")`.

use std::fmt::Write as _;

use super::signatures::RECORDS;
use super::types::{Type, field};
use super::{signature, wrapped};
use crate::host::functions;

const HEAD: &str = "--!strict
-- What game code in Lua finds on a Muster server. Generated: `muster types` writes it. Beside your modules, as `nakama.luau`, it tells
-- editors what `require(\"nakama\")` is; the server does not read it.

";

/// Width of comments.
const WIDTH: usize = 116;

/// All declarations, a file by itself.
pub fn luau() -> String {
    let mut written = HEAD.to_owned();
    for (name, fields) in RECORDS {
        let _ = writeln!(written, "export type {name} = {{");
        for (name, of, is_optional) in fields.iter().map(|written| field(written)) {
            let mark = if is_optional { "?" } else { "" };
            let _ = writeln!(written, "    {name}: {}{mark},", of.in_luau());
        }
        written.push_str("}\n\n");
    }
    written.push_str("export type Nakama = {\n");
    for function in functions() {
        let signature = signature(function);
        for line in wrapped(function.doc, WIDTH) {
            let _ = writeln!(written, "    -- {line}");
        }
        let mark = |is_optional| if is_optional { "?" } else { "" };
        let parameters = signature.parameters.iter().map(|(parameter, of)| {
            let name = if parameter.name == "type" { "kind" } else { parameter.name };
            format!("{name}: {}{}", of.in_luau(), mark(parameter.is_optional))
        });
        let parameters = parameters.collect::<Vec<_>>().join(", ");
        let results = signature.results.iter().map(Type::in_luau).collect::<Vec<_>>().join(", ");
        let _ = writeln!(written, "    {}: ({parameters}) -> ({results}),", function.name);
    }
    written.push_str("    [string]: any,\n}\n\nreturn (nil :: any) :: Nakama\n");
    written
}
