//! A database of the original server is adopted in place and used, and still has the original's columns and values.

use std::collections::BTreeSet;

use muster_domain::chat::Channel;
use muster_domain::ports::accounts::AccountUpdate;
use muster_domain::ports::chat::{Message, MessageCode, MessageQuery};
use muster_domain::ports::keyed_writes::WriteStamp;
use muster_domain::ports::notifications::NotificationPosition;
use muster_domain::ports::revocations::{RevocationReason, RevocationStore as _};
use muster_domain::ports::storage::{Authority, Expected, ObjectWrite};
use muster_domain::{GroupId, MessageId, UserId};
use muster_testenv::{Database, Postgres};
use uuid::Uuid;

use super::fixture::{Fixture, NOW, client, device, new_account, query, runtime, servers};
use super::storage::write;
use crate::postgres::{NAKAMA, migrate};
use crate::{PostgresOptions, PostgresStore};

/// The facts of the original's catalogue. The file's first lines explain their form.
const CATALOGUE: &str = include_str!("../../testdata/nakama-3.40-catalogue.txt");

/// Queries for the same facts of the database under test, without Muster's own tables.
const FACTS: [&str; 4] = [
    "SELECT concat_ws(' ', 'column', c.relname, a.attname, format_type(a.atttypid, a.atttypmod), \
         CASE WHEN a.attnotnull THEN 'not-null' ELSE 'null' END, pg_get_expr(d.adbin, d.adrelid)) \
     FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid \
     LEFT JOIN pg_attrdef d ON d.adrelid = a.attrelid AND d.adnum = a.attnum \
     WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r' AND a.attnum > 0 AND NOT a.attisdropped \
         AND c.relname NOT LIKE 'muster\\_%'",
    "SELECT concat_ws(' ', 'constraint', c.relname, k.conname, pg_get_constraintdef(k.oid)) \
     FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid \
     WHERE c.relnamespace = 'public'::regnamespace AND k.contype IN ('c', 'f', 'p', 'u') \
         AND c.relname NOT LIKE 'muster\\_%'",
    "SELECT concat_ws(' ', 'index', c.relname, i.relname, regexp_replace(pg_get_indexdef(i.oid), '^.* USING ', '')) \
     FROM pg_index x JOIN pg_class c ON c.oid = x.indrelid JOIN pg_class i ON i.oid = x.indexrelid \
     WHERE c.relnamespace = 'public'::regnamespace AND c.relname NOT LIKE 'muster\\_%' \
         AND NOT EXISTS (SELECT 1 FROM pg_constraint k WHERE k.conindid = i.oid AND k.contype IN ('p', 'u'))",
    "SELECT 'migration ' || id FROM migration_info",
];

/// Rows from the time before Muster: two players of 2021, an operator, and the things that they own.
const BEFORE: &str = "
INSERT INTO users (id, username, email, password, metadata, wallet, edge_count, create_time) VALUES
    ('00000000-0000-4000-8000-000000000001', 'old-ann', 'old@example.com', '\\x243262243034', '{\"level\": 7}',
     '{\"gold\": 5}', 1, '2021-05-06 07:08:09.123456+00'),
    ('00000000-0000-4000-8000-000000000002', 'old-bob', NULL, NULL, '{}', '{}', 1, '2021-05-06 07:08:09+00');
INSERT INTO user_device (id, user_id, preferences, push_token_ios) VALUES
    ('old-device-of-ann', '00000000-0000-4000-8000-000000000001', '{\"quiet\": true}', 'push-token');
INSERT INTO user_edge (source_id, position, destination_id, state) VALUES
    ('00000000-0000-4000-8000-000000000001', 1, '00000000-0000-4000-8000-000000000002', 0),
    ('00000000-0000-4000-8000-000000000002', 1, '00000000-0000-4000-8000-000000000001', 0);
INSERT INTO storage (collection, key, user_id, value, version, read, write) VALUES
    ('saves', 'old', '00000000-0000-4000-8000-000000000001', '{\"hp\": 1.50, \"a\": [1]}',
     '0cc175b9c0f1b6a831c399e269772661', 2, 0);
