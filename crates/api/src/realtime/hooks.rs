//! Game code before and after a socket's messages.

use std::collections::BTreeMap;
use std::rc::Rc;

use muster_live::matches::Joiner;
use muster_wire::code::RealtimeCode;
use muster_wire::realtime::Envelope;
use muster_wire::realtime::envelope::Message;

use super::{Finished, Handled, MessageAnswer, Operation, Received, SocketSession, handle, refuse};
use crate::game::{ExecutionMode, Failure, Invocation};
use crate::hooks::{self, HookSubject, Payload, note_failure, note_refusal};

/// The hooks of a message.
#[derive(Clone, Copy)]
pub(super) struct Hooked {
    subject: HookSubject,
    before: bool,
    after: bool,
}

impl Hooked {
    /// The hooks of a message; `None` if it has none.
    pub(super) fn of(session: &SocketSession, message: &Message) -> Option<Self> {
        let (subject, hooks) = (HookSubject::Message(message.variant()), &session.app.hooks);
        let (before, after) = (hooks.has_before(subject), hooks.has_after(subject));
        (before || after).then_some(Self { subject, before, after })
    }

    /// Handles the message, with its hooks before and after it.
    pub(super) fn handle(
        self,
        session: Rc<SocketSession>,
        cid: String,
        message: Message,
        received: Received,
    ) -> Operation {
        Box::pin(async move {
            let mut reply = Vec::new();
            let message = match self.before(&session, &cid, message).await {
                Ok(message) => message,
                Err(refusal) => {
                    let then = session.settle(received, refusal, &mut reply);
                    return Finished { reply, then, rest: None };
                }
            };
            let input = self.after.then(|| Envelope { cid: cid.clone(), message: Some(message.clone()) });
            let answer = match handle(&session, cid, message) {
                Handled::Now(answer) => answer,
                Handled::Later(handler) => handler.await,
            };
            let rest = input.and_then(|input| self.after(&session, &answer, input));
            let then = session.settle(received, answer, &mut reply);
            Finished { reply, then, rest }
        })
    }

    /// Runs the before hook. Errors: the answer that the client gets instead. The socket stays open.
    async fn before(&self, session: &SocketSession, cid: &str, message: Message) -> Result<Message, MessageAnswer> {
        if !self.before {
            return Ok(message);
        }
        let variant = message.variant();
        let input = Envelope { cid: cid.to_owned(), message: Some(message) };
        let invocation = session.invocation(ExecutionMode::Before);
        let answered = session.app.hooks.before(self.subject, invocation, Some(&input)).await;
        let refused =
            |failure: Failure| refuse(cid.to_owned(), RealtimeCode::RuntimeFunctionException, failure.message);
        let answer = answered.map_err(|failure| {
            note_refusal(self.subject, &failure);
            refused(failure)
        })?;
        let Some(answer) = answer else {
            let text = format!("{} is switched off.", self.subject.name());
            return Err(refuse(cid.to_owned(), RealtimeCode::UnrecognizedPayload, text));
        };
        let changed: Envelope = hooks::read(self.subject, &answer).map_err(refused)?;
        match changed.message {
            Some(message) if message.variant() == variant => Ok(message),
            _ => {
                let hook = self.subject.name();
                tracing::error!(hook, expected = variant.name, "what the hook before it answered is another message");
                Err(refused(hooks::unfit()))
            }
        }
    }

    /// The operation that is to run once the reply has left; `None` if the message was refused.
    fn after(self, session: &Rc<SocketSession>, answer: &MessageAnswer, input: Envelope) -> Option<Operation> {
        let output = match answer {
            MessageAnswer::Refusal(..) => return None,
            MessageAnswer::Silence => None,
            MessageAnswer::Reply(envelope) => Some(envelope.clone()),
        };
        let session = session.clone();
        Some(Box::pin(async move {
            let output = output.as_ref().map(|envelope| envelope as &dyn Payload);
            let invocation = session.invocation(ExecutionMode::After);
            if let Err(failure) = session.app.hooks.after(self.subject, invocation, output, Some(&input)).await {
                note_failure(self.subject, &failure);
            }
            Finished { reply: Vec::new(), then: None, rest: None }
        }))
    }
}

impl SocketSession {
    /// The facts about this session's client that the handler of a match is told when the session wants to join.
    pub(super) fn joiner(&self, metadata: BTreeMap<String, String>) -> Joiner {
        let client = self.client.borrow();
        Joiner {
            metadata: metadata.into_iter().collect(),
            vars: self.claims.vars.iter().map(|(name, value)| (name.clone(), value.clone())).collect(),
            token_expires_at_sec: self.claims.expires_at_sec,
            client_ip: client.address.map(|address| address.to_string()).unwrap_or_default(),
            client_port: client.port.map(|port| port.to_string()).unwrap_or_default(),
        }
    }

    /// A call of game code on behalf of this session.
    pub(super) fn invocation(&self, mode: ExecutionMode) -> Invocation {
        Invocation {
            mode,
            user: Some(self.claims.clone()),
            session_id: Some(self.session_id.to_string()),
            client: self.client.borrow().clone(),
            trace_id: Some(self.app.random_uuid()),
            ..Invocation::default()
        }
    }
}
