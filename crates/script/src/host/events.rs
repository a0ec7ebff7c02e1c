//! Events that game code reports.

use std::cell::RefCell;
use std::rc::{Rc, Weak};

use muster_api::events::{check, dated};
use muster_api::game::{ExecutionMode, Invocation, Occasion};
use muster_domain::{Error, Result};
use muster_wire::Timestamp;
use muster_wire::api::Event;

use super::records::named_texts;
use super::{
    ArgumentRules, Arguments, EffectClass, GoShape, Host, HostFunction, JavaScriptShape, ROW, Run, Type, flag,
    optional, required,
};
use crate::value::Value;

/// Game code of one language as a listener to events.
pub(crate) trait EventListener {
    /// Whether this game code has functions for such events.
    fn hears_of(&self, occasion: Occasion) -> bool;
    /// Queues an event for the functions of this game code.
    fn tell(self: Rc<Self>, occasion: Occasion, invocation: Invocation, event: Event);
}

/// Passes the events that game code reports to the game code of all languages on the shard.
#[derive(Default)]
pub struct EventReporter {
    listeners: RefCell<Vec<Weak<dyn EventListener>>>,
}

impl EventReporter {
    pub(crate) fn add(&self, listener: Weak<dyn EventListener>) {
        self.listeners.borrow_mut().push(listener);
    }

    pub(crate) fn report(&self, event: &Event) {
        let listeners: Vec<_> = self.listeners.borrow().iter().filter_map(Weak::upgrade).collect();
        for listener in listeners {
            let invocation = Invocation { mode: ExecutionMode::Event, ..Invocation::default() };
            listener.tell(Occasion::Reported, invocation, event.clone());
        }
    }
}

pub(super) static FUNCTIONS: &[HostFunction] = &[HostFunction {
    name: "event",
    doc: "Reports an event to the functions that are registered for events. The caller does not wait for these \
          functions.",
    parameters: &[
        required("name", Type::Text),
        optional("properties", Type::Map(&Type::Text)),
        optional("timestamp", Type::Number),
        flag("external", false),
    ],
    effect: EffectClass::Reports,
    javascript: JavaScriptShape::taking(ArgumentRules { required: &["properties"], ..ArgumentRules::BY_RULE }),
    go: GoShape::by_hand("Event"),
    run: Run::Now(event),
    ..ROW
}];

fn event(host: &Host, mut arguments: Arguments) -> Result<Value> {
    let name = arguments.text()?;
    let properties = named_texts(arguments.any(), "properties")?.into_iter().collect();
    let timestamp = arguments.seconds().map(moment).transpose()?;
    let event = Event { name, properties, timestamp, external: arguments.flag() };
    check(&event)?;
    let event = dated(event, host.clock.now());
    match host.current.recorded_call() {
        Some(call) => call.keep_event(event),
        None => host.reporter.report(&event),
    }
    Ok(Value::Nil)
}

fn moment(seconds: i64) -> Result<Timestamp> {
    let microseconds = seconds.checked_mul(1_000_000);
    let microseconds = microseconds.ok_or_else(|| Error::invalid("expects timestamp to be seconds since 1970"))?;
    Ok(Timestamp::from_unix_us(microseconds))
}
