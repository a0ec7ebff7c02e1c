//! Accounts and users.

use std::collections::BTreeSet;

use muster_domain::account::{self, parse_user_id};
use muster_domain::ports::accounts::{Account, AccountUpdate, User};
use muster_domain::{Error, ErrorKind, Result, Timestamp};

use super::records::{object, of_json, of_time, record, some_text, texts};
use super::refusals::NO_ACCOUNT;
use super::{
    AMOUNTS, AnswerShape, ArgumentRules, Arguments, DefaultValue, EffectClass, GoShape, Host, HostFunction,
    JavaScriptShape, LuaShape, ROW, RecordType, Run, TEXTS, Type, field, flag, maybe, not_yet, number, only, optional,
    required,
};
use crate::value::Value;

pub(super) const USER: Type = Type::Record(&RecordType {
    name: "User",
    fields: &[
        field("user_id", Type::Text),
        field("username", Type::Text),
        field("display_name", Type::Text),
        field("avatar_url", Type::Text),
        field("lang_tag", Type::Text),
        field("location", Type::Text),
        field("timezone", Type::Text),
        field("metadata", Type::Object),
        maybe("apple_id", Type::Text),
        maybe("facebook_id", Type::Text),
        maybe("facebook_instant_game_id", Type::Text),
        maybe("google_id", Type::Text),
        maybe("gamecenter_id", Type::Text),
        maybe("steam_id", Type::Text),
        field("online", Type::Flag),
        field("edge_count", Type::Number),
        field("create_time", Type::Number),
        field("update_time", Type::Number),
    ],
});

const ACCOUNT_DEVICE: Type = Type::Record(&RecordType { name: "AccountDevice", fields: &[field("id", Type::Text)] });

const ACCOUNT: Type = Type::Record(&RecordType {
    name: "Account",
    fields: &[
        field("user", USER),
        field("wallet", AMOUNTS),
        maybe("devices", Type::List(&ACCOUNT_DEVICE)),
        maybe("email", Type::Text),
        maybe("custom_id", Type::Text),
        maybe("verify_time", Type::Number),
        maybe("disable_time", Type::Number),
    ],
});

/// In Lua the fields of the user stand in the account, too, as in the original.
const WITH_USER: LuaShape = LuaShape::answering(AnswerShape { spread: "user", ..AnswerShape::BY_RULE });

pub(super) const USER_UPDATE_ACCOUNT: Type = Type::Record(&RecordType {
    name: "UserUpdateAccount",
    fields: &[
        field("user_id", Type::Text),
        maybe("username", Type::Text),
        maybe("display_name", Type::Text),
        maybe("timezone", Type::Text),
        maybe("location", Type::Text),
        maybe("lang_tag", Type::Text),
        maybe("avatar_url", Type::Text),
        maybe("metadata", Type::Object),
    ],
});

pub(super) static FUNCTIONS: &[HostFunction] = &[
    HostFunction {
        name: "account_get_id",
        doc: "Reads an account.",
        parameters: &[required("user_id", Type::Text)],
        results: &[only(ACCOUNT)],
        answers: "the account: user, wallet, and where there are any devices, email, custom_id, verify_time, disable_time",
        errors: &[NO_ACCOUNT],
        effect: EffectClass::Reads,
        lua: WITH_USER,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let user_id = parse_user_id(&arguments.text()?)?;
                let account = account::get(&*host.store, user_id).await?;
                let online = host.players.are_online(&[user_id]).await;
                Ok(of_account(account, online.contains(&true)))
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "accounts_get_id",
        doc: "Reads accounts.",
        parameters: &[optional("user_ids", TEXTS)],
        results: &[only(Type::List(&ACCOUNT))],
        answers: "the accounts that exist, each once and as account_get_id answers it",
        effect: EffectClass::Reads,
        lua: WITH_USER,
        go: GoShape::by_hand("AccountsGetId"),
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let ids = texts(arguments.any(), "user ids")?;
                let ids = ids.iter().map(|id| parse_user_id(id)).collect::<Result<BTreeSet<_>>>()?;
                let ids = Vec::from_iter(ids);
                let online = host.players.are_online(&ids).await;
                let mut accounts = Vec::new();
                for (id, online) in ids.into_iter().zip(online) {
                    match account::get(&*host.store, id).await {
                        Ok(account) => accounts.push(of_account(account, online)),
                        Err(error) if error.kind == ErrorKind::NotFound => {}
                        Err(error) => return Err(error),
                    }
                }
                Ok(Value::List(accounts))
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "account_update_id",
        doc: "Changes an account. Arguments that are left out leave their part of the account as it is. Nothing happens if \
              there is no such account.",
        parameters: &[
            required("user_id", Type::Text),
            optional("metadata", Type::Object),
            optional("username", Type::Text),
            optional("display_name", Type::Text),
            optional("timezone", Type::Text),
            optional("location", Type::Text),
            optional("lang_tag", Type::Text),
            optional("avatar_url", Type::Text),
        ],
        effect: EffectClass::Writes,
        lua: LuaShape::taking(ArgumentRules {
            empty_is_absent: &["username", "display_name", "timezone", "location", "lang_tag", "avatar_url"],
            ..ArgumentRules::BY_RULE
        }),
        javascript: JavaScriptShape::ordered(&[
            "user_id",
            "username",
            "display_name",
            "timezone",
            "location",
            "lang_tag",
            "avatar_url",
            "metadata",
        ]),
        run: Run::Later(|host, arguments| Box::pin(update(host, arguments))),
        ..ROW
    },
    HostFunction {
        name: "account_delete_id",
        doc: "Deletes an account and all that its player wrote or owned, and closes the player's sockets. With recorded, \
              the server keeps the account's id and the time of the deletion.",
        parameters: &[required("user_id", Type::Text), flag("recorded", false)],
        effect: EffectClass::Writes,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let (user_id, recorded) = (parse_user_id(&arguments.text()?)?, arguments.flag());
                host.ending().delete(&*host.store, user_id, recorded).await?;
                Ok(Value::Nil)
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "account_export_id",
        doc: "Exports all data that the server stores about a player.",
        parameters: &[required("user_id", Type::Text)],
        results: &[only(Type::Text)],
        answers: "a JSON text",
        errors: &[NO_ACCOUNT],
        effect: EffectClass::Reads,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                Ok(Value::text(account::export(&*host.store, parse_user_id(&arguments.text()?)?).await?))
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "users_get_random",
        doc: "Reads the public part of accounts that are drawn at random, 1,000 accounts at most.",
        parameters: &[number("count", 0.0)],
        results: &[only(Type::List(&USER))],
        answers: "users",
        effect: EffectClass::Reads,
        javascript: JavaScriptShape::taking(ArgumentRules { required: &["count"], ..ArgumentRules::BY_RULE }),
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let count = arguments.integer().unwrap_or_default();
                let users = account::random(&*host.store, &*host.entropy, count).await?;
                Ok(of_users(&host, users).await)
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "users_get_id",
        doc: "Reads the public part of the accounts with these ids.",
        parameters: &[optional("user_ids", TEXTS), optional("facebook_ids", TEXTS)],
        results: &[only(Type::List(&USER))],
        answers: "the users that exist",
        effect: EffectClass::Reads,
        javascript: JavaScriptShape::taking(ArgumentRules {
            defaults: &[("user_ids", DefaultValue::EmptyList)],
            ..ArgumentRules::BY_RULE
        }),
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let ids = arguments.any();
                let is_given = ids != Value::Nil;
                let (ids, facebook_ids) = (texts(ids, "user ids")?, texts(arguments.any(), "Facebook ids")?);
                if is_given && ids.is_empty() && facebook_ids.is_empty() {
                    return Err(Error::invalid("expects at least one id of a user, or of a user of Facebook"));
                }
                let users = account::users(&*host.store, &ids, Vec::new(), facebook_ids).await?;
                Ok(of_users(&host, users).await)
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "users_get_username",
        doc: "Reads the public part of the accounts with these usernames.",
        parameters: &[required("usernames", TEXTS)],
        results: &[only(Type::List(&USER))],
        answers: "the users that exist",
        effect: EffectClass::Reads,
        javascript: JavaScriptShape::taking(ArgumentRules { not_empty: &["usernames"], ..ArgumentRules::BY_RULE }),
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let names = texts(arguments.any(), "usernames")?;
                let users = account::users(&*host.store, &[], names, Vec::new()).await?;
                Ok(of_users(&host, users).await)
            })
        }),
        ..ROW
    },
    not_yet("account_import_id"),
];

