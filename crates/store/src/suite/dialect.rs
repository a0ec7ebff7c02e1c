//! Statements of game code that have the same answers on both databases, and those that SQLite refuses. The statements
//! are written in PostgreSQL's dialect.

use muster_domain::ports::sql::SqlRows;
use muster_domain::ports::sql::SqlValue::{self, Bytes, Flag, Integer, Null, Number, Text};
use muster_domain::ports::store::StoreError;

use super::Fixture;
use super::fixture::{on_postgres, on_sqlite};

const ANN: &str = "a0000000-0000-4000-8000-000000000001";
const BOB: &str = "b0000000-0000-4000-8000-000000000002";

/// Tables and rows that the statements read. Each statement changes as many rows on both databases.
pub(crate) const SETUP: &[&str] = &[
    "INSERT INTO users (id, username, display_name, metadata, create_time, update_time) VALUES
        ('a0000000-0000-4000-8000-000000000001', 'ann', 'Ann', '{\"level\": 3, \"tags\": [\"a\", \"b\"]}',
            '2024-01-31 10:00:00+00', '2024-02-01T00:00:00Z'),
        ('b0000000-0000-4000-8000-000000000002', 'bob', NULL, '{}', '2024-02-29 23:59:59.123456+00', now()),
        ('c0000000-0000-4000-8000-000000000003', 'Cat', 'cat', '{\"level\": 10}', '1969-12-31 23:59:59+00', now())",
    "INSERT INTO public.storage (collection, key, user_id, value, version, read, write) VALUES
        ('saves', 'one', 'a0000000-0000-4000-8000-000000000001', '{\"b\": {\"c\": [1, 2.50, null]}, \"a\": true}', 'v1', 2, 1),
        ('saves', 'two', 'a0000000-0000-4000-8000-000000000001', '{\"n\": 7}', 'v2', 1, 0),
        ('decks', 'one', 'b0000000-0000-4000-8000-000000000002', '{\"n\": null}', 'v3', 0, 0)",
    "INSERT INTO wallet_ledger (id, user_id, changeset, metadata, create_time, update_time) VALUES
        ('d0000000-0000-4000-8000-000000000001', 'a0000000-0000-4000-8000-000000000001', '{\"gold\": 5}', '{}',
            '2024-03-01', '2024-03-01'),
        ('d0000000-0000-4000-8000-000000000002', 'a0000000-0000-4000-8000-000000000001', '{\"gold\": -2}', '{}',
            '2024-03-02', '2024-03-02')",
    "INSERT INTO notification (id, user_id, subject, content, code, sender_id, create_time) VALUES
        ('e0000000-0000-4000-8000-000000000001', 'a0000000-0000-4000-8000-000000000001', 'hi', '{}', 7,
            'b0000000-0000-4000-8000-000000000002', '2024-03-01 12:00:00')",
    "INSERT INTO message (id, sender_id, username, stream_mode, stream_subject, stream_descriptor, stream_label, content,
            create_time, update_time) VALUES
        ('f0000000-0000-4000-8000-000000000001', 'a0000000-0000-4000-8000-000000000001', 'ann', 2,
            '00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000000', 'lobby',
            '{\"text\": \"hello\"}', '2024-03-01 12:00:00', '2024-03-01 12:00:00')",
    "CREATE TABLE IF NOT EXISTS guild (
        id BIGSERIAL PRIMARY KEY,
        key UUID NOT NULL UNIQUE,
        owner UUID REFERENCES users (id) ON DELETE CASCADE,
        name VARCHAR(8) NOT NULL,
        open BOOLEAN DEFAULT true,
        rank INT,
        points BIGINT NOT NULL DEFAULT 0 CHECK (points >= 0),
        rate DOUBLE PRECISION,
        price NUMERIC(10, 2),
        data JSONB NOT NULL DEFAULT '{}',
        blob BYTEA,
        born DATE,
        made TIMESTAMPTZ DEFAULT now(),
        kind TEXT CHECK (kind IN ('a', 'b') OR kind IS NULL)
    )",
    "CREATE UNIQUE INDEX IF NOT EXISTS guild_name ON guild (name)",
    "CREATE INDEX guild_points ON guild (points DESC, name) WHERE points > 10",
    "INSERT INTO guild (key, owner, name, open, rank, points, rate, price, data, blob, born, made, kind) VALUES
        ('10000000-0000-4000-8000-000000000001', 'a0000000-0000-4000-8000-000000000001', 'Red', true, 2, 10, 0.5, 1.5,
            '{\"x\": 1}', '\\x00ff', '2024-02-29', '2024-02-29 12:30:00+02', 'a'),
        ('20000000-0000-4000-8000-000000000002', NULL, 'blue', false, NULL, 30, 0.1, 10, '{\"x\": 2, \"y\": [1]}',
            NULL, NULL, NULL, NULL),
        ('30000000-0000-4000-8000-000000000003', 'b0000000-0000-4000-8000-000000000002', 'Green_', NULL, 1, 20, NULL,
            -0.005, '[]', 'ab', '1999-12-31', '2000-01-01', 'b')",
    "CREATE TABLE member (guild BIGINT REFERENCES guild, name TEXT, score INTEGER, PRIMARY KEY (guild, name))",
    "INSERT INTO member VALUES (1, 'x', 5), (1, 'y', NULL), (2, 'x', 9), (3, 'z', 5)",
    "ALTER TABLE member ADD COLUMN IF NOT EXISTS note TEXT NOT NULL DEFAULT 'none'",
    "ALTER TABLE member RENAME COLUMN note TO remark",
];

