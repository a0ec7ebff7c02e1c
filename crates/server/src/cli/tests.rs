//! Tests of the command line.

use super::{Command, parse};

/// The command of a command line, in short form.
fn read(line: &str) -> String {
    match parse(line.split_whitespace().map(Into::into)) {
        Ok(Command::Start { mode, flags }) => format!("{mode:?} {flags:?}"),
        Ok(Command::Print(text)) => format!("print {}", text.lines().next().unwrap_or_default()),
        Ok(command) => format!("{command:?}"),
        Err(error) => format!("error {error}"),
    }
}

#[test]
fn flags_as_go_takes_them() {
    let port = "Serve [socket.port = 7360 (command line)]";
    for line in ["--socket.port 7360", "--socket.port=7360", "-socket.port 7360", "-socket.port=7360"] {
        assert_eq!(read(&format!("serve {line}")), port, "{line}");
    }
    let single = |text| format!("Dev [session.single_socket = {text} (command line), name = a (command line)]");
    assert_eq!(read("dev --session.single_socket --name a"), single("true"));
    assert_eq!(read("dev --session.single_socket=0 --name a"), single("0"));
    assert_eq!(read("dev --session.single_socket false --name a"), single("false"));
    assert_eq!(read("serve --metrics.namespace= "), "Serve [metrics.namespace =  (command line)]");
    assert_eq!(read("serve --live.shards -1"), "Serve [live.shards = -1 (command line)]");
}

#[test]
fn repeated_flags_and_values_with_equals_signs() {
    assert_eq!(
        read("serve --runtime.env A=1 --runtime.env=B=2 --socket.response_headers X=a=b"),
        "Serve [runtime.env = A=(secret) (command line), runtime.env = B=(secret) (command line), \
         socket.response_headers = X=a=b (command line)]"
    );
}

#[test]
fn the_flags_of_the_original_parse() {
    let line = "serve --data_dir DIR --socket.port 1 --console.port 2 --database.address postgres://u:p@h:5432/n \
                --runtime.path DIR --runtime.http_key KEY --session.token_expiry_sec 60";
    assert!(read(line).starts_with("Serve [data_dir = DIR (command line), "), "{}", read(line));
    assert!(!read(line).contains(":p@"));
}

#[test]
fn commands() {
    assert_eq!(
        read("migrate up --database.address u@h/n"),
        "Migrate { action: Up, flags: [database.address = u@h/n (command line)] }"
    );
    assert_eq!(read("migrate --name a status"), "Migrate { action: Status, flags: [name = a (command line)] }");
    assert_eq!(read("backup out.db"), "Backup { file: \"out.db\", flags: [] }");
    assert_eq!(read("restore -- --odd"), "Restore { file: \"--odd\", force: false, flags: [] }");
    assert_eq!(read("types out"), "Types { folder: \"out\" }");
    assert_eq!(read("match list --name a"), "ListMatches { mode: Serve, flags: [name = a (command line)] }");
    let forget = "ForgetMatch { mode: Serve, id: 7bab7310-9a66-4477-b43a-f53100000001, flags: [] }";
    assert_eq!(read("match forget 7bab7310-9a66-4477-b43a-f53100000001"), forget);
    assert_eq!(read("match forget 7bab7310-9a66-4477-b43a-f53100000001.muster"), forget, "a public id");
    assert_eq!(read("match forget x"), "error `x` is no match id; `muster match list` has them");
    assert_eq!(read("check"), "Check { mode: Serve, flags: [] }");
    assert_eq!(read("check --dev"), "Check { mode: Dev, flags: [] }");
    assert_eq!(read("check --keys"), "print name = muster");
    assert_eq!(read("healthcheck"), "Healthcheck { target: Port(7350) }");
    assert_eq!(read("healthcheck 7360"), "Healthcheck { target: Port(7360) }");
    assert_eq!(read("drain b"), "Drain { mode: Serve, node: \"b\", flags: [] }");
    assert_eq!(read("drain --dev b"), "Drain { mode: Dev, node: \"b\", flags: [] }");
    assert_eq!(read("match list --dev"), "ListMatches { mode: Dev, flags: [] }");
    assert!(read("match verify --dev a").starts_with("error write `muster match"));
    assert_eq!(read("healthcheck http://host:1/"), "Healthcheck { target: Url(\"http://host:1/\") }");
    assert_eq!(read("bench ccu --unknown 5"), "Bench { arguments: [\"ccu\", \"--unknown\", \"5\"] }");
    assert_eq!(
        read("account export 4c2ae592-b2a7-445e-98ec-697694478b1c"),
        "Account { action: Export, user_id: 4c2ae592-b2a7-445e-98ec-697694478b1c, flags: [] }"
    );
    for line in ["help", "--help", "-h"] {
        assert_eq!(read(line), "print Muster, a game server.", "{line}");
    }
    for line in ["serve --help", "backup -h", "help drain", "match --help", "restore FOLDER --help", "healthcheck -h"] {
        let command = line.split(' ').find(|word| !["help"].contains(word)).unwrap_or_default();
        assert!(read(line).starts_with(&format!("print   muster {command} ")), "{line}: {}", read(line));
    }
    assert_eq!(read("--version"), format!("print muster {}", env!("CARGO_PKG_VERSION")));
    assert_eq!(read("help socket.port"), "print socket.port");
}

#[test]
fn mistakes_say_what_to_write() {
    assert!(read("").starts_with("error what to do? Start with `muster dev`."));
    assert_eq!(read("sevre"), "error there is no command `sevre`; did you mean `serve`?");
    assert_eq!(read("launch"), "error there is no command `launch`; `muster --help` lists them");
    assert_eq!(
        read("--socket.port 1"),
        "error a command comes first, such as `muster serve --socket.port …`; `muster --help` lists them"
    );
    assert_eq!(read("serve --socket.prot 1"), "error there is no key `socket.prot`; did you mean `socket.port`?");
    assert_eq!(read("serve --dev"), "error there is no key `dev`; `muster check --keys` lists all keys");
    assert_eq!(read("serve extra"), "error `extra` has no meaning here; flags begin with a dash");
    assert_eq!(
        read("serve --socket.port --name a"),
        "error `--socket.port` needs a value: a whole number from 0 to 65535"
    );
    assert_eq!(read("serve --name"), "error `--name` needs a value: a text");
    assert_eq!(
        read("migrate down"),
        "error `muster migrate down` does not exist: steps back would lose data; restore a backup instead"
    );
    assert_eq!(read("migrate"), "error write `muster migrate up` or `muster migrate status`");
    assert_eq!(read("backup"), "error write `muster backup FOLDER`, with one folder");
    assert_eq!(read("account export bob"), "error `bob` is no user id, which is a UUID");
    assert_eq!(read("drain"), "error write `muster drain NODE`, with a node's name or number");
    assert_eq!(
        read("healthcheck 70000"),
        "error write `muster healthcheck`, with a port (1 to 65535) or a URL if need be"
    );
}
