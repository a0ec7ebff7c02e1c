//! Functions that translated statements call, where SQLite's own behave otherwise than PostgreSQL's. Their names begin
//! with `pg_`. A function whose argument is NULL answers NULL, unless its comment says otherwise.

use std::cmp::Ordering;
use std::collections::HashSet;
use std::sync::atomic::{AtomicI64, Ordering as Memory};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rusqlite::Connection;
use rusqlite::functions::{Aggregate, Context, FunctionFlags};
use rusqlite::types::{Value, ValueRef};
use uuid::Uuid;

use super::types::{TYPES, Type};
use super::values::decimal::{self, Decimal};
use super::values::jsonb::{self, Json};
use super::values::{moments, pattern};
use super::{Refusal, Result, refuse, values};

/// Longer texts are not made by functions.
const TEXT_BYTES_MAX: usize = 16 << 20;

/// The refusal of a statement that takes too long.
pub(in crate::sqlite) const INTERRUPTED: &str = "The statement took too long and was interrupted.";

/// State of the statement that runs now.
#[derive(Debug, Default)]
pub(in crate::sqlite) struct Run {
    /// The time at which the statement is interrupted; `None` while no statement runs.
    deadline: Mutex<Option<Instant>>,
    /// The time at which the statement began, in microseconds since 1970.
    now: AtomicI64,
    /// Keys of rows that an `INSERT … ON CONFLICT DO UPDATE` has met.
    keys: Mutex<HashSet<Vec<u8>>>,
}

impl Run {
    /// Begins a statement.
    pub(in crate::sqlite) fn begin(&self) {
        self.now.store(clock(), Memory::Relaxed);
        self.keys.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }

    /// Says how long the work for a statement may take from now on; `None` when it is done.
    pub(in crate::sqlite) fn allow(&self, time: Option<Duration>) {
        let end = time.map(|time| Instant::now() + time);
        *self.deadline.lock().unwrap_or_else(PoisonError::into_inner) = end;
    }

    /// Whether the statement has taken too long.
    pub(in crate::sqlite) fn is_over(&self) -> bool {
        self.deadline.lock().unwrap_or_else(PoisonError::into_inner).is_some_and(|end| Instant::now() >= end)
    }

    /// Refuses a further call of a function if the statement has taken too long: SQLite looks at the clock only between
    /// many calls.
    pub(in crate::sqlite) fn check(&self) -> rusqlite::Result<()> {
        if self.is_over() { failing(refuse(INTERRUPTED)) } else { Ok(()) }
    }
}

fn clock() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
}

type Arguments = Vec<Value>;

