// SPDX-License-Identifier: GPL-2.0

//! The facts about the verbs that are measured, and their data. No other file tells one from
//! another.

#![forbid(unsafe_code)]

use crate::{
    engine::queue::Queue,
    logic::{
        command::Load,
        data::pattern::{
            Data,
            Mismatch, //
        },
        device::caps,
        failure::{
            Failure,
            Operation, //
        },
        spec::{
            service::Service,
            tests::Verb, //
        }, //
    },
    mr::{
        self,
        Access,
        BufferId,
        Memory, //
    },
    rdma::{
        device::Device,
        mr::Remote,
        wr::{
            atomic::AtomicOp,
            prepared, //
        }, //
    },
    workloads::{
        exchange::memory_failed,
        pingpong::client, //
    }, //
};
use kernel::prelude::*;

/// The operations that a side of a microbenchmark posts.
pub(super) const OPERATIONS: &[Operation] = &[
    Operation::Send,
    Operation::Read,
    Operation::Write,
    Operation::Atomic,
    Operation::Register,
    Operation::Receive,
    Operation::Control,
];

/// Returns the operation as completions and counters name it.
pub(super) const fn operation(verb: Verb) -> Operation {
    match verb {
        Verb::Write => Operation::Write,
        Verb::Read => Operation::Read,
        Verb::Send => Operation::Send,
        Verb::FetchAdd | Verb::CompareSwap => Operation::Atomic,
    }
}

/// Returns true where the operation brings data to the side that posts it, so that its completion
/// is its end and the peer sees nothing of it.
pub(super) const fn fetches(verb: Verb) -> bool {
    match verb {
        Verb::Read | Verb::FetchAdd | Verb::CompareSwap => true,
        Verb::Write | Verb::Send => false,
    }
}

/// Returns the access to its memory that the target grants; `None` where the operation takes a
/// receive.
pub(super) const fn access(verb: Verb) -> Option<Access> {
    match verb {
        Verb::Write => Some(Access::RemoteWrite),
        Verb::Read => Some(Access::RemoteRead),
        Verb::Send => None,
        Verb::FetchAdd | Verb::CompareSwap => Some(Access::RemoteAtomic),
    }
}

/// Returns the request on the peer's memory `remote`; with `immediate` it takes a receive, too.
pub(super) fn request(verb: Verb, remote: Remote, immediate: bool) -> prepared::Operation {
    match verb {
        Verb::Write if immediate => prepared::Operation::WriteImmediate(remote),
        Verb::Write => prepared::Operation::Write(remote),
        Verb::Read => prepared::Operation::Read(remote),
        Verb::Send => prepared::Operation::Send,
        Verb::FetchAdd => prepared::Operation::Atomic(remote, AtomicOp::FetchAdd(1)),
        Verb::CompareSwap => prepared::Operation::CountingSwap(remote),
    }
}

/// Checks that `device` supports the work requests of `load`.
///
/// # Errors
///
/// [`Failure::Unsupported`] for more scatter/gather elements than a work request can have, or for
/// immediate data or an unreliable queue pair on iWARP.
pub(super) fn check(verb: Verb, load: &Load, device: &Device<'_>) -> Result<(), Failure> {
    let most = if fetches(verb) {
        device.max_sge_rd()
    } else {
        device.max_send_sge()
    };
    if u32::from(load.sge) > most {
        return Err(Failure::Unsupported(
            "sge: the device takes fewer scatter/gather elements in a request",
        ));
    }
    if verb.is_atomic() && !device.has_atomics() {
        return Err(Failure::Unsupported(match verb {
            Verb::CompareSwap => caps::NO_COMPARE_SWAP,
            _ => caps::NO_FETCH_ADD,
        }));
    }
    match load.service {
        Service::Uc if !device.has_unreliable() => return Err(Failure::Unsupported(caps::NO_UC)),
        Service::Ud if !device.has_unreliable() => return Err(Failure::Unsupported(caps::NO_UD)),
        Service::Rc | Service::Uc | Service::Ud => (),
    }
    if load.imm && !device.has_immediates() {
        return Err(Failure::Unsupported(caps::NO_IMM));
    }
    Ok(())
}

/// Writes to a buffer, from an offset, which operations take `data` from, what is there before the
/// first of them. May sleep.
pub(super) fn fill(
    verb: Verb,
    data: &Data,
    memory: &mut Memory,
    (buffer, offset): (BufferId, usize),
) -> Result {
    match verb {
        Verb::Write | Verb::Read | Verb::Send => {
            mr::fill(memory, buffer, offset, data.size(), |words| {
                data.fill(words);
            })
        }
        // It counts from 0, which it has been made with.
        Verb::FetchAdd | Verb::CompareSwap => Ok(()),
    }
}

/// Compares a buffer, from an offset, with what `done` operations with `data`, of the peer or of
/// this side, have left there, and returns the first difference, if any.
pub(super) fn compare(
    verb: Verb,
    data: &Data,
    queue: &Queue<'_>,
    (buffer, offset): (BufferId, usize),
    done: u64,
) -> Result<Option<Mismatch>, Failure> {
    let compared = match verb {
        Verb::Write | Verb::Read | Verb::Send => client::compare(queue, buffer, offset, data),
        Verb::FetchAdd | Verb::CompareSwap => compare_count(queue, buffer, done),
    };
    match compared {
        Ok(()) => Ok(None),
        Err(Failure::Mismatch(mismatch)) => Ok(Some(mismatch)),
        Err(failure) => Err(failure),
    }
}

/// Compares the word that the last of `done` operations has brought with the number of those before
/// it, which the target has counted.
fn compare_count(queue: &Queue<'_>, buffer: BufferId, done: u64) -> Result<(), Failure> {
    let mut found = [0; 8];
    queue
        .memory()
        .read(buffer, 0, &mut found)
        .map_err(memory_failed)?;
    let expected = done.saturating_sub(1).to_ne_bytes();
    let mut wrong = found
        .into_iter()
        .zip(expected)
        .enumerate()
        .filter(|(_, (f, e))| f != e);
    let Some((offset, (found, expected))) = wrong.next() else {
        return Ok(());
    };
    Err(Failure::Mismatch(Mismatch {
        offset: offset as u64,
        expected,
        found,
        iteration: done,
        wrong: 1 + wrong.count() as u64,
    }))
}
