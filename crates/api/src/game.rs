//! Functions of game code, which clients call by their ids, and the facts about a caller that game code is told.
//! Declared here, implemented by the script ring.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::future::Future;
use std::net::IpAddr;
use std::pin::Pin;
use std::rc::Weak;
use std::sync::Arc;

use muster_domain::ids::Uuid;
use muster_domain::sessions::Claims;
use muster_live::stream::Presence;
use muster_wire::api::Event;
use muster_wire::code::Code;
use muster_wire::operations::query_parameters;

pub use crate::failure::{Failure, STACK_LINE};
use crate::live::MatchEngines;
use crate::routes::{FoundRoute, RouteFuture, RouteRequest, Routed};

/// The parameter with the key of servers of the studio.
const HTTP_KEY: &str = "http_key";

/// The reason for which game code is called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ExecutionMode {
    /// Modules of game code are loaded.
    #[default]
    RunOnce,
    /// A function of game code is called by its id.
    Rpc,
    /// A hook runs before an operation or message.
    Before,
    /// A hook runs after an operation or message.
    After,
    /// The matchmaker has matched players.
    Matchmaker,
    /// Something happened of which game code wants to hear.
    Event,
    /// A moment has come for which game code has a function.
    Schedule,
    /// A request came for a route of game code.
    Http,
    /// The server stops.
    Shutdown,
}

impl ExecutionMode {
    /// The name of the mode in the context of every language.
    pub fn name(self) -> &'static str {
        match self {
            Self::RunOnce => "run_once",
            Self::Rpc => "rpc",
            Self::Before => "before",
            Self::After => "after",
            Self::Matchmaker => "matchmaker",
            Self::Event => "event",
            Self::Schedule => "schedule",
            Self::Http => "http",
            Self::Shutdown => "shutdown",
        }
    }
}

/// The address and the language of a client.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Client {
    /// The address of the client itself, also behind trusted proxies.
    pub address: Option<IpAddr>,
    /// The port of the client; `None` behind a proxy.
    pub port: Option<u16>,
    /// The language that the client asked for when its socket opened.
    pub lang: Option<String>,
}

/// Names and values, each name with all of its values.
pub type Multimap = Vec<(String, Vec<String>)>;

/// A call of game code, with its caller and the parts of the request that game code may see.
#[derive(Clone, Debug, Default)]
pub struct Invocation {
    /// The reason of the call.
    pub mode: ExecutionMode,
    /// The text that the caller of a function passes.
    pub payload: String,
    /// The player; none for a server of the studio.
    pub user: Option<Claims>,
    /// The public id of the player's session, over a socket.
    pub session_id: Option<String>,
    /// The address and the language of the client.
    pub client: Client,
    /// The parameters of the request, over HTTP, without the key.
    pub query: Multimap,
    /// The headers of the request, over HTTP, by their names in title case.
    pub headers: Multimap,
    /// Id of the request in logs.
    pub trace_id: Option<Uuid>,
}

/// The headers of a request.
pub trait Headers: Debug {
    /// Shows each header to `see`, by its name in lower case. A header may be shown several times.
    fn each(&self, see: &mut dyn FnMut(&str, &str));
}

impl Headers for [(&str, &str)] {
    fn each(&self, see: &mut dyn FnMut(&str, &str)) {
        self.iter().for_each(|(name, value)| see(name, value));
    }
}

impl<const N: usize> Headers for [(&str, &str); N] {
    fn each(&self, see: &mut dyn FnMut(&str, &str)) {
        self.as_slice().each(see);
    }
}

/// Parts of a request over HTTP besides its message.
#[derive(Clone, Copy, Debug)]
pub struct RequestOrigin<'a> {
    /// The address of the client itself, also behind trusted proxies.
    pub address: Option<IpAddr>,
    /// The port of the client; `None` behind a proxy.
    pub port: Option<u16>,
    /// The text behind the question mark; empty if there is none.
    pub query: &'a str,
    /// The headers.
    pub headers: &'a dyn Headers,
}

impl RequestOrigin<'_> {
    /// A call of game code because of this request.
    pub fn invocation(&self, mode: ExecutionMode, user: Option<Claims>) -> Invocation {
        let mut headers = Multimap::new();
        self.headers.each(&mut |name, value| add(&mut headers, title_case(name), value.to_owned()));
        let mut query = Multimap::new();
        for (name, value) in query_parameters(self.query) {
            // The HTTP key is a secret.
            if name != HTTP_KEY {
                add(&mut query, name, value);
            }
        }
        let client = Client { address: self.address, port: self.port, lang: None };
        Invocation { mode, user, client, query, headers, ..Invocation::default() }
    }
}

