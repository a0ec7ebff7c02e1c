//! Tests of the commands beside the server, as an operator types them: their output, exit status, and refusals.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::path::Path;

use muster_testenv::Postgres;
use serde_json::{Value, json};
use support::load::{self, Load, user_of};
use support::program::{muster, word};
use support::server::{SERVER_KEY, Server, Setup, free_port};
use support::tls::Certificate;
use support::{database, http, wait_until};

const LOAD_CLIENTS: usize = 8;

/// Exit status of a command that failed.
const FAILED: i32 = 1;
/// Exit status of a command that was not understood.
const USAGE: i32 = 2;

fn backup(setup: &Setup, folder: &Path) -> String {
    muster(&["backup", word(folder), "--data_dir", word(setup.folder())]).succeeded()
}

/// The status of a sign-in by an existing device.
fn known(server: &Server, device: &str) -> u16 {
    let path = "/v2/account/authenticate/device?create=false";
    server.call("POST", path, &http::basic(SERVER_KEY), &json!({ "id": format!("device-of-{device}") })).status
}

#[test]
fn a_backup_under_full_load_holds_everything_acknowledged_before_it() {
    let setup = Setup::dev();
    let server = setup.start();
    let early = Load::start(server.address, LOAD_CLIENTS, "early");
    early.wait_for_acknowledged(200);
    let early = early.finish();
    let late = Load::start(server.address, LOAD_CLIENTS, "late");
    late.wait_for_acknowledged(100);

    let folder = setup.folder().join("backup");
    let told = backup(&setup, &folder);
    assert!(told.starts_with("saved and verified: "), "{told}");
    let acknowledged = late.counts().acknowledged;
    late.wait_for_acknowledged(acknowledged + 100);
    let late = late.finish();

    let second = Setup::dev();
    let told = muster(&["restore", word(&folder), "--data_dir", word(second.folder())]).succeeded();
    assert!(told.starts_with("verified and restored: "), "{told}");
    database::assert_sound(&second.folder().join("muster.db"));
    let restored = second.start();
    load::assert_kept(&restored, &early);
    restored.stop();
    load::assert_kept(&server, &early);
    load::assert_kept(&server, &late);
    assert_eq!(server.metrics().value("panic_count"), 0.0);
    server.stop();
}

#[test]
fn a_restored_folder_has_its_keys_and_its_tokens_stay_good() {
    let setup = Setup::serve();
    let server = setup.start();
    let keys = std::fs::read_to_string(setup.folder().join("keys.yml")).unwrap();
    let page = server.wait_for_log("for your client");
    let server_key = page.split('"').nth(1).unwrap();
    let token = server.sign_in_with(server_key, "keeper").session;
    let folder = setup.folder().join("backup");
    backup(&setup, &folder);
    server.stop();

    let second = Setup::serve();
    muster(&["restore", word(&folder), "--data_dir", word(second.folder())]).succeeded();
    assert_eq!(std::fs::read_to_string(second.folder().join("keys.yml")).unwrap(), keys);
    let server = second.start();
    assert_eq!(server.account_status(&token), 200);
    server.stop();
}

#[test]
fn a_damaged_backup_is_refused_and_nothing_is_restored() {
    let setup = Setup::dev();
    let server = setup.start();
    server.sign_in("saved");
    let folder = setup.folder().join("backup");
    backup(&setup, &folder);
    server.stop();
    let (copy, manifest) = (folder.join("muster.db"), folder.join("manifest.json"));
    let (sound, listed) = (std::fs::read(&copy).unwrap(), std::fs::read(&manifest).unwrap());
    let mut flipped = sound.clone();
    let middle = flipped.len() / 2;
    flipped[middle] ^= 1;
    let target = Setup::dev();
    let restore = || muster(&["restore", word(&folder), "--data_dir", word(target.folder())]);
    for bytes in [&flipped[..], &sound[..middle], &[]] {
        std::fs::write(&copy, bytes).unwrap();
        restore().failed(FAILED, "is not the file that was saved: do not use it");
    }
    std::fs::write(&copy, &sound).unwrap();
    std::fs::write(&manifest, b"{").unwrap();
    restore().failed(FAILED, "manifest.json");
    std::fs::remove_file(&manifest).unwrap();
    restore().failed(FAILED, "a folder that `muster backup` made?");
    assert!(!target.folder().join("muster.db").exists());
    std::fs::write(&manifest, listed).unwrap();
    restore().succeeded();
}