/// A function of fixed arguments, and how many they are; -1 for any number.
type Function = (&'static str, i32, fn(Arguments) -> Result<Value>);

/// Adds the functions to a connection. Answers the state that is to begin with each statement.
pub(in crate::sqlite) fn add_functions(connection: &Connection) -> rusqlite::Result<Arc<Run>> {
    let flags = FunctionFlags::SQLITE_UTF8 | FunctionFlags::SQLITE_DETERMINISTIC;
    let run = Arc::new(Run::default());
    for (name, count, function) in STRICT {
        let run = Arc::clone(&run);
        connection.create_scalar_function(*name, *count, flags, move |context| {
            run.check()?;
            let arguments = arguments(context)?;
            if arguments.contains(&Value::Null) { Ok(Value::Null) } else { failing(function(arguments)) }
        })?;
    }
    for (name, count, function) in LENIENT {
        let run = Arc::clone(&run);
        connection.create_scalar_function(*name, *count, flags, move |context| {
            run.check()?;
            failing(function(arguments(context)?))
        })?;
    }
    let volatile = FunctionFlags::SQLITE_UTF8;
    let (now, keys) = (Arc::clone(&run), Arc::clone(&run));
    connection.create_scalar_function("pg_now", 0, volatile, move |_| Ok(now.now.load(Memory::Relaxed)))?;
    connection.create_scalar_function("pg_once", -1, volatile, move |context| once(&keys, context))?;
    connection.create_scalar_function("pg_clock", 0, volatile, |_| Ok(clock()))?;
    connection.create_scalar_function("pg_uuid", 0, volatile, |_| Ok(Uuid::new_v4().as_bytes().to_vec()))?;
    connection.create_scalar_function("pg_random", 0, volatile, |_| {
        // The 53 bits of a float's mantissa, of an id's random bits.
        let bits = Uuid::new_v4().as_u128() as u64 & ((1 << 53) - 1);
        Ok(bits as f64 / (1_u64 << 53) as f64)
    })?;
    let numbers = [("pg_sum_exact", false, true), ("pg_avg_exact", true, true)];
    let floats = [("pg_sum_float", false, false), ("pg_avg_float", true, false)];
    for (name, is_average, is_exact) in numbers.into_iter().chain(floats) {
        connection.create_aggregate_function(name, 1, flags, Sum { is_average, is_exact })?;
    }
    connection.create_aggregate_function("pg_single", 1, flags, Single)?;
    connection.create_collation("pg_numeric", decimal::compare_texts)?;
    Ok(run)
}

fn failing<T>(outcome: Result<T>) -> rusqlite::Result<T> {
    outcome.map_err(|refusal| rusqlite::Error::UserFunctionError(Box::new(refusal)))
}

fn arguments(context: &Context<'_>) -> rusqlite::Result<Arguments> {
    (0..context.len()).map(|index| context.get(index)).collect()
}

/// Answers the first argument. Refuses arguments that came before in this statement, unless one is NULL: then
/// `ON CONFLICT DO UPDATE` would change a row twice.
fn once(run: &Run, context: &Context<'_>) -> rusqlite::Result<Value> {
    let arguments = arguments(context)?;
    if !arguments.contains(&Value::Null) {
        let key = format!("{arguments:?}").into_bytes();
        if !run.keys.lock().unwrap_or_else(PoisonError::into_inner).insert(key) {
            return failing(refuse("ON CONFLICT DO UPDATE command cannot affect row a second time"));
        }
    }
    Ok(arguments.into_iter().next().unwrap_or(Value::Null))
}

fn text(value: &Value) -> Result<&str> {
    match value {
        Value::Text(text) => Ok(text),
        _ => refuse("A value is not held as text: it was written by other means than game code's SQL."),
    }
}

fn whole(value: &Value) -> Result<i64> {
    match value {
        Value::Integer(number) => Ok(*number),
        _ => refuse("A value is not held as a whole number: it was written by other means than game code's SQL."),
    }
}

fn real(value: &Value) -> Result<f64> {
    match value {
        Value::Real(number) => Ok(*number),
        Value::Integer(number) => Ok(*number as f64),
        _ => refuse("A value is not held as a number: it was written by other means than game code's SQL."),
    }
}

fn kind(value: &Value) -> Result<Type> {
    let number = usize::try_from(whole(value)?).unwrap_or(usize::MAX);
    TYPES.get(number).copied().map_or_else(|| refuse("unknown type"), Ok)
}

fn finite(number: f64) -> Result<Value> {
    if number.is_finite() { Ok(Value::Real(number)) } else { refuse("value out of range: overflow") }
}

fn flag(flag: bool) -> Result<Value> {
    Ok(Value::Integer(flag.into()))
}

fn bounded(text: String) -> Result<Value> {
    if text.len() > TEXT_BYTES_MAX {
        return refuse(format!("A text is longer than {TEXT_BYTES_MAX} bytes."));
    }
    Ok(Value::Text(text))
}

fn json(value: &Value) -> Result<Json> {
    Json::read(text(value)?)
}

fn of_json(json: Option<&Json>) -> Result<Value> {
    Ok(json.map_or(Value::Null, |json| Value::Text(json.write())))
}

fn as_text(json: Option<&Json>) -> Result<Value> {
    Ok(json.and_then(Json::as_text).map_or(Value::Null, Value::Text))
}

/// The part of a document that a key, or an index if it is a number, leads to.
fn part<'a>(json: &'a Json, step: &Value) -> Result<Option<&'a Json>> {
    match step {
        Value::Integer(index) => Ok(json.index(*index)),
        step => Ok(json.key(text(step)?)),
    }
}

