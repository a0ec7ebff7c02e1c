//! Statements that define tables and indexes, and the names of types.

use super::super::tree::{Alteration, ColumnDefinition, Constraint, CreateIndex, CreateTable, Declared, Statement};
use super::super::types::Type;
use super::super::words::Word;
use super::super::{Result, refuse};
use super::Parser;

impl Parser {
    pub(super) fn create(&mut self) -> Result<Statement> {
        self.expect(&["create"])?;
        if self.takes(&["table"]) {
            return self.create_table().map(Statement::CreateTable);
        }
        let is_unique = self.takes(&["unique"]);
        if self.takes(&["index"]) {
            return self.create_index(is_unique).map(Statement::CreateIndex);
        }
        match self.peek() {
            Some(Word::Name(what)) => {
                let what = what.to_ascii_uppercase();
                refuse(format!(
                    "CREATE {what} is not translated for SQLite: only tables and indexes can be made there."
                ))
            }
            _ => self.unexpected(),
        }
    }

    fn create_table(&mut self) -> Result<CreateTable> {
        let if_not_exists = self.takes(&["if", "not", "exists"]);
        let name = self.table()?;
        if self.sees(&["as"]) {
            return refuse("CREATE TABLE … AS is not translated for SQLite: create the table, then INSERT … SELECT.");
        }
        self.expect_sign("(")?;
        let (mut columns, mut constraints) = (Vec::new(), Vec::new());
        loop {
            match self.table_constraint()? {
                Some(constraint) => constraints.push(constraint),
                None => columns.push(self.column_definition()?),
            }
            if !self.takes_sign(",") {
                break;
            }
        }
        self.expect_sign(")")?;
        if columns.is_empty() {
            return refuse("A table without columns is not translated for SQLite.");
        }
        Ok(CreateTable { name, if_not_exists, columns, constraints })
    }

    fn constraint_name(&mut self) -> Result<Option<String>> {
        if self.takes(&["constraint"]) { self.name().map(Some) } else { Ok(None) }
    }

    fn table_constraint(&mut self) -> Result<Option<(Option<String>, Constraint)>> {
        let name = self.constraint_name()?;
        let constraint = match () {
            () if self.takes(&["primary", "key"]) => Constraint::Primary(self.names()?),
            () if self.takes(&["unique"]) => Constraint::Unique(self.names()?),
            () if self.takes(&["check"]) => self.check()?,
            () if self.takes(&["foreign", "key"]) => {
                let columns = self.names()?;
                self.expect(&["references"])?;
                self.foreign(columns)?
            }
            () if name.is_some() => return self.unexpected(),
            () => return Ok(None),
        };
        Ok(Some((name, constraint)))
    }

    fn check(&mut self) -> Result<Constraint> {
        self.expect_sign("(")?;
        let condition = self.expression()?;
        self.expect_sign(")")?;
        Ok(Constraint::Check(condition))
    }

    fn foreign(&mut self, columns: Vec<String>) -> Result<Constraint> {
        let table = self.table()?;
        let referred = if self.sees_sign("(") { self.names()? } else { Vec::new() };
        let mut on_delete = None;
        if self.takes(&["on", "delete"]) {
            on_delete = Some(match () {
                () if self.takes(&["cascade"]) => "CASCADE",
                () if self.takes(&["restrict"]) => "RESTRICT",
                () if self.takes(&["set", "null"]) => "SET NULL",
                () if self.takes(&["no", "action"]) => "NO ACTION",
                () => return self.unexpected(),
            });
        }
        Ok(Constraint::Foreign { columns, table, referred, on_delete })
    }

    pub(super) fn column_definition(&mut self) -> Result<ColumnDefinition> {
        let name = self.name()?;
        let serial = ["serial", "serial4", "bigserial", "serial8", "smallserial", "serial2"];
        let found = match self.peek() {
            Some(Word::Name(kind)) => serial.iter().position(|one| one == kind),
            _ => None,
        };
        let declared = match found {
            Some(index) => {
                self.at += 1;
                Declared::plain([Type::Int4, Type::Int8, Type::Int2][index / 2])
            }
            None => self.declared()?,
        };
        let mut column = ColumnDefinition {
            name,
            declared,
            is_serial: found.is_some(),
            is_not_null: found.is_some(),
            default: None,
            constraints: Vec::new(),
        };
        loop {
            let name = self.constraint_name()?;
            match () {
                () if self.takes(&["not", "null"]) => column.is_not_null = true,
                () if self.takes(&["null"]) => {}
                () if self.takes(&["default"]) => column.default = Some(self.default_value()?),
                () if self.takes(&["primary", "key"]) => {
                    column.constraints.push((name, Constraint::Primary(vec![column.name.clone()])));
                }
                () if self.takes(&["unique"]) => {
                    column.constraints.push((name, Constraint::Unique(vec![column.name.clone()])));
                }
                () if self.takes(&["check"]) => {
                    let check = self.check()?;
                    column.constraints.push((name, check));
                }
                () if self.takes(&["references"]) => {
                    let foreign = self.foreign(vec![column.name.clone()])?;
                    column.constraints.push((name, foreign));
                }
                () if self.takes(&["generated"]) => {
                    if !self.takes(&["always"]) {
                        self.expect(&["by", "default"])?;
                    }
                    self.expect(&["as", "identity"])?;
                    column.is_serial = true;
                    column.is_not_null = true;
                }
                () if name.is_some() => return self.unexpected(),
                () => return Ok(column),
            }
        }
    }

