//! Statements that are made of lists of operands, texts, types and functions. SQLite gives PostgreSQL's answer to each,
//! or refuses it.

use muster_domain::ports::store::StoreError;

use super::{Fixture, on_postgres, on_sqlite};

/// Statements made of lists of operands, texts, types and functions, far more than anybody writes by hand.
fn generated() -> Vec<String> {
    let mut all = Vec::new();
    let types = [
        "int",
        "bigint",
        "smallint",
        "numeric",
        "numeric(6, 2)",
        "float8",
        "boolean",
        "uuid",
        "timestamptz",
        "timestamp",
        "date",
        "jsonb",
        "bytea",
        "text",
        "varchar(3)",
    ];
    let texts = [
        "",
        " 1 ",
        "1",
        "-1",
        "+5",
        "1.5",
        "2.5",
        "-2.5",
        "1e3",
        "1e-7",
        "0.1",
        "123456789012",
        "1e20",
        "1e-400",
        "99999999999999999999",
        "0x10",
        "1_000",
        ".5",
        "5.",
        "t",
        "TRUE",
        "no",
        "off",
        "o",
        "2",
        "Yes",
        "NaN",
        "Infinity",
        "a0000000-0000-4000-8000-000000000001",
        "{A0000000000040008000000000000001}",
        "a0000000-0000-4000-8000-00000000000",
        "2024-02-29",
        "2024-02-29 23:59:59.9999995+00",
        "2023-02-29",
        "2024-1-5",
        "20240105",
        "2024-02-29T10:00:00Z",
        "2024-02-29 10:00+05:30",
        "0001-01-01",
        "10000-12-31 00:00:00",
        "10:00",
        "infinity",
        "epoch",
        "{}",
        "[1, 1.50, 1e2]",
        "\"x\"",
        "null",
        "{\"bb\":1,\"a\":{\"c\":null},\"a\":-0.0}",
        "[\"\\u00e9\\n\", {}]",
        "[01]",
        "\\x00ff",
        "\\xz",
        "a\\\\b",
        "a\\101",
        "é",
        "abcdef",
        "ab  ",
    ];
    for (text, kind) in texts.iter().flat_map(|text| types.iter().map(move |kind| (text, kind))) {
        all.push(format!("SELECT '{text}'::{kind}"));
        all.push(format!("SELECT '{text}'::{kind}::text AS a, ('{text}'::{kind} IS NULL) AS b"));
        all.push(format!("SELECT '{text}'::text::{kind} AS a"));
    }
    let operands = [
        "7",
        "-3",
        "0",
        "2147483647",
        "9223372036854775807",
        "1.5",
        "-0.25",
        "1000000.001",
        "2.5::float8",
        "-1e300::float8",
        "'x'",
        "'7'",
        "'x'::text",
        "true",
        "NULL",
        "'2024-02-29'::date",
        "'2024-02-29 12:00:00+00'::timestamptz",
        "interval '90 minutes'",
        "'{\"a\": 1}'::jsonb",
        "'[1, \"x\"]'::jsonb",
        "'\\x01'::bytea",
        "'a0000000-0000-4000-8000-000000000001'::uuid",
        "3::smallint",
    ];
    let signs = [
        "+",
        "-",
        "*",
        "/",
        "%",
        "=",
        "<>",
        "<",
        ">=",
        "||",
        "->",
        "->>",
        "@>",
        "?",
        "LIKE",
        "IS DISTINCT FROM",
        "AND",
    ];
    for left in operands {
        for right in operands {
            all.extend(signs.iter().map(|sign| format!("SELECT {left} {sign} {right} AS a")));
            for function in
                ["coalesce", "greatest", "least", "nullif", "mod", "concat", "power", "round", "left", "repeat"]
            {
                all.push(format!("SELECT {function}({left}, {right})"));
            }
            all.push(format!("SELECT CASE WHEN true THEN {left} ELSE {right} END"));
            all.push(format!("SELECT {left} AS a UNION ALL SELECT {right} ORDER BY a"));
            all.push(format!("SELECT {left} IN ({right}, {left}) AS a, {left} BETWEEN {right} AND {left} AS b"));
            all.push(format!("SELECT a FROM (VALUES ({left}), ({right})) AS t (a) ORDER BY a DESC"));
            all.push(format!("SELECT min(a), max(a), count(DISTINCT a) FROM (VALUES ({left}), ({right})) AS t (a)"));
            all.push(format!("SELECT sum(a), avg(a) FROM (VALUES ({left}), ({right})) AS t (a)"));
        }
        for kind in types {
            all.push(format!("SELECT ({left})::{kind}, CAST({left} AS {kind}) AS b"));
        }
        for function in [
            "abs",
            "floor",
            "ceil",
            "round",
            "trunc",
            "sign",
            "sqrt",
            "lower",
            "upper",
            "length",
            "octet_length",
            "reverse",
            "btrim",
            "to_jsonb",
            "jsonb_typeof",
            "jsonb_array_length",
            "jsonb_build_array",
            "-",
            "NOT ",
            "date",
            "uuid",
            "text",
            "to_timestamp",
        ] {
            all.push(format!("SELECT {function}({left})"));
        }
    }
    let moments = [
        "timestamptz '2024-02-29 13:14:15.678901+00'",
        "timestamptz '1969-12-28 23:59:59.5+00'",
        "date '2023-01-01'",
        "timestamp '2000-12-31 00:00:00'",
        "timestamptz '0004-03-01 00:00:00+00'",
    ];
    for moment in moments {
        for unit in ["second", "minute", "hour", "day", "week", "month", "quarter", "year", "decade", "DAY"] {
            all.push(format!("SELECT date_trunc('{unit}', {moment})"));
        }
        for field in
            ["epoch", "year", "quarter", "month", "day", "dow", "isodow", "doy", "hour", "minute", "second", "week"]
        {
            all.push(format!("SELECT extract({field} FROM {moment}), date_part('{field}', {moment})"));
        }
        for span in [
            "1 day",
            "-1 month",
            "13 months 2 days",
            "1 year 01:02:03",
            "1.5 hours",
            "90 s",
            "250 ms",
            "1 week",
            "2 mons",
            "1 day ago",
            "0.5 days",
            "1 d 2 h",
            "400 years",
        ] {
            all.push(format!("SELECT {moment} + interval '{span}' AS a, {moment} - interval '{span}' AS b"));
            all.push(format!("SELECT extract(epoch FROM interval '{span}') AS a"));
            all.push(format!(
                "SELECT {moment} + 2 * '{span}'::interval AS a, '{span}'::interval > interval '1 day' AS b"
            ));
        }
    }
    for pattern in ["%", "_", "a%", "%c", "a_c", "\\%", "a\\", "%b%", "", "A%C", "abc", "%\\_%"] {
        for text in ["abc", "a%c", "", "%", "a_c", "ÀBC", "ABC"] {
            all.push(format!("SELECT '{text}' LIKE '{pattern}' AS a, '{text}' ILIKE '{pattern}' AS b, '{text}' NOT LIKE '{pattern}' AS c"));
        }
    }
    for (count, length) in [(-1, 2), (0, 2), (1, 0), (2, 9), (9, 1), (1, -1)] {
        all.push(format!(
            "SELECT substr('héllo', {count}), left('héllo', {count}), right('héllo', {count}), repeat('é', {count})"
        ));
        all.push(format!(
            "SELECT substr('héllo', {count}, {length}), lpad('é', {length}, 'ab'), rpad('é', {length}, '')"
        ));
        all.push(format!("SELECT split_part('a,b,c', ',', {count}), round(1234.5678, {count})"));
    }
    all
}

