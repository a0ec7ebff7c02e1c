//! The bus of a hub: a bounded channel per listener.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{mpsc, watch};

use super::{FRAME_BYTES_MAX, Member, MemberId, Shared, State};
use crate::bus::{Address, Bus, BusError, Connection, Inbox, Probe};

/// Largest number of frames that wait in one inbox.
const INBOX_FRAMES_MAX: usize = 8_192;

/// The receiving end of a listening node.
#[derive(Debug)]
pub struct HubInbox {
    frames: mpsc::Receiver<Bytes>,
    hub: Arc<Shared>,
    me: Address,
}

#[derive(Debug)]
pub(super) struct Listener {
    member: MemberId,
    connection: watch::Receiver<Connection>,
    frames: mpsc::Sender<Bytes>,
}

impl Bus for Member {
    type Inbox = HubInbox;

    async fn listen(&self, me: Address) -> Result<HubInbox, BusError> {
        if !self.is_up() {
            return Err(BusError::Down);
        }
        let mut state = self.hub.state();
        if state.listeners.contains_key(&me) {
            return Err(BusError::Refused("somebody listens under this address"));
        }
        let (sender, frames) = mpsc::channel(INBOX_FRAMES_MAX);
        let listener = Listener { member: self.id, connection: self.connection.subscribe(), frames: sender };
        state.listeners.insert(me, listener);
        Ok(HubInbox { frames, hub: self.hub.clone(), me })
    }

    fn send(&self, to: Address, frame: Bytes) -> Result<(), BusError> {
        if frame.len() > FRAME_BYTES_MAX {
            return Err(BusError::TooLarge { bytes: frame.len(), bytes_max: FRAME_BYTES_MAX });
        }
        if !self.is_up() {
            return Err(BusError::Down);
        }
        let mut state = self.hub.state();
        if state.is_lost_on_the_way(self.id, to) {
            state.frames_lost += 1;
        } else if state.faults.delay_max.is_zero() {
            state.deliver(to, frame);
        } else {
            let delay = state.faults.delay_max.mul_f64(state.chance.f64());
            let hub = self.hub.clone();
            tokio::spawn(async move {
                tokio::time::sleep(delay).await;
                hub.state().deliver(to, frame);
            });
        }
        Ok(())
    }

    async fn probe(&self, node: Address) -> Probe {
        if !self.is_up() {
            return Probe::Unknown;
        }
        let state = self.hub.state();
        match state.listeners.get(&node).filter(|listener| listener.connection.borrow().is_up) {
            None => Probe::Nobody,
            Some(listener) if state.blocked.contains(&(self.id, listener.member)) => Probe::Unknown,
            Some(listener) if state.blocked.contains(&(listener.member, self.id)) => Probe::Unknown,
            Some(_) => Probe::Listening,
        }
    }

    fn connection(&self) -> watch::Receiver<Connection> {
        self.connection.subscribe()
    }

    fn frame_bytes_max(&self) -> usize {
        FRAME_BYTES_MAX
    }
}

impl State {
    fn is_lost_on_the_way(&mut self, from: MemberId, to: Address) -> bool {
        let is_blocked = self.listeners.get(&to).is_some_and(|to| self.blocked.contains(&(from, to.member)));
        is_blocked || self.chance.f64() < self.faults.loss
    }

    fn deliver(&mut self, to: Address, frame: Bytes) {
        let listener = self.listeners.get(&to).filter(|listener| listener.connection.borrow().is_up);
        if listener.is_none_or(|listener| listener.frames.try_send(frame).is_err()) {
            self.frames_lost += 1;
        }
    }
}

impl Inbox for HubInbox {
    async fn receive(&mut self) -> Option<Bytes> {
        self.frames.recv().await
    }

    fn try_receive(&mut self) -> Option<Bytes> {
        self.frames.try_recv().ok()
    }
}

impl Drop for HubInbox {
    fn drop(&mut self) {
        self.hub.state().listeners.remove(&self.me);
    }
}