/// Statements with their parameters, one after the other: later ones see the changes of earlier ones.
pub(crate) fn statements() -> Vec<(&'static str, Vec<SqlValue>)> {
    let text = |text: &str| Text(text.to_owned());
    let plain = PLAIN.iter().map(|statement| (*statement, Vec::new()));
    let given = vec![
        ("SELECT username, create_time FROM users WHERE id = $1", vec![text(ANN)]),
        ("SELECT username FROM users WHERE id IN ($1, $2) ORDER BY username", vec![text(ANN), text(BOB)]),
        ("SELECT $1::uuid AS a, $1 AS b", vec![text(ANN)]),
        ("SELECT username FROM users WHERE create_time > $1 ORDER BY 1", vec![text("2024-02-01 00:00:00+00")]),
        ("SELECT username FROM users WHERE create_time = to_timestamp($1)", vec![Number(1_706_695_200.0)]),
        ("SELECT name FROM guild WHERE points = $1 OR points = $1 + 10 ORDER BY name", vec![Integer(10)]),
        ("SELECT name FROM guild WHERE open = $1", vec![Flag(true)]),
        ("SELECT name FROM guild WHERE open = $1", vec![text("f")]),
        ("SELECT name FROM guild WHERE points > $1", vec![text(" 15 ")]),
        ("SELECT name FROM guild WHERE rate = $1", vec![Number(0.1)]),
        ("SELECT $1::text AS a, $2::int AS b, $3::float8 AS c", vec![Integer(5), text("7"), Integer(2)]),
        ("SELECT $1::jsonb AS a, $2::bytea AS b", vec![text("{\"b\":1,\"a\":2}"), Bytes(vec![0, 255])]),
        ("SELECT coalesce($1, name) AS a FROM guild ORDER BY id", vec![Null]),
        ("SELECT name FROM guild ORDER BY id LIMIT $1 OFFSET $2", vec![Integer(1), Integer(1)]),
        ("SELECT name FROM guild ORDER BY id LIMIT $1", vec![Null]),
        ("SELECT name FROM guild WHERE name LIKE $1", vec![text("%e%")]),
        ("SELECT name FROM guild WHERE data @> $1", vec![text("{\"x\": 2}")]),
        ("SELECT data ->> $1 AS a FROM guild ORDER BY id", vec![text("x")]),
        ("UPDATE storage SET value = $1 WHERE key = $2 RETURNING value", vec![text("{\"n\": 8}"), text("two")]),
        (
            "INSERT INTO member (guild, name, score) VALUES ($1, $2, $3)
            ON CONFLICT (guild, name) DO UPDATE SET score = member.score + excluded.score RETURNING score",
            vec![Integer(1), text("x"), Integer(3)],
        ),
        (
            "SELECT now() - interval '1 day' < now() AS a, $1::int * interval '1 hour' < interval '1 day' AS b",
            vec![Integer(5)],
        ),
        ("SELECT 'x' || $1 AS a", vec![text("'; DROP TABLE guild; --")]),
    ];
    plain.chain(given).collect()
}

