// SPDX-License-Identifier: GPL-2.0

//! One end of a connection under test: its queue pair, its memory, and the posted requests.

#![forbid(unsafe_code)]

mod completed;
mod content;
mod datagrams;
mod prepared;

use super::{
    probe::{
        Manner,
        Probe, //
    },
    setup::{
        Setup,
        GUARD, //
    },
    watch::Watch,
    Recorder, //
};
use crate::{
    cm::CmId,
    engine::{
        outcome::Outcome,
        tag::{
            tags,
            Layout,
            Tag, //
        }, //
    },
    kernel_ext::blk::request::Request,
    logic::{
        conformance::{
            observation::State,
            steps::Rights, //
        },
        failure::{
            errno,
            Failure,
            Operation, //
        },
        wire::Advertisement, //
    },
    mr::{
        Access,
        BufferId,
        Memory,
        RegionId, //
    },
    rdma::{
        cq::{
            NextEvent,
            PollMode, //
        },
        memory,
        pd::ProtectionDomain,
        qp::{
            ConnectionAttributes,
            PeerQueuePair,
            Queue,
            QueuePair, //
        },
        srq::SharedReceiveQueue,
        wr::Local, //
    }, //
};
use kernel::{
    error::Error,
    page::PAGE_SIZE,
    prelude::*,
    sync::Arc, //
};

pub(super) use crate::logic::conformance::steps::Place;
pub(super) use content::{
    byte,
    seed, //
};

/// Most completions that are handled at a time.
const BUDGET: u16 = 64;

/// Number of bytes in a large page.
pub(super) const LARGE_PAGE: usize = 2 * PAGE_SIZE;

/// Result of posting a request: its slot number, or the errno, positive.
pub(super) type Taken = core::result::Result<usize, i32>;

/// One end of a connection.
pub(crate) struct End {
    /// Until it is destroyed.
    queue_pair: Option<Pin<KBox<QueuePair<Recorder>>>>,
    /// The queue that the receives are of, if they are not of its own.
    shared: Option<Arc<SharedReceiveQueue>>,
    watch: Arc<Watch>,
    exposed_buffer: BufferId,
    own_buffer: BufferId,
    inbox: BufferId,
    /// Region over the memory that is opened to the peer.
    pub(super) region: RegionId,
    /// Region over [`Place::Own`].
    pub(super) own_region: RegionId,
    /// Region over it in another domain, if the case wants one.
    pub(super) other_region: Option<RegionId>,
    /// Region that is mapped over nothing yet, if the case wants one.
    pub(super) sink: Option<RegionId>,
    /// Size of each buffer in bytes, without the guard.
    pub(super) exposed: u32,
    slots: usize,
    /// Number of requests that were posted to the send queue.
    pub(super) sent: usize,
    /// Number of receives that were posted.
    pub(super) received: usize,
    /// Number of requests that were posted before those under test.
    before: usize,
    /// Stays until the queue pair is gone, so that its end is told to the peer when it can be.
    id: Arc<CmId>,
}

