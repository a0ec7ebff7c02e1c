//! Cursors tell where the next page of a listing begins. Clients do not look into them.
//!
//! A cursor belongs to one kind of listing and to its filter, and contains a checksum over both. A cursor that was
//! changed, or that comes from another listing, is refused (code 3). Cursors are not secret and grant no rights: the
//! next page is checked like any other request.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use sha2::{Digest as _, Sha256};

use crate::code::Code;

/// Version of the form. Cursors of other versions are refused.
const VERSION: u8 = 1;
const CHECKSUM_LEN: usize = 8;
/// Longest text of a cursor; longer ones are refused before any work is done.
pub const CURSOR_LEN_MAX: usize = 4096;

/// The kinds of listings. The numbers are part of the form and are never reused.
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

/// A cursor that is damaged, or belongs to another listing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the cursor is not valid for this listing; start again without one")]
pub struct CursorError;

impl CursorError {
    /// The code of the answer.
    #[must_use]
    pub fn code(self) -> Code {
        Code::InvalidArgument
    }
}

/// Writes a cursor, part by part.
#[derive(Debug)]
pub struct CursorWriter {
    bytes: Vec<u8>,
}

impl CursorWriter {
    /// An empty cursor for a kind of listing.
    #[must_use]
    pub fn new(kind: CursorKind) -> Self {
        Self { bytes: vec![VERSION, kind as u8] }
    }

    /// Appends a text.
    #[must_use]
    pub fn text(mut self, text: &str) -> Self {
        self.bytes.extend_from_slice(&(text.len() as u64).to_le_bytes()[..4]);
        self.bytes.extend_from_slice(text.as_bytes());
        self
    }

    /// Appends a number.
    #[must_use]
    pub fn number(mut self, number: i64) -> Self {
        self.bytes.extend_from_slice(&number.to_le_bytes());
        self
    }

    /// The text of the cursor, bound to the filter: the other values that select the listing, such as collection and
    /// owner.
    #[must_use]
    pub fn finish(mut self, filter: &[&str]) -> String {
        let checksum = checksum(&self.bytes, filter);
        self.bytes.extend_from_slice(&checksum);
        URL_SAFE_NO_PAD.encode(&self.bytes)
    }
}

/// Reads the parts of a cursor in the order in which they were written.
#[derive(Debug)]
pub struct CursorReader {
    bytes: Vec<u8>,
    position: usize,
}

impl CursorReader {
    /// Opens a cursor of a kind and filter.
    ///
    /// # Errors
    /// When the cursor has another kind, filter or version, or was changed.
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

    /// The next part, which is a text.
    ///
    /// # Errors
    /// When the next part is no text.
    pub fn text(&mut self) -> Result<String, CursorError> {
        let len = self.take(4)?.iter().rev().fold(0, |len, &byte| len << 8 | usize::from(byte));
        let bytes = self.take(len)?.to_vec();
        String::from_utf8(bytes).map_err(|_| CursorError)
    }

    /// The next part, which is a number.
    ///
    /// # Errors
    /// When no number is left.
    pub fn number(&mut self) -> Result<i64, CursorError> {
        let bytes = self.take(8)?.try_into().map_err(|_| CursorError)?;
        Ok(i64::from_le_bytes(bytes))
    }

    /// Checks that all parts have been read.
    ///
    /// # Errors
    /// When parts are left.
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
