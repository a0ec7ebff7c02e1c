//! Turns an operation's message into a request line and a body: the reverse of a server's router.

use muster_wire::json::{JsonMessage, to_json};
use muster_wire::operations::{Binding, Body, Method};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Map, Value};

use crate::ClientError;

/// Everything but the characters that never need escaping.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A request without its headers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestParts {
    pub method: Method,
    /// Path and, after `?`, the query.
    pub target: String,
    /// JSON; empty if the binding takes no body.
    pub body: Vec<u8>,
}

impl RequestParts {
    /// Spreads the fields of `message` over path, query and body, as the binding defines.
    ///
    /// Fields that cannot stand in a query (maps, lists of messages) are an error.
    pub fn new<M: JsonMessage>(binding: &Binding, message: &M) -> Result<Self, ClientError> {
        let unexpected = |error: serde_json::Error| ClientError::Request(error.to_string());
        let mut fields: Map<String, Value> = serde_json::from_slice(&to_json(message)).map_err(unexpected)?;
        let mut target = fill_path(binding.template, &mut fields)?;
        let body = match binding.body {
            Body::Whole => serde_json::to_vec(&std::mem::take(&mut fields)).map_err(unexpected)?,
            Body::Field(name) => match fields.remove(name) {
                Some(field) => serde_json::to_vec(&field).map_err(unexpected)?,
                None => Vec::new(),
            },
            Body::Absent => Vec::new(),
        };
        let mut separator = '?';
        for (name, value) in &fields {
            append_query(&mut target, &mut separator, name, value)?;
        }
        Ok(Self { method: binding.method, target, body })
    }
}

/// Replaces the parameters of a path and takes them out of the message.
fn fill_path(template: &str, fields: &mut Map<String, Value>) -> Result<String, ClientError> {
    let mut path = String::new();
    let mut rest = template;
    while let Some((before, after)) = rest.split_once('{') {
        let (name, after) = after.split_once('}').unwrap_or((after, ""));
        let missing = || ClientError::Request(format!("{template} needs {name}"));
        let value = fields.remove(name).and_then(|value| scalar(&value)).ok_or_else(missing)?;
        path.push_str(before);
        path.extend(utf8_percent_encode(&value, ESCAPED));
        rest = after;
    }
    path.push_str(rest);
    Ok(path)
}

fn append_query(target: &mut String, separator: &mut char, name: &str, value: &Value) -> Result<(), ClientError> {
    match value {
        Value::Array(items) => {
            for item in items {
                append_query(target, separator, name, item)?;
            }
        }
        Value::Object(fields) => {
            for (inner, value) in fields {
                append_query(target, separator, &format!("{name}.{inner}"), value)?;
            }
        }
        value => {
            let value = scalar(value).ok_or_else(|| ClientError::Request(format!("{name} cannot stand in a query")))?;
            target.push(std::mem::replace(separator, '&'));
            target.push_str(name);
            target.push('=');
            target.extend(utf8_percent_encode(&value, ESCAPED));
        }
    }
    Ok(())
}

fn scalar(value: &Value) -> Option<String> {
    match value {
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(number.to_string()),
        Value::Bool(flag) => Some(flag.to_string()),
        Value::Null | Value::Array(_) | Value::Object(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use muster_wire::api::{AccountDevice, AuthenticateDeviceRequest, GetUsersRequest, ListStorageObjectsRequest, Rpc};
    use muster_wire::operations::{Operation, decode_http, route};

    use super::*;

    /// Writes a request and reads it back with the server's own router.
    fn check<M: JsonMessage + muster_wire::json::SetField + prost::Message + PartialEq + std::fmt::Debug>(
        operation: Operation,
        binding: usize,
        message: &M,
        expect: &str,
    ) {
        let parts = RequestParts::new(&operation.row().bindings[binding], message).unwrap();
        let body = String::from_utf8(parts.body.clone()).unwrap();
        assert_eq!(format!("{} {} {body}", parts.method.name(), parts.target), expect);
        let (path, query) = parts.target.split_once('?').unwrap_or((&parts.target, ""));
        let matched = route(parts.method.name(), path).unwrap();
        assert_eq!(matched.operation, operation);
        assert_eq!(&decode_http::<M>(&matched, query, &parts.body).unwrap(), message);
    }

    #[test]
    fn fields_go_where_the_binding_wants_them() {
        let account = Some(AccountDevice { id: "a b".to_owned(), ..AccountDevice::default() });
        let message = AuthenticateDeviceRequest { account, create: Some(false), username: "x&y".to_owned() };
        let expect = r#"POST /v2/account/authenticate/device?create=false&username=x%26y {"id":"a b"}"#;
        check(Operation::AuthenticateDevice, 0, &message, expect);

        let message = GetUsersRequest { ids: vec!["1".to_owned(), "2".to_owned()], ..GetUsersRequest::default() };
        check(Operation::GetUsers, 0, &message, "GET /v2/user?ids=1&ids=2 ");

        let message = ListStorageObjectsRequest {
            collection: "a/b".to_owned(),
            limit: Some(7),
            ..ListStorageObjectsRequest::default()
        };
        check(Operation::ListStorageObjects, 0, &message, "GET /v2/storage/a%2Fb?limit=7 ");

        let message = Rpc { id: "echo".to_owned(), payload: r#"{"a":1}"#.to_owned(), http_key: String::new() };
        check(Operation::RpcFunc, 0, &message, r#"POST /v2/rpc/echo "{\"a\":1}""#);
    }

    #[test]
    fn a_missing_path_parameter_is_refused() {
        let binding = &Operation::ListStorageObjects.row().bindings[0];
        let error = RequestParts::new(binding, &ListStorageObjectsRequest::default()).unwrap_err();
        assert_eq!(error.to_string(), "cannot ask: /v2/storage/{collection} needs collection");
    }
}
