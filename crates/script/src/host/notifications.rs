//! Notifications. Game code may send them to any user, and read, change and delete those of any user.

use std::cell::Cell;
use std::rc::Rc;

use muster_api::cursors;
use muster_domain::account::parse_user_id;
use muster_domain::ids::UserId;
use muster_domain::limits::NOTIFICATION_SERVER_PAGE_DEFAULT;
use muster_domain::notifications::{self, NewNotification};
use muster_domain::ports::notifications::{Notification, NotificationUpdate};
use muster_domain::{Error, ErrorKind, Result};

use super::records::{Record, object, of_json, of_time, record, texts};
use super::{
    AnswerShape, ArgumentRules, Arguments, EffectClass, Host, HostFunction, JavaScriptShape, LuaShape, Parameter, ROW,
    RecordType, Run, TEXTS, Type, field, flag, maybe, number, only, optional, required,
};
use crate::value::Value;

/// Limit on the persistent notifications to everybody that one shard writes at the same time.
pub const SENDS_TO_ALL_MAX: usize = 4;

const NOTIFICATION_REQUEST: Type = Type::Record(&RecordType {
    name: "NotificationRequest",
    fields: &[
        field("user_id", Type::Text),
        field("subject", Type::Text),
        field("content", Type::Object),
        field("code", Type::Number),
        maybe("sender_id", Type::Text),
        maybe("persistent", Type::Flag),
    ],
});

const NOTIFICATION_DELETE_REQUEST: Type = Type::Record(&RecordType {
    name: "NotificationDeleteRequest",
    fields: &[maybe("user_id", Type::Text), field("notification_id", Type::Text)],
});

const NOTIFICATION_UPDATE: Type = Type::Record(&RecordType {
    name: "NotificationUpdate",
    fields: &[
        field("id", Type::Text),
        maybe("subject", Type::Text),
        maybe("content", Type::Object),
        maybe("sender", Type::Text),
    ],
});

const LISTED_NOTIFICATION: Type = Type::Record(&RecordType {
    name: "ListedNotification",
    fields: &[
        field("id", Type::Text),
        field("subject", Type::Text),
        field("content", Type::Text),
        field("code", Type::Number),
        field("sender_id", Type::Text),
        field("create_time", Type::Number),
        field("persistent", Type::Flag),
    ],
});

const NOTIFICATION: Type = Type::Record(&RecordType {
    name: "Notification",
    fields: &[
        field("id", Type::Text),
        field("user_id", Type::Text),
        field("subject", Type::Text),
        field("content", Type::Object),
        field("code", Type::Number),
        field("sender_id", Type::Text),
        field("create_time", Type::Number),
        field("persistent", Type::Flag),
    ],
});

/// The ids of notifications. They may stand before or after the user, because the original's languages differ in that.
const IDS: Parameter = required("ids", Type::Either(&TEXTS, &Type::Text));
const USER: Parameter = optional("user_id", Type::Either(&Type::Text, &TEXTS));

/// In Lua ids may be neither missing nor none.
const SOME_IDS: LuaShape =
    LuaShape::taking(ArgumentRules { required: &["ids"], not_empty: &["ids"], ..ArgumentRules::BY_RULE });

