//! Digests and authentication codes.

use hmac::{Hmac, Mac};
use md5::Md5;
use muster_domain::Error;
use sha2::{Digest, Sha256};

use super::encoding::{NOT_EMPTY, hex};
use super::{ArgumentRules, EffectClass, HostFunction, JavaScriptShape, LuaShape, ROW, Run, Type, only, required};
use crate::value::Value;

pub(super) static FUNCTIONS: &[HostFunction] = &[
    HostFunction {
        name: "md5_hash",
        doc: "Computes the MD5 digest of a text. MD5 is broken: the digest is no protection against attackers.",
        parameters: &[required("input", Type::Text)],
        results: &[only(Type::Text)],
        answers: "the digest in hexadecimal",
        effect: EffectClass::Pure,
        lua: NOT_EMPTY,
        run: Run::Now(|_, mut arguments| Ok(Value::text(hex(&Md5::digest(arguments.bytes()))))),
        ..ROW
    },
    HostFunction {
        name: "sha256_hash",
        doc: "Computes the SHA-256 digest of a text.",
        parameters: &[required("input", Type::Text)],
        results: &[only(Type::Text)],
        answers: "the digest in hexadecimal",
        effect: EffectClass::Pure,
        lua: NOT_EMPTY,
        run: Run::Now(|_, mut arguments| Ok(Value::text(hex(&Sha256::digest(arguments.bytes()))))),
        ..ROW
    },
    HostFunction {
        name: "hmac_sha256_hash",
        doc: "Computes the authentication code of a text under a key, by HMAC with SHA-256.",
        parameters: &[required("input", Type::Bytes), required("key", Type::Bytes)],
        results: &[only(Type::Bytes)],
        answers: "the code's 32 bytes",
        effect: EffectClass::Pure,
        lua: LuaShape::taking(ArgumentRules { not_empty: &["input", "key"], ..ArgumentRules::BY_RULE }),
        javascript: JavaScriptShape::taking(ArgumentRules { not_empty: &["key"], ..ArgumentRules::BY_RULE }),
        run: Run::Now(|_, mut arguments| {
            let (input, key) = (arguments.bytes(), arguments.bytes());
            let mut code = Hmac::<Sha256>::new_from_slice(&key).map_err(|error| Error::invalid(error.to_string()))?;
            code.update(&input);
            Ok(Value::Bytes(code.finalize().into_bytes().to_vec()))
        }),
        ..ROW
    },
];
