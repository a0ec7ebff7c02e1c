//! Cursors: where a listing continues, opaque to clients.
//!
//! A cursor is bound to the kind of listing and to its filter, and carries a checksum over all of it, so that one
//! that was changed or taken from another listing is refused (code 3). It is not secret and grants nothing: what it
//! leads to is checked like any other request.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

use crate::code::Code;

/// Goes up when the form changes; cursors of other versions are refused.
const VERSION: u8 = 1;
const CHECKSUM_LEN: usize = 8;
/// Longer texts are refused before anything is computed.
pub const CURSOR_LEN_MAX: usize = 4096;

/// The listing that a cursor belongs to. Numbers are part of the form and never reused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum CursorKind {
    /// Storage objects of a collection.
    StorageObjects = 1,
    /// Friends.
    Friends = 2,
    /// Friends of friends.
    FriendsOfFriends = 3,
    /// Groups.
    Groups = 4,
    /// Members of a group.
    GroupUsers = 5,
    /// Groups of a user.
    UserGroups = 6,
    /// Messages of a channel.
    ChannelMessages = 7,
    /// Notifications.
    Notifications = 8,
    /// Records of a leaderboard or tournament.
    Records = 9,
    /// Tournaments.
    Tournaments = 10,
    /// Parties.
    Parties = 11,
    /// Purchases.
    Purchases = 12,
    /// Subscriptions.
    Subscriptions = 13,
    /// Rooms.
    Rooms = 14,
    /// Changes of a wallet.
    Ledger = 15,
}

/// A cursor that does not belong here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the cursor is not valid for this listing; start again without one")]
pub struct CursorError;

impl CursorError {
    /// The code to answer with.
    #[must_use]
    pub fn code(self) -> Code {
        Code::InvalidArgument
    }
}

/// Makes a cursor, part by part.
#[derive(Debug)]
pub struct CursorWriter {
    bytes: Vec<u8>,
}

impl CursorWriter {
    /// An empty cursor of a kind.
    #[must_use]
    pub fn new(kind: CursorKind) -> Self {
        Self { bytes: vec![VERSION, kind as u8] }
    }

    /// Adds a text.
    #[must_use]
    pub fn text(mut self, text: &str) -> Self {
        self.bytes.extend_from_slice(&(text.len() as u64).to_le_bytes()[..4]);
        self.bytes.extend_from_slice(text.as_bytes());
        self
    }

    /// Adds a number.
    #[must_use]
    pub fn number(mut self, number: i64) -> Self {
        self.bytes.extend_from_slice(&number.to_le_bytes());
        self
    }

    /// The cursor, bound to what else selects the listing: collection and owner, for example.
    #[must_use]
    pub fn finish(mut self, filter: &[&str]) -> String {
        let checksum = checksum(&self.bytes, filter);
        self.bytes.extend_from_slice(&checksum);
        URL_SAFE_NO_PAD.encode(&self.bytes)
    }
}

/// Reads a cursor, part by part in the order of writing.
#[derive(Debug)]
pub struct CursorReader {
    bytes: Vec<u8>,
    position: usize,
}

impl CursorReader {
    /// Opens a cursor of this kind and filter.
    ///
    /// # Errors
    /// Fails when it is of another kind, filter or version, or was changed.
    pub fn open(text: &str, kind: CursorKind, filter: &[&str]) -> Result<Self, CursorError> {
        if text.len() > CURSOR_LEN_MAX {
            return Err(CursorError);
        }
        let mut bytes = URL_SAFE_NO_PAD.decode(text).map_err(|_| CursorError)?;
        let content_len = bytes.len().checked_sub(CHECKSUM_LEN).ok_or(CursorError)?;
        let checksum_fits = checksum(&bytes[..content_len], filter) == bytes[content_len..];
        bytes.truncate(content_len);
        if !checksum_fits || !bytes.starts_with(&[VERSION, kind as u8]) {
            return Err(CursorError);
        }
        Ok(Self { bytes, position: 2 })
    }

    /// The next part, a text.
    ///
    /// # Errors
    /// Fails when there is none.
    pub fn text(&mut self) -> Result<String, CursorError> {
        let len = self.take(4)?.iter().rev().fold(0, |len, &byte| len << 8 | usize::from(byte));
        let bytes = self.take(len)?.to_vec();
        String::from_utf8(bytes).map_err(|_| CursorError)
    }

    /// The next part, a number.
    ///
    /// # Errors
    /// Fails when there is none.
    pub fn number(&mut self) -> Result<i64, CursorError> {
        let bytes = self.take(8)?.try_into().map_err(|_| CursorError)?;
        Ok(i64::from_le_bytes(bytes))
    }

    /// Checks that nothing is left.
    ///
    /// # Errors
    /// Fails when something is.
    pub fn end(self) -> Result<(), CursorError> {
        if self.position == self.bytes.len() { Ok(()) } else { Err(CursorError) }
    }

    fn take(&mut self, len: usize) -> Result<&[u8], CursorError> {
        let end = self.position.checked_add(len).ok_or(CursorError)?;
        let part = self.bytes.get(self.position..end).ok_or(CursorError)?;
        self.position = end;
        Ok(part)
    }
}

fn checksum(content: &[u8], filter: &[&str]) -> [u8; CHECKSUM_LEN] {
    let mut hash = Sha256::new();
    hash.update(content);
    for part in filter {
        // The length keeps ("ab", "c") and ("a", "bc") apart.
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part.as_bytes());
    }
    let digest = hash.finalize();
    let mut checksum = [0; CHECKSUM_LEN];
    checksum.copy_from_slice(&digest[..CHECKSUM_LEN]);
    checksum
}
