//! Calls of functions.

use super::super::tree::{Call, Order};
use super::super::types::Type;
use super::super::{Result, refuse};
use super::{Term, Translator, Typed};

const AGGREGATES: [&str; 9] = ["count", "sum", "avg", "min", "max", "bool_and", "bool_or", "every", "string_agg"];

const WINDOWS: [&str; 5] = ["row_number", "rank", "dense_rank", "lag", "lead"];

/// A function from values of these types to a value of the last type, and its name here.
type Plain = (&'static str, &'static str, &'static [Type], Type);

const PLAIN: &[Plain] = &[
    ("lower", "pg_lower", &[Type::Text], Type::Text),
    ("upper", "pg_upper", &[Type::Text], Type::Text),
    ("char_length", "pg_length", &[Type::Text], Type::Int4),
    ("character_length", "pg_length", &[Type::Text], Type::Int4),
    ("substr", "pg_substr", &[Type::Text, Type::Int4], Type::Text),
    ("substr", "pg_substr", &[Type::Text, Type::Int4, Type::Int4], Type::Text),
    ("substring", "pg_substr", &[Type::Text, Type::Int4], Type::Text),
    ("substring", "pg_substr", &[Type::Text, Type::Int4, Type::Int4], Type::Text),
    ("left", "pg_left", &[Type::Text, Type::Int4], Type::Text),
    ("right", "pg_right", &[Type::Text, Type::Int4], Type::Text),
    ("replace", "replace", &[Type::Text, Type::Text, Type::Text], Type::Text),
    ("strpos", "pg_strpos", &[Type::Text, Type::Text], Type::Int4),
    ("position", "pg_strpos", &[Type::Text, Type::Text], Type::Int4),
    ("split_part", "pg_split", &[Type::Text, Type::Text, Type::Int4], Type::Text),
    ("reverse", "pg_reverse", &[Type::Text], Type::Text),
    ("repeat", "pg_repeat", &[Type::Text, Type::Int4], Type::Text),
    ("starts_with", "pg_starts", &[Type::Text, Type::Text], Type::Flag),
    ("sqrt", "pg_sqrt", &[Type::Float8], Type::Float8),
    ("to_timestamp", "pg_to_timestamp", &[Type::Float8], Type::TimestampTz),
    ("random", "pg_random", &[], Type::Float8),
    ("gen_random_uuid", "pg_uuid", &[], Type::Uuid),
    ("now", "pg_now", &[], Type::TimestampTz),
    ("current_timestamp", "pg_now", &[], Type::TimestampTz),
    ("transaction_timestamp", "pg_now", &[], Type::TimestampTz),
    ("statement_timestamp", "pg_now", &[], Type::TimestampTz),
    ("clock_timestamp", "pg_clock", &[], Type::TimestampTz),
];

/// Functions that answer something new at each call.
const VOLATILE: [&str; 3] = ["random", "gen_random_uuid", "clock_timestamp"];

impl Translator<'_> {
    pub(super) fn function(&mut self, call: &Call) -> Result<Term> {
        let name = call.name.as_str();
        if WINDOWS.contains(&name) || (call.window.is_some() && AGGREGATES.contains(&name)) {
            return self.window_function(call);
        }
        if AGGREGATES.contains(&name) {
            return self.aggregate(call);
        }
        let is_plain = !call.is_of_rows
            && !call.is_distinct
            && call.order.is_empty()
            && call.filter.is_none()
            && call.window.is_none();
        if !is_plain {
            return refuse(format!("The function {name} is not an aggregate that is translated for SQLite."));
        }
        self.is_volatile |= VOLATILE.contains(&name);
        let mut terms = Vec::new();
        for argument in &call.arguments {
            terms.push(self.expression(argument)?);
        }
        if let Some(term) = self.json_function(name, &terms)? {
            return Ok(term);
        }
        if let Some(term) = self.general_function(name, &terms)? {
            return Ok(term);
        }
        if let Some(term) = self.number_function(name, &terms)? {
            return Ok(term);
        }
        if let Some(term) = self.text_function(name, &terms)? {
            return Ok(term);
        }
        let fits = |(own, _, kinds, _): &&Plain| *own == name && kinds.len() == terms.len();
        let Some((_, function, kinds, kind)) = PLAIN.iter().find(fits) else {
            return refuse(format!(
                "The function {name} with {} arguments is not translated for SQLite: see the list of those that are in \
                 the guide on SQL, or use PostgreSQL.",
                terms.len()
            ));
        };
        let mut arguments = Vec::new();
        for (term, kind) in terms.into_iter().zip(*kinds) {
            arguments.push(self.as_type(term, *kind)?.sql);
        }
        let arguments: Vec<&str> = arguments.iter().map(String::as_str).collect();
        Ok(Typed::new(self.call(function, &arguments), *kind).term())
    }

    /// Functions of values of any type.
    fn general_function(&mut self, name: &str, terms: &[Term]) -> Result<Option<Term>> {
        Ok(Some(match (name, terms) {
            ("coalesce", [_, ..]) => {
                let (terms, kind) = self.as_one_type(terms.to_vec(), "COALESCE")?;
                if let [one] = &terms[..] {
                    return Ok(Some(one.clone().term()));
                }
                let all: Vec<_> = terms.into_iter().map(|one| one.sql).collect();
                Typed::new(format!("coalesce({})", all.join(", ")), kind).term()
            }
            ("greatest" | "least", [_, ..]) => {
                let (terms, kind) = self.as_one_type(terms.to_vec(), name)?;
                if matches!(kind, Type::Jsonb | Type::Interval) {
                    return refuse(format!("{name} of {} is not translated for SQLite.", kind.name()));
                }
                let number = kind.number().to_string();
                let mut all = vec![number.as_str()];
                all.extend(terms.iter().map(|one| one.sql.as_str()));
                let function = if name == "greatest" { "pg_greatest" } else { "pg_least" };
                Typed::new(self.call(function, &all), kind).term()
            }
            ("nullif", [left, right]) => {
                let (left, right) = self.comparable(left.clone(), right.clone(), "=")?;
                if left.kind == Type::Jsonb {
                    return refuse("NULLIF of jsonb is not translated for SQLite.");
                }
                Typed::new(format!("nullif({}, {})", left.sql, right.sql), left.kind).term()
            }
            // The name of a type, called as a function, is a cast.
            ("uuid" | "date" | "text" | "int4" | "int8" | "float8" | "bool" | "timestamptz", [one]) => {
                let all = [Type::Uuid, Type::Date, Type::Text, Type::Int4, Type::Int8, Type::Float8, Type::Flag];
                let kind = all.into_iter().find(|kind| kind.short_name() == name).unwrap_or(Type::TimestampTz);
                match one.clone() {
                    Term::Typed(typed) if typed.kind == kind || (typed.kind == Type::Text && kind != Type::Flag) => {
                        self.cast(typed, kind)?.term()
                    }
                    Term::Typed(_) => return refuse(format!("Write the cast to {name} as value::{name}.")),
                    other => self.as_type(other, kind)?.term(),
                }
            }
            ("date_trunc", [unit, moment]) => {
                let unit = self.as_type(unit.clone(), Type::Text)?;
                let moment = match moment.clone() {
                    Term::Typed(typed) if typed.kind.is_moment() => typed,
                    other => self.as_type(other, Type::TimestampTz)?,
                };
                let kind = if moment.kind == Type::Date { Type::TimestampTz } else { moment.kind };
                Typed::new(self.call("pg_trunc", &[&unit.sql, &moment.sql]), kind).term()
            }
            ("date_part", [Term::Text(field), Term::Typed(moment)]) => {
                let is_epoch_of_span = moment.kind == Type::Interval && field == "epoch";
                if !moment.kind.is_moment() && !is_epoch_of_span {
                    return refuse("date_part is translated for SQLite of moments alone.");
                }
                super::super::values::moments::field(field, 0, moment.kind)?;
                let kind = moment.kind.number().to_string();
                let sql = self.call("pg_extract", &[&super::quoted(field, '\''), &moment.sql, &kind]);
                self.cast(Typed::new(sql, Type::Numeric), Type::Float8)?.term()
            }
            ("current_date", []) => {
                let now = self.call("pg_now", &[]);
                self.cast(Typed::new(now, Type::TimestampTz), Type::Date)?.term()
            }
            _ => return Ok(None),
        }))
    }

    fn number_function(&mut self, name: &str, terms: &[Term]) -> Result<Option<Term>> {
        let whole = ["floor", "ceil", "ceiling", "round", "trunc", "sign"];
        Ok(Some(match (name, terms) {
            ("abs", [one]) => {
                let one = match one.clone() {
                    Term::Typed(typed) if typed.kind.is_number() => typed,
                    other => self.as_type(other, Type::Float8)?,
                };
                let sql = self.call("pg_abs", &[&one.sql, &one.kind.number().to_string()]);
                Typed::new(sql, one.kind).term()
            }
            ("trunc", [Term::Text(_) | Term::Parameter(_) | Term::Null]) => {
                return refuse("function trunc(unknown) is not unique: write a cast");
            }
            ("sqrt", [Term::Typed(Typed { kind: Type::Numeric, .. })]) => {
                return refuse("sqrt of numeric is not translated for SQLite: write sqrt(a::float8).");
            }
            (name, [one]) if whole.contains(&name) => {
                let one = match one.clone() {
                    Term::Typed(typed) if typed.kind == Type::Numeric => typed,
                    other => self.as_type(other, Type::Float8)?,
                };
                let how = super::quoted(if name == "ceiling" { "ceil" } else { name }, '\'');
                let sql = self.call("pg_whole", &[&one.sql, &how, &one.kind.number().to_string()]);
                Typed::new(sql, one.kind).term()
            }
            ("round", [one, digits]) => {
                let one = self.as_type(one.clone(), Type::Numeric)?;
                let digits = self.as_type(digits.clone(), Type::Int4)?;
                Typed::new(self.call("pg_round", &[&one.sql, &digits.sql]), Type::Numeric).term()
            }
            ("power" | "pow", [base, exponent]) => {
                let is_exact = |term: &Term| matches!(term, Term::Typed(typed) if typed.kind == Type::Numeric);
                if is_exact(base) || is_exact(exponent) {
                    return refuse("power of numeric is not translated for SQLite: write power(a::float8, b::float8).");
                }
                let base = self.as_type(base.clone(), Type::Float8)?;
                let exponent = self.as_type(exponent.clone(), Type::Float8)?;
                Typed::new(self.call("pg_power", &[&base.sql, &exponent.sql]), Type::Float8).term()
            }
            ("mod", [left, right]) => {
                let (left, right) = self.comparable(left.clone(), right.clone(), "%")?;
                let kind = left.kind.common(right.kind).filter(|kind| kind.is_int());
                let Some(kind) = kind else { return refuse("mod is translated for whole numbers alone.") };
                Typed::new(self.call("pg_mod", &[&left.sql, &right.sql, &kind.number().to_string()]), kind).term()
            }
            _ => return Ok(None),
        }))
    }

    fn text_function(&mut self, name: &str, terms: &[Term]) -> Result<Option<Term>> {
        Ok(Some(match (name, terms) {
            ("length" | "octet_length", [one]) => {
                let one = match one.clone() {
                    Term::Typed(typed) if typed.kind == Type::Bytea => typed,
                    other => self.as_type(other, Type::Text)?,
                };
                let function = if name == "length" { "pg_length" } else { "pg_octets" };
                Typed::new(self.call(function, &[&one.sql]), Type::Int4).term()
            }
            ("concat" | "concat_ws", [_, ..]) => {
                let mut all = Vec::new();
                for term in terms {
                    if matches!(term, Term::Typed(typed) if typed.kind == Type::Flag) {
                        return refuse("concat writes booleans as t and f: write value::text.");
                    }
                    all.push(self.as_text(term.clone())?.sql);
                }
                let all: Vec<&str> = all.iter().map(String::as_str).collect();
                let function = if name == "concat" { "pg_concat" } else { "pg_concat_ws" };
                Typed::new(self.call(function, &all), Type::Text).term()
            }
            ("btrim" | "ltrim" | "rtrim", [first, rest @ ..]) if rest.len() <= 1 => {
                let text = self.as_type(first.clone(), Type::Text)?;
                let set = match rest.first() {
                    Some(set) => self.as_type(set.clone(), Type::Text)?.sql,
                    None => "' '".to_owned(),
                };
                let side = super::quoted(name, '\'');
                Typed::new(self.call("pg_trim", &[&text.sql, &set, &side]), Type::Text).term()
            }
            ("lpad" | "rpad", [text, length, rest @ ..]) if rest.len() <= 1 => {
                let text = self.as_type(text.clone(), Type::Text)?;
                let length = self.as_type(length.clone(), Type::Int4)?;
                let fill = match rest.first() {
                    Some(fill) => self.as_type(fill.clone(), Type::Text)?.sql,
                    None => "' '".to_owned(),
                };
                let side = super::quoted(name, '\'');
                Typed::new(self.call("pg_pad", &[&text.sql, &length.sql, &fill, &side]), Type::Text).term()
            }
            _ => return Ok(None),
        }))
    }

    fn aggregate(&mut self, call: &Call) -> Result<Term> {
        let name = call.name.as_str();
        let scope = self.scope();
        if !scope.allows_aggregates {
            return refuse(format!(
                "aggregate functions are not allowed here: {name} stands in the columns or in HAVING"
            ));
        }
        if scope.in_aggregate {
            return refuse("aggregate function calls cannot be nested");
        }
        scope.has_aggregates = true;
        scope.in_aggregate = true;
        let outcome = self.aggregate_inside(call);
        self.scope().in_aggregate = false;
        outcome
    }

    fn aggregate_inside(&mut self, call: &Call) -> Result<Term> {
        let distinct = if call.is_distinct { "DISTINCT " } else { "" };
        let order = self.orders_of_values(&call.order)?;
        let filter = match &call.filter {
            Some(filter) => format!(" FILTER (WHERE {})", self.condition(filter, "FILTER")?),
            None => String::new(),
        };
        if call.is_of_rows {
            if call.name != "count" || !call.order.is_empty() {
                return refuse(format!("{}(*) is no aggregate", call.name));
            }
            return Ok(Typed::new(format!("count(*){filter}"), Type::Int8).term());
        }
        let mut terms = Vec::new();
        for argument in &call.arguments {
            let term = self.expression(argument)?;
            terms.push(self.settled(term)?);
        }
        let (function, kind) = match (call.name.as_str(), &terms[..]) {
            ("string_agg", [text, between]) if text.kind == Type::Text && between.kind == Type::Text => {
                if call.is_distinct {
                    return refuse(
                        "string_agg(DISTINCT …) is not translated for SQLite: write DISTINCT in a subquery.",
                    );
                }
                ("string_agg", Type::Text)
            }
            (name, [one]) => aggregate_of(name, one.kind)?,
            (name, terms) => {
                return refuse(format!(
                    "The aggregate {name} of {} arguments is not translated for SQLite.",
                    terms.len()
                ));
            }
        };
        if call.is_distinct && terms[0].kind == Type::Jsonb {
            return refuse("DISTINCT of jsonb is not translated for SQLite: write value::text.");
        }
        self.has_functions |= function.starts_with("pg_");
        let all: Vec<_> = terms.into_iter().map(|one| one.sql).collect();
        Ok(Typed::new(format!("{function}({distinct}{}{order}){filter}", all.join(", ")), kind).term())
    }

    fn orders_of_values(&mut self, orders: &[Order]) -> Result<String> {
        let mut all = Vec::new();
        for order in orders {
            let term = self.expression(&order.expression)?;
            all.push(self.order_of(term, order)?);
        }
        Ok(if all.is_empty() { String::new() } else { format!(" ORDER BY {}", all.join(", ")) })
    }

    /// A value to order by, with its direction.
    pub(super) fn order_of(&mut self, term: Term, order: &Order) -> Result<String> {
        let typed = self.settled(term)?;
        if typed.kind == Type::Jsonb {
            return refuse(super::queries::NO_ORDER);
        }
        if typed.sql.parse::<i64>().is_ok() {
            return refuse("non-integer constant in ORDER BY, or a number that is no column of the result");
        }
        Ok(format!("{} {}", typed.sql, direction(order)))
    }

    fn window_function(&mut self, call: &Call) -> Result<Term> {
        let name = call.name.as_str();
        let Some(window) = &call.window else {
            return refuse(format!("window function {name} requires an OVER clause"));
        };
        if !self.scope().allows_windows || self.scope().in_aggregate {
            return refuse("window functions are not allowed here: they stand in the columns of a query");
        }
        if call.is_distinct || !call.order.is_empty() {
            return refuse("DISTINCT and ORDER BY in the call of a window function are not translated for SQLite.");
        }
        self.scope().allows_windows = false;
        let outcome = self.window_inside(call, window);
        self.scope().allows_windows = true;
        outcome
    }

    fn window_inside(&mut self, call: &Call, window: &super::super::tree::Window) -> Result<Term> {
        let mut terms = Vec::new();
        for argument in &call.arguments {
            let term = self.expression(argument)?;
            terms.push(self.settled(term)?);
        }
        let (function, kind) = match (call.name.as_str(), &terms[..]) {
            ("row_number" | "rank" | "dense_rank", []) => (call.name.as_str(), Type::Int8),
            ("lag" | "lead", [one]) => (call.name.as_str(), one.kind),
            ("lag" | "lead", [one, step]) if step.kind == Type::Int4 => (call.name.as_str(), one.kind),
            ("count", []) if call.is_of_rows => ("count", Type::Int8),
            (name @ ("count" | "min" | "max" | "sum"), [one]) => aggregate_of(name, one.kind)?,
            (name, _) => return refuse(format!("The window function {name} is not translated for SQLite.")),
        };
        if function.starts_with("pg_") {
            return refuse(format!("{} over a window is translated for SMALLINT and INTEGER alone.", call.name));
        }
        let filter = match &call.filter {
            Some(filter) => format!(" FILTER (WHERE {})", self.condition(filter, "FILTER")?),
            None => String::new(),
        };
        let mut parts = Vec::new();
        for one in &window.partition {
            let term = self.expression(one)?;
            let typed = self.settled(term)?;
            if typed.kind == Type::Jsonb {
                return refuse("PARTITION BY jsonb is not translated for SQLite.");
            }
            parts.push(typed.sql);
        }
        let partition = if parts.is_empty() { String::new() } else { format!("PARTITION BY {}", parts.join(", ")) };
        let order = self.orders_of_values(&window.order)?;
        let star = if call.is_of_rows { "*" } else { "" };
        let all: Vec<_> = terms.into_iter().map(|one| one.sql).collect();
        let sql = format!("{function}({star}{}){filter} OVER ({partition}{order})", all.join(", "));
        Ok(Typed::new(sql, kind).term())
    }
}

