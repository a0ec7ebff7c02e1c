//! `muster match`: replays recordings of matches with the current modules.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use muster_live::matches::Callback;
use muster_script::matches::replay::{Played, Replayed, in_words};
use tokio::task::LocalSet;

use super::{Outcome, print, runtime};
use crate::cli::MatchAction;
use crate::config::{self, KeyFile, ServerMode, Setting};
use crate::game::{RecordingPlayer, read_recording};
use crate::wiring;

/// Replays recordings. Fails if the code does something else than was recorded.
pub(super) fn run(action: MatchAction, files: &[PathBuf], flags: &[Setting]) -> Outcome {
    let loaded = config::load(ServerMode::Dev, KeyFile::Ignore, flags, std::env::vars_os());
    let config = loaded.map_err(|error| error.to_string())?.config;
    LocalSet::new().block_on(&runtime()?, async {
        let (player, _folder) = wiring::player(&config).await.map_err(|error| error.to_string())?;
        let mut are_all_the_same = true;
        for file in files {
            are_all_the_same &= play(&player, action, file).await?;
        }
        Ok(if are_all_the_same { ExitCode::SUCCESS } else { ExitCode::FAILURE })
    })
}

/// Replays one recording. Answers whether the code did the same as recorded.
async fn play(player: &RecordingPlayer, action: MatchAction, file: &Path) -> Result<bool, String> {
    let recording = read_recording(file)?;
    let (handler, id) = (recording.transcript.handler().to_owned(), recording.transcript.id());
    if action == MatchAction::Replay {
        print(&format!("{}: match {id} of '{handler}'", file.display()))?;
    }
    let mut difference = None;
    let mut see = |played: Played<'_>| {
        if action == MatchAction::Replay {
            show(&played);
        }
        if let Some(what) = played.difference {
            difference.get_or_insert(format!("call {} ({}): {what}", played.number, name(&played.call.callback)));
        }
    };
    let replayed = player.play(recording.transcript, &mut see).await;
    let Replayed { calls, states, end, .. } = replayed.map_err(|why| format!("{}: {why}", file.display()))?;
    let ending = match end {
        Some(why) => format!("ended: {why}"),
        None if recording.is_complete => "did not end".to_owned(),
        None => "the recording stops within the match".to_owned(),
    };
    let told = match &difference {
        None => format!("the same: {calls} calls, {states} states; {ending}"),
        Some(difference) => format!("another match from here on, {difference}"),
    };
    print(&format!("{}: {told}", file.display()))?;
    Ok(difference.is_none())
}

/// Name of the callback in Lua.
fn name(callback: &Callback) -> &'static str {
    match callback {
        Callback::Init { .. } => "match_init",
        Callback::JoinAttempt { .. } => "match_join_attempt",
        Callback::Join(_) => "match_join",
        Callback::Leave(_) => "match_leave",
        Callback::Timer { .. } => "match_timer",
        Callback::Loop(_) => "match_loop",
        Callback::Terminate { .. } => "match_terminate",
        Callback::Signal(_) => "match_signal",
    }
}

fn show(played: &Played<'_>) {
    let Played { call, number, answers, returned, .. } = played;
    let with = match &call.callback {
        Callback::Loop(inputs) => format!("{} inputs", inputs.len()),
        Callback::Join(came) => format!("{} came", came.len()),
        Callback::Leave(left) => format!("{} went", left.len()),
        Callback::JoinAttempt { presence, .. } => format!("{} asks", presence.username),
        Callback::Timer { name, .. } => format!("timer {name:?}"),
        Callback::Signal(data) => format!("{data:?}"),
        Callback::Init { .. } | Callback::Terminate { .. } => String::new(),
    };
    // A reader that has seen enough closes the pipe; that is no error.
    let _ = print(&format!(
        "call {number}, tick {}: {} {with}; {answers} answers of the server; it {}",
        call.tick,
        name(&call.callback),
        returned.outcome,
    ));
    for act in &returned.acts {
        let _ = print(&format!("    {}", in_words(act)));
    }
}
