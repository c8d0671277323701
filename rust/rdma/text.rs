// SPDX-License-Identifier: GPL-2.0

//! Static texts of the kernel, such as the names of events.

use kernel::{
    ffi::c_char,
    prelude::*, //
};

/// Returns a static text of the kernel's, such as the name of an event.
///
/// # Safety
///
/// `text` is a NUL-terminated string that lives forever.
pub(in crate::rdma) unsafe fn static_text(text: *const c_char) -> &'static str {
    // SAFETY: By the function's requirements.
    unsafe { CStr::from_char_ptr(text) }
        .to_str()
        .unwrap_or("unknown")
}
