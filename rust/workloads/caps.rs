// SPDX-License-Identifier: GPL-2.0

//! The `caps` command: reports the capabilities of a device.
//!
//! The device is found as a client finds it. Its attributes are read and its connection management
//! is tested ([`management`]), but no connection is made. A preflight follows: it creates and
//! destroys protection domains, completion queues, queue pairs and regions of the sizes that a run
//! needs, and searches for the largest that the device makes. Nothing is posted.

#![forbid(unsafe_code)]

use crate::{
    cm::{
        addr::SocketAddress,
        CmId, //
    },
    engine::{
        claims,
        depths::Depths,
        dial::dial,
        drive::failed,
        entry::{
            workload,
            Client,
            Entry, //
        },
        limits::{
            queue_limits,
            QueueLimits,
            RECEIVES, //
        },
        management,
        outcome::{
            new_wait_queue,
            Outcome, //
        },
        results::Report,
        session::Session,
        worker::Worker, //
    },
    kernel_ext::tapped::tells_programs,
    logic::{
        command::limits::{
            DEFAULT_SIZE,
            DEFAULT_TXDEPTH,
            MOST_DEPTH,
            MOST_SGE,
            MOST_TXDEPTH, //
        },
        device::{
            caps::{
                Caps,
                Kernel,
                Limits,
                Management, //
            },
            preflight::{
                Attempt,
                Item,
                Preflight, //
            }, //
        },
        failure::Failure,
        spec::tests::Family, //
    },
    mr::{
        new_memory,
        Memory, //
    },
    rdma::{
        device::{
            Device,
            Transport, //
        },
        qp::{
            trial,
            DRAIN_REQUESTS, //
        },
        rw::TAKES_BIO_VECS, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// Inline data, in bytes, that the preflight asks for first. Devices do not report their limit, and
/// none is known that takes this much.
const MOST_INLINE: u32 = 4096;

/// Workload that reports the capabilities of a device.
pub(crate) static ENTRY: Entry = Entry {
    families: &[Family::Caps],
    client: Client::Threads(start),
    listen: None,
    serve: None,
    depths: None,
    states: &[],
};

/// Starts the session's thread, for the device that leads to `addr`.
fn start(session: &Arc<Session>, addr: SocketAddress) -> Result<(), Failure> {
    session.spawn(move |session, worker| run(session, worker, &addr))
}

fn run(session: &Session, worker: &Worker, addr: &SocketAddress) {
    let mut report = Report::new(session.id, worker.id, "client", &session.command);
    let found = find(session, worker, addr, &mut report);
    let (caps, result) = match &found {
        Ok((caps, result)) => (Some(caps), *result),
        Err(failure) => (None, Err(*failure)),
    };
    if let Err(failure) = result {
        session.record(failure);
    }
    report.caps = caps;
    report.failure = result.err();
    session.report(&report);
}

/// Finds the device that leads to `addr`, and returns its capabilities. The inner result is an
/// error if something that every run needs does not work.
///
/// # Errors
///
/// The failure that kept the capabilities from being found.
#[inline(never)]
fn find(
    session: &Session,
    worker: &Worker,
    addr: &SocketAddress,
    report: &mut Report<'_>,
) -> Result<(Caps, Result<(), Failure>), Failure> {
    let no_memory = failed("starting the client");
    let outcome = new_wait_queue()
        .and_then(|wait_queue| Outcome::new(&wait_queue))
        .map_err(&no_memory)?;
    worker.attach(&outcome).map_err(&no_memory)?;
    examine(session, worker, addr, &outcome, report).map_err(|failure| outcome.cause_of(failure))
}

/// Resolves the way to the device, and does what [`find`] is for; a failure that was reported to
/// `outcome` may be the cause of its own.
#[inline(never)]
fn examine(
    session: &Session,
    worker: &Worker,
    addr: &SocketAddress,
    outcome: &Arc<Outcome>,
    report: &mut Report<'_>,
) -> Result<(Caps, Result<(), Failure>), Failure> {
    let timeout = session.timeout();
    let id = dial(
        session,
        worker,
        outcome.clone(),
        addr,
        timeout,
        report,
        |_, _| (),
    )?;
    let device = id.device().map_err(failed("finding the device"))?;
    let mut caps = Caps {
        claims: claims::claims(&device),
        port: claims::port(&device).map_err(failed("asking for the port's attributes"))?,
        management: Management::NotAsked,
        preflight: Preflight::default(),
        limits: None,
    };
    let asked = management::ask(session, worker, &id);
    caps.management = match asked {
        Ok(()) => Management::Answers,
        Err(Failure::ManagementDead) => Management::Silent,
        Err(Failure::Unsupported(_) | Failure::PortDown) => Management::NotAsked,
        Err(failure) => return Err(failure),
    };
    let name = device.name();
    let (number, name, transport) = (session.id, name.as_str(), device.transport());
    pr_info!(
        "{}: caps: {} is {}, firmware '{}'; {}\n",
        number,
        name,
        transport.as_str(),
        caps.claims.firmware.as_str(),
        caps.port
    );
    pr_info!("{}: caps: {}\n", number, caps.claims);
    pr_info!(
        "{}: caps: connection management: {}\n",
        number,
        caps.management.as_str()
    );
    let disk = workload(&session.registry, Family::Disk);
    let disk = disk.and_then(|disk| disk.depths.ok_or(EINVAL));
    let device_under_test = DeviceUnderTest {
        id: &id,
        outcome,
        device,
        room: queue_limits(session, &device),
        disk: disk.map_err(failed("finding what a disk needs"))?,
    };
    let result = device_under_test.try_all(&mut caps.preflight);
    pr_info!("{}: caps: preflight: {}\n", number, caps.preflight);
    if result.is_ok() {
        let iwarp = transport == Transport::Iwarp;
        let kernel = Kernel {
            takes_bio_vecs: TAKES_BIO_VECS,
            tells_programs: tells_programs(),
        };
        let limits = Limits::new(&caps.claims, &caps.preflight, iwarp, DRAIN_REQUESTS, kernel);
        pr_info!("{}: caps: limits: {}\n", number, limits);
        caps.limits = Some(limits);
    }
    let result = match (result, caps.management) {
        (Ok(()), Management::Silent) => Err(Failure::ManagementDead),
        (result, _) => result,
    };
    Ok((caps, result))
}

/// The device under test and what the preflight needs to know about it.
struct DeviceUnderTest<'a> {
    id: &'a Arc<CmId>,
    outcome: &'a Outcome,
    device: Device<'a>,
    room: QueueLimits,
    /// Returns the size of a disk's queue pair for a number of outstanding requests.
    disk: fn(u16) -> Depths,
}

impl DeviceUnderTest<'_> {
    /// Tries the items in order and stores the results in `preflight`. Stops at the first item that
    /// must work and does not.
    #[inline(never)]
    fn try_all(&self, preflight: &mut Preflight) -> Result<(), Failure> {
        let plain = Depths::plain(DEFAULT_TXDEPTH, RECEIVES as u32);
        let entries = plain.entries().map_err(failed("sizing the queues"))?;
        let requests = DEFAULT_TXDEPTH + DRAIN_REQUESTS;
        self.must(preflight, Item::ProtectionDomain, 1, |_| Ok(()))?;
        self.must(preflight, Item::Completions, entries, |memory| {
            trial::make_completion_queue(memory.pd(), entries)
        })?;
        self.must(preflight, Item::Requests, requests, |memory| {
            trial::make_queue_pair(memory.pd(), &plain.caps())
        })?;
        self.must(preflight, Item::Region, DEFAULT_SIZE, |memory| {
            make_region(memory, DEFAULT_SIZE)
        })?;

        let bytes = u32::try_from(self.device.max_buffer()).unwrap_or(u32::MAX);
        self.most(preflight, Item::MostBytes, bytes, make_region)?;
        let requests = self
            .room
            .requests
            .min(MOST_TXDEPTH)
            .saturating_add(DRAIN_REQUESTS);
        self.most(
            preflight,
            Item::MostRequests,
            requests,
            |memory, requests| {
                let send = requests.saturating_sub(DRAIN_REQUESTS);
                trial::make_queue_pair(memory.pd(), &Depths { send, ..plain }.caps())
            },
        )?;
        let pieces = self.device.max_send_sge().min(MOST_SGE);
        self.most(preflight, Item::MostSge, pieces, |memory, pieces| {
            let pieces = u8::try_from(pieces).map_err(|_| ERANGE)?;
            trial::make_queue_pair(memory.pd(), &Depths { pieces, ..plain }.caps())
        })?;
        self.most(
            preflight,
            Item::MostInline,
            MOST_INLINE,
            |memory, inline| {
                trial::make_queue_pair(memory.pd(), &Depths { inline, ..plain }.caps())
            },
        )?;
        self.most(preflight, Item::MostDepth, MOST_DEPTH, |memory, depth| {
            let depth = u16::try_from(depth).map_err(|_| ERANGE)?;
            trial::make_queue_pair(memory.pd(), &(self.disk)(depth).caps())
        })
    }

    /// Tries an item that must work for any run.
    fn must(
        &self,
        preflight: &mut Preflight,
        item: Item,
        asked: u32,
        make: impl FnOnce(&mut Memory) -> Result,
    ) -> Result<(), Failure> {
        let errno = self.attempt(make)?;
        preflight.note(item, Attempt::of(asked, errno));
        match errno {
            0 => Ok(()),
            _ => Err(Failure::Kernel(item.what(), errno.saturating_neg())),
        }
    }

    /// Searches for the largest amount of an item that the device makes, `asked` at most.
    fn most(
        &self,
        preflight: &mut Preflight,
        item: Item,
        asked: u32,
        make: impl Fn(&mut Memory, u32) -> Result,
    ) -> Result<(), Failure> {
        let found = Attempt::most(asked, |number| self.attempt(|memory| make(memory, number)))?;
        preflight.note(item, found);
        Ok(())
    }

    /// Makes an object in a protection domain of its own, and destroys both. Returns the errno,
    /// positive, or 0.
    ///
    /// # Errors
    ///
    /// The failure that ended the run: a signal, or the removal of the device.
    fn attempt(&self, make: impl FnOnce(&mut Memory) -> Result) -> Result<i32, Failure> {
        if let Some(failure) = self.outcome.failure() {
            return Err(failure);
        }
        let made = new_memory(self.id.rdma(), false).and_then(|mut memory| make(&mut memory));
        Ok(made.map_or_else(|error| -error.to_errno(), |()| 0))
    }
}

/// Makes a buffer and a region over it, as every memory mode does.
fn make_region(memory: &mut Memory, bytes: u32) -> Result {
    let buffer = memory.add_buffer(bytes as usize)?;
    memory.add_region(buffer).map(drop)
}
