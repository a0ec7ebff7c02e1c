//! A PostgreSQL server with a data folder and port of its own, thrown away when no longer needed.

use std::io::Write as _;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use anyhow::{Context, Result, anyhow, bail, ensure};

use crate::programs::{Programs, output_of};
use crate::supervisor::Supervisor;
use crate::unique;

/// Variable that names a running server for the tests' databases, as `postgres://user[:password]@host:port/database`.
pub const URL_VARIABLE: &str = "MUSTER_TEST_POSTGRES";

/// The extension that Nakama's schema needs; some distributions package it separately.
const EXTENSION: &str = "pg_trgm";

/// Attempts with other ports: no call reserves a port for a program that cannot listen on port 0.
const PORT_ATTEMPTS_MAX: u32 = 5;

/// Settings that differ from PostgreSQL's defaults. `fsync` stays on: tests rely on acknowledged writes being synced.
const SETTINGS: &str = "-c listen_addresses=127.0.0.1 -c unix_socket_directories= -c max_connections=200 \
                        -c log_timezone=UTC -c timezone=UTC";

/// Settings of a server of a test's own.
#[derive(Clone, Debug, Default)]
pub struct PostgresSettings {
    /// Options of the program, such as `-c ssl=on`.
    pub options: String,
    /// Names and contents of files in the data folder. Only the server may read them.
    pub files: Vec<(String, String)>,
}

/// A server for tests. Dropping it stops the server, if it was started here.
#[derive(Debug)]
pub struct Postgres {
    url: String,
    pub(crate) programs: Programs,
    /// The shell that keeps the server; `None` for a server that ran before and stays.
    supervisor: Option<Supervisor>,
}

impl Postgres {
    /// The one server of this process: that of [`URL_VARIABLE`], or one that is started now and ends with the process.
    ///
    /// # Errors
    /// Same as [`Postgres::start`].
    pub fn shared() -> Result<&'static Self> {
        static SHARED: OnceLock<Result<Postgres, String>> = OnceLock::new();
        SHARED
            .get_or_init(|| match std::env::var(URL_VARIABLE) {
                Ok(url) if !url.is_empty() => Self::at(url).map_err(|error| format!("{error:#}")),
                _ => Self::start().map_err(|error| format!("{error:#}")),
            })
            .as_ref()
            .map_err(|error| anyhow!("{error}"))
    }

    /// Starts a server with a new data folder, on a free port of the loopback interface. Returns once it answers.
    ///
    /// # Errors
    /// When PostgreSQL is not installed, is too old, lacks `pg_trgm`, or does not start; the message quotes its log.
    pub fn start() -> Result<Self> {
        Self::start_with(&PostgresSettings::default())
    }

    /// Starts a server with settings of its own.
    ///
    /// # Errors
    /// Same as [`Postgres::start`].
    pub fn start_with(settings: &PostgresSettings) -> Result<Self> {
        let programs = Programs::find()?;
        for _ in 0..PORT_ATTEMPTS_MAX {
            if let Some((url, supervisor)) = start_on_free_port(&programs, settings)? {
                let server = Self { url, programs, supervisor: Some(supervisor) };
                server.check_extension()?;
                return Ok(server);
            }
        }
        bail!("no port stayed free for PostgreSQL in {PORT_ATTEMPTS_MAX} attempts")
    }

    /// A server that runs already, by the URL of a user who may create databases.
    ///
    /// # Errors
    /// When PostgreSQL's client programs are not installed, or the server does not answer.
    pub fn at(url: String) -> Result<Self> {
        ensure!(
            url.starts_with("postgres://") || url.starts_with("postgresql://"),
            "{URL_VARIABLE} must look like postgres://user:password@host:port/database"
        );
        let server = Self { url, programs: Programs::find()?, supervisor: None };
        server.check_extension()?;
        Ok(server)
    }

    /// Ends the server at once, as in a crash. Returns when it is gone. Its data and its address stay.
    ///
    /// # Errors
    /// When this value did not start the server, or it does not end.
    pub fn crash(&mut self) -> Result<()> {
        self.supervised()?.stop_server()
    }

    /// Starts the server again after [`Postgres::crash`]. Returns once it answers.
    ///
    /// # Errors
    /// When this value did not start the server, or it does not start.
    pub fn start_again(&mut self) -> Result<()> {
        self.supervised()?.start_server()
    }

    fn supervised(&mut self) -> Result<&mut Supervisor> {
        self.supervisor.as_mut().context("this PostgreSQL was not started here, and is not ours to stop")
    }

    /// Address of the server, as `postgres://muster@127.0.0.1:PORT/postgres`. Tests create databases of their own.
    #[must_use]
    pub fn url(&self) -> &str {
        &self.url
    }

    /// Folder of PostgreSQL's programs.
    #[must_use]
    pub fn programs_folder(&self) -> &Path {
        self.programs.folder()
    }

    fn check_extension(&self) -> Result<()> {
        let query = format!("SELECT count(*) FROM pg_available_extensions WHERE name = '{EXTENSION}'");
        let mut psql = self.programs.command("psql");
        psql.args(["--no-psqlrc", "--tuples-only", "--no-align", "--dbname"])
            .arg(&self.url)
            .args(["--command", &query]);
        let count = output_of(&mut psql).context("the server does not answer")?;
        ensure!(count == "1", "this PostgreSQL lacks the extension {EXTENSION}: install its contrib package");
        Ok(())
    }
}

