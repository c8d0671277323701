// SPDX-License-Identifier: GPL-2.0

//! The thread of a command that asks what a device can do.
//!
//! The device is found as a client finds it, and its connection management is asked
//! ([`management`]), but nothing is connected. What it says of itself is followed by a
//! preflight: protection domains, completion queues, queue pairs and regions as a run makes
//! them are made and destroyed, and the largest of them that can be had are searched for.
//! Nothing is posted.

#![forbid(unsafe_code)]

use crate::{
    cm::{
        addr::SocketAddress,
        CmId, //
    },
    engine::{
        dial::dial,
        drive::failed,
        entry::{
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
            new_bell,
            Outcome, //
        },
        results::Report,
        session::Session,
        worker::Worker, //
    },
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
    mr::Memory,
    rdma::{
        device::{
            Device,
            Transport, //
        },
        qp::{
            sizing,
            Depths,
            DRAINS, //
        }, //
    }, //
};
use kernel::{
    prelude::*,
    sync::Arc, //
};

/// The most bytes that a request is asked to hold itself: no device says how many it
/// takes, and none is known that takes as many.
const MOST_INLINE: u32 = 4096;

/// What a device can do.
pub(crate) static ENTRY: Entry = Entry {
    families: &[Family::Caps],
    client: Client::Threads(start),
    listen: None,
    serve: None,
    depths: None,
    states: &[],
};

/// Starts the session's thread, for the device that leads to `addr`.
///
/// # Errors
///
/// `ENOMEM`.
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
    session.report(&Report {
        caps,
        failure: result.err(),
        ..report
    });
}

/// Finds the device that leads to `addr`, and what it can do; then whether all works
/// that must.
///
/// # Errors
///
/// The failure before anything is known.
#[inline(never)]
fn find(
    session: &Session,
    worker: &Worker,
    addr: &SocketAddress,
    report: &mut Report<'_>,
) -> Result<(Caps, Result<(), Failure>), Failure> {
    let no_memory = failed("starting the client");
    let outcome = new_bell()
        .and_then(|bell| Outcome::new(&bell))
        .map_err(&no_memory)?;
    worker.attach(&outcome).map_err(&no_memory)?;
    let timeout = session.timeout();
    let id = dial(
        session,
        worker,
        outcome.clone(),
        addr,
        timeout,
        report,
        |_, _| (),
    )
    .map_err(|failure| outcome.cause_of(failure))?;
    let device = id.device().map_err(failed("finding the device"))?;
    let mut caps = Caps {
        claims: device.claims(),
        port: device
            .query_port()
            .map_err(failed("asking for the port's attributes"))?,
        management: Management::NotAsked,
        preflight: Preflight::default(),
        limits: None,
    };
    let asked = management::ask(session, worker, &id);
    caps.management = match asked {
        Ok(()) => Management::Answers,
        Err(Failure::ManagementDead) => Management::Silent,
        Err(Failure::Unsupported(_) | Failure::PortDown) => Management::NotAsked,
        Err(failure) => return Err(outcome.cause_of(failure)),
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
    let disk = session.registry.workload(Family::Disk);
    let disk = disk.and_then(|disk| disk.depths.ok_or(EINVAL));
    let bench = Bench {
        id: &id,
        outcome: &outcome,
        device,
        room: queue_limits(session, &device),
        disk: disk.map_err(failed("finding what a disk needs"))?,
    };
    let result = bench.try_all(&mut caps.preflight);
    pr_info!("{}: caps: preflight: {}\n", number, caps.preflight);
    if result.is_ok() {
        let iwarp = transport == Transport::Iwarp;
        let limits = Limits::new(&caps.claims, &caps.preflight, iwarp, DRAINS);
        pr_info!("{}: caps: limits: {}\n", number, limits);
        caps.limits = Some(limits);
    }
    let result = match (result, caps.management) {
        (Ok(()), Management::Silent) => Err(Failure::ManagementDead),
        (result, _) => result,
    };
    Ok((caps, result))
}

/// Where things are tried.
struct Bench<'a> {
    id: &'a Arc<CmId>,
    outcome: &'a Outcome,
    device: Device<'a>,
    room: QueueLimits,
    /// How large a disk's queue pairs are.
    disk: fn(u16) -> Depths,
}

impl Bench<'_> {
    /// Tries all items, as far as what must work does, and notes what became of them.
    #[inline(never)]
    fn try_all(&self, preflight: &mut Preflight) -> Result<(), Failure> {
        let plain = Depths::plain(DEFAULT_TXDEPTH, RECEIVES as u32);
        let entries = plain.entries().map_err(failed("sizing the queues"))?;
        let requests = DEFAULT_TXDEPTH.saturating_add(DRAINS);
        self.must(preflight, Item::ProtectionDomain, 1, |_| Ok(()))?;
        self.must(preflight, Item::Completions, entries, |memory| {
            sizing::make_completions(memory, entries)
        })?;
        self.must(preflight, Item::Requests, requests, |memory| {
            sizing::make_queue_pair(memory, &plain)
        })?;
        self.must(preflight, Item::Region, DEFAULT_SIZE, |memory| {
            make_region(memory, DEFAULT_SIZE)
        })?;

        let bytes = u32::try_from(self.device.max_buffer()).unwrap_or(u32::MAX);
        self.most(preflight, Item::MostBytes, bytes, make_region)?;
        let requests = self.room.requests.min(MOST_TXDEPTH).saturating_add(DRAINS);
        self.most(
            preflight,
            Item::MostRequests,
            requests,
            |memory, requests| {
                let send = requests.saturating_sub(DRAINS);
                sizing::make_queue_pair(memory, &Depths { send, ..plain })
            },
        )?;
        let pieces = self.device.max_pieces(false).min(MOST_SGE);
        self.most(preflight, Item::MostSge, pieces, |memory, pieces| {
            let pieces = u8::try_from(pieces).map_err(|_| ERANGE)?;
            sizing::make_queue_pair(memory, &Depths { pieces, ..plain })
        })?;
        self.most(
            preflight,
            Item::MostInline,
            MOST_INLINE,
            |memory, inline| sizing::make_queue_pair(memory, &Depths { inline, ..plain }),
        )?;
        self.most(preflight, Item::MostDepth, MOST_DEPTH, |memory, depth| {
            let depth = u16::try_from(depth).map_err(|_| ERANGE)?;
            sizing::make_queue_pair(memory, &(self.disk)(depth))
        })
    }

    /// Tries what must work.
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

    /// Searches for the most that works.
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

    /// Makes something in a protection domain of its own, and destroys both. Returns the
    /// errno, positive, or 0.
    ///
    /// # Errors
    ///
    /// What ends the run: a signal, or the device's removal.
    fn attempt(&self, make: impl FnOnce(&mut Memory) -> Result) -> Result<i32, Failure> {
        if let Some(failure) = self.outcome.failure() {
            return Err(failure);
        }
        let made = Memory::new(self.id, false).and_then(|mut memory| make(&mut memory));
        Ok(made.map_or_else(|error| error.to_errno().saturating_neg(), |()| 0))
    }
}

/// Makes a buffer, and a region over it, as each memory mode does.
fn make_region(memory: &mut Memory, bytes: u32) -> Result {
    let buffer = memory.add_buffer(bytes as usize)?;
    memory.add_region(buffer).map(drop)
}
