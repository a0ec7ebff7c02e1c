//! A proxy in front of a database, which can be cut and mended while both ends live.

use std::io::{Read as _, Write as _};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Condvar, Mutex};

/// Passes connections on, unless it is cut or held. The proxy ends with the process.
pub struct Proxy {
    pub address: SocketAddr,
    way: Arc<Way>,
}

#[derive(Default)]
struct Way {
    state: Mutex<State>,
    news: Condvar,
}

#[derive(Default)]
struct State {
    is_cut: bool,
    is_held: bool,
    streams: Vec<TcpStream>,
}

impl Proxy {
    pub fn start(target: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let way = Arc::new(Way::default());
        let shared = way.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                // The connection is dropped, and so closed, before the first answer.
                if !shared.state.lock().unwrap().is_cut {
                    shared.pass_on(stream, TcpStream::connect(target).unwrap());
                }
            }
        });
        Self { address, way }
    }

    /// Ends all connections, and every new one until [`Proxy::mend`].
    pub fn cut(&self) {
        let mut state = self.way.state.lock().unwrap();
        state.is_cut = true;
        for stream in state.streams.drain(..) {
            // One end may have closed the connection already.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    /// Holds all bytes back until [`Proxy::mend`].
    pub fn hold(&self) {
        self.way.state.lock().unwrap().is_held = true;
    }

    pub fn mend(&self) {
        let mut state = self.way.state.lock().unwrap();
        (state.is_cut, state.is_held) = (false, false);
        self.way.news.notify_all();
    }
}

impl Way {
    fn pass_on(self: &Arc<Self>, client: TcpStream, server: TcpStream) {
        for (from, to) in [(&client, &server), (&server, &client)] {
            let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
            let way = self.clone();
            std::thread::spawn(move || {
                let mut chunk = [0; 16 * 1024];
                while let Ok(length @ 1..) = from.read(&mut chunk) {
                    let state = way.state.lock().unwrap();
                    drop(way.news.wait_while(state, |state| state.is_held).unwrap());
                    if to.write_all(&chunk[..length]).is_err() {
                        break;
                    }
                }
                // When one direction ends, the other is ended too.
                let _ = to.shutdown(Shutdown::Both);
            });
        }
        self.state.lock().unwrap().streams.extend([client, server]);
    }
}