#[test]
fn sqlite_answers_as_postgresql_or_not_at_all() {
    let statements = generated();
    let answers = async |fixture: &Fixture| {
        let mut all = Vec::new();
        for statement in &statements {
            all.push(fixture.store().sql_query(statement, Vec::new()).await);
        }
        all
    };
    let (mut on_file, mut on_server) = (Vec::new(), Vec::new());
    on_sqlite(async |fixture| on_file = answers(fixture).await);
    on_postgres(async |fixture| on_server = answers(fixture).await);
    let (mut answered, mut refused, mut wrong) = (0, 0, Vec::new());
    for ((statement, own), expect) in statements.iter().zip(on_file).zip(on_server) {
        match (own, expect) {
            (Ok(own), Ok(expect)) if own == expect => answered += 1,
            (Err(StoreError::Invalid(_)), Err(_)) => {}
            (Err(StoreError::Invalid(_)), Ok(_)) => refused += 1,
            (own, expect) => wrong.push(format!("{statement}\n  SQLite:     {own:?}\n  PostgreSQL: {expect:?}")),
        }
    }
    assert!(wrong.is_empty(), "{} statements differ:\n{}", wrong.len(), wrong.join("\n"));
    assert!(answered > 3 * refused, "{answered} are answered, {refused} are refused though PostgreSQL answers them");
}
