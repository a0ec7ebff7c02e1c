//! Friends. Game code acts for any user, without the limits of clients.

use std::rc::Rc;

use muster_api::{cursors, friends as api};
use muster_domain::account::parse_user_id;
use muster_domain::friends::{self, Befriending, FriendPages, FriendsChanged, NamedFriends};
use muster_domain::ids::UserId;
use muster_domain::limits::FRIEND_SERVER_PAGE_DEFAULT;
use muster_domain::ports::friends::{Friend, FriendOfFriend};
use muster_domain::{ErrorKind, Result};

use super::accounts::{USER, of_user};
use super::records::{object, of_json, of_time, record, texts};
use super::{
    ArgumentRules, Arguments, DocumentedError, EffectClass, GoShape, Host, HostFunction, JavaScriptShape, LuaShape,
    Parameter, ROW, RecordType, Run, TEXTS, Type, field, maybe, number, only, optional, required,
};
use crate::value::Value;

const FRIEND: Type = Type::Record(&RecordType {
    name: "Friend",
    fields: &[
        field("user", USER),
        field("state", Type::Number),
        field("update_time", Type::Number),
        field("metadata", Type::Object),
    ],
});

const FRIEND_OF_FRIEND: Type =
    Type::Record(&RecordType { name: "FriendOfFriend", fields: &[field("referrer", Type::Text), field("user", USER)] });

/// The user who changes something, the user's name, and the others.
const USER_ID: Parameter = required("user_id", Type::Text);
const USERNAME: Parameter = required("username", Type::Text);
const IDS: Parameter = optional("user_ids", TEXTS);
const USERNAMES: Parameter = optional("usernames", TEXTS);

const NAMED: ArgumentRules = ArgumentRules { not_empty: &["username"], ..ArgumentRules::BY_RULE };
/// In Lua a list may be missing, but not empty.
const LUA_NAMED: LuaShape =
    LuaShape::taking(ArgumentRules { not_empty: &["username", "user_ids", "usernames"], ..ArgumentRules::BY_RULE });
const GO_IDS: GoShape = GoShape::arguments(&[("user_ids", "ids")]);
const NOBODY: DocumentedError = (ErrorKind::InvalidArgument, "nobody of the users named exists, or it is the user");

pub(super) static FUNCTIONS: &[HostFunction] = &[
    HostFunction {
        name: "friends_list",
        doc: "Lists the friends of a user, and with other states the requests and blocks: 0 is a friend, 1 is asked \
              by the user, 2 has asked the user, 3 is blocked. Without a state all are listed. The limit is 1 to \
              1,000.",
        parameters: &[
            USER_ID,
            number("limit", FRIEND_SERVER_PAGE_DEFAULT as f64),
            optional("state", Type::Number),
            optional("cursor", Type::Text),
        ],
        results: &[field("friends", Type::List(&FRIEND)), maybe("cursor", Type::Text)],
        answers: "the friends by state and age, and the cursor of the next page if there is one",
        effect: EffectClass::Reads,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let user_id = parse_user_id(&arguments.text()?)?;
                let (limit, state, cursor) = (arguments.integer(), arguments.integer(), arguments.text()?);
                // In the original -1 stands for no state.
                let state = state.filter(|state| *state != -1).map(friends::parse_state).transpose()?;
                let shown = state.map(|state| state.number().to_string()).unwrap_or_default();
                let filter = [&*user_id.to_string(), &*shown];
                let behind = cursors::read_friends(&cursor, &filter)?;
                let (found, next) =
                    friends::list(&*host.store, user_id, FriendPages::SERVER, (limit, state), behind).await?;
                let cursor = next.map(|next| Value::text(cursors::write_friends(next, &filter)));
                Ok(Value::Results(vec![of_friends(&host, found).await, cursor.unwrap_or(Value::Nil)]))
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "friends_of_friends_list",
        doc: "Lists the friends of a user's friends, without the user and the user's own friends. Whoever is a friend \
              of several friends is listed once for each of them. The limit is 1 to 1,000.",
        parameters: &[USER_ID, number("limit", FRIEND_SERVER_PAGE_DEFAULT as f64), optional("cursor", Type::Text)],
        results: &[field("friends_of_friends", Type::List(&FRIEND_OF_FRIEND)), maybe("cursor", Type::Text)],
        answers: "users, each with the id of the friend who has them as a friend, and the cursor of the next page if \
                  there is one",
        effect: EffectClass::Reads,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let user_id = parse_user_id(&arguments.text()?)?;
                let (limit, cursor) = (arguments.integer(), arguments.text()?);
                let filter = [&*user_id.to_string()];
                let behind = cursors::read_friends_of_friends(&cursor, &filter)?;
                let store = &*host.store;
                let (found, next) =
                    friends::list_friends_of_friends(store, user_id, FriendPages::SERVER, limit, behind).await?;
                let cursor = next.map(|next| Value::text(cursors::write_friends_of_friends(next, &filter)));
                Ok(Value::Results(vec![of_friends_of_friends(&host, found).await, cursor.unwrap_or(Value::Nil)]))
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "friends_add",
        doc: "Asks users, by id or name, to be friends of a user, and accepts what they have asked. They are \
              notified. Users who have blocked the user, or whom the user has blocked, are left out.",
        parameters: &[USER_ID, USERNAME, IDS, USERNAMES, optional("metadata", Type::Object)],
        errors: &[NOBODY],
        effect: EffectClass::WritesKeyed,
        lua: LUA_NAMED,
        javascript: JavaScriptShape::taking(ArgumentRules { required: &["metadata"], ..NAMED }),
        go: GO_IDS,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let Some(asked) = Asked::read(&mut arguments)? else { return Ok(Value::Nil) };
                let metadata = object(arguments.any(), "metadata")?.unwrap_or_default();
                asked.change(&host, async |user, named| user.add(named, metadata).await).await
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "friends_delete",
        doc: "Takes users, by id or name, off a user's friends, withdraws or rejects requests, and lifts the user's \
              blocks. Those who lose something are notified.",
        parameters: &[USER_ID, USERNAME, IDS, USERNAMES],
        errors: &[NOBODY],
        effect: EffectClass::WritesKeyed,
        lua: LUA_NAMED,
        javascript: JavaScriptShape::taking(NAMED),
        go: GO_IDS,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let Some(asked) = Asked::read(&mut arguments)? else { return Ok(Value::Nil) };
                let delete = async |user: Befriending<'_>, named| friends::somebody(user.delete(named).await?);
                asked.change(&host, delete).await
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "friends_block",
        doc: "Blocks users, by id or name, for a user: there is no friendship and no request between them any more, \
              they cannot ask, and the direct channel of both closes.",
        parameters: &[USER_ID, USERNAME, IDS, USERNAMES],
        errors: &[NOBODY],
        effect: EffectClass::WritesKeyed,
        lua: LUA_NAMED,
        javascript: JavaScriptShape::taking(NAMED),
        go: GO_IDS,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let Some(asked) = Asked::read(&mut arguments)? else { return Ok(Value::Nil) };
                asked.change(&host, async |user, named| user.block(named).await).await
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "friend_metadata_update",
        doc: "Replaces what a user has noted about a friend. Nothing happens if there is nothing between them.",
        parameters: &[USER_ID, required("friend_user_id", Type::Text), required("metadata", Type::Object)],
        effect: EffectClass::WritesKeyed,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let (user_id, friend) = (parse_user_id(&arguments.text()?)?, parse_user_id(&arguments.text()?)?);
                let metadata = object(arguments.any(), "metadata")?.unwrap_or_else(|| "{}".to_owned());
                befriending(&host, &host.keyed_writes(), user_id, "").annotate(friend, metadata).await?;
                Ok(Value::Nil)
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "users_get_friend_status",
        doc: "Reads what these users are to a user.",
        parameters: &[USER_ID, required("user_ids", TEXTS)],
        results: &[only(Type::List(&FRIEND))],
        answers: "those of the users who are friends, asked, asking or blocked, as friends_list answers them",
        effect: EffectClass::Reads,
        lua: LuaShape::taking(ArgumentRules { not_empty: &["user_ids"], ..ArgumentRules::BY_RULE }),
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let user_id = parse_user_id(&arguments.text()?)?;
                let others = texts(arguments.any(), "user ids")?;
                let others = others.iter().map(|id| parse_user_id(id)).collect::<Result<Vec<_>>>()?;
                let found = friends::status(&*host.store, user_id, &others).await?;
                Ok(of_friends(&host, found).await)
            })
        }),
        ..ROW
    },
];

