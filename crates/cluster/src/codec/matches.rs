//! Questions to matches of game code, and their answers.

mod carry;

use std::sync::Arc;

use muster_domain::Timestamp;
use muster_domain::query::Query;
use muster_live::StreamKey;
use muster_live::matches::{
    CarriedMatch, Creation, Entered, Joiner, ListQuery, Listed, MatchAnswer, MatchAsk, MatchId, MatchPart,
    MatchesAnswer, MatchesAsk,
};
use muster_live::party::Member;
use muster_live::plane::RequestRef;
use muster_wire::node::{self, carried, match_answer, match_ask, message, reply};

use super::form::{
    CodecError, Form, Result, id_from_wire, id_to_wire, ids_from_wire, ids_to_wire, list_from_wire, list_to_wire, part,
    required, size, wrong,
};

pub(super) fn ask_to_wire(ask: &MatchesAsk) -> message::What {
    match ask {
        MatchesAsk::One { stream, what } => message::What::Match(request_to_wire(stream, what)),
        MatchesAsk::Find(asked) => message::What::FindMatches(asked.to_wire()),
    }
}

pub(super) fn ask_from_wire(what: message::What, request: Option<RequestRef>) -> Result<MatchesAsk> {
    Ok(match what {
        message::What::Match(ask) => {
            let (stream, what) = request_from_wire(ask)?;
            MatchesAsk::One { stream, what: Box::new(what) }
        }
        message::What::FindMatches(query) => {
            required(request, "message.request")?;
            MatchesAsk::Find(Form::from_wire(query)?)
        }
        _ => return Err(CodecError::Missing("message.what")),
    })
}

pub(super) fn answer_to_wire(answer: &MatchesAnswer) -> reply::What {
    match answer {
        Ok(answer) => reply::What::Match(answer.to_wire()),
        Err(error) => reply::What::MatchError(error.to_wire()),
    }
}

pub(super) fn answer_from_wire(what: reply::What) -> Result<MatchesAnswer> {
    Ok(match what {
        reply::What::Match(answer) => Ok(Form::from_wire(answer)?),
        reply::What::MatchError(error) => Err(Form::from_wire(error)?),
        _ => return Err(CodecError::Missing("reply.what")),
    })
}

pub(super) fn part_to_wire(part: &CarriedMatch) -> carried::What {
    carried::What::Match(part.to_wire())
}

pub(super) fn part_from_wire(what: carried::What) -> Result<MatchPart> {
    let carried::What::Match(carried) = what else { return Err(CodecError::Missing("carried.what")) };
    Ok(Box::new(Form::from_wire(carried)?))
}

fn request_to_wire(stream: &StreamKey, ask: &MatchAsk) -> node::MatchAsk {
    use match_ask::What;
    let what = match ask {
        MatchAsk::Create(Creation { handler, params, created_at, is_durable, .. }) => {
            What::Create(node::MatchCreation {
                handler: handler.as_ref().to_owned(),
                params: params.clone(),
                created_at: created_at.0,
                is_durable: *is_durable,
            })
        }
        MatchAsk::Join { member, joiner } => What::Join(entry_to_wire(member, joiner)),
        MatchAsk::Input { session, op_code, data, reliable, received_at } => What::Input(node::MatchInput {
            session: Some(session.to_wire()),
            op_code: *op_code,
            data: data.clone(),
            reliable: *reliable,
            received_at: received_at.0,
        }),
        MatchAsk::Signal { data, .. } => What::Signal(data.as_ref().to_owned()),
        MatchAsk::Get => What::Get(node::Empty {}),
    };
    let chain = match ask {
        MatchAsk::Create(Creation { chain, .. }) | MatchAsk::Signal { chain, .. } => &**chain,
        _ => &[],
    };
    node::MatchAsk { stream: Some(stream.to_wire()), chain: ids_to_wire(chain), what: Some(what) }
}

fn request_from_wire(wire: node::MatchAsk) -> Result<(StreamKey, MatchAsk)> {
    use match_ask::What;
    let chain = || ids_from_wire(&wire.chain, "match.chain").map(Arc::from);
    let ask = match required(wire.what, "match.what")? {
        What::Create(node::MatchCreation { handler, params, created_at, is_durable }) => {
            let handler = handler.into();
            let created_at = Timestamp(created_at);
            MatchAsk::Create(Creation { handler, params, created_at, chain: chain()?, is_durable })
        }
        What::Join(entry) => {
            let (member, joiner) = entry_from_wire(entry)?;
            MatchAsk::Join { member, joiner }
        }
        What::Input(node::MatchInput { session, op_code, data, reliable, received_at }) => MatchAsk::Input {
            session: part(session, "match_input.session")?,
            op_code,
            data,
            reliable,
            received_at: Timestamp(received_at),
        },
        What::Signal(data) => MatchAsk::Signal { data: data.into(), chain: chain()? },
        What::Get(node::Empty {}) => MatchAsk::Get,
    };
    Ok((part(wire.stream, "match.stream")?, ask))
}

