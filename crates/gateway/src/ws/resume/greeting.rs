//! The first message of a socket that asked for a session that survives it.

use bytes::Bytes;
use muster_wire::envelope::{self, Format};
use muster_wire::extensions::mode;
use muster_wire::frame;
use muster_wire::realtime::envelope::Message;
use muster_wire::realtime::{Envelope, Stream, StreamData};

use super::ResumeRefusal;

/// The content of the first message when a socket opens.
pub(super) enum Greeting<'a> {
    /// The client goes on with its session.
    Resumed { name: &'a str, received: u64, grace_ms: u64 },
    /// The client has a new session; an older one that it knew is void.
    New { name: &'a str, grace_ms: u64, refusal: Option<ResumeRefusal> },
    /// This server has no such sessions.
    Disabled,
}

impl Greeting<'_> {
    /// The greeting as a frame.
    pub(super) fn frame(&self, format: Format) -> Bytes {
        let stream = Stream { mode: i32::from(mode::SESSION), ..Stream::default() };
        let data = StreamData { stream: Some(stream), data: self.json(), reliable: true, ..StreamData::default() };
        let envelope = Envelope::push(Message::StreamData(data));
        frame::finished(format, |out| envelope::append(&envelope, format, out))
    }

    /// Names are ids and digits: nothing in them needs escaping.
    fn json(&self) -> String {
        match self {
            Self::Resumed { name, received, grace_ms } => {
                format!(r#"{{"session":"{name}","resumed":true,"received":{received},"grace_ms":{grace_ms}}}"#)
            }
            Self::New { name, grace_ms, refusal } => {
                let reason = refusal.map(|refusal| format!(r#""reason":"{}","#, refusal.name())).unwrap_or_default();
                format!(r#"{{"session":"{name}","resumed":false,{reason}"received":0,"grace_ms":{grace_ms}}}"#)
            }
            Self::Disabled => r#"{"resumed":false,"reason":"disabled"}"#.to_owned(),
        }
    }
}

/// The greeting of a client that asks for such a session where there are none.
pub fn disabled(format: Format) -> Bytes {
    Greeting::Disabled.frame(format)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greetings_say_what_the_client_goes_on_with() {
        let check = |greeting: Greeting<'_>, expected: &str| assert_eq!(greeting.json(), expected);
        check(
            Greeting::Resumed { name: "a.0", received: 7, grace_ms: 5 },
            r#"{"session":"a.0","resumed":true,"received":7,"grace_ms":5}"#,
        );
        check(
            Greeting::New { name: "a.0", grace_ms: 5, refusal: None },
            r#"{"session":"a.0","resumed":false,"received":0,"grace_ms":5}"#,
        );
        check(
            Greeting::New { name: "a.0", grace_ms: 5, refusal: Some(ResumeRefusal::Overflow) },
            r#"{"session":"a.0","resumed":false,"reason":"overflow","received":0,"grace_ms":5}"#,
        );
        let frame = disabled(Format::Json);
        let text = r#"{"stream_data":{"stream":{"mode":200},"data":"{\"resumed\":false,\"reason\":\"disabled\"}","reliable":true}}"#;
        assert_eq!(&frame[2..], text.as_bytes());
    }
}