async fn update(host: std::rc::Rc<Host>, mut arguments: Arguments) -> Result<Value> {
    let user_id = parse_user_id(&arguments.text()?)?;
    let metadata = object(arguments.any(), "metadata")?;
    let mut given = || arguments.text_or_none();
    let (username, display_name, timezone, location, lang_tag, avatar_url) =
        (given()?, given()?, given()?, given()?, given()?, given()?);
    let update = AccountUpdate { username, display_name, avatar_url, lang_tag, location, timezone, metadata };
    match account::update(&*host.store, user_id, &update, host.clock.now()).await {
        Err(error) if error.kind != ErrorKind::NotFound => Err(error),
        _ => Ok(Value::Nil),
    }
}

async fn of_users(host: &Host, users: Vec<User>) -> Value {
    let ids: Vec<_> = users.iter().filter_map(|user| user.id).collect();
    let online = host.players.are_online(&ids).await;
    let mut online = online.into_iter();
    let user = |user: User| {
        let is_online = user.id.is_some() && online.next().unwrap_or_default();
        of_user(user, is_online)
    };
    Value::List(users.into_iter().map(user).collect())
}

fn of_account(account: Account, online: bool) -> Value {
    let devices: Vec<_> = account.devices.into_iter().map(|id| record([("id", Value::text(id))])).collect();
    let devices = if devices.is_empty() { Value::Nil } else { Value::List(devices) };
    let time = |time: Timestamp| if time == Timestamp::EPOCH { Value::Nil } else { of_time(time) };
    record([
        ("user", of_user(account.user, online)),
        ("wallet", of_json(&account.wallet)),
        ("devices", devices),
        ("email", some_text(account.email)),
        ("custom_id", some_text(account.custom_id)),
        ("verify_time", time(account.verify_time)),
        ("disable_time", time(account.disable_time)),
    ])
}

pub(super) fn of_user(user: User, online: bool) -> Value {
    record([
        ("user_id", user.id.map_or(Value::Nil, |id| Value::text(id.to_string()))),
        ("username", Value::text(user.username)),
        ("display_name", Value::text(user.display_name)),
        ("avatar_url", Value::text(user.avatar_url)),
        ("lang_tag", Value::text(user.lang_tag)),
        ("location", Value::text(user.location)),
        ("timezone", Value::text(user.timezone)),
        ("metadata", of_json(&user.metadata)),
        ("apple_id", some_text(user.apple_id)),
        ("facebook_id", some_text(user.facebook_id)),
        ("facebook_instant_game_id", some_text(user.facebook_instant_game_id)),
        ("google_id", some_text(user.google_id)),
        ("gamecenter_id", some_text(user.gamecenter_id)),
        ("steam_id", some_text(user.steam_id)),
        ("online", Value::Flag(online)),
        ("edge_count", Value::Number(user.edge_count.into())),
        ("create_time", of_time(user.create_time)),
        ("update_time", of_time(user.update_time)),
    ])
}
