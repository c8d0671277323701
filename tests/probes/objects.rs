// SPDX-License-Identifier: GPL-2.0

//! Chunks, credentials, disks and identifiers.

#![forbid(unsafe_code)]

use crate::{
    ends::{
        resolved,
        Heard,
        ADDR,
        SIZE, //
    },
    kernel_ext::{
        blk::{
            disk::{
                Disk,
                Labels,
                Shape, //
            },
            request::Request,
            Operations, //
        },
        cred::Credentials,
        net::Netns, //
    },
    rdma::{
        cm::{
            Id,
            ListenHandler,
            Listener,
            PortSpace,
            SocketAddress, //
        },
        memory::Memory,
        pd::{
            GlobalKeys,
            ProtectionDomain, //
        },
        qp_type::QpType,
        srq::SharedReceiveQueue, //
    },
    Steps, //
};
use kernel::{
    prelude::*,
    str::CString,
    sync::Arc, //
};

/// A chunk goes back to the queue that it is of.
pub(crate) fn chunk(steps: &mut Steps) -> Result {
    const COUNT: u32 = 8;
    let (id, heard) = resolved()?;
    let domain = ProtectionDomain::new(&id, GlobalKeys::Local)?;
    let make = || {
        let memory = Memory::new(&id, domain.clone())?;
        SharedReceiveQueue::new(memory, COUNT, SIZE, heard.clone())
    };
    let (own, other) = (make()?, make()?);
    other.refill(COUNT)?;
    let chunk = own.claim(COUNT).ok_or(EINVAL)?;
    let released = other.release(chunk);
    steps.note("taken", released.is_ok())?;
    steps.note("posted", other.posted())?;
    steps.note("posted again", other.refill(COUNT)?)?;
    if let Err(chunk) = released {
        steps.note("taken back", own.release(chunk).is_ok())?;
    }
    steps.note("claimed", own.claimed())
}

/// Credentials within others end before these do.
pub(crate) fn credentials(steps: &mut Steps) -> Result {
    let first = Credentials::current().ok_or(ESRCH)?;
    let second = Credentials::current().ok_or(ESRCH)?;
    let seen = first.assume(|| second.assume(|| Credentials::current().is_some()));
    drop(first);
    steps.note("nested", seen)?;
    steps.note("own", Credentials::current().is_some())
}

struct Null;

impl Operations for Null {
    fn queue(&self, _: usize, request: Request) -> core::result::Result<(), Request> {
        request.end(0);
        Ok(())
    }
}

/// A disk is added once, and resumed as often as it was quiesced.
pub(crate) fn disk(steps: &mut Steps) -> Result {
    let shape = Shape {
        size: 1 << 20,
        block: 512,
        physical: 0,
        minimum: 0,
        optimal: 0,
        discard: 0,
        alignment: 4,
        max_bytes: 1 << 16,
        segment_mask: 0xffff_ffff,
        max_discard: 0,
        read_only: false,
        cache: false,
        stable: false,
        queues: 1,
        depth: 4,
    };
    let labels = Labels {
        serial: CString::try_from_fmt(fmt!("probe"))?,
        tag: CString::try_from_fmt(fmt!("probe"))?,
    };
    let data = Arc::new(Null, GFP_KERNEL)?;
    let disk = Disk::new(data, &shape, c"rdma_probe", labels)?;
    steps.tried("resume", &disk.resume())?;
    disk.quiesce();
    steps.tried("resume", &disk.resume())?;
    steps.tried("resume", &disk.resume())?;
    steps.tried("add", &disk.add())?;
    steps.tried("add", &disk.add())?;
    disk.remove();
    steps.tried("add", &disk.add())
}

struct Nobody;

impl ListenHandler for Nobody {
    fn request(&self, _: crate::rdma::cm::Request<'_>) -> Result {
        Err(EINVAL)
    }

    fn device_removed(&self) {}
}

/// An identifier that cannot be bound has no device that others could see.
pub(crate) fn port_in_use(steps: &mut Steps) -> Result {
    let net = Netns::current().ok_or(ESRCH)?;
    let taken = SocketAddress::v4(ADDR, 7317);
    let nobody = Arc::new(Nobody, GFP_KERNEL)?;
    let mut listener = Listener::new(&net, PortSpace::Tcp, QpType::Rc, nobody)?;
    listener.bind(&taken)?;
    let mut id = Id::new(&net, PortSpace::Tcp, QpType::Rc, Heard::new()?)?;
    steps.tried("bind", &id.bind(&taken))?;
    steps.tried("device", &id.device().map(|_| ()))?;
    steps.tried("bind", &id.bind(&taken.with_port(0)))?;
    steps.tried("device", &id.device().map(|_| ()))
}
