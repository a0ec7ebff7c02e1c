//! Operators and functions of `jsonb`.

use super::super::types::Type;
use super::super::{Result, refuse};
use super::{Term, Translator, Typed, boolean};

impl Translator<'_> {
    /// Operators that look into a document.
    pub(super) fn look_into(&mut self, sign: &str, left: Term, right: Term) -> Result<Term> {
        if sign == "<@" {
            return self.look_into("@>", right, left);
        }
        let document = match left {
            Term::Typed(typed) if typed.kind == Type::Jsonb => typed,
            Term::Typed(typed) => {
                let kind = typed.kind.name();
                return refuse(format!("operator does not exist: {kind} {sign} …; write a cast, as in value::jsonb"));
            }
            // PostgreSQL does not choose between json and jsonb here.
            _ => return refuse(format!("operator is not unique: unknown {sign} …; write a cast, as in $1::jsonb")),
        };
        match sign {
            "->" | "->>" => {
                let step = match right {
                    Term::Typed(typed) if is_step(typed.kind) => typed,
                    Term::Typed(typed) => {
                        return refuse(format!("operator does not exist: jsonb {sign} {}", typed.kind.name()));
                    }
                    // A literal and a parameter are keys.
                    other => self.as_type(other, Type::Text)?,
                };
                let (function, kind) =
                    if sign == "->" { ("pg_json_get", Type::Jsonb) } else { ("pg_json_text", Type::Text) };
                Ok(Typed::new(self.call(function, &[&document.sql, &step.sql]), kind).term())
            }
            "#>" | "#>>" => {
                let path = self.path(right)?;
                let (function, kind) =
                    if sign == "#>" { ("pg_json_get_path", Type::Jsonb) } else { ("pg_json_text_path", Type::Text) };
                Ok(Typed::new(self.call(function, &[&document.sql, &path]), kind).term())
            }
            "@>" => {
                let other = self.as_type(right, Type::Jsonb)?;
                Ok(boolean(self.call("pg_json_contains", &[&document.sql, &other.sql])))
            }
            "?" => {
                let key = self.as_type(right, Type::Text)?;
                Ok(boolean(self.call("pg_json_has", &[&document.sql, &key.sql])))
            }
            other => refuse(format!("The operator {other} is not translated for SQLite: write ? with OR or AND.")),
        }
    }

    /// `-`, which takes a key or an element out.
    pub(super) fn without(&mut self, document: Term, step: Term) -> Result<Term> {
        let document = self.as_type(document, Type::Jsonb)?;
        let step = match step {
            Term::Typed(typed) if is_step(typed.kind) => typed,
            Term::Typed(typed) => return refuse(format!("operator does not exist: jsonb - {}", typed.kind.name())),
            _ => return refuse("operator is not unique: jsonb - unknown; write a cast, as in 'key'::text"),
        };
        Ok(Typed::new(self.call("pg_json_without", &[&document.sql, &step.sql]), Type::Jsonb).term())
    }

    /// A path of keys and indexes, which is a literal or a parameter. Other lists of texts are not translated.
    pub(super) fn path(&mut self, path: Term) -> Result<String> {
        match path {
            Term::Text(text) => {
                super::super::values::jsonb::path(&text)?;
                Ok(super::quoted(&text, '\''))
            }
            _ => refuse("On SQLite a path in jsonb is a literal, as in '{a,0,b}'."),
        }
    }

    /// A term as a document, as `to_jsonb` makes it.
    pub(super) fn json_of(&mut self, term: Term) -> Result<String> {
        let typed = match term {
            Term::Typed(typed) => typed,
            Term::Null => return Ok("'null'".to_owned()),
            other => self.as_type(other, Type::Text)?,
        };
        if matches!(typed.kind, Type::Interval | Type::Bytea) {
            return refuse(format!("{} in jsonb is not translated for SQLite.", typed.kind.name()));
        }
        Ok(self.call("pg_to_json", &[&typed.sql, &typed.kind.number().to_string()]))
    }

    /// Functions of documents; `None` for a name that is none of them.
    pub(super) fn json_function(&mut self, name: &str, terms: &[Term]) -> Result<Option<Term>> {
        let mut terms = terms.iter().cloned();
        let count = terms.len();
        let mut next = || terms.next().unwrap_or(Term::Null);
        let typed = match (name, count) {
            ("to_jsonb", 1) => match next() {
                Term::Typed(typed) => {
                    let sql = self.json_of(typed.clone().term())?;
                    // Unlike in a list or an object, NULL stays NULL.
                    Typed::new(format!("(CASE WHEN {} IS NULL THEN NULL ELSE {sql} END)", typed.sql), Type::Jsonb)
                }
                _ => {
                    return refuse("could not determine polymorphic type because input has type unknown: write a cast");
                }
            },
            ("jsonb_build_object", _) => {
                if count % 2 == 1 {
                    return refuse("argument list must have even number of elements");
                }
                let mut all = Vec::new();
                for index in 0..count {
                    let one = next();
                    all.push(if index % 2 == 0 { self.as_text(one)?.sql } else { self.json_of(one)? });
                }
                let all: Vec<&str> = all.iter().map(String::as_str).collect();
                Typed::new(self.call("pg_json_object", &all), Type::Jsonb)
            }
            ("jsonb_build_array", _) => {
                let mut all = Vec::new();
                for _ in 0..count {
                    let one = next();
                    all.push(self.json_of(one)?);
                }
                let all: Vec<&str> = all.iter().map(String::as_str).collect();
                Typed::new(self.call("pg_json_list", &all), Type::Jsonb)
            }
            ("jsonb_set", 3 | 4) => {
                let document = self.as_type(next(), Type::Jsonb)?;
                let path = self.path(next())?;
                let value = self.as_type(next(), Type::Jsonb)?;
                let creates = if count == 4 { self.as_type(next(), Type::Flag)?.sql } else { "1".to_owned() };
                Typed::new(self.call("pg_json_set", &[&document.sql, &path, &value.sql, &creates]), Type::Jsonb)
            }
            ("jsonb_typeof", 1) => {
                let document = self.as_type(next(), Type::Jsonb)?;
                Typed::new(self.call("pg_json_typeof", &[&document.sql]), Type::Text)
            }
            ("jsonb_array_length", 1) => {
                let document = self.as_type(next(), Type::Jsonb)?;
                Typed::new(self.call("pg_json_length", &[&document.sql]), Type::Int4)
            }
            _ => return Ok(None),
        };
        Ok(Some(typed.term()))
    }
}

/// Whether values of a type lead into a document: keys, and indexes of up to 32 bits.
fn is_step(kind: Type) -> bool {
    matches!(kind, Type::Text | Type::Int2 | Type::Int4)
}
