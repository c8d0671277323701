// SPDX-License-Identifier: GPL-2.0

//! Destruction of RDMA objects with a deadline.
//!
//! Verbs that destroy an object wait until the device and its driver have let go of it, however
//! long that takes, and no signal ends them. So that a driver that does not let go is found out, a
//! thread of its own calls them where a device is under suspicion.

#![forbid(unsafe_code)]

use super::session::Session;
use crate::kernel_ext::{
    completion::{
        Completion,
        Waited, //
    },
    kthread::run_detached,
    module::ModuleRef,
    time::Deadline, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Drops `objects`, and waits for that. Returns false where they are not destroyed after
/// `timeout_ms`: the thread, which keeps the module, still waits for the device then. Sleeps.
pub(crate) fn destroy<T: Send + 'static>(session: &Session, objects: T, timeout_ms: u32) -> bool {
    // Without memory for a thread, they are destroyed here.
    let Ok(gone) = Arc::pin_init(Completion::new(), GFP_KERNEL) else {
        return true;
    };
    let told = gone.clone();
    let started = ModuleRef::get(session.registry.module()).and_then(|module| {
        run_detached(fmt!("krping_destroy"), module, move || {
            drop(objects);
            told.complete();
        })
    });
    started.is_err() || gone.wait(Deadline::after_ms(timeout_ms)) == Waited::Completed
}
