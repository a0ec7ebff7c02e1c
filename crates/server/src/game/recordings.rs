//! Recordings of matches in files: writing them, reading them, and replaying them.

use std::io;
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::Arc;

use muster_cluster::match_log::recording::{EXTENSION, RecordingError, RecordingReader, RecordingWriter};
use muster_domain::ports::store::Store;
use muster_live::matches::MatchId;
use muster_script::durable::recording::{Recorder, Recording};
use muster_script::durable::transcript::Transcript;
use muster_script::host::{NoMatches, NoPlayers, Signing};
use muster_script::matches::replay::{Played, Replayed};
use muster_script::process::CustomMetrics;
use muster_script::{LanguageMatches, ScriptMetrics, ShardParts};

use super::Game;
use crate::config::Config;

/// Limit of the number of files for one match. A match gets a further file each time that it goes on elsewhere.
const PARTS_MAX: u32 = 10_000;

/// Writes recordings into a folder.
pub(super) struct Folder(pub(super) PathBuf);

impl Recorder for Folder {
    fn begin(&self, id: MatchId) -> Option<Box<dyn Recording>> {
        match self.create(id) {
            Ok((writer, path)) => Some(Box::new(Part { writer: Some(writer), path })),
            Err(error) => {
                tracing::error!(%id, folder = %self.0.display(), %error, "a match is not recorded");
                None
            }
        }
    }
}

impl Folder {
    fn create(&self, id: MatchId) -> Result<(RecordingWriter, PathBuf), RecordingError> {
        std::fs::create_dir_all(&self.0)?;
        for part in 1..PARTS_MAX {
            let path = self.0.join(format!("{}-{part}.{EXTENSION}", id.0));
            match RecordingWriter::create(&path) {
                Err(RecordingError::File(error)) if error.kind() == io::ErrorKind::AlreadyExists => {}
                made => return Ok((made?, path)),
            }
        }
        Err(io::Error::other(format!("there are {PARTS_MAX} recordings of the match already: remove some")).into())
    }
}

/// A recording being written, until a write fails.
struct Part {
    writer: Option<RecordingWriter>,
    path: PathBuf,
}

impl Part {
    fn attempt(&mut self, what: impl FnOnce(&mut RecordingWriter) -> Result<(), RecordingError>) {
        if let Some(Err(error)) = self.writer.as_mut().map(what) {
            tracing::error!(path = %self.path.display(), %error, "a match is recorded no more: the file cannot be written");
            self.writer = None;
        }
    }
}

impl Recording for Part {
    fn write(&mut self, record: &[u8]) {
        self.attempt(|writer| writer.write(record));
    }

    fn flush(&mut self) {
        self.attempt(RecordingWriter::flush);
    }

    fn finish(mut self: Box<Self>) {
        if let Some(Err(error)) = self.writer.take().map(RecordingWriter::finish) {
            tracing::error!(path = %self.path.display(), %error, "the end of a recording is not written");
        }
    }
}

/// A recording that was read.
pub(crate) struct Read {
    pub(crate) transcript: Transcript,
    /// Whether the end of the recording is there.
    pub(crate) is_complete: bool,
}

/// Reads a recording.
///
/// # Errors
/// A sentence that names the file.
pub(crate) fn read(path: &Path) -> Result<Read, String> {
    let failed = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
    let mut reader = RecordingReader::open(path).map_err(|error| failed(&error))?;
    let mut records = Vec::new();
    while let Some(record) = reader.read().map_err(|error| failed(&error))? {
        records.push(record);
    }
    let transcript = Transcript::read(records).map_err(|error| failed(&error.message))?;
    Ok(Read { transcript, is_complete: reader.is_complete() })
}

/// The modules that the configuration names, for replaying recordings. The effects of a replay are not carried out.
pub(crate) struct RecordingPlayer(Rc<LanguageMatches>);

impl RecordingPlayer {
    /// Loads the modules. Database calls that they make while loading go to `store`.
    ///
    /// # Errors
    /// A sentence with file and line.
    pub(crate) async fn load(config: &Config, store: Rc<dyn Store>, signing: Signing) -> Result<Self, String> {
        let metrics = Arc::new(ScriptMetrics::default());
        let custom = Arc::new(CustomMetrics::new(config.metrics.custom_scope_limit));
        let (game, _reload) = Game::load(config, 1, store.clone(), signing.clone(), metrics.clone(), custom).await?;
        let programs = game.generations.borrow().programs.clone();
        let host = game.loader.resources.host(store, signing, Rc::new(NoPlayers), Rc::new(NoMatches));
        let shard = ShardParts { host: host.clone(), metrics, returns: Rc::new(|_, _| ()), logs: None };
        let matches = Rc::new(LanguageMatches::new(programs.matches(&shard)));
        host.handlers.set(&matches);
        Ok(Self(matches))
    }

    /// Replays a recording.
    ///
    /// # Errors
    /// A sentence that says why the recording cannot be replayed.
    pub(crate) async fn play(
        &self,
        transcript: Transcript,
        see: &mut dyn FnMut(Played<'_>),
    ) -> Result<Replayed, Arc<str>> {
        self.0.replay(transcript, see).await
    }
}
