//! Outcomes of keyed writes in the form in which both databases keep them: a fingerprint of the request, and the
//! outcome as JSON that later programs can read.
//!
//! Outcomes name no player. The players stand in the request, which comes again with its key.

use muster_domain::UserId;
use muster_domain::ports::accounts::AccountUpdate;
use muster_domain::ports::keyed_writes::{WriteKey, WriteStamp};
use muster_domain::ports::multi_update::{MultiOutcome, MultiUpdate};
use muster_domain::ports::storage::{Expected, ObjectAck, ObjectId, ObjectWrite};
use muster_domain::ports::store::{Conflict, Rejection, StoreError};
use muster_domain::ports::wallet::{Amounts, UnfitBalance, WalletChange, WalletUpdate};
use muster_domain::time::Timestamp;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};

use crate::objects;

/// The form of fingerprints and outcomes that this program writes. A later program must read older forms for as long as
/// outcomes are kept.
pub(crate) const FORMAT: i16 = 1;

/// A keyed write, with the fingerprint of its request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KeyedWrite {
    pub(crate) key: WriteKey,
    pub(crate) fingerprint: [u8; 32],
    pub(crate) now: Timestamp,
}

/// The row of an earlier write under the same key.
pub(crate) struct KnownWrite<'a> {
    pub(crate) fingerprint: &'a [u8],
    pub(crate) format: i16,
    pub(crate) outcome: &'a str,
}

/// A request of a write that may have a key.
pub(crate) trait KeyedRequest {
    /// Outcome of the write, besides refusals.
    type Outcome;

    /// SHA-256 of the request, without what the server chose for it.
    fn fingerprint(&self) -> [u8; 32];

    /// An outcome as JSON. `None` for a failure of the environment or of ours: such a write may be tried again, so its
    /// outcome is not kept.
    fn encode(&self, outcome: &Result<Self::Outcome, StoreError>) -> Option<String>;

    /// The outcome that was kept; `None` if it is damaged.
    fn decode(&self, kept: &str) -> Option<Result<Self::Outcome, StoreError>>;
}

impl KeyedRequest for MultiUpdate {
    type Outcome = MultiOutcome;

    fn fingerprint(&self) -> [u8; 32] {
        fingerprint(self)
    }

    fn encode(&self, outcome: &Result<MultiOutcome, StoreError>) -> Option<String> {
        serde_json::to_string(&Stored::of(outcome, self)?).ok()
    }

    fn decode(&self, kept: &str) -> Option<Result<MultiOutcome, StoreError>> {
        serde_json::from_str::<Stored>(kept).ok()?.outcome(self)
    }
}

impl KeyedWrite {
    /// The keyed write of a request; `None` for a write without a key.
    pub(crate) fn of(request: &impl KeyedRequest, stamp: WriteStamp) -> Option<Self> {
        stamp.key.map(|key| Self { key, fingerprint: request.fingerprint(), now: stamp.now })
    }

    /// The outcome of the earlier write under this key.
    ///
    /// # Errors
    /// `Diverged` when the earlier write was another request; `Internal` for an outcome that this program cannot read.
    pub(crate) fn outcome<Request: KeyedRequest>(
        &self,
        known: KnownWrite<'_>,
        request: &Request,
    ) -> Result<Result<Request::Outcome, StoreError>, StoreError> {
        if known.format != FORMAT {
            return Err(StoreError::Internal(format!("an effect's outcome has the unknown form {}", known.format)));
        }
        if known.fingerprint != self.fingerprint {
            return Err(StoreError::Diverged);
        }
        request.decode(known.outcome).ok_or_else(damaged)
    }
}

fn damaged() -> StoreError {
    StoreError::Internal("the outcome of an effect is damaged".to_owned())
}

#[derive(Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
enum Stored {
    Done {
        acks: Vec<StoredAck>,
        wallets: Vec<Option<StoredChange>>,
    },
    /// The balance of a wallet does not allow the change. `wallet` is the index of the wallet in the request.
    Balance {
        wallet: usize,
        name: String,
        current: i64,
        amount: i64,
    },
    Conflict(String),
    Rejected(String),
    Invalid(String),
}

#[derive(Deserialize, Serialize)]
struct StoredAck {
    version: String,
    create_time: i64,
    update_time: i64,
}

impl StoredAck {
    /// The acknowledgement of `write`, which this was stored for.
    fn ack(self, write: &ObjectWrite) -> ObjectAck {
        let ack = objects::ack(write, Timestamp(self.create_time), Timestamp(self.update_time));
        ObjectAck { version: self.version, ..ack }
    }
}

#[derive(Deserialize, Serialize)]
struct StoredChange {
    previous: Amounts,
    updated: Amounts,
}

const CONFLICTS: [(Conflict, &str); 5] = [
    (Conflict::Username, "username"),
    (Conflict::Email, "email"),
    (Conflict::Device, "device"),
    (Conflict::Custom, "custom"),
    (Conflict::User, "user"),
];

const REJECTIONS: [(Rejection, &str); 5] = [
    (Rejection::Version, "version"),
    (Rejection::Permission, "permission"),
    (Rejection::LastIdentifier, "last_identifier"),
    (Rejection::NotLinked, "not_linked"),
    (Rejection::Superseded, "superseded"),
];

