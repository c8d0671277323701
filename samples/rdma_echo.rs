// SPDX-License-Identifier: GPL-2.0

//! An echo server over RDMA: each message that a client sends comes back.
//!
//! It shows how a module uses `rust/rdma` and `rust/kernel_ext`, and needs nothing else of
//! krping's. It listens on port 7175 of all IPv4 addresses of the namespace that loads it, and
//! takes messages of up to 4096 bytes, four at a time from each client:
//!
//! ```sh
//! insmod rdma_echo.ko
//! rdma_client -s ADDRESS -p 7175
//! ```

// Both folders are whole; an echo needs little of them.
#![allow(dead_code, unused_imports)]

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

#[path = "../rust/bindings/mod.rs"]
mod bindings;
#[path = "../rust/kernel_ext/mod.rs"]
mod kernel_ext;
#[path = "../rust/rdma/mod.rs"]
mod rdma;

use kernel_ext::{
    completion::Completion,
    kthread::Kthread,
    net::Netns,
    time::Deadline, //
};
use rdma::{
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
        NoForeign, //
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
    wr::{
        Local,
        WorkRequest, //
    }, //
};

module! {
    type: EchoModule,
    name: "rdma_echo",
    authors: ["The krping developers"],
    description: "Echo server over RDMA",
    license: "GPL",
}

const PORT: u16 = 7175;
const BACKLOG: i32 = 16;
/// Bytes of the longest message.
const SIZE: u32 = 4096;
/// Messages that a client can have under way.
const MESSAGES: usize = 4;

/// What a request is, and the number of its buffer.
#[derive(Clone, Copy)]
enum Tag {
    Receive(usize),
    Send(usize),
}

/// Whether a connection has ended. Hears its events, whatever context they come in.
struct Connected {
    ended: Atomic<u32>,
    wake: Arc<Completion>,
}

impl Connected {
    fn end(&self) {
        self.ended.store(1, Relaxed);
        self.wake.complete();
    }
}

impl Handler for Connected {
    fn event(&self, event: &Event<'_>) {
        match event {
            Event::Established { .. } | Event::Other(_) => {}
            _ => self.end(),
        }
    }
}

impl EventHandler for Connected {
    fn async_event(&self, event: AsyncEvent) {
        if event.is_error() {
            self.end();
        }
    }
}

/// The messages of one client, driven by completions.
struct Echo {
    buffers: [BufferId; MESSAGES],
    connected: Arc<Connected>,
}

type EchoQueue<'a> = Queue<'a, Tag, NoForeign>;

impl Echo {
    fn message(&self, number: usize, len: u32) -> Result<Local> {
        let buffer = *self.buffers.get(number).ok_or(EINVAL)?;
        Ok(Local {
            buffer,
            offset: 0,
            len,
            region: None,
        })
    }

    /// Receives go by the first entries, SENDs by those behind.
    fn receive(&self, queue: &mut EchoQueue<'_>, number: usize) -> Result {
        queue.post_receive(number, &self.message(number, SIZE)?)
    }

    fn send(&self, queue: &mut EchoQueue<'_>, number: usize, len: u32) -> Result {
        let request = WorkRequest::Send {
            local: self.message(number, len)?,
            invalidate: None,
            fence: false,
            signaled: true,
            solicited: false,
        };
        queue.post(&[request], |_| MESSAGES + number)
    }
}

impl Completions for Echo {
    type Tag = Tag;
    type Foreign = NoForeign;
    type Done = ();

    fn completed(&mut self, queue: &mut EchoQueue<'_>, tag: Tag, wc: &WorkCompletion<'_>) {
        let done = match tag {
            _ if !wc.is_success() => Err(EIO),
            Tag::Receive(number) => self.send(queue, number, wc.byte_len()),
            Tag::Send(number) => self.receive(queue, number),
        };
        if done.is_err() {
            self.connected.end();
        }
    }
}

/// A connection. Fields are in drop order.
struct Connection {
    _queue_pair: Pin<KBox<QueuePair<Echo>>>,
    _id: Arc<Id>,
    connected: Arc<Connected>,
}

