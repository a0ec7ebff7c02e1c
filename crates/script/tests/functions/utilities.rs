//! Ciphers, secrets, signatures and cron from Lua, against published vectors.

use crate::world::answer;

const PKCS1: &str = include_str!("keys/rfc7515-a2.pkcs1.pem");
const PKCS8: &str = include_str!("keys/rfc7515-a2.pkcs8.pem");

fn check(expression: &str, expect: &str) {
    let body = format!("local nk = require('nakama') return tostring({expression})");
    assert_eq!(answer(&body, ""), Ok(expect.to_owned()), "{expression}");
}

fn refused(expression: &str, told: &str) {
    let body = format!("local nk = require('nakama') return tostring({expression})");
    let (_, message) = answer(&body, "").unwrap_err();
    let name = expression.trim_start_matches("nk.").split('(').next().unwrap_or_default();
    let told = if told.starts_with("expects ") { format!("{name} {told}") } else { told.to_owned() };
    assert_eq!(message, told, "{expression}");
}

/// NIST SP 800-38A, F.3.13 and F.3.17: the initialisation vector and the first two blocks.
#[test]
fn ciphers() {
    let start = "000102030405060708090a0b0c0d0e0f";
    let plain = "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51";
    for (bits, key, encrypted) in [
        (128, "2b7e151628aed2a6abf7158809cf4f3c", "3b3fd92eb72dad20333449f8e83cfb4ac8a64537a0b3a93fcde3cdad9f1ce58b"),
        (
            256,
            "603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4",
            "dc7e84bfda79164b7ecd8486985d386039ffed143b28b1c832113c6331e5407b",
        ),
    ] {
        let key = format!("nk.base16_decode('{key}')");
        let whole = format!("nk.base16_decode('{start}{encrypted}')");
        check(&format!("nk.base16_encode(nk.aes{bits}_decrypt({whole}, {key}))"), plain);
        let there = format!("nk.aes{bits}_encrypt('hello \\0 world', {key})");
        check(&format!("nk.aes{bits}_decrypt({there}, {key}) == 'hello \\0 world'"), "true");
        // The randomness of the test counts up.
        check(&format!("nk.base16_encode(string.sub({there}, 1, 16))"), &"01".repeat(16));
        check(&format!("#nk.aes{bits}_encrypt('', {key})"), "16");
        refused(&format!("nk.aes{bits}_decrypt('short', {key})"), "expects input to have at least 16 bytes");
    }
    refused("nk.aes128_encrypt('x', 'short')", "expects key 16 bytes long, got 5");
    refused("nk.aes256_decrypt('x', 'goldenbridge_key')", "expects key 32 bytes long, got 16");
}

#[test]
fn hashes_of_passwords() {
    let published = "$2a$04$bl3tac7Gwbjy04Q8H2QWLuUOEkpoNiAeTxazxi4fVQQRMGbMaUHQ2";
    check(&format!("nk.bcrypt_compare('{published}', '123456')"), "true");
    check(&format!("nk.bcrypt_compare('{published}', '1234567')"), "false");
    check("nk.bcrypt_compare(nk.bcrypt_hash('Hello World'), 'Hello World')", "true");
    check("string.sub(nk.bcrypt_hash('Hello World'), 1, 7)", "$2a$10$");
    check("nk.bcrypt_compare(nk.bcrypt_hash(string.rep('x', 72)), string.rep('x', 72))", "true");
    check("nk.bcrypt_compare('plain', 'plain')", "false");
    let costly = published.replace("$04$", "$31$");
    refused(&format!("nk.bcrypt_compare('{costly}', '123456')"), "expects hash to have a cost of at most 15");
    let (_, message) = answer("return tostring(nk.bcrypt_hash(string.rep('x', 73)))", "").unwrap_err();
    assert!(message.contains("cannot hash the input"), "{message}");
}

#[test]
fn random_bytes() {
    check("nk.base16_encode(nk.secure_random_bytes(3))", "010101");
    refused("nk.secure_random_bytes(0)", "expects length to be 1 to 1048576");
    refused("nk.secure_random_bytes(-1)", "expects length to be 1 to 1048576");
    refused("nk.secure_random_bytes(2 ^ 30)", "expects length to be 1 to 1048576");
}