const STRICT: &[Function] = &[
    ("pg_cast", 3, |a| values::convert(a[0].clone(), kind(&a[1])?, kind(&a[2])?)),
    ("pg_varchar", 2, |a| {
        let (all, length) = (text(&a[0])?, whole(&a[1])? as usize);
        match all.char_indices().nth(length) {
            None => Ok(a[0].clone()),
            // Blanks beyond the length are cut off, as standard SQL wants it.
            Some((end, _)) if all[end..].bytes().all(|byte| byte == b' ') => Ok(Value::Text(all[..end].to_owned())),
            Some(_) => refuse(format!("value too long for type character varying({length})")),
        }
    }),
    ("pg_fit", 3, |a| {
        let fitted = Decimal::read(text(&a[0])?)?.fitted(whole(&a[1])? as u32, whole(&a[2])? as u32)?;
        Ok(Value::Text(fitted.write()))
    }),
    ("pg_add", 3, |a| arithmetic('+', &a)),
    ("pg_sub", 3, |a| arithmetic('-', &a)),
    ("pg_mul", 3, |a| arithmetic('*', &a)),
    ("pg_div", 3, |a| arithmetic('/', &a)),
    ("pg_mod", 3, |a| arithmetic('%', &a)),
    ("pg_neg", 2, |a| match kind(&a[1])? {
        Type::Float8 => Ok(Value::Real(-real(&a[0])?)),
        Type::Numeric => Ok(Value::Text(Decimal::read(text(&a[0])?)?.negated().write())),
        kind => Ok(Value::Integer(values::in_width(-i128::from(whole(&a[0])?), kind)?)),
    }),
    ("pg_abs", 2, |a| match kind(&a[1])? {
        Type::Float8 => Ok(Value::Real(real(&a[0])?.abs())),
        Type::Numeric => Ok(Value::Text(text(&a[0])?.trim_start_matches('-').to_owned())),
        kind => Ok(Value::Integer(values::in_width(i128::from(whole(&a[0])?).abs(), kind)?)),
    }),
    ("pg_whole", 3, |a| {
        let how = text(&a[1])?;
        match kind(&a[2])? {
            Type::Numeric => {
                let number = Decimal::read(text(&a[0])?)?;
                let whole = match how {
                    "floor" => number.whole_towards(-1),
                    "ceil" => number.whole_towards(1),
                    "trunc" => number.whole_towards(0),
                    "sign" => number.sign(),
                    _ => number.rounded(0),
                }?;
                Ok(Value::Text(whole.write()))
            }
            _ => {
                let number = real(&a[0])?;
                Ok(Value::Real(match how {
                    "floor" => number.floor(),
                    "ceil" => number.ceil(),
                    "trunc" => number.trunc(),
                    "sign" if number == 0.0 => 0.0,
                    "sign" => number.signum(),
                    _ => number.round_ties_even(),
                }))
            }
        }
    }),
    ("pg_round", 2, |a| match u32::try_from(whole(&a[1])?) {
        Ok(scale @ ..=30) => {
            let number = Decimal::read(text(&a[0])?)?;
            Ok(Value::Text(number.rounded(scale)?.write()))
        }
        _ => refuse("On SQLite round() keeps 0 to 30 digits behind the point."),
    }),
    ("pg_sqrt", 1, |a| match real(&a[0])? {
        number if number < 0.0 => refuse("cannot take square root of a negative number"),
        number => finite(number.sqrt()),
    }),
    ("pg_power", 2, |a| match (real(&a[0])?, real(&a[1])?) {
        (base, exponent) if base == 0.0 && exponent < 0.0 => refuse("zero raised to a negative power is undefined"),
        (base, exponent) => match base.powf(exponent) {
            outcome if outcome == 0.0 && base != 0.0 => refuse("value out of range: underflow"),
            outcome => finite(outcome),
        },
    }),
    ("pg_like", 4, |a| {
        let (all, fit, escape) = (text(&a[0])?, text(&a[1])?, text(&a[2])?);
        let mut letters = escape.chars();
        let escape = letters.next();
        if letters.next().is_some() {
            return refuse("invalid escape string: it is empty or one character");
        }
        if whole(&a[3])? == 0 {
            return flag(pattern::fits(all, fit, escape)?);
        }
        flag(pattern::fits(&pattern::small(all), &pattern::small(fit), escape)?)
    }),
    ("pg_lower", 1, |a| Ok(Value::Text(pattern::small(text(&a[0])?)))),
    ("pg_upper", 1, |a| Ok(Value::Text(pattern::capital(text(&a[0])?)))),
    ("pg_length", 1, |a| match &a[0] {
        Value::Blob(bytes) => Ok(Value::Integer(bytes.len() as i64)),
        other => Ok(Value::Integer(text(other)?.chars().count() as i64)),
    }),
    ("pg_octets", 1, |a| match &a[0] {
        Value::Blob(bytes) => Ok(Value::Integer(bytes.len() as i64)),
        other => Ok(Value::Integer(text(other)?.len() as i64)),
    }),
    ("pg_substr", -1, |a| {
        let begin = whole(&a[1])?;
        let end = match a.get(2).map(whole).transpose()? {
            Some(length) if length < 0 => return refuse("negative substring length not allowed"),
            Some(length) => begin.saturating_add(length),
            None => i64::MAX,
        };
        let (begin, end) = (begin.max(1), end.max(1));
        let taken = usize::try_from(end.saturating_sub(begin).max(0)).unwrap_or(usize::MAX);
        let skipped = usize::try_from(begin - 1).unwrap_or(usize::MAX);
        Ok(Value::Text(text(&a[0])?.chars().skip(skipped).take(taken).collect()))
    }),
    ("pg_left", 2, |a| {
        let (all, count) = (text(&a[0])?, whole(&a[1])?);
        let length = all.chars().count() as i64;
        let kept = if count < 0 { length.saturating_add(count).max(0) } else { count };
        Ok(Value::Text(all.chars().take(kept as usize).collect()))
    }),
    ("pg_right", 2, |a| {
        let (all, count) = (text(&a[0])?, whole(&a[1])?);
        let length = all.chars().count() as i64;
        let skipped = if count < 0 { count.checked_neg().unwrap_or(i64::MAX) } else { (length - count).max(0) };
        Ok(Value::Text(all.chars().skip(skipped as usize).collect()))
    }),
    ("pg_trim", 3, |a| {
        let (all, set, side) = (text(&a[0])?, text(&a[1])?, text(&a[2])?);
        let set: HashSet<char> = set.chars().collect();
        let is_in = |next: char| set.contains(&next);
        let all = if side == "rtrim" { all } else { all.trim_start_matches(is_in) };
        Ok(Value::Text(if side == "ltrim" { all } else { all.trim_end_matches(is_in) }.to_owned()))
    }),
    ("pg_strpos", 2, |a| {
        let (all, sought) = (text(&a[0])?, text(&a[1])?);
        let place = all.find(sought).map_or(0, |at| all[..at].chars().count() + 1);
        Ok(Value::Integer(place as i64))
    }),
    ("pg_split", 3, |a| {
        let (all, between, place) = (text(&a[0])?, text(&a[1])?, whole(&a[2])?);
        let fields: Vec<&str> = if between.is_empty() { vec![all] } else { all.split(between).collect() };
        let index = match place {
            0 => return refuse("field position must not be zero"),
            1.. => place - 1,
            _ => fields.len() as i64 + place,
        };
        let field = usize::try_from(index).ok().and_then(|index| fields.get(index));
        Ok(Value::Text((*field.unwrap_or(&"")).to_owned()))
    }),
    ("pg_reverse", 1, |a| Ok(Value::Text(text(&a[0])?.chars().rev().collect()))),
    ("pg_repeat", 2, |a| {
        let (all, count) = (text(&a[0])?, usize::try_from(whole(&a[1])?).unwrap_or(0));
        if all.len().saturating_mul(count) > TEXT_BYTES_MAX {
            return refuse("requested length too large");
        }
        Ok(Value::Text(all.repeat(count)))
    }),
    ("pg_pad", 4, |a| {
        let (all, length, fill) = (text(&a[0])?, whole(&a[1])?.max(0) as usize, text(&a[2])?);
        if length > TEXT_BYTES_MAX / 4 {
            return refuse("requested length too large");
        }
        let missing = length.saturating_sub(all.chars().count());
        let padding: String = fill.chars().cycle().take(if fill.is_empty() { 0 } else { missing }).collect();
        let kept: String = all.chars().take(length).collect();
        Ok(Value::Text(if text(&a[3])? == "lpad" { padding + &kept } else { kept + &padding }))
    }),
    ("pg_starts", 2, |a| flag(text(&a[0])?.starts_with(text(&a[1])?))),
    ("pg_span", 3, |a| Ok(Value::Integer(moments::add_span(whole(&a[0])?, whole(&a[1])?, whole(&a[2])?)?))),
    ("pg_trunc", 2, |a| {
        let unit = text(&a[0])?.to_ascii_lowercase();
        Ok(Value::Integer(moments::truncate(&unit, whole(&a[1])?)?))
    }),
    ("pg_extract", 3, |a| Ok(Value::Text(moments::field(text(&a[0])?, whole(&a[1])?, kind(&a[2])?)?))),
    ("pg_to_timestamp", 1, |a| {
        let micros = (real(&a[0])? * 1e6).round_ties_even();
        Ok(Value::Integer(moments::in_range(micros as i128)?))
    }),
    ("pg_json_get", 2, |a| of_json(part(&json(&a[0])?, &a[1])?)),
    ("pg_json_text", 2, |a| as_text(part(&json(&a[0])?, &a[1])?)),
    ("pg_json_get_path", 2, |a| of_json(json(&a[0])?.at(&jsonb::path(text(&a[1])?)?))),
    ("pg_json_text_path", 2, |a| as_text(json(&a[0])?.at(&jsonb::path(text(&a[1])?)?))),
    ("pg_json_contains", 2, |a| {
        let (own, other) = (json(&a[0])?, json(&a[1])?);
        let is_element = match &own {
            // A list contains a value that is one of its elements.
            Json::List(all) if !matches!(other, Json::List(_) | Json::Object(_)) => {
                all.iter().any(|one| one.equals(&other))
            }
            _ => false,
        };
        flag(is_element || own.contains(&other)?)
    }),
    ("pg_json_has", 2, |a| {
        let (own, key) = (json(&a[0])?, text(&a[1])?);
        flag(match &own {
            Json::List(all) => all.iter().any(|one| matches!(one, Json::Text(text) if text == key)),
            Json::Text(text) => text == key,
            own => own.key(key).is_some(),
        })
    }),
    ("pg_json_equal", 2, |a| flag(json(&a[0])?.equals(&json(&a[1])?))),
    ("pg_json_join", 2, |a| bounded(json(&a[0])?.joined(json(&a[1])?).write())),
    ("pg_json_without", 2, |a| {
        let mut own = json(&a[0])?;
        match (&mut own, &a[1]) {
            (Json::Object(pairs), Value::Text(key)) => pairs.retain(|(name, _)| name != key),
            (Json::List(all), Value::Text(key)) => all.retain(|one| !matches!(one, Json::Text(text) if text == key)),
            (Json::List(all), Value::Integer(index)) => {
                let place = if *index < 0 { index.saturating_add(all.len() as i64) } else { *index };
                if (0..all.len() as i64).contains(&place) {
                    all.remove(place as usize);
                }
            }
            (Json::Object(_), _) => return refuse("cannot delete from object using integer index"),
            _ => return refuse("cannot delete from scalar"),
        }
        Ok(Value::Text(own.write()))
    }),
    ("pg_json_set", 4, |a| {
        let mut own = json(&a[0])?;
        if !matches!(own, Json::List(_) | Json::Object(_)) {
            return refuse("cannot set path in scalar");
        }
        own.set(&jsonb::path(text(&a[1])?)?, json(&a[2])?, whole(&a[3])? == 1)?;
        bounded(own.write())
    }),
    ("pg_json_typeof", 1, |a| {
        let name = match json(&a[0])? {
            Json::Null => "null",
            Json::Flag(_) => "boolean",
            Json::Number(_) => "number",
            Json::Text(_) => "string",
            Json::List(_) => "array",
            Json::Object(_) => "object",
        };
        Ok(Value::Text(name.to_owned()))
    }),
    ("pg_json_length", 1, |a| match json(&a[0])? {
        Json::List(all) => Ok(Value::Integer(all.len() as i64)),
        _ => refuse("cannot get array length of a value that is no array"),
    }),
];

