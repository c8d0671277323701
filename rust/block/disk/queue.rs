// SPDX-License-Identifier: GPL-2.0

//! A disk's hardware queue: the workload of one connection to the server.
//!
//! A request uses the slot of its tag. One fast registration over all its segments opens its data
//! to the server, posted in one list with the SEND that carries the request; the server's answer
//! invalidates the registration. A small write carries its data itself. The answer ends the
//! request, after the queue pair's lock is released.
//!
//! A request stays in its slot until it is answered. Requests still there when the queue pair has
//! been stopped and destroyed are taken out and sent again on the next connection
//! ([`DiskQueue::take_requests`]).

#![forbid(unsafe_code)]

mod answering;
mod control;

pub(crate) use answering::Answers;

use super::{
    bounce::Bounce,
    sender::Sender,
    stability::Stability, //
};
use crate::{
    block::{
        figures::{
            Live,
            Stages, //
        },
        receives::Receives, //
    },
    engine::{
        completion::WorkCompletion,
        depths::Depths,
        queue::Queue,
        traffic::Traffic,
        workload::Workload, //
    },
    kernel_ext::{
        blk::request::{
            History,
            Op,
            Request, //
        },
        time::monotonic_ns, //
    },
    logic::{
        block::{
            self,
            Action,
            BareWrite, //
        },
        failure::{
            errno,
            Failure,
            Operation, //
        },
        wire::{
            extensions::Extensions,
            extras::Extras,
            Advertisement, //
        }, //
    },
    mr::{
        Access,
        Memory,
        RegionId, //
    },
    rdma::wr::{
        List,
        WorkRequest, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Time for which mapping a request's memory for the device is retried, in nanoseconds.
const MAPPING_NS: u64 = 30_000_000_000;

/// Layout of the queues of a disk.
#[derive(Clone, Copy)]
pub(crate) struct Layout {
    /// Maximum number of requests under way.
    pub(crate) depth: u16,
    /// Maximum number of segments per request.
    pub(crate) segments: usize,
    /// True to copy data through buffers that are registered once.
    pub(crate) bounce: bool,
}

/// State of a request, from its post to its answer.
#[derive(Default)]
struct SentRequest {
    /// The request, unless `open` is set: then the region has it.
    request: Option<Request>,
    seq: u32,
    posted_ns: u64,
    /// Time at which the server last reported working on the request, or `posted_ns`.
    seen_ns: u64,
    /// Number of answered writes that this covers if it is a flush.
    covers: u64,
    /// The region that opens the data to the server. It owns the request meanwhile.
    open: Option<RegionId>,
    /// Index of the bounce buffer that holds the request's data.
    bounce: Option<usize>,
}

impl SentRequest {
    /// Returns true if the slot holds a request.
    fn is_taken(&self) -> bool {
        self.open.is_some() || self.request.is_some()
    }

    /// Returns the history of `request`, or a new one that starts at `posted_ns`.
    fn history(&self, request: &Request) -> History {
        request
            .history()
            .unwrap_or_else(|| History::first(self.posted_ns))
    }
}

/// Returns the action that asks a server for `op`; `None` if there is none.
pub(crate) fn action_of(op: Op) -> Option<Action> {
    Some(match op {
        Op::Read => Action::Read,
        Op::Write => Action::Write,
        Op::Flush => Action::Flush,
        Op::Discard => Action::Discard,
        Op::WriteZeroes => Action::WriteZeroes,
        Op::Other => return None,
    })
}

/// Result of [`DiskQueue::submit`].
pub(crate) enum Submitted {
    /// The request is under way.
    Posted,
    /// There is no room for the request now.
    Busy(Request),
    /// The request cannot be done, and has to end with this errno.
    Refused(Request, i32),
}

/// A hardware queue on its connection.
pub(crate) struct DiskQueue {
    /// One slot per tag, with the region of its request unless data is copied through bounce
    /// buffers.
    slots: KVec<(SentRequest, Option<RegionId>)>,
    receives: Receives,
    bounce: Option<Bounce>,
    sender: Sender,
    seq: u32,
    bare: BareWrite,
    /// The keepalive or close that has not been answered: its action, number and time of sending.
    control: Option<(Action, u32, u64)>,
    /// A close is due once the current keepalive has been answered.
    closing: bool,
    /// The server answers surveys.
    surveys: bool,
    /// Time at which the connection was established.
    started_ns: u64,
    /// The log already says that the device cannot map all requests.
    told_unmapped: bool,
    /// Time at which the server last answered a request.
    heard_ns: u64,
    /// Time of sending of the last keepalive that was answered.
    kept_ns: u64,
    /// Maximum size of the data that a request or its answer carries itself, in bytes.
    inline: u32,
    /// The server supports zeroing that keeps the space of the blocks allocated.
    keeps_space: bool,
    answered: u64,
    live: Arc<Live>,
    stability: Arc<Stability>,
    stages: Stages,
    traffic: Arc<Traffic>,
}

impl DiskQueue {
    /// Allocates the buffers and regions of a queue in `memory`. May sleep.
    #[inline(never)]
    pub(crate) fn new(
        layout: &Layout,
        memory: &mut Memory,
        live: Arc<Live>,
        stability: Arc<Stability>,
        traffic: Arc<Traffic>,
    ) -> Result<KBox<Self>> {
        let depth = usize::from(layout.depth);
        let mut slots = KVec::with_capacity(depth, GFP_KERNEL)?;
        for _ in 0..depth {
            let region = if layout.bounce {
                None
            } else {
                Some(memory.add_foreign_region(layout.segments)?)
            };
            slots.push((SentRequest::default(), region), GFP_KERNEL)?;
        }
        let bounce = layout.bounce.then(|| Bounce::new(memory)).transpose()?;
        Ok(KBox::new(
            Self {
                slots,
                receives: Receives::new(memory, depth + 1)?,
                bounce,
                sender: Sender::new(memory, layout.depth, traffic.clone())?,
                seq: 0,
                bare: BareWrite::new(layout.depth),
                control: None,
                closing: false,
                surveys: false,
                started_ns: 0,
                told_unmapped: false,
                heard_ns: 0,
                kept_ns: 0,
                inline: 0,
                keeps_space: false,
                answered: 0,
                live,
                stability,
                stages: Stages::new()?,
                traffic,
            },
            GFP_KERNEL,
        )?)
    }

    /// Returns the queue pair size that this queue needs.
    pub(crate) fn depths(&self) -> Depths {
        Self::depths_for(self.depth())
    }

    /// Returns the queue pair size for `depth` requests under way.
    pub(crate) fn depths_for(depth: u16) -> Depths {
        let receives = u32::from(depth) + 1;
        Depths::plain(Sender::requests(depth), receives).with_slots(receives as usize)
    }

    fn depth(&self) -> u16 {
        u16::try_from(self.slots.len()).unwrap_or(u16::MAX)
    }

    /// Posts the receives, before the connection is made.
    pub(crate) fn prepare(&self, queue: &mut Queue<'_>) -> Result<(), Failure> {
        for slot in 0..=self.slots.len() {
            self.receives.post(queue, slot)?;
        }
        Ok(())
    }

    /// Starts the queue once connected. The server takes up to `inline` bytes of data with a
    /// write, and has reported these `extensions` and `extras`.
    pub(crate) fn start(
        &mut self,
        queue: &mut Queue<'_>,
        inline: u32,
        extensions: Extensions,
        extras: &Extras,
    ) -> Result<(), Failure> {
        self.keeps_space = extras.keeps_space;
        self.inline = inline.min(block::Request::INLINE);
        self.surveys = extensions.surveys;
        self.started_ns = monotonic_ns();
        match &self.bounce {
            Some(bounce) => bounce.register(queue),
            None => Ok(()),
        }
    }

    /// Sends a request to the server.
    ///
    /// If the device fails, the connection fails and the request stays in its slot.
    pub(crate) fn submit(&mut self, queue: &mut Queue<'_>, request: Request) -> Submitted {
        let tag = request.tag();
        // A flush has no position.
        let (op, offset, bytes) = match request.op() {
            Op::Flush => (Op::Flush, 0, 0),
            op => (op, request.offset(), request.bytes()),
        };
        let Some(action) = action_of(op) else {
            return Submitted::Refused(request, errno::EOPNOTSUPP);
        };
        let mut covers = 0;
        if op == Op::Flush || request.is_fua() {
            if let Some(errno) = self.stability.loss(request.uses()) {
                return Submitted::Refused(request, errno);
            }
            covers = self.stability.answered();
        }
        if !self.sender.has_room() {
            return Submitted::Busy(request);
        }
        let Some(&(_, region)) = self.slots.get(tag) else {
            return Submitted::Refused(request, errno::EIO);
        };
        let fua = request.is_fua() && op == Op::Write;
        let keep_space = self.keeps_space && op == Op::WriteZeroes && request.keeps_space();
        let has_data = matches!(op, Op::Read | Op::Write);
        let inline = has_data && bytes <= self.inline;
        let mut list = List::new();
        let mut slot = SentRequest {
            covers,
            ..SentRequest::default()
        };
        let remote = match (&mut self.bounce, region) {
            _ if !has_data || inline => {
                slot.request = Some(request);
                Ok(Advertisement::nowhere(bytes))
            }
            (Some(bounce), _) => match bounce.take(queue, &request) {
                Ok((index, advertised)) => {
                    slot.bounce = Some(index);
                    slot.request = Some(request);
                    Ok(advertised)
                }
                Err(error) => Err((request, error)),
            },
            (None, Some(region)) => {
                slot.open = Some(region);
                open(queue, region, request, &mut list)
            }
            (None, None) => Err((request, EINVAL)),
        };
        let remote = match remote {
            Ok(remote) => remote,
            Err((request, error)) if error == EBUSY => return Submitted::Busy(request),
            Err((request, error)) if error == ENOMEM => return self.unmapped(request),
            Err((request, error)) => {
                return Submitted::Refused(request, -error.to_errno());
            }
        };
        // Bare writes use the number 0.
        self.seq = self.seq.wrapping_add(1).max(1);
        let message = block::Request {
            action,
            fua,
            inline,
            keep: slot.bounce.is_some(),
            keep_space,
            tag: tag as u16,
            seq: self.seq,
            offset,
            remote,
        };
        let data = slot.request.as_ref().filter(|_| inline && op == Op::Write);
        let bare = match data {
            Some(_) if !fua => self.bare.encode(message.tag, offset, bytes),
            _ => None,
        };
        let (posted, seq) = match (bare, data) {
            (Some(immediate), Some(data)) => {
                (self.sender.send_bare(queue, &message, immediate, data), 0)
            }
            _ => (self.sender.send(queue, &message, data, &mut list), self.seq),
        };
        slot.seq = seq;
        slot.posted_ns = monotonic_ns();
        slot.seen_ns = slot.posted_ns;
        if let Some((place, _)) = self.slots.get_mut(tag) {
            *place = slot;
        }
        self.live.in_flight.add(1);
        if let Err(failure) = posted {
            queue.outcome.fail(failure);
        }
        Submitted::Posted
    }

    /// Hands back a request whose memory could not be mapped for the device. Mapping may succeed
    /// as other requests end. If it does not for [`MAPPING_NS`], the device may never be able to
    /// map the request, which is then refused with `EIO`.
    fn unmapped(&mut self, mut request: Request) -> Submitted {
        let now_ns = monotonic_ns();
        let history = request.history().unwrap_or_else(|| History::first(now_ns));
        let waited_ns = now_ns.saturating_sub(history.first_ns.max(self.started_ns));
        if waited_ns > MAPPING_NS {
            if !core::mem::replace(&mut self.told_unmapped, true) {
                pr_err!(
                    "krping{}: a request of {} bytes fails: for 30 s its memory could not be \
                     mapped for the RDMA device\n",
                    self.stability.disk(),
                    request.bytes()
                );
            }
            return Submitted::Refused(request, errno::EIO);
        }
        request.set_history(history);
        Submitted::Busy(request)
    }

    /// Takes out the requests that have not been answered, and records the loss in their
    /// histories. To be called once the queue pair is gone, when nothing accesses their memory
    /// any more.
    pub(crate) fn take_requests(&mut self) -> impl Iterator<Item = Request> + '_ {
        self.live.in_flight.set(0);
        let heard_ns = self.heard_ns;
        self.slots.iter_mut().filter_map(move |(slot, _)| {
            let mut request = slot.request.take()?;
            let history = slot.history(&request);
            let in_vain = match heard_ns > slot.posted_ns {
                true => 0,
                false => history.in_vain.saturating_add(1),
            };
            *slot = SentRequest::default();
            request.set_history(History {
                losses: history.losses.saturating_add(1),
                in_vain,
                ..history
            });
            Some(request)
        })
    }

    /// Takes back a request whose region is gone, for [`take_requests`](Self::take_requests).
    pub(crate) fn take_back(&mut self, request: Request) {
        if let Some((slot, _)) = self.slots.get_mut(request.tag()) {
            slot.open = None;
            slot.request = Some(request);
        }
    }

    /// Returns true if a request is under way that was first sent before `deadline_ns` of the
    /// monotonic clock.
    pub(crate) fn has_older(&self, queue: &Queue<'_>, deadline_ns: u64) -> bool {
        self.slots.iter().any(|(slot, _)| {
            let request = match slot.open {
                Some(region) => queue.memory().object(region),
                None => slot.request.as_ref(),
            };
            request.is_some_and(|request| slot.history(request).first_ns < deadline_ns)
        })
    }

    /// Returns the latency histograms.
    pub(crate) fn stages(&self) -> &Stages {
        &self.stages
    }
}

/// Opens the data of a request to the server, with a registration that is added to `list`.
fn open(
    queue: &mut Queue<'_>,
    region: RegionId,
    request: Request,
    list: &mut List,
) -> core::result::Result<Advertisement, (Request, Error)> {
    let access = match request.op() {
        Op::Read => Access::RemoteWrite,
        _ => Access::RemoteRead,
    };
    let advertised = queue.open_request(region, request)?;
    list.push(WorkRequest::Register {
        region,
        access,
        renew_key: false,
        signaled: false,
    });
    Ok(advertised)
}

impl Workload for DiskQueue {
    type Done = Answers;

    const OPERATIONS: &'static [Operation] =
        &[Operation::Send, Operation::Register, Operation::Receive];

    fn completed(
        &mut self,
        queue: &mut Queue<'_>,
        wc: &WorkCompletion<'_>,
    ) -> Result<Self::Done, Failure> {
        match wc.op {
            Operation::Receive => self.receive(queue, wc),
            Operation::Send => {
                self.sender.completed();
                Ok(Answers::default())
            }
            _ => Ok(Answers::default()),
        }
    }

    fn iteration(&self) -> u64 {
        self.answered
    }
}
