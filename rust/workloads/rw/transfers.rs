// SPDX-License-Identifier: GPL-2.0

//! The server's requests and transfers, and the order in which they go on.
//!
//! Requests wait in the order in which they came. The first of them begins when the transfer whose
//! turn it is has ended, a registration is left, and the send queue has room. Transfers end in the
//! order in which they began.

#![forbid(unsafe_code)]

use crate::{
    logic::{
        failure::Failure,
        wire::Advertisement, //
    },
    mr::Memory,
    rdma::rw::{
        ListKind,
        Pieces,
        Shape,
        TransferId, //
    },
    workloads::exchange::memory_failed, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// A request that waits for its transfer.
#[derive(Clone, Copy)]
pub(super) struct Request {
    /// Index of the receive that it took.
    pub(super) receive: usize,
    /// The client's memory.
    pub(super) memory: Advertisement,
}

/// The progress of the first request that waits.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum First {
    /// Nothing has been done for it.
    New,
    /// The memory of its transfer has its data.
    Filled,
    /// The same, and no registration is left until another transfer has ended.
    Starved,
    /// Its context has been made, of so many requests.
    Made(u32),
}

/// The progress of a transfer.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Free,
    Moving,
    Moved,
    /// Its answer is under way.
    Answering,
}

struct Transfer {
    id: TransferId,
    pieces: Arc<Pieces>,
    memory: Advertisement,
    /// Requests in the send queue, with the answer.
    requests: u32,
    step: Step,
}

/// Work for the connection's thread, on one transfer.
pub(super) struct Job {
    /// Index of the transfer.
    pub(super) index: usize,
    /// Number of the client's request, from 0.
    pub(super) number: u64,
    /// The transfer.
    pub(super) id: TransferId,
    /// Its memory.
    pub(super) pieces: Arc<Pieces>,
    /// The work.
    pub(super) task: Task,
}

/// The work of a [`Job`].
pub(super) enum Task {
    /// Begin the transfer to or from the client's memory.
    Begin(Advertisement, First),
    /// End the transfer, whose data has been moved.
    End,
}

/// Requests and transfers of one connection.
pub(super) struct Transfers {
    list: KVVec<Transfer>,
    /// Requests that wait, in the place of their number.
    waiting: KVVec<Option<Request>>,
    first: First,
    arrived: u64,
    begun: u64,
    ended: u64,
    /// Requests in the send queue.
    posted: u32,
}

/// Returns the element of a ring of `len` elements that has number `number`.
fn turn(number: u64, len: usize) -> usize {
    number.checked_rem(len as u64).unwrap_or(0) as usize
}

impl Transfers {
    /// Adds `count` transfers of that shape to `memory`, and makes room for `requests` that wait.
    /// May sleep.
    pub(super) fn new(
        memory: &mut Memory,
        count: u32,
        requests: u32,
        shape: &Shape,
        kind: ListKind,
    ) -> Result<Self> {
        let mut list = KVVec::with_capacity(count as usize, GFP_KERNEL)?;
        for _ in 0..count {
            let (id, pieces) = memory.add_transfer(shape, kind)?;
            let transfer = Transfer {
                id,
                pieces,
                memory: Advertisement::nowhere(0),
                requests: 0,
                step: Step::Free,
            };
            list.push_within_capacity(transfer).map_err(|_| ENOMEM)?;
        }
        let mut waiting = KVVec::with_capacity(requests as usize, GFP_KERNEL)?;
        for _ in 0..requests {
            waiting.push_within_capacity(None).map_err(|_| ENOMEM)?;
        }
        Ok(Self {
            list,
            waiting,
            first: First::New,
            arrived: 0,
            begun: 0,
            ended: 0,
            posted: 0,
        })
    }

    /// Adds a request.
    ///
    /// # Errors
    ///
    /// `EINVAL` where more wait than there are receives, which cannot be.
    pub(super) fn push(&mut self, request: Request) -> Result<(), Failure> {
        let index = turn(self.arrived, self.waiting.len());
        match self.waiting.get_mut(index) {
            Some(place) if place.is_none() => *place = Some(request),
            _ => return Err(memory_failed(EINVAL)),
        }
        self.arrived += 1;
        Ok(())
    }

