//! The dispatcher: the object by whose methods a callback sends messages, kicks players, changes the label and sets
//! timers.

use std::rc::Rc;
use std::str::FromStr;
use std::sync::Arc;

use bytes::Bytes;
use muster_domain::UserId;
use muster_domain::ids::SessionId;
use muster_live::matches::{Act, Broadcast, LABEL_BYTES_MAX, Sender};
use muster_wire::code::Code;
use rquickjs::function::Rest;
use rquickjs::{Ctx, Function, Object, Persistent, Result, Value as JsValue};

use crate::host::Host;
use crate::machine::matches::{PRESENCES_MAX, Sink, too_many_presences};
use crate::quickjs::errors::{throw, throw_refusal};
use crate::quickjs::values::{kind, text};
use crate::quickjs::{binary, globals};

/// A machine's dispatcher, and the sink that collects the acts of the callback that runs.
pub(super) struct Dispatcher {
    pub(super) object: Persistent<Object<'static>>,
    pub(super) sink: Rc<Sink>,
}

impl Dispatcher {
    /// Makes the dispatcher of a machine.
    pub(super) fn new(ctx: &Ctx<'_>, host: &Rc<Host>, deferred_max: usize) -> Result<Self> {
        let sink = Rc::new(Sink::new(deferred_max));
        let object = Object::new(ctx.clone())?;
        put(&object, host, &sink, "broadcastMessage", |arguments| arguments.broadcast().map(Act::Broadcast))?;
        put(&object, host, &sink, "broadcastMessageDeferred", |arguments| arguments.broadcast().map(Act::Defer))?;
        put(&object, host, &sink, "matchKick", |mut arguments| {
            let sessions = arguments.sessions()?;
            Ok(Act::Kick(sessions.unwrap_or_default()))
        })?;
        put(&object, host, &sink, "matchLabelUpdate", |mut arguments| arguments.label().map(Act::Label))?;
        put(&object, host, &sink, "setTimer", Arguments::timer)?;
        put(&object, host, &sink, "cancelTimer", |mut arguments| arguments.name().map(Act::CancelTimer))?;
        globals::freeze_object(&object)?;
        Ok(Self { object: Persistent::save(ctx, object), sink })
    }
}

fn put<'js>(
    object: &Object<'js>,
    host: &Rc<Host>,
    sink: &Rc<Sink>,
    name: &'static str,
    read: fn(Arguments<'js>) -> Result<Act>,
) -> Result<()> {
    let (host, sink) = (host.clone(), sink.clone());
    let run = move |ctx: Ctx<'js>, values: Rest<JsValue<'js>>| {
        host.current.count(&host.process.metrics).map_err(|error| throw_refusal(&ctx, &error))?;
        let act = read(Arguments { of: name, ctx: ctx.clone(), values: values.0.into_iter(), taken: 0 })?;
        sink.add(act).map_err(|why| throw(&ctx, Code::FailedPrecondition, &why))
    };
    object.set(name, Function::new(object.ctx().clone(), run)?.with_name(name)?)
}

/// Reads a method's arguments one after the other.
struct Arguments<'js> {
    of: &'static str,
    ctx: Ctx<'js>,
    values: std::vec::IntoIter<JsValue<'js>>,
    taken: usize,
}

