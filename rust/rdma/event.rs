// SPDX-License-Identifier: GPL-2.0

//! Asynchronous events of completion queues, queue pairs and shared receive queues.
//!
//! C header: `include/rdma/ib_verbs.h` (`struct ib_event`)

use super::{
    cm::Id,
    cq::Users,
    srq::Sharing,
    text::static_text, //
};
use crate::bindings;
use kernel::{
    ffi::c_void,
    sync::Arc, //
};

/// An asynchronous event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct AsyncEvent(u32);

impl AsyncEvent {
    /// Makes that of a number of `enum ib_event_type`.
    pub(super) fn new(number: u32) -> Self {
        Self(number)
    }

    /// Returns the number of the event, of `enum ib_event_type`.
    pub(crate) fn number(self) -> u32 {
        self.0
    }

    /// Returns the kernel's text for the event.
    pub(crate) fn as_str(self) -> &'static str {
        // SAFETY: The kernel's texts for events are static; it has one for any number.
        unsafe { static_text(bindings::ib_event_msg(self.0)) }
    }

    /// Returns true where fewer receives are posted than the limit of a shared receive queue.
    #[allow(
        dead_code,
        reason = "there are these, whichever the users of the module take"
    )]
    pub(crate) fn is_srq_limit(self) -> bool {
        self.0 == bindings::ib_event_type_IB_EVENT_SRQ_LIMIT_REACHED
    }

    /// Returns true where a queue pair in error takes no receive of a shared queue any more.
    pub(crate) fn is_last_receive(self) -> bool {
        self.0 == bindings::ib_event_type_IB_EVENT_QP_LAST_WQE_REACHED
    }

    /// Returns true where the event is an error, after which the queue does not work any more.
    pub(crate) fn is_error(self) -> bool {
        matches!(
            self.0,
            bindings::ib_event_type_IB_EVENT_CQ_ERR
                | bindings::ib_event_type_IB_EVENT_QP_FATAL
                | bindings::ib_event_type_IB_EVENT_QP_REQ_ERR
                | bindings::ib_event_type_IB_EVENT_QP_ACCESS_ERR
                | bindings::ib_event_type_IB_EVENT_SRQ_ERR
        )
    }
}

/// The receiver of the asynchronous events of a queue pair and its completion queue, or of a shared
/// receive queue.
pub(crate) trait EventHandler: Send + Sync + 'static {
    /// Takes an event. Any context, also that of hard interrupts: must not sleep.
    fn async_event(&self, event: AsyncEvent);

    /// Is told that there is a completion, for [`PollMode::Notified`]. Any context, also that of
    /// hard interrupts, with whatever locks the device holds: must neither sleep nor use the
    /// queue.
    ///
    /// [`PollMode::Notified`]: super::cq::PollMode::Notified
    fn completion_event(&self) {}
}

/// The context of the callbacks of one queue pair and its completion queue.
pub(super) struct EventContext {
    pub(super) handler: Arc<dyn EventHandler>,
    /// The identifier of the queue pair.
    pub(super) id: Arc<Id>,
    /// `None` for a queue pair with receives of its own.
    pub(super) sharing: Option<Sharing>,
    /// The queue pairs that share the completion queue; `None` where it is of one.
    pub(super) users: Option<Arc<Users>>,
}

/// The callback of the events of a completion queue.
///
/// # Safety
///
/// `context` is an [`EventContext`] that is held until the completion queue has been freed.
pub(super) unsafe extern "C" fn handle_cq_event(
    event: *mut bindings::ib_event,
    context: *mut c_void,
) {
    // SAFETY: The event is valid during the call, and the context by the function's requirements.
    let (kind, context) = unsafe { ((*event).event, &*context.cast::<EventContext>()) };
    context.handler.async_event(AsyncEvent(kind));
}

/// The callback of the completions of a completion queue that has been armed.
///
/// # Safety
///
/// `context` is an [`EventContext`] that is held until the completion queue has been freed.
pub(super) unsafe extern "C" fn handle_completion_event(
    _cq: *mut bindings::ib_cq,
    context: *mut c_void,
) {
    // SAFETY: By the function's requirements.
    let context = unsafe { &*context.cast::<EventContext>() };
    context.handler.completion_event();
}

/// The callback of the events of a queue pair. Called by a worker.
///
/// # Safety
///
/// `context` is an [`EventContext`] that is held until the queue pair has been destroyed.
pub(super) unsafe extern "C" fn handle_qp_event(
    event: *mut bindings::ib_event,
    context: *mut c_void,
) {
    // SAFETY: The event is valid during the call, and the context by the function's requirements.
    let (kind, context) = unsafe { ((*event).event, &*context.cast::<EventContext>()) };
    if kind == bindings::ib_event_type_IB_EVENT_COMM_EST {
        // A message has overtaken the client's last word of three, which may be lost: the
        // connection is up.
        // Where the CM knows already, it fails, which does not matter.
        let _ = context.id.notify(kind);
    }
    let event = AsyncEvent(kind);
    if let Some(sharing) = context.sharing.as_ref().filter(|_| event.is_last_receive()) {
        sharing.last.complete_all();
    }
    context.handler.async_event(event);
}