/// Functions that look at NULL themselves.
const LENIENT: &[Function] = &[
    // NULL is an empty text.
    ("pg_concat", -1, |a| {
        let parts = a.iter().filter(|one| **one != Value::Null).map(text).collect::<Result<Vec<_>>>()?;
        bounded(parts.concat())
    }),
    // The first argument stands between the others; those that are NULL are left out.
    ("pg_concat_ws", -1, |a| {
        if a[0] == Value::Null {
            return Ok(Value::Null);
        }
        let parts = a[1..].iter().filter(|one| **one != Value::Null).map(text).collect::<Result<Vec<_>>>()?;
        bounded(parts.join(text(&a[0])?))
    }),
    // The first argument is the type. Arguments that are NULL are left out.
    ("pg_greatest", -1, |a| extreme(&a, Ordering::Greater)),
    ("pg_least", -1, |a| extreme(&a, Ordering::Less)),
    ("pg_limit", 2, |a| match &a[0] {
        Value::Null => Ok(Value::Integer(if text(&a[1])? == "LIMIT" { -1 } else { 0 })),
        Value::Integer(0..) => Ok(a[0].clone()),
        _ => refuse(format!("{} must not be negative", text(&a[1])?)),
    }),
    // NULL is JSON's null.
    ("pg_to_json", 2, |a| {
        let kind = kind(&a[1])?;
        Ok(Value::Text(match &a[0] {
            Value::Null => "null".to_owned(),
            value => match kind {
                Type::Jsonb | Type::Flag | Type::Numeric => values::write(value, kind)?,
                kind if kind.is_number() => Json::read(&values::write(value, kind)?)?.write(),
                Type::TimestampTz | Type::Timestamp => {
                    let zone = if kind == Type::TimestampTz { ":00" } else { "" };
                    format!("\"{}{zone}\"", values::write(value, kind)?.replacen(' ', "T", 1))
                }
                kind => Json::Text(values::write(value, kind)?).write(),
            },
        }))
    }),
    // Keys and documents in turn.
    ("pg_json_object", -1, |a| {
        let mut pairs = Vec::new();
        for pair in a.chunks(2) {
            if pair[0] == Value::Null {
                return refuse("null value not allowed for object key");
            }
            pairs.push((text(&pair[0])?.to_owned(), json(&pair[1])?));
        }
        bounded(Json::object(pairs).write())
    }),
    ("pg_json_list", -1, |a| bounded(Json::List(a.iter().map(json).collect::<Result<_>>()?).write())),
];

