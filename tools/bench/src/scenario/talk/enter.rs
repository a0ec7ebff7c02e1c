//! The ways in which players come to the place where they talk.

use std::rc::Rc;

use muster_wire::api::Rpc;
use muster_wire::realtime::envelope::Message;
use muster_wire::realtime::{MatchCreate, MatchJoin, match_join};
use serde::Deserialize;
use serde_json::json;

use super::{Group, Talk, channel_join};
use crate::load::Fault;
use crate::scenario::sockets::{self, Player};

/// The function of game code that answers a match with a free seat; see `tools/bench/modules`.
const FIND_MATCH: &str = "bench_find_match";
/// Seats of such a match, unless the command line gives a number.
const SEATS: usize = 10;
/// Error code of a match that does not take a player, since others took the seat meanwhile.
const JOIN_REJECTED: i32 = 5;
/// Attempts of a player to find a match.
const TRIES_MAX: usize = 100;

#[derive(Deserialize)]
struct Found {
    match_id: String,
}

impl Talk {
    pub(super) async fn enter_channel(&self, player: &mut Player, group: &Group) -> Result<String, Fault> {
        let request = channel_join(&group.name, self.worker.plan.talk.persistent);
        match sockets::ask(&self.worker, player, request, |_, _| {}).await? {
            Some(Message::Channel(channel)) if channel.room_name == group.name => Ok(channel.id),
            _ => Err(Fault::Wrong("not the channel asked for")),
        }
    }

    pub(super) async fn enter_match(&self, player: &mut Player, group: &Group) -> Result<String, Fault> {
        let mut is_creator = false;
        let create = async {
            is_creator = true;
            match sockets::ask(&self.worker, player, Message::MatchCreate(MatchCreate::default()), |_, _| {}).await? {
                Some(Message::Match(created)) => Ok(created.match_id),
                _ => Err(Fault::Wrong("not a match")),
            }
        };
        let match_id = group.match_id.get_or_try_init(|| create).await?.clone();
        if is_creator {
            return Ok(match_id);
        }
        self.join(player, &match_id).await?;
        Ok(match_id)
    }

    /// Finds a match with a free seat by game code, which makes one if necessary. Others may take the seat first.
    pub(super) async fn find_match(&self, player: &mut Player) -> Result<(Rc<Group>, String), Fault> {
        let seats = self.worker.plan.talk.room_size.unwrap_or(SEATS);
        let run = format!("r{:016x}", self.worker.plan.seed);
        let payload = json!({ "seats": seats, "run": run, "durable": self.worker.plan.talk.durable }).to_string();
        for _ in 0..TRIES_MAX {
            let request = Rpc { id: FIND_MATCH.to_owned(), payload: payload.clone(), http_key: String::new() };
            let Some(Message::Rpc(answer)) =
                sockets::ask(&self.worker, player, Message::Rpc(request), |_, _| {}).await?
            else {
                return Err(Fault::Wrong("not the answer of a function"));
            };
            let Found { match_id } =
                serde_json::from_str(&answer.payload).map_err(|_| Fault::Wrong("not a match found"))?;
            match self.join(player, &match_id).await {
                Err(Fault::Refused(JOIN_REJECTED)) => {}
                joined => {
                    joined?;
                    let mut found = self.found.borrow_mut();
                    let group = found.entry(match_id.clone()).or_insert_with(|| Rc::new(Group::new(match_id.clone())));
                    return Ok((group.clone(), match_id));
                }
            }
        }
        Err(Fault::Wrong("no match with a free seat"))
    }

    async fn join(&self, player: &mut Player, match_id: &str) -> Result<(), Fault> {
        let id = Some(match_join::Id::MatchId(match_id.to_owned()));
        let join = Message::MatchJoin(MatchJoin { id, ..MatchJoin::default() });
        match sockets::ask(&self.worker, player, join, |_, _| {}).await? {
            Some(Message::Match(joined)) if joined.match_id == match_id => Ok(()),
            _ => Err(Fault::Wrong("not the match asked for")),
        }
    }
}
