//! Events that game code may want to hear of: reports of clients, and the beginnings and ends of sessions.

use muster_domain::{Error, Result, Timestamp};
use muster_wire::api::Event;

use crate::context::{App, Context};
use crate::game::{ExecutionMode, Invocation, Occasion};
use crate::wire_time::time;

/// Limit of the bytes of an event's name.
pub const EVENT_NAME_BYTES_MAX: usize = 256;
/// Limit of the properties of an event.
pub const EVENT_PROPERTIES_MAX: usize = 128;

/// Passes an event that a client reports to game code, without waiting for it.
pub async fn report(context: &Context<'_>, event: Event) -> Result<()> {
    let app = context.app;
    check(&event)?;
    if app.game.hears_of(Occasion::Reported) {
        let event = dated(event, context.now);
        app.game.tell(Occasion::Reported, context.invocation(ExecutionMode::Event), event);
    }
    Ok(())
}

/// Checks that an event has a name, and that no part of it is too long.
///
/// # Errors
/// `InvalidArgument`, with a sentence that says which part is too long.
pub fn check(event: &Event) -> Result<()> {
    if event.name.is_empty() {
        return Err(Error::invalid("An event needs a name."));
    }
    if event.name.len() > EVENT_NAME_BYTES_MAX {
        return Err(Error::invalid(format!("The name of an event has at most {EVENT_NAME_BYTES_MAX} bytes.")));
    }
    if event.properties.len() > EVENT_PROPERTIES_MAX {
        return Err(Error::invalid(format!("An event has at most {EVENT_PROPERTIES_MAX} properties.")));
    }
    Ok(())
}

/// The event with the moment of its arrival, unless the event has a time already.
pub fn dated(event: Event, now: Timestamp) -> Event {
    Event { timestamp: event.timestamp.or_else(|| Some(time(now))), ..event }
}

/// Has game code told that a session begins or ends. `invocation` says on whose behalf, and `reason` why a session
/// ends.
pub fn session(app: &App, occasion: Occasion, invocation: impl FnOnce() -> Invocation, reason: Option<&str>) {
    if !app.game.hears_of(occasion) {
        return;
    }
    let name = if occasion == Occasion::SessionEnd { "session_end" } else { "session_start" };
    let properties = reason.map(|reason| ("reason".to_owned(), reason.to_owned())).into_iter().collect();
    let event = Event { name: name.to_owned(), properties, timestamp: Some(time(app.clock.now())), external: false };
    app.game.tell(occasion, Invocation { mode: ExecutionMode::Event, ..invocation() }, event);
}
