//! A way to a database that can be cut and mended while both ends live.

use std::io;
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// Passes connections on, unless it is cut. It ends with the process.
pub struct Proxy {
    pub address: SocketAddr,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    is_cut: bool,
    streams: Vec<TcpStream>,
}

impl Proxy {
    pub fn start(target: SocketAddr) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(Mutex::new(State::default()));
        let shared = state.clone();
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let mut state = shared.lock().unwrap();
                // Dropped, it is closed before the first answer.
                if !state.is_cut {
                    pass_on(stream, TcpStream::connect(target).unwrap(), &mut state.streams);
                }
            }
        });
        Self { address, state }
    }

    /// Ends all connections and every new one, until it is mended.
    pub fn cut(&self) {
        let mut state = self.state.lock().unwrap();
        state.is_cut = true;
        for stream in state.streams.drain(..) {
            // One end may have ended it already.
            let _ = stream.shutdown(Shutdown::Both);
        }
    }

    pub fn mend(&self) {
        self.state.lock().unwrap().is_cut = false;
    }
}

fn pass_on(client: TcpStream, server: TcpStream, streams: &mut Vec<TcpStream>) {
    for (from, to) in [(&client, &server), (&server, &client)] {
        let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
        std::thread::spawn(move || {
            // However one way ends, the other ends too.
            let _ = io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Both);
        });
    }
    streams.extend([client, server]);
}
