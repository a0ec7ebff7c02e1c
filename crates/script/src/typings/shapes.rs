//! Differences of one language's functions from their rows, in the declarations and in words.

use crate::host::{AnswerShape, ArgumentRules, DefaultValue, Field, HostFunction, RecordType, Type, functions};

static BY_RULE: AnswerShape = AnswerShape::BY_RULE;

/// The shape in which a language has a record, which is that of the functions that answer it.
pub(super) fn shape_of(
    record: &RecordType,
    shape: impl Fn(&'static HostFunction) -> &'static AnswerShape,
) -> &'static AnswerShape {
    let answers = |function: &&'static HostFunction| {
        function.results.iter().any(|result| matches!(answered(&result.of), Some(found) if found.name == record.name))
    };
    functions().find(answers).map_or(&BY_RULE, shape)
}

/// The record that a result is, alone or in a list.
pub(super) fn answered(of: &Type) -> Option<&'static RecordType> {
    match of {
        Type::Record(record) => Some(record),
        Type::List(inner) => answered(inner),
        _ => None,
    }
}

/// The fields of a record in a shape, with their names there.
pub(super) fn fields(record: &RecordType, shape: &AnswerShape) -> Vec<(&'static str, Field)> {
    let spread = record.fields.iter().find(|field| field.name == shape.spread);
    let inner = spread.and_then(|field| answered(&field.of)).map_or(&[][..], |inner| inner.fields);
    let all = record.fields.iter().chain(inner);
    all.filter_map(|field| Some((shape.name_of(field.name)?, *field))).collect()
}

/// The differences of a function in one language, in words; empty when there are none.
pub(super) fn in_words(rules: &ArgumentRules, shape: &AnswerShape) -> String {
    let mut told = of_arguments(rules);
    told.extend(of_answer(shape));
    told.join("; ")
}

fn of_arguments(rules: &ArgumentRules) -> Vec<String> {
    let ArgumentRules { required, not_empty, empty_is_absent, no_numbers, whole, ranges, defaults, .. } = rules;
    let ArgumentRules { null_is_absent, members_not_empty, .. } = rules;
    let mut told = Vec::new();
    let mut tell = |names: &[&str], what: &str| {
        if !names.is_empty() {
            told.push(format!("{} {what}", list(names)));
        }
    };
    tell(required, "may not be left out");
    tell(not_empty, "may not be empty or 0");
    tell(empty_is_absent, "may be empty, which is to leave it out");
    tell(no_numbers, "may not be a number");
    tell(whole, "must be whole");
    tell(null_is_absent, "in a table may be null");
    tell(members_not_empty, "in a table may not be empty");
    told.extend(ranges.iter().map(|(name, min, max)| format!("`{name}` is {min} to {max}")));
    told.extend(defaults.iter().map(|(name, default)| format!("`{name}` is {} unless given", value(*default))));
    told
}

fn of_answer(shape: &AnswerShape) -> Vec<String> {
    let AnswerShape { without, renamed, is_camel_case, spread, boxed, blank, no_empty_list } = shape;
    let mut told = Vec::new();
    if !without.is_empty() {
        told.push(format!("answers without {}", list(without)));
    }
    told.extend(renamed.iter().map(|(by_rule, own)| format!("answers `{by_rule}` as `{own}`")));
    if *is_camel_case {
        told.push("answers names in camel case".to_owned());
    }
    if !spread.is_empty() {
        told.push(format!("answers the fields of `{spread}` beside it, too"));
    }
    if !boxed.is_empty() {
        told.push(format!("answers {} each in a table, as its `Value`", list(boxed)));
    }
    if !blank.is_empty() {
        told.push(format!("answers {} as an empty text where there is none", list(blank)));
    }
    if !no_empty_list.is_empty() {
        told.push(format!("answers {} as nil rather than empty", list(no_empty_list)));
    }
    told
}

/// The value of an argument that is left out, in words.
pub(super) fn value(default: DefaultValue) -> String {
    match default {
        DefaultValue::Nothing => "nothing".to_owned(),
        DefaultValue::Flag(flag) => flag.to_string(),
        DefaultValue::Number(number) => number.to_string(),
        DefaultValue::EmptyList => "an empty list".to_owned(),
    }
}

fn list(names: &[&str]) -> String {
    names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ")
}
