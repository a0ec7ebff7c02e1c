//! A match's state as bytes. Only plain data can be written; the properties of objects keep their order.

use std::sync::Arc;

use rquickjs::object::Filter;
use rquickjs::{Array, BigInt, Ctx, IntoJs as _, Object, Result, String as JsString, TypedArray, Value as JsValue};

use super::MatchResult;
use crate::quickjs::values::{kind, put, text};
use crate::quickjs::{binary, errors};
use crate::value::DEPTH_MAX;

/// Version of the byte format.
const FORM: u8 = 1;

const UNDEFINED: u8 = 0;
const NULL: u8 = 1;
const FALSE: u8 = 2;
const TRUE: u8 = 3;
const NUMBER: u8 = 4;
const TEXT: u8 = 5;
const LIST: u8 = 6;
const OBJECT: u8 = 7;
const BYTES: u8 = 8;
const BIG_INT: u8 = 9;

/// Limit on the bytes of a state.
const STATE_BYTES_MAX: usize = 8 << 20;

/// Writes a state.
///
/// # Errors
/// A sentence that names the path of the value that is no plain data.
pub(super) fn freeze(state: &JsValue<'_>) -> MatchResult<Vec<u8>> {
    let mut writing = Writing { out: vec![FORM], path: vec!["state".to_owned()] };
    writing.value(state)?;
    Ok(writing.out)
}

struct Writing {
    out: Vec<u8>,
    /// The path to the value that is being written, for errors.
    path: Vec<String>,
}

impl Writing {
    fn value(&mut self, value: &JsValue<'_>) -> MatchResult<()> {
        let told = |error: rquickjs::Error| Arc::<str>::from(errors::raised(value.ctx(), &error).message);
        if let Some(flag) = value.as_bool() {
            self.out.push(if flag { TRUE } else { FALSE });
        } else if let Some(number) = value.as_number() {
            self.out.push(NUMBER);
            self.out.extend(number.to_le_bytes());
        } else if let Some(string) = value.as_string() {
            self.out.push(TEXT);
            self.bytes(text(string).map_err(told)?.as_bytes());
        } else if value.is_null() {
            self.out.push(NULL);
        } else if value.is_undefined() {
            self.out.push(UNDEFINED);
        } else if let Some(number) = value.clone().into_big_int() {
            let number = number.to_i64().map_err(|_| self.refused("is a BigInt of more than 64 bits"))?;
            self.out.push(BIG_INT);
            self.out.extend(number.to_le_bytes());
        } else {
            match value.as_object().filter(|_| !value.is_function()) {
                Some(object) => self.object(object)?,
                None => return Err(self.refused(&format!("is a {}", kind(value)))),
            }
        }
        if self.out.len() > STATE_BYTES_MAX {
            return Err(format!("the state of a durable match has more than {STATE_BYTES_MAX} bytes").into());
        }
        Ok(())
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.out.extend((bytes.len() as u64).to_le_bytes());
        self.out.extend(bytes);
    }

    fn object(&mut self, object: &Object<'_>) -> MatchResult<()> {
        let told = |error: rquickjs::Error| Arc::<str>::from(errors::raised(object.ctx(), &error).message);
        if self.path.len() > DEPTH_MAX {
            return Err(self.refused("is nested too deeply, or holds itself"));
        }
        if object.is_typed_array::<u8>() {
            self.out.push(BYTES);
            self.bytes(&binary::read(object).unwrap_or_default());
            return Ok(());
        }
        if let Some(array) = object.as_array() {
            // The library panics on lengths beyond 2^31. Each element takes at least one byte.
            let length: f64 = object.get("length").map_err(told)?;
            if length > STATE_BYTES_MAX as f64 {
                return Err(self.refused("has too many elements"));
            }
            let length = length as usize;
            self.out.push(LIST);
            self.out.extend((length as u64).to_le_bytes());
            for index in 0..length {
                self.path.push(format!("[{index}]"));
                self.value(&array.get(index).map_err(told)?)?;
                self.path.pop();
            }
            return Ok(());
        }
        self.plain(object).map_err(told)?.map_err(|what| self.refused(what))?;
        self.out.push(OBJECT);
        let count_at = self.out.len();
        self.out.extend([0; 8]);
        let mut entries = 0_u64;
        for entry in object.own_props::<JsString<'_>, JsValue<'_>>(Filter::new().string().enum_only()) {
            let (name, value) = entry.map_err(told)?;
            let name = text(&name).map_err(told)?;
            self.bytes(name.as_bytes());
            self.path.push(format!(".{name}"));
            self.value(&value)?;
            self.path.pop();
            entries += 1;
        }
        self.out[count_at..count_at + 8].copy_from_slice(&entries.to_le_bytes());
        Ok(())
    }