#[test]
fn a_restore_replaces_nothing_unasked() {
    let setup = Setup::dev();
    let server = setup.start();
    server.sign_in("before");
    let folder = setup.folder().join("backup");
    backup(&setup, &folder);
    muster(&["backup", word(&folder), "--data_dir", word(setup.folder())]).failed(FAILED, "exists already");
    server.sign_in("after");
    let restore =
        |more: &[&str]| muster(&[&["restore", word(&folder), "--data_dir", word(setup.folder())], more].concat());
    restore(&["--force"]).failed(FAILED, "is in use by another process: stop that server first");
    server.stop();
    restore(&[]).failed(FAILED, "say --force to replace it");
    let server = setup.start();
    assert_eq!([known(&server, "before"), known(&server, "after")], [200, 200]);
    server.stop();
    restore(&["--force"]).succeeded();
    assert!(setup.folder().join("before-restore").join("muster.db").exists());
    let server = setup.start();
    assert_eq!([known(&server, "before"), known(&server, "after")], [200, 404]);
    server.stop();
}

#[test]
fn what_has_no_backup_says_so() {
    let setup = Setup::dev();
    let (folder, data) = (setup.folder().join("backup"), word(setup.folder()));
    muster(&["backup", word(&folder), "--data_dir", data]).failed(FAILED, "there is no database");
    muster(&["restore", word(&folder), "--data_dir", data]).failed(FAILED, "manifest.json");
    let postgres = ["--database.address", "postgres://muster@127.0.0.1:1/none"];
    muster(&[&["backup", word(&folder)], &postgres[..]].concat()).failed(FAILED, "use pg_dump");
    muster(&[&["restore", word(&folder)], &postgres[..]].concat()).failed(FAILED, "use pg_restore");
    for words in [&["backup"][..], &["restore"], &["backup", "a", "b"], &["restore", "a", "--forced"]] {
        assert_eq!(muster(words).code, Some(USAGE), "{words:?}");
    }
}

#[test]
fn migrate_prepares_either_database_and_tells_how_it_stands() {
    let setup = Setup::dev();
    let postgres = Postgres::shared().unwrap().create_database().unwrap();
    for flags in [["--data_dir", word(setup.folder())], ["--database.address", postgres.url()]] {
        let migrate = |action: &str| muster(&[&["migrate", action], &flags[..]].concat());
        let is_sqlite = flags[0] == "--data_dir";
        if is_sqlite {
            assert!(migrate("status").succeeded().starts_with("there is no database yet"));
            assert!(!setup.folder().join("muster.db").exists(), "asking changes nothing");
        } else {
            migrate("status").failed(FAILED, "the database is empty: `muster migrate up`");
        }
        let (made, stands) = if is_sqlite {
            ("applied 7 migration(s)", "schema 7 of 7, Muster's own tables\n")
        } else {
            ("made all tables in an empty database", "schema 5 of 5, Muster's own tables\n")
        };
        let told = migrate("up").succeeded();
        assert!(told.starts_with(made), "{told}");
        assert_eq!(migrate("up").succeeded(), "the database is up to date\n");
        assert_eq!(migrate("status").succeeded(), stands);
        migrate("down").failed(USAGE, "restore a backup instead");
        migrate("sideways").failed(USAGE, "`muster migrate up` or `muster migrate status`");
    }
    muster(&["migrate", "up", "--database.address", "postgres://muster@127.0.0.1:1/none"])
        .failed(FAILED, "cannot connect to the database: 127.0.0.1:1: ");
}