/// Both numbers of the type that the third argument says.
fn arithmetic(sign: char, a: &[Value]) -> Result<Value> {
    let kind = kind(&a[2])?;
    match kind {
        Type::Float8 => {
            let (left, right) = (real(&a[0])?, real(&a[1])?);
            let outcome = match sign {
                '+' => left + right,
                '-' => left - right,
                '*' => left * right,
                _ if right == 0.0 => return refuse("division by zero"),
                _ => left / right,
            };
            if outcome == 0.0 && left != 0.0 && ((sign == '*' && right != 0.0) || sign == '/') {
                return refuse("value out of range: underflow");
            }
            finite(outcome)
        }
        Type::Numeric => {
            let (left, right) = (Decimal::read(text(&a[0])?)?, Decimal::read(text(&a[1])?)?);
            let outcome = match sign {
                '+' => left.add(right),
                '-' => left.add(right.negated()),
                '*' => left.multiply(right),
                _ => left.divide(right),
            };
            Ok(Value::Text(outcome?.write()))
        }
        kind => {
            let (left, right) = (i128::from(whole(&a[0])?), i128::from(whole(&a[1])?));
            let outcome = match sign {
                '+' => left + right,
                '-' => left - right,
                '*' => left * right,
                _ if right == 0 => return refuse("division by zero"),
                '/' => left / right,
                _ => left % right,
            };
            Ok(Value::Integer(values::in_width(outcome, kind)?))
        }
    }
}

