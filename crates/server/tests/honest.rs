//! Honest use in numbers meets no limit of the default configuration: a thousand players behind one address of a
//! carrier, and a studio's backend.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::io::Write as _;
use std::net::TcpStream;
use std::sync::Barrier;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use muster_wire::envelope::Format;
use muster_wire::realtime::Envelope;
use muster_wire::realtime::envelope::Message;
use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};
use serde_json::{Value, json};
use support::http::{self, Response};
use support::server::{Server, Setup};
use support::socket::{Socket, UPGRADE};

/// Players who come at once.
const PLAYERS: usize = 1_000;
/// Players who talk and play together.
const GROUP: usize = 10;
/// Threads of the test, each with as many of the players.
const THREADS: usize = 10;
const SERVER_KEY: &str = "a-key";
const HTTP_KEY: &str = "a-key-of-the-backend";
const CARRIER: &str = "203.0.113.1";

fn setup() -> Setup {
    let limit = getrlimit(Resource::Nofile);
    setrlimit(Resource::Nofile, Rlimit { current: limit.maximum, maximum: limit.maximum }).unwrap();
    Setup::serve().flag("socket.server_key", SERVER_KEY).flag("runtime.http_key", HTTP_KEY)
}

/// A call on a connection that stays open.
fn call(stream: &mut TcpStream, from: &str, request: (&str, &str), authorization: Option<&str>, body: &Value) -> Value {
    let body = if body.is_null() { String::new() } else { body.to_string() };
    let mut headers = vec![format!("X-Forwarded-For: {from}"), format!("Content-Length: {}", body.len())];
    headers.extend(authorization.map(|authorization| format!("Authorization: {authorization}")));
    let (method, path) = request;
    let mut bytes = http::head(method, path, &headers.iter().map(String::as_str).collect::<Vec<_>>());
    bytes.extend_from_slice(body.as_bytes());
    stream.write_all(&bytes).unwrap();
    let response: Response = http::read_response(stream);
    assert_eq!(response.status, 200, "{}", response.text());
    response.json()
}

/// A player with a connection for requests, which stays open as those of browsers do, and a socket.
struct Player {
    _requests: TcpStream,
    socket: Socket,
    channel: String,
    match_id: String,
}

impl Player {
    fn sign_in(server: &Server, name: usize) -> (TcpStream, String) {
        let mut requests = http::connect(server.address);
        let path = "/v2/account/authenticate/device?create=true";
        let device = json!({ "id": format!("device-of-player-{name}") });
        let answer = call(&mut requests, CARRIER, ("POST", path), Some(&http::basic(SERVER_KEY)), &device);
        (requests, answer["token"].as_str().unwrap().to_owned())
    }

    fn open(server: &Server, requests: TcpStream, token: &str) -> Self {
        let forwarded = format!("X-Forwarded-For: {CARRIER}");
        let request = http::head("GET", &format!("/ws?token={token}"), &[&UPGRADE[..], &[&forwarded]].concat());
        let socket = Socket::open_by(http::connect(server.address), Format::Json, &request);
        Self { _requests: requests, socket, channel: String::new(), match_id: String::new() }
    }

    fn send(&mut self, message: &Value) {
        self.socket.send_message(message.to_string().as_bytes());
    }

    /// The next message that `pick` takes; errors fail the test.
    fn hear<T>(&mut self, pick: impl Fn(Message) -> Option<T>) -> T {
        loop {
            let Envelope { message, .. } = self.socket.read_envelope();
            assert!(!matches!(message, Some(Message::Error(_))), "{message:?}");
            if let Some(found) = message.and_then(&pick) {
                return found;
            }
        }
    }
}

/// The meeting of a group: its members join a channel, say three things each, and play a match.
fn meet(group: &mut [Player], name: usize) {
    for player in &mut *group {
        let join = json!({ "target": format!("table-{name}"), "type": 1, "persistence": true });
        player.send(&json!({ "cid": "1", "channel_join": join }));
        player.channel = player.hear(|message| match message {
            Message::Channel(channel) => Some(channel.id),
            _ => None,
        });
    }
    for player in &mut *group {
        for text in ["hello", "good luck", "have fun"] {
            let content = json!({ "text": text }).to_string();
            let said = json!({ "channel_id": player.channel, "content": content });
            player.send(&json!({ "cid": "2", "channel_message_send": said }));
        }
    }
    let said = 3 * group.len();
    for player in &mut *group {
        (0..said).for_each(|_| player.hear(|message| matches!(message, Message::ChannelMessage(_)).then_some(())));
    }
    group[0].send(&json!({ "cid": "3", "match_create": {} }));
    let match_id = group[0].hear(joined);
    for player in &mut group[1..] {
        player.send(&json!({ "cid": "4", "match_join": { "match_id": match_id } }));
        player.match_id = player.hear(joined);
    }
    group[0].match_id = match_id;
    // A second of a game that sends thirty states, all at once.
    for player in &mut *group {
        for turn in 0..30 {
            let data = STANDARD.encode(format!("{{\"turn\":{turn},\"x\":1.5,\"y\":-3.25}}"));
            let state = json!({ "match_id": player.match_id, "op_code": "1", "data": data });
            player.send(&json!({ "match_data_send": state }));
        }
    }
    let heard = 30 * (group.len() - 1);
    for player in &mut *group {
        (0..heard).for_each(|_| player.hear(|message| matches!(message, Message::MatchData(_)).then_some(())));
    }
}

