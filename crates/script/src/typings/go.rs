//! The host table for the generator of Go's methods, `sdk/go/internal/generate`, as JSON.

use serde_json::{Value, json};

use super::types::records;
use crate::host::{Field, HostFunction, Parameter, functions, pending};

/// The text of the JSON file, with all functions and the records that they take and answer.
pub fn go() -> String {
    let records = records().into_iter().map(|record| {
        let fields: Vec<_> = record.fields.iter().map(field).collect();
        json!({ "name": record.name, "fields": fields })
    });
    let table = json!({
        "functions": functions().map(function).collect::<Vec<_>>(),
        "pending": pending().map(function).collect::<Vec<_>>(),
        "records": records.collect::<Vec<_>>(),
    });
    format!("{table:#}\n")
}

fn function(function: &HostFunction) -> Value {
    let parameters = function.parameters.iter().map(|Parameter { name, of, is_optional, .. }| {
        let renamed = function.go.arguments.iter().find(|(known, _)| known == name).map(|(_, go)| *go);
        json!({ "name": name, "type": of.for_go(), "optional": is_optional, "argument": renamed.unwrap_or(name) })
    });
    json!({
        "name": function.name,
        "parameters": parameters.collect::<Vec<_>>(),
        "results": function.results.iter().map(field).collect::<Vec<_>>(),
        "by_hand": function.go.by_hand.unwrap_or_default(),
        "error": function.go.error,
    })
}

fn field(Field { name, of, is_optional }: &Field) -> Value {
    json!({ "name": name, "type": of.for_go(), "optional": is_optional })
}