const PLAIN: &[&str] = &[
    // The server's own tables.
    "SELECT id, username, display_name, metadata, wallet, edge_count, create_time, disable_time FROM users
        WHERE username <> '' ORDER BY username",
    "SELECT * FROM storage WHERE collection = 'saves' AND key = 'none'",
    "SELECT collection, key, user_id, value, version, read, write FROM public.storage ORDER BY collection, key",
    "SELECT id, changeset, create_time FROM wallet_ledger ORDER BY create_time DESC",
    "SELECT sum((changeset ->> 'gold')::bigint) AS gold FROM wallet_ledger",
    "SELECT subject, code, sender_id, create_time FROM notification WHERE user_id::text LIKE 'a0%'",
    "SELECT content ->> 'text' AS said, stream_label, stream_subject FROM message",
    "SELECT u.username, s.key, s.value -> 'n' AS n FROM users u JOIN storage s ON s.user_id = u.id
        ORDER BY u.username, s.key",
    "SELECT u.username, count(s.key) FROM users AS u LEFT JOIN storage AS s ON s.user_id = u.id
        WHERE u.username != '' GROUP BY u.id ORDER BY count(s.key) DESC, u.username",
    "SELECT username FROM users WHERE EXISTS (SELECT 1 FROM storage WHERE user_id = users.id) ORDER BY username",
    "SELECT username, (SELECT max(create_time) FROM wallet_ledger w WHERE w.user_id = users.id) AS last FROM users
        WHERE username IN ('ann', 'bob') ORDER BY username",
    "SELECT metadata -> 'tags' -> 0 AS a, metadata -> 'tags' ->> -1 AS b, metadata #>> '{tags,1}' AS c,
        metadata #> '{tags}' AS d, (metadata ->> 'level')::int + 1 AS e FROM users WHERE username = 'ann'",
    "SELECT username FROM users WHERE metadata ? 'level' AND (metadata -> 'level')::int > 3",
    "SELECT value #> '{b,c}' AS a, jsonb_array_length(value #> '{b,c}') AS b, jsonb_typeof(value -> 'a') AS c
        FROM storage WHERE key = 'one' AND collection = 'saves'",
    // Names of columns.
    "SELECT 1, 'x', true, now() IS NOT NULL, lower('A'), 1::bigint, 'x'::text, count(*), CASE WHEN true THEN 1 END,
        coalesce(1, 2), (SELECT 5 AS five), EXISTS (SELECT 1), extract(year FROM date '2024-01-01'), 1 + 1",
    "SELECT max(points), name::text, upper(name)::varchar FROM guild GROUP BY name, upper(name) ORDER BY name",
    // Types of values.
    "SELECT * FROM (SELECT id, key, owner, name, open, rank, points, rate, price, data, blob, born, made, kind FROM guild) g
        ORDER BY id",
    "SELECT 1.5 AS a, 1.50 AS b, 2147483648 AS c, 1e3 AS d, -7 AS e, - 1.5 AS f, .5 AS g",
    "SELECT 7 / 2 AS a, -7 / 2 AS b, 7 % 3 AS c, -7 % 3 AS d, 7 / 2.0 AS e, 1.5 * 1.5 AS f, 0.1 + 0.2 AS g",
    "SELECT 0.1::float8 + 0.2::float8 AS a, 1::float8 / 3 AS b, 1e308::float8 AS c, 0.1::float8::text AS d",
    "SELECT '12'::int AS a, 12::text AS b, 1.5::int AS c, 2.5::int AS d, 2.5::float8::int AS e, -2.5::int AS f,
        true::text AS g, 't'::boolean AS h, 1::boolean AS i, true::int AS j",
    "SELECT 12.345::numeric(5, 1) AS a, 7::numeric AS b, '1.10'::numeric AS c, 1.10 = 1.1 AS d, 3.0::bigint AS e",
    "SELECT '{\"b\":1,\"a\":[1e2,\"x\"]}'::jsonb AS a, '[]'::jsonb AS b, '\"\\u00e9\"'::jsonb AS c, '1.0'::jsonb = '1.00'::jsonb AS d",
    "SELECT '2024-02-29'::date AS a, '2024-02-29 10:00:00+02'::timestamptz AS b, timestamp '2024-02-29 10:00:00' AS c,
        '2024-02-29 10:00:00.5+00'::timestamptz::text AS d, date '2024-02-29'::text AS e",
    "SELECT 'abcdef'::varchar(3) AS a, CAST('5' AS bigint) AS b, cast(5 as double precision) AS c",
    "SELECT '\\x6162'::bytea AS a, length('\\x6162'::bytea) AS b, '\\x6162'::bytea::text AS c",
    // Texts.
    "SELECT 'Abc' LIKE 'a%' AS a, 'Abc' ILIKE 'a%' AS b, 'a_c' LIKE 'a\\_c' AS c, 'abc' LIKE 'a\\_c' AS d,
        'a%c' LIKE 'a!%c' ESCAPE '!' AS e, 'ÄB' ILIKE 'äb' AS f, 'x' NOT LIKE 'y' AS g, NULL LIKE 'x' AS h",
    "SELECT lower('ÀB') AS a, upper('straße') AS b, length('né') AS c, octet_length('né') AS d, substr('hello', 2, 3) AS e,
        substring('hello' FROM 2 FOR 3) AS f, substr('hello', -1, 3) AS g, left('hello', -2) AS h, right('hello', 2) AS i",
    "SELECT trim('  x ') AS a, ltrim('xxy', 'x') AS b, trim(both 'x' from 'xyx') AS c, replace('aXa', 'a', 'b') AS d,
        strpos('hello', 'l') AS e, position('z' in 'hello') AS f, split_part('a,b,c', ',', 2) AS g, reverse('abc') AS h,
        lpad('7', 3, '0') AS i, rpad('ab', 1) AS j, repeat('ab', 2) AS k, starts_with('abc', 'ab') AS l",
    "SELECT 'a' || 1 AS a, 'a' || NULL AS b, concat('a', NULL, 1, 1.5) AS c, concat_ws('-', 'a', NULL, 'b') AS d",
    "SELECT name FROM guild ORDER BY name",
    "SELECT name FROM guild ORDER BY lower(name) DESC",
    "SELECT name < 'a' AS a, name >= 'Red' AS b FROM guild ORDER BY id",
    // Numbers.
    "SELECT abs(-3) AS a, abs(-1.5) AS b, floor(1.5) AS c, ceil(-1.5) AS d, round(2.5) AS e, round(2.5::float8) AS f,
        round(1.255, 2) AS g, trunc(-1.7) AS h, sqrt(16) AS i, mod(7, 4) AS j, floor(7) AS k, power(2, 10) AS l",
    "SELECT greatest(1, 3, 2) AS a, least(1, NULL, 0) AS b, greatest('a', 'b') AS c, nullif(1, 1) AS d, nullif(2, 1) AS e,
        coalesce(NULL, NULL, 5) AS f, greatest(1.5, 2) AS g",
    // NULL.
    "SELECT NULL = 1 AS a, NULL IS NULL AS b, 1 IS DISTINCT FROM NULL AS c, NULL IS NOT DISTINCT FROM NULL AS d,
        NOT (NULL AND false) AS e, NULL OR true AS f, (NULL = 1) IS UNKNOWN AS g, (1 = 2) IS NOT TRUE AS h",
    "SELECT rank FROM guild ORDER BY rank",
    "SELECT rank FROM guild ORDER BY rank DESC",
    "SELECT rank FROM guild ORDER BY rank NULLS FIRST",
    "SELECT rank AS r, name FROM guild ORDER BY r DESC NULLS LAST, 2",
    "SELECT 1 IN (1, NULL) AS a, 2 IN (1, NULL) AS b, 2 NOT IN (1, 3) AS c, 5 BETWEEN 1 AND 5 AS d, 5 NOT BETWEEN 6 AND 7 AS e",
    "SELECT name FROM guild WHERE open",
    "SELECT name FROM guild WHERE NOT open",
    "SELECT name FROM guild WHERE open IS NOT TRUE ORDER BY name",
    "SELECT count(*) FROM guild WHERE rank = NULL",
    // Aggregates and groups.
    "SELECT count(*), count(rank), sum(points), sum(rank), avg(points), avg(rank), min(name), max(made), avg(rate),
        sum(rate), sum(price), min(price), max(price), count(DISTINCT open) FROM guild",
    "SELECT sum(rank), avg(rank), count(rank), max(name) FROM guild WHERE false",
    "SELECT bool_and(open), bool_or(open), every(points > 5) FROM guild",
    "SELECT string_agg(name, ', ' ORDER BY name DESC) FROM guild",
    "SELECT count(*) FILTER (WHERE points > 15) AS many, sum(points)::bigint AS all FROM guild",
    "SELECT guild, sum(score) AS total FROM member GROUP BY guild HAVING count(score) > 0 ORDER BY total, guild",
    "SELECT g.name, sum(m.score) FROM guild g JOIN member m ON m.guild = g.id GROUP BY g.id, g.name ORDER BY sum(m.score) DESC, 1",
    "SELECT points > 15 AS rich, count(*) FROM guild GROUP BY 1 ORDER BY 1",
    "SELECT lower(left(name, 1)) AS initial, count(*) FROM guild GROUP BY initial ORDER BY initial",
    "SELECT DISTINCT score FROM member ORDER BY score",
    "SELECT price FROM guild ORDER BY price",
    "SELECT name FROM guild WHERE price > 1.49 ORDER BY price DESC",
    // Joins, subqueries, set operations.
    "SELECT g.name, m.name FROM guild g, member m WHERE m.guild = g.id ORDER BY 1, 2",
    "SELECT * FROM member JOIN (VALUES (1, 'one'), (2, 'two')) AS t (guild, word) USING (guild) ORDER BY guild, name",
    "SELECT a.name, b.name AS other FROM member a FULL JOIN member b ON a.score = b.score AND a.guild < b.guild
        ORDER BY a.name, other, a.guild, b.guild",
    "SELECT m.name, g.name AS guild FROM guild g RIGHT JOIN member m ON g.id = m.guild AND g.open ORDER BY m.guild, m.name",
    "SELECT count(*) FROM guild CROSS JOIN member",
    "SELECT name FROM member WHERE guild IN (SELECT id FROM guild WHERE points > 15) ORDER BY name",
    "SELECT name FROM member WHERE (guild, name) IN ((1, 'y'), (2, 'x')) ORDER BY name",
    "SELECT guild, name FROM member WHERE (guild, name) > (1, 'x') ORDER BY guild, name LIMIT 2",
    "SELECT name, (SELECT count(*) FROM member WHERE guild = guild.id) AS n FROM guild ORDER BY id",
    "SELECT t.a + 1 AS b FROM (SELECT points AS a FROM guild WHERE rank IS NOT NULL) AS t ORDER BY b",
    "SELECT name FROM guild UNION SELECT name FROM member ORDER BY name",
    "SELECT 1 AS a UNION ALL SELECT 1 UNION ALL SELECT 2 ORDER BY a DESC",
    "SELECT score FROM member EXCEPT SELECT 5 ORDER BY 1",
    "(SELECT name FROM guild ORDER BY name LIMIT 1) UNION ALL (SELECT name FROM member ORDER BY name DESC LIMIT 1)",
    "VALUES (1, 'a'), (2, NULL)",
    "WITH rich AS (SELECT id, name FROM guild WHERE points >= 20), poor (x) AS (SELECT 'p')
        SELECT rich.name, x FROM rich CROSS JOIN poor ORDER BY rich.id",
    "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 5) SELECT sum(i) FROM n",
    "SELECT CASE WHEN points > 25 THEN 'rich' WHEN points > 15 THEN 'fair' ELSE 'poor' END AS a,
        CASE rank WHEN 1 THEN 10 END AS b FROM guild ORDER BY id",
    "SELECT name, row_number() OVER (ORDER BY points DESC) AS place, rank() OVER (ORDER BY rank),
        count(*) OVER () AS n FROM guild ORDER BY place",
    "SELECT name, lag(points) OVER (ORDER BY id) AS before FROM guild ORDER BY id FETCH FIRST 2 ROWS ONLY",
    "SELECT name FROM guild ORDER BY id LIMIT ALL OFFSET 1",
    "SELECT name FROM guild WHERE id = 1 FOR UPDATE",
    // Moments.
    "SELECT date_trunc('month', made) AS a, extract(epoch FROM made) AS b, extract(hour FROM made)::int AS c,
        date_part('year', made) AS d, made::date AS e FROM guild ORDER BY id",
    "SELECT timestamptz '2024-01-31 10:00:00+00' + interval '1 month' AS a,
        timestamptz '2024-03-31 10:00:00+00' - interval '1 month 1 day' AS b,
        date '2024-02-28' + 2 AS c, date '2024-03-01' - date '2024-02-01' AS d,
        extract(epoch FROM timestamptz '2024-03-01' - timestamptz '2024-02-28') AS e,
        date '2024-01-01' + interval '36 hours' AS f, extract(dow FROM date '2024-01-01') AS g,
        extract(second FROM timestamptz '2024-01-01 00:00:01.25+00') AS h",
    "SELECT name FROM guild WHERE made < timestamptz '2024-01-01' OR born >= '2024-02-29' ORDER BY name",
    "SELECT made - interval '1 hour' * 2 AS a FROM guild ORDER BY id",
    "SELECT count(*) FROM users WHERE update_time > now() - interval '10 minutes' AND username <> ''",
    "SELECT CURRENT_TIMESTAMP = now() AS a, current_date = now()::date AS b, gen_random_uuid() IS NOT NULL AS c,
        random() < 1 AS d",
    // Documents.
    "SELECT data || '{\"z\": 1}' AS a, data - 'x'::text AS b, jsonb_set(data, '{x}', '9') AS c FROM guild WHERE id <= 2 ORDER BY id",
    "SELECT jsonb_build_object('id', id, 'name', name, 'rate', rate, 'open', open) AS a, jsonb_build_array(1, 'x', NULL) AS b,
        to_jsonb(points) AS c FROM guild ORDER BY id",
    "SELECT name FROM guild WHERE data = '{\"x\":1}'",
    "SELECT data -> 'y' @> '[1]' AS a, data -> 'y' -> 0 AS b, data -> 'none' ->> 'x' AS c FROM guild ORDER BY id",
    // Changes.
    "INSERT INTO guild (key, name) VALUES ('40000000-0000-4000-8000-000000000004', 'four') RETURNING id, key, open, points, data, rank",
    "INSERT INTO guild (key, name, kind) VALUES ('40000000-0000-4000-8000-000000000004', 'x', 'a') ON CONFLICT DO NOTHING RETURNING id",
    "UPDATE guild SET points = points + 5, rank = DEFAULT, data = jsonb_set(data, '{n}', to_jsonb(points)) WHERE id = 1
        RETURNING points, rank, data",
    "UPDATE guild AS g SET (name, open) = (upper(g.name), NOT g.open) WHERE g.key = '20000000-0000-4000-8000-000000000002'
        RETURNING g.name, open, *",
    "UPDATE guild SET price = price * 2, rate = points, made = NULL WHERE price IS NOT NULL RETURNING price, rate",
    "INSERT INTO member (guild, name, score) SELECT id, 'new', points FROM guild WHERE id <= 2 RETURNING guild, name, score, remark",
    "INSERT INTO member (guild, name, score) VALUES (1, 'x', 1), (1, 'q', 1)
        ON CONFLICT (guild, name) DO UPDATE SET score = excluded.score WHERE member.score > 100 RETURNING name",
    "INSERT INTO storage (collection, key, user_id, version) VALUES ('c', 'k', 'a0000000-0000-4000-8000-000000000001', 'v')
        ON CONFLICT (collection, key, user_id) DO UPDATE SET version = excluded.version || '2'
        RETURNING value, read, write, version, create_time = update_time AS same",
    "DELETE FROM member WHERE score IS NULL RETURNING guild, name",
    "DELETE FROM member m WHERE m.guild = 1 AND NOT EXISTS (SELECT 1 FROM guild g WHERE g.id = m.guild AND g.points > 1000)",
    "SELECT guild, name, score FROM member ORDER BY guild, name",
    "ALTER TABLE member DROP COLUMN remark",
    "SELECT * FROM member ORDER BY guild, name",
    "DROP TABLE IF EXISTS nothing",
    "DROP INDEX guild_points",
];