/// Tests the commands on one account. On SQLite a change needs the server to be stopped; on PostgreSQL the server
/// notices it.
fn accounts(setup: Setup, flags: [&str; 2], is_sqlite: bool) {
    let account = |action: &str, user: &str| muster(&["account", action, user, flags[0], flags[1]]);
    let mut server = setup.start();
    let (player, other) = (server.sign_in("player").session, server.sign_in("other").session);
    let user = user_of(&player);
    let object = json!({ "collection": "saves", "key": "slot", "value": "{\"n\": 1}" });
    let body = json!({ "objects": [object] });
    assert_eq!(server.call("PUT", "/v2/storage", &http::bearer(&player), &body).status, 200);

    let exported: Value = serde_json::from_str(&account("export", &user).succeeded()).unwrap();
    assert_eq!(exported["users"][0]["id"], json!(user));
    assert_eq!(exported["user_device"][0]["id"], "device-of-player");
    assert_eq!(exported["storage"][0]["value"]["n"], 1);
    assert!(!exported.to_string().contains("device-of-other"), "{exported}");

    let change = |server: Server, action: &str, told: &str| {
        let change = || {
            let said = account(action, &user).succeeded();
            assert!(said.starts_with(&user) && said.contains(told), "{said}");
        };
        if !is_sqlite {
            change();
            return server;
        }
        account(action, &user).failed(FAILED, "is in use by another process: stop that server first");
        server.stop();
        change();
        setup.start()
    };
    server = change(server, "ban", "is banned");
    wait_until("the ban is heard of", || server.account_status(&player) == 401);
    assert_eq!([known(&server, "player"), known(&server, "other")], [403, 200]);
    server = change(server, "unban", "may sign in again");
    assert_eq!(known(&server, "player"), 200);
    assert_eq!(server.account_status(&player), 401, "a token that is void stays void");
    let again = server.sign_in("player").session;
    server = change(server, "delete", "is deleted");
    wait_until("the deletion is heard of", || server.account_status(&again) == 401);
    assert_eq!([known(&server, "player"), known(&server, "other")], [404, 200]);
    assert_eq!(server.account_status(&other), 200);
    server.stop();

    for action in ["export", "ban", "unban"] {
        assert_eq!(account(action, &user).code, Some(FAILED), "{action}");
        account(action, &user).failed(FAILED, "account");
    }
    account("delete", &user).succeeded();
    for action in ["export", "ban", "delete"] {
        account(action, "00000000-0000-0000-0000-000000000000").failed(FAILED, "The system user cannot be");
    }
    account("forgive", &user).failed(USAGE, "muster account export|ban|unban|delete ID");
    account("ban", "player").failed(USAGE, "`player` is no user id");
}

#[test]
fn accounts_are_exported_banned_and_deleted_on_sqlite() {
    let setup = Setup::dev();
    let folder = setup.folder().to_owned();
    accounts(setup, ["--data_dir", word(&folder)], true);
}

#[test]
fn accounts_are_exported_banned_and_deleted_on_postgres() {
    let postgres = Postgres::shared().unwrap().create_database().unwrap();
    let setup = Setup::dev().flag("database.address", postgres.url());
    accounts(setup, ["--database.address", postgres.url()], false);
}

#[test]
fn healthcheck_asks_a_server_by_port_or_address() {
    let server = Setup::dev().start();
    let port = server.address.port().to_string();
    assert_eq!(muster(&["healthcheck", &port]).succeeded(), format!("127.0.0.1:{port} is ready\n"));
    for path in ["", "/", "/readycheck", "/healthcheck"] {
        muster(&["healthcheck", &format!("http://127.0.0.1:{port}{path}")]).succeeded();
    }
    muster(&["healthcheck", &format!("http://127.0.0.1:{port}/nowhere")]).failed(FAILED, "it answered 404");
    server.stop();
    muster(&["healthcheck", &port]).failed(FAILED, "does not answer");
    muster(&["healthcheck", &free_port().to_string()]).failed(FAILED, "does not answer");
    muster(&["healthcheck", "ftp://127.0.0.1"]).failed(USAGE, "write `muster healthcheck`");
    for wrong in [&["0"][..], &["65536"], &["here"], &["1", "2"]] {
        assert_eq!(muster(&[&["healthcheck"], wrong].concat()).code, Some(USAGE), "{wrong:?}");
    }
}

#[test]
fn healthcheck_asks_a_server_that_speaks_tls() {
    let setup = Setup::dev();
    let certificate = Certificate::create(setup.folder());
    let server = setup
        .flag("socket.ssl_certificate", certificate.certificate.display())
        .flag("socket.ssl_private_key", certificate.private_key.display())
        .start();
    let port = server.address.port().to_string();
    for target in [&port, &format!("https://127.0.0.1:{port}"), &format!("https://localhost:{port}/healthcheck")] {
        assert!(muster(&["healthcheck", target]).succeeded().ends_with(" is ready\n"), "{target}");
    }
    server.stop();
}

#[test]
fn check_tells_what_a_server_would_do_without_doing_it() {
    let setup = Setup::dev();
    let data = ["--data_dir", word(setup.folder())];
    let check = |more: &[&str]| muster(&[&["check"], &data[..], more].concat());
    let told = check(&["--socket.port", "7999"]).succeeded();
    assert!(told.contains("socket.port = 7999"), "{told}");
    assert!(told.ends_with("the configuration is valid; there is no game code\n"), "{told}");
    check(&["--dev"]).succeeded();
    for wrong in [
        &["--socket.port", "70000"][..],
        &["--session.token_expiry_sec", "soon"],
        &["--socket.server_key", "defaultkey"],
        &["--socket.response_headers", "Date=now"],
        &["--socket.response_headers", "a b=c"],
    ] {
        let ended = check(wrong);
        assert_eq!(ended.code, Some(FAILED), "{ended:?}");
        assert!(ended.stdout.contains(wrong[0].trim_start_matches('-')), "{ended:?}");
    }
    check(&["--socket.prot", "1"]).failed(USAGE, "did you mean `socket.port`?");
    check(&["surplus"]).failed(USAGE, "`surplus` has no meaning here");
    assert!(std::fs::read_dir(setup.folder()).unwrap().next().is_none(), "checking leaves nothing behind");
}

