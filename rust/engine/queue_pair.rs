// SPDX-License-Identifier: GPL-2.0

//! Queue pairs that drive a workload, and report to the outcome of their connection.

#![forbid(unsafe_code)]

use super::{
    depths::Depths,
    events::Events,
    outcome::{
        Outcome,
        Progress, //
    },
    queue::Queue,
    sharing::Share,
    tag::{
        tags,
        Layout,
        Tag, //
    },
    workload::Workload, //
};
use crate::{
    cm::{
        CmId,
        SHORT_RNR_TIMER, //
    },
    engine::completion::WorkCompletion,
    kernel_ext::blk::request::Request,
    logic::{
        failure::Failure,
        measure::sharing::SharingFigures,
        wire::{
            Advertisement,
            PrivateDataError, //
        }, //
    },
    mr::Memory,
    rdma::{
        cm::Membership,
        cq::{
            self,
            NextEvent,
            PollMode, //
        },
        event::{
            AsyncEvent,
            EventHandler, //
        },
        memory::DmaDirection,
        qp::{
            self,
            Completions,
            ConnectionAttributes,
            Opening,
            PeerQueuePair,
            RetransmissionAttributes, //
        },
        rw::TransferId, //
    },
    trace, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// A workload that completions drive, and the fate of its connection.
struct Driven<W> {
    workload: KBox<W>,
    outcome: Arc<Outcome>,
}

impl<W: Workload> Driven<W> {
    const LAYOUT: &'static Layout = &Layout::new(W::OPERATIONS);

    /// Runs `f` on the workload and its view of the queue.
    fn run<R>(
        &mut self,
        queue: qp::Queue<'_, Tag, Request>,
        f: impl FnOnce(&mut W, &mut Queue<'_>) -> R,
    ) -> R {
        let mut queue = Queue::new(queue, Self::LAYOUT, &self.outcome);
        f(&mut self.workload, &mut queue)
    }

    /// Hands a successful completion to the workload; the failure of another one is reported.
    fn take(
        workload: &mut W,
        queue: &mut Queue<'_>,
        tag: Tag,
        wc: &cq::WorkCompletion<'_>,
    ) -> Option<W::Done> {
        let outcome = queue.outcome;
        let result = if wc.is_success() {
            // After the end, a peer has nothing to be served any more.
            if outcome.settled() {
                return None;
            }
            if queue.is_sign_of_peer(tag.op, wc) {
                outcome.touch();
            }
            let wc = WorkCompletion {
                op: tag.op,
                slot: tag.slot as usize,
                raw: *wc,
            };
            workload.completed(queue, &wc)
        } else {
            Err(Failure::Completion {
                status: wc.status(),
                vendor: wc.vendor_err(),
                op: tag.op,
                iteration: workload.iteration(),
            })
        };
        result.map_err(|failure| outcome.fail(failure)).ok()
    }
}

impl<W: Workload> Completions for Driven<W> {
    type Tag = Tag;
    type Foreign = Request;
    type Done = Option<W::Done>;

    fn completed(
        &mut self,
        queue: &mut qp::Queue<'_, Tag, Request>,
        tag: Tag,
        wc: &cq::WorkCompletion<'_>,
    ) -> Option<W::Done> {
        let (qpn, status) = (queue.number(), wc.status());
        trace::completion(qpn, tag.op, status);
        let done = self.run(queue.reborrow(), |workload, queue| {
            Self::take(workload, queue, tag, wc)
        });
        trace::callback(qpn, tag.op, status);
        done
    }

    fn shared(receive: u32) -> Option<Tag> {
        Some(Tag::shared(receive))
    }

    fn undrained(error: Error) {
        say_undrained(error);
    }
}

/// Says that a queue pair was destroyed before the device had flushed its requests.
pub(crate) fn say_undrained(error: Error) {
    let failure = Failure::Kernel("flushing a queue pair", error.to_errno());
    pr_warn!("{}; it is destroyed all the same\n", failure);
}

impl EventHandler for Outcome {
    fn async_event(&self, event: AsyncEvent) {
        if event.is_error() {
            self.fail(Failure::Async(event.number(), event.as_str()));
        }
    }
}

fn early_failed(error: Error) -> Failure {
    Failure::Kernel("preparing the queue pair", error.to_errno())
}

/// Converts the error of having a queue pair send to a multicast group, or receive from one.
pub(crate) fn using_group(error: Error) -> Failure {
    Failure::Kernel("using the multicast group", error.to_errno())
}

/// Name of the step of connecting an unreliable queue pair, for failures.
pub(crate) const CONNECTING_UNRELIABLE: &str = "connecting the unreliable queue pair";

/// Name of the step of connecting a queue pair without the CM, for failures.
pub(crate) const CONNECTING_WITHOUT_CM: &str = "connecting the queue pair without the CM";

/// A queue pair that drives a workload. Fields are in drop order.
pub(crate) struct QueuePair<W: Workload> {
    inner: Pin<KBox<qp::QueuePair<Driven<W>>>>,
    outcome: Arc<Outcome>,
    events: Arc<Events>,
    /// Its part in a shared receive queue.
    share: Option<Share>,
    /// Stays until the queue pair is gone, so that its end is told to the peer when it can be.
    _id: Arc<CmId>,
}

impl<W: Workload> QueuePair<W> {
    /// Creates a queue pair on `id`, which `memory` is for. It takes the receives of `share`, if
    /// any. May sleep.
    ///
    /// # Errors
    ///
    /// `ENOMEM`; `EBUSY` where the identifier has a queue pair; `EINVAL` or another error of the
    /// device's for sizes beyond its limits.
    #[inline(never)]
    pub(crate) fn new(
        id: &Arc<CmId>,
        memory: Memory,
        depths: Depths,
        poll: PollMode,
        workload: KBox<W>,
        share: Option<Share>,
    ) -> Result<Self> {
        let outcome = id.outcome().clone();
        let driven = Driven {
            workload,
            outcome: outcome.clone(),
        };
        let events = Arc::new(Events::new(outcome.clone()), GFP_KERNEL)?;
        let tags = tags(W::OPERATIONS, depths.slots)?;
        Ok(Self {
            inner: qp::QueuePair::new(memory, &depths.caps(), poll, &tags, events.clone(), driven)?,
            outcome,
            events,
            share,
            _id: id.clone(),
        })
    }

    /// Runs `f` on the workload and the queue, unless the workload has been stopped. Any context
    /// but hard interrupts; `f` must not sleep.
    pub(crate) fn with<R>(&self, f: impl FnOnce(&mut W, &mut Queue<'_>) -> R) -> Option<R> {
        self.inner
            .with(|driven, queue| driven.run(queue.reborrow(), f))
    }

    /// Ends the workload and hands it back: completions from now on drive nothing. `None` where
    /// it was stopped before.
    pub(crate) fn stop(&self) -> Option<KBox<W>> {
        self.inner.stop().map(|driven| driven.workload)
    }

    /// Puts the queue pair into error, without a message to the peer: its device flushes it from
    /// now on, and not from its [end](Self::end) on. Process context; may sleep.
    pub(crate) fn begin_end(&self) {
        // The end does that again, and tells of a failure.
        let _ = self.inner.modify_to_error();
    }

    /// Stops the workload, drains and destroys the queue pair, and hands the workload back once
    /// `give_back` was called with each request that a region still had. Process context;
    /// sleeps.
    pub(crate) fn end(self, mut give_back: impl FnMut(&mut W, Request)) -> Option<KBox<W>> {
        qp::QueuePair::end(self.inner, |driven, request| {
            give_back(&mut driven.workload, request)
        })
        .map(|driven| driven.workload)
    }

    /// Makes the context of a transfer, which moves all its bytes to or from `remote`, and returns
    /// the number of its requests. Process context; may sleep.
    ///
    /// # Errors
    ///
    /// `EAGAIN` where all registrations of the queue pair are in use; `EINVAL` for a transfer that
    /// is under way, another size, or memory that the device cannot register; `ENOMEM`.
    pub(crate) fn make_transfer(
        &self,
        id: TransferId,
        remote: Advertisement,
        direction: DmaDirection,
    ) -> Result<u32> {
        self.inner.make_transfer(id, &remote.into(), direction)
    }

    /// Ends the context of a transfer that has completed. Process context; may sleep.
    ///
    /// # Errors
    ///
    /// `EBUSY` where the transfer has not completed.
    pub(crate) fn end_transfer(&self, id: TransferId) -> Result {
        self.inner.end_transfer(id)
    }

    /// Lets requests be posted that send nothing, before this side asks for the connection or
    /// accepts the client that has, and before receives are posted. Process context; sleeps.
    ///
    /// # Errors
    ///
    /// [`Failure::Kernel`].
    pub(crate) fn open_early(&self, opening: Opening) -> Result<(), Failure> {
        self.inner.open_early(opening).map_err(early_failed)
    }

    /// Ends that, once all that was posted has completed. Process context; sleeps.
    ///
    /// # Errors
    ///
    /// [`Failure::Kernel`], after which there can be no connection.
    pub(crate) fn close_early(&self) -> Result<(), Failure> {
        self.inner.close_early().map_err(early_failed)
    }

    /// Returns the number of the unreliable queue pair beside it, which the peer needs; `None`
    /// where there is none.
    pub(crate) fn unreliable_number(&self) -> Option<u32> {
        self.inner.unreliable_number()
    }

    /// Connects the unreliable queue pair beside it, if there is one, to the peer's number `peer`,
    /// once the peer has asked for the connection or has accepted it. Process context; sleeps.
    ///
    /// # Errors
    ///
    /// [`Failure::Kernel`], and a failure that was reported, of which it is a consequence.
    pub(crate) fn connect_unreliable(&self, peer: u32) -> Result<(), Failure> {
        if self.unreliable_number().is_none() {
            return Ok(());
        }
        self.inner
            .connect_unreliable(peer)
            .map_err(|error| Failure::Kernel(CONNECTING_UNRELIABLE, error.to_errno()))
            .map_err(|failure| self.outcome.cause_of(failure))
    }

    /// Returns its number, by which a peer connects to it without the CM. Any context.
    pub(crate) fn number(&self) -> u32 {
        self.inner.number()
    }

    /// Connects it without the CM's handshake, along the route that its identifier has resolved, to
    /// the peer's queue pair `number`, which begins with the sequence number `psn`. Its own first
    /// one is `own_psn`. The connection is established then as far as this side knows. Process
    /// context; may sleep.
    ///
    /// # Errors
    ///
    /// [`Failure::PrivateData`] for a number that no queue pair has; [`Failure::Kernel`], or the
    /// failure that was reported, of which it is a consequence.
    pub(crate) fn connect_without_cm(
        &self,
        own_psn: u32,
        number: u32,
        psn: u32,
    ) -> Result<(), Failure> {
        let peer = PeerQueuePair::new(number, psn)
            .map_err(|_| Failure::PrivateData(PrivateDataError::Range("queue pair")))?;
        let attributes = ConnectionAttributes {
            min_rnr_timer: SHORT_RNR_TIMER,
            ..ConnectionAttributes::new()
        };
        self.inner
            .connect_without_cm(own_psn, peer, &attributes)
            .map_err(|error| Failure::Kernel(CONNECTING_WITHOUT_CM, error.to_errno()))
            .map_err(|failure| self.outcome.cause_of(failure))?;
        self.outcome.advance(Progress::Established);
        Ok(())
    }

    /// Returns the attributes by which the device repeats requests; `None` where the transport has
    /// none, or the device does not tell. Process context; may sleep.
    pub(crate) fn retransmission(&self) -> Option<RetransmissionAttributes> {
        self.inner.query_retransmission().ok()
    }

    /// Has the unreliable queue pair beside it, which is connected, send to the multicast group of
    /// `membership`. Process context; sleeps.
    ///
    /// # Errors
    ///
    /// [`Failure::Kernel`], or the failure that was reported, of which it is a consequence.
    pub(crate) fn send_to_group(&self, membership: Arc<Membership>) -> Result<(), Failure> {
        self.reach_group(self.inner.send_to_group(membership))
    }

    /// Has it receive what is sent to the group of `membership`, in the same way.
    ///
    /// # Errors
    ///
    /// As there.
    pub(crate) fn receive_from_group(&self, membership: Arc<Membership>) -> Result<(), Failure> {
        self.reach_group(self.inner.receive_from_group(membership))
    }

    fn reach_group(&self, reached: Result) -> Result<(), Failure> {
        reached
            .map_err(using_group)
            .map_err(|failure| self.outcome.cause_of(failure))
    }

    /// Returns the number of requests that the send queue has room for.
    pub(crate) fn send_room(&self) -> u32 {
        self.inner.send_room()
    }

    /// Handles up to `budget` completions, unless the core does that, and returns their number.
    /// Process context.
    pub(crate) fn poll(&self, budget: u16) -> usize {
        self.inner.poll(budget)
    }

    /// Asks for an event that wakes the waiting thread when the next completion of those comes, for
    /// [`PollMode::Notified`]. Returns true where one may have come meanwhile: poll once more.
    ///
    /// # Errors
    ///
    /// `EINVAL` in any other mode; the driver's.
    pub(crate) fn arm(&self, next: NextEvent) -> Result<bool> {
        self.inner.arm(next)
    }

    /// Returns the events of its completion queue.
    pub(crate) fn events(&self) -> &Events {
        &self.events
    }

    /// Returns the completions that the workload waits for; all where it has been stopped.
    pub(super) fn next_event(&self) -> NextEvent {
        self.with(|workload, _| workload.next_event())
            .unwrap_or(NextEvent::Any)
    }

    /// Returns true where the workload is to [`look`](Workload::look) at all.
    pub(crate) fn watches(&self) -> bool {
        self.with(|workload, _| workload.watches()).unwrap_or(false)
    }

    /// Has the workload look for events that no completion tells of, for [`PollMode::Direct`],
    /// and returns true where there was one. Process context.
    pub(crate) fn look(&self) -> bool {
        self.with(|workload, queue| match workload.look(queue) {
            Ok(false) => false,
            Ok(true) => {
                queue.outcome.touch();
                true
            }
            Err(failure) => {
                queue.outcome.fail(failure);
                true
            }
        })
        .unwrap_or(false)
    }

    /// Notes that the connection has ended, after `operations` in `ns` nanoseconds, where it takes
    /// part in a shared receive queue. May sleep.
    pub(crate) fn note_rate(&self, operations: u64, ns: u64) {
        if let Some(share) = &self.share {
            share.note_rate(operations, ns);
        }
    }

    /// Returns the figures of the shared receive queue, if it takes part in one. May sleep.
    pub(crate) fn sharing(&self) -> Option<SharingFigures> {
        self.share.as_ref().map(Share::figures)
    }

    /// Returns the fate of the queue pair's connection.
    pub(crate) fn outcome(&self) -> &Arc<Outcome> {
        &self.outcome
    }
}
