// SPDX-License-Identifier: GPL-2.0

//! The queue pairs that share a completion queue.
//!
//! A completion names its queue pair by a pointer, which for a device that does not flush what it
//! is told to may be that of one that is gone. So it is only compared with those of the queue
//! pairs that are there: each is from when it can first complete a request until all completions
//! that there can be of it have been handled.

use super::super::srq::{
    SharedReceiveQueue,
    Taker, //
};
use crate::{
    bindings,
    kernel_ext::spinlock::SpinLockBh, //
};
use core::ptr::NonNull;
use kernel::{
    new_mutex,
    prelude::*,
    static_lock_class,
    sync::{
        Arc,
        Mutex, //
    }, //
};

/// A queue pair, and what takes the shared receives that it has taken.
struct User {
    /// Its address, by which it is found.
    qp: usize,
    taker: Option<NonNull<dyn Taker>>,
    /// The completions that there may be of it.
    completions: u32,
}

// SAFETY: The pointer is only handed out, see `Users::taker`.
unsafe impl Send for User {}

/// The queue pairs, in the order of their addresses, and the completions that there is room for.
struct List {
    users: KVVec<User>,
    room: u32,
}

/// The receives that queue pairs with one completion queue share.
pub(crate) struct Receives {
    pub(crate) queue: Arc<SharedReceiveQueue>,
    /// The number that is kept posted by whoever polls, also where that waits for the end of a
    /// queue pair.
    pub(crate) posted: u32,
}

/// The queue pairs that share a completion queue.
#[pin_data]
pub(in crate::rdma) struct Users {
    /// Held by whoever polls: each completion has been handled when it is released.
    #[pin]
    pub(super) poller: Mutex<()>,
    #[pin]
    list: SpinLockBh<List>,
    receives: Receives,
}

impl Users {
    /// Makes the list of none, of a queue for `most` queue pairs with room for so many
    /// completions of theirs, which take `receives`. May sleep.
    pub(super) fn new(most: usize, completions: u32, receives: Receives) -> Result<Arc<Self>> {
        let list = List {
            users: KVVec::with_capacity(most, GFP_KERNEL)?,
            room: completions,
        };
        Arc::pin_init(
            pin_init!(Self {
                poller <- new_mutex!((), "rdma_cq_poller"),
                list <- SpinLockBh::new(list, c"rdma_cq_users", static_lock_class!()),
                receives,
            }),
            GFP_KERNEL,
        )
    }

    /// Returns true where they take the receives of `queue`.
    pub(super) fn take(&self, queue: &SharedReceiveQueue) -> bool {
        core::ptr::eq(&*self.receives.queue, queue)
    }

    /// Posts receives again that have been handled. Any context but hard interrupts.
    pub(super) fn refill(&self) {
        // What is not posted waits for the next call, and the owner of the queue sees the error.
        let _ = self.receives.queue.refill_to(self.receives.posted);
    }

    /// Adds the queue pair `qp`, of which there may be so many completions at a time. `taker` must
    /// stay valid until it has been [removed](Self::remove). Any context but hard interrupts.
    ///
    /// # Errors
    ///
    /// `EAGAIN` where there is no room for it.
    pub(in crate::rdma) fn add(
        &self,
        qp: NonNull<bindings::ib_qp>,
        taker: Option<NonNull<dyn Taker>>,
        completions: u32,
    ) -> Result {
        let mut list = self.list.lock();
        let room = list.room.checked_sub(completions).ok_or(EAGAIN)?;
        let user = User {
            qp: qp.as_ptr().addr(),
            taker,
            completions,
        };
        let place = list.users.partition_point(|other| other.qp < user.qp);
        list.users
            .insert_within_capacity(place, user)
            .map_err(|_| EAGAIN)?;
        list.room = room;
        Ok(())
    }

    /// Removes the queue pair `qp`, of which no completion is left. Any context but hard
    /// interrupts, and not while completions are handled.
    pub(in crate::rdma) fn remove(&self, qp: NonNull<bindings::ib_qp>) {
        let mut list = self.list.lock();
        let List { users, room } = &mut *list;
        let qp = qp.as_ptr().addr();
        users.retain(|user| {
            let stays = user.qp != qp;
            if !stays {
                *room = room.saturating_add(user.completions);
            }
            stays
        });
    }

    /// Returns what takes the shared receives of the queue pair at `qp`, which need not be one any
    /// more. Where completions are handled, by whoever [polls](Self::poller), it stays valid until
    /// that one has been handled.
    pub(in crate::rdma) fn taker(&self, qp: *const bindings::ib_qp) -> Option<NonNull<dyn Taker>> {
        let list = self.list.lock();
        let found = list.users.binary_search_by_key(&qp.addr(), |user| user.qp);
        list.users.get(found.ok()?)?.taker
    }
}