impl End {
    /// Creates a queue pair on `id` and buffers on `memory`, which is for it and must be empty,
    /// for the requester if `requests` is true. `other` is another domain of the device. May sleep.
    pub(crate) fn new(
        id: &Arc<CmId>,
        mut memory: Memory,
        other: &Arc<ProtectionDomain>,
        setup: &Setup,
        requests: bool,
    ) -> Result<Self> {
        let exposed = setup.exposed as usize;
        let size = exposed + GUARD as usize;
        let exposed_buffer = memory.add_buffer(size)?;
        let own_buffer = memory.add_buffer(size)?;
        let inbox = memory.add_buffer(size)?;
        let open = setup.region(true, exposed);
        let region = match setup.large_pages {
            true => memory.add_region_of_pages(exposed_buffer, open, LARGE_PAGE)?,
            false => memory.add_region_over(exposed_buffer, open)?,
        };
        let own_region = memory.add_region_over(own_buffer, setup.region(false, size))?;
        let other_region = match setup.other_domain {
            true => Some(memory.add_region_in(other.clone(), own_buffer, 0..size)?),
            false => None,
        };
        let sink = setup
            .sink
            .then(|| memory.add_sink(setup.exposed))
            .transpose()?;
        let recorder = Recorder::new(setup.most_completions())?;
        let depths = setup.depths(requests);
        let watch = Arc::new(Watch::new(id.outcome().clone()), GFP_KERNEL)?;
        let shared = if setup.shared && !requests {
            let shared = memory::Memory::new(id.rdma(), memory.pd().clone())?;
            let receives = u32::try_from(setup.slots()).map_err(|_| ERANGE)?;
            let queue = SharedReceiveQueue::new(shared, receives, setup.exposed, watch.clone())?;
            memory.share(queue.clone())?;
            Some(queue)
        } else {
            None
        };
        let poll = match setup.notified && requests || setup.told && !requests {
            true => PollMode::Notified,
            false => PollMode::Direct,
        };
        let queue_pair = QueuePair::new(
            memory,
            &depths.caps(),
            poll,
            &tags(Recorder::OPERATIONS, depths.slots)?,
            watch.clone(),
            recorder,
        )?;
        let mut this = Self {
            queue_pair: Some(queue_pair),
            shared,
            watch,
            id: id.clone(),
            exposed_buffer,
            own_buffer,
            inbox,
            region,
            own_region,
            other_region,
            sink,
            exposed: setup.exposed,
            slots: setup.slots(),
            sent: 0,
            received: 0,
            before: 0,
        };
        for place in [Place::Exposed, Place::Own, Place::Inbox] {
            this.fill(place, seed(requests, place))?;
        }
        Ok(this)
    }

    /// Returns the outcome to which errors of the queue pair and events of its connection are
    /// reported.
    pub(crate) fn outcome(&self) -> &Arc<Outcome> {
        self.id.outcome()
    }

    /// Returns the queue pair.
    ///
    /// # Errors
    ///
    /// `ENODEV` once it is destroyed.
    fn queue_pair(&self) -> Result<&QueuePair<Recorder>> {
        self.queue_pair.as_deref().ok_or(ENODEV)
    }

    /// Connects the queue pair to the one with the number `peer` without the CM. Each begins with
    /// the packet sequence number `psn`. Sleeps.
    ///
    /// # Errors
    ///
    /// [`QueuePair::connect_without_cm`] says which.
    pub(crate) fn connect_without_cm(
        &self,
        peer: u32,
        psn: u32,
        attributes: &ConnectionAttributes,
    ) -> Result {
        let peer = PeerQueuePair::new(peer, psn)?;
        self.queue_pair()?.connect_without_cm(psn, peer, attributes)
    }

    /// Maps the region that is mapped over nothing over two parts of [`Place::Own`] in one page, of
    /// which the second begins where the first ends, or behind a gap if `gap` is true.
    ///
    /// # Errors
    ///
    /// `EINVAL` where the map ends at the gap; the driver's error.
    pub(super) fn map_parts(&self, gap: bool) -> Result {
        const PART: u32 = 16;
        let region = self.sink.ok_or(EINVAL)?;
        let part = |offset| {
            Ok(Local {
                offset,
                ..self.local(Place::Own, PART)
            })
        };
        let parts = [part(0), part(if gap { 2 * PART } else { PART })];
        self.with(|_, queue| queue.map_sink(region, parts.into_iter()))?
    }

    /// Destroys the queue pair, and what has been recorded. Sleeps.
    pub(super) fn destroy(&mut self) {
        self.queue_pair = None;
    }

