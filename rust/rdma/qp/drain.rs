// SPDX-License-Identifier: GPL-2.0

//! Draining a queue pair: the last request of each queue completes when all others have.
//!
//! The core's own way to do so waits for ever for a device that does not flush a queue, and
//! looks at a queue that is polled only ten times a second.
//!
//! C header: `include/rdma/ib_verbs.h` (`ib_drain_qp()`)

use super::{
    entry::{
        Callback,
        Entry, //
    },
    unreliable::Datagram, //
};
use crate::{
    bindings,
    kernel_ext::{
        completion::{
            Completion,
            Waited, //
        },
        time::{
            jiffies,
            yield_cpu,
            Deadline, //
        }, //
    },
    rdma::{
        cq::CompletionQueue,
        wr::chain::post_send, //
    }, //
};
use core::{
    cell::Cell,
    ptr::NonNull, //
};
use kernel::{
    error::to_result,
    ffi::c_void,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Full,
            Relaxed, //
        },
        Arc, //
    }, //
};

/// The time in ms after which it is seen whether a full queue has room again.
const ROOM_MS: u32 = 1;

/// Time in ms for a device to say that a queue pair takes no shared receive any more. The drivers
/// of some never do.
const LAST_RECEIVE_MS: u32 = 500;

/// Completions handled at a time.
const BUDGET: u16 = 64;

/// The last request of a send queue.
#[derive(Clone, Copy)]
pub(super) enum Last {
    /// An RDMA WRITE of nothing.
    Write,
    /// An empty SEND to that destination.
    Datagram(Datagram),
    /// There is none, as there is no request in the queue.
    None,
}

/// The last requests of a queue pair.
pub(super) struct Drain {
    entries: [Entry<()>; 2],
    /// 1 for each of `entries` that has completed, or is not posted. Several threads may handle
    /// completions at once.
    done: [Atomic<u32>; 2],
    changed: Arc<Completion>,
    /// 1 once the queue pair was put into error.
    in_error: Atomic<u32>,
    /// The time of that, in jiffies.
    since: Atomic<usize>,
}

impl Drain {
    /// Makes the last requests of the queue pair at `owner`, whose completions call `callback`.
    /// May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`.
    pub(super) fn new(owner: *const c_void, callback: Callback) -> Result<Self> {
        Ok(Self {
            entries: [0, 1].map(|index| Entry::new(callback, owner, index, ())),
            done: [Atomic::new(0), Atomic::new(0)],
            changed: Arc::pin_init(Completion::new(), GFP_KERNEL)?,
            in_error: Atomic::new(0),
            since: Atomic::new(0),
        })
    }

    /// Notes that the request with entry `index` has completed. In the context of completions.
    pub(super) fn done(&self, index: u32) {
        if let Some(done) = self.done.get(index as usize) {
            done.store(1, Relaxed);
        }
        self.changed.complete();
    }

    /// Puts `raw`, a queue pair that is alive, into error.
    ///
    /// # Errors
    ///
    /// The driver's.
    pub(super) fn modify_to_error(&self, raw: NonNull<bindings::ib_qp>) -> Result {
        let mut attr = bindings::ib_qp_attr {
            qp_state: bindings::ib_qp_state_IB_QPS_ERR,
            ..Default::default()
        };
        // SAFETY: Its owner, who calls, keeps the queue pair alive.
        to_result(unsafe {
            bindings::ib_modify_qp(
                raw.as_ptr(),
                &mut attr,
                bindings::ib_qp_attr_mask_IB_QP_STATE as i32,
            )
        })?;
        if self.in_error.xchg(1, Full) == 0 {
            self.since.store(jiffies(), Relaxed);
        }
        Ok(())
    }

