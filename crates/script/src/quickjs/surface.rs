//! The functions of the host table as JavaScript has them: their names, the order of their arguments, and the form of
//! their answers. All of it follows from the table's rows.

use std::sync::LazyLock;

use crate::host::{HostFunction, JavaScriptAnswer, Parameter, Type, functions};

/// The conversion of a host function's results for JavaScript.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum AnswerForm {
    /// The value itself; nil becomes `undefined`.
    Plain,
    /// The value itself; nil becomes `null`.
    OrNull,
    /// Bytes become an `ArrayBuffer`.
    Binary,
    /// Bytes become their text in base 64.
    Base64,
    /// An object of the results under these names. A result that is nil becomes `null`; results that are absent at the
    /// end are left out.
    Named(Vec<String>),
    /// Such an object for a response over HTTP. The second result is the headers, each of which becomes a list.
    Response(Vec<String>),
}

/// A function of the host table as JavaScript has it.
pub(crate) struct JavaScriptFunction {
    /// The function.
    pub(crate) function: &'static HostFunction,
    /// The names of the function in JavaScript. Errors use the first one.
    pub(crate) names: Vec<String>,
    /// The index of each parameter's argument in JavaScript.
    pub(super) positions: Vec<usize>,
    /// The conversion of its results.
    pub(crate) answer: AnswerForm,
}

/// All functions that are built, in the table's order.
pub(crate) static FORMS: LazyLock<Vec<JavaScriptFunction>> =
    LazyLock::new(|| functions().map(JavaScriptFunction::of).collect());

impl JavaScriptFunction {
    fn of(function: &'static HostFunction) -> Self {
        Self { function, names: names(function), positions: positions(function), answer: answer(function) }
    }

    /// The parameters in the order of JavaScript's arguments.
    pub(crate) fn arguments(&self) -> Vec<&'static Parameter> {
        let mut placed: Vec<_> = self.function.parameters.iter().zip(&self.positions).collect();
        placed.sort_by_key(|(_, position)| **position);
        placed.into_iter().map(|(parameter, _)| parameter).collect()
    }
}

/// The names of a function of the host table in JavaScript.
pub(crate) fn names(function: &HostFunction) -> Vec<String> {
    match function.javascript.names {
        [] => vec![camel_case(function.name)],
        names => names.iter().map(|&name| name.to_owned()).collect(),
    }
}

fn positions(function: &HostFunction) -> Vec<usize> {
    let order = function.javascript.order;
    let position = |(index, name): (usize, &str)| order.iter().position(|&ordered| ordered == name).unwrap_or(index);
    function.parameters.iter().map(|parameter| parameter.name).enumerate().map(position).collect()
}

fn answer(function: &HostFunction) -> AnswerForm {
    let named = || function.results.iter().map(|result| camel_case(result.name)).collect();
    match (function.javascript.answer, function.results) {
        (JavaScriptAnswer::Text, _) | (_, []) => AnswerForm::Plain,
        (JavaScriptAnswer::Base64, _) => AnswerForm::Base64,
        (JavaScriptAnswer::Response, _) => AnswerForm::Response(named()),
        (JavaScriptAnswer::ByRule, [only]) if only.name.is_empty() => match only.of {
            Type::Bytes => AnswerForm::Binary,
            _ if only.is_optional => AnswerForm::OrNull,
            _ => AnswerForm::Plain,
        },
        (JavaScriptAnswer::ByRule, _) => AnswerForm::Named(named()),
    }
}

/// Writes a name such as `user_id` in camel case: `userId`.
pub(crate) fn camel_case(name: &str) -> String {
    let mut written = String::with_capacity(name.len());
    for (index, part) in name.split('_').enumerate() {
        match part.chars().next() {
            Some(first) if index > 0 => {
                written.push(first.to_ascii_uppercase());
                written.push_str(&part[first.len_utf8()..]);
            }
            _ => written.push_str(part),
        }
    }
    written
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_by_rule() {
        assert_eq!(camel_case("storage_write"), "storageWrite");
        assert_eq!(camel_case("leaderboard_records_list_cursor_from_rank"), "leaderboardRecordsListCursorFromRank");
        assert_eq!(camel_case("time"), "time");
    }

    #[test]
    fn positions_name_each_argument_once() {
        for form in FORMS.iter() {
            let mut positions = form.positions.clone();
            positions.sort_unstable();
            let all: Vec<_> = (0..form.function.parameters.len()).collect();
            assert_eq!(positions, all, "{}", form.function.name);
        }
    }
}
