// SPDX-License-Identifier: GPL-2.0

//! What a tap has seen and not forwarded yet: records in the order of the requests, and
//! the data of writes.
//!
//! Probes put in, one thread takes out. A probe reserves its room under a spinlock, copies
//! the data without it, and says under it again that the record is ready; it never waits:
//! where there is no room, the request is dropped and counted. The thread takes records
//! in their order, so one that is not ready holds back those after it for a moment.
//!
//! All memory is allocated at the start. The lock is a leaf, but for the wake-up of the
//! thread, which comes after it.

#![forbid(unsafe_code)]

use super::record::{
    Entry,
    Record,
    State,
    NOTHING, //
};
use crate::{
    engine::outcome::Bell,
    kernel_ext::{
        area::Area,
        pages::Contiguous,
        spinlock::SpinLockIrq, //
    }, //
};
use kernel::{
    prelude::*,
    static_lock_class,
    sync::Arc, //
};

/// Bytes of data for which there is one record: no write is smaller.
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
    /// Requests that are still to be taken; `None` for no end.
    left: Option<u64>,
    open: bool,
    dropped: u64,
    /// Whether the thread wants to be woken for the next record.
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
        self.first = self.first.wrapping_add(1);
        self.data_first = entry.position.wrapping_add(u64::from(entry.room));
        Some(entry)
    }

    fn drop_one(&mut self) {
        self.dropped = self.dropped.saturating_add(1);
    }
}

/// What comes next.
pub(crate) enum Next {
    /// This, until [`Ring::consume`].
    Record(Taken),
    /// Nothing yet: the bell will be rung.
    Nothing,
    /// Nothing any more.
    Ended,
}

/// The oldest record.
#[derive(Clone, Copy)]
pub(crate) struct Taken {
    /// What it says.
    pub(crate) record: Record,
    /// The last of its request.
    pub(crate) last: bool,
    position: u64,
}

/// A ring of records and data.
#[pin_data]
pub(crate) struct Ring {
    #[pin]
    inner: SpinLockIrq<Inner>,
    data: Area,
    bell: Bell,
}

impl Ring {
    /// A ring for `size` bytes of data, open for `count` requests, or without an end for
    /// 0. It rings `bell` for the thread that takes them. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `EINVAL` for a size of less than one block.
    pub(crate) fn new(size: usize, count: u64, bell: Bell) -> Result<Arc<Self>> {
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
                bell,
            }),
            GFP_KERNEL,
        )
    }

    /// Reserves room for a request of `records` records, the first of which has `bytes`
    /// bytes of data. Any context. Returns `None` where the ring is closed, or is full: then
    /// the request is counted as dropped.
    pub(crate) fn reserve(&self, records: usize, bytes: u32) -> Option<Room<'_>> {
        let (records, bytes) = (records as u64, u64::from(bytes));
        let mut inner = self.inner.lock();
        if !inner.open || records == 0 {
            return None;
        }
        let free =
            (inner.entries.len() as u64).saturating_sub(inner.next.wrapping_sub(inner.first));
        let data_free =
            (self.data.len() as u64).saturating_sub(inner.data_next.wrapping_sub(inner.data_first));
        if records > free || bytes > data_free {
            inner.drop_one();
            return None;
        }
        let (number, position) = (inner.next, inner.data_next);
        inner.next = number.wrapping_add(records);
        inner.data_next = position.wrapping_add(bytes);
        for index in 0..records {
            if let Some(entry) = inner.entry(number.wrapping_add(index)) {
                let before = if index == 0 { 0 } else { bytes };
                *entry = Entry {
                    state: State::Reserved,
                    last: index.wrapping_add(1) == records,
                    position: position.wrapping_add(before),
                    room: bytes.saturating_sub(before) as u32,
                    ..NOTHING
                };
            }
        }
        if let Some(left) = &mut inner.left {
            *left = left.saturating_sub(1);
            inner.open = *left != 0;
        }
        Some(Room {
            ring: self,
            number,
            end: inner.next,
            position,
        })
    }

    /// Counts a request as dropped that did not come as far as the ring. Any context.
    pub(crate) fn miss(&self) {
        let mut inner = self.inner.lock();
        if inner.open {
            inner.drop_one();
        }
    }

    /// Takes no more requests. Any context.
    pub(crate) fn close(&self) {
        self.inner.lock().open = false;
        self.bell.complete();
    }

    /// Requests that have been dropped so far. Any context.
    pub(crate) fn dropped(&self) -> u64 {
        self.inner.lock().dropped
    }

    /// The oldest record, if it is ready. For the one thread that takes them.
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

    /// Copies `len` bytes of the data of `taken`, from `from` on, to `offset` of `to`.
    ///
    /// # Errors
    ///
    /// `EINVAL` where either has not so many.
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
        let position = taken.position.wrapping_add(from as u64);
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

    /// Counts all requests as dropped that are still there, from the oldest record on. When
    /// no probe runs any more.
    pub(crate) fn give_up(&self) {
        let mut inner = self.inner.lock();
        inner.open = false;
        while let Some(entry) = inner.pop() {
            if entry.last {
                inner.drop_one();
            }
        }
    }

    /// Where `len` bytes of data from `position` on are: they may go past the end, and on
    /// from the beginning.
    fn spans(&self, position: u64, len: usize) -> [Span; 2] {
        let size = self.data.len();
        let place = position.checked_rem(size as u64).unwrap_or(0) as usize;
        let first = len.min(size.saturating_sub(place));
        [
            Span {
                place,
                done: 0,
                len: first,
            },
            Span {
                place: 0,
                done: first,
                len: len.saturating_sub(first),
            },
        ]
    }
}

/// Bytes that are next to each other.
struct Span {
    /// Where in the ring.
    place: usize,
    /// How many come before them.
    done: usize,
    /// How many.
    len: usize,
}

/// The room of one request. What has not been [`put`](Self::put) into it when it is dropped
/// is void.
pub(crate) struct Room<'a> {
    ring: &'a Ring,
    /// The next record.
    number: u64,
    /// Past the last record.
    end: u64,
    /// Where the data is.
    position: u64,
}

impl Room<'_> {
    /// Puts the first record in, with its data: `copy` is told where to put a part of it,
    /// and how much comes before that part, once or twice. A record whose data it cannot
    /// have is void. Any context.
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

    /// Puts the next record in. Any context.
    pub(crate) fn put(&mut self, record: &Record) {
        self.settle(record, State::Ready);
    }

    /// Says what became of the next record.
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
        self.number = self.number.wrapping_add(1);
        if wake {
            self.ring.bell.complete();
        }
    }
}

impl Drop for Room<'_> {
    fn drop(&mut self) {
        while self.number != self.end {
            self.settle(&NOTHING.record, State::Void);
        }
    }
}