fn entry_to_wire(member: &Member, joiner: &Joiner) -> node::MatchEntry {
    let Joiner { metadata, vars, token_expires_at_sec, client_ip, client_port } = joiner;
    node::MatchEntry {
        member: Some(member.to_wire()),
        metadata: pairs_to_wire(metadata),
        vars: pairs_to_wire(vars),
        token_expires_at_sec: *token_expires_at_sec,
        client_ip: client_ip.clone(),
        client_port: client_port.clone(),
    }
}

fn entry_from_wire(entry: node::MatchEntry) -> Result<(Box<Member>, Arc<Joiner>)> {
    let node::MatchEntry { member, metadata, vars, token_expires_at_sec, client_ip, client_port } = entry;
    let member = Box::new(part(member, "match_entry.member")?);
    let metadata = pairs_from_wire(metadata, "match_entry.metadata")?;
    let vars = pairs_from_wire(vars, "match_entry.vars")?;
    Ok((member, Arc::new(Joiner { metadata, vars, token_expires_at_sec, client_ip, client_port })))
}

/// Names and values as one list, each value behind its name.
fn pairs_to_wire(pairs: &[(String, String)]) -> Vec<String> {
    pairs.iter().flat_map(|(name, value)| [name.clone(), value.clone()]).collect()
}

fn pairs_from_wire(texts: Vec<String>, what: &'static str) -> Result<Vec<(String, String)>> {
    let mut texts = texts.into_iter();
    let mut pairs = Vec::new();
    while let Some(name) = texts.next() {
        let value = texts.next().ok_or_else(|| wrong(what, "a name has no value"))?;
        pairs.push((name, value));
    }
    Ok(pairs)
}

impl Form for ListQuery {
    type Wire = node::MatchQuery;

    fn to_wire(&self) -> node::MatchQuery {
        node::MatchQuery {
            query: self.query.as_ref().map(|query| query.source().to_owned()),
            label: self.label.as_deref().map(str::to_owned),
            size_min: self.sizes.0 as u64,
            size_max: self.sizes.1 as u64,
            limit: self.limit as u64,
        }
    }

    fn from_wire(wire: node::MatchQuery) -> Result<Self> {
        let node::MatchQuery { query, label, size_min, size_max, limit } = wire;
        let parse = |text: String| Query::parse(&text).map(Arc::new).map_err(|error| wrong("match_query.query", error));
        let (query, label) = (query.map(parse).transpose()?, label.map(Arc::from));
        Ok(Self { query, label, sizes: (size(size_min), size(size_max)), limit: size(limit) })
    }
}

impl Form for MatchAnswer {
    type Wire = node::MatchAnswer;

    fn to_wire(&self) -> node::MatchAnswer {
        use match_answer::What;
        let what = match self {
            Self::Created => What::Created(node::Empty {}),
            Self::Entered(entered) => What::Entered(entered.to_wire()),
            Self::Signalled(data) => What::Signalled(data.as_ref().to_owned()),
            Self::Listed(listed) => What::Listed(node::MatchPage { matches: list_to_wire(listed) }),
        };
        node::MatchAnswer { what: Some(what) }
    }

    fn from_wire(wire: node::MatchAnswer) -> Result<Self> {
        use match_answer::What;
        Ok(match required(wire.what, "match_answer.what")? {
            What::Created(node::Empty {}) => Self::Created,
            What::Entered(entered) => Self::Entered(Box::new(Form::from_wire(entered)?)),
            What::Signalled(data) => Self::Signalled(data.into()),
            What::Listed(page) => Self::Listed(list_from_wire(page.matches)?),
        })
    }
}

impl Form for Entered {
    type Wire = node::MatchEntered;

    fn to_wire(&self) -> node::MatchEntered {
        node::MatchEntered {
            r#match: id_to_wire(self.id.0),
            label: self.label.as_ref().to_owned(),
            is_new: self.is_new,
            presences: list_to_wire(&self.presences),
            total: self.total as u64,
            session: Some(self.session.to_wire()),
        }
    }

    fn from_wire(wire: node::MatchEntered) -> Result<Self> {
        Ok(Self {
            id: MatchId(id_from_wire(wire.r#match)),
            label: wire.label.into(),
            is_new: wire.is_new,
            presences: list_from_wire(wire.presences)?.into(),
            total: size(wire.total),
            session: part(wire.session, "match_entered.session")?,
        })
    }
}

impl Form for Listed {
    type Wire = node::MatchListed;

    fn to_wire(&self) -> node::MatchListed {
        node::MatchListed {
            r#match: id_to_wire(self.id.0),
            score: Some(self.score),
            created_at: self.created_at.0,
            label: self.label.as_ref().to_owned(),
            tick_rate: self.tick_rate,
            handler: self.handler.as_ref().to_owned(),
            size: self.size as u64,
        }
    }

    fn from_wire(wire: node::MatchListed) -> Result<Self> {
        Ok(Self {
            id: MatchId(id_from_wire(wire.r#match)),
            score: wire.score.unwrap_or_default(),
            created_at: Timestamp(wire.created_at),
            label: wire.label.into(),
            tick_rate: wire.tick_rate,
            handler: wire.handler.into(),
            size: size(wire.size),
        })
    }
}
