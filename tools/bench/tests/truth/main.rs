//! Tests of the tool against servers that err, lie, stall, lose and forget: it must report that.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod clusters;
mod matchmaking;
mod meeting;
mod page;
mod requests;
mod rooms;
mod support;
