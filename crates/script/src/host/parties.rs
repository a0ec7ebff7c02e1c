//! The function that lists parties.

use muster_domain::{Error, ErrorKind};
use muster_wire::api::ListPartiesRequest;

use super::records::record;
use super::{EffectClass, GoShape, HostFunction, ROW, RecordType, Run, Type, field, flag, maybe, optional};
use crate::value::Value;

const PARTY: Type = Type::Record(&RecordType {
    name: "Party",
    fields: &[
        field("party_id", Type::Text),
        field("open", Type::Flag),
        field("hidden", Type::Flag),
        field("max_size", Type::Number),
        field("label", Type::Text),
    ],
});

pub(super) static FUNCTIONS: &[HostFunction] = &[HostFunction {
    name: "party_list",
    doc: "Lists parties that are not hidden, the best match first. The limit is 1 to 100. Hidden parties cannot be listed yet.",
    parameters: &[
        optional("limit", Type::Number),
        optional("open", Type::Flag),
        flag("show_hidden", false),
        optional("query", Type::Text),
        optional("cursor", Type::Text),
    ],
    results: &[field("parties", Type::List(&PARTY)), maybe("cursor", Type::Text)],
    answers: "the parties: party_id, open, hidden, max_size, label; and the cursor of the next page if there is one",
    effect: EffectClass::Reads,
    go: GoShape::by_hand("PartyList"),
    run: Run::Later(|host, mut arguments| {
        Box::pin(async move {
            let limit = arguments.integer();
            let open = match arguments.any() {
                Value::Flag(open) => Some(open),
                _ => None,
            };
            if arguments.flag() {
                return Err(Error::new(
                    ErrorKind::Unimplemented,
                    "Hidden parties cannot be listed on this server yet.",
                ));
            }
            let (query, cursor) = (arguments.text_or_none()?, arguments.text_or_none()?);
            let found = host.players.parties(&host.node, ListPartiesRequest { limit, open, query, cursor }).await?;
            let party = |party: muster_wire::api::Party| {
                record([
                    ("party_id", Value::text(party.party_id)),
                    ("open", Value::Flag(party.open)),
                    ("hidden", Value::Flag(party.hidden)),
                    ("max_size", Value::Number(party.max_size.into())),
                    ("label", Value::text(party.label)),
                ])
            };
            let cursor = Some(found.cursor).filter(|cursor| !cursor.is_empty()).map_or(Value::Nil, Value::text);
            Ok(Value::Results(vec![Value::List(found.parties.into_iter().map(party).collect()), cursor]))
        })
    }),
    ..ROW
}];
