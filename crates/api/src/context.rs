//! Everything that handlers work with: the parts of the app as one shard holds them, and the request's caller.

use std::cell::{OnceCell, RefCell};
use std::rc::Rc;
use std::sync::Arc;

use muster_domain::admission::SharedAdmission;
use muster_domain::answers::SharedAnswers;
use muster_domain::barred::Barred;
use muster_domain::budget::BudgetConfig;
use muster_domain::chat::DirectRequests;
use muster_domain::friends::FriendNotices;
use muster_domain::guessing::SharedGuessing;
use muster_domain::ids::{UserIdForm, Uuid};
use muster_domain::ports::clock::{Clock, Entropy};
use muster_domain::ports::passwords::Passwords;
use muster_domain::ports::store::Store;
use muster_domain::rates::Rates;
use muster_domain::revocations::Revocations;
use muster_domain::sessions::{Claims, Issued, SessionRules};
use muster_domain::{Error, ErrorKind, Result, Timestamp, UserId};
use muster_live::StreamKey;
use muster_wire::api::Session;

use crate::game::{ExecutionMode, GameFunctions, Invocation, RequestOrigin};
use crate::hooks::Hooks;
use crate::keys::Keys;
use crate::live::Live;
use crate::metrics::ApiMetrics;
use crate::tokens::CheckedTokens;

/// The app as one shard sees it. Values behind `Rc` are the shard's own; values behind `Arc` are shared by all shards.
pub struct App {
    /// The database.
    pub store: Rc<dyn Store>,
    /// The pool that hashes passwords.
    pub passwords: Rc<dyn Passwords>,
    /// Wall clock.
    pub clock: Rc<dyn Clock>,
    /// Randomness.
    pub entropy: Rc<dyn Entropy>,
    /// The form of ids of new accounts.
    pub user_ids: UserIdForm,
    /// Game code around operations.
    pub hooks: Rc<dyn Hooks>,
    /// Functions of game code.
    pub game: Rc<dyn GameFunctions>,
    /// Keys and token signers.
    pub keys: Arc<Keys>,
    /// Session tokens that were checked before.
    pub tokens: CheckedTokens,
    /// The rules for the life of sessions and tokens.
    pub sessions: SessionRules,
    /// The tokens that are void.
    pub revocations: Arc<Revocations>,
    /// Wrong passwords so far.
    pub guessing: Arc<SharedGuessing>,
    /// Shares of client addresses of what all share.
    pub admission: Arc<SharedAdmission>,
    /// Answers that wait to be read.
    pub answers: Arc<SharedAnswers>,
    /// Budgets of sessions' messages.
    pub budgets: Arc<BudgetConfig>,
    /// Users whose sockets are refused for a time.
    pub barred: Arc<Barred>,
    /// Requests of users over HTTP that this shard handled lately, to limit their number.
    pub requests: RefCell<Rates<UserId>>,
    /// The direct conversations that users asked for lately, to limit their number.
    pub direct_requests: Arc<DirectRequests>,
    /// The notifications about friendships that users caused lately, to limit their number.
    pub friend_notices: Arc<FriendNotices>,
    /// The live plane.
    pub live: Rc<Live>,
    /// The settings by which the live plane shows itself to clients.
    pub live_rules: LiveRules,
    /// This shard's totals.
    pub metrics: Arc<ApiMetrics>,
}

/// Limit of random ids that are tried until one is this node's own; then an id of another node is taken. With 32 nodes
/// that happens to two ids in a thousand.
const OWN_ID_TRIES: usize = 200;

impl App {
    /// A new random id.
    pub fn random_uuid(&self) -> Uuid {
        self.entropy.uuid()
    }

    /// A random id for something new. `stream` makes the stream of an id, and the id is one whose stream this node
    /// owns: requests of players here then need no way to another node. On a node that owns nothing the id is any.
    pub fn own_uuid(&self, stream: impl Fn(Uuid) -> StreamKey) -> Uuid {
        let (node, routes) = self.live.look(|plane| (plane.place().node(), plane.routes().clone()));
        let is_own = |id: &Uuid| routes.owner(stream(*id).partition()).node() == node;
        let mut tries = (0..OWN_ID_TRIES).map(|_| self.random_uuid());
        tries.find(is_own).unwrap_or_else(|| self.random_uuid())
    }
}

/// The settings by which the live plane shows itself to clients, under their configuration names.
#[derive(Clone, Debug)]
pub struct LiveRules {
    /// The part of public ids behind the dot: `name`, or `cluster.name` on a node of a cluster; all nodes of a cluster
    /// have the same.
    pub node: Arc<str>,
    /// `session.single_socket`: a user's new socket closes the others.
    pub single_socket: bool,
}

/// The player or server that a request runs for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Caller {
    /// An unknown caller, where anyone may ask.
    Anyone,
    /// A client of the game that has not signed in, known by the server key.
    Client,
    /// A server of the studio, known by the HTTP key.
    Server,
    /// A player, known by a session token.
    Player(Claims),
}

/// One request on its way through the pipeline.
pub struct Context<'a> {
    /// The app.
    pub app: &'a App,
    /// The player or server that asks.
    pub caller: Caller,
    /// The client's address, and the parts of the request that game code may see.
    pub origin: RequestOrigin<'a>,
    /// The time when the request arrived.
    pub now: Timestamp,
    trace_id: OnceCell<Uuid>,
    signed_in: OnceCell<Claims>,
}

impl<'a> Context<'a> {
    /// A request that has been authorised.
    pub fn new(app: &'a App, caller: Caller, origin: RequestOrigin<'a>, now: Timestamp) -> Self {
        Self { app, caller, origin, now, trace_id: OnceCell::new(), signed_in: OnceCell::new() }
    }

    /// Signs a session that this request began or continued. From here on game code is told that its player asks.
    pub fn sign(&self, issued: Issued, created: bool) -> Session {
        // A request signs one session.
        let _ = self.signed_in.set(issued.claims.clone());
        self.app.keys.sign(issued, created)
    }

    /// A call of game code on behalf of the caller.
    pub fn invocation(&self, mode: ExecutionMode) -> Invocation {
        let user = match &self.caller {
            Caller::Player(claims) => Some(claims),
            _ => self.signed_in.get(),
        };
        Invocation { trace_id: Some(self.trace_id()), ..self.origin.invocation(mode, user.cloned()) }
    }

    /// The player who asks.
    ///
    /// Errors: `Unauthenticated` when it is no player.
    pub fn user(&self) -> Result<UserId> {
        match &self.caller {
            Caller::Player(claims) => Ok(claims.user_id),
            _ => Err(Error::new(ErrorKind::Unauthenticated, "A session token is required.")),
        }
    }

    /// Id of this request in logs and for game code; made when first asked for.
    pub fn trace_id(&self) -> Uuid {
        *self.trace_id.get_or_init(|| self.app.random_uuid())
    }
}