    fn with<R>(
        &self,
        f: impl FnOnce(&mut Recorder, &mut Queue<'_, Tag, Request>) -> R,
    ) -> Result<R> {
        // The workload exists until the queue pair is dropped.
        self.queue_pair()?.with(f).ok_or(ENODEV)
    }

    fn buffer(&self, place: Place) -> BufferId {
        match place {
            Place::Exposed => self.exposed_buffer,
            Place::Own => self.own_buffer,
            Place::Inbox => self.inbox,
        }
    }

    /// Returns the first `len` bytes of a buffer as an operand with the local DMA lkey.
    pub(super) fn local(&self, place: Place, len: u32) -> Local {
        Local {
            buffer: self.buffer(place),
            offset: 0,
            len,
            region: None,
        }
    }

    /// Returns the first `len` bytes of [`Place::Own`] as an operand with the key of its region, as
    /// a READ on iWARP needs it.
    pub(super) fn own(&self, len: u32) -> Local {
        Local {
            region: Some(self.own_region),
            ..self.local(Place::Own, len)
        }
    }

    /// Returns the advertisement of the memory that is opened to the peer.
    pub(super) fn advertise(&self) -> Result<Advertisement> {
        self.with(|_, queue| queue.memory().remote(self.region))?
            .map(Advertisement::from)
    }

    /// Gives the region that is opened to the peer a new key. The region must not be valid.
    pub(super) fn renew_key(&self) -> Result {
        self.with(|_, queue| queue.renew_key(self.region))?
    }

    /// Posts a request to the send queue.
    pub(super) fn post(&mut self, probe: &Probe) -> Taken {
        self.post_as(probe, Manner::PLAIN)
    }

    /// Posts a request to the send queue in this manner.
    pub(super) fn post_as(&mut self, probe: &Probe, manner: Manner) -> Taken {
        if self.sent >= self.slots {
            return Err(errno::ENOSPC);
        }
        let posted = self.with(|_, queue| probe.post(queue, self.sent, manner));
        flatten(posted)?;
        self.sent += 1;
        Ok(self.sent - 1)
    }

    /// Posts a receive into the first `len` bytes of the inbox, or the next of the shared queue,
    /// and returns its slot number.
    pub(super) fn receive(&mut self, len: u32) -> Result<usize, Failure> {
        self.receive_into(&self.local(Place::Inbox, len), 0)
    }

    /// Posts a receive into `local`, with the bits `flipped` of its key changed, or the next of the
    /// shared queue, and returns its slot number.
    pub(super) fn receive_into(&mut self, local: &Local, flipped: u32) -> Result<usize, Failure> {
        const LAYOUT: Layout = Layout::new(Recorder::OPERATIONS);
        let entry = LAYOUT.entry(Operation::Receive, self.received);
        let posted = match &self.shared {
            // They are posted in the order of their numbers, each once.
            Some(shared) => shared.refill(1).and_then(|posted| match posted {
                1 => Ok(()),
                _ => Err(ENOMEM),
            }),
            None => self
                .with(|_, queue| queue.post_receive_unchecked(entry, local, flipped))
                .and_then(|posted| posted),
        };
        posted.map_err(|e| Failure::Kernel("posting to the receive queue", e.to_errno()))?;
        self.received += 1;
        Ok(self.received - 1)
    }

    /// Posts `count` receives, each for a whole message.
    pub(super) fn receives(&mut self, count: usize) -> Result<(), Failure> {
        (0..count).try_for_each(|_| self.receive(self.exposed).map(|_| ()))
    }

    /// Asks for an event when fewer than `limit` shared receives are posted.
    ///
    /// # Errors
    ///
    /// The device refuses.
    pub(super) fn arm_shared(&self, limit: u32) -> Result<(), Failure> {
        let shared = self.shared.as_ref().ok_or_else(|| failed(EINVAL))?;
        let armed = shared.arm(limit);
        armed.map_err(|e| Failure::Kernel("arming the shared receive queue", e.to_errno()))
    }

    /// Has the device resize the shared queue to so many receives, and returns its answer.
    pub(super) fn resize_shared(&self, receives: u32) -> Result {
        self.shared.as_ref().ok_or(EINVAL)?.resize(receives)
    }

    /// Returns the number of requests that have completed, or of receives if `receive` is true.
    pub(super) fn completed(&self, receive: bool) -> usize {
        self.with(|recorder, _| recorder.count(receive))
            .unwrap_or(0)
    }

    /// Returns the receiver of events.
    pub(super) fn watch(&self) -> &Watch {
        &self.watch
    }

    /// Asks for an event when the next completion of those comes. Returns true where it is to be
    /// polled once more before that is waited for.
    ///
    /// # Errors
    ///
    /// The device refuses.
    pub(super) fn arm(&self, next: NextEvent) -> Result<bool, Failure> {
        self.queue_pair()
            .and_then(|queue_pair| queue_pair.arm(next))
            .map_err(|e| Failure::Kernel("arming the completion queue", e.to_errno()))
    }

    /// Handles completions, and returns their number.
    pub(super) fn poll(&self) -> usize {
        self.queue_pair()
            .map_or(0, |queue_pair| queue_pair.poll(BUDGET))
    }

    /// Marks the next request as the first one under test.
    pub(super) fn begin(&mut self) {
        self.before = self.sent;
    }

    /// Returns the state of the queue pair as the device reports it, or an unknown state if it does
    /// not report one. May sleep.
    pub(super) fn state(&self) -> State {
        let state = self.queue_pair().and_then(QueuePair::query_state);
        State(state.unwrap_or(u32::MAX))
    }

    /// Returns the number of completions that, according to the device, the completion queue holds.
    pub(super) fn completions(&self) -> u32 {
        self.queue_pair().map_or(0, QueuePair::max_completions)
    }

    /// Returns the name of the asynchronous error that was reported for its queues, if any.
    pub(super) fn event(&self) -> Option<&'static str> {
        match self.outcome().failure() {
            Some(Failure::Async(_, name)) => Some(name),
            _ => None,
        }
    }

