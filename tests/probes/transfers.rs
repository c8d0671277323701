// SPDX-License-Identifier: GPL-2.0

//! Transfers: what ends them, and how long their memory stays.

#![forbid(unsafe_code)]

use crate::{
    ends::{
        pair,
        queue_pair,
        register,
        resolved,
        undrained,
        write,
        Pair,
        Role,
        CAPS,
        PATIENCE,
        REGISTER,
        SEND,
        SIZE, //
    },
    kernel_ext::{
        pages::Contiguous,
        time::{
            relax,
            Deadline, //
        }, //
    },
    rdma::{
        cq::PollMode,
        memory::{
            BufferId,
            DmaDirection, //
        },
        mr::{
            Access,
            Remote, //
        },
        qp::QueuePairCaps,
        rw::{
            ListKind,
            Pieces,
            Shape,
            TransferId, //
        }, //
    },
    Steps, //
};
use kernel::{
    page::PAGE_SIZE,
    prelude::*,
    sync::{
        atomic::Relaxed,
        Arc, //
    }, //
};

/// The bytes of a transfer, in pages of their own.
const LONG: usize = 1 << 20;
const PAGES: usize = LONG / PAGE_SIZE;

/// A byte of the server's memory.
const BYTE: u8 = 0xbb;

/// Sizes for one transfer.
const MOVING: QueuePairCaps = QueuePairCaps {
    max_rdma_ctxs: 16,
    ..CAPS
};

/// A client with a transfer, and a server with memory for it.
struct Ready<const T: u32> {
    pair: Pair<T>,
    id: TransferId,
    pieces: Arc<Pieces>,
    buffer: BufferId,
    remote: Remote,
}

fn ready<const T: u32>(port: u16, role: fn(TransferId) -> Role) -> Result<Ready<T>> {
    let shape = Shape {
        size: LONG,
        offset: 0,
        count: PAGES,
    };
    let (mut made, mut region) = (None, None);
    let pair: Pair<T> = pair(
        port,
        &MOVING,
        1,
        |memory| {
            let (id, pieces) = memory.add_transfer(&shape, ListKind::Scatterlist)?;
            made = Some((id, pieces, memory.add_buffer(SIZE as usize)?));
            Ok(role(id))
        },
        |memory| {
            let buffer = memory.add_buffer(LONG)?;
            for at in (0..LONG).step_by(64) {
                memory.write(buffer, at, &[BYTE; 64])?;
            }
            region = Some(memory.add_region(buffer)?);
            Ok(Role::Plain)
        },
    )?;
    let (id, pieces, buffer) = made.ok_or(EINVAL)?;
    let region = region.ok_or(EINVAL)?;
    let list = register(region, Access::RemoteRead, false);
    pair.server.run(list, REGISTER)?;
    let remote = pair
        .server
        .qp
        .with(|_, queue| queue.memory().remote(region));
    let remote = remote.ok_or(ENODEV)??;
    pair.client
        .qp
        .make_transfer(id, &remote, DmaDirection::FromDevice)?;
    Ok(Ready {
        pair,
        id,
        pieces,
        buffer,
        remote,
    })
}

/// Returns the number of pages that have arrived.
fn arrived(pieces: &Pieces, copy: &Contiguous) -> Result<usize> {
    pieces.gather(copy)?;
    let mut count = 0;
    for at in (0..LONG).step_by(PAGE_SIZE) {
        let mut byte = [0];
        copy.read(at + PAGE_SIZE - 1, &mut byte)?;
        count += usize::from(byte[0] == BYTE);
    }
    Ok(count)
}

/// A transfer is over when its own last request is, whatever else has the same entry.
pub(crate) fn own_entry(steps: &mut Steps) -> Result {
    let (id, heard) = resolved()?;
    let both = QueuePairCaps {
        signal_all: true,
        ..MOVING
    };
    let memory = crate::ends::memory(&id)?;
    let made = queue_pair::<PATIENCE>(heard, &both, PollMode::Event, memory, Role::Plain);
    steps.tried("signal_all", &made.map(drop))?;

    let ready: Ready<PATIENCE> = ready(7321, Role::Transfer)?;
    let client = &ready.pair.client;
    let copy = Contiguous::new(LONG)?;
    let posted = client.qp.with(|_, queue| {
        queue.post(&[write(ready.buffer, 0, ready.remote)], |_| SEND)?;
        queue.post_transfer(ready.id, |_| SEND, None)
    });
    posted.ok_or(ENODEV)??;
    client.log.completed.wait(2)?;
    steps.note("accepted", client.log.accepted.load(Relaxed))?;
    steps.tried("end", &client.qp.end_transfer(ready.id))?;
    let all = arrived(&ready.pieces, &copy)? == PAGES;
    steps.note("all arrived", all)?;
    // The entry is the same, and the transfer is another.
    let again = client
        .qp
        .make_transfer(ready.id, &ready.remote, DmaDirection::FromDevice);
    again?;
    let posted = client
        .qp
        .with(|_, queue| queue.post_transfer(ready.id, |_| SEND, None));
    posted.ok_or(ENODEV)??;
    client.log.completed.wait(3)?;
    steps.note("accepted", client.log.accepted.load(Relaxed))
}

/// The memory of a READ that is under way stays until the queue pair has gone.
pub(crate) fn hasty(steps: &mut Steps) -> Result {
    // One of three or so is not drained in no time.
    const ROUNDS: u32 = 80;
    const WANTED: u32 = 3;
    let before = undrained();
    let (mut late, mut dirty) = (0, 0);
    for round in 0..ROUNDS {
        if undrained() - before >= WANTED {
            break;
        }
        let ready: Ready<0> = ready(7322, |_| Role::Plain)?;
        let client = &ready.pair.client;
        let posted = client
            .qp
            .with(|_, queue| queue.post_transfer(ready.id, |_| SEND, None));
        posted.ok_or(ENODEV)??;
        // Until the first bytes are there.
        let copy = Contiguous::new(LONG)?;
        let deadline = Deadline::after_ms(PATIENCE);
        while arrived(&ready.pieces, &copy)? == 0 && !deadline.passed() {
            relax();
        }
        let Ready { pair, pieces, .. } = ready;
        let Pair { client, server } = pair;
        if round % 2 == 0 {
            // Nothing else keeps it.
            drop(pieces);
            drop(client);
            dirty += of_others()?;
        } else {
            drop(client);
            let then = arrived(&pieces, &copy)?;
            drop(server);
            late += u32::from(arrived(&pieces, &copy)? != then);
        }
    }
    steps.note("undrained", undrained() - before)?;
    steps.note("arrived late", late)?;
    steps.note("in memory of others", dirty)
}

/// Returns the number of new, zeroed pages that are not so.
fn of_others() -> Result<u32> {
    let mut pages = KVVec::new();
    for _ in 0..2000 {
        pages.push(Contiguous::new(PAGE_SIZE)?, GFP_KERNEL)?;
    }
    let mut dirty = 0;
    for page in &pages {
        let mut byte = [0];
        page.read(0, &mut byte)?;
        dirty += u32::from(byte[0] != 0);
    }
    Ok(dirty)
}