    fn create_index(&mut self, is_unique: bool) -> Result<CreateIndex> {
        self.takes(&["concurrently"]);
        let if_not_exists = self.takes(&["if", "not", "exists"]);
        let name = if self.sees(&["on"]) { None } else { Some(self.name()?) };
        self.expect(&["on"])?;
        let table = self.table()?;
        if self.takes(&["using"]) && !self.takes(&["btree"]) {
            return refuse("On SQLite indexes are of the kind btree: leave USING out.");
        }
        self.expect_sign("(")?;
        let columns = self.list(|parser| {
            if parser.sees_sign("(") || parser.words.get(parser.at + 1) == Some(&Word::Sign("(")) {
                return refuse("Indexes of expressions are not translated for SQLite: keep the value in a column.");
            }
            let name = parser.name()?;
            let is_descending = parser.takes(&["desc"]);
            if !is_descending {
                parser.takes(&["asc"]);
            }
            let _ = parser.takes(&["nulls", "first"]) || parser.takes(&["nulls", "last"]);
            Ok((name, is_descending))
        })?;
        self.expect_sign(")")?;
        if self.sees(&["include"]) {
            return refuse("INCLUDE is not translated for SQLite: leave it out.");
        }
        let condition = if self.takes(&["where"]) { Some(self.expression()?) } else { None };
        Ok(CreateIndex { name, table, is_unique, if_not_exists, columns, condition })
    }

    pub(super) fn drop(&mut self) -> Result<Statement> {
        self.expect(&["drop"])?;
        let is_table = match () {
            () if self.takes(&["table"]) => true,
            () if self.takes(&["index"]) => false,
            () => return refuse("Only tables and indexes can be dropped on SQLite."),
        };
        let if_exists = self.takes(&["if", "exists"]);
        let name = self.table()?;
        if self.sees_sign(",") {
            return refuse("Several tables or indexes are dropped by a statement each.");
        }
        // A table that others refer to is not dropped at all, see the translation.
        let _ = self.takes(&["cascade"]) || self.takes(&["restrict"]);
        Ok(if is_table { Statement::DropTable { name, if_exists } } else { Statement::DropIndex { name, if_exists } })
    }

    pub(super) fn alter(&mut self) -> Result<Statement> {
        self.expect(&["alter"])?;
        if !self.takes(&["table"]) {
            return refuse("Only tables can be altered on SQLite.");
        }
        if self.sees(&["if", "exists"]) {
            return refuse("ALTER TABLE IF EXISTS is not translated for SQLite: create the table first.");
        }
        let name = self.table()?;
        let change = match () {
            () if self.takes(&["rename", "to"]) => Alteration::RenameTable(self.name()?),
            () if self.takes(&["rename"]) => {
                self.takes(&["column"]);
                let old = self.name()?;
                self.expect(&["to"])?;
                Alteration::RenameColumn { old, new: self.name()? }
            }
            () if self.takes(&["add"]) => {
                let constraints: [&[&str]; 5] =
                    [&["constraint"], &["primary", "key"], &["unique"], &["check"], &["foreign", "key"]];
                if constraints.iter().any(|words| self.sees(words)) {
                    return refuse(
                        "ALTER TABLE … ADD CONSTRAINT is not translated for SQLite: declare constraints in CREATE \
                         TABLE, or make a unique index.",
                    );
                }
                self.takes(&["column"]);
                let if_not_exists = self.takes(&["if", "not", "exists"]);
                Alteration::AddColumn { column: Box::new(self.column_definition()?), if_not_exists }
            }
            () if self.takes(&["drop"]) => {
                if self.sees(&["constraint"]) {
                    return refuse("ALTER TABLE … DROP CONSTRAINT is not translated for SQLite: make the table anew.");
                }
                self.takes(&["column"]);
                let if_exists = self.takes(&["if", "exists"]);
                let column = self.name()?;
                let _ = self.takes(&["cascade"]) || self.takes(&["restrict"]);
                Alteration::DropColumn { column, if_exists }
            }
            () => {
                return refuse(
                    "This change of a table is not translated for SQLite: columns can be added, dropped and renamed, \
                     and the table renamed.",
                );
            }
        };
        if self.sees_sign(",") {
            return refuse("On SQLite ALTER TABLE makes one change: send a statement for each.");
        }
        Ok(Statement::AlterTable { name, change })
    }

