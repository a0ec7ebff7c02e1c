//! What a client may ask for: every operation with its audience, HTTP bindings and messages.
//!
//! The table itself is in `table.rs`; `route` finds the operation of an HTTP request, `decode` builds its message.

mod decode;
mod route;
mod table;

/// Builds the enum, the rows and the typed markers from the table.
macro_rules! operations {
    ($($id:ident: $audience:ident, $($handler:ident)::+, $request:ident => $response:ident,
        [$($method:ident $template:literal $body:ident $(($field:literal))?),+]
        $(, $verdict:ident $remark:literal)?;)*) => {
        /// An operation of the client service.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[repr(u8)]
        pub enum Operation {
            $(#[doc = concat!("See [`typed::", stringify!($id), "`].")] $id,)*
        }

        /// How many operations there are.
        pub const OPERATION_COUNT: usize = [$(stringify!($id)),*].len();

        /// The table, in the order of [`Operation`].
        pub static OPERATIONS: [Row; OPERATION_COUNT] = [$(Row {
            operation: Operation::$id,
            name: stringify!($id),
            audience: Audience::$audience,
            comparison: comparison!($($handler)::+ $(, $verdict $remark)?),
            request: stringify!($request),
            response: stringify!($response),
            bindings: &[$(Binding {
                operation: Operation::$id,
                method: Method::$method,
                template: $template,
                body: Body::$body $(($field))?,
            }),+],
        }),*];

        /// One marker type per operation, which ties it to its messages.
        pub mod typed {
            use crate::operations::{Operation, TypedOperation, messages};
            $(
                #[doc = concat!("`", stringify!($id), "`: ", stringify!($request), " to ", stringify!($response), ".")]
                #[derive(Debug, Clone, Copy)]
                pub enum $id {}
                impl TypedOperation for $id {
                    const OPERATION: Operation = Operation::$id;
                    type Request = messages::$request;
                    type Response = messages::$response;
                }
            )*
        }
    };
}

/// The comparison that a row states: none of what is missing, exact where nothing is said.
macro_rules! comparison {
    (missing) => {
        None
    };
    ($($handler:ident)::+) => {
        comparison!($($handler)::+, exact "")
    };
    ($($handler:ident)::+, $verdict:ident $remark:literal) => {
        Some(Comparison { verdict: verdict!($verdict), remark: $remark })
    };
}

macro_rules! verdict {
    (exact) => {
        Verdict::Exact
    };
    (better) => {
        Verdict::Better
    };
    (partly) => {
        Verdict::Partly
    };
}

crate::operation_table!(operations);

pub use decode::{DecodeError, decode_body, decode_http, query_parameters};
pub use route::{Match, PathParameters, RouteError, route};

use crate::json::{JsonMessage, SetField};

/// The gRPC service that holds the operations.
pub const GRPC_SERVICE: &str = "nakama.api.Nakama";

/// Who may ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// Anyone, without any key.
    Anyone,
    /// Whoever has the server key: signing in and refreshing.
    ServerKey,
    /// A signed-in player.
    Session,
    /// A signed-in player, or a server that has the HTTP key.
    HttpKeyOrSession,
}

/// The HTTP methods that bindings use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Method {
    /// GET.
    Get,
    /// POST.
    Post,
    /// PUT.
    Put,
    /// DELETE.
    Delete,
}

/// Where the request's message is taken from besides the path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body {
    /// The query alone; a body is not looked at.
    Absent,
    /// The body alone; the query is not looked at.
    Whole,
    /// The body is this field, the query holds the others.
    Field(&'static str),
}

/// One way to ask for an operation over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Binding {
    /// What it asks for.
    pub operation: Operation,
    /// The HTTP method.
    pub method: Method,
    /// The path, with parameters in braces.
    pub template: &'static str,
    /// What the body holds.
    pub body: Body,
}

/// One row of the table.
#[derive(Debug)]
pub struct Row {
    /// Its id.
    pub operation: Operation,
    /// The published name, also the gRPC method and the metric label.
    pub name: &'static str,
    /// Who may ask.
    pub audience: Audience,
    /// How the operation compares with the original's; none of one that has no handler and answers with code 12.
    pub comparison: Option<Comparison>,
    /// The name of the request's message; `Empty` has no fields.
    pub request: &'static str,
    /// The name of the answer's message.
    pub response: &'static str,
    /// At least one; the first is the preferred.
    pub bindings: &'static [Binding],
}

/// How an operation that is built compares with the original's.
#[derive(Debug)]
pub struct Comparison {
    /// The comparison in a word.
    pub verdict: Verdict,
    /// Differences in Markdown, with links as COMPAT.md resolves them; empty without any.
    pub remark: &'static str,
}

/// The comparison of an operation with the original's in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The same requests get the same answers.
    Exact,
    /// The same for every client that behaves, with the differences of the remark.
    Better,
    /// A part is built.
    Partly,
}

/// The name of the message without fields.
const EMPTY: &str = "Empty";

impl Row {
    /// Whether the operation has a handler; without one it answers with code 12.
    #[must_use]
    pub fn is_built(&self) -> bool {
        self.comparison.is_some()
    }

    /// Whether it is asked with a message.
    #[must_use]
    pub fn has_request(&self) -> bool {
        self.request != EMPTY
    }

    /// Whether it answers with a message.
    #[must_use]
    pub fn has_response(&self) -> bool {
        self.response != EMPTY
    }
}

/// An operation as a type, so that the compiler checks which messages belong to it.
pub trait TypedOperation {
    /// Its id.
    const OPERATION: Operation;
    /// What it is asked with.
    type Request: JsonMessage + SetField + prost::Message + Clone;
    /// What it answers.
    type Response: JsonMessage + SetField + prost::Message;
}

/// The messages as the table names them.
mod messages {
    pub use crate::api::*;
    pub type Empty = ();
}

impl Operation {
    /// Its row.
    #[must_use]
    pub fn row(self) -> &'static Row {
        &OPERATIONS[self as usize]
    }

    /// The published name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The operation of a published name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        OPERATIONS.iter().find(|row| row.name == name).map(|row| row.operation)
    }

    /// Whether game code may hook in before and after it.
    #[must_use]
    pub fn hookable(self) -> bool {
        !matches!(self, Self::Healthcheck | Self::RpcFunc)
    }
}

impl Method {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Get, Self::Post, Self::Put, Self::Delete];

    /// The method of a request line.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }

    /// As it stands in a request line.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::Post => "POST",
            Self::Put => "PUT",
            Self::Delete => "DELETE",
        }
    }
}

impl Binding {
    /// The names in braces, in order.
    pub fn parameter_names(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.template.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'))
    }
}
