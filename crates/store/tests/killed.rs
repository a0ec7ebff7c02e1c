//! Kills a process that signs up players at full rate, on both databases. Every player whose sign-up was acknowledged
//! must be in the database afterwards.

#![allow(clippy::print_stdout, reason = "a test with a main of its own reports by itself")]

mod killing;

use std::cell::Cell;

use anyhow::{Result, ensure};
use futures_util::future::try_join_all;
use killing::{Deed, acknowledge};
use muster_domain::UserId;
use muster_domain::ports::accounts::{Identifier, NewAccount};
use muster_domain::ports::store::Store;
use muster_domain::time::Timestamp;

const WRITERS: u32 = 64;

fn main() -> Result<()> {
    killing::run::<SignUps>()
}

struct SignUps;

impl Deed for SignUps {
    const KILLS_AFTER: [usize; 3] = [1, 700, 1_500];

    async fn prepare(_: &dyn Store) -> Result<()> {
        Ok(())
    }

    async fn go_on(store: &dyn Store) -> Result<()> {
        let next = Cell::new(0);
        try_join_all((0..WRITERS).map(|_| sign_up(store, &next))).await.map(drop)
    }

    async fn look_for(store: &dyn Store, acknowledged: &[String]) -> Result<String> {
        for name in acknowledged {
            let found = store.login(&device(name), None).await?;
            ensure!(found.is_some_and(|login| login.username == *name), "{name} was acknowledged and is lost");
        }
        Ok("none lost".to_owned())
    }
}

fn device(name: &str) -> Identifier {
    Identifier::Device(format!("device {name}"))
}

async fn sign_up(store: &dyn Store, next: &Cell<u32>) -> Result<()> {
    loop {
        let name = format!("player {} of {}", next.replace(next.get() + 1), std::process::id());
        let account =
            NewAccount { user_id: UserId(uuid::Uuid::new_v4()), username: name.clone(), now: Timestamp::EPOCH };
        store.login(&device(&name), Some(&account)).await?;
        acknowledge(&name)?;
    }
}
