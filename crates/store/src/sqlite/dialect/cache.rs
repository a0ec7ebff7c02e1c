//! Translations of statements that came before. They hold as long as no table changes.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use rusqlite::Connection;

use super::{Catalogue, Refusal, Run, Translation, add_functions, translate, violations};

/// Most translations that are kept; the oldest goes first.
pub(in crate::sqlite) const SQL_TRANSLATIONS_MAX: usize = 512;

/// Longer statements are translated each time.
pub(in crate::sqlite) const SQL_TRANSLATION_BYTES_MAX: usize = 8 << 10;

/// The state of the connection on which game code's statements run.
#[derive(Debug)]
pub(in crate::sqlite) struct Dialect {
    pub(in crate::sqlite) run: Arc<Run>,
    /// The version of the schema that the catalogue was read from; it grows with each change of a table.
    version: Option<i64>,
    catalogue: Catalogue,
    translations: HashMap<String, Arc<Translation>>,
    order: VecDeque<String>,
}

/// Why there is no translation.
#[derive(Debug)]
pub(in crate::sqlite) enum Untranslated {
    Refused(Refusal),
    Failed(rusqlite::Error),
}

impl Dialect {
    /// Adds to a connection what translated statements need.
    pub(in crate::sqlite) fn new(connection: &Connection) -> rusqlite::Result<Self> {
        Ok(Self {
            run: add_functions(connection)?,
            version: None,
            catalogue: Catalogue::default(),
            translations: HashMap::new(),
            order: VecDeque::new(),
        })
    }

    /// SQLite's message for a violated constraint in PostgreSQL's words.
    pub(in crate::sqlite) fn violation(&self, translation: &Translation, message: &str) -> Option<String> {
        violations::told(&self.catalogue, translation.change.as_ref()?, message)
    }

    /// The translation of a statement.
    pub(in crate::sqlite) fn translation(
        &mut self,
        connection: &Connection,
        statement: &str,
    ) -> Result<Arc<Translation>, Untranslated> {
        let version = connection.pragma_query_value(None, "schema_version", |row| row.get(0));
        let version = Some(version.map_err(Untranslated::Failed)?);
        if version != self.version {
            self.translations.clear();
            self.order.clear();
            self.catalogue = Catalogue::read(connection).map_err(Untranslated::Failed)?;
            self.version = version;
        }
        if let Some(known) = self.translations.get(statement) {
            return Ok(Arc::clone(known));
        }
        let translation = Arc::new(translate(statement, &self.catalogue).map_err(Untranslated::Refused)?);
        if statement.len() <= SQL_TRANSLATION_BYTES_MAX {
            if self.order.len() >= SQL_TRANSLATIONS_MAX
                && let Some(oldest) = self.order.pop_front()
            {
                self.translations.remove(&oldest);
            }
            self.order.push_back(statement.to_owned());
            self.translations.insert(statement.to_owned(), Arc::clone(&translation));
        }
        Ok(translation)
    }
}