/// What a database answers to a statement.
type Answer = (Result<u64, StoreError>, Result<SqlRows, StoreError>);

async fn answers(fixture: &Fixture) -> Vec<Answer> {
    let mut all = Vec::new();
    for statement in SETUP {
        let changed = fixture.store().sql_exec(statement, Vec::new()).await;
        all.push((changed, Ok(SqlRows::default())));
    }
    for (statement, parameters) in statements() {
        let rows = fixture.store().sql_query(statement, parameters).await;
        all.push((Ok(0), rows));
    }
    all
}

#[test]
fn statements_have_equal_answers_on_both_databases() {
    let (mut on_file, mut on_server) = (Vec::new(), Vec::new());
    on_sqlite(async |fixture| on_file = answers(fixture).await);
    on_postgres(async |fixture| on_server = answers(fixture).await);
    let setup = SETUP.iter().map(|statement| (*statement, Vec::new()));
    let mut wrong = Vec::new();
    for (((statement, _), own), expect) in setup.chain(statements()).zip(on_file).zip(on_server) {
        let is_right = own == expect && own.0.is_ok() && own.1.is_ok();
        if !is_right {
            wrong.push(format!("{statement}\n  SQLite:     {own:?}\n  PostgreSQL: {expect:?}"));
        }
    }
    assert!(wrong.is_empty(), "{} statements differ:\n{}", wrong.len(), wrong.join("\n"));
}