/// A user who changes friendships, and the others.
struct Asked {
    user_id: UserId,
    username: String,
    named: NamedFriends,
}

impl Asked {
    /// Reads the first four arguments; `None` if nobody is named.
    fn read(arguments: &mut Arguments) -> Result<Option<Self>> {
        let (user_id, username) = (parse_user_id(&arguments.text()?)?, arguments.text()?);
        let ids = texts(arguments.any(), "user ids")?;
        let usernames = texts(arguments.any(), "usernames")?;
        let named = NamedFriends::parse(user_id, &username, &ids, usernames)?;
        Ok((named != NamedFriends::default()).then_some(Self { user_id, username, named }))
    }

    async fn change(
        self,
        host: &Rc<Host>,
        change: impl AsyncFnOnce(Befriending<'_>, NamedFriends) -> Result<FriendsChanged>,
    ) -> Result<Value> {
        let Self { user_id, username, named } = self;
        let writes = host.keyed_writes();
        let changed = change(befriending(host, &writes, user_id, &username), named).await?;
        host.players.notify(changed.notifications).await;
        for stream in api::direct_streams(user_id, changed.blocked) {
            host.players.close_stream(&stream).await?;
        }
        Ok(Value::Nil)
    }
}

fn befriending<'a>(
    host: &'a Host,
    store: &'a dyn muster_domain::ports::friends::FriendChangeStore,
    user_id: UserId,
    username: &'a str,
) -> Befriending<'a> {
    Befriending { store, entropy: &*host.entropy, stamp: host.stamp(), user_id, username, notices: None }
}

async fn of_friends(host: &Host, found: Vec<Friend>) -> Value {
    let online = online(host, found.iter().map(|friend| friend.user.id)).await;
    let friend = |(friend, online): (Friend, bool)| {
        record([
            ("user", of_user(friend.user, online)),
            ("state", Value::Number(friend.state.number().into())),
            ("update_time", of_time(friend.update_time)),
            ("metadata", of_json(&friend.metadata)),
        ])
    };
    Value::List(found.into_iter().zip(online).map(friend).collect())
}

async fn of_friends_of_friends(host: &Host, found: Vec<FriendOfFriend>) -> Value {
    let online = online(host, found.iter().map(|each| each.user.id)).await;
    let each = |(each, online): (FriendOfFriend, bool)| {
        record([("referrer", Value::text(each.referrer.to_string())), ("user", of_user(each.user, online))])
    };
    Value::List(found.into_iter().zip(online).map(each).collect())
}

async fn online(host: &Host, ids: impl Iterator<Item = Option<UserId>>) -> Vec<bool> {
    let ids: Vec<UserId> = ids.map(|id| id.unwrap_or(UserId::SYSTEM)).collect();
    host.players.are_online(&ids).await
}
