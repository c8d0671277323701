// SPDX-License-Identifier: GPL-2.0

//! Queue pairs and completion queues: their types, their sizes, and their end.

#![forbid(unsafe_code)]

use crate::{
    ends::{
        local,
        memory,
        pair,
        queue_pair,
        register,
        resolved,
        send,
        undrained,
        Heard,
        Pair,
        Qp,
        Role,
        CAPS,
        PATIENCE,
        RECEIVE,
        REGISTER,
        SEND,
        SIZE, //
    },
    kernel_ext::{
        completion::Completion,
        kthread::Kthread,
        net::Netns,
        time::Deadline, //
    },
    rdma::{
        cm::{
            Id,
            PortSpace,
            SocketAddress, //
        },
        cq::{
            CompletionQueue,
            PollMode,
            Receives, //
        },
        memory::{
            BufferId,
            Memory,
            RegionId, //
        },
        mr::Access,
        pd::{
            GlobalKeys,
            ProtectionDomain, //
        },
        qp::{
            trial::make_completion_queue,
            QueuePairCaps, //
        },
        qp_type::QpType,
        srq::SharedReceiveQueue,
        wr::{
            prepared::{
                Form,
                Notify,
                Operation,
                PreparedList,
                Request, //
            },
            Local, //
        }, //
    },
    Steps, //
};
use kernel::{
    prelude::*,
    sync::{
        atomic::{
            Atomic,
            Relaxed, //
        },
        Arc, //
    }, //
};

/// An identifier for datagrams gets no queue pair whose requests have another form.
pub(crate) fn datagrams(steps: &mut Steps) -> Result {
    let net = Netns::current().ok_or(ESRCH)?;
    let heard = Heard::new()?;
    let id = Id::new(&net, PortSpace::Udp, QpType::Ud, heard.clone())?;
    let id = Arc::new(id, GFP_KERNEL)?;
    id.resolve_addr(&SocketAddress::v4(crate::ends::ADDR, 1), PATIENCE)?;
    heard.resolved()?;
    let mut memory = memory(&id)?;
    let buffer = memory.add_buffer(SIZE as usize)?;
    let made = queue_pair::<PATIENCE>(heard, &CAPS, PollMode::Event, memory, Role::Plain);
    if let Ok((qp, _)) = &made {
        let posted = qp.with(|_, queue| queue.post(&[send(buffer, None)], |_| SEND));
        steps.tried("send", &posted.ok_or(ENODEV)?)?;
    }
    steps.tried("queue pair", &made.map(drop))
}

/// Sizes of completion queues hold all that can come, but where overruns are asked for.
pub(crate) fn sizes(steps: &mut Steps) -> Result {
    let (id, heard) = resolved()?;
    let domain = ProtectionDomain::new(&id, GlobalKeys::Local)?;
    steps.tried("no entries", &make_completion_queue(&domain, 0))?;
    let make = |caps: &QueuePairCaps, poll, memory| {
        queue_pair::<PATIENCE>(heard.clone(), caps, poll, memory, Role::Plain).map(drop)
    };
    let few = QueuePairCaps {
        max_cqe: Some(1),
        ..CAPS
    };
    steps.tried("few entries", &make(&few, PollMode::Event, memory(&id)?))?;
    let overrun = QueuePairCaps {
        max_cqe: Some(8),
        overrun: true,
        ..CAPS
    };
    steps.tried("overrun", &make(&overrun, PollMode::Event, memory(&id)?))?;
    steps.tried(
        "overrun pool",
        &make(&overrun, PollMode::Pool, memory(&id)?),
    )?;
    let contexts = QueuePairCaps {
        max_rdma_ctxs: 4,
        ..overrun
    };
    let made = make(&contexts, PollMode::Event, memory(&id)?);
    steps.tried("overrun contexts", &made)?;

    let receives = |count| {
        let memory = Memory::new(&id, domain.clone())?;
        SharedReceiveQueue::new(memory, count, SIZE, heard.clone())
    };
    let (own, other) = (receives(16)?, receives(512)?);
    let shared = Receives {
        queue: own.clone(),
        posted: 8,
    };
    let room = 2 * (CAPS.max_send_wr + 2);
    let queue = CompletionQueue::shared(&id, 2, room, shared, heard.clone())?;
    let sharing = |receives: Arc<SharedReceiveQueue>| {
        let mut memory = Memory::new(&id, domain.clone())?;
        memory.share(receives)?;
        memory.complete_to(queue.clone())?;
        Ok::<_, Error>(memory)
    };
    let made = make(&CAPS, PollMode::Event, sharing(other)?);
    steps.tried("receives of another queue", &made)?;
    let more = QueuePairCaps {
        max_rdma_ctxs: 256,
        ..CAPS
    };
    let made = make(&more, PollMode::Event, sharing(own.clone())?);
    steps.tried("contexts without room", &made)?;
    let made = make(&CAPS, PollMode::Event, sharing(own)?);
    steps.tried("receives of its own", &made)
}

