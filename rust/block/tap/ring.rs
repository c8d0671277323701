// SPDX-License-Identifier: GPL-2.0

//! Ring of the requests that a tap has seen and not forwarded yet: records in the order of the
//! requests, and the data of writes.
//!
//! Probes insert, and one thread removes. A probe reserves room under a spinlock, copies the data
//! without the lock, and takes the lock again to mark the record as ready. It never waits: if
//! there is no room, the request is dropped and counted. The thread takes records in order, so
//! one that is not ready delays those after it for a moment.
//!
//! All memory is allocated at the start. No other lock is taken under the ring's lock; the thread
//! is woken after it is released.

#![forbid(unsafe_code)]

use super::record::{
    Entry,
    Record,
    State,
    NOTHING, //
};
use crate::{
    engine::outcome::WaitQueue,
    kernel_ext::{
        pages::{
            Area,
            Contiguous, //
        },
        spinlock::SpinLockIrq, //
    }, //
};
use kernel::{
    prelude::*,
    static_lock_class,
    sync::Arc, //
};

/// Bytes of data per record in the ring: no write is smaller.
const BYTES_PER_RECORD: usize = 512;

/// # Invariants
///
/// - Record `n` is in place `n % entries.len()`. Those from `first` to `next` are there;
///   `next` is never more than the number of places above `first`.
/// - Byte `n` of the data is in place `n % data.len()`. Those from `data_first` to
///   `data_next` are reserved, never more than there are places.
struct Inner {
    entries: KVVec<Entry>,
    first: u64,
    next: u64,
    data_first: u64,
    data_next: u64,
    /// Number of requests still to be taken; `None` for no limit.
    left: Option<u64>,
    open: bool,
    dropped: u64,
    /// The thread wants to be woken for the next record.
    waiting: bool,
}

impl Inner {
    fn entry(&mut self, number: u64) -> Option<&mut Entry> {
        let index = number.checked_rem(self.entries.len() as u64)?;
        self.entries.get_mut(index as usize)
    }

    /// Frees the oldest record and its data.
    fn pop(&mut self) -> Option<Entry> {
        if self.first == self.next {
            return None;
        }
        let entry = *self.entry(self.first)?;
        self.first += 1;
        self.data_first = entry.position + u64::from(entry.room);
        Some(entry)
    }

    fn drop_one(&mut self) {
        self.dropped = self.dropped.saturating_add(1);
    }
}

/// Result of [`Ring::next`].
pub(crate) enum Next {
    /// The oldest record. It stays in the ring until [`Ring::consume`].
    Record(Taken),
    /// There is nothing yet; the wait queue will be woken.
    Nothing,
    /// There is nothing left, and the ring is closed.
    Ended,
}

/// The oldest record, once it is ready.
#[derive(Clone, Copy)]
pub(crate) struct Taken {
    /// The record's contents.
    pub(crate) record: Record,
    /// The record is the last of its request.
    pub(crate) last: bool,
    position: u64,
}

/// A ring of records and data.
#[pin_data]
pub(crate) struct Ring {
    #[pin]
    inner: SpinLockIrq<Inner>,
    data: Area,
    wait_queue: WaitQueue,
}

impl Ring {
    /// Creates a ring for `size` bytes of data. It closes after `count` requests; 0 means no
    /// limit. `wait_queue` wakes the thread that takes the records. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `EINVAL` if `size` is less than one block.
    pub(crate) fn new(size: usize, count: u64, wait_queue: WaitQueue) -> Result<Arc<Self>> {
        let places = size / BYTES_PER_RECORD;
        if places == 0 {
            return Err(EINVAL);
        }
        let data = Area::new(size)?;
        let entries = KVVec::from_elem(NOTHING, places, GFP_KERNEL)?;
        Arc::pin_init(
            pin_init!(Self {
                inner <- SpinLockIrq::new(
                    Inner {
                        entries,
                        first: 0,
                        next: 0,
                        data_first: 0,
                        data_next: 0,
                        left: (count != 0).then_some(count),
                        open: true,
                        dropped: 0,
                        waiting: false,
                    },
                    c"krping_ring",
                    static_lock_class!(),
                ),
                data,
                wait_queue,
            }),
            GFP_KERNEL,
        )
    }