#[test]
fn check_and_start_refuse_the_same_game_code_with_the_same_words() {
    for (file, code, words) in [
        ("broken.lua", "local x = \nreturn {}", "broken.lua"),
        ("failing.lua", "error('no entry today')", "no entry today"),
        ("index.js", "function InitModule(ctx, logger, nk, initializer) { nk.nothing(); }", "index.js"),
        ("index.js", "let = ;", "index.js"),
        ("game.wasm", "no module", "game.wasm"),
    ] {
        let setup = Setup::dev();
        let modules = setup.folder().join("modules");
        std::fs::create_dir(&modules).unwrap();
        std::fs::write(modules.join(file), code).unwrap();
        let ended = muster(&["check", "--dev", "--data_dir", word(setup.folder())]);
        assert_eq!(ended.code, Some(FAILED), "{file}: {ended:?}");
        let sentence = ended.stdout.lines().find_map(|line| line.strip_prefix("error: ")).unwrap_or_default();
        assert!(sentence.starts_with("cannot load the game code in ") && ended.stdout.contains(words), "{ended:?}");
        let left: Vec<_> = std::fs::read_dir(setup.folder()).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        assert_eq!(left, ["modules"], "checking leaves nothing behind");
        let (code, log) = setup.fail_to_start();
        assert_eq!(code, Some(FAILED), "{log}");
        assert!(log.contains(sentence), "check said {sentence:?}, and the start:\n{log}");
    }
}

#[test]
fn check_loads_the_game_code_over_an_empty_database() {
    let setup = Setup::dev();
    let modules = setup.folder().join("own");
    let check = |more: &[&str]| {
        let flags = ["check", "--data_dir", word(setup.folder()), "--runtime.path", word(&modules)];
        muster(&[&flags, more].concat())
    };
    let missing = check(&[]);
    assert_eq!(missing.code, Some(FAILED), "{missing:?}");
    assert!(missing.stdout.contains("cannot load the game code in "), "{missing:?}");
    std::fs::create_dir(&modules).unwrap();
    let code = "local nk = require('nakama')\n\
                nk.storage_write({ { collection = 'a', key = 'b', value = {} } })\n\
                nk.register_rpc(function() return '' end, 'answer')";
    std::fs::write(modules.join("game.lua"), code).unwrap();
    let told = check(&[]).succeeded();
    assert!(told.contains("\nLua: 1 file (game.lua): 1 function, 0 hooks, 0 match handlers\n"), "{told}");
    assert!(told.ends_with(&format!("the configuration is valid, and the game code in {} loads\n", modules.display())));
    std::fs::write(modules.join("main.ts"), "export function InitModule() {}").unwrap();
    let told = check(&[]).succeeded();
    assert!(told.contains("\nwarning: JavaScript: no script is run: "), "{told}");
    assert!(told.contains("runtime.js_entrypoint") && told.contains("main.ts"), "{told}");
    std::fs::write(modules.join("half.lua"), "return { match_init = function() end }").unwrap();
    let told = check(&[]).succeeded();
    assert!(
        told.contains("\nwarning: Lua: module 'half' is no match handler: it has no functions match_join_attempt, "),
        "{told}"
    );
    let missing = check(&["--socket.ssl_certificate", "/no/file", "--socket.ssl_private_key", "/no/file"]);
    assert_eq!(missing.code, Some(FAILED), "{missing:?}");
    assert!(missing.stdout.contains("/no/file"), "{missing:?}");
    assert!(!setup.folder().join("muster.db").exists(), "checking leaves nothing behind");
}

