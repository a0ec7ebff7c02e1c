//! Access to the tables of a server, past the server.

use std::path::Path;

use tokio_postgres::{NoTls, SimpleQueryMessage};

/// Runs statements on PostgreSQL. Answers the first column of every row as text, and an empty text for `NULL`.
pub fn postgres(url: &str, sql: &str) -> Vec<String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let (client, driver) = tokio_postgres::connect(url, NoTls).await.unwrap();
        let driver = tokio::spawn(driver);
        let messages = client.simple_query(sql).await.unwrap_or_else(|error| panic!("{error:?}: {sql}"));
        drop(client);
        // The connection must have been closed when this function returns: a database with users can neither be dropped
        // nor serve as a template.
        driver.await.unwrap().unwrap();
        let rows = messages.iter().filter_map(|message| match message {
            SimpleQueryMessage::Row(row) => Some(row.get(0).unwrap_or_default().to_owned()),
            _ => None,
        });
        rows.collect()
    })
}

/// Checks that every table, index and row of an SQLite file is intact, and that every reference leads somewhere.
pub fn assert_sound(file: &Path) {
    let connection = rusqlite::Connection::open(file).unwrap();
    let integrity: String = connection.pragma_query_value(None, "integrity_check", |row| row.get(0)).unwrap();
    assert_eq!(integrity, "ok");
    let mut orphans = connection.prepare("PRAGMA foreign_key_check").unwrap();
    assert!(!orphans.exists([]).unwrap(), "a row refers to one that is not there");
}
