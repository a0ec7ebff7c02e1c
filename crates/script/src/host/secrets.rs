//! Hashes of passwords, and random bytes.

use bcrypt::Version;
use muster_domain::{Error, Result};

use super::encoding::NOT_EMPTY;
use super::refusals::BUSY;
use super::{ArgumentRules, EffectClass, HostFunction, JavaScriptShape, LuaShape, ROW, Run, Type, only, required};
use crate::value::Value;

/// Cost of new hashes. A cost that is higher by one doubles the time.
const BCRYPT_COST: u32 = 10;

/// Highest cost of a hash that is compared. A hash with a higher cost would take seconds.
const BCRYPT_COST_MAX: u32 = 15;

/// The largest number of bytes of a password.
const BCRYPT_BYTES_MAX: usize = 72;

/// The largest number of random bytes of one call.
const RANDOM_BYTES_MAX: f64 = 1_048_576.0;

const SALT_BYTES: usize = 16;

const HASH: ArgumentRules = ArgumentRules { not_empty: &["hash"], ..ArgumentRules::BY_RULE };

pub(super) static FUNCTIONS: &[HostFunction] = &[
    HostFunction {
        name: "bcrypt_hash",
        doc: "Hashes a password by bcrypt, with a random salt. The password has at most 72 bytes.",
        parameters: &[required("input", Type::Text)],
        results: &[only(Type::Text)],
        answers: "the hash",
        errors: &[BUSY],
        effect: EffectClass::Chance,
        lua: NOT_EMPTY,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let input = arguments.bytes();
                let mut salt = [0; SALT_BYTES];
                host.entropy.fill(&mut salt);
                host.process.background.run(move || hash(&input, salt)).await?
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "bcrypt_compare",
        doc: "Checks a password against its hash by bcrypt.",
        parameters: &[required("hash", Type::Text), required("plaintext", Type::Text)],
        results: &[only(Type::Flag)],
        answers: "whether the password is right",
        errors: &[BUSY],
        effect: EffectClass::Pure,
        lua: LuaShape::taking(HASH),
        javascript: JavaScriptShape::taking(HASH),
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let (hash, plaintext) = (arguments.text()?, arguments.bytes());
                host.process.background.run(move || compare(&hash, &plaintext)).await?
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "secure_random_bytes",
        doc: "Makes random bytes that nobody can foretell.",
        parameters: &[required("length", Type::Number)],
        results: &[only(Type::Bytes)],
        answers: "the bytes",
        effect: EffectClass::Chance,
        run: Run::Now(|host, mut arguments| {
            let length = match arguments.any() {
                Value::Number(length) if (1.0..=RANDOM_BYTES_MAX).contains(&length) => length as usize,
                _ => return Err(Error::invalid(format!("expects length to be 1 to {RANDOM_BYTES_MAX}"))),
            };
            let mut bytes = vec![0; length];
            host.entropy.fill(&mut bytes);
            Ok(Value::Bytes(bytes))
        }),
        ..ROW
    },
];

fn hash(input: &[u8], salt: [u8; SALT_BYTES]) -> Result<Value> {
    // The library counts a zero behind the input, for which 72 bytes leave no room; bcrypt itself does without.
    let parts = match input.len() {
        BCRYPT_BYTES_MAX => bcrypt::hash_with_salt(input, BCRYPT_COST, salt),
        _ => bcrypt::non_truncating_hash_with_salt(input, BCRYPT_COST, salt),
    };
    let parts = parts.map_err(|error| Error::invalid(format!("cannot hash the input: {error}")))?;
    // The original marks its hashes with this version, which means the same as the library's newer version.
    Ok(Value::text(parts.format_for_version(Version::TwoA)))
}

fn compare(hash: &str, plaintext: &[u8]) -> Result<Value> {
    let cost = hash.split('$').nth(2).and_then(|cost| cost.parse::<u32>().ok());
    if cost.is_some_and(|cost| cost > BCRYPT_COST_MAX) {
        return Err(Error::invalid(format!("expects hash to have a cost of at most {BCRYPT_COST_MAX}")));
    }
    // A text that is no hash is the hash of no password.
    Ok(Value::Flag(bcrypt::verify(plaintext, hash).unwrap_or_default()))
}
