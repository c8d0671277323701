// SPDX-License-Identifier: GPL-2.0

//! The threads of servers that poll without sleeping, which are fewer than the CPUs.
//!
//! Peers decide how many connections a server has, and some ask for a test whose messages only show
//! in memory. So a connection polls like this only while it has one of the module's [`Slot`]s.

#![forbid(unsafe_code)]

use super::{
    polling::Polling,
    session::Session, //
};
use crate::{
    kernel_ext::cpu_time::online_cpus,
    logic::command::Role, //
};
use kernel::sync::atomic::{
    Atomic,
    Relaxed, //
};

/// Number of slots that are taken.
static TAKEN: Atomic<u32> = Atomic::new(0);

/// Permission of one thread to poll without sleeping, given back when dropped.
pub(crate) struct Slot(());

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

/// Returns the way in which a thread that serves a peer learns of completions, where `asked` is
/// wanted, and its slot, if that takes one. Without a free one it sleeps where nothing has come.
/// Both sides of a loopback are the writer's, who knows how many there are.
pub(crate) fn polling_of_server(session: &Session, asked: Polling) -> (Polling, Option<Slot>) {
    match asked {
        Polling::Event | Polling::Pool | Polling::Solicited => (asked, None),
        Polling::Spin | Polling::SpinThenSleep(_) if session.command.role == Role::Loopback => {
            (asked, None)
        }
        Polling::Spin | Polling::SpinThenSleep(_) => match Slot::take() {
            Some(slot) => (asked, Some(slot)),
            None => (Polling::SpinThenSleep(0), None),
        },
    }
}