    /// Returns the number of the queue pair.
    pub(crate) fn number(&self) -> u32 {
        self.queue_pair().map_or(0, QueuePair::number)
    }

    /// Disconnects, as a consumer must that is told of the end, which puts the queue pair into
    /// error. May sleep.
    pub(super) fn disconnect(&self) {
        // A failure means that there is no connection.
        let _ = self.id.disconnect();
    }

    /// Takes the right to do these operations from the peer, which has all others then. May sleep.
    ///
    /// # Errors
    ///
    /// The device refuses.
    pub(super) fn forbid(&self, rights: Rights) -> Result<(), Failure> {
        let permitted: &[Access] = match rights {
            Rights::Local => &[Access::Remote, Access::RemoteAtomic],
            Rights::Read => &[Access::RemoteWrite, Access::RemoteAtomic],
            Rights::Write => &[Access::RemoteRead, Access::RemoteAtomic],
            Rights::Both => &[Access::RemoteAtomic],
            Rights::Atomic => &[Access::Remote],
        };
        self.queue_pair()
            .and_then(|queue_pair| queue_pair.permit(permitted))
            .map_err(|e| Failure::Kernel("changing what the queue pair permits", e.to_errno()))
    }

    /// Puts the queue pair into the error state. May sleep.
    pub(super) fn set_error(&self) -> Result<(), Failure> {
        self.queue_pair()
            .and_then(QueuePair::modify_to_error)
            .map_err(|e| Failure::Kernel("putting the queue pair into error", e.to_errno()))
    }

    /// Drains the queue pair: puts it into the error state and waits for all completions. Sleeps.
    pub(super) fn drain(&self) -> Result {
        self.queue_pair()?.drain()
    }
}

/// Converts the error of an operation that cannot fail for a correct caller.
pub(super) fn failed(error: Error) -> Failure {
    Failure::Kernel("using a queue pair", error.to_errno())
}

fn flatten(posted: Result<Result>) -> core::result::Result<(), i32> {
    posted
        .and_then(|posted| posted)
        .map_err(|error| -error.to_errno())
}
