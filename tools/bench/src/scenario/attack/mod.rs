//! `attack`: honest players, first alone and then beside one attacker after the other. The honest players and each
//! attacker are processes of their own; the coordinator tells them which part of the run it is.

mod errands;
mod flood;
mod lines;
mod notes;
mod raid;
mod records;
mod requesting;
mod town;

use std::rc::Rc;

use super::Connections;
use crate::load::requests::email_sign_in;
use crate::worker::Worker;

/// Collection in which honest players store objects.
const COLLECTION: &str = "chests";

pub async fn run(worker: Rc<Worker>) -> anyhow::Result<Connections> {
    match worker.plan.attacker {
        Some(kind) => raid::run(worker, kind).await,
        None => town::run(worker).await,
    }
}

/// Name of the chat room of a house of honest players. Attackers know it.
fn house_name(worker: &Worker, number: usize) -> String {
    format!("house-{:016x}-{number}", worker.plan.town)
}

/// A sign-in of the honest player whose address attackers know.
fn resident_sign_in(worker: &Worker, index: usize, password: &str) -> Vec<u8> {
    let email = format!("resident-{:016x}@example.com", worker.plan.town);
    email_sign_in(worker.endpoints.address(index), &worker.plan.server_key, &email, password)
}