    /// Checks that an object has no class: its prototype is that of an object in braces, or null.
    fn plain(&self, object: &Object<'_>) -> Result<std::result::Result<(), &'static str>> {
        let Some(prototype) = object.get_prototype() else { return Ok(Ok(())) };
        let usual: Object<'_> = object.ctx().globals().get::<_, Object<'_>>("Object")?.get("prototype")?;
        Ok(if prototype == usual { Ok(()) } else { Err("is of a class") })
    }

    fn refused(&self, what: &str) -> Arc<str> {
        let most = 8;
        let shown: String = self.path.iter().take(most).map(String::as_str).collect();
        let more = if self.path.len() > most { "..." } else { "" };
        let fit = "of booleans, numbers, strings, arrays, objects in braces and Uint8Array";
        format!("{shown}{more} {what}: the state of a durable match is plain data, {fit}").into()
    }
}

/// Reads a state.
///
/// # Errors
/// For bytes that [`freeze`] did not write, and when the machine has no memory left.
pub(super) fn thaw<'js>(ctx: &Ctx<'js>, state: &[u8]) -> Result<JsValue<'js>> {
    let mut reading = Reading { ctx, rest: state };
    match reading.byte()? {
        FORM => reading.value(),
        _ => Err(damaged()),
    }
}

fn damaged() -> rquickjs::Error {
    rquickjs::Error::new_from_js_message("bytes", "state", "the state is damaged, or of a later release")
}

struct Reading<'a, 'js> {
    ctx: &'a Ctx<'js>,
    rest: &'a [u8],
}

impl<'a, 'js> Reading<'a, 'js> {
    fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count).ok_or_else(damaged)?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const COUNT: usize>(&mut self) -> Result<[u8; COUNT]> {
        self.take(COUNT)?.try_into().map_err(|_| damaged())
    }

    fn byte(&mut self) -> Result<u8> {
        self.array::<1>().map(|[byte]| byte)
    }

    fn count(&mut self) -> Result<usize> {
        usize::try_from(u64::from_le_bytes(self.array()?)).map_err(|_| damaged())
    }

    fn bytes(&mut self) -> Result<&'a [u8]> {
        let count = self.count()?;
        self.take(count)
    }

    fn text(&mut self) -> Result<&'a str> {
        std::str::from_utf8(self.bytes()?).map_err(|_| damaged())
    }

    fn value(&mut self) -> Result<JsValue<'js>> {
        let ctx = self.ctx.clone();
        Ok(match self.byte()? {
            UNDEFINED => JsValue::new_undefined(ctx),
            NULL => JsValue::new_null(ctx),
            FALSE => JsValue::new_bool(ctx, false),
            TRUE => JsValue::new_bool(ctx, true),
            NUMBER => JsValue::new_number(ctx, f64::from_le_bytes(self.array()?)),
            TEXT => self.text()?.into_js(self.ctx)?,
            LIST => {
                let list = Array::new(ctx)?;
                for index in 0..self.count()? {
                    list.set(index, self.value()?)?;
                }
                list.into_value()
            }
            OBJECT => {
                let object = Object::new(ctx)?;
                for _ in 0..self.count()? {
                    let name = self.text()?;
                    put(&object, name, self.value()?)?;
                }
                object.into_value()
            }
            BYTES => TypedArray::<u8>::new(ctx, self.bytes()?)?.into_value(),
            BIG_INT => BigInt::from_i64(ctx, i64::from_le_bytes(self.array()?))?.into_value(),
            _ => return Err(damaged()),
        })
    }
}
