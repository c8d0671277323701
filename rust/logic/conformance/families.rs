// SPDX-License-Identifier: GPL-2.0

//! The families of conformance tests, each a table of rows.

mod atomics;
mod datagrams;
mod events;
mod immediate;
mod invalidation;
mod keys;
mod local_memory;
mod management;
mod order;
mod queues;
mod race;
mod ranges;
mod receives;
mod remote_error;
mod retries;
mod rights;
mod states;
mod unsignaled;

use super::row::Row;

/// A family of conformance tests.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Family {
    /// The name in commands.
    pub(crate) name: &'static str,
    /// Subject of its cases.
    pub(crate) about: &'static str,
    /// The cases.
    pub(crate) rows: &'static [Row],
}

/// All families, in the order in which they run.
pub(crate) const FAMILIES: [Family; 18] = [
    Family {
        name: "keys",
        about: "keys of the peer's memory that are not, or no longer, valid",
        rows: keys::ROWS,
    },
    Family {
        name: "rights",
        about: "operations that a region or a queue pair does not permit",
        rows: rights::ROWS,
    },
    Family {
        name: "ranges",
        about: "the first and the last byte of a region, and those beside it",
        rows: ranges::ROWS,
    },
    Family {
        name: "local_memory",
        about: "memory of the requester that it may not use",
        rows: local_memory::ROWS,
    },
    Family {
        name: "receives",
        about: "memory that messages are received in",
        rows: receives::ROWS,
    },
    Family {
        name: "unsignaled",
        about: "requests that ask for no completion, and fail",
        rows: unsignaled::ROWS,
    },
    Family {
        name: "immediate",
        about: "immediate data",
        rows: immediate::ROWS,
    },
    Family {
        name: "invalidation",
        about: "registration and invalidation of keys",
        rows: invalidation::ROWS,
    },
    Family {
        name: "retries",
        about: "peers that have no receive posted",
        rows: retries::ROWS,
    },
    Family {
        name: "remote_error",
        about: "peers that do not answer",
        rows: remote_error::ROWS,
    },
    Family {
        name: "atomics",
        about: "atomic operations",
        rows: atomics::ROWS,
    },
    Family {
        name: "states",
        about: "requests of a queue pair that is in error",
        rows: states::ROWS,
    },
    Family {
        name: "order",
        about: "the order in which requests take effect",
        rows: order::ROWS,
    },
    Family {
        name: "queues",
        about: "the capacity of queues, flushing and draining them",
        rows: queues::ROWS,
    },
    Family {
        name: "events",
        about: "events of completions, and asynchronous errors",
        rows: events::ROWS,
    },
    Family {
        name: "datagrams",
        about: "datagrams",
        rows: datagrams::ROWS,
    },
    Family {
        name: "race",
        about: "requests under way while their connection ends",
        rows: race::ROWS,
    },
    Family {
        name: "management",
        about: "connection management",
        rows: management::ROWS,
    },
];