/// Statements that both databases refuse.
const WRONG: &[&str] = &[
    "SELECT nothing FROM users",
    "SELECT * FROM nowhere",
    "SELECT id FROM users u JOIN storage s ON s.user_id = u.id JOIN wallet_ledger w ON w.user_id = u.id WHERE create_time IS NULL",
    "SELECT username, count(*) FROM users",
    "SELECT name FROM guild GROUP BY open",
    "SELECT id FROM users WHERE id = 'ann'",
    "SELECT id FROM users WHERE id = 5",
    "SELECT id FROM users WHERE create_time > 5",
    "SELECT name FROM guild WHERE points = 'many'",
    "SELECT name FROM guild WHERE points",
    "SELECT name FROM guild WHERE name = points",
    "SELECT 1 / 0",
    "SELECT 2147483647 + 1",
    "SELECT 9223372036854775807 + 1",
    "SELECT (SELECT id FROM guild)",
    "SELECT 'x'::int",
    "SELECT 'x'::uuid",
    "SELECT '{'::jsonb",
    "SELECT 'maybe'::boolean",
    "SELECT name FROM guild LIMIT -1",
    "SELECT 'a' LIKE 'a\\'",
    "SELECT DISTINCT name FROM guild ORDER BY points",
    "SELECT points FROM guild WHERE count(*) > 1",
    "SELECT 1 UNION SELECT 'x'",
    "SELECT sum(name) FROM guild",
    "INSERT INTO guild (key, name) VALUES ('50000000-0000-4000-8000-000000000005', 'far too long')",
    "INSERT INTO guild (key, name, points) VALUES ('50000000-0000-4000-8000-000000000005', 'minus', -1)",
    "INSERT INTO guild (key, name, rank) VALUES ('50000000-0000-4000-8000-000000000005', 'rank', 3000000000)",
    "INSERT INTO guild (key, name, price) VALUES ('50000000-0000-4000-8000-000000000005', 'price', 123456789)",
    "INSERT INTO guild (key, name, owner) VALUES ('50000000-0000-4000-8000-000000000005', 'owner', gen_random_uuid())",
    "INSERT INTO guild (key, name, kind) VALUES ('50000000-0000-4000-8000-000000000005', 'kind', 'c')",
    "INSERT INTO guild (key) VALUES ('50000000-0000-4000-8000-000000000005')",
    "INSERT INTO guild (key, name) VALUES ('10000000-0000-4000-8000-000000000001', 'again')",
    "INSERT INTO member (guild, name) VALUES (3, 'd'), (3, 'd') ON CONFLICT (guild, name) DO UPDATE SET score = 1",
    "INSERT INTO member (guild, name, score) VALUES (3, 'z', 1) ON CONFLICT (guild, name) DO UPDATE SET score = score + 1",
    "INSERT INTO member (guild, name) VALUES (1, 'a', 2)",
    "UPDATE guild SET nothing = 1",
    "UPDATE guild SET name = NULL",
    "UPDATE guild SET open = 1",
    "UPDATE users SET username = repeat('x', 129)",
    "DROP TABLE guild",
    "CREATE TABLE bad (a INT PRIMARY KEY, b INT PRIMARY KEY)",
    "CREATE TABLE bad (a UUID REFERENCES guild)",
    "SELECT $2::int",
];

