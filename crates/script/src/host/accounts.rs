//! Accounts and users.

use muster_domain::account::{self, parse_user_id};
use muster_domain::ports::accounts::{Account, AccountUpdate, User};
use muster_domain::{Result, Timestamp};

use super::records::{object, of_json, of_time, record, some_text, texts};
use super::{Arguments, Effect, Host, HostFunction, Kind, Parameter, Run, optional, table, text};
use crate::value::Value;

pub(super) static FUNCTIONS: &[HostFunction] = &[
    HostFunction {
        name: "account_get_id",
        parameters: &[text("user_id")],
        result: "the account: user, user_id, wallet, devices, and where there are any email, custom_id, verify_time, \
                 disable_time",
        doc: "Reads an account.",
        effect: Effect::Reads,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let user_id = parse_user_id(&arguments.text()?)?;
                let account = account::get(&*host.store, user_id).await?;
                let online = host.players.are_online(&[user_id]).await;
                Ok(of_account(account, online.contains(&true)))
            })
        }),
    },
    HostFunction {
        name: "accounts_get_id",
        parameters: &[table("user_ids")],
        result: "the accounts that exist, each as account_get_id answers it",
        doc: "Reads accounts.",
        effect: Effect::Reads,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let ids = texts(arguments.any(), "user ids")?;
                let ids = ids.iter().map(|id| parse_user_id(id)).collect::<Result<Vec<_>>>()?;
                let online = host.players.are_online(&ids).await;
                let mut accounts = Vec::new();
                for (id, online) in ids.into_iter().zip(online) {
                    match account::get(&*host.store, id).await {
                        Ok(account) => accounts.push(of_account(account, online)),
                        Err(error) if error.kind == muster_domain::ErrorKind::NotFound => {}
                        Err(error) => return Err(error),
                    }
                }
                Ok(Value::List(accounts))
            })
        }),
    },
    HostFunction {
        name: "account_update_id",
        parameters: &[
            text("user_id"),
            optional("metadata", Kind::Table),
            optional("username", Kind::Text),
            optional("display_name", Kind::Text),
            optional("timezone", Kind::Text),
            optional("location", Kind::Text),
            optional("lang_tag", Kind::Text),
            optional("avatar_url", Kind::Text),
        ],
        result: "nothing",
        doc: "Changes what is given of an account.",
        effect: Effect::Writes,
        run: Run::Later(|host, arguments| Box::pin(update(host, arguments))),
    },
    HostFunction {
        name: "account_delete_id",
        parameters: &[text("user_id"), optional("recorded", Kind::Flag)],
        result: "nothing",
        doc: "Deletes an account and all that names its player; sockets close. Recorded, its id and the time are kept.",
        effect: Effect::Writes,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let (user_id, recorded) = (parse_user_id(&arguments.text()?)?, arguments.flag_or(false));
                host.ending().delete(&*host.store, user_id, recorded).await?;
                Ok(Value::Nil)
            })
        }),
    },
    HostFunction {
        name: "account_export_id",
        parameters: &[text("user_id")],
        result: "a JSON text",
        doc: "Exports all that is stored of a player.",
        effect: Effect::Reads,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                Ok(Value::text(account::export(&*host.store, parse_user_id(&arguments.text()?)?).await?))
            })
        }),
    },
    HostFunction {
        name: "users_get_random",
        parameters: &[Parameter { name: "count", kind: Kind::Number, is_optional: false }],
        result: "users",
        doc: "Reads the public part of accounts drawn at random, at most 1,000.",
        effect: Effect::Reads,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let count = arguments.integer().unwrap_or_default();
                let users = account::random(&*host.store, &*host.entropy, count).await?;
                Ok(of_users(&host, users).await)
            })
        }),
    },
    HostFunction {
        name: "users_get_id",
        parameters: &[optional("user_ids", Kind::Table), optional("facebook_ids", Kind::Table)],
        result: "the users that exist",
        doc: "Reads the public part of accounts.",
        effect: Effect::Reads,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let ids = texts(arguments.any(), "user ids")?;
                let facebook_ids = texts(arguments.any(), "Facebook ids")?;
                let users = account::users(&*host.store, &ids, Vec::new(), facebook_ids).await?;
                Ok(of_users(&host, users).await)
            })
        }),
    },
    HostFunction {
        name: "users_get_username",
        parameters: &[table("usernames")],
        result: "the users that exist",
        doc: "Reads the public part of accounts, by their names.",
        effect: Effect::Reads,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let names = texts(arguments.any(), "usernames")?;
                let users = account::users(&*host.store, &[], names, Vec::new()).await?;
                Ok(of_users(&host, users).await)
            })
        }),
    },
];

async fn update(host: std::rc::Rc<Host>, mut arguments: Arguments) -> Result<Value> {
    let user_id = parse_user_id(&arguments.text()?)?;
    let metadata = object(arguments.any(), "metadata")?;
    let mut given = || arguments.text_or_none();
    let (username, display_name, timezone, location, lang_tag, avatar_url) =
        (given()?, given()?, given()?, given()?, given()?, given()?);
    let update = AccountUpdate { username, display_name, avatar_url, lang_tag, location, timezone, metadata };
    account::update(&*host.store, user_id, &update, host.clock.now()).await?;
    Ok(Value::Nil)
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
    let devices = account.devices.into_iter().map(|id| record([("id", Value::text(id))])).collect();
    let time = |time: Timestamp| if time == Timestamp::EPOCH { Value::Nil } else { of_time(time) };
    record([
        ("user_id", account.user.id.map_or(Value::Nil, |id| Value::text(id.to_string()))),
        ("user", of_user(account.user, online)),
        ("wallet", of_json(&account.wallet)),
        ("devices", Value::List(devices)),
        ("email", some_text(account.email)),
        ("custom_id", some_text(account.custom_id)),
        ("verify_time", time(account.verify_time)),
        ("disable_time", time(account.disable_time)),
    ])
}

fn of_user(user: User, online: bool) -> Value {
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