fn extreme(arguments: &[Value], wanted: Ordering) -> Result<Value> {
    let kind = kind(&arguments[0])?;
    let mut found = Value::Null;
    for value in &arguments[1..] {
        let order = match (value, &found) {
            (Value::Null, _) => continue,
            (_, Value::Null) => wanted,
            (Value::Integer(left), Value::Integer(right)) => left.cmp(right),
            (Value::Text(left), Value::Text(right)) if kind == Type::Numeric => decimal::compare_texts(left, right),
            (Value::Text(left), Value::Text(right)) => left.cmp(right),
            (Value::Blob(left), Value::Blob(right)) => left.cmp(right),
            (left, right) => real(left)?.total_cmp(&real(right)?),
        };
        if order == wanted {
            found = value.clone();
        }
    }
    Ok(found)
}

/// The sum or the average of numbers; NULL of none.
struct Sum {
    is_average: bool,
    is_exact: bool,
}

/// Numbers so far: how many, and their sum.
struct Summed {
    count: u64,
    exact: Decimal,
    float: f64,
    /// The sum of squares of the differences from the average. PostgreSQL keeps it beside the sum, and fails where it
    /// overflows.
    squares: f64,
}

impl Aggregate<Summed, Value> for Sum {
    fn init(&self, _: &mut Context<'_>) -> rusqlite::Result<Summed> {
        Ok(Summed { count: 0, exact: failing(Decimal::whole(0))?, float: 0.0, squares: 0.0 })
    }

