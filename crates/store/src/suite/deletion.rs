//! Deletion and export, checked against every row of every table.

use muster_domain::UserId;
use muster_domain::ports::revocations::{Revocation, RevocationReason, RevokedTokens};
use muster_domain::ports::storage::{Authority, Expected};
use uuid::Uuid;

use super::Fixture;
use super::fixture::Cell::{Id, Number, Text, Time};
use super::fixture::{NOW, custom, new_account};

const NIL: Uuid = Uuid::nil();

/// The tables that [`fill`] fills with rows about one player.
const FILLED: [&str; 18] = [
    "console_audit_log",
    "group_edge",
    "groups",
    "leaderboard_record",
    "message",
    "muster_message_usage",
    "muster_object_usage",
    "muster_revocation",
    "notification",
    "purchase",
    "storage",
    "subscription",
    "user_device",
    "user_edge",
    "user_tombstone",
    "users",
    "users_notes",
    "wallet_ledger",
];

pub(super) fn revocation(user: UserId) -> Revocation {
    let tokens = RevokedTokens::AllBut(None);
    let (revoked_at, expires_at) = (NOW, NOW.plus_seconds(60));
    Revocation { subject: user.into(), tokens, revoked_at, expires_at, reason: RevocationReason::SignedOut }
}

/// Inserts rows of every kind about `ann`. Most of them concern `bob` too.
pub(super) async fn fill(fixture: &Fixture, ann: UserId, bob: UserId) {
    let store = fixture.store();
    store.link(ann, &custom("ann"), NOW).await.unwrap();
    store.link_email(ann, "ann@example.com", b"hash of ann", NOW).await.unwrap();
    let object = super::storage::write("a", ann, 1, Expected::Any);
    store.write_objects(Authority::Server, &[object], NOW).await.unwrap();
    store.revoke(&[revocation(ann)]).await.unwrap();
    let (ann, bob, time) = (ann.0, bob.0, NOW.0);
    for (position, (source, destination)) in [(ann, bob), (bob, ann)].into_iter().enumerate() {
        let cells = [
            ("source_id", Id(source)),
            ("position", Number(position as i64)),
            ("update_time", Time(time)),
            ("destination_id", Id(destination)),
        ];
        fixture.insert("user_edge", &cells).await;
    }
    fixture.execute("UPDATE users SET edge_count = 1 WHERE username <> ''").await;
    for (table, counts) in [("object", ["objects", "bytes", "counted_at"]), ("message", ["messages", "bytes", "day"])] {
        let value = |column| if column == "counted_at" { Time(time) } else { Number(0) };
        let mut cells = vec![("user_id", Id(ann))];
        cells.extend(counts.map(|column| (column, value(column))));
        if fixture.is_postgres() {
            cells.extend([(if table == "object" { "objects_max" } else { "messages_max" }, Number(0))]);
            cells.push(("bytes_max", Number(0)));
        }
        fixture.insert(&format!("muster_{table}_usage"), &cells).await;
    }
    fill_messages(fixture, ann, bob).await;
    fill_groups(fixture, ann, bob).await;
    fill_records(fixture, ann).await;
}