/// A new folder that only the server's account may enter.
fn create_folder(programs: &Programs) -> Result<PathBuf> {
    let folder = std::env::temp_dir().join(format!("muster-postgres-{}", unique()));
    std::fs::create_dir(&folder).with_context(|| format!("cannot create {}", folder.display()))?;
    if let Some(account) = programs.account() {
        std::os::unix::fs::chown(&folder, Some(account.user), Some(account.group))
            .with_context(|| format!("cannot give {} to the account that runs PostgreSQL", folder.display()))?;
    }
    Ok(folder)
}

fn initialise(programs: &Programs, folder: &Path, settings: &PostgresSettings) -> Result<()> {
    let locale = if cfg!(target_os = "macos") { "en_US.UTF-8" } else { "C.UTF-8" };
    let mut initdb = programs.command("initdb");
    // The empty cluster need not be synced: only later acknowledged writes have to survive.
    initdb.args(["--username=muster", "--auth=trust", "--encoding=UTF8", "--no-sync", "--no-instructions"]);
    initdb.arg(format!("--locale={locale}")).arg("--pgdata").arg(folder.join("data"));
    output_of(&mut initdb)?;
    settings.files.iter().try_for_each(|(name, content)| write_file(programs, &folder.join("data").join(name), content))
}

/// Writes a file that only the server's account may read.
fn write_file(programs: &Programs, path: &Path, content: &str) -> Result<()> {
    let write = || {
        let mut options = std::fs::File::options();
        let mut file = options.create(true).write(true).truncate(true).mode(0o600).open(path)?;
        file.write_all(content.as_bytes())?;
        match programs.account() {
            Some(account) => std::os::unix::fs::chown(path, Some(account.user), Some(account.group)),
            None => Ok(()),
        }
    };
    write().with_context(|| format!("cannot write {}", path.display()))
}

/// Starts a server on a free port; `None` if another program took the port in between.
fn start_on_free_port(programs: &Programs, settings: &PostgresSettings) -> Result<Option<(String, Supervisor)>> {
    let folder = create_folder(programs)?;
    if let Err(error) = initialise(programs, &folder, settings) {
        // The error matters more than the remains of the folder.
        let _ = std::fs::remove_dir_all(&folder);
        return Err(error);
    }
    let port = free_port()?;
    let (supervisor, started) =
        Supervisor::start(programs, &folder, &format!("{SETTINGS} -p {port} {}", settings.options))?;
    if started {
        return Ok(Some((format!("postgres://muster@127.0.0.1:{port}/postgres"), supervisor)));
    }
    // The files are read before the supervisor goes and removes the folder.
    let said = ["pg_ctl", "log"].map(|file| std::fs::read_to_string(folder.join(file)).unwrap_or_default()).concat();
    drop(supervisor);
    ensure!(said.contains("Address already in use"), "PostgreSQL did not start:\n{said}");
    Ok(None)
}

fn free_port() -> Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).context("no free port on the loopback")?;
    Ok(listener.local_addr()?.port())
}
