//! Persistence of Muster on SQLite and PostgreSQL.
