//! SQL statements of game code to the database.

use muster_domain::ports::sql::SqlValue;
use muster_domain::{Error, Result, sql};

use super::records::list;
use super::{
    ArgumentRules, Arguments, EffectClass, HostFunction, LuaShape, ROW, Run, Type, field, only, optional, required,
};
use crate::value::{Value, whole};

const MICROS_PER_SEC: f64 = 1e6;

pub(super) static FUNCTIONS: &[HostFunction] = &[
    HostFunction {
        name: "sql_exec",
        doc: "Runs a statement of SQL in a transaction of its own. The statement names its parameters $1, $2 and so \
              on.",
        parameters: &[required("statement", Type::Text), optional("parameters", Type::List(&Type::Any))],
        results: &[field("rows_affected", Type::Number)],
        answers: "the number of rows that were changed",
        effect: EffectClass::Writes,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let (statement, parameters) = read(&mut arguments)?;
                let changed = sql::exec(&*host.store, &statement, parameters).await?;
                Ok(Value::Number(changed as f64))
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "sql_query",
        doc: "Runs a statement of SQL in a transaction of its own, and reads its rows. The statement names its \
              parameters $1, $2 and so on.",
        parameters: &[required("statement", Type::Text), optional("parameters", Type::List(&Type::Any))],
        results: &[only(Type::List(&Type::Object))],
        answers: "the rows; each has its values by the names of the columns",
        effect: EffectClass::Writes,
        lua: LuaShape::taking(ArgumentRules { not_empty: &["statement"], ..ArgumentRules::BY_RULE }),
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let (statement, parameters) = read(&mut arguments)?;
                if statement.is_empty() {
                    return Ok(Value::List(Vec::new()));
                }
                let found = sql::query(&*host.store, &statement, parameters).await?;
                let row = |values: Vec<SqlValue>| {
                    let values = found.columns.iter().cloned().zip(values.into_iter().map(of_value));
                    Value::Map(values.collect())
                };
                Ok(Value::List(found.rows.into_iter().map(row).collect()))
            })
        }),
        ..ROW
    },
];

fn read(arguments: &mut Arguments) -> Result<(String, Vec<SqlValue>)> {
    let statement = arguments.text()?;
    let parameters = match arguments.any() {
        Value::Map(named) if !named.is_empty() => {
            return Err(Error::invalid("expects parameters to be a list, with a value for each place"));
        }
        parameters => list(parameters),
    };
    Ok((statement, parameters.into_iter().map(to_value).collect::<Result<_>>()?))
}

fn to_value(value: Value) -> Result<SqlValue> {
    Ok(match value {
        Value::Nil => SqlValue::Null,
        Value::Flag(flag) => SqlValue::Flag(flag),
        Value::Number(number) => whole(number).map_or(SqlValue::Number(number), SqlValue::Integer),
        Value::Bytes(bytes) => match String::from_utf8(bytes) {
            Ok(text) => SqlValue::Text(text),
            Err(error) => SqlValue::Bytes(error.into_bytes()),
        },
        other => {
            let kind = other.kind();
            return Err(Error::invalid(format!("expects parameters to be strings, numbers or booleans, got a {kind}")));
        }
    })
}

fn of_value(value: SqlValue) -> Value {
    match value {
        SqlValue::Null => Value::Nil,
        SqlValue::Flag(flag) => Value::Flag(flag),
        SqlValue::Integer(number) => Value::Number(number as f64),
        SqlValue::Number(number) => Value::Number(number),
        SqlValue::Text(text) => Value::text(text),
        SqlValue::Bytes(bytes) => Value::Bytes(bytes),
        SqlValue::Time(time) => Value::Number(time.0 as f64 / MICROS_PER_SEC),
    }
}
