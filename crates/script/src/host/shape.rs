//! Differences of one language's function from the form that follows from its row: which arguments the function takes,
//! and what the tables that it answers look like. Rows hold such differences where the original's languages differ.

use super::row::{DefaultValue, HostFunction, Parameter};
use super::types::Type;
use crate::value::Value;

/// Differences in the arguments of a function. Each list holds names of parameters.
#[derive(Clone, Copy, Debug)]
pub struct ArgumentRules {
    /// Arguments that may not be left out, though other languages may leave them out.
    pub required: &'static [&'static str],
    /// Arguments that may not be an empty text, an empty list or 0.
    pub not_empty: &'static [&'static str],
    /// Arguments that count as left out when they are an empty text or 0.
    pub empty_is_absent: &'static [&'static str],
    /// Texts in whose place no number may stand.
    pub no_numbers: &'static [&'static str],
    /// Numbers that must be whole.
    pub whole: &'static [&'static str],
    /// Numbers with their lowest and highest value.
    pub ranges: &'static [(&'static str, f64, f64)],
    /// Values of arguments that are left out.
    pub defaults: &'static [(&'static str, DefaultValue)],
    /// Members of tables that count as left out when they are null. In JavaScript other members may be left out, but not
    /// be null or undefined.
    pub null_is_absent: &'static [&'static str],
    /// Members of tables that may be left out, but not be an empty text, in JavaScript.
    pub members_not_empty: &'static [&'static str],
}

/// An argument that breaks a rule: its index in the row, and what it must be.
#[derive(Debug)]
pub(crate) struct Unfit {
    pub(crate) index: usize,
    pub(crate) expected: String,
}

/// A member of a table that breaks a rule: its name, and what it must be.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct UnfitMember {
    pub(crate) name: &'static str,
    pub(crate) expected: &'static str,
}

impl ArgumentRules {
    /// No difference.
    pub const BY_RULE: Self = Self {
        required: &[],
        not_empty: &[],
        empty_is_absent: &[],
        no_numbers: &[],
        whole: &[],
        ranges: &[],
        defaults: &[],
        null_is_absent: &[],
        members_not_empty: &[],
    };

    fn range(&self, name: &str) -> Option<&'static (&'static str, f64, f64)> {
        self.ranges.iter().find(|(known, ..)| *known == name)
    }

    /// Whether an argument may be left out.
    pub(crate) fn is_optional(&self, parameter: &Parameter) -> bool {
        parameter.is_optional && !self.required.contains(&parameter.name)
    }

    /// Value of an argument that is left out.
    pub(crate) fn default(&self, parameter: &Parameter) -> DefaultValue {
        let own = self.defaults.iter().find(|(name, _)| *name == parameter.name);
        own.map_or(parameter.default, |(_, default)| *default)
    }

    /// Checks the arguments of a call by these rules, and replaces those that are left out by their values.
    ///
    /// # Errors
    /// The first argument that breaks a rule.
    pub(crate) fn apply(&self, function: &HostFunction, values: &mut Vec<Value>) -> Result<(), Unfit> {
        if values.len() < function.parameters.len() {
            values.resize(function.parameters.len(), Value::Nil);
        }
        for (index, (parameter, value)) in function.parameters.iter().zip(values).enumerate() {
            let name = &parameter.name;
            let refuse = |expected: &str| Err(Unfit { index, expected: expected.to_owned() });
            if self.empty_is_absent.contains(name) && is_empty(value) {
                *value = Value::Nil;
            }
            if self.required.contains(name) && *value == Value::Nil {
                return refuse("given");
            }
            // An empty table in place of a text is refused later, as a value of another type.
            let is_table = matches!(value, Value::List(_) | Value::Map(_));
            let is_other_type = is_table && matches!(parameter.of, Type::Text | Type::Bytes);
            if self.not_empty.contains(name) && is_empty(value) && !is_other_type {
                return refuse("given, and not empty");
            }
            if self.no_numbers.contains(name) && matches!(value, Value::Number(_)) {
                return refuse("a string");
            }
            if self.whole.contains(name) && matches!(value, Value::Number(number) if number.fract() != 0.0) {
                return refuse("a whole number");
            }
            if let (Some((_, min, max)), Value::Number(number)) = (self.range(name), &*value)
                && !(*min..=*max).contains(number)
            {
                return refuse(&format!("{min} to {max}"));
            }
            if *value == Value::Nil && self.defaults.iter().any(|(known, _)| known == name) {
                *value = self.default(parameter).value();
            }
        }
        Ok(())
    }
}