#[test]
fn statements_that_are_wrong_are_so_on_both_databases() {
    let check = async |fixture: &Fixture| {
        for statement in SETUP {
            fixture.store().sql_exec(statement, Vec::new()).await.unwrap();
        }
        for statement in WRONG {
            let outcome = fixture.store().sql_query(statement, vec![Integer(1), Integer(1)]).await;
            assert!(matches!(outcome, Err(StoreError::Invalid(_))), "{statement}: {outcome:?}");
        }
        for (statement, parameter) in [
            ("SELECT id FROM users WHERE id = $1", Text("ann".to_owned())),
            ("SELECT name FROM guild WHERE points = $1", Number(1.5)),
            ("SELECT name FROM guild WHERE open = $1", Integer(2)),
            ("SELECT name FROM guild WHERE made = $1", Integer(5)),
            ("SELECT name FROM guild WHERE name = $1", Text("a\0".to_owned())),
        ] {
            let outcome = fixture.store().sql_query(statement, vec![parameter]).await;
            assert!(matches!(outcome, Err(StoreError::Invalid(_))), "{statement}: {outcome:?}");
        }
        let count = fixture.store().sql_query("SELECT count(*) FROM guild", Vec::new()).await.unwrap();
        assert_eq!(count.rows, [[Integer(3)]]);
    };
    on_sqlite(check);
    on_postgres(check);
}