fn joined(message: Message) -> Option<String> {
    match message {
        Message::Match(joined) => Some(joined.match_id),
        _ => None,
    }
}

fn a_thousand_players_meet(server: &Server) {
    let step = Barrier::new(THREADS);
    let each = PLAYERS / THREADS;
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let step = &step;
            scope.spawn(move || {
                let own = thread * each..(thread + 1) * each;
                let signed_in: Vec<_> = own.map(|name| Player::sign_in(server, name)).collect();
                step.wait();
                let open = |(requests, token): (TcpStream, String)| Player::open(server, requests, &token);
                let mut players: Vec<_> = signed_in.into_iter().map(open).collect();
                step.wait();
                for (number, group) in players.chunks_mut(GROUP).enumerate() {
                    meet(group, thread * each + number);
                }
                step.wait();
            });
        }
    });
    let page = server.metrics();
    assert_eq!(page.value("socket_ws_opened"), PLAYERS as f64);
    assert_eq!(page.value("AuthenticateDevice_count"), PLAYERS as f64);
    assert_eq!(page.limits_met(), []);
}

#[test]
fn a_thousand_players_behind_a_carriers_address_meet_no_limit() {
    let server = setup().flag("socket.proxy_count", 1).start();
    a_thousand_players_meet(&server);
    server.stop();
}

#[test]
fn a_thousand_players_of_one_address_meet_no_limit_without_a_proxy_either() {
    // The test's own address is not exempt here, so their connections are counted too.
    let server = setup().flag("limits.exempt", "203.0.113.0/24").start();
    a_thousand_players_meet(&server);
    server.stop();
}

/// Players whom the backend signs in, and calls of functions.
const CALLS: usize = 3_000;

#[test]
fn a_backend_whose_network_is_exempt_signs_in_calls_and_stores_by_thousands() {
    let setup = setup();
    let modules = setup.folder().join("modules");
    std::fs::create_dir_all(&modules).unwrap();
    let module = "require('nakama').register_rpc(function(_, payload) return payload end, 'echo')";
    std::fs::write(modules.join("echo.lua"), module).unwrap();
    let setup = setup.flag("runtime.path", modules.display()).flag("socket.proxy_count", 1);
    // A private address is exempt by default; a public one when its network is configured, as the guide says.
    for (exempt, from) in [("private", "10.0.0.7"), ("203.0.113.0/24", "203.0.113.9")] {
        let server = setup.clone().flag("limits.exempt", exempt).start();
        let mut stream = http::connect(server.address);
        for number in 0..CALLS {
            let path = format!("/v2/rpc/echo?unwrap&http_key={HTTP_KEY}");
            let answer = call(&mut stream, from, ("POST", &path), None, &json!({ "number": number }));
            assert_eq!(answer, json!({ "number": number }));
        }
        for number in 0..CALLS {
            let path = "/v2/account/authenticate/custom?create=true";
            let id = json!({ "id": format!("player-{number}-of-the-shop") });
            let answer = call(&mut stream, from, ("POST", path), Some(&http::basic(SERVER_KEY)), &id);
            let token = http::bearer(answer["token"].as_str().unwrap());
            let object = json!({ "collection": "shop", "key": "basket", "value": "{\"items\":[1,2,3]}" });
            call(&mut stream, from, ("PUT", "/v2/storage"), Some(&token), &json!({ "objects": [object] }));
            call(&mut stream, from, ("GET", "/v2/storage/shop?limit=100"), Some(&token), &Value::Null);
        }
        let page = server.metrics();
        assert_eq!(page.value("RpcFunc_count"), CALLS as f64);
        assert_eq!(page.limits_met(), []);
        server.stop();
    }
}
