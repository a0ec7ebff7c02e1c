//! Renders, for every message, the code that writes its JSON, reads its JSON and sets its fields from text.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::model::{Field, Message, Model, Shape};

/// Renders the `<module>_fields.rs` file: the trait implementations of one package.
pub fn render(model: &Model, module: &str) -> String {
    let mut out = format!("//! JSON and field access for the messages of package `nakama.{module}`.\n\n");
    out.push_str("use crate::json::{self, FieldError, FieldPath, JsonError, JsonMessage, Reader, SetField, Writer};\n");
    let _ = writeln!(out, "use super::{module}::*;");
    for path in model.enums.iter().filter(|path| path.module == module) {
        let name = &path.path;
        let _ = writeln!(
            out,
            "impl json::EnumNames for {name} {{ fn number_of(name: &str) -> Option<i32> {{ Self::from_str_name(name).map(i32::from) }} }}"
        );
    }
    for message in model.messages.iter().filter(|message| message.module == module) {
        render_json(&mut out, message);
        render_set_field(&mut out, message);
        if message.has_secret() {
            render_debug(&mut out, message);
        }
    }
    out
}

/// Renders the `mod.rs` that joins the generated modules; those of nodes are given by name.
pub fn render_mod(model: &Model, of_nodes: &[String]) -> String {
    let mut modules: Vec<&str> = model.messages.iter().map(|message| message.module.as_str()).collect();
    modules.dedup();
    let mut out = "//! What `cargo xtask codegen` makes of the schema files.\n\n".to_owned();
    for module in modules {
        let _ = writeln!(
            out,
            "#[allow(clippy::all, clippy::pedantic, clippy::large_enum_variant)]\npub mod {module};\nmod {module}_fields;"
        );
    }
    for module in of_nodes {
        let _ = writeln!(out, "#[allow(clippy::all, clippy::pedantic)]\npub mod {module};");
    }
    out
}

fn render_json(out: &mut String, message: &Message) {
    let fields = &message.fields;
    let _ = writeln!(out, "impl JsonMessage for {} {{", message.path);
    let unused = if fields.is_empty() { "_" } else { "" };

    let _ = writeln!(out, "fn write_fields(&self, {unused}writer: &mut Writer<'_>) {{");
    write_statements(out, fields);
    out.push_str("}\n");

    let _ = writeln!(out, "fn field_number({unused}name: &str) -> Option<u32> {{");
    if fields.is_empty() {
        out.push_str("None }\n");
    } else {
        out.push_str("Some(match name {");
        for field in fields {
            if field.json_name == field.name {
                let _ = write!(out, "{:?} => {},", field.name, field.number);
            } else {
                let _ = write!(out, "{:?} | {:?} => {},", field.name, field.json_name, field.number);
            }
        }
        out.push_str("_ => return None, }) }\n");
    }

    let _ = writeln!(
        out,
        "fn read_field(&mut self, {unused}number: u32, {unused}reader: &mut Reader<'_>) -> Result<(), JsonError> {{"
    );
    if fields.is_empty() {
        out.push_str("Ok(()) }\n}\n");
        return;
    }
    out.push_str("match number {");
    for field in fields {
        let _ = writeln!(out, "{} => {},", field.number, read_expression(field));
    }
    out.push_str("_ => Ok(()), } }\n}\n");
}

fn write_statements(out: &mut String, fields: &[Field]) {
    let mut oneofs: BTreeMap<&str, Vec<(&Field, &str)>> = BTreeMap::new();
    for field in fields {
        match &field.shape {
            Shape::Plain | Shape::Enum(_) => {
                let _ = writeln!(out, "writer.field({}, &self.{});", key(field), field.rust_name);
            }
            Shape::Arm { holder, arm } => oneofs.entry(holder).or_default().push((field, arm)),
        }
    }
    for (holder, arms) in oneofs {
        let _ = writeln!(out, "match &self.{holder} {{ None => {{}}");
        for (field, arm) in arms {
            let _ = writeln!(out, "Some({arm}(value)) => writer.present({}, value),", key(field));
        }
        out.push_str("}\n");
    }
}

/// The name of a JSON member as written, with quotes and colon.
fn key(field: &Field) -> String {
    format!("{:?}", format!("\"{}\":", field.name))
}

fn read_expression(field: &Field) -> String {
    let name = &field.rust_name;
    match &field.shape {
        Shape::Plain => format!("json::read(&mut self.{name}, reader)"),
        Shape::Enum(path) => format!("json::read_enum::<{}>(&mut self.{name}, reader)", path.path),
        Shape::Arm { holder, arm } => format!("json::read_arm(&mut self.{holder}, {arm}, reader)"),
    }
}

fn render_set_field(out: &mut String, message: &Message) {
    let unused = if message.fields.is_empty() { "_" } else { "" };
    let _ = writeln!(
        out,
        "impl SetField for {} {{ fn set_field(&mut self, {unused}number: u32, {unused}path: FieldPath<'_>, {unused}text: &str) -> Result<(), FieldError> {{",
        message.path
    );
    if message.fields.is_empty() {
        out.push_str("Ok(()) } }\n");
        return;
    }
    out.push_str("match number {");
    for field in &message.fields {
        let name = &field.rust_name;
        let expression = match &field.shape {
            Shape::Plain => format!("json::set(&mut self.{name}, path, text)"),
            Shape::Enum(enum_path) => {
                format!("json::set_enum::<{}>(&mut self.{name}, path, text)", enum_path.path)
            }
            Shape::Arm { holder, arm } => format!("json::set_arm(&mut self.{holder}, {arm}, path, text)"),
        };
        let _ = writeln!(out, "{} => {expression},", field.number);
    }
    out.push_str("_ => Ok(()), } } }\n");
}

/// Renders a `Debug` implementation without the secrets.
fn render_debug(out: &mut String, message: &Message) {
    let name = &message.path;
    let _ = writeln!(
        out,
        "impl std::fmt::Debug for {name} {{ fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {{"
    );
    let _ = write!(out, "formatter.debug_struct({name:?})");
    for field in &message.fields {
        if field.is_secret() {
            let _ = write!(out, ".field({:?}, &format_args!(\"..\"))", field.name);
        } else {
            let _ = write!(out, ".field({:?}, &self.{})", field.name, field.rust_name);
        }
    }
    out.push_str(".finish() } }\n");
}
