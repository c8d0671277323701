// SPDX-License-Identifier: GPL-2.0

//! Completion entries: where the core finds the callback of a request, and the callback what
//! the request was.

use crate::bindings;
use kernel::{
    ffi::c_void,
    prelude::*, //
};

/// The callback of a completion.
pub(in crate::rdma) type Callback =
    unsafe extern "C" fn(*mut bindings::ib_cq, *mut bindings::ib_wc);

/// A completion entry.
///
/// # Invariants
///
/// `raw` is the first field, so that a pointer to it is one to the entry.
#[repr(C)]
pub(in crate::rdma) struct Entry<T> {
    raw: bindings::ib_cqe,
    owner: *const c_void,
    /// The number of the entry among those of the queue pair.
    pub(in crate::rdma) index: u32,
    /// The request, as the owner of the queue pair tells it from others.
    pub(in crate::rdma) tag: T,
}

impl<T> Entry<T> {
    /// The bit in the numbers of transfers' own entries that others' do not have.
    pub(in crate::rdma) const TRANSFER: u32 = 1 << 31;

    /// Makes an entry of the queue pair at `owner`.
    pub(in crate::rdma) fn new(
        callback: Callback,
        owner: *const c_void,
        index: u32,
        tag: T,
    ) -> Self {
        // INVARIANT: By the order of the fields.
        Self {
            raw: bindings::ib_cqe {
                done: Some(callback),
            },
            owner,
            index,
            tag,
        }
    }

    /// Makes an entry for each of `tags`, of the queue pair at `owner`. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `ERANGE` for more than can be counted.
    pub(super) fn list(tags: &[T], callback: Callback, owner: *const c_void) -> Result<KVVec<Self>>
    where
        T: Copy,
    {
        let mut entries = KVVec::with_capacity(tags.len(), GFP_KERNEL)?;
        for (index, tag) in tags.iter().enumerate() {
            let index = u32::try_from(index).map_err(|_| ERANGE)?;
            if index & Self::TRANSFER != 0 {
                return Err(ERANGE);
            }
            entries
                .push_within_capacity(Self::new(callback, owner, index, *tag))
                .map_err(|_| ENOMEM)?;
        }
        Ok(entries)
    }

    /// Returns the entry as a request names it.
    pub(in crate::rdma) fn cqe(&self) -> *mut bindings::ib_cqe {
        core::ptr::from_ref(self).cast_mut().cast()
    }
}

/// Returns the queue pair, of type `Q`, and the entry that a completion belongs to.
///
/// # Safety
///
/// `wc` is the completion of a request whose entry is an `Entry<T>` of a `Q`, both of which live
/// as long as the result is used.
pub(in crate::rdma) unsafe fn target<'a, Q, T>(wc: &bindings::ib_wc) -> (&'a Q, &'a Entry<T>) {
    // SAFETY: The completion's entry is the first field of an `Entry` that points to its queue
    // pair, and both live by the function's requirements.
    unsafe {
        let entry = &*(*wc.__bindgen_anon_1.wr_cqe.as_ref()).cast::<Entry<T>>();
        (&*entry.owner.cast::<Q>(), entry)
    }
}
