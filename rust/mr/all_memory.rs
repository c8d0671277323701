// SPDX-License-Identifier: GPL-2.0

//! The right to open all memory of the machine to peers.

use crate::{
    kernel_ext::procfs::{
        capable_sys_rawio,
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
/// `EPERM` without `CAP_SYS_RAWIO`, and where lockdown denies raw access to memory.
pub(super) fn open() -> Result<AllMemory> {
    if !capable_sys_rawio() || memory_is_locked_down() {
        return Err(EPERM);
    }
    // SAFETY: With that capability the writer may map all memory by `/dev/mem`, and has asked for
    // this by an option that says what it does: `unsafe_global_rkey`.
    Ok(unsafe { AllMemory::new() })
}
