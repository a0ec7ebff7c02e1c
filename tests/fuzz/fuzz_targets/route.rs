//! Request lines and their parameters.
#![no_main]

use libfuzzer_sys::fuzz_target;
use muster_wire::api::{ListGroupsRequest, SessionRefreshRequest, WriteTournamentRecordRequest};
use muster_wire::operations::{Method, decode_http, route};

fuzz_target!(|input: (&str, &str, &[u8])| {
    let (path, query, body) = input;
    for method in Method::ALL {
        if let Ok(found) = route(method.name(), path) {
            let _ = decode_http::<ListGroupsRequest>(&found, query, body);
            let _ = decode_http::<SessionRefreshRequest>(&found, query, body);
            let _ = decode_http::<WriteTournamentRecordRequest>(&found, query, body);
        }
    }
});
