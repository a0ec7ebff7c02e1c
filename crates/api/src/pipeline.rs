//! The one path of every operation: authorise, before hook, run, after hook. Transports put themselves around it;
//! they measure and encode, see [`crate::http`].

use std::net::IpAddr;

use muster_domain::{Error, ErrorKind, Result, Timestamp};
use muster_wire::json::{self, JsonMessage, Mode};
use muster_wire::operations::{Operation, TypedOperation};

use crate::authorise::authorise;
use crate::context::{App, Caller, Context};

/// Reads requests and writes answers of one transport.
pub trait Codec {
    /// The request's message.
    ///
    /// Errors: `InvalidArgument` when it does not fit.
    fn request<T: TypedOperation>(&self) -> Result<T::Request>;

    /// The answer's bytes.
    fn response<T: TypedOperation>(&self, response: &T::Response) -> Vec<u8>;
}

/// A request as a transport received it.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a, C> {
    /// What is asked for.
    pub operation: Operation,
    /// The `authorization` header or metadata.
    pub authorization: Option<&'a str>,
    /// The client's address, behind trusted proxies its own.
    pub address: Option<IpAddr>,
    /// When it arrived.
    pub now: Timestamp,
    /// How to read and answer it.
    pub codec: C,
}

/// Runs an operation; answers its encoded response.
///
/// Errors: `Unauthenticated`, what hooks refuse, and what the handler refuses.
pub async fn run<T: TypedOperation, C: Codec>(
    app: &App,
    call: &Call<'_, C>,
    handler: impl AsyncFnOnce(&Context<'_>, T::Request) -> Result<T::Response>,
) -> Result<Vec<u8>> {
    let context = context(app, call)?;
    let mut request = call.codec.request::<T>()?;
    if app.hooks.has_before(T::OPERATION) {
        request = before::<T>(&context, request).await?;
    }
    // The handler consumes the request, so an after hook's copy is made first.
    let kept = app.hooks.has_after(T::OPERATION).then(|| json::to_json(&request));
    let response = handler(&context, request).await?;
    if let Some(request) = kept {
        // The operation has happened: what a hook says of it changes nothing any more.
        let _ = app.hooks.after(&context, T::OPERATION, request, json::to_json(&response)).await;
    }
    Ok(call.codec.response::<T>(&response))
}

/// Answers an operation that is not built yet, to callers who may ask for it.
pub fn unbuilt<C>(app: &App, call: &Call<'_, C>) -> Result<Vec<u8>> {
    context(app, call)?;
    let name = call.operation.name();
    Err(Error::new(ErrorKind::Unimplemented, format!("{name} is not available on this server yet.")))
}

fn context<'a, C>(app: &'a App, call: &Call<'_, C>) -> Result<Context<'a>> {
    let audience = call.operation.row().audience;
    let caller: Caller = authorise(app, audience, call.authorization, None, call.now)?;
    Ok(Context::new(app, caller, call.address, call.now))
}

async fn before<T: TypedOperation>(context: &Context<'_>, request: T::Request) -> Result<T::Request> {
    let changed = context.app.hooks.before(context, T::OPERATION, json::to_json(&request)).await?;
    let Some(changed) = changed else {
        return Err(Error::new(ErrorKind::NotFound, format!("{} is switched off.", T::OPERATION.name())));
    };
    from_hook(&changed)
}

fn from_hook<M: JsonMessage>(text: &[u8]) -> Result<M> {
    json::from_json(text, Mode::Tolerant)
        .map_err(|_| Error::new(ErrorKind::Internal, "A hook answered with something that is no request."))
}
