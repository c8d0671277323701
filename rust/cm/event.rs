// SPDX-License-Identifier: GPL-2.0

//! The events of a connection's identifier, and what they leave behind.
//!
//! The handler only reports: it blocks on nothing but a leaf lock, allocates
//! nothing, and always returns 0, so that the CM never destroys an identifier.

use crate::{
    bindings,
    engine::outcome::{
        Outcome,
        Progress, //
    },
    kernel_ext::spinlock::SpinLockIrq,
    logic::{
        failure::Failure,
        wire::{
            extras::Extras,
            Reject, //
        }, //
    }, //
};
use kernel::{
    ffi::{
        c_int,
        c_void, //
    },
    prelude::*,
    static_lock_class,
    sync::{
        atomic::{
            Acquire,
            Atomic,
            Release, //
        },
        Arc, //
    }, //
};

/// The private data of a CM event, as far as krping reads it.
#[derive(Clone, Copy)]
pub(crate) struct PeerData {
    bytes: [u8; Extras::END],
    len: usize,
}

impl PeerData {
    const NONE: Self = Self {
        bytes: [0; Extras::END],
        len: 0,
    };

    /// Copies what an event carries.
    ///
    /// # Safety
    ///
    /// `data` is null or valid for reads of `len` bytes.
    pub(super) unsafe fn copy(data: *const c_void, len: u8) -> Self {
        let mut this = Self::NONE;
        if !data.is_null() {
            this.len = usize::from(len).min(this.bytes.len());
            // SAFETY: Both sides are valid for `len` bytes, by the function's
            // requirements and by the minimum above.
            unsafe {
                core::ptr::copy_nonoverlapping(data.cast(), this.bytes.as_mut_ptr(), this.len)
            };
        }
        this
    }

    /// The bytes.
    pub(crate) fn as_slice(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or(&[])
    }
}

/// What the handler of an identifier works on.
#[pin_data]
pub(super) struct Context {
    pub(super) outcome: Arc<Outcome>,
    /// Whether this is the passive side, whose peer has asked for the connection.
    passive: bool,
    /// Whether a queue pair was made on the identifier, which has room for one.
    pub(super) has_queue_pair: Atomic<u32>,
    /// 1 where an attempt to resolve the address has ended without an answer.
    pub(super) unanswered: Atomic<u32>,
    /// 1 where the CM tells the peer when the identifier is destroyed.
    speaking: Atomic<u32>,
    /// 1 once the device is being removed.
    pub(super) removed: Atomic<u32>,
    #[pin]
    pub(super) peer_data: SpinLockIrq<PeerData>,
}

impl Context {
    /// Creates the context of an identifier that reports to `outcome`, of the `passive`
    /// side or of the one that asks.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn new(outcome: Arc<Outcome>, passive: bool) -> Result<Arc<Self>> {
        // Whoever has asked is told where nobody takes the request.
        let speaking = u32::from(passive);
        Arc::pin_init(
            pin_init!(Self {
                outcome,
                passive,
                has_queue_pair: Atomic::new(0),
                unanswered: Atomic::new(0),
                speaking: Atomic::new(speaking),
                removed: Atomic::new(0),
                peer_data <- SpinLockIrq::new(
                    PeerData::NONE, c"krping_peer_data", static_lock_class!()),
            }),
            GFP_KERNEL,
        )
    }

    /// Whether destroying the identifier has the CM send a message.
    pub(super) fn speaks(&self) -> bool {
        self.speaking.load(Acquire) != 0
    }

    /// Notes whether it does. Any context.
    pub(super) fn set_speaking(&self, speaking: bool) {
        self.speaking.store(u32::from(speaking), Release);
    }
}

/// A static text of the kernel's.
///
/// # Safety
///
/// `text` is a NUL-terminated string that lives forever.
pub(crate) unsafe fn static_text(text: *const kernel::ffi::c_char) -> &'static str {
    // SAFETY: By the function's requirements.
    unsafe { CStr::from_char_ptr(text) }
        .to_str()
        .unwrap_or("unknown")
}

/// Returns where the connection of `id` reports to.
///
/// # Safety
///
/// `id` is the identifier of a [`CmId`](super::CmId) that is held for `'a`.
pub(crate) unsafe fn outcome_of<'a>(id: *mut bindings::rdma_cm_id) -> &'a Outcome {
    // SAFETY: By `CmId`'s invariant the context is a `Context` that lives as long.
    unsafe { &(*(*id).context.cast::<Context>()).outcome }
}

