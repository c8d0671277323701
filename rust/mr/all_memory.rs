// SPDX-License-Identifier: GPL-2.0

//! The right to open all memory of the machine to peers.

use crate::{
    kernel_ext::procfs::{
        capable_net_admin,
        memory_is_locked_down, //
    },
    rdma::pd::AllMemory, //
};
use kernel::prelude::*;

/// Checks that the calling thread, which acts as the writer of a command that asks for it, may open
/// all memory. Process context.
///
/// # Errors
///
/// `EPERM` without `CAP_NET_ADMIN`, and where lockdown denies raw access to memory.
pub(super) fn open() -> Result<AllMemory> {
    if !capable_net_admin() || memory_is_locked_down() {
        return Err(EPERM);
    }
    // SAFETY: Such an administrator may load what he likes into this kernel, and has asked for this
    // by an option that says what it does: `unsafe_global_rkey`.
    Ok(unsafe { AllMemory::new() })
}
