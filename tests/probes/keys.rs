// SPDX-License-Identifier: GPL-2.0

//! Keys of regions: what they may be registered for, and what proves that they are invalid.

#![forbid(unsafe_code)]

use crate::{
    ends::{
        local,
        pair,
        register,
        send,
        write,
        Pair,
        Role,
        CAPS,
        REGISTER,
        SEND,
        SIZE, //
    },
    foreign::Lent,
    rdma::{
        cq::WorkCompletion,
        memory::{
            BufferId,
            DmaDirection,
            RegionId, //
        },
        mr::{
            Access,
            Remote, //
        },
        qp::Queue,
        wr::WorkRequest, //
    },
    Steps, //
};
use kernel::{
    fmt,
    prelude::*,
    sync::atomic::Relaxed, //
};

/// A byte that the client writes.
const BYTE: u8 = 0xcd;

/// A pair whose client has a buffer, and whose server has a region for what is lent.
fn lending(port: u16, role: fn(RegionId) -> Role) -> Result<(Pair, BufferId, RegionId)> {
    let (mut buffer, mut region) = (None, None);
    let pair = pair(
        port,
        &CAPS,
        3,
        |memory| {
            let new = memory.add_buffer(SIZE as usize)?;
            memory.write(new, 0, &[BYTE; 64])?;
            buffer = Some(new);
            Ok(Role::Plain)
        },
        |memory| {
            let new = memory.add_foreign_region(1)?;
            region = Some(new);
            Ok(role(new))
        },
    )?;
    Ok((pair, buffer.ok_or(EINVAL)?, region.ok_or(EINVAL)?))
}

/// Lends the server a page.
fn open(pair: &Pair, region: RegionId, direction: DmaDirection) -> Result<Remote> {
    let object = Lent::new(direction)?;
    let opened = pair.server.qp.with(|_, queue| queue.open(region, object));
    opened.ok_or(ENODEV)?.map_err(|(_, error)| error)
}

/// Returns the first byte of the page that is lent.
fn byte(pair: &Pair, region: RegionId) -> Result<u8> {
    let mut byte = [0];
    let read = pair.server.qp.with(|_, queue| {
        let object = queue.memory().object(region).ok_or(ENOENT)?;
        object.page.read(0, &mut byte)
    });
    read.ok_or(ENODEV)??;
    Ok(byte[0])
}

/// Memory that is lent in one direction is registered for no other.
pub(crate) fn direction(steps: &mut Steps) -> Result {
    const ACCESSES: [(Access, &str); 5] = [
        (Access::Local, "Local"),
        (Access::RemoteWrite, "RemoteWrite"),
        (Access::Remote, "Remote"),
        (Access::RemoteAtomic, "RemoteAtomic"),
        (Access::RemoteRead, "RemoteRead"),
    ];
    for (port, direction) in [
        (7311, DmaDirection::ToDevice),
        (7312, DmaDirection::FromDevice),
    ] {
        for (access, name) in ACCESSES {
            let (pair, buffer, region) = lending(port, |_| Role::Plain)?;
            let remote = open(&pair, region, direction)?;
            let list = [register(region, access, false)];
            let posted = pair.server.post(&list, REGISTER);
            steps.tried(name, &posted)?;
            if posted.is_ok() {
                pair.server.log.completed.wait(1)?;
            }
            // The peer finds out whether it may write.
            pair.client.run(write(buffer, 64, remote), SEND)?;
            steps.note("written", byte(&pair, region)? == BYTE)?;
        }
    }
    Ok(())
}

/// What came of each use of one proof.
pub(crate) const INVALIDATED: u32 = 1;
pub(crate) const SAME_KEY: u32 = 2;
pub(crate) const NEW_KEY: u32 = 4;
pub(crate) const CLOSED: u32 = 8;