/// Makes a list of one request for the queue pair.
fn list(qp: &Qp, buffer: BufferId, len: u32, inline: bool) -> Result<PreparedList> {
    let mut list = PreparedList::new(1, 1)?;
    let form = Form {
        inline,
        ..Form::default()
    };
    let request = Request {
        operation: Operation::Send,
        local: Local {
            buffer,
            offset: 0,
            len,
            region: None,
        },
    };
    let filled = qp.with(|_, queue| queue.fill_list(&mut list, SEND, form, |_| Ok(request)));
    filled.ok_or(ENODEV)??;
    Ok(list)
}

/// Makes a queue pair that is not connected, and a buffer of its.
fn alone(caps: &QueuePairCaps) -> Result<(Qp, BufferId)> {
    let (id, heard) = resolved()?;
    let mut memory = memory(&id)?;
    let buffer = memory.add_buffer(SIZE as usize)?;
    let (qp, _) = queue_pair(heard, caps, PollMode::Event, memory, Role::Plain)?;
    Ok((qp, buffer))
}

/// A request holds no more data itself than its queue pair was asked for.
pub(crate) fn inline(steps: &mut Steps) -> Result {
    let (qp, buffer) = alone(&CAPS)?;
    steps.tried("not asked for", &list(&qp, buffer, 16, true).map(drop))?;
    let some = QueuePairCaps {
        max_inline_data: 64,
        ..CAPS
    };
    let (qp, buffer) = alone(&some)?;
    steps.tried("too much", &list(&qp, buffer, 65, true).map(drop))?;
    steps.tried("as much", &list(&qp, buffer, 64, true).map(drop))?;
    steps.tried("by address", &list(&qp, buffer, 65, false).map(drop))
}

/// The prepared list of a queue pair that is gone is no other's, however many there are.
pub(crate) fn lists(steps: &mut Steps) -> Result {
    const MEMORIES: u32 = 600;
    let (qp, buffer) = alone(&CAPS)?;
    let mut list = list(&qp, buffer, 16, false)?;
    drop(qp);
    let (id, heard) = resolved()?;
    let domain = ProtectionDomain::new(&id, GlobalKeys::Local)?;
    let mut accepted = 0;
    for _ in 0..MEMORIES {
        let mut memory: Memory = Memory::new(&id, domain.clone())?;
        // It has a buffer of that number, too.
        memory.add_buffer(SIZE as usize)?;
        accepted += u32::from(memory.pages(buffer).is_ok());
        drop(memory);
    }
    let memory = memory(&id)?;
    let (qp, _) = queue_pair::<PATIENCE>(heard, &CAPS, PollMode::Event, memory, Role::Plain)?;
    let posted = qp.with(|_, queue| queue.post_list(&mut list, 1, |_| Notify::SIGNALED));
    steps.note("buffers", accepted)?;
    steps.tried("list", &posted.ok_or(ENODEV)?)
}