/// Statements of PostgreSQL that are not translated, with the words that say what to do instead.
const REFUSED: &[(&str, &str)] = &[
    ("SELECT DISTINCT ON (name) name FROM users", "row_number() OVER"),
    ("SELECT id FROM users WHERE id = ANY($1)", "IN ($1, $2, …)"),
    ("SELECT ARRAY[1, 2]", "a table with a row for each"),
    ("SELECT username ~ '^a' FROM users", "use PostgreSQL"),
    ("SELECT username SIMILAR TO 'a' FROM users", "write LIKE"),
    ("SELECT now() AT TIME ZONE 'UTC'", "moments are in UTC"),
    ("SELECT username COLLATE \"C\" FROM users", "ordered by their bytes"),
    ("SELECT to_char(now(), 'YYYY')", "use PostgreSQL"),
    ("SELECT interval '1 day'", "extract(epoch from"),
    ("SELECT '2024-01-01'::timestamptz + 3 * interval '1 month'", "write days"),
    ("SELECT * FROM generate_series(1, 3)", "use PostgreSQL"),
    ("SELECT * FROM users, LATERAL (SELECT 1) AS x", "subquery among the columns"),
    ("SELECT * FROM users NATURAL JOIN storage", "USING"),
    ("SELECT * FROM information_schema.tables", "one schema, public"),
    ("SELECT * FROM pg_tables", "IF NOT EXISTS"),
    ("SELECT metadata FROM users ORDER BY metadata", "order by a text"),
    ("SELECT metadata, count(*) FROM users GROUP BY metadata", "value::text"),
    ("SELECT $1 IS NULL", "$1::text"),
    ("SELECT E'a\\n'", "without"),
    ("SELECT $$a$$", "single quotes"),
    ("WITH gone AS (DELETE FROM users RETURNING id) SELECT * FROM gone", "a statement of its own"),
    ("UPDATE users SET username = 'x' FROM storage WHERE user_id = id", "WHERE … IN"),
    ("DELETE FROM users USING storage WHERE user_id = id", "WHERE … IN"),
    ("INSERT INTO users (id) VALUES ($1) ON CONFLICT ON CONSTRAINT users_pkey DO NOTHING", "ON CONFLICT (columns)"),
    ("TRUNCATE users", "DELETE FROM"),
    ("MERGE INTO users USING storage ON true WHEN MATCHED THEN DO NOTHING", "ON CONFLICT"),
    ("CREATE VIEW v AS SELECT 1", "tables and indexes"),
    ("CREATE TABLE t AS SELECT 1", "INSERT … SELECT"),
    ("CREATE TABLE t (a CHAR(3))", "VARCHAR(n)"),
    ("CREATE TABLE t (a REAL)", "DOUBLE PRECISION"),
    ("CREATE TABLE t (a JSON)", "use JSONB"),
    ("CREATE TABLE t (a INET)", "use PostgreSQL"),
    ("CREATE TABLE t (a INT[])", "a table with a row for each"),
    ("CREATE TABLE t (a INTERVAL)", "BIGINT"),
    ("CREATE TABLE t (a SERIAL, b INT PRIMARY KEY)", "SERIAL PRIMARY KEY"),
    ("CREATE TABLE t (a TEXT CHECK (length(a) > 3))", "Check the rest in your code"),
    ("CREATE TABLE muster_x (a INT)", "choose another"),
    ("CREATE INDEX i ON users (lower(username))", "keep the value in a column"),
    ("CREATE INDEX i ON users USING gin (metadata)", "leave USING out"),
    ("CREATE INDEX i ON users (metadata)", "another type"),
    ("ALTER TABLE users ADD COLUMN x INT", "the server's schema"),
    ("DROP TABLE users", "the server's schema"),
    ("EXPLAIN SELECT 1", "use PostgreSQL"),
    ("ANALYZE", "use PostgreSQL"),
    ("SELECT 1; SELECT 2", "one by one"),
    ("SELECT a FROM (SELECT 1 AS a)", "AS name"),
];