/// Uses `wc`, which proves that `region` is invalid, to have it registered and to give it back.
/// Returns what was accepted.
pub(crate) fn use_twice(
    queue: &mut Queue<'_, usize, Lent>,
    region: RegionId,
    wc: &WorkCompletion<'_>,
) -> u32 {
    let mut accepted = 0;
    let mut note = |is_ok: bool, what: u32| {
        if is_ok {
            accepted |= what;
        }
    };
    note(queue.invalidated(region, wc).is_ok(), INVALIDATED);
    let access = Access::RemoteWrite;
    // Each other key has been there before the same comes back.
    for _ in 0..256 {
        let same = queue.memory().rkey(region) == wc.invalidated().ok_or(EINVAL);
        if same {
            let list = [register(region, access, false)];
            note(queue.post(&list, |_| REGISTER).is_ok(), SAME_KEY);
        }
        let _ = queue.renew_key(region);
    }
    let list = [register(region, access, true)];
    note(queue.post(&list, |_| REGISTER).is_ok(), NEW_KEY);
    if let Ok(object) = queue.close(region, wc) {
        note(true, CLOSED);
        drop(object);
    }
    accepted
}

/// Shows what [`use_twice`] has returned.
struct Accepted(u32);

impl fmt::Display for Accepted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (what, name) in [
            (INVALIDATED, "invalidated "),
            (SAME_KEY, "same_key "),
            (NEW_KEY, "new_key "),
            (CLOSED, "closed "),
        ] {
            if self.0 & what != 0 {
                f.write_str(name)?;
            }
        }
        Ok(())
    }
}

/// A completion that says that a key is invalid says so of one registration.
pub(crate) fn one_proof(steps: &mut Steps) -> Result {
    let (pair, buffer, region) = lending(7313, Role::Proof)?;
    let remote = open(&pair, region, DmaDirection::FromDevice)?;
    let list = register(region, Access::RemoteWrite, false);
    pair.server.run(list, REGISTER)?;
    // The receive, and what its handler posts.
    let before = pair.server.log.completed.get();
    pair.client.run(send(buffer, Some(remote.rkey)), SEND)?;
    pair.server.log.completed.wait(before + 2)?;
    steps.note("accepted", Accepted(pair.server.log.seen.load(Relaxed)))?;
    pair.client.run(write(buffer, 64, remote), SEND)?;
    steps.note("failed", pair.client.log.failed.load(Relaxed))?;
    steps.note("byte", byte(&pair, region)?)
}

/// What a list would have changed stays as it was where the list is not posted.
pub(crate) fn unposted(steps: &mut Steps) -> Result {
    let mut made = None;
    let pair: Pair = pair(
        7314,
        &CAPS,
        1,
        |memory| {
            let buffer = memory.add_buffer(SIZE as usize)?;
            made = Some((buffer, memory.add_region(buffer)?));
            Ok(Role::Plain)
        },
        |_| Ok(Role::Plain),
    )?;
    let (buffer, region) = made.ok_or(EINVAL)?;
    let client = &pair.client;
    let is_valid = || client.qp.with(|_, queue| queue.memory().is_valid(region));
    let good = register(region, Access::RemoteRead, true);
    let bad = WorkRequest::Send {
        local: local(buffer, SIZE + 1),
        invalidate: None,
        fence: false,
        signaled: true,
        solicited: false,
    };
    let invalidate = WorkRequest::Invalidate {
        region,
        fence: false,
        signaled: true,
    };
    steps.tried("out of bounds", &client.post(&[good, bad], REGISTER))?;
    steps.note("valid", is_valid() == Some(true))?;
    let unchecked = |request| {
        client
            .qp
            .with(|_, queue| queue.post_unchecked(9, request, 0))
    };
    steps.tried("no entry", &unchecked(good).ok_or(ENODEV)?)?;
    steps.note("valid", is_valid() == Some(true))?;
    steps.tried("invalidate", &client.post(&[invalidate], REGISTER))?;
    steps.tried("register", &client.run(good, REGISTER))?;
    steps.tried("out of bounds", &client.post(&[invalidate, bad], REGISTER))?;
    steps.note("valid", is_valid() == Some(true))?;
    steps.tried("invalidate", &client.run(invalidate, REGISTER))?;
    steps.note("failed", client.log.failed.load(Relaxed))
}
