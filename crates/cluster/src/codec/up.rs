//! Messages up.

use muster_live::matches::LeaveReason;
use muster_live::plane::{Audience, Condition, Join, Publish, RequestRef, Told, Up, pool_partition};
use muster_live::{Encoding, Epoch, Partition};
use muster_wire::node::{self, message::What};

use super::blobs::{Blobs, Writer};
use super::form::{
    CodecError, Form, Result, ids_from_wire, ids_to_wire, list_from_wire, list_to_wire, maybe, narrow, part, required,
    size, wrong,
};
use super::stream::{delivery_from_wire, delivery_to_wire};
use super::{carry, kinds};

pub(super) fn to_wire(up: &Up, writer: &mut Writer) -> What {
    match up {
        Up::Join(join) => What::Join(Box::new(join_to_wire(join))),
        Up::Leave { stream, session, heard, reason } => {
            let heard = heard.map(|encoding| encoding.to_wire());
            let (stream, session) = (Some(stream.to_wire()), Some(session.to_wire()));
            What::Leave(node::Leave { stream, session, heard, reason: reason.to_wire() })
        }
        Up::Listen { stream, listener, request: _ } => {
            let (stream, listener) = (Some(stream.to_wire()), Some(listener.to_wire()));
            What::Listen(node::Listen { stream, listener })
        }
        Up::Unlisten { stream, listener, by_join } => {
            let (stream, listener) = (Some(stream.to_wire()), Some(listener.to_wire()));
            What::Unlisten(node::Unlisten { stream, listener, by_join: *by_join })
        }
        Up::Publish(publish) => What::Publish(publish_to_wire(publish, writer)),
        Up::Ask { request: _, ask } => kinds::ask_to_wire(ask),
        Up::Count { request: _, streams } => What::Count(node::Count { streams: list_to_wire(streams) }),
        Up::List { request: _, stream, with_hidden, skip, limit } => {
            let (stream, with_hidden) = (Some(stream.to_wire()), *with_hidden);
            What::List(node::List { stream, with_hidden, skip: *skip as u64, limit: *limit as u64 })
        }
        Up::Claim { request: _, claim } => What::Claim(claim.to_wire()),
        Up::Rebind { request: _, rebind } => What::Rebind(Box::new(rebind.to_wire())),
        Up::Order { request: _, order } => What::Order(Box::new(order.to_wire())),
        Up::All { request: _, payload } => What::ForAll(node::ForAll { payload: Some(writer.payload(&**payload)) }),
        Up::Matches { request: _, limit, sizes } => {
            let (limit, size_min, size_max) = (*limit as u64, sizes.0 as u64, sizes.1 as u64);
            What::Matches(node::Matches { limit, size_min, size_max })
        }
        Up::Rebuild { partition, epoch, told: Told::Streams(standings) } => What::Rebuild(node::Rebuild {
            partition: partition_to_wire(*partition),
            epoch: epoch.0,
            standings: list_to_wire(standings),
        }),
        // There is one pool, so its partition is not written.
        Up::Rebuild { partition: _, epoch, told: Told::Tickets(standings) } => {
            What::Tickets(node::TicketsHeld { epoch: epoch.0, standings: list_to_wire(standings) })
        }
        Up::Carried { partition, epoch, parts, ends } => What::Carried(node::CarriedParts {
            partition: partition_to_wire(*partition),
            epoch: epoch.0,
            parts: list_to_wire(parts),
            ends: *ends,
        }),
        Up::Fence { partitions } => What::Fence(node::Fence { partitions: list_to_wire(partitions) }),
        Up::Passed { partitions } => What::Passed(node::Fence { partitions: list_to_wire(partitions) }),
        Up::Heard { partitions } => What::Heard(node::Fence { partitions: list_to_wire(partitions) }),
    }
}