#[test]
fn sqlite_says_what_to_do_instead_of_what_it_refuses() {
    on_sqlite(async |fixture| {
        for (statement, told) in REFUSED {
            let outcome = fixture.store().sql_query(statement, vec![Null]).await;
            let Err(StoreError::Invalid(message)) = outcome else { panic!("{statement}: {outcome:?}") };
            assert!(message.contains(told), "{statement}: {message}");
        }
    });
}

#[test]
fn sqlite_bounds_what_nests_and_what_is_long() {
    on_sqlite(async |fixture| {
        let deep = |inner: &str, count: usize| format!("SELECT {}{inner}{}", "(".repeat(count), ")".repeat(count));
        for (statement, told) in [
            (deep("1", 100_000), "nests deeper"),
            (format!("SELECT {}1", "NOT ".repeat(100_000)), "nests deeper"),
            (format!("SELECT {}1", "- ".repeat(100_000)), "nests deeper"),
            (format!("SELECT 1{}", " + 1".repeat(100_000)), "operators"),
            (format!("SELECT 1{}", "::int".repeat(100_000)), "operators"),
            (format!("SELECT 1{}", " UNION SELECT 1".repeat(10_000)), "operators"),
            (format!("SELECT 1{}", " IS NULL".repeat(10_000)), "operators"),
            (format!("SELECT {}", "CASE WHEN ".repeat(10_000)), "nests deeper"),
            (format!("SELECT {}", "(SELECT ".repeat(10_000)), "nests deeper"),
        ] {
            let outcome = fixture.store().sql_query(&statement, Vec::new()).await;
            let Err(StoreError::Invalid(message)) = outcome else { panic!("{outcome:?}") };
            assert!(message.contains(told), "{message}");
        }
        let many = format!("SELECT count(*) FROM users WHERE username = 'x'{}", " OR username = ''".repeat(1_000));
        let rows = fixture.store().sql_query(&many, Vec::new()).await.unwrap().rows;
        assert_eq!(rows, [[Integer(1)]]);
    });
}

/// The address of a second table takes the first one's place, so translations of the first hold no longer.
#[test]
fn sqlite_forgets_translations_when_a_table_changes() {
    on_sqlite(async |fixture| {
        let exec = async |statement: &str| fixture.store().sql_exec(statement, Vec::new()).await.unwrap();
        for (kind, value, expect) in
            [("INTEGER", "7", Integer(7)), ("TEXT", "'7'", Text("7".to_owned())), ("BOOLEAN", "true", Flag(true))]
        {
            exec(&format!("CREATE TABLE t (a {kind})")).await;
            exec(&format!("INSERT INTO t VALUES ({value})")).await;
            let rows = fixture.store().sql_query("SELECT a FROM t", Vec::new()).await.unwrap().rows;
            assert_eq!(rows, [[expect]]);
            exec("DROP TABLE t").await;
        }
    });
}
