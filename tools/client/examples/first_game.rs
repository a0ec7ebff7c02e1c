//! A first game in a few lines: sign in, save something, read it back, say hello over a socket in both formats.
//!
//! Run `muster dev`, then `cargo run -p muster-client --example first_game [HOST:PORT] [SERVER_KEY]`.

use std::error::Error;
use std::io::Write as _;

use muster_client::wire::api::{ReadStorageObjectId, WriteStorageObject};
use muster_client::wire::envelope::Format;
use muster_client::{Client, Socket, SocketOptions};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args().skip(1);
    let address = arguments.next().unwrap_or_else(|| "127.0.0.1:7350".to_owned());
    let server_key = arguments.next().unwrap_or_else(|| "defaultkey".to_owned());

    let client = Client::new(&address, server_key);
    let session = client.authenticate_device("my-first-device", None, "").await?;
    let user = client.account(&session).await?.user.ok_or("an account without a user")?;

    let (collection, key) = ("saves".to_owned(), "slot-1".to_owned());
    let value = r#"{"level":3}"#.to_owned();
    let object =
        WriteStorageObject { collection: collection.clone(), key: key.clone(), value, ..WriteStorageObject::default() };
    client.write_storage(&session, vec![object]).await?;
    let wanted = ReadStorageObjectId { collection, key, user_id: user.id };
    let saved = client.read_storage(&session, vec![wanted]).await?;
    let saved = saved.first().ok_or("the object that was just written is not there")?;
    writeln!(std::io::stdout(), "{} saved {}", user.username, saved.value)?;

    for format in [Format::Json, Format::Protobuf] {
        let options = SocketOptions { format, ..SocketOptions::default() };
        let mut socket = Socket::open(&address, &session.token, &options).await?;
        socket.ping().await?;
        let closed = socket.close().await?;
        writeln!(std::io::stdout(), "{} socket: pong, then closed with {}", format.name(), closed.code)?;
    }
    Ok(())
}