/// RFC 7515, A.2.
#[test]
fn signatures() {
    let input = "eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ";
    let published = "cC4hiUPoj9Eetdgtv3hF80EGrhuB__dzERat0XF9g2VtQgr9PJbu3XOiZj5RZmh7AAuHIm4Bh-0Qc_lF5YKt_O8W2Fp5jujGbds9uJdbF9CUAr7t1dnZcAcQjbKBYNX4BAynRFdiuB--f_nZLgrnbyTyWzO75vRK5h6xBArLIARNPvkSjtQBMHlb1L07Qe7K0GarZRmB_eSN9383LcOLn6_dO--xi12jzDwusC-eOkHWEsqtFZESc6BfI7noOPqvhJ1phCnvWh6IeYI2w9QOYEUipUTI8np6LbgGY9Fs98rqVt5AXLIhWkWywlVmtVrBp0igcN_IoypGlUPQGe77Rw";
    for key in [PKCS1, PKCS8] {
        check(&format!("nk.base64url_encode(nk.rsa_sha256_hash('{input}', [[{key}]]), false)"), published);
    }
    refused("nk.rsa_sha256_hash('x', 'y')", "expects key to be an RSA key in PEM: no items found");
}

/// The expected tokens were made by Python's hmac and OpenSSL.
#[test]
fn tokens() {
    let claims = "{ iss = 'joe', exp = 1300819380 }";
    check(
        &format!("nk.jwt_generate('HS256', 'secret', {claims})"),
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJleHAiOjEzMDA4MTkzODAsImlzcyI6ImpvZSJ9.yBhd4tgGU_x3GfPle55fsuZVfUOvFcLQfPzMZ7J72M8",
    );
    check(
        &format!("nk.jwt_generate('HS512', 'secret', {claims})"),
        "eyJhbGciOiJIUzUxMiIsInR5cCI6IkpXVCJ9.eyJleHAiOjEzMDA4MTkzODAsImlzcyI6ImpvZSJ9.m8XsKYFnb0RInhtmZbk0yeLPQapU-CQC0suSlnB4-pPu9yqRa7iekz33nyIGmhLaiVLO5jSRTbX_4btqNcLj6Q",
    );
    let token = "eyJhbGciOiJSUzI1NiIsInR5cCI6IkpXVCJ9.eyJleHAiOjEzMDA4MTkzODAsImlzcyI6ImpvZSJ9.W3m72_d3jQ4Xo8LPs_haJY6wukmun2hIQG7-XJETXtzLuH61twUkcjSJLk5ddlX8tSTeXjNGgdhFiYay8tMaH21CBiM1lhJ4pfme7COZJ7UMZ4Adl5BVgv53TsV2QyR1BsGDtQS7XlMnRGdRaeXSF6DpGnSygJV34p7a2ieunlFZ3DvaXmPk-0X2GnypfefdqvK3WPX8t9JbZ9cmtHIjq4l37JJRLItbnGpOg2R2q-Cco4tO6ab9nJTjmtuc3TxLp14r26oYKRAMCFraQKX0vHD1IeUE-3MXS60WRfcWx7xcjHJAKddcopavSioAMHjkwPIDxPODgPtvmNX0Cxw8rQ";
    check(&format!("nk.jwt_generate('RS256', [[{PKCS1}]], {claims})"), token);
    check(
        "nk.jwt_generate('HS256', 'k', {})",
        "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.e30.sdq8hlcnGupCQofW8T3WXS8lMHPKjY78f7plDHoTsoI",
    );
    refused("nk.jwt_generate('HS256', '', { a = 1 })", "expects key not to be empty");
    let told = "expects algorithm to be HS256, HS384, HS512, RS256, RS384 or RS512";
    refused("nk.jwt_generate('none', 'k', { a = 1 })", told);
}

#[test]
fn cron() {
    // The example of the original's own tests.
    check("nk.cron_next('1 * * * *', 1506433906)", "1506434460");
    check("nk.cron_prev('1 * * * *', 1506433906)", "1506430860");
    check("nk.cron_next('0 0 * * 1', 1506433906.75)", "1506902400");
    refused("nk.cron_next('0 0 30 2 *', 1)", "The cron expression names no such moment from 1970 to 2099.");
    refused("nk.cron_next('61 * * * *', 1)", "The cron expression's minute cannot be \"61\": it goes from 0 to 59.");
    refused("nk.cron_next('* * * * *')", "bad argument #2 to cron_next (number expected, got nil)");
}
