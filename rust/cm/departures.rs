// SPDX-License-Identifier: GPL-2.0

//! Identifiers that are done with and wait for their port before they are destroyed.
//!
//! Destroying an identifier ends what it has not ended yet, by a message to the peer. Where
//! that could not leave ([`port`](super::port)), the identifier waits here, until the port is
//! active again or the device goes. Its queue pair is gone, so nothing else is kept waiting;
//! and the peer learns of the end as soon as it can.
//!
//! A thread looks after them. It is there as long as the module is: what drops an identifier
//! may be what memory for a new thread waits for.

#![allow(unsafe_code, reason = "a lock in a static")]

use super::{
    event::Events,
    port::{
        way_of,
        Way,
        LOOK_MS, //
    }, //
};
use crate::{
    engine::outcome::{
        new_wait_queue,
        WaitQueue, //
    },
    kernel_ext::{
        kthread::Kthread,
        time::Deadline, //
    },
    rdma::cm::Id, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// An identifier that nobody uses any more. Dropping it destroys that, so must not be in a
/// handler.
pub(super) struct Departing {
    id: Arc<Id>,
    events: Arc<Events>,
}

impl Departing {
    /// Takes an identifier over, which reports to `events`.
    pub(super) fn new(id: Arc<Id>, events: Arc<Events>) -> Self {
        Self { id, events }
    }

    /// Returns true where it can be destroyed without a message that cannot leave. May sleep.
    fn may_go(&self) -> bool {
        !self.events.speaks() || self.events.is_removed() || way_of(&self.id) == Way::Open
    }

    /// Destroys it as soon as that can be done. May sleep.
    pub(super) fn leave(self) {
        if self.may_go() {
            return;
        }
        let mut state = STATE.lock();
        let Some(state) = state.as_mut() else {
            return;
        };
        if !core::mem::replace(&mut state.told, true) {
            self.tell();
        }
        // Without memory it is destroyed here.
        if state.waiting.push(self, GFP_KERNEL).is_ok() {
            state.wait_queue.complete();
        }
    }

    /// Says that it waits, and for what.
    fn tell(&self) {
        let device = self.id.device().map(|device| device.name());
        let why = match way_of(&self.id) {
            Way::AddressGone => "has lost an address of",
            _ => "has a port that is down below",
        };
        pr_info!(
            "{} {} connections that have ended: their peers are told when that has changed\n",
            device.as_ref().map_or("the device", |name| name.as_str()),
            why
        );
    }
}

struct State {
    waiting: KVec<Departing>,
    wait_queue: WaitQueue,
    ending: bool,
    /// True once the log says that some wait.
    told: bool,
}

kernel::sync::global_lock! {
    // SAFETY: Initialised by `Departures::start`, which comes before the first identifier.
    unsafe(uninit) static STATE: Mutex<Option<State>> = None;
}

/// The thread that looks after departing identifiers. Its drop destroys those that are left.
pub(crate) struct Departures {
    thread: Option<Kthread>,
    wait_queue: WaitQueue,
}

impl Departures {
    /// Starts it. Sleeps.
    ///
    /// # Safety
    ///
    /// Called once, before any identifier is made.
    pub(crate) unsafe fn start() -> Result<Self> {
        // SAFETY: By the function's requirements it is the first use, and the only call.
        unsafe { STATE.init() };
        let wait_queue = new_wait_queue()?;
        *STATE.lock() = Some(State {
            waiting: KVec::new(),
            wait_queue: wait_queue.clone(),
            ending: false,
            told: false,
        });
        let heard = wait_queue.clone();
        Ok(Self {
            thread: Some(Kthread::run_with_all_rights(
                fmt!("krping_cm"),
                move || watch(&heard),
            )?),
            wait_queue,
        })
    }
}

impl Drop for Departures {
    fn drop(&mut self) {
        if let Some(state) = STATE.lock().as_mut() {
            state.ending = true;
        }
        self.wait_queue.complete();
        // Joins it.
        self.thread = None;
        // Not under the lock: destroying them sleeps.
        let state = STATE.lock().take();
        drop(state);
    }
}

/// Destroys identifiers as soon as they may go. The body of the thread.
fn watch(wait_queue: &WaitQueue) {
    let mut waiting: KVec<Departing> = KVec::new();
    loop {
        let next = if waiting.is_empty() {
            Deadline::never()
        } else {
            Deadline::after_ms(LOOK_MS)
        };
        let _ = wait_queue.wait_interruptible(next);
        {
            let mut state = STATE.lock();
            let Some(state) = state.as_mut() else {
                return;
            };
            if state.ending {
                return;
            }
            while waiting.reserve(1, GFP_KERNEL).is_ok() {
                let Some(departing) = state.waiting.pop() else {
                    break;
                };
                // There is room for it.
                drop(waiting.push_within_capacity(departing));
            }
        }
        let mut index = 0;
        while let Some(departing) = waiting.get(index) {
            if departing.may_go() {
                drop(waiting.remove(index));
            } else {
                index += 1;
            }
        }
        if waiting.is_empty() {
            if let Some(state) = STATE.lock().as_mut() {
                state.told = !state.waiting.is_empty();
            }
        }
    }
}
