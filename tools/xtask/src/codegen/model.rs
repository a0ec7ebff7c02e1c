//! The generators' model of the schema: messages, fields, and their names in prost's Rust.
//!
//! Shapes that the JSON code does not support are refused, so that a new one is noticed here and not on the wire.

use std::collections::BTreeSet;

use anyhow::{Context as _, bail};
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, FieldDescriptorProto, FileDescriptorSet};

/// The prefix of the packages of messages to clients.
pub const PACKAGES: &str = "nakama.";

/// Highest field number that fits into the bit set that finds duplicate members.
const FIELD_NUMBER_MAX: i32 = 63;

/// Fields that are never shown in debug output, and so never in a log.
const SECRET_FIELDS: [&str; 4] = ["http_key", "password", "refresh_token", "token"];

pub struct Model {
    pub messages: Vec<Message>,
    /// Enums that some field has as its type.
    pub enums: BTreeSet<EnumPath>,
}

pub struct Message {
    /// Last part of the package: `api` or `realtime`.
    pub module: String,
    /// Path below the module, such as `group_user_list::GroupUser`.
    pub path: String,
    pub fields: Vec<Field>,
}

pub struct Field {
    pub number: i32,
    pub name: String,
    pub json_name: String,
    pub rust_name: String,
    pub shape: Shape,
}

pub enum Shape {
    /// A field whose Rust type says all.
    Plain,
    /// An `i32` that holds the value of an enum.
    Enum(EnumPath),
    /// An arm of a oneof: the field that holds it, and the path of the arm below the module.
    Arm { holder: String, arm: String },
}

impl Message {
    /// Whether some field is secret, so that prost must not derive `Debug`. Arms of a oneof do not count: they hold
    /// only ids and single-use tickets.
    pub fn has_secret(&self) -> bool {
        self.fields.iter().any(Field::is_secret)
    }
}

impl Field {
    pub fn is_secret(&self) -> bool {
        matches!(self.shape, Shape::Plain) && SECRET_FIELDS.contains(&self.name.as_str())
    }
}

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct EnumPath {
    pub module: String,
    pub path: String,
}

impl Model {
    pub fn read(set: &FileDescriptorSet) -> anyhow::Result<Self> {
        let mut model = Model { messages: Vec::new(), enums: BTreeSet::new() };
        for file in &set.file {
            let Some(module) = file.package().strip_prefix(PACKAGES) else { continue };
            for message in &file.message_type {
                model.add(module, "", message)?;
            }
        }
        Ok(model)
    }

    fn add(&mut self, module: &str, outer: &str, descriptor: &DescriptorProto) -> anyhow::Result<()> {
        let path = format!("{outer}{}", descriptor.name());
        let inner = format!("{outer}{}::", snake_case(descriptor.name()));
        let mut fields = Vec::new();
        for field in &descriptor.field {
            let field = read_field(&inner, descriptor, field).with_context(|| path.clone())?;
            if let Shape::Enum(path) = &field.shape {
                self.enums.insert(path.clone());
            }
            fields.push(field);
        }
        self.messages.push(Message { module: module.to_owned(), path, fields });
        for nested in &descriptor.nested_type {
            if !is_map_entry(nested) {
                self.add(module, &inner, nested)?;
            }
        }
        Ok(())
    }
}

/// Whether a nested message is the entry of a map, which is no message of its own.
pub fn is_map_entry(message: &DescriptorProto) -> bool {
    message.options.as_ref().is_some_and(|options| options.map_entry())
}

fn read_field(inner: &str, owner: &DescriptorProto, field: &FieldDescriptorProto) -> anyhow::Result<Field> {
    if !(1..=FIELD_NUMBER_MAX).contains(&field.number()) {
        bail!("field {} has a number over {FIELD_NUMBER_MAX}", field.name());
    }
    let shape = if let Some(index) = field.oneof_index {
        let holder = owner.oneof_decl.get(usize::try_from(index)?).context("oneof index")?.name();
        let arm = format!("{inner}{}::{}", upper_camel_case(holder), upper_camel_case(field.name()));
        Shape::Arm { holder: rust_name(holder), arm }
    } else if field.r#type() == Type::Enum {
        if field.label() == Label::Repeated {
            bail!("field {}: repeated enums are not supported", field.name());
        }
        Shape::Enum(enum_path(field.type_name())?)
    } else {
        if matches!(field.r#type(), Type::Group) {
            bail!("field {}: groups are not supported", field.name());
        }
        Shape::Plain
    };
    Ok(Field {
        number: field.number(),
        name: field.name().to_owned(),
        json_name: field.json_name().to_owned(),
        rust_name: rust_name(field.name()),
        shape,
    })
}

fn enum_path(type_name: &str) -> anyhow::Result<EnumPath> {
    let below = type_name.strip_prefix(".nakama.").context("enum outside of our packages")?;
    let (module, name) = below.split_once('.').context("enum without a package")?;
    if name.contains('.') {
        bail!("enum {name}: nested enums are not supported as field types");
    }
    Ok(EnumPath { module: module.to_owned(), path: name.to_owned() })
}

/// The field name as prost writes it.
fn rust_name(name: &str) -> String {
    match name {
        "self" => "self_".to_owned(),
        "type" | "match" | "ref" | "move" => format!("r#{name}"),
        _ => name.to_owned(),
    }
}

fn snake_case(name: &str) -> String {
    let mut out = String::new();
    for (index, letter) in name.chars().enumerate() {
        if letter.is_ascii_uppercase() && index > 0 {
            out.push('_');
        }
        out.push(letter.to_ascii_lowercase());
    }
    out
}

fn upper_camel_case(name: &str) -> String {
    name.split('_')
        .map(|word| {
            let (first, rest) = word.split_at(word.len().min(1));
            first.to_ascii_uppercase() + rest
        })
        .collect()
}
