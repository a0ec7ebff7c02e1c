//! Renders the value generator that the round-trip and mutation tests of `muster-wire` use.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::model::{Message, Model, Shape};

/// Renders an `Arbitrary` implementation per message, and a macro that visits every message type.
pub fn render(model: &Model) -> String {
    let mut out = "//! Arbitrary values of every message, and a macro that visits every message type.\n\n".to_owned();
    out.push_str("use super::random::{Arbitrary, Random};\n");
    for message in &model.messages {
        render_message(&mut out, message);
    }
    out.push_str("macro_rules! for_every_message { ($visit:ident) => {");
    for message in &model.messages {
        let _ = writeln!(out, "$visit::<muster_wire::{}::{}>();", message.module, message.path);
    }
    out.push_str("}; }\npub(crate) use for_every_message;\n");
    out
}

fn render_message(out: &mut String, message: &Message) {
    let unused = if message.fields.is_empty() { "_" } else { "" };
    let path = format!("muster_wire::{}::{}", message.module, message.path);
    let _ = writeln!(out, "impl Arbitrary for {path} {{ fn arbitrary({unused}random: &mut Random) -> Self {{ Self {{");
    let mut oneofs: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for field in &message.fields {
        match &field.shape {
            Shape::Plain | Shape::Enum(_) => {
                let _ = writeln!(out, "{}: Arbitrary::arbitrary(random),", field.rust_name);
            }
            Shape::Arm { holder, arm } => oneofs.entry(holder).or_default().push(arm),
        }
    }
    for (holder, arms) in oneofs {
        let _ = writeln!(out, "{holder}: match random.below({}) {{", arms.len() + 1);
        for (index, arm) in arms.iter().enumerate() {
            let _ =
                writeln!(out, "{index} => Some(muster_wire::{}::{arm}(Arbitrary::arbitrary(random))),", message.module);
        }
        out.push_str("_ => None },\n");
    }
    out.push_str("} } }\n");
}
