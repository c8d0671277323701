// SPDX-License-Identifier: GPL-2.0

//! An identifier of the CM's as such: who owns it, and what can be read of any.

use super::{
    PortSpace,
    SocketAddress, //
};
use crate::{
    bindings,
    kernel_ext::net::Netns,
    rdma::{
        device::Device,
        qp_type::QpType, //
    }, //
};
use core::ptr::NonNull;
use kernel::{
    error::from_err_ptr,
    ffi::{
        c_int,
        c_void, //
    },
    prelude::*, //
};

/// A function that the CM calls for each event.
pub(super) type Callback =
    unsafe extern "C" fn(*mut bindings::rdma_cm_id, *mut bindings::rdma_cm_event) -> c_int;

/// An identifier. Its drop destroys it: no handler of it runs any more when that returns, and
/// none is called afterwards. The drop sleeps, and must not be in a handler of the identifier.
///
/// # Invariants
///
/// It is a valid identifier, which this object alone destroys.
pub(super) struct RawId(NonNull<bindings::rdma_cm_id>);

// SAFETY: The CM's functions may be called from any task.
unsafe impl Send for RawId {}
// SAFETY: As above. What is read of it here may be written meanwhile, and is read accordingly;
// whoever calls other functions argues for each.
unsafe impl Sync for RawId {}

impl RawId {
    /// Creates an identifier in namespace `net`. May sleep.
    ///
    /// # Safety
    ///
    /// Until it is destroyed, `handler` may be called for it, and for what requests make of it,
    /// with `context` as the context.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) unsafe fn new(
        net: &Netns,
        space: PortSpace,
        qp_type: QpType,
        handler: Callback,
        context: *const c_void,
    ) -> Result<Self> {
        // SAFETY: `net` is alive, and the CM takes a reference of its own. The rest is the
        // caller's.
        let raw = from_err_ptr(unsafe {
            bindings::rust_helper_rdma_create_id(
                net.as_ptr(),
                Some(handler),
                context.cast_mut(),
                space.as_raw(),
                qp_type.as_raw(),
            )
        })?;
        // INVARIANT: Created just now.
        NonNull::new(raw).map(Self).ok_or(ENOMEM)
    }

    /// Takes over an identifier.
    ///
    /// # Safety
    ///
    /// `raw` is valid, and nothing else destroys it.
    pub(super) unsafe fn from_raw(raw: NonNull<bindings::rdma_cm_id>) -> Self {
        // INVARIANT: By the function's requirements.
        Self(raw)
    }

    /// Returns the raw identifier, valid while `self` lives.
    pub(super) fn as_ptr(&self) -> *mut bindings::rdma_cm_id {
        self.0.as_ptr()
    }

    /// Returns the device that the identifier is bound to, with its port. Any context.
    ///
    /// # Errors
    ///
    /// `ENODEV` before it is bound to one.
    pub(super) fn device(&self) -> Result<Device<'_>> {
        let id = self.as_ptr();
        // SAFETY: By the type invariant the identifier is valid. The CM may bind it to a device
        // meanwhile, hence the volatile reads; it sets the port first.
        let (device, port) = unsafe {
            let device = (&raw const (*id).device).read_volatile();
            (device, (&raw const (*id).port_num).read_volatile())
        };
        let device = NonNull::new(device).ok_or(ENODEV)?;
        // SAFETY: A device is alive while an identifier is bound to it, as its removal waits for
        // that. The CM lets go of it where the identifier is destroyed, and where binding to a
        // given address fails, for which all identifiers here take `&mut`, or are their maker's
        // alone; so not for the lifetime of this reference.
        Ok(unsafe { Device::from_raw(device, port) })
    }

    /// Returns this side's address, as far as it is known. Any context.
    pub(super) fn source(&self) -> SocketAddress {
        // SAFETY: By the type invariant the identifier is valid; the CM alone writes there.
        unsafe { SocketAddress::from_raw(&raw const (*self.as_ptr()).route.addr.src_addr) }
    }

    /// Returns the peer's address, as far as it is known. Any context.
    pub(super) fn destination(&self) -> SocketAddress {
        // SAFETY: As for `source`.
        unsafe { SocketAddress::from_raw(&raw const (*self.as_ptr()).route.addr.dst_addr) }
    }
}

impl Drop for RawId {
    fn drop(&mut self) {
        // SAFETY: By the type invariant this object alone destroys it, and it is not used again.
        // Its queue pair is gone, and what else was made on its device, as each holds an `Arc` of
        // what holds this.
        unsafe { bindings::rdma_destroy_id(self.as_ptr()) }
    }
}