#[test]
fn a_database_that_cannot_be_read_is_not_taken_for_a_missing_one() {
    let setup = Setup::dev();
    let (folder, target) = (setup.folder().join("file"), setup.folder().join("backup"));
    // The owner of a machine may read everything, so the test takes a folder that is none.
    std::fs::write(&folder, "").unwrap();
    let data = ["--data_dir", word(&folder)];
    let told = format!("cannot read {}: Not a directory", folder.join("muster.db").display());
    muster(&[&["migrate", "status"], &data[..]].concat()).failed(FAILED, &told);
    let told = format!("cannot read {}: Not a directory", folder.join("keys.yml").display());
    muster(&[&["backup", word(&target)], &data[..]].concat()).failed(FAILED, &told);
    std::fs::remove_file(&folder).unwrap();
    muster(&[&["backup", word(&target)], &data[..]].concat()).failed(FAILED, "there is no database ");
    std::fs::create_dir_all(folder.join("muster.db")).unwrap();
    muster(&[&["backup", word(&target)], &data[..]].concat()).failed(FAILED, "is no file, so it is no database");
    assert!(!target.exists());
}

#[test]
fn command_lines_that_mean_nothing_end_with_two_and_a_sentence() {
    for (words, text) in [
        (&[][..], "Start with `muster dev`"),
        (&["serv"], "did you mean `serve`?"),
        (&["--socket.port", "1"], "a command comes first"),
        (&["serve", "--socket.port"], "`--socket.port` needs a value"),
        (&["serve", "--data_dri", "x"], "did you mean `data_dir`?"),
        (&["dev", "now"], "`now` has no meaning here"),
    ] {
        muster(words).failed(USAGE, text);
    }
    let version = muster(&["--version"]).succeeded();
    assert_eq!(version, format!("muster {}\n", env!("CARGO_PKG_VERSION")));
    assert!(muster(&["--help"]).succeeded().contains("muster serve"));
}

/// A durable match that never ends by itself.
const TABLE: &str = "local nk = require('nakama')
    nk.register_rpc(function() return nk.match_create('cards', {}) end, 'make')
    nk.register_rpc(function(_, id) return nk.match_get(id) and 'there' or 'gone' end, 'look')";
const HANDLER: &str = "return {
        durable = true,
        match_init = function() return {}, 5, '' end,
        match_join_attempt = function(context, dispatcher, tick, state) return state, true end,
        match_join = function(context, dispatcher, tick, state) return state end,
        match_leave = function(context, dispatcher, tick, state) return state end,
        match_loop = function(context, dispatcher, tick, state) return state end,
        match_terminate = function(context, dispatcher, tick, state) return state end,
        match_signal = function(context, dispatcher, tick, state) return state, '' end,
    }";

fn function(server: &Server, id: &str, payload: &str) -> String {
    let token = server.sign_in("operator-device").session;
    let response = server.call("POST", &format!("/v2/rpc/{id}"), &http::bearer(&token), &json!(payload));
    response.json()["payload"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_durable_match_is_listed_and_forgotten_whether_or_not_it_can_go_on() {
    let setup = Setup::dev();
    let modules = setup.folder().join("modules");
    std::fs::create_dir_all(&modules).unwrap();
    std::fs::write(modules.join("main.lua"), TABLE).unwrap();
    std::fs::write(modules.join("cards.lua"), HANDLER).unwrap();
    let setup = setup.flag("runtime.path", modules.display());
    let of = |words: &[&str]| muster(&[words, &["--data_dir", word(setup.folder())]].concat());
    assert!(of(&["match", "list"]).succeeded().starts_with("there are no durable matches in the data folder"));

    let server = setup.start();
    let ids = [function(&server, "make", ""), function(&server, "make", "")];
    of(&["match", "list"]).failed(FAILED, "stop that server first");
    server.stop();
    let listed = of(&["match", "list"]).succeeded();
    for id in &ids {
        let uuid = id.split('.').next().unwrap();
        assert!(listed.contains(&format!("{uuid} of 'cards', made 20")), "{listed}");
    }
    of(&["match", "forget", &ids[0]]).succeeded();
    of(&["match", "forget", &ids[0]]).failed(FAILED, "there is no durable match");

    let server = setup.start();
    wait_until("the other goes on", || function(&server, "look", &ids[1]) == "there");
    assert_eq!(function(&server, "look", &ids[0]), "gone", "it is forgotten");
    server.stop();

    // The handler is gone, as if its language had changed.
    std::fs::remove_file(modules.join("cards.lua")).unwrap();
    let server = setup.start();
    server.wait_for_log("`muster match forget ID` ends it");
    server.stop();
    assert!(of(&["match", "list"]).succeeded().contains("cannot go on since 20"));
    of(&["match", "forget", &ids[1]]).succeeded();
    let server = setup.start();
    assert!(!server.says("a durable match cannot go on"), "{}", server.log());
    server.stop();
    assert!(of(&["match", "list"]).succeeded().starts_with("there are no durable matches"));
}
