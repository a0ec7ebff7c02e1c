//! A lesser role for statements of game code. If the database has a role of the name [`GAME_ROLE`] to which the
//! server's own user belongs, these statements run as that role: it makes tables of its own, reads and changes rows of
//! the original's tables, and has no right to Muster's tables, to roles or to other sessions.

use muster_domain::sql::ORIGINAL_TABLES;
use tokio_postgres::Client;

use super::fault::describe;
use crate::OpenError;

/// The name of the role.
const GAME_ROLE: &str = "muster_game";

/// Rows: whether the role has more rights than it should, for each of three reasons.
const FIND: &str = "SELECT rolsuper OR rolcreaterole OR rolcreatedb OR rolreplication OR rolbypassrls, \
     pg_has_role(oid, current_user, 'MEMBER'), \
     EXISTS (SELECT 1 FROM pg_class WHERE relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') \
         AND relname LIKE 'muster\\_%' \
         AND has_table_privilege(pg_roles.oid, pg_class.oid, 'SELECT, INSERT, UPDATE, DELETE, TRUNCATE, TRIGGER')) \
     FROM pg_roles WHERE rolname = 'muster_game' AND pg_has_role(current_user, oid, 'MEMBER')";

/// Commands that give the role its rights, as far as it lacks them. `TRIGGER` is not among them: a trigger would run in
/// connections of the server.
const MISSING: &str = "SELECT format('GRANT USAGE, CREATE ON SCHEMA %I TO muster_game', current_schema()) \
         FROM pg_roles WHERE rolname = 'muster_game' AND pg_has_role(current_user, oid, 'MEMBER') \
         AND NOT (has_schema_privilege(oid, current_schema(), 'USAGE') \
             AND has_schema_privilege(oid, current_schema(), 'CREATE')) \
     UNION ALL SELECT format('GRANT SELECT, INSERT, UPDATE, DELETE, TRUNCATE, REFERENCES ON %s TO muster_game', \
         pg_class.oid::regclass) FROM pg_roles, pg_class \
         WHERE rolname = 'muster_game' AND pg_has_role(current_user, pg_roles.oid, 'MEMBER') \
         AND relnamespace = current_schema()::regnamespace AND relkind IN ('r', 'p') \
         AND relname = ANY($1) \
         AND NOT (SELECT bool_and(has_table_privilege(pg_roles.oid, pg_class.oid, right_to)) FROM \
             unnest('{SELECT,INSERT,UPDATE,DELETE,TRUNCATE,REFERENCES}'::text[]) AS right_to)";

/// Settings of connections of game code.
pub(super) fn settings(has_role: bool) -> String {
    // The rules about statements read texts in this way, and no other setting may change it.
    let strings = "-c standard_conforming_strings=on";
    if has_role { format!("{strings} -c role={GAME_ROLE}") } else { strings.to_owned() }
}

/// Whether the database has the role.
///
/// # Errors
/// When the role has rights that it should not have.
pub(super) async fn find(client: &Client) -> Result<bool, OpenError> {
    let Some(row) = client.query_opt(FIND, &[]).await.map_err(failed)? else { return Ok(false) };
    let reasons = [
        "may do what only an operator may, such as making roles: ALTER ROLE muster_game NOSUPERUSER NOCREATEROLE \
         NOCREATEDB NOREPLICATION NOBYPASSRLS",
        "is a member of the server's own role: REVOKE that membership",
        "has rights to tables whose names begin with muster_: REVOKE ALL ON them FROM muster_game and PUBLIC",
    ];
    for (index, reason) in reasons.iter().enumerate() {
        if row.try_get(index).map_err(failed)? {
            return Err(OpenError::new(format!("the role {GAME_ROLE} is there to hold game code's SQL, and {reason}")));
        }
    }
    Ok(true)
}

/// Gives the role its rights to the original's tables, if there is such a role.
///
/// # Errors
/// When the server's own user may not give them.
pub(super) async fn grant(client: &Client) -> Result<(), OpenError> {
    for row in client.query(MISSING, &[&&ORIGINAL_TABLES[..]]).await.map_err(failed)? {
        let command: String = row.try_get(0).map_err(failed)?;
        client.batch_execute(&command).await.map_err(|error| {
            OpenError::new(format!("the role {GAME_ROLE} lacks rights, and {command} failed: {}", describe(&error)))
        })?;
    }
    Ok(())
}

fn failed(error: tokio_postgres::Error) -> OpenError {
    OpenError::new(format!("cannot read the database's roles: {}", describe(&error)))
}