/// The handler of connections.
///
/// # Safety
///
/// Called by the CM for an identifier of a [`CmId`].
pub(super) unsafe extern "C" fn handle_event(
    id: *mut bindings::rdma_cm_id,
    event: *mut bindings::rdma_cm_event,
) -> c_int {
    // SAFETY: By `CmId`'s invariant the context is a `Context` that lives until
    // `rdma_destroy_id()` has returned, which waits for this call.
    let context = unsafe { &*(*id).context.cast::<Context>() };
    let outcome = &context.outcome;
    // SAFETY: The CM hands a valid event for the duration of the call.
    let (kind, status) = unsafe { ((*event).event, (*event).status) };
    match kind {
        bindings::rdma_cm_event_type_RDMA_CM_EVENT_ADDR_RESOLVED => {
            outcome.advance(Progress::AddressResolved)
        }
        bindings::rdma_cm_event_type_RDMA_CM_EVENT_ROUTE_RESOLVED => {
            outcome.advance(Progress::RouteResolved)
        }
        bindings::rdma_cm_event_type_RDMA_CM_EVENT_ESTABLISHED => {
            // SAFETY: This event carries connection parameters, whose private
            // data is valid during the call.
            *context.peer_data.lock() = unsafe {
                let conn = (*event).param.conn.as_ref();
                PeerData::copy(conn.private_data, conn.private_data_len)
            };
            outcome.advance(Progress::Established)
        }
        // An attempt is over; its deadline is not the caller's.
        bindings::rdma_cm_event_type_RDMA_CM_EVENT_ADDR_ERROR if status == ETIMEDOUT.to_errno() => {
            context.unanswered.store(1, Release);
            outcome.wake();
        }
        bindings::rdma_cm_event_type_RDMA_CM_EVENT_ADDR_ERROR => {
            outcome.fail(Failure::Kernel("resolving the address", status))
        }
        bindings::rdma_cm_event_type_RDMA_CM_EVENT_ROUTE_ERROR => {
            outcome.fail(Failure::Kernel("resolving the route", status))
        }
        bindings::rdma_cm_event_type_RDMA_CM_EVENT_CONNECT_ERROR => {
            outcome.fail(Failure::Kernel("connecting", status))
        }
        bindings::rdma_cm_event_type_RDMA_CM_EVENT_UNREACHABLE => {
            outcome.fail(if outcome.reached(Progress::Established) {
                Failure::Moved
            } else {
                context.set_speaking(false);
                Failure::Unreachable(status)
            })
        }
        // The peer takes its own request back.
        bindings::rdma_cm_event_type_RDMA_CM_EVENT_REJECTED if context.passive => {
            context.set_speaking(false);
            outcome.disconnected()
        }
        bindings::rdma_cm_event_type_RDMA_CM_EVENT_REJECTED => {
            context.set_speaking(false);
            // SAFETY: Both are valid during the call, and this is a rejection.
            outcome.fail(unsafe { rejection(id, event, status) })
        }
        bindings::rdma_cm_event_type_RDMA_CM_EVENT_DISCONNECTED => {
            // The client's last message of the three that connect may be lost, or be handled
            // after this one. Who says goodbye has been connected.
            if context.passive && !outcome.reached(Progress::Established) {
                outcome.advance(Progress::Established);
            }
            outcome.disconnected()
        }
        bindings::rdma_cm_event_type_RDMA_CM_EVENT_DEVICE_REMOVAL => {
            context.removed.store(1, Release);
            outcome.fail(Failure::DeviceRemoved)
        }
        _ => {}
    }
    0
}

/// What a rejection says.
///
/// # Safety
///
/// `id` and `event` are those of an RDMA_CM_EVENT_REJECTED being handled.
unsafe fn rejection(
    id: *mut bindings::rdma_cm_id,
    event: *mut bindings::rdma_cm_event,
    reason: c_int,
) -> Failure {
    let mut len = 0;
    // SAFETY: By the function's requirements; the text is static, and the data
    // is valid for `len` bytes during the call.
    unsafe {
        let text = static_text(bindings::rdma_reject_msg(id, reason));
        let data = bindings::rdma_consumer_reject_data(id, event, &mut len);
        let data = PeerData::copy(data, len);
        Failure::Rejected(reason, text, Reject::decode(data.as_slice()))
    }
}