INSERT INTO groups (id, creator_id, name, edge_count) VALUES
    ('00000000-0000-4000-8000-000000000005', '00000000-0000-4000-8000-000000000001', 'old-group', 1);
INSERT INTO group_edge (source_id, position, destination_id, state) VALUES
    ('00000000-0000-4000-8000-000000000005', 1, '00000000-0000-4000-8000-000000000001', 0),
    ('00000000-0000-4000-8000-000000000001', 1, '00000000-0000-4000-8000-000000000005', 0);
INSERT INTO message (id, sender_id, username, stream_mode, stream_subject, stream_descriptor, stream_label, content,
    create_time, update_time, code) VALUES
    ('00000000-0000-4000-8000-00000000000a', '00000000-0000-4000-8000-000000000001', 'old-ann', 2,
     '00000000-0000-0000-0000-000000000000', '00000000-0000-0000-0000-000000000000', 'lobby', '{\"text\": \"hello\"}',
     '2021-05-06 07:08:09+00', '2021-05-06 07:08:09+00', 0),
    ('00000000-0000-4000-8000-00000000000b', '00000000-0000-4000-8000-000000000001', 'old-ann', 4,
     '00000000-0000-4000-8000-000000000001', '00000000-0000-4000-8000-000000000002', '', '{}',
     '2021-05-06 07:08:09+00', '2021-05-06 07:08:09+00', 0),
    ('00000000-0000-4000-8000-00000000000c', '00000000-0000-4000-8000-000000000001', 'old-ann', 3,
     '00000000-0000-4000-8000-000000000005', '00000000-0000-0000-0000-000000000000', '', '{}',
     '2021-05-06 07:08:09+00', '2021-05-06 07:08:09+00', 3);
INSERT INTO notification (id, user_id, subject, content, code, sender_id, create_time) VALUES
    ('00000000-0000-4000-8000-00000000000d', '00000000-0000-4000-8000-000000000001', 'old-bob wants something',
     '{\"username\": \"old-bob\"}', -1, '00000000-0000-4000-8000-000000000002', '2021-05-06 07:08:09.123456+00'),
    ('00000000-0000-4000-8000-00000000000e', '00000000-0000-4000-8000-000000000001', 'from the game', '{}', 7,
     '00000000-0000-0000-0000-000000000000', '2021-05-06 07:08:10+00');
INSERT INTO wallet_ledger (id, user_id, changeset, metadata, create_time) VALUES
    ('00000000-0000-4000-8000-00000000000f', '00000000-0000-4000-8000-000000000001', '{\"gold\": 5}',
     '{\"reason\": \"won\"}', '2021-05-06 07:08:09.123456+00');
INSERT INTO console_user (id, username, email, password) VALUES
    ('00000000-0000-4000-8000-000000000003', 'operator', 'operator@example.com', '\\x24');
INSERT INTO console_acl_template (id, name) VALUES ('00000000-0000-4000-8000-000000000004', 'support');
INSERT INTO setting (name, value) VALUES ('theme', '{\"dark\": true}');
INSERT INTO leaderboard (id, reset_schedule) VALUES ('old-board', '0 0 * * *');
INSERT INTO leaderboard_record (leaderboard_id, owner_id, username, score) VALUES
    ('old-board', '00000000-0000-4000-8000-000000000001', 'old-ann', 100);
";

fn expected() -> BTreeSet<String> {
    CATALOGUE.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect()
}

async fn facts(client: &tokio_postgres::Client) -> BTreeSet<String> {
    let mut facts = BTreeSet::new();
    for sql in FACTS {
        facts.extend(query(client, sql).await);
    }
    facts
}

async fn assert_original(client: &tokio_postgres::Client) {
    let (found, expected) = (facts(client).await, expected());
    assert_eq!(found.difference(&expected).collect::<Vec<_>>(), Vec::<&String>::new(), "what should not be there");
    assert_eq!(expected.difference(&found).collect::<Vec<_>>(), Vec::<&String>::new(), "what is missing");
}

fn database() -> Database {
    Postgres::shared().unwrap().create_database().unwrap()
}