    /// Numbers in parentheses behind the name of a type.
    fn numbers(&mut self) -> Result<Vec<u32>> {
        if !self.takes_sign("(") {
            return Ok(Vec::new());
        }
        let numbers = self.list(|parser| match parser.peek() {
            Some(Word::Number(number)) => match number.parse() {
                Ok(number) => {
                    parser.at += 1;
                    Ok(number)
                }
                Err(_) => parser.unexpected(),
            },
            _ => parser.unexpected(),
        })?;
        self.expect_sign(")")?;
        Ok(numbers)
    }

    /// The name of a type.
    pub(super) fn declared(&mut self) -> Result<Declared> {
        let name = match self.peek() {
            Some(Word::Name(name)) => name.clone(),
            _ => return self.unexpected(),
        };
        self.at += 1;
        let plain = |kind| Ok(Declared::plain(kind));
        let declared = match name.as_str() {
            "bool" | "boolean" => plain(Type::Flag),
            "int2" | "smallint" => plain(Type::Int2),
            "int4" | "int" | "integer" => plain(Type::Int4),
            "int8" | "bigint" => plain(Type::Int8),
            "float8" => plain(Type::Float8),
            "float" if !self.sees_sign("(") => plain(Type::Float8),
            "double" => {
                self.expect(&["precision"])?;
                plain(Type::Float8)
            }
            "numeric" | "decimal" => self.numeric(),
            "text" => plain(Type::Text),
            "varchar" => self.varchar(),
            "character" if self.takes(&["varying"]) => self.varchar(),
            "char" | "character" | "bpchar" => {
                refuse("The type char(n) is not translated for SQLite: use VARCHAR(n) or TEXT.")
            }
            "uuid" => plain(Type::Uuid),
            "timestamptz" | "timestamp" if self.sees_sign("(") => {
                refuse("Moments of fewer digits are not translated for SQLite: write TIMESTAMPTZ without a number.")
            }
            "timestamptz" => plain(Type::TimestampTz),
            "timestamp" => {
                let has_zone = self.takes(&["with", "time", "zone"]);
                self.takes(&["without", "time", "zone"]);
                plain(if has_zone { Type::TimestampTz } else { Type::Timestamp })
            }
            "date" => plain(Type::Date),
            "interval" => plain(Type::Interval),
            "jsonb" => plain(Type::Jsonb),
            "bytea" => plain(Type::Bytea),
            "json" => refuse("The type json is not translated for SQLite: use JSONB."),
            "real" | "float4" | "float" => refuse("The type real is not translated for SQLite: use DOUBLE PRECISION."),
            "serial" | "bigserial" | "smallserial" => {
                refuse(format!("{name} is the type of a column that is created."))
            }
            other => refuse(format!(
                "The type {other} is not translated for SQLite: use BOOLEAN, INTEGER, BIGINT, DOUBLE PRECISION, \
                 NUMERIC, TEXT, VARCHAR(n), UUID, TIMESTAMPTZ, DATE, JSONB or BYTEA, or use PostgreSQL."
            )),
        }?;
        if self.sees_sign("[") || self.sees(&["array"]) {
            return refuse("Arrays are not translated for SQLite: use a table with a row for each, or JSONB.");
        }
        Ok(declared)
    }

    fn numeric(&mut self) -> Result<Declared> {
        match self.numbers()?[..] {
            [] => Ok(Declared::plain(Type::Numeric)),
            [0 | 38.., ..] => refuse("On SQLite a numeric has 1 to 37 digits: use PostgreSQL for more."),
            [digits] => Ok(exact(digits, 0)),
            [digits, behind] if digits >= behind => Ok(exact(digits, behind)),
            _ => refuse("A numeric has a precision, and a scale that is not larger: write numeric(10, 2)."),
        }
    }

    fn varchar(&mut self) -> Result<Declared> {
        match self.numbers()?[..] {
            [] => Ok(Declared::plain(Type::Text)),
            [length @ 1..=10_485_760] => Ok(Declared { length: Some(length), ..Declared::plain(Type::Text) }),
            _ => refuse("A varchar has one length, from 1 to 10485760."),
        }
    }
}

fn exact(digits: u32, behind: u32) -> Declared {
    Declared { precision: Some((digits, behind)), ..Declared::plain(Type::Numeric) }
}
