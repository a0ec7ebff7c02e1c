//! Positions in listings, as the cursors that clients hold.

use muster_domain::chat::HistoryPlace;
use muster_domain::ids::{LedgerItemId, Uuid, parse_user_id};
use muster_domain::ports::chat::MessagePosition;
use muster_domain::ports::friends::{FriendPosition, FriendState, ReferralPosition};
use muster_domain::ports::notifications::NotificationPosition;
use muster_domain::ports::storage::{ObjectPosition, ReadPermission};
use muster_domain::ports::wallet::LedgerPosition;
use muster_domain::{Error, MessageId, NotificationId, Result, Timestamp};
use muster_live::party::{ListingPosition, PartyId};
use muster_wire::cursor::{CursorError, CursorKind, CursorReader, CursorWriter};

/// The end of the year 9999.
const MOMENT_MAX_US: i64 = 253_402_300_799_999_999;

type Read<T> = std::result::Result<T, CursorError>;

/// The cursor of a position in a listing of storage objects. `filter` is the collection and the owner of the request.
pub fn write_storage(position: &ObjectPosition, filter: &[&str]) -> String {
    let read = match position.read {
        ReadPermission::None => 0,
        ReadPermission::Owner => 1,
        ReadPermission::Public => 2,
    };
    let cursor = CursorWriter::new(CursorKind::StorageObjects).number(read).text(&position.key);
    cursor.text(&position.user_id.to_string()).finish(filter)
}

/// See [`read`].
pub fn read_storage(cursor: &str, filter: &[&str]) -> Result<Option<ObjectPosition>> {
    read(cursor, CursorKind::StorageObjects, filter, |reader| {
        let read = match reader.number()? {
            0 => ReadPermission::None,
            1 => ReadPermission::Owner,
            2 => ReadPermission::Public,
            _ => return Err(CursorError),
        };
        let key = reader.text()?;
        let user_id = parse_user_id(&reader.text()?).map_err(|_| CursorError)?;
        Ok(ObjectPosition { read, key, user_id })
    })
}

/// The cursor of a position in a ledger. `filter` is the owner of the ledger.
pub fn write_ledger(position: LedgerPosition, filter: &[&str]) -> String {
    let cursor = CursorWriter::new(CursorKind::Ledger).number(position.create_time.0);
    cursor.text(&position.id.to_string()).finish(filter)
}

/// See [`read`].
pub fn read_ledger(cursor: &str, filter: &[&str]) -> Result<Option<LedgerPosition>> {
    read(cursor, CursorKind::Ledger, filter, |reader| {
        let create_time = moment(reader)?;
        let id = LedgerItemId(Uuid::try_parse(&reader.text()?).map_err(|_| CursorError)?);
        Ok(LedgerPosition { create_time, id })
    })
}

/// The cursor of a position in a channel's history. `filter` is the channel.
pub fn write_history(place: HistoryPlace, filter: &[&str]) -> String {
    let HistoryPlace { position: MessagePosition { create_time, id }, forward, follows } = place;
    let cursor = CursorWriter::new(CursorKind::ChannelMessages).number(create_time.0).text(&id.to_string());
    cursor.number(forward.into()).number(follows.into()).finish(filter)
}

/// See [`read`].
pub fn read_history(cursor: &str, filter: &[&str]) -> Result<Option<HistoryPlace>> {
    read(cursor, CursorKind::ChannelMessages, filter, |reader| {
        let create_time = moment(reader)?;
        let id: MessageId = reader.text()?.parse().map_err(|_| CursorError)?;
        let (forward, follows) = (flag(reader)?, flag(reader)?);
        Ok(HistoryPlace { position: MessagePosition { create_time, id }, forward, follows })
    })
}

/// The cursor of a position among a player's notifications. `filter` is the player.
pub fn write_notifications(position: NotificationPosition, filter: &[&str]) -> String {
    let cursor = CursorWriter::new(CursorKind::Notifications).number(position.create_time.0);
    cursor.text(&position.id.to_string()).finish(filter)
}

