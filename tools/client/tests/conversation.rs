//! Tests of the client against a scripted server: the requests that it sends, and how it reads the answers.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

use std::future::Future;

use futures_util::{SinkExt as _, StreamExt as _};
use muster_client::wire::Code;
use muster_client::wire::api::{ChannelMessage, Rpc};
use muster_client::wire::code::RealtimeCode;
use muster_client::wire::envelope::{Format, decode, encode};
use muster_client::wire::realtime::envelope::Message;
use muster_client::wire::realtime::{
    Channel, ChannelJoin, ChannelMessageAck, Envelope, Ping, Pong, Status, StatusPresenceEvent,
};
use muster_client::{Client, ClientError, Credentials, Socket, SocketOptions, SocketRequest};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio_websockets::{CloseCode, Message as WebSocketMessage, ServerBuilder};

/// Runs `serve` for the first connection beside `talk`, which gets the address.
async fn with_server<Serving, Talking>(serve: impl FnOnce(TcpListener) -> Serving, talk: impl FnOnce(String) -> Talking)
where
    Serving: Future<Output = ()>,
    Talking: Future<Output = ()>,
{
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap().to_string();
    tokio::join!(serve(listener), talk(address));
}

/// Reads one request; its body, if it has one, must arrive together with its head.
async fn read_request(stream: &mut TcpStream) -> String {
    let mut bytes = vec![0; 4096];
    let len = stream.read(&mut bytes).await.unwrap();
    bytes.truncate(len);
    String::from_utf8(bytes).unwrap()
}

async fn answer(stream: &mut TcpStream, status: u16, body: &str) {
    let head = format!("HTTP/1.1 {status} X\r\nContent-Length: {}\r\n\r\n", body.len());
    stream.write_all(format!("{head}{body}").as_bytes()).await.unwrap();
}

