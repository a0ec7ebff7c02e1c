//! From words to the tree of a statement, by PostgreSQL's grammar and precedences. The grammar has those clauses alone
//! that are translated; others are refused with a sentence that says what to do. Nesting and chains of operators are
//! bounded, so that no statement exhausts the stack.

mod changes;
mod definitions;
mod expressions;
mod queries;

use super::tree::Statement;
use super::words::{Word, words};
use super::{Result, refuse};

/// Parentheses, subqueries and other expressions inside each other.
pub(in crate::sqlite) const SQL_DEPTH_MAX: usize = 64;

/// Operators, casts and signs in one statement; `AND` and `OR` do not count.
pub(in crate::sqlite) const SQL_OPERATORS_MAX: usize = 2_000;

/// Keywords that are no name of a column, a table or an alias, in alphabetical order.
const RESERVED: [&str; 100] = [
    "all",
    "analyse",
    "analyze",
    "and",
    "any",
    "array",
    "as",
    "asc",
    "asymmetric",
    "authorization",
    "binary",
    "both",
    "case",
    "cast",
    "check",
    "collate",
    "collation",
    "column",
    "concurrently",
    "constraint",
    "create",
    "cross",
    "current_catalog",
    "current_date",
    "current_role",
    "current_schema",
    "current_time",
    "current_timestamp",
    "current_user",
    "default",
    "deferrable",
    "desc",
    "distinct",
    "do",
    "else",
    "end",
    "except",
    "false",
    "fetch",
    "for",
    "foreign",
    "freeze",
    "from",
    "full",
    "grant",
    "group",
    "having",
    "ilike",
    "in",
    "initially",
    "inner",
    "intersect",
    "into",
    "is",
    "isnull",
    "join",
    "lateral",
    "leading",
    "left",
    "like",
    "limit",
    "localtime",
    "localtimestamp",
    "natural",
    "not",
    "notnull",
    "null",
    "offset",
    "on",
    "only",
    "or",
    "order",
    "outer",
    "overlaps",
    "placing",
    "primary",
    "references",
    "returning",
    "right",
    "select",
    "session_user",
    "similar",
    "some",
    "symmetric",
    "table",
    "tablesample",
    "then",
    "to",
    "trailing",
    "true",
    "union",
    "unique",
    "user",
    "using",
    "variadic",
    "verbose",
    "when",
    "where",
    "window",
    "with",
];

/// Keywords that PostgreSQL does not take as an alias without `AS`, although they may be names.
const NO_BARE_ALIAS: [&str; 13] = [
    "over",
    "filter",
    "within",
    "day",
    "hour",
    "minute",
    "month",
    "second",
    "year",
    "precision",
    "set",
    "values",
    "without",
];

/// The tree of a statement.
pub(super) fn parse(statement: &str) -> Result<Statement> {
    let words = words(statement)?;
    if words.contains(&Word::Sign(";")) {
        return refuse("A text holds one statement: multiple statements are sent one by one.");
    }
    let mut parser = Parser { words, at: 0, depth: 0, operators: 0 };
    let statement = parser.statement()?;
    if parser.at < parser.words.len() {
        return parser.unexpected();
    }
    Ok(statement)
}

struct Parser {
    words: Vec<Word>,
    at: usize,
    depth: usize,
    operators: usize,
}

impl Parser {
    fn statement(&mut self) -> Result<Statement> {
        let Some(Word::Name(first)) = self.words.iter().find(|word| **word != Word::Sign("(")) else {
            return self.unexpected();
        };
        let first = first.clone();
        match first.as_str() {
            "select" | "with" | "values" => Ok(Statement::Query(self.query()?)),
            "insert" => self.insert(),
            "update" => self.update(),
            "delete" => self.delete(),
            "create" => self.create(),
            "drop" => self.drop(),
            "alter" => self.alter(),
            "truncate" => refuse("TRUNCATE is not translated for SQLite: write DELETE FROM."),
            "table" => refuse("TABLE is not translated for SQLite: write SELECT * FROM."),
            "replace" => refuse("PostgreSQL has no REPLACE: write INSERT … ON CONFLICT (…) DO UPDATE SET …"),
            "merge" => refuse("MERGE is not translated for SQLite: write INSERT … ON CONFLICT (…) DO UPDATE SET …"),
            other if crate::advice::of_syntax("", other).is_some() => self.unexpected(),
            other => {
                let other = other.to_ascii_uppercase();
                refuse(format!("syntax error, or {other} is not translated for SQLite: use PostgreSQL for it."))
            }
        }
    }

    fn peek(&self) -> Option<&Word> {
        self.words.get(self.at)
    }

