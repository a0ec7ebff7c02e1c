//! The operations that clients may ask for, with their audiences, HTTP bindings and messages.
//!
//! The file `table.rs` contains the table. The module `route` finds the operation of an HTTP request, and `decode`
//! builds its message.

mod decode;
mod route;
mod table;

/// Builds the enum, the rows and the marker types from the table.
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

        /// The number of operations.
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

        /// One marker type for each operation, which ties the operation to its messages.
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

/// The comparison of a row: `None` for a missing operation, and exact for a row without a verdict.
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

/// The callers who may ask for an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Audience {
    /// Anyone, without any key.
    Anyone,
    /// Clients that have the server key: they sign in or refresh.
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

/// The parts of a request, besides the path, that its message is built from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Body {
    /// The query. A body is ignored.
    Absent,
    /// The body. The query is ignored.
    Whole,
    /// The body is the field of this name, and the query has the other fields.
    Field(&'static str),
}

/// One way to ask for an operation over HTTP.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Binding {
    /// The operation.
    pub operation: Operation,
    /// The HTTP method.
    pub method: Method,
    /// The path, with parameters in braces.
    pub template: &'static str,
    /// The part of the message in the body.
    pub body: Body,
}

/// One row of the table.
#[derive(Debug)]
pub struct Row {
    /// The operation.
    pub operation: Operation,
    /// The published name, which is also the gRPC method and the metric label.
    pub name: &'static str,
    /// The callers who may ask for the operation.
    pub audience: Audience,
    /// The comparison with the original's operation; `None` if there is no handler, and the answer is code 12.
    pub comparison: Option<Comparison>,
    /// The name of the request's message. `Empty` is the message without fields.
    pub request: &'static str,
    /// The name of the answer's message.
    pub response: &'static str,
    /// The HTTP bindings, at least one. The first is the preferred one.
    pub bindings: &'static [Binding],
}

/// The comparison of a built operation with the original's.
#[derive(Debug)]
pub struct Comparison {
    /// The comparison in a word.
    pub verdict: Verdict,
    /// The differences in Markdown, with links relative to COMPAT.md. Empty if there are none.
    pub remark: &'static str,
}

/// The comparison of an operation with the original's in a word.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// The same requests get the same answers.
    Exact,
    /// Clients that keep to the protocol get the same answers; the remark names the differences.
    Better,
    /// A part of the operation is built.
    Partly,
}

/// The name of the message without fields.
const EMPTY: &str = "Empty";

impl Row {
    /// Whether the operation has a handler. Without one the answer is code 12.
    #[must_use]
    pub fn is_built(&self) -> bool {
        self.comparison.is_some()
    }

    /// Whether the request has a message.
    #[must_use]
    pub fn has_request(&self) -> bool {
        self.request != EMPTY
    }

    /// Whether the answer has a message.
    #[must_use]
    pub fn has_response(&self) -> bool {
        self.response != EMPTY
    }
}

/// An operation as a type, so that the compiler checks its messages.
pub trait TypedOperation {
    /// The operation.
    const OPERATION: Operation;
    /// The message of the request.
    type Request: JsonMessage + SetField + prost::Message + Clone;
    /// The message of the answer.
    type Response: JsonMessage + SetField + prost::Message;
}

/// The messages by their names in the table.
mod messages {
    pub use crate::api::*;
    pub type Empty = ();
}

impl Operation {
    /// The operation's row.
    #[must_use]
    pub fn row(self) -> &'static Row {
        &OPERATIONS[self as usize]
    }

    /// The published name.
    #[must_use]
    pub fn name(self) -> &'static str {
        self.row().name
    }

    /// The operation with this published name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        OPERATIONS.iter().find(|row| row.name == name).map(|row| row.operation)
    }

    /// Whether game code may have hooks before and after the operation.
    #[must_use]
    pub fn hookable(self) -> bool {
        !matches!(self, Self::Healthcheck | Self::RpcFunc)
    }
}

impl Method {
    /// All methods.
    pub const ALL: [Self; 4] = [Self::Get, Self::Post, Self::Put, Self::Delete];

    /// The method with this name in a request line.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|method| method.name() == name)
    }

    /// The method's name in a request line.
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
    /// The names of the path's parameters, in order.
    pub fn parameter_names(&self) -> impl Iterator<Item = &'static str> + use<> {
        self.template.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'))
    }
}
