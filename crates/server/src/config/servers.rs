//! Addresses of NATS servers, as one text each. This module only looks at the text.

/// Description of valid addresses, for messages.
pub(crate) const EXPECTED: &str = "nats://host:port or tls://host:port, without a login (`cluster.nats_user` and the \
                                   keys beside it hold that); several are entries of a list";

/// Whether the text is the address of one server. The scheme and the port may be left out.
pub(crate) fn is_address(text: &str) -> bool {
    let place = match text.split_once("://") {
        Some(("nats" | "tls", place)) => place,
        Some(_) => return false,
        None => text,
    };
    let (host, port) = match place.rsplit_once(':') {
        Some((host, port)) if !port.ends_with(']') => (host, Some(port)),
        _ => (place, None),
    };
    let host = host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host);
    let is_of_host = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'.' | b'_' | b':');
    !host.is_empty() && host.bytes().all(is_of_host) && port.is_none_or(|port| port.parse::<u16>().is_ok_and(|n| n > 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_of_one_server_and_holds_no_login() {
        let check = |text: &str, expect: bool| assert_eq!(is_address(text), expect, "{text}");
        check("nats://nats-1:4222", true);
        check("tls://nats-1.example.com:4222", true);
        check("nats-1", true);
        check("10.0.0.1:4222", true);
        check("nats://[::1]:4222", true);
        check("nats://[::1]", true);
        check("", false);
        check("nats://", false);
        check("ws://nats-1:80", false);
        check("nats://user:secret@nats-1:4222", false);
        check("nats://nats-1:4222,nats://nats-2:4222", false);
        check("nats://nats-1:0", false);
        check("nats://nats-1:port", false);
        check("nats://nats 1", false);
    }
}
