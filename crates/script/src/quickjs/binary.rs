//! Bytes in JavaScript: reads `ArrayBuffer` and `Uint8Array`, and writes `ArrayBuffer`.

use rquickjs::{ArrayBuffer, Ctx, Object, Result, TypedArray, Value as JsValue, qjs};

/// A copy of the bytes of an `ArrayBuffer` or `Uint8Array`; `None` for other objects.
pub(super) fn read(object: &Object<'_>) -> Option<Vec<u8>> {
    if is_array_buffer(object) {
        return Some(copy(ArrayBuffer::from_object(object.clone())?.as_raw()));
    }
    if !object.is_typed_array::<u8>() {
        return None;
    }
    TypedArray::<u8>::from_object(object.clone()).ok().map(|bytes| copy(bytes.as_raw()))
}

/// Number of bytes that an object holds, without copying them.
pub(super) fn length(object: &Object<'_>) -> usize {
    let raw = if is_array_buffer(object) {
        ArrayBuffer::from_object(object.clone()).and_then(|buffer| buffer.as_raw())
    } else if object.is_typed_array::<u8>() {
        TypedArray::<u8>::from_object(object.clone()).ok().and_then(|bytes| bytes.as_raw())
    } else {
        None
    };
    raw.map_or(0, |raw| raw.len())
}

/// An `ArrayBuffer` with a copy of the bytes, which counts for the machine's memory.
pub(super) fn write<'js>(ctx: &Ctx<'js>, bytes: &[u8]) -> Result<JsValue<'js>> {
    ArrayBuffer::new_copy(ctx.clone(), bytes).map(ArrayBuffer::into_value)
}

#[expect(unsafe_code, reason = "the library's own check leaves an exception behind for other objects")]
fn is_array_buffer(object: &Object<'_>) -> bool {
    // SAFETY: the call only reads the class of a value that `object` keeps alive.
    unsafe { qjs::JS_IsArrayBuffer(object.as_value().as_raw()) }
}

#[expect(unsafe_code, reason = "the library hands out bytes as a pointer alone")]
fn copy(raw: Option<std::ptr::NonNull<[u8]>>) -> Vec<u8> {
    // SAFETY: the caller's value keeps the buffer alive, and no JavaScript runs until it is copied.
    raw.map_or_else(Vec::new, |raw| unsafe { raw.as_ref() }.to_vec())
}
