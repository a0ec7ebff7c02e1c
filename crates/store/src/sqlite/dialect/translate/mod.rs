//! From the tree of a statement to a statement of SQLite that has the same answer. Each expression gets its type by
//! PostgreSQL's rules. A statement is refused where the same answer cannot be given, and where PostgreSQL refuses it.

mod calls;
mod casts;
mod changes;
mod definitions;
mod expressions;
mod json;
mod moments;
mod names;
mod operators;
mod queries;
mod scope;

use rusqlite::types::Value;

use self::scope::Scope;
use super::catalogue::{Catalogue, Table};
use super::tree::{Assignment, Statement};
use super::types::Type;
use super::{Change, ChangeKind, Result, Translation, refuse, values};

/// Translates a statement.
pub(super) fn translate(statement: &Statement, catalogue: &Catalogue) -> Result<Translation> {
    let mut translator = Translator::new(catalogue);
    let (sql, columns) = match statement {
        Statement::Query(query) => translator.whole_query(query)?,
        Statement::Insert(insert) => translator.insert(insert)?,
        Statement::Update(update) => translator.update(update)?,
        Statement::Delete(delete) => translator.delete(delete)?,
        definition => (translator.define(definition)?, Vec::new()),
    };
    let types = translator.parameters.iter().enumerate();
    let parameters = types.map(|(index, kind)| match kind {
        Some(kind) => Ok(*kind),
        None => refuse(format!("could not determine data type of parameter ${}", index + 1)),
    });
    Ok(Translation { sql, parameters: parameters.collect::<Result<_>>()?, columns, change: change(statement) })
}

fn change(statement: &Statement) -> Option<Change> {
    let columns = |all: &[Assignment]| all.iter().map(|one| one.column.clone()).collect();
    let (table, kind, columns) = match statement {
        Statement::Insert(insert) => {
            let update = insert.conflict.as_ref().and_then(|conflict| conflict.update.as_ref());
            let columns = update.map_or_else(Vec::new, |(assignments, _)| columns(assignments));
            (&insert.table, ChangeKind::Insert, columns)
        }
        Statement::Update(update) => (&update.table, ChangeKind::Update, columns(&update.assignments)),
        Statement::Delete(delete) => (&delete.table, ChangeKind::Delete, Vec::new()),
        _ => return None,
    };
    Some(Change { table: table.clone(), kind, columns })
}

/// Names and types of columns.
type Columns = Vec<(String, Type)>;

/// An expression of SQLite with its type.
#[derive(Clone, Debug)]
struct Typed {
    sql: String,
    kind: Type,
}

/// An expression whose type may follow from the place where it stands.
#[derive(Clone, Debug)]
enum Term {
    Typed(Typed),
    /// A literal in quotes.
    Text(String),
    Parameter(usize),
    Null,
}

struct Translator<'a> {
    catalogue: &'a Catalogue,
    /// Types of the parameters, as far as they are known.
    parameters: Vec<Option<Type>>,
    /// The queries around the present place, from the outermost one.
    scopes: Vec<Scope>,
    /// Queries of `WITH` that can be used here, the innermost last.
    commons: Vec<(String, Columns)>,
    /// Whether the text has functions that other connections to the file lack.
    has_functions: bool,
    /// Whether the text has functions that answer something new at each call.
    is_volatile: bool,
}

impl<'a> Translator<'a> {
    fn new(catalogue: &'a Catalogue) -> Self {
        Self {
            catalogue,
            parameters: Vec::new(),
            scopes: Vec::new(),
            commons: Vec::new(),
            has_functions: false,
            is_volatile: false,
        }
    }

