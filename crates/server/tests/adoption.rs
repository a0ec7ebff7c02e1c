//! A studio points `muster serve` at the PostgreSQL database of its Nakama server, plays on, and may go back: old
//! players sign in, and afterwards the database is the original's in every table, index, hash and value.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::collections::BTreeSet;
use std::process::Command;

use muster_testenv::{Database, Postgres};
use serde_json::{Value, json};
use support::database::postgres;
use support::http::{self, Response};
use support::load::{md5_hex, user_of};
use support::program::muster;
use support::server::{Server, Setup};
use support::wait_until;

/// The original's tables, which the store's own tests compare with a catalogue of the original's.
const SCHEMA: &str = include_str!("../../store/migrations/postgres/0000_nakama.sql");
const LIFE: &str = include_str!("adoption/life.sql");

const SERVER_KEY: &str = "key-of-this-studio";
const OLD_PASSWORD: &str = "the old password";
const NEW_PASSWORD: &str = "a new password of Ann, of as many bytes as bcrypt takes, äöü: .......";
const ANN: &str = "00000000-0000-4000-8000-000000000001";
/// Cost of the bcrypt hashes that the original wrote. It differs from ours, and so does the name of the algorithm in
/// the hashes.
const OLD_COST: u32 = 5;

/// The tables whose rows no player changes in this test.
const UNTOUCHED: [&str; 18] = [
    "console_acl_template",
    "console_audit_log",
    "console_user",
    "group_edge",
    "groups",
    "leaderboard",
    "leaderboard_record",
    "message",
    "migration_info",
    "notification",
    "purchase",
    "setting",
    "subscription",
    "user_edge",
    "users_notes",
    "wallet_ledger",
    // Signing in leaves no trace in the rows of these players.
    "users WHERE username IN ('bob', 'dan', 'eve', '')",
    "user_device WHERE id LIKE 'first-%'",
];

/// An adopted database and the server on it.
struct Studio {
    database: Database,
    setup: Setup,
    server: Server,
}

impl Studio {
    fn open(database: Database) -> Self {
        let setup = Setup::serve().flag("database.address", database.url()).flag("socket.server_key", SERVER_KEY);
        let server = setup.start();
        Self { database, setup, server }
    }

    /// Signs in by the method that the path names: `device`, `email`, `custom`.
    fn sign_in(&self, by: &str, create: bool, body: &Value) -> Response {
        let path = format!("/v2/account/authenticate/{by}?create={create}");
        self.server.call("POST", &path, &http::basic(SERVER_KEY), body)
    }

    fn token(&self, by: &str, create: bool, body: &Value) -> String {
        let answer = self.sign_in(by, create, body);
        assert_eq!(answer.status, 200, "{body}: {}", answer.text());
        answer.json()["token"].as_str().unwrap().to_owned()
    }

    fn ok(&self, method: &str, path: &str, token: &str, body: &Value) -> Value {
        let answer = self.server.call(method, path, &http::bearer(token), body);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text());
        answer.json()
    }

    fn account(&self, words: &[&str]) {
        let flags = ["--database.address", self.database.url(), "--data_dir", self.setup.folder().to_str().unwrap()];
        muster(&[&["account"], words, &flags].concat()).succeeded();
    }
}

fn email(address: &str, password: &str) -> Value {
    json!({ "email": address, "password": password })
}

/// A database that the original server has run on.
fn lived_in() -> Database {
    let database = Postgres::shared().unwrap().create_database().unwrap();
    let hash = bcrypt::hash_with_result(OLD_PASSWORD, OLD_COST).unwrap().format_for_version(bcrypt::Version::TwoA);
    postgres(database.url(), SCHEMA);
    postgres(database.url(), &LIFE.replace("HASH", &hash));
    database
}

/// Everything that PostgreSQL knows of the tables; without our tables if `without_ours`.
fn catalogue(database: &Database, without_ours: bool) -> String {
    let mut dump = Command::new(Postgres::shared().unwrap().programs_folder().join("pg_dump"));
    dump.args(["--schema-only", "--dbname", database.url()]);
    if without_ours {
        dump.arg("--exclude-table=muster_*");
    }
    let output = dump.output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).unwrap();
    // Newer versions of PostgreSQL put a random word around the text.
    text.lines().filter(|line| !line.contains("restrict ")).collect::<Vec<_>>().join("\n")
}

/// The rows of tables, or of the parts that a WHERE clause selects.
fn rows<'a>(database: &Database, tables: impl IntoIterator<Item = &'a str>) -> BTreeSet<String> {
    let read = |table| {
        postgres(
            database.url(),
            &format!(
                "SELECT '{table_name} ' || to_jsonb(t)::text FROM (SELECT * FROM {table}) t",
                table_name = str::replace(table, '\'', "")
            ),
        )
    };
    tables.into_iter().flat_map(read).collect()
}