    fn unexpected<T>(&self) -> Result<T> {
        let before = self.at.checked_sub(1).and_then(|at| self.words.get(at)).map_or_else(String::new, shown);
        let at = self.peek().map(shown);
        let place = at.as_ref().map_or("end of input".to_owned(), |at| format!("or near \"{at}\""));
        let advice = match crate::advice::of_syntax(&before, at.as_deref().unwrap_or_default()) {
            Some(advice) => advice,
            None if at.is_none() => String::new(),
            None => ", or a clause that is not translated for SQLite".to_owned(),
        };
        refuse(format!("syntax error at {place}{advice} (42601)"))
    }

    /// Whether the next words are these keywords.
    fn sees(&self, keywords: &[&str]) -> bool {
        let is = |(index, keyword): (usize, &&str)| {
            let next = self.words.get(self.at + index);
            matches!(next, Some(Word::Name(name)) if name == keyword)
        };
        keywords.iter().enumerate().all(is)
    }

    /// Takes keywords, if they are the next words.
    fn takes(&mut self, keywords: &[&str]) -> bool {
        let sees = self.sees(keywords);
        if sees {
            self.at += keywords.len();
        }
        sees
    }

    fn sees_sign(&self, sign: &str) -> bool {
        matches!(self.peek(), Some(Word::Sign(next)) if *next == sign)
    }

    fn takes_sign(&mut self, sign: &str) -> bool {
        let sees = self.sees_sign(sign);
        self.at += usize::from(sees);
        sees
    }

    fn expect(&mut self, keywords: &[&str]) -> Result<()> {
        if self.takes(keywords) { Ok(()) } else { self.unexpected() }
    }

    fn expect_sign(&mut self, sign: &str) -> Result<()> {
        if self.takes_sign(sign) { Ok(()) } else { self.unexpected() }
    }

    /// A name that is no keyword.
    fn name(&mut self) -> Result<String> {
        let name = match self.peek() {
            Some(Word::Name(name)) if !is_reserved(name) => name.clone(),
            Some(Word::Quoted(name)) if !name.is_empty() => name.clone(),
            _ => return self.unexpected(),
        };
        self.at += 1;
        Ok(name)
    }

    /// A name, or any keyword.
    fn label(&mut self) -> Result<String> {
        let name = match self.peek() {
            Some(Word::Name(name) | Word::Quoted(name)) if !name.is_empty() => name.clone(),
            _ => return self.unexpected(),
        };
        self.at += 1;
        Ok(name)
    }

    /// An alias with or without `AS`.
    fn alias(&mut self) -> Result<Option<String>> {
        if self.takes(&["as"]) {
            return self.label().map(Some);
        }
        match self.peek() {
            Some(Word::Quoted(_)) => self.name().map(Some),
            Some(Word::Name(name)) if !is_reserved(name) && !NO_BARE_ALIAS.contains(&name.as_str()) => {
                self.name().map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The name of a table. The one schema is `public`.
    fn table(&mut self) -> Result<String> {
        let name = self.name()?;
        if !self.takes_sign(".") {
            return Ok(name);
        }
        if name != "public" {
            return refuse(format!(
                "On SQLite there is one schema, public. Tables of {name} are not there: keep what you need in a table \
                 of your own, or use PostgreSQL."
            ));
        }
        self.label()
    }

    /// Names in parentheses.
    fn names(&mut self) -> Result<Vec<String>> {
        self.expect_sign("(")?;
        let names = self.list(Self::name)?;
        self.expect_sign(")")?;
        Ok(names)
    }

    /// One or more things with commas between them.
    fn list<T>(&mut self, mut one: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let mut all = vec![one(self)?];
        while self.takes_sign(",") {
            all.push(one(self)?);
        }
        Ok(all)
    }

    /// Runs a step that may nest.
    fn deeper<T>(&mut self, step: impl FnOnce(&mut Self) -> Result<T>) -> Result<T> {
        if self.depth >= SQL_DEPTH_MAX {
            return refuse(format!("The statement nests deeper than {SQL_DEPTH_MAX} levels: split it."));
        }
        self.depth += 1;
        let outcome = step(self);
        self.depth -= 1;
        outcome
    }

    /// Counts an operator.
    fn count_operator(&mut self) -> Result<()> {
        self.operators += 1;
        if self.operators > SQL_OPERATORS_MAX {
            return refuse(format!("A statement has at most {SQL_OPERATORS_MAX} operators and casts: split it."));
        }
        Ok(())
    }
}

/// A word as errors show it.
fn shown(word: &Word) -> String {
    match word {
        Word::Name(name) => name.clone(),
        Word::Quoted(name) => format!("\"{name}\""),
        Word::Text(text) => format!("'{}'", text.chars().take(40).collect::<String>()),
        Word::Number(number) => number.clone(),
        Word::Parameter(number) => format!("${number}"),
        Word::Sign(sign) => (*sign).to_owned(),
    }
}

fn is_reserved(name: &str) -> bool {
    RESERVED.binary_search(&name).is_ok()
}