    /// Puts `raw` into error, and waits until there is room for the last requests, and until all
    /// have completed, at most `timeout_ms`; a driver that has a way of its own to find that out
    /// takes its time. Where receives are shared, `shared` is completed when it takes none any
    /// more, which is waited for first. `last` is posted to the send queue. Process context;
    /// sleeps, or gives the CPU away where `cq` is polled.
    ///
    /// # Errors
    ///
    /// The driver's; `ETIMEDOUT` where it does not flush its queues.
    pub(super) fn flush(
        &self,
        raw: NonNull<bindings::ib_qp>,
        cq: &CompletionQueue,
        shared: Option<&Completion>,
        last: Last,
        timeout_ms: u32,
    ) -> Result {
        // The core's way ends with a WRITE.
        let by_core = matches!(last, Last::Write) && !cq.is_polled();
        // SAFETY: Its owner, who calls, keeps the queue pair alive, and posts no more.
        unsafe {
            if by_core && bindings::rust_helper_drains_itself(raw.as_ptr()) {
                bindings::ib_drain_qp(raw.as_ptr());
                return Ok(());
            }
        }
        self.modify_to_error(raw)?;
        if let Some(shared) = shared {
            // What it has taken completes before what is posted below. A device that does not say
            // so is trusted to have taken the last by now. Where several queue pairs were put into
            // error before, the time of all begins then.
            let deadline = Deadline::since(self.since.load(Relaxed), LAST_RECEIVE_MS);
            let _ = wait(cq, deadline, |until| {
                shared.wait(until.unwrap_or(Deadline::after_ms(0))) == Waited::Completed
            });
        }
        let has_receives = shared.is_none();
        let has_sends = !matches!(last, Last::None);
        for (done, is_posted) in self.done.iter().zip([has_receives, has_sends]) {
            done.store(u32::from(!is_posted), Relaxed);
        }
        let deadline = Deadline::after_ms(timeout_ms);
        if has_receives {
            self.when_there_is_room(cq, deadline, || self.post_receive(raw))?;
        }
        self.when_there_is_room(cq, deadline, || self.post_last(raw, last))?;
        wait(cq, deadline, |until| {
            let done = || self.done.iter().all(|done| done.load(Relaxed) != 0);
            done()
                || until.is_some_and(|until| {
                    self.changed.wait(until);
                    done()
                })
        })
    }

    /// Calls `post` until the queue has room: its owner may have filled it, but in error its
    /// requests complete by themselves.
    fn when_there_is_room(
        &self,
        cq: &CompletionQueue,
        deadline: Deadline,
        post: impl Fn() -> Result,
    ) -> Result {
        let posted = Cell::new(Err(ENOMEM));
        wait(cq, deadline, |until| {
            posted.set(post());
            let is_full = posted.get() == Err(ENOMEM);
            if let (true, Some(_)) = (is_full, until) {
                self.changed.wait(Deadline::after_ms(ROOM_MS));
            }
            !is_full
        })?;
        posted.get()
    }

    /// Posts the last receive of `raw`, which is in error.
    fn post_receive(&self, raw: NonNull<bindings::ib_qp>) -> Result {
        let [receive, _] = &self.entries;
        let mut last = bindings::ib_recv_wr::default();
        // SAFETY: Every bit pattern is valid for either member of this union. The
        // queue pair is alive, and the entry stays until it has completed, or until
        // the queue pair is destroyed and its completion queue is freed.
        unsafe {
            *last.__bindgen_anon_1.wr_cqe.as_mut() = receive.cqe();
            to_result(bindings::rust_helper_post_recv(raw.as_ptr(), &last))
        }
    }

    /// Posts the last request to the send queue of `raw`, which is in error.
    fn post_last(&self, raw: NonNull<bindings::ib_qp>, at_end: Last) -> Result {
        let [_, send] = &self.entries;
        let flags = bindings::ib_send_flags_IB_SEND_SIGNALED;
        // SAFETY: As above. Each request is of the form that its opcode has on a queue pair of this
        // type, and an address handle lives until the queue pair is destroyed.
        unsafe {
            match at_end {
                Last::None => Ok(()),
                Last::Write => {
                    let mut write = bindings::ib_rdma_wr::default();
                    write.wr.opcode = bindings::ib_wr_opcode_IB_WR_RDMA_WRITE;
                    write.wr.send_flags = flags;
                    *write.wr.__bindgen_anon_1.wr_cqe.as_mut() = send.cqe();
                    // From the whole, of which the driver reads all.
                    let head = core::ptr::from_ref(&write).cast();
                    Ok(post_send(raw.as_ptr(), head)?)
                }
                Last::Datagram(to) => {
                    let mut message = bindings::ib_ud_wr::default();
                    message.wr.opcode = bindings::ib_wr_opcode_IB_WR_SEND;
                    message.wr.send_flags = flags;
                    *message.wr.__bindgen_anon_1.wr_cqe.as_mut() = send.cqe();
                    to.address(&mut message);
                    let head = core::ptr::from_ref(&message).cast();
                    Ok(post_send(raw.as_ptr(), head)?)
                }
            }
        }
    }
}

/// Waits for `is_done`, handling the completions of a queue that is polled. Otherwise `is_done` is
/// to wait for a change itself, until the time that it is given.
///
/// # Errors
///
/// `ETIMEDOUT` after `deadline`.
fn wait(
    cq: &CompletionQueue,
    deadline: Deadline,
    is_done: impl Fn(Option<Deadline>) -> bool,
) -> Result {
    while !is_done((!cq.is_polled()).then_some(deadline)) {
        if deadline.passed() {
            return Err(ETIMEDOUT);
        }
        if cq.is_polled() && cq.poll(BUDGET) == 0 {
            yield_cpu();
        }
    }
    Ok(())
}
