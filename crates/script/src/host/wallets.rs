//! Wallets, their ledger, and multi-updates, which change accounts, objects and wallets together.

use muster_api::cursors;
use muster_domain::account::parse_user_id;
use muster_domain::ids::UserId;
use muster_domain::limits::LEDGER_PAGE_MAX;
use muster_domain::multi_update::{self, MultiUpdateRequest};
use muster_domain::ports::accounts::AccountUpdate;
use muster_domain::ports::store::Store;
use muster_domain::ports::wallet::{LedgerItem, LedgerPosition, WalletChange};
use muster_domain::wallet::{self, WalletChangeRequest};
use muster_domain::{ErrorKind, Result};

use super::accounts::USER_UPDATE_ACCOUNT;
use super::records::{Record, amounts, object, of_amounts, of_json, of_time, record};
use super::refusals::NO_ACCOUNT;
use super::storage::{
    ACK_WITHOUT_TIMES, OWNER_NOT_EMPTY, STORAGE_DELETE_REQUEST, STORAGE_WRITE_ACK, STORAGE_WRITE_REQUEST, of_ack,
    to_delete, to_write,
};
use super::{
    AMOUNTS, AnswerShape, ArgumentRules, Arguments, DocumentedError, EffectClass, GoShape, HostFunction,
    JavaScriptShape, LuaShape, ROW, RecordType, Run, Type, field, flag, maybe, number, only, optional, required,
};
use crate::value::Value;

const NO_METADATA: &str = "{}";

/// The largest number of items of a ledger in one answer.
const LEDGER_LEN_MAX: i32 = 10_000;

const WALLET_UPDATE: Type = Type::Record(&RecordType {
    name: "WalletUpdate",
    fields: &[field("user_id", Type::Text), field("changeset", AMOUNTS), maybe("metadata", Type::Object)],
});

const WALLET_UPDATE_RESULT: Type = Type::Record(&RecordType {
    name: "WalletUpdateResult",
    fields: &[field("user_id", Type::Text), field("updated", AMOUNTS), field("previous", AMOUNTS)],
});

const WALLET_LEDGER_ITEM: Type = Type::Record(&RecordType {
    name: "WalletLedgerItem",
    fields: &[
        field("id", Type::Text),
        field("user_id", Type::Text),
        field("create_time", Type::Number),
        field("update_time", Type::Number),
        field("changeset", AMOUNTS),
        field("metadata", Type::Object),
    ],
});

/// Error of a change that takes more from a wallet than the wallet holds.
pub(super) const BELOW_ZERO: DocumentedError = (ErrorKind::FailedPrecondition, "an amount would fall below zero");