#[test]
fn a_studio_plays_on_with_muster_and_may_go_back() {
    let database = lived_in();
    let (catalogue_before, rows_before) = (catalogue(&database, false), rows(&database, UNTOUCHED));
    assert!(rows_before.len() >= UNTOUCHED.len(), "every table has rows");
    let studio = Studio::open(database);

    old_players_sign_in(&studio);
    passwords_change(&studio);
    new_players_sign_up(&studio);
    objects_are_written(&studio);
    players_go(&studio);

    let Studio { database, server, .. } = studio;
    assert_eq!(server.metrics().value("panic_count"), 0.0);
    server.stop();
    assert_eq!(catalogue(&database, true), catalogue_before);
    assert_eq!(rows(&database, UNTOUCHED), rows_before);
    the_original_can_read_it(&database);
    let ours = postgres(database.url(), "SELECT tablename FROM pg_tables WHERE tablename LIKE 'muster\\_%'");
    assert!(ours.len() >= 2, "{ours:?}");
    postgres(database.url(), &format!("DROP TABLE {}", ours.join(", ")));
    assert_eq!(catalogue(&database, false), catalogue_before, "without our tables nothing of Muster is left");
}

fn old_players_sign_in(studio: &Studio) {
    for (by, body, user) in [
        ("email", email("Ann@Example.com", OLD_PASSWORD), ANN),
        ("device", json!({ "id": "first-device-of-ann" }), ANN),
        ("custom", json!({ "id": "custom-of-ann" }), ANN),
        ("device", json!({ "id": "first-device-of-bob" }), "00000000-0000-4000-8000-000000000002"),
        ("email", email("dan@example.com", OLD_PASSWORD), "00000000-0000-4000-8000-000000000004"),
    ] {
        assert_eq!(user_of(&studio.token(by, false, &body)), user, "{body}");
    }
    let wrong = studio.sign_in("email", false, &email("ann@example.com", "a wrong password"));
    assert_eq!((wrong.status, wrong.code()), (401, Some(16)), "{}", wrong.text());
    let banned = studio.sign_in("device", false, &json!({ "id": "first-device-of-eve" }));
    assert_eq!((banned.status, banned.code()), (403, Some(7)), "{}", banned.text());
    let token = studio.token("device", false, &json!({ "id": "first-device-of-ann" }));
    let account = studio.ok("GET", "/v2/account", &token, &Value::Null);
    assert_eq!((&account["user"]["metadata"], &account["wallet"]), (&json!("{\"level\": 7}"), &json!("{\"gold\": 5}")));
    assert_eq!(account["user"]["display_name"], "Ann Ä");
    assert_eq!(account["devices"].as_array().unwrap().len(), 2);
    let friends = studio.ok("GET", "/v2/friend?state=0", &token, &Value::Null);
    let friend = &friends["friends"][0];
    assert_eq!((&friend["user"]["username"], &friend["metadata"]), (&json!("bob"), &json!("{\"note\": \"a friend\"}")));
}

fn passwords_change(studio: &Studio) {
    let ann = studio.token("device", false, &json!({ "id": "first-device-of-ann" }));
    studio.ok("POST", "/v2/account/link/email", &ann, &email("Ann@Example.com", NEW_PASSWORD));
    assert_eq!(studio.sign_in("email", false, &email("ann@example.com", OLD_PASSWORD)).status, 401);
    assert_eq!(user_of(&studio.token("email", false, &email("ann@example.com", NEW_PASSWORD))), ANN);
    // Cat unlinks the address and signs in by device from now on.
    let cat = studio.token("email", false, &email("cat@example.com", OLD_PASSWORD));
    studio.ok("POST", "/v2/account/link/device", &cat, &json!({ "id": "new-device-of-cat" }));
    studio.ok("POST", "/v2/account/unlink/email", &cat, &email("cat@example.com", OLD_PASSWORD));
    assert_eq!(studio.sign_in("email", false, &email("cat@example.com", OLD_PASSWORD)).status, 404);
    studio.ok("POST", "/v2/account/unlink/device", &ann, &json!({ "id": "other-device-of-ann" }));
}

fn new_players_sign_up(studio: &Studio) {
    studio.token("email", true, &email("New@Example.com", "the password of New"));
    studio.token("custom", true, &json!({ "id": "custom-of-new" }));
    let token = studio.token("device", true, &json!({ "id": "late-device-of-new" }));
    let change = json!({ "username": "newcomer", "display_name": "New", "timezone": "Europe/Berlin" });
    studio.ok("PUT", "/v2/account", &token, &change);
}