pub(super) fn from_wire(what: What, request: Option<RequestRef>, blobs: &mut Blobs) -> Result<Up> {
    // The request of a question that means nothing without an answer.
    let asked = || required(request, "message.request");
    Ok(match what {
        What::Join(join) => Up::Join(Box::new(join_from_wire(*join, request)?)),
        What::Leave(leave) => Up::Leave {
            stream: part(leave.stream, "leave.stream")?,
            session: part(leave.session, "leave.session")?,
            heard: maybe::<Encoding>(leave.heard)?,
            reason: LeaveReason::from_wire(leave.reason)?,
        },
        What::Listen(listen) => Up::Listen {
            stream: part(listen.stream, "listen.stream")?,
            listener: part(listen.listener, "listen.listener")?,
            request,
        },
        What::Unlisten(unlisten) => Up::Unlisten {
            stream: part(unlisten.stream, "unlisten.stream")?,
            listener: part(unlisten.listener, "unlisten.listener")?,
            by_join: unlisten.by_join,
        },
        What::Publish(publish) => Up::Publish(publish_from_wire(publish, blobs)?),
        What::Count(count) => Up::Count { request: asked()?, streams: list_from_wire(count.streams)? },
        What::List(list) => Up::List {
            request: asked()?,
            stream: part(list.stream, "list.stream")?,
            with_hidden: list.with_hidden,
            skip: size(list.skip),
            limit: size(list.limit),
        },
        What::Claim(claim) => Up::Claim { request: asked()?, claim: Form::from_wire(claim)? },
        What::Rebind(rebind) => Up::Rebind { request: asked()?, rebind: Box::new(Form::from_wire(*rebind)?) },
        What::Order(order) => Up::Order { request: asked()?, order: Box::new(Form::from_wire(*order)?) },
        What::ForAll(all) => Up::All { request: asked()?, payload: blobs.payload(all.payload)? },
        What::Matches(matches) => Up::Matches {
            request: asked()?,
            limit: size(matches.limit),
            sizes: (size(matches.size_min), size(matches.size_max)),
        },
        What::Rebuild(rebuild) => Up::Rebuild {
            partition: partition(rebuild.partition, "rebuild.partition")?,
            epoch: Epoch(rebuild.epoch),
            told: Told::Streams(list_from_wire(rebuild.standings)?),
        },
        What::Tickets(held) => Up::Rebuild {
            partition: pool_partition(),
            epoch: Epoch(held.epoch),
            told: Told::Tickets(list_from_wire(held.standings)?),
        },
        What::Carried(carried) => Up::Carried {
            partition: partition(carried.partition, "carried.partition")?,
            epoch: Epoch(carried.epoch),
            parts: carry::parts_from_wire(carried.parts)?,
            ends: carried.ends,
        },
        What::Fence(fence) => Up::Fence { partitions: list_from_wire(fence.partitions)? },
        What::Passed(passed) => Up::Passed { partitions: list_from_wire(passed.partitions)? },
        What::Heard(heard) => Up::Heard { partitions: list_from_wire(heard.partitions)? },
        what => Up::Ask { request, ask: kinds::ask_from_wire(what, request)? },
    })
}

/// The number of a partition that places share. No message names any other partition.
pub(super) fn partition_to_wire(partition: Partition) -> u32 {
    u32::try_from(partition.number()).unwrap_or(u32::MAX)
}

pub(super) fn partition(number: u32, field: &'static str) -> Result<Partition> {
    Partition::new(narrow(number, field)?).ok_or_else(|| wrong(field, "there is no such partition"))
}

impl Form for (Partition, Epoch) {
    type Wire = node::PartitionEpoch;

    fn to_wire(&self) -> node::PartitionEpoch {
        let (partition, Epoch(epoch)) = *self;
        node::PartitionEpoch { partition: partition_to_wire(partition), epoch }
    }

    fn from_wire(wire: node::PartitionEpoch) -> Result<Self> {
        Ok((partition(wire.partition, "fence.partition")?, Epoch(wire.epoch)))
    }
}

fn join_to_wire(join: &Join) -> node::Join {
    use node::ConditionKind::{Any, Occupied, Replace};
    let condition = match join.condition {
        Condition::Any => Any,
        Condition::Occupied => Occupied,
        Condition::Replace => Replace,
    };
    node::Join {
        stream: Some(join.stream.to_wire()),
        presence: Some(join.presence.to_wire()),
        listener: join.listener.map(|listener| listener.to_wire()),
        serial: join.serial,
        condition: condition.into(),
    }
}

fn join_from_wire(wire: node::Join, request: Option<RequestRef>) -> Result<Join> {
    use node::ConditionKind::{Alone, Any, Occupied, Replace, Unspecified};
    let condition = match wire.condition() {
        Any | Alone => Condition::Any,
        Occupied => Condition::Occupied,
        Replace => Condition::Replace,
        Unspecified => return Err(CodecError::Missing("join.condition")),
    };
    Ok(Join {
        stream: part(wire.stream, "join.stream")?,
        presence: part(wire.presence, "join.presence")?,
        listener: maybe(wire.listener)?,
        serial: wire.serial,
        condition,
        request,
    })
}

fn publish_to_wire(publish: &Publish, writer: &mut Writer) -> node::Publish {
    use node::AudienceKind::{All, AllBut, Only};
    let (audience, all_but, only) = match &publish.audience {
        Audience::All => (All, None, Vec::new()),
        Audience::AllBut(session) => (AllBut, Some(session.to_wire()), Vec::new()),
        Audience::Only(sessions) => (Only, None, ids_to_wire(sessions)),
    };
    node::Publish {
        stream: Some(publish.stream.to_wire()),
        payload: Some(writer.payload(&*publish.payload)),
        audience: audience.into(),
        all_but,
        only,
        delivery: delivery_to_wire(publish.delivery),
        sender: publish.sender.map(|session| session.to_wire()),
    }
}

fn publish_from_wire(wire: node::Publish, blobs: &mut Blobs) -> Result<Publish> {
    use node::AudienceKind::{All, AllBut, Only, Unspecified};
    let audience = match wire.audience() {
        All => Audience::All,
        AllBut => Audience::AllBut(part(wire.all_but, "publish.all_but")?),
        Only => Audience::Only(ids_from_wire(&wire.only, "publish.only")?),
        Unspecified => Audience::Only(Vec::new()),
    };
    Ok(Publish {
        stream: part(wire.stream, "publish.stream")?,
        payload: blobs.payload(wire.payload)?,
        audience,
        delivery: delivery_from_wire(wire.delivery),
        sender: maybe(wire.sender)?,
    })
}