pub(super) static FUNCTIONS: &[HostFunction] = &[
    HostFunction {
        name: "wallet_update",
        doc: "Adds amounts to a player's wallet; negative amounts are taken away. If an amount would fall below zero, \
              nothing changes. The change is written into the ledger if update_ledger is true.",
        parameters: &[
            required("user_id", Type::Text),
            required("changeset", AMOUNTS),
            optional("metadata", Type::Object),
            flag("update_ledger", false),
        ],
        results: &[field("updated", AMOUNTS), field("previous", AMOUNTS)],
        answers: "the wallet after the change, and the wallet before it",
        errors: &[NO_ACCOUNT, BELOW_ZERO],
        effect: EffectClass::WritesKeyed,
        javascript: JavaScriptShape { repeats: "user_id", ..JavaScriptShape::BY_RULE },
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let user_id = parse_user_id(&arguments.text()?)?;
                let changeset = amounts(arguments.any(), "changeset")?;
                let metadata = object(arguments.any(), "metadata")?.unwrap_or_else(|| NO_METADATA.to_owned());
                let change = WalletChangeRequest { user_id, changeset, metadata };
                let ledger = arguments.flag();
                let changed =
                    wallet::update(&host.keyed_writes(), &*host.entropy, change, ledger, host.stamp()).await?;
                Ok(Value::Results(vec![of_amounts(changed.updated), of_amounts(changed.previous)]))
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "wallets_update",
        doc: "Changes wallets, all or none. Each update has user_id and changeset, and may have metadata.",
        parameters: &[required("updates", Type::List(&WALLET_UPDATE)), flag("update_ledger", false)],
        results: &[only(Type::List(&WALLET_UPDATE_RESULT))],
        answers: "user_id, updated and previous of each wallet, and nothing without updates",
        errors: &[BELOW_ZERO],
        effect: EffectClass::WritesKeyed,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let changes = to_changes(arguments.any())?;
                if changes.is_empty() {
                    return Ok(Value::Results(Vec::new()));
                }
                let ledger = arguments.flag();
                let changed =
                    wallet::update_all(&host.keyed_writes(), &*host.entropy, changes, ledger, host.stamp()).await?;
                Ok(of_changes(changed))
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "wallet_ledger_list",
        doc: "Lists the items of the ledger: the changes of a player's wallet that were written into it.",
        parameters: &[
            required("user_id", Type::Text),
            number("limit", LEDGER_PAGE_MAX as f64),
            optional("cursor", Type::Text),
        ],
        results: &[field("items", Type::List(&WALLET_LEDGER_ITEM)), maybe("cursor", Type::Text)],
        answers: "the items, newest first, and the cursor of the next page if there is one",
        effect: EffectClass::Reads,
        lua: LuaShape {
            arguments: ArgumentRules { ranges: &[("limit", 0.0, LEDGER_PAGE_MAX as f64)], ..ArgumentRules::BY_RULE },
            answer: AnswerShape { blank: &["cursor"], ..AnswerShape::BY_RULE },
        },
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let user = arguments.text()?;
                let (limit, cursor) = (arguments.integer(), arguments.text()?);
                let behind = cursors::read_ledger(&cursor, &[&user])?;
                let user_id = parse_user_id(&user)?;
                let (items, next) = match limit.unwrap_or(LEDGER_PAGE_MAX) {
                    ..0 => (Vec::new(), None),
                    limit => ledger_items(&*host.store, user_id, limit, behind).await?,
                };
                let cursor = next.map(|next| Value::text(cursors::write_ledger(next, &[&user])));
                let items = Value::List(items.into_iter().map(of_item).collect());
                Ok(Value::Results(vec![items, cursor.unwrap_or(Value::Nil)]))
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "wallet_ledger_update",
        doc: "Adds metadata to the metadata of an item of the ledger.",
        parameters: &[required("item_id", Type::Text), required("metadata", Type::Object)],
        results: &[only(WALLET_LEDGER_ITEM)],
        answers: "the item",
        errors: &[(ErrorKind::NotFound, "there is no such item")],
        effect: EffectClass::Writes,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let id = arguments.text()?;
                let metadata = object(arguments.any(), "metadata")?.unwrap_or_else(|| NO_METADATA.to_owned());
                let item = wallet::update_ledger_item(&*host.store, &id, &metadata, host.clock.now()).await?;
                Ok(of_item(item))
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "multi_update",
        doc: "Changes accounts, objects and wallets together: if one change fails, nothing is changed.",
        parameters: &[
            optional("account_updates", Type::List(&USER_UPDATE_ACCOUNT)),
            optional("storage_writes", Type::List(&STORAGE_WRITE_REQUEST)),
            optional("storage_deletes", Type::List(&STORAGE_DELETE_REQUEST)),
            optional("wallet_updates", Type::List(&WALLET_UPDATE)),
            flag("update_ledger", false),
        ],
        results: &[
            field("storage_write_acks", Type::List(&STORAGE_WRITE_ACK)),
            field("wallet_update_acks", Type::List(&WALLET_UPDATE_RESULT)),
        ],
        answers: "the results of the written objects, as of storage_write, and of the wallets, as of wallets_update",
        errors: &[(ErrorKind::AlreadyExists, "a username is taken"), BELOW_ZERO],
        effect: EffectClass::WritesKeyed,
        lua: LuaShape::answering(AnswerShape {
            no_empty_list: &["storage_write_acks", "wallet_update_acks"],
            ..ACK_WITHOUT_TIMES
        }),
        javascript: JavaScriptShape { arguments: OWNER_NOT_EMPTY, ..JavaScriptShape::with_tables(ACK_WITHOUT_TIMES) },
        go: GoShape { error: "rejected", ..GoShape::BY_RULE },
        run: Run::Later(|host, arguments| {
            Box::pin(async move {
                let request = to_request(arguments)?;
                let made = multi_update::run(&host.keyed_writes(), &*host.entropy, request, host.stamp()).await?;
                let acks = Value::List(made.acks.into_iter().map(of_ack).collect());
                Ok(Value::Results(vec![acks, of_changes(made.wallets)]))
            })
        }),
    },
];

/// A page of the ledger, read in parts where it is longer than the store's pages.
async fn ledger_items(
    store: &dyn Store,
    user_id: UserId,
    limit: i32,
    behind: Option<LedgerPosition>,
) -> Result<(Vec<LedgerItem>, Option<LedgerPosition>)> {
    if limit == 0 {
        return Ok((Vec::new(), Some(behind.unwrap_or(LedgerPosition::START))));
    }
    let (mut items, mut left) = wallet::list_ledger(store, user_id, Some(limit.min(LEDGER_PAGE_MAX)), behind).await?;
    let limit = limit.min(LEDGER_LEN_MAX) as usize;
    while left.is_some() && items.len() < limit {
        let part = limit.saturating_sub(items.len()).min(LEDGER_PAGE_MAX as usize) as i32;
        let (more, next) = wallet::list_ledger(store, user_id, Some(part), left).await?;
        items.extend(more);
        left = next;
    }
    Ok((items, left))
}

fn to_request(mut arguments: Arguments) -> Result<MultiUpdateRequest> {
    let records = |value, what| Record::list(value, what);
    let accounts = records(arguments.any(), "account updates")?;
    let writes = records(arguments.any(), "storage writes")?;
    let deletes = records(arguments.any(), "storage deletes")?;
    Ok(MultiUpdateRequest {
        accounts: accounts.into_iter().map(to_account).collect::<Result<_>>()?,
        writes: writes.into_iter().map(to_write).collect::<Result<_>>()?,
        deletes: deletes.into_iter().map(to_delete).collect::<Result<_>>()?,
        wallets: to_changes(arguments.any())?,
        update_ledger: arguments.flag(),
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

fn to_changes(value: Value) -> Result<Vec<WalletChangeRequest>> {
    let change = |mut update: Record| {
        let metadata = update.object("metadata")?.unwrap_or_else(|| NO_METADATA.to_owned());
        Ok(WalletChangeRequest {
            user_id: update.user_id("user_id")?,
            changeset: update.amounts("changeset")?,
            metadata,
        })
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
