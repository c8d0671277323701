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

use super::{
    event::Context,
    port::{
        way_of,
        Way,
        LOOK_MS, //
    }, //
};
use crate::{
    bindings,
    engine::outcome::{
        new_bell,
        Bell, //
    },
    kernel_ext::{
        kthread::Kthread,
        time::Deadline, //
    },
    rdma::device::Device, //
};
use core::ptr::NonNull;
use kernel::{
    prelude::*,
    sync::{
        atomic::Acquire,
        Arc, //
    }, //
};

/// An identifier that nobody uses any more.
///
/// # Invariants
///
/// `raw` is an identifier that this object alone destroys, and its context points to
/// `context`'s contents.
pub(super) struct Departing {
    raw: NonNull<bindings::rdma_cm_id>,
    context: Arc<Context>,
}

// SAFETY: As for `CmId`.
unsafe impl Send for Departing {}

impl Departing {
    /// Takes an identifier over.
    ///
    /// # Safety
    ///
    /// Nothing else destroys `raw`; its context points to `context`'s contents.
    pub(super) unsafe fn new(raw: NonNull<bindings::rdma_cm_id>, context: Arc<Context>) -> Self {
        // INVARIANT: By the function's requirements.
        Self { raw, context }
    }

    /// Whether it can be destroyed without a message that cannot leave. May sleep.
    fn may_go(&self) -> bool {
        if !self.context.speaks() || self.context.removed.load(Acquire) != 0 {
            return true;
        }
        // SAFETY: By the type invariant the identifier is valid.
        unsafe { way_of(self.raw) == Way::Open }
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
            state.bell.complete();
        }
    }

    /// Says that it waits, and for what.
    fn tell(&self) {
        // SAFETY: By the type invariant the identifier is valid; its device is alive while it is
        // bound to that.
        let (device, way) = unsafe {
            let id = self.raw.as_ptr();
            let device = NonNull::new((*id).device);
            (
                device.map(|device| Device::from_raw(device, (*id).port_num).name()),
                way_of(self.raw),
            )
        };
        let why = match way {
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

impl Drop for Departing {
    fn drop(&mut self) {
        // SAFETY: By the type invariant this object alone destroys it, and it is not dropped in
        // a handler. No handler runs when the call returns, so the context may go after it.
        unsafe { bindings::rdma_destroy_id(self.raw.as_ptr()) }
    }
}

struct State {
    waiting: KVec<Departing>,
    bell: Bell,
    ending: bool,
    /// Whether the log says that some wait.
    told: bool,
}

kernel::sync::global_lock! {
    // SAFETY: Initialised by `Departures::start`, which comes before the first identifier.
    unsafe(uninit) static STATE: Mutex<Option<State>> = None;
}

/// What looks after departing identifiers, as long as it lives. Its drop destroys those that are
/// left.
pub(crate) struct Departures {
    thread: Option<Kthread>,
    bell: Bell,
}

impl Departures {
    /// Starts it. Sleeps.
    ///
    /// # Safety
    ///
    /// Called once, before any identifier is made.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(crate) unsafe fn start() -> Result<Self> {
        // SAFETY: By the function's requirements it is the first use, and the only call.
        unsafe { STATE.init() };
        let bell = new_bell()?;
        *STATE.lock() = Some(State {
            waiting: KVec::new(),
            bell: bell.clone(),
            ending: false,
            told: false,
        });
        let heard = bell.clone();
        Ok(Self {
            thread: Some(Kthread::run_named(c"krping_cm", move || {
                look_after(&heard)
            })?),
            bell,
        })
    }
}

impl Drop for Departures {
    fn drop(&mut self) {
        if let Some(state) = STATE.lock().as_mut() {
            state.ending = true;
        }
        self.bell.complete();
        // Joins it.
        self.thread = None;
        // Not under the lock: destroying them sleeps.
        let state = STATE.lock().take();
        drop(state);
    }
}

/// Destroys identifiers as soon as they may go. The body of the thread.
fn look_after(bell: &Bell) {
    let mut waiting: KVec<Departing> = KVec::new();
    loop {
        let next = if waiting.is_empty() {
            Deadline::never()
        } else {
            Deadline::after_ms(LOOK_MS)
        };
        let _ = bell.wait_interruptible(next);
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
