//! Finds PostgreSQL's programs and strace, installs missing ones where that is possible without asking, and otherwise
//! says what to do.

use std::ffi::OsStr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

use anyhow::{Context, Result, bail, ensure};

/// The oldest PostgreSQL that Muster supports.
const MAJOR_VERSION_MIN: u32 = 15;

/// Folders in which distributions keep the server programs that are not on `PATH`; each holds one folder per major
/// version.
const VERSIONED_FOLDERS: [&str; 3] = ["/usr/lib/postgresql", "/opt/homebrew/opt", "/usr/local/opt"];

/// A folder with PostgreSQL's programs, and the account they run as.
#[derive(Clone, Debug)]
pub struct Programs {
    folder: PathBuf,
    /// The account that stands in for root, as which PostgreSQL refuses to run; `None` for the caller's own account.
    account: Option<Account>,
}

/// A user and its first group, by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Account {
    pub(crate) user: u32,
    pub(crate) group: u32,
}

impl Programs {
    /// Searches `PATH`, then the folders of the distributions, newest version first.
    ///
    /// # Errors
    /// When nothing new enough is there; the message says how to install it.
    pub fn find() -> Result<Self> {
        let mut too_old = None;
        for folder in candidates() {
            match major_version(&folder) {
                Some(version) if version >= MAJOR_VERSION_MIN => {
                    return Ok(Self { folder, account: stand_in_for_root()? });
                }
                Some(version) => too_old = Some((folder, version)),
                None => {}
            }
        }
        if let Some((folder, version)) = too_old {
            bail!(
                "PostgreSQL {version} in {} is too old for Muster: install version {MAJOR_VERSION_MIN} or newer",
                folder.display()
            );
        }
        bail!(
            "the tests need PostgreSQL {MAJOR_VERSION_MIN} or newer, and none is installed: on Debian and Ubuntu run \
             `apt-get install postgresql`, on Fedora `dnf install postgresql-server postgresql-contrib`, on macOS \
             `brew install postgresql@17`; or name a running server in {}",
            crate::URL_VARIABLE
        )
    }

    /// A command for one of the programs, under the right account.
    pub(crate) fn command(&self, program: &str) -> Command {
        let mut command = Command::new(self.folder.join(program));
        self.become_account(&mut command);
        command
    }

    /// Makes `command` run under the account of the server's programs.
    pub(crate) fn become_account(&self, command: &mut Command) {
        // The account may not be allowed to enter the caller's folder.
        command.current_dir("/");
        if let Some(account) = self.account {
            command.uid(account.user).gid(account.group);
        }
    }

    pub(crate) fn account(&self) -> Option<Account> {
        self.account
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }
}

/// Installs a package with the system's package manager. Only for Debian and its relatives, as root.
///
/// # Errors
/// Anywhere else, and when the package manager fails.
pub fn install(package: &str) -> Result<()> {
    ensure!(is_root()?, "installing {package} needs root");
    ensure!(on_path("apt-get").is_some(), "only apt-get is known here for installing {package}");
    for arguments in [["update", "-q"].as_slice(), &["install", "-q", "-y", "--no-install-recommends", package]] {
        let status = Command::new("apt-get")
            .args(arguments)
            .env("DEBIAN_FRONTEND", "noninteractive")
            .stdin(Stdio::null())
            .status()
            .context("apt-get did not start")?;
        ensure!(status.success(), "`apt-get {}` failed: {status}", arguments.join(" "));
    }
    Ok(())
}

/// Checks whether the system calls of a program can be traced, as tests of durability do.
///
/// # Errors
/// When strace is not installed or may not watch; the message says what to do.
pub fn check_strace() -> Result<()> {
    ensure!(
        on_path("strace").is_some(),
        "the tests of durability watch the server's system calls, and strace is not installed: on Debian and Ubuntu \
         run `apt-get install strace`, on Fedora `dnf install strace`"
    );
    let mut strace = Command::new("strace");
    strace.args(["-D", "-f", "-o", "/dev/null", "-e", "trace=fdatasync", "true"]);
    output_of(&mut strace).context("strace may not watch programs here: allow ptrace (in a container SYS_PTRACE)")?;
    Ok(())
}

/// Runs `command` to its end. Answers its output, or an error that quotes it.
pub(crate) fn output_of(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_owned();
    let Output { status, stdout, stderr } =
        command.stdin(Stdio::null()).output().with_context(|| format!("{} did not start", program.display()))?;
    let said = |bytes: &[u8]| String::from_utf8_lossy(bytes).trim().to_owned();
    ensure!(status.success(), "{} failed ({status}): {}{}", program.display(), said(&stdout), said(&stderr));
    Ok(said(&stdout))
}

fn candidates() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = on_path("initdb").into_iter().collect();
    let mut versioned: Vec<(u32, PathBuf)> = VERSIONED_FOLDERS
        .iter()
        .filter_map(|folder| std::fs::read_dir(folder).ok())
        .flat_map(|entries| entries.filter_map(Result::ok))
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let version = name.trim_start_matches("postgresql@").parse().ok()?;
            Some((version, entry.path().join("bin")))
        })
        .collect();
    versioned.sort();
    folders.extend(versioned.into_iter().rev().map(|(_, folder)| folder));
    folders.retain(|folder| ["initdb", "pg_ctl", "createdb", "psql"].iter().all(|name| folder.join(name).is_file()));
    folders
}

/// The real folder of `program` on `PATH`: a link there may point into a folder with further programs.
pub(crate) fn on_path(program: impl AsRef<OsStr>) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let found = std::env::split_paths(&path).map(|folder| folder.join(program.as_ref())).find(|file| file.is_file())?;
    let real = std::fs::canonicalize(&found).unwrap_or(found);
    real.parent().map(Path::to_owned)
}

fn major_version(folder: &Path) -> Option<u32> {
    let said = output_of(Command::new(folder.join("initdb")).arg("--version")).ok()?;
    parse_major_version(&said)
}

/// The major version in `initdb (PostgreSQL) 15.13 (Debian …)` or `16beta1`.
fn parse_major_version(said: &str) -> Option<u32> {
    let after = said.split("(PostgreSQL)").nth(1)?.trim_start();
    let digits: String = after.chars().take_while(char::is_ascii_digit).collect();
    digits.parse().ok()
}

fn is_root() -> Result<bool> {
    Ok(output_of(Command::new("id").arg("-u"))? == "0")
}

fn stand_in_for_root() -> Result<Option<Account>> {
    if !is_root()? {
        return Ok(None);
    }
    for name in ["postgres", "nobody"] {
        let number =
            |flag: &str| -> Option<u32> { output_of(Command::new("id").args([flag, name])).ok()?.parse().ok() };
        if let (Some(user), Some(group)) = (number("-u"), number("-g")) {
            return Ok(Some(Account { user, group }));
        }
    }
    bail!("PostgreSQL refuses to run as root, and there is neither a user `postgres` nor `nobody` to run it as")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_major_version_as_the_distributions_print_it() {
        let check = |said: &str, expect| assert_eq!(parse_major_version(said), expect, "{said}");
        check("initdb (PostgreSQL) 15.13 (Debian 15.13-0+deb12u1)", Some(15));
        check("initdb (PostgreSQL) 17beta2", Some(17));
        check("initdb", None);
    }
}
