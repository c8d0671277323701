// SPDX-License-Identifier: GPL-2.0

//! Uses of a disk: how often it was opened while nobody had it open. The tag set stores this number
//! in place of driver data.

use crate::bindings;

/// Returns the number of uses of the disk of `queue`, modulo 2^32.
///
/// # Safety
///
/// `queue` is that of a disk of ours which has not been removed.
pub(super) unsafe fn uses(queue: *mut bindings::request_queue) -> u32 {
    // SAFETY: By the function's requirements the tag set is there. Its one writer holds a lock of
    // the disk's, and writes the number as a whole.
    unsafe {
        (&raw const (*(*queue).tag_set).driver_data)
            .read_volatile()
            .addr() as u32
    }
}

/// Counts one more use of the disk of `queue`.
///
/// # Safety
///
/// As for [`uses`], and the disk's `open_mutex` is held.
pub(super) unsafe fn count_use(queue: *mut bindings::request_queue) {
    // SAFETY: By the function's requirements the tag set is there, and there is no other writer.
    unsafe {
        let next = uses(queue).wrapping_add(1) as usize;
        (&raw mut (*(*queue).tag_set).driver_data)
            .write_volatile(core::ptr::without_provenance_mut(next));
    }
}
