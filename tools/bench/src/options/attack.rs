//! Options of `attack`. The generator processes get them unchanged.

use std::net::Ipv4Addr;
use std::str::FromStr;

use anyhow::ensure;
use clap::ValueEnum as _;
use serde::{Deserialize, Serialize};

/// Something that an attacker with free accounts and one address can do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, clap::ValueEnum)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// Persisted messages in the chat room of honest players, without end.
    Chat,
    /// The same, each message as long as a frame may be.
    Frames,
    /// Joins, statuses and new matches over sockets, without end.
    Requests,
    /// Calls of functions over sockets, without end.
    Functions,
    /// Pings, without end.
    Pings,
    /// Persisted messages in rooms of the attacker's own, to fill the disk.
    History,
    /// Tickets with costly queries and many properties.
    Tickets,
    /// Parties made and left, and data in them.
    Parties,
    /// Costly filters: searches for rooms, and listings of matches and parties.
    Filters,
    /// As many different views of the lobby as possible, with costly filters, over rooms that change.
    Lobby,
    /// Seats of rooms held and never taken.
    Seats,
    /// Slow readers in the chat room of honest players, while another attacker floods it.
    SlowReaders,
    /// Small requests over HTTP, without end.
    Http,
    /// Large storage objects, to fill the disk.
    Storage,
    /// New accounts by device ids.
    Accounts,
    /// New accounts with passwords, which the server has to hash.
    Registrations,
    /// Sign-ins to the attacker's own accounts with the right passwords, which the server has to hash.
    SignIns,
    /// Wrong passwords for the account of an honest player.
    Passwords,
    /// Requests with bad tokens.
    Tokens,
    /// Large answers that nobody reads.
    UnreadAnswers,
    /// As many connections as possible, held open.
    Connections,
    /// Handshakes of sockets that drip and never end.
    Handshakes,
}

impl Kind {
    /// The name on the command line and in reports.
    pub fn name(self) -> String {
        self.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default()
    }
}

/// A value of `--kind`: one kind, or all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Choice(Option<Kind>);

impl FromStr for Choice {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "all" {
            return Ok(Self(None));
        }
        let names = || Kind::value_variants().iter().map(|kind| kind.name()).collect::<Vec<_>>().join(", ");
        Kind::from_str(text, false).map(|kind| Self(Some(kind))).map_err(|_| format!("expected all or {}", names()))
    }
}

/// Attackers beside honest players.
#[derive(Debug, Clone, clap::Args, Serialize, Deserialize)]
pub struct AttackOptions {
    /// attack: kinds of attacks, one after the other, with commas; or all
    #[arg(long = "kind", value_delimiter = ',', default_value = "all")]
    pub choices: Vec<Choice>,
    /// attack: address that the attacker connects from; the server must not exempt it from its limits
    #[arg(long, default_value = "127.0.66.1")]
    pub attack_address: Ipv4Addr,
    /// attack: accounts of the attacker
    #[arg(long, default_value_t = 8)]
    pub attackers: usize,
}

impl AttackOptions {
    pub fn check(&self) -> anyhow::Result<()> {
        ensure!((2..=1_000).contains(&self.attackers), "--attackers must be 2 to 1000");
        let octets = self.attack_address.octets();
        ensure!(
            octets[..3] != [127, 0, 1],
            "--attack-address must not be one of the honest players', who are on 127.0.1.0/24"
        );
        Ok(())
    }

    /// The kinds of attacks, in order.
    pub fn kinds(&self) -> Vec<Kind> {
        let all = |choice: &Choice| choice.0.map_or(Kind::value_variants().to_vec(), |kind| vec![kind]);
        self.choices.iter().flat_map(all).collect()
    }
}
