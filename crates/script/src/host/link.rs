//! The functions that link and unlink the identifiers by which players sign in.

use std::rc::Rc;

use muster_domain::account::{self, parse_user_id};
use muster_domain::link;
use muster_domain::ports::accounts::{Account, Identifier, Unlink};
use muster_domain::{ErrorKind, Result};

use super::refusals::{NO_ACCOUNT, TOO_MANY_PASSWORDS};
use super::{
    Arguments, DocumentedError, EffectClass, Host, HostFunction, JavaScriptShape, ROW, Run, Type, not_yet, optional,
    required,
};
use crate::value::Value;

const TAKEN: DocumentedError = (ErrorKind::AlreadyExists, "another account has the identifier");
const LINK: &[DocumentedError] = &[NO_ACCOUNT, TAKEN];
const LAST: DocumentedError =
    (ErrorKind::PermissionDenied, "the identifier is not linked, or is the last way to sign in");

pub(super) static FUNCTIONS: &[HostFunction] = &[
    HostFunction {
        name: "link_device",
        doc: "Links a device to an account.",
        parameters: &[required("user_id", Type::Text), required("device_id", Type::Text)],
        errors: LINK,
        effect: EffectClass::Writes,
        run: Run::Later(|host, arguments| Box::pin(link(host, arguments, Identifier::Device))),
        ..ROW
    },
    HostFunction {
        name: "link_custom",
        doc: "Links a custom id, which the studio has chosen, to an account.",
        parameters: &[required("user_id", Type::Text), required("custom_id", Type::Text)],
        errors: LINK,
        effect: EffectClass::Writes,
        run: Run::Later(|host, arguments| Box::pin(link(host, arguments, Identifier::Custom))),
        ..ROW
    },
    HostFunction {
        name: "link_email",
        doc: "Links an e-mail address and a password to an account, in place of the account's former ones.",
        parameters: &[required("user_id", Type::Text), required("email", Type::Text), required("password", Type::Text)],
        errors: &[NO_ACCOUNT, TAKEN, TOO_MANY_PASSWORDS],
        effect: EffectClass::Writes,
        run: Run::Later(|host, mut arguments| {
            Box::pin(async move {
                let user_id = parse_user_id(&arguments.text()?)?;
                let (email, password) = (arguments.text()?, arguments.text()?);
                let (store, passwords) = (&*host.store, &*host.signing.passwords);
                link::link_email(store, passwords, user_id, &email, &password, host.clock.now()).await?;
                Ok(Value::Nil)
            })
        }),
        ..ROW
    },
    HostFunction {
        name: "unlink_device",
        doc: "Unlinks a device from an account, unless the device is the last way to sign in.",
        parameters: &[required("user_id", Type::Text), required("device_id", Type::Text)],
        errors: &[LAST],
        effect: EffectClass::Writes,
        run: Run::Later(|host, arguments| Box::pin(unlink(host, arguments, Unlink::Device, |_| String::new()))),
        ..ROW
    },
    HostFunction {
        name: "unlink_custom",
        doc: "Unlinks an account's custom id, unless the id is the last way to sign in. If an id is given, the \
              account must have that id.",
        parameters: &[required("user_id", Type::Text), optional("custom_id", Type::Text)],
        errors: &[LAST],
        effect: EffectClass::Writes,
        run: Run::Later(|host, arguments| {
            Box::pin(unlink(host, arguments, Unlink::Custom, |account| account.custom_id))
        }),
        ..ROW
    },
    HostFunction {
        name: "unlink_email",
        doc: "Unlinks an account's e-mail address, unless the address is the last way to sign in. If an address is \
              given, the account must have that address.",
        parameters: &[required("user_id", Type::Text), optional("email", Type::Text)],
        errors: &[LAST],
        effect: EffectClass::Writes,
        run: Run::Later(|host, arguments| Box::pin(unlink(host, arguments, Unlink::Email, |account| account.email))),
        ..ROW
    },
    not_yet("link_apple"),
    not_yet("link_facebook"),
    not_yet("link_facebook_instant_game"),
    HostFunction { javascript: JavaScriptShape::named(&["linkGameCenter"]), ..not_yet("link_gamecenter") },
    not_yet("link_google"),
    not_yet("link_steam"),
    not_yet("unlink_apple"),
    not_yet("unlink_facebook"),
    not_yet("unlink_facebook_instant_game"),
    HostFunction { javascript: JavaScriptShape::named(&["unlinkGameCenter"]), ..not_yet("unlink_gamecenter") },
    not_yet("unlink_google"),
    not_yet("unlink_steam"),
];

async fn link(host: Rc<Host>, mut arguments: Arguments, kind: fn(String) -> Identifier) -> Result<Value> {
    let user_id = parse_user_id(&arguments.text()?)?;
    let identifier = kind(arguments.text()?);
    link::link(&*host.store, user_id, &identifier, host.clock.now()).await?;
    Ok(Value::Nil)
}

/// Unlinks the identifier that the call names. If the call names none, `present` finds the identifier that the account
/// has.
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