async fn fill_messages(fixture: &Fixture, ann: Uuid, bob: Uuid) {
    let time = NOW.0;
    for (number, (receiver, sender)) in [(ann, NIL), (ann, bob), (bob, ann)].into_iter().enumerate() {
        let cells = [
            ("id", Id(Uuid::from_u128(100 + number as u128))),
            ("user_id", Id(receiver)),
            ("subject", Text("hello")),
            ("content", Text(if sender == ann { r#"{"username": "name-of-ann"}"# } else { "{}" })),
            ("code", Number(1)),
            ("sender_id", Id(sender)),
            ("create_time", Time(time)),
        ];
        fixture.insert("notification", &cells).await;
    }
    let streams = [(2, ann, NIL, NIL), (4, bob, ann, bob), (4, bob, bob, ann), (2, bob, NIL, NIL)];
    for (number, (mode, sender, subject, descriptor)) in streams.into_iter().enumerate() {
        let cells = [
            ("id", Id(Uuid::from_u128(200 + number as u128))),
            ("sender_id", Id(sender)),
            ("username", Text(if sender == ann { "name-of-ann" } else { "bob" })),
            ("stream_mode", Number(mode)),
            ("stream_subject", Id(subject)),
            ("stream_descriptor", Id(descriptor)),
            ("stream_label", Text("lobby")),
            ("create_time", Time(time)),
            ("update_time", Time(time)),
        ];
        fixture.insert("message", &cells).await;
    }
}

async fn fill_groups(fixture: &Fixture, ann: Uuid, bob: Uuid) {
    // Three groups: Ann alone; Ann as superadmin with Bob as member; and a group of Bob that Ann created and asked to
    // join.
    let groups =
        [(300_u128, 1, vec![(ann, 0)]), (301, 2, vec![(ann, 0), (bob, 2)]), (302, 1, vec![(bob, 0), (ann, 3)])];
    for (number, edge_count, members) in groups {
        let group = Uuid::from_u128(number);
        let cells = [
            ("id", Id(group)),
            ("creator_id", Id(ann)),
            ("name", Text(["alone", "both", "others"][(number - 300) as usize])),
            ("edge_count", Number(edge_count)),
            ("create_time", Time(NOW.0)),
            ("update_time", Time(NOW.0)),
        ];
        fixture.insert("groups", &cells).await;
        for (position, (member, state)) in members.into_iter().enumerate() {
            for (source, destination) in [(group, member), (member, group)] {
                let cells = [
                    ("source_id", Id(source)),
                    ("position", Number(number as i64 * 10 + position as i64)),
                    ("update_time", Time(NOW.0)),
                    ("destination_id", Id(destination)),
                    ("state", Number(state)),
                ];
                fixture.insert("group_edge", &cells).await;
            }
        }
    }
}

async fn fill_records(fixture: &Fixture, ann: Uuid) {
    let time = NOW.0;
    let (create, update) = (("create_time", Time(time)), ("update_time", Time(time)));
    let board = [("id", Text("board")), ("create_time", Time(time)), ("start_time", Time(time))];
    fixture.insert("leaderboard", &board).await;
    let record =
        [("leaderboard_id", Text("board")), ("owner_id", Id(ann)), ("username", Text("name-of-ann")), create, update];
    fixture.insert("leaderboard_record", &record).await;
    let id = || ("id", Id(Uuid::from_u128(400)));
    let times = || [("create_time", Time(time)), ("update_time", Time(time))];
    let [create, update] = times();
    let ledger = [id(), ("user_id", Id(ann)), ("changeset", Text("{}")), ("metadata", Text("{}")), create, update];
    fixture.insert("wallet_ledger", &ledger).await;
    let [create, update] = times();
    fixture.insert("users_notes", &[id(), ("user_id", Id(ann)), ("note", Text("is nice")), create, update]).await;
    fixture.insert("user_tombstone", &[("user_id", Id(ann)), ("create_time", Time(time))]).await;
    for (table, key) in [("purchase", "transaction_id"), ("subscription", "original_transaction_id")] {
        let [create, update] = times();
        let mut cells = vec![
            (key, Text("receipt")),
            ("product_id", Text("gems")),
            ("purchase_time", Time(time)),
            ("user_id", Id(ann)),
            create,
            update,
        ];
        if table == "subscription" {
            cells.push(("expire_time", Time(time)));
        }
        fixture.insert(table, &cells).await;
    }
    let (message, metadata) = (format!("banned {ann}"), format!(r#"{{"email": "ann@example.com", "id": "{ann}"}}"#));
    audit(fixture, 401, &message, &metadata).await;
}

/// Inserts an entry of the operators' audit log.
async fn audit(fixture: &Fixture, id: u128, message: &str, metadata: &str) {
    let cells = [
        ("create_time", Time(NOW.0)),
        ("id", Id(Uuid::from_u128(id))),
        ("console_user_id", Id(Uuid::from_u128(500))),
        ("console_username", Text("operator")),
        ("email", Text("operator@example.com")),
        ("action", Text("ban")),
        ("resource", Text("account")),
        ("message", Text(message)),
        ("metadata", Text(metadata)),
    ];
    fixture.insert("console_audit_log", &cells).await;
}

pub(super) async fn leaves_no_trace(fixture: &Fixture) {
    let (store, ann, bob) = (fixture.store(), fixture.sign_up("name-of-ann").await, fixture.sign_up("bob").await);
    fill(fixture, ann, bob).await;
    let id = ann.to_string();
    let traces = [id.as_str(), &ann.0.simple().to_string(), "of-ann", "ann@example.com"].map(str::to_owned);
    let naming = async |trace: &str| {
        let rows = fixture.rows().await;
        rows.into_iter().filter(|(_, row)| row.contains(trace)).collect::<Vec<_>>()
    };
    assert!(naming(&id).await.len() > 20, "there is something to be found");

    assert!(store.delete_account(ann, false, &revocation(ann), NOW).await.unwrap());
    // The messages of Bob to Ann are Bob's: they stay, in a conversation that is named after both.
    let is_of_ann = |(table, row): &(String, String)| table != "message" || !row.contains(&bob.to_string());
    for trace in &traces {
        let left: Vec<_> = naming(trace).await.into_iter().filter(is_of_ann).collect();
        assert_eq!(left, [], "{trace}");
    }
    let rows = fixture.rows().await;
    let count = |table: &str| rows.iter().filter(|(name, _)| name == table).count();
    assert_eq!((count("purchase"), count("subscription"), count("console_audit_log")), (1, 1, 1), "under the nil user");
    assert_eq!((count("groups"), count("message"), count("notification")), (2, 3, 0));
    assert_eq!(count("group_edge"), 4, "Bob leads one group now and led the other before");
    assert_eq!(count("muster_revocation"), 2, "under a pseudonym");
    let bob = store.account(bob).await.unwrap().unwrap();
    assert_eq!(bob.user.edge_count, 0);
    assert!(!store.delete_account(ann, false, &revocation(ann), NOW).await.unwrap());

    let recorded = fixture.sign_up("name-of-zoe").await;
    assert!(store.delete_account(recorded, true, &revocation(recorded), NOW).await.unwrap());
    let tombstones = naming(&recorded.to_string()).await;
    assert_eq!(tombstones.iter().map(|(table, _)| table.as_str()).collect::<Vec<_>>(), ["user_tombstone"]);
}

pub(super) async fn exports_every_table(fixture: &Fixture) {
    let (store, ann, bob) = (fixture.store(), fixture.sign_up("name-of-ann").await, fixture.sign_up("bob").await);
    fill(fixture, ann, bob).await;
    let export = store.export_account(ann).await.unwrap().unwrap();
    let export: serde_json::Value = serde_json::from_str(&export).unwrap();
    let tables: Vec<&str> = export.as_object().unwrap().keys().map(String::as_str).collect();
    assert_eq!(tables, FILLED);
    let user = &export["users"][0];
    assert_eq!((user["id"].as_str(), user["username"].as_str()), (Some(ann.to_string().as_str()), Some("name-of-ann")));
    assert!(
        user["metadata"].is_object() && user["create_time"].as_str().unwrap().starts_with("2023-11-14T22:13:20.123456")
    );
    assert_eq!(user.get("password"), None, "a hash could be guessed at");
    assert_eq!(export["storage"][0]["value"]["n"], 1);
    // The export contains every row of the tables that names Ann.
    for table in FILLED.iter().filter(|table| **table != "muster_revocation") {
        let rows = fixture.rows().await;
        let held = rows.iter().filter(|(name, row)| name == table && row.contains(&ann.to_string())).count();
        assert_eq!(export[table].as_array().unwrap().len(), held, "{table}");
    }
}

pub(super) async fn knows_no_strangers(fixture: &Fixture) {
    let (store, nobody) = (fixture.store(), UserId(Uuid::from_u128(404)));
    assert_eq!(store.export_account(nobody).await.unwrap(), None);
    for user in [nobody, UserId::SYSTEM] {
        assert!(!store.delete_account(user, true, &revocation(user), NOW).await.unwrap());
    }
    assert!(store.revocations_after(0, NOW).await.unwrap().is_empty());
}

pub(super) async fn rewrites_no_record_that_does_not_name_the_player(fixture: &Fixture) {
    let store = fixture.store();
    // E-mail addresses are not verified. This address is a part of another user's address, and its quote would end a
    // JSON string.
    let account = new_account("mallory");
    let mallory = account.user_id;
    store.create_with_email(&account, r#"dmin"@example.com"#, b"hash").await.unwrap();
    audit(fixture, 1, r#"wrote to admin"@example.com"#, r#"{"to": "admin\"@example.com"}"#).await;
    audit(fixture, 2, &format!("banned {mallory}"), r#"{"email": "dmin\"@example.com"}"#).await;

    assert!(store.delete_account(mallory, false, &revocation(mallory), NOW).await.unwrap());
    let rows = fixture.rows().await;
    let records: Vec<_> = rows.iter().filter(|(table, _)| table == "console_audit_log").map(|(_, row)| row).collect();
    assert_eq!(records.len(), 2);
    let of_others = records.iter().find(|row| row.contains("wrote to")).unwrap();
    // One of the two databases shows the rows as JSON, with backslashes before quotes.
    assert_eq!(of_others.replace('\\', "").matches(r#"admin"@example.com"#).count(), 2, "{of_others}");
    let of_mallory = records.iter().find(|row| row.contains("banned")).unwrap();
    assert!(!of_mallory.contains("dmin") && !of_mallory.contains(&mallory.to_string()), "{of_mallory}");
}