#[tokio::test(flavor = "current_thread")]
async fn calls_share_a_connection_and_survive_its_end() {
    let serve = |listener: TcpListener| async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let request = read_request(&mut stream).await;
        assert!(request.starts_with("POST /v2/account/authenticate/device?create=true"), "{request}");
        assert!(request.contains("authorization: Basic a2V5Og=="), "{request}");
        answer(&mut stream, 200, r#"{"created":true,"token":"t","refresh_token":"r","new_member":1}"#).await;
        let request = read_request(&mut stream).await;
        assert!(request.starts_with("GET /v2/account HTTP/1.1"), "{request}");
        assert!(request.contains("authorization: Bearer t"), "{request}");
        answer(&mut stream, 404, r#"{"code":5,"message":"Account not found."}"#).await;
        drop(stream);
        let (mut stream, _) = listener.accept().await.unwrap();
        assert!(read_request(&mut stream).await.starts_with("POST /v2/rpc/echo"));
        answer(&mut stream, 200, r#"{"payload":"{}"}"#).await;
    };
    let talk = |address| async move {
        let client = Client::new(address, "key");
        let session = client.authenticate_device("device-one", Some(true), "").await.unwrap();
        assert!(session.created);
        let error = client.account(&session).await.unwrap_err();
        assert_eq!(
            (error.code(), error.to_string()),
            (Some(Code::NotFound), "refused with status 404: Account not found.".to_owned())
        );
        // The server has closed the connection; the client notices before it asks.
        tokio::task::yield_now().await;
        assert_eq!(client.rpc(Credentials::Session("t"), "echo", "{}").await.unwrap(), "{}");
    };
    with_server(serve, talk).await;
}

fn message(envelope: &Envelope, format: Format) -> WebSocketMessage {
    let bytes = encode(envelope, format);
    if format == Format::Json { WebSocketMessage::text(bytes) } else { WebSocketMessage::binary(bytes) }
}

async fn check_socket(format: Format) {
    let serve = |listener: TcpListener| async move {
        let (stream, _) = listener.accept().await.unwrap();
        let (_, mut socket) = ServerBuilder::new().accept(stream).await.unwrap();
        let mut next = async |answers: &dyn Fn(String) -> Vec<Envelope>| {
            let request = socket.next().await.unwrap().unwrap();
            assert_eq!(request.is_text(), format == Format::Json);
            let request = decode(request.as_payload(), format).unwrap();
            for envelope in answers(request.cid) {
                socket.send(message(&envelope, format)).await.unwrap();
            }
        };
        let push = || Envelope::push(Message::Status(Status::default()));
        next(&|cid| vec![push(), Envelope::reply(cid, Message::Pong(Pong {}))]).await;
        next(&|cid| vec![Envelope::error(cid, RealtimeCode::RuntimeFunctionNotFound, "no such function")]).await;
        next(&|cid| vec![Envelope::acknowledgement(cid)]).await;
        let goodbye = WebSocketMessage::close(Some(CloseCode::GOING_AWAY), "restart");
        socket.send(goodbye).await.unwrap();
        // The client's own close frame.
        while let Some(Ok(_)) = socket.next().await {}
    };
    let talk = |address: String| async move {
        let options = SocketOptions { format, ..SocketOptions::default() };
        let mut socket = Socket::open(&address, "t.o-k", &options).await.unwrap();
        socket.ping().await.unwrap();
        let push = socket.receive().await.unwrap();
        assert!(matches!(push.message, Some(Message::Status(_))), "{push:?}");
        let rpc = || Message::Rpc(Rpc::default());
        let error = socket.request(rpc()).await.unwrap_err();
        assert!(matches!(error, ClientError::Realtime { code: 6, .. }), "{error}");
        assert_eq!(socket.request(rpc()).await.unwrap(), None);
        let closed = socket.wait_closed().await;
        assert_eq!((closed.code, closed.reason.as_str()), (1001, "restart"));
    };
    with_server(serve, talk).await;
}

#[tokio::test(flavor = "current_thread")]
async fn answers_are_found_by_cid_in_json() {
    check_socket(Format::Json).await;
}

#[tokio::test(flavor = "current_thread")]
async fn answers_are_found_by_cid_in_protobuf() {
    check_socket(Format::Protobuf).await;
}

#[tokio::test(flavor = "current_thread")]
async fn a_refused_socket_says_its_status() {
    let serve = |listener: TcpListener| async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        let request = read_request(&mut stream).await;
        assert!(request.starts_with("GET /ws?format=json&status=false&token=bad"), "{request}");
        answer(&mut stream, 401, "").await;
    };
    let talk = |address: String| async move {
        let refused = Socket::open(&address, "bad", &SocketOptions::default()).await.err().unwrap();
        assert!(matches!(refused, ClientError::SocketRefused(401)), "{refused}");
    };
    with_server(serve, talk).await;
}

/// The server answers late and pushes in between: each reader gets its own messages, in order.
async fn check_readers(format: Format) {
    let serve = |listener: TcpListener| async move {
        let (stream, _) = listener.accept().await.unwrap();
        let (_, mut socket) = ServerBuilder::new().accept(stream).await.unwrap();
        let mut cids = Vec::new();
        for expected in ["channel_join", "ping", "channel_message_send"] {
            let request = socket.next().await.unwrap().unwrap();
            let request = decode(request.as_payload(), format).unwrap();
            assert_eq!(request.message.unwrap().variant().name, expected);
            cids.push(request.cid);
        }
        let said = |text: &str| Envelope::push(Message::ChannelMessage(chat(text)));
        let channel = Channel { id: "2...hall".to_owned(), ..Channel::default() };
        for envelope in [
            said("one"),
            Envelope::reply(&cids[2], Message::ChannelMessageAck(ChannelMessageAck::default())),
            Envelope::push(Message::StatusPresenceEvent(StatusPresenceEvent::default())),
            said("two"),
            Envelope::reply(&cids[0], Message::Channel(channel)),
            Envelope::reply(&cids[1], Message::Rpc(Rpc::default())),
        ] {
            socket.send(message(&envelope, format)).await.unwrap();
        }
        while let Some(Ok(_)) = socket.next().await {}
    };
    let talk = |address: String| async move {
        let options = SocketOptions { format, ..SocketOptions::default() };
        let mut socket = Socket::open(&address, "t.o-k", &options).await.unwrap();
        let room = ChannelJoin { target: "hall".to_owned(), r#type: 1, ..ChannelJoin::default() };
        let joining = socket.begin(Message::ChannelJoin(room)).await.unwrap();
        let pinging = socket.begin(Message::Ping(Ping {})).await.unwrap();
        socket.send_chat("2...hall", "{}").await.unwrap();
        let joined = socket.answer(&joining).await.unwrap();
        assert!(matches!(&joined, Some(Message::Channel(channel)) if channel.id == "2...hall"), "{joined:?}");
        let wrong = socket.answer(&pinging).await.unwrap();
        assert!(Ping::read_reply(wrong).is_none(), "an rpc does not answer a ping");
        for text in ["one", "two"] {
            assert_eq!(socket.next_push::<ChannelMessage>().await.unwrap().content, text);
        }
        let left = socket.receive().await.unwrap();
        assert!(matches!(left.message, Some(Message::StatusPresenceEvent(_))), "{left:?}");
        drop(socket);
    };
    with_server(serve, talk).await;
}

fn chat(content: &str) -> ChannelMessage {
    ChannelMessage { content: content.to_owned(), ..ChannelMessage::default() }
}

#[tokio::test(flavor = "current_thread")]
async fn every_reader_gets_its_own_in_json() {
    check_readers(Format::Json).await;
}

#[tokio::test(flavor = "current_thread")]
async fn every_reader_gets_its_own_in_protobuf() {
    check_readers(Format::Protobuf).await;
}