/// SQLite's function for an aggregate of values of a type, and the type of its outcome.
fn aggregate_of(name: &str, kind: Type) -> Result<(&'static str, Type)> {
    let is_ordered = |kind: Type| kind.is_number() || kind.is_moment() || matches!(kind, Type::Text | Type::Interval);
    Ok(match (name, kind) {
        ("count", _) => ("count", Type::Int8),
        ("min", kind) if is_ordered(kind) => ("min", kind),
        ("max", kind) if is_ordered(kind) => ("max", kind),
        ("bool_and" | "every", Type::Flag) => ("min", Type::Flag),
        ("bool_or", Type::Flag) => ("max", Type::Flag),
        // Sums of at most 32 bits fit 64 bits, and SQLite fails where they do not.
        ("sum", Type::Int2 | Type::Int4) => ("sum", Type::Int8),
        ("sum", Type::Int8 | Type::Numeric) => ("pg_sum_exact", Type::Numeric),
        ("sum", Type::Float8) => ("pg_sum_float", Type::Float8),
        ("avg", Type::Float8) => ("pg_avg_float", Type::Float8),
        ("avg", kind) if kind.is_number() => ("pg_avg_exact", Type::Numeric),
        (name, kind) => {
            return refuse(format!("function {name}({}) does not exist on SQLite: write a cast", kind.name()));
        }
    })
}

/// The direction of an order. SQLite puts NULL first by itself, PostgreSQL last.
pub(super) fn direction(order: &Order) -> &'static str {
    match (order.is_descending, order.nulls_first) {
        (false, false) => "ASC NULLS LAST",
        (false, true) => "ASC NULLS FIRST",
        (true, false) => "DESC NULLS LAST",
        (true, true) => "DESC NULLS FIRST",
    }
}
