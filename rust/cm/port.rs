// SPDX-License-Identifier: GPL-2.0

//! Whether the CM's messages can leave by the port that an identifier is bound to.
//!
//! A message that the CM sends over a port that is not active is lost, at best. Soft-RoCE
//! (seen with 7.2) finds no route for it and puts its queue pair for management, QP1, into
//! error, which nothing takes out again: from then on no connection comes up on the device, for
//! anybody, until it is made anew. The same goes for a message from an address that the
//! device has lost. So what has the CM send asks here first.

use super::{
    addr::SocketAddress,
    CmId, //
};
use crate::{
    bindings,
    engine::outcome::Progress,
    kernel_ext::time::Deadline,
    logic::failure::Failure,
    rdma::device::{
        Device,
        Transport, //
    }, //
};
use core::ptr::NonNull;
use kernel::{
    error::from_err_ptr,
    ffi::c_int,
    prelude::*, //
};

/// Milliseconds between two looks at a port that is awaited.
pub(crate) const LOOK_MS: u32 = 50;

/// How a message of the CM's would fare.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Way {
    /// It would leave.
    Open,
    /// The port is not active.
    PortDown,
    /// The device has lost the address that it would come from.
    AddressGone,
}

/// Returns how a message of the CM's for `id` would fare. May sleep.
///
/// # Safety
///
/// `id` is a valid identifier, which is not being resolved.
pub(super) unsafe fn way_of(id: NonNull<bindings::rdma_cm_id>) -> Way {
    let id = id.as_ptr();
    // SAFETY: By the function's requirements the identifier is valid, and its device and port
    // do not change.
    let (device, port) = unsafe { ((*id).device, (*id).port_num) };
    let Some(device) = NonNull::new(device) else {
        // Nothing is sent without a device.
        return Way::Open;
    };
    // SAFETY: A device is alive while an identifier is bound to it.
    let device = unsafe { Device::from_raw(device, port) };
    // TCP sends for the CM of iWARP, and takes care of that itself.
    if !matches!(device.transport(), Transport::InfiniBand | Transport::Roce) {
        return Way::Open;
    }
    // SAFETY: The addresses were set when the identifier was bound to the device.
    let within = unsafe {
        let addr = &(*id).route.addr;
        SocketAddress::from_raw(&addr.src_addr).ip() == SocketAddress::from_raw(&addr.dst_addr).ip()
    };
    if !device.carries(within) {
        return Way::PortDown;
    }
    if !device.loses_management() {
        return Way::Open;
    }
    // SAFETY: As above; the identifier holds the entry of the table of addresses.
    unsafe {
        let own = (*id).route.addr.dev_addr.sgid_attr;
        if own.is_null() {
            return Way::Open;
        }
        let index = c_int::from((*own).index);
        match from_err_ptr(bindings::rdma_get_gid_attr(device.as_ptr(), port, index).cast_mut()) {
            Ok(found) => {
                bindings::rdma_put_gid_attr(found);
                if core::ptr::eq(found, own) {
                    Way::Open
                } else {
                    Way::AddressGone
                }
            }
            Err(_) => Way::AddressGone,
        }
    }
}

impl CmId {
    /// Disconnects as [`disconnect`](Self::disconnect) does, without a look at the port. By
    /// itself this is for the conformance test of what a device does with a message that cannot
    /// leave: soft-RoCE's connection management does not survive it. May sleep.
    pub(crate) fn disconnect_regardless(&self) -> bool {
        // SAFETY: By the type invariant the identifier is valid. A failure means that there
        // is no connection to end.
        let ret = unsafe { bindings::rdma_disconnect(self.as_ptr()) };
        let ends = ret == 0 && self.outcome().reached(Progress::Established);
        if ends {
            // All that the CM does from here on is to repeat that, which the drop ends.
            self.context.set_speaking(false);
        }
        ends
    }

    /// Returns how a message of the CM's would fare now, once the address is resolved. May sleep.
    pub(super) fn way(&self) -> Way {
        // SAFETY: By the type invariant the identifier is valid.
        unsafe { way_of(self.raw) }
    }

    /// Waits until the CM's messages can leave, `timeout` ms at most. Sleeps.
    ///
    /// # Errors
    ///
    /// [`Failure::PortDown`]; [`Failure::AddressGone`]; what has been reported.
    pub(super) fn await_port(&self, timeout: u32) -> Result<(), Failure> {
        let deadline = Deadline::after_ms(timeout);
        loop {
            match self.way() {
                Way::Open => return Ok(()),
                Way::AddressGone => return Err(Failure::AddressGone),
                Way::PortDown if deadline.passed() => return Err(Failure::PortDown),
                Way::PortDown => {}
            }
            if let Some(failure) = self.outcome().failure() {
                return Err(failure);
            }
            self.outcome()
                .pause(Deadline::after_ms(LOOK_MS).sooner(deadline));
        }
    }

    /// Waits until the peer knows of the end of the connection, until `deadline` at most:
    /// destroying the identifier before would cancel the repetition of a request that was lost.
    /// Where the port goes down that is what is wanted. Sleeps.
    pub(crate) fn wait_disconnected(&self, deadline: Deadline) {
        let outcome = self.outcome();
        while !outcome.is_released() && !deadline.passed() && self.way() == Way::Open {
            outcome.pause(Deadline::after_ms(LOOK_MS).sooner(deadline));
        }
    }

    /// Returns the cause of `failure`: what had been reported, or that the port is down where
    /// that explains it. Sleeps.
    pub(crate) fn cause_of(&self, failure: Failure) -> Failure {
        self.or_port_down(self.outcome().cause_of(failure))
    }

    /// Returns `failure`, or that the port is down where that explains it. May sleep.
    pub(crate) fn or_port_down(&self, failure: Failure) -> Failure {
        if failure.may_be_the_link() && self.way() == Way::PortDown {
            Failure::PortDown
        } else {
            failure
        }
    }
}