impl<'js> Arguments<'js> {
    /// The next argument; `None` if it is null or undefined.
    fn next(&mut self) -> Option<JsValue<'js>> {
        self.taken += 1;
        self.values.next().filter(|value| !value.is_null() && !value.is_undefined())
    }

    fn unfit(&self, expected: &str, got: Option<&JsValue<'js>>) -> rquickjs::Error {
        let (of, taken, got) = (self.of, self.taken, got.map_or("undefined", kind));
        throw(&self.ctx, Code::InvalidArgument, &format!("{of}: argument {taken} must be {expected}, not {got}"))
    }

    fn broadcast(mut self) -> Result<Broadcast> {
        let op_code = self.next();
        let whole = |number: &f64| number.fract() == 0.0;
        let Some(op_code) = op_code.as_ref().and_then(JsValue::as_number).filter(whole).map(|number| number as i64)
        else {
            return Err(self.unfit("a whole number", op_code.as_ref()));
        };
        let data = self.next();
        let data = match &data {
            None => Bytes::new(),
            Some(data) => {
                let bytes = match data.as_string() {
                    Some(string) => Some(text(string)?.into_bytes()),
                    None => data.as_object().and_then(binary::read),
                };
                Bytes::from(bytes.ok_or_else(|| self.unfit("an ArrayBuffer or a string", Some(data)))?)
            }
        };
        let to = self.sessions()?;
        let sender = self.next().map(|sender| self.sender(&sender)).transpose()?;
        let reliable = self.next();
        let reliable = match &reliable {
            None => true,
            Some(reliable) => reliable.as_bool().ok_or_else(|| self.unfit("true or false", Some(reliable)))?,
        };
        Ok(Broadcast { op_code, data, to, sender, reliable })
    }

    /// The session ids of an array of presences; `None` for null and undefined.
    fn sessions(&mut self) -> Result<Option<Vec<SessionId>>> {
        const EXPECTED: &str = "an array of presences";
        let Some(given) = self.next() else { return Ok(None) };
        let Some(presences) = given.as_array() else { return Err(self.unfit(EXPECTED, Some(&given))) };
        let session = |presence: Result<JsValue<'js>>| {
            let presence = presence?;
            let Some(presence) = presence.as_object() else { return Err(self.unfit(EXPECTED, Some(&presence))) };
            self.id(presence, "sessionId")
        };
        // The library panics on lengths beyond 2^31.
        let length: f64 = presences.as_object().get("length")?;
        if length > PRESENCES_MAX as f64 {
            return Err(throw(&self.ctx, Code::InvalidArgument, &too_many_presences(self.of)));
        }
        (0..length as usize).map(|index| session(presences.get(index))).collect::<Result<_>>().map(Some)
    }

    fn sender(&self, presence: &JsValue<'js>) -> Result<Sender> {
        let Some(presence) = presence.as_object() else { return Err(self.unfit("a presence", Some(presence))) };
        let username = self.field(presence, "username")?;
        let session_id: SessionId = self.id(presence, "sessionId")?;
        let user_id: UserId = self.id(presence, "userId")?;
        Ok(Sender { session_id, user_id, username: username.into() })
    }

    fn id<T: FromStr>(&self, presence: &Object<'js>, field: &str) -> Result<T> {
        self.field(presence, field)?.parse().map_err(|_| self.lacks(field))
    }

    fn field(&self, presence: &Object<'js>, field: &str) -> Result<String> {
        let value: JsValue<'js> = presence.get(field)?;
        value.as_string().ok_or_else(|| self.lacks(field)).and_then(text)
    }

    fn lacks(&self, field: &str) -> rquickjs::Error {
        let (of, taken) = (self.of, self.taken);
        let told = format!("{of}: argument {taken} must be a presence with a valid {field}");
        throw(&self.ctx, Code::InvalidArgument, &told)
    }

    fn timer(mut self) -> Result<Act> {
        let name = self.name()?;
        let after = self.next();
        let Some(after) = after.as_ref().and_then(JsValue::as_number).filter(|number| *number >= 0.0) else {
            return Err(self.unfit("a number of milliseconds", after.as_ref()));
        };
        let data = match self.next() {
            None => Arc::default(),
            Some(data) => match data.as_string() {
                Some(string) => text(string)?.into(),
                None => return Err(self.unfit("a string", Some(&data))),
            },
        };
        Ok(Act::SetTimer { name, after_ms: after.ceil() as u64, data })
    }

    /// The name of a timer.
    fn name(&mut self) -> Result<Arc<str>> {
        let name = self.next();
        match name.as_ref().and_then(JsValue::as_string) {
            Some(string) => text(string).map(Arc::from),
            None => Err(self.unfit("a string", name.as_ref())),
        }
    }

    fn label(&mut self) -> Result<Arc<str>> {
        let label = self.next();
        let Some(string) = label.as_ref().and_then(JsValue::as_string) else {
            return Err(self.unfit("a string", label.as_ref()));
        };
        let label = text(string)?;
        if label.len() > LABEL_BYTES_MAX {
            let told = format!("{}: a label has at most {LABEL_BYTES_MAX} bytes", self.of);
            return Err(throw(&self.ctx, Code::InvalidArgument, &told));
        }
        Ok(label.into())
    }
}