#[test]
fn a_database_of_our_own_is_one_that_the_original_accepts() {
    let database = database();
    runtime().block_on(async {
        let made = migrate(&servers(database.url())).await.unwrap();
        assert!(made.created && !made.adopted);
        let again = migrate(&servers(database.url())).await.unwrap();
        assert!(!again.created && !again.adopted && again.applied.is_empty());
        let client = client(database.url()).await;
        assert_original(&client).await;
        let system = "SELECT username || '|' || lang_tag || metadata || wallet FROM users";
        assert_eq!(query(&client, system).await, ["|en{}{}"]);
    });
}

#[test]
fn other_databases_are_refused_with_advice() {
    for (sql, advice) in [
        ("DELETE FROM migration_info WHERE id LIKE '2026%'", "nakama migrate up"),
        ("INSERT INTO migration_info (id) VALUES ('29990101000000-later.sql')", "newer Nakama"),
        ("DROP TABLE migration_info", "another program"),
    ] {
        let database = database();
        runtime().block_on(async {
            let client = client(database.url()).await;
            client.batch_execute(NAKAMA).await.unwrap();
            client.batch_execute(sql).await.unwrap();
            let refused = migrate(&servers(database.url())).await.unwrap_err();
            assert!(refused.0.contains(advice), "{refused}");
            assert!(query(&client, "SELECT tablename FROM pg_tables WHERE tablename ~ 'muster'").await.is_empty());
            let opened =
                PostgresStore::open(&servers(database.url()), &PostgresOptions::default(), Default::default()).await;
            assert!(opened.is_err());
        });
    }
}

#[test]
fn an_adopted_database_stays_the_original_s() {
    let database = database();
    runtime().block_on(async {
        let client = client(database.url()).await;
        client.batch_execute(NAKAMA).await.unwrap();
        client.batch_execute(BEFORE).await.unwrap();
        assert_original(&client).await;
        let before = all_rows(&client).await;
        let adopted = migrate(&servers(database.url())).await.unwrap();
        assert!(!adopted.created && adopted.adopted && !adopted.applied.is_empty());
        assert_eq!(all_rows(&client).await, before, "adopting changes no row");
        let fixture = Fixture::on(
            PostgresStore::open(&servers(database.url()), &PostgresOptions::default(), Default::default())
                .await
                .unwrap(),
            client,
            None,
        );
        assert!(fixture.store().ping().await.unwrap().adopted);

        use_it(&fixture).await;

        let client = self::client(database.url()).await;
        assert_original(&client).await;
        assert_values(&client).await;
        // The original deletes its players although Muster's tables exist, and Muster's tables can be dropped.
        client.batch_execute("DELETE FROM users WHERE username <> ''").await.unwrap();
        client
            .batch_execute(
                "DROP TABLE muster_migration, muster_revocation, muster_term, muster_effect, muster_object_usage, \
                 muster_message_usage",
            )
            .await
            .unwrap();
        assert_original(&client).await;
    });
}

#[test]
fn a_later_step_is_not_told_as_an_adoption() {
    let database = database();
    runtime().block_on(async {
        let client = client(database.url()).await;
        client.batch_execute(NAKAMA).await.unwrap();
        let address = crate::Address::Postgres(servers(database.url()));
        assert!(crate::migrate(&address).await.unwrap().told.starts_with("adopted the database in place"));
        // Reverts the schema to version 1, with one revocation by a logout and one by a newer sign-in.
        let undo = "ALTER TABLE muster_revocation DROP COLUMN banned; DROP TABLE muster_term, muster_effect, \
                    muster_object_usage, muster_message_usage; \
                    DELETE FROM muster_migration WHERE version > 1; \
                    INSERT INTO muster_revocation (subject, all_tokens, revoked_at, expires_at, close_sockets) \
                    SELECT decode(repeat('00', 16), 'hex'), true, now(), now(), closes \
                    FROM unnest('{t,f}'::bool[]) AS closes";
        client.batch_execute(undo).await.unwrap();
        assert_eq!(crate::migrate(&address).await.unwrap().told, "applied 4 migration(s), the last is number 5");
        let opened =
            PostgresStore::open(&servers(database.url()), &PostgresOptions::default(), Default::default()).await;
        let rows = opened.unwrap().revocations_after(0, NOW).await.unwrap();
        let reasons: Vec<_> = rows.iter().map(|row| row.revocation.reason).collect();
        assert_eq!(reasons, [RevocationReason::SignedOut, RevocationReason::NewerSignIn]);
    });
}