/// Threads that drain one polled queue pair at once both see its end, and failed completions say
/// nothing that the device has not.
pub(crate) fn drains(steps: &mut Steps) -> Result {
    const ROUNDS: u32 = 40;
    let (mut failed, mut seen) = (0, 0);
    for _ in 0..ROUNDS {
        let (id, heard) = resolved()?;
        let mut memory = memory(&id)?;
        let buffer = memory.add_buffer(SIZE as usize)?;
        let (qp, log) = queue_pair::<PATIENCE>(heard, &CAPS, PollMode::Direct, memory, Role::Look)?;
        let posted = qp.with(|_, queue| {
            (0..16).try_for_each(|_| queue.post_receive(RECEIVE, &local(buffer, 64)))
        });
        posted.ok_or(ENODEV)??;
        let qp = Arc::new(qp, GFP_KERNEL)?;
        let ended = Arc::pin_init(Completion::new(), GFP_KERNEL)?;
        let wrong = Arc::new(Atomic::<u32>::new(0), GFP_KERNEL)?;
        let (other, end, count) = (qp.clone(), ended.clone(), wrong.clone());
        let thread = Kthread::run_with_all_rights(fmt!("rdma_probe"), move || {
            count.fetch_add(u32::from(other.drain().is_err()), Relaxed);
            drop(other);
            end.complete();
        })?;
        wrong.fetch_add(u32::from(qp.drain().is_err()), Relaxed);
        ended.wait(Deadline::after_ms(PATIENCE));
        drop(thread);
        failed += wrong.load(Relaxed);
        seen |= log.seen.load(Relaxed);
        if failed > 0 {
            break;
        }
    }
    steps.note("failed", failed)?;
    steps.note("seen", seen)
}

/// A client with two regions, whose server receives nothing.
fn silent(port: u16) -> Result<(Pair, BufferId, [RegionId; 2])> {
    // The completion queue has room for more than the send queue is to have.
    let caps = QueuePairCaps {
        max_recv_wr: 256,
        ..CAPS
    };
    let mut made = None;
    let pair = pair(
        port,
        &caps,
        0,
        |memory| {
            let buffer = memory.add_buffer(SIZE as usize)?;
            let mut add = || memory.add_region(buffer);
            made = Some((buffer, [add()?, add()?]));
            Ok(Role::Plain)
        },
        |_| Ok(Role::Plain),
    )?;
    let (buffer, regions) = made.ok_or(EINVAL)?;
    Ok((pair, buffer, regions))
}

/// Posts SENDs that nobody receives, until the queue is full or `most` are posted.
fn fill(pair: &Pair, buffer: BufferId, most: u32) -> Result<u32> {
    for posted in 0..most {
        match pair.client.post(&[send(buffer, None)], SEND) {
            Ok(()) => {}
            Err(ENOMEM) => return Ok(posted),
            Err(error) => return Err(error),
        }
    }
    Ok(most)
}

/// A queue that its owner has filled is drained, and a list of which a part is posted changes what
/// that part says.
pub(crate) fn full(steps: &mut Steps) -> Result {
    const MOST: u32 = 4096;
    let before = undrained();
    let (pair, buffer, [first, second]) = silent(7315)?;
    let size = fill(&pair, buffer, MOST)?;
    steps.note("more than its room", size > pair.client.qp.send_room())?;
    let list = [first, second].map(|region| register(region, Access::RemoteRead, true));
    steps.tried("list", &pair.client.post(&list, REGISTER))?;
    let valid = |pair: &Pair, region| {
        let valid = pair
            .client
            .qp
            .with(|_, queue| queue.memory().is_valid(region));
        valid == Some(true)
    };
    steps.note("first", valid(&pair, first))?;
    drop(pair);
    steps.note("undrained", undrained() - before)?;

    let (pair, buffer, [first, second]) = silent(7316)?;
    fill(&pair, buffer, size - 1)?;
    let list = [first, second].map(|region| register(region, Access::RemoteRead, true));
    steps.tried("list", &pair.client.post(&list, REGISTER))?;
    steps.note("first", valid(&pair, first))?;
    steps.note("second", valid(&pair, second))?;
    drop(pair);
    steps.note("undrained", undrained() - before)
}