/// See [`read`].
pub fn read_notifications(cursor: &str, filter: &[&str]) -> Result<Option<NotificationPosition>> {
    read(cursor, CursorKind::Notifications, filter, |reader| {
        let create_time = moment(reader)?;
        let id: NotificationId = reader.text()?.parse().map_err(|_| CursorError)?;
        Ok(NotificationPosition { create_time, id })
    })
}

/// The cursor of a position among a user's friends. `filter` is the user and the state of the request.
pub fn write_friends(position: FriendPosition, filter: &[&str]) -> String {
    let cursor = CursorWriter::new(CursorKind::Friends).number(position.state.number().into());
    cursor.number(position.position).finish(filter)
}

/// See [`read`].
pub fn read_friends(cursor: &str, filter: &[&str]) -> Result<Option<FriendPosition>> {
    read(cursor, CursorKind::Friends, filter, |reader| {
        let state = FriendState::of_number(reader.number()?).ok_or(CursorError)?;
        Ok(FriendPosition { state, position: reader.number()? })
    })
}

/// The cursor of a position among the friends of a user's friends. `filter` is the user.
pub fn write_friends_of_friends(position: ReferralPosition, filter: &[&str]) -> String {
    let cursor = CursorWriter::new(CursorKind::FriendsOfFriends).text(&position.referrer.to_string());
    cursor.text(&position.user_id.to_string()).finish(filter)
}

/// See [`read`].
pub fn read_friends_of_friends(cursor: &str, filter: &[&str]) -> Result<Option<ReferralPosition>> {
    read(cursor, CursorKind::FriendsOfFriends, filter, |reader| {
        let mut user_id = || parse_user_id(&reader.text()?).map_err(|_| CursorError);
        Ok(ReferralPosition { referrer: user_id()?, user_id: user_id()? })
    })
}

/// The cursor of a position in a listing of parties. `filter` is the contents of the request.
pub fn write_parties(place: &ListingPosition, filter: &[&str]) -> String {
    let cursor = CursorWriter::new(CursorKind::Parties).number(place.score.to_bits().cast_signed());
    cursor.number(place.created_at.0).text(&place.party.0.to_string()).finish(filter)
}

/// See [`read`].
pub fn read_parties(cursor: &str, filter: &[&str]) -> Result<Option<ListingPosition>> {
    read(cursor, CursorKind::Parties, filter, |reader| {
        let score = f64::from_bits(reader.number()?.cast_unsigned());
        let created_at = Timestamp(reader.number()?);
        let party = PartyId(Uuid::try_parse(&reader.text()?).map_err(|_| CursorError)?);
        Ok(ListingPosition { score, created_at, party })
    })
}

/// Reads a time that both databases can hold. Other times are refused: cursors are not signed, so anybody can make one.
fn moment(reader: &mut CursorReader) -> Read<Timestamp> {
    match reader.number()? {
        micros @ 0..=MOMENT_MAX_US => Ok(Timestamp(micros)),
        _ => Err(CursorError),
    }
}

fn flag(reader: &mut CursorReader) -> Read<bool> {
    match reader.number()? {
        0 => Ok(false),
        1 => Ok(true),
        _ => Err(CursorError),
    }
}

/// The contents of a cursor; `None` when there is no cursor.
///
/// Errors: `InvalidArgument` for a cursor of another listing, and for one that was changed.
fn read<T>(
    cursor: &str,
    kind: CursorKind,
    filter: &[&str],
    parts: impl FnOnce(&mut CursorReader) -> Read<T>,
) -> Result<Option<T>> {
    if cursor.is_empty() {
        return Ok(None);
    }
    let whole = || {
        let mut reader = CursorReader::open(cursor, kind, filter)?;
        let parts = parts(&mut reader)?;
        reader.end().map(|()| parts)
    };
    whole()
        .map(Some)
        .map_err(|CursorError| Error::invalid("The cursor is not valid for this listing. Start again without one."))
}