impl Connection {
    fn accept(id: Id, connected: Arc<Connected>) -> Result<Self> {
        let id = Arc::new(id, GFP_KERNEL)?;
        let mut memory = Memory::new(&id, ProtectionDomain::new(&id, GlobalKeys::Local)?)?;
        let mut add = || memory.add_buffer(SIZE as usize);
        let buffers = [add()?, add()?, add()?, add()?];
        let tags: [Tag; 2 * MESSAGES] = core::array::from_fn(|entry| match entry {
            0..MESSAGES => Tag::Receive(entry),
            _ => Tag::Send(entry - MESSAGES),
        });
        let caps = QueuePairCaps {
            max_send_wr: MESSAGES as u32,
            max_recv_wr: MESSAGES as u32,
            max_send_sge: 1,
            max_inline_data: 0,
            max_rdma_ctxs: 0,
            max_cqe: None,
            overrun: false,
            signal_all: false,
            unreliable: None,
        };
        let echo = Echo {
            buffers,
            connected: connected.clone(),
        };
        let events = connected.clone();
        let queue_pair = QueuePair::new(memory, &caps, PollMode::Event, &tags, events, echo)?;
        queue_pair
            .with(|echo, queue| (0..MESSAGES).try_for_each(|number| echo.receive(queue, number)))
            .ok_or(ENODEV)??;
        id.accept(&ConnParam {
            private_data: &[],
            responder_resources: 0,
            initiator_depth: 0,
            retry_count: 7,
            rnr_retry_count: 7,
        })?;
        Ok(Self {
            _queue_pair: queue_pair,
            _id: id,
            connected,
        })
    }
}

/// The connection requests that wait for the thread.
#[pin_data]
struct Server {
    #[pin]
    requests: Mutex<KVec<(Id, Arc<Connected>)>>,
    wake: Arc<Completion>,
    stopping: Atomic<u32>,
}

impl ListenHandler for Server {
    fn request(&self, request: Request<'_>) -> Result {
        let connected = Arc::new(
            Connected {
                ended: Atomic::new(0),
                wake: self.wake.clone(),
            },
            GFP_KERNEL,
        )?;
        let mut requests = self.requests.lock();
        requests.reserve(1, GFP_KERNEL)?;
        let id = request.adopt(connected.clone());
        if let Err(full) = requests.push_within_capacity((id, connected)) {
            // There is room. Were there none, it could not be dropped in its own handler.
            core::mem::forget(full);
        }
        self.wake.complete();
        Ok(())
    }

    fn device_removed(&self) {}
}

impl Server {
    /// Accepts clients and takes down connections that have ended. The body of the thread.
    fn run(&self) {
        let mut connections = KVec::new();
        while self.stopping.load(Relaxed) == 0 {
            let _ = self.wake.wait_interruptible(Deadline::never());
            connections.retain(|one: &mut Connection| one.connected.ended.load(Relaxed) == 0);
            loop {
                // The lock is not held while the request is answered.
                let next = self.requests.lock().pop();
                let Some((id, connected)) = next else {
                    break;
                };
                // A request that is not accepted is rejected by its drop.
                match Connection::accept(id, connected) {
                    Ok(connection) => drop(connections.push(connection, GFP_KERNEL)),
                    Err(error) => pr_warn!("cannot accept a client: {:?}\n", error),
                }
            }
        }
    }
}

/// The loaded module. Fields are in drop order.
struct EchoModule {
    _listener: Listener<Server>,
    thread: Option<Kthread>,
    server: Arc<Server>,
}

impl kernel::Module for EchoModule {
    fn init(_: &'static ThisModule) -> Result<Self> {
        let wake = Arc::pin_init(Completion::new(), GFP_KERNEL)?;
        let server = Arc::pin_init(
            pin_init!(Server {
                requests <- new_mutex!(KVec::new()),
                wake,
                stopping: Atomic::new(0),
            }),
            GFP_KERNEL,
        )?;
        let net = Netns::current().ok_or(ESRCH)?;
        let mut listener = Listener::new(&net, PortSpace::Tcp, QpType::Rc, server.clone())?;
        listener.bind(&SocketAddress::any(PORT))?;
        // Requests wait for the thread, which is the last that can fail.
        listener.listen(BACKLOG)?;
        let body = server.clone();
        let thread = Kthread::run_with_all_rights(fmt!("rdma_echo"), move || body.run())?;
        Ok(Self {
            _listener: listener,
            thread: Some(thread),
            server,
        })
    }
}

impl Drop for EchoModule {
    fn drop(&mut self) {
        self.server.stopping.store(1, Relaxed);
        self.server.wake.complete();
        // Joins it; its connections are gone then.
        self.thread = None;
    }
}