    fn table(&self, name: &str) -> Result<&'a Table> {
        match self.catalogue.table(name) {
            Some(table) => Ok(table),
            None if name.starts_with("pg_") || name.starts_with("sqlite_") || name == "information_schema" => {
                refuse(format!("The catalogue {name} is not there on SQLite: use CREATE TABLE IF NOT EXISTS."))
            }
            None => {
                let known = self.catalogue.names().chain(self.commons.iter().map(|(name, _)| name.as_str()));
                let advice = crate::advice::of_name(name, known).unwrap_or_default();
                refuse(format!("relation \"{name}\" does not exist{advice} (42P01)"))
            }
        }
    }

    /// The type of a parameter, if a place has said it.
    fn parameter(&mut self, number: usize) -> Option<Type> {
        if self.parameters.len() < number {
            self.parameters.resize(number, None);
        }
        self.parameters[number - 1]
    }

    /// A call of a function of ours.
    fn call(&mut self, name: &str, arguments: &[&str]) -> String {
        self.has_functions = true;
        format!("{name}({})", arguments.join(", "))
    }

    /// A literal. Numbers of many digits are read by a function of ours, because SQLite may miss the last bit.
    fn literal(&mut self, value: Value) -> String {
        match value {
            Value::Null => "NULL".to_owned(),
            Value::Integer(number) => number.to_string(),
            Value::Real(number) => {
                let text = format!("{number:?}");
                if number.fract() == 0.0 && number.abs() < 1e15 {
                    return text;
                }
                let (from, to) = (Type::Text.number().to_string(), Type::Float8.number().to_string());
                self.call("pg_cast", &[&quoted(&text, '\''), &from, &to])
            }
            Value::Text(text) => quoted(&text, '\''),
            Value::Blob(bytes) => {
                let digits: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
                format!("x'{digits}'")
            }
        }
    }

    /// A term as a value of a type, if PostgreSQL converts it by itself.
    fn as_type(&mut self, term: Term, kind: Type) -> Result<Typed> {
        let sql = match term {
            Term::Typed(typed) if typed.kind == kind => return Ok(typed),
            Term::Typed(typed) => match typed.kind.common(kind) {
                Some(common) if common == kind => return self.cast(typed, kind),
                _ => {
                    return refuse(format!(
                        "a value of type {} stands where {} is expected: write a cast, as in value::{}",
                        typed.kind.name(),
                        kind.name(),
                        kind.short_name()
                    ));
                }
            },
            Term::Text(text) => {
                let value = values::read(&text, kind)?;
                self.literal(value)
            }
            Term::Parameter(number) => {
                match self.parameter(number) {
                    Some(known) if known != kind => {
                        return refuse(format!(
                            "inconsistent types deduced for parameter ${number}: {} and {}; write a cast, as in ${number}::{}",
                            known.name(),
                            kind.name(),
                            kind.short_name()
                        ));
                    }
                    _ => self.parameters[number - 1] = Some(kind),
                }
                format!("?{number}")
            }
            Term::Null => "NULL".to_owned(),
        };
        Ok(Typed { sql: with_order(sql, kind), kind })
    }

    /// A term as a value of its own type; text, where nothing says more.
    fn settled(&mut self, term: Term) -> Result<Typed> {
        match term {
            Term::Typed(typed) => Ok(typed),
            other => self.as_type(other, Type::Text),
        }
    }

    /// Terms as values of one type, as `CASE`, `COALESCE`, `UNION` and their kin need it.
    fn as_one_type(&mut self, terms: Vec<Term>, what: &str) -> Result<(Vec<Typed>, Type)> {
        let mut kind: Option<Type> = None;
        for term in &terms {
            let Term::Typed(typed) = term else { continue };
            kind = match kind {
                None => Some(typed.kind),
                Some(kind) => match kind.common(typed.kind) {
                    Some(common) => Some(common),
                    None => {
                        let (left, right) = (kind.name(), typed.kind.name());
                        return refuse(format!("{what} types {left} and {right} cannot be matched: write a cast"));
                    }
                },
            };
        }
        let kind = kind.unwrap_or(Type::Text);
        let terms = terms.into_iter().map(|term| self.as_type(term, kind)).collect::<Result<_>>()?;
        Ok((terms, kind))
    }
}

impl Typed {
    fn new(sql: impl Into<String>, kind: Type) -> Self {
        Self { sql: with_order(sql.into(), kind), kind }
    }

    fn term(self) -> Term {
        Term::Typed(self)
    }
}

/// An expression with the order of its type: decimals are texts, which are not ordered as texts.
fn with_order(sql: String, kind: Type) -> String {
    if kind == Type::Numeric { format!("({sql} COLLATE pg_numeric)") } else { sql }
}

/// A name in quotes.
fn name(name: &str) -> String {
    quoted(name, '"')
}

fn quoted(text: &str, quote: char) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push(quote);
    for next in text.chars() {
        if next == quote {
            out.push(quote);
        }
        out.push(next);
    }
    out.push(quote);
    out
}

fn boolean(sql: String) -> Term {
    Term::Typed(Typed { sql, kind: Type::Flag })
}
