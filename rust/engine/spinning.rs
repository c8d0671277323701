// SPDX-License-Identifier: GPL-2.0

//! The threads of servers that poll without sleeping, which are fewer than the CPUs.
//!
//! Peers decide how many connections a server has, and some ask for a test whose messages only show
//! in memory. So a thread polls like this only while it has one of the module's slots, and gives it
//! up where nothing comes and another one wants it.

#![forbid(unsafe_code)]

use crate::kernel_ext::cpu_time::online_cpus;
use kernel::sync::atomic::{
    Atomic,
    Relaxed, //
};

/// Number of slots that are taken.
static TAKEN: Atomic<u32> = Atomic::new(0);

/// 1 where a thread for which something has come found no slot.
static WANTED: Atomic<u32> = Atomic::new(0);

/// Permission of one thread to poll without sleeping, given back when dropped.
struct Slot(());

impl Slot {
    /// Takes a slot. All CPUs but one have one each, and there is one at least.
    fn take() -> Option<Self> {
        let most = online_cpus().saturating_sub(1).max(1);
        if TAKEN.fetch_add(1, Relaxed) < most {
            return Some(Self(()));
        }
        TAKEN.fetch_sub(1, Relaxed);
        None
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        TAKEN.fetch_sub(1, Relaxed);
    }
}

/// The slot of a thread that polls for a peer, while it has one.
pub(super) struct Turn(Option<Slot>);

impl Turn {
    /// Time in ns for which nothing has come, after which a thread gives its slot to another one.
    pub(super) const IDLE_NS: u64 = 10_000_000;

    /// Takes a slot, if one is free.
    pub(super) fn new() -> Self {
        Self(Slot::take())
    }

    /// Returns true while the thread may poll without sleeping.
    pub(super) fn has_slot(&self) -> bool {
        self.0.is_some()
    }

    /// Takes a slot, as something has come. If none is free, notes that one is wanted.
    pub(super) fn want(&mut self) {
        if self.0.is_none() {
            self.0 = Slot::take();
            WANTED.store(u32::from(self.0.is_none()), Relaxed);
        }
    }

    /// Returns true where another thread wants a slot.
    pub(super) fn is_wanted(&self) -> bool {
        WANTED.load(Relaxed) != 0
    }

    /// Gives the slot up, if there is one.
    pub(super) fn end(&mut self) {
        if self.0.take().is_some() {
            WANTED.store(0, Relaxed);
        }
    }
}