    /// Returns the first request that waits.
    fn waiting(&self) -> Option<Request> {
        let index = turn(self.begun, self.waiting.len());
        self.waiting.get(index).copied().flatten()
    }

    fn job(&self, number: u64, step: Step, task: Task) -> Option<Job> {
        let index = turn(number, self.list.len());
        let transfer = self.list.get(index)?;
        (transfer.step == step).then(|| Job {
            index,
            number,
            id: transfer.id,
            pieces: transfer.pieces.clone(),
            task,
        })
    }

    /// Returns what the thread is to do next, if the send queue holds `room` requests.
    pub(super) fn next(&self, room: u32) -> Option<Job> {
        if let Some(job) = self.job(self.ended, Step::Moved, Task::End) {
            return Some(job);
        }
        let request = self.waiting()?;
        match self.first {
            First::Starved => return None,
            First::Made(requests) if !self.has_room(requests, room) => return None,
            First::New | First::Filled | First::Made(_) => {}
        }
        let task = Task::Begin(request.memory, self.first);
        self.job(self.begun, Step::Free, task)
    }

    /// Returns true where the send queue of `room` requests has room for a transfer of `requests`
    /// and its answer.
    pub(super) fn has_room(&self, requests: u32, room: u32) -> bool {
        room.saturating_sub(self.posted) > requests
    }

    /// Returns the number of the oldest transfer that has not ended.
    pub(super) fn oldest(&self) -> u64 {
        self.ended
    }

    /// Returns true where a transfer is under way, whose end gives its registration back.
    pub(super) fn are_under_way(&self) -> bool {
        self.ended != self.begun
    }

    /// Returns true where the send queue has requests, whose end makes room.
    pub(super) fn is_busy(&self) -> bool {
        self.posted > 0
    }

    /// Notes the progress of the first request that waits.
    pub(super) fn note(&mut self, first: First) {
        self.first = first;
    }

    /// Notes that transfer `index`, of `requests`, begins for the first request that waits, and
    /// returns that.
    ///
    /// # Errors
    ///
    /// `EINVAL` where nobody waits, or it is not the one whose turn it is.
    pub(super) fn begin(&mut self, index: usize, requests: u32) -> Result<Request, Failure> {
        let wrong = || memory_failed(EINVAL);
        let place = turn(self.begun, self.waiting.len());
        let waiting = self.waiting.get_mut(place);
        let request = waiting.and_then(Option::take).ok_or_else(wrong)?;
        let transfer = self.list.get_mut(index).ok_or_else(wrong)?;
        transfer.memory = request.memory;
        // The answer is one more.
        transfer.requests = requests + 1;
        transfer.step = Step::Moving;
        self.posted += transfer.requests;
        self.first = First::New;
        self.begun += 1;
        Ok(request)
    }

    /// Returns the transfer and the memory of its client, by its index.
    ///
    /// # Errors
    ///
    /// `EINVAL` where there is none.
    pub(super) fn get(&self, index: usize) -> Result<(TransferId, Advertisement), Failure> {
        let transfer = self.list.get(index);
        let transfer = transfer.ok_or_else(|| memory_failed(EINVAL))?;
        Ok((transfer.id, transfer.memory))
    }

    /// Notes that the data of transfer `index` has been moved.
    pub(super) fn moved(&mut self, index: usize) {
        if let Some(transfer) = self.list.get_mut(index) {
            transfer.step = Step::Moved;
        }
    }

    /// Notes that transfer `index` has been ended, and has an answer under way if `answering`.
    pub(super) fn ended(&mut self, index: usize, answering: bool) {
        self.ended += 1;
        if let Some(transfer) = self.list.get_mut(index) {
            transfer.step = Step::Answering;
        }
        if self.first == First::Starved {
            self.first = First::Filled;
        }
        if !answering {
            self.answered(index);
        }
    }

    /// Notes that the answer of transfer `index` has left: all its requests have completed.
    pub(super) fn answered(&mut self, index: usize) {
        if let Some(transfer) = self.list.get_mut(index) {
            transfer.step = Step::Free;
            self.posted -= transfer.requests;
            transfer.requests = 0;
        }
    }
}
