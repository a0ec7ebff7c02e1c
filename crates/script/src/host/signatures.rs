//! Signatures for other services: tokens, and signatures of bytes.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use hmac::{Hmac, Mac};
use muster_domain::{Error, Result};
use ring::rand::SystemRandom;
use ring::signature::{RSA_PKCS1_SHA256, RSA_PKCS1_SHA384, RSA_PKCS1_SHA512, RsaEncoding, RsaKeyPair};
use rustls_pki_types::PrivateKeyDer;
use rustls_pki_types::pem::PemObject;
use sha2::{Sha256, Sha384, Sha512};

use super::refusals::BUSY;
use super::{EffectClass, HostFunction, JavaScriptAnswer, JavaScriptShape, ROW, Run, Type, only, required};
use crate::value::Value;

pub(super) static FUNCTIONS: &[HostFunction] = &[
    HostFunction {
        name: "jwt_generate",
        doc: "Makes a JSON web token. The algorithm is HS256, HS384 or HS512 with a secret as its key, or RS256, \
              RS384 or RS512 with an RSA key in PEM.",
        parameters: &[required("algorithm", Type::Text), required("key", Type::Text), required("claims", Type::Object)],
        results: &[only(Type::Text)],
        answers: "the token",
        errors: &[BUSY],
        effect: EffectClass::Pure,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let (algorithm, key, claims) = (arguments.text()?, arguments.bytes(), arguments.any());
                host.process.background.run(move || token(&algorithm, &key, claims)).await?
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "rsa_sha256_hash",
        doc: "Signs bytes by RSA (PKCS #1 v1.5) with SHA-256. The key is in PEM.",
        parameters: &[required("input", Type::Bytes), required("key", Type::Text)],
        results: &[only(Type::Bytes)],
        answers: "the signature's bytes",
        errors: &[BUSY],
        effect: EffectClass::Pure,
        javascript: JavaScriptShape::answering(JavaScriptAnswer::Text),
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let (input, key) = (arguments.bytes(), arguments.bytes());
                host.process.background.run(move || rsa(&RSA_PKCS1_SHA256, &key, &input).map(Value::Bytes)).await?
            })
        }),
        ..ROW
    },
];

fn token(algorithm: &str, key: &[u8], claims: Value) -> Result<Value> {
    let claims = match claims {
        Value::List(items) if items.is_empty() => Value::Map(Vec::new()),
        claims @ Value::Map(_) => claims,
        _ => return Err(Error::invalid("expects claims to be a table or object with names")),
    };
    let header = serde_json::json!({ "alg": algorithm, "typ": "JWT" });
    let encode = |json: serde_json::Value| URL_SAFE_NO_PAD.encode(json.to_string());
    let signed = format!("{}.{}", encode(header), encode(claims.into_json()));
    let input = signed.as_bytes();
    let signature = match algorithm {
        "HS256" => hmac::<Hmac<Sha256>>(key, input)?,
        "HS384" => hmac::<Hmac<Sha384>>(key, input)?,
        "HS512" => hmac::<Hmac<Sha512>>(key, input)?,
        "RS256" => rsa(&RSA_PKCS1_SHA256, key, input)?,
        "RS384" => rsa(&RSA_PKCS1_SHA384, key, input)?,
        "RS512" => rsa(&RSA_PKCS1_SHA512, key, input)?,
        _ => return Err(Error::invalid("expects algorithm to be HS256, HS384, HS512, RS256, RS384 or RS512")),
    };
    Ok(Value::text(format!("{signed}.{}", URL_SAFE_NO_PAD.encode(signature))))
}

fn hmac<M: Mac + hmac::digest::KeyInit>(key: &[u8], input: &[u8]) -> Result<Vec<u8>> {
    if key.is_empty() {
        return Err(Error::invalid("expects key not to be empty"));
    }
    let code = <M as Mac>::new_from_slice(key).map_err(|error| Error::invalid(error.to_string()))?;
    Ok(code.chain_update(input).finalize().into_bytes().to_vec())
}

fn rsa(form: &'static dyn RsaEncoding, key: &[u8], input: &[u8]) -> Result<Vec<u8>> {
    let unfit = |why: &dyn std::fmt::Display| Error::invalid(format!("expects key to be an RSA key in PEM: {why}"));
    let pair = match PrivateKeyDer::from_pem_slice(key).map_err(|error| unfit(&error))? {
        PrivateKeyDer::Pkcs1(der) => RsaKeyPair::from_der(der.secret_pkcs1_der()),
        PrivateKeyDer::Pkcs8(der) => RsaKeyPair::from_pkcs8(der.secret_pkcs8_der()),
        _ => return Err(unfit(&"it is a key of another kind")),
    };
    let pair = pair.map_err(|error| unfit(&error))?;
    let mut signature = vec![0; pair.public().modulus_len()];
    let signed = pair.sign(form, &SystemRandom::new(), input, &mut signature);
    signed.map_err(|_| Error::invalid("cannot sign with this key"))?;
    Ok(signature)
}