/// Every row of the original's tables, as text.
async fn all_rows(client: &tokio_postgres::Client) -> Vec<String> {
    let mut rows = Vec::new();
    let tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename !~ '^muster_' ORDER BY 1";
    for table in query(client, tables).await {
        rows.extend(
            query(client, &format!("SELECT '{table} ' || to_jsonb(t)::text FROM \"{table}\" t ORDER BY 1")).await,
        );
    }
    rows
}

/// Uses the database: sign-ups, sign-ins of old players, links, password changes, writes, bans, deletions.
async fn use_it(fixture: &Fixture) {
    let store = fixture.store();
    let old =
        fixture.sign_in(&muster_domain::ports::accounts::Identifier::Device("old-device-of-ann".into()), "x").await;
    assert!(!old.created && old.username == "old-ann");
    let account = store.account(old.user_id).await.unwrap().unwrap();
    assert_eq!((account.wallet.as_str(), account.user.metadata.as_str()), (r#"{"gold": 5}"#, r#"{"level": 7}"#));
    assert_eq!(account.user.create_time.0, 1_620_284_889_123_456);
    let found = store.login_by_email("OLD@example.com").await.unwrap().unwrap();
    let hash = bcrypt::hash("new password", 4).unwrap();
    store.replace_password_hash(old.user_id, &found.password_hash.unwrap(), hash.as_bytes()).await.unwrap();

    talk(fixture, old.user_id).await;
    spend(fixture, old.user_id).await;
    let ann = fixture.sign_up("ann").await;
    let bob = fixture.sign_up("bob").await;
    super::deletion::fill(fixture, ann, bob).await;
    store.link_email(ann, "Ann.New@Example.com", hash.as_bytes(), NOW).await.unwrap();
    store.create_with_email(&new_account("eve"), "Eve@Example.com", hash.as_bytes()).await.unwrap();
    store.set_disabled(bob, Some(NOW), Some(&super::deletion::revocation(bob))).await.unwrap();
    let update = AccountUpdate { metadata: Some(r#"{"a": 1}"#.into()), ..AccountUpdate::default() };
    store.update_account(ann, &update, NOW).await.unwrap();
    let object =
        ObjectWrite { id: super::storage::id("old", old.user_id), ..write("old", old.user_id, 5, Expected::Any) };
    store.write_objects(Authority::Server, &[object], NOW).await.unwrap();
    let gone = fixture.sign_in(&device("gone"), "gone").await.user_id;
    store.delete_account(gone, true, &super::deletion::revocation(gone), NOW).await.unwrap();
    assert!(store.login_by_id(UserId(gone.0)).await.unwrap().is_none());
}

/// Reads the old messages and notifications, and adds new ones.
async fn talk(fixture: &Fixture, old: UserId) {
    let store = fixture.store();
    let user = |number: u128| UserId(Uuid::from_u128(0x4000_8000_0000_0000_0000 + number));
    let group = Channel::Group(GroupId(user(5).0));
    let said = [
        (Channel::room("lobby").unwrap(), r#"{"text": "hello"}"#, MessageCode::CHAT),
        (Channel::direct(user(2), user(1)).unwrap(), "{}", MessageCode::CHAT),
        (group, "{}", MessageCode::GROUP_JOIN),
    ];
    for (channel, content, code) in said {
        let new = super::chat::message(code.0.unsigned_abs().into(), &channel, old);
        let new = Message { id: MessageId(Uuid::new_v4()), ..new };
        store.append_message(Authority::Server, &new).await.unwrap();
        let query = MessageQuery { channel, backwards: false, behind: None, limit: 100 };
        let (found, _) = store.list_messages(&query).await.unwrap();
        assert_eq!((found.len(), &found[1]), (2, &new));
        assert_eq!((found[0].content.as_str(), found[0].code, found[0].sender_id), (content, code, old));
        assert_eq!((found[0].create_time.0, found[0].username.as_str()), (1_620_284_889_000_000, "old-ann"));
    }
    assert!(store.is_group_member(GroupId(user(5).0), old).await.unwrap());
    let sent = super::notifications::notification(1, old, user(2));
    store.save_notifications(std::slice::from_ref(&sent)).await.unwrap();
    let found = store.list_notifications(old, NotificationPosition::START, 100).await.unwrap();
    assert_eq!((found.len(), found[0].code, found[1].code, &found[2]), (3, -1, 7, &sent));
    assert_eq!((found[0].create_time.0, found[1].sender_id), (1_620_284_889_123_456, UserId::SYSTEM));
    store.delete_notifications(Some(old), &[found[1].id]).await.unwrap();
}

/// Spends gold from a wallet that was filled before Muster.
async fn spend(fixture: &Fixture, old: UserId) {
    let update = super::wallet::wallets(vec![super::wallet::pay(old, "gold", -2, 7)]);
    fixture.store().multi_update(&update, WriteStamp::at(NOW)).await.unwrap();
    let items = super::wallet::ledger(fixture, old).await;
    let earned: Vec<_> = items.iter().map(|item| (item.changeset["gold"], item.create_time.0)).collect();
    assert_eq!(earned, [(-2, NOW.0), (5, 1_620_284_889_123_456)]);
    let item = fixture.store().annotate_ledger_item(items[1].id, r#"{"seen": true}"#, NOW).await.unwrap().unwrap();
    assert_eq!(item.metadata, r#"{"seen": true, "reason": "won"}"#);
}

/// Checks values in the form in which the original writes and reads them.
async fn assert_values(client: &tokio_postgres::Client) {
    let one = async |sql: &str| query(client, sql).await.join(",");
    let emails = "SELECT email FROM users WHERE email IS NOT NULL ORDER BY email";
    assert_eq!(one(emails).await, "ann.new@example.com,eve@example.com,old@example.com");
    for hash in query(client, "SELECT convert_from(password, 'UTF8') FROM users WHERE password IS NOT NULL").await {
        assert!(bcrypt::verify("new password", &hash).unwrap(), "{hash}");
    }
    let banned = "SELECT username || ' ' || (extract(epoch FROM disable_time) * 1000000)::bigint FROM users \
                  WHERE disable_time <> '1970-01-01 00:00:00+00'";
    assert_eq!(one(banned).await, format!("bob {}", NOW.0));
    let object = "SELECT value::text || ' ' || version || ' ' || read || write FROM storage WHERE key = 'old'";
    assert_eq!(one(object).await, r#"{"n": 5} 00000000000000000000000000000005 11"#);
    assert_eq!(one("SELECT metadata->>'a' FROM users WHERE username = 'ann'").await, "1");
    assert_eq!(one("SELECT count(*) FROM user_tombstone WHERE create_time <= now()").await, "2");
    // The original's cursors hold whole seconds. A message with a fraction of a second would be listed again on the
    // next page.
    let streams = "SELECT stream_mode || ' ' || right(stream_subject::text, 1) || right(stream_descriptor::text, 1) \
                   || stream_label FROM message WHERE username = 'ann' AND create_time = update_time \
                   AND create_time = date_trunc('second', create_time) ORDER BY stream_mode";
    assert_eq!(one(streams).await, "2 00lobby,3 50,4 12");
    assert_eq!(one("SELECT wallet FROM users WHERE username = 'old-ann'").await, r#"{"gold": 3}"#);
    let items = "SELECT changeset::text || ' ' || metadata::text FROM wallet_ledger WHERE user_id::text LIKE '00000000-%' ORDER BY id";
    assert_eq!(one(items).await, r#"{"gold": -2} {"n": 7},{"gold": 5} {"seen": true, "reason": "won"}"#);
    let sent = "SELECT code || subject || content FROM notification WHERE user_id::text LIKE '00000000-%' ORDER BY id";
    assert_eq!(one(sent).await, r#"-1subject 1{"n": 1},-1old-bob wants something{"username": "old-bob"}"#);
    assert_eq!(one("SELECT count(*) FROM users WHERE custom_id = '' OR email = '' OR display_name = ''").await, "0");
    assert_eq!(
        one("SELECT preferences::text || push_token_ios FROM user_device WHERE id LIKE 'old%'").await,
        r#"{"quiet": true}push-token"#
    );
}
