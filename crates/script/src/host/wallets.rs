//! Wallets, their ledger, and several kinds of things changed together.

use muster_api::cursors;
use muster_domain::Result;
use muster_domain::account::parse_user_id;
use muster_domain::ids::UserId;
use muster_domain::multi_update;
use muster_domain::ports::accounts::AccountUpdate;
use muster_domain::ports::wallet::{LedgerItem, WalletChange};
use muster_domain::wallet::{self, Change};

use super::records::{Record, amounts, object, of_amounts, of_json, of_time, record};
use super::storage::{of_ack, to_delete, to_write};
use super::{Arguments, Effect, HostFunction, Kind, Run, optional, table, text};
use crate::value::Value;

const NO_METADATA: &str = "{}";

pub(super) static FUNCTIONS: &[HostFunction] = &[
    HostFunction {
        name: "wallet_update",
        parameters: &[
            text("user_id"),
            table("changeset"),
            optional("metadata", Kind::Table),
            optional("update_ledger", Kind::Flag),
        ],
        result: "what the wallet holds then, and what it held before",
        doc: "Adds amounts to a player's wallet; less than nothing takes away. Nothing changes if anything would fall below zero. \
              The ledger gets a line if it is asked for.",
        effect: Effect::Writes,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let user_id = parse_user_id(&arguments.text()?)?;
                let changeset = amounts(arguments.any(), "changeset")?;
                let metadata = object(arguments.any(), "metadata")?.unwrap_or_else(|| NO_METADATA.to_owned());
                let change = Change { user_id, changeset, metadata };
                let ledger = arguments.flag_or(false);
                let changed = wallet::update(&*host.store, &*host.entropy, change, ledger, host.stamp()).await?;
                Ok(Value::Results(vec![of_amounts(changed.updated), of_amounts(changed.previous)]))
            })
        }),
    },
    HostFunction {
        name: "wallets_update",
        parameters: &[table("updates"), optional("update_ledger", Kind::Flag)],
        result: "for each wallet its user_id, updated and previous",
        doc: "Changes wallets, all or none. Each update has user_id, changeset, and where needed metadata.",
        effect: Effect::Writes,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let changes = to_changes(arguments.any())?;
                let ledger = arguments.flag_or(false);
                let changed = wallet::update_all(&*host.store, &*host.entropy, changes, ledger, host.stamp()).await?;
                Ok(of_changes(changed))
            })
        }),
    },
    HostFunction {
        name: "wallet_ledger_list",
        parameters: &[text("user_id"), optional("limit", Kind::Number), optional("cursor", Kind::Text)],
        result: "the items, newest first, and the cursor of the next page if there is one",
        doc: "Lists the changes of a player's wallet that were written into the ledger.",
        effect: Effect::Reads,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let user = arguments.text()?;
                let (limit, cursor) = (arguments.integer(), arguments.text()?);
                let behind = cursors::read_ledger(&cursor, &[&user])?;
                let (items, next) = wallet::list_ledger(&*host.store, parse_user_id(&user)?, limit, behind).await?;
                let cursor = next.map(|next| Value::text(cursors::write_ledger(next, &[&user])));
                let items = Value::List(items.into_iter().map(of_item).collect());
                Ok(Value::Results(vec![items, cursor.unwrap_or(Value::Nil)]))
            })
        }),
    },
    HostFunction {
        name: "wallet_ledger_update",
        parameters: &[text("item_id"), table("metadata")],
        result: "the item",
        doc: "Adds metadata to that of an item of the ledger.",
        effect: Effect::Writes,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let id = arguments.text()?;
                let metadata = object(arguments.any(), "metadata")?.unwrap_or_else(|| NO_METADATA.to_owned());
                let item = wallet::update_ledger_item(&*host.store, &id, &metadata, host.clock.now()).await?;
                Ok(of_item(item))
            })
        }),
    },
    HostFunction {
        name: "multi_update",
        parameters: &[
            optional("account_updates", Kind::Table),
            optional("storage_writes", Kind::Table),
            optional("storage_deletes", Kind::Table),
            optional("wallet_updates", Kind::Table),
            optional("update_ledger", Kind::Flag),
        ],
        result: "what became of the written objects, and of the wallets",
        doc: "Changes accounts, objects and wallets together, all or nothing.",
        effect: Effect::Writes,
        run: Run::Later(|host, arguments| {
            Box::pin(async move {
                let request = to_request(arguments)?;
                let (acks, changed) = multi_update::run(&*host.store, &*host.entropy, request, host.stamp()).await?;
                let acks = Value::List(acks.into_iter().map(of_ack).collect());
                Ok(Value::Results(vec![acks, of_changes(changed)]))
            })
        }),
    },
];

fn to_request(mut arguments: Arguments) -> Result<multi_update::Request> {
    let records = |value, what| Record::list(value, what);
    let accounts = records(arguments.any(), "account updates")?;
    let writes = records(arguments.any(), "storage writes")?;
    let deletes = records(arguments.any(), "storage deletes")?;
    Ok(multi_update::Request {
        accounts: accounts.into_iter().map(to_account).collect::<Result<_>>()?,
        writes: writes.into_iter().map(to_write).collect::<Result<_>>()?,
        deletes: deletes.into_iter().map(to_delete).collect::<Result<_>>()?,
        wallets: to_changes(arguments.any())?,
        update_ledger: arguments.flag_or(false),
    })
}

fn to_account(mut account: Record) -> Result<(UserId, AccountUpdate)> {
    let mut given = |name| account.text(name).map(|text| Some(text).filter(|text| !text.is_empty()));
    let update = AccountUpdate {
        username: given("username")?,
        display_name: given("display_name")?,
        avatar_url: given("avatar_url")?,
        lang_tag: given("lang_tag")?,
        location: given("location")?,
        timezone: given("timezone")?,
        metadata: None,
    };
    let metadata = account.object("metadata")?;
    Ok((account.user_id("user_id")?, AccountUpdate { metadata, ..update }))
}

fn to_changes(value: Value) -> Result<Vec<Change>> {
    let change = |mut update: Record| {
        let metadata = update.object("metadata")?.unwrap_or_else(|| NO_METADATA.to_owned());
        Ok(Change { user_id: update.user_id("user_id")?, changeset: update.amounts("changeset")?, metadata })
    };
    Record::list(value, "wallet updates")?.into_iter().map(change).collect()
}

fn of_changes(changed: Vec<(UserId, WalletChange)>) -> Value {
    let change = |(user_id, change): (UserId, WalletChange)| {
        record([
            ("user_id", Value::text(user_id.to_string())),
            ("updated", of_amounts(change.updated)),
            ("previous", of_amounts(change.previous)),
        ])
    };
    Value::List(changed.into_iter().map(change).collect())
}

fn of_item(item: LedgerItem) -> Value {
    record([
        ("id", Value::text(item.id.to_string())),
        ("user_id", Value::text(item.user_id.to_string())),
        ("create_time", of_time(item.create_time)),
        ("update_time", of_time(item.update_time)),
        ("changeset", of_amounts(item.changeset)),
        ("metadata", of_json(&item.metadata)),
    ])
}
