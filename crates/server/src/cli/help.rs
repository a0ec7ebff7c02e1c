//! Texts of `muster --help` and `muster --version`.

/// Output of `muster --help`.
pub(super) const OVERVIEW: &str = "\
Muster, a game server.

  muster dev                    start on this machine for development: published keys, loopback only
  muster serve                  start for players: own keys, generated at first start
  muster check [--dev]          tell what the configuration amounts to, and what is not honoured
  muster check --keys           list all configuration keys
  muster migrate up|status      prepare the database, or tell how it stands
  muster backup FOLDER          copy the database into a new folder, also while the server runs
  muster restore FOLDER         put a backup in place; --force replaces what is there
  muster account export ID      print all that is stored of a player, as JSON
  muster account ban ID         let a player in no more; also unban, delete
  muster healthcheck [PORT|URL] ask a running server whether it is well (default port 7350)
  muster drain NODE             have a node of a cluster give all it has to others and stop
  muster types FOLDER           write declarations for TypeScript and Luau of what game code may call
  muster match record FOLDER    start as `dev` does, and record durable matches into a folder
  muster match replay FILE      play a recording again with the modules that there are, and print each call
  muster match verify FILE ...  tell whether the modules still do what they did in recordings
  muster match list             list the durable matches of a stopped server, or of a cluster
  muster match forget ID        end a durable match, for example one that cannot go on
  muster bench ...              load a server and measure it; `muster bench --help` tells more
  muster help KEY               tell about one configuration key
  muster --version

Every configuration key is a flag: --socket.port 7350 or --socket.port=7350.
Files with keys (YAML): --config FILE, repeatable. Environment: MUSTER_SOCKET__PORT=7350.
";

/// Further words on commands, by name: what they read, what they answer.
const DETAILS: [(&str, &str); 11] = [
    (
        "dev",
        "Keys that matter first: --socket.port, --data_dir, --runtime.path, --logger.level, --database.address.\n\
         Changed game code is loaded at once. Ctrl-C stops it.",
    ),
    (
        "serve",
        "The first start makes a data folder (--data_dir) with keys.yml: keep that file in your backups.\n\
         SIGTERM stops it gently, a second one at once; SIGHUP loads game code; SIGUSR1 opens the log file anew.",
    ),
    ("check", "With --dev as `muster dev` would see it. Exit status 0: a server would start. Changes nothing."),
    ("migrate", "Takes --database.address. `up` may run beside servers; a server does it at its start by itself."),
    (
        "backup",
        "Of SQLite only; PostgreSQL has pg_dump. Takes --data_dir or --database.address. The folder must be new.",
    ),
    (
        "restore",
        "Of SQLite only; PostgreSQL has pg_restore. The server must be stopped. With --force what was there stays\n\
         beside it under another name.",
    ),
    ("account", "Takes --database.address or --data_dir. Running servers learn of a ban within half a second."),
    (
        "healthcheck",
        "Exit status 0: the server and its database answer. A URL may begin with https://. Certificates are not\n\
         checked, since nothing secret is said.",
    ),
    (
        "drain",
        "Takes the --cluster.* flags of the nodes, and their keys from --data_dir (with --dev those of `muster dev`).\n\
         NODE is a name or a number. Returns when the node has left.",
    ),
    ("types", "Writes into the folder, which may exist: files of the same names are replaced."),
    (
        "match",
        "Recordings need --match.record_dir or `record`. `list` and `forget` want the server stopped, or --cluster.*\n\
         flags and the nodes' keys, as `muster drain` does. `verify` has exit status 1 if a module does something\n\
         else than it did.",
    ),
];

/// Output of `muster COMMAND --help`: the command's lines of the overview, and what else is to be known.
pub(super) fn of(command: &str) -> String {
    let is_own = |line: &&str| line.split_whitespace().take(2).eq(["muster", command]);
    let own = OVERVIEW.lines().filter(is_own);
    let details = DETAILS.iter().filter(|(name, _)| *name == command).flat_map(|(_, text)| text.lines());
    let keys = "Every configuration key is a flag; `muster check --keys` lists them.";
    let lines: Vec<&str> = own.chain([""]).chain(details).chain([keys, ""]).collect();
    lines.join("\n")
}

/// Output of `muster --version`.
pub(super) fn version() -> String {
    format!("muster {}\n", env!("CARGO_PKG_VERSION"))
}
