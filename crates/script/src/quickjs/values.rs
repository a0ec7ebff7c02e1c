//! Conversion of values between JavaScript and the host. Names in the host's records become camel case; names that a
//! studio chose stay unchanged.

use rquickjs::object::{Filter, Property};
use rquickjs::{Array, Ctx, Function, IntoJs, Object, Result, String as JsString, Value as JsValue};

use super::binary;
use super::surface::camel_case;
use crate::value::allowance::Allowance;
use crate::value::{DEPTH_MAX, Value};

/// The reason why the host cannot use a value: a sentence, or the exception that JavaScript threw while the value was
/// read.
pub(super) enum Unreadable {
    Told(String),
    Thrown(rquickjs::Error),
}

impl From<rquickjs::Error> for Unreadable {
    fn from(error: rquickjs::Error) -> Self {
        Self::Thrown(error)
    }
}

fn told<T>(why: &str) -> std::result::Result<T, Unreadable> {
    Err(Unreadable::Told(why.to_owned()))
}

/// Reads a value. Objects with a method `toJSON`, such as dates, are read as its result; functions within objects, and
/// members that are undefined, are left out.
///
/// # Errors
/// For values without a form outside of JavaScript, for values nested too deeply or too large, and for exceptions of
/// the value's own code.
pub(super) fn read(value: &JsValue<'_>) -> std::result::Result<Value, Unreadable> {
    read_within(value, &mut Allowance::new())
}

/// Reads one of several values that share an allowance.
///
/// # Errors
/// The errors of [`read`].
pub(super) fn read_within(value: &JsValue<'_>, left: &mut Allowance) -> std::result::Result<Value, Unreadable> {
    Reading { left, keeps_undefined: false }.read(value, 0)
}

/// Reads an argument of a host function whose members the host knows. As in the original, members that are undefined
/// are nil.
///
/// # Errors
/// The errors of [`read`].
pub(super) fn read_argument(value: &JsValue<'_>, left: &mut Allowance) -> std::result::Result<Value, Unreadable> {
    Reading { left, keeps_undefined: true }.read(value, 0)
}

struct Reading<'a> {
    /// The parts and bytes that may still be read.
    left: &'a mut Allowance,
    /// Whether members that are undefined are nil; otherwise they are left out.
    keeps_undefined: bool,
}

impl Reading<'_> {
    fn take(&mut self, bytes: usize) -> std::result::Result<(), Unreadable> {
        self.left.take(bytes).map_err(Unreadable::Told)
    }

    fn read(&mut self, value: &JsValue<'_>, depth: usize) -> std::result::Result<Value, Unreadable> {
        self.take(0)?;
        if let Some(flag) = value.as_bool() {
            return Ok(Value::Flag(flag));
        }
        if let Some(number) = value.as_number() {
            return Ok(Value::Number(number));
        }
        if let Some(string) = value.as_string() {
            let read = text(string)?;
            self.take(read.len())?;
            return Ok(Value::text(read));
        }
        if value.is_null() || value.is_undefined() {
            return Ok(Value::Nil);
        }
        if let Some(number) = value.clone().into_big_int() {
            let number = number.to_i64()?;
            return Ok(Value::Number(number as f64));
        }
        if value.is_function() || value.is_symbol() {
            return told("a function or a symbol cannot be used here");
        }
        let Some(object) = value.as_object() else { return told("this value cannot be used here") };
        if depth >= DEPTH_MAX {
            return told("the value is nested too deeply");
        }
        self.read_object(object, depth + 1)
    }

    fn read_object(&mut self, object: &Object<'_>, depth: usize) -> std::result::Result<Value, Unreadable> {
        let bytes = binary::length(object);
        self.take(bytes)?;
        if let Some(bytes) = binary::read(object) {
            return Ok(Value::Bytes(bytes));
        }
        if let Some(array) = object.as_array() {
            // The library panics on lengths beyond 2^31.
            let length: f64 = object.get("length")?;
            let mut values = Vec::new();
            for index in 0..length as usize {
                values.push(self.read(&array.get(index)?, depth)?);
            }
            return Ok(Value::List(values));
        }
        let own_form: JsValue<'_> = object.get("toJSON")?;
        if let Some(own_form) = own_form.as_function() {
            let value: JsValue<'_> = own_form.call((rquickjs::function::This(object.clone()),))?;
            return self.read(&value, depth);
        }
        let mut entries = Vec::new();
        for entry in object.own_props::<JsString<'_>, JsValue<'_>>(Filter::new().string().enum_only()) {
            let (name, value) = entry?;
            if value.is_undefined() && !self.keeps_undefined || value.is_function() || value.is_symbol() {
                continue;
            }
            let name = text(&name)?;
            self.take(name.len())?;
            entries.push((name, self.read(&value, depth)?));
        }
        Ok(Value::Map(entries))
    }
}

/// A string's text. Lone surrogates become replacement characters.
///
/// # Errors
/// When the machine has no memory left.
pub(super) fn text(string: &JsString<'_>) -> Result<String> {
    match string.to_string() {
        Err(rquickjs::Error::Utf8(_)) => {
            let prototype: Object<'_> = string.ctx().globals().get::<_, Object<'_>>("String")?.get("prototype")?;
            let whole: Function<'_> = prototype.get("toWellFormed")?;
            whole.call::<_, JsString<'_>>((rquickjs::function::This(string.clone()),))?.to_string()
        }
        other => other,
    }
}

/// A value of the host as a value of JavaScript. Bytes become text.
///
/// # Errors
/// When the machine has no memory left.
pub(super) fn write<'js>(ctx: &Ctx<'js>, value: Value) -> Result<JsValue<'js>> {
    match value {
        Value::Nil => Ok(JsValue::new_null(ctx.clone())),
        Value::Flag(flag) => Ok(JsValue::new_bool(ctx.clone(), flag)),
        Value::Number(number) => Ok(JsValue::new_number(ctx.clone(), number)),
        Value::Bytes(bytes) => match String::from_utf8(bytes) {
            Ok(text) => text.into_js(ctx),
            Err(other) => String::from_utf8_lossy(other.as_bytes()).into_js(ctx),
        },
        Value::List(values) | Value::Results(values) => {
            let array = Array::new(ctx.clone())?;
            for (index, value) in values.into_iter().enumerate() {
                array.set(index, write(ctx, value)?)?;
            }
            Ok(array.into_value())
        }
        Value::Map(entries) => {
            let object = Object::new(ctx.clone())?;
            for (name, value) in entries {
                put(&object, &name, write(ctx, value)?)?;
            }
            Ok(object.into_value())
        }
        Value::Record(entries) => {
            let object = Object::new(ctx.clone())?;
            for (name, value) in entries {
                object.set(camel_case(name), write(ctx, value)?)?;
            }
            Ok(object.into_value())
        }
    }
}

/// Sets an object's own property, even if its name is `__proto__`.
pub(super) fn put<'js>(object: &Object<'js>, name: &str, value: JsValue<'js>) -> Result<()> {
    if name == "__proto__" {
        return object.prop(name, Property::from(value).writable().enumerable().configurable());
    }
    object.set(name, value)
}

/// The name of a value's type, in errors.
pub(super) fn kind(value: &JsValue<'_>) -> &'static str {
    if value.is_null() {
        "null"
    } else if value.is_undefined() {
        "undefined"
    } else if value.is_bool() {
        "boolean"
    } else if value.is_number() || value.is_big_int() {
        "number"
    } else if value.is_string() {
        "string"
    } else if value.is_function() {
        "function"
    } else if value.is_array() {
        "array"
    } else {
        "object"
    }
}
