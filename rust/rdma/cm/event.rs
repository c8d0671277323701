// SPDX-License-Identifier: GPL-2.0

//! The events of an identifier, and who is told of them.
//!
//! C header: `include/rdma/rdma_cm.h` (`struct rdma_cm_event`)

use super::GroupAddress;
use crate::{
    bindings,
    rdma::text::static_text, //
};
use kernel::{
    error::code::EINVAL,
    ffi::{
        c_int,
        c_void, //
    }, //
};

/// An event of an identifier's. A status is a negative errno, or what the transport says.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Event<'a> {
    /// The peer's address is resolved, and the identifier is bound to a device.
    AddrResolved,
    /// The peer's address is not resolved, with the status. It may be tried again.
    AddrError(c_int),
    /// The route to the peer is resolved.
    RouteResolved,
    /// The route to the peer is not resolved, with the status. It may be tried again.
    RouteError(c_int),
    /// There is no connection after an error, with the status.
    ConnectError(c_int),
    /// The peer does not answer, with the status.
    Unreachable(c_int),
    /// The peer does not accept, or takes its own request back.
    Rejected {
        /// The transport's number of the reason.
        reason: c_int,
        /// The kernel's text for the reason.
        message: &'static str,
        /// The bytes that the peer gave as its own reason, where it has one.
        private_data: Option<&'a [u8]>,
    },
    /// The connection is established.
    Established {
        /// The bytes that the side that accepted sent along; empty on that side itself. May be
        /// followed by zeroes, as the transport does not tell how many they were.
        private_data: &'a [u8],
    },
    /// The connection has ended.
    Disconnected,
    /// The identifier is a member of the multicast group, which has this address.
    Joined(GroupAddress),
    /// The identifier cannot join the multicast group, with the status; 0 where the device has lost
    /// the address of the identifier.
    JoinError(c_int),
    /// The device is being removed, which waits until the identifier is destroyed.
    DeviceRemoval,
    /// Another event: `enum rdma_cm_event_type`.
    Other(#[allow(dead_code, reason = "for those who need more of them")] u32),
}

/// The one that is told of an identifier's events.
pub(crate) trait Handler: Send + Sync + 'static {
    /// Takes note of an event.
    ///
    /// Called by a worker of the CM's, which has others to serve, with a lock of the identifier
    /// held: one at a time for each identifier. May sleep, but shortly. Must not drop the
    /// identifier, nor call its methods that take that lock.
    fn event(&self, event: &Event<'_>);
}

impl<'a> Event<'a> {
    /// Translates an event.
    ///
    /// # Safety
    ///
    /// Both are those of an event that the CM reports, for `'a`.
    unsafe fn from_raw(id: *mut bindings::rdma_cm_id, event: *mut bindings::rdma_cm_event) -> Self {
        // SAFETY: By the function's requirements.
        let (kind, status) = unsafe { ((*event).event, (*event).status) };
        match kind {
            bindings::rdma_cm_event_type_RDMA_CM_EVENT_ADDR_RESOLVED => Self::AddrResolved,
            bindings::rdma_cm_event_type_RDMA_CM_EVENT_ADDR_ERROR => Self::AddrError(status),
            bindings::rdma_cm_event_type_RDMA_CM_EVENT_ROUTE_RESOLVED => Self::RouteResolved,
            bindings::rdma_cm_event_type_RDMA_CM_EVENT_ROUTE_ERROR => Self::RouteError(status),
            bindings::rdma_cm_event_type_RDMA_CM_EVENT_CONNECT_ERROR => Self::ConnectError(status),
            bindings::rdma_cm_event_type_RDMA_CM_EVENT_UNREACHABLE => Self::Unreachable(status),
            bindings::rdma_cm_event_type_RDMA_CM_EVENT_REJECTED => {
                let mut len = 0;
                // SAFETY: Both are valid, and this is a rejection. The kernel's texts are
                // static, and the data is valid for `len` bytes as long as the event.
                let (message, private_data) = unsafe {
                    let message = static_text(bindings::rdma_reject_msg(id, status));
                    let data = bindings::rdma_consumer_reject_data(id, event, &mut len);
                    (message, private_data(data, len))
                };
                Self::Rejected {
                    reason: status,
                    message,
                    private_data,
                }
            }
            bindings::rdma_cm_event_type_RDMA_CM_EVENT_ESTABLISHED => {
                // SAFETY: The event is valid, and is one that has such parameters. Where it has
                // those of datagrams, these begin alike.
                let data = unsafe {
                    let param = (*event).param.conn.as_ref();
                    private_data(param.private_data, param.private_data_len)
                };
                Self::Established {
                    private_data: data.unwrap_or(&[]),
                }
            }
            bindings::rdma_cm_event_type_RDMA_CM_EVENT_DISCONNECTED => Self::Disconnected,
            bindings::rdma_cm_event_type_RDMA_CM_EVENT_DEVICE_REMOVAL => Self::DeviceRemoval,
            bindings::rdma_cm_event_type_RDMA_CM_EVENT_MULTICAST_JOIN => {
                // SAFETY: The event is valid, and is one that has such parameters.
                let address = GroupAddress::from_raw(unsafe { (*event).param.ud.as_ref() });
                address.map_or(Self::JoinError(EINVAL.to_errno()), Self::Joined)
            }
            bindings::rdma_cm_event_type_RDMA_CM_EVENT_MULTICAST_ERROR => Self::JoinError(status),
            other => Self::Other(other),
        }
    }
}

/// Returns the private data of an event, if it has any.
///
/// # Safety
///
/// `data` is null or valid for reads of `len` bytes, which nobody writes, for `'a`.
pub(super) unsafe fn private_data<'a>(data: *const c_void, len: u8) -> Option<&'a [u8]> {
    (!data.is_null())
        // SAFETY: By the function's requirements.
        .then(|| unsafe { core::slice::from_raw_parts(data.cast(), usize::from(len)) })
}

/// The callback of an identifier's events. It always returns 0, so that the CM never destroys
/// the identifier.
///
/// # Safety
///
/// Called by the CM for an identifier whose context is an `H` that lives until it is destroyed.
pub(super) unsafe extern "C" fn handle_event<H: Handler>(
    id: *mut bindings::rdma_cm_id,
    event: *mut bindings::rdma_cm_event,
) -> c_int {
    // SAFETY: By the function's requirements; destroying the identifier waits for this call.
    let handler = unsafe { &*(*id).context.cast::<H>() };
    // SAFETY: The CM hands both for the duration of the call.
    handler.event(&unsafe { Event::from_raw(id, event) });
    0
}
