//! Tokens, whole and with a right signature over arbitrary claims.
#![no_main]

use libfuzzer_sys::fuzz_target;
use muster_wire::token::Signer;

fuzz_target!(|input: &[u8]| {
    let signer = Signer::new(b"key");
    if let Ok(token) = std::str::from_utf8(input) {
        let _ = signer.verify(token, 0);
    }
    if let Ok(claims) = signer.verify(&signer.sign_payload(input), 0) {
        assert_eq!(signer.verify(&signer.sign(&claims), 0), Ok(claims));
    }
});
