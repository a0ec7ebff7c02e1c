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

/// Output of `muster --version`.
pub(super) fn version() -> String {
    format!("muster {}\n", env!("CARGO_PKG_VERSION"))
}
