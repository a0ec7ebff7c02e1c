//! Tokens: a published example, tokens of other issuers, and refusals.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use muster_wire::token::{Claims, Signer, TOKEN_LEN_MAX, TokenError};

const KEY: &[u8] = b"a key for tests";

fn claims() -> Claims {
    Claims {
        token_id: "3f0c".into(),
        user_id: "9a1b".into(),
        username: "ada \"l\"".into(),
        vars: [("k".into(), "v".into())].into(),
        expires_at_sec: 2_000_000_000,
        issued_at_sec: 1_999_999_940,
    }
}

/// A token as another issuer with the same key might make it.
fn foreign(header: &str, payload: &str) -> String {
    let ours = Signer::new(KEY).sign_payload(b"{}");
    assert!(ours.starts_with("eyJ"));
    let signed = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(payload));
    let mut mac = <hmac::Hmac<sha2::Sha256> as hmac::Mac>::new_from_slice(KEY).unwrap();
    hmac::Mac::update(&mut mac, signed.as_bytes());
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(hmac::Mac::finalize(mac).into_bytes()))
}

#[test]
fn the_example_of_rfc_7515_verifies() {
    let key = "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow";
    let token = concat!(
        "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.",
        "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.",
        "dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
    );
    let signer = Signer::new(&URL_SAFE_NO_PAD.decode(key).unwrap());
    let payload = signer.verify_payload(token).unwrap();
    assert!(payload.starts_with(br#"{"iss":"joe""#));
    // The signature is right, but the payload names no user.
    assert_eq!(signer.verify(token, 0), Err(TokenError::Malformed));
}

#[test]
fn claims_survive() {
    let signer = Signer::new(KEY);
    let token = signer.sign(&claims());
    assert_eq!(signer.verify(&token, 1_999_999_999), Ok(claims()));
    assert_eq!(signer.verify(&token, 2_000_000_000), Err(TokenError::Expired));
    assert_eq!(Signer::new(b"another key").verify(&token, 0), Err(TokenError::BadSignature));
}

#[test]
fn clients_find_the_published_claims() {
    let payload = |claims: &Claims| {
        let token = Signer::new(KEY).sign(claims);
        let part = token.split('.').nth(1).unwrap().to_owned();
        String::from_utf8(URL_SAFE_NO_PAD.decode(part).unwrap()).unwrap()
    };
    assert_eq!(
        payload(&claims()),
        r#"{"tid":"3f0c","uid":"9a1b","usn":"ada \"l\"","vrs":{"k":"v"},"exp":2000000000,"iat":1999999940}"#
    );
    assert!(!payload(&Claims { vars: Default::default(), ..claims() }).contains("vrs"));
}

#[test]
fn other_issuers_with_the_key_are_heard() {
    let payload = r#"{"iat":1999999940.0,"exp":2000000000,"jti":{"x":[1]},"vrs":{"k":"v"},"usn":"ada \"l\"","uid":"9a1b","tid":"3f0c"}"#;
    for header in
        [r#"{"typ":"JWT","alg":"HS256"}"#, r#"{ "alg" : "HS256" }"#, r#"{"alg":"HS256","typ":"jwt","kid":null}"#]
    {
        assert_eq!(Signer::new(KEY).verify(&foreign(header, payload), 0), Ok(claims()), "{header}");
    }
}

#[test]
fn other_algorithms_and_shapes_are_refused() {
    let payload = r#"{"tid":"t","uid":"u","exp":2000000000}"#;
    let signer = Signer::new(KEY);
    assert!(signer.verify(&foreign(r#"{"alg":"HS256"}"#, payload), 0).is_ok());
    let headers = [
        r#"{"alg":"none"}"#,
        r#"{"alg":"HS512"}"#,
        r#"{"alg":"hs256"}"#,
        r#"{"alg":"RS256"}"#,
        "{}",
        "",
        "[]",
        r#"{"alg":"HS256","crit":["exp"]}"#,
        r#"{"alg":["HS256"]}"#,
        r#"{"alg":"HS256"}x"#,
        r#"{"alg":"HS256","alg":"none"}"#,
    ];
    for header in headers {
        assert_eq!(signer.verify(&foreign(header, payload), 0), Err(TokenError::Malformed), "{header}");
    }
    let payloads = [
        "",
        "{}",
        "[]",
        "null",
        r#"{"uid":"u"}"#,
        r#"{"exp":2000000000}"#,
        r#"{"uid":7,"exp":2000000000}"#,
        r#"{"uid":"u","exp":"soon"}"#,
        r#"{"uid":"u","exp":1e99}"#,
        r#"{"uid":"u","exp":2000000000,"vrs":{"k":1}}"#,
    ];
    for payload in payloads {
        assert_eq!(signer.verify(&foreign(r#"{"alg":"HS256"}"#, payload), 0), Err(TokenError::Malformed), "{payload}");
    }
    for token in ["", ".", "..", "...", "a.b.c", "a.b", &"x".repeat(TOKEN_LEN_MAX + 1)] {
        assert_eq!(signer.verify(token, 0), Err(TokenError::Malformed));
    }
    let token = signer.sign(&claims());
    assert!(signer.verify(&format!("{token}="), 0).is_err());
    assert!(signer.verify(token.rsplit_once('.').unwrap().0, 0).is_err());
    assert!(signer.verify(&format!("{}.", token.rsplit_once('.').unwrap().0), 0).is_err());
}

#[test]
fn tampering_with_any_byte_is_noticed() {
    let signer = Signer::new(KEY);
    let token = signer.sign(&claims());
    for index in 0..token.len() {
        for replacement in b"AaZz09-_.= " {
            let mut bytes = token.clone().into_bytes();
            if std::mem::replace(&mut bytes[index], *replacement) != *replacement {
                let tampered = String::from_utf8(bytes).unwrap();
                assert!(signer.verify(&tampered, 0).is_err(), "byte {index}: {tampered}");
            }
        }
    }
}

#[test]
fn the_key_does_not_show_in_logs() {
    assert_eq!(format!("{:?}", Signer::new(KEY)), "Signer(..)");
}
