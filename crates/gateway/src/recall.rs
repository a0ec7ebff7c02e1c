//! Reads messages of chats that may not have reached everybody because a node was lost, for the plane that owns the
//! chats.

use std::rc::Rc;
use std::time::Duration;

use muster_api::{App, reach};
use muster_domain::ports::store::StoreError;
use muster_live::plane::{Recall, Recalled};
use muster_live::{Millis, StreamKey};
use tokio::time::{Instant, sleep};

/// Time for which the database is asked again if it does not answer. After that the messages are in the history only:
/// places do not remember for longer which messages they had.
const PATIENCE: Duration = Duration::from_secs(25);
/// Time between two tries.
const PAUSE: Duration = Duration::from_secs(1);

/// Reads the messages and hands them to the plane.
pub(crate) async fn read(app: Rc<App>, recall: Recall) {
    let Recall { rebuilt, streams, back_ms } = recall;
    let begun = Instant::now();
    let messages = loop {
        // The messages that may have been lost do not change while the database is away.
        let waited_ms = u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX);
        match read_all(&app, &streams, back_ms.saturating_add(waited_ms)).await {
            Ok(messages) => break messages,
            Err(error) if begun.elapsed() >= PATIENCE => {
                let chats = streams.len();
                tracing::error!(%error, chats, "messages of chats that a lost node was to tell are in the history only");
                break Vec::new();
            }
            Err(_) => sleep(PAUSE).await,
        }
    };
    app.live.step(|plane, now, out| plane.recalled(now, rebuilt, messages, out));
}

async fn read_all(app: &App, streams: &[StreamKey], back_ms: Millis) -> Result<Vec<Recalled>, StoreError> {
    let mut messages = Vec::new();
    for stream in streams {
        messages.extend(reach::recall(app, stream, back_ms).await?);
    }
    Ok(messages)
}
