//! JSON, base 16 and 64, and ids.

use base64::Engine as _;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};
use muster_domain::{Error, Result};

use super::{Arguments, Effect, HostFunction, Kind, Parameter, Run, optional, text};
use crate::value::Value;
use crate::value::allowance::Allowance;

const PADDING: Parameter = optional("padding", Kind::Flag);

pub(super) static FUNCTIONS: &[HostFunction] = &[
    HostFunction {
        name: "json_encode",
        parameters: &[Parameter { name: "value", kind: Kind::Any, is_optional: true }],
        result: "the JSON text",
        doc: "Writes a value as JSON. A table with a first element is a list, any other an object.",
        effect: Effect::Pure,
        run: Run::Now(|_, mut arguments| Ok(Value::text(arguments.any().into_json().to_string()))),
    },
    HostFunction {
        name: "json_decode",
        parameters: &[text("input")],
        result: "the value",
        doc: "Reads a JSON text.",
        effect: Effect::Pure,
        run: Run::Now(|_, mut arguments| {
            let json = arguments.bytes();
            Allowance::check_json(&json).map_err(Error::invalid)?;
            let json = serde_json::from_slice(&json);
            json.map(Value::from_json).map_err(|error| Error::invalid(format!("not a valid JSON string: {error}")))
        }),
    },
    HostFunction {
        name: "base16_encode",
        parameters: &[text("input")],
        result: "the hexadecimal text",
        doc: "Writes bytes in hexadecimal.",
        effect: Effect::Pure,
        run: Run::Now(|_, mut arguments| Ok(Value::text(hex(&arguments.bytes())))),
    },
    HostFunction {
        name: "base16_decode",
        parameters: &[text("input")],
        result: "the bytes",
        doc: "Reads a hexadecimal text.",
        effect: Effect::Pure,
        run: Run::Now(|_, mut arguments| {
            unhex(&arguments.bytes()).map(Value::Bytes).ok_or_else(|| Error::invalid("not a valid base16 string"))
        }),
    },
    HostFunction {
        name: "base64_encode",
        parameters: &[text("input"), PADDING],
        result: "the text in base 64",
        doc: "Writes bytes in base 64, with padding unless told otherwise.",
        effect: Effect::Pure,
        run: Run::Now(|_, arguments| encode(&base64::alphabet::STANDARD, arguments)),
    },
    HostFunction {
        name: "base64_decode",
        parameters: &[text("input"), PADDING],
        result: "the bytes",
        doc: "Reads a text in base 64, with padding unless told otherwise.",
        effect: Effect::Pure,
        run: Run::Now(|_, arguments| decode(&base64::alphabet::STANDARD, arguments)),
    },
    HostFunction {
        name: "base64url_encode",
        parameters: &[text("input"), PADDING],
        result: "the text in base 64",
        doc: "Writes bytes in base 64 as it may stand in addresses, with padding unless told otherwise.",
        effect: Effect::Pure,
        run: Run::Now(|_, arguments| encode(&base64::alphabet::URL_SAFE, arguments)),
    },
    HostFunction {
        name: "base64url_decode",
        parameters: &[text("input"), PADDING],
        result: "the bytes",
        doc: "Reads a text in base 64 as it may stand in addresses, with padding unless told otherwise.",
        effect: Effect::Pure,
        run: Run::Now(|_, arguments| decode(&base64::alphabet::URL_SAFE, arguments)),
    },
    HostFunction {
        name: "uuid_v4",
        parameters: &[],
        result: "the id as text",
        doc: "A new random id.",
        effect: Effect::Chance,
        run: Run::Now(|host, _| Ok(Value::text(host.entropy.uuid().to_string()))),
    },
    HostFunction {
        name: "uuid_bytes_to_string",
        parameters: &[text("bytes")],
        result: "the id as text",
        doc: "The text of an id that is given as its 16 bytes.",
        effect: Effect::Pure,
        run: Run::Now(|_, mut arguments| {
            let id = uuid::Uuid::from_slice(&arguments.bytes());
            id.map(|id| Value::text(id.to_string())).map_err(|_| Error::invalid("not a valid UUID byte string"))
        }),
    },
    HostFunction {
        name: "uuid_string_to_bytes",
        parameters: &[text("id")],
        result: "the id's 16 bytes",
        doc: "The bytes of an id that is given as text.",
        effect: Effect::Pure,
        run: Run::Now(|_, mut arguments| {
            let id = uuid::Uuid::try_parse_ascii(&arguments.bytes());
            id.map(|id| Value::Bytes(id.as_bytes().to_vec())).map_err(|_| Error::invalid("not a valid UUID string"))
        }),
    },
];

fn encode(alphabet: &base64::alphabet::Alphabet, mut arguments: Arguments) -> Result<Value> {
    let input = arguments.bytes();
    let config = GeneralPurposeConfig::new().with_encode_padding(arguments.flag_or(true));
    Ok(Value::text(GeneralPurpose::new(alphabet, config).encode(input)))
}

fn decode(alphabet: &base64::alphabet::Alphabet, mut arguments: Arguments) -> Result<Value> {
    let input = arguments.bytes();
    let padding = match arguments.flag_or(true) {
        true => DecodePaddingMode::RequireCanonical,
        false => DecodePaddingMode::RequireNone,
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