fn objects_are_written(studio: &Studio) {
    let ann = studio.token("device", false, &json!({ "id": "first-device-of-ann" }));
    let ids = ["old", "sealed"].map(|key| json!({ "collection": "saves", "key": key, "user_id": ANN }));
    let read = studio.ok("POST", "/v2/storage", &ann, &json!({ "object_ids": ids }));
    assert_eq!(read["objects"].as_array().unwrap().len(), 2);
    assert_eq!(read["objects"][0]["version"], md5_hex(r#"{"hp": 1.50, "a": [1]}"#));
    let write = |key: &str, value: &str, version: &str| {
        let object = json!({ "collection": "saves", "key": key, "value": value, "version": version });
        studio.server.call("PUT", "/v2/storage", &http::bearer(&ann), &json!({ "objects": [object] }))
    };
    let stale = write("old", "{}", &md5_hex("another"));
    assert_eq!((stale.status, stale.code()), (400, Some(3)), "{}", stale.text());
    let sealed = write("sealed", "{}", "");
    assert_eq!(sealed.status, 400, "what only the server may write stays: {}", sealed.text());
    let kept = write("old", r#"{"hp":2,"ä":"ö"}"#, &md5_hex(r#"{"hp": 1.50, "a": [1]}"#));
    assert_eq!(kept.json()["acks"][0]["version"], md5_hex(r#"{"hp":2,"ä":"ö"}"#), "{}", kept.text());
    assert_eq!(write("new", r#"{"n":1}"#, "*").status, 200);
    let list = studio.ok("GET", "/v2/storage/shop", &ann, &Value::Null);
    assert_eq!(list["objects"][0]["key"], "prices");
}

/// A ban and a deletion from another process, and a logout: the running server refuses the tokens.
fn players_go(studio: &Studio) {
    let [banned, deleted, out] = ["banned", "deleted", "logged-out"]
        .map(|name| studio.token("device", true, &json!({ "id": format!("late-device-of-{name}") })));
    studio.account(&["ban", &user_of(&banned)]);
    studio.account(&["delete", &user_of(&deleted)]);
    studio.ok("POST", "/v2/session/logout", &out, &json!({ "token": out }));
    assert_eq!(studio.server.account_status(&out), 401);
    for token in [&banned, &deleted] {
        wait_until("the running server has heard of it", || studio.server.account_status(token) == 401);
    }
    assert_eq!(studio.sign_in("device", false, &json!({ "id": "late-device-of-banned" })).status, 403);
    assert_eq!(studio.sign_in("device", false, &json!({ "id": "late-device-of-deleted" })).status, 404);
    assert_eq!(studio.sign_in("device", false, &json!({ "id": "late-device-of-logged-out" })).status, 200);
}

/// Checks values that Muster wrote by the original's rules.
fn the_original_can_read_it(database: &Database) {
    let query = |sql: &str| postgres(database.url(), sql);
    let hashes = query("SELECT email || ' ' || convert_from(password, 'UTF8') FROM users WHERE password IS NOT NULL");
    let passwords = [
        ("ann@example.com", NEW_PASSWORD),
        ("dan@example.com", OLD_PASSWORD),
        ("new@example.com", "the password of New"),
    ];
    assert_eq!(hashes.len(), passwords.len(), "{hashes:?}");
    for (email, password) in passwords {
        let hash = hashes.iter().find_map(|line| line.strip_prefix(&format!("{email} "))).unwrap();
        assert!(hash.len() == 60 && hash.starts_with("$2"), "{hash}");
        assert!(bcrypt::verify(password, hash).unwrap(), "{email}");
    }
    let objects = "SELECT key || ' ' || version || ' ' || read || write || ' ' || value FROM storage \
                   WHERE collection = 'saves' ORDER BY key";
    let expected = [
        format!(r#"new {} 11 {{"n": 1}}"#, md5_hex(r#"{"n":1}"#)),
        format!(r#"old {} 11 {{"hp": 2, "ä": "ö"}}"#, md5_hex(r#"{"hp":2,"ä":"ö"}"#)),
        format!("sealed {} 10 {{}}", md5_hex("{}")),
    ];
    assert_eq!(query(objects), expected);
    let banned = "SELECT d.id FROM users u JOIN user_device d ON d.user_id = u.id \
                  WHERE disable_time > '1970-01-01 00:00:00+00' ORDER BY d.id";
    assert_eq!(query(banned), ["first-device-of-eve", "late-device-of-banned"]);
    assert_eq!(query("SELECT count(*) FROM user_tombstone"), ["2"]);
    let unset = "SELECT username FROM users WHERE email = '' OR custom_id = '' OR (password IS NULL) <> \
                 (email IS NULL) OR username IS NULL OR lang_tag = ''";
    assert_eq!(query(unset), Vec::<String>::new(), "what is not set is null, as the original's unique columns need it");
    assert_eq!(
        query("SELECT timezone || ' ' || display_name FROM users WHERE username = 'newcomer'"),
        ["Europe/Berlin New"]
    );
}

/// Bans a player as the original does: it writes the time, and knows nothing of tokens.
fn ban_as_the_original_does(address: Option<&str>, setup: &Setup, user_id: &str) {
    match address {
        Some(url) => drop(postgres(url, &format!("UPDATE users SET disable_time = now() WHERE id = '{user_id}'"))),
        None => {
            let file = rusqlite::Connection::open(setup.folder().join("muster.db")).unwrap();
            let id = user_id.replace('-', "");
            let sql = "UPDATE users SET disable_time = unixepoch() * 1000000 WHERE hex(id) = upper(?1)";
            assert_eq!(file.execute(sql, [id]).unwrap(), 1);
        }
    }
}

#[test]
fn tokens_of_players_whom_another_program_banned_are_void_from_the_next_start_on() {
    let database = Postgres::shared().unwrap().create_database().unwrap();
    for url in [Some(database.url()), None] {
        let setup = Setup::dev().flag("session.token_expiry_sec", 7_200);
        let setup = if let Some(url) = url { setup.flag("database.address", url) } else { setup };
        let server = setup.start();
        let [kept, banned, pardoned] = ["kept", "banned", "pardoned"].map(|name| server.sign_in(name));
        let id = user_of(&banned.session);
        server.stop();
        ban_as_the_original_does(url, &setup, &id);

        let server = setup.start();
        let statuses = |server: &Server| [&kept, &banned, &pardoned].map(|one| server.account_status(&one.session));
        assert_eq!(statuses(&server), [200, 401, 200]);
        assert!(server.says("tokens of accounts that another program banned are void now"), "{}", server.log());
        // One who is banned beside a running server goes at its next start, also if it is a start after a crash.
        ban_as_the_original_does(url, &setup, &user_of(&pardoned.session));
        server.kill();

        let server = setup.start();
        assert_eq!(statuses(&server), [200, 401, 401]);
        server.stop();
        let flags = match url {
            Some(url) => ["--database.address", url],
            None => ["--data_dir", setup.folder().to_str().unwrap()],
        };
        muster(&[&["account", "unban", &id][..], &flags].concat()).succeeded();
        // Another start finds nothing that is left to do.
        let server = setup.start();
        assert!(!server.log().contains("that another program banned"), "{}", server.log());
        assert_eq!(statuses(&server), [200, 401, 401], "tokens from before the ban stay void");
        assert_eq!(server.account_status(&server.sign_in("banned").session), 200);
        server.stop();
    }
}

#[test]
fn adopting_and_going_back_at_once_changes_nothing() {
    let database = lived_in();
    let tables = postgres(database.url(), "SELECT tablename FROM pg_tables WHERE schemaname = 'public'");
    let all = || rows(&database, tables.iter().map(String::as_str));
    let (catalogue_before, rows_before) = (catalogue(&database, false), all());
    let flags = ["--database.address", database.url()];
    muster(&[&["migrate", "status"][..], &flags].concat()).failed(1, "muster migrate up");
    let told = muster(&[&["migrate", "up"][..], &flags].concat()).succeeded();
    assert!(told.starts_with("adopted the database in place"), "{told}");
    let told = muster(&[&["migrate", "status"][..], &flags].concat()).succeeded();
    assert!(told.contains("adopted in place"), "{told}");
    assert_eq!((catalogue(&database, true), all()), (catalogue_before.clone(), rows_before.clone()));
    postgres(
        database.url(),
        "DROP TABLE muster_migration, muster_revocation, muster_term, muster_effect, muster_object_usage, muster_message_usage",
    );
    assert_eq!((catalogue(&database, false), all()), (catalogue_before, rows_before));
}

#[test]
fn databases_that_are_not_nakama_3_40_are_refused_and_left_as_they_are() {
    for (sql, advice) in [
        ("DELETE FROM migration_info WHERE id LIKE '2026%'", "run `nakama migrate up` of Nakama 3.40 first"),
        ("INSERT INTO migration_info (id) VALUES ('29990101000000-later.sql')", "use a Muster made for that version"),
        ("DROP TABLE migration_info", "name an empty database, or one of a Nakama 3.40 server"),
    ] {
        let database = lived_in();
        postgres(database.url(), sql);
        let before = catalogue(&database, false);
        let (code, log) = Setup::serve().flag("database.address", database.url()).fail_to_start();
        assert_eq!(code, Some(1), "{log}");
        assert!(log.contains(advice), "no {advice:?} in {log}");
        for action in ["up", "status"] {
            muster(&["migrate", action, "--database.address", database.url()]).failed(1, advice);
        }
        assert_eq!(catalogue(&database, false), before, "{sql}");
    }
}