fn add(values: &mut Multimap, name: String, value: String) {
    match values.iter_mut().find(|(known, _)| *known == name) {
        Some((_, values)) => values.push(value),
        None => values.push((name, vec![value])),
    }
}

/// A header's name in the form in which game code of the original knows it: `User-Agent` for `user-agent`.
fn title_case(name: &str) -> String {
    let mut title = name.to_owned();
    let starts = std::iter::once(0).chain(name.match_indices('-').map(|(dash, _)| dash + 1));
    for start in starts {
        if let Some(letter) = title.get_mut(start..start + 1) {
            letter.make_ascii_uppercase();
        }
    }
    title
}

/// Kinds of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Occasion {
    /// A client or game code reports something.
    Reported,
    /// A player's socket opened.
    SessionStart,
    /// A player's socket closed, for good.
    SessionEnd,
}

impl Occasion {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::Reported, Self::SessionStart, Self::SessionEnd];
}

/// A player whom the matchmaker has matched with others.
#[derive(Clone, Debug)]
pub struct MatchedPlayer {
    /// The player's presence.
    pub presence: Presence,
    /// The party of the player, by its public id.
    pub party_id: Option<Arc<str>>,
    /// Properties of the player's ticket, as texts.
    pub string_properties: BTreeMap<String, String>,
    /// Properties of the player's ticket, as numbers.
    pub numeric_properties: BTreeMap<String, f64>,
}

/// The result of a call; `None` when the function returned nothing.
pub type FunctionFuture<'a> = Pin<Box<dyn Future<Output = Result<Option<String>, Failure>> + 'a>>;

/// The end of game code's last call before the server stops.
pub type FarewellFuture<'a> = Pin<Box<dyn Future<Output = Result<(), Failure>> + 'a>>;

/// Functions of game code.
pub trait GameFunctions {
    /// Whether there is a function of this id, which is in lower case.
    fn has(&self, id: &str) -> bool;

    /// Calls a function.
    fn call<'a>(&'a self, id: &'a str, invocation: Invocation) -> FunctionFuture<'a>;

    /// The route that takes a request of this method, in upper case, and path.
    fn find_route(&self, _method: &str, _path: &str) -> Routed {
        Routed::Nowhere
    }

    /// Has the function of a route answer a request. The route was found just now by [`Self::find_route`].
    fn serve(&self, _found: FoundRoute, _request: RouteRequest, _invocation: Invocation) -> RouteFuture<'_> {
        Box::pin(std::future::ready(Err(Failure::new(Code::NotFound, "The game has no such route."))))
    }

    /// Whether game code says where the players of a match of the matchmaker go.
    fn has_matched_function(&self) -> bool {
        false
    }

    /// Asks game code where matched players go. The answer is the public id of a match of game code, or nothing: then
    /// the players go where players go without game code.
    fn matched(&self, _players: Vec<MatchedPlayer>) -> FunctionFuture<'_> {
        Box::pin(std::future::ready(Ok(None)))
    }

    /// Whether game code wants to hear of such events.
    fn hears_of(&self, _occasion: Occasion) -> bool {
        false
    }

    /// Has game code told of an event, as soon as its turn comes.
    fn tell(&self, _occasion: Occasion, _invocation: Invocation, _event: Event) {}

    /// Resolves when game code has been told of all events, and runs nothing by itself any more.
    fn settled(&self) -> Pin<Box<dyn Future<Output = ()> + '_>> {
        Box::pin(std::future::ready(()))
    }

    /// The engines that run match handlers, for [`crate::live::Live::attach_engines`]. Without engines no match can be
    /// made.
    fn match_engines(&self) -> Option<Weak<dyn MatchEngines>> {
        None
    }

    /// Tells game code that the server stops, and the number of seconds that game code has left. Called once per
    /// server.
    fn farewell(&self, grace_sec: u64) -> FarewellFuture<'_>;
}

/// The functions of a server without game code: there are none.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoFunctions;

impl GameFunctions for NoFunctions {
    fn has(&self, _id: &str) -> bool {
        false
    }

    fn call<'a>(&'a self, _id: &'a str, _invocation: Invocation) -> FunctionFuture<'a> {
        Box::pin(std::future::ready(Err(Failure::new(Code::NotFound, "The game has no function of this id."))))
    }

    fn farewell(&self, _grace_sec: u64) -> FarewellFuture<'_> {
        Box::pin(std::future::ready(Ok(())))
    }
}
