// SPDX-License-Identifier: GPL-2.0

//! Both ends of a connection within this host, and what their completions leave behind.

#![forbid(unsafe_code)]

use crate::{
    foreign::Lent,
    kernel_ext::{
        completion::Completion,
        net::Netns,
        time::Deadline, //
    },
    rdma::{
        cm::{
            ConnParam,
            Event,
            Handler,
            Id,
            ListenHandler,
            Listener,
            PortSpace,
            Request,
            SocketAddress, //
        },
        cq::{
            PollMode,
            WorkCompletion, //
        },
        event::{
            AsyncEvent,
            EventHandler, //
        },
        memory::{
            BufferId,
            Memory,
            RegionId, //
        },
        mr::{
            Access,
            Remote, //
        },
        pd::{
            GlobalKeys,
            ProtectionDomain, //
        },
        qp::{
            Completions,
            Queue,
            QueuePair,
            QueuePairCaps, //
        },
        qp_type::QpType,
        rw::TransferId,
        wr::{
            Local,
            WorkRequest, //
        }, //
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

/// The address of the guest's device.
pub(crate) const ADDR: [u8; 4] = [10, 99, 0, 1];

/// The time in ms for anything that is waited for.
pub(crate) const PATIENCE: u32 = 30_000;

/// The size of buffers.
pub(crate) const SIZE: u32 = 4096;

/// The entries of all queue pairs here, which are their own tags.
pub(crate) const RECEIVE: usize = 0;
pub(crate) const SEND: usize = 1;
pub(crate) const REGISTER: usize = 2;
const TAGS: [usize; 3] = [RECEIVE, SEND, REGISTER];

/// Numbers that somebody counts up, and somebody else waits for.
pub(crate) struct Counter {
    count: Atomic<u32>,
    wake: Arc<Completion>,
}

impl Counter {
    pub(crate) fn new() -> Result<Arc<Self>> {
        let counter = Self {
            count: Atomic::new(0),
            wake: Arc::pin_init(Completion::new(), GFP_KERNEL)?,
        };
        Ok(Arc::new(counter, GFP_KERNEL)?)
    }

    pub(crate) fn add(&self, count: u32) {
        self.count.fetch_add(count, Relaxed);
        self.wake.complete();
    }

    pub(crate) fn get(&self) -> u32 {
        self.count.load(Relaxed)
    }

    /// Waits until the number is at least `count`.
    pub(crate) fn wait(&self, count: u32) -> Result {
        let deadline = Deadline::after_ms(PATIENCE);
        while self.get() < count {
            if deadline.passed() {
                return Err(ETIMEDOUT);
            }
            self.wake.wait(deadline);
        }
        Ok(())
    }
}

/// Steps of an identifier, each of which follows the one before.
pub(crate) struct Heard(Arc<Counter>);

impl Heard {
    pub(crate) fn new() -> Result<Arc<Self>> {
        Ok(Arc::new(Self(Counter::new()?), GFP_KERNEL)?)
    }

    /// Waits until the address has been resolved.
    pub(crate) fn resolved(&self) -> Result {
        self.0.wait(1)
    }
}

impl Handler for Heard {
    fn event(&self, event: &Event<'_>) {
        match event {
            Event::AddrResolved | Event::RouteResolved | Event::Established { .. } => self.0.add(1),
            _ => {}
        }
    }
}

impl EventHandler for Heard {
    fn async_event(&self, _: AsyncEvent) {}
}

/// The identifiers of requests that have come.
#[pin_data]
struct Accepting {
    #[pin]
    ids: Mutex<KVec<(Id, Arc<Heard>)>>,
    came: Arc<Counter>,
}

impl ListenHandler for Accepting {
    fn request(&self, request: Request<'_>) -> Result {
        let heard = Heard::new()?;
        let mut ids = self.ids.lock();
        ids.reserve(1, GFP_KERNEL)?;
        let id = request.adopt(heard.clone());
        if let Err(full) = ids.push_within_capacity((id, heard)) {
            // There is room. Were there none, it could not be dropped in its own handler.
            core::mem::forget(full);
        }
        self.came.add(1);
        Ok(())
    }

    fn device_removed(&self) {}
}

/// The part that a handler plays.
#[derive(Clone, Copy)]
pub(crate) enum Role {
    /// It only counts.
    Plain,
    /// It looks at what failed completions say.
    Look,
    /// It uses the first proof that a region is invalid as often as it can.
    Proof(RegionId),
    /// It takes the completions of [`SEND`] for those of a transfer.
    Transfer(TransferId),
}

/// What a handler leaves behind.
pub(crate) struct Log {
    pub(crate) completed: Arc<Counter>,
    pub(crate) failed: Atomic<u32>,
    /// The results of [`Role::Proof`], or bits of what [`Role::Look`] has seen.
    pub(crate) seen: Atomic<u32>,
    /// The number of the completion that was accepted as a transfer's.
    pub(crate) accepted: Atomic<u32>,
}

/// The handler of completions, with `T` ms to drain its queue pair.
pub(crate) struct Driver<const T: u32> {
    role: Role,
    log: Arc<Log>,
}

/// The queue pairs that went undrained.
static UNDRAINED: Atomic<u32> = Atomic::new(0);

/// Returns the number of queue pairs that have gone undrained so far.
pub(crate) fn undrained() -> u32 {
    UNDRAINED.load(Relaxed)
}

impl<const T: u32> Completions for Driver<T> {
    type Tag = usize;
    type Foreign = Lent;
    type Done = ();

    const DRAIN_TIMEOUT_MS: u32 = T;

    fn completed(
        &mut self,
        queue: &mut Queue<'_, usize, Lent>,
        tag: usize,
        wc: &WorkCompletion<'_>,
    ) {
        if !wc.is_success() {
            self.log.failed.fetch_add(1, Relaxed);
        }
        match self.role {
            Role::Proof(region) if tag == RECEIVE && wc.invalidated().is_some() => {
                let seen = crate::keys::use_twice(queue, region, wc);
                self.log.seen.store(seen, Relaxed);
            }
            Role::Look if !wc.is_success() => {
                let seen = wc.byte_len() | wc.immediate().unwrap_or(0);
                self.log.seen.fetch_add(seen, Relaxed);
            }
            Role::Transfer(id) if tag == SEND && queue.transfer_completed(id, wc).is_ok() => {
                let number = self.log.completed.get() + 1;
                self.log.accepted.store(number, Relaxed);
            }
            _ => {}
        }
        self.log.completed.add(1);
    }

    fn undrained(_: Error) {
        UNDRAINED.fetch_add(1, Relaxed);
    }
}

/// A queue pair of this module.
pub(crate) type Qp<const T: u32 = PATIENCE> = Pin<KBox<QueuePair<Driver<T>>>>;

/// Sizes that all probes begin with.
pub(crate) const CAPS: QueuePairCaps = QueuePairCaps {
    max_send_wr: 64,
    max_recv_wr: 16,
    max_send_sge: 16,
    max_inline_data: 0,
    max_rdma_ctxs: 0,
    max_cqe: None,
    overrun: false,
    signal_all: false,
    unreliable: None,
};

const PARAMETERS: ConnParam<'static> = ConnParam {
    private_data: &[],
    responder_resources: 4,
    initiator_depth: 4,
    retry_count: 7,
    rnr_retry_count: 7,
};

/// Returns a part of `buffer`.
pub(crate) fn local(buffer: BufferId, len: u32) -> Local {
    Local {
        buffer,
        offset: 0,
        len,
        region: None,
    }
}

/// Returns a WRITE that completes.
pub(crate) fn write(buffer: BufferId, len: u32, remote: Remote) -> WorkRequest {
    WorkRequest::Write {
        local: local(buffer, len),
        remote,
        signaled: true,
    }
}

/// Returns a SEND that completes, and invalidates a key of the peer's.
pub(crate) fn send(buffer: BufferId, invalidate: Option<u32>) -> WorkRequest {
    WorkRequest::Send {
        local: local(buffer, 8),
        invalidate,
        fence: false,
        signaled: true,
        solicited: false,
    }
}

/// Returns a registration that completes.
pub(crate) fn register(region: RegionId, access: Access, renew_key: bool) -> WorkRequest {
    WorkRequest::Register {
        region,
        access,
        renew_key,
        signaled: true,
    }
}

/// Makes an identifier that has resolved the address of this host.
pub(crate) fn resolved() -> Result<(Arc<Id>, Arc<Heard>)> {
    let net = Netns::current().ok_or(ESRCH)?;
    let heard = Heard::new()?;
    let id = Id::new(&net, PortSpace::Tcp, QpType::Rc, heard.clone())?;
    let id = Arc::new(id, GFP_KERNEL)?;
    resolve(&id, &heard, 1)?;
    Ok((id, heard))
}

fn resolve(id: &Id, heard: &Heard, port: u16) -> Result {
    id.resolve_addr(&SocketAddress::v4(ADDR, port), PATIENCE)?;
    heard.resolved()
}

/// Makes an empty memory for a queue pair of `id`, in a domain of its own.
pub(crate) fn memory(id: &Arc<Id>) -> Result<Memory<Lent>> {
    Memory::new(id, ProtectionDomain::new(id, GlobalKeys::Local)?)
}

/// Makes a queue pair.
pub(crate) fn queue_pair<const T: u32>(
    events: Arc<Heard>,
    caps: &QueuePairCaps,
    poll: PollMode,
    memory: Memory<Lent>,
    role: Role,
) -> Result<(Qp<T>, Arc<Log>)> {
    let log = Log {
        completed: Counter::new()?,
        failed: Atomic::new(0),
        seen: Atomic::new(0),
        accepted: Atomic::new(0),
    };
    let log = Arc::new(log, GFP_KERNEL)?;
    let driver = Driver {
        role,
        log: log.clone(),
    };
    let qp = QueuePair::new(memory, caps, poll, &TAGS, events, driver)?;
    Ok((qp, log))
}

/// One end of a connection. Fields are in drop order.
pub(crate) struct End<const T: u32 = PATIENCE> {
    pub(crate) qp: Qp<T>,
    pub(crate) log: Arc<Log>,
    _id: Arc<Id>,
}

impl<const T: u32> End<T> {
    /// Posts requests to the send queue, all of which have entry `entry`.
    pub(crate) fn post(&self, list: &[WorkRequest], entry: usize) -> Result {
        let posted = self.qp.with(|_, queue| queue.post(list, |_| entry));
        posted.ok_or(ENODEV)?
    }

    /// Posts one request, and waits for the next completion.
    pub(crate) fn run(&self, request: WorkRequest, entry: usize) -> Result {
        let before = self.log.completed.get();
        self.post(&[request], entry)?;
        self.log.completed.wait(before + 1)
    }
}

/// Both ends of a connection. Fields are in drop order.
pub(crate) struct Pair<const T: u32 = PATIENCE> {
    pub(crate) client: End<T>,
    pub(crate) server: End,
}

/// Connects two queue pairs within this host. `client` and `server` add to their memories, and say
/// what their handlers are to do; the server has `receives` posted.
pub(crate) fn pair<const T: u32>(
    port: u16,
    caps: &QueuePairCaps,
    receives: usize,
    client: impl FnOnce(&mut Memory<Lent>) -> Result<Role>,
    server: impl FnOnce(&mut Memory<Lent>) -> Result<Role>,
) -> Result<Pair<T>> {
    let net = Netns::current().ok_or(ESRCH)?;
    let came = Counter::new()?;
    let count = came.clone();
    let accepting = Arc::pin_init(
        pin_init!(Accepting {
            ids <- new_mutex!(KVec::new()),
            came: count,
        }),
        GFP_KERNEL,
    )?;
    let mut listener = Listener::new(&net, PortSpace::Tcp, QpType::Rc, accepting.clone())?;
    listener.bind(&SocketAddress::v4(ADDR, port))?;
    listener.listen(4)?;
    let heard = Heard::new()?;
    let id = Id::new(&net, PortSpace::Tcp, QpType::Rc, heard.clone())?;
    let id = Arc::new(id, GFP_KERNEL)?;
    resolve(&id, &heard, port)?;
    id.resolve_route(PATIENCE)?;
    heard.0.wait(2)?;
    let mut own = memory(&id)?;
    let role = client(&mut own)?;
    let (qp, log) = queue_pair(heard.clone(), caps, PollMode::Event, own, role)?;
    id.connect(&PARAMETERS)?;
    let client = End { qp, log, _id: id };
    came.wait(1)?;
    let (id, events) = accepting.ids.lock().pop().ok_or(ETIMEDOUT)?;
    let id = Arc::new(id, GFP_KERNEL)?;
    let mut own = memory(&id)?;
    let buffer = own.add_buffer(SIZE as usize)?;
    let role = server(&mut own)?;
    let (qp, log) = queue_pair(events, &CAPS, PollMode::Event, own, role)?;
    let posted = qp.with(|_, queue| {
        (0..receives).try_for_each(|_| queue.post_receive(RECEIVE, &local(buffer, SIZE)))
    });
    posted.ok_or(ENODEV)??;
    id.accept(&PARAMETERS)?;
    let server = End { qp, log, _id: id };
    heard.0.wait(3)?;
    Ok(Pair { client, server })
}