    fn step(&self, context: &mut Context<'_>, summed: &mut Summed) -> rusqlite::Result<()> {
        match context.get_raw(0) {
            ValueRef::Null => return Ok(()),
            ValueRef::Real(number) if !self.is_exact => {
                summed.float += number;
                failing(finite(summed.float))?;
                if self.is_average && summed.count > 0 {
                    let (before, count) = (summed.count as f64, (summed.count + 1) as f64);
                    let difference = number * count - summed.float;
                    summed.squares += difference * difference / (count * before);
                    failing(finite(summed.squares))?;
                }
            }
            ValueRef::Integer(number) => {
                summed.exact = failing(summed.exact.add(failing(Decimal::whole(number.into()))?))?
            }
            ValueRef::Text(text) => {
                let number = failing(Decimal::read(&String::from_utf8_lossy(text)))?;
                summed.exact = failing(summed.exact.add(number))?;
            }
            _ => return failing(values::broken(Type::Numeric)),
        }
        summed.count += 1;
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, summed: Option<Summed>) -> rusqlite::Result<Value> {
        let Some(summed) = summed.filter(|summed| summed.count > 0) else { return Ok(Value::Null) };
        Ok(match (self.is_exact, self.is_average) {
            (true, false) => Value::Text(summed.exact.write()),
            (true, true) => {
                let count = failing(Decimal::whole(summed.count.into()))?;
                Value::Text(failing(summed.exact.divide(count))?.write())
            }
            (false, false) => Value::Real(summed.float),
            (false, true) => Value::Real(summed.float / summed.count as f64),
        })
    }
}

/// The value of the only row; an error for several.
struct Single;

impl Aggregate<Option<Value>, Value> for Single {
    fn init(&self, _: &mut Context<'_>) -> rusqlite::Result<Option<Value>> {
        Ok(None)
    }

    fn step(&self, context: &mut Context<'_>, found: &mut Option<Value>) -> rusqlite::Result<()> {
        if found.is_some() {
            return failing(refuse("more than one row returned by a subquery used as an expression"));
        }
        *found = Some(context.get(0)?);
        Ok(())
    }

    fn finalize(&self, _: &mut Context<'_>, found: Option<Option<Value>>) -> rusqlite::Result<Value> {
        Ok(found.flatten().unwrap_or(Value::Null))
    }
}

impl std::error::Error for Refusal {}