    /// Reserves room for a request of `records` records, the first of which has `bytes` bytes of
    /// data. Returns `None` if the ring is closed or `records` is 0. Returns `None` if the ring
    /// is full, too; then the request is counted as dropped. Any context.
    pub(crate) fn reserve(&self, records: usize, bytes: u32) -> Option<Reservation<'_>> {
        let (records, bytes) = (records as u64, u64::from(bytes));
        let mut inner = self.inner.lock();
        if !inner.open || records == 0 {
            return None;
        }
        let free = inner.entries.len() as u64 - (inner.next - inner.first);
        let data_free = self.data.len() as u64 - (inner.data_next - inner.data_first);
        if records > free || bytes > data_free {
            inner.drop_one();
            return None;
        }
        let (number, position) = (inner.next, inner.data_next);
        inner.next = number + records;
        inner.data_next = position + bytes;
        for index in 0..records {
            if let Some(entry) = inner.entry(number + index) {
                let before = if index == 0 { 0 } else { bytes };
                *entry = Entry {
                    state: State::Reserved,
                    last: index + 1 == records,
                    position: position + before,
                    room: (bytes - before) as u32,
                    ..NOTHING
                };
            }
        }
        if let Some(left) = &mut inner.left {
            *left = left.saturating_sub(1);
            inner.open = *left != 0;
        }
        Some(Reservation {
            ring: self,
            number,
            end: inner.next,
            position,
        })
    }

    /// Counts a request as dropped that did not reach the ring. Any context.
    pub(crate) fn miss(&self) {
        let mut inner = self.inner.lock();
        if inner.open {
            inner.drop_one();
        }
    }

    /// Closes the ring to further requests, and wakes the thread. Any context.
    pub(crate) fn close(&self) {
        self.inner.lock().open = false;
        self.wait_queue.complete();
    }

    /// Returns the number of requests dropped so far. Any context.
    pub(crate) fn dropped(&self) -> u64 {
        self.inner.lock().dropped
    }

    /// Returns the oldest record, if it is ready. Only the one thread that takes records may call
    /// this.
    pub(crate) fn next(&self) -> Next {
        let mut inner = self.inner.lock();
        loop {
            let first = inner.first;
            if first == inner.next {
                if !inner.open {
                    return Next::Ended;
                }
                break;
            }
            let Some(entry) = inner.entry(first).copied() else {
                return Next::Ended;
            };
            match entry.state {
                State::Reserved => break,
                State::Ready => {
                    return Next::Record(Taken {
                        record: entry.record,
                        last: entry.last,
                        position: entry.position,
                    })
                }
                State::Void => {
                    inner.pop();
                    if entry.last {
                        inner.drop_one();
                    }
                }
            }
        }
        inner.waiting = true;
        Next::Nothing
    }

    /// Copies `len` bytes of the data of `taken`, starting at `from`, to `offset` of `to`.
    ///
    /// # Errors
    ///
    /// `EINVAL` if the data or `to` is too short.
    pub(crate) fn copy(
        &self,
        taken: &Taken,
        from: usize,
        to: &Contiguous,
        offset: usize,
        len: usize,
    ) -> Result {
        if from.saturating_add(len) > taken.record.data() {
            return Err(EINVAL);
        }
        let position = taken.position + from as u64;
        for span in self.spans(position, len) {
            let offset = offset.saturating_add(span.done);
            self.data.copy_to(span.place, to, offset, span.len)?;
        }
        Ok(())
    }

    /// Frees the record that [`next`](Self::next) returned, and its data.
    pub(crate) fn consume(&self) {
        self.inner.lock().pop();
    }

    /// Closes the ring, and counts all requests that are still in it as dropped. To be called
    /// once no probe runs any more.
    pub(crate) fn give_up(&self) {
        let mut inner = self.inner.lock();
        inner.open = false;
        while let Some(entry) = inner.pop() {
            if entry.last {
                inner.drop_one();
            }
        }
    }

    /// Returns the places of `len` bytes of data from `position` on. They may wrap around the end
    /// of the ring.
    fn spans(&self, position: u64, len: usize) -> [Span; 2] {
        let size = self.data.len();
        let place = position.checked_rem(size as u64).unwrap_or(0) as usize;
        let first = len.min(size - place);
        [
            Span {
                place,
                done: 0,
                len: first,
            },
            Span {
                place: 0,
                done: first,
                len: len - first,
            },
        ]
    }
}

/// A contiguous run of bytes in the ring.
struct Span {
    /// Offset in the ring.
    place: usize,
    /// Number of bytes of the data that precede the span.
    done: usize,
    /// Number of bytes in the span.
    len: usize,
}

/// Room in the ring for one request. Records not [`put`](Self::put) into it before it is dropped
/// become void.
pub(crate) struct Reservation<'a> {
    ring: &'a Ring,
    /// Number of the next record.
    number: u64,
    /// Number after the last record.
    end: u64,
    /// Position of the data.
    position: u64,
}

impl Reservation<'_> {
    /// Stores the first record, with its data. `copy` is called once, or twice where the data
    /// wraps around, with the memory, the offset in it, the number of bytes before this span and
    /// the length of the span. If the data cannot be copied, the record becomes void. Any
    /// context.
    pub(crate) fn put_data(
        &mut self,
        record: &Record,
        copy: impl Fn(&Area, usize, usize, usize) -> Result,
    ) {
        let copied = self
            .ring
            .spans(self.position, record.data())
            .iter()
            .filter(|span| span.len > 0)
            .try_for_each(|span| copy(&self.ring.data, span.place, span.done, span.len));
        match copied {
            Ok(()) => self.put(record),
            Err(_) => self.settle(record, State::Void),
        }
    }

    /// Stores the next record. Any context.
    pub(crate) fn put(&mut self, record: &Record) {
        self.settle(record, State::Ready);
    }

    /// Sets the contents and the state of the next record, and wakes the thread if it waits.
    fn settle(&mut self, record: &Record, state: State) {
        if self.number == self.end {
            return;
        }
        let wake = {
            let mut inner = self.ring.inner.lock();
            if let Some(entry) = inner.entry(self.number) {
                entry.record = *record;
                entry.state = state;
            }
            core::mem::take(&mut inner.waiting)
        };
        self.number += 1;
        if wake {
            self.ring.wait_queue.complete();
        }
    }
}

impl Drop for Reservation<'_> {
    fn drop(&mut self) {
        while self.number != self.end {
            self.settle(&NOTHING.record, State::Void);
        }
    }
}
