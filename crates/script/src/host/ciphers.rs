//! AES in cipher feedback mode (CFB-128). Encrypted bytes begin with the 16 random bytes of their initialization
//! vector. A receiver cannot see whether the bytes were changed on the way.

use aes::cipher::consts::U16;
use aes::cipher::{AsyncStreamCipher, BlockCipher, BlockEncryptMut, BlockSizeUser, Key, KeyInit, KeyIvInit};
use aes::{Aes128, Aes256};
use cfb_mode::{Decryptor, Encryptor};
use muster_domain::{Error, Result};

use super::{
    Arguments, EffectClass, Host, HostFunction, JavaScriptAnswer, JavaScriptShape, ROW, Run, Type, only, required,
};
use crate::value::Value;

const BLOCK_BYTES: usize = 16;

/// The shape of functions that decrypt: JavaScript gives a text in base 64 and gets a text.
const FROM_BASE64: JavaScriptShape =
    JavaScriptShape { takes_base64: true, ..JavaScriptShape::answering(JavaScriptAnswer::Text) };

pub(super) static FUNCTIONS: &[HostFunction] = &[
    HostFunction {
        name: "aes128_encrypt",
        doc: "Encrypts bytes by AES-128 in CFB mode, with a key of 16 bytes.",
        parameters: &[required("input", Type::Bytes), required("key", Type::Text)],
        results: &[only(Type::Bytes)],
        answers: "the encrypted bytes",
        effect: EffectClass::Chance,
        javascript: JavaScriptShape::answering(JavaScriptAnswer::Base64),
        run: Run::Now(encrypt::<Aes128>),
        ..ROW
    },
    HostFunction {
        name: "aes128_decrypt",
        doc: "Decrypts bytes that aes128_encrypt encrypted with this key.",
        parameters: &[required("input", Type::Bytes), required("key", Type::Text)],
        results: &[only(Type::Bytes)],
        answers: "the decrypted bytes",
        effect: EffectClass::Pure,
        javascript: FROM_BASE64,
        run: Run::Now(decrypt::<Aes128>),
        ..ROW
    },
    HostFunction {
        name: "aes256_encrypt",
        doc: "Encrypts bytes by AES-256 in CFB mode, with a key of 32 bytes.",
        parameters: &[required("input", Type::Bytes), required("key", Type::Text)],
        results: &[only(Type::Bytes)],
        answers: "the encrypted bytes",
        effect: EffectClass::Chance,
        javascript: JavaScriptShape::answering(JavaScriptAnswer::Base64),
        run: Run::Now(encrypt::<Aes256>),
        ..ROW
    },
    HostFunction {
        name: "aes256_decrypt",
        doc: "Decrypts bytes that aes256_encrypt encrypted with this key.",
        parameters: &[required("input", Type::Bytes), required("key", Type::Text)],
        results: &[only(Type::Bytes)],
        answers: "the decrypted bytes",
        effect: EffectClass::Pure,
        javascript: FROM_BASE64,
        run: Run::Now(decrypt::<Aes256>),
        ..ROW
    },
];

fn key<C: KeyInit>(arguments: &mut Arguments) -> Result<Key<C>> {
    let given = arguments.bytes();
    if given.len() != C::key_size() {
        return Err(Error::invalid(format!("expects key {} bytes long, got {}", C::key_size(), given.len())));
    }
    Ok(Key::<C>::clone_from_slice(&given))
}

fn encrypt<C>(host: &Host, mut arguments: Arguments) -> Result<Value>
where
    C: BlockEncryptMut + BlockCipher + KeyInit + BlockSizeUser<BlockSize = U16>,
{
    let input = arguments.bytes();
    let key = key::<C>(&mut arguments)?;
    let mut start = [0; BLOCK_BYTES];
    host.entropy.fill(&mut start);
    let mut output = Vec::with_capacity(BLOCK_BYTES + input.len());
    output.extend(start);
    output.extend(input);
    Encryptor::<C>::new(&key, &start.into()).encrypt(&mut output[BLOCK_BYTES..]);
    Ok(Value::Bytes(output))
}

fn decrypt<C>(_: &Host, mut arguments: Arguments) -> Result<Value>
where
    C: BlockEncryptMut + BlockCipher + KeyInit + BlockSizeUser<BlockSize = U16>,
{
    let mut input = arguments.bytes();
    let key = key::<C>(&mut arguments)?;
    let Some(start) = input.first_chunk::<BLOCK_BYTES>().copied() else {
        return Err(Error::invalid(format!("expects input to have at least {BLOCK_BYTES} bytes")));
    };
    input.drain(..BLOCK_BYTES);
    Decryptor::<C>::new(&key, &start.into()).decrypt(&mut input);
    Ok(Value::Bytes(input))
}
