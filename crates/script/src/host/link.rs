//! Linking and unlinking the identifiers by which players sign in.

use std::rc::Rc;

use muster_domain::Result;
use muster_domain::account::{self, parse_user_id};
use muster_domain::link;
use muster_domain::ports::accounts::{Account, Identifier, Unlink};

use super::{Arguments, Effect, Host, HostFunction, Kind, Run, optional, text};
use crate::value::Value;

pub(super) static FUNCTIONS: &[HostFunction] = &[
    HostFunction {
        name: "link_device",
        parameters: &[text("user_id"), text("device_id")],
        result: "nothing",
        doc: "Links a device to an account.",
        effect: Effect::Writes,
        run: Run::Later(|host, arguments| Box::pin(link(host, arguments, Identifier::Device))),
    },
    HostFunction {
        name: "link_custom",
        parameters: &[text("user_id"), text("custom_id")],
        result: "nothing",
        doc: "Links an id of the studio's own to an account.",
        effect: Effect::Writes,
        run: Run::Later(|host, arguments| Box::pin(link(host, arguments, Identifier::Custom))),
    },
    HostFunction {
        name: "link_email",
        parameters: &[text("user_id"), text("email"), text("password")],
        result: "nothing",
        doc: "Links an e-mail address and a password to an account, instead of those there were.",
        effect: Effect::Writes,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let user_id = parse_user_id(&arguments.text()?)?;
                let (email, password) = (arguments.text()?, arguments.text()?);
                let (store, passwords) = (&*host.store, &*host.signing.passwords);
                link::link_email(store, passwords, user_id, &email, &password, host.clock.now()).await?;
                Ok(Value::Nil)
            })
        }),
    },
    HostFunction {
        name: "unlink_device",
        parameters: &[text("user_id"), text("device_id")],
        result: "nothing",
        doc: "Unlinks a device from an account, unless it is the last way to sign in.",
        effect: Effect::Writes,
        run: Run::Later(|host, arguments| Box::pin(unlink(host, arguments, Unlink::Device, |_| String::new()))),
    },
    HostFunction {
        name: "unlink_custom",
        parameters: &[text("user_id"), optional("custom_id", Kind::Text)],
        result: "nothing",
        doc: "Unlinks an account's custom id, if it is this one or none is given, unless it is the last way to sign in.",
        effect: Effect::Writes,
        run: Run::Later(|host, arguments| {
            Box::pin(unlink(host, arguments, Unlink::Custom, |account| account.custom_id))
        }),
    },
    HostFunction {
        name: "unlink_email",
        parameters: &[text("user_id"), optional("email", Kind::Text)],
        result: "nothing",
        doc: "Unlinks an account's e-mail address, if it is this one or none is given, unless it is the last way to sign in.",
        effect: Effect::Writes,
        run: Run::Later(|host, arguments| Box::pin(unlink(host, arguments, Unlink::Email, |account| account.email))),
    },
];

async fn link(host: Rc<Host>, mut arguments: Arguments, kind: fn(String) -> Identifier) -> Result<Value> {
    let user_id = parse_user_id(&arguments.text()?)?;
    let identifier = kind(arguments.text()?);
    link::link(&*host.store, user_id, &identifier, host.clock.now()).await?;
    Ok(Value::Nil)
}

/// `present` answers which one the account has, for a call that names none.
async fn unlink(
    host: Rc<Host>,
    mut arguments: Arguments,
    kind: fn(String) -> Unlink,
    present: fn(Account) -> String,
) -> Result<Value> {
    let user_id = parse_user_id(&arguments.text()?)?;
    let mut named = arguments.text()?;
    if named.is_empty() {
        named = present(account::get(&*host.store, user_id).await?);
    }
    link::unlink(&*host.store, user_id, kind(named), host.clock.now()).await?;
    Ok(Value::Nil)
}