pub(super) static FUNCTIONS: &[HostFunction] = &[
    HostFunction {
        name: "notification_send",
        doc: "Sends a notification to a user. A persistent notification is stored until somebody deletes it; any \
              other reaches only a user who is connected.",
        parameters: &[
            required("user_id", Type::Text),
            required("subject", Type::Text),
            required("content", Type::Object),
            required("code", Type::Number),
            optional("sender_id", Type::Text),
            flag("persistent", false),
        ],
        effect: EffectClass::Writes,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let user_id = parse_user_id(&arguments.text()?)?;
                let new = NewNotification { user_id, ..to_new(&mut arguments, true)? };
                send(&host, vec![new]).await
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "notifications_send",
        doc: "Sends notifications, all or none. Each notification has user_id, subject, content and code, and may \
              have sender_id and persistent.",
        parameters: &[required("notifications", Type::List(&NOTIFICATION_REQUEST))],
        effect: EffectClass::Writes,
        javascript: JavaScriptShape::taking(ArgumentRules {
            members_not_empty: &["sender_id"],
            ..ArgumentRules::BY_RULE
        }),
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let records = Record::list(arguments.any(), "notifications")?;
                let new = records.into_iter().map(of_record).collect::<Result<Vec<_>>>()?;
                send(&host, new).await
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "notification_send_all",
        doc: "Sends a notification to all users who are connected. A persistent notification goes to all users there \
              are, and the server goes on sending it after the function has returned.",
        parameters: &[
            required("subject", Type::Text),
            required("content", Type::Object),
            required("code", Type::Number),
            flag("persistent", false),
        ],
        errors: &[(ErrorKind::Unavailable, "too many persistent notifications to all users are being written")],
        effect: EffectClass::Writes,
        run: Run::Later(|host, arguments| Box::pin(send_all(host, arguments))),
        ..ROW
    },
    HostFunction {
        name: "notifications_list",
        doc: "Lists the persistent notifications of a user. The limit is 1 to 1,000.",
        parameters: &[
            required("user_id", Type::Text),
            number("limit", NOTIFICATION_SERVER_PAGE_DEFAULT as f64),
            optional("cursor", Type::Text),
        ],
        results: &[field("notifications", Type::List(&LISTED_NOTIFICATION)), maybe("cursor", Type::Text)],
        answers: "the notifications, the oldest first and with their content as JSON, and the cursor of the next page if there \
                 is one",
        effect: EffectClass::Reads,
        lua: LuaShape::answering(AnswerShape { is_camel_case: true, ..AnswerShape::BY_RULE }),
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let user = arguments.text()?;
                let (limit, cursor) = (arguments.integer(), arguments.text()?);
                let behind = cursors::read_notifications(&cursor, &[&user])?;
                let user_id = parse_user_id(&user)?;
                let (found, next) = notifications::list_for_server(&*host.store, user_id, limit, behind).await?;
                let cursor = next.map(|next| Value::text(cursors::write_notifications(next, &[&user])));
                let found = Value::List(found.into_iter().map(listed).collect());
                Ok(Value::Results(vec![found, cursor.unwrap_or(Value::Nil)]))
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "notifications_get_id",
        doc: "Reads the persistent notifications with these ids. If a user is given, only that user's notifications \
              are read.",
        parameters: &[IDS, USER],
        results: &[only(Type::List(&NOTIFICATION))],
        answers: "the notifications that exist, in the order of their ids in the request",
        effect: EffectClass::Reads,
        lua: SOME_IDS,
        javascript: JavaScriptShape::with_tables(AnswerShape {
            renamed: &[("sender_id", "sender")],
            ..AnswerShape::BY_RULE
        }),
        run: Run::Later(|host, arguments| {
            Box::pin(async move {
                let (ids, user_id) = ids_and_user(arguments)?;
                let found = notifications::get(&*host.store, user_id, &ids).await?;
                Ok(Value::List(found.into_iter().map(of_notification).collect()))
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "notifications_delete",
        doc: "Deletes notifications, each named by notification_id, and by user_id if it must be that user's.",
        parameters: &[required("notifications", Type::List(&NOTIFICATION_DELETE_REQUEST))],
        effect: EffectClass::Writes,
        javascript: JavaScriptShape::taking(ArgumentRules {
            members_not_empty: &["user_id", "notification_id"],
            ..ArgumentRules::BY_RULE
        }),
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let mut by_user = std::collections::BTreeMap::<Option<UserId>, Vec<String>>::new();
                for mut named in Record::list(arguments.any(), "notifications")? {
                    let id = named.text("notification_id")?;
                    let user = match named.text("user_id")?.as_str() {
                        "" => None,
                        id => Some(parse_user_id(id)?),
                    };
                    by_user.entry(user).or_default().push(id);
                }
                for ids in by_user.values() {
                    ids.iter().try_for_each(|id| notifications::parse_id(id).map(|_| ()))?;
                }
                for (user_id, ids) in by_user {
                    notifications::delete(&*host.store, user_id, &ids).await?;
                }
                Ok(Value::Nil)
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "notifications_delete_id",
        doc: "Deletes the notifications with these ids. If a user is given, only that user's notifications are \
              deleted.",
        parameters: &[IDS, USER],
        effect: EffectClass::Writes,
        lua: SOME_IDS,
        run: Run::Later(|host, arguments| {
            Box::pin(async move {
                let (ids, user_id) = ids_and_user(arguments)?;
                notifications::delete(&*host.store, user_id, &ids).await?;
                Ok(Value::Nil)
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "notifications_update",
        doc: "Changes persistent notifications, all or none. Each update has the notification's id, and those of \
              subject, content and sender that change.",
        parameters: &[required("updates", Type::List(&NOTIFICATION_UPDATE))],
        effect: EffectClass::Writes,
        javascript: JavaScriptShape::taking(ArgumentRules {
            members_not_empty: &["id", "subject", "sender"],
            ..ArgumentRules::BY_RULE
        }),
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let updates = Record::list(arguments.any(), "updates")?;
                let updates = updates.into_iter().map(to_update).collect::<Result<Vec<_>>>()?;
                notifications::update(&*host.store, &updates).await?;
                Ok(Value::Nil)
            })
        }),
        ..ROW
    },
];

async fn send(host: &Host, new: Vec<NewNotification>) -> Result<Value> {
    let sent = notifications::send(&*host.store, &*host.clock, &*host.entropy, new).await?;
    host.players.notify(sent).await;
    Ok(Value::Nil)
}

/// Reads the arguments subject, content, code and persistent, and between the last two a sender if `has_sender`. The
/// receiver is left as the system user: callers set it, or send to everybody.
fn to_new(arguments: &mut Arguments, has_sender: bool) -> Result<NewNotification> {
    let subject = arguments.text()?;
    let content = object(arguments.any(), "content")?.unwrap_or_else(|| "{}".to_owned());
    let code = notifications::check_code(arguments.integer().unwrap_or_default(), has_sender)?;
    let sender_id = if has_sender { sender(&arguments.text()?)? } else { UserId::SYSTEM };
    let persistent = arguments.flag();
    Ok(NewNotification { user_id: UserId::SYSTEM, subject, content, code, sender_id, persistent })
}

fn of_record(mut new: Record) -> Result<NewNotification> {
    Ok(NewNotification {
        user_id: new.user_id("user_id")?,
        subject: new.text("subject")?,
        content: new
            .object("content")?
            .ok_or_else(|| Error::invalid("expects the content of each notification to be a table or object"))?,
        code: notifications::check_code(new.integer("code")?.unwrap_or_default(), false)?,
        sender_id: sender(&new.text("sender_id")?)?,
        persistent: new.flag("persistent")?.unwrap_or(false),
    })
}

fn to_update(mut update: Record) -> Result<NotificationUpdate> {
    let given = |text: String| Some(text).filter(|text| !text.is_empty());
    Ok(NotificationUpdate {
        id: notifications::parse_id(&update.text("id")?)?,
        subject: given(update.text("subject")?),
        content: update.object("content")?,
        sender_id: given(update.text("sender")?).map(|id| parse_user_id(&id)).transpose()?,
    })
}

/// Parses the id of a sender. An empty one stands for the system user.
fn sender(id: &str) -> Result<UserId> {
    if id.is_empty() { Ok(UserId::SYSTEM) } else { parse_user_id(id) }
}

/// Reads ids of notifications, and the user whom they must belong to, if one is given.
fn ids_and_user(mut arguments: Arguments) -> Result<(Vec<String>, Option<UserId>)> {
    let (ids, user) = match (arguments.any(), arguments.any()) {
        (user @ Value::Bytes(_), ids @ (Value::List(_) | Value::Map(_))) => (ids, user),
        given => given,
    };
    let user_id = match texts(user, "user id")?.first() {
        Some(id) if !id.is_empty() => Some(parse_user_id(id)?),
        _ => None,
    };
    Ok((texts(ids, "ids")?, user_id))
}

async fn send_all(host: Rc<Host>, mut arguments: Arguments) -> Result<Value> {
    let new = to_new(&mut arguments, false)?;
    notifications::check(&new)?;
    if !new.persistent {
        let sent = notifications::send(&*host.store, &*host.clock, &*host.entropy, vec![new]).await?;
        for notification in sent {
            host.players.notify_all(notification).await;
        }
        return Ok(Value::Nil);
    }
    let sending = SendToAll::begin(&host)?;
    let writing = host.clone();
    (host.spawn)(Box::pin(async move {
        let Host { store, clock, entropy, players, .. } = &*writing;
        let push = async |sent: Vec<Notification>| players.notify_connected(sent).await;
        if let Err(error) = notifications::send_to_all(&**store, &**clock, &**entropy, new, push).await {
            tracing::error!(%error, "a notification to everybody did not reach everybody");
        }
        drop(sending);
    }));
    Ok(Value::Nil)
}

/// A notification that is being written for every user. It counts in [`Host::sends_to_all`] until this value is
/// dropped.
struct SendToAll(Rc<Cell<usize>>);

impl SendToAll {
    fn begin(host: &Host) -> Result<Self> {
        let count = &host.sends_to_all;
        if count.get() >= SENDS_TO_ALL_MAX {
            let message = "As many notifications to everybody are being written as may be. Try again later.";
            return Err(Error::new(ErrorKind::Unavailable, message));
        }
        count.set(count.get() + 1);
        Ok(Self(count.clone()))
    }
}

impl Drop for SendToAll {
    fn drop(&mut self) {
        self.0.set(self.0.get() - 1);
    }
}

fn listed(notification: Notification) -> Value {
    record([
        ("id", Value::text(notification.id.to_string())),
        ("subject", Value::text(notification.subject)),
        ("content", Value::text(notification.content)),
        ("code", Value::Number(notification.code.into())),
        ("sender_id", of_sender(notification.sender_id)),
        ("create_time", of_time(notification.create_time)),
        ("persistent", Value::Flag(notification.persistent)),
    ])
}

/// The id of a sender; empty for the system user.
fn of_sender(sender: UserId) -> Value {
    Value::text(if sender == UserId::SYSTEM { String::new() } else { sender.to_string() })
}

fn of_notification(notification: Notification) -> Value {
    record([
        ("id", Value::text(notification.id.to_string())),
        ("user_id", Value::text(notification.user_id.to_string())),
        ("subject", Value::text(notification.subject)),
        ("content", of_json(&notification.content)),
        ("code", Value::Number(notification.code.into())),
        ("sender_id", of_sender(notification.sender_id)),
        ("create_time", of_time(notification.create_time)),
        ("persistent", Value::Flag(notification.persistent)),
    ])
}
