//! The two schemes of password hashing: argon2id in a database of our own, bcrypt in one that the original server must
//! be able to read again. Both are always accepted for checking, so that a database may hold either.

use argon2::password_hash::{PasswordHash, PasswordVerifier, SaltString};
use argon2::{Algorithm, Argon2, Block, Params, Version};
use muster_domain::ports::passwords::PasswordCheck;

/// Scheme of new hashes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheme {
    /// 19 MiB, two passes, one lane: the first choice of the OWASP password storage cheat sheet.
    Argon2id,
    /// Cost 13, as in the original.
    Bcrypt,
}

/// The cost of new bcrypt hashes: the base-2 logarithm of its rounds.
const BCRYPT_COST: u32 = 13;
const SALT_BYTES: usize = 16;
const HASH_BYTES: usize = 32;

/// Hashes and checks passwords; owns the memory that argon2id fills.
pub struct Hasher {
    scheme: Scheme,
    argon2: Argon2<'static>,
    memory: Vec<Block>,
}

/// Hashes for checking when an account has none, so that its absence takes as long as a wrong password. No password
/// hashes to them: their last bytes were made up.
const DUMMY_ARGON2ID: &str = "$argon2id$v=19$m=19456,t=2,p=1$bm9hY2NvdW50aGFzaXQ$\
     AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA";
const DUMMY_BCRYPT: &str = "$2b$13$nnnnnnnnnnnnnnnnnnnnnOAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAO";

impl Hasher {
    /// A hasher of `scheme`.
    pub fn new(scheme: Scheme) -> Self {
        Self { scheme, argon2: Argon2::new(Algorithm::Argon2id, Version::V0x13, Params::DEFAULT), memory: Vec::new() }
    }

    /// Frees the memory that hashing used.
    pub fn rest(&mut self) {
        self.memory = Vec::new();
    }

    /// The hash to store; `None` if the system gave no randomness or the password cannot be hashed.
    pub fn hash(&mut self, password: &str) -> Option<Vec<u8>> {
        match self.scheme {
            Scheme::Argon2id => self.hash_argon2id(password),
            Scheme::Bcrypt => bcrypt::hash(password, BCRYPT_COST).ok().map(String::into_bytes),
        }
    }

    fn hash_argon2id(&mut self, password: &str) -> Option<Vec<u8>> {
        let mut salt = [0; SALT_BYTES];
        getrandom::fill(&mut salt).ok()?;
        self.memory.resize(self.argon2.params().block_count(), Block::default());
        let mut output = [0; HASH_BYTES];
        let memory = self.memory.as_mut_slice();
        self.argon2.hash_password_into_with_memory(password.as_bytes(), &salt, &mut output, memory).ok()?;
        let salt = SaltString::encode_b64(&salt).ok()?;
        let hash = PasswordHash {
            algorithm: argon2::ARGON2ID_IDENT,
            version: Some(Version::V0x13.into()),
            params: argon2::password_hash::ParamsString::try_from(self.argon2.params()).ok()?,
            salt: Some(salt.as_salt()),
            hash: Some(argon2::password_hash::Output::new(&output).ok()?),
        };
        Some(hash.to_string().into_bytes())
    }

    /// Checks a password against a hash of either scheme, or against a dummy of the current one.
    pub fn check(&mut self, password: &str, hash: Option<&[u8]>) -> PasswordCheck {
        let dummy = match self.scheme {
            Scheme::Argon2id => DUMMY_ARGON2ID,
            Scheme::Bcrypt => DUMMY_BCRYPT,
        };
        let text = hash.map_or(dummy, |hash| std::str::from_utf8(hash).unwrap_or_default());
        let (fits, outdated) = if text.starts_with("$argon2") {
            let fits = PasswordHash::new(text)
                .is_ok_and(|parsed| self.argon2.verify_password(password.as_bytes(), &parsed).is_ok());
            (fits, self.scheme != Scheme::Argon2id)
        } else {
            // In an adopted database a hash keeps its cost, even when it differs from ours.
            (bcrypt::verify(password, text).unwrap_or(false), self.scheme != Scheme::Bcrypt)
        };
        PasswordCheck { matches: hash.is_some() && fits, outdated }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_scheme_checks_its_own_hashes_and_calls_the_other_outdated() {
        for (scheme, prefix, other) in [
            (Scheme::Argon2id, "$argon2id$v=19$m=19456,t=2,p=1$", Scheme::Bcrypt),
            (Scheme::Bcrypt, "$2b$13$", Scheme::Argon2id),
        ] {
            let mut hasher = Hasher::new(scheme);
            let hash = hasher.hash("correct horse").unwrap();
            assert!(hash.starts_with(prefix.as_bytes()), "{}", String::from_utf8_lossy(&hash));
            let right = hasher.check("correct horse", Some(&hash));
            assert!(right.matches && !right.outdated, "{scheme:?}");
            assert!(!hasher.check("wrong horse", Some(&hash)).matches);
            assert!(Hasher { scheme: other, ..hasher }.check("correct horse", Some(&hash)).outdated);
        }
    }

    #[test]
    fn the_dummies_are_hashes_of_the_current_cost() {
        let parsed = PasswordHash::new(DUMMY_ARGON2ID).unwrap();
        assert_eq!(Params::try_from(&parsed).unwrap(), {
            let mut params = argon2::ParamsBuilder::new();
            params.output_len(HASH_BYTES).build().unwrap()
        });
        // The check fails with an error if the text is not a bcrypt hash, so this proves that the dummy is one.
        assert!(!bcrypt::verify("any password", DUMMY_BCRYPT).unwrap());
        assert!(DUMMY_BCRYPT.starts_with(&format!("$2b${BCRYPT_COST}$")));
    }

    #[test]
    fn no_account_and_damaged_hashes_never_match() {
        let mut hasher = Hasher::new(Scheme::Argon2id);
        for hash in [None, Some(&b""[..]), Some(b"$argon2id$broken"), Some(b"\xFF"), Some(b"plain")] {
            assert!(!hasher.check("no account has this password", hash).matches, "{hash:?}");
        }
    }
}