fn name<T: PartialEq>(names: &[(T, &'static str)], value: &T) -> Option<String> {
    names.iter().find(|(each, _)| each == value).map(|(_, name)| (*name).to_owned())
}

fn named<T: Copy>(names: &[(T, &'static str)], wanted: &str) -> Option<T> {
    names.iter().find(|(_, name)| *name == wanted).map(|(value, _)| *value)
}

impl Stored {
    fn of(outcome: &Result<MultiOutcome, StoreError>, update: &MultiUpdate) -> Option<Self> {
        Some(match outcome {
            Ok(done) => {
                let ack = |ack: &ObjectAck| StoredAck {
                    version: ack.version.clone(),
                    create_time: ack.create_time.0,
                    update_time: ack.update_time.0,
                };
                let change = |WalletChange { previous, updated }: &WalletChange| StoredChange {
                    previous: previous.clone(),
                    updated: updated.clone(),
                };
                let wallets = done.wallets.iter().map(|each| each.as_ref().map(change)).collect();
                Self::Done { acks: done.acks.iter().map(ack).collect(), wallets }
            }
            Err(StoreError::Balance(unfit)) => {
                let UnfitBalance { user_id, name, current, amount } = &**unfit;
                let wallet = update.wallets.iter().position(|each| each.user_id == *user_id)?;
                Self::Balance { wallet, name: name.clone(), current: *current, amount: *amount }
            }
            Err(StoreError::Conflict(conflict)) => Self::Conflict(name(&CONFLICTS, conflict)?),
            Err(StoreError::Rejected(rejection)) => Self::Rejected(name(&REJECTIONS, rejection)?),
            Err(StoreError::Invalid(sentence)) => Self::Invalid(sentence.clone()),
            Err(
                StoreError::Unavailable(_)
                | StoreError::Internal(_)
                | StoreError::Exceeded(_)
                | StoreError::Diverged
                | StoreError::Restored,
            ) => return None,
        })
    }

    fn outcome(self, update: &MultiUpdate) -> Option<Result<MultiOutcome, StoreError>> {
        Some(Err(match self {
            Self::Done { acks, wallets } => {
                if (acks.len(), wallets.len()) != (update.writes.len(), update.wallets.len()) {
                    return None;
                }
                let change = |StoredChange { previous, updated }| WalletChange { previous, updated };
                return Some(Ok(MultiOutcome {
                    acks: update.writes.iter().zip(acks).map(|(write, stored)| stored.ack(write)).collect(),
                    wallets: wallets.into_iter().map(|each| each.map(change)).collect(),
                }));
            }
            Self::Balance { wallet, name, current, amount } => {
                let user_id = update.wallets.get(wallet)?.user_id;
                StoreError::Balance(Box::new(UnfitBalance { user_id, name, current, amount }))
            }
            Self::Conflict(name) => StoreError::Conflict(named(&CONFLICTS, &name)?),
            Self::Rejected(name) => StoreError::Rejected(named(&REJECTIONS, &name)?),
            Self::Invalid(sentence) => StoreError::Invalid(sentence),
        }))
    }
}

/// SHA-256 of the request. Times and the ids of ledger items are left out: the server chooses them, and they differ
/// when the match asks again.
fn fingerprint(update: &MultiUpdate) -> [u8; 32] {
    let MultiUpdate { accounts, writes, deletes, wallets } = update;
    let mut asked = Asked::of("multi_update");
    asked.all(accounts, |asked, (user_id, account)| asked.account(*user_id, account));
    asked.all(writes, Asked::write);
    asked.all(deletes, |asked, delete| {
        asked.object(&delete.id);
        asked.text(&delete.version);
    });
    asked.all(wallets, Asked::wallet);
    asked.finish()
}

/// A hash of the request. Each text and list goes in behind its length, so that no two requests hash the same bytes.
pub(crate) struct Asked(Sha256);

impl Asked {
    /// A hash of a request of this kind.
    pub(crate) fn of(kind: &str) -> Self {
        let mut asked = Self(Sha256::new());
        asked.text(kind);
        asked
    }

    pub(crate) fn finish(self) -> [u8; 32] {
        self.0.finalize().into()
    }

    fn number(&mut self, number: i64) {
        self.0.update(number.to_le_bytes());
    }

    pub(crate) fn text(&mut self, text: &str) {
        self.number(text.len() as i64);
        self.0.update(text);
    }

    pub(crate) fn user(&mut self, user_id: UserId) {
        self.0.update(user_id.0.as_bytes());
    }

    pub(crate) fn all<T>(&mut self, items: &[T], each: impl Fn(&mut Self, &T)) {
        self.number(items.len() as i64);
        items.iter().for_each(|item| each(self, item));
    }

    fn option(&mut self, text: Option<&str>) {
        self.number(text.is_some().into());
        self.text(text.unwrap_or_default());
    }

    fn account(&mut self, user_id: UserId, update: &AccountUpdate) {
        let AccountUpdate { username, display_name, avatar_url, lang_tag, location, timezone, metadata } = update;
        self.user(user_id);
        for field in [username, display_name, avatar_url, lang_tag, location, timezone, metadata] {
            self.option(field.as_deref());
        }
    }

    fn object(&mut self, ObjectId { collection, key, user_id }: &ObjectId) {
        self.text(collection);
        self.text(key);
        self.user(*user_id);
    }

    fn write(&mut self, write: &ObjectWrite) {
        self.object(&write.id);
        self.text(&write.value);
        match &write.expected {
            Expected::Any => self.number(0),
            Expected::Absent => self.number(1),
            Expected::Version(version) => {
                self.number(2);
                self.text(version);
            }
        }
        self.number(objects::read_code(write.read).into());
        self.number(objects::write_code(write.write).into());
    }

    fn wallet(&mut self, update: &WalletUpdate) {
        self.user(update.user_id);
        self.number(update.changeset.len() as i64);
        for (name, amount) in &update.changeset {
            self.text(name);
            self.number(*amount);
        }
        self.option(update.ledger.as_ref().map(|entry| entry.metadata.as_str()));
    }
}

#[cfg(test)]
mod tests;
