//! Digests.

use hmac::{Hmac, Mac};
use md5::Md5;
use muster_domain::Error;
use sha2::{Digest, Sha256};

use super::encoding::hex;
use super::{Effect, HostFunction, Run, text};
use crate::value::Value;

pub(super) static FUNCTIONS: &[HostFunction] = &[
    HostFunction {
        name: "md5_hash",
        parameters: &[text("input")],
        result: "the digest in hexadecimal",
        doc: "The MD5 digest of a text. It protects nothing against anybody.",
        effect: Effect::Pure,
        run: Run::Now(|_, mut arguments| Ok(Value::text(hex(&Md5::digest(arguments.bytes()))))),
    },
    HostFunction {
        name: "sha256_hash",
        parameters: &[text("input")],
        result: "the digest in hexadecimal",
        doc: "The SHA-256 digest of a text.",
        effect: Effect::Pure,
        run: Run::Now(|_, mut arguments| Ok(Value::text(hex(&Sha256::digest(arguments.bytes()))))),
    },
    HostFunction {
        name: "hmac_sha256_hash",
        parameters: &[text("input"), text("key")],
        result: "the code's 32 bytes",
        doc: "The authentication code of a text under a key, by HMAC with SHA-256.",
        effect: Effect::Pure,
        run: Run::Now(|_, mut arguments| {
            let (input, key) = (arguments.bytes(), arguments.bytes());
            let mut code = Hmac::<Sha256>::new_from_slice(&key).map_err(|error| Error::invalid(error.to_string()))?;
            code.update(&input);
            Ok(Value::Bytes(code.finalize().into_bytes().to_vec()))
        }),
    },
];