/// Whether an argument is an empty text, an empty list or 0.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Bytes(text) => text.is_empty(),
        Value::List(items) => items.is_empty(),
        Value::Map(entries) => entries.is_empty(),
        Value::Number(number) => *number == 0.0,
        _ => false,
    }
}

/// Differences in what a function answers. Names are those of the fields of the record that it answers, alone or in a
/// list, unless the comment says otherwise.
#[derive(Clone, Copy, Debug)]
pub struct AnswerShape {
    /// Fields that the language does not have.
    pub without: &'static [&'static str],
    /// Fields with other names.
    pub renamed: &'static [(&'static str, &'static str)],
    /// Whether Lua writes the names of the fields in camel case, as JavaScript does.
    pub is_camel_case: bool,
    /// A field whose own fields stand beside it, too; empty for none.
    pub spread: &'static str,
    /// Fields whose value stands in a table of its own, under `Value`.
    pub boxed: &'static [&'static str],
    /// Names of results that are an empty text, rather than nothing, when they are absent.
    pub blank: &'static [&'static str],
    /// Names of results that are nothing, rather than an empty list.
    pub no_empty_list: &'static [&'static str],
}

impl AnswerShape {
    /// No difference.
    pub const BY_RULE: Self = Self {
        without: &[],
        renamed: &[],
        is_camel_case: false,
        spread: "",
        boxed: &[],
        blank: &[],
        no_empty_list: &[],
    };

    /// The name of a field in this shape, given the name by rule; `None` for a field that the language does not have.
    pub(crate) fn name_of(&self, name: &'static str) -> Option<&'static str> {
        if self.without.contains(&name) {
            return None;
        }
        Some(self.renamed.iter().find(|(by_rule, _)| *by_rule == name).map_or(name, |(_, own)| *own))
    }

    fn is_by_rule(&self) -> bool {
        let lists = self.without.len() + self.renamed.len() + self.boxed.len() + self.blank.len();
        lists + self.no_empty_list.len() + self.spread.len() == 0 && !self.is_camel_case
    }

    /// Gives the answer of a function this shape. `camel_case` writes a name in camel case.
    pub(crate) fn apply(&self, function: &HostFunction, answer: Value, camel_case: fn(&str) -> String) -> Value {
        if self.is_by_rule() {
            return answer;
        }
        let Value::Results(values) = answer else { return self.of_tables(answer, camel_case) };
        let results = function.results.iter().map(|result| result.name).chain(std::iter::repeat(""));
        let shaped = values.into_iter().zip(results).map(|(value, name)| match value {
            Value::Nil if self.blank.contains(&name) => Value::text(""),
            Value::List(items) if items.is_empty() && self.no_empty_list.contains(&name) => Value::Nil,
            value => self.of_tables(value, camel_case),
        });
        Value::Results(shaped.collect())
    }

    fn of_tables(&self, value: Value, camel_case: fn(&str) -> String) -> Value {
        match value {
            Value::List(items) => Value::List(items.into_iter().map(|item| self.of_tables(item, camel_case)).collect()),
            Value::Record(fields) => self.of_record(fields, camel_case),
            other => other,
        }
    }

    fn of_record(&self, mut fields: Vec<(&'static str, Value)>, camel_case: fn(&str) -> String) -> Value {
        let spread = fields.iter().find(|(name, _)| *name == self.spread).map(|(_, value)| value.clone());
        if let Some(Value::Record(inner)) = spread {
            fields.extend(inner);
        }
        let shaped = fields.into_iter().filter_map(|(name, value)| {
            let boxed = if self.boxed.contains(&name) { Value::Map(vec![("Value".to_owned(), value)]) } else { value };
            Some((self.name_of(name)?, boxed))
        });
        if self.is_camel_case {
            Value::Map(shaped.map(|(name, value)| (camel_case(name), value)).collect())
        } else {
            Value::Record(shaped.collect())
        }
    }
}

/// Differences of Lua's function from the form by rule.
#[derive(Clone, Copy, Debug)]
pub struct LuaShape {
    /// Differences in the arguments.
    pub arguments: ArgumentRules,
    /// Differences in the answer.
    pub answer: AnswerShape,
}

impl LuaShape {
    /// The shape by rule.
    pub const BY_RULE: Self = Self { arguments: ArgumentRules::BY_RULE, answer: AnswerShape::BY_RULE };

    /// The shape by rule, with other rules for arguments.
    pub(super) const fn taking(arguments: ArgumentRules) -> Self {
        Self { arguments, ..Self::BY_RULE }
    }

    /// The shape by rule, with another answer.
    pub(super) const fn answering(answer: AnswerShape) -> Self {
        Self { answer, ..Self::BY_RULE }
    }
}
