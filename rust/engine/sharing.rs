// SPDX-License-Identifier: GPL-2.0

//! Shared receive queues of servers: `srq=`.
//!
//! All connections of a session on one device share a queue, which the first of them makes and the
//! last takes along. Its thread posts receives again when the device says that few are left.

#![forbid(unsafe_code)]

use super::session::Session;
use crate::{
    cm::CmId,
    kernel_ext::{
        completion::{
            Completion,
            Waited, //
        },
        kthread::Kthread,
        time::Deadline, //
    },
    logic::{
        failure::Failure,
        measure::{
            rate::Rates,
            sharing::SharingFigures, //
        }, //
    },
    mr::{
        new_domain,
        Memory, //
    },
    rdma::{
        device::Device,
        event::{
            AsyncEvent,
            EventHandler, //
        },
        memory,
        srq::SharedReceiveQueue, //
    }, //
};
use kernel::{
    new_mutex,
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc,
        Mutex, //
    }, //
};

/// Name of the step, for a queue that cannot be filled.
const POSTING: &str = "posting to a shared receive queue";

/// Longest time in ms for which receives wait where the device does not say that few are left.
const LONGEST_MS: u32 = 100;

/// Time in ms before receives are looked for again, where the device says that few are left, and
/// all the others have not been handled yet.
const PAUSE_MS: u32 = 1;

/// The events of a queue, and what its thread has done.
#[pin_data]
struct Refilling {
    #[pin]
    due: Completion,
    /// 1 when the thread is to end.
    ended: Atomic<u32>,
    limit_events: Atomic<u64>,
    refills: Atomic<u64>,
    reposted: Atomic<u64>,
}

impl EventHandler for Refilling {
    fn async_event(&self, event: AsyncEvent) {
        if event.is_srq_limit() {
            self.limit_events.fetch_add(1, Relaxed);
        } else if event.is_error() {
            pr_err!("a shared receive queue: {}\n", event.as_str());
        }
        self.due.complete();
    }
}

impl Refilling {
    /// Posts the receives of `queue` again until the end. The body of its thread.
    fn run(&self, queue: &SharedReceiveQueue, limit: u32) {
        let mut has_said = false;
        while self.ended.load(Relaxed) == 0 {
            // Threads of the kernel get no signals, and this has no part in the load average.
            let waited = self.due.wait_interruptible(Deadline::after_ms(LONGEST_MS));
            match self.refill(queue) {
                Ok(0) if waited == Waited::Completed => {
                    self.due.wait_interruptible(Deadline::after_ms(PAUSE_MS));
                }
                Ok(0) => continue,
                Ok(_) => {}
                Err(error) => {
                    if !has_said {
                        let failure = Failure::Kernel(POSTING, error.to_errno());
                        pr_err!("{}; senders wait meanwhile\n", failure);
                    }
                    has_said = true;
                    continue;
                }
            }
            // The device tells once only. Where it cannot any more, the queue goes without.
            let _ = queue.arm(limit);
        }
    }

    /// Posts the receives that have been handled, and returns how many.
    fn refill(&self, queue: &SharedReceiveQueue) -> Result<u32> {
        // Others complete meanwhile; there is an end to it all the same.
        let posted = queue.refill(queue.receives())?;
        if posted > 0 {
            self.refills.fetch_add(1, Relaxed);
            self.reposted.fetch_add(u64::from(posted), Relaxed);
        }
        Ok(posted)
    }
}

/// A queue, and its thread.
struct Queue {
    queue: Arc<SharedReceiveQueue>,
    refilling: Arc<Refilling>,
    limit: u32,
    /// Connections that have a part in it.
    users: u32,
    /// Rates of connections that have ended.
    rates: Rates,
    _thread: Thread,
}

/// The thread of a queue, which ends when this is dropped.
struct Thread {
    refilling: Arc<Refilling>,
    _handle: Kthread,
}

impl Drop for Thread {
    fn drop(&mut self) {
        self.refilling.ended.store(1, Relaxed);
        self.refilling.due.complete();
        // Dropping the handle waits for the thread.
    }
}

impl Queue {
    /// Makes a queue of `receives` for messages of up to `room` bytes, on the device of `id`.
    fn new(session: &Session, id: &CmId, receives: u32, room: u32) -> Result<Self> {
        let id = id.rdma();
        let pd = new_domain(id, session.command.unsafe_global_rkey)?;
        let mut memory = memory::Memory::new(id, pd)?;
        session.allowance.apply(&mut memory);
        let refilling = Arc::pin_init(
            pin_init!(Refilling {
                due <- Completion::new(),
                ended: Atomic::new(0),
                limit_events: Atomic::new(0),
                refills: Atomic::new(0),
                reposted: Atomic::new(0),
            }),
            GFP_KERNEL,
        )?;
        let queue = SharedReceiveQueue::new(memory, receives, room, refilling.clone())?;
        queue.refill(receives)?;
        let limit = receives / 2;
        queue.arm(limit)?;
        let (own, body) = (queue.clone(), refilling.clone());
        let handle =
            Kthread::run_with_all_rights(fmt!("krping_srq"), move || body.run(&own, limit))?;
        Ok(Self {
            queue,
            limit,
            users: 0,
            rates: Rates::default(),
            _thread: Thread {
                refilling: refilling.clone(),
                _handle: handle,
            },
            refilling,
        })
    }

