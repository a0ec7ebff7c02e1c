//! JSON, texts in base 16 and base 64, and ids.

use base64::Engine as _;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use muster_domain::{Error, Result};

use super::{
    ArgumentRules, Arguments, DefaultValue, EffectClass, HostFunction, JavaScriptShape, LuaShape, Parameter, ROW, Run,
    Type, flag, only, optional, required,
};
use crate::value::Value;
use crate::value::allowance::Allowance;

const PADDING: Parameter = flag("padding", true);

/// In Lua an empty input is an error, as in the original.
pub(super) const NOT_EMPTY: LuaShape =
    LuaShape::taking(ArgumentRules { not_empty: &["input"], ..ArgumentRules::BY_RULE });

pub(super) static FUNCTIONS: &[HostFunction] = &[
    HostFunction {
        name: "json_encode",
        doc: "Writes a value as JSON. A table with a positive index becomes a list up to its highest index, any other table an \
              object.",
        parameters: &[optional("value", Type::Any)],
        results: &[only(Type::Text)],
        answers: "the JSON text",
        effect: EffectClass::Pure,
        run: Run::Now(|_, mut arguments| Ok(Value::text(arguments.any().to_json_text()))),
        ..ROW
    },
    HostFunction {
        name: "json_decode",
        doc: "Reads a JSON text.",
        parameters: &[required("input", Type::Text)],
        results: &[only(Type::Any)],
        answers: "the value",
        effect: EffectClass::Pure,
        run: Run::Now(|_, mut arguments| {
            let json = arguments.bytes();
            Allowance::check_json(&json).map_err(Error::invalid)?;
            serde_json::from_slice(&json).map_err(|error| Error::invalid(format!("not a valid JSON string: {error}")))
        }),
        ..ROW
    },
    HostFunction {
        name: "base16_encode",
        doc: "Writes bytes in hexadecimal.",
        parameters: &[required("input", Type::Bytes)],
        results: &[only(Type::Text)],
        answers: "the hexadecimal text",
        effect: EffectClass::Pure,
        lua: NOT_EMPTY,
        run: Run::Now(|_, mut arguments| Ok(Value::text(hex(&arguments.bytes())))),
        ..ROW
    },
    HostFunction {
        name: "base16_decode",
        doc: "Reads a hexadecimal text.",
        parameters: &[required("input", Type::Text)],
        results: &[only(Type::Bytes)],
        answers: "the bytes",
        effect: EffectClass::Pure,
        lua: NOT_EMPTY,
        run: Run::Now(|_, mut arguments| {
            unhex(&arguments.bytes()).map(Value::Bytes).ok_or_else(|| Error::invalid("not a valid base16 string"))
        }),
        ..ROW
    },
    HostFunction {
        name: "base64_encode",
        doc: "Writes bytes in base 64. The text has padding unless padding is false.",
        parameters: &[required("input", Type::Bytes), PADDING],
        results: &[only(Type::Text)],
        answers: "the text in base 64",
        effect: EffectClass::Pure,
        lua: NOT_EMPTY,
        run: Run::Now(|_, arguments| encode(&base64::alphabet::STANDARD, arguments)),
        ..ROW
    },
    HostFunction {
        name: "base64_decode",
        doc: "Reads a text in base 64. The text may be without padding unless padding is false.",
        parameters: &[required("input", Type::Text), PADDING],
        results: &[only(Type::Bytes)],
        answers: "the bytes",
        effect: EffectClass::Pure,
        lua: NOT_EMPTY,
        run: Run::Now(|_, mut arguments| {
            let (input, padding) = (arguments.bytes(), arguments.flag());
            decode(&base64::alphabet::STANDARD, &input, !padding)
        }),
        ..ROW
    },
    HostFunction {
        name: "base64url_encode",
        doc: "Writes bytes in the form of base 64 that may stand in URLs. The text has padding unless padding is \
              false.",
        parameters: &[required("input", Type::Bytes), PADDING],
        results: &[only(Type::Text)],
        answers: "the text in base 64",
        effect: EffectClass::Pure,
        lua: NOT_EMPTY,
        javascript: JavaScriptShape::named(&["base64UrlEncode"]),
        run: Run::Now(|_, arguments| encode(&base64::alphabet::URL_SAFE, arguments)),
        ..ROW
    },
    HostFunction {
        name: "base64url_decode",
        doc: "Reads a text in the form of base 64 that may stand in URLs. With padding, the text must be padded.",
        parameters: &[required("input", Type::Text), PADDING],
        results: &[only(Type::Bytes)],
        answers: "the bytes",
        effect: EffectClass::Pure,
        lua: LuaShape::taking(ArgumentRules {
            not_empty: &["input"],
            defaults: &[("padding", DefaultValue::Flag(false))],
            ..ArgumentRules::BY_RULE
        }),
        javascript: JavaScriptShape::named(&["base64UrlDecode"]),
        run: Run::Now(|_, mut arguments| {
            let (input, padding) = (arguments.bytes(), arguments.flag());
            decode(&base64::alphabet::URL_SAFE, &input, padding)
        }),
        ..ROW
    },
    HostFunction {
        name: "uuid_v4",
        doc: "Makes a new random id.",
        results: &[only(Type::Text)],
        answers: "the id as text",
        effect: EffectClass::Chance,
        javascript: JavaScriptShape::named(&["uuidv4"]),
        run: Run::Now(|host, _| Ok(Value::text(host.entropy.uuid().to_string()))),
        ..ROW
    },
    HostFunction {
        name: "uuid_bytes_to_string",
        doc: "Writes an id, given as its 16 bytes, as a text.",
        parameters: &[required("bytes", Type::Bytes)],
        results: &[only(Type::Text)],
        answers: "the id as text",
        effect: EffectClass::Pure,
        run: Run::Now(|_, mut arguments| {
            let id = uuid::Uuid::from_slice(&arguments.bytes());
            id.map(|id| Value::text(id.to_string())).map_err(|_| Error::invalid("not a valid UUID byte string"))
        }),
        ..ROW
    },
    HostFunction {
        name: "uuid_string_to_bytes",
        doc: "Reads the text of an id into its 16 bytes.",
        parameters: &[required("id", Type::Text)],
        results: &[only(Type::Bytes)],
        answers: "the id's 16 bytes",
        effect: EffectClass::Pure,
        run: Run::Now(|_, mut arguments| {
            let id = uuid::Uuid::try_parse_ascii(&arguments.bytes());
            id.map(|id| Value::Bytes(id.as_bytes().to_vec())).map_err(|_| Error::invalid("not a valid UUID string"))
        }),
        ..ROW
    },
];

fn encode(alphabet: &base64::alphabet::Alphabet, mut arguments: Arguments) -> Result<Value> {
    let input = arguments.bytes();
    let config = GeneralPurposeConfig::new().with_encode_padding(arguments.flag());
    Ok(Value::text(GeneralPurpose::new(alphabet, config).encode(input)))
}

fn decode(alphabet: &base64::alphabet::Alphabet, input: &[u8], needs_padding: bool) -> Result<Value> {
    let padding = match needs_padding {
        true => DecodePaddingMode::RequireCanonical,
        false => DecodePaddingMode::Indifferent,
    };
    let config = GeneralPurposeConfig::new().with_decode_padding_mode(padding);
    let decoded = GeneralPurpose::new(alphabet, config).decode(input);
    decoded.map(Value::Bytes).map_err(|error| Error::invalid(format!("not a valid base64 string: {error}")))
}

pub(super) fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.map(|digit| char::from(DIGITS[usize::from(digit)])).collect()
}

fn unhex(text: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let pairs = text.chunks(2).map(|pair| match pair {
        [high, low] => Some((digit(*high)? << 4 | digit(*low)?) as u8),
        _ => None,
    });
    pairs.collect()
}
