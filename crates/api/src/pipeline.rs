//! The one path of every operation: authorise, before hook, run, after hook. Transports call it, and measure and encode
//! around it, see [`crate::http`].

use muster_domain::admission::AddressRate;
use muster_domain::{Error, ErrorKind, Result, Timestamp};
use muster_wire::operations::{Method, Operation, TypedOperation};

use crate::authorise::{authorise, book_request};
use crate::context::{App, Caller, Context};
use crate::game::{ExecutionMode, Failure, RequestOrigin};
use crate::hooks::{self, HookSubject, Payload, note_failure, note_refusal};

/// Reads requests and writes answers of one transport.
pub trait Codec {
    /// The request's message.
    ///
    /// Errors: `InvalidArgument` when it does not fit.
    fn request<T: TypedOperation>(&self) -> Result<T::Request>;

    /// Number of bytes of the request's body.
    fn body_bytes(&self) -> usize;

    /// The answer's bytes.
    fn response<T: TypedOperation>(&self, response: &T::Response) -> Vec<u8>;
}

/// A request as a transport received it.
#[derive(Clone, Copy, Debug)]
pub struct Call<'a, C> {
    /// The operation that is asked for.
    pub operation: Operation,
    /// The `authorization` header or metadata.
    pub authorization: Option<&'a str>,
    /// The client's address, and the parts of the request that game code may see.
    pub origin: RequestOrigin<'a>,
    /// The time when the request arrived.
    pub now: Timestamp,
    /// The codec that reads the request and writes the answer.
    pub codec: C,
}

/// The reason why a request was refused; it decides what the caller is told.
#[derive(Debug)]
pub enum RequestError {
    /// The server refused.
    BuiltIn(Error),
    /// Game code failed, or refused in its own words.
    Runtime(Failure),
}

/// Outcome of a request; an encoded response unless `T` says otherwise.
pub type Answered<T = Vec<u8>> = std::result::Result<T, RequestError>;

impl From<Error> for RequestError {
    fn from(error: Error) -> Self {
        Self::BuiltIn(error)
    }
}

impl From<Failure> for RequestError {
    fn from(failure: Failure) -> Self {
        Self::Runtime(failure)
    }
}

/// Runs an operation; answers its encoded response.
///
/// Errors: `Unauthenticated`, and the refusals of hooks and of the handler.
pub async fn run<T: TypedOperation, C: Codec>(
    app: &App,
    call: &Call<'_, C>,
    handler: impl AsyncFnOnce(&Context<'_>, T::Request) -> Result<T::Response>,
) -> Answered {
    let subject = HookSubject::Operation(T::OPERATION);
    let context = context(app, call)?;
    let mut request = call.codec.request::<T>()?;
    if app.hooks.has_before(subject) {
        request = before::<T>(&context, subject, request).await?;
    }
    // The handler consumes the request, so an after hook's copy is made first.
    let kept = app.hooks.has_after(subject).then(|| request.clone());
    let response = handler(&context, request).await?;
    if let Some(request) = kept {
        after::<T>(&context, subject, &response, &request).await;
    }
    Ok(call.codec.response::<T>(&response))
}

/// Answers an operation that is not built yet, to callers who may ask for it.
pub fn unbuilt<C: Codec>(app: &App, call: &Call<'_, C>) -> Answered {
    context(app, call)?;
    let name = call.operation.name();
    Err(Error::new(ErrorKind::Unimplemented, format!("{name} is not available on this server yet.")).into())
}

fn context<'a, C: Codec>(app: &'a App, call: &Call<'a, C>) -> Result<Context<'a>> {
    let audience = call.operation.row().audience;
    let caller: Caller = authorise(app, audience, call.authorization, None, call.origin.address, call.now)?;
    if is_sign_in(call.operation) {
        app.admission.take(AddressRate::SignIns, call.origin.address, call.now)?;
    }
    if call.operation.row().bindings.iter().all(|binding| binding.method != Method::Get) {
        book_request(app, &caller, call.codec.body_bytes(), call.now)?;
    }
    Ok(Context::new(app, caller, call.origin, call.now))
}

/// Whether an operation answers with a session.
fn is_sign_in(operation: Operation) -> bool {
    matches!(
        operation,
        Operation::AuthenticateApple
            | Operation::AuthenticateCustom
            | Operation::AuthenticateDevice
            | Operation::AuthenticateEmail
            | Operation::AuthenticateFacebook
            | Operation::AuthenticateFacebookInstantGame
            | Operation::AuthenticateGameCenter
            | Operation::AuthenticateGoogle
            | Operation::AuthenticateSteam
            | Operation::SessionRefresh
    )
}

async fn before<T: TypedOperation>(
    context: &Context<'_>,
    subject: HookSubject,
    request: T::Request,
) -> Answered<T::Request> {
    let has_request = T::OPERATION.row().has_request();
    let input = has_request.then_some(&request as &dyn Payload);
    let answered = context.app.hooks.before(subject, context.invocation(ExecutionMode::Before), input).await;
    match answered.inspect_err(|failure| note_refusal(subject, failure))? {
        _ if !has_request => Ok(request),
        Some(answer) => Ok(hooks::read(subject, &answer)?),
        None => Err(Error::new(ErrorKind::NotFound, format!("{} is switched off.", subject.name())).into()),
    }
}

/// Runs the after hook. The operation has happened, so the answer of the hook changes nothing any more.
async fn after<T: TypedOperation>(
    context: &Context<'_>,
    subject: HookSubject,
    response: &T::Response,
    request: &T::Request,
) {
    let row = T::OPERATION.row();
    let output = row.has_response().then_some(response as &dyn Payload);
    let input = row.has_request().then_some(request as &dyn Payload);
    if let Err(failure) =
        context.app.hooks.after(subject, context.invocation(ExecutionMode::After), output, input).await
    {
        note_failure(subject, &failure);
    }
}
