// SPDX-License-Identifier: GPL-2.0

//! Posting of operations: lists of requests of one kind, as far as the send queue has room.

#![forbid(unsafe_code)]

use super::{
    buffers::Buffers,
    numbered::Numbered,
    plan::Plan,
    team::Team,
    verb, //
};
use crate::{
    engine::{
        queue::Queue,
        traffic::Traffic, //
    },
    kernel_ext::time::monotonic_ns,
    logic::{
        data::pattern::Mismatch,
        failure::Failure,
        measure::window::Window,
        spec::tests::Verb, //
    },
    mr::BufferId,
    rdma::wr::prepared::{
        Form,
        Notify,
        PreparedList,
        Request, //
    },
    workloads::open_loop::OpenLoop, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// The slot of the completion of an operation that was posted again.
pub(super) const AGAIN: usize = 1;

/// The slot of the completion of the READ of the peer's table of regions.
pub(super) const TABLE: usize = 2;

/// Posts lists of requests of one kind, and counts operations, lists and completions.
pub(crate) struct Poster {
    list: PreparedList,
    /// The operation that is posted again where no answer comes; `None` where none is.
    again: Option<KBox<PreparedList>>,
    /// `again` has not completed.
    is_again: bool,
    /// Operations that were posted and done.
    pub(crate) window: Window,
    verb: Verb,
    size: u32,
    /// Bytes of the requests of the list before each, and of all, if they have several sizes.
    sums: KVVec<u64>,
    /// Number of operations before the measured ones.
    warmup: u64,
    traffic: Arc<Traffic>,
    completions: u64,
    posts: u64,
    /// The numbers of messages that are all compared, and the buffer that they are taken from, or
    /// brought to.
    numbered: Option<(Numbered, BufferId)>,
    /// The queue pair has each request complete, so none asks for it.
    sig_all: bool,
    solicits: Solicits,
    /// The moments at which operations are due; `None` where each is posted as soon as it can be.
    pub(super) open_loop: Option<KBox<OpenLoop>>,
    /// Queue pairs that take turns with this one.
    team: Option<Arc<Team>>,
}

/// The operations that raise an event at a peer which waits for solicited ones only.
#[derive(Clone, Copy)]
enum Solicits {
    None,
    /// The operations that ask for a completion, of which the last is one.
    Signaled,
    Each,
}

impl Solicits {
    /// Returns the operations of `plan` that do.
    fn of(plan: &Plan) -> Self {
        match (plan.load.solicited, plan.test.is_latency()) {
            (false, _) => Self::None,
            (true, false) => Self::Signaled,
            // The peer answers each.
            (true, true) => Self::Each,
        }
    }

    /// Returns what an operation asks for, which `signaled` says may ask for a completion, if
    /// `asks` is true.
    fn notify(self, signaled: bool, asks: bool) -> Notify {
        Notify {
            signaled: signaled && asks,
            solicited: match self {
                Self::None => false,
                Self::Signaled => signaled,
                Self::Each => true,
            },
        }
    }
}

/// Makes the list of an operation that is posted again. May sleep.
#[inline(never)]
fn new_list_of_one(sges: usize) -> Result<KBox<PreparedList>> {
    Ok(KBox::new(PreparedList::new(1, sges)?, GFP_KERNEL)?)
}

/// Returns the bytes of the requests of a list of `plan` before each, and of all, if they have
/// several sizes. May sleep.
fn sums_of(plan: &Plan) -> Result<KVVec<u64>> {
    let mut sums = KVVec::new();
    if plan.load.mixed && plan.leading {
        let mut sum = 0u64;
        sums.push(sum, GFP_KERNEL)?;
        for number in 0..plan.list_capacity() {
            sum = sum.saturating_add(plan.size_of(number).into());
            sums.push(sum, GFP_KERNEL)?;
        }
    }
    Ok(sums)
}

impl Poster {
    /// Creates the poster of the operations of `plan`, of a queue pair of `team`, which is to be
    /// [filled](Self::fill) before it posts any. May sleep.
    #[inline(never)]
    pub(crate) fn new(
        plan: &Plan,
        buffers: &Buffers,
        traffic: Arc<Traffic>,
        team: Option<&Arc<Team>>,
    ) -> Result<Self> {
        let load = &plan.load;
        let mut window = Window::new(
            plan.depth(),
            u32::from(load.postlist),
            u32::from(load.signal_every),
            plan.total(),
        );
        if let Some(hold) = plan.hold() {
            window = window.holding_at(hold);
        }
        let open_loop = |share| OpenLoop::new(share, plan.duration_ms);
        let sges = usize::from(load.sge);
        let data = if plan.fetches() {
            buffers.sink()
        } else {
            buffers.source()
        };
        let repeats = plan.is_unreliable() && plan.test.is_latency();
        Ok(Self {
            list: PreparedList::new(plan.list_capacity(), sges)?,
            again: repeats.then(|| new_list_of_one(sges)).transpose()?,
            is_again: false,
            window,
            verb: plan.verb,
            size: plan.size,
            sums: sums_of(plan)?,
            warmup: plan.warmup(),
            traffic,
            completions: 0,
            posts: 0,
            numbered: plan.numbered().zip(data),
            sig_all: load.sig_all,
            solicits: Solicits::of(plan),
            open_loop: plan.share.map(open_loop).transpose()?,
            team: team.cloned(),
        })
    }

    /// Returns true if the operations bring data to this side.
    pub(crate) fn fetches(&self) -> bool {
        verb::fetches(self.verb)
    }

    /// Writes the requests that are posted, of which `request` returns each by its number.
    ///
    /// # Errors
    ///
    /// `EINVAL` where that was done before, or for an operand outside its buffer.
    pub(crate) fn fill(
        &mut self,
        queue: &mut Queue<'_>,
        form: Form,
        request: impl Fn(usize) -> Result<Request>,
    ) -> Result<(), Failure> {
        let op = verb::operation(self.verb);
        if let Some(again) = &mut self.again {
            queue.fill_list(again, (op, AGAIN), form, &request)?;
        }
        queue.fill_list(&mut self.list, (op, 0), form, request)
    }

    /// Posts the last operation again, unless that is under way, and returns true if it did.
    pub(super) fn post_again(&mut self, queue: &mut Queue<'_>) -> Result<bool, Failure> {
        let last = self.window.posted().checked_sub(1);
        let Some((last, again)) = last.zip(self.again.as_mut()).filter(|_| !self.is_again) else {
            return Ok(false);
        };
        again.number_from(last as u32);
        let solicits = self.solicits;
        let op = verb::operation(self.verb);
        queue.post_list(op, again, 1, |_| solicits.notify(true, true))?;
        self.is_again = true;
        self.traffic.moved(op, 1, self.size.into());
        Ok(true)
    }

    /// Returns true if the operation that was posted again has not completed.
    pub(super) fn is_again(&self) -> bool {
        self.is_again
    }

    /// Notes that the operation that was posted again has completed.
    pub(super) fn completed_again(&mut self) {
        self.is_again = false;
    }

    /// Posts one list. Returns false if `window` has no room for it, or if it is not due yet.
    pub(crate) fn post(&mut self, queue: &mut Queue<'_>) -> Result<bool, Failure> {
        let count = self.window.room();
        if count == 0 {
            return Ok(false);
        }
        if let Some(open_loop) = &mut self.open_loop {
            let now = monotonic_ns();
            if !open_loop.is_due(now) {
                return Ok(false);
            }
            open_loop.posted(now);
        }
        let window = &self.window;
        if let Some((numbered, source)) = self.numbered.filter(|_| !self.fetches()) {
            numbered.prepare(queue, source, window.posted(), count)?;
        }
        let (asks, solicits) = (!self.sig_all, self.solicits);
        let op = verb::operation(self.verb);
        queue.post_list(op, &mut self.list, count, |ahead| {
            solicits.notify(window.signaled(ahead), asks)
        })?;
        self.window.post(count);
        self.posts = self.posts.wrapping_add(1);
        // A READ has not moved any data yet.
        if !self.fetches() {
            let bytes = self.bytes_from(self.window.posted() - u64::from(count), count.into());
            self.traffic.moved(op, count, bytes);
        }
        Ok(true)
    }

    /// Counts a completion, and the operations that it reports as done. Returns the first
    /// difference of numbered data that they have brought, if any.
    pub(crate) fn completed(&mut self, queue: &mut Queue<'_>) -> Result<Option<Mismatch>, Failure> {
        let before = self.window.done();
        let count = self.window.completed();
        self.completions = self.completions.wrapping_add(1);
        if !self.fetches() {
            return Ok(None);
        }
        let bytes = self.bytes_from(before, count.into());
        self.traffic.moved(verb::operation(self.verb), count, bytes);
        let mut first = None;
        if let Some((numbered, sink)) = self.numbered {
            for number in before..self.window.done() {
                match numbered.compare_read(queue, sink, number)? {
                    None => self.traffic.validated(self.size),
                    found => first = first.or(found),
                }
            }
        }
        Ok(first)
    }

    /// Returns the bytes of the first `count` operations that are measured; `None` where all have
    /// the same.
    pub(super) fn bytes(&self, count: u64) -> Option<u64> {
        (!self.sums.is_empty()).then(|| self.bytes_from(self.warmup, count))
    }

    /// Returns the bytes of `count` operations, of which the first has number `first`.
    pub(super) fn bytes_from(&self, first: u64, count: u64) -> u64 {
        let turn = self.sums.len().saturating_sub(1) as u64;
        let Some(all) = self.sums.last().filter(|_| turn != 0) else {
            return count.saturating_mul(self.size.into());
        };
        let before = |number: u64| {
            let part = self.sums.get((number % turn) as usize);
            let whole = all.saturating_mul(number / turn);
            whole.saturating_add(part.copied().unwrap_or(0))
        };
        before(first.saturating_add(count)).saturating_sub(before(first))
    }

    /// Begins the moments at which operations are due, at `now`. Returns false if they have none.
    pub(super) fn begin(&mut self, now: u64) -> bool {
        let Some(open_loop) = &mut self.open_loop else {
            return false;
        };
        let turn = self.team.as_ref().map_or(0, |team| team.take_turn());
        open_loop.begin(now, turn);
        true
    }

    /// Returns true if operations have moments at which they are due, and these have begun.
    pub(super) fn follows_clock(&self) -> bool {
        let open_loop = self.open_loop.as_ref();
        open_loop.is_some_and(|open_loop| open_loop.has_begun())
    }

    /// Posts no more operations if the time of an open loop has come to its end at `now`.
    pub(super) fn stop_in_time(&mut self, now: u64) {
        let all_posted = self.window.all_posted();
        if let Some(open_loop) = self.open_loop.as_mut().filter(|_| !all_posted) {
            if open_loop.ends(now) {
                self.window.end();
            }
        }
    }

    /// Returns the next moment after `now` at which to look whether an operation of an open loop is
    /// due; `None` where all are posted.
    pub(super) fn after(&self, now: u64) -> Option<u64> {
        let open_loop = self.open_loop.as_ref();
        let open_loop = open_loop.filter(|_| !self.window.all_posted())?;
        open_loop.after(now)
    }

    /// Returns the counters of the connection.
    pub(crate) fn traffic(&self) -> &Traffic {
        &self.traffic
    }

    /// Returns the number of completions.
    pub(crate) fn completions(&self) -> u64 {
        self.completions
    }

    /// Returns the number of lists that were posted.
    pub(crate) fn posts(&self) -> u64 {
        self.posts
    }
}
