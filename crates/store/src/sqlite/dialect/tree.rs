//! A statement as a tree. The tree has no node for a clause that is not translated.

use super::types::Type;

/// A statement.
#[derive(Clone, Debug)]
pub(super) enum Statement {
    Query(Query),
    Insert(Insert),
    Update(Update),
    Delete(Delete),
    CreateTable(CreateTable),
    CreateIndex(CreateIndex),
    DropTable { name: String, if_exists: bool },
    DropIndex { name: String, if_exists: bool },
    AlterTable { name: String, change: Alteration },
}

#[derive(Clone, Debug)]
pub(super) struct Query {
    pub(super) with: Vec<Common>,
    pub(super) is_recursive: bool,
    pub(super) body: Body,
    pub(super) order: Vec<Order>,
    pub(super) limit: Option<Expression>,
    pub(super) offset: Option<Expression>,
}

/// A query before the others, with its name.
#[derive(Clone, Debug)]
pub(super) struct Common {
    pub(super) name: String,
    pub(super) columns: Vec<String>,
    pub(super) query: Query,
}

#[derive(Clone, Debug)]
pub(super) enum Body {
    Select(Box<Select>),
    Values(Vec<Vec<Expression>>),
    Query(Box<Query>),
    Set { operator: &'static str, left: Box<Body>, right: Box<Body> },
}

#[derive(Clone, Debug)]
pub(super) struct Select {
    pub(super) is_distinct: bool,
    pub(super) items: Vec<Item>,
    pub(super) from: Vec<From>,
    pub(super) condition: Option<Expression>,
    pub(super) groups: Vec<Expression>,
    pub(super) having: Option<Expression>,
}

#[derive(Clone, Debug)]
pub(super) enum Item {
    /// All columns, of one table or of all.
    All(Option<String>),
    One(Expression, Option<String>),
}

#[derive(Clone, Debug)]
pub(super) struct From {
    pub(super) first: Source,
    pub(super) joins: Vec<Join>,
}

#[derive(Clone, Debug)]
pub(super) enum Source {
    Table { name: String, alias: Option<String> },
    Query { query: Box<Query>, alias: String, columns: Vec<String> },
}

#[derive(Clone, Debug)]
pub(super) struct Join {
    /// `INNER`, `LEFT`, `RIGHT`, `FULL` or `CROSS`.
    pub(super) kind: &'static str,
    pub(super) source: Source,
    pub(super) on: On,
}

#[derive(Clone, Debug)]
pub(super) enum On {
    Nothing,
    Condition(Expression),
    Using(Vec<String>),
}

#[derive(Clone, Debug)]
pub(super) struct Order {
    pub(super) expression: Expression,
    pub(super) is_descending: bool,
    pub(super) nulls_first: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Insert {
    pub(super) table: String,
    pub(super) alias: Option<String>,
    pub(super) columns: Option<Vec<String>>,
    /// `None` for `DEFAULT VALUES`.
    pub(super) source: Option<Query>,
    pub(super) conflict: Option<Conflict>,
    pub(super) returning: Vec<Item>,
}

#[derive(Clone, Debug)]
pub(super) struct Conflict {
    pub(super) columns: Vec<String>,
    /// The condition of the partial index.
    pub(super) index: Option<Expression>,
    /// `None` for `DO NOTHING`.
    pub(super) update: Option<(Vec<Assignment>, Option<Expression>)>,
}

#[derive(Clone, Debug)]
pub(super) struct Assignment {
    pub(super) column: String,
    pub(super) value: Expression,
}

#[derive(Clone, Debug)]
pub(super) struct Update {
    pub(super) table: String,
    pub(super) alias: Option<String>,
    pub(super) assignments: Vec<Assignment>,
    pub(super) condition: Option<Expression>,
    pub(super) returning: Vec<Item>,
}

#[derive(Clone, Debug)]
pub(super) struct Delete {
    pub(super) table: String,
    pub(super) alias: Option<String>,
    pub(super) condition: Option<Expression>,
    pub(super) returning: Vec<Item>,
}

#[derive(Clone, Debug)]
pub(super) struct CreateTable {
    pub(super) name: String,
    pub(super) if_not_exists: bool,
    pub(super) columns: Vec<ColumnDefinition>,
    pub(super) constraints: Vec<(Option<String>, Constraint)>,
}

#[derive(Clone, Debug)]
pub(super) struct ColumnDefinition {
    pub(super) name: String,
    pub(super) declared: Declared,
    /// Whether the database numbers the rows in this column.
    pub(super) is_serial: bool,
    pub(super) is_not_null: bool,
    pub(super) default: Option<Expression>,
    pub(super) constraints: Vec<(Option<String>, Constraint)>,
}

/// A type with its length or precision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Declared {
    pub(super) kind: Type,
    /// Most characters of a text.
    pub(super) length: Option<u32>,
    /// Digits, and digits behind the point, of an exact number.
    pub(super) precision: Option<(u32, u32)>,
}

#[derive(Clone, Debug)]
pub(super) enum Constraint {
    Primary(Vec<String>),
    Unique(Vec<String>),
    Check(Expression),
    Foreign { columns: Vec<String>, table: String, referred: Vec<String>, on_delete: Option<&'static str> },
}

#[derive(Clone, Debug)]
pub(super) struct CreateIndex {
    pub(super) name: Option<String>,
    pub(super) table: String,
    pub(super) is_unique: bool,
    pub(super) if_not_exists: bool,
    pub(super) columns: Vec<(String, bool)>,
    pub(super) condition: Option<Expression>,
}

#[derive(Clone, Debug)]
pub(super) enum Alteration {
    AddColumn { column: Box<ColumnDefinition>, if_not_exists: bool },
    DropColumn { column: String, if_exists: bool },
    RenameColumn { old: String, new: String },
    RenameTable(String),
}

/// An expression.
#[derive(Clone, Debug)]
pub(super) enum Expression {
    Column(Option<String>, String),
    Number(String),
    Text(String),
    Flag(bool),
    Null,
    /// `DEFAULT`, in the place of a value.
    Default,
    Parameter(usize),
    Minus(Box<Expression>),
    Operation(&'static str, Box<Expression>, Box<Expression>),
    /// Conditions of which all must hold.
    All(Vec<Expression>),
    /// Conditions of which one must hold.
    Any(Vec<Expression>),
    Not(Box<Expression>),
    IsNull(Box<Expression>, bool),
    /// `IS TRUE`, `IS FALSE` or `IS UNKNOWN`; the last field is true for `IS NOT`.
    IsFlag(Box<Expression>, Option<bool>, bool),
    /// `IS DISTINCT FROM`; the last field is true for `IS NOT`.
    IsDistinct(Box<Expression>, Box<Expression>, bool),
    Between {
        value: Box<Expression>,
        low: Box<Expression>,
        high: Box<Expression>,
        is_not: bool,
    },
    InList(Box<Expression>, Vec<Expression>, bool),
    InQuery(Box<Expression>, Box<Query>, bool),
    Like(Box<Like>),
    Cast(Box<Expression>, Declared),
    Case {
        operand: Option<Box<Expression>>,
        branches: Vec<(Expression, Expression)>,
        otherwise: Option<Box<Expression>>,
    },
    Exists(Box<Query>),
    Subquery(Box<Query>),
    Row(Vec<Expression>),
    Call(Box<Call>),
    Extract(String, Box<Expression>),
}

#[derive(Clone, Debug)]
pub(super) struct Like {
    pub(super) text: Expression,
    pub(super) pattern: Expression,
    pub(super) escape: Option<Expression>,
    pub(super) ignores_case: bool,
    pub(super) is_not: bool,
}

#[derive(Clone, Debug)]
pub(super) struct Call {
    pub(super) name: String,
    pub(super) arguments: Vec<Expression>,
    /// `count(*)`.
    pub(super) is_of_rows: bool,
    pub(super) is_distinct: bool,
    pub(super) order: Vec<Order>,
    pub(super) filter: Option<Expression>,
    pub(super) window: Option<Window>,
}

#[derive(Clone, Debug)]
pub(super) struct Window {
    pub(super) partition: Vec<Expression>,
    pub(super) order: Vec<Order>,
}
