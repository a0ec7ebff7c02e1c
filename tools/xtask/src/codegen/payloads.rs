//! Renders the table of messages that hooks get, from which the declarations for TypeScript are made.

use std::fmt::Write as _;

use anyhow::bail;
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, FieldDescriptorProto, FileDescriptorSet};

use super::model::{PACKAGES, is_map_entry};

/// Renders the file: all messages of the packages, with the members that they have as JSON.
pub fn render(set: &FileDescriptorSet) -> anyhow::Result<String> {
    let mut out = "//! The messages that hooks of game code get, with their members as JSON.\n\n\
        use super::payloads::{Count, Kind, Member, Message};\n\n\
        pub(super) static MESSAGES: &[Message] = &[\n"
        .to_owned();
    for file in &set.file {
        let Some(package) = file.package().strip_prefix(PACKAGES) else { continue };
        for message in &file.message_type {
            render_message(&mut out, &format!("{package}.{}", message.name()), message)?;
        }
    }
    out.push_str("];\n");
    Ok(out)
}

fn render_message(out: &mut String, path: &str, message: &DescriptorProto) -> anyhow::Result<()> {
    let _ = writeln!(out, "Message {{ path: {path:?}, members: &[");
    for field in &message.field {
        let (kind, count) = shape(message, field)?;
        let _ = writeln!(out, "Member {{ name: {:?}, kind: {kind}, count: {count} }},", field.json_name());
    }
    out.push_str("] },\n");
    for nested in message.nested_type.iter().filter(|nested| !is_map_entry(nested)) {
        render_message(out, &format!("{path}.{}", nested.name()), nested)?;
    }
    Ok(())
}

/// The kind of a member's values, and how many there may be.
fn shape(owner: &DescriptorProto, field: &FieldDescriptorProto) -> anyhow::Result<(String, &'static str)> {
    let entry = owner
        .nested_type
        .iter()
        .find(|nested| is_map_entry(nested) && field.type_name().rsplit('.').next() == Some(nested.name()));
    if let Some(value) = entry.and_then(|entry| entry.field.iter().find(|field| field.name() == "value")) {
        return Ok((kind(value)?, "Count::ByName"));
    }
    let count = match field.r#type() {
        _ if field.label() == Label::Repeated => "Count::List",
        _ if field.oneof_index.is_some() => "Count::Alternative",
        Type::Message => "Count::OneOrNull",
        _ => "Count::One",
    };
    Ok((kind(field)?, count))
}

fn kind(field: &FieldDescriptorProto) -> anyhow::Result<String> {
    Ok(match (field.r#type(), field.type_name()) {
        (Type::Message, ".google.protobuf.BoolValue") | (Type::Bool, _) => "Kind::Flag".to_owned(),
        (Type::Message, ".google.protobuf.StringValue" | ".google.protobuf.Timestamp")
        | (Type::Message, ".google.protobuf.Int64Value" | ".google.protobuf.UInt64Value")
        | (Type::String | Type::Bytes | Type::Int64 | Type::Uint64, _) => "Kind::Text".to_owned(),
        (Type::Message, ".google.protobuf.Int32Value" | ".google.protobuf.UInt32Value")
        | (Type::Int32 | Type::Uint32 | Type::Enum | Type::Float | Type::Double, _) => "Kind::Number".to_owned(),
        (Type::Message, name) => match name.strip_prefix('.').and_then(|name| name.strip_prefix(PACKAGES)) {
            Some(path) => format!("Kind::Message({path:?})"),
            None => bail!("field {}: {name} is not supported", field.name()),
        },
        (other, _) => bail!("field {}: {other:?} is not supported", field.name()),
    })
}
