//! Host functions for Go's `database/sql`, which needs columns in order and values with their types.

use muster_domain::ports::sql::SqlValue;
use muster_domain::{Error, Result, sql};

use crate::host::{Arguments, EffectClass, HostFunction, Parameter, ROW, Run, Type, optional, required};
use crate::value::{Value, whole};

pub(super) static FUNCTIONS: &[HostFunction] = &[
    HostFunction {
        name: "sql_changed",
        parameters: PARAMETERS,
        answers: "how many rows were changed",
        doc: "Runs a statement of SQL, as a transaction of its own. Parameters are written $1, $2.",
        effect: EffectClass::Writes,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let (statement, parameters) = (arguments.text()?, parameters(&mut arguments)?);
                let changed = sql::exec(&*host.store, &statement, parameters).await?;
                Ok(Value::Number(changed as f64))
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "sql_rows",
        parameters: PARAMETERS,
        answers: "the names of the columns, and the rows, each value behind a letter for its kind",
        doc: "Runs a statement of SQL, as a transaction of its own, and answers its rows. Parameters are written $1, $2.",
        effect: EffectClass::Writes,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let (statement, parameters) = (arguments.text()?, parameters(&mut arguments)?);
                let found = sql::query(&*host.store, &statement, parameters).await?;
                let columns = found.columns.into_iter().map(Value::text).collect();
                let row = |values: Vec<SqlValue>| Value::List(values.into_iter().map(written).collect());
                let rows = found.rows.into_iter().map(row).collect();
                Ok(Value::Results(vec![Value::List(columns), Value::List(rows)]))
            })
        }),
        ..ROW
    },
];

const PARAMETERS: &[Parameter] = &[required("statement", Type::Text), optional("parameters", Type::List(&Type::Any))];

/// Reads the parameters of a statement. In a text the first letter is the kind of the value behind it. Whole numbers
/// are such texts, because a double cannot hold all of them.
fn parameters(arguments: &mut Arguments) -> Result<Vec<SqlValue>> {
    let unfit = || Error::invalid("expects parameters, each behind a letter for its kind");
    let Value::List(values) = arguments.any() else { return Ok(Vec::new()) };
    let parameter = |value| {
        let bytes = match value {
            Value::Bytes(bytes) => bytes,
            other => {
                return match other {
                    Value::Nil => Ok(SqlValue::Null),
                    Value::Flag(flag) => Ok(SqlValue::Flag(flag)),
                    Value::Number(number) => Ok(whole(number).map_or(SqlValue::Number(number), SqlValue::Integer)),
                    _ => Err(unfit()),
                };
            }
        };
        let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).map_err(|_| unfit());
        match bytes.split_first() {
            Some((b'i', digits)) => text(digits)?.parse().map(SqlValue::Integer).map_err(|_| unfit()),
            Some((b't', rest)) => text(rest).map(SqlValue::Text),
            Some((b'b', rest)) => Ok(SqlValue::Bytes(rest.to_vec())),
            _ => Err(unfit()),
        }
    };
    values.into_iter().map(parameter).collect()
}

fn written(value: SqlValue) -> Value {
    let behind = |letter: u8, rest: &[u8]| Value::Bytes([&[letter], rest].concat());
    match value {
        SqlValue::Null => Value::Nil,
        SqlValue::Flag(flag) => Value::Flag(flag),
        SqlValue::Number(number) => Value::Number(number),
        SqlValue::Integer(number) => behind(b'i', number.to_string().as_bytes()),
        SqlValue::Text(text) => behind(b't', text.as_bytes()),
        SqlValue::Bytes(bytes) => behind(b'b', &bytes),
        SqlValue::Time(time) => behind(b'm', time.0.to_string().as_bytes()),
    }
}