    fn is_on(&self, device: &Device<'_>) -> bool {
        let own = self.queue.memory().id().device();
        own.is_ok_and(|own| own.is(device))
    }

    fn figures(&self) -> SharingFigures {
        SharingFigures {
            receives: self.queue.receives(),
            limit: self.limit,
            room: self.queue.room(),
            connections: self.users,
            limit_events: self.refilling.limit_events.load(Relaxed),
            refills: self.refilling.refills.load(Relaxed),
            reposted: self.refilling.reposted.load(Relaxed),
            rates: self.rates,
        }
    }
}

/// The queues of a session, one for each device.
#[pin_data]
pub(crate) struct Sharings {
    #[pin]
    queues: Mutex<KVec<Queue>>,
}

impl Sharings {
    /// Creates the list, which is empty.
    pub(crate) fn new() -> impl PinInit<Self> {
        pin_init!(Self {
            queues <- new_mutex!(KVec::new(), "krping_sharings"),
        })
    }
}

/// The part of a connection in a shared receive queue, which goes with the last part.
pub(crate) struct Share {
    session: Arc<Session>,
    queue: Arc<SharedReceiveQueue>,
}

impl Share {
    /// Takes part in the session's queue with a connection of `id`, whose receives need room for
    /// `room` bytes. Makes the queue where there is none. Returns `None` where the session does
    /// not share. May sleep.
    ///
    /// # Errors
    ///
    /// [`Failure::AboveReceives`] where the queue has been made for shorter messages;
    /// [`Failure::OverMemory`] or another of making it.
    pub(crate) fn new(
        session: &Arc<Session>,
        id: &CmId,
        device: &Device<'_>,
        room: u32,
    ) -> Result<Option<Self>, Failure> {
        let Some(receives) = session.command.srq else {
            return Ok(None);
        };
        let most = device.max_srq_wr();
        if most == 0 {
            return Err(Failure::Unsupported(
                "srq: the device has no shared receive queues",
            ));
        }
        let made = |error| session.allowance.no_buffers(error);
        let mut queues = session.sharings.queues.lock();
        let found = queues.iter().position(|queue| queue.is_on(device));
        let index = match found {
            Some(index) => index,
            None => {
                let queue = Queue::new(session, id, receives.min(most), room).map_err(made)?;
                queues
                    .push(queue, GFP_KERNEL)
                    .map_err(|error| made(error.into()))?;
                queues.len().saturating_sub(1)
            }
        };
        let queue = queues.get_mut(index).ok_or_else(|| made(EINVAL))?;
        if room > queue.queue.room() {
            return Err(Failure::AboveReceives(queue.queue.room()));
        }
        queue.users = queue.users.saturating_add(1);
        Ok(Some(Self {
            session: session.clone(),
            queue: queue.queue.clone(),
        }))
    }

    /// Makes an empty memory for a queue pair of `id` that takes the shared receives. It is in the
    /// queue's protection domain, where some drivers look for the keys of both. May sleep.
    ///
    /// # Errors
    ///
    /// `ENODEV` for an unbound identifier; `EXDEV` for one on another device.
    pub(crate) fn new_memory(&self, id: &CmId) -> Result<Memory> {
        let mut memory = Memory::new(id.rdma(), self.queue.memory().pd().clone())?;
        memory.share(self.queue.clone())?;
        Ok(memory)
    }

    /// Returns the figures of the queue. May sleep.
    pub(crate) fn figures(&self) -> SharingFigures {
        let queues = self.session.sharings.queues.lock();
        let own = queues.iter().find(|queue| self.is_in(queue));
        own.map(Queue::figures).unwrap_or_default()
    }

    /// Notes that the connection has ended, after `operations` in `ns` nanoseconds. May sleep.
    pub(crate) fn note_rate(&self, operations: u64, ns: u64) {
        let mut queues = self.session.sharings.queues.lock();
        if let Some(queue) = queues.iter_mut().find(|queue| self.is_in(queue)) {
            queue.rates.add(operations, ns);
        }
    }

    fn is_in(&self, queue: &Queue) -> bool {
        Arc::ptr_eq(&queue.queue, &self.queue)
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        let mut queues = self.session.sharings.queues.lock();
        let Some(index) = queues.iter().position(|queue| self.is_in(queue)) else {
            return;
        };
        let left = queues.get_mut(index).map_or(0, |queue| {
            queue.users = queue.users.saturating_sub(1);
            queue.users
        });
        let last = if left == 0 {
            queues.remove(index).ok()
        } else {
            None
        };
        // Without the lock: this waits for the thread.
        drop(queues);
        drop(last);
    }
}
